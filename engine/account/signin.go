package account

import (
	"context"
	"strings"
	"sync"
	"time"

	"restsrv/engine"
)

// accountName returns the account that credentials name: <user>@<type>, the
// type from Credentials.Type only when the user has none.
func accountName(c engine.Credentials) (string, error) {
	if i := strings.IndexByte(c.User, '@'); i > 0 && i < len(c.User)-1 {
		return c.User, nil
	} else if i < 0 && c.Type != "" {
		return c.User + "@" + c.Type, nil
	}
	return "", engine.Errorf(engine.Forbidden, "user-type", "user name must be <user>@<type>, for example admin@local")
}

// authenticatePassword is mode pwd. All failures of a complete credential are
// the same Unauthenticated.
func (s *Store) authenticatePassword(ctx context.Context, c engine.Credentials) (*engine.Account, error) {
	if c.User == "" || c.Password == "" {
		return nil, missing("a user name and a password are needed")
	}
	id, err := accountName(c)
	if err != nil {
		return nil, err
	}
	if len(c.Password) > MaxPassword {
		return nil, wrongPassword()
	}
	key := s.prover.prove(id, c.Password)
	if a, err := s.recall(ctx, s.passwords, key); a != nil || err != nil {
		return a, err
	}
	return s.signIn(ctx, key, id, c.Password)
}

func wrongPassword() error {
	return engine.Errorf(engine.Unauthenticated, "credentials", "the user name or the password is wrong")
}

// flight is one check of an account's password that equal requests share.
type flight struct {
	done       chan struct{}
	generation uint64
	account    *engine.Account
	err        error
	abandoned  bool // the request that led it ended; err is about that one only
}

type flights struct {
	mu      sync.Mutex
	running map[proof]*flight
}

// join returns the running check of the same credential, or a new one that
// the caller must finish. One that began before something was forgotten is
// not joined.
func (f *flights) join(key proof, generation uint64) (fl *flight, leads bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fl = f.running[key]; fl != nil && fl.generation == generation {
		return fl, false
	}
	fl = &flight{done: make(chan struct{}), generation: generation, err: wrongPassword()}
	f.running[key] = fl
	return fl, true
}

func (f *flights) finish(key proof, fl *flight) {
	f.mu.Lock()
	if f.running[key] == fl {
		delete(f.running, key)
	}
	f.mu.Unlock()
	close(fl.done)
}

// signIn checks a password that is not remembered, once for all equal
// requests of the moment.
func (s *Store) signIn(ctx context.Context, key proof, id, password string) (*engine.Account, error) {
	for {
		fl, leads := s.flights.join(key, s.passwords.now())
		if leads {
			defer s.flights.finish(key, fl)
			fl.account, fl.err = s.verify(ctx, fl.generation, key, id, password)
			fl.abandoned = fl.err != nil && ctx.Err() != nil
			return fl.account, fl.err
		}
		select {
		case <-fl.done:
		case <-ctx.Done():
			return nil, gaveUp(ctx.Err())
		}
		if !fl.abandoned {
			return fl.account, fl.err
		}
	}
}

// verify checks a password against the stored account and remembers it.
func (s *Store) verify(ctx context.Context, generation uint64, key proof, id, password string) (*engine.Account, error) {
	at, item, renewed, err := s.compare(ctx, id, password)
	if err != nil {
		return nil, err
	}
	if renewed != "" {
		item = s.renewHash(ctx, item, renewed)
	}
	a, err := s.identity(ctx, item)
	if err != nil {
		return nil, err
	}
	e := &remembered{given: id, expires: at + rememberFor}
	e.account.Store(a)
	e.checked.Store(int64(at))
	s.remember(s.passwords, key, e, generation)
	return a, nil
}

// compare takes its turn to hash, reads the account (only then, so that a
// long queue does not make the reading old) and compares. renewed is a new
// hash when the stored one is of an old kind; at is when the account was read.
func (s *Store) compare(ctx context.Context, id, password string) (at time.Duration, item *engine.Item, renewed string, err error) {
	if err := s.hasher.enter(ctx); err != nil {
		return 0, nil, "", err
	}
	defer s.hasher.leave()
	at = s.elapsed()
	if checkID(id) == nil {
		if item, err = s.lookup(ctx, id); err != nil {
			return 0, nil, "", err
		}
	}
	var stored storedHash
	if item != nil {
		stored = parseHash(text(item, "pwd"))
	}
	matches := stored.matches(password)
	if !matches || disabled(item) {
		stored.spendRest(password)
		return 0, nil, "", wrongPassword()
	}
	if !stored.current() {
		renewed = newHash(password)
	}
	return at, item, renewed, nil
}

// renewHash stores a hash of the current kind and returns the item as it is
// then. The sign-in counts even if that fails; the next one tries again.
func (s *Store) renewHash(ctx context.Context, item *engine.Item, hash string) *engine.Item {
	v := values(s.classes.account, set{"pwd", hash})
	match := &engine.Match{Revisions: []uint64{item.Revision}}
	updated, err := s.data.Update(asServer(ctx), s.classes.account, item.ID, v, engine.WriteOptions{Match: match})
	switch engine.CodeOf(err) {
	case engine.Unmatched, engine.NotFound: // changed meanwhile: that change counts
		return item
	}
	if err != nil {
		s.log.Warn("an old password hash could not be renewed", "account", item.ID, "error", err)
		return item
	}
	return updated
}
