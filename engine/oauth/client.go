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

// DefaultRedirect receives the codes of a confidential client that registered
// no redirect URI, as in IONDV.
const DefaultRedirect = "http://redirect.location/handler"

// clientType is the type of accounts that are clients. It is added to a
// client_id without a type.
const clientType = "system"

// The supported grant types.
const (
	authorizationCode = "authorization_code"
	refreshToken      = "refresh_token"
	clientCredentials = "client_credentials"
)

func grantTypes() []string { return []string{authorizationCode, refreshToken, clientCredentials} }

// Client is an application that can get codes and tokens. It is an account, or
// an entry of the configuration.
type Client struct {
	ID           string // the account name, <login>@<type>, or the configured id
	Name         string // shown on the consent page
	RedirectURIs []string
	Grants       []string
	Scope        *engine.Scope // maximum scope; nil means no limit
	Public       bool          // set if the client cannot keep a secret; it must use PKCE
	Remember     bool          // set if a consent is stored, so that the account is not asked again
	Account      string        // the account for which client_credentials acts; "" means that it has no account

	AccessLifetime, RefreshLifetime time.Duration // 0 means the lifetime of the provider

	configured   bool
	secret, hash string // secret of a configured client
	listed       bool   // set if redirectUris is given, even if it is empty
	defaulted    bool
}

// Defaulted reports whether the client registered no redirect URI and got
// DefaultRedirect.
func (c *Client) Defaulted() bool { return c.defaulted }

// mayUse reports whether the client may use a grant type.
func (c *Client) mayUse(grant string) bool { return slices.Contains(c.Grants, grant) }

// redirectFor returns the URI that receives an answer: the requested one, which
// must be registered, or the first registered one. ok is false if there is no
// such URI.
func (c *Client) redirectFor(asked string) (uri string, ok bool) {
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

// sameLoopback is the only exception to the exact comparison of redirect URIs (RFC 8252 section
// 7.3). A native application listens on any free port. If a public client registered an http URI
// with a loopback address and without a port, every port matches. There is no exception for the
// name localhost, because it can mean another machine.
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

// CheckRedirect returns the requirement that a redirect URI violates, or "" if
// it is valid.
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

// ClientOf returns the client that an account with the type system or with the property
// oauth represents, and nil for any other account. The faults list the parts of the
// properties that are ignored.
func ClientOf(a *engine.Account) (*Client, engine.Faults) {
	value, _ := a.Properties.Get("oauth")
	fields, given := value.(engine.Fields)
	_, kind, _ := strings.Cut(a.ID, "@")
	if kind != clientType && !given {
		return nil, nil
	}
	var faults engine.Faults
	o := newObject(a.ID, "properties.oauth", fields, &faults)
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
	c.setDefaults()
	return c, faults
}

// setDefaults sets the defaults of a client.
func (c *Client) setDefaults() {
	if c.Grants == nil {
		c.Grants = []string{authorizationCode, refreshToken}
	}
	if len(c.RedirectURIs) == 0 && !c.Public && c.mayUse(authorizationCode) && !c.configured && !c.listed {
		c.RedirectURIs, c.defaulted = []string{DefaultRedirect}, true
	}
	if c.Public {
		c.Grants = slices.DeleteFunc(slices.Clone(c.Grants), func(g string) bool { return g == clientCredentials })
		c.Remember = false // any program with its id could use the stored consent
	}
}

// findClient returns the client with an id; nil if there is no such client, or if
// its account may not sign in.
func (p *clientStore) findClient(ctx context.Context, id string) (*Client, error) {
	if c := p.clients[id]; c != nil {
		return c, nil
	}
	if id == "" || len(id) > 512 {
		return nil, nil
	}
	if !strings.Contains(id, "@") {
		id += "@" + clientType
	}
	a, _, err := p.currentAccount(ctx, id)
	if err != nil || a == nil {
		return nil, err
	}
	c, _ := ClientOf(a)
	return c, nil
}

// clientOf returns the client to which a grant belongs, or nil if that client does not exist any more. If a
// configured client was removed, an account with the same name does not take over its grants.
func (p *clientStore) clientOf(ctx context.Context, grant *engine.Item) (*Client, error) {
	c, err := p.findClient(ctx, grant.Text("client"))
	if err != nil || c == nil || c.ID != grant.Text("client") {
		return nil, err
	}
	return c, nil
}

// currentAccount returns the account if it exists and may sign in, else nil. For basis see Accounts.Current.
func (p *core) currentAccount(ctx context.Context, id string) (a *engine.Account, basis string, err error) {
	a, basis, err = p.cfg.Accounts.Current(engine.AsServer(ctx), id)
	if err != nil && engine.CodeOf(err) == engine.Unauthenticated {
		return nil, "", nil
	}
	return a, basis, err
}

// authenticate checks the secret of a client. It returns nil if the client does not exist or the
// secret is wrong. For a public client, the secret must be empty.
func (p *clientStore) authenticate(ctx context.Context, id, secret string) (*Client, error) {
	c, err := p.findClient(ctx, id)
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
		return c, nil // nil if the account is not a client
	case code == engine.Unauthenticated || code == engine.Forbidden || code == engine.Invalid:
		return nil, nil
	}
	return nil, err
}
