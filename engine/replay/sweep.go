package replay

import (
	"context"
	"time"

	"restsrv/engine"
)

// sweepEvery is how often rows that have expired are removed, beside the
// requests.
const sweepEvery = 10 * time.Minute

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
	_, err = k.cfg.Data.DeleteAll(ctx, &engine.Query{Class: k.cfg.Class, Filter: f, Count: -1})
	return err
}
