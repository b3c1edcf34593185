package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"

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

// within calls work in a transaction.
func within(ctx context.Context, r engine.Repository, work func(ctx context.Context) error) error {
	if w, ok := r.(Whole); ok {
		r = w.Repository
	}
	return r.(engine.Transactor).Transaction(ctx, work)
}

// createWithin creates an item in the transaction of ctx.
func createWithin(ctx context.Context, r engine.Repository, c *engine.Class, pairs ...any) error {
	_, err := r.Create(ctx, c, values(c, pairs...), engine.WriteOptions{})
	return err
}

func transactionCommit(t *testing.T, open Open) {
	r, c := openNotes(t, open)
	err := within(t.Context(), r, func(ctx context.Context) error {
		if err := createWithin(ctx, r, c, "id", "a", "rank", int64(1)); err != nil {
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
		if err := createWithin(ctx, r, c, "id", "a"); err != nil {
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
			if err := createWithin(ctx, r, c, "id", "a"); err != nil {
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
			if err := createWithin(ctx, r, c, "id", "a"); err != nil {
				return err
			}
			cancel()
			<-left // ignores the end of its context, but must not block others
			return createWithin(ctx, r, c, "id", "late")
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
	fails(t, createWithin(kept, r, c, "id", "a"), engine.Conflict, "transaction-over")
	_, err := r.Count(kept, all(c))
	fails(t, err, engine.Conflict, "transaction-over")
	fails(t, within(kept, r, func(context.Context) error { return nil }), engine.Conflict, "transaction-over")
}

func transactionCaught(t *testing.T, open Open) {
	r, c := openNotes(t, open)
	create(t, r, c, "id", "taken", "code", "x")
	err := within(t.Context(), r, func(ctx context.Context) error {
		if err := createWithin(ctx, r, c, "id", "a"); err != nil {
			return err
		}
		fails(t, createWithin(ctx, r, c, "id", "taken"), engine.Invalid, "duplicate")
		_, err := r.Save(ctx, []engine.Record{record(c, "half"), record(c, "", "id", "b", "code", "x")})
		fails(t, err, engine.Invalid, "duplicate")
		_, err = r.Get(ctx, c, "nobody")
		fails(t, err, engine.NotFound, "unknown-object")
		stop := errors.New("enough")
		if err := r.List(ctx, all(c), func(*engine.Item) error { return stop }); !errors.Is(err, stop) {
			t.Errorf("list: %v", err)
		}
		return createWithin(ctx, r, c, "id", "c")
	})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "afterwards", ids(t, r, all(c)), []string{"taken", "a", "c"})
}

func transactionNested(t *testing.T, open Open) {
	r, c := openNotes(t, open)
	err := within(t.Context(), r, func(ctx context.Context) error {
		if err := createWithin(ctx, r, c, "id", "a"); err != nil {
			return err
		}
		err := within(ctx, r, func(ctx context.Context) error {
			if err := createWithin(ctx, r, c, "id", "undone"); err != nil {
				return err
			}
			return errWork
		})
		if !errors.Is(err, errWork) {
			t.Errorf("got %v", err)
		}
		if err := createWithin(ctx, r, c, "id", "b"); err != nil {
			return err
		}
		return within(ctx, r, func(ctx context.Context) error { return createWithin(ctx, r, c, "id", "c") })
	})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "afterwards", ids(t, r, all(c)), []string{"a", "b", "c"})
	err = within(t.Context(), r, func(ctx context.Context) error {
		if err := within(ctx, r, func(ctx context.Context) error { return createWithin(ctx, r, c, "id", "d") }); err != nil {
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
			if err := createWithin(ctx, r, c); err != nil {
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
	err = within(ctx, r, func(ctx context.Context) error { return createWithin(ctx, r, c) })
	if err != nil {
		t.Fatal(err)
	}
	same(t, "numbers of an undone transaction are free again", ids(t, r, all(c)), []string{"1"})
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
			if err := createWithin(ctx, r, c, "id", fmt.Sprint(i)); err != nil {
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
