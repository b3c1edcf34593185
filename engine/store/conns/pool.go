// Package conns runs reads and writes on the connections of a database, and shares the database fairly among accounts.
//
// A Session is one connection with its prepared statements. Reads use two lanes, each with a limited number of
// sessions. Every read starts in the quick lane (reader.go), and a read that turns out to be long continues in the
// scan lane (scan.go). Therefore a read by key never waits for a long read.
//
// Writes go through one queue (queue.go), which serves the account that has used the least time. With SQLite the
// writer commits several writes together (writer.go, gather.go); otherwise each write has a transaction of its own
// (alone.go). A transaction of several calls has a session to itself (transaction.go).
//
// While other accounts use the database, expensive work pauses from time to time (rest.go). Requests for a table that
// another session has locked wait without a connection (tablelocks.go). Work is repeated if another transaction was in
// its way, or if the connection was lost before the work had any effect (failure.go).
package conns

import (
	"context"
	"database/sql/driver"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"restsrv/engine"
	"restsrv/engine/store/sqldb"
)

// Config configures a pool.
type Config struct {
	ReadTime      time.Duration // limits the duration of a read, including the wait for a connection; 0 means no limit
	Scans         Scans
	LockTime      time.Duration // how long a request waits for a locked table; 0 means as long as the database permits
	WritesWaiting int           // writes of one account that may wait; 0 means 1024
	Log           *slog.Logger
	Ended         func(w *Session) // called with the session after each transaction, before the callers of its writes get their results; must not block
}

// Scans limits the long reads that wait for a place. Database.Scans limits the long reads that run.
type Scans struct {
	Waiting, AllWaiting int           // requests of one account, and of all accounts; 0 means 64 and 1024
	MaxWait             time.Duration // how long a request may wait; 0 means 10 s
}

// Pool runs the reads and writes of a database on its connections.
type Pool struct {
	cfg     Config
	db      *sqldb.Database
	traits  sqldb.Traits
	Readers *readers
	Writer  *writer
	lost    atomic.Int64 // when a lost connection was last detected, in ns since 1970
}

// New returns a pool that takes ownership of the connections of db. Reads are possible at once; StartWriter must be
// called before the first write.
func New(db *sqldb.Database, cfg Config) *Pool {
	if cfg.Scans.MaxWait <= 0 {
		cfg.Scans.MaxWait = 10 * time.Second
	}
	s := &Pool{cfg: cfg, db: db, traits: db.Dialect.Traits()}
	s.Readers = newReaders(db, cfg, s.traceFunc())
	return s
}

// StartWriter starts the goroutines that write.
func (s *Pool) StartWriter() { s.Writer = newWriter(s) }

// Close waits for accepted writes and running queries to end, then closes the database.
func (s *Pool) Close() error {
	if s.Writer != nil {
		s.Writer.close()
	}
	s.Readers.close()
	return s.closeConnections()
}

func (s *Pool) closeConnections() error {
	// The writer's connection must be closed last, because closing it merges the write-ahead log into the database.
	errs := []error{s.db.Read.Close(), s.db.Write.Close()}
	if s.db.Release != nil {
		errs = append(errs, s.db.Release())
	}
	return errors.Join(errs...)
}

// traceFunc returns a function that logs the text of a statement, without values. It returns nil if the log level
// excludes such records.
func (s *Pool) traceFunc() func(sql string) {
	if !s.cfg.Log.Enabled(context.Background(), slog.LevelDebug) {
		return nil
	}
	return func(sql string) { s.cfg.Log.Debug("statement", "sql", sql) }
}

// FailureKind returns the kind of failure of err.
func (s *Pool) FailureKind(err error) sqldb.Failure { return Classify(s.db.Dialect, err) }

// EngineError converts an error of the database on session r to an *engine.Error. If the connection of
// the session is broken, the session will open a new one.
func (s *Pool) EngineError(ctx context.Context, r *Session, err error) error {
	if err == nil {
		return nil
	}
	kind := s.FailureKind(err)
	if r.Conn != nil && r.Interrupt.Spends && (kind == sqldb.Stale || kind == sqldb.Interrupted || !r.isSound()) {
		r.disconnect() // the statement may still be ending
	}
	var known *engine.Error
	if errors.As(err, &known) {
		return known
	}
	away := kind == sqldb.Away || kind == sqldb.Full || kind == sqldb.Stale
	cause := ctx.Err()
	// If the client has left, the driver may have reported the connection as broken because of that.
	left := errors.Is(cause, context.Canceled) && (errors.Is(err, context.Canceled) || errors.Is(err, driver.ErrBadConn))
	if cause != nil && (!away || left) {
		if away {
			r.disconnect()
		}
		return TimeoutError(cause)
	}
	switch {
	case away:
		s.LoseConnection(r)
		s.cfg.Log.Error("the database is not available", "error", err)
		return &engine.Error{Code: engine.Unavailable, Reason: "database", RetryAfter: RetryAfter,
			Message: "the database is not available", Err: err}
	case kind == sqldb.Interrupted, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return TimeoutError(err)
	case kind == sqldb.Lost:
		return &engine.Error{Code: engine.Unavailable, Reason: "busy", RetryAfter: RetryBusy,
			Message: "other writes were in the way of this one", Err: err}
	case kind == sqldb.Locked:
		return lockedTable("", err)
	case kind == sqldb.TooLong:
		return &engine.Error{Code: engine.Invalid, Reason: "size", Message: "a value is too long for the database", Err: err}
	}
	return engine.Wrap(err, "the database refused a statement")
}
