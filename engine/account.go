package engine

import (
	"context"
	"time"
)

// Account is who asks.
type Account struct {
	ID       string // <login>@<type>, for example admin@local
	Name     string
	Roles    []string
	Revision uint64 // of the stored account; 0 for Anonymous
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
}

// Authenticator proves accounts.
type Authenticator interface {
	// Authenticate returns the account that the credentials of that mode
	// prove. Errors: Unauthenticated when they are missing, half or wrong;
	// Forbidden when the user name has no type or the token is not valid;
	// Unavailable when too many passwords are being checked.
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

// AccountFrom returns the account that ctx acts for, nil for none: the server
// itself, as when it imports objects.
func AccountFrom(ctx context.Context) *Account {
	a, _ := ctx.Value(accountKey{}).(*Account)
	return a
}
