package conns

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"restsrv/engine"
	"restsrv/engine/share"
)

// reportEvery is the minimum time between two log records.
const reportEvery = 10 * time.Second

// refusals logs requests that are refused because their account or network has used up its share of the database (see
// engine/share). A log record can cover many requests.
type refusals struct {
	log *slog.Logger

	mu    sync.Mutex
	last  time.Time
	count int // since the last log record
}

// logRefused logs err if it is Unavailable, and returns it.
func (r *refusals) logRefused(ctx context.Context, err error) error {
	if engine.CodeOf(err) != engine.Unavailable {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count++
	if now := time.Now(); now.Sub(r.last) >= reportEvery {
		r.log.Warn("requests are refused because their share of the database is used up", "cause", err.Error(), "requests", r.count, "account or network", share.Key(ctx))
		r.last, r.count = now, 0
	}
	return err
}
