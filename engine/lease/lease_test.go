package lease_test

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/lease"
	"restsrv/engine/store/dbtest"
	"restsrv/engine/store/postgres/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// TestOneAtATime checks that processes with the same lease work one at a time, and that another
// lease is independent.
func TestOneAtATime(t *testing.T) {
	dbtest.Both(t, func(t *testing.T, db dbtest.DB) {
		var inside, outside atomic.Int32
		var done sync.WaitGroup
		for i := range 4 {
			class := lease.Class()
			data := db.Open(t, class)
			done.Go(func() {
				name, count := "first", &inside
				if i == 0 {
					name, count = "second", &outside
				}
				err := lease.Hold(t.Context(), data, class, name, nil, func(context.Context) error {
					if n := count.Add(1); n != 1 {
						t.Errorf("%d processes hold the lease at the same time", n)
					}
					time.Sleep(20 * time.Millisecond)
					count.Add(-1)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		done.Wait()
	})
}

// TestTakenOver checks that a process takes over the lease of a dead process. If the other
// process was only suspended, its work is ended.
func TestTakenOver(t *testing.T) {
	dbtest.Both(t, func(t *testing.T, db dbtest.DB) {
		t.Parallel()
		class := lease.Class()
		data := db.Open(t, class)
		gone := engine.ValuesOf(class, engine.Named("id", "x"), engine.Named("holder", "nobody"), engine.Named("renewed", int64(7)))
		if _, err := data.Create(t.Context(), class, gone, engine.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		waited := false
		err := lease.Hold(t.Context(), data, class, "x", func() { waited = true }, func(ctx context.Context) error {
			if err := data.Delete(ctx, class, "x", nil); err != nil { // as if another process had taken it
				return err
			}
			<-ctx.Done()
			return ctx.Err()
		})
		if !errors.Is(err, lease.ErrTaken) || !waited {
			t.Errorf("got %v, waited %v, want ErrTaken after waiting", err, waited)
		}
	})
}

// TestGivenBack checks that a lease is released when the work ends, with or without an error, and
// that waiting ends when the context ends.
func TestGivenBack(t *testing.T) {
	class := lease.Class()
	data := dbtest.New(t).Open(t, class)
	failure := errors.New("failed")
	err := lease.Hold(t.Context(), data, class, "x", nil, func(ctx context.Context) error {
		short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
		defer cancel()
		never := func(context.Context) error { t.Error("the lease was held twice"); return nil }
		if err := lease.Hold(short, data, class, "x", nil, never); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("waiting: got %v, want DeadlineExceeded", err)
		}
		return failure
	})
	if err != failure {
		t.Errorf("got %v, want the error of work", err)
	}
	if n, err := data.Count(t.Context(), &engine.Query{Class: class, Count: -1}); n != 0 || err != nil {
		t.Errorf("at the end: got %d leases, %v, want 0", n, err)
	}
}
