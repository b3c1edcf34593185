package write

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"restsrv/engine"
	"restsrv/engine/store/storetest"
)

var transactionTests = []storetest.Test{
	{Name: "commit", Run: transactionCommit},
	{Name: "undone when the work fails", Run: transactionFails},
	{Name: "undone when the work panics", Run: transactionPanics},
	{Name: "undone when its context ends", Run: transactionEnds},
	{Name: "refused after the end", Run: transactionOver},
	{Name: "a failure that is caught", Run: transactionCaught},
	{Name: "a transaction within another", Run: transactionNested},
	{Name: "every call", Run: transactionCalls},
	{Name: "under a guard", Run: transactionGuard},
	{Name: "calls at the same time", Run: transactionTogether},
	{Name: "two that want the same", Run: transactionConflict},
	{Name: "lost updates", Run: transactionUpdates},
	{Name: "among many writers", Run: transactionCrowd},
	{Name: "nothing is left of those that ended badly", Run: transactionLeaks},
}

func transactionCommit(t *testing.T, open storetest.Open) {
	r, c := storetest.OpenNotes(t, open)
	err := storetest.InTransaction(t.Context(), r, func(ctx context.Context) error {
		if err := storetest.CreateWithin(ctx, r, c, "id", "a", "rank", int64(1)); err != nil {
			return err
		}
		it, err := r.Update(ctx, c, "a", storetest.NewValues(c, "rank", int64(2)), engine.WriteOptions{})
		if err != nil {
			return err
		}
		storetest.CheckSame(t, "updated", it.Get("rank"), int64(2))
		if it, err = r.Get(ctx, c, "a"); err != nil {
			return err
		}
		storetest.CheckSame(t, "its own write", it.Get("rank"), int64(2))
		n, err := r.Count(ctx, storetest.All(c))
		storetest.CheckSame(t, "counted", n, int64(1))
		storetest.CheckSame(t, "for others", storetest.ListIDs(t, r, storetest.All(c)), []string{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "afterwards", storetest.Get(t, r, c, "a").Get("rank"), int64(2))
}

var errWork = errors.New("the work failed")

func transactionFails(t *testing.T, open storetest.Open) {
	r, c := storetest.OpenNotes(t, open)
	storetest.Create(t, r, c, "id", "before")
	err := storetest.InTransaction(t.Context(), r, func(ctx context.Context) error {
		if err := storetest.CreateWithin(ctx, r, c, "id", "a"); err != nil {
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
	storetest.CheckSame(t, "afterwards", storetest.ListIDs(t, r, storetest.All(c)), []string{"before"})
}

func transactionPanics(t *testing.T, open storetest.Open) {
	r, c := storetest.OpenNotes(t, open)
	func() {
		defer func() { storetest.CheckSame(t, "panic", recover(), any("now")) }()
		_ = storetest.InTransaction(t.Context(), r, func(ctx context.Context) error {
			if err := storetest.CreateWithin(ctx, r, c, "id", "a"); err != nil {
				t.Error(err)
			}
			panic("now")
		})
	}()
	storetest.Create(t, r, c, "id", "b")
	storetest.CheckSame(t, "afterwards", storetest.ListIDs(t, r, storetest.All(c)), []string{"b"})
}

func transactionEnds(t *testing.T, open storetest.Open) {
	r, c := storetest.OpenNotes(t, open)
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- storetest.InTransaction(ctx, r, func(ctx context.Context) error {
			if err := storetest.CreateWithin(ctx, r, c, "id", "a"); err != nil {
				return err
			}
			cancel()
			<-left // the work ignores the end of its context; it should not block other requests
			return storetest.CreateWithin(ctx, r, c, "id", "late")
		})
	}()
	<-ctx.Done()
	storetest.Create(t, r, c, "id", "b")
	close(left)
	storetest.CheckError(t, <-ended, engine.Timeout, "timeout")
	err := storetest.InTransaction(ctx, r, func(context.Context) error { t.Error("work was called"); return nil })
	storetest.CheckError(t, err, engine.Timeout, "timeout")
	storetest.CheckSame(t, "afterwards", storetest.ListIDs(t, r, storetest.All(c)), []string{"b"})
}

func transactionOver(t *testing.T, open storetest.Open) {
	r, c := storetest.OpenNotes(t, open)
	var kept context.Context
	if err := storetest.InTransaction(t.Context(), r, func(ctx context.Context) error { kept = ctx; return nil }); err != nil {
		t.Fatal(err)
	}
	storetest.CheckError(t, storetest.CreateWithin(kept, r, c, "id", "a"), engine.Conflict, "transaction-over")
	_, err := r.Count(kept, storetest.All(c))
	storetest.CheckError(t, err, engine.Conflict, "transaction-over")
	storetest.CheckError(t, storetest.InTransaction(kept, r, func(context.Context) error { return nil }), engine.Conflict, "transaction-over")
}

func transactionCaught(t *testing.T, open storetest.Open) {
	r, c := storetest.OpenNotes(t, open)
	storetest.Create(t, r, c, "id", "taken", "code", "x")
	err := storetest.InTransaction(t.Context(), r, func(ctx context.Context) error {
		if err := storetest.CreateWithin(ctx, r, c, "id", "a"); err != nil {
			return err
		}
		storetest.CheckError(t, storetest.CreateWithin(ctx, r, c, "id", "taken"), engine.Invalid, "duplicate")
		_, err := r.Save(ctx, []engine.Record{storetest.NewRecord(c, "half"), storetest.NewRecord(c, "", "id", "b", "code", "x")})
		storetest.CheckError(t, err, engine.Invalid, "duplicate")
		_, err = r.Get(ctx, c, "nobody")
		storetest.CheckError(t, err, engine.NotFound, "unknown-object")
		stop := errors.New("enough")
		if err := r.List(ctx, storetest.All(c), func(*engine.Item) error { return stop }); !errors.Is(err, stop) {
			t.Errorf("list: %v", err)
		}
		return storetest.CreateWithin(ctx, r, c, "id", "c")
	})
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "afterwards", storetest.ListIDs(t, r, storetest.All(c)), []string{"taken", "a", "c"})
}

func transactionNested(t *testing.T, open storetest.Open) {
	r, c := storetest.OpenNotes(t, open)
	err := storetest.InTransaction(t.Context(), r, func(ctx context.Context) error {
		if err := storetest.CreateWithin(ctx, r, c, "id", "a"); err != nil {
			return err
		}
		err := storetest.InTransaction(ctx, r, func(ctx context.Context) error {
			if err := storetest.CreateWithin(ctx, r, c, "id", "undone"); err != nil {
				return err
			}
			return errWork
		})
		if !errors.Is(err, errWork) {
			t.Errorf("got %v", err)
		}
		if err := storetest.CreateWithin(ctx, r, c, "id", "b"); err != nil {
			return err
		}
		return storetest.InTransaction(ctx, r, func(ctx context.Context) error { return storetest.CreateWithin(ctx, r, c, "id", "c") })
	})
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "afterwards", storetest.ListIDs(t, r, storetest.All(c)), []string{"a", "b", "c"})
	err = storetest.InTransaction(t.Context(), r, func(ctx context.Context) error {
		if err := storetest.InTransaction(ctx, r, func(ctx context.Context) error { return storetest.CreateWithin(ctx, r, c, "id", "d") }); err != nil {
			return err
		}
		return errWork
	})
	storetest.CheckSame(t, "outer failure", errors.Is(err, errWork), true)
	storetest.CheckSame(t, "afterwards", storetest.Count(t, r, c), int64(3))
}

func transactionCalls(t *testing.T, open storetest.Open) {
	c := numbered()
	r := open(t, []*engine.Class{c})
	ctx := t.Context()
	err := storetest.InTransaction(ctx, r, func(ctx context.Context) error {
		for range 3 {
			if err := storetest.CreateWithin(ctx, r, c); err != nil {
				return err
			}
		}
		saved, err := r.Save(ctx, []engine.Record{storetest.NewRecord(c, "2", "name", "saved"), storetest.NewRecord(c, "", "name", "new")})
		if err != nil {
			return err
		}
		storetest.CheckSame(t, "saved", []string{saved[0].ID, saved[1].ID}, []string{"2", "4"})
		n, err := r.UpdateAll(ctx, storetest.Where(c, engine.OpEq, "name", "new"), storetest.NewValues(c, "name", "renamed"))
		if err != nil {
			return err
		}
		storetest.CheckSame(t, "updated", n, int64(1))
		if n, err = r.DeleteAll(ctx, storetest.Where(c, engine.OpEq, "id", int64(1))); err != nil {
			return err
		}
		storetest.CheckSame(t, "deleted", n, int64(1))
		var found []string
		if err := r.List(ctx, storetest.All(c), func(it *engine.Item) error { found = append(found, it.ID); return nil }); err != nil {
			return err
		}
		storetest.CheckSame(t, "listed", found, []string{"2", "3", "4"})
		a := &engine.Aggregation{Class: c, Columns: []engine.Column{{Name: "name", Expr: engine.Attribute(c.Property("name"))}}, Count: -1}
		rows := 0
		if err := r.Aggregate(ctx, a, func([]any) error { rows++; return nil }); err != nil {
			return err
		}
		storetest.CheckSame(t, "rows", rows, 3)
		return errWork
	})
	storetest.CheckSame(t, "ended", errors.Is(err, errWork), true)
	storetest.CheckSame(t, "left", storetest.Count(t, r, c), int64(0))
	err = storetest.InTransaction(ctx, r, func(ctx context.Context) error { return storetest.CreateWithin(ctx, r, c) })
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "numbers of an undone transaction are free again", storetest.ListIDs(t, r, storetest.All(c)), []string{"1"})
}

func transactionGuard(t *testing.T, open storetest.Open) {
	r, c := storetest.OpenNotes(t, open)
	storetest.Create(t, r, c, "id", "mine", "rank", int64(1))
	storetest.Create(t, r, c, "id", "other", "rank", int64(2))
	g := (&storetest.Rules{}).Only(storetest.Compare(engine.OpEq, c.Property("rank"), int64(1)), c, engine.MayRead, engine.MayWrite, engine.MayDelete)
	err := storetest.InTransaction(t.Context(), r, func(ctx context.Context) error {
		under := engine.WithGuard(ctx, g)
		n, err := r.Count(under, storetest.All(c))
		if err != nil {
			return err
		}
		storetest.CheckSame(t, "counted", n, int64(1))
		_, err = r.Update(under, c, "other", storetest.NewValues(c, "title", "x"), engine.WriteOptions{})
		storetest.CheckDenied(t, "update", err)
		_, err = r.UpdateAll(under, storetest.All(c), storetest.NewValues(c, "title", "changed"))
		if err != nil {
			return err
		}
		n, err = r.Count(ctx, storetest.All(c))
		storetest.CheckSame(t, "without the guard", n, int64(2))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "titles", []any{storetest.Get(t, r, c, "mine").Get("title"), storetest.Get(t, r, c, "other").Get("title")}, []any{"changed", nil})
}

func transactionTogether(t *testing.T, open storetest.Open) {
	r, c := storetest.OpenNotes(t, open)
	err := storetest.InTransaction(t.Context(), r, func(ctx context.Context) error {
		storetest.RunTogether(t, 30, func(i int) error {
			if err := storetest.CreateWithin(ctx, r, c, "id", fmt.Sprint(i)); err != nil {
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
	storetest.CheckSame(t, "afterwards", storetest.Count(t, r, c), int64(30))
}
