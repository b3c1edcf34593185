package conns

import (
	"context"
	"database/sql/driver"
	"errors"
	"time"

	"restsrv/engine"
	"restsrv/engine/store/sqldb"
)

// idleTrust is the time for which an idle connection is assumed to be usable. After a longer idle time, a write opens
// a transaction even if it consists of one statement. If the connection is broken, the transaction cannot be opened;
// the write has not begun then, so it can be retried.
const idleTrust = time.Second

// runAlone runs j in a transaction of its own. It retries if another transaction was in the way, or if
// the connection broke before the commit.
func (w *writer) runAlone(s *Session, j *job) error {
	for attempt := 1; ; attempt++ {
		err, redo := w.runOnce(s, j)
		if err == nil {
			s.used = time.Now()
			return nil
		}
		if out := s.evictedFrom(); out != nil {
			return out
		}
		kind := w.pool.FailureKind(err)
		switch {
		case !redo || attempt == MaxAttempts:
		case kind == sqldb.Lost && Pause(j.ctx, attempt):
			continue
		case s.Conn != nil && (kind == sqldb.Away || kind == sqldb.Stale) && Pause(j.ctx, attempt):
			w.pool.LoseConnection(s)
			continue
		}
		return w.pool.EngineError(j.ctx, s, err)
	}
}

// trustsConnection reports whether the writer's connection is assumed to be usable: it was used within idleTrust, and
// since then no other connection was found to be broken.
func (s *Pool) trustsConnection(w *Session) bool {
	return time.Since(w.used) < idleTrust && w.used.UnixNano() > s.lost.Load()
}

// LoseConnection closes a broken connection. It also records the time, because other connections may be broken too.
func (s *Pool) LoseConnection(r *Session) {
	s.lost.Store(time.Now().UnixNano())
	r.disconnect()
}

// runOnce runs j once. If redo is true, the attempt has failed and has certainly changed no data, so j may run again.
func (w *writer) runOnce(s *Session, j *job) (err error, redo bool) {
	if j.single && s.Conn != nil && w.pool.trustsConnection(s) {
		err := w.attemptWatched(s, j)
		kind := w.pool.FailureKind(err)
		return w.unknownOutcome(err), kind == sqldb.Lost || kind == sqldb.Stale
	}
	if s.Conn == nil {
		if err := s.Connect(j.ctx); err != nil {
			return err, true
		}
	}
	tx, err := s.begin()
	if err != nil {
		return err, true
	}
	if err := w.inTransaction(s, j); err != nil {
		if s.end(tx.Rollback) != nil {
			s.disconnect() // this ends the transaction too
		}
		return err, true
	}
	if !s.ForbidEviction() {
		if s.end(tx.Rollback) != nil {
			s.disconnect()
		}
		return errEvicted, true
	}
	err = s.end(tx.Commit)
	return w.unknownOutcome(err), w.pool.FailureKind(err) == sqldb.Lost
}

// begin opens a transaction of the driver. If the database has aborted the transaction, its commit returns an error; a
// COMMIT statement would succeed without an effect. begin does not use sql.Tx for two reasons:
//   - The prepared statements of the connection cannot run in a sql.Tx.
//   - If such a statement lost the connection, closing the connection would wait for the end of the sql.Tx.
func (s *Session) begin() (tx driver.Tx, err error) {
	err = s.Conn.Raw(func(driverConn any) error {
		beginner, ok := driverConn.(driver.ConnBeginTx)
		if !ok {
			return errors.New("the driver cannot begin a transaction")
		}
		// Do not use the context of a job: if it ended during the commit, the outcome would be
		// unknown.
		tx, err = beginner.BeginTx(context.Background(), driver.TxOptions{})
		return err
	})
	return tx, err
}

// end ends the transaction that begin opened. how is the method Commit or Rollback of the transaction.
func (s *Session) end(how func() error) error {
	if s.Conn == nil {
		return driver.ErrBadConn
	}
	return s.Conn.Raw(func(any) error { return how() })
}

// errUnsettled is in the error chain if it is unknown whether a commit has succeeded.
var errUnsettled = errors.New("the transaction may have been committed")

// unknownOutcome adds errUnsettled to the error of a commit that failed because of the connection or the disk: the
// commit may have succeeded nevertheless. It returns other errors unchanged.
func (w *writer) unknownOutcome(err error) error {
	if w.pool.FailureKind(err) != sqldb.Away || engine.CodeOf(err) == engine.Timeout {
		return err
	}
	w.pool.cfg.Log.Error("lost the connection to the database during a write; the write may have succeeded", "error", err)
	return &engine.Error{Code: engine.Unavailable, Reason: "database", RetryAfter: RetryAfter,
		Message: "the database went away while it saved; whether it did is not known", Err: errors.Join(errUnsettled, err)}
}
