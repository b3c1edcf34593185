package engine

import (
	"context"
	"net/netip"
	"slices"
	"time"
)

// Account is the authenticated caller of a request.
type Account struct {
	ID       string // <login>@<type>, for example admin@local
	Name     string
	Roles    []string
	Revision uint64 // of the stored account; 0 for Anonymous

	Coactors   []string // more names under which the account gets permissions, read from items (option aclMetaMap)
	Properties Fields   // properties for applications: stored, or found in the data (customProfile)

	Client string     // ID of the OAuth2 client, if a client acts for the account
	Scope  *Scope     // restricts the permissions of the account to those of the token; nil for no restriction
	Limit  Permission // permissions that Scope leaves on the requested service; meaningless if Scope is nil
}

// Subjects returns the names under which permissions can be granted to the account.
func (a *Account) Subjects() []string {
	all := make([]string, 0, 2+len(a.Roles)+len(a.Coactors))
	all = append(append(all, a.ID), a.Roles...)
	return append(append(all, a.Coactors...), Everyone)
}

// Names returns the distinct Subjects that apply to data access. Everyone is not
// one of them, because grants to everyone do not apply to data.
func (a *Account) Names() []string {
	var all []string
	for _, s := range a.Subjects() {
		if s != Everyone && s != "" && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// Variable returns the value of $$name in conditions and defaults: the id of the
// account for uid and id, its name for name, else the property of that name. ok is
// false if the account has no such value.
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

// Is reports whether subject is the id, a role or a coactor of the account.
func (a *Account) Is(subject string) bool {
	return subject == a.ID || slices.Contains(a.Roles, subject) || slices.Contains(a.Coactors, subject)
}

// Anonymous is the account of requests to services that require no credentials.
var Anonymous = &Account{ID: "anonymous", Name: "anonymous"}

// AuthMode says how a service authenticates its callers.
type AuthMode string

// The authentication modes. A service with any other value answers 401 to all
// requests.
const (
	AuthNone  AuthMode = "none"
	AuthPwd   AuthMode = "pwd" // account-based, the default
	AuthToken AuthMode = "token"
	AuthOAuth AuthMode = "oauth"
)

// Credentials are the credentials of a request; "" means not given.
type Credentials struct {
	User     string // <login>@<type>, or <login> when Type is given
	Type     string
	Password string
	Token    string

	Caller Caller // origin of the request, for limits and the log
}

// Caller describes where a request comes from.
type Caller struct {
	Request string     // request id
	Address netip.Addr // of the client, as reported by trusted proxies; the zero Addr if there is none, as on the command line
	Secure  bool       // the request arrived over TLS, here or at a trusted proxy
}

type callerKey struct{}

// WithCaller returns a context that carries the caller.
func WithCaller(ctx context.Context, c *Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerFrom returns the caller that WithCaller or WithRequest stored in ctx, or
// the zero Caller.
func CallerFrom(ctx context.Context) Caller {
	if c, ok := ctx.Value(callerKey{}).(*Caller); ok {
		return *c
	}
	return Caller{}
}

// PasswordQueue is the Reason of the Unavailable error when too many passwords are
// being checked. Any client can cause it, so it is not logged for each request.
const PasswordQueue = "password-queue"

// UnknownToken is the Reason of the Forbidden error when a token is unknown, expired or
// revoked.
const UnknownToken = "token"

// Authenticator checks credentials.
type Authenticator interface {
	// Authenticate returns the account that the credentials prove in the given
	// mode. Errors: Unauthenticated if they are missing, incomplete or wrong;
	// Forbidden if the user name has no type or the token is not valid; TooMany
	// after too many failures; Unavailable if too many passwords are being checked.
	Authenticate(ctx context.Context, mode AuthMode, c Credentials) (*Account, error)
}

// Token describes an issued token. Only Issue returns its secret.
type Token struct {
	ID      string
	Name    string
	Created time.Time
	Expires time.Time
}

// TokenIssuer manages the tokens of an account.
type TokenIssuer interface {
	// Issue creates a token that is valid for lifetime, or for the configured
	// lifetime if it is 0. The error is Invalid if lifetime is negative or longer
	// than the configured one.
	Issue(ctx context.Context, account, name string, lifetime time.Duration) (secret string, t Token, err error)
	// Tokens lists the account's valid tokens, oldest first.
	Tokens(ctx context.Context, account string) ([]Token, error)
	// Revoke revokes a token of the account. The error is NotFound if the account
	// has no token with that id.
	Revoke(ctx context.Context, account, id string) error
}

type accountKey struct{}

// WithAccount returns a context that acts for the account.
func WithAccount(ctx context.Context, a *Account) context.Context {
	return context.WithValue(ctx, accountKey{}, a)
}

// asking is the context of a request. It holds the account, the caller and the
// Staging in one allocation.
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

// WithRequest combines WithAccount and WithCaller, since every request has both.
// The context also has a Staging: the code that handles the request must call
// StagingFrom(ctx).End when it is done.
func WithRequest(ctx context.Context, a *Account, c *Caller) context.Context {
	return &asking{Context: ctx, account: a, caller: c}
}

// AccountFrom returns the account that ctx acts for. It returns nil if the server
// itself acts, for example when it imports objects.
func AccountFrom(ctx context.Context) *Account {
	a, _ := ctx.Value(accountKey{}).(*Account)
	return a
}

// Event is a security event for the audit log.
type Event struct {
	Kind    EventKind
	Account string // account that acted or tried to; "" if unknown
	Caller  Caller // origin of the request; zero on the command line
	Service string // requested service; "" if there is no service
	Details Fields // names and plain values, never a secret
}

// EventKind is the kind of a security event.
type EventKind string

// The kinds of events.
const (
	SignedIn          EventKind = "sign-in"
	SignInFailed      EventKind = "sign-in-failed"
	SignedOut         EventKind = "sign-out"
	AccountChanged    EventKind = "account"
	TokenIssued       EventKind = "token"
	TokenRevoked      EventKind = "token-revoked"
	TokenReused       EventKind = "token-reused" // a code or refresh token was used again, so its grant is revoked
	ClientChanged     EventKind = "client"
	ConsentGiven      EventKind = "consent"
	ConsentDenied     EventKind = "consent-denied"
	PermissionChanged EventKind = "permission"
	RequestDenied     EventKind = "denied" // answered with 401, 403 or 429
)

// EventKinds returns all kinds.
func EventKinds() []EventKind {
	return []EventKind{SignedIn, SignInFailed, SignedOut, AccountChanged, TokenIssued, TokenRevoked, TokenReused,
		ClientChanged, ConsentGiven, ConsentDenied, PermissionChanged, RequestDenied}
}

// Auditor records events. Recording an event never makes the audited operation
// fail.
type Auditor interface {
	Audit(ctx context.Context, e Event)
}

// Guesses counts failed attempts to guess passwords and codes. All server processes
// that use one database share the counts.
type Guesses interface {
	// Admit must be called before a secret, such as a password, is checked. It
	// returns how long the caller must wait before the check. account is "" for
	// secrets that do not belong to an account. The error is TooMany, with
	// RetryAfter, if the secret must not be checked now.
	Admit(ctx context.Context, account string, from Caller) (wait time.Duration, err error)
	// Failed counts a wrong secret.
	Failed(ctx context.Context, account string, from Caller)
	// Succeeded records that the secret was right.
	Succeeded(ctx context.Context, account string, from Caller)
}
