package conns

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"restsrv/engine"
	"restsrv/engine/store/sqldb"
)

// The Retry-After of an error: RetryAfter if the database is unavailable, RetryBusy if it is busy.
const (
	RetryAfter = 2 * time.Second
	RetryBusy  = time.Second
)

// MaxAttempts is the maximum number of attempts if work fails with an error that may not occur when the work is
// repeated.
const MaxAttempts = 16

// Pause waits before another attempt. The time grows with attempt. It is random, so that two transactions that were in
// each other's way do not collide again. Pause returns false if ctx ends.
func Pause(ctx context.Context, attempt int) bool {
	most := time.Millisecond << min(attempt, 7)
	wait := time.NewTimer(most/4 + rand.N(most))
	defer wait.Stop()
	select {
	case <-wait.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// again is the error that MarkAgain returns.
type again struct{ error }

// MarkAgain marks err as the error of work that may succeed when it is repeated.
func MarkAgain(err error) error { return again{err} }

// IsMarked reports whether an error is marked by MarkAgain.
func IsMarked(err error) bool {
	var mark again
	return errors.As(err, &mark)
}

// Unwrap returns the marked error.
func (a again) Unwrap() error { return a.error }

// KeepMark returns e, which describes err in more detail. If err was marked by MarkAgain, the result is marked too.
func KeepMark(err error, e *engine.Error) error {
	if IsMarked(err) {
		return MarkAgain(e)
	}
	return e
}

// Classify returns the kind of failure of err.
func Classify(d sqldb.Dialect, err error) sqldb.Failure {
	switch {
	case err == nil:
		return sqldb.Other
	case IsMarked(err):
		return sqldb.Lost
	case errors.Is(err, driver.ErrBadConn), errors.Is(err, sql.ErrConnDone):
		return sqldb.Away
	}
	return d.Classify(err)
}

// TimeoutError returns the error for work that was ended by its context.
func TimeoutError(cause error) error {
	return &engine.Error{Code: engine.Timeout, Reason: "timeout", Message: "the time for this request is over", Err: cause}
}

// Exclude runs statements that lock a table until the transaction ends (sqldb.Traits.ExcludeTable or ExcludeWriters).
// table is its quoted name. While Exclude waits for the lock, other transactions that use the table wait behind it.
// Therefore it waits only for a moment, and then returns an error that makes the store repeat the write (MarkAgain).
func (p *Pool) Exclude(w *Session, statements []string, table string) error {
	for _, statement := range statements {
		err := w.Exec(strings.ReplaceAll(statement, "%s", table))
		if p.FailureKind(err) == sqldb.Locked {
			return MarkAgain(err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
