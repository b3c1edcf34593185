package engine

import (
	"context"
	"time"
)

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
	TokenReused       EventKind = "token-reused" // a rotated refresh token was used again, so its family is revoked
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

// Guesses counts failed attempts to guess passwords and codes. All processes of
// a database share the counts.
type Guesses interface {
	// Admit must be called before a secret is checked. It returns how long to
	// wait before the check. account is "" for secrets that do not belong to an
	// account. The error is TooMany, with RetryAfter.
	Admit(ctx context.Context, account string, from Caller) (wait time.Duration, err error)
	// Failed counts a wrong secret.
	Failed(ctx context.Context, account string, from Caller)
	// Succeeded records that the secret was right.
	Succeeded(ctx context.Context, account string, from Caller)
}
