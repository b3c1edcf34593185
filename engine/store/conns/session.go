package conns

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"

	"restsrv/engine"
	"restsrv/engine/share"
	"restsrv/engine/store/rights"
	"restsrv/engine/store/sqldb"
)

// Limits of the prepared statements per connection. Filters have arbitrary shapes, so the number must be limited.
const (
	keptStatements     = 128
	KeptBulkStatements = 24
)

// Session is one connection and the statements prepared on it. It must be used by one goroutine at a time.
type Session struct {
	db        *sqlx.DB
	Dialect   sqldb.Dialect
	Conn      *sqlx.Conn // nil until first used
	kept      statements
	Bulk      statements
	ending    sync.Mutex       // held while Interrupt is used or changed
	Interrupt sqldb.Interrupt  // of Conn
	tied      bool             // the session serves a transaction on Conn, so its work must not continue on another connection
	begun     bool             // a transaction of AtOneMoment is open on Conn
	Ctx       context.Context  // context of the work that the session serves
	used      time.Time        // when the last successful job ended
	Loadable  *int             // remaining bytes that the current load may use; nil means no limit
	delivered atomic.Bool      // the caller of the current read has received an item
	Guard     *rights.Guard    // of the current read; a write, which reads more data than it returns, sets it only for some reads
	Raw       []any            // one row, as the driver returns it
	dest      []any            // targets of Scan: pointers to the elements of Raw, and to packed
	packed    string           // the packed texts of the current row (see sqldb.Result)
	Unheld    []string         // hashes of the files of rows that were deleted since the last report (see Config.Ended)
	Regranted bool             // grants were changed since the last report (see Config.Ended)
	trace     func(sql string) // called with every statement; may be nil
	Meter     meter            // of the current read
	Worked    int              // statements and rows of the current write
	scan      bool             // the session is in the scan lane
	limit     time.Duration    // time limit of a statement that the database enforces; 0 means none

	// The following fields are for tableLocks, which is nil if it does not watch the session.
	locks     *tableLocks
	writes    bool
	whole     atomic.Bool                // the turn is a transaction of several calls
	serving   atomic.Int64               // Interrupt.Number of Conn
	turn      atomic.Uint64              // see turnStates
	seenTurn  uint64                     // value of turn when it was last looked at (see lookEvery)
	seenTimes int                        // number of looks that have seen the same turn
	may       atomic.Pointer[[]TableUse] // locked tables for which the current request may wait in the database; nil if there are none
	reserved  atomic.Bool                // the current transaction or snapshot may wait in the database for a locked table
	out       TableUse                   // the locked table for which the turn waited when it was evicted; guarded by ending
	place     share.Grant                // the place of the turn, from keepWaiting; guarded by ending
}

func newSession(db *sqlx.DB, d sqldb.Dialect, trace func(sql string)) *Session {
	return &Session{db: db, Dialect: d, trace: trace, Ctx: context.Background()}
}

// makeRoom resizes the buffers for a row of n slots.
func (s *Session) makeRoom(n int) {
	if cap(s.Raw) < n {
		s.Raw = make([]any, n)
	}
	s.Raw, s.dest = s.Raw[:n], s.dest[:0]
}

// MakeRow resizes the buffers for a row of n columns, and returns pointers to the elements of Raw, as the targets of
// Scan.
func (s *Session) MakeRow(n int) []any {
	s.makeRoom(n)
	for i := range s.Raw {
		s.dest = append(s.dest, &s.Raw[i])
	}
	return s.dest
}

// Prepare returns the prepared statement with the given text.
func (s *Session) Prepare(text string) (*sql.Stmt, error) {
	return s.PrepareIn(&s.kept, keptStatements, text, nil)
}

// PrepareIn returns a prepared statement from the cache kept, which has at most limit statements. name is the key of
// the statement in the cache. If the statement is not in the cache, PrepareIn prepares the text that make returns, or
// name itself if make is nil.
func (s *Session) PrepareIn(kept *statements, limit int, name string, make func() string) (*sql.Stmt, error) {
	if s.trace != nil {
		s.trace(name)
	}
	if s.Meter.stopped.Load() {
		return nil, errSlow
	}
	s.Worked++
	if st := kept.get(name); st != nil {
		return st, nil
	}
	text := name
	if make != nil {
		text = make()
	}
	if s.Conn == nil {
		if s.tied {
			if err := s.Ctx.Err(); err != nil { // the connection was closed because the time of the read was over
				return nil, TimeoutError(err)
			}
			return nil, driver.ErrBadConn
		}
		if err := s.Connect(s.Ctx); err != nil {
			return nil, err
		}
	}
	// The end of a request should not interrupt the preparation, because the next request needs the statement too.
	// With a database server it must, because preparing may have to wait for a lock of another process.
	ctx := s.Ctx
	if !s.Interrupt.Spends {
		ctx = context.Background()
	}
	st, err := s.Conn.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	kept.put(name, st, limit)
	return st, nil
}

// Connect opens the connection of the session.
func (s *Session) Connect(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return TimeoutError(err)
	}
	conn, err := s.db.Connx(ctx)
	if err != nil {
		return err
	}
	s.Conn = conn
	interrupt := sqldb.Interrupt{}
	err = conn.Raw(func(driverConn any) (err error) {
		interrupt, err = s.Dialect.Interrupt(ctx, driverConn)
		return err
	})
	if err == nil && s.limit > 0 && s.Dialect.Traits().TimeLimit != "" {
		_, err = conn.ExecContext(ctx, s.Dialect.Traits().TimeLimit+strconv.FormatInt(s.limit.Milliseconds(), 10))
	}
	if err != nil {
		interrupt = sqldb.Interrupt{Spends: true}
	}
	if interrupt.Tick != nil {
		interrupt.Tick(stepsPerTick, s.tick)
	}
	s.interruptBy(interrupt)
	s.serving.Store(interrupt.Number)
	s.locks.watchSession(s, true)
	if cause := ctx.Err(); err != nil && cause != nil {
		s.disconnect()
		return TimeoutError(cause)
	}
	return err // unchanged, so that the caller can distinguish a lost connection from an unavailable database
}

// interruptBy replaces the functions that end statements. When it returns, the previous functions are no longer in
// use.
func (s *Session) interruptBy(i sqldb.Interrupt) {
	s.ending.Lock()
	defer s.ending.Unlock()
	if s.Interrupt.Close != nil {
		s.Interrupt.Close()
	}
	s.Interrupt = i
}

func (s *Session) disconnect() {
	s.locks.watchSession(s, false)
	s.interruptBy(sqldb.Interrupt{})
	s.kept.drop()
	s.Bulk.drop()
	s.begun = false
	if s.Conn != nil {
		// Close alone would return the connection to the pool of database/sql, even if a transaction is open on the
		// connection.
		_ = s.Conn.Raw(func(any) error { return driver.ErrBadConn })
		_ = s.Conn.Close()
		s.Conn = nil
	}
}

// isSound reports whether the connection can still be used. It is called after an error, which need not mean that the
// connection is broken.
func (s *Session) isSound() bool {
	if s.Conn == nil {
		return false
	}
	err := s.Conn.Raw(func(driverConn any) error {
		if v, ok := driverConn.(driver.Validator); ok && !v.IsValid() {
			return driver.ErrBadConn
		}
		return nil
	})
	return err == nil
}

// WatchContext begins to watch ctx: if ctx ends, the statement that runs on the connection is ended. The caller must
// run its statements with the returned context, and call the returned function with the error of the work. If a
// statement was ended, the function returns a suitable error, and closes the connection if the interrupt has made it
// unusable.
//
// The returned context cannot be cancelled, because a cancellable context costs each statement a goroutine in
// database/sql and another one in the driver.
func (s *Session) WatchContext(ctx context.Context) (context.Context, func(error) error) {
	if ctx.Done() == nil || s.Interrupt.End == nil {
		return ctx, func(err error) error { return err }
	}
	inner := context.WithoutCancel(ctx)
	if !s.Interrupt.Spends {
		return inner, s.watchSteps(ctx)
	}
	rest := context.AfterFunc(ctx, s.Interrupt.End)
	return inner, func(err error) error {
		if rest() {
			return err
		}
		s.disconnect()
		var known *engine.Error
		var stopped *Stop
		if err == nil || errors.As(err, &known) || errors.As(err, &stopped) {
			return err
		}
		return TimeoutError(ctx.Err())
	}
}

// watchSteps begins to watch ctx for WatchContext, on a connection that remains usable after an interrupt. The returned
// function ends the watch.
func (s *Session) watchSteps(ctx context.Context) func(error) error {
	over := false // guarded by s.ending
	stop := context.AfterFunc(ctx, func() {
		for s.endStep(&over) {
			time.Sleep(time.Millisecond) // an interrupt between two steps has no effect, so it is repeated
		}
	})
	return func(err error) error {
		if !stop() {
			s.ending.Lock()
			over = true
			s.ending.Unlock()
		}
		return err
	}
}

// MarkDelivered records that the caller of the current read has received an item.
func (s *Session) MarkDelivered() {
	if !s.delivered.Load() {
		s.delivered.Store(true)
	}
}

// endStep ends the statement that runs on the connection, and returns true. If *over is true or there is no
// connection, it only returns false. s.ending guards *over.
func (s *Session) endStep(over *bool) bool {
	s.ending.Lock()
	defer s.ending.Unlock()
	if *over || s.Interrupt.End == nil {
		return false
	}
	s.Interrupt.End()
	return true
}

// statements is a cache of the most recently used statements. It is small, so a linear search finds the oldest
// statement when the cache is full.
type statements struct {
	byName map[string]*statement
	clock  uint64
}

type statement struct {
	*sql.Stmt
	used uint64
}

func (k *statements) get(name string) *sql.Stmt {
	st := k.byName[name]
	if st == nil {
		return nil
	}
	k.clock++
	st.used = k.clock
	return st.Stmt
}

func (k *statements) put(name string, st *sql.Stmt, limit int) {
	if k.byName == nil {
		k.byName = make(map[string]*statement)
	}
	if len(k.byName) >= limit {
		oldest := ""
		for name, s := range k.byName {
			if oldest == "" || s.used < k.byName[oldest].used {
				oldest = name
			}
		}
		_ = k.byName[oldest].Close() // closing only frees memory
		delete(k.byName, oldest)
	}
	k.clock++
	k.byName[name] = &statement{st, k.clock}
}

func (k *statements) drop() {
	for _, st := range k.byName {
		_ = st.Close()
	}
	k.byName = nil
}
