package share

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"restsrv/engine"
)

// clock is a clock that tests advance.
type clock struct{ ns atomic.Int64 }

func (c *clock) now() time.Time          { return time.Unix(0, c.ns.Load()) }
func (c *clock) advance(d time.Duration) { c.ns.Add(int64(d)) }

// enqueue starts an Acquire that has to wait and returns when it is in the queue.
// The channel receives the grant.
func enqueue(t *testing.T, p *Pool, key string, units int64) <-chan *Grant {
	t.Helper()
	before, _ := p.Waiting(key)
	granted := make(chan *Grant, 1)
	go func() {
		g, err := p.Acquire(context.Background(), key, units)
		if err != nil {
			t.Errorf("Acquire(%s): %v", key, err)
		}
		granted <- &g
	}()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if own, _ := p.Waiting(key); own > before {
			return granted
		}
		if time.Now().After(deadline) {
			t.Fatalf("the request of %s does not wait", key)
		}
	}
}

func acquire(t *testing.T, p *Pool, key string, units int64) *Grant {
	t.Helper()
	g, err := p.Acquire(context.Background(), key, units)
	if err != nil {
		t.Fatalf("Acquire(%s, %d): %v", key, units, err)
	}
	return &g
}

func TestKeysWithTheLeastUseGoFirst(t *testing.T) {
	c := &clock{}
	p := New(Config{Name: "things", Capacity: 1, Now: c.now})
	g := acquire(t, p, "heavy", 1)
	heavy := []<-chan *Grant{enqueue(t, p, "heavy", 1), enqueue(t, p, "heavy", 1)}
	c.advance(10 * time.Second)
	g.Release() // heavy has used 10 s and gets the second grant, because no other key waits
	second := <-heavy[0]
	light := []<-chan *Grant{enqueue(t, p, "light", 1), enqueue(t, p, "light", 1), enqueue(t, p, "light", 1)}
	c.advance(10 * time.Second)
	second.Release()
	for i := range light {
		select {
		case g := <-light[i]:
			c.advance(time.Second)
			g.Release()
		case <-heavy[1]:
			t.Fatalf("heavy was served before request %d of light, which has used the resource for %d s", i, i)
		}
	}
	(<-heavy[1]).Release()
	if own, all := p.Held("heavy"); own != 0 || all != 0 {
		t.Errorf("held at the end: got %d and %d, want 0", own, all)
	}
}

func TestOneKeyLeavesRoomForOthers(t *testing.T) {
	p := New(Config{Name: "things", Capacity: 10, PerKey: 6})
	a := acquire(t, p, "a", 6)
	if _, ok := p.TryAcquire("a", 1); ok {
		t.Error("a was granted more than PerKey")
	}
	b := acquire(t, p, "b", 4)
	waiting := enqueue(t, p, "a", 3)
	b.Release()
	select {
	case <-waiting:
		t.Error("a was granted more than PerKey when units became free")
	case <-time.After(10 * time.Millisecond):
	}
	a.Shrink(3)
	(<-waiting).Release()
	a.Release()
	a.Release() // has no effect
	if _, all := p.Held(""); all != 0 {
		t.Errorf("held at the end: got %d, want 0", all)
	}
}

func TestLargeRequestsAreNotStarved(t *testing.T) {
	p := New(Config{Name: "things", Capacity: 10})
	a, b := acquire(t, p, "a", 5), acquire(t, p, "b", 5)
	large := enqueue(t, p, "c", 10)
	b.Release()
	if _, ok := p.TryAcquire("b", 5); ok {
		// c goes before b: both hold the same number of units, but b has used more time.
		t.Error("a small request passed a large one that was before it")
	}
	a.Release()
	(<-large).Release()
}

func TestRefusals(t *testing.T) {
	p := New(Config{Name: "things", Capacity: 1, Waiting: 2, AllWaiting: 3})
	g := acquire(t, p, "a", 1)
	var queued []<-chan *Grant
	refused := func(key, why string) {
		t.Helper()
		_, err := p.Acquire(context.Background(), key, 1)
		e, ok := err.(*engine.Error)
		if !ok || e.Code != engine.Unavailable || e.Reason != Reason || e.RetryAfter <= 0 {
			t.Errorf("%s: got %v, want Unavailable with Retry-After", why, err)
		}
	}
	queued = append(queued, enqueue(t, p, "a", 1), enqueue(t, p, "a", 1))
	refused("a", "the queue of the key is full")
	queued = append(queued, enqueue(t, p, "b", 1))
	refused("c", "the queue of all keys is full")
	if got := p.Refused(); got != 2 {
		t.Errorf("refused: got %d, want 2", got)
	}
	g.Release()
	// The order of the queues does not matter here.
	for _, q := range []<-chan *Grant{queued[2], queued[0], queued[1]} {
		(<-q).Release()
	}
}

func TestWaitingEnds(t *testing.T) {
	p := New(Config{Name: "things", Capacity: 1, MaxWait: 5 * time.Millisecond})
	g := acquire(t, p, "a", 1)
	if _, err := p.Acquire(context.Background(), "b", 1); engine.CodeOf(err) != engine.Unavailable {
		t.Errorf("after MaxWait: got %v, want Unavailable", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if _, err := p.Acquire(ctx, "b", 1); engine.CodeOf(err) != engine.Timeout {
		t.Errorf("after the end of the context: got %v, want Timeout", err)
	}
	if own, all := p.Waiting("b"); own != 0 || all != 0 {
		t.Errorf("waiting: got %d and %d, want 0", own, all)
	}
	g.Release()
	acquire(t, p, "b", 1).Release()
}

// TestInvariants checks that the limits always hold while many keys acquire and release random
// numbers of units. Some requests have contexts that end.
func TestInvariants(t *testing.T) {
	const capacity, perKey = 20, 12
	p := New(Config{Name: "things", Capacity: capacity, PerKey: perKey, MaxWait: 50 * time.Millisecond})
	var all atomic.Int64
	var done sync.WaitGroup
	for k := range 8 {
		key := fmt.Sprint("key", k%5)
		done.Go(func() {
			r := rand.New(rand.NewPCG(uint64(k), 1))
			for range 300 {
				units := 1 + r.Int64N(perKey)
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(r.IntN(20))*time.Millisecond)
				g, err := p.Acquire(ctx, key, units)
				cancel()
				if err != nil {
					continue
				}
				if n := all.Add(units); n > capacity {
					t.Errorf("%d units are held, more than the capacity of %d", n, capacity)
				}
				if own, _ := p.Held(key); own > perKey {
					t.Errorf("%s holds %d units, more than %d", key, own, perKey)
				}
				time.Sleep(time.Duration(r.IntN(200)) * time.Microsecond)
				all.Add(-units)
				g.Release()
			}
		})
	}
	done.Wait()
	if _, held := p.Held(""); held != 0 {
		t.Errorf("held at the end: got %d, want 0", held)
	}
	if len(p.keys) != 0 {
		t.Errorf("keys at the end: got %d, want 0", len(p.keys))
	}
}

func TestKey(t *testing.T) {
	address := func(s string) *engine.Caller { return &engine.Caller{Address: netip.MustParseAddr(s)} }
	for _, c := range []struct {
		account *engine.Account
		caller  *engine.Caller
		want    string
	}{
		{&engine.Account{ID: "ann@local"}, address("10.0.0.1"), "ann@local"},
		{engine.Anonymous, address("10.0.0.1"), "10.0.0.1/32"},
		{engine.Anonymous, address("::ffff:10.0.0.1"), "10.0.0.1/32"},
		{engine.Anonymous, address("2001:db8:1:2:3::4"), "2001:db8:1:2::/64"},
	} {
		if got := Key(engine.WithRequest(context.Background(), c.account, c.caller)); got != c.want {
			t.Errorf("Key of %s at %s: got %q, want %q", c.account.ID, c.caller.Address, got, c.want)
		}
	}
	if got := Key(context.Background()); got != "" {
		t.Errorf("Key of the server itself: got %q, want an empty text", got)
	}
}

// TestYield checks that Yield lends a grant to a key that has used less, and that the grant comes
// back before other requests of its own key are served. Without such a key, the grant stays.
func TestYield(t *testing.T) {
	c := &clock{}
	p := New(Config{Name: "things", Capacity: 1, Now: c.now})
	g := acquire(t, p, "heavy", 1)
	second := enqueue(t, p, "heavy", 1)
	c.advance(time.Second)
	if err := g.Yield(context.Background()); err != nil || !g.Held() {
		t.Fatalf("Yield without another key: got %v, held %v", err, g.Held())
	}
	light := enqueue(t, p, "light", 1)
	back := make(chan error, 1)
	go func() { back <- g.Yield(context.Background()) }()
	other := <-light
	c.advance(time.Second)
	select {
	case err := <-back:
		t.Fatalf("Yield returned %v while light holds the unit", err)
	case <-second:
		t.Fatal("the second request of heavy was granted the unit that light holds")
	default:
	}
	other.Release()
	if err := <-back; err != nil || !g.Held() {
		t.Fatalf("Yield: got %v, held %v", err, g.Held())
	}
	ended, cancel := context.WithCancel(context.Background())
	third := enqueue(t, p, "light", 1)
	c.advance(2 * time.Second)
	go func() { back <- g.Yield(ended) }()
	other = <-third
	cancel()
	if err := <-back; engine.CodeOf(err) != engine.Timeout || g.Held() {
		t.Errorf("Yield whose context ends: got %v, held %v, want Timeout", err, g.Held())
	}
	g.Release() // has no effect
	other.Release()
	(<-second).Release()
	if _, all := p.Held(""); all != 0 {
		t.Errorf("held at the end: got %d, want 0", all)
	}
}

// TestDiscount checks that discounted time does not count as use.
func TestDiscount(t *testing.T) {
	c := &clock{}
	p := New(Config{Name: "things", Capacity: 2, Now: c.now})
	keep := acquire(t, p, "other", 1) // the pool remembers use as long as some units are held
	defer keep.Release()
	g := acquire(t, p, "resting", 1)
	c.advance(10 * time.Second)
	g.Discount(9 * time.Second)
	g.Release()
	if used := p.findHolder("resting").used; used != time.Second {
		t.Errorf("10 s held, of which 9 s were taken off: got a use of %v, want 1 s", used)
	}
}

func TestGrow(t *testing.T) {
	c := &clock{}
	p := New(Config{Name: "things", Capacity: 10, PerKey: 8, Now: c.now})
	a := acquire(t, p, "a", 2)
	if !a.Grow(1) || !a.Grow(6) {
		t.Error("a grant did not grow although there was room")
	}
	if own, all := p.Held("a"); own != 6 || all != 6 {
		t.Errorf("held after growing: got %d and %d, want 6", own, all)
	}
	if !a.Grow(100) { // limited to PerKey, like Acquire
		t.Error("a grant did not grow to PerKey")
	}
	b := acquire(t, p, "b", 2)
	if b.Grow(3) {
		t.Error("a grant grew over the capacity")
	}
	a.Shrink(1)
	waiting := enqueue(t, p, "c", 8)
	if b.Grow(3) {
		t.Error("a grant grew before a request that waits and holds less")
	}
	b.Release()
	(<-waiting).Release()
	a.Release()
	if a.Grow(2) {
		t.Error("a released grant grew")
	}
}

func TestCharge(t *testing.T) {
	p := New(Config{Name: "things", Capacity: 10, PerKey: 6, MaxWait: time.Millisecond})
	if p.Over("a") {
		t.Error("an idle key is over its bound")
	}
	g := p.Charge("a", 8)
	if !p.Over("a") || p.Over("b") {
		t.Errorf("a key with 8 of 6 units: Over(a) = %v, Over(b) = %v, want true and false", p.Over("a"), p.Over("b"))
	}
	if _, ok := p.TryAcquire("a", 1); ok {
		t.Error("a key over its bound was granted more")
	}
	more := p.Charge("a", 8)
	if !p.Over("b") {
		t.Error("b is not over although all hold more than the capacity")
	}
	more.Release()
	g.Release()
	acquire(t, p, "a", 6).Release()
}
