package store

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"restsrv/engine"
)

// readers lends sessions for reading, in two lanes. The quick lane has a fixed
// number of sessions: every reading begins there, unless its statement was slow
// the last time. A reading that turns out to be long leaves the quick lane, which
// gets another session for it, and goes on in the scan lane (scan.go). So a
// reading by key waits for other short readings only.
//
// A session's statements and scratch space are the borrower's meanwhile. Those
// that have a connection are lent first: readings that follow each other need
// one connection only.
type readers struct {
	db     *Database
	trace  func(string)
	free   chan *session // of the quick lane, with a connection
	fresh  chan *session // of the quick lane, without
	size   int           // sessions of the quick lane
	scans  *scans        // nil when there is one lane
	others others
	limit  time.Duration // of a statement; 0 for none
	locks  *tableLocks   // of the writers, too; nil where requests do not wait for locks

	mu     sync.Mutex
	closed bool
	spare  []*session     // of the scan lane, not lent; with a connection
	lent   int            // sessions of the scan lane that are lent
	away   sync.WaitGroup // the same, for close
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

// abandonedAfter is how much longer than Config.ReadTime a statement may run in the
// database. It is for statements that cannot be ended from here any more, because
// the process has died or the network is broken.
const abandonedAfter = 5 * time.Second

func (rs *readers) newSession() *session {
	s := newSession(rs.db.Read, rs.db.Dialect, rs.trace)
	s.limit, s.locks = rs.limit, rs.locks
	return s
}

// borrow waits for a session of the quick lane; the borrower must give it back.
func (rs *readers) borrow(ctx context.Context) (*session, error) {
	if err := ctx.Err(); err != nil {
		return nil, ended(err)
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
			return nil, ended(ctx.Err())
		}
	}
	if ok {
		r.ctx = ctx
		r.beginTurn()
	}
	return r, closedUnless(ok)
}

// borrowScan returns a session of the scan lane. The caller holds a place there.
func (rs *readers) borrowScan(ctx context.Context) (*session, error) {
	r := rs.extra()
	if r == nil {
		return nil, closedUnless(false)
	}
	r.scan, r.ctx = true, ctx
	r.beginTurn()
	return r, nil
}

// extra returns a session for use beside those of the quick lane, nil if the
// readers are closed. The caller must return it, or a session that it replaces, by
// giveBack.
func (rs *readers) extra() *session {
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

// leave moves a lent session from the quick lane to the scan lane, and puts
// another one in its place. It reports false when the readers are closed.
func (rs *readers) leave(r *session) bool {
	instead := rs.extra()
	if instead == nil {
		return false
	}
	r.scan = true
	rs.lend(instead)
	return true
}

// lend puts a session into the quick lane.
func (rs *readers) lend(r *session) {
	if r.conn == nil {
		rs.fresh <- r
		return
	}
	rs.free <- r
}

// warm connects a reader, which takes SQLite a while, beside what else a start
// does; wait ends it. Who reads is told of a failure. Where readers take the
// connections of writers there is one already.
func (rs *readers) warm(ctx context.Context, db *Database) (wait func()) {
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
	clear(r.raw) // what it points to belongs to the borrower now
	r.ctx, r.guard = context.Background(), nil
	if r.begun { // its transaction could not be ended
		r.disconnect()
	}
	r.endTurn()
	if !r.scan {
		rs.lend(r)
		return
	}
	r.scan = false
	defer rs.away.Done()
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.lent--
	select {
	case unconnected := <-rs.fresh: // it takes the place of one that would have to connect
		if unconnected != nil && r.conn != nil && !rs.closed {
			rs.free <- r
			return
		}
		if unconnected != nil {
			rs.fresh <- unconnected
		}
	default:
	}
	// A connection of SQLite holds pages in memory, so only one is kept. Elsewhere the
	// pool has no more connections than the lanes and the writer need: another
	// session would wait forever for a connection that is kept here beyond that.
	if rs.closed || r.conn == nil || len(rs.spare) > 0 && r.interrupt.Tick != nil || len(rs.spare)+rs.lent >= rs.db.Scans {
		r.disconnect()
		return
	}
	rs.spare = append(rs.spare, r)
}

// timed gives a reading the time that it may take.
func (s *Store) timed(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.cfg.ReadTime <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, s.cfg.ReadTime)
}

// read lends work a reader. Work that met a lost connection runs again on a
// new one, and work that another transaction was in the way of runs again too,
// unless it has told somebody something by then.
func (s *Store) read(ctx context.Context, work func(r *session) error) error {
	return s.readFrom(ctx, nil, work)
}

// readFrom is read for work that reads items of a table.
func (s *Store) readFrom(ctx context.Context, t *table, work func(r *session) error) error {
	if whole, n := s.joined(ctx); whole != nil || n != nil {
		switch err := s.readers.locks.refused(t, false); {
		case err != nil:
			return err
		case whole != nil:
			return whole.read(ctx, work)
		}
		return n.read(ctx, s, work)
	}
	return s.readers.locks.pass(ctx, t, false, func(p *passage) error {
		r, err := s.readers.borrow(ctx)
		if err != nil {
			return err
		}
		defer s.readers.giveBack(r)
		p.lend(r)
		return s.readOn(ctx, r, work)
	})
}

// atOneMoment returns work of several statements that all see the same state of
// the data. In a transaction or a Snapshot it is the work itself. A single
// statement does not need it.
func (s *Store) atOneMoment(work func(r *session) error) func(r *session) error {
	return func(r *session) error {
		if r.tied {
			return work(r)
		}
		begin, err := r.prepare(s.traits.Snapshot)
		if err == nil {
			err = r.control(begin)
		}
		if err != nil {
			return err
		}
		r.begun, r.tied = true, true
		defer func() { r.tied = false }()
		err = work(r)
		switch kind := s.kind(err); {
		case r.conn == nil, kind == Away, kind == Stale, kind == Interrupted && r.interrupt.Spends && r.evictedFrom() == nil:
			// readOn gives up the connection, or giveBack does.
		default:
			r.endMoment()
		}
		return err
	}
}

// endMoment ends the transaction of atOneMoment, also if the reading was stopped.
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
		err = s.control(end)
	}
	if s.begun = false; err != nil {
		s.disconnect() // which ends the transaction too; what was read counts
	}
}

// control runs a statement that begins or ends a transaction of a reader. Where it
// goes over a network, it ends with the context of the reading.
func (s *session) control(st *sql.Stmt) (err error) {
	ctx := context.Background()
	if s.interrupt.Spends {
		var unwatch func(error) error
		ctx, unwatch = s.watch(s.ctx)
		defer func() { err = unwatch(err) }()
	}
	_, err = st.ExecContext(ctx)
	return err
}

// snapshot is the session of a Snapshot.
type snapshot struct {
	session *session
	readers *readers
	turn    chan struct{} // held by the reading that uses the session; guards over
	over    bool
}

// joined returns the transaction or the snapshot that ctx belongs to, nil for
// none. Both are one of all Stores of the database.
func (s *Store) joined(ctx context.Context) (*transaction, *snapshot) {
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
	t, n := s.joined(ctx)
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
		r.tell() // work must not run again
		n := &snapshot{session: r, readers: s.readers, turn: make(chan struct{}, 1)}
		defer n.close()
		if err := work(context.WithValue(ctx, transactionKey{}, n)); err != nil {
			return &stop{err}
		}
		return nil
	}))
}

// close lets a reading that runs finish, and no other begin.
func (n *snapshot) close() {
	n.turn <- struct{}{}
	n.over = true
	<-n.turn
}

// read is Store.read as a part of the snapshot.
func (n *snapshot) read(ctx context.Context, s *Store, work func(r *session) error) error {
	if err := ctx.Err(); err != nil {
		return ended(err)
	}
	select {
	case n.turn <- struct{}{}:
	case <-ctx.Done():
		return ended(ctx.Err())
	}
	defer func() { <-n.turn }()
	if n.over {
		return engine.Errorf(engine.Conflict, "snapshot-over", "the snapshot is over")
	}
	r := n.session
	before := r.ctx
	r.ctx = ctx
	defer func() {
		clear(r.raw) // what it points to belongs to the caller now
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
	return s.failed(ctx, r, err)
}

// readOn is read on a session.
func (s *Store) readOn(ctx context.Context, r *session, work func(r *session) error) error {
	for attempt := 1; ; attempt++ {
		r.told.Store(false)
		err := work(r)
		if err == nil {
			return nil
		}
		var stopped *stop
		if errors.As(err, &stopped) {
			return stopped.err
		}
		if out := r.evictedFrom(); out != nil {
			if r.told.Load() {
				return lockedTable("", out)
			}
			return out
		}
		if over := r.meter.verdict(); over != nil {
			s.failed(ctx, r, err) // gives up the connection where that is spent
			return over
		}
		kind := s.kind(err)
		// Without a connection there is nothing to wait for: the next request
		// finds out whether the database is back.
		renew := r.conn != nil && (kind == Away || kind == Stale)
		if r.told.Load() || kind != Lost && !renew || attempt == maxAttempts || !pause(ctx, attempt) {
			return s.failed(ctx, r, err)
		}
		if renew {
			s.lose(r)
		}
	}
}

// close waits for all readers to come back.
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
