package engine

import (
	"context"
	"net/netip"
	"slices"
	"time"
)

// Account is who asks.
type Account struct {
	ID       string // <login>@<type>, for example admin@local
	Name     string
	Roles    []string
	Revision uint64 // of the stored account; 0 for Anonymous

	Coactors   []string // subjects that it is too besides ID and Roles, found in the data (aclMetaMap)
	Properties Fields   // what applications know of it: stored, or found in the data (customProfile)

	Client string     // of OAuth2, when one acts for the account
	Scope  *Scope     // what the token leaves of what the account may do; nil for all
	Limit  Permission // what Scope leaves on the service that is asked; means nothing without Scope
}

// Subjects are what permissions may be granted to so that the account has
// them.
func (a *Account) Subjects() []string {
	all := make([]string, 0, 2+len(a.Roles)+len(a.Coactors))
	all = append(append(all, a.ID), a.Roles...)
	return append(append(all, a.Coactors...), Everyone)
}

// Names are the Subjects, each once, that count where data are concerned: what is
// granted to everyone does not.
func (a *Account) Names() []string {
	var all []string
	for _, s := range a.Subjects() {
		if s != Everyone && s != "" && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// Variable returns what $$name stands for in conditions and defaults: the id of the
// account for uid and id, its name for name, else one of its properties.
func (a *Account) Variable(name string) (value any, ok bool) {
	switch name {
	case "uid", "id":
		return a.ID, true
	case "name":
		return a.Name, true
	}
	value, _ = a.Properties.Get(name)
	return value, value != nil
}

// Is reports whether a name means the account: its own, or that of a role or of
// whatever else it is.
func (a *Account) Is(subject string) bool {
	return subject == a.ID || slices.Contains(a.Roles, subject) || slices.Contains(a.Coactors, subject)
}

// Anonymous is the account of a service that asks for no credentials.
var Anonymous = &Account{ID: "anonymous", Name: "anonymous"}

// AuthMode says how a service authenticates its callers.
type AuthMode string

// The modes of interface.md, "Authentication". Any other value answers 401 to
// everyone.
const (
	AuthNone  AuthMode = "none"
	AuthPwd   AuthMode = "pwd" // account-based, the default
	AuthToken AuthMode = "token"
	AuthOAuth AuthMode = "oauth"
)

// Credentials are what a request offers; "" means not offered.
type Credentials struct {
	User     string // <login>@<type>, or <login> when Type is given
	Type     string
	Password string
	Token    string

	Caller Caller // who offers them, for limits and the log
}

// Caller is where a request comes from.
type Caller struct {
	Request string     // request id
	Address netip.Addr // the client's, behind trusted proxies; the zero Addr when there is none, as on the command line
	Secure  bool       // it came by TLS, to us or to a trusted proxy
}

type callerKey struct{}

// WithCaller returns a context that tells where the request comes from.
func WithCaller(ctx context.Context, c *Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerFrom returns what WithCaller or WithRequest told, the zero Caller for
// nothing.
func CallerFrom(ctx context.Context) Caller {
	if c, ok := ctx.Value(callerKey{}).(*Caller); ok {
		return *c
	}
	return Caller{}
}

// PasswordQueue is the reason of Unavailable when too many passwords are being
// checked. Anybody can cause it, so it is not logged for each request.
const PasswordQueue = "password-queue"

// UnknownToken is the reason of Forbidden when a token is unknown, expired or
// revoked.
const UnknownToken = "token"

// Authenticator proves accounts.
type Authenticator interface {
	// Authenticate returns the account that the credentials of that mode
	// prove. Errors: Unauthenticated when they are missing, half or wrong;
	// Forbidden when the user name has no type or the token is not valid;
	// TooMany after too many failures; Unavailable when too many passwords
	// are being checked.
	Authenticate(ctx context.Context, mode AuthMode, c Credentials) (*Account, error)
}

// Token describes an issued token; its secret is shown once, by Issue.
type Token struct {
	ID      string
	Name    string
	Created time.Time
	Expires time.Time
}

// TokenIssuer manages the tokens of an account.
type TokenIssuer interface {
	// Issue makes a token that lives for lifetime, or the configured lifetime
	// when 0. Invalid when lifetime is negative or longer than that.
	Issue(ctx context.Context, account, name string, lifetime time.Duration) (secret string, t Token, err error)
	// Tokens lists the account's live tokens, oldest first.
	Tokens(ctx context.Context, account string) ([]Token, error)
	// Revoke ends a token of the account; NotFound if it has none of that id.
	Revoke(ctx context.Context, account, id string) error
}

type accountKey struct{}

// WithAccount returns a context that acts for the account.
func WithAccount(ctx context.Context, a *Account) context.Context {
	return context.WithValue(ctx, accountKey{}, a)
}

// asking is a context with the account and the caller of a request.
type asking struct {
	context.Context
	account *Account
	caller  *Caller
	staging Staging
}

func (c *asking) Value(key any) any {
	switch key {
	case accountKey{}:
		return c.account
	case callerKey{}:
		return c.caller
	case stagingKey{}:
		return &c.staging
	}
	return c.Context.Value(key)
}

// WithRequest is WithAccount and WithCaller at once: every request has both.
// StagingFrom finds its Staging, which the caller must End.
func WithRequest(ctx context.Context, a *Account, c *Caller) context.Context {
	return &asking{Context: ctx, account: a, caller: c}
}

// AccountFrom returns the account that ctx acts for, nil for none: the server
// itself, as when it imports objects.
func AccountFrom(ctx context.Context) *Account {
	a, _ := ctx.Value(accountKey{}).(*Account)
	return a
}
