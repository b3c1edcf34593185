package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"restsrv/engine"
)

var concurrencyTests = []test{
	{"many writers", manyWriters},
	{"readers see whole transactions", wholeTransactions},
	{"a failing write spoils no other", failingNeighbours},
	{"lost updates", lostUpdates},
	{"a refused write sees why", refusedWrites},
	{"changes of all share nothing", changesOfAll},
	{"members added together", membersTogether},
	{"nested saves in each other's way", crossedSaves},
	{"a long query ends with its context", longQuery},
	{"a query ends at whatever moment its context ends", cancelledQueries},
}

// refusedWrites changes one item from several goroutines. If a write is rejected because of its
// revision, a reading right after it should return another revision.
func refusedWrites(t *testing.T, open Open) {
	r, c := openNotes(t, open)
	ctx := t.Context()
	if _, err := r.Create(ctx, c, values(c, "id", "n"), engine.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	together(t, 8, func(i int) error {
		for j := range 40 {
			for {
				it, err := r.Get(ctx, c, "n")
				if err != nil {
					return err
				}
				o := engine.WriteOptions{Match: &engine.Match{Revisions: []uint64{it.Revision}}}
				_, err = r.Update(ctx, c, "n", values(c, "title", fmt.Sprint(i, "-", j)), o)
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

// together runs f in n goroutines and reports their errors.
func together(t *testing.T, n int, f func(i int) error) {
	t.Helper()
	var wg sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		wg.Go(func() { errs[i] = f(i) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func manyWriters(t *testing.T, open Open) {
	r, c := openNotes(t, open)
	ctx := t.Context()
	together(t, 16, func(i int) error {
		for j := range 25 {
			id := fmt.Sprint(i, "-", j)
			if _, err := r.Create(ctx, c, values(c, "id", id), engine.WriteOptions{}); err != nil {
				return err
			}
			if _, err := r.Update(ctx, c, id, values(c, "title", id), engine.WriteOptions{}); err != nil {
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
	same(t, "rows", count(t, r, c), int64(400))
}

func wholeTransactions(t *testing.T, open Open) {
	r, c := openNotes(t, open)
	ctx := t.Context()
	const size = 50
	writeAll := func(n int) error {
		var records []engine.Record
		for i := range size {
			records = append(records, record(c, fmt.Sprint(i), "rank", int64(n)))
		}
		_, err := r.Save(ctx, records)
		return err
	}
	if err := writeAll(0); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	together(t, 4, func(i int) error {
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
			err := r.List(ctx, all(c), func(it *engine.Item) error {
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

func failingNeighbours(t *testing.T, open Open) {
	r, c := openNotes(t, open)
	ctx := t.Context()
	create(t, r, c, "id", "taken")
	together(t, 16, func(i int) error {
		for j := range 20 {
			if (i+j)%3 == 0 {
				_, err := r.Save(ctx, []engine.Record{record(c, fmt.Sprint("half ", i, "-", j)), record(c, "", "title", "x", "id", "taken"), record(c, "other", "id", "taken")})
				if engine.CodeOf(err) != engine.Invalid {
					return fmt.Errorf("got %v for a duplicate, want code Invalid", err)
				}
				continue
			}
			if _, err := r.Create(ctx, c, values(c, "id", fmt.Sprint(i, "-", j)), engine.WriteOptions{}); err != nil {
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
	found := ids(t, r, all(c))
	same(t, "rows", len(found), len(want))
	for _, id := range want {
		get(t, r, c, id)
	}
}

// lostUpdates increments a number under If-Match. Each successful write should be visible to the
// next.
func lostUpdates(t *testing.T, open Open) {
	r, c := openNotes(t, open)
	ctx := t.Context()
	create(t, r, c, "id", "1", "rank", int64(0))
	together(t, 8, func(int) error {
		for done := 0; done < 10; {
			it, err := r.Get(ctx, c, "1")
			if err != nil {
				return err
			}
			next := it.Get("rank").(int64) + 1
			_, err = r.Update(ctx, c, "1", values(c, "rank", next), engine.WriteOptions{Match: &engine.Match{Revisions: []uint64{it.Revision}}})
			switch {
			case err == nil:
				done++
			case engine.CodeOf(err) != engine.Unmatched:
				return err
			}
		}
		return nil
	})
	same(t, "rank", get(t, r, c, "1").Get("rank"), int64(80))
}

// slowNotes is the number of items that a slowQuery reads.
const slowNotes = 20000

// slowQuery returns a query that takes minutes and finds one item.
func slowQuery(t *testing.T, r engine.Repository, c *engine.Class) *engine.Query {
	t.Helper()
	var records []engine.Record
	for i := range slowNotes {
		records = append(records, record(c, fmt.Sprint(i), "title", strings.Repeat("a", 64)))
	}
	save(t, r, records...)
	slow := &engine.Filter{Op: engine.OpOr}
	for i := range 300 {
		slow.Args = append(slow.Args, &engine.Filter{Op: engine.OpLike, Left: engine.Attribute(c.Property("title")), Pattern: fmt.Sprintf("(a|aa)+b%d$", i)})
	}
	slow.Args = append(slow.Args, Compare(engine.OpEq, c.Property("id"), "0"))
	q := all(c)
	q.Filter = slow
	return q
}

// longQuery ends the context of two running queries.
func longQuery(t *testing.T, open Open) {
	r, c := openNotes(t, open)
	q := slowQuery(t, r, c)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	over := make(chan error, 2)
	first := make(chan struct{})
	go func() {
		// The first item comes at once if the list is read in order, and later if it must be
		// sorted. The second item never comes.
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
			fails(t, err, engine.Timeout, "")
		case <-time.After(time.Minute):
			t.Fatal("the query outlived its context by a minute")
		}
	}
	same(t, "after it", count(t, r, c), int64(slowNotes))
}

// cancelledQueries ends the contexts of queries at random moments: before, while and after the
// database receives the statement.
func cancelledQueries(t *testing.T, open Open) {
	r, c := openNotes(t, open)
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
			fails(t, err, engine.Timeout, "")
		case <-time.After(30 * time.Second):
			t.Fatal("the query outlived its context by 30 seconds")
		}
	}
}

func membersTogether(t *testing.T, open Open) {
	c := openClub(t, open)
	create(t, c, c.group, "id", "g")
	for i := range 8 {
		create(t, c, c.person, "id", fmt.Sprint("p", i))
	}
	together(t, 8, func(i int) error {
		for j := range 8 { // from both sides
			person := fmt.Sprint("p", (i+j)%8)
			if _, err := c.Update(t.Context(), c.group, "g", values(c.group, "people", put(person)), engine.WriteOptions{}); err != nil {
				return err
			}
			if _, err := c.Update(t.Context(), c.person, person, values(c.person, "groups", put("g")), engine.WriteOptions{}); err != nil {
				return err
			}
		}
		return nil
	})
	found := members(t, c, c.group, "g", "people")
	slices.Sort(found)
	same(t, "each once", found, []string{"p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7"})
}

// crossedSaves writes the same items in opposite orders, with nested records, numbers and
// collections. Each part of a repeated save should take effect once.
func crossedSaves(t *testing.T, open Open) {
	line := NewClass("line", Prop("n", engine.Int, autoassigned), Prop("text", engine.String))
	note := NewClass("note", Prop("id", engine.Int, autoassigned), Prop("text", engine.String))
	page := NewClass("page", Prop("id", engine.String), Ref("note", note), nm("lines", line))
	r := open(t, []*engine.Class{line, note, page})
	save(t, r, record(page, "a"), record(page, "b"))
	together(t, 8, func(i int) error {
		for j := range 6 {
			ids := []string{"a", "b"}
			if i%2 == 0 {
				ids = []string{"b", "a"}
			}
			var records []engine.Record
			for _, id := range ids {
				text := fmt.Sprint(i, "-", j, id)
				records = append(records, record(page, id, "note", sub(note, "text", text), "lines", put(sub(line, "text", text))))
			}
			if _, err := r.Save(t.Context(), records); err != nil {
				return err
			}
		}
		return nil
	})
	same(t, "rows", []int64{count(t, r, line), count(t, r, note)}, []int64{96, 96})
	same(t, "lines", []int{len(members(t, r, page, "a", "lines")), len(members(t, r, page, "b", "lines"))}, []int{48, 48})
	texts := map[any]bool{}
	if err := r.List(t.Context(), all(line), func(it *engine.Item) error { texts[it.Get("text")] = true; return nil }); err != nil {
		t.Fatal(err)
	}
	same(t, "different texts", len(texts), 96)
}

// changesOfAll lets many workers move all objects of one state to another at the same time, as
// workers do when they take jobs from a list. Each object should be taken once.
func changesOfAll(t *testing.T, open Open) {
	town := NewClass("town", Prop("id", engine.String))
	job := NewClass("job", Prop("id", engine.String), Prop("state", engine.String), Ref("town", town))
	Link(town, job)
	r := open(t, []*engine.Class{town, job})
	const jobs, workers = 60, 12
	create(t, r, town, "id", "t")
	for i := range jobs {
		create(t, r, job, "id", fmt.Sprint(i), "state", "new", "town", "t")
	}
	for _, condition := range []string{`{"state": "new"}`, `{"state": "new", "town.id": "t"}`} {
		if _, err := r.UpdateAll(t.Context(), all(job), values(job, "state", "new")); err != nil {
			t.Fatal(err)
		}
		taken := make([]int64, workers)
		together(t, workers, func(i int) (err error) {
			q := all(job)
			q.Filter = parsed(t, job, condition)
			taken[i], err = r.UpdateAll(t.Context(), q, values(job, "state", fmt.Sprint("taken by ", i)))
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
