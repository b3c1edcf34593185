package main

import (
	"context"
	"maps"
	"net"
	"net/http"
	"strconv"

	"restsrv/engine"
	"restsrv/engine/oauth"
	"restsrv/engine/session"
)

// openOAuth makes the OAuth2 provider that the application declares, and adds
// its endpoints to the handlers; nil without one.
func (s *server) openOAuth(ctx context.Context, sessions *session.Sessions, handlers map[string]http.Handler) (engine.Authenticator, error) {
	plugin := s.config.OAuth
	if plugin == nil {
		return nil, nil
	}
	options, _ := oauth.ParseOptions(s.config.File, plugin.Path+".options", plugin.Options) // its faults were told with those of the file
	p, err := oauth.New(ctx, oauth.Config{
		Data: s.db.store, Classes: s.db.system.grants, Accounts: s.db.accounts, Hasher: s.db.hasher, Sessions: sessions, SignOut: "/auth/logout", Options: options,
		Issuer: s.issuer, PublicURL: s.config.PublicURL != "", Guesses: s.db.guards.guesses, Audit: s.db.guards.audit, Log: s.log,
	})
	if err != nil {
		return nil, err
	}
	s.db.accounts.OnChange(p.Forget)
	maps.Copy(handlers, p.Handlers())
	return p, s.warnOfClients(ctx)
}

// issuer is the address of the server for its clients: publicURL, or what is
// listened to. Nothing of a request counts.
func (s *server) issuer() string {
	if s.config.PublicURL != "" {
		return s.config.PublicURL
	}
	a, ok := s.address.Load().(*net.TCPAddr)
	if !ok {
		return "http://" + s.config.Addr
	}
	host := a.IP.String()
	if a.IP.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, strconv.Itoa(a.Port))
}

// warnOfClients names the accounts that are clients and have registered nothing
// of where their codes go, or something that does not count.
func (s *server) warnOfClients(ctx context.Context) error {
	accounts, err := s.db.accounts.List(ctx)
	if err != nil {
		return err
	}
	for _, a := range accounts {
		if a.Disabled {
			continue
		}
		c, faults := oauth.ClientOf(&engine.Account{ID: a.ID, Name: a.Name, Properties: a.Properties})
		for _, f := range faults {
			s.log.Warn("an OAuth2 client is not as it says: " + f.String())
		}
		if c != nil && c.Defaulted() {
			s.log.Warn("an OAuth2 client has registered no redirect URI: its codes go to the default one", "client", c.ID, "default", oauth.DefaultRedirect, "to change it", "restsrv client add -redirect URI "+c.ID)
		}
	}
	return nil
}
