package guess

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/store/dbtest"
)

// fixture is a database for the Keepers of several processes, with a clock that tests set.
type fixture struct {
	*testing.T
	*dbtest.Clock
	data  *counted
	class *engine.Class
}

// counted is a repository that counts its writes and can be made to fail.
type counted struct {
	engine.Repository
	mu          sync.Mutex
	saves, rows int
	away        error
}

func (c *counted) Save(ctx context.Context, records []engine.Record) ([]*engine.Item, error) {
	c.mu.Lock()
	c.saves++
	c.rows += len(records)
	away := c.away
	c.mu.Unlock()
	if away != nil {
		return nil, away
	}
	return c.Repository.Save(ctx, records)
}

func (c *counted) List(ctx context.Context, q *engine.Query, visit func(*engine.Item) error) error {
	c.mu.Lock()
	away := c.away
	c.mu.Unlock()
	if away != nil {
		return away
	}
	return c.Repository.List(ctx, q, visit)
}

func (c *counted) goAway(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.away = err
}

func open(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{T: t, Clock: dbtest.NewClock(), class: Class()}
	data := dbtest.New(t).Open(t, f.class)
	f.data = &counted{Repository: data}
	return f
}

func usual() Limits {
	return Limits{PerAccount: 20, PerAddress: 100, DelayFrom: 10, MaxDelay: 5 * time.Second}
}

// process returns the Keeper of a new process. It writes when the test ends, or
// when the test flushes it.
func (f *fixture) process() *Keeper {
	k := New(Config{Data: f.data, Class: f.class, Limits: usual(), Now: f.Now})
	f.Cleanup(func() {
		if err := k.Close(context.Background()); err != nil {
			f.Error(err)
		}
	})
	return k
}

func from(address string) engine.Caller {
	if address == "" {
		return engine.Caller{}
	}
	return engine.Caller{Address: netip.MustParseAddr(address)}
}

func fail(k *Keeper, n int, account, address string) {
	for range n {
		k.Failed(context.Background(), account, from(address))
	}
}

// wantAdmitted checks the wait of an attempt that must be admitted.
func wantAdmitted(t *testing.T, k *Keeper, account, address string, wait time.Duration) {
	t.Helper()
	got, err := k.Admit(context.Background(), account, from(address))
	if err != nil || got != wait {
		t.Errorf("%s from %s: wait %s, %v; want %s", account, address, got, err, wait)
	}
}

// wantRefused checks that an attempt is refused and returns for how long.
func wantRefused(t *testing.T, k *Keeper, account, address string) time.Duration {
	t.Helper()
	_, err := k.Admit(context.Background(), account, from(address))
	var e *engine.Error
	if !errors.As(err, &e) || e.Code != engine.TooMany || e.RetryAfter <= 0 || e.RetryAfter > Window+sliceTime {
		t.Errorf("%s from %s: %#v, want a refusal", account, address, err)
		return 0
	}
	if e.Message != "too many failed attempts, try again later" { // the same text for all accounts
		t.Errorf("the refusal says %s", e.Message)
	}
	return e.RetryAfter
}

func (f *fixture) flush(k *Keeper) {
	f.Helper()
	if err := k.flushPending(context.Background()); err != nil {
		f.Fatal(err)
	}
}

func TestAccountFromOneAddress(t *testing.T) {
	f := open(t)
	k := f.process()
	fail(k, 19, "ann@local", "10.0.0.1")
	wantAdmitted(t, k, "ann@local", "10.0.0.1", 5*time.Second)
	f.Advance(17 * time.Second)
	fail(k, 1, "ann@local", "10.0.0.1")
	rest := wantRefused(t, k, "ann@local", "10.0.0.1")
	wantRefused(t, k, "ANN@Local", "::ffff:10.0.0.1") // the same account and address in another notation
	wantAdmitted(t, k, "ann@local", "10.0.0.2", 5*time.Second)
	wantAdmitted(t, k, "bob@local", "10.0.0.1", 0)
	if rest < 43*time.Second || rest > 48*time.Second {
		t.Errorf("the refusal lasts %s, want the rest of a minute, and a slice at most", rest)
	}
	f.Advance(rest - time.Millisecond)
	wantRefused(t, k, "ann@local", "10.0.0.1")
	f.Advance(time.Millisecond)
	wantAdmitted(t, k, "ann@local", "10.0.0.1", 0)
	fail(k, 19, "ann@local", "10.0.0.1")
	wantRefused(t, k, "ann@local", "10.0.0.1") // the earlier failure still counts
}

// TestNoMinuteHasMore checks that there are never more failures within a minute than the limit,
// whatever the intervals between attempts.
func TestNoMinuteHasMore(t *testing.T) {
	f := open(t)
	k := f.process()
	var admitted []time.Time
	for range 900 { // 15 minutes, one attempt per second
		if _, err := k.Admit(context.Background(), "ann@local", from("10.0.0.1")); err == nil {
			k.Failed(context.Background(), "ann@local", from("10.0.0.1"))
			admitted = append(admitted, f.Now())
		}
		f.Advance(time.Second)
	}
	for i := 20; i < len(admitted); i++ {
		if d := admitted[i].Sub(admitted[i-20]); d < Window {
			t.Fatalf("21 attempts within %s", d)
		}
	}
	if len(admitted) < 250 {
		t.Errorf("%d attempts in 15 minutes, want nearly 20 a minute", len(admitted))
	}
}

func TestAddress(t *testing.T) {
	for name, c := range map[string]struct{ attacks, same, other string }{
		"IPv4":    {"10.0.0.1", "10.0.0.1", "10.0.0.2"},
		"IPv6":    {"2001:db8:1:2::1", "2001:db8:1:2:ffff::7", "2001:db8:1:3::1"},
		"unknown": {"", "", "10.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			f := open(t)
			k := f.process()
			for i := range 99 {
				fail(k, 1, fmt.Sprintf("nobody%d@local", i), c.attacks)
			}
			wantAdmitted(t, k, "ann@local", c.same, 0)
			fail(k, 1, "", c.attacks) // a code, which belongs to no account
			wantRefused(t, k, "ann@local", c.same)
			wantRefused(t, k, "", c.same)
			wantAdmitted(t, k, "ann@local", c.other, 0)
			f.Advance(Window + sliceTime)
			wantAdmitted(t, k, "ann@local", c.same, 0)
		})
	}
}

// TestKnownAtTheAddress checks an account that signed in from an address within a day. Failures
// of other accounts at this address do not block it, and its failures do not block other
// accounts.
func TestKnownAtTheAddress(t *testing.T) {
	f := open(t)
	k := f.process()
	ctx := context.Background()
	k.Succeeded(ctx, "ann@local", from("10.0.0.1"))
	for i := range 100 {
		fail(k, 1, fmt.Sprintf("nobody%d@local", i), "10.0.0.1")
	}
	wantAdmitted(t, k, "Ann@local", "10.0.0.1", 0)
	wantRefused(t, k, "bob@local", "10.0.0.1")
	fail(k, 20, "ann@local", "10.0.0.1")
	wantRefused(t, k, "ann@local", "10.0.0.1") // her own limit applies

	f.Advance(2 * Window)
	fail(k, 15, "ann@local", "10.0.0.1")
	for i := range 90 {
		fail(k, 1, fmt.Sprintf("nobody%d@local", i), "10.0.0.1")
	}
	wantAdmitted(t, k, "bob@local", "10.0.0.1", 0) // her failures do not count for the address

	f.Advance(24*time.Hour - 2*Window)
	for i := range 100 {
		fail(k, 1, fmt.Sprintf("nobody%d@local", i), "10.0.0.1")
	}
	wantAdmitted(t, k, "ann@local", "10.0.0.1", 0)
	wantAdmitted(t, f.restarted(k), "ann@local", "10.0.0.1", 0)
	f.Advance(2 * time.Hour)
	for i := range 100 {
		fail(k, 1, fmt.Sprintf("nobody%d@local", i), "10.0.0.1")
	}
	wantRefused(t, k, "ann@local", "10.0.0.1")
}

func (f *fixture) restarted(k *Keeper) *Keeper {
	f.flush(k)
	return f.process()
}

// TestDelayGrows checks that failures at many addresses delay an account, and that the account is
// never refused at other addresses.
func TestDelayGrows(t *testing.T) {
	f := open(t)
	k := f.process()
	want := []time.Duration{0, 100, 200, 400, 800, 1600, 3200, 5000, 5000}
	for i := range 9 {
		fail(k, 1, "ann@local", fmt.Sprintf("10.0.1.%d", i))
	}
	for i, ms := range want {
		wantAdmitted(t, k, "ann@local", "10.0.2.1", ms*time.Millisecond)
		fail(k, 1, "ann@local", fmt.Sprintf("10.0.3.%d", i))
	}
	for i := range 2000 {
		fail(k, 1, "ann@local", fmt.Sprintf("10.1.%d.%d", i/200, i%200))
	}
	wantAdmitted(t, k, "ann@local", "10.0.2.1", 5*time.Second)
	wantAdmitted(t, k, "bob@local", "10.0.2.1", 0)
	f.Advance(Window + sliceTime)
	wantAdmitted(t, k, "ann@local", "10.0.2.1", 0)
}

// TestClockPutBack checks that older failures no longer count when the clock is set back, because
// an account would otherwise stay blocked until the clock has caught up. New failures count.
func TestClockPutBack(t *testing.T) {
	f := open(t)
	k := f.process()
	fail(k, 19, "ann@local", "10.0.0.1")
	fail(k, 100, "bob@local", "10.0.0.2")
	wantRefused(t, k, "bob@local", "10.0.0.2")
	f.flush(k)
	f.Advance(-10 * 365 * 24 * time.Hour)
	wantAdmitted(t, f.process(), "bob@local", "10.0.0.2", 0) // although the rows exist
	started := time.Now()
	wantAdmitted(t, k, "bob@local", "10.0.0.2", 0)
	if took := time.Since(started); took > time.Second {
		t.Errorf("deciding took %s", took)
	}
	fail(k, 20, "ann@local", "10.0.0.1")
	wantRefused(t, k, "ann@local", "10.0.0.1")
}

func TestProcessesCountTogether(t *testing.T) {
	f := open(t)
	one, two := f.process(), f.process()
	wantAdmitted(t, one, "ann@local", "10.0.0.1", 0)
	wantAdmitted(t, two, "ann@local", "10.0.0.1", 0)
	fail(one, 10, "ann@local", "10.0.0.1")
	fail(two, 9, "ann@local", "10.0.0.1")
	for range 3 { // rows that were read before are not counted again
		f.flush(one)
		f.flush(two)
		f.Advance(FlushEvery)
		wantAdmitted(t, one, "ann@local", "10.0.0.1", 5*time.Second)
		wantAdmitted(t, two, "ann@local", "10.0.0.1", 5*time.Second)
	}
	fail(two, 1, "ann@local", "10.0.0.1")
	f.flush(two)
	f.Advance(FlushEvery)
	wantRefused(t, one, "ann@local", "10.0.0.1")
	wantRefused(t, two, "ann@local", "10.0.0.1")
	wantRefused(t, f.process(), "ann@local", "10.0.0.1") // a new process
}

// TestSeenWithinASecond checks that a process writes its counts soon, before Close, and that
// another process reads them.
func TestSeenWithinASecond(t *testing.T) {
	f := open(t)
	limits := usual()
	one := New(Config{Data: f.data, Class: f.class, Limits: limits})
	two := New(Config{Data: f.data, Class: f.class, Limits: limits})
	wantAdmitted(t, two, "ann@local", "10.0.0.1", 0)
	fail(one, 20, "ann@local", "10.0.0.1")
	wantRefused(t, one, "ann@local", "10.0.0.1") // without a wait, in the process that counted
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, err := two.Admit(context.Background(), "ann@local", from("10.0.0.1")); engine.CodeOf(err) == engine.TooMany {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the other process never sees the failures")
		}
	}
	for _, k := range []*Keeper{one, two} {
		if err := k.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

// TestAttackIsCheap checks that 10,000 failures cause few rows and need bounded memory, and that
// the rows and the memory are released later.
func TestAttackIsCheap(t *testing.T) {
	f := open(t)
	k := f.process()
	for i := range 10_000 {
		fail(k, 1, fmt.Sprintf("nobody%d@local", i%500), fmt.Sprintf("10.0.0.%d", i%50))
		if i%1000 == 999 {
			f.flush(k)
			f.Advance(FlushEvery)
		}
	}
	if f.data.saves > 20 || f.data.rows > 20 {
		t.Errorf("%d transactions, %d rows", f.data.saves, f.data.rows)
	}
	f.Advance(batchLife + sweepEvery)
	fail(k, 1, "ann@local", "10.0.0.1")
	f.flush(k)
	n, err := f.data.Count(context.Background(), &engine.Query{Class: f.class, Count: -1})
	if err != nil || n != 1 {
		t.Errorf("%d rows after the attack, %v", n, err)
	}
	k.mu.Lock() // the keeper also writes in the background
	defer k.mu.Unlock()
	if len(k.pairs.counters)+len(k.networks.counters)+len(k.accounts.counters) != 3 || len(k.pending) != 0 {
		t.Errorf("%d, %d and %d counters and %d events stay", len(k.pairs.counters), len(k.networks.counters), len(k.accounts.counters), len(k.pending))
	}
}

// TestMemoryIsBounded checks that invented accounts and addresses do not fill the memory, and do
// not make a process forget that a key has reached its limit.
func TestMemoryIsBounded(t *testing.T) {
	f := open(t)
	k := f.process()
	fail(k, 20, "ann@local", "10.0.0.1")
	for i := range maxEntries + 5000 {
		k.Failed(context.Background(), fmt.Sprintf("nobody%d@local", i), from(fmt.Sprintf("2001:db8:%x:%x::1", i>>16, i&0xffff)))
	}
	k.mu.Lock()
	sizes := map[string]int{"pairs": len(k.pairs.counters), "networks": len(k.networks.counters), "accounts": len(k.accounts.counters), "pending": len(k.pending)}
	k.mu.Unlock()
	for name, n := range sizes {
		if n > maxEntries {
			t.Errorf("%d %s", n, name)
		}
	}
	wantRefused(t, k, "ann@local", "10.0.0.1")
	k.mu.Lock()
	clear(k.pending)
	k.mu.Unlock()
	for i := range maxNetworks + 10 {
		k.Succeeded(context.Background(), "ann@local", from(fmt.Sprintf("10.0.1.%d", i)))
		f.Advance(time.Second)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if n := len(k.known[accountKey("ann@local")]); n != maxNetworks {
		t.Errorf("an account is known at %d networks", n)
	}
	for i := range maxEntries + 10 {
		k.known.putNetwork(pair{accountKey(fmt.Sprint(i)), key{}}, f.Now())
	}
	if len(k.known) > maxEntries {
		t.Errorf("%d accounts are known somewhere", len(k.known))
	}
}

// TestRowsTellNoNames checks that rows contain no names, because users sometimes type a password
// into the name field.
func TestRowsTellNoNames(t *testing.T) {
	f := open(t)
	k := f.process()
	fail(k, 3, "S3cret-canary@local", "203.0.113.77")
	k.Succeeded(context.Background(), "ann-canary@local", from("203.0.113.77"))
	f.flush(k)
	rows := 0
	err := f.data.List(context.Background(), &engine.Query{Class: f.class, Count: -1}, func(it *engine.Item) error {
		rows++
		if text := strings.ToLower(fmt.Sprint(it.Values...)); strings.Contains(text, "canary") || strings.Contains(text, "203.0") {
			t.Errorf("a row contains %s", text)
		}
		return nil
	})
	if err != nil || rows != 2 {
		t.Errorf("%d rows, %v", rows, err)
	}
}

func TestDatabaseAway(t *testing.T) {
	f := open(t)
	one, two := f.process(), f.process()
	away := engine.Errorf(engine.Unavailable, "database", "the database is away")
	f.data.goAway(away)
	fail(one, 20, "ann@local", "10.0.0.1")
	if err := one.flushPending(context.Background()); !errors.Is(err, error(away)) {
		t.Errorf("flush: %v", err)
	}
	wantRefused(t, one, "ann@local", "10.0.0.1")
	wantAdmitted(t, two, "ann@local", "10.0.0.1", 0)
	f.data.goAway(nil)
	f.flush(one)
	f.Advance(time.Second)
	wantRefused(t, two, "ann@local", "10.0.0.1")
}

func TestNoLimits(t *testing.T) {
	f := open(t)
	k := New(Config{Data: f.data, Class: f.class, Now: f.Now})
	fail(k, 1000, "ann@local", "10.0.0.1")
	wantAdmitted(t, k, "ann@local", "10.0.0.1", 0)
	if err := k.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestAdmitEndsWithItsRequest(t *testing.T) {
	f := open(t)
	k := f.process()
	k.reading <- struct{}{} // a long read is running
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := k.Admit(ctx, "ann@local", from("10.0.0.1")); engine.CodeOf(err) != engine.Timeout {
		t.Errorf("error %v", err)
	}
	<-k.reading
}
