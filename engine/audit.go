package engine

import (
	"context"
	"time"
)

// Event is something that happened to the security of the server.
type Event struct {
	Kind    EventKind
	Account string // whose doing it was, or was to be; "" when unknown
	Caller  Caller // from where; zero for the command line
	Service string // that was asked, "" for none
	Details Fields // names and plain values; never a secret
}

// EventKind says what happened.
type EventKind string

// The kinds.
const (
	SignedIn          EventKind = "sign-in"
	SignInFailed      EventKind = "sign-in-failed"
	SignedOut         EventKind = "sign-out"
	AccountChanged    EventKind = "account"
	TokenIssued       EventKind = "token"
	TokenRevoked      EventKind = "token-revoked"
	TokenReused       EventKind = "token-reused" // a rotated refresh token came back: its family ends
	ClientChanged     EventKind = "client"
	ConsentGiven      EventKind = "consent"
	ConsentDenied     EventKind = "consent-denied"
	PermissionChanged EventKind = "permission"
	RequestDenied     EventKind = "denied" // 401, 403 or 429
)

// EventKinds returns all kinds.
func EventKinds() []EventKind {
	return []EventKind{SignedIn, SignInFailed, SignedOut, AccountChanged, TokenIssued, TokenRevoked, TokenReused,
		ClientChanged, ConsentGiven, ConsentDenied, PermissionChanged, RequestDenied}
}

// Auditor keeps events. It never fails what it is told about.
type Auditor interface {
	Audit(ctx context.Context, e Event)
}

// Guesses counts failed attempts at passwords and codes, for all processes of
// one database together (decisions.md section 4).
type Guesses interface {
	// Admit is asked before a secret is looked at: how long to wait before that.
	// account is "" for secrets that are no account's. Errors: TooMany, with
	// RetryAfter.
	Admit(ctx context.Context, account string, from Caller) (wait time.Duration, err error)
	// Failed counts a wrong secret.
	Failed(ctx context.Context, account string, from Caller)
	// Succeeded tells that it was right.
	Succeeded(ctx context.Context, account string, from Caller)
}
