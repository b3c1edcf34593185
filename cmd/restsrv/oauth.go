package main

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
	forget func() // ends that it hears of changed accounts
}

// openOAuth makes the OAuth2 provider that the application declares, if it
// does. It is the one of the edition before when nothing of it has changed: it
// remembers what was proven.
func (e *edition) openOAuth(ctx context.Context, before *edition) error {
	plugin := e.config.OAuth
	if plugin == nil {
		return nil
	}
	if before != nil && before.sessions == e.sessions && reflect.DeepEqual(before.config.OAuth, plugin) {
		e.oauth = before.oauth
		return nil
	}
	options, _ := oauth.ParseOptions(e.config.File, plugin.Path+".options", plugin.Options) // its faults were told with those of the file
	p, err := oauth.New(ctx, oauth.Config{
		Data: e.db.core, Classes: e.db.system.grants, Accounts: e.accounts, Hasher: e.db.hasher, Sessions: e.sessions, SignOut: "/auth/logout", Options: options,
		Issuer: e.issuer, PublicURL: e.config.PublicURL != "", Guesses: e.db.guards.guesses, Audit: e.db.guards.audit, Log: e.log,
	})
	if err != nil {
		return err
	}
	e.oauth = &provider{p, e.accounts.OnChange(p.Forget)}
	return e.warnOfClients(ctx)
}

// issuer is the address of the server for its clients: publicURL, or what is
// listened to. Nothing of a request counts.
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

// warnOfClients names the accounts that are clients and have registered nothing
// of where their codes go, or something that does not count.
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
			e.log.Warn("an OAuth2 client is not as it says: " + f.String())
		}
		if c != nil && c.Defaulted() {
			e.log.Warn("an OAuth2 client has registered no redirect URI: its codes go to the default one", "client", c.ID, "default", oauth.DefaultRedirect, "to change it", "restsrv client add -redirect URI "+c.ID)
		}
	}
	return nil
}
