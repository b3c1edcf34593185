package account

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"restsrv/engine"
	"restsrv/engine/remember"
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

// attempt is a password that somebody offers for an account.
type attempt struct {
	key      proof
	id       string // as it was given
	counted  string // whose failures it is counted with: one name for all spellings of a login
	password string
	from     engine.Caller
	// known says that this very password was right before: it is no guess, and
	// is neither counted before it is checked nor kept waiting behind guesses.
	known bool
}

// authenticatePassword is mode pwd. All failures of a complete credential are
// the same Unauthenticated, until they are too many.
func (s *Store) authenticatePassword(ctx context.Context, c engine.Credentials) (*engine.Account, error) {
	if c.User == "" || c.Password == "" {
		return nil, missing("a user name and a password are needed")
	}
	id, err := accountName(c)
	if err != nil {
		return nil, err
	}
	key := s.prover.prove(id, c.Password)
	known := s.passwords.Find(key) != nil // perhaps for too long
	if a, err := s.recall(ctx, s.passwords, key); a != nil || err != nil {
		return a, err
	}
	try := attempt{key, id, id, c.Password, c.Caller, known}
	if s.foldsCase {
		try.counted = folded(id)
	}
	if try.from == (engine.Caller{}) {
		try.from = engine.CallerFrom(ctx)
	}
	if err := s.admit(ctx, try); err != nil {
		s.report(ctx, try, "too many failures", err)
		return nil, err
	}
	a, why, err := s.signIn(ctx, try)
	if err == nil {
		try.id = a.ID
		s.guesses.Succeeded(ctx, try.counted, try.from)
	}
	s.report(ctx, try, why, err)
	return a, err
}

// admit asks whether the attempt may be made, and waits as long as it has to,
// before it takes its turn to hash.
func (s *Store) admit(ctx context.Context, try attempt) error {
	if try.known {
		return nil
	}
	wait, err := s.guesses.Admit(ctx, try.counted, try.from)
	if err != nil || wait <= 0 {
		return err
	}
	network := networkOf(try.from.Address)
	if !s.waiting.join(network) {
		return tooBusy()
	}
	defer s.waiting.leave(network)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return gaveUp(ctx.Err())
	}
}

// report tells the auditor what became of an attempt; failures of ours are
// none of its business.
func (s *Store) report(ctx context.Context, try attempt, why string, err error) {
	e := engine.Event{Kind: engine.SignedIn, Account: try.id, Caller: try.from}
	switch {
	case err == nil:
	case engine.CodeOf(err) == engine.Unauthenticated, engine.CodeOf(err) == engine.TooMany:
		e.Kind, e.Details = engine.SignInFailed, engine.Fields{{Name: "reason", Value: why}}
	default:
		s.warnTurnedAway(err, try.from)
		return
	}
	s.audit.Audit(ctx, e)
}

// warnEvery is how often it is logged that there are too many sign-ins.
const warnEvery = time.Minute

// warnTurnedAway logs, now and then, that sign-ins are not even looked at.
func (s *Store) warnTurnedAway(err error, from engine.Caller) {
	var e *engine.Error
	if !errors.As(err, &e) || e.Reason != engine.PasswordQueue {
		return
	}
	now, last := s.elapsed(), s.warned.Load()
	if (last == 0 || now-time.Duration(last) >= warnEvery) && s.warned.CompareAndSwap(last, max(int64(now), 1)) {
		s.log.Warn("sign-ins are turned away, because more passwords come than can be checked", "address", from.Address, "request", from.Request)
	}
}

// unlimited and unheard stand for what Config leaves out.
type (
	unlimited struct{}
	unheard   struct{}
)

func (unlimited) Admit(context.Context, string, engine.Caller) (time.Duration, error) { return 0, nil }
func (unlimited) Failed(context.Context, string, engine.Caller)                       {}
func (unlimited) Succeeded(context.Context, string, engine.Caller)                    {}
func (unheard) Audit(context.Context, engine.Event)                                   {}

func wrongPassword() error {
	return engine.Errorf(engine.Unauthenticated, "credentials", "the user name or the password is wrong")
}

// flight is one check of an account's password that equal requests share.
type flight struct {
	done       chan struct{}
	generation uint64
	account    *engine.Account
	why        string // of a failure, for the auditor
	err        error
	abandoned  bool // err is about the request that led it only: it ended, or failed too often
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
// requests of the moment: together they are one guess, that of whoever leads.
func (s *Store) signIn(ctx context.Context, try attempt) (a *engine.Account, why string, err error) {
	for {
		fl, leads := s.flights.join(try.key, s.passwords.Generation())
		if leads {
			defer s.flights.finish(try.key, fl)
			fl.account, fl.why, fl.err = s.verify(ctx, fl.generation, try)
			fl.abandoned = fl.err != nil && (ctx.Err() != nil || engine.CodeOf(fl.err) == engine.TooMany)
			return fl.account, fl.why, fl.err
		}
		select {
		case <-fl.done:
		case <-ctx.Done():
			return nil, "", gaveUp(ctx.Err())
		}
		if !fl.abandoned {
			return fl.account, fl.why, fl.err
		}
	}
}

// verify checks a password against the stored account and remembers it, or
// counts the failure.
func (s *Store) verify(ctx context.Context, generation uint64, try attempt) (a *engine.Account, why string, err error) {
	c, err := s.compare(ctx, try)
	if err != nil {
		return nil, c.why, err
	}
	if c.why != "" {
		s.guesses.Failed(ctx, try.counted, try.from)
		return nil, c.why, wrongPassword()
	}
	if c.renewed != "" {
		c.item = s.renewHash(ctx, c.item, c.renewed)
	}
	if a, err = s.identity(ctx, c.item); err != nil {
		return nil, "", err
	}
	e := &remembered{Entry: remember.Entry{Expires: c.at + rememberFor}, given: try.id}
	e.account.Store(a)
	e.checked.Store(int64(c.at))
	s.remember(s.passwords, try.key, e, generation)
	return a, "", nil
}

// comparison is what comparing a password has shown.
type comparison struct {
	at      time.Duration // when the account was read
	item    *engine.Item
	renewed string // a new hash, when the stored one is of an old kind
	why     string // it fails, "" when it does not
}

// compare takes its turn to hash, reads the account (only then, so that a
// long queue does not make the reading old) and compares. It asks once more
// whether the attempt may be made: those before it in the queue may have been
// too many.
func (s *Store) compare(ctx context.Context, try attempt) (c comparison, err error) {
	if try.known {
		err = s.hasher.enterFirst(ctx)
	} else {
		err = s.hasher.enter(ctx, try.from)
	}
	if err != nil {
		return c, err
	}
	defer s.hasher.leave()
	if !try.known {
		if _, err := s.guesses.Admit(ctx, try.counted, try.from); err != nil {
			c.why = "too many failures"
			return c, err
		}
	}
	c.at = s.elapsed()
	if checkID(try.id) == nil {
		if c.item, err = s.lookup(ctx, try.id); err != nil {
			return c, err
		}
	}
	var stored storedHash
	if c.item != nil {
		stored = parseHash(c.item.Text("pwd"))
	}
	cost, err := s.failureCost(ctx, stored)
	if err != nil {
		return c, err
	}
	var m meter
	password := try.password[:min(len(try.password), MaxPassword)]
	matches := stored.compare(&m, password) && len(password) == len(try.password)
	if c.why = reason(c.item, matches); c.why != "" {
		m.spendUpTo(cost, password)
	} else if !stored.current() {
		c.renewed = newHash(password)
	}
	s.hasher.spend(m.spent)
	return c, nil
}

// reason is why a password fails, for the auditor; "" when it does not.
func reason(item *engine.Item, matches bool) string {
	switch {
	case item == nil:
		return "unknown account"
	case disabled(item):
		return "disabled account"
	case !matches:
		return "wrong password"
	}
	return ""
}

// renewHash stores a hash of the current kind and returns the item as it is
// then. The sign-in counts even if that fails; the next one tries again.
func (s *Store) renewHash(ctx context.Context, item *engine.Item, hash string) *engine.Item {
	v := engine.ValuesOf(s.classes.account, engine.Named("pwd", hash))
	match := &engine.Match{Revisions: []uint64{item.Revision}}
	updated, err := s.data.Update(engine.AsServer(ctx), s.classes.account, item.ID, v, engine.WriteOptions{Match: match})
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
