package account_test

import (
	"bytes"
	"context"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/account"
)

const (
	ancestorPassword = "Grüße:1"
	ancestor         = "pbkdf2$10000$" +
		"c7f81b7dd0df3769f893f7de9ec4b9a0de67b0e92a0a5def552e9f477f7aabb5c5e9e537adf983dd578247fb6c306296865a6612c0a56db5314da0339faba2ed$" +
		"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f"
)

// TestDecisions has one line for each rule of sign-in.
func TestDecisions(t *testing.T) {
	f := newFixture(t)
	ctx := context.Background()
	f.add("ann@local")
	f.add("off@local")
	wantOK(t, "disable", f.Disable(ctx, "off@local"))
	f.add("broken@local")
	f.put("broken@local", map[string]any{"pwd": "no hash"})
	f.add("none@local")
	f.put("none@local", map[string]any{"pwd": nil})
	secret, _, err := f.Issue(ctx, "ann@local", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	type c = engine.Credentials
	const ok = engine.Code(-1)
	tests := []struct {
		name   string
		mode   engine.AuthMode
		c      engine.Credentials
		code   engine.Code
		reason string
	}{
		{"user and password", "pwd", c{User: "ann@local", Password: password}, ok, ""},
		{"user, type and password", "pwd", c{User: "ann", Type: "local", Password: password}, ok, ""},
		{"the user's own type wins", "pwd", c{User: "ann@local", Type: "system", Password: password}, ok, ""},
		{"nothing", "pwd", c{}, engine.Unauthenticated, "credentials-missing"},
		{"half: no password", "pwd", c{User: "ann@local"}, engine.Unauthenticated, "credentials-missing"},
		{"half: no user", "pwd", c{Password: password}, engine.Unauthenticated, "credentials-missing"},
		{"half and no type", "pwd", c{User: "ann"}, engine.Unauthenticated, "credentials-missing"},
		{"no type", "pwd", c{User: "ann", Password: password}, engine.Forbidden, "user-type"},
		{"empty type", "pwd", c{User: "ann@", Type: "local", Password: password}, engine.Forbidden, "user-type"},
		{"empty user", "pwd", c{User: "@local", Password: password}, engine.Forbidden, "user-type"},
		{"other type", "pwd", c{User: "ann", Type: "system", Password: password}, engine.Unauthenticated, "credentials"},
		{"wrong password", "pwd", c{User: "ann@local", Password: password + "x"}, engine.Unauthenticated, "credentials"},
		{"cut password", "pwd", c{User: "ann@local", Password: "correct"}, engine.Unauthenticated, "credentials"},
		{"unknown account", "pwd", c{User: "bob@local", Password: password}, engine.Unauthenticated, "credentials"},
		{"other case", "pwd", c{User: "Ann@local", Password: password}, engine.Unauthenticated, "credentials"},
		{"two @", "pwd", c{User: "ann@local@x", Password: password}, engine.Unauthenticated, "credentials"},
		{"type with @", "pwd", c{User: "ann", Type: "local@x", Password: password}, engine.Unauthenticated, "credentials"},
		{"not UTF-8", "pwd", c{User: "ann\xff@local", Password: password}, engine.Unauthenticated, "credentials"},
		{"disabled", "pwd", c{User: "off@local", Password: password}, engine.Unauthenticated, "credentials"},
		{"disabled, wrong password", "pwd", c{User: "off@local", Password: "x"}, engine.Unauthenticated, "credentials"},
		{"malformed hash", "pwd", c{User: "broken@local", Password: "no hash"}, engine.Unauthenticated, "credentials"},
		{"no password stored", "pwd", c{User: "none@local", Password: password}, engine.Unauthenticated, "credentials"},
		{"overlong password", "pwd", c{User: "ann@local", Password: strings.Repeat("x", 1025)}, engine.Unauthenticated, "credentials"},
		{"overlong user", "pwd", c{User: strings.Repeat("x", 5000) + "@local", Password: password}, engine.Unauthenticated, "credentials"},
		{"only a token in pwd mode", "pwd", c{Token: secret}, engine.Unauthenticated, "credentials-missing"},
		{"bad token beside a password", "pwd", c{User: "ann@local", Password: password, Token: "x"}, ok, ""},
		{"good token beside a wrong password", "pwd", c{User: "ann@local", Password: "x", Token: secret}, engine.Unauthenticated, "credentials"},
		{"token", "token", c{Token: secret}, ok, ""},
		{"no token", "token", c{}, engine.Unauthenticated, "credentials-missing"},
		{"password in token mode", "token", c{User: "ann@local", Password: password}, engine.Unauthenticated, "credentials-missing"},
		{"bad token with a password", "token", c{User: "ann@local", Password: password, Token: "x"}, engine.Forbidden, "token"},
		{"unknown token", "token", c{Token: strings.Repeat("0", 40)}, engine.Forbidden, "token"},
		{"token in upper case", "token", c{Token: strings.ToUpper(secret)}, engine.Forbidden, "token"},
		{"token with a tail", "token", c{Token: secret + "0"}, engine.Forbidden, "token"},
		{"oauth", "oauth", c{User: "ann@local", Password: password, Token: secret}, engine.Unauthenticated, "auth-mode"},
		{"unknown mode", "basic", c{User: "ann@local", Password: password, Token: secret}, engine.Unauthenticated, "auth-mode"},
		{"empty mode", "", c{User: "ann@local", Password: password, Token: secret}, engine.Unauthenticated, "auth-mode"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a, err := f.Authenticate(ctx, test.mode, test.c)
			if test.code == ok {
				if err != nil || a.ID != "ann@local" || a.Name != "Name of ann@local" || strings.Join(a.Roles, ",") != "a,b c" || a.Revision == 0 {
					t.Fatalf("account %+v, error %v", a, err)
				}
				return
			}
			e, isError := err.(*engine.Error)
			if !isError || e.Code != test.code || e.Reason != test.reason || a != nil {
				t.Fatalf("account %+v, error %#v", a, err)
			}
			for _, leak := range []string{password, secret, "ann", "off", "argon"} {
				if strings.Contains(e.Error(), leak) {
					t.Errorf("the error %q tells %q", e, leak)
				}
			}
		})
	}
	e := signIn(f.Store, "ann", password).(*engine.Error)
	if e.Message != "user name must be <user>@<type>, for example admin@local" {
		t.Errorf("detail %q", e.Message)
	}
	if a, err := f.Authenticate(ctx, engine.AuthNone, c{User: "ann@local", Password: "x"}); a != engine.Anonymous || err != nil {
		t.Errorf("mode none: %v, %v", a, err)
	}
}

func TestRefusalsAreTheSame(t *testing.T) {
	f := newFixture(t)
	f.add("ann@local")
	f.add("off@local")
	wantOK(t, "disable", f.Disable(context.Background(), "off@local"))
	f.add("old@local")
	f.put("old@local", map[string]any{"pwd": ancestor})
	want := signIn(f.Store, "ann@local", "wrong")
	for _, user := range []string{"off@local", "nobody@local", "old@local"} {
		start := time.Now()
		err := signIn(f.Store, user, password)
		if d := time.Since(start); d < time.Millisecond {
			t.Errorf("%s: refused after %s, without a hash", user, d)
		}
		if err == nil || !reflect.DeepEqual(err, want) {
			t.Errorf("%s: %#v, want %#v", user, err, want)
		}
	}
}

func TestColonsAndLengths(t *testing.T) {
	f := newFixture(t)
	f.add("ann@local")
	for _, p := range []string{":", "a:b:c", strings.Repeat("ä", 512), " spaces ", "x"} {
		wantOK(t, "set", f.SetPassword(context.Background(), "ann@local", p))
		wantOK(t, "sign in", signIn(f.Store, "ann@local", p))
	}
	for _, p := range []string{"", strings.Repeat("x", 1025)} {
		wantCode(t, "set", f.SetPassword(context.Background(), "ann@local", p), engine.Invalid)
	}
	wantOK(t, "the last good one", signIn(f.Store, "ann@local", "x"))
}

func TestAncestorsHashIsRenewed(t *testing.T) {
	f := newFixture(t)
	f.add("ann@local")
	f.put("ann@local", map[string]any{"pwd": ancestor, "pwdDate": nil})
	wantCode(t, "wrong", signIn(f.Store, "ann@local", "x"), engine.Unauthenticated)
	if f.stored("ann@local") != ancestor {
		t.Fatal("a wrong password changed the hash")
	}
	wantOK(t, "right", signIn(f.Store, "ann@local", ancestorPassword))
	if h := f.stored("ann@local"); !strings.HasPrefix(h, "$argon2id$") {
		t.Fatalf("hash %q", h)
	}
	if a, _ := f.Get(context.Background(), "ann@local"); !a.PasswordDate.IsZero() {
		t.Errorf("renewing the hash set the password's date to %s", a.PasswordDate)
	}
	reads := f.data.count()
	wantOK(t, "remembered", signIn(f.Store, "ann@local", ancestorPassword))
	if f.data.count() != reads {
		t.Error("the renewed account is not remembered")
	}
	wantOK(t, "elsewhere", signIn(f.another(), "ann@local", ancestorPassword))
	wantCode(t, "wrong", signIn(f.Store, "ann@local", "x"), engine.Unauthenticated)
}

func TestRenewingGivesWayToAChange(t *testing.T) {
	f := newFixture(t)
	f.add("ann@local")
	f.put("ann@local", map[string]any{"pwd": ancestor})
	g := f.data.hold()
	done := make(chan error)
	go func() { done <- signIn(f.Store, "ann@local", ancestorPassword) }()
	<-g.arrived
	wantOK(t, "set", f.another().SetPassword(context.Background(), "ann@local", "new"))
	close(g.open)
	wantOK(t, "the sign-in that began before", <-done)
	wantOK(t, "the new password", signIn(f.another(), "ann@local", "new"))
	f.clock.Advance(time.Second)
	wantCode(t, "the old password", signIn(f.Store, "ann@local", ancestorPassword), engine.Unauthenticated)
}

func TestVerifiedPasswordIsRemembered(t *testing.T) {
	f := newFixture(t)
	f.add("ann@local")
	wantOK(t, "first", signIn(f.Store, "ann@local", password))
	reads := f.data.count()
	f.clock.Advance(499 * time.Millisecond)
	wantOK(t, "again", signIn(f.Store, "ann@local", password))
	if n := f.data.count() - reads; n != 0 {
		t.Errorf("%d reads within half a second", n)
	}
	f.clock.Advance(time.Millisecond)
	for range 5 {
		wantOK(t, "again", signIn(f.Store, "ann@local", password))
	}
	if n := f.data.count() - reads; n != 1 {
		t.Errorf("%d reads after half a second, want 1", n)
	}
	// When the database is not available, cached credentials are accepted only
	// for a short time.
	f.clock.Advance(time.Second)
	f.data.failWith(engine.Errorf(engine.Unavailable, "database", "the database is away"))
	wantCode(t, "database away", signIn(f.Store, "ann@local", password), engine.Unavailable)
	f.data.failWith(nil)
	wantOK(t, "database back", signIn(f.Store, "ann@local", password))
	wantCode(t, "another password", signIn(f.Store, "ann@local", "x"), engine.Unauthenticated)
}

func TestRememberedPasswordEndsAfterAMinute(t *testing.T) {
	f := newFixture(t)
	f.add("ann@local")
	wantOK(t, "first", signIn(f.Store, "ann@local", password))
	// The hash changes but the revision stays, so only a comparison with the hash detects the
	// change.
	c := f.class("#account")
	inner := f.data.Repository
	it, err := inner.Get(context.Background(), c, "ann@local")
	if err != nil {
		t.Fatal(err)
	}
	it.Values[c.Property("pwd").Index] = "gone"
	f.data.Repository = &frozen{inner, it}
	f.clock.Advance(59 * time.Second)
	wantOK(t, "after 59 s", signIn(f.Store, "ann@local", password))
	f.clock.Advance(time.Second)
	wantCode(t, "after 60 s", signIn(f.Store, "ann@local", password), engine.Unauthenticated)
}

// frozen returns the same item from every Get.
type frozen struct {
	engine.Repository
	item *engine.Item
}

func (f *frozen) Get(context.Context, *engine.Class, string, ...*engine.Load) (*engine.Item, error) {
	return f.item.Clone(), nil
}

func TestChangesEndWhatIsRemembered(t *testing.T) {
	ctx := context.Background()
	changes := map[string]func(f *fixture, s *account.Store) error{
		"new password": func(f *fixture, s *account.Store) error { return s.SetPassword(ctx, "ann@local", "new") },
		"disabling":    func(f *fixture, s *account.Store) error { return s.Disable(ctx, "ann@local") },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.add("ann@local")
			wantOK(t, "before", signIn(f.Store, "ann@local", password))
			wantOK(t, "change", change(f, f.Store))
			wantCode(t, "at once in this process", signIn(f.Store, "ann@local", password), engine.Unauthenticated)
		})
		t.Run(name+" by another process", func(t *testing.T) {
			f := newFixture(t)
			f.add("ann@local")
			wantOK(t, "before", signIn(f.Store, "ann@local", password))
			wantOK(t, "change", change(f, f.another()))
			f.clock.Advance(time.Second)
			wantCode(t, "a second later", signIn(f.Store, "ann@local", password), engine.Unauthenticated)
		})
	}
	t.Run("deletion by another process", func(t *testing.T) {
		f := newFixture(t)
		f.add("ann@local")
		wantOK(t, "before", signIn(f.Store, "ann@local", password))
		wantOK(t, "delete", f.data.Delete(ctx, f.class("#account"), "ann@local", nil))
		f.clock.Advance(time.Second)
		wantCode(t, "a second later", signIn(f.Store, "ann@local", password), engine.Unauthenticated)
	})
	t.Run("enabling", func(t *testing.T) {
		f := newFixture(t)
		f.add("ann@local")
		wantOK(t, "disable", f.Disable(ctx, "ann@local"))
		wantCode(t, "disabled", signIn(f.Store, "ann@local", password), engine.Unauthenticated)
		wantOK(t, "enable", f.Enable(ctx, "ann@local"))
		wantOK(t, "enabled", signIn(f.Store, "ann@local", password))
	})
	t.Run("roles", func(t *testing.T) {
		f := newFixture(t)
		f.add("ann@local")
		wantOK(t, "before", signIn(f.Store, "ann@local", password))
		f.put("ann@local", map[string]any{"roles": "z"})
		f.clock.Advance(time.Second)
		a, err := f.Authenticate(ctx, engine.AuthPwd, engine.Credentials{User: "ann@local", Password: password})
		if err != nil || strings.Join(a.Roles, ",") != "z" {
			t.Errorf("account %+v, error %v", a, err)
		}
	})
}

// TestChangeDuringACheck checks a check that read the account before a change: its result must
// not be cached, and requests that come after the change must not share it.
func TestChangeDuringACheck(t *testing.T) {
	f := newFixture(t)
	f.add("ann@local")
	g := f.data.hold()
	first := make(chan error)
	go func() { first <- signIn(f.Store, "ann@local", password) }()
	<-g.arrived
	wantOK(t, "set", f.SetPassword(context.Background(), "ann@local", "new"))
	wantCode(t, "old password while the old check runs", signIn(f.Store, "ann@local", password), engine.Unauthenticated)
	close(g.open)
	<-first // it began before the change, so both results are right
	wantCode(t, "old password afterwards", signIn(f.Store, "ann@local", password), engine.Unauthenticated)
	wantOK(t, "new password", signIn(f.Store, "ann@local", "new"))
}

func TestEqualRequestsShareOneCheck(t *testing.T) {
	f := newFixture(t)
	f.add("ann@local")
	reads := f.data.count()
	g := f.data.hold()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { wantOK(t, "sign in", signIn(f.Store, "ann@local", password)) })
	}
	<-g.arrived
	close(g.open)
	all.Wait()
	if n := f.data.count() - reads; n != 1 {
		t.Errorf("%d checks, want 1", n)
	}
}

func TestLeaderThatGivesUpHarmsNobody(t *testing.T) {
	f := newFixture(t)
	f.hasher = account.NewHasher(account.HasherConfig{Parallel: 1})
	f.Store = f.another()
	f.add("ann@local")
	f.add("bob@local")
	g := f.data.hold() // bob takes the only slot
	bob := make(chan error, 1)
	go func() { bob <- signIn(f.Store, "bob@local", password) }()
	<-g.arrived
	ctx, cancel := context.WithCancel(context.Background())
	leader, follower := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := f.Authenticate(ctx, engine.AuthPwd, engine.Credentials{User: "ann@local", Password: password})
		leader <- err
	}()
	go func() { follower <- signIn(f.Store, "ann@local", password) }()
	cancel()
	wantCode(t, "the one that gave up", <-leader, engine.Timeout)
	close(g.open)
	wantOK(t, "bob", <-bob)
	wantOK(t, "the one that stayed", <-follower)
}

func TestFullQueueAtSignIn(t *testing.T) {
	f := newFixture(t)
	f.add("ann@local")
	f.add("bob@local")
	wantOK(t, "remembered", signIn(f.Store, "bob@local", password))
	f.hasher = account.NewHasher(account.HasherConfig{Parallel: 1, Queue: -1})
	s := f.another()
	wantOK(t, "remembered", signIn(s, "bob@local", password))
	g := f.data.hold()
	done := make(chan error)
	go func() { done <- signIn(s, "ann@local", password) }()
	<-g.arrived
	err := signIn(s, "ann@local", "other")
	wantCode(t, "full queue", err, engine.Unavailable)
	if e := err.(*engine.Error); e.RetryAfter <= 0 {
		t.Error("no RetryAfter")
	}
	wantOK(t, "a remembered password needs no queue", signIn(s, "bob@local", password))
	close(g.open)
	wantOK(t, "the one that had the slot", <-done)
}

func TestNoSecretIsLogged(t *testing.T) {
	f := newFixture(t)
	f.add("ann@local")
	f.put("ann@local", map[string]any{"pwd": ancestor})
	var log bytes.Buffer
	s, err := account.New(account.Config{
		Data: readOnly{f.data}, Classes: f.classes, Hasher: f.hasher,
		Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	wantOK(t, "sign in though the new hash cannot be stored", signIn(s, "ann@local", ancestorPassword))
	if !strings.Contains(log.String(), "ann@local") {
		t.Errorf("the failure is not logged: %s", &log)
	}
	for _, secret := range []string{ancestorPassword, "c7f81b7d", "argon2id"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log tells %q: %s", secret, &log)
		}
	}
}

// readOnly is a repository in which writes fail.
type readOnly struct{ engine.Repository }

func (readOnly) Update(context.Context, *engine.Class, string, engine.Values, engine.WriteOptions) (*engine.Item, error) {
	return nil, engine.Errorf(engine.Unavailable, "read-only", "the database is read-only")
}

func (readOnly) Delete(context.Context, *engine.Class, string, *engine.Match) error {
	return engine.Errorf(engine.Unavailable, "read-only", "the database is read-only")
}

// BenchmarkRemembered signs in with a cached password. The target is 3 microseconds.
func BenchmarkRemembered(b *testing.B) {
	f := newFixture(b)
	f.add("ann@local")
	s, err := account.New(account.Config{Data: f.data, Classes: f.classes, Hasher: f.hasher})
	if err != nil {
		b.Fatal(err)
	}
	c := engine.Credentials{User: "ann@local", Password: password}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Authenticate(context.Background(), engine.AuthPwd, c); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRememberedToken signs in with a cached token.
func BenchmarkRememberedToken(b *testing.B) {
	f := newFixture(b)
	f.add("ann@local")
	secret, _, err := f.Issue(context.Background(), "ann@local", "", 0)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := useToken(f.Store, secret); err != nil {
			b.Fatal(err)
		}
	}
}

// TestPasswordChangesUnderLoad checks, during many concurrent sign-ins, that no old password is
// accepted after SetPassword returned.
func TestPasswordChangesUnderLoad(t *testing.T) {
	f := newFixture(t)
	f.add("ann@local")
	stop := make(chan struct{})
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for n := i; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				err := signIn(f.Store, "ann@local", []string{"zero", "one"}[n%2])
				if code := engine.CodeOf(err); err != nil && code != engine.Unauthenticated {
					t.Error(err)
				}
			}
		})
	}
	for n := range 6 {
		now, before := []string{"zero", "one"}[n%2], []string{"one", "zero"}[n%2]
		wantOK(t, "set", f.SetPassword(context.Background(), "ann@local", now))
		wantCode(t, "old password", signIn(f.Store, "ann@local", before), engine.Unauthenticated)
		wantOK(t, "new password", signIn(f.Store, "ann@local", now))
	}
	close(stop)
	all.Wait()
}
