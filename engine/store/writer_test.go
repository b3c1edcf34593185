package store_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"restsrv/engine"
	"restsrv/engine/store"
	"restsrv/engine/store/storetest"
)

// TestWaitingWrites makes writes wait behind a lock. A write whose context ends while it waits must have no effect.
// Writes that do not fit into the queue must be refused, and all others must succeed.
func TestWaitingWrites(t *testing.T) { onBoth(t, waitingWrites) }

func waitingWrites(t *testing.T, p place) {
	c := storetest.NewClass("note", storetest.Prop("id", engine.String))
	st, other := openBeside(t, p, c)
	conn, err := other.Write.Connx(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(t.Context(), p.lock); err != nil {
		t.Fatal(err)
	}
	patient, cancelPatient := context.WithCancel(t.Context())
	defer cancelPatient()
	hasty, cancelHasty := context.WithCancel(t.Context())
	const each = 1400 // of writes of both kinds: more than the queue holds
	results := make([]error, 2*each)
	var wg sync.WaitGroup
	refused := make(chan struct{}, 2*each)
	for i := range results {
		ctx := patient
		if i >= each {
			ctx = hasty
		}
		wg.Go(func() {
			_, results[i] = st.Create(ctx, c, engine.Values{fmt.Sprint(i)}, engine.WriteOptions{})
			if engine.CodeOf(results[i]) == engine.Unavailable {
				refused <- struct{}{}
			}
		})
	}
	<-refused // a refusal shows that the queue is full
	cancelHasty()
	if _, err := conn.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	for i, err := range results {
		_, getErr := st.Get(t.Context(), c, fmt.Sprint(i))
		if (err == nil) != (getErr == nil) {
			t.Fatalf("the result of write %d does not match the stored data: the write returned %v, reading it returns %v", i, err, getErr)
		}
		code := engine.CodeOf(err)
		if err != nil && code != engine.Unavailable && (code != engine.Timeout || i < each) {
			t.Fatalf("write %d: got %v, want Unavailable or Timeout", i, err)
		}
	}
}

// TestVisitPanics checks that a panic in a function of a caller affects only this caller.
func TestVisitPanics(t *testing.T) { onBoth(t, visitPanics) }

func visitPanics(t *testing.T, p place) {
	c := storetest.NewClass("note", storetest.Prop("id", engine.String))
	st := openAt(t, p, c)
	if _, err := st.Create(t.Context(), c, engine.Values{"a"}, engine.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	for range 20 { // more often than there are readers
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic did not reach the caller")
				}
			}()
			_ = st.List(t.Context(), &engine.Query{Class: c, Count: -1}, func(*engine.Item) error { panic("mine") })
		}()
	}
	if _, err := st.Get(t.Context(), c, "a"); err != nil {
		t.Error(err)
	}
}

// TestStatementsAreBounded sends many different filters: more than the number of prepared statements that a connection
// keeps.
func TestStatementsAreBounded(t *testing.T) { onBoth(t, statementsAreBounded) }

func statementsAreBounded(t *testing.T, p place) {
	c := storetest.NewClass("note", storetest.Prop("id", engine.String), storetest.Prop("n", engine.Int))
	st := openAt(t, p, c)
	if _, err := st.Create(t.Context(), c, engine.Values{"a", int64(1)}, engine.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	f := &engine.Filter{Op: engine.OpOr, Args: []*engine.Filter{storetest.Compare(engine.OpEq, c.Property("n"), int64(1))}}
	for range 2 * 128 {
		n, err := st.Count(t.Context(), &engine.Query{Class: c, Filter: f})
		if err != nil || n != 1 {
			t.Fatal(n, err)
		}
		f = &engine.Filter{Op: engine.OpOr, Args: append([]*engine.Filter{storetest.Compare(engine.OpLt, c.Property("n"), int64(0))}, f.Args...)}
	}
}

// TestAllocations limits the number of allocations of the most frequent reads. A query per row, or a conversion of
// each value, would multiply it.
func TestAllocations(t *testing.T) {
	p := sqlitePlace(t)
	c := storetest.NewClass("note", storetest.Prop("id", engine.String), storetest.Prop("a", engine.String), storetest.Prop("n", engine.Int))
	st := openAt(t, p, c)
	for i := range 100 {
		if _, err := st.Create(t.Context(), c, engine.Values{fmt.Sprint("item", i), "text", int64(i)}, engine.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	if n := testing.AllocsPerRun(200, func() {
		if _, err := st.Get(ctx, c, "item7"); err != nil {
			t.Error(err)
		}
	}); n > 40 {
		t.Errorf("get: got %v allocations, want at most 40", n)
	}
	if n := testing.AllocsPerRun(50, func() {
		if err := st.List(ctx, &engine.Query{Class: c, Count: 100}, func(*engine.Item) error { return nil }); err != nil {
			t.Error(err)
		}
	}); n > 100*7+60 {
		t.Errorf("a list of 100: got %v allocations, want at most 760", n)
	}
}

// TestCommitAfterFailedStatement checks a write that ignores a failed statement. PostgreSQL accepts the COMMIT of its
// transaction but rolls it back. The store must return an error.
func TestCommitAfterFailedStatement(t *testing.T) {
	c := storetest.NewClass("note", storetest.Prop("id", engine.String))
	st := openAt(t, postgresPlace(t), c)
	insert := `INSERT INTO "note@test" ("#class", "#rev", "id") VALUES ('note@test', 1, 'a')`
	if err := st.Write(t.Context(), insert, "nonsense"); err == nil {
		t.Error("the failed write returned no error")
	}
	if _, err := st.Get(t.Context(), c, "a"); engine.CodeOf(err) != engine.NotFound {
		t.Errorf("got %v, want nothing saved", err)
	}
	if err := st.Write(t.Context(), insert); err != nil {
		t.Error(err)
	}
	if _, err := st.Get(t.Context(), c, "a"); err != nil {
		t.Error(err)
	}
}

// TestFlushesAreShared lets many clients write at the same time; each writes again as soon as it is answered. A commit
// waits for the disk, so each commit must serve at least eight writes. A single client that writes later must also
// succeed.
func TestFlushesAreShared(t *testing.T) {
	c := storetest.NewClass("note", storetest.Prop("id", engine.String), storetest.Prop("n", engine.Int))
	db, err := sqlitePlace(t).open()
	if err != nil {
		t.Fatal(err)
	}
	log := &statementLog{}
	st, err := store.Open(t.Context(), db, store.Config{Classes: []*engine.Class{c}, Log: slog.New(log)})
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore(t, st)
	const clients, each = 64, 30
	statements := log.of(func() {
		var wg sync.WaitGroup
		for i := range clients {
			wg.Go(func() {
				for j := range each {
					if _, err := st.Create(t.Context(), c, engine.Values{fmt.Sprint(i, "-", j), int64(j)}, engine.WriteOptions{}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
	})
	commits := 0
	for _, text := range statements {
		if text == "COMMIT" {
			commits++
		}
	}
	if commits == 0 || commits*8 > clients*each {
		t.Errorf("%d writes took %d commits, want an eighth of them at most", clients*each, commits)
	}
	for i := range 3 {
		if _, err := st.Create(t.Context(), c, engine.Values{fmt.Sprint("late", i), int64(i)}, engine.WriteOptions{}); err != nil {
			t.Error(err)
		}
	}
	if n, err := st.Count(t.Context(), &engine.Query{Class: c, Count: -1}); err != nil || n != clients*each+3 {
		t.Errorf("%d objects, %v; want %d", n, err, clients*each+3)
	}
}

// TestDuplicateAttempts counts the attempts of a save that does not find its item, and whose value of a unique
// attribute belongs to another item. The save must look for the item again, because another transaction may have
// stored it, and must report the duplicate after three attempts.
func TestDuplicateAttempts(t *testing.T) { onBoth(t, duplicateAttempts) }

func duplicateAttempts(t *testing.T, p place) {
	unique := func(p *engine.Property) { p.Unique = true }
	readonly := func(p *engine.Property) { p.Readonly = true }
	c := storetest.NewClass("note", storetest.Prop("id", engine.String), storetest.Prop("code", engine.String, unique), storetest.Prop("fixed", engine.String, readonly), storetest.Prop("editor", engine.String))
	c.EditorTracker = "editor" // so that a save looks for an existing item
	if err := c.Init(); err != nil {
		t.Fatal(err)
	}
	log := &statementLog{}
	st := openLogged(t, p, log, c)
	saved := func(id, code string, more ...any) engine.Record {
		return engine.Record{Class: c, ID: id, Values: row(c, append(more, "id", id, "code", code)...)}
	}
	alone := saved("a", "taken", "fixed", "f")
	alone.Handling = engine.Strict
	if _, err := st.Save(t.Context(), []engine.Record{saved("other", "taken")}); err != nil {
		t.Fatal(err)
	}
	const most = 3
	for name, records := range map[string][]engine.Record{
		"a record that is written alone": {alone},
		"one record":                     {saved("a", "taken")},
		"several records":                {saved("a", "free"), saved("b", "taken"), saved("c", "also free")},
		"two records of a save":          {saved("a", "free"), saved("b", "free")},
	} {
		var err error
		statements := log.of(func() { _, err = st.Save(t.Context(), records) })
		attempts := 0
		for _, text := range statements {
			if strings.HasPrefix(text, "SELECT ") && !strings.HasPrefix(text, `SELECT "id" FROM `) { // a SELECT that only locks is not counted
				attempts++
			}
		}
		if !strings.Contains(fmt.Sprint(err), "already has an object with code") {
			t.Errorf("%s: got the error %v, want a duplicate", name, err)
		}
		if attempts < 1 || attempts > most {
			t.Errorf("%s: got %d attempts, want 1 to %d:\n%s", name, attempts, most, strings.Join(statements, "\n"))
		}
	}
}
