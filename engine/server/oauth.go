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
	forget func() // unregisters it from changes of accounts
}

// openOAuth creates the OAuth2 provider of the application, if it declares one.
// If the settings have not changed, it reuses that of the edition before with
// its caches.
func (e *edition) openOAuth(ctx context.Context, before *edition) error {
	plugin := e.config.OAuth
	if plugin == nil {
		return nil
	}
	if before != nil && before.sessions == e.sessions && reflect.DeepEqual(before.config.OAuth, plugin) {
		e.oauth = before.oauth
		return nil
	}
	options, _ := oauth.ParseOptions(e.config.File, plugin.Path+".options", plugin.Options) // its faults were reported with those of the file
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

// issuer returns the URL of the server for its clients: publicURL, or the
// listening address. It never uses data of a request.
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

// warnOfClients logs a warning for each client account that has registered no
// redirect URI, or with invalid properties.
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
