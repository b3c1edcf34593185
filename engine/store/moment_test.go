package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/store"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/storetest"
)

// TestEndedReadingsKeepNoSnapshot checks that a read of several statements leaves no transaction open when it ends,
// because an open transaction would prevent the database from cleaning up. The reads end in four ways: normally, by a
// timeout of their context, by an error of visit, and in the quick lane, which ends a read to repeat it elsewhere.
func TestEndedReadingsKeepNoSnapshot(t *testing.T) { onBoth(t, endedReadingsKeepNoSnapshot) }

func endedReadingsKeepNoSnapshot(t *testing.T, p place) {
	topic := storetest.NewClass("topic", storetest.Prop("id", engine.String), storetest.Prop("text", engine.Text))
	note := storetest.NewClass("note", storetest.Prop("id", engine.String), storetest.Prop("text", engine.Text), storetest.Ref("topic", topic))
	storetest.Link(topic, note)
	st, other := openBesideWith(t, p, store.Config{Classes: []*engine.Class{topic, note}, Scans: conns.Scans{MaxWait: 10 * time.Minute}})
	const notes, topics = 20000, 50
	var records []engine.Record
	for i := range topics {
		id := fmt.Sprint(i)
		records = append(records, engine.Record{Class: topic, ID: id, Values: engine.Values{id, "topic " + id}})
	}
	for i := range notes {
		id := fmt.Sprint(i)
		records = append(records, engine.Record{Class: note, ID: id, Values: engine.Values{id, "text of note " + id, fmt.Sprint(i % topics)}})
	}
	if _, err := st.Save(t.Context(), records); err != nil {
		t.Fatal(err)
	}
	load := []*engine.Load{{Property: note.Property("topic"), Shown: true}}
	mine := errors.New("mine")
	read := func(i int, random *rand.Rand) error {
		total, found := int64(0), 0
		q := &engine.Query{Class: note, Count: 20, Load: load, Total: &total}
		if i%3 > 0 { // slow, and usually a different statement
			q.Filter = &engine.Filter{Op: engine.OpAnd, Args: []*engine.Filter{matching(note, fmt.Sprint("note 1", i%10))}}
			for range random.IntN(4) {
				q.Filter.Args = append(q.Filter.Args, matching(note, "text"))
			}
		}
		ctx := as(t.Context(), fmt.Sprintf("%d@local", i%4))
		leaves, stops := i%5 == 1, i%5 == 2
		if leaves {
			short, cancel := context.WithTimeout(ctx, time.Duration(random.IntN(30))*time.Millisecond)
			defer cancel()
			ctx = short
		}
		err := st.List(ctx, q, func(it *engine.Item) error {
			if found++; stops && found == 3 {
				return mine
			}
			if it.Link(load[0].Property).Item == nil {
				return fmt.Errorf("note %s has lost its topic", it.ID)
			}
			return nil
		})
		switch {
		case leaves && engine.CodeOf(err) == engine.Timeout && err != nil, stops && err == mine:
			return nil
		case err != nil:
			return err
		case !stops && (found != 20 || i%3 == 0 && total != notes):
			return fmt.Errorf("reading %d: found %d of %d", i, found, total)
		}
		return nil
	}
	var group sync.WaitGroup
	for worker := range 10 {
		group.Go(func() {
			random := rand.New(rand.NewPCG(uint64(worker), 3))
			for i := range 8 {
				if err := read(worker*8+i, random); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	await(t, "no reading keeps a snapshot", func() bool { return !keepsSnapshot(t, other) })
	if _, err := st.Get(t.Context(), note, "7", load...); err != nil {
		t.Error(err)
	}
}

// keepsSnapshot reports whether another connection holds a snapshot.
func keepsSnapshot(t *testing.T, db *sqldb.Database) bool {
	t.Helper()
	var busy, pages, moved int
	if db.Dialect.Traits().Batch > 1 {
		if err := db.Write.QueryRowContext(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &moved); err != nil {
			t.Fatal(err)
		}
		return busy != 0
	}
	err := db.Write.QueryRowContext(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
		AND (state LIKE 'idle in transaction%' OR backend_xmin IS NOT NULL AND backend_type = 'client backend')`).Scan(&busy)
	if err != nil {
		t.Fatal(err)
	}
	return busy != 0
}

// TestUpgradeBesideSnapshot upgrades a table while a snapshot that has read the table is open, for example during an
// export. The upgrade must not block other requests, and must succeed after the snapshot ends.
func TestUpgradeBesideSnapshot(t *testing.T) { onBoth(t, upgradeBesideSnapshot) }

func upgradeBesideSnapshot(t *testing.T, p place) {
	before := note(prop("x", engine.Int))
	st := openAt(t, p, before)
	create(t, st, before, engine.Named("id", "a"), engine.Named("x", int64(1)))
	next, err := st.With([]*engine.Class{note(prop("x", engine.Int), prop("y", engine.String))})
	if err != nil {
		t.Fatal(err)
	}
	upgraded := make(chan error, 1)
	err = st.Snapshot(t.Context(), func(ctx context.Context) error {
		count := func() (int64, error) { return st.Count(ctx, &engine.Query{Class: before, Count: -1}) }
		if _, err := count(); err != nil {
			return err
		}
		go func() { upgraded <- next.Upgrade(t.Context()) }()
		for i := range 20 {
			time.Sleep(50 * time.Millisecond)
			quick, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			_, err := st.Create(quick, before, engine.ValuesOf(before, engine.Named("id", fmt.Sprint(i))), engine.WriteOptions{})
			if err == nil {
				_, err = st.Get(quick, before, fmt.Sprint(i))
			}
			cancel()
			if err != nil {
				return fmt.Errorf("request %d beside the upgrade: %w", i, err)
			}
		}
		if n, err := count(); n != 1 || err != nil {
			return fmt.Errorf("the snapshot has %d items, want 1: %v", n, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-upgraded:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("the upgrade does not end although the snapshot has ended")
	}
}
