package write

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/store/storetest"
)

var concurrencyTests = []storetest.Test{
	{Name: "many writers", Run: manyWriters},
	{Name: "readers see whole transactions", Run: wholeTransactions},
	{Name: "a failing write spoils no other", Run: failingNeighbours},
	{Name: "lost updates", Run: lostUpdates},
	{Name: "a refused write sees why", Run: refusedWrites},
	{Name: "changes of all share nothing", Run: changesOfAll},
	{Name: "members added together", Run: membersTogether},
	{Name: "nested saves in each other's way", Run: crossedSaves},
	{Name: "a long query ends with its context", Run: longQuery},
	{Name: "a query ends at whatever moment its context ends", Run: cancelledQueries},
}

// refusedWrites changes one item from several goroutines. If a write is rejected because the item does not have the
// expected revision, a read right after it should return another revision.
func refusedWrites(t *testing.T, open storetest.Open) {
	r, c := storetest.OpenNotes(t, open)
	ctx := t.Context()
	if _, err := r.Create(ctx, c, storetest.NewValues(c, "id", "n"), engine.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	storetest.RunTogether(t, 8, func(i int) error {
		for j := range 40 {
			for {
				it, err := r.Get(ctx, c, "n")
				if err != nil {
					return err
				}
				o := engine.WriteOptions{Match: &engine.Match{Revisions: []uint64{it.Revision}}}
				_, err = r.Update(ctx, c, "n", storetest.NewValues(c, "title", fmt.Sprint(i, "-", j)), o)
				if err == nil {
					break
				}
				if engine.CodeOf(err) != engine.Unmatched {
					return err
				}
				if now, err := r.Get(ctx, c, "n"); err != nil || now.Revision == it.Revision {
					return fmt.Errorf("the write was rejected, but the item still has revision %d: %v", it.Revision, err)
				}
			}
		}
		return nil
	})
}

func manyWriters(t *testing.T, open storetest.Open) {
	r, c := storetest.OpenNotes(t, open)
	ctx := t.Context()
	storetest.RunTogether(t, 16, func(i int) error {
		for j := range 25 {
			id := fmt.Sprint(i, "-", j)
			if _, err := r.Create(ctx, c, storetest.NewValues(c, "id", id), engine.WriteOptions{}); err != nil {
				return err
			}
			if _, err := r.Update(ctx, c, id, storetest.NewValues(c, "title", id), engine.WriteOptions{}); err != nil {
				return err
			}
			it, err := r.Get(ctx, c, id)
			if err != nil {
				return err
			}
			if it.Get("title") != id {
				return fmt.Errorf("%s has title %v after its update", id, it.Get("title"))
			}
		}
		return nil
	})
	storetest.CheckSame(t, "rows", storetest.Count(t, r, c), int64(400))
}

func wholeTransactions(t *testing.T, open storetest.Open) {
	r, c := storetest.OpenNotes(t, open)
	ctx := t.Context()
	const size = 50
	writeAll := func(n int) error {
		var records []engine.Record
		for i := range size {
			records = append(records, storetest.NewRecord(c, fmt.Sprint(i), "rank", int64(n)))
		}
		_, err := r.Save(ctx, records)
		return err
	}
	if err := writeAll(0); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	storetest.RunTogether(t, 4, func(i int) error {
		if i == 0 {
			defer close(done)
			for n := range 60 {
				if err := writeAll(n); err != nil {
					return err
				}
			}
			return nil
		}
		for {
			select {
			case <-done:
				return nil
			default:
			}
			seen := map[any]int{}
			err := r.List(ctx, storetest.All(c), func(it *engine.Item) error {
				seen[it.Get("rank")]++
				return nil
			})
			if err != nil {
				return err
			}
			if len(seen) != 1 {
				return fmt.Errorf("one list saw several transactions: %v", seen)
			}
		}
	})
}

func failingNeighbours(t *testing.T, open storetest.Open) {
	r, c := storetest.OpenNotes(t, open)
	ctx := t.Context()
	storetest.Create(t, r, c, "id", "taken")
	storetest.RunTogether(t, 16, func(i int) error {
		for j := range 20 {
			if (i+j)%3 == 0 {
				_, err := r.Save(ctx, []engine.Record{storetest.NewRecord(c, fmt.Sprint("half ", i, "-", j)), storetest.NewRecord(c, "", "title", "x", "id", "taken"), storetest.NewRecord(c, "other", "id", "taken")})
				if engine.CodeOf(err) != engine.Invalid {
					return fmt.Errorf("got %v for a duplicate, want code Invalid", err)
				}
				continue
			}
			if _, err := r.Create(ctx, c, storetest.NewValues(c, "id", fmt.Sprint(i, "-", j)), engine.WriteOptions{}); err != nil {
				return err
			}
		}
		return nil
	})
	want := []string{"taken"}
	for i := range 16 {
		for j := range 20 {
			if (i+j)%3 != 0 {
				want = append(want, fmt.Sprint(i, "-", j))
			}
		}
	}
	found := storetest.ListIDs(t, r, storetest.All(c))
	storetest.CheckSame(t, "rows", len(found), len(want))
	for _, id := range want {
		storetest.Get(t, r, c, id)
	}
}

// lostUpdates increments a number from several goroutines. Each write has the condition that the item still has the
// revision that was read. No increment may be lost.
func lostUpdates(t *testing.T, open storetest.Open) {
	r, c := storetest.OpenNotes(t, open)
	ctx := t.Context()
	storetest.Create(t, r, c, "id", "1", "rank", int64(0))
	storetest.RunTogether(t, 8, func(int) error {
		for done := 0; done < 10; {
			it, err := r.Get(ctx, c, "1")
			if err != nil {
				return err
			}
			next := it.Get("rank").(int64) + 1
			_, err = r.Update(ctx, c, "1", storetest.NewValues(c, "rank", next), engine.WriteOptions{Match: &engine.Match{Revisions: []uint64{it.Revision}}})
			switch {
			case err == nil:
				done++
			case engine.CodeOf(err) != engine.Unmatched:
				return err
			}
		}
		return nil
	})
	storetest.CheckSame(t, "rank", storetest.Get(t, r, c, "1").Get("rank"), int64(80))
}

// slowNotes is the number of items that the query of slowQuery reads.
const slowNotes = 20000

// slowQuery returns a query that takes minutes, although it finds only one item.
func slowQuery(t *testing.T, r engine.Repository, c *engine.Class) *engine.Query {
	t.Helper()
	var records []engine.Record
	for i := range slowNotes {
		records = append(records, storetest.NewRecord(c, fmt.Sprint(i), "title", strings.Repeat("a", 64)))
	}
	storetest.Save(t, r, records...)
	slow := &engine.Filter{Op: engine.OpOr}
	for i := range 300 {
		slow.Args = append(slow.Args, &engine.Filter{Op: engine.OpLike, Left: engine.Attribute(c.Property("title")), Pattern: fmt.Sprintf("(a|aa)+b%d$", i)})
	}
	slow.Args = append(slow.Args, storetest.Compare(engine.OpEq, c.Property("id"), "0"))
	q := storetest.All(c)
	q.Filter = slow
	return q
}

// longQuery ends the contexts of two queries while the queries run.
func longQuery(t *testing.T, open storetest.Open) {
	r, c := storetest.OpenNotes(t, open)
	q := slowQuery(t, r, c)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	over := make(chan error, 2)
	first := make(chan struct{})
	go func() {
		// If the database reads the list in order, the first item comes at once. If it should sort the list, the item
		// comes later. The second item never comes.
		over <- r.List(ctx, q, func(*engine.Item) error {
			close(first)
			return nil
		})
	}()
	go func() {
		_, err := r.Count(ctx, q)
		over <- err
	}()
	select {
	case <-first:
	case <-time.After(500 * time.Millisecond):
	}
	cancel()
	for range 2 {
		select {
		case err := <-over:
			storetest.CheckError(t, err, engine.Timeout, "")
		case <-time.After(time.Minute):
			t.Fatal("the query outlived its context by a minute")
		}
	}
	storetest.CheckSame(t, "after it", storetest.Count(t, r, c), int64(slowNotes))
}

// cancelledQueries ends the contexts of queries at random moments: before the database receives the statement, at that
// moment, and after it.
func cancelledQueries(t *testing.T, open storetest.Open) {
	r, c := storetest.OpenNotes(t, open)
	q := slowQuery(t, r, c)
	for range 100 {
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan error, 1)
		go func() {
			_, err := r.Count(ctx, q)
			over <- err
		}()
		time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond)
		cancel()
		select {
		case err := <-over:
			storetest.CheckError(t, err, engine.Timeout, "")
		case <-time.After(30 * time.Second):
			t.Fatal("the query outlived its context by 30 seconds")
		}
	}
}

func membersTogether(t *testing.T, open storetest.Open) {
	c := storetest.OpenClub(t, open)
	storetest.Create(t, c, c.Group, "id", "g")
	for i := range 8 {
		storetest.Create(t, c, c.Person, "id", fmt.Sprint("p", i))
	}
	storetest.RunTogether(t, 8, func(i int) error { // add the same links from several goroutines
		for j := range 8 { // from both sides of the collections
			person := fmt.Sprint("p", (i+j)%8)
			if _, err := c.Update(t.Context(), c.Group, "g", storetest.NewValues(c.Group, "people", storetest.AddLinks(person)), engine.WriteOptions{}); err != nil {
				return err
			}
			if _, err := c.Update(t.Context(), c.Person, person, storetest.NewValues(c.Person, "groups", storetest.AddLinks("g")), engine.WriteOptions{}); err != nil {
				return err
			}
		}
		return nil
	})
	found := storetest.ListMembers(t, c, c.Group, "g", "people")
	slices.Sort(found)
	storetest.CheckSame(t, "each once", found, []string{"p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7"})
}

// crossedSaves saves the same items in opposite orders at the same time, with nested records, numbers and collections.
// Some saves are repeated because of a conflict. Nevertheless, each part of a save should take effect exactly once.
func crossedSaves(t *testing.T, open storetest.Open) {
	line := storetest.NewClass("line", storetest.Prop("n", engine.Int, storetest.Autoassigned), storetest.Prop("text", engine.String))
	note := storetest.NewClass("note", storetest.Prop("id", engine.Int, storetest.Autoassigned), storetest.Prop("text", engine.String))
	page := storetest.NewClass("page", storetest.Prop("id", engine.String), storetest.Ref("note", note), storetest.LinkCollection("lines", line))
	r := open(t, []*engine.Class{line, note, page})
	storetest.Save(t, r, storetest.NewRecord(page, "a"), storetest.NewRecord(page, "b"))
	storetest.RunTogether(t, 8, func(i int) error {
		for j := range 6 {
			ids := []string{"a", "b"}
			if i%2 == 0 {
				ids = []string{"b", "a"}
			}
			var records []engine.Record
			for _, id := range ids {
				text := fmt.Sprint(i, "-", j, id)
				records = append(records, storetest.NewRecord(page, id, "note", storetest.NestedRecord(note, "text", text), "lines", storetest.AddLinks(storetest.NestedRecord(line, "text", text))))
			}
			if _, err := r.Save(t.Context(), records); err != nil {
				return err
			}
		}
		return nil
	})
	storetest.CheckSame(t, "rows", []int64{storetest.Count(t, r, line), storetest.Count(t, r, note)}, []int64{96, 96})
	storetest.CheckSame(t, "lines", []int{len(storetest.ListMembers(t, r, page, "a", "lines")), len(storetest.ListMembers(t, r, page, "b", "lines"))}, []int{48, 48})
	texts := map[any]bool{}
	if err := r.List(t.Context(), storetest.All(line), func(it *engine.Item) error { texts[it.Get("text")] = true; return nil }); err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "different texts", len(texts), 96)
}

// changesOfAll lets many workers move all objects with one state to another state at the same time, as workers do that
// take jobs from a list. Each object should be taken by exactly one worker.
func changesOfAll(t *testing.T, open storetest.Open) {
	town := storetest.NewClass("town", storetest.Prop("id", engine.String))
	job := storetest.NewClass("job", storetest.Prop("id", engine.String), storetest.Prop("state", engine.String), storetest.Ref("town", town))
	storetest.Link(town, job)
	r := open(t, []*engine.Class{town, job})
	const jobs, workers = 60, 12
	storetest.Create(t, r, town, "id", "t")
	for i := range jobs {
		storetest.Create(t, r, job, "id", fmt.Sprint(i), "state", "new", "town", "t")
	}
	for _, condition := range []string{`{"state": "new"}`, `{"state": "new", "town.id": "t"}`} {
		if _, err := r.UpdateAll(t.Context(), storetest.All(job), storetest.NewValues(job, "state", "new")); err != nil {
			t.Fatal(err)
		}
		taken := make([]int64, workers)
		storetest.RunTogether(t, workers, func(i int) (err error) {
			q := storetest.All(job)
			q.Filter = storetest.ParseFilter(t, job, condition)
			taken[i], err = r.UpdateAll(t.Context(), q, storetest.NewValues(job, "state", fmt.Sprint("taken by ", i)))
			return err
		})
		sum := int64(0)
		for _, n := range taken {
			sum += n
		}
		if sum != jobs {
			t.Errorf("%s: %d objects were taken %d times", condition, jobs, sum)
		}
	}
}
