package oauth

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
)

// DefaultRedirect is where codes go for a confidential client that registered
// nothing, as in the ancestor.
const DefaultRedirect = "http://redirect.location/handler"

// clientType is the type of accounts that are clients, and that a client_id
// without one has.
const clientType = "system"

// The grant types that there are.
const (
	authorizationCode = "authorization_code"
	refreshToken      = "refresh_token"
	clientCredentials = "client_credentials"
)

func grantTypes() []string { return []string{authorizationCode, refreshToken, clientCredentials} }

// Client is who may be given codes and tokens: an account, or an entry of the
// configuration.
type Client struct {
	ID           string // of the account, <login>@<type>, or as configured
	Name         string // shown to who is asked
	RedirectURIs []string
	Grants       []string
	Scope        *engine.Scope // at most; nil for no limit
	Public       bool          // cannot keep a secret: PKCE proves it
	Remember     bool          // who agreed once is not asked again
	Account      string        // whom client_credentials acts for; "" for nobody

	AccessLifetime, RefreshLifetime time.Duration // 0 for the provider's

	configured   bool
	secret, hash string // of a configured client
	listed       bool   // it says where its codes go, be that nowhere
	defaulted    bool
}

// Defaulted reports that the client registered no redirect URI and has the
// ancestor's.
func (c *Client) Defaulted() bool { return c.defaulted }

// may reports whether the client has a grant type.
func (c *Client) may(grant string) bool { return slices.Contains(c.Grants, grant) }

// redirect is where an answer goes: the URI that is asked for, which must be a
// registered one, or the first. ok is false when it goes nowhere.
func (c *Client) redirect(asked string) (uri string, ok bool) {
	if asked == "" {
		if len(c.RedirectURIs) == 0 {
			return "", false
		}
		return c.RedirectURIs[0], true
	}
	for _, registered := range c.RedirectURIs {
		if asked == registered || c.Public && sameLoopback(registered, asked) {
			return asked, true
		}
	}
	return "", false
}

// sameLoopback is the one exception from comparing exactly (RFC 8252 section
// 7.3): a program listens at whatever port is free, so for a public client that
// registered http and an address of its own machine without a port, any port
// will do. The name localhost may be another machine and has no exception.
func sameLoopback(registered, asked string) bool {
	for _, host := range [...]string{"http://127.0.0.1", "http://[::1]"} {
		path, ok := strings.CutPrefix(registered, host)
		if !ok || !strings.HasPrefix(path, "/") {
			continue
		}
		rest, ok := strings.CutPrefix(asked, host+":")
		if !ok {
			continue
		}
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		if digits > 0 && digits <= 5 && rest[digits:] == path {
			return true
		}
	}
	return false
}

// CheckRedirect says what is wrong with a redirect URI, "" for nothing.
func CheckRedirect(uri string) string {
	u, err := url.Parse(uri)
	switch {
	case err != nil || u.Scheme == "" || strings.ContainsFunc(uri, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '\\' }):
		return "an absolute URI in ASCII"
	case strings.Contains(uri, "#"):
		return "a URI without a fragment"
	case u.User != nil:
		return "a URI without a user"
	case (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() == "":
		return "a URI with a host"
	case slices.Contains([]string{"javascript", "data", "vbscript", "file", "about", "blob", "view-source", "filesystem"}, u.Scheme):
		return "a URI that a browser opens as a page of its own"
	}
	return ""
}

// ClientOf is the client that an account is, by its type or its properties;
// nil for one that is none. Faults are what keeps parts of the properties from
// counting.
func ClientOf(a *engine.Account) (*Client, engine.Faults) {
	value, _ := a.Properties.Get("oauth")
	fields, given := value.(engine.Fields)
	_, kind, _ := strings.Cut(a.ID, "@")
	if kind != clientType && !given {
		return nil, nil
	}
	var faults engine.Faults
	o := reader(a.ID, "properties.oauth", fields, &faults)
	if value != nil && !given {
		o.Fault(o.Path, jsonfile.Describe(value), "an object: it is no client")
		return nil, faults
	}
	c := readClient(o)
	c.ID, c.Account = a.ID, a.ID
	if c.Name == "" {
		c.Name = a.Name
	}
	if c.Name == "" {
		c.Name = a.ID
	}
	c.complete()
	return c, faults
}

// complete fills in what a client does not say.
func (c *Client) complete() {
	if c.Grants == nil {
		c.Grants = []string{authorizationCode, refreshToken}
	}
	if len(c.RedirectURIs) == 0 && !c.Public && c.may(authorizationCode) && !c.configured && !c.listed {
		c.RedirectURIs, c.defaulted = []string{DefaultRedirect}, true
	}
	if c.Public {
		c.Grants = slices.DeleteFunc(slices.Clone(c.Grants), func(g string) bool { return g == clientCredentials })
		c.Remember = false // whoever has its id could use what was agreed to
	}
}

// client finds the client of an id; nil when there is none, or its account may
// not sign in.
func (p *Provider) client(ctx context.Context, id string) (*Client, error) {
	if c := p.clients[id]; c != nil {
		return c, nil
	}
	if id == "" || len(id) > 512 {
		return nil, nil
	}
	if !strings.Contains(id, "@") {
		id += "@" + clientType
	}
	a, _, err := p.current(ctx, id)
	if err != nil || a == nil {
		return nil, err
	}
	c, _ := ClientOf(a)
	return c, nil
}

// clientOf is the client that a grant was given to; nil when that is gone. A
// configured one that was taken out is not the account of the same name.
func (p *Provider) clientOf(ctx context.Context, grant *engine.Item) (*Client, error) {
	c, err := p.client(ctx, grant.Text("client"))
	if err != nil || c == nil || c.ID != grant.Text("client") {
		return nil, err
	}
	return c, nil
}

// current returns an account that may sign in, nil when there is none.
func (p *Provider) current(ctx context.Context, id string) (a *engine.Account, basis string, err error) {
	a, basis, err = p.cfg.Accounts.Current(engine.AsServer(ctx), id)
	if err != nil && engine.CodeOf(err) == engine.Unauthenticated {
		return nil, "", nil
	}
	return a, basis, err
}

// authenticate proves a client by its secret. nil is a client that is not who
// it says, or not there; public clients have no secret and send none.
func (p *Provider) authenticate(ctx context.Context, id, secret string) (*Client, error) {
	c, err := p.client(ctx, id)
	if err != nil {
		return nil, err
	}
	switch {
	case c != nil && c.Public && secret == "":
		return c, nil
	case c != nil && c.configured:
		return p.authenticateConfigured(ctx, c, secret)
	}
	credentials := engine.Credentials{User: id, Password: secret, Caller: engine.CallerFrom(ctx)}
	if !strings.Contains(id, "@") {
		credentials.Type = clientType
	}
	_, err = p.cfg.Accounts.Authenticate(ctx, engine.AuthPwd, credentials)
	switch code := engine.CodeOf(err); {
	case err == nil:
		return c, nil // nil for an account that is no client
	case code == engine.Unauthenticated || code == engine.Forbidden || code == engine.Invalid:
		return nil, nil
	}
	return nil, err
}
