// Package account owns accounts, their passwords and their tokens: it proves
// who asks, issues and ends tokens, and makes the first administrator. It
// keeps them as items of system classes through whatever engine.Repository it
// is given, so it knows no SQL; it reads no headers (engine/rest) and decides
// nothing about what an account may do (engine/access).
package account

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"restsrv/engine"
)

// DefaultTokenLifetime is the lifetime of tokens when nothing is configured.
const DefaultTokenLifetime = 30 * 24 * time.Hour

// Config is what a Store works with. Data, Classes and Hasher are needed.
type Config struct {
	Data          engine.Repository // stores items of Classes
	Classes       []*engine.Class   // from Classes, the same that Data was opened with
	Hasher        *Hasher
	TokenLifetime time.Duration    // longest and usual lifetime of a token; 0 means DefaultTokenLifetime
	Guesses       engine.Guesses   // limits failed passwords; nil means no limit
	Audit         engine.Auditor   // is told of sign-ins; nil means nobody
	Log           *slog.Logger     // nil means none
	Now           func() time.Time // nil means time.Now
}

// Store is the accounts and tokens of one database. It implements
// engine.Authenticator and engine.TokenIssuer and is safe for concurrent use,
// also beside other processes on the same database: their changes count within
// a second.
type Store struct {
	data     engine.Repository
	classes  classSet
	hasher   *Hasher
	lifetime time.Duration
	guesses  engine.Guesses
	audit    engine.Auditor
	log      *slog.Logger
	clock    func() time.Time
	start    time.Time

	prover    *prover
	passwords *memory
	tokens    *memory
	flights   flights
	changed   []func(id string) // see OnChange
	waiting   atomic.Int64      // requests that wait because of failures before
	cost      ceiling           // what a failed check costs
}

// New makes a Store. The error says what Config lacks.
func New(c Config) (*Store, error) {
	classes, err := findClasses(c.Classes)
	if err != nil {
		return nil, err
	}
	s := &Store{
		data: c.Data, classes: classes, hasher: c.Hasher, lifetime: c.TokenLifetime,
		guesses: c.Guesses, audit: c.Audit, log: c.Log, clock: c.Now,
		prover: newProver(), passwords: newMemory(), tokens: newMemory(),
		flights: flights{running: make(map[proof]*flight)},
	}
	if s.lifetime <= 0 {
		s.lifetime = DefaultTokenLifetime
	}
	if s.guesses == nil {
		s.guesses = unlimited{}
	}
	if s.audit == nil {
		s.audit = unheard{}
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.clock == nil {
		s.clock = time.Now
	}
	s.start = s.clock()
	return s, nil
}

// Authenticate implements engine.Authenticator. Only the credential of the
// mode counts. The account returned is shared: do not change it. Besides the
// errors of the interface it returns those of the repository, and Timeout when
// ctx ends first.
func (s *Store) Authenticate(ctx context.Context, mode engine.AuthMode, c engine.Credentials) (*engine.Account, error) {
	switch mode {
	case engine.AuthNone:
		return engine.Anonymous, nil
	case engine.AuthPwd:
		return s.authenticatePassword(ctx, c)
	case engine.AuthToken:
		return s.authenticateToken(ctx, c.Token)
	case engine.AuthOAuth:
		return nil, engine.Errorf(engine.Unauthenticated, "auth-mode", "OAuth2 sign-in is not available yet")
	}
	return nil, engine.Errorf(engine.Unauthenticated, "auth-mode", "this service has an unknown authentication mode")
}

func missing(what string) error {
	return engine.Errorf(engine.Unauthenticated, "credentials-missing", "%s", what)
}

// elapsed is the time since the Store was made; unlike the wall clock it never
// jumps.
func (s *Store) elapsed() time.Duration { return s.clock().Sub(s.start) }

// recall returns the account of a remembered credential, nil if there is none
// or it no longer holds.
func (s *Store) recall(ctx context.Context, m *memory, key proof) (*engine.Account, error) {
	e := m.find(key)
	if e == nil {
		return nil, nil
	}
	now := s.elapsed()
	if now >= e.expires {
		m.drop(key, e)
		return nil, nil
	}
	if now-time.Duration(e.checked.Load()) < recheckAfter {
		return e.account, nil
	}
	select {
	case e.busy <- struct{}{}:
		defer func() { <-e.busy }()
	case <-ctx.Done():
		return nil, gaveUp(ctx.Err())
	}
	now = s.elapsed()
	if now-time.Duration(e.checked.Load()) >= recheckAfter {
		holds, err := s.holds(ctx, e)
		if err != nil {
			return nil, err
		}
		if !holds {
			m.drop(key, e)
			return nil, nil
		}
		e.checked.Store(int64(now))
	}
	if e.ended.Load() {
		return nil, nil
	}
	return e.account, nil
}

// holds reports whether what e was verified against is still stored.
func (s *Store) holds(ctx context.Context, e *remembered) (bool, error) {
	item, err := s.find(ctx, s.classes.account, e.account.ID)
	if err != nil || item == nil || item.Revision != e.account.Revision {
		return false, err
	}
	if e.token == "" {
		return true, nil
	}
	item, err = s.find(ctx, s.classes.token, e.token)
	return item != nil, err
}

// remember keeps a credential that was verified against what was stored at
// the time at.
func (s *Store) remember(m *memory, key proof, e *remembered, generation uint64) {
	e.busy = make(chan struct{}, 1)
	m.put(key, e, generation, s.elapsed())
}

// forgetAccount ends what is remembered of an account.
func (s *Store) forgetAccount(id string) {
	of := func(e *remembered) bool { return e.account.ID == id }
	s.passwords.forget(of)
	s.tokens.forget(of)
	for _, changed := range s.changed {
		changed(id)
	}
}

// find returns a system item, nil when there is none.
func (s *Store) find(ctx context.Context, c *engine.Class, id string) (*engine.Item, error) {
	item, err := s.data.Get(asServer(ctx), c, id)
	if err != nil {
		if engine.CodeOf(err) == engine.NotFound {
			return nil, nil
		}
		return nil, err
	}
	return item, nil
}

// asServer returns a context in which the server itself acts: whoever asks
// for a token has no rights on system classes.
func asServer(ctx context.Context) context.Context {
	if engine.AccountFrom(ctx) == nil {
		return ctx
	}
	return engine.WithAccount(ctx, nil)
}

// identity makes the account that a stored one stands for.
func identity(item *engine.Item) *engine.Account {
	return &engine.Account{ID: item.ID, Name: text(item, "name"), Roles: splitRoles(text(item, "roles")), Revision: item.Revision}
}

func splitRoles(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

func disabled(item *engine.Item) bool {
	off, _ := item.Get("disabled").(bool)
	return off
}
