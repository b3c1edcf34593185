// Package account owns accounts, their passwords and their tokens: it proves
// who asks, issues and ends tokens, and makes the first administrator. It
// keeps them as items of system classes through whatever engine.Repository it
// is given, so it knows no SQL; it reads no headers (engine/rest) and decides
// nothing about what an account may do (engine/access).
package account

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"restsrv/engine"
	"restsrv/engine/remember"
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
	Audit         engine.Auditor   // is told of sign-ins and of changes of accounts; nil means nobody
	Log           *slog.Logger     // nil means none
	Now           func() time.Time // nil means time.Now

	// CaseInsensitive has a login mean the account whose login differs in the
	// letter case only, unless there is one that is the same, or several that
	// are not. The account goes by its stored name from then on.
	CaseInsensitive bool
	// First is called before the very first account is added, so that the role
	// of administrators is there; nil for nothing.
	First func(ctx context.Context) error
	// Removing is called before an account is removed, to delete its grants and
	// consents. If it fails, the account stays. Nil is allowed.
	Removing func(ctx context.Context, id string) error
	// Enrich adds to an account what is found about it elsewhere: coactors,
	// properties. It is called when an account is proven and then at most every
	// half a second. No account is proven while it fails.
	Enrich func(ctx context.Context, a *engine.Account) error
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

	foldsCase bool
	first     func(context.Context) error
	enrich    func(context.Context, *engine.Account) error
	removing  func(context.Context, string) error

	prover    *prover
	passwords *memory
	tokens    *memory
	flights   flights
	changed   listeners // see OnChange
	waiting   crowd
	warned    atomic.Int64 // when somebody was last said to be turned away, time.Duration since start
	cost      ceiling      // what a failed check costs
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
		foldsCase: c.CaseInsensitive, first: c.First, enrich: c.Enrich, removing: c.Removing,
		prover: newProver(), passwords: remember.New[*remembered](), tokens: remember.New[*remembered](),
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
	e := m.Find(key)
	if e == nil {
		return nil, nil
	}
	now := s.elapsed()
	if now >= e.Expires {
		m.Drop(key, e)
		return nil, nil
	}
	if now-time.Duration(e.checked.Load()) < recheckAfter {
		return e.account.Load(), nil
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
			m.Drop(key, e)
			return nil, nil
		}
		e.checked.Store(int64(now))
	}
	if e.Ended() {
		return nil, nil
	}
	return e.account.Load(), nil
}

// holds reports whether what e was verified against is still stored, and finds
// out anew what belongs to its account.
func (s *Store) holds(ctx context.Context, e *remembered) (bool, error) {
	a := e.account.Load()
	find := func() (*engine.Item, error) { return s.find(ctx, s.classes.account, a.ID) }
	if e.given != "" && e.given != a.ID {
		find = func() (*engine.Item, error) { return s.lookup(ctx, e.given) }
	}
	item, err := find()
	if err != nil || item == nil || item.ID != a.ID || item.Revision != a.Revision {
		return false, err
	}
	if e.token != "" {
		token, err := s.find(ctx, s.classes.token, e.token)
		if err != nil || token == nil {
			return false, err
		}
	}
	if s.enrich == nil {
		return true, nil
	}
	if a, err = s.identity(ctx, item); err != nil {
		return false, err
	}
	e.account.Store(a)
	return true, nil
}

// remember keeps a credential that was verified against what was stored at
// the time at.
func (s *Store) remember(m *memory, key proof, e *remembered, generation uint64) {
	e.busy = make(chan struct{}, 1)
	m.Put(key, e, generation, s.elapsed())
}

// forgetAccount ends what is remembered of an account.
func (s *Store) forgetAccount(id string) {
	same := func(other string) bool { return other == id }
	if s.foldsCase { // what another spelling means may have changed
		same = func(other string) bool { return folded(other) == folded(id) }
	}
	of := func(e *remembered) bool { return same(e.account.Load().ID) }
	s.passwords.Forget(of)
	s.tokens.Forget(of)
	s.changed.tell(id)
}

// find returns a system item, nil when there is none.
func (s *Store) find(ctx context.Context, c *engine.Class, id string) (*engine.Item, error) {
	item, err := s.data.Get(engine.AsServer(ctx), c, id)
	if err != nil {
		if engine.CodeOf(err) == engine.NotFound {
			return nil, nil
		}
		return nil, err
	}
	return item, nil
}
