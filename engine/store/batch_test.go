package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modernc.org/sqlite"

	"restsrv/engine"
	"restsrv/engine/store"
	"restsrv/engine/store/storetest"
)

// batch is a store on SQLite whose writer is held (see hold), so that the next writes of the test share one commit.
type batch struct {
	*testing.T
	st      *store.Store
	class   *engine.Class
	release chan struct{}
	first   chan error
	writes  sync.WaitGroup
	waiting int
}

func newBatch(t *testing.T) *batch {
	c := storetest.NewClass("note", storetest.Prop("id", engine.String), storetest.Prop("n", engine.Int))
	b := &batch{T: t, st: openAt(t, sqlitePlace(t), c), class: c}
	b.st.BatchWithin(time.Hour) // otherwise a slow machine may end the batch too early
	b.hold()
	return b
}

// hold begins a batch with a first write, which runs until end is called.
func (b *batch) hold() {
	b.release, b.first, b.waiting = make(chan struct{}), make(chan error, 1), 0
	running := make(chan struct{})
	go func() {
		b.first <- b.st.Do(b.Context(), false, func(w *store.Session) error {
			close(running)
			<-b.release
			return w.Exec(insertNote("first"))
		})
	}()
	<-running
}

// join adds a write to the batch, behind the writes that were added before. Its outcome is known after end.
func (b *batch) join(write func() error) *error {
	outcome := new(error)
	b.writes.Go(func() { *outcome = write() })
	b.waiting++
	for b.st.Waiting() < b.waiting {
		time.Sleep(100 * time.Microsecond)
	}
	return outcome
}

// create joins a write that is a single statement.
func (b *batch) create(id string) *error {
	return b.join(func() error {
		_, err := b.st.Create(b.Context(), b.class, engine.Values{id, nil}, engine.WriteOptions{})
		return err
	})
}

func (b *batch) do(work func(w *store.Session) error) *error {
	return b.join(func() error { return b.st.Do(b.Context(), false, work) })
}

// end lets the batch run and returns the outcome of its first write.
func (b *batch) end() error {
	close(b.release)
	err := <-b.first
	b.writes.Wait()
	return err
}

// has checks that the stored items have exactly the wanted ids.
func (b *batch) has(want ...string) {
	b.Helper()
	got := []string{}
	err := b.st.List(b.Context(), &engine.Query{Class: b.class, Count: -1}, func(it *engine.Item) error {
		got = append(got, it.ID)
		return nil
	})
	if err != nil || strings.Join(got, " ") != strings.Join(want, " ") {
		b.Errorf("stored is %q, %v; want %q", got, err, want)
	}
}

func insertNote(id string) string {
	return `INSERT INTO "note@test" ("#class", "#rev", "id") VALUES ('note@test', 1, '` + id + `')`
}

// TestBatchPanics checks a write in a batch that panics after it has written. The store must discard the data of this
// write, and store the other writes.
func TestBatchPanics(t *testing.T) {
	b := newBatch(t)
	a := b.create("a")
	panicked := b.do(func(w *store.Session) error {
		if err := w.Exec(insertNote("b")); err != nil {
			return err
		}
		panic("mine")
	})
	c := b.create("c")
	if err := errors.Join(b.end(), *a, *c); err != nil {
		t.Errorf("got %v for the other writes of the batch, want no error", err)
	}
	if engine.CodeOf(*panicked) != engine.Internal {
		t.Errorf("got %v for the write that panics, want code Internal", *panicked)
	}
	b.has("first", "a", "c")
}

// TestBatchCancelled ends the contexts of requests in a batch. A write that still waits must not be done. A write that
// runs must return its outcome to the request. The other writes of the batch must succeed.
func TestBatchCancelled(t *testing.T) {
	b := newBatch(t)
	a := b.create("a")
	ctx, cancel := context.WithCancel(t.Context())
	waits := b.join(func() error {
		_, err := b.st.Create(ctx, b.class, engine.Values{"b", nil}, engine.WriteOptions{})
		return err
	})
	inner, cancelInner := context.WithCancel(t.Context())
	runs := b.join(func() error {
		return b.st.Do(inner, false, func(w *store.Session) error {
			cancelInner()
			return w.Exec(insertNote("c"))
		})
	})
	d := b.create("d")
	cancel()
	if err := errors.Join(b.end(), *a, *runs, *d); err != nil {
		t.Errorf("got %v for the other writes of the batch, want no error", err)
	}
	if engine.CodeOf(*waits) != engine.Timeout {
		t.Errorf("got %v for the cancelled write, want code Timeout", *waits)
	}
	b.has("first", "a", "c", "d")
}

// TestBatchCommitFails checks a batch with a failing commit. All its writes must fail, even a write that was rejected
// because of another write of the batch, and no data may be stored.
func TestBatchCommitFails(t *testing.T) {
	b := newBatch(t)
	a := b.create("a")
	b.do(failCommit)
	twice := b.create("a")
	first := b.end()
	for _, err := range []error{first, *a, *twice} {
		if engine.CodeOf(err) != engine.Internal {
			t.Errorf("got %v for a write after a failed commit, want code Internal", err)
		}
	}
	err := b.st.Transaction(t.Context(), func(ctx context.Context) error {
		_, err := b.st.Create(ctx, b.class, engine.Values{"whole", nil}, engine.WriteOptions{})
		return errors.Join(err, b.st.Do(ctx, false, failCommit))
	})
	if engine.CodeOf(err) != engine.Internal {
		t.Errorf("got %v for a transaction after a failed commit, want code Internal", err)
	}
	b.has()
	if _, err := b.st.Create(t.Context(), b.class, engine.Values{"later", nil}, engine.WriteOptions{}); err != nil {
		t.Error(err)
	}
	b.has("later")
}

// failCommit makes the next commit of the connection fail.
func failCommit(w *store.Session) error {
	return w.Raw(func(driverConn any) error {
		driverConn.(sqlite.HookRegisterer).RegisterCommitHook(func() int32 { return 1 })
		return nil
	})
}

// TestBatchFull checks a full disk: all writes of the batch must report that the database is unavailable, and the
// store must discard all of them. The next writes must succeed.
func TestBatchFull(t *testing.T) {
	b := newBatch(t)
	a := b.create("a")
	limit := b.do(func(w *store.Session) error { return w.Exec("PRAGMA max_page_count = 1") }) // SQLite does not go below the present number of pages, so the database is full
	large := b.do(func(w *store.Session) error { return w.Exec(insertNote(strings.Repeat("large", 10000))) })
	first := b.end()
	for i, err := range []error{first, *a, *limit, *large} {
		if engine.CodeOf(err) != engine.Unavailable {
			t.Errorf("got %[2]v for write %[1]d, want code Unavailable", i, err)
		}
	}
	b.has()
	if _, err := b.st.Create(t.Context(), b.class, engine.Values{"later", nil}, engine.WriteOptions{}); err != nil {
		t.Error(err)
	}
	b.has("later")
}

// TestUpgradeCancelled ends the context of an upgrade of the tables while it runs, as happens when a server stops
// during a reload. The writes that share the commit of the upgrade must succeed.
func TestUpgradeCancelled(t *testing.T) {
	c := storetest.NewClass("note", storetest.Prop("id", engine.String), storetest.Prop("n", engine.Int))
	b := &batch{T: t, st: openAt(t, sqlitePlace(t), c), class: c}
	if err := b.st.Do(t.Context(), false, func(w *store.Session) error {
		return w.Exec(`WITH RECURSIVE k(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM k WHERE i < 60000)
			INSERT INTO "note@test" ("#class", "#rev", "id", "n") SELECT 'note@test', 1, 'k' || i, (i * 7919) % 1000003 FROM k`)
	}); err != nil {
		t.Fatal(err)
	}
	next, err := b.st.With([]*engine.Class{storetest.NewClass("note", storetest.Prop("id", engine.String),
		storetest.Prop("n", engine.Int, func(p *engine.Property) { p.Indexed = true }))})
	if err != nil {
		t.Fatal(err)
	}
	b.hold()
	a := b.create("a")
	ctx, cancel := context.WithCancel(t.Context())
	b.join(func() error { return next.Upgrade(ctx) })
	z := b.create("z")
	time.AfterFunc(10*time.Millisecond, cancel)
	if err := errors.Join(b.end(), *a, *z); err != nil {
		t.Errorf("got %v for the writes beside a change of the tables, want no error", err)
	}
	for _, id := range []string{"first", "a", "z"} {
		if _, err := b.st.Get(t.Context(), c, id); err != nil {
			t.Error(err)
		}
	}
}

// TestLostInTransaction loses a connection in a transaction while the context of the request ends. Other requests must
// succeed.
func TestLostInTransaction(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		c := note()
		st := openAt(t, p, c)
		ctx, cancel := context.WithCancel(t.Context())
		err := st.Transaction(ctx, func(ctx context.Context) error {
			return st.Do(ctx, false, func(w *store.Session) error {
				if err := w.Exec(insertNote("a")); err != nil {
					return err
				}
				w.Lose()
				cancel()
				time.Sleep(20 * time.Millisecond)
				return w.Exec(insertNote("b")) // must not run by itself on another connection
			})
		})
		if err == nil {
			t.Error("got no error for a lost transaction, want one")
		}
		if n, err := st.Count(t.Context(), &engine.Query{Class: c}); n != 0 || err != nil {
			t.Errorf("got %d objects of a lost transaction (error %v), want 0", n, err)
		}
		create(t, st, c, engine.Named("id", "later"))
	})
}

// TestRequestsThatEndEarly ends requests at random moments while others run. Ending the statement of one request must
// never affect another request.
func TestRequestsThatEndEarly(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		c := note(prop("x", engine.Int))
		st := openAt(t, p, c)
		for i := range 200 {
			create(t, st, c, engine.Named("id", fmt.Sprint(i)), engine.Named("x", int64(i)))
		}
		over, stop := context.WithTimeout(t.Context(), 2*time.Second)
		defer stop()
		work := func(ctx context.Context, id string, n int) error {
			q := &engine.Query{Class: c, Count: -1, Filter: storetest.Compare(engine.OpLt, c.Property("x"), int64(n%300))}
			_, create := st.Create(ctx, c, engine.ValuesOf(c, engine.Named("id", id)), engine.WriteOptions{})
			_, update := st.Update(ctx, c, fmt.Sprint(n%200), engine.ValuesOf(c, engine.Named("x", int64(n))), engine.WriteOptions{})
			_, get := st.Get(ctx, c, fmt.Sprint(n%200))
			_, count := st.Count(ctx, q)
			list := st.List(ctx, q, func(*engine.Item) error { return nil })
			whole := st.Transaction(ctx, func(ctx context.Context) error {
				_, err := st.Update(ctx, c, fmt.Sprint(200-n%200-1), engine.ValuesOf(c, engine.Named("x", int64(n))), engine.WriteOptions{})
				return err
			})
			return errors.Join(create, update, get, count, list, whole)
		}
		var wg sync.WaitGroup
		var ended atomic.Int64
		for i := range 8 {
			wg.Go(func() {
				for n := i; over.Err() == nil; n += 17 {
					if i < 3 {
						if err := work(t.Context(), fmt.Sprint(i, "-", n), n); err != nil {
							t.Errorf("got %v for a request without a deadline, want no error", err)
							return
						}
						continue
					}
					ctx, cancel := context.WithTimeout(t.Context(), rand.N(3*time.Millisecond))
					if err := work(ctx, fmt.Sprint(i, "-", n), n); err != nil {
						ended.Add(1)
					}
					cancel()
				}
			})
		}
		wg.Wait()
		if ended.Load() == 0 {
			t.Error("no request reached its deadline, so the test has not checked anything")
		}
	})
}

// TestCloseUnderLoad closes a store during many writes and reads. Each write must return, with success or an error.
func TestCloseUnderLoad(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		for round := range 5 {
			c := note()
			st := mustOpen(t, p, c)
			var mu sync.Mutex
			done := []string{}
			var wg sync.WaitGroup
			for i := range 32 {
				wg.Go(func() {
					for n := 0; ; n++ {
						id := fmt.Sprint(round, "-", i, "-", n)
						_, err := st.Create(t.Context(), c, engine.Values{id}, engine.WriteOptions{})
						if err == nil {
							mu.Lock()
							done = append(done, id)
							mu.Unlock()
							_, err = st.Get(t.Context(), c, id)
						}
						if engine.CodeOf(err) == engine.Unavailable {
							return
						}
						if err != nil {
							t.Errorf("got %v while the store closes, want no error or code Unavailable", err)
							return
						}
					}
				})
			}
			time.Sleep(rand.N(50 * time.Millisecond))
			closeStore(t, st)
			wg.Wait()
			st = mustOpen(t, p, c)
			for _, id := range done {
				if _, err := st.Get(t.Context(), c, id); err != nil {
					t.Error(err)
				}
			}
			closeStore(t, st)
		}
	})
}
