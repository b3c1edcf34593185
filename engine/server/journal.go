package server

import (
	"context"
	"log/slog"
	"time"

	"restsrv/engine/journal"
	"restsrv/engine/server/appdata"
)

// forgetEvery is the interval at which old records of the journal are deleted.
const forgetEvery = time.Hour

// forgetChanges deletes old records of the journal in the background until stop is called. The
// current deploy.json sets the maximum age.
func (s *Server) forgetChanges() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		hourly := time.NewTicker(forgetEvery)
		defer hourly.Stop()
		for {
			if keep := s.current.Load().config.ChangesKept; keep > 0 {
				forgetBefore(ctx, s.db, time.Now().Add(-keep), s.log)
			}
			select {
			case <-hourly.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { cancel(); <-ended }
}

func forgetBefore(ctx context.Context, d *appdata.Database, before time.Time, log *slog.Logger) {
	n, err := journal.Forget(ctx, d.Core, d.System.Changes, before)
	switch {
	case err != nil && ctx.Err() == nil:
		log.Warn("deleting old records of changes failed: the next try is in an hour", "error", err)
	case n > 0:
		log.Info("old records of changes removed", "count", n, "before", before.UTC().Format(time.RFC3339))
	}
}
