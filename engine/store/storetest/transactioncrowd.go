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

// transactionConflict lets two transactions change the same items in different orders. One may get
// an error that asks to retry; then none of its changes may be stored.
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
			default: // an immediate retry may take the item for which the other transaction waits
				time.Sleep(time.Duration(i+1) * 10 * time.Millisecond)
			}
		}
		return nil
	})
	same(t, "ranks", []any{get(t, r, c, "a").Get("rank"), get(t, r, c, "b").Get("rank")}, []any{done, done})
	if done < 10 {
		t.Errorf("%d of 20 were committed", done)
	}
}

// transactionUpdates checks that a value which was read in a transaction can be changed and written
// back.
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
			return createWithin(t.Context(), r, c, "name", "alone")
		}
		err := within(t.Context(), r, func(ctx context.Context) error {
			for range 3 {
				if err := createWithin(ctx, r, c, "name", "part"); err != nil {
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

// transactionLeaks ends more transactions with an error than there are connections.
func transactionLeaks(t *testing.T, open Open) {
	r, c := openNotes(t, open)
	create(t, r, c, "id", "a", "rank", int64(0))
	for i := range 40 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		_ = within(ctx, r, func(inner context.Context) error {
			if err := createWithin(inner, r, c, "id", fmt.Sprint(i)); err != nil {
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
	update(t, r, c, "a", "rank", int64(5)) // no transaction holds a lock on it
	err := within(t.Context(), r, func(ctx context.Context) error { return createWithin(ctx, r, c, "id", "b") })
	if err != nil {
		t.Fatal(err)
	}
	same(t, "afterwards", ids(t, r, all(c)), []string{"a", "b"})
}
