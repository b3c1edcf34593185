package store

import (
	"context"
	"errors"
	"fmt"

	"restsrv/engine"
)

var _ engine.Transactor = (*Store)(nil)

// transaction is several calls that are committed together. It has a session of
// the writer to itself: what its context reaches reads and writes there.
type transaction struct {
	store   *Store
	session *session
	begun   chan struct{} // closed once the session is there
	end     chan error    // how the work ended

	// turn is held by who uses the session, and guards what follows.
	turn   chan struct{}
	over   bool
	broken error // why it cannot be committed any more
	holds  bool  // a call has ended well: the transaction may hold locks

	outermost *transaction // it is a part of, or itself
	rollback  func() error // of the outermost one; nil once it was called
}

type transactionKey struct{}

// transactionOf is the transaction that ctx belongs to, nil for none. It is one
// of all Stores of the database, whose queue they share.
func (s *Store) transactionOf(ctx context.Context) *transaction {
	return s.writer.transactionOf(ctx)
}

func (w *writer) transactionOf(ctx context.Context) *transaction {
	if t, ok := ctx.Value(transactionKey{}).(*transaction); ok && t.store.writer == w {
		return t
	}
	return nil
}

// within is the context of the calls of a transaction.
func (t *transaction) within(ctx context.Context) context.Context {
	return context.WithValue(ctx, transactionKey{}, t)
}

func (s *Store) newTransaction() *transaction {
	t := &transaction{store: s, begun: make(chan struct{}), end: make(chan error, 1), turn: make(chan struct{}, 1)}
	t.outermost = t
	return t
}

// errAbandoned ends the transaction of work that panicked.
var errAbandoned = errors.New("the work of a transaction was abandoned")

// Transaction is engine.Transactor's.
func (s *Store) Transaction(ctx context.Context, work func(ctx context.Context) error) error {
	if t := s.transactionOf(ctx); t != nil {
		return t.nested(ctx, work)
	}
	t := s.newTransaction()
	result, err := s.writer.begin(ctx, t)
	if err != nil {
		return err
	}
	done := false
	defer func() {
		if !done {
			t.end <- errAbandoned
			<-result
		}
	}()
	err = work(t.within(ctx))
	done = true
	t.end <- err
	if failure := <-result; err == nil {
		err = failure
	}
	return err
}

// begin waits until a transaction has a session. The channel tells how it ended,
// when that was asked.
func (w *writer) begin(ctx context.Context, t *transaction) (result <-chan error, err error) {
	if err := ctx.Err(); err != nil {
		return nil, ended(err)
	}
	j := &job{ctx: ctx, whole: t, result: make(chan error, 1)}
	if err := w.hand(j); err != nil {
		return nil, err
	}
	select {
	case <-t.begun:
		return j.result, nil
	case err := <-j.result:
		return nil, err
	case <-ctx.Done():
	}
	if j.state.CompareAndSwap(queued, abandoned) {
		return nil, ended(ctx.Err())
	}
	select {
	case <-t.begun:
		return j.result, nil
	case err := <-j.result:
		return nil, err
	}
}

// own opens a transaction, and waits for its end or that of its context.
func (w *writer) own(s *session, j *job) error {
	t := j.whole
	commit, rollback, err := w.open(s, j)
	if err != nil {
		return w.store.failed(j.ctx, s, err)
	}
	t.session, t.rollback = s, rollback
	s.whole.Store(true)
	defer s.whole.Store(false)
	close(t.begun)
	select {
	case err = <-t.end:
	case <-j.ctx.Done():
	}
	broken := t.close()
	if cause := j.ctx.Err(); err == nil && cause != nil {
		err = ended(cause)
	}
	if err == nil {
		err = broken
	}
	if err != nil {
		if s.conn != nil && t.undo() != nil {
			s.disconnect() // which ends the transaction too
		}
		return err
	}
	if !s.stays() {
		if t.undo() != nil {
			s.disconnect()
		}
		return lockedTable("", nil)
	}
	if err := commit(); err != nil {
		if s.conn != nil && rollback() != nil {
			s.disconnect() // the database may have done so already
		}
		return w.store.failed(context.Background(), s, w.unknown(err))
	}
	return nil
}

// open begins a transaction, on a new connection when the old one turns out to
// be gone.
func (w *writer) open(s *session, j *job) (commit, rollback func() error, err error) {
	for attempt := 1; ; attempt++ {
		commit, rollback, err = w.openOnce(s, j.ctx)
		kind := w.store.kind(err)
		if err == nil || attempt == maxAttempts || s.conn == nil || kind != Away && kind != Stale || !pause(j.ctx, attempt) {
			return commit, rollback, err
		}
		w.store.lose(s)
	}
}

func (w *writer) openOnce(s *session, ctx context.Context) (commit, rollback func() error, err error) {
	if s.conn == nil {
		if err := s.connect(ctx); err != nil {
			return nil, nil, err
		}
	}
	if w.traits.Batch > 1 {
		run := func(text string) func() error { return func() error { return s.exec(text) } }
		return run("COMMIT"), run("ROLLBACK"), s.exec(w.traits.Begin)
	}
	tx, err := s.begin()
	if err != nil {
		return nil, nil, err
	}
	return func() error { return s.end(tx.Commit) }, func() error { return s.end(tx.Rollback) }, nil
}

// enter waits for the session; leave must follow.
func (t *transaction) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return ended(err)
	}
	select {
	case t.turn <- struct{}{}:
	case <-ctx.Done():
		return ended(ctx.Err())
	}
	switch {
	case t.over:
		t.leave()
		return engine.Errorf(engine.Conflict, "transaction-over", "the transaction is over")
	case t.broken != nil:
		t.leave()
		return t.broken
	}
	return nil
}

func (t *transaction) leave() { <-t.turn }

// close lets a call that runs finish, and no other begin.
func (t *transaction) close() (broken error) {
	t.turn <- struct{}{}
	defer t.leave()
	t.over = true
	return t.broken
}

// write is a job that is a part of the transaction. It is made again when another
// transaction was in its way, unless the transaction holds locks that the other one
// may be waiting for: then it is undone at once, because the calls before this one
// cannot be made again here.
func (t *transaction) write(j *job) error {
	if err := t.enter(j.ctx); err != nil {
		return err
	}
	defer t.leave()
	for attempt := 1; ; attempt++ {
		err, repeat := t.part(j.ctx, true, j.work)
		if err == nil || !repeat || attempt == maxAttempts || !pause(j.ctx, attempt) {
			return err
		}
	}
}

// undo rolls the transaction back, if that was not done yet.
func (t *transaction) undo() error {
	rollback := t.outermost.rollback
	if t.outermost.rollback = nil; rollback == nil {
		return nil
	}
	return rollback()
}

// giveWay undoes the transaction because another one is in its way, which then goes
// on at once.
func (t *transaction) giveWay(err error) error {
	if t.session.conn != nil && t.undo() != nil {
		t.session.disconnect()
	}
	return t.spoil(&engine.Error{Code: engine.Unavailable, Reason: "busy", RetryAfter: retryBusy,
		Message: "another transaction was in the way of this one, which was undone: it may be tried again as a whole", Err: err})
}

// read is Store.read as a part of the transaction.
func (t *transaction) read(ctx context.Context, work func(r *session) error) error {
	if err := t.enter(ctx); err != nil {
		return err
	}
	defer t.leave()
	s := t.session
	s.told.Store(false)
	defer func() {
		clear(s.raw) // what it points to belongs to the caller now
		s.guard, s.loadable = nil, nil
	}()
	err, _ := t.part(ctx, t.store.traits.Savepoint, work)
	var stopped *stop
	if errors.As(err, &stopped) {
		return stopped.err
	}
	return err
}

// part runs work, behind a savepoint if it must be undone when it fails. repeat
// means that it may succeed when it is done again.
func (t *transaction) part(ctx context.Context, undo bool, work func(*session) error) (err error, repeat bool) {
	s := t.session
	if undo {
		if err := s.exec("SAVEPOINT call"); err != nil {
			return t.spoil(err), false
		}
	}
	err = t.attempt(ctx, work)
	if err == nil {
		t.holds = true
	}
	if err != nil {
		if out := s.evictedFrom(); out != nil {
			return t.spoil(lockedTable("", out)), false
		}
	}
	var mark again
	repeat = t.store.kind(err) == Lost
	if repeat && t.holds && !errors.As(err, &mark) {
		return t.giveWay(err), false
	}
	var stopped *stop
	if !errors.As(err, &stopped) {
		err = t.store.failed(ctx, s, err)
	}
	if s.conn == nil {
		return t.spoil(err), false
	}
	if !undo {
		return err, false
	}
	if err != nil {
		if failure := s.exec("ROLLBACK TO SAVEPOINT call"); failure != nil {
			t.spoil(err) // the database gave the whole transaction up
			return err, false
		}
	}
	if failure := s.exec("RELEASE SAVEPOINT call"); failure != nil {
		return t.spoil(failure), false
	}
	return err, repeat
}

// spoil makes sure that the transaction is not committed.
func (t *transaction) spoil(err error) error {
	if t.broken == nil {
		t.broken = t.store.failed(context.Background(), t.session, err)
	}
	return t.broken
}

// attempt runs work with the context of its call, which ends its statements: who
// interrupts a write loses the transaction, and has lost it anyway. A panic fails
// the call.
func (t *transaction) attempt(ctx context.Context, work func(*session) error) error {
	return t.store.writer.inTransaction(t.session, &job{ctx: ctx, work: work})
}

// nested is a transaction within another.
func (t *transaction) nested(ctx context.Context, work func(ctx context.Context) error) (err error) {
	if err := t.enter(ctx); err != nil {
		return err
	}
	defer t.leave()
	s := t.session
	if err := s.exec("SAVEPOINT part"); err != nil {
		return t.spoil(err)
	}
	inner := t.store.newTransaction()
	inner.session, inner.holds, inner.outermost = s, t.holds, t.outermost
	err = errAbandoned
	defer func() {
		if broken := inner.close(); broken != nil {
			t.broken = broken
		}
		t.holds = t.holds || inner.holds
		if failure := t.endPart(err == nil); failure != nil && err == nil {
			err = failure
		}
	}()
	err = work(inner.within(ctx))
	return err
}

// endPart keeps or undoes what came behind the savepoint of a nested transaction.
func (t *transaction) endPart(keep bool) error {
	if t.broken != nil {
		return t.broken
	}
	s := t.session
	if !keep {
		if err := s.exec("ROLLBACK TO SAVEPOINT part"); err != nil {
			return t.spoil(err)
		}
	}
	if err := s.exec("RELEASE SAVEPOINT part"); err != nil {
		return t.spoil(fmt.Errorf("the end of a nested transaction: %w", err))
	}
	return nil
}

// held ends a SELECT of rows of p: within a transaction nobody else may change
// them before it ends, as where there is one writer nobody can.
func (s *Store) held(ctx context.Context, p *plan) string {
	if s.traits.Lock == "" || s.transactionOf(ctx) == nil {
		return ""
	}
	return s.traits.Lock + " OF " + p.table.quoted
}
