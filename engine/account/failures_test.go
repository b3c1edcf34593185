package account_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/account"
)

// faulty is a repository in which selected calls fail.
type faulty struct {
	engine.Repository
	update, delete, save error
	updates              int
	empty                bool // if set, Count returns 0
}

func (r *faulty) Update(ctx context.Context, c *engine.Class, id string, v engine.Values, o engine.WriteOptions) (*engine.Item, error) {
	if r.updates++; r.update != nil {
		return nil, r.update
	}
	return r.Repository.Update(ctx, c, id, v, o)
}

func (r *faulty) Delete(ctx context.Context, c *engine.Class, id string, m *engine.Match) error {
	if r.delete != nil {
		return r.delete
	}
	return r.Repository.Delete(ctx, c, id, m)
}

func (r *faulty) Save(ctx context.Context, records []engine.Record) ([]*engine.Item, error) {
	if r.save != nil {
		return nil, r.save
	}
	return r.Repository.Save(ctx, records)
}

func (r *faulty) Count(ctx context.Context, q *engine.Query) (int64, error) {
	if r.empty {
		return 0, nil
	}
	return r.Repository.Count(ctx, q)
}

var busy = engine.Errorf(engine.Unavailable, "busy", "the database is busy")

// faulty returns a Store on the accounts of f in which selected calls fail. It also returns the
// repository, the log and the audit events.
func (f *fixture) faulty() (*account.Store, *faulty, *bytes.Buffer, *audit) {
	f.t.Helper()
	r, log, events := &faulty{Repository: f.data}, &bytes.Buffer{}, &audit{}
	c := f.config
	c.Data, c.Classes, c.Hasher, c.Now, c.Audit, c.Log = r, f.classes, f.hasher, f.clock.Now, events, slog.New(slog.NewTextHandler(log, nil))
	s, err := account.New(c)
	if err != nil {
		f.t.Fatal(err)
	}
	return s, r, log, events
}

// tokens counts the stored tokens.
func (f *fixture) tokens() int64 {
	f.t.Helper()
	n, err := f.data.Count(context.Background(), &engine.Query{Class: f.class("#token"), Count: -1})
	if err != nil {
		f.t.Fatal(err)
	}
	return n
}

// TestCurrent checks which accounts Current returns, and that their basis
// changes with the password and when the account is disabled.
func TestCurrent(t *testing.T) {
	f, ctx := newFixture(t), context.Background()
	f.add("ann@local")
	a, first, err := f.Current(ctx, "ann@local")
	if err != nil || a.ID != "ann@local" || first == "" || len(a.Roles) != 2 {
		t.Fatalf("got %+v with basis %q and error %v, want ann@local with her roles and a basis", a, first, err)
	}
	if _, again, err := f.Current(ctx, "ann@local"); err != nil || again != first {
		t.Errorf("the basis is %q (%v), want %q as before", again, err, first)
	}
	f.clock.Advance(time.Second)
	wantOK(t, "password", f.SetPassword(ctx, "ann@local", "another:horse"))
	_, second, err := f.Current(ctx, "ann@local")
	if err != nil || second == first {
		t.Errorf("after a new password the basis is %q (%v), want another than %q", second, err, first)
	}
	wantOK(t, "disable", f.Disable(ctx, "ann@local"))
	_, _, err = f.Current(ctx, "ann@local")
	wantCode(t, "a disabled account", err, engine.Unauthenticated)
	_, _, err = f.Current(ctx, "bob@local")
	wantCode(t, "an unknown account", err, engine.Unauthenticated)
	f.data.failWith(busy)
	_, _, err = f.Current(ctx, "ann@local")
	wantCode(t, "a busy database", err, engine.Unavailable)
	f.data.failWith(nil)
	f.put("ann@local", map[string]any{"disabled": nil, "pwdDate": nil, "ended": nil})
	if _, basis, err := f.Current(ctx, "ann@local"); err != nil || basis != "" {
		t.Errorf("an account without dates has basis %q (%v), want none", basis, err)
	}
}

// TestListeners checks that each listener is called for a changed account until it is
// unregistered, and that unregistering one listener does not affect the others.
func TestListeners(t *testing.T) {
	f, ctx := newFixture(t), context.Background()
	f.add("ann@local")
	var heard []string
	listen := func(name string) func() {
		return f.OnChange(func(id string) { heard = append(heard, name+" "+id) })
	}
	stopOne, stopTwo := listen("one"), listen("two")
	wantOK(t, "disable", f.Disable(ctx, "ann@local"))
	if got := strings.Join(heard, ","); strings.Count(got, "one ann@local") != 1 || strings.Count(got, "two ann@local") != 1 {
		t.Errorf("heard %s, want one ann@local and two ann@local", got)
	}
	heard = nil
	stopOne()
	wantOK(t, "enable", f.Enable(ctx, "ann@local"))
	if got := strings.Join(heard, ","); got != "two ann@local" {
		t.Errorf("heard %s, want two ann@local", got)
	}
	heard = nil
	stopTwo()
	wantOK(t, "disable", f.Disable(ctx, "ann@local"))
	if len(heard) > 0 {
		t.Errorf("heard %v, want nothing", heard)
	}
}

// TestChangesOfAccounts checks the errors and the audit events of changes of known
// and unknown accounts.
func TestChangesOfAccounts(t *testing.T) {
	f, ctx := newFixture(t), context.Background()
	f.add("ann@local")
	s, r, _, events := f.faulty()
	changes := []struct {
		name  string
		made  func(id string) error
		event string // "" if an error but no event is expected
	}{
		{"enable", func(id string) error { return s.Enable(ctx, id) }, "enabled"},
		{"disable", func(id string) error { return s.Disable(ctx, id) }, "disabled"},
		{"set a password", func(id string) error { return s.SetPassword(ctx, id, "another:horse") }, "password"},
		{"set roles", func(id string) error { return s.SetRoles(ctx, id, []string{"x"}) }, "roles"},
	}
	for _, x := range changes {
		events.take()
		err := x.made("bob@local")
		if e, ok := err.(*engine.Error); !ok || e.Reason != "unknown-account" || len(events.take()) > 0 {
			t.Errorf("%s of an unknown account: got %v, want unknown-account and no event", x.name, err)
		}
		r.update = busy
		if err := x.made("ann@local"); engine.CodeOf(err) != engine.Unavailable || len(events.take()) > 0 {
			t.Errorf("%s in a busy database: got %v, want Unavailable and no event", x.name, err)
		}
		r.update = nil
		wantOK(t, x.name, x.made("ann@local"))
		if got := events.take(); len(got) != 1 || got[0].Details[0].Value != x.event {
			t.Errorf("%s: got events %+v, want one of %s", x.name, got, x.event)
		}
	}
	for id, want := range map[string]engine.Code{"ann@local": engine.Invalid, "bob@local": 0, "bob": engine.Invalid} {
		if err := s.CheckNew(ctx, account.Account{ID: id}); err != nil && want == 0 || want != 0 && engine.CodeOf(err) != want {
			t.Errorf("a new account %s: got %v, want code %d", id, err, want)
		}
	}
}

// TestRemoveTakesTokens checks that removing an account removes its tokens, and the
// errors if the account is unknown or the database is busy.
func TestRemoveTakesTokens(t *testing.T) {
	f, ctx := newFixture(t), context.Background()
	f.add("ann@local")
	f.issue("ann@local", "a", 0)
	f.issue("ann@local", "b", 0)
	s, r, _, _ := f.faulty()
	err := s.Remove(ctx, "bob@local")
	if e, ok := err.(*engine.Error); !ok || e.Reason != "unknown-account" {
		t.Errorf("an unknown account: got %v, want unknown-account", err)
	}
	r.delete = busy
	wantCode(t, "a busy database", s.Remove(ctx, "ann@local"), engine.Unavailable)
	r.delete, r.save = nil, busy
	wantCode(t, "a database that gets busy", s.Remove(ctx, "ann@local"), engine.Unavailable)
	r.save = nil
	f.add("ann@local")
	wantOK(t, "remove", s.Remove(ctx, "ann@local"))
	if n := f.tokens(); n != 0 {
		t.Errorf("%d tokens are left, want none", n)
	}
}

// TestRemoveEndsGrants checks that removing an account first removes its grants,
// and keeps the account if the grants cannot be removed.
func TestRemoveEndsGrants(t *testing.T) {
	f, ctx := newFixture(t), context.Background()
	f.add("ann@local")
	var ended []string
	var fail error = busy
	f.config.Removing = func(ctx context.Context, id string) error {
		if _, err := f.Get(ctx, id); err != nil {
			t.Errorf("got %v, want the account still there", err)
		}
		ended = append(ended, id)
		return fail
	}
	s := f.another()
	wantCode(t, "grants that cannot be ended", s.Remove(ctx, "ann@local"), engine.Unavailable)
	if _, err := f.Get(ctx, "ann@local"); err != nil {
		t.Errorf("got %v, want the account kept", err)
	}
	fail = nil
	wantOK(t, "remove", s.Remove(ctx, "ann@local"))
	wantCode(t, "an account that is gone", s.Remove(ctx, "ann@local"), engine.NotFound)
	if len(ended) != 2 {
		t.Errorf("grants were ended of %v, want twice of ann@local", ended)
	}
}

// TestRolesOfABusyAccount checks how often a change of roles is repeated because the account was
// changed between the read and the write.
func TestRolesOfABusyAccount(t *testing.T) {
	f := newFixture(t)
	f.add("ann@local")
	s, r, _, _ := f.faulty()
	r.update = engine.Errorf(engine.Unmatched, "revision", "changed")
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	_, err := s.AddRole(ctx, "ann@local", "x")
	if wantCode(t, "always changed", err, engine.Unmatched); r.updates != 5 {
		t.Errorf("the change was tried %d times, want 5", r.updates)
	}
}

// TestExpiredTokensThatStay checks an expired token that cannot be deleted: it is not listed, and
// the failure is logged. It also checks the limits of lifetimes.
func TestExpiredTokensThatStay(t *testing.T) {
	f, ctx := newFixture(t), context.Background()
	f.add("ann@local")
	f.issue("ann@local", "old", time.Second)
	s, r, log, _ := f.faulty()
	f.clock.Advance(2 * time.Second)
	r.delete = busy
	if all, err := s.Tokens(ctx, "ann@local"); err != nil || len(all) != 0 || !strings.Contains(log.String(), "deleting an expired token failed") {
		t.Errorf("got %v, %v, want no token and a warning:\n%s", all, err, log)
	}
	log.Reset()
	r.delete = nil
	if all, err := s.Tokens(ctx, "ann@local"); err != nil || len(all) != 0 || log.Len() > 0 || f.tokens() != 0 {
		t.Errorf("got %v, %v, want no token and no warning:\n%s", all, err, log)
	}
	_, _, err := s.Issue(ctx, "ann@local", "", 31*24*time.Hour)
	if engine.CodeOf(err) != engine.Invalid || !strings.Contains(err.Error(), "from 1 to 2592000 seconds") {
		t.Errorf("a lifetime of 31 days: got %v, want one from 1 to 2592000 seconds", err)
	}
}

// TestImportIntoABusyDatabase checks that an import stops when the database fails, and that it
// continues after an account that it refuses.
func TestImportIntoABusyDatabase(t *testing.T) {
	f, ctx := newFixture(t), context.Background()
	s, r, _, _ := f.faulty()
	var acl account.ACL
	for _, id := range []string{"ann@local", "bob", "cid@local"} {
		acl.Accounts = append(acl.Accounts, account.ACLAccount{Account: account.Account{ID: id}, Password: password, Where: id})
	}
	for _, code := range []engine.Code{engine.Unavailable, engine.Timeout} {
		r.save = engine.Errorf(code, "away", "the database is away")
		done, err := s.Import(ctx, acl)
		if engine.CodeOf(err) != code || done.Accounts != 0 || len(done.Refused) != 0 {
			t.Errorf("got %+v and error %v, want the failure of the database", done, err)
		}
	}
	r.save = nil
	done, err := s.Import(ctx, acl)
	if err != nil || done.Accounts != 2 || len(done.Refused) != 1 || done.Refused[0].Where != "bob" {
		t.Errorf("got %+v and error %v, want two accounts and bob refused", done, err)
	}
}

// TestFirstAdminOfTwoProcesses checks a process that tries to create the administrator just after
// another process has done so: it generates no password. Other failures are reported.
func TestFirstAdminOfTwoProcesses(t *testing.T) {
	f, ctx := newFixture(t), context.Background()
	s, r, _, _ := f.faulty()
	r.empty = true
	made, err := s.EnsureAdmin(ctx, "")
	if err != nil || !made.Created || made.Generated == "" {
		t.Fatalf("got %+v, %v, want a new administrator", made, err)
	}
	if made, err := s.EnsureAdmin(ctx, ""); err != nil || made != (account.Admin{}) {
		t.Errorf("got %+v, %v, want nothing to do", made, err)
	}
	// The account exists, so the given password is ignored although it is too long.
	if made, err := s.EnsureAdmin(ctx, strings.Repeat("x", account.MaxPassword+1)); err == nil && made != (account.Admin{}) {
		t.Errorf("got %+v, want nothing to do", made)
	}
	other := newFixture(t)
	_, err = other.EnsureAdmin(ctx, strings.Repeat("x", account.MaxPassword+1))
	wantCode(t, "a password that is too long", err, engine.Invalid)
	longest := strings.Repeat("x", account.MaxPassword)
	if _, err := other.EnsureAdmin(ctx, longest); err != nil {
		t.Fatal(err)
	}
	for given, want := range map[string]bool{longest: false, longest + "x": true, "another": true, "": false} {
		if differs, err := other.AdminPasswordDiffers(ctx, given); err != nil || differs != want {
			t.Errorf("a password of %d bytes differs: %v (%v), want %v", len(given), differs, err, want)
		}
	}
}

// TestOldAccountsInAnyCase checks that a sign-in succeeds even if the folded name of an account
// of an older version cannot be stored. The failure is logged, except if the account was removed.
func TestOldAccountsInAnyCase(t *testing.T) {
	f := newFixture(t)
	f.config.CaseInsensitive = true
	f.Store = f.another()
	f.add("Ann@local")
	f.put("Ann@local", map[string]any{"folded": nil})
	s, r, log, _ := f.faulty()
	for _, x := range []struct {
		fail  error
		warns bool
	}{{busy, true}, {engine.NoItem(f.class("#account"), "x"), false}, {nil, false}} {
		log.Reset()
		r.update = x.fail
		wantOK(t, "sign in", signIn(s, "ann@local", password))
		if got := strings.Contains(log.String(), "could not be prepared"); got != x.warns {
			t.Errorf("with %v: warned %v, want %v:\n%s", x.fail, got, x.warns, log)
		}
		wantOK(t, "change", f.SetRoles(context.Background(), "Ann@local", []string{time.Now().String()}))
		f.clock.Advance(time.Minute)
	}
}

// TestOtherSpellingsEndAtOnce checks that a change of a password removes the account from the
// cache under all spellings of its name, and removes no other account.
func TestOtherSpellingsEndAtOnce(t *testing.T) {
	f, ctx := newFixture(t), context.Background()
	f.config.CaseInsensitive = true
	f.Store = f.another()
	f.add("ann@local")
	f.add("bob@local")
	wantOK(t, "ann", signIn(f.Store, "ANN@local", password))
	wantOK(t, "bob", signIn(f.Store, "bob@local", password))
	wantOK(t, "password", f.SetPassword(ctx, "ann@local", "another:horse"))
	wantCode(t, "the old password of ann", signIn(f.Store, "ANN@local", password), engine.Unauthenticated)
	before := f.data.count()
	wantOK(t, "bob again", signIn(f.Store, "bob@local", password))
	if n := f.data.count() - before; n != 0 {
		t.Errorf("the account of bob was read %d times, want 0: he is remembered", n)
	}
}

// TestRememberedTokensAreCheckedCheaply checks that the use of a cached token reads the account
// once when the check is due, and never before.
func TestRememberedTokensAreCheckedCheaply(t *testing.T) {
	f := newFixture(t)
	f.add("ann@local")
	secret, _ := f.issue("ann@local", "", 0)
	f.clock.Advance(10 * time.Second)
	for _, x := range []struct {
		after time.Duration
		reads int
	}{{0, 1}, {499 * time.Millisecond, 0}, {time.Millisecond, 1}, {499 * time.Millisecond, 0}, {2 * time.Millisecond, 1}} {
		f.clock.Advance(x.after)
		before := f.data.count()
		wantOK(t, "use", useToken(f.Store, secret))
		if n := f.data.count() - before; n != x.reads {
			t.Errorf("used %s later, the account was read %d times, want %d", x.after, n, x.reads)
		}
	}
}

// TestConcurrentChecksShareAReading checks that only one request reads the account when a cached
// password must be checked again. Concurrent requests wait for it and use its result.
func TestConcurrentChecksShareAReading(t *testing.T) {
	f := newFixture(t)
	f.add("ann@local")
	f.clock.Advance(10 * time.Second)
	wantOK(t, "sign in", signIn(f.Store, "ann@local", password))
	f.clock.Advance(500 * time.Millisecond)
	before, g := f.data.count(), f.data.hold()
	done := make(chan error)
	for range 3 {
		go func() { done <- signIn(f.Store, "ann@local", password) }()
	}
	<-g.arrived
	time.Sleep(50 * time.Millisecond) // let the others begin to wait
	close(g.open)
	for range 3 {
		wantOK(t, "sign in", <-done)
	}
	if n := f.data.count() - before; n != 1 {
		t.Errorf("the account was read %d times, want once", n)
	}
}

// TestFollowersOfAnEndedRequest checks requests that wait for the check of a password by another
// request. When that request ends early, the waiting requests still get a result.
func TestFollowersOfAnEndedRequest(t *testing.T) {
	f := newFixture(t)
	f.add("ann@local")
	f.hasher = account.NewHasher(account.HasherConfig{Parallel: 1})
	f.Store = f.another()
	g := f.data.hold()
	ctx, cancel := context.WithCancel(context.Background())
	leader, follower := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := f.Authenticate(ctx, engine.AuthPwd, engine.Credentials{User: "ann@local", Password: password})
		leader <- err
	}()
	<-g.arrived
	go func() { follower <- signIn(f.Store, "ann@local", password) }()
	time.Sleep(50 * time.Millisecond) // let the follower join
	cancel()
	close(g.open)
	if err := <-leader; err == nil {
		t.Error("the request that ended was answered")
	}
	wantOK(t, "the request that stayed", <-follower)
}

// TestNamesWithoutALogin checks that a user name that begins or ends with @ matches no account.
func TestNamesWithoutALogin(t *testing.T) {
	f := newFixture(t)
	f.add("ann@local")
	for _, x := range []struct {
		user, kind string
		code       engine.Code // 0 for success
	}{{"ann@local", "", 0}, {"ann@local", "other", 0}, {"ann", "local", 0}, {"ann", "", engine.Forbidden}, {"@local", "local", engine.Forbidden},
		{"@", "local", engine.Forbidden}, {"ann@", "local", engine.Forbidden}, {"a@b", "", engine.Unauthenticated}, {"@a@b", "c", engine.Forbidden}} {
		_, err := f.Authenticate(context.Background(), engine.AuthPwd, engine.Credentials{User: x.user, Type: x.kind, Password: password})
		if x.code == 0 && err != nil || x.code != 0 && (err == nil || engine.CodeOf(err) != x.code) {
			t.Errorf("%q of type %q: got %v, want code %d", x.user, x.kind, err, x.code)
		}
	}
}

// TestDisablingChangesTheBasis checks that tokens, sessions and grants of an account stay void
// when the account is disabled and enabled again. The clock may stand still or be set back in
// between.
func TestDisablingChangesTheBasis(t *testing.T) {
	for _, step := range []time.Duration{0, -time.Hour, time.Hour} {
		f, ctx := newFixture(t), context.Background()
		f.add("ann@local")
		_, before, err := f.Current(ctx, "ann@local")
		if err != nil {
			t.Fatal(err)
		}
		f.clock.Advance(step)
		wantOK(t, "disable", f.Disable(ctx, "ann@local"))
		wantOK(t, "enable", f.Enable(ctx, "ann@local"))
		if _, after, err := f.Current(ctx, "ann@local"); err != nil || after == before {
			t.Errorf("disabled after %s: the basis is %q (%v), want another than before", step, after, err)
		}
	}
}

// TestShortestPassword checks the least length of a password in characters.
func TestShortestPassword(t *testing.T) {
	shortest := strings.Repeat("é", account.MinPassword)
	wantOK(t, "the shortest", account.CheckPassword(shortest))
	wantCode(t, "one shorter", account.CheckPassword(strings.TrimSuffix(shortest, "é")), engine.Invalid)
}
