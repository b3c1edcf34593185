// Package account manages accounts, their passwords and their tokens: it authenticates callers,
// issues and revokes tokens, and creates the first administrator. It stores them as items of
// system classes through an engine.Repository, so it contains no SQL. Two tasks belong to other
// packages: engine/rest reads the HTTP headers, and engine/access decides which data an account
// may use.
package account

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"restsrv/engine"
	"restsrv/engine/remember"
)

// DefaultTokenLifetime is the lifetime of tokens if the configuration does not
// set one.
const DefaultTokenLifetime = 30 * 24 * time.Hour

// Config holds the dependencies of a Store. Data, Classes and Hasher are
// required.
type Config struct {
	Data          engine.Repository // stores items of Classes
	Classes       []*engine.Class   // the result of Classes, with which Data was opened
	Hasher        *Hasher
	TokenLifetime time.Duration    // maximum and default lifetime of a token; 0 means DefaultTokenLifetime
	Guesses       engine.Guesses   // limits failed passwords; nil means no limit
	Audit         engine.Auditor   // records sign-ins and changes of accounts; if nil, they are not recorded
	Log           *slog.Logger     // if nil, messages are discarded
	Now           func() time.Time // if nil, time.Now is used

	// CaseInsensitive accepts a login in any letter case. If an account has exactly this login,
	// that account is used. Otherwise the login is accepted only if it matches a single account.
	// The caller is then known by the stored name of the account.
	CaseInsensitive bool
	// First is called before the very first account is added, and should create
	// the role of administrators. It may be nil.
	First func(ctx context.Context) error
	// Removing is called before an account is removed, to delete the grants and consents of the
	// account. If Removing fails, the account stays. Removing may be nil.
	Removing func(ctx context.Context, id string) error
	// Enrich adds the coactors and properties of an account that come from elsewhere. It is
	// called when a credential is checked. While the credential is cached, it is called again by
	// a request if the last call was more than half a second ago. If it fails, the
	// authentication fails. It may be nil.
	Enrich func(ctx context.Context, a *engine.Account) error
}

// Store holds the accounts and tokens of one database. It implements engine.Authenticator and
// engine.TokenIssuer. It is safe for concurrent use. Several processes can use the same database:
// a change by one process takes effect in the others within a second.
type Store struct {
	*directory
	*cache
	*passwordCheck
	*tokenStore

	first    func(context.Context) error
	removing func(context.Context, string) error
}

// directory reads the stored accounts. It also holds the dependencies that the
// other parts of a Store share.
type directory struct {
	data      engine.Repository
	classes   classSet
	audit     engine.Auditor
	log       *slog.Logger
	clock     func() time.Time
	start     time.Time
	foldsCase bool
	enrich    func(context.Context, *engine.Account) error
}

// cache remembers verified passwords and tokens. It calls the listeners when an
// account changes.
type cache struct {
	*directory
	passwords *memory
	tokens    *memory
	changed   listeners // see OnChange
}

// passwordCheck signs accounts in by password.
type passwordCheck struct {
	*cache
	hasher  *Hasher
	guesses engine.Guesses
	prover  *prover
	flights flights
	waiting crowd
	warned  atomic.Int64 // when the last rejected sign-in was logged, time.Duration since start
	cost    ceiling      // the work that a failed check must cost
}

// tokenStore issues, checks and revokes tokens. It implements
// engine.TokenIssuer.
type tokenStore struct {
	*cache
	lifetime time.Duration // maximum and default lifetime of a token
}

// New returns a Store. It fails if Config.Classes is not complete.
func New(c Config) (*Store, error) {
	classes, err := findClasses(c.Classes)
	if err != nil {
		return nil, err
	}
	d := &directory{
		data: c.Data, classes: classes, audit: c.Audit, log: c.Log, clock: c.Now,
		foldsCase: c.CaseInsensitive, enrich: c.Enrich,
	}
	if d.audit == nil {
		d.audit = unheard{}
	}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	if d.clock == nil {
		d.clock = time.Now
	}
	d.start = d.clock()
	verified := &cache{directory: d, passwords: remember.New[*remembered](), tokens: remember.New[*remembered]()}
	check := &passwordCheck{
		cache: verified, hasher: c.Hasher, guesses: c.Guesses, prover: newProver(),
		flights: flights{running: make(map[proof]*flight)},
	}
	if check.guesses == nil {
		check.guesses = unlimited{}
	}
	tokens := &tokenStore{cache: verified, lifetime: c.TokenLifetime}
	if tokens.lifetime <= 0 {
		tokens.lifetime = DefaultTokenLifetime
	}
	return &Store{
		directory: d, cache: verified, passwordCheck: check, tokenStore: tokens,
		first: c.First, removing: c.Removing,
	}, nil
}

// Authenticate implements engine.Authenticator. It checks only the credential that the mode
// names: the password for engine.AuthPwd, the token for engine.AuthToken. The returned account
// is shared and must not be changed. In addition to the errors of the interface, it returns
// errors of the repository, and Timeout if ctx ends first.
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

func missingCredentials(what string) error {
	return engine.Errorf(engine.Unauthenticated, "credentials-missing", "%s", what)
}

// elapsed returns the time since the Store was created. Unlike the wall clock,
// it never jumps.
func (s *directory) elapsed() time.Duration { return s.clock().Sub(s.start) }

// recallAccount returns the account of a cached credential, or nil if the credential
// is not cached or not valid any more.
func (s *cache) recallAccount(ctx context.Context, m *memory, key proof) (*engine.Account, error) {
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
		return nil, timeoutError(ctx.Err())
	}
	now = s.elapsed()
	if now-time.Duration(e.checked.Load()) >= recheckAfter {
		holds, err := s.stillHolds(ctx, e)
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

// stillHolds reports whether the account, password and token with which e was
// verified are still stored unchanged. It also refreshes the account with
// Config.Enrich.
func (s *cache) stillHolds(ctx context.Context, e *remembered) (bool, error) {
	a := e.account.Load()
	find := func() (*engine.Item, error) { return s.find(ctx, s.classes.account, a.ID) }
	if e.given != "" && e.given != a.ID {
		find = func() (*engine.Item, error) { return s.lookupAccount(ctx, e.given) }
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
	if a, err = s.buildAccount(ctx, item); err != nil {
		return false, err
	}
	e.account.Store(a)
	return true, nil
}

// rememberCredential caches a verified credential. It does not cache the credential if an
// account or a token was removed from the caches after Generation returned the given generation,
// because the check may have used data that are void now. See remember.Memory.
func (s *cache) rememberCredential(m *memory, key proof, e *remembered, generation uint64) {
	e.busy = make(chan struct{}, 1)
	m.Put(key, e, generation, s.elapsed())
}

// forgetAccount removes an account from the caches and calls the listeners.
func (s *cache) forgetAccount(id string) {
	same := func(other string) bool { return other == id }
	if s.foldsCase { // another spelling may mean a different account now
		same = func(other string) bool { return foldName(other) == foldName(id) }
	}
	of := func(e *remembered) bool { return same(e.account.Load().ID) }
	s.passwords.Forget(of)
	s.tokens.Forget(of)
	s.changed.notifyAll(id)
}

// find returns a system item, or nil if it does not exist.
func (s *directory) find(ctx context.Context, c *engine.Class, id string) (*engine.Item, error) {
	item, err := s.data.Get(engine.AsServer(ctx), c, id)
	if err != nil {
		if engine.CodeOf(err) == engine.NotFound {
			return nil, nil
		}
		return nil, err
	}
	return item, nil
}
