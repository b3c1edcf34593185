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

// Statements kept per connection. Filters come in as many shapes as clients
// like, so their number is bounded.
const (
	keptStatements     = 128
	keptBulkStatements = 24
)

// session is one connection and the statements prepared on it. It serves one
// goroutine at a time.
type session struct {
	db        *sqlx.DB
	dialect   Dialect
	conn      *sqlx.Conn // nil until first used
	kept      statements
	bulk      statements
	ending    sync.Mutex      // held while interrupt ends something, or changes
	interrupt Interrupt       // of conn
	tied      bool            // what runs is a part of what was begun on conn: it must not go on with another
	begun     bool            // a transaction of atOneMoment is open on conn
	ctx       context.Context // of the work that it serves
	used      time.Time       // when a job last ended well on it
	loadable  *int            // bytes that what is being loaded may still take (Config.MaxLoaded); nil for no limit
	told      atomic.Bool     // the caller of the current reading has received an item
	guard     *guard          // of the reading under way; nil in a transaction, where more is read than shown
	raw       []any           // one row as the driver hands it out
	dest      []any           // where to scan it: pointers into raw, and to packed
	packed    string
	unheld    []string         // hashes of files whose rows were deleted since the last report
	regranted bool             // grants were changed since the last report
	trace     func(sql string) // told of every statement; nil for nobody
	meter     meter            // of the reading under way
	worked    int              // statements and rows of the write under way
	scan      bool             // the session is in the scan lane
	limit     time.Duration    // of a statement, kept by the database itself; 0 for none

	// Below: for tableLocks, nil if it does not look at the session.
	locks     *tableLocks
	writes    bool
	whole     atomic.Bool   // the turn is a transaction of several calls
	serving   atomic.Int64  // Interrupt.Number of conn
	turn      atomic.Uint64 // see turnStates
	seenTurn  uint64        // by the last look
	seenTimes int           // that looks have seen the same turn
	may       atomic.Pointer[[]tableUse]
	out       tableUse    // that it was evicted from; guarded by ending
	place     share.Grant // see keepWaiting; guarded by ending
}

func newSession(db *sqlx.DB, d Dialect, trace func(sql string)) *session {
	return &session{db: db, dialect: d, trace: trace, ctx: context.Background()}
}

// room makes room for a row of n slots.
func (s *session) room(n int) {
	if cap(s.raw) < n {
		s.raw = make([]any, n)
	}
	s.raw, s.dest = s.raw[:n], s.dest[:0]
}

// row makes room for a row of n columns and returns where to scan it.
func (s *session) row(n int) []any {
	s.room(n)
	for i := range s.raw {
		s.dest = append(s.dest, &s.raw[i])
	}
	return s.dest
}

// prepare returns the statement of that text, ready to run.
func (s *session) prepare(text string) (*sql.Stmt, error) {
	return s.prepareIn(&s.kept, keptStatements, text, nil)
}

// prepareIn returns the statement kept under a name. When it is not there its
// text is made; a nil make says that the name is the text.
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
			if err := s.ctx.Err(); err != nil { // the connection was given up with the time of a reading
				return nil, ended(err)
			}
			return nil, driver.ErrBadConn
		}
		if err := s.connect(s.ctx); err != nil {
			return nil, err
		}
	}
	// Preparing should not be cut short by one request, the next one needs it:
	// but where another process may hold a lock, it can take long.
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
		return ended(err)
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
	s.locks.watch(s, true)
	if cause := ctx.Err(); err != nil && cause != nil {
		s.disconnect()
		return ended(cause)
	}
	return err // a lost connection stays: that tells it from a database that is away
}

// interruptBy takes over what ends statements from now on. What was there before
// is not used any more when it returns.
func (s *session) interruptBy(i Interrupt) {
	s.ending.Lock()
	defer s.ending.Unlock()
	if s.interrupt.Close != nil {
		s.interrupt.Close()
	}
	s.interrupt = i
}

func (s *session) disconnect() {
	s.locks.watch(s, false)
	s.interruptBy(Interrupt{})
	s.kept.drop()
	s.bulk.drop()
	s.begun = false
	if s.conn != nil {
		// Close alone would hand the connection to the next one who asks, with
		// whatever transaction is open on it.
		_ = s.conn.Raw(func(any) error { return driver.ErrBadConn })
		_ = s.conn.Close()
		s.conn = nil
	}
}

// sound reports whether the connection can go on; not every error says that
// it broke.
func (s *session) sound() bool {
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

// watch ends what runs on the connection when ctx ends, until the function it
// returns is called with the outcome. It returns the context to run statements
// with, which costs them nothing: one that can end costs a goroutine in
// database/sql, and in the driver another. What was ended has the error that
// says so, and is without a connection afterwards where that is spent.
func (s *session) watch(ctx context.Context) (context.Context, func(error) error) {
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
		return ended(ctx.Err())
	}
}

// watchSteps is watch for a connection that lasts.
func (s *session) watchSteps(ctx context.Context) func(error) error {
	over := false // guarded by s.ending
	stop := context.AfterFunc(ctx, func() {
		for s.endStep(&over) {
			time.Sleep(time.Millisecond) // it has no effect between two steps, hence the loop
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

// tell notes that the caller of the current reading receives an item.
func (s *session) tell() {
	if !s.told.Load() {
		s.told.Store(true)
	}
}

// endStep ends what runs on the connection, unless the watch is over or the
// connection is gone.
func (s *session) endStep(over *bool) bool {
	s.ending.Lock()
	defer s.ending.Unlock()
	if *over || s.interrupt.End == nil {
		return false
	}
	s.interrupt.End()
	return true
}

// statements keeps the statements used last. It is small enough to be searched
// for the oldest one only when it overflows.
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
		_ = k.byName[oldest].Close() // it only frees memory
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
