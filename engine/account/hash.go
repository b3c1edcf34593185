package account

import (
	"context"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"restsrv/engine"
)

// MaxPassword is the maximum length of a password in bytes of UTF-8.
const MaxPassword = 1024

// MinPassword is the minimum length of the password of a new account, in characters
// (CheckPassword).
const MinPassword = 8

// tidyAfter is the time without hashes after which the memory of hashing is
// returned to the system. Otherwise an idle server would hold it for minutes.
const tidyAfter = time.Second

// HasherConfig sets the limits of a Hasher.
type HasherConfig struct {
	// Parallel is the number of hashes that are computed concurrently. 0 means
	// all cores but one, so that a flood of sign-ins leaves one core to other
	// requests. On a machine with one core, 0 means 1. Each hash takes 19 MiB
	// while it runs.
	Parallel int
	// Queue is the maximum number of checks that wait. 0 means 64 for each hash
	// in Parallel. If Queue is negative, a check fails instead of waiting.
	Queue int
}

// Hasher hashes passwords with argon2id, a limited number at a time. It is safe for
// concurrent use. A process should use only one.
type Hasher struct {
	turns *turns
	tidy  *time.Timer // returns the memory of the last hash to the system

	checks, argon, pbkdf2 atomic.Uint64 // number of checks, and their total work
}

// NewHasher returns a Hasher.
func NewHasher(c HasherConfig) *Hasher {
	if c.Parallel <= 0 {
		c.Parallel = max(1, min(runtime.NumCPU(), runtime.GOMAXPROCS(0))-1)
	}
	if c.Queue == 0 {
		c.Queue = 64 * c.Parallel
	}
	tidy := time.AfterFunc(tidyAfter, debug.FreeOSMemory)
	tidy.Stop()
	return &Hasher{turns: newTurns(c.Parallel, max(c.Queue, 0)), tidy: tidy}
}

// Hash returns the argon2id hash of a password as a PHC string. It waits for its
// turn, so it should not be called within a transaction. Errors: Invalid if the
// password is empty or longer than MaxPassword, Unavailable if the queue is full,
// Timeout when ctx ends during the wait.
func (h *Hasher) Hash(ctx context.Context, plain string) (string, error) {
	if err := checkPassword(plain); err != nil {
		return "", err
	}
	if err := h.enter(ctx, engine.CallerFrom(ctx)); err != nil {
		return "", err
	}
	defer h.leave()
	return newHash(plain), nil
}

func checkPassword(plain string) error {
	if plain == "" {
		return engine.Errorf(engine.Invalid, "password", "a password has at least 1 byte, found none")
	}
	if len(plain) > MaxPassword {
		return engine.Errorf(engine.Invalid, "password", "a password has at most %d bytes, found %d", MaxPassword, len(plain))
	}
	return nil
}

// CheckPassword returns Invalid if the password has fewer than MinPassword
// characters. Use it where a person chooses a password. Add and SetPassword accept
// shorter passwords, for administrators who insist and for imported data.
func CheckPassword(plain string) error {
	if n := utf8.RuneCountInString(plain); n < MinPassword {
		return engine.Errorf(engine.Invalid, "password", "a password has at least %d characters, found %d", MinPassword, n)
	}
	return nil
}

func busyError() error {
	e := engine.Errorf(engine.Unavailable, engine.PasswordQueue, "too many passwords are being checked, try again later")
	e.RetryAfter = 2 * time.Second
	return e
}

// addWork adds the cost of a check to the totals.
func (h *Hasher) addWork(w work) {
	h.argon.Add(w.argon)
	h.pbkdf2.Add(w.pbkdf2)
	h.checks.Add(1)
}

func timeoutError(cause error) error {
	e := engine.Errorf(engine.Timeout, "timeout", "the request ended before the credentials were checked")
	e.Err = cause
	return e
}

// Matches reports whether plain is the password from which the stored hash was
// computed. It waits for its turn, like Hash. Errors: Unavailable, Timeout.
func (h *Hasher) Matches(ctx context.Context, hash, plain string) (bool, error) {
	if plain == "" || len(plain) > MaxPassword {
		return false, nil
	}
	if err := h.enter(ctx, engine.CallerFrom(ctx)); err != nil {
		return false, err
	}
	defer h.leave()
	return parseHash(hash).matches(plain), nil
}
