package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/journal"
	"restsrv/engine/query"
	"restsrv/engine/store"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/storetest"
)

// TestJournalOrder writes a few objects by many clients. Their clocks go forward and back, as those of several servers
// can; on PostgreSQL there are two stores. In the list of the journal, the records of each object must be in the order
// of the writes. The record of a write must come after the records of all writes that were answered before the write
// began.
func TestJournalOrder(t *testing.T) { onBoth(t, journalOrder) }

func journalOrder(t *testing.T, p place) {
	c := storetest.NewClass("note", storetest.Prop("id", engine.String), storetest.Prop("rank", engine.Int))
	c.Journaling = true
	classes := []*engine.Class{c, journal.Class()}
	open := func(ahead time.Duration) *store.Store {
		return openLimited(t, p, store.Config{Classes: classes, Journal: storetest.Journal(classes), Now: func() time.Time {
			return time.Now().Add(ahead + rand.N(time.Second))
		}})
	}
	servers := []*store.Store{open(0)}
	if t.Name() == "TestJournalOrder/postgres" {
		servers = append(servers, open(-3*time.Second))
	}
	const clients, writes, objects = 8, 40, 3
	write := func(ctx context.Context, st *store.Store, id string, rank int64) error {
		v := engine.Values{id, rank}
		var err error
		switch rank % 3 {
		case 0:
			_, err = st.Update(ctx, c, id, engine.Values{engine.Absent, rank}, engine.WriteOptions{})
		case 1:
			_, err = st.Save(ctx, []engine.Record{{Class: c, ID: id, Values: v}})
		default:
			var f *engine.Filter
			if f, err = query.Equal(c.Property("id"), id); err == nil {
				_, err = st.UpdateAll(ctx, &engine.Query{Class: c, Filter: f, Count: -1}, engine.Values{engine.Absent, rank})
			}
		}
		return err
	}
	for i := range objects {
		if _, err := servers[0].Create(t.Context(), c, engine.Values{fmt.Sprint(i), int64(0)}, engine.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	// The rank of a write is the number of writes that began before it. answered[rank] is the number of writes that
	// had been answered when the write with this rank began.
	var mu sync.Mutex
	begun, answered, done := int64(0), map[int64]int64{}, map[int64]bool{}
	finished := int64(0) // all writes up to this number are answered
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			for range writes {
				mu.Lock()
				begun++
				rank := begun
				answered[rank] = finished
				mu.Unlock()
				if err := write(t.Context(), servers[i%len(servers)], fmt.Sprint(rand.N(objects)), rank); err != nil {
					t.Error(err)
				}
				mu.Lock()
				for done[rank] = true; done[finished+1]; finished++ {
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	at, listed := map[string]string{}, int64(0)
	position := map[int64]int64{}
	err := journal.List(t.Context(), servers[0], classes[1], journal.Selection{}, func(r journal.Record) error {
		if r.Type == journal.Create {
			at[r.ID] = `{"rank":0}`
			return nil
		}
		if r.Base != at[r.ID] {
			t.Errorf("record %d, of %s: got the former state %s, want %s as in the record before", listed, r.ID, r.Base, at[r.ID])
		}
		at[r.ID] = r.Data
		var rank int64
		if _, err := fmt.Sscanf(r.Data, `{"rank":%d}`, &rank); err != nil {
			return err
		}
		listed++
		position[rank] = listed
		return nil
	})
	if err != nil || listed != clients*writes {
		t.Fatalf("got %d records, %v, want %d", listed, err, clients*writes)
	}
	for rank := int64(1); rank <= clients*writes; rank++ {
		for earlier := int64(1); earlier <= answered[rank]; earlier++ {
			if position[earlier] > position[rank] {
				t.Errorf("write %d is at position %d, after write %d, which began later and is at position %d", earlier, position[earlier], rank, position[rank])
			}
		}
	}
}

// TestFilterUsesIndex checks that SQLite finds few items by the index of the filter, although a scan
// of the table would return all items in order.
func TestFilterUsesIndex(t *testing.T) {
	p, c := sqlitePlace(t), journal.Class()
	openAt(t, p, c)
	db, err := p.open()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Write.Close()
	recent := storetest.Compare(engine.OpGte, c.Property("timestamp"), engine.Instant(7))
	text, args, err := store.ListSQL(db.Dialect, &engine.Query{Class: c, Filter: recent, Count: -1, Few: true}, c)
	if err != nil {
		t.Fatal(err)
	}
	var plan []struct {
		ID, Parent, NotUsed int
		Detail              string
	}
	if err := db.Read.Select(&plan, "EXPLAIN QUERY PLAN "+text, args...); err != nil {
		t.Fatal(err)
	}
	if want := "SEARCH #change USING INDEX #change#index#timestamp"; len(plan) == 0 || !strings.Contains(plan[0].Detail, want) {
		t.Errorf("got %+v, want %s", plan, want)
	}
}

// TestJournalOfRecreated deletes an item while another transaction deletes the item and creates a new one with the
// same id. The journal must contain both deletions.
func TestJournalOfRecreated(t *testing.T) { onBoth(t, journalOfRecreated) }

func journalOfRecreated(t *testing.T, p place) {
	c := storetest.NewClass("note", storetest.Prop("id", engine.String), storetest.Prop("rank", engine.Int))
	c.Journaling = true
	classes := []*engine.Class{c, journal.Class()}
	st, other := openBesideWith(t, p, store.Config{Classes: classes, Journal: storetest.Journal(classes)})
	ctx := t.Context()
	create := func(ctx context.Context, rank int64) error {
		_, err := st.Create(ctx, c, engine.Values{"n", rank}, engine.WriteOptions{})
		return err
	}
	if err := create(ctx, 1); err != nil {
		t.Fatal(err)
	}
	deleted := make(chan error, 1)
	err := st.Transaction(ctx, func(inner context.Context) error {
		if err := st.Delete(inner, c, "n", nil); err != nil {
			return err
		}
		if err := create(inner, 2); err != nil {
			return err
		}
		go func() { deleted <- st.Delete(ctx, c, "n", nil) }()
		waitForLock(t, p, other)
		return nil
	})
	if err := errors.Join(err, <-deleted); err != nil {
		t.Fatal(err)
	}
	var got []string
	err = journal.List(ctx, st, classes[1], journal.Selection{}, func(r journal.Record) error {
		got = append(got, fmt.Sprint(r.Type, " ", r.Base, r.Data))
		return nil
	})
	want := []string{`CREATE {"id":"n","rank":1}`, `DELETE {"id":"n","rank":1}`, `CREATE {"id":"n","rank":2}`, `DELETE {"id":"n","rank":2}`}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// TestJournalOfTurns lets several writers create and delete the same item. In the journal, creations and deletions
// must alternate, and there must be one record for each write that succeeded.
func TestJournalOfTurns(t *testing.T) { onBoth(t, journalOfTurns) }

func journalOfTurns(t *testing.T, p place) {
	c := storetest.NewClass("note", storetest.Prop("id", engine.String))
	c.Journaling = true
	classes := []*engine.Class{c, journal.Class()}
	st, _ := openBesideWith(t, p, store.Config{Classes: classes, Journal: storetest.Journal(classes)})
	ctx := t.Context()
	const writers, rounds = 3, 200
	var created, deleted atomic.Int64
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range rounds {
				if _, err := st.Create(ctx, c, engine.Values{"n"}, engine.WriteOptions{}); err == nil {
					created.Add(1)
				}
			}
		})
		wg.Go(func() {
			for range rounds {
				if err := st.Delete(ctx, c, "n", nil); err == nil {
					deleted.Add(1)
				}
			}
		})
	}
	wg.Wait()
	var records [2]int64
	last := "DELETE"
	err := journal.List(ctx, st, classes[1], journal.Selection{}, func(r journal.Record) error {
		if r.Type == last {
			return fmt.Errorf("%s after %s", r.Type, last)
		}
		last = r.Type
		records[map[string]int{"CREATE": 0, "DELETE": 1}[r.Type]]++
		return nil
	})
	if want := [2]int64{created.Load(), deleted.Load()}; err != nil || records != want {
		t.Errorf("creations and deletions in the journal: got %v and error %v, want %v in turns", records, err, want)
	}
}

// TestJournalOfRenames changes the key of an item again and again, while other writers refer to the item. The journal
// must contain each change of a reference: the old value in a record must be the new value in the record before it,
// and the last new value must be the stored value.
func TestJournalOfRenames(t *testing.T) { onBoth(t, journalOfRenames) }

func journalOfRenames(t *testing.T, p place) {
	region := storetest.NewClass("region", storetest.Prop("id", engine.String))
	town := storetest.NewClass("town", storetest.Prop("id", engine.String), storetest.Ref("region", region))
	town.Journaling = true
	storetest.Link(region, town)
	classes := []*engine.Class{region, town, journal.Class()}
	st := openLimited(t, p, store.Config{Classes: classes, Journal: storetest.Journal(classes)})
	ctx := t.Context()
	if _, err := st.Create(ctx, region, engine.Values{"r"}, engine.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	const renames, towns = 400, 4
	var over atomic.Bool
	var wg sync.WaitGroup
	for i := range towns {
		id := fmt.Sprint("town", i)
		if _, err := st.Create(ctx, town, engine.Values{id, "r"}, engine.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			for n := 0; !over.Load(); n++ {
				if _, err := st.Update(ctx, town, id, engine.Values{engine.Absent, []string{"r", "s"}[n%2]}, engine.WriteOptions{}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range renames {
		keys := []string{"r", "s"}
		if _, err := st.Update(ctx, region, keys[i%2], engine.Values{keys[1-i%2]}, engine.WriteOptions{}); err != nil {
			t.Error(err)
			break
		}
	}
	over.Store(true)
	wg.Wait()
	last := map[string]string{}
	regionOf := func(values string) (v struct{ Region string }) {
		if err := json.Unmarshal([]byte(values), &v); values != "" && err != nil {
			t.Fatal(err)
		}
		return v
	}
	err := journal.List(ctx, st, classes[2], journal.Selection{}, func(r journal.Record) error {
		if before := regionOf(r.Base).Region; before != last[r.ID] {
			t.Errorf("the journal of %s has a record of a change from %q after one to %q", r.ID, before, last[r.ID])
		}
		last[r.ID] = regionOf(r.Data).Region
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	err = st.List(ctx, &engine.Query{Class: town, Count: -1}, func(it *engine.Item) error {
		if stored := it.Text("region"); stored != last[it.ID] {
			t.Errorf("the last record of %s in the journal has the region %q, want %q", it.ID, last[it.ID], stored)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// waitForLock waits until a write waits for another one.
func waitForLock(t *testing.T, p place, db *sqldb.Database) {
	await(t, "a write waits for a lock", func() bool { return isLockAwaited(t, p, db) })
}

// isLockAwaited reports whether a write waits for another one.
func isLockAwaited(t *testing.T, p place, db *sqldb.Database) bool {
	if p.lock == "BEGIN IMMEDIATE" {
		return true // writes wait in the queue
	}
	var n int
	err := db.Write.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n > 0
}
