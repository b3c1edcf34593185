package store

import (
	"context"
	"database/sql"
	"time"

	"restsrv/engine"
)

// idleTrust is how long an idle connection is believed to stand. After that a
// write opens a transaction even if one statement would do: if it then turns
// out that the connection is gone, nothing has been done yet.
const idleTrust = time.Second

// alone runs j as a transaction of its own, again when another transaction was
// in its way or the connection was gone before anything was committed.
func (w *writer) alone(s *session, j *job) error {
	for attempt := 1; ; attempt++ {
		err, redo := w.transact(s, j)
		if err == nil {
			s.used = time.Now()
			return nil
		}
		kind := w.store.kind(err)
		switch {
		case !redo || attempt == maxAttempts:
		case kind == Lost && pause(j.ctx, attempt):
			continue
		case attempt == 1 && (kind == Away || kind == Stale):
			s.disconnect()
			continue
		}
		return w.store.failed(j.ctx, s, err)
	}
}

// transact runs j once. redo means that nothing of it is in the database for
// certain.
func (w *writer) transact(s *session, j *job) (err error, redo bool) {
	s.ctx = j.ctx
	defer func() { s.ctx = context.Background() }()
	if j.single && s.conn != nil && time.Since(s.used) < idleTrust {
		err := w.attempt(s, j)
		kind := w.store.kind(err)
		return w.unknown(err), kind == Lost || kind == Stale
	}
	if s.conn == nil {
		if err := s.connect(j.ctx); err != nil {
			return err, false
		}
	}
	// Not the context of the job: what a commit meets when it ends would leave
	// the outcome unknown.
	tx, err := s.conn.BeginTx(context.Background(), nil)
	if err != nil {
		return err, true
	}
	if err := w.attempt(s, j); err != nil {
		w.undo(s, tx)
		return err, true
	}
	err = tx.Commit()
	return w.unknown(err), w.store.kind(err) == Lost
}

// undo ends a transaction that failed. A connection on which that is not
// possible is closed, which ends it too.
func (w *writer) undo(s *session, tx *sql.Tx) {
	if err := tx.Rollback(); err != nil {
		s.disconnect()
	}
}

// unknown says of a connection that was lost while it committed what the
// client must know: the write may have been done.
func (w *writer) unknown(err error) error {
	if w.store.kind(err) != Away {
		return err
	}
	w.store.cfg.Log.Error("the database went away during a write, which may have been done", "error", err)
	return &engine.Error{Code: engine.Unavailable, Reason: "database", RetryAfter: retryAfter,
		Message: "the database went away while it saved; whether it did is not known", Err: err}
}
