package conns

import (
	"context"
	"errors"
	"fmt"

	"restsrv/engine"
	"restsrv/engine/store/sqldb"
)

var _ engine.Transactor = (*Pool)(nil)

// transaction is a sequence of calls that are committed together. It has a session of the writer to itself. Calls with
// the context of the transaction read and write on this session.
type transaction struct {
	pool    *Pool
	session *Session
	begun   chan struct{} // closed when the session is available
	end     chan error    // result of the work

	// turn is held by the call that uses the session. It guards the following fields.
	turn   chan struct{}
	over   bool
	broken error // why the transaction can no longer be committed
	holds  bool  // a call has succeeded, so the transaction may hold locks

	outermost *transaction // the transaction that contains this one, or itself
	rollback  func() error // of the outermost transaction; nil after it was called
}

type transactionKey struct{}

// TransactionOf returns the transaction of ctx, or nil if there is none. All Stores of a database share transactions,
// because they share the queue of writes.
func (s *Pool) TransactionOf(ctx context.Context) *transaction {
	return s.Writer.transactionOf(ctx)
}

func (w *writer) transactionOf(ctx context.Context) *transaction {
	if t, ok := ctx.Value(transactionKey{}).(*transaction); ok && t.pool.Writer == w {
		return t
	}
	return nil
}

// bindContext returns the context for the calls of a transaction.
func (t *transaction) bindContext(ctx context.Context) context.Context {
	return context.WithValue(ctx, transactionKey{}, t)
}

func (s *Pool) newTransaction() *transaction {
	t := &transaction{pool: s, begun: make(chan struct{}), end: make(chan error, 1), turn: make(chan struct{}, 1)}
	t.outermost = t
	return t
}

// errAbandoned ends the transaction if its work panics.
var errAbandoned = errors.New("the work of a transaction was abandoned")

// Transaction implements engine.Transactor.
func (s *Pool) Transaction(ctx context.Context, work func(ctx context.Context) error) error {
	if t := s.TransactionOf(ctx); t != nil {
		return t.runNested(ctx, work)
	}
	t := s.newTransaction()
	result, err := s.Writer.beginTransaction(ctx, t)
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
	err = work(t.bindContext(ctx))
	done = true
	t.end <- err
	if failure := <-result; err == nil {
		err = failure
	}
	return err
}

// beginTransaction waits until a transaction has a session. After the caller has requested the end of the transaction,
// the returned channel receives the result.
func (w *writer) beginTransaction(ctx context.Context, t *transaction) (result <-chan error, err error) {
	if err := ctx.Err(); err != nil {
		return nil, TimeoutError(err)
	}
	j := &job{ctx: ctx, whole: t, result: make(chan error, 1)}
	if err := w.handJob(j); err != nil {
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
		return nil, TimeoutError(ctx.Err())
	}
	select {
	case <-t.begun:
		return j.result, nil
	case err := <-j.result:
		return nil, err
	}
}

// runTransaction opens a transaction, and waits until the transaction or its context ends.
func (w *writer) runTransaction(s *Session, j *job) error {
	t := j.whole
	commit, rollback, err := w.openTransaction(s, j)
	if err != nil {
		return w.pool.EngineError(j.ctx, s, err)
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
		err = TimeoutError(cause)
	}
	if err == nil {
		err = broken
	}
	if err != nil {
		if s.Conn != nil && t.undo() != nil {
			s.disconnect() // disconnecting also ends the transaction
		}
		return err
	}
	if !s.ForbidEviction() {
		if t.undo() != nil {
			s.disconnect()
		}
		return lockedTable("", nil)
	}
	if err := commit(); err != nil {
		if s.Conn != nil && rollback() != nil {
			s.disconnect() // the database may have rolled back already
		}
		return w.pool.EngineError(context.Background(), s, w.unknownOutcome(err))
	}
	return nil
}

// openTransaction begins a transaction. If the connection turns out to be lost, it opens a new one.
func (w *writer) openTransaction(s *Session, j *job) (commit, rollback func() error, err error) {
	for attempt := 1; ; attempt++ {
		commit, rollback, err = w.openOnce(s, j.ctx)
		kind := w.pool.FailureKind(err)
		if err == nil || attempt == MaxAttempts || s.Conn == nil || kind != sqldb.Away && kind != sqldb.Stale || !Pause(j.ctx, attempt) {
			return commit, rollback, err
		}
		w.pool.LoseConnection(s)
	}
}

func (w *writer) openOnce(s *Session, ctx context.Context) (commit, rollback func() error, err error) {
	if s.Conn == nil {
		if err := s.Connect(ctx); err != nil {
			return nil, nil, err
		}
	}
	if w.traits.Batch > 1 {
		run := func(text string) func() error { return func() error { return s.Exec(text) } }
		return run("COMMIT"), run("ROLLBACK"), s.Exec(w.traits.Begin)
	}
	tx, err := s.begin()
	if err != nil {
		return nil, nil, err
	}
	return func() error { return s.end(tx.Commit) }, func() error { return s.end(tx.Rollback) }, nil
}

// enterCall waits until the call can use the session. After success, the caller must call leaveCall.
func (t *transaction) enterCall(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return TimeoutError(err)
	}
	select {
	case t.turn <- struct{}{}:
	case <-ctx.Done():
		return TimeoutError(ctx.Err())
	}
	switch {
	case t.over:
		t.leaveCall()
		return engine.Errorf(engine.Conflict, "transaction-over", "the transaction is over")
	case t.broken != nil:
		t.leaveCall()
		return t.broken
	}
	return nil
}

func (t *transaction) leaveCall() { <-t.turn }

// close waits for a running call to finish, and makes later calls fail.
func (t *transaction) close() (broken error) {
	t.turn <- struct{}{}
	defer t.leaveCall()
	t.over = true
	return t.broken
}

// runWrite runs a job as a part of the transaction. If a second transaction is in its way, the job is repeated, but
// only if this transaction holds no locks. If it holds locks, the second one may be waiting for them. Then this
// transaction is rolled back immediately, because its earlier calls cannot be repeated here.
func (t *transaction) runWrite(j *job) error {
	if err := t.enterCall(j.ctx); err != nil {
		return err
	}
	defer t.leaveCall()
	for attempt := 1; ; attempt++ {
		err, repeat := t.runPart(j.ctx, true, j.work)
		if err == nil || !repeat || attempt == MaxAttempts || !Pause(j.ctx, attempt) {
			return err
		}
	}
}

// undo rolls the transaction back, if it has not been rolled back already.
func (t *transaction) undo() error {
	rollback := t.outermost.rollback
	if t.outermost.rollback = nil; rollback == nil {
		return nil
	}
	return rollback()
}

// giveWay rolls the transaction back because a second transaction is in its way, which can then continue.
func (t *transaction) giveWay(err error) error {
	if t.session.Conn != nil && t.undo() != nil {
		t.session.disconnect()
	}
	return t.spoil(&engine.Error{Code: engine.Unavailable, Reason: "busy", RetryAfter: RetryBusy,
		Message: "another transaction was in the way of this one, which was undone: it may be tried again as a whole", Err: err})
}

// runRead calls work with the session of the transaction, after other calls of the transaction have ended.
func (t *transaction) runRead(ctx context.Context, work func(r *Session) error) error {
	if err := t.enterCall(ctx); err != nil {
		return err
	}
	defer t.leaveCall()
	s := t.session
	s.delivered.Store(false)
	defer func() {
		clear(s.Raw) // the values in Raw belong to the caller now
		s.Guard, s.Loadable = nil, nil
	}()
	err, _ := t.runPart(ctx, t.pool.traits.Savepoint, work)
	var stopped *Stop
	if errors.As(err, &stopped) {
		return stopped.Err
	}
	return err
}

// runPart runs the work of one call. If undo is set, a failure undoes the changes of the work, back to a savepoint.
// repeat is true if the work may succeed when it is repeated.
func (t *transaction) runPart(ctx context.Context, undo bool, work func(*Session) error) (err error, repeat bool) {
	s := t.session
	if undo {
		if err := s.Exec("SAVEPOINT call"); err != nil {
			return t.spoil(err), false
		}
	}
	err = t.attemptPart(ctx, work)
	if err == nil {
		t.holds = true
	}
	if err != nil {
		if out := s.evictedFrom(); out != nil {
			return t.spoil(lockedTable("", out)), false
		}
	}
	var mark again
	repeat = t.pool.FailureKind(err) == sqldb.Lost
	if repeat && t.holds && !errors.As(err, &mark) {
		return t.giveWay(err), false
	}
	var stopped *Stop
	if !errors.As(err, &stopped) {
		err = t.pool.EngineError(ctx, s, err)
	}
	if s.Conn == nil {
		return t.spoil(err), false
	}
	if !undo {
		return err, false
	}
	if err != nil {
		if failure := s.Exec("ROLLBACK TO SAVEPOINT call"); failure != nil {
			t.spoil(err) // the database has given up the whole transaction
			return err, false
		}
	}
	if failure := s.Exec("RELEASE SAVEPOINT call"); failure != nil {
		return t.spoil(failure), false
	}
	return err, repeat
}

// spoil prevents the transaction from being committed, and returns the error with which it will end.
func (t *transaction) spoil(err error) error {
	if t.broken == nil {
		t.broken = t.pool.EngineError(context.Background(), t.session, err)
	}
	return t.broken
}

// attemptPart runs work. If ctx, the context of the call, ends, the running statement is interrupted. If this
// statement is a write, the whole transaction fails. If work panics, only the call fails.
func (t *transaction) attemptPart(ctx context.Context, work func(*Session) error) error {
	return t.pool.Writer.inTransaction(t.session, &job{ctx: ctx, work: work})
}

// runNested runs a transaction inside another, between a savepoint and its release.
func (t *transaction) runNested(ctx context.Context, work func(ctx context.Context) error) (err error) {
	if err := t.enterCall(ctx); err != nil {
		return err
	}
	defer t.leaveCall()
	s := t.session
	if err := s.Exec("SAVEPOINT part"); err != nil {
		return t.spoil(err)
	}
	inner := t.pool.newTransaction()
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
	err = work(inner.bindContext(ctx))
	return err
}

// endPart keeps or undoes the changes since the savepoint of a nested transaction.
func (t *transaction) endPart(keep bool) error {
	if t.broken != nil {
		return t.broken
	}
	s := t.session
	if !keep {
		if err := s.Exec("ROLLBACK TO SAVEPOINT part"); err != nil {
			return t.spoil(err)
		}
	}
	if err := s.Exec("RELEASE SAVEPOINT part"); err != nil {
		return t.spoil(fmt.Errorf("the end of a nested transaction: %w", err))
	}
	return nil
}
