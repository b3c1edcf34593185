package store

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
)

// Limits of the prepared statements per connection. Filters have arbitrary shapes, so the number must be limited.
const (
	keptStatements     = 128
	keptBulkStatements = 24
)

// session is one connection and the statements prepared on it. It must be used by one goroutine at a time.
type session struct {
	db        *sqlx.DB
	dialect   Dialect
	conn      *sqlx.Conn // nil until first used
	kept      statements
	bulk      statements
	ending    sync.Mutex      // held while interrupt is used or changed
	interrupt Interrupt       // of conn
	tied      bool            // the work is part of a transaction on conn, so it must not continue on another connection
	begun     bool            // a transaction of atOneMoment is open on conn
	ctx       context.Context // of the work that the session serves
	used      time.Time       // when the last successful job ended
	loadable  *int            // remaining bytes that the current load may use (Config.MaxLoaded); nil means no limit
	delivered atomic.Bool     // the caller of the current read has received an item
	guard     *guard          // of the current read; nil in a transaction, which reads more data than it returns
	raw       []any           // one row, as the driver returns it
	dest      []any           // targets of Scan: pointers into raw, and to packed
	packed    string
	unheld    []string         // hashes of the files of rows that were deleted since the last report
	regranted bool             // grants were changed since the last report
	trace     func(sql string) // called with every statement; may be nil
	meter     meter            // of the current read
	worked    int              // statements and rows of the current write
	scan      bool             // the session is in the scan lane
	limit     time.Duration    // time limit of a statement that the database enforces; 0 means none

	// The following fields are for tableLocks, which is nil if it does not watch the session.
	locks     *tableLocks
	writes    bool
	whole     atomic.Bool   // the turn is a transaction of several calls
	serving   atomic.Int64  // Interrupt.Number of conn
	turn      atomic.Uint64 // see turnStates
	seenTurn  uint64        // turn at the last look
	seenTimes int           // number of looks that have seen the same turn
	may       atomic.Pointer[[]tableUse]
	reserved  atomic.Bool // its transaction or snapshot may wait for a locked table
	out       tableUse    // the table that it was evicted from; guarded by ending
	place     share.Grant // see keepWaiting; guarded by ending
}

func newSession(db *sqlx.DB, d Dialect, trace func(sql string)) *session {
	return &session{db: db, dialect: d, trace: trace, ctx: context.Background()}
}

// makeRoom resizes the buffers for a row of n slots.
func (s *session) makeRoom(n int) {
	if cap(s.raw) < n {
		s.raw = make([]any, n)
	}
	s.raw, s.dest = s.raw[:n], s.dest[:0]
}

// makeRow resizes the buffers for a row of n columns, and returns the targets to scan it to.
func (s *session) makeRow(n int) []any {
	s.makeRoom(n)
	for i := range s.raw {
		s.dest = append(s.dest, &s.raw[i])
	}
	return s.dest
}

// prepare returns the prepared statement with the given text.
func (s *session) prepare(text string) (*sql.Stmt, error) {
	return s.prepareIn(&s.kept, keptStatements, text, nil)
}

// prepareIn returns the statement that is kept under a name. If there is none, make returns its text; if make is nil,
// the name is the text.
func (s *session) prepareIn(kept *statements, limit int, name string, make func() string) (*sql.Stmt, error) {
	if s.trace != nil {
		s.trace(name)
	}
	if s.meter.stopped.Load() {
		return nil, errSlow
	}
	s.worked++
	if st := kept.get(name); st != nil {
		return st, nil
	}
	text := name
	if make != nil {
		text = make()
	}
	if s.conn == nil {
		if s.tied {
			if err := s.ctx.Err(); err != nil { // the connection was given up when the time of a read was over
				return nil, timeoutError(err)
			}
			return nil, driver.ErrBadConn
		}
		if err := s.connect(s.ctx); err != nil {
			return nil, err
		}
	}
	// The request should not interrupt the preparation, because the next request needs the statement. The exception is
	// a database in which another process may hold a lock, since preparing may then take long.
	ctx := s.ctx
	if !s.interrupt.Spends {
		ctx = context.Background()
	}
	st, err := s.conn.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	kept.put(name, st, limit)
	return st, nil
}

func (s *session) connect(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return timeoutError(err)
	}
	conn, err := s.db.Connx(ctx)
	if err != nil {
		return err
	}
	s.conn = conn
	interrupt := Interrupt{}
	err = conn.Raw(func(driverConn any) (err error) {
		interrupt, err = s.dialect.Interrupt(ctx, driverConn)
		return err
	})
	if err == nil && s.limit > 0 && s.dialect.Traits().TimeLimit != "" {
		_, err = conn.ExecContext(ctx, s.dialect.Traits().TimeLimit+strconv.FormatInt(s.limit.Milliseconds(), 10))
	}
	if err != nil {
		interrupt = Interrupt{Spends: true}
	}
	if interrupt.Tick != nil {
		interrupt.Tick(stepsPerTick, s.tick)
	}
	s.interruptBy(interrupt)
	s.serving.Store(interrupt.Number)
	s.locks.watchSession(s, true)
	if cause := ctx.Err(); err != nil && cause != nil {
		s.disconnect()
		return timeoutError(cause)
	}
	return err // a lost connection is kept, to distinguish it from an unavailable database
}

// interruptBy sets the functions that end statements from now on. When it returns, the previous ones are no longer in
// use.
func (s *session) interruptBy(i Interrupt) {
	s.ending.Lock()
	defer s.ending.Unlock()
	if s.interrupt.Close != nil {
		s.interrupt.Close()
	}
	s.interrupt = i
}

func (s *session) disconnect() {
	s.locks.watchSession(s, false)
	s.interruptBy(Interrupt{})
	s.kept.drop()
	s.bulk.drop()
	s.begun = false
	if s.conn != nil {
		// Close alone would return the connection to the pool, even if a transaction is open on it.
		_ = s.conn.Raw(func(any) error { return driver.ErrBadConn })
		_ = s.conn.Close()
		s.conn = nil
	}
}

// isSound reports whether the connection can still be used. Not every error indicates that it is broken.
func (s *session) isSound() bool {
	if s.conn == nil {
		return false
	}
	err := s.conn.Raw(func(driverConn any) error {
		if v, ok := driverConn.(driver.Validator); ok && !v.IsValid() {
			return driver.ErrBadConn
		}
		return nil
	})
	return err == nil
}

// watchContext ends the statement that runs on the connection if ctx ends. The caller must call the returned function
// with the result of the work. The returned context must be used for statements. It cannot be cancelled, so it costs
// them nothing: a cancellable context costs a goroutine in database/sql and another in the driver. If a statement was
// ended, the returned function returns a suitable error, and closes the connection if the interrupt has made it
// unusable.
func (s *session) watchContext(ctx context.Context) (context.Context, func(error) error) {
	if ctx.Done() == nil || s.interrupt.End == nil {
		return ctx, func(err error) error { return err }
	}
	inner := context.WithoutCancel(ctx)
	if !s.interrupt.Spends {
		return inner, s.watchSteps(ctx)
	}
	rest := context.AfterFunc(ctx, s.interrupt.End)
	return inner, func(err error) error {
		if rest() {
			return err
		}
		s.disconnect()
		var known *engine.Error
		var stopped *stop
		if err == nil || errors.As(err, &known) || errors.As(err, &stopped) {
			return err
		}
		return timeoutError(ctx.Err())
	}
}

// watchSteps is watchContext for a connection that remains usable after an interrupt.
func (s *session) watchSteps(ctx context.Context) func(error) error {
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

// markDelivered records that the caller of the current read has received an item.
func (s *session) markDelivered() {
	if !s.delivered.Load() {
		s.delivered.Store(true)
	}
}

// endStep ends the statement that runs on the connection. It returns false if the watch is over or there is no
// connection.
func (s *session) endStep(over *bool) bool {
	s.ending.Lock()
	defer s.ending.Unlock()
	if *over || s.interrupt.End == nil {
		return false
	}
	s.interrupt.End()
	return true
}

// statements is a cache of the statements used last. It is so small that a linear search for the oldest one suffices
// when it is full.
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
