package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"restsrv/engine"
)

var transactionTests = []test{
	{"commit", transactionCommit},
	{"undone when the work fails", transactionFails},
	{"undone when the work panics", transactionPanics},
	{"undone when its context ends", transactionEnds},
	{"refused after the end", transactionOver},
	{"a failure that is caught", transactionCaught},
	{"a transaction within another", transactionNested},
	{"every call", transactionCalls},
	{"under a guard", transactionGuard},
	{"calls at the same time", transactionTogether},
	{"two that want the same", transactionConflict},
	{"lost updates", transactionUpdates},
	{"among many writers", transactionCrowd},
	{"nothing is left of those that ended badly", transactionLeaks},
}

// within does work in a transaction.
func within(ctx context.Context, r engine.Repository, work func(ctx context.Context) error) error {
	return r.(engine.Transactor).Transaction(ctx, work)
}

// Whole is a Repository of which each call is a transaction by itself, so that
// the suite shows that they are the same in one.
type Whole struct{ engine.Repository }

// Get is Repository's, in a transaction. So are the others.
func (w Whole) Get(ctx context.Context, c *engine.Class, id string, load ...*engine.Load) (it *engine.Item, err error) {
	err = w.within(ctx, func(ctx context.Context) (err error) {
		it, err = w.Repository.Get(ctx, c, id, load...)
		return err
	})
	return it, err
}

// List is in a transaction.
func (w Whole) List(ctx context.Context, q *engine.Query, visit func(*engine.Item) error) error {
	return w.within(ctx, func(ctx context.Context) error { return w.Repository.List(ctx, q, visit) })
}

// Count is in a transaction.
func (w Whole) Count(ctx context.Context, q *engine.Query) (n int64, err error) {
	err = w.within(ctx, func(ctx context.Context) (err error) {
		n, err = w.Repository.Count(ctx, q)
		return err
	})
	return n, err
}

// Aggregate is in a transaction.
func (w Whole) Aggregate(ctx context.Context, a *engine.Aggregation, visit func([]any) error) error {
	return w.within(ctx, func(ctx context.Context) error { return w.Repository.Aggregate(ctx, a, visit) })
}

// Create is in a transaction.
func (w Whole) Create(ctx context.Context, c *engine.Class, v engine.Values, o engine.WriteOptions) (it *engine.Item, err error) {
	err = w.within(ctx, func(ctx context.Context) (err error) {
		it, err = w.Repository.Create(ctx, c, v, o)
		return err
	})
	return it, err
}

// Update is in a transaction.
func (w Whole) Update(ctx context.Context, c *engine.Class, id string, v engine.Values, o engine.WriteOptions) (it *engine.Item, err error) {
	err = w.within(ctx, func(ctx context.Context) (err error) {
		it, err = w.Repository.Update(ctx, c, id, v, o)
		return err
	})
	return it, err
}

// Delete is in a transaction.
func (w Whole) Delete(ctx context.Context, c *engine.Class, id string, m *engine.Match) error {
	return w.within(ctx, func(ctx context.Context) error { return w.Repository.Delete(ctx, c, id, m) })
}

// UpdateAll is in a transaction.
func (w Whole) UpdateAll(ctx context.Context, q *engine.Query, v engine.Values) (n int64, err error) {
	err = w.within(ctx, func(ctx context.Context) (err error) {
		n, err = w.Repository.UpdateAll(ctx, q, v)
		return err
	})
	return n, err
}

// DeleteAll is in a transaction.
func (w Whole) DeleteAll(ctx context.Context, q *engine.Query) (n int64, err error) {
	err = w.within(ctx, func(ctx context.Context) (err error) {
		n, err = w.Repository.DeleteAll(ctx, q)
		return err
	})
	return n, err
}

// Save is in a transaction.
func (w Whole) Save(ctx context.Context, records []engine.Record) (items []*engine.Item, err error) {
	err = w.within(ctx, func(ctx context.Context) (err error) {
		items, err = w.Repository.Save(ctx, records)
		return err
	})
	return items, err
}

func (w Whole) within(ctx context.Context, work func(ctx context.Context) error) error {
	return within(ctx, w.Repository, work)
}

// makes creates an item with the context of a transaction.
func makes(ctx context.Context, r engine.Repository, c *engine.Class, pairs ...any) error {
	_, err := r.Create(ctx, c, values(c, pairs...), engine.WriteOptions{})
	return err
}

func transactionCommit(t *testing.T, open Open) {
	r, c := openNotes(t, open)
	err := within(t.Context(), r, func(ctx context.Context) error {
		if err := makes(ctx, r, c, "id", "a", "rank", int64(1)); err != nil {
			return err
		}
		it, err := r.Update(ctx, c, "a", values(c, "rank", int64(2)), engine.WriteOptions{})
		if err != nil {
			return err
		}
		same(t, "updated", it.Get("rank"), int64(2))
		if it, err = r.Get(ctx, c, "a"); err != nil {
			return err
		}
		same(t, "its own write", it.Get("rank"), int64(2))
		n, err := r.Count(ctx, all(c))
		same(t, "counted", n, int64(1))
		same(t, "for others", ids(t, r, all(c)), []string{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "afterwards", get(t, r, c, "a").Get("rank"), int64(2))
}

var errWork = errors.New("the work failed")

func transactionFails(t *testing.T, open Open) {
	r, c := openNotes(t, open)
	create(t, r, c, "id", "before")
	err := within(t.Context(), r, func(ctx context.Context) error {
		if err := makes(ctx, r, c, "id", "a"); err != nil {
			return err
		}
		if err := r.Delete(ctx, c, "before", nil); err != nil {
			return err
		}
		return errWork
	})
	if !errors.Is(err, errWork) {
		t.Errorf("got %v", err)
	}
	same(t, "afterwards", ids(t, r, all(c)), []string{"before"})
}

func transactionPanics(t *testing.T, open Open) {
	r, c := openNotes(t, open)
	func() {
		defer func() { same(t, "panic", recover(), any("now")) }()
		_ = within(t.Context(), r, func(ctx context.Context) error {
			if err := makes(ctx, r, c, "id", "a"); err != nil {
				t.Error(err)
			}
			panic("now")
		})
	}()
	create(t, r, c, "id", "b")
	same(t, "afterwards", ids(t, r, all(c)), []string{"b"})
}

func transactionEnds(t *testing.T, open Open) {
	r, c := openNotes(t, open)
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- within(ctx, r, func(ctx context.Context) error {
			if err := makes(ctx, r, c, "id", "a"); err != nil {
				return err
			}
			cancel()
			<-left // it heeds nothing, and holds nobody up
			return makes(ctx, r, c, "id", "late")
		})
	}()
	<-ctx.Done()
	create(t, r, c, "id", "b")
	close(left)
	fails(t, <-ended, engine.Timeout, "timeout")
	err := within(ctx, r, func(context.Context) error { t.Error("work was called"); return nil })
	fails(t, err, engine.Timeout, "timeout")
	same(t, "afterwards", ids(t, r, all(c)), []string{"b"})
}

func transactionOver(t *testing.T, open Open) {
	r, c := openNotes(t, open)
	var kept context.Context
	if err := within(t.Context(), r, func(ctx context.Context) error { kept = ctx; return nil }); err != nil {
		t.Fatal(err)
	}
	fails(t, makes(kept, r, c, "id", "a"), engine.Conflict, "transaction-over")
	_, err := r.Count(kept, all(c))
	fails(t, err, engine.Conflict, "transaction-over")
	fails(t, within(kept, r, func(context.Context) error { return nil }), engine.Conflict, "transaction-over")
}

func transactionCaught(t *testing.T, open Open) {
	r, c := openNotes(t, open)
	create(t, r, c, "id", "taken", "code", "x")
	err := within(t.Context(), r, func(ctx context.Context) error {
		if err := makes(ctx, r, c, "id", "a"); err != nil {
			return err
		}
		fails(t, makes(ctx, r, c, "id", "taken"), engine.Invalid, "duplicate")
		_, err := r.Save(ctx, []engine.Record{record(c, "half"), record(c, "", "id", "b", "code", "x")})
		fails(t, err, engine.Invalid, "duplicate")
		_, err = r.Get(ctx, c, "nobody")
		fails(t, err, engine.NotFound, "unknown-object")
		stop := errors.New("enough")
		if err := r.List(ctx, all(c), func(*engine.Item) error { return stop }); !errors.Is(err, stop) {
			t.Errorf("list: %v", err)
		}
		return makes(ctx, r, c, "id", "c")
	})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "afterwards", ids(t, r, all(c)), []string{"taken", "a", "c"})
}

func transactionNested(t *testing.T, open Open) {
	r, c := openNotes(t, open)
	err := within(t.Context(), r, func(ctx context.Context) error {
		if err := makes(ctx, r, c, "id", "a"); err != nil {
			return err
		}
		err := within(ctx, r, func(ctx context.Context) error {
			if err := makes(ctx, r, c, "id", "undone"); err != nil {
				return err
			}
			return errWork
		})
		if !errors.Is(err, errWork) {
			t.Errorf("got %v", err)
		}
		if err := makes(ctx, r, c, "id", "b"); err != nil {
			return err
		}
		return within(ctx, r, func(ctx context.Context) error { return makes(ctx, r, c, "id", "c") })
	})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "afterwards", ids(t, r, all(c)), []string{"a", "b", "c"})
	err = within(t.Context(), r, func(ctx context.Context) error {
		if err := within(ctx, r, func(ctx context.Context) error { return makes(ctx, r, c, "id", "d") }); err != nil {
			return err
		}
		return errWork
	})
	same(t, "outer failure", errors.Is(err, errWork), true)
	same(t, "afterwards", count(t, r, c), int64(3))
}

func transactionCalls(t *testing.T, open Open) {
	c := numbered()
	r := open(t, []*engine.Class{c})
	ctx := t.Context()
	err := within(ctx, r, func(ctx context.Context) error {
		for range 3 {
			if err := makes(ctx, r, c); err != nil {
				return err
			}
		}
		saved, err := r.Save(ctx, []engine.Record{record(c, "2", "name", "saved"), record(c, "", "name", "new")})
		if err != nil {
			return err
		}
		same(t, "saved", []string{saved[0].ID, saved[1].ID}, []string{"2", "4"})
		n, err := r.UpdateAll(ctx, where(c, engine.OpEq, "name", "new"), values(c, "name", "renamed"))
		if err != nil {
			return err
		}
		same(t, "updated", n, int64(1))
		if n, err = r.DeleteAll(ctx, where(c, engine.OpEq, "id", int64(1))); err != nil {
			return err
		}
		same(t, "deleted", n, int64(1))
		var found []string
		if err := r.List(ctx, all(c), func(it *engine.Item) error { found = append(found, it.ID); return nil }); err != nil {
			return err
		}
		same(t, "listed", found, []string{"2", "3", "4"})
		a := &engine.Aggregation{Class: c, Columns: []engine.Column{{Name: "name", Expr: engine.Attribute(c.Property("name"))}}, Count: -1}
		rows := 0
		if err := r.Aggregate(ctx, a, func([]any) error { rows++; return nil }); err != nil {
			return err
		}
		same(t, "rows", rows, 3)
		return errWork
	})
	same(t, "ended", errors.Is(err, errWork), true)
	same(t, "left", count(t, r, c), int64(0))
	err = within(ctx, r, func(ctx context.Context) error { return makes(ctx, r, c) })
	if err != nil {
		t.Fatal(err)
	}
	same(t, "numbers of what was undone are free again", ids(t, r, all(c)), []string{"1"})
}

func transactionGuard(t *testing.T, open Open) {
	r, c := openNotes(t, open)
	create(t, r, c, "id", "mine", "rank", int64(1))
	create(t, r, c, "id", "other", "rank", int64(2))
	g := (&rules{}).only(Compare(engine.OpEq, c.Property("rank"), int64(1)), c, engine.MayRead, engine.MayWrite, engine.MayDelete)
	err := within(t.Context(), r, func(ctx context.Context) error {
		under := engine.WithGuard(ctx, g)
		n, err := r.Count(under, all(c))
		if err != nil {
			return err
		}
		same(t, "counted", n, int64(1))
		_, err = r.Update(under, c, "other", values(c, "title", "x"), engine.WriteOptions{})
		denied(t, "update", err)
		_, err = r.UpdateAll(under, all(c), values(c, "title", "changed"))
		if err != nil {
			return err
		}
		n, err = r.Count(ctx, all(c))
		same(t, "without the guard", n, int64(2))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "titles", []any{get(t, r, c, "mine").Get("title"), get(t, r, c, "other").Get("title")}, []any{"changed", nil})
}

func transactionTogether(t *testing.T, open Open) {
	r, c := openNotes(t, open)
	err := within(t.Context(), r, func(ctx context.Context) error {
		together(t, 30, func(i int) error {
			if err := makes(ctx, r, c, "id", fmt.Sprint(i)); err != nil {
				return err
			}
			_, err := r.Get(ctx, c, fmt.Sprint(i))
			return err
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "afterwards", count(t, r, c), int64(30))
}

// transactionConflict has two take the same items in another order: one may be
// told to try again, and then nothing of it is there.
func transactionConflict(t *testing.T, open Open) {
	r, c := openNotes(t, open)
	create(t, r, c, "id", "a", "rank", int64(0))
	create(t, r, c, "id", "b", "rank", int64(0))
	var mu sync.Mutex
	done := int64(0)
	together(t, 2, func(i int) error {
		first, second := "a", "b"
		if i == 1 {
			first, second = second, first
		}
		for range 10 {
			err := within(t.Context(), r, func(ctx context.Context) error {
				for _, id := range []string{first, second} {
					it, err := r.Get(ctx, c, id)
					if err != nil {
						return err
					}
					if _, err := r.Update(ctx, c, id, values(c, "rank", it.Get("rank").(int64)+1), engine.WriteOptions{}); err != nil {
						return err
					}
				}
				return nil
			})
			switch {
			case err == nil:
				mu.Lock()
				done++
				mu.Unlock()
			case engine.CodeOf(err) != engine.Unavailable:
				return err
			}
		}
		return nil
	})
	same(t, "ranks", []any{get(t, r, c, "a").Get("rank"), get(t, r, c, "b").Get("rank")}, []any{done, done})
	if done < 10 {
		t.Errorf("%d of 20 were committed", done)
	}
}

// transactionUpdates shows that what was read may be written back.
func transactionUpdates(t *testing.T, open Open) {
	r, c := openNotes(t, open)
	create(t, r, c, "id", "a", "rank", int64(0))
	together(t, 20, func(i int) error {
		return within(t.Context(), r, func(ctx context.Context) error {
			rank := int64(0)
			var err error
			if i%2 == 0 {
				var it *engine.Item
				if it, err = r.Get(ctx, c, "a"); err == nil {
					rank = it.Get("rank").(int64)
				}
			} else {
				err = r.List(ctx, where(c, engine.OpEq, "id", "a"), func(it *engine.Item) error {
					rank = it.Get("rank").(int64)
					return nil
				})
			}
			if err != nil {
				return err
			}
			_, err = r.Update(ctx, c, "a", values(c, "rank", rank+1), engine.WriteOptions{})
			return err
		})
	})
	same(t, "rank", get(t, r, c, "a").Get("rank"), int64(20))
}

func transactionCrowd(t *testing.T, open Open) {
	c := numbered()
	r := open(t, []*engine.Class{c})
	const n = 200
	var mu sync.Mutex
	whole := int64(0)
	together(t, n, func(i int) error {
		if i%2 == 0 {
			return makes(t.Context(), r, c, "name", "alone")
		}
		err := within(t.Context(), r, func(ctx context.Context) error {
			for range 3 {
				if err := makes(ctx, r, c, "name", "part"); err != nil {
					return err
				}
			}
			if i%3 == 0 {
				return errWork
			}
			return nil
		})
		if i%3 == 0 && errors.Is(err, errWork) {
			return nil
		}
		mu.Lock()
		whole++
		mu.Unlock()
		return err
	})
	same(t, "items", count(t, r, c), n/2+3*whole)
	seen := map[string]bool{}
	for _, id := range ids(t, r, all(c)) {
		seen[id] = true
	}
	same(t, "different numbers", int64(len(seen)), n/2+3*whole)
}

// transactionLeaks ends more transactions badly than there are connections.
func transactionLeaks(t *testing.T, open Open) {
	r, c := openNotes(t, open)
	create(t, r, c, "id", "a", "rank", int64(0))
	for i := range 40 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		_ = within(ctx, r, func(inner context.Context) error {
			if err := makes(inner, r, c, "id", fmt.Sprint(i)); err != nil {
				return err
			}
			if _, err := r.Update(inner, c, "a", values(c, "rank", int64(1)), engine.WriteOptions{}); err != nil {
				return err
			}
			if i%2 == 0 {
				<-ctx.Done()
			}
			return errWork
		})
		cancel()
	}
	update(t, r, c, "a", "rank", int64(5)) // nobody holds it
	err := within(t.Context(), r, func(ctx context.Context) error { return makes(ctx, r, c, "id", "b") })
	if err != nil {
		t.Fatal(err)
	}
	same(t, "afterwards", ids(t, r, all(c)), []string{"a", "b"})
}
