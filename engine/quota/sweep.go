package quota

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"restsrv/engine"
	"restsrv/engine/query"
)

// sweepEvery is the interval at which a Sweeper removes expired items, and the
// time limit for each removal.
const sweepEvery = 10 * time.Minute

// Sweeper removes expired items of system classes, by their property "expires".
// It works in the background and only saves space: code that reads such items
// must check the time itself. It is safe for concurrent use.
type Sweeper struct {
	data    engine.Repository
	classes []*engine.Class
	now     func() time.Time
	log     *slog.Logger

	mu    sync.Mutex
	swept time.Time
}

// NewSweeper returns a Sweeper for the classes.
func NewSweeper(data engine.Repository, now func() time.Time, log *slog.Logger, classes ...*engine.Class) *Sweeper {
	return &Sweeper{data: data, classes: classes, now: now, log: log}
}

// Begin starts to sweep in the background if the interval has passed.
func (s *Sweeper) Begin() {
	now := s.now()
	s.mu.Lock()
	due := now.Sub(s.swept) >= sweepEvery
	if due {
		s.swept = now
	}
	s.mu.Unlock()
	if !due {
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), sweepEvery)
		defer cancel()
		if err := s.Sweep(ctx); err != nil {
			s.log.Debug("expired rows could not be removed; the next sweep retries", "class", s.classes[0].FullName, "error", err)
		}
	}()
}

// Sweep removes expired items.
func (s *Sweeper) Sweep(ctx context.Context) error {
	now := s.now()
	for _, c := range s.classes {
		past := engine.Fields{{Name: "expires", Value: engine.Fields{{Name: "$lte", Value: engine.InstantOf(now)}}}}
		filter, err := query.ParseFilter(c, past, now)
		if err != nil {
			return err
		}
		if _, err := s.data.DeleteAll(engine.AsServer(ctx), &engine.Query{Class: c, Filter: filter, Count: -1}); err != nil {
			return err
		}
	}
	return nil
}
