package store

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"restsrv/engine"
)

// readers lends sessions for reading, in two lanes. The quick lane has a fixed number of sessions. Every read starts
// there, unless its statement was slow the last time. When a read turns out to be long, it leaves the quick lane, which
// gets another session in exchange, and continues in the scan lane (scan.go). Therefore a read by key waits only for
// other short reads.
//
// While a session is lent, its statements and buffers belong to the borrower. Sessions with a connection are lent
// first, so consecutive reads use only one connection.
type readers struct {
	db     *Database
	trace  func(string)
	free   chan *session // sessions of the quick lane with a connection
	fresh  chan *session // sessions of the quick lane without a connection
	size   int           // number of sessions of the quick lane
	scans  *scans        // nil if there is one lane
	others others
	limit  time.Duration // time limit of a statement; 0 means none
	locks  *tableLocks   // shared with the writers; nil if requests do not wait for locks

	mu     sync.Mutex
	closed bool
	spare  []*session     // sessions of the scan lane with a connection that are not lent
	lent   int            // number of lent sessions of the scan lane
	away   sync.WaitGroup // counts the same sessions, for close
}

func newReaders(db *Database, cfg Config, trace func(string)) *readers {
	rs := &readers{db: db, trace: trace, free: make(chan *session, db.Readers), fresh: make(chan *session, db.Readers), size: db.Readers, others: others{stay: company}}
	rs.locks = newTableLocks(db, cfg)
	if cfg.ReadTime > 0 {
		rs.limit = cfg.ReadTime + abandonedAfter
	}
	if db.Scans > 0 {
		rs.scans = newScans(db, cfg)
	}
	for range db.Readers {
		rs.fresh <- rs.newSession()
	}
	return rs
}

// abandonedAfter is how much longer than Config.ReadTime a statement may run in the database. It ends statements that
// this process can no longer end, because it has died or the network is broken.
const abandonedAfter = 5 * time.Second

func (rs *readers) newSession() *session {
	s := newSession(rs.db.Read, rs.db.Dialect, rs.trace)
	s.limit, s.locks = rs.limit, rs.locks
	return s
}

// borrow waits for a session of the quick lane. The borrower must return it by giveBack.
func (rs *readers) borrow(ctx context.Context) (*session, error) {
	if err := ctx.Err(); err != nil {
		return nil, timeoutError(err)
	}
	var r *session
	var ok bool
	select {
	case r, ok = <-rs.free:
	default:
		select {
		case r, ok = <-rs.free:
		case r, ok = <-rs.fresh:
		case <-ctx.Done():
			return nil, timeoutError(ctx.Err())
		}
	}
	if ok {
		r.ctx = ctx
		r.beginTurn()
	}
	return r, closedUnless(ok)
}

// borrowScan returns a session of the scan lane. The caller must hold a place there.
func (rs *readers) borrowScan(ctx context.Context) (*session, error) {
	r := rs.extraSession()
	if r == nil {
		return nil, closedUnless(false)
	}
	r.scan, r.ctx = true, ctx
	r.beginTurn()
	return r, nil
}

// extraSession returns a session in addition to those of the quick lane, or nil if the readers are closed. The caller
// must return it, or a session that it replaces, by giveBack.
func (rs *readers) extraSession() *session {
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

// moveToScan moves a lent session from the quick lane to the scan lane, and replaces it by another session. It returns
// false if the readers are closed.
func (rs *readers) moveToScan(r *session) bool {
	instead := rs.extraSession()
	if instead == nil {
		return false
	}
	r.scan = true
	rs.addQuick(instead)
	return true
}

// addQuick adds a session to the quick lane.
func (rs *readers) addQuick(r *session) {
	if r.conn == nil {
		rs.fresh <- r
		return
	}
	rs.free <- r
}

// warmUp opens the connection of one reader in the background, which takes some time with SQLite, while the start
// continues. wait waits until this has ended. Errors are ignored, since later reads report them. If readers and writers
// share connections, there is one already.
func (rs *readers) warmUp(ctx context.Context, db *Database) (wait func()) {
	r, err := rs.borrow(ctx)
	if err != nil {
		return func() {}
	}
	var done sync.WaitGroup
	done.Go(func() {
		if db.Read != db.Write {
			_ = r.connect(ctx)
		}
		rs.giveBack(r)
	})
	return done.Wait
}

func closedUnless(ok bool) error {
	if ok {
		return nil
	}
	return engine.Errorf(engine.Unavailable, "closed", "the database is closed")
}

func (rs *readers) giveBack(r *session) {
	clear(r.raw) // the values that it points to belong to the borrower now
	r.ctx, r.guard = context.Background(), nil
	if r.begun { // its transaction could not be ended
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
	case unconnected := <-rs.fresh: // prefer the connected session to one that would have to connect
		if unconnected != nil && r.conn != nil && !rs.closed {
			rs.free <- r
			return
		}
		if unconnected != nil {
			rs.fresh <- unconnected
		}
	default:
	}
	// An SQLite connection holds pages in memory, so only one is kept. For other databases, the pool has only as many
	// connections as the lanes and the writers need. If more were kept here, another session would wait forever for a
	// connection.
	if rs.closed || r.conn == nil || len(rs.spare) > 0 && r.interrupt.Tick != nil || len(rs.spare)+rs.lent >= rs.db.Scans {
		r.disconnect()
		return
	}
	rs.spare = append(rs.spare, r)
}

// withReadTime returns a context with the time limit of a read.
func (s *Store) withReadTime(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.cfg.ReadTime <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, s.cfg.ReadTime)
}

// runRead calls work with a reader. If the connection is lost, work runs again on a new one. If another transaction is
// in the way, work also runs again. Work that has already passed results to its caller is not repeated.
func (s *Store) runRead(ctx context.Context, work func(r *session) error) error {
	return s.readFrom(ctx, nil, work)
}

// readFrom is runRead for work that reads items of a table.
func (s *Store) readFrom(ctx context.Context, t *table, work func(r *session) error) error {
	if whole, n := s.joinedIn(ctx); whole != nil || n != nil {
		var joined *session
		if whole != nil {
			joined = whole.session
		} else {
			joined = n.session
		}
		release, err := s.readers.locks.reservePlace(joined, t, false)
		if err != nil {
			return err
		}
		defer release()
		if whole != nil {
			return whole.runRead(ctx, work)
		}
		return n.runRead(ctx, s, work)
	}
	return s.readers.locks.passLocks(ctx, t, false, func(p *passage) error {
		r, err := s.readers.borrow(ctx)
		if err != nil {
			return err
		}
		defer s.readers.giveBack(r)
		p.lendUses(r)
		return s.readOn(ctx, r, work)
	})
}

// atOneMoment returns work in a transaction, so that its statements see the same state of the data. If work already
// runs in a transaction or a Snapshot, it is called directly. A single statement does not need this function.
func (s *Store) atOneMoment(work func(r *session) error) func(r *session) error {
	return func(r *session) error {
		if r.tied {
			return work(r)
		}
		begin, err := r.prepare(s.traits.Snapshot)
		if err == nil {
			err = r.runControl(begin)
		}
		if err != nil {
			return err
		}
		r.begun, r.tied = true, true
		defer func() { r.tied = false }()
		err = work(r)
		switch kind := s.failureKind(err); {
		case r.conn == nil, kind == Away, kind == Stale, kind == Interrupted && r.interrupt.Spends && r.evictedFrom() == nil:
			// The connection is given up by readOn or by giveBack.
		default:
			r.endMoment()
		}
		return err
	}
}

// endMoment ends the transaction of atOneMoment, even if the read was stopped.
func (s *session) endMoment() {
	const commit = "COMMIT"
	if s.trace != nil {
		s.trace(commit)
	}
	end, err := s.kept.get(commit), error(nil)
	if end == nil {
		if end, err = s.conn.PrepareContext(context.Background(), commit); err == nil {
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

// runControl runs a statement that begins or ends a transaction of a reader. If the database is reached over a network,
// the statement ends with the context of the read.
func (s *session) runControl(st *sql.Stmt) (err error) {
	ctx := context.Background()
	if s.interrupt.Spends {
		var unwatch func(error) error
		ctx, unwatch = s.watchContext(s.ctx)
		defer func() { err = unwatch(err) }()
	}
	_, err = st.ExecContext(ctx)
	return err
}

// snapshot is the session of a Snapshot.
type snapshot struct {
	session *session
	readers *readers
	turn    chan struct{} // held by the read that uses the session; also guards over
	over    bool
}

// joinedIn returns the transaction or the snapshot of ctx, or nil if there is none. All Stores of one database share
// them.
func (s *Store) joinedIn(ctx context.Context) (*transaction, *snapshot) {
	switch in := ctx.Value(transactionKey{}).(type) {
	case *transaction:
		if in.store.writer == s.writer {
			return in, nil
		}
	case *snapshot:
		if in.readers == s.readers {
			return nil, in
		}
	}
	return nil, nil
}

// isJoined reports whether ctx belongs to a transaction or a snapshot.
func (s *Store) isJoined(ctx context.Context) bool {
	t, n := s.joinedIn(ctx)
	return t != nil || n != nil
}

var _ engine.Snapshotter = (*Store)(nil)

// Snapshot implements engine.Snapshotter.
func (s *Store) Snapshot(ctx context.Context, work func(ctx context.Context) error) error {
	if s.isJoined(ctx) {
		return work(ctx)
	}
	r, err := s.readers.borrow(ctx)
	if err != nil {
		return err
	}
	defer s.readers.giveBack(r)
	r.whole.Store(true)
	defer r.whole.Store(false)
	return s.readOn(ctx, r, s.atOneMoment(func(r *session) error {
		r.markDelivered() // prevents that work runs again
		n := &snapshot{session: r, readers: s.readers, turn: make(chan struct{}, 1)}
		defer n.close()
		if err := work(context.WithValue(ctx, transactionKey{}, n)); err != nil {
			return &stop{err}
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

// runRead is like Store.runRead, as a part of the snapshot.
func (n *snapshot) runRead(ctx context.Context, s *Store, work func(r *session) error) error {
	if err := ctx.Err(); err != nil {
		return timeoutError(err)
	}
	select {
	case n.turn <- struct{}{}:
	case <-ctx.Done():
		return timeoutError(ctx.Err())
	}
	defer func() { <-n.turn }()
	if n.over {
		return engine.Errorf(engine.Conflict, "snapshot-over", "the snapshot is over")
	}
	r := n.session
	before := r.ctx
	r.ctx = ctx
	defer func() {
		clear(r.raw) // the values that it points to belong to the caller now
		r.ctx, r.guard, r.loadable = before, nil, nil
	}()
	err := work(r)
	var stopped *stop
	if errors.As(err, &stopped) {
		return stopped.err
	}
	if err != nil {
		if out := r.evictedFrom(); out != nil {
			return lockedTable("", out)
		}
	}
	return s.engineError(ctx, r, err)
}

// readOn is like runRead, with a given session.
func (s *Store) readOn(ctx context.Context, r *session, work func(r *session) error) error {
	for attempt := 1; ; attempt++ {
		r.delivered.Store(false)
		err := work(r)
		if err == nil {
			return nil
		}
		var stopped *stop
		if errors.As(err, &stopped) {
			return stopped.err
		}
		if out := r.evictedFrom(); out != nil {
			if r.delivered.Load() {
				return lockedTable("", out)
			}
			return out
		}
		if over := r.meter.stopError(); over != nil {
			s.engineError(ctx, r, err) // gives up the connection if the interrupt has made it unusable
			return over
		}
		kind := s.failureKind(err)
		// Without a connection, another attempt is useless. The next request will show whether the database is
		// available again.
		renew := r.conn != nil && (kind == Away || kind == Stale)
		if r.delivered.Load() || kind != Lost && !renew || attempt == maxAttempts || !pause(ctx, attempt) {
			return s.engineError(ctx, r, err)
		}
		if renew {
			s.loseConnection(r)
		}
	}
}

// close waits until all readers are returned, and closes them.
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
	rs.locks.close()
}
