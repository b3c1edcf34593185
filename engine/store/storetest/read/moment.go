package read

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/store/storetest"
)

var momentTests = []storetest.Test{
	{Name: "totals are counts", Run: momentTotals},
	{Name: "a list and its total are of one moment", Run: momentCrowd},
	{Name: "an item and what is loaded with it are of one moment", Run: momentLoads},
	{Name: "a snapshot does not change", Run: snapshotStays},
	{Name: "writes in a snapshot", Run: snapshotWrites},
	{Name: "snapshots that fail", Run: snapshotFails},
	{Name: "a snapshot in a transaction", Run: snapshotInTransaction},
}

// momentTotals compares the total that List sets in Query.Total with the result of Count.
func momentTotals(t *testing.T, open storetest.Open) {
	r, c := openOrders(t, open)
	city := &engine.Load{Property: c.Property("city"), Shown: true}
	third := func(q engine.Query) *engine.Position {
		var at *engine.Position
		q.Count, q.Offset, q.WantPosition, q.Total = 3, 0, true, nil
		if err := r.List(t.Context(), &q, func(it *engine.Item) error {
			at = &engine.Position{Values: append([]any(nil), it.Position.Values...), Sequence: it.Position.Sequence}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return at
	}
	rank, title := c.Property("rank"), c.Property("title")
	for _, f := range []*engine.Filter{nil, storetest.Compare(engine.OpEq, rank, int64(2)), storetest.Compare(engine.OpEq, rank, int64(9)), storetest.ParseFilter(t, c, `{"city.name":"Bonn"}`)} {
		for _, sort := range [][]engine.Sort{nil, {{Property: title}}, {{Via: []*engine.Property{c.Property("city")}, Property: city.Property.Target.Property("name")}}} {
			for _, load := range [][]*engine.Load{nil, {city}} {
				q := engine.Query{Class: c, Filter: f, Sort: sort, Load: load, Count: -1}
				want, err := r.Count(t.Context(), &q)
				if err != nil {
					t.Fatal(err)
				}
				check := func(what string, q engine.Query) {
					t.Helper()
					total := int64(-7)
					q.Total = &total
					if err := r.List(t.Context(), &q, func(*engine.Item) error { return nil }); err != nil {
						t.Fatalf("%s: %v", what, err)
					}
					if total != want {
						t.Errorf("%s: got total %d, want %d (filter %v, sort %v, loads %d)", what, total, want, f, sort, len(load))
					}
				}
				for _, count := range []int{-1, 0, 5} {
					for _, offset := range []int{0, 2, 1000} {
						q.Count, q.Offset = count, offset
						check(fmt.Sprintf("count %d offset %d", count, offset), q)
					}
				}
				q.Count, q.Offset = 4, 0
				if q.After = third(q); q.After != nil {
					q.WantPosition = true
					check("after the third", q)
				}
			}
		}
	}
}

// during calls write repeatedly in several goroutines, until three concurrent calls of read have returned.
func during(t *testing.T, writers int, write func(ctx context.Context, i, step int) error, read func(i int) error) {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	failed := make(chan error, writers)
	for i := range writers {
		go func() {
			var err error
			for step := 0; err == nil && ctx.Err() == nil; step++ {
				err = write(t.Context(), i, step)
			}
			failed <- err
		}()
	}
	storetest.RunTogether(t, 3, read)
	end()
	for range writers {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
}

// skipWhole skips a test if the repository runs each call in a transaction. In a transaction, each statement of a read
// can see changes that were committed after the previous statement of the read.
func skipWhole(t *testing.T, r engine.Repository) {
	t.Helper()
	if _, ok := r.(storetest.Whole); ok {
		t.Skip("readings in transactions are not of one moment")
	}
}

// momentCrowd lists items while other goroutines create and delete items. The total should agree with the number of
// listed items.
func momentCrowd(t *testing.T, open storetest.Open) {
	r, c := storetest.OpenNotes(t, open)
	skipWhole(t, r)
	for i := range 20 {
		storetest.Create(t, r, c, "id", fmt.Sprint("stays", i))
	}
	few := storetest.Compare(engine.OpNe, c.Property("title"), "x")
	during(t, 2, func(ctx context.Context, i, step int) error {
		if step%8 == 7 {
			q := storetest.All(c)
			q.Filter = storetest.Compare(engine.OpEq, c.Property("rank"), int64(i))
			_, err := r.DeleteAll(ctx, q)
			return err
		}
		return storetest.CreateWithin(ctx, r, c, "id", fmt.Sprint(i, "-", step), "rank", int64(i))
	}, func(i int) error {
		for n := range 150 {
			total, found := int64(0), int64(0)
			q := &engine.Query{Class: c, Count: -1, Offset: n % 4 * 9, Total: &total}
			if i == 1 {
				q.Filter = few
			}
			if err := r.List(t.Context(), q, func(*engine.Item) error { found++; return nil }); err != nil {
				return err
			}
			if want := max(total-int64(q.Offset), 0); found != want {
				return fmt.Errorf("reading %d: got %d items behind %d, and a total of %d", n, found, q.Offset, total)
			}
		}
		return nil
	})
}

// momentLoads reads pairs that refer to two items, while other goroutines change both items without changing the sum
// of their values. Each read should find this sum.
func momentLoads(t *testing.T, open storetest.Open) {
	left := storetest.NewClass("left", storetest.Prop("id", engine.String), storetest.Prop("n", engine.Int))
	right := storetest.NewClass("right", storetest.Prop("id", engine.String), storetest.Prop("n", engine.Int))
	pair := storetest.NewClass("pair", storetest.Prop("id", engine.String), storetest.Ref("a", left), storetest.Ref("b", right))
	storetest.Link(left, right, pair)
	r := open(t, []*engine.Class{left, right, pair})
	skipWhole(t, r)
	const pairs, sum = 4, int64(100)
	for i := range pairs {
		id := fmt.Sprint(i)
		storetest.Create(t, r, left, "id", id, "n", sum)
		storetest.Create(t, r, right, "id", id, "n", int64(0))
		storetest.Create(t, r, pair, "id", id, "a", id, "b", id)
	}
	loads := []*engine.Load{{Property: pair.Property("a"), Shown: true}, {Property: pair.Property("b"), Shown: true}}
	whole := func(it *engine.Item) error {
		a, b := it.Link(loads[0].Property).Item, it.Link(loads[1].Property).Item
		if a == nil || b == nil || a.Get("n").(int64)+b.Get("n").(int64) != sum {
			return fmt.Errorf("pair %s has %v and %v, want a sum of %d", it.ID, a.Get("n"), b.Get("n"), sum)
		}
		return nil
	}
	during(t, 2, func(ctx context.Context, i, step int) error {
		id, n := fmt.Sprint(i), int64(step)%(sum+1)
		_, err := r.Save(ctx, []engine.Record{storetest.NewRecord(left, id, "n", sum-n), storetest.NewRecord(right, id, "n", n)})
		return err
	}, func(i int) error {
		for n := range 150 {
			it, err := r.Get(t.Context(), pair, fmt.Sprint(n%2), loads...)
			if err == nil {
				err = whole(it)
			}
			if err == nil {
				total := int64(0)
				err = r.List(t.Context(), &engine.Query{Class: pair, Count: -1, Load: loads, Total: &total}, whole)
			}
			if err != nil {
				return fmt.Errorf("reading %d: %w", n, err)
			}
		}
		return nil
	})
}

// openSnapshots opens a repository of notes that supports snapshots, and creates some notes.
func openSnapshots(t *testing.T, open storetest.Open) (storetest.Archive, engine.Snapshotter, *engine.Class) {
	t.Helper()
	r, c := storetest.OpenNotes(t, open)
	s, ok := r.(engine.Snapshotter)
	if !ok {
		t.Skip("it has no snapshots")
	}
	for i := range 5 {
		storetest.Create(t, r, c, "id", fmt.Sprint(i), "rank", int64(i))
	}
	return r.(storetest.Archive), s, c
}

func snapshotStays(t *testing.T, open storetest.Open) {
	r, s, c := openSnapshots(t, open)
	state := func(ctx context.Context) (found []any) {
		t.Helper()
		n, err := r.Count(ctx, storetest.All(c))
		if err == nil {
			err = r.List(ctx, storetest.All(c), func(it *engine.Item) error { found = append(found, it.ID, it.Get("rank")); return nil })
		}
		var it *engine.Item
		if err == nil {
			it, err = r.Get(ctx, c, "1")
		}
		if err == nil {
			_, err = r.Dump(ctx, c, 3, 100, func(it *engine.Item) error { found = append(found, it.ID); return nil })
		}
		if err != nil {
			t.Fatal(err)
		}
		return append(found, n, it.Get("rank"))
	}
	before := state(t.Context())
	err := s.Snapshot(t.Context(), func(ctx context.Context) error {
		storetest.CheckSame(t, "at first", state(ctx), before)
		storetest.Create(t, r, c, "id", "new")
		storetest.Update(t, r, c, "1", "rank", int64(77))
		if err := r.Delete(t.Context(), c, "2", nil); err != nil {
			return err
		}
		storetest.CheckSame(t, "after writes", state(ctx), before)
		return s.Snapshot(ctx, func(ctx context.Context) error {
			storetest.CheckSame(t, "within", state(ctx), before)
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "ids at the end", storetest.ListIDs(t, r, storetest.All(c)), []string{"0", "1", "3", "4", "new"})
}

func snapshotWrites(t *testing.T, open storetest.Open) {
	r, s, c := openSnapshots(t, open)
	err := s.Snapshot(t.Context(), func(ctx context.Context) error {
		n, err := r.Count(ctx, storetest.All(c))
		if err != nil {
			return err
		}
		if err := storetest.CreateWithin(ctx, r, c, "id", "new"); err != nil {
			return err
		}
		if err := storetest.InTransaction(ctx, r, func(ctx context.Context) error { return storetest.CreateWithin(ctx, r, c, "id", "newer") }); err != nil {
			return err
		}
		storetest.CheckSame(t, "count for others", storetest.Count(t, r, c), n+2)
		again, err := r.Count(ctx, storetest.All(c))
		storetest.CheckSame(t, "count in the snapshot", again, n)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// snapshotFails opens more snapshots than there are connections. The work of each snapshot returns an error. Each
// snapshot should release its connection.
func snapshotFails(t *testing.T, open storetest.Open) {
	r, s, c := openSnapshots(t, open)
	var late context.Context
	for i := range 40 {
		ctx, cancel := context.WithCancel(t.Context())
		mine := errors.New("mine")
		err := s.Snapshot(ctx, func(ctx context.Context) error {
			late = ctx
			if _, err := r.Count(ctx, storetest.All(c)); err != nil {
				return err
			}
			if i%2 == 0 {
				return mine
			}
			cancel()
			_, err := r.Count(ctx, storetest.All(c))
			storetest.CheckError(t, err, engine.Timeout, "")
			return mine
		})
		storetest.CheckSame(t, "error", err, mine)
		cancel()
	}
	_, err := r.Count(context.WithoutCancel(late), storetest.All(c))
	storetest.CheckError(t, err, engine.Conflict, "snapshot-over")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for range 40 {
		if _, err := r.Count(ctx, storetest.All(c)); err != nil {
			t.Fatal(err)
		}
	}
	storetest.Create(t, r, c, "id", "new")
}

func snapshotInTransaction(t *testing.T, open storetest.Open) {
	r, s, c := openSnapshots(t, open)
	err := storetest.InTransaction(t.Context(), r, func(ctx context.Context) error {
		return s.Snapshot(ctx, func(ctx context.Context) error {
			if err := storetest.CreateWithin(ctx, r, c, "id", "new"); err != nil {
				return err
			}
			n, err := r.Count(ctx, storetest.All(c))
			storetest.CheckSame(t, "count with its own item", n, int64(6))
			return err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}
