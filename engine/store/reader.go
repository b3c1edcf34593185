package store

import (
	"context"
	"sync"

	"restsrv/engine"
)

// readers lends sessions for reading. A session's statements and scratch space
// are the borrower's meanwhile.
type readers struct {
	free chan *session
	size int

	mu     sync.Mutex
	closed bool
}

func newReaders(db *Database, trace func(string)) *readers {
	rs := &readers{free: make(chan *session, db.Readers), size: db.Readers}
	for range db.Readers {
		rs.free <- &session{db: db.Read, dialect: db.Dialect, trace: trace}
	}
	return rs
}

// borrow waits for a reader; the borrower must give it back.
func (rs *readers) borrow(ctx context.Context) (*session, error) {
	if err := ctx.Err(); err != nil {
		return nil, ended(err)
	}
	select {
	case r, ok := <-rs.free:
		return r, closedUnless(ok)
	default:
	}
	select {
	case r, ok := <-rs.free:
		return r, closedUnless(ok)
	case <-ctx.Done():
		return nil, ended(ctx.Err())
	}
}

func closedUnless(ok bool) error {
	if ok {
		return nil
	}
	return engine.Errorf(engine.Unavailable, "closed", "the database is closed")
}

func (rs *readers) giveBack(r *session) {
	clear(r.raw) // what it points to belongs to the borrower now
	rs.free <- r
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
		r := <-rs.free
		r.disconnect()
	}
	close(rs.free)
}
