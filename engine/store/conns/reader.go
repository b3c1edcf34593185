package conns

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"restsrv/engine"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/sqldb"
)

// readers lends sessions for reading. The sessions form two lanes. The quick lane has a fixed number of sessions.
// Every read starts in the quick lane, unless its statement was slow the last time. If the read turns out to be long,
// its session moves to the scan lane (scan.go), and the quick lane gets another session in exchange. Therefore a read
// by key waits only for other short reads.
//
// While a session is lent, its statements and buffers belong to the borrower. Sessions with a connection are lent
// first, so consecutive reads use only one connection.
type readers struct {
	db     *sqldb.Database
	trace  func(string)
	free   chan *Session // sessions of the quick lane with a connection
	fresh  chan *Session // sessions of the quick lane without a connection
	size   int           // number of sessions of the quick lane
	Scans  *scans        // nil if the database has no scan lane
	Others others
	limit  time.Duration // time limit of a statement; 0 means none
	Locks  *tableLocks   // shared with the writers; nil if requests do not wait for locks

	mu     sync.Mutex
	closed bool
	spare  []*Session     // sessions of the scan lane with a connection that are not lent
	lent   int            // number of sessions of the scan lane that are lent
	away   sync.WaitGroup // counts the lent sessions of the scan lane, so that close can wait for them
}

func newReaders(db *sqldb.Database, cfg Config, trace func(string)) *readers {
	rs := &readers{db: db, trace: trace, free: make(chan *Session, db.Readers), fresh: make(chan *Session, db.Readers), size: db.Readers, Others: others{Stay: company}}
	rs.Locks = newTableLocks(db, cfg)
	if cfg.ReadTime > 0 {
		rs.limit = cfg.ReadTime + abandonedAfter
	}
	if db.Scans > 0 {
		rs.Scans = newScans(db, cfg)
	}
	for range db.Readers {
		rs.fresh <- rs.newSession()
	}
	return rs
}

// abandonedAfter is added to Config.ReadTime to get the time limit that the database itself enforces for each
// statement. Normally this process ends a statement earlier, after Config.ReadTime. The limit of the database is for
// the case that the process cannot do so, because it has died or the network is broken.
const abandonedAfter = 5 * time.Second

func (rs *readers) newSession() *Session {
	s := newSession(rs.db.Read, rs.db.Dialect, rs.trace)
	s.limit, s.locks = rs.limit, rs.Locks
	return s
}

// Borrow waits for a session of the quick lane. The borrower must return the session by GiveBack.
func (rs *readers) Borrow(ctx context.Context) (*Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, TimeoutError(err)
	}
	var r *Session
	var ok bool
	select {
	case r, ok = <-rs.free:
	default:
		select {
		case r, ok = <-rs.free:
		case r, ok = <-rs.fresh:
		case <-ctx.Done():
			return nil, TimeoutError(ctx.Err())
		}
	}
	if ok {
		r.Ctx = ctx
		r.beginTurn()
	}
	return r, closedUnless(ok)
}

// borrowScan returns a session of the scan lane. The caller must hold a place in the scan lane (see scans).
func (rs *readers) borrowScan(ctx context.Context) (*Session, error) {
	r := rs.extraSession()
	if r == nil {
		return nil, closedUnless(false)
	}
	r.scan, r.Ctx = true, ctx
	r.beginTurn()
	return r, nil
}

// extraSession returns a session in addition to those of the quick lane, or nil if the readers are closed. The caller
// must return it by GiveBack; if the session goes to the quick lane instead, the caller must return the session that
// it replaces.
func (rs *readers) extraSession() *Session {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.closed {
		return nil
	}
	rs.lent++
	rs.away.Add(1)
	if n := len(rs.spare); n > 0 {
		r := rs.spare[n-1]
		rs.spare = rs.spare[:n-1]
		return r
	}
	return rs.newSession()
}

// moveToScan moves a lent session from the quick lane to the scan lane, and adds another session to the quick lane. It
// returns false if the readers are closed.
func (rs *readers) moveToScan(r *Session) bool {
	instead := rs.extraSession()
	if instead == nil {
		return false
	}
	r.scan = true
	rs.addQuick(instead)
	return true
}

// addQuick adds a session to the quick lane.
func (rs *readers) addQuick(r *Session) {
	if r.Conn == nil {
		rs.fresh <- r
		return
	}
	rs.free <- r
}

// WarmUp opens the connection of one reader in the background while the server continues to start, because opening
// takes some time with SQLite. The returned function waits until the connection is open or has failed. Errors are
// ignored, since later reads report them. If readers and writers share connections, WarmUp has no work to do.
func (rs *readers) WarmUp(ctx context.Context, db *sqldb.Database) (wait func()) {
	r, err := rs.Borrow(ctx)
	if err != nil {
		return func() {}
	}
	var done sync.WaitGroup
	done.Go(func() {
		if db.Read != db.Write {
			_ = r.Connect(ctx)
		}
		rs.GiveBack(r)
	})
	return done.Wait
}

func closedUnless(ok bool) error {
	if ok {
		return nil
	}
	return engine.Errorf(engine.Unavailable, "closed", "the database is closed")
}

// GiveBack returns a session that Borrow or borrowScan has lent.
func (rs *readers) GiveBack(r *Session) {
	clear(r.Raw) // the values in Raw belong to the borrower now
	r.Ctx, r.Guard = context.Background(), nil
	if r.begun { // the transaction could not be ended
		r.disconnect()
	}
	r.endTurn()
	if !r.scan {
		rs.addQuick(r)
		return
	}
	r.scan = false
	defer rs.away.Done()
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.lent--
	select {
	case unconnected := <-rs.fresh: // replace a session without a connection by r, which has one
		if unconnected != nil && r.Conn != nil && !rs.closed {
			rs.free <- r
			return
		}
		if unconnected != nil {
			rs.fresh <- unconnected
		}
	default:
	}
	// Decide whether r stays as a spare session. With SQLite, one is enough, because each connection holds pages in
	// memory. For other databases, the lanes and the writers need all connections of the pool: if too many were kept
	// here, another session would wait forever for a connection.
	if rs.closed || r.Conn == nil || len(rs.spare) > 0 && r.Interrupt.Tick != nil || len(rs.spare)+rs.lent >= rs.db.Scans {
		r.disconnect()
		return
	}
	rs.spare = append(rs.spare, r)
}

// WithReadTime returns a context with the time limit of a read.
func (s *Pool) WithReadTime(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.cfg.ReadTime <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, s.cfg.ReadTime)
}

// RunRead borrows a session and calls work with it. If the connection is lost or another transaction is in the way,
// RunRead calls work again, with a new connection if necessary. It does not do so if work has already passed results
// to its caller.
func (s *Pool) RunRead(ctx context.Context, work func(r *Session) error) error {
	return s.ReadFrom(ctx, nil, work)
}

// ReadFrom does the same as RunRead, for work that reads items of table t. In addition, if another session of the
// database has locked the table, the request waits without a connection (tablelocks.go).
func (s *Pool) ReadFrom(ctx context.Context, t *layout.Table, work func(r *Session) error) error {
	if whole, n := s.joinedIn(ctx); whole != nil || n != nil {
		var joined *Session
		if whole != nil {
			joined = whole.session
		} else {
			joined = n.session
		}
		release, err := s.Readers.Locks.reservePlace(joined, t, false)
		if err != nil {
			return err
		}
		defer release()
		if whole != nil {
			return whole.runRead(ctx, work)
		}
		return n.runRead(ctx, s, work)
	}
	return s.Readers.Locks.passLocks(ctx, t, false, func(p *passage) error {
		r, err := s.Readers.Borrow(ctx)
		if err != nil {
			return err
		}
		defer s.Readers.GiveBack(r)
		p.lendUses(r)
		return s.readOn(ctx, r, work)
	})
}

// AtOneMoment returns a function that calls work in a read-only transaction, so that all statements of work see the
// same state of the data. If the session already serves a transaction or a Snapshot, the function only calls work.
// Work with a single statement does not need AtOneMoment.
func (s *Pool) AtOneMoment(work func(r *Session) error) func(r *Session) error {
	return func(r *Session) error {
		if r.tied {
			return work(r)
		}
		begin, err := r.Prepare(s.traits.Snapshot)
		if err == nil {
			err = r.runControl(begin)
		}
		if err != nil {
			return err
		}
		r.begun, r.tied = true, true
		defer func() { r.tied = false }()
		err = work(r)
		switch kind := s.FailureKind(err); {
		case r.Conn == nil, kind == sqldb.Away, kind == sqldb.Stale, kind == sqldb.Interrupted && r.Interrupt.Spends && r.evictedFrom() == nil:
			// readOn or GiveBack will close the connection.
		default:
			r.endMoment()
		}
		return err
	}
}

// endMoment ends the transaction of AtOneMoment, even if the read was stopped.
func (s *Session) endMoment() {
	const commit = "COMMIT"
	if s.trace != nil {
		s.trace(commit)
	}
	end, err := s.kept.get(commit), error(nil)
	if end == nil {
		if end, err = s.Conn.PrepareContext(context.Background(), commit); err == nil {
			s.kept.put(commit, end, keptStatements)
		}
	}
	if err == nil {
		err = s.runControl(end)
	}
	if s.begun = false; err != nil {
		s.disconnect() // disconnecting also ends the transaction; the data that was read remains valid
	}
}

// runControl runs a statement that begins or ends a transaction of a reader. If the database is reached over a
// network, the statement ends when the context of the read ends.
func (s *Session) runControl(st *sql.Stmt) (err error) {
	ctx := context.Background()
	if s.Interrupt.Spends {
		var unwatch func(error) error
		ctx, unwatch = s.WatchContext(s.Ctx)
		defer func() { err = unwatch(err) }()
	}
	_, err = st.ExecContext(ctx)
	return err
}

// snapshot is a Snapshot in progress: reads with its context take turns on one session, and see the same state of the
// data.
type snapshot struct {
	session *Session
	readers *readers
	turn    chan struct{} // the read that uses the session has sent to it; also guards over
	over    bool
}

// joinedIn returns the transaction or the snapshot to which ctx belongs; both results are nil if there is none. All
// Stores of one database share transactions and snapshots.
func (s *Pool) joinedIn(ctx context.Context) (*transaction, *snapshot) {
	switch in := ctx.Value(transactionKey{}).(type) {
	case *transaction:
		if in.pool.Writer == s.Writer {
			return in, nil
		}
	case *snapshot:
		if in.readers == s.Readers {
			return nil, in
		}
	}
	return nil, nil
}

// isJoined reports whether ctx belongs to a transaction or a snapshot.
func (s *Pool) isJoined(ctx context.Context) bool {
	t, n := s.joinedIn(ctx)
	return t != nil || n != nil
}

var _ engine.Snapshotter = (*Pool)(nil)

// Snapshot implements engine.Snapshotter.
func (s *Pool) Snapshot(ctx context.Context, work func(ctx context.Context) error) error {
	if s.isJoined(ctx) {
		return work(ctx)
	}
	r, err := s.Readers.Borrow(ctx)
	if err != nil {
		return err
	}
	defer s.Readers.GiveBack(r)
	r.whole.Store(true)
	defer r.whole.Store(false)
	return s.readOn(ctx, r, s.AtOneMoment(func(r *Session) error {
		r.MarkDelivered() // keeps readOn from running work again
		n := &snapshot{session: r, readers: s.Readers, turn: make(chan struct{}, 1)}
		defer n.close()
		if err := work(context.WithValue(ctx, transactionKey{}, n)); err != nil {
			return &Stop{err}
		}
		return nil
	}))
}

// close waits for a running read to finish, and makes later reads fail.
func (n *snapshot) close() {
	n.turn <- struct{}{}
	n.over = true
	<-n.turn
}

// runRead calls work with the session of the snapshot, after other reads of the snapshot have ended.
func (n *snapshot) runRead(ctx context.Context, s *Pool, work func(r *Session) error) error {
	if err := ctx.Err(); err != nil {
		return TimeoutError(err)
	}
	select {
	case n.turn <- struct{}{}:
	case <-ctx.Done():
		return TimeoutError(ctx.Err())
	}
	defer func() { <-n.turn }()
	if n.over {
		return engine.Errorf(engine.Conflict, "snapshot-over", "the snapshot is over")
	}
	r := n.session
	before := r.Ctx
	r.Ctx = ctx
	defer func() {
		clear(r.Raw) // the values in Raw belong to the caller now
		r.Ctx, r.Guard, r.Loadable = before, nil, nil
	}()
	err := work(r)
	var stopped *Stop
	if errors.As(err, &stopped) {
		return stopped.Err
	}
	if err != nil {
		if out := r.evictedFrom(); out != nil {
			return lockedTable("", out)
		}
	}
	return s.EngineError(ctx, r, err)
}

// readOn calls work with the session r, and repeats it as RunRead does.
func (s *Pool) readOn(ctx context.Context, r *Session, work func(r *Session) error) error {
	for attempt := 1; ; attempt++ {
		r.delivered.Store(false)
		err := work(r)
		if err == nil {
			return nil
		}
		var stopped *Stop
		if errors.As(err, &stopped) {
			return stopped.Err
		}
		if out := r.evictedFrom(); out != nil {
			if r.delivered.Load() {
				return lockedTable("", out)
			}
			return out
		}
		if over := r.Meter.stopError(); over != nil {
			s.EngineError(ctx, r, err) // closes the connection if the interrupt has made it unusable
			return over
		}
		kind := s.FailureKind(err)
		// If r has no connection, the database was not reached, and another attempt is useless. The next request will
		// show whether the database is available again.
		renew := r.Conn != nil && (kind == sqldb.Away || kind == sqldb.Stale)
		if r.delivered.Load() || kind != sqldb.Lost && !renew || attempt == MaxAttempts || !Pause(ctx, attempt) {
			return s.EngineError(ctx, r, err)
		}
		if renew {
			s.LoseConnection(r)
		}
	}
}

// close waits until all sessions are returned, and closes their connections.
func (rs *readers) close() {
	rs.mu.Lock()
	if rs.closed {
		rs.mu.Unlock()
		return
	}
	rs.closed = true
	for _, r := range rs.spare {
		r.disconnect()
	}
	rs.mu.Unlock()
	rs.away.Wait()
	for range rs.size {
		select {
		case r := <-rs.free:
			r.disconnect()
		case <-rs.fresh:
		}
	}
	close(rs.free)
	close(rs.fresh)
	rs.Locks.close()
}
