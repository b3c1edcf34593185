package store

import (
	"context"
	"database/sql/driver"
	"errors"
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
		if out := s.evictedFrom(); out != nil {
			return out
		}
		kind := w.store.kind(err)
		switch {
		case !redo || attempt == maxAttempts:
		case kind == Lost && pause(j.ctx, attempt):
			continue
		case s.conn != nil && (kind == Away || kind == Stale) && pause(j.ctx, attempt):
			w.store.lose(s)
			continue
		}
		return w.store.failed(j.ctx, s, err)
	}
}

// trusts reports whether the connection of a writer is believed to stand: it was
// used a moment ago, and none was found gone since.
func (s *Store) trusts(w *session) bool {
	return time.Since(w.used) < idleTrust && w.used.UnixNano() > s.lost.Load()
}

// lose gives up a connection that is gone. The others may be, too.
func (s *Store) lose(r *session) {
	s.lost.Store(time.Now().UnixNano())
	r.disconnect()
}

// transact runs j once. redo means that nothing of it is in the database for
// certain.
func (w *writer) transact(s *session, j *job) (err error, redo bool) {
	if j.single && s.conn != nil && w.store.trusts(s) {
		err := w.watched(s, j)
		kind := w.store.kind(err)
		return w.unknown(err), kind == Lost || kind == Stale
	}
	if s.conn == nil {
		if err := s.connect(j.ctx); err != nil {
			return err, true
		}
	}
	tx, err := s.begin()
	if err != nil {
		return err, true
	}
	if err := w.inTransaction(s, j); err != nil {
		if s.end(tx.Rollback) != nil {
			s.disconnect() // which ends the transaction too
		}
		return err, true
	}
	if !s.stays() {
		if s.end(tx.Rollback) != nil {
			s.disconnect()
		}
		return errEvicted, true
	}
	err = s.end(tx.Commit)
	return w.unknown(err), w.store.kind(err) == Lost
}

// begin opens a transaction. It is the driver's own, which knows when the
// database has given it up and a commit would do nothing; sql.Tx would do, but
// statements of the connection cannot run in it: when one of them loses the
// connection, closing that waits for the end of the sql.Tx.
func (s *session) begin() (tx driver.Tx, err error) {
	err = s.conn.Raw(func(driverConn any) error {
		beginner, ok := driverConn.(driver.ConnBeginTx)
		if !ok {
			return errors.New("the driver cannot begin a transaction")
		}
		// Not the context of a job: what a commit meets when that ends would
		// leave the outcome unknown.
		tx, err = beginner.BeginTx(context.Background(), driver.TxOptions{})
		return err
	})
	return tx, err
}

// end commits or rolls back.
func (s *session) end(how func() error) error {
	if s.conn == nil {
		return driver.ErrBadConn
	}
	return s.conn.Raw(func(any) error { return how() })
}

// errUnsettled is in the chain of the errors of unknown.
var errUnsettled = errors.New("the transaction may have been committed")

// unknown returns the error for a commit that failed because the connection or the
// disk did, so that it may still count. Other errors are returned as they are.
func (w *writer) unknown(err error) error {
	if w.store.kind(err) != Away || engine.CodeOf(err) == engine.Timeout {
		return err
	}
	w.store.cfg.Log.Error("the database went away during a write, which may have been done", "error", err)
	return &engine.Error{Code: engine.Unavailable, Reason: "database", RetryAfter: retryAfter,
		Message: "the database went away while it saved; whether it did is not known", Err: errors.Join(errUnsettled, err)}
}
