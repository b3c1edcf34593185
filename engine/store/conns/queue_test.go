package conns

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"restsrv/engine"
)

// beside returns an others in which these accounts are using the database at the same time.
func beside(accounts ...string) *others {
	o := &others{Stay: time.Hour}
	for _, a := range accounts {
		o.Note(a)
	}
	return o
}

func waitingJob(key string) *job {
	return &job{ctx: context.Background(), key: key, result: make(chan error, 1)}
}

func mustPush(t *testing.T, q *queue, keys ...string) {
	t.Helper()
	for _, key := range keys {
		if _, err := q.push(waitingJob(key)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestQueueServesByTime checks two accounts with many writes each, one with short writes and one with long writes.
// Both must get the same amount of time.
func TestQueueServesByTime(t *testing.T) {
	q := newQueue(0, 1, beside())
	for range 300 {
		mustPush(t, q, "light")
	}
	for range 10 {
		mustPush(t, q, "heavy")
	}
	cost := map[string]time.Duration{"light": time.Millisecond, "heavy": 20 * time.Millisecond}
	used := map[string]time.Duration{}
	for range 150 {
		j := q.pop()
		q.chargeKey(j, cost[j.key])
		q.endJob(j)
		used[j.key] += cost[j.key]
		if apart := used["light"] - used["heavy"]; apart < -20*time.Millisecond || apart > 20*time.Millisecond {
			t.Fatalf("light has used %v of the writer and heavy %v: the difference must be one write at most", used["light"], used["heavy"])
		}
	}
}

// TestQueueLateComer checks an account that writes while many writes of another account wait: its first write must be
// next. Its idle time must give it no further advantage.
func TestQueueLateComer(t *testing.T) {
	q := newQueue(0, 1, beside())
	for range 100 {
		mustPush(t, q, "heavy")
	}
	for i := range 20 {
		j := q.pop()
		q.chargeKey(j, 10*time.Millisecond)
		q.endJob(j)
		if i%5 != 4 {
			continue
		}
		mustPush(t, q, "light")
		if j = q.pop(); j.key != "light" {
			t.Fatalf("after %d writes of heavy another one goes before the write of light", i+1)
		}
		q.chargeKey(j, time.Millisecond)
		q.endJob(j)
	}
	mustPush(t, q, "idle", "idle")
	j := q.pop()
	if j.key != "idle" {
		t.Fatalf("a write of %s goes before those of idle", j.key)
	}
	q.chargeKey(j, 100*time.Millisecond)
	q.endJob(j)
	if j := q.pop(); j.key != "heavy" {
		t.Errorf("after a write of 100 ms: got one of %s, want one of heavy", j.key)
	}
}

// TestQueueBounds checks that one account cannot fill the queue.
func TestQueueBounds(t *testing.T) {
	q := newQueue(3, 1, beside())
	mustPush(t, q, "a", "a", "a")
	_, err := q.push(waitingJob("a"))
	var e *engine.Error
	if !errors.As(err, &e) || e.Code != engine.Unavailable || e.Reason != "share" || e.RetryAfter <= 0 {
		t.Errorf("the fourth write of a: got %v, want Unavailable, share and a time to try again", err)
	}
	mustPush(t, q, "b")
	for i := q.Len(); i < queueLength; i++ {
		mustPush(t, q, fmt.Sprint(i))
	}
	if _, err := q.push(waitingJob("c")); engine.CodeOf(err) != engine.Unavailable {
		t.Errorf("a write beyond the length of the queue: got %v, want Unavailable", err)
	}
}

// TestQueueJoins checks that a heavy write shares a commit with writes of its own account, but not with writes of
// other accounts.
func TestQueueJoins(t *testing.T) {
	q := newQueue(0, 1, beside())
	mustPush(t, q, "heavy")
	j := q.pop()
	q.chargeKey(j, 100*time.Millisecond)
	q.endJob(j)
	mustPush(t, q, "light", "heavy", "heavy")
	if j = q.pop(); j.key != "light" {
		t.Fatalf("got a write of %s first, want light", j.key)
	}
	if j := q.joinBatch(&j.key); j != nil {
		t.Errorf("a write of %s joins the commit of light, want none", j.key)
	}
	q.endJob(j)
	q.keys["light"].answered = time.Time{} // do not wait for the next write of light
	j = q.pop()
	q.others = beside("light")
	if other := q.joinBatch(&j.key); other != nil {
		t.Errorf("the commit of heavy beside another account: a write of %s joins, want none", other.key)
	}
	q.others = beside()
	if other := q.joinBatch(&j.key); other == nil || other.key != "heavy" {
		t.Errorf("the commit of heavy: got %v, want the other write of heavy to join", other)
	}
}

// TestQueueWaitsForReturn checks an account that writes again at once after an answer. Its next write must come before
// the heavy write of an account that has used more time.
func TestQueueWaitsForReturn(t *testing.T) {
	q := newQueue(0, 1, beside())
	mustPush(t, q, "heavy", "heavy", "heavy")
	j := q.pop()
	q.chargeKey(j, 100*time.Millisecond)
	mustPush(t, q, "light")
	q.endJob(j)
	j = q.pop()
	q.chargeKey(j, time.Millisecond)
	q.endJob(j)
	q.comeback = time.Hour
	next := make(chan *job)
	go func() { next <- q.pop() }()
	for waits := false; !waits; time.Sleep(time.Millisecond) {
		q.mu.Lock()
		waits = q.waiters > 0
		q.mu.Unlock()
	}
	mustPush(t, q, "light")
	if j = <-next; j.key != "light" {
		t.Errorf("light comes back: got a write of %s first, want light", j.key)
	}
	q.endJob(j)
	q.comeback = time.Millisecond
	if j := q.pop(); j.key != "heavy" {
		t.Errorf("light does not come back: got %s, want heavy", j.key)
	}
}

// TestQueueRests checks that a heavy write waits until its account has rested from the previous one, if another
// account uses the database. Short writes of other accounts must run in the meantime.
func TestQueueRests(t *testing.T) {
	q := newQueue(0, 8, beside("other"))
	mustPush(t, q, "heavy", "heavy")
	j := q.pop()
	q.chargeKey(j, 50*time.Millisecond)
	q.endJob(j)
	ended := time.Now()
	mustPush(t, q, "light")
	if j = q.pop(); j.key != "light" {
		t.Errorf("while heavy rests: got a write of %s, want light", j.key)
	}
	q.endJob(j)
	j = q.pop()
	if rest := time.Since(ended); j.key != "heavy" || rest < restAfter(50*time.Millisecond, restWrite)-5*time.Millisecond {
		t.Errorf("got a write of %s after %v, want heavy after %v", j.key, rest, restAfter(50*time.Millisecond, restWrite))
	}
	mustPush(t, q, "heavy")
	q.close()
	if j = q.pop(); j == nil {
		t.Error("a closed queue returned no job, want the last one without a rest")
	}
}

// TestQueueLightWrites checks that writes that took long because of the disk do not count as heavy.
func TestQueueLightWrites(t *testing.T) {
	q := newQueue(0, 8, beside("other"))
	for range 8 {
		mustPush(t, q, "light")
		j := q.pop()
		j.light = true
		q.chargeKey(j, time.Second)
		q.endJob(j)
	}
	if l := q.keys["light"]; l.cost >= heavyWrite || !l.rests.IsZero() {
		t.Errorf("after light writes of a second: got a cost of %v and a rest until %v, want less than %v and no rest", l.cost, l.rests, heavyWrite)
	}
}

// TestQueueRunsOneHeavyWrite checks that the heavy writes of one account run one after the other while another account
// is present, even if several writers are idle.
func TestQueueRunsOneHeavyWrite(t *testing.T) {
	q := newQueue(0, 8, beside("other"))
	mustPush(t, q, "heavy", "heavy", "heavy")
	j := q.pop()
	q.chargeKey(j, time.Second)
	q.mu.Lock()
	rest := time.Duration(0)
	second := q.mayRun(q.keys["heavy"], &rest)
	q.others = beside()
	third := q.mayRun(q.keys["heavy"], &rest)
	q.mu.Unlock()
	if second || !third {
		t.Errorf("while one runs, another may run: got %v beside another account and %v alone, want false and true", second, third)
	}
}

// TestOthers checks that an account counts as present for a while after its last request.
func TestOthers(t *testing.T) {
	o := beside()
	if o.Note("") || o.present("a") {
		t.Error("after work of the server: want no account present")
	}
	if o.Note("a") || o.present("a") || !o.present("b") {
		t.Error("after a request of a: want a present beside b, and none beside a")
	}
	if !o.Note("b") || !o.present("a") || !o.present("b") {
		t.Error("after requests of a and b: want each present beside the other")
	}
	o.other.Add(-int64(2 * o.Stay)) // make the request of a older than Stay
	if o.Note("b") || o.present("b") || !o.present("a") {
		t.Error("after a while without requests of a: want none present beside b")
	}
}

// TestQueueCloses checks that every writer ends when the queue is closed and empty.
func TestQueueCloses(t *testing.T) {
	q := newQueue(0, 4, beside())
	mustPush(t, q, "a", "a", "b")
	ends := make(chan int)
	for range 4 {
		go func() {
			n := 0
			for j := q.pop(); j != nil; j = q.pop() {
				q.chargeKey(j, 50*time.Millisecond)
				q.endJob(j)
				n++
			}
			ends <- n
		}()
	}
	q.close()
	total := 0
	for range 4 {
		select {
		case n := <-ends:
			total += n
		case <-time.After(10 * time.Second):
			t.Fatal("a writer waits although the queue is closed")
		}
	}
	if total != 3 {
		t.Errorf("%d writes were served, want 3", total)
	}
	if _, err := q.push(waitingJob("a")); engine.CodeOf(err) != engine.Unavailable {
		t.Errorf("a write after the close: got %v, want Unavailable", err)
	}
}
