package store

import (
	"context"
	"errors"
	"sync"

	"restsrv/engine"
)

// readers lends sessions for reading. A session's statements and scratch space
// are the borrower's meanwhile. Those that have a connection are lent first: what
// follows itself needs one only.
type readers struct {
	free  chan *session // with a connection
	fresh chan *session // without
	size  int

	mu     sync.Mutex
	closed bool
}

func newReaders(db *Database, trace func(string)) *readers {
	rs := &readers{free: make(chan *session, db.Readers), fresh: make(chan *session, db.Readers), size: db.Readers}
	for range db.Readers {
		rs.fresh <- newSession(db.Read, db.Dialect, trace)
	}
	return rs
}

// borrow waits for a reader; the borrower must give it back.
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
	}
	return r, closedUnless(ok)
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
	if r.conn == nil {
		rs.fresh <- r
		return
	}
	rs.free <- r
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
	if t := s.transactionOf(ctx); t != nil {
		return t.read(ctx, work)
	}
	r, err := s.readers.borrow(ctx)
	if err != nil {
		return err
	}
	defer s.readers.giveBack(r)
	for attempt := 1; ; attempt++ {
		r.told = false
		err := work(r)
		if err == nil {
			return nil
		}
		var stopped *stop
		if errors.As(err, &stopped) {
			return stopped.err
		}
		kind := s.kind(err)
		// Without a connection there is nothing to wait for: the next request
		// finds out whether the database is back.
		renew := r.conn != nil && (kind == Away || kind == Stale)
		if r.told || kind != Lost && !renew || attempt == maxAttempts || !pause(ctx, attempt) {
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
	defer rs.mu.Unlock()
	if rs.closed {
		return
	}
	rs.closed = true
	for range rs.size {
		select {
		case r := <-rs.free:
			r.disconnect()
		case <-rs.fresh:
		}
	}
	close(rs.free)
	close(rs.fresh)
}
