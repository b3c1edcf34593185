package write

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/store/storetest"
)

// transactionConflict lets two transactions change the same items in different orders. One of them may get an error
// that asks the client to retry. In this case none of its changes may be stored.
func transactionConflict(t *testing.T, open storetest.Open) {
	r, c := storetest.OpenNotes(t, open)
	storetest.Create(t, r, c, "id", "a", "rank", int64(0))
	storetest.Create(t, r, c, "id", "b", "rank", int64(0))
	var mu sync.Mutex
	done := int64(0)
	storetest.RunTogether(t, 2, func(i int) error {
		first, second := "a", "b"
		if i == 1 {
			first, second = second, first
		}
		for range 10 {
			err := storetest.InTransaction(t.Context(), r, func(ctx context.Context) error {
				for _, id := range []string{first, second} {
					it, err := r.Get(ctx, c, id)
					if err != nil {
						return err
					}
					if _, err := r.Update(ctx, c, id, storetest.NewValues(c, "rank", it.Get("rank").(int64)+1), engine.WriteOptions{}); err != nil {
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
			default: // pause, because an immediate retry may take the item for which the other transaction waits
				time.Sleep(time.Duration(i+1) * 10 * time.Millisecond)
			}
		}
		return nil
	})
	storetest.CheckSame(t, "ranks", []any{storetest.Get(t, r, c, "a").Get("rank"), storetest.Get(t, r, c, "b").Get("rank")}, []any{done, done})
	if done < 10 {
		t.Errorf("%d of 20 were committed", done)
	}
}

// transactionUpdates runs transactions that read a value, change it and write it back. No change may be lost.
func transactionUpdates(t *testing.T, open storetest.Open) {
	r, c := storetest.OpenNotes(t, open)
	storetest.Create(t, r, c, "id", "a", "rank", int64(0))
	storetest.RunTogether(t, 20, func(i int) error {
		return storetest.InTransaction(t.Context(), r, func(ctx context.Context) error {
			rank := int64(0)
			var err error
			if i%2 == 0 {
				var it *engine.Item
				if it, err = r.Get(ctx, c, "a"); err == nil {
					rank = it.Get("rank").(int64)
				}
			} else {
				err = r.List(ctx, storetest.Where(c, engine.OpEq, "id", "a"), func(it *engine.Item) error {
					rank = it.Get("rank").(int64)
					return nil
				})
			}
			if err != nil {
				return err
			}
			_, err = r.Update(ctx, c, "a", storetest.NewValues(c, "rank", rank+1), engine.WriteOptions{})
			return err
		})
	})
	storetest.CheckSame(t, "rank", storetest.Get(t, r, c, "a").Get("rank"), int64(20))
}

func transactionCrowd(t *testing.T, open storetest.Open) {
	c := numbered()
	r := open(t, []*engine.Class{c})
	const n = 200
	var mu sync.Mutex
	whole := int64(0)
	storetest.RunTogether(t, n, func(i int) error {
		if i%2 == 0 {
			return storetest.CreateWithin(t.Context(), r, c, "name", "alone")
		}
		err := storetest.InTransaction(t.Context(), r, func(ctx context.Context) error {
			for range 3 {
				if err := storetest.CreateWithin(ctx, r, c, "name", "part"); err != nil {
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
	storetest.CheckSame(t, "items", storetest.Count(t, r, c), n/2+3*whole)
	seen := map[string]bool{}
	for _, id := range storetest.ListIDs(t, r, storetest.All(c)) {
		seen[id] = true
	}
	storetest.CheckSame(t, "different numbers", int64(len(seen)), n/2+3*whole)
}

// transactionLeaks runs transactions that end with an error, more of them than there are connections.
func transactionLeaks(t *testing.T, open storetest.Open) {
	r, c := storetest.OpenNotes(t, open)
	storetest.Create(t, r, c, "id", "a", "rank", int64(0))
	for i := range 40 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		_ = storetest.InTransaction(ctx, r, func(inner context.Context) error {
			if err := storetest.CreateWithin(inner, r, c, "id", fmt.Sprint(i)); err != nil {
				return err
			}
			if _, err := r.Update(inner, c, "a", storetest.NewValues(c, "rank", int64(1)), engine.WriteOptions{}); err != nil {
				return err
			}
			if i%2 == 0 {
				<-ctx.Done()
			}
			return errWork
		})
		cancel()
	}
	storetest.Update(t, r, c, "a", "rank", int64(5)) // succeeds only if no transaction still locks the item
	err := storetest.InTransaction(t.Context(), r, func(ctx context.Context) error { return storetest.CreateWithin(ctx, r, c, "id", "b") })
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "afterwards", storetest.ListIDs(t, r, storetest.All(c)), []string{"a", "b"})
}
