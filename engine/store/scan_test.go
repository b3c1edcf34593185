package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/store"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/storetest"
)

// manyNotes is a number of items for which a read of all items exceeds the budget of the quick lane.
const manyNotes = 30000

// openMany opens a store of manyNotes items.
func openMany(t *testing.T, p place, scans conns.Scans) (*store.Store, *engine.Class) {
	t.Helper()
	c := storetest.NewClass("note", storetest.Prop("id", engine.String), storetest.Prop("text", engine.Text))
	db, err := p.open()
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), db, store.Config{Classes: []*engine.Class{c}, Scans: scans})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeStore(t, st) })
	records := make([]engine.Record, manyNotes)
	for i := range records {
		id := fmt.Sprintf("%05d", i)
		records[i] = engine.Record{Class: c, ID: id, Values: engine.Values{id, "text of note " + id}}
	}
	if _, err := st.Save(t.Context(), records); err != nil {
		t.Fatal(err)
	}
	return st, c
}

func as(ctx context.Context, id string) context.Context {
	return engine.WithAccount(ctx, &engine.Account{ID: id})
}

func matching(c *engine.Class, pattern string) *engine.Filter {
	return &engine.Filter{Op: engine.OpLike, Left: engine.Attribute(c.Property("text")), Pattern: pattern}
}

// holder holds long reads of an account: each read stops in the middle until release is called.
type holder struct {
	release func()
	done    sync.WaitGroup
	errs    []error
}

func hold(ctx context.Context, st *store.Store, c *engine.Class, account string, n int) *holder {
	open := make(chan struct{})
	h := &holder{release: sync.OnceFunc(func() { close(open) }), errs: make([]error, n)}
	for i := range n {
		h.done.Go(func() {
			visited := 0
			h.errs[i] = st.List(as(ctx, account), &engine.Query{Class: c, Count: -1}, func(*engine.Item) error {
				if visited++; visited == manyNotes-1000 {
					<-open
				}
				return nil
			})
		})
	}
	return h
}

func (h *holder) end() {
	h.release()
	h.done.Wait()
}

// occupy starts one long read of b@local and waits until it runs. Then it starts n more reads and waits until some of
// them wait for a place. It returns the holder of the first read. All reads end with the test.
func occupy(t *testing.T, st *store.Store, c *engine.Class, n int) (first *holder) {
	t.Helper()
	first = hold(t.Context(), st, c, "b@local", 1)
	t.Cleanup(first.end)
	await(t, "a long reading runs", func() bool { running, _ := st.Scanning(); return running > 0 })
	rest := hold(t.Context(), st, c, "b@local", n)
	t.Cleanup(rest.end)
	await(t, "long readings wait", func() bool { _, waiting := st.Scanning(); return waiting > 3 })
	return first
}

// await waits until a condition is true.
func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after five minutes: %s is not true", what)
		}
	}
}

// TestScansLeaveReaders: while long reads of one account use all available places, another account can read by key,
// list, count and write.
func TestScansLeaveReaders(t *testing.T) { onBoth(t, scansLeaveReaders) }

func scansLeaveReaders(t *testing.T, p place) {
	st, c := openMany(t, p, conns.Scans{MaxWait: 10 * time.Minute})
	occupy(t, st, c, 23)
	ctx, cancel := context.WithTimeout(as(t.Context(), "a@local"), 5*time.Minute)
	defer cancel()
	for i := range 50 {
		id := fmt.Sprintf("%05d", i)
		if _, err := st.Get(ctx, c, id); err != nil {
			t.Fatalf("Get beside long readings: %v", err)
		}
		one := &engine.Query{Class: c, Count: 5, Filter: storetest.Compare(engine.OpEq, c.Property("id"), id)}
		if err := st.List(ctx, one, func(*engine.Item) error { return nil }); err != nil {
			t.Fatalf("List beside long readings: %v", err)
		}
		if _, err := st.Count(ctx, one); err != nil {
			t.Fatalf("Count beside long readings: %v", err)
		}
		if _, err := st.Update(ctx, c, id, engine.Values{engine.Absent, "changed"}, engine.WriteOptions{}); err != nil {
			t.Fatalf("Update beside long readings: %v", err)
		}
	}
}

// TestScansOfOthers checks that the long read of an account can end while several long reads of another account wait.
func TestScansOfOthers(t *testing.T) { onBoth(t, scansOfOthers) }

func scansOfOthers(t *testing.T, p place) {
	st, c := openMany(t, p, conns.Scans{MaxWait: 10 * time.Minute})
	first := occupy(t, st, c, 12)
	done := make(chan error, 1)
	go func() {
		n := 0
		err := st.List(as(t.Context(), "a@local"), &engine.Query{Class: c, Count: -1}, func(*engine.Item) error { n++; return nil })
		if err == nil && n != manyNotes {
			err = fmt.Errorf("listed %d items, want %d", n, manyNotes)
		}
		done <- err
	}()
	await(t, "the reading of a waits", func() bool { own, _ := st.ScansWaiting("a@local"); return own > 0 || len(done) > 0 })
	first.release() // the other reads of b stop until they are released, too
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the long reading of a was not served although one of b ended")
	}
}

// TestScansAreRefused checks that a long read is refused with 503 and a retry time in two cases: the queue is full, or
// the read has waited too long.
func TestScansAreRefused(t *testing.T) { onBoth(t, scansAreRefused) }

func scansAreRefused(t *testing.T, p place) {
	st, c := openMany(t, p, conns.Scans{Waiting: 2, MaxWait: 100 * time.Millisecond})
	first := hold(t.Context(), st, c, "b@local", 1)
	await(t, "a long reading runs", func() bool { running, _ := st.Scanning(); return running > 0 })
	h := &holder{errs: make([]error, 24)}
	for i := range h.errs {
		h.done.Go(func() {
			h.errs[i] = st.List(as(t.Context(), "b@local"), &engine.Query{Class: c, Count: -1}, func(*engine.Item) error {
				time.Sleep(time.Millisecond)
				return nil
			})
		})
	}
	h.done.Wait() // the reads are refused, because the first one keeps its place
	first.release()
	first.done.Wait()
	if first.errs[0] != nil {
		t.Errorf("the long reading that had a place: %v", first.errs[0])
	}
	refused := 0
	for _, err := range h.errs {
		var e *engine.Error
		switch {
		case err == nil:
		case !errors.As(err, &e) || e.Code != engine.Unavailable || e.Reason != "share" || e.RetryAfter <= 0:
			t.Errorf("a long reading failed with %v, want Unavailable, share and a time to try again", err)
		default:
			refused++
		}
	}
	if refused != len(h.errs) {
		t.Errorf("%d of %d long readings were refused, want all", refused, len(h.errs))
	}
}

// TestBegunReadingsEnd checks a short read with a slow caller while all places are taken: the read must not be
// refused. The test does not run on SQLite, which suspends such reads.
func TestBegunReadingsEnd(t *testing.T) {
	st, c := openMany(t, postgresPlace(t), conns.Scans{MaxWait: 10 * time.Minute})
	occupy(t, st, c, 24)
	found := 0
	err := st.List(as(t.Context(), "b@local"), &engine.Query{Class: c, Count: 5}, func(*engine.Item) error {
		found++
		time.Sleep(50 * time.Millisecond)
		return nil
	})
	if err != nil || found != 5 {
		t.Errorf("got %d items and error %v, want 5 and none", found, err)
	}
}

// TestScansRunAgain checks many reads that are ended in the quick lane and repeated in the scan lane. Each must return
// the same result as when it runs alone.
func TestScansRunAgain(t *testing.T) { onBoth(t, scansRunAgain) }

func scansRunAgain(t *testing.T, p place) {
	st, c := openMany(t, p, conns.Scans{MaxWait: 10 * time.Minute})
	var group sync.WaitGroup
	for i := range 40 {
		group.Go(func() {
			// The statements differ, so each is new.
			f := &engine.Filter{Op: engine.OpOr}
			for j := range i%8 + 1 {
				f.Args = append(f.Args, matching(c, fmt.Sprintf("note %04d", j)))
			}
			n, err := st.Count(as(t.Context(), fmt.Sprintf("%d@local", i%3)), &engine.Query{Class: c, Filter: f})
			if want := int64(10 * (i%8 + 1)); err != nil || n != want {
				t.Errorf("count %d: got %d, %v, want %d", i, n, err, want)
			}
		})
	}
	group.Wait()
	await(t, "all places are free after the rests", func() bool { running, waiting := st.Scanning(); return running == 0 && waiting == 0 })
}

// TestScanEndsWithItsContext checks that a long read ends at once if its client leaves, both while the read waits for
// a place and while it runs.
func TestScanEndsWithItsContext(t *testing.T) { onBoth(t, scanEndsWithItsContext) }

func scanEndsWithItsContext(t *testing.T, p place) {
	st, c := openMany(t, p, conns.Scans{MaxWait: 10 * time.Minute})
	occupy(t, st, c, 23)
	ctx, leave := context.WithCancel(as(t.Context(), "b@local"))
	done := make(chan error, 1)
	_, before := st.Scanning()
	go func() {
		_, err := st.Count(ctx, &engine.Query{Class: c, Filter: matching(c, "nowhere")})
		done <- err
	}()
	await(t, "the reading waits", func() bool { _, waiting := st.Scanning(); return waiting > before || len(done) > 0 })
	leave()
	select {
	case err := <-done:
		if err != nil && engine.CodeOf(err) != engine.Timeout {
			t.Errorf("a reading whose client left: got %v, want Timeout", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("a long reading waits although its client left")
	}
}
