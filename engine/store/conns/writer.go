package conns

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"restsrv/engine"
	"restsrv/engine/share"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/sqldb"
)

const batchTime = 5 * time.Millisecond // value of writer.Most in a pool

// writer runs the writes of the queue. Each of its goroutines owns a connection.
//
// If transactions can share a commit, jobs that wait at the same time are committed together, as a batch (gather.go).
// The first job of a batch and jobs of a single statement run directly; before every other job, a savepoint is set.
// After the commit, all jobs get their results. A batch of one job has no additional cost. If transactions cannot
// share a commit, each job has a transaction of its own (alone.go). A transaction of several calls uses the goroutine
// and its connection exclusively until it ends (transaction.go).
type writer struct {
	pool   *Pool
	Jobs   *queue
	traits sqldb.Traits
	crowd  crowd
	Most   time.Duration // time after which a batch accepts no more writes
	report refusals
	done   sync.WaitGroup
}

// job is one write: a transaction, or a part of a transaction that can be undone separately. Its work may run again
// after a failure, so work must not modify its input.
type job struct {
	ctx    context.Context
	key    string // share.Key of the caller
	work   func(w *Session) error
	light  bool         // the job does not count as heavy, regardless of its duration
	single bool         // the work writes by one statement, which is a transaction by itself
	whole  *transaction // a transaction of several calls, used instead of work; otherwise nil
	pass   *passage     // permission to wait for locked tables; nil if no table is locked
	state  atomic.Int32
	result chan error
}

// The states of a job. Both its caller and the writer can change the state from queued; the goroutine that succeeds
// owns the job.
const (
	queued int32 = iota
	started
	abandoned
)

func newWriter(s *Pool) *writer {
	w := &writer{pool: s, traits: s.traits, crowd: newCrowd(), Most: batchTime, report: refusals{log: s.cfg.Log}}
	w.Jobs = newQueue(s.cfg.WritesWaiting, s.traits.Writers, &s.Readers.Others)
	for range s.traits.Writers {
		w.done.Go(func() {
			own := newSession(s.db.Write, s.db.Dialect, s.traceFunc())
			own.locks, own.writes = s.Readers.Locks, true
			w.run(own)
		})
	}
	return w
}

// Do runs work in a transaction and returns when the transaction is durable. work must not retain the session. Do
// returns the errors of work, Unavailable, or Timeout.
func (w *writer) Do(ctx context.Context, work func(w *Session) error) error {
	return w.DoTo(ctx, nil, work)
}

// DoTo does the same as Do, for work that writes items of table t. In addition, if another session of the database has
// locked the table, the request waits without a connection (tablelocks.go).
func (w *writer) DoTo(ctx context.Context, t *layout.Table, work func(w *Session) error) error {
	return w.submitWork(ctx, t, false, work)
}

// DoStatement does the same as DoTo. Use it for work in which only one statement writes.
func (w *writer) DoStatement(ctx context.Context, t *layout.Table, work func(w *Session) error) error {
	return w.submitWork(ctx, t, true, work)
}

func (w *writer) submitWork(ctx context.Context, t *layout.Table, single bool, work func(w *Session) error) error {
	if whole := w.transactionOf(ctx); whole != nil {
		release, err := w.pool.Readers.Locks.reservePlace(whole.session, t, true)
		if err != nil {
			return err
		}
		defer release()
		return whole.runWrite(&job{ctx: ctx, work: work})
	}
	return w.pool.Readers.Locks.passLocks(ctx, t, true, func(p *passage) error {
		return w.waitFor(&job{ctx: ctx, work: work, single: single, pass: p, result: make(chan error, 1)})
	})
}

func (w *writer) waitFor(j *job) error {
	ctx := j.ctx
	if err := ctx.Err(); err != nil {
		return TimeoutError(err)
	}
	if err := w.handJob(j); err != nil {
		return err
	}
	select {
	case err := <-j.result:
		return err
	case <-ctx.Done():
	}
	if j.state.CompareAndSwap(queued, abandoned) {
		return TimeoutError(ctx.Err())
	}
	return <-j.result // the job is running, so its result counts
}

func (w *writer) handJob(j *job) error {
	j.key = share.Key(j.ctx)
	w.pool.Readers.Others.Note(j.key)
	length, err := w.Jobs.push(j)
	if err != nil {
		return w.report.logRefused(j.ctx, err)
	}
	w.crowd.noteLength(length)
	return nil
}

// close waits until the queue is empty and all jobs are done.
func (w *writer) close() {
	w.Jobs.close()
	w.done.Wait()
}

func (w *writer) run(s *Session) {
	defer s.disconnect()
	for j := w.Jobs.pop(); j != nil; j = w.Jobs.pop() {
		s.beginTurn()
		j.pass.lendUses(s)
		w.serveJob(s, j)
		s.endTurn()
		w.pool.cfg.Ended(s)
	}
}

// answerJob sends the result of a job to its caller.
func (w *writer) answerJob(j *job, err error) {
	if errors.Is(err, errUnsettled) {
		engine.StagingFrom(j.ctx).Unsettle()
	}
	w.Jobs.endJob(j)
	j.result <- err
}

// serveJob runs a job, and further jobs that can share its commit.
func (w *writer) serveJob(s *Session, j *job) {
	began := time.Now()
	switch {
	case j.whole != nil:
		s.Worked = 0
		err := w.runTransaction(s, j)
		w.pool.cfg.Ended(s)
		j.light = w.traits.Batch == 1 && s.Worked < heavyRows
		w.Jobs.chargeKey(j, time.Since(began))
		w.answerJob(j, err)
	case w.traits.Batch == 1:
		s.Worked = 0
		err := w.runAlone(s, j)
		w.pool.cfg.Ended(s)
		j.light = s.Worked < heavyRows // most of its time is a flush to the disk
		w.Jobs.chargeKey(j, time.Since(began))
		w.answerJob(j, err)
	default:
		w.runBatch(s, j)
	}
}

// runBatch runs first and then waiting jobs, and commits them together. It stops before a job that needs a commit of
// its own. A job can fail because of data that another job of the batch has written. The error must not be returned
// before this data is committed, so runBatch returns the errors of failed jobs after the commit.
func (w *writer) runBatch(s *Session, first *job) {
	if w.traits.Flushes {
		w.crowd.gather(w.Jobs)
	}
	began := time.Now()
	if err := s.Exec(w.traits.Begin); err != nil {
		w.answerJob(first, w.pool.EngineError(first.ctx, s, err))
		return
	}
	err := w.pool.EngineError(first.ctx, s, w.attemptTogether(s, first))
	last := w.chargeSince(first, began)
	if err != nil {
		w.rollback(s)
		w.answerJob(first, err)
		return
	}
	batch, refused := []*job{first}, []refusal(nil)
	only := &first.key
	for joining := last; len(batch)+len(refused) < w.traits.Batch && last.Sub(joining) < w.Most; {
		j := w.Jobs.joinBatch(only)
		if j == nil {
			break
		}
		if j.key != first.key {
			only = nil
		}
		lost, err := w.joinJob(s, j)
		last = w.chargeSince(j, last)
		if lost {
			w.rollback(s)
			w.answerAll(append(batch, j), refused, err)
			return
		}
		if err != nil {
			refused = append(refused, refusal{j, err})
			continue
		}
		batch = append(batch, j)
	}
	w.crowd.expected = len(batch) + len(refused)
	if err = s.Exec("COMMIT"); err != nil {
		w.rollback(s)
		err = w.unknownOutcome(w.pool.EngineError(context.Background(), s, err)) // unknown, because data in the write-ahead log may become valid after a crash
	}
	w.pool.cfg.Ended(s)
	w.answerAll(batch, refused, err)
}

// chargeSince charges a job with the time since the given moment, and returns the present time.
func (w *writer) chargeSince(j *job, since time.Time) time.Time {
	now := time.Now()
	w.Jobs.chargeKey(j, now.Sub(since))
	return now
}

// refusal is a job of a batch that failed while the batch continued, and its error.
type refusal struct {
	*job
	err error
}

// answerAll sends the results of the jobs of a batch.
func (w *writer) answerAll(jobs []*job, refused []refusal, err error) {
	for _, j := range jobs {
		w.answerJob(j, err)
	}
	for _, r := range refused {
		if err != nil {
			r.err = err // the cause may be data of the batch, which is lost too
		}
		w.answerJob(r.job, r.err)
	}
}

// joinJob runs j in a batch, and undoes its changes if j fails. lost is true if the whole transaction is lost.
func (w *writer) joinJob(s *Session, j *job) (lost bool, err error) {
	if j.single {
		err := w.pool.EngineError(j.ctx, s, w.attemptTogether(s, j))
		return err != nil && !w.isOpen(s), err
	}
	if err := s.Exec("SAVEPOINT job"); err != nil {
		return true, w.pool.EngineError(j.ctx, s, err)
	}
	failure := w.pool.EngineError(j.ctx, s, w.attemptTogether(s, j))
	if s.Conn == nil {
		return true, failure
	}
	if failure != nil {
		if err := s.Exec("ROLLBACK TO SAVEPOINT job"); err != nil {
			return true, w.pool.EngineError(context.Background(), s, err)
		}
	}
	if err := s.Exec("RELEASE SAVEPOINT job"); err != nil {
		return true, w.pool.EngineError(context.Background(), s, err)
	}
	return false, failure
}

// isOpen reports whether the transaction of s is still open. To find out, it executes BEGIN, which fails inside a
// transaction.
func (w *writer) isOpen(s *Session) bool {
	if s.Conn == nil {
		return false
	}
	err := s.Exec(w.traits.Begin)
	return err != nil && w.pool.FailureKind(err) == sqldb.Other
}

// attemptTogether runs the work of j as a part of a batch. The context of the work has the values of the job's
// context, such as the account, but does not end with it, because an interrupted statement would end the transaction
// of all jobs.
func (w *writer) attemptTogether(s *Session, j *job) error {
	s.Ctx = context.WithoutCancel(j.ctx)
	defer func() { s.Ctx = context.Background() }()
	return w.attemptJob(s, j)
}

// attemptWatched runs the work of j, and interrupts its statements if the context of the job ends.
func (w *writer) attemptWatched(s *Session, j *job) error {
	inner, unwatch := s.WatchContext(j.ctx)
	s.Ctx = inner
	defer func() { s.Ctx = context.Background() }()
	return unwatch(w.attemptJob(s, j))
}

// inTransaction runs the work of j in an open transaction, as attemptWatched does. It also returns an error if the
// connection, and with it the transaction, was lost.
func (w *writer) inTransaction(s *Session, j *job) error {
	err := w.attemptWatched(s, j)
	if err == nil && s.Conn == nil {
		return TimeoutError(j.ctx.Err())
	}
	return err
}

// attemptJob runs the work of j. If the work panics, only this job fails.
func (w *writer) attemptJob(s *Session, j *job) (err error) {
	defer func() {
		if r := recover(); r != nil {
			w.pool.cfg.Log.Error("a write panicked", "panic", r, "stack", string(debug.Stack()))
			err = engine.Wrap(fmt.Errorf("panic: %v", r), "the write failed")
		}
	}()
	if err := j.ctx.Err(); err != nil {
		return TimeoutError(err)
	}
	s.tied = true
	defer func() { s.tied = false }()
	return j.work(s)
}

// rollback rolls back the transaction of s, unless the database has ended it already.
func (w *writer) rollback(s *Session) {
	if s.Conn != nil && s.Exec("ROLLBACK") != nil {
		s.disconnect() // closing the connection ends any transaction
	}
}

// Exec runs a statement without parameters or results.
func (s *Session) Exec(text string) error {
	st, err := s.Prepare(text)
	if err != nil {
		return err
	}
	_, err = st.ExecContext(context.Background())
	return err
}
