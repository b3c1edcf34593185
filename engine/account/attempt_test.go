package account_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/account"
	"restsrv/engine/guess"
	"restsrv/engine/store/dbtest"
)

// guesses implements engine.Guesses. It admits attempts as configured and records the calls.
type guesses struct {
	mu    sync.Mutex
	wait  time.Duration
	err   error
	heard []string
}

func (g *guesses) note(what, account string, from engine.Caller) {
	g.heard = append(g.heard, fmt.Sprintf("%s %s %s", what, account, from.Address))
}

func (g *guesses) Admit(_ context.Context, account string, from engine.Caller) (time.Duration, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.note("admit", account, from)
	return g.wait, g.err
}

func (g *guesses) Failed(_ context.Context, account string, from engine.Caller) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.note("failed", account, from)
}

func (g *guesses) Succeeded(_ context.Context, account string, from engine.Caller) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.note("succeeded", account, from)
}

func (g *guesses) take() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	heard := g.heard
	g.heard = nil
	return heard
}

// audit is an engine.Auditor that stores the events.
type audit struct {
	mu     sync.Mutex
	events []engine.Event
}

func (a *audit) Audit(_ context.Context, e engine.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.events = append(a.events, e)
}

func (a *audit) take() []engine.Event {
	a.mu.Lock()
	defer a.mu.Unlock()
	events := a.events
	a.events = nil
	return events
}

// limited returns a Store on the data of the fixture with the given guesses and auditor.
func (f *fixture) limited(g engine.Guesses, a engine.Auditor) *account.Store {
	f.t.Helper()
	s, err := account.New(account.Config{Data: f.data, Classes: f.classes, Hasher: f.hasher, Guesses: g, Audit: a, Now: f.clock.Now})
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

func caller(address string) engine.Caller {
	return engine.Caller{Request: "r1", Address: netip.MustParseAddr(address)}
}

func signInFrom(s *account.Store, address, user, password string) error {
	_, err := s.Authenticate(context.Background(), engine.AuthPwd, engine.Credentials{User: user, Password: password, Caller: caller(address)})
	return err
}

func TestAttemptsAreCounted(t *testing.T) {
	f := newFixture(t)
	f.add("ann@local")
	g := &guesses{}
	s := f.limited(g, nil)
	steps := []struct {
		user, password string
		want           []string
	}{
		{"ann@local", password, []string{"admit", "admit", "succeeded"}}, // admitted before and after the wait in the queue
		{"ann@local", password, nil},                                     // the password is cached
		{"ann@local", "x", []string{"admit", "admit", "failed"}},
		{"bob@local", "x", []string{"admit", "admit", "failed"}},
		{"bob@local", "", nil}, // without a password it is not an attempt
		{"bob", "x", nil},
	}
	for _, step := range steps {
		_ = signInFrom(s, "10.0.0.1", step.user, step.password)
		var want []string
		for _, w := range step.want {
			want = append(want, w+" "+step.user+" 10.0.0.1")
		}
		if got := g.take(); !slices.Equal(got, want) {
			t.Errorf("%s with %q: %q, want %q", step.user, step.password, got, want)
		}
	}
	ctx := engine.WithCaller(context.Background(), &engine.Caller{Address: netip.MustParseAddr("10.0.0.9")})
	_, err := s.Authenticate(ctx, engine.AuthPwd, engine.Credentials{User: "ann@local", Password: "x"})
	wantCode(t, "wrong", err, engine.Unauthenticated)
	if got := g.take(); !slices.Contains(got, "failed ann@local 10.0.0.9") {
		t.Errorf("the caller of the context is not counted: %q", got)
	}
}

// TestRefusedAttempt checks that a refused attempt neither computes a hash nor reads the account.
func TestRefusedAttempt(t *testing.T) {
	f := newFixture(t)
	f.add("ann@local")
	refusal := engine.Errorf(engine.TooMany, "attempts", "too many")
	refusal.RetryAfter = 7 * time.Second
	g := &guesses{err: refusal}
	s := f.limited(g, nil)
	reads := f.data.count()
	if err := signInFrom(s, "10.0.0.1", "ann@local", password); !errors.Is(err, error(refusal)) {
		t.Errorf("error %v", err)
	}
	if checks, _, _ := f.hasher.Spent(); checks != 0 || f.data.count() != reads {
		t.Errorf("a refusal costs %d checks and %d readings", checks, f.data.count()-reads)
	}
}

// TestWaitingHoldsNoSlot checks that a request that waits because of earlier failures occupies no
// slot for hashing, and that the wait ends with the request. The number of waiting requests is
// limited, in total and for one network, so that a single network cannot use all places.
func TestWaitingHoldsNoSlot(t *testing.T) {
	f := newFixture(t)
	f.hasher = account.NewHasher(account.HasherConfig{Parallel: 1, Queue: -1})
	g := &guesses{wait: time.Hour}
	s := f.limited(g, nil)
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	var timeouts, busy atomic.Int64
	const attempts = 1024 + 200
	for i := range attempts {
		all.Go(func() {
			from := fmt.Sprintf("10.0.%d.1", i) // the first 200 come from one network
			if i < 200 {
				from = "10.0.0.1"
			} else if i > 255 {
				from = fmt.Sprintf("10.%d.%d.1", i>>8, i&255)
			}
			_, err := s.Authenticate(ctx, engine.AuthPwd, engine.Credentials{User: "ann@local", Password: fmt.Sprint(i), Caller: caller(from)})
			switch engine.CodeOf(err) {
			case engine.Timeout:
				timeouts.Add(1)
			case engine.Unavailable:
				busy.Add(1)
			}
		})
	}
	for s.Waiting() < 1024 || busy.Load() < attempts-1024 {
		time.Sleep(time.Millisecond)
	}
	if f.hasher.Busy() {
		t.Error("a request that waits takes part in hashing")
	}
	cancel()
	all.Wait()
	if timeouts.Load() != 1024 || busy.Load() != attempts-1024 || s.Waiting() != 0 {
		t.Errorf("%d ended, %d were refused, %d still wait", timeouts.Load(), busy.Load(), s.Waiting())
	}
}

func TestWaitIsKept(t *testing.T) {
	f := newFixture(t)
	f.add("ann@local")
	s := f.limited(&guesses{wait: 30 * time.Millisecond}, nil)
	start := time.Now()
	wantOK(t, "sign in", signInFrom(s, "10.0.0.1", "ann@local", password))
	if d := time.Since(start); d < 30*time.Millisecond {
		t.Errorf("answered after %s", d)
	}
}

// TestFloodCostsTwentyHashes sends a flood of wrong passwords for one account from one address.
// Only the first 20 cost a hash, even if the requests are concurrent. Other addresses and cached
// passwords still work.
func TestFloodCostsTwentyHashes(t *testing.T) {
	f := newFixture(t)
	f.hasher = account.NewHasher(account.HasherConfig{Parallel: 2, Queue: 1000})
	f.add("ann@local")
	class := guess.Class()
	data := dbtest.New(t).Open(t, class)
	k := guess.New(guess.Config{Data: data, Class: class, Limits: guess.Limits{PerAccount: 20, PerAddress: 100}, Now: f.clock.Now})
	s := f.limited(k, nil)
	var refused, wrong atomic.Int64
	var all sync.WaitGroup
	for i := range 300 {
		all.Go(func() {
			user := []string{"ann@local", "ANN@local", "Ann@LOCAL"}[i%3]
			switch engine.CodeOf(signInFrom(s, "10.0.0.1", user, fmt.Sprint("wrong ", i))) {
			case engine.TooMany:
				refused.Add(1)
			case engine.Unauthenticated:
				wrong.Add(1)
			}
		})
	}
	all.Wait()
	checks, _, _ := f.hasher.Spent()
	if checks < 20 || checks > 21 || wrong.Load() != int64(checks) || refused.Load() != 300-int64(checks) {
		t.Errorf("%d checks, %d wrong, %d refused; want 20 checks, or one more that ran meanwhile", checks, wrong.Load(), refused.Load())
	}
	wantCode(t, "the right password from there", signInFrom(s, "10.0.0.1", "ann@local", password), engine.TooMany)
	wantOK(t, "from elsewhere", signInFrom(s, "10.0.0.2", "ann@local", password))
	wantOK(t, "remembered, from there", signInFrom(s, "10.0.0.1", "ann@local", password))
	wantOK(t, "close", k.Close(context.Background()))
}

// TestTurnedAwayIsLoggedOnce checks that not every rejected sign-in is logged, because a flood
// would fill the disk.
func TestTurnedAwayIsLoggedOnce(t *testing.T) {
	f := newFixture(t)
	f.add("ann@local")
	hasher := account.NewHasher(account.HasherConfig{Parallel: 1, Queue: -1})
	var log bytes.Buffer
	s, err := account.New(account.Config{Data: f.data, Classes: f.classes, Hasher: hasher, Now: f.clock.Now, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	held := f.data.hold()
	var all sync.WaitGroup
	all.Go(func() { wantOK(t, "ann", signInFrom(s, "10.0.0.1", "ann@local", password)) })
	<-held.arrived
	flood := func() {
		for i := range 20 {
			wantCode(t, "one too many", signInFrom(s, "10.0.0.2", "ann@local", fmt.Sprint(i)), engine.Unavailable)
		}
	}
	flood()
	f.clock.Advance(time.Minute + time.Second)
	flood()
	close(held.open)
	all.Wait()
	if n := strings.Count(log.String(), "level=WARN"); n != 2 || !strings.Contains(log.String(), "10.0.0.2") {
		t.Errorf("%d lines for two minutes:\n%s", n, log.String())
	}
}

// TestKnownPasswordsGoFirst checks a password that was right before and must be checked again: a
// flood delays this check neither by limits and delays nor by the queue. When the password is
// wrong at last, it counts as a failure like any other.
func TestKnownPasswordsGoFirst(t *testing.T) {
	f := newFixture(t)
	f.hasher = account.NewHasher(account.HasherConfig{Parallel: 1, Queue: 1})
	f.add("ann@local")
	f.add("bob@local")
	g := &guesses{}
	s := f.limited(g, nil)
	wantOK(t, "first", signInFrom(s, "10.0.0.1", "ann@local", password))
	f.clock.Advance(time.Hour)
	g.take()
	g.err = engine.Errorf(engine.TooMany, "attempts", "too many")
	wantOK(t, "again, though others are refused", signInFrom(s, "10.0.0.1", "ann@local", password))
	g.err = nil

	f.clock.Advance(time.Hour)
	held := f.data.hold() // bob has the slot; a guess for carl will fill the queue
	order := make(chan string, 3)
	var all sync.WaitGroup
	all.Go(func() {
		wantOK(t, "bob", signInFrom(s, "10.0.0.1", "bob@local", password))
		order <- "bob"
	})
	<-held.arrived
	all.Go(func() {
		wantCode(t, "a guess", signInFrom(s, "10.0.0.1", "carl@local", "x"), engine.Unauthenticated)
		order <- "guess"
	})
	for f.hasher.Queued() == 0 {
		time.Sleep(time.Millisecond)
	}
	wantCode(t, "the queue is full", signInFrom(s, "10.0.0.1", "carl@local", "y"), engine.Unavailable)
	all.Go(func() {
		wantOK(t, "ann", signInFrom(s, "10.0.0.1", "ann@local", password))
		order <- "ann"
	})
	time.Sleep(50 * time.Millisecond) // until ann waits
	close(held.open)
	all.Wait()
	close(order)
	var got []string
	for who := range order {
		got = append(got, who)
	}
	if slices.Index(got, "ann") > slices.Index(got, "guess") {
		t.Errorf("the turns were %q", got)
	}

	f.clock.Advance(time.Hour)
	wantOK(t, "another process changes it", f.another().SetPassword(context.Background(), "ann@local", "new"))
	g.take()
	wantCode(t, "the old one", signInFrom(s, "10.0.0.1", "ann@local", password), engine.Unauthenticated)
	wantCode(t, "the old one again", signInFrom(s, "10.0.0.1", "ann@local", password), engine.Unauthenticated)
	want := []string{"failed ann@local 10.0.0.1", "admit ann@local 10.0.0.1", "admit ann@local 10.0.0.1", "failed ann@local 10.0.0.1"}
	if heard := g.take(); !slices.Equal(heard, want) {
		t.Errorf("heard %q, want %q", heard, want)
	}
}

// TestFailedSignInsAreAlike checks that all failed sign-ins get the same response and cost the
// same work: for unknown and disabled accounts, for wrong, too long and malformed passwords, and
// for both kinds of hashes. This also holds if one account has an imported hash that costs more
// than others.
func TestFailedSignInsAreAlike(t *testing.T) {
	f := newFixture(t)
	ctx := context.Background()
	for _, id := range []string{"ann@local", "off@local", "old@local", "older@local", "broken@local"} {
		f.add(id)
	}
	wantOK(t, "disable", f.Disable(ctx, "off@local"))
	f.put("old@local", map[string]any{"pwd": ancestor})
	f.put("older@local", map[string]any{"pwd": strings.Replace(ancestor, "$10000$", "$30000$", 1)})
	f.put("broken@local", map[string]any{"pwd": "no hash"})
	s := f.another()
	want := signIn(s, "nobody@local", "wrong")
	_, argon, pbkdf2 := f.hasher.Spent()
	if argon != 2*19*1024 || pbkdf2 != 30_000 {
		t.Errorf("a failure costs %d KiB passes and %d iterations", argon, pbkdf2)
	}
	for _, c := range [][2]string{
		{"ann@local", "wrong"}, {"ann@local", strings.Repeat("x", 1025)}, {"ann@local", strings.Repeat("x", 5000)},
		{"off@local", password}, {"off@local", "wrong"}, {"old@local", "wrong"}, {"older@local", "wrong"}, {"broken@local", "no hash"},
		{"nobody@local", password}, {"two@at@signs", password}, {strings.Repeat("x", 5000) + "@local", password}, {"Ann@local", password},
	} {
		_, a0, p0 := f.hasher.Spent()
		err := signIn(s, c[0], c[1])
		if !reflect.DeepEqual(err, want) {
			t.Errorf("%.20s: %#v, want %#v", c[0], err, want)
		}
		if _, a, p := f.hasher.Spent(); a-a0 != argon || p-p0 != pbkdf2 {
			t.Errorf("%.20s with %.20s: costs %d and %d, want %d and %d", c[0], c[1], a-a0, p-p0, argon, pbkdf2)
		}
	}
}

// TestSignInsAreAudited checks that each checked or rejected attempt is recorded once, with its
// reason and without its password.
func TestSignInsAreAudited(t *testing.T) {
	f := newFixture(t)
	f.add("ann@local")
	f.add("off@local")
	wantOK(t, "disable", f.Disable(context.Background(), "off@local"))
	g, a := &guesses{}, &audit{}
	s := f.limited(g, a)
	const canary = "canary-password"
	for _, c := range []struct {
		user, password string
		kind           engine.EventKind
		reason         string
	}{
		{"ann@local", password, engine.SignedIn, ""},
		{"ann@local", password, "", ""}, // the password is cached
		{"ann@local", canary, engine.SignInFailed, "wrong password"},
		{"off@local", password, engine.SignInFailed, "disabled account"},
		{"bob@local", canary, engine.SignInFailed, "unknown account"},
		{"bob@local", "", "", ""},
	} {
		_ = signInFrom(s, "10.0.0.1", c.user, c.password)
		events := a.take()
		if c.kind == "" {
			if len(events) > 0 {
				t.Errorf("%s: %+v", c.user, events)
			}
			continue
		}
		if len(events) != 1 || events[0].Kind != c.kind || events[0].Account != c.user || events[0].Caller != caller("10.0.0.1") {
			t.Fatalf("%s: %+v", c.user, events)
		}
		if reason, _ := events[0].Details.Get("reason"); c.reason != "" && reason != c.reason {
			t.Errorf("%s: reason %v, want %s", c.user, reason, c.reason)
		}
		if text := fmt.Sprint(events); strings.Contains(text, canary) || strings.Contains(text, password) {
			t.Errorf("an event tells a password: %s", text)
		}
	}
	g.err = engine.Errorf(engine.TooMany, "attempts", "too many")
	_ = signInFrom(s, "10.0.0.1", "bob@local", "x")
	if events := a.take(); len(events) != 1 || events[0].Kind != engine.SignInFailed {
		t.Errorf("a refusal: %+v", events)
	}
}

// TestEqualRequestsAreOneGuess checks that concurrent equal requests count as one guess. The
// first request leads: it makes the check, and the others wait for the result.
func TestEqualRequestsAreOneGuess(t *testing.T) {
	f := newFixture(t)
	f.hasher = account.NewHasher(account.HasherConfig{Parallel: 1})
	f.add("ann@local")
	g := &guesses{}
	s := f.limited(g, nil)
	held := f.data.hold()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { wantCode(t, "wrong", signInFrom(s, "10.0.0.1", "ann@local", "x"), engine.Unauthenticated) })
	}
	<-held.arrived
	for { // until all requests were admitted, the leader twice
		g.mu.Lock()
		n := len(g.heard)
		g.mu.Unlock()
		if n == 21 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	time.Sleep(10 * time.Millisecond) // let the others begin to wait for the leader
	close(held.open)
	all.Wait()
	n := 0
	for _, h := range g.take() {
		if strings.HasPrefix(h, "failed") {
			n++
		}
	}
	if n < 1 || n > 2 { // a request that came too late made a check of its own
		t.Errorf("20 equal requests count as %d failures", n)
	}
}

// BenchmarkRefusal measures a failed sign-in for different stored hashes. The time should be the
// same for all.
func BenchmarkRefusal(b *testing.B) {
	f := newFixture(b)
	for _, id := range []string{"current@local", "off@local", "old@local", "broken@local"} {
		f.add(id)
	}
	wantOK(b, "disable", f.Disable(context.Background(), "off@local"))
	f.put("old@local", map[string]any{"pwd": ancestor})
	f.put("broken@local", map[string]any{"pwd": "no hash"})
	s := f.another()
	for _, c := range [][2]string{{"nobody@local", "x"}, {"current@local", "x"}, {"off@local", password}, {"old@local", "x"}, {"broken@local", "x"}, {"current@local", strings.Repeat("x", 1025)}} {
		b.Run(fmt.Sprintf("%s/%d", strings.TrimSuffix(c[0], "@local"), len(c[1])), func(b *testing.B) {
			var times []time.Duration
			for b.Loop() {
				start := time.Now()
				if err := signIn(s, c[0], c[1]); engine.CodeOf(err) != engine.Unauthenticated {
					b.Fatal(err)
				}
				times = append(times, time.Since(start))
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2].Microseconds()), "median-µs")
			b.ReportMetric(float64(times[len(times)*9/10].Microseconds()), "p90-µs")
		})
	}
}
