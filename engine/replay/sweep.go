package replay

import (
	"context"
	"time"

	"restsrv/engine"
)

// Rows that have expired are removed beside the requests, not too often.
const (
	sweepEvery = 10 * time.Minute
	sweepRows  = 500 // at once
)

// sweep begins to remove what has expired, if it is time.
func (k *Keeper) sweep() {
	now := k.cfg.Now()
	k.mu.Lock()
	due := now.Sub(k.swept) >= sweepEvery
	if due {
		k.swept = now
	}
	k.mu.Unlock()
	if !due {
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), sweepEvery)
		defer cancel()
		if err := k.Sweep(ctx); err != nil {
			k.cfg.Log.Debug("expired rows stay until the next time", "error", err)
		}
	}()
}

// Sweep removes the rows that have expired.
func (k *Keeper) Sweep(ctx context.Context) error {
	past := engine.Fields{{Name: "expires", Value: engine.Fields{{Name: "$lte", Value: k.after(0)}}}}
	f, err := engine.ParseFilter(k.cfg.Class, past, k.cfg.Now())
	if err != nil {
		return err
	}
	q := &engine.Query{Class: k.cfg.Class, Filter: f, Count: sweepRows}
	for {
		var ids []string
		err := k.cfg.Data.List(ctx, q, func(it *engine.Item) error {
			ids = append(ids, it.ID)
			return nil
		})
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := k.cfg.Data.Delete(ctx, k.cfg.Class, id, nil); err != nil && engine.CodeOf(err) != engine.NotFound {
				return err
			}
		}
		if len(ids) < sweepRows {
			return nil
		}
	}
}
