package server

import (
	"context"
	"net"
	"reflect"
	"strconv"

	"restsrv/engine"
	"restsrv/engine/oauth"
)

// provider is the OAuth2 provider of an application.
type provider struct {
	*oauth.Provider
	forget func() // ends the notifications about changes of accounts
}

// openOAuth creates the OAuth2 provider if the application has one. If the settings have not
// changed, it reuses the provider of the previous edition, with its caches.
func (e *edition) openOAuth(ctx context.Context, before *edition) error {
	plugin := e.config.OAuth
	if plugin == nil {
		return nil
	}
	if before != nil && before.sessions == e.sessions && reflect.DeepEqual(before.config.OAuth, plugin) {
		e.oauth = before.oauth
		return nil
	}
	options, _ := oauth.ParseOptions(e.config.File, plugin.Path+".options", plugin.Options) // its faults are reported when the application is read
	p, err := oauth.New(ctx, oauth.Config{
		Data: e.db.Core, Classes: e.db.System.Grants, Accounts: e.accounts, Hasher: e.db.Hasher, Sessions: e.sessions, SignOut: "/auth/logout", Options: options,
		Issuer: e.issuer, PublicURL: e.config.PublicURL != "", Guesses: e.db.Guesses, Audit: e.db.Audit, Log: e.log,
	})
	if err != nil {
		return err
	}
	e.oauth = &provider{p, e.accounts.OnChange(p.Forget)}
	return e.warnOfClients(ctx)
}

// issuer returns the URL of the server for clients: publicURL, or the address on which it listens.
// It never comes from a request, so clients cannot influence it.
func (e *edition) issuer() string {
	if e.config.PublicURL != "" {
		return e.config.PublicURL
	}
	a, ok := e.address.Load().(*net.TCPAddr)
	if !ok {
		return "http://" + e.config.Addr
	}
	host := a.IP.String()
	if a.IP.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, strconv.Itoa(a.Port))
}

// warnOfClients logs a warning for each client account with invalid properties or without a
// redirect URI.
func (e *edition) warnOfClients(ctx context.Context) error {
	accounts, err := e.accounts.List(ctx)
	if err != nil {
		return err
	}
	for _, a := range accounts {
		if a.Disabled {
			continue
		}
		c, faults := oauth.ClientOf(&engine.Account{ID: a.ID, Name: a.Name, Properties: a.Properties})
		for _, f := range faults {
			e.log.Warn("a property of an OAuth2 client is invalid and ignored: " + f.String())
		}
		if c != nil && c.Defaulted() {
			e.log.Warn("an OAuth2 client has registered no redirect URI: its codes go to the default one", "client", c.ID, "default", oauth.DefaultRedirect, "to change it", "restsrv client add -redirect URI "+c.ID)
		}
	}
	return nil
}
