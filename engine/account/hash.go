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

// MaxPassword is the longest password in bytes of UTF-8.
const MaxPassword = 1024

// MinPassword is the shortest password of a new account, in characters
// (CheckPassword).
const MinPassword = 8

// tidyAfter is how long no hash must have been computed until the memory that
// hashing took is given back: an idle server would keep it for minutes.
const tidyAfter = time.Second

// HasherConfig sizes a Hasher.
type HasherConfig struct {
	// Parallel is how many hashes are computed at once; 0 means one less than
	// there are cores, so that a flood of sign-ins leaves one to the requests
	// of others, but at least one. Each takes 19 MiB while it runs.
	Parallel int
	// Queue is how many more may wait; 0 means 64 for each that runs,
	// negative means none.
	Queue int
}

// Hasher hashes passwords with argon2id, a bounded number at once. It is safe
// for concurrent use; one serves the whole process.
type Hasher struct {
	turns *turns
	tidy  *time.Timer // gives the memory of the last hash back

	checks, argon, pbkdf2 atomic.Uint64 // how many checks there were, and their work
}

// NewHasher makes a Hasher.
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

// Hash returns the argon2id hash of a password as a PHC string. It waits for
// its turn, so call it outside of transactions. Errors: Invalid when the
// password is empty or longer than MaxPassword, Unavailable when the queue is
// full, Timeout when ctx ends while waiting.
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

// CheckPassword returns Invalid for a password with fewer than MinPassword
// characters. Callers use it where a person chooses a password. Add and SetPassword
// accept shorter ones, for administrators who insist and for imported data.
func CheckPassword(plain string) error {
	if n := utf8.RuneCountInString(plain); n < MinPassword {
		return engine.Errorf(engine.Invalid, "password", "a password has at least %d characters, found %d", MinPassword, n)
	}
	return nil
}

func tooBusy() error {
	e := engine.Errorf(engine.Unavailable, engine.PasswordQueue, "too many passwords are being checked, try again later")
	e.RetryAfter = 2 * time.Second
	return e
}

// spend counts what a check has cost.
func (h *Hasher) spend(w work) {
	h.argon.Add(w.argon)
	h.pbkdf2.Add(w.pbkdf2)
	h.checks.Add(1)
}

func gaveUp(cause error) error {
	e := engine.Errorf(engine.Timeout, "timeout", "the request ended before the credentials were checked")
	e.Err = cause
	return e
}

// Matches reports whether a stored hash is that of the password. It waits for
// its turn as Hash does. Errors: Unavailable, Timeout.
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
