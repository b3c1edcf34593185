package account

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"restsrv/engine"
)

// waiting tests turns: it starts waiters and records the order in which their turns came.
type waiting struct {
	*testing.T
	q    *turns
	all  sync.WaitGroup
	mu   sync.Mutex
	came []string
}

// wait starts a waiter from an address, which leaves as soon as its turn has come. wait returns
// when the waiter is in the queue or was rejected.
func (w *waiting) wait(name, address string, ahead bool) {
	w.Helper()
	before := w.lined()
	w.all.Go(func() {
		err := w.q.enter(context.Background(), networkOf(netip.MustParseAddr(address)), ahead)
		became := name
		if err != nil {
			became = "no " + name
		}
		w.mu.Lock()
		w.came = append(w.came, became)
		w.mu.Unlock()
		if err == nil {
			w.q.leave()
		}
	})
	for end := time.Now().Add(5 * time.Second); w.lined() == before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			w.Fatalf("%s neither waits nor is refused", name)
		}
	}
}

// lined returns a text that changes when a waiter joins the queue or is rejected.
func (w *waiting) lined() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.q.mu.Lock()
	defer w.q.mu.Unlock()
	return fmt.Sprint(w.q.lines, w.q.first, w.came)
}

func newWaiting(t *testing.T, room int) *waiting {
	w := &waiting{T: t, q: newTurns(1, room)}
	if err := w.q.enter(context.Background(), netip.Prefix{}, false); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *waiting) want(order ...string) {
	w.Helper()
	w.q.leave()
	w.all.Wait()
	if !slices.Equal(w.came, order) {
		w.Errorf("the turns were %q, want %q", w.came, order)
	}
	if computing, waiting := w.q.counts(); computing != 0 || waiting != 0 || len(w.q.lines) != 0 || len(w.q.order) != 0 || len(w.q.first) != 0 {
		w.Errorf("afterwards %d compute and %d wait: %+v", computing, waiting, w.q)
	}
}

// TestFloodTakesTurns checks that a flood from one network does not delay a single request from
// another network, and loses its last place to that request if the queue is full. All addresses
// of an IPv6 /64 are one network.
func TestFloodTakesTurns(t *testing.T) {
	w := newWaiting(t, 4)
	for i := range 4 {
		w.wait(fmt.Sprint("flood", i), fmt.Sprintf("2001:db8::%d", i+1), false)
	}
	w.wait("flood4", "2001:db8::ffff", false)
	w.wait("ann", "10.0.0.1", false)
	w.wait("bob", "10.0.0.2", false)
	w.wait("known", "2001:db8::1", true)
	w.want("no flood4", "no flood3", "no flood2", "known", "flood0", "ann", "bob", "flood1")
}

// TestTurnsOfMany checks that no waiter is displaced if each network has only one.
func TestTurnsOfMany(t *testing.T) {
	w := newWaiting(t, 3)
	for i := range 4 {
		w.wait(fmt.Sprint(i), fmt.Sprintf("10.0.0.%d", i+1), false)
	}
	w.want("no 3", "0", "1", "2")
}

// TestTurnGivenUp checks that a request that ends frees its place in the queue, or passes on the
// turn that it got at the same moment.
func TestTurnGivenUp(t *testing.T) {
	q := newTurns(1, 100)
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i%5)*time.Millisecond)
			defer cancel()
			err := q.enter(ctx, networkOf(netip.AddrFrom4([4]byte{10, 0, 0, byte(i % 7)})), i%3 == 0)
			if err == nil {
				time.Sleep(100 * time.Microsecond)
				q.leave()
			} else if code := engine.CodeOf(err); code != engine.Timeout && code != engine.Unavailable {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if computing, waiting := q.counts(); computing != 0 || waiting != 0 || q.free != 1 || len(q.order) != 0 {
		t.Errorf("afterwards %d compute and %d wait, %d are free", computing, waiting, q.free)
	}
}
