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

// accountName returns the account name in the credentials: <user>@<type>. It
// uses Credentials.Type only if the user has no type.
func accountName(c engine.Credentials) (string, error) {
	if i := strings.IndexByte(c.User, '@'); i > 0 && i < len(c.User)-1 {
		return c.User, nil
	} else if i < 0 && c.Type != "" {
		return c.User + "@" + c.Type, nil
	}
	return "", engine.Errorf(engine.Forbidden, "user-type", "user name must be <user>@<type>, for example admin@local")
}

// attempt is one try to sign in with a password.
type attempt struct {
	key      proof
	id       string // account name in the request
	counted  string // account name for counting failures: the same for all spellings of a login
	password string
	from     engine.Caller
	// known is set if this password was right before. Then the attempt is not a guess: it is not
	// counted before the check, and it does not wait behind guesses.
	known bool
}

// authenticatePassword implements the mode engine.AuthPwd, which needs a user name and a
// password. A wrong password, an unknown account and a disabled account get the same error
// Unauthenticated, so that it does not disclose which accounts exist. After too many failures,
// engine.Guesses rejects further attempts with an error of its own, before the password is
// checked.
func (s *passwordCheck) authenticatePassword(ctx context.Context, c engine.Credentials) (*engine.Account, error) {
	if c.User == "" || c.Password == "" {
		return nil, missingCredentials("a user name and a password are needed")
	}
	id, err := accountName(c)
	if err != nil {
		return nil, err
	}
	key := s.prover.prove(id, c.Password)
	known := s.passwords.Find(key) != nil // the entry may have expired
	if a, err := s.recallAccount(ctx, s.passwords, key); a != nil || err != nil {
		return a, err
	}
	try := attempt{key, id, id, c.Password, c.Caller, known}
	if s.foldsCase {
		try.counted = foldName(id)
	}
	if try.from == (engine.Caller{}) {
		try.from = engine.CallerFrom(ctx)
	}
	if err := s.admitAttempt(ctx, try); err != nil {
		s.auditAttempt(ctx, try, "too many failures", err)
		return nil, err
	}
	a, why, err := s.signIn(ctx, try)
	if err == nil {
		try.id = a.ID
		s.guesses.Succeeded(ctx, try.counted, try.from)
	}
	s.auditAttempt(ctx, try, why, err)
	return a, err
}

// admitAttempt returns the error of s.guesses if they do not allow the attempt. If they require a
// delay, it waits; so the attempt enters the queue of the hasher only after the delay.
func (s *passwordCheck) admitAttempt(ctx context.Context, try attempt) error {
	if try.known {
		return nil
	}
	wait, err := s.guesses.Admit(ctx, try.counted, try.from)
	if err != nil || wait <= 0 {
		return err
	}
	network := networkOf(try.from.Address)
	if !s.waiting.join(network) {
		return busyError()
	}
	defer s.waiting.leave(network)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return timeoutError(ctx.Err())
	}
}

// auditAttempt records the result of an attempt in the audit log. Failures of the
// server itself are not recorded there.
func (s *passwordCheck) auditAttempt(ctx context.Context, try attempt, why string, err error) {
	e := engine.Event{Kind: engine.SignedIn, Account: try.id, Caller: try.from}
	switch {
	case err == nil:
	case engine.CodeOf(err) == engine.Unauthenticated, engine.CodeOf(err) == engine.TooMany:
		e.Kind, e.Details = engine.SignInFailed, engine.Fields{{Name: "reason", Value: why}}
	default:
		s.warnRejected(err, try.from)
		return
	}
	s.audit.Audit(ctx, e)
}

// warnEvery is the minimum time between two warnings about too many sign-ins.
const warnEvery = time.Minute

// warnRejected logs that sign-ins are rejected without a check, at most once
// per warnEvery.
func (s *passwordCheck) warnRejected(err error, from engine.Caller) {
	var e *engine.Error
	if !errors.As(err, &e) || e.Reason != engine.PasswordQueue {
		return
	}
	now, last := s.elapsed(), s.warned.Load()
	if (last == 0 || now-time.Duration(last) >= warnEvery) && s.warned.CompareAndSwap(last, max(int64(now), 1)) {
		s.log.Warn("rejecting sign-ins: too many passwords wait for a check", "address", from.Address, "request", from.Request)
	}
}

// unlimited and unheard replace Config.Guesses and Config.Audit if these are
// nil.
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

// flight is one check of a password. Concurrent requests with the same
// credential share it.
type flight struct {
	done       chan struct{}
	generation uint64
	account    *engine.Account
	why        string // reason of a failure, for the audit log
	err        error
	abandoned  bool // err concerns only the request that ran the check: it ended or had failed too often
}

type flights struct {
	mu      sync.Mutex
	running map[proof]*flight
}

// join returns the running check of the same credential. If there is none, or if the
// cache has removed a credential since it began, join returns a new check and leads
// is true: the caller must run and finish it.
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

// signIn checks a password that is not cached. Concurrent requests with the same credential share
// one check and count as one guess, made by the request that runs the check.
func (s *passwordCheck) signIn(ctx context.Context, try attempt) (a *engine.Account, why string, err error) {
	for {
		fl, leads := s.flights.join(try.key, s.passwords.Generation())
		if leads {
			defer s.flights.finish(try.key, fl)
			fl.account, fl.why, fl.err = s.verifyPassword(ctx, fl.generation, try)
			fl.abandoned = fl.err != nil && (ctx.Err() != nil || engine.CodeOf(fl.err) == engine.TooMany)
			return fl.account, fl.why, fl.err
		}
		select {
		case <-fl.done:
		case <-ctx.Done():
			return nil, "", timeoutError(ctx.Err())
		}
		if !fl.abandoned {
			return fl.account, fl.why, fl.err
		}
	}
}

// verifyPassword compares a password with the stored account. It caches the password if
// it is right, and counts a failure if not.
func (s *passwordCheck) verifyPassword(ctx context.Context, generation uint64, try attempt) (a *engine.Account, why string, err error) {
	c, err := s.comparePassword(ctx, try)
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
	if a, err = s.buildAccount(ctx, c.item); err != nil {
		return nil, "", err
	}
	e := &remembered{Entry: remember.Entry{Expires: c.at + rememberFor}, given: try.id}
	e.account.Store(a)
	e.checked.Store(int64(c.at))
	s.rememberCredential(s.passwords, try.key, e, generation)
	return a, "", nil
}

// comparison is the result of comparing a password with the stored account.
type comparison struct {
	at      time.Duration // when the account was read
	item    *engine.Item
	renewed string // a new hash, if the stored one is of an old kind
	why     string // the reason of a failure, "" if the password is right
}

// comparePassword waits for its turn to hash, reads the account and compares the password. It
// reads the account after the wait, because the account could change during a long wait. After
// the wait it also asks s.guesses again, because earlier attempts in the queue may have failed
// too often.
func (s *passwordCheck) comparePassword(ctx context.Context, try attempt) (c comparison, err error) {
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
		if c.item, err = s.lookupAccount(ctx, try.id); err != nil {
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
	if c.why = failureReason(c.item, matches); c.why != "" {
		m.spendUpTo(cost, password)
	} else if !stored.isCurrent() {
		c.renewed = newHash(password)
	}
	s.hasher.addWork(m.spent)
	return c, nil
}

// failureReason returns why a password fails, for the audit log; "" if it does not.
func failureReason(item *engine.Item, matches bool) string {
	switch {
	case item == nil:
		return "unknown account"
	case isDisabled(item):
		return "disabled account"
	case !matches:
		return "wrong password"
	}
	return ""
}

// renewHash stores a hash of the current kind and returns the updated item. If
// that fails, the sign-in still succeeds and the next one tries again.
func (s *passwordCheck) renewHash(ctx context.Context, item *engine.Item, hash string) *engine.Item {
	v := engine.ValuesOf(s.classes.account, engine.Named("pwd", hash))
	match := &engine.Match{Revisions: []uint64{item.Revision}}
	updated, err := s.data.Update(engine.AsServer(ctx), s.classes.account, item.ID, v, engine.WriteOptions{Match: match})
	switch engine.CodeOf(err) {
	case engine.Unmatched, engine.NotFound: // the account was changed meanwhile, and that change stays
		return item
	}
	if err != nil {
		s.log.Warn("replacing an old password hash failed: the next sign-in tries again", "account", item.ID, "error", err)
		return item
	}
	return updated
}
