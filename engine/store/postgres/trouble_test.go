package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/store"
	"restsrv/engine/store/postgres/pgtest"
	"restsrv/engine/store/storetest"
	"restsrv/engine/store/storetest/suite"
	"restsrv/engine/store/storetest/write"
)

// TestSerializable runs concurrent work with the strictest isolation level, in which PostgreSQL and compatible
// databases refuse some transactions. The store must repeat the refused transactions.
func TestSerializable(t *testing.T) {
	suite.Run(t, func(t *testing.T, classes []*engine.Class) engine.Repository {
		return openAt(t, pgtest.Database(t)+"&default_transaction_isolation=serializable", classes...)
	}, "concurrency", "save", "update")
}

func together(n int, work func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = work(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func note() *engine.Class {
	return storetest.NewClass("note", storetest.Prop("id", engine.String), storetest.Prop("n", engine.Int))
}

// TestDeadlocks saves the same objects in opposite orders from two processes, which then wait for each other. All
// saves must succeed.
func TestDeadlocks(t *testing.T) {
	url, c := pgtest.Database(t), note()
	st, other := openAt(t, url, c), openAt(t, url, c)
	const size = 50
	err := together(8, func(i int) error {
		for range 20 {
			records := make([]engine.Record, size)
			for at := range records {
				n := at
				if i%2 == 1 {
					n = size - 1 - at
				}
				records[at] = engine.Record{Class: c, ID: fmt.Sprint(n), Values: engine.Values{engine.Absent, int64(i)}}
			}
			s := st
			if i >= 4 {
				s = other
			}
			if _, err := s.Save(t.Context(), records); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if n, err := st.Count(t.Context(), &engine.Query{Class: c}); err != nil || n != size {
		t.Errorf("got %d objects, %v, want %d", n, err, size)
	}
}

// TestTransactionGivesWay makes two transactions of several calls wait for each other. One of them must be rolled back
// at once, although its work goes on, so that the other can continue.
func TestTransactionGivesWay(t *testing.T) {
	url, c := pgtest.Database(t), note()
	st := openAt(t, url, c)
	for _, id := range []string{"a", "b"} {
		if _, err := st.Create(t.Context(), c, engine.Values{id, int64(0)}, engine.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	both := make(chan struct{})
	var first sync.WaitGroup
	first.Add(2)
	go func() { first.Wait(); close(both) }()
	ended := make(chan struct{})
	var once sync.Once
	var done, undone atomic.Int64
	begun := time.Now()
	err := together(2, func(i int) error {
		ids := []string{"a", "b"}
		err := st.Transaction(t.Context(), func(ctx context.Context) error {
			change := func(id string) error {
				_, err := st.Update(ctx, c, id, engine.Values{engine.Absent, int64(i + 1)}, engine.WriteOptions{})
				return err
			}
			if err := change(ids[i]); err != nil {
				return err
			}
			first.Done()
			<-both
			err := change(ids[1-i])
			if err == nil {
				return nil
			}
			select { // in the transaction that was rolled back: wait until the other has ended
			case <-ended:
			case <-time.After(10 * time.Second):
			}
			if later := change(ids[i]); engine.CodeOf(later) != engine.Unavailable {
				return fmt.Errorf("a call after the transaction was undone: got %v, want Unavailable", later)
			}
			return nil // the transaction must fail nevertheless
		})
		switch {
		case err == nil:
			done.Add(1)
			once.Do(func() { close(ended) })
			return nil
		case engine.CodeOf(err) == engine.Unavailable:
			undone.Add(1)
			return nil
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if done.Load() != 1 || undone.Load() != 1 {
		t.Errorf("got %d transactions done and %d undone, want one each", done.Load(), undone.Load())
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("it took %v, want at most 5s", took)
	}
}

// TestRaces runs pairs of writes at the same time on two servers with one database (see write.Races).
func TestRaces(t *testing.T) {
	write.Races(t, func(t *testing.T, classes []*engine.Class) [2]engine.Repository {
		url := pgtest.Database(t)
		return [2]engine.Repository{openAt(t, url, classes...), openAt(t, url, classes...)}
	})
}

// TestSaveRace saves the same new objects from two processes. The objects belong to classes that share a table. Both
// processes may look for an object before one of them inserts it.
func TestSaveRace(t *testing.T) {
	url := pgtest.Database(t)
	thing := storetest.NewClass("thing", storetest.Prop("id", engine.String))
	car := storetest.Extend(thing, "car", storetest.Prop("n", engine.Int))
	st, other := openAt(t, url, thing, car), openAt(t, url, thing, car)
	err := together(16, func(i int) error {
		s := st
		if i%2 == 1 {
			s = other
		}
		for n := range 20 {
			record := engine.Record{Class: car, ID: fmt.Sprint(n), Values: engine.Values{engine.Absent, int64(i)}}
			if _, err := s.Save(t.Context(), []engine.Record{record}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	// If the key belongs to an object of another class of the tree, the save is not repeated. It changes the class of
	// the object.
	if _, err := st.Create(t.Context(), thing, engine.Values{"taken"}, engine.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	saved, err := st.Save(t.Context(), []engine.Record{{Class: car, ID: "taken", Values: engine.Values{engine.Absent, int64(1)}}})
	if err != nil || saved[0].Class != car {
		t.Errorf("got %v, %v, want a car", saved, err)
	}
}

// TestConnectionsKilled ends all connections repeatedly. All reads must succeed. Each write must succeed or be
// reported as unavailable.
func TestConnectionsKilled(t *testing.T) {
	url, c := pgtest.Database(t), note()
	st := openAt(t, url, c)
	var over atomic.Bool
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		for range 30 {
			pgtest.Execute(t, url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
			time.Sleep(20 * time.Millisecond)
		}
		over.Store(true)
	}()
	var done, away atomic.Int64
	err := together(8, func(i int) error {
		for n := 0; !over.Load(); n++ {
			id := fmt.Sprint(i, "-", n)
			var err error
			if i%2 == 0 {
				_, err = st.Create(t.Context(), c, engine.Values{id, int64(n)}, engine.WriteOptions{})
			} else {
				_, err = st.Save(t.Context(), []engine.Record{{Class: c, ID: id, Values: engine.Values{engine.Absent, int64(n)}}})
			}
			_, missing := st.Get(t.Context(), c, id)
			switch {
			case err == nil && missing == nil:
				done.Add(1)
			case engine.CodeOf(err) == engine.Unavailable && (missing == nil || engine.CodeOf(missing) == engine.NotFound):
				away.Add(1)
			default:
				return fmt.Errorf("%s was answered %v, reading it %v", id, err, missing)
			}
		}
		return nil
	})
	<-killed
	if err != nil {
		t.Error(err)
	}
	t.Logf("%d writes done, %d unavailable", done.Load(), away.Load())
	if done.Load() == 0 {
		t.Error("no write succeeded, so the test has no effect")
	}
}

// TestIdleConnectionsKilled ends all connections while they are idle. All requests must succeed, in three cases: after
// a long idle time, after one connection was found to be lost, and in another Store of the database.
func TestIdleConnectionsKilled(t *testing.T) {
	url, c := pgtest.Database(t), note()
	st := openAt(t, url, c)
	next, err := st.With([]*engine.Class{c})
	if err != nil {
		t.Fatal(err)
	}
	for name, notice := range map[string]func() error{
		"unused": func() error { time.Sleep(1100 * time.Millisecond); return nil },
		"found":  func() error { _, err := st.Get(t.Context(), c, "0"); return err },
		"next":   func() error { _, err := next.Get(t.Context(), c, "0"); return err },
	} {
		if err := together(32, func(i int) error { // many at once, to open all connections
			_, err := st.Save(t.Context(), []engine.Record{{Class: c, ID: fmt.Sprint(i), Values: engine.NewValues(c)}})
			return errors.Join(err, st.List(t.Context(), &engine.Query{Class: c, Count: -1}, func(*engine.Item) error { return nil }))
		}); err != nil {
			t.Fatal(err)
		}
		pgtest.Execute(t, url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
		if err := notice(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for i := range 16 {
			id := fmt.Sprint(name, i)
			if _, err := st.Create(t.Context(), c, engine.Values{id, nil}, engine.WriteOptions{}); err != nil {
				t.Errorf("%s: create: %v", name, err)
			}
			if _, err := st.Get(t.Context(), c, id); err != nil {
				t.Errorf("%s: get: %v", name, err)
			}
		}
	}
}

// TestFirstConnectionKilled ends the connection that was used to open the database. The first write must succeed.
func TestFirstConnectionKilled(t *testing.T) {
	c := note()
	for name, write := range map[string]func(st *store.Store) error{
		"create": func(st *store.Store) error {
			_, err := st.Create(t.Context(), c, engine.Values{"a", nil}, engine.WriteOptions{})
			return err
		},
		"transaction": func(st *store.Store) error {
			return st.Transaction(t.Context(), func(context.Context) error { return nil })
		},
	} {
		url := pgtest.Database(t)
		st := openAt(t, url, c)
		pgtest.Execute(t, url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
		if err := write(st); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestClientsLeaveWhileConnecting ends the context of a request while a connection is being opened. The request must
// be reported as cancelled, not as if the database were unavailable.
func TestClientsLeaveWhileConnecting(t *testing.T) {
	url, c := pgtest.Database(t), note()
	openAt(t, url, c)
	for range 20 {
		st := openAt(t, url, c)
		err := together(16, func(i int) error {
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			time.AfterFunc(time.Duration(i)*200*time.Microsecond, leave)
			err := st.List(ctx, &engine.Query{Class: c, Count: 1}, func(*engine.Item) error { return nil })
			if engine.CodeOf(err) == engine.Timeout {
				return nil
			}
			return err
		})
		if err != nil {
			t.Fatalf("got %v, want Timeout or none", err)
		}
	}
}

// TestLockedTable locks a table from another process, as a change of the schema does. Requests that wait for the table
// must end at their time limit, in the database too. This must hold both for new and for prepared statements. Requests
// after the lock must succeed.
func TestLockedTable(t *testing.T) {
	url, c := pgtest.Database(t), note()
	st := openAt(t, url, c)
	db, err := sql.Open("postgres", url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, round := range []string{"new", "prepared"} {
		tx, err := db.Begin()
		if err == nil {
			_, err = tx.Exec(`LOCK TABLE "note@test" IN ACCESS EXCLUSIVE MODE`)
		}
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		begun := time.Now()
		for name, err := range callAll(ctx, st, c, round) {
			if engine.CodeOf(err) != engine.Timeout {
				t.Errorf("%s, %s: got %v, want a timeout", round, name, err)
			}
		}
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("%s: after %v", round, took)
		}
		waiting := 1
		for range 50 {
			if err := tx.QueryRow(`SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = '"note@test"'::regclass`).Scan(&waiting); err != nil {
				t.Fatal(err)
			}
			if waiting == 0 {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		if waiting != 0 {
			t.Errorf("%s: %d statements still wait in the database", round, waiting)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		for i := range 4 { // several times, to use all connections
			for name, err := range callAll(t.Context(), st, c, fmt.Sprint(round, i)) {
				if err != nil {
					t.Errorf("%s, afterwards: %s: %v", round, name, err)
				}
			}
		}
	}
}

// callAll calls several methods of st concurrently, and returns their errors. name is the id of the object that it
// creates.
func callAll(ctx context.Context, st engine.Repository, c *engine.Class, name string) map[string]error {
	var get, list, count, create, save error
	_ = together(5, func(i int) error {
		switch i {
		case 0:
			if _, get = st.Get(ctx, c, "none"); engine.CodeOf(get) == engine.NotFound {
				get = nil
			}
		case 1:
			list = st.List(ctx, &engine.Query{Class: c, Count: 5}, func(*engine.Item) error { return nil })
		case 2:
			_, count = st.Count(ctx, &engine.Query{Class: c})
		case 3:
			_, create = st.Create(ctx, c, engine.Values{"made " + name, nil}, engine.WriteOptions{})
		case 4:
			_, save = st.Save(ctx, []engine.Record{{Class: c, ID: "saved", Values: engine.NewValues(c)}})
		}
		return nil
	})
	return map[string]error{"get": get, "list": list, "count": count, "create": create, "save": save}
}

// TestConcurrentOpen opens an empty database six times concurrently, and then six more times with a changed class. All
// attempts must succeed. Exactly one of them must find the database new.
func TestConcurrentOpen(t *testing.T) {
	url := pgtest.Database(t)
	changed := func() *engine.Class {
		return storetest.NewClass("note", storetest.Prop("id", engine.String), storetest.Prop("n", engine.Int),
			storetest.Prop("text", engine.Text, func(p *engine.Property) { p.Indexed = true }))
	}
	var seeds atomic.Int64
	for round, class := range []func() *engine.Class{note, changed} {
		err := together(6, func(i int) error {
			c := class()
			st, err := tryOpen(t, url, c)
			if err != nil {
				return err
			}
			seed := engine.Record{Class: c, ID: "seed", Values: engine.NewValues(c)}
			seeded, err := st.Seed(t.Context(), []engine.Record{seed})
			if seeded {
				seeds.Add(1)
			}
			if err == nil {
				_, err = st.Save(t.Context(), []engine.Record{{Class: c, ID: fmt.Sprint(round, i), Values: engine.NewValues(c)}})
			}
			return errors.Join(err, st.Close())
		})
		if err != nil {
			t.Error(err)
		}
	}
	if seeds.Load() != 1 {
		t.Errorf("the database was seeded %d times, want once", seeds.Load())
	}
	c := changed()
	if n, err := openAt(t, url, c).Count(t.Context(), &engine.Query{Class: c}); err != nil || n != 13 {
		t.Errorf("%d objects, %v, want 13", n, err)
	}
}
