package store

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
)

const batchTime = 5 * time.Millisecond // value of writer.most in a Store

// writer is the queue of writes. Each of its goroutines owns a connection.
//
// If transactions can share a commit, jobs that wait at the same time are committed together (gather.go). The first job
// of a batch and jobs of a single statement run directly; the others run after a savepoint each. Then there is one
// commit, and all jobs get their results. A single job has no additional cost. Otherwise each job has a transaction of
// its own (alone.go). A transaction of several calls uses the goroutine and its connection exclusively until it ends
// (transaction.go).
type writer struct {
	store  *Store
	jobs   *queue
	traits Traits
	crowd  crowd
	most   time.Duration // time after which a batch accepts no more writes
	report refusals
	done   sync.WaitGroup
}

// job is one write: a transaction, or a part of one that can be undone separately. Its work may run again after a
// failure, so it must not modify its input.
type job struct {
	ctx    context.Context
	key    string // of the caller, for its share
	work   func(w *session) error
	light  bool         // it does not count as heavy, regardless of its duration
	single bool         // the work writes by one statement, which is a transaction by itself
	whole  *transaction // a transaction of several calls, used instead of work; otherwise nil
	pass   *passage     // past locked tables; nil if there are none
	state  atomic.Int32
	result chan error
}

// The states of a job. The goroutine that changes the state from queued owns the job.
const (
	queued int32 = iota
	started
	abandoned
)

func newWriter(s *Store) *writer {
	w := &writer{store: s, traits: s.traits, crowd: newCrowd(), most: batchTime, report: refusals{log: s.cfg.Log}}
	w.jobs = newQueue(s.cfg.WritesWaiting, s.traits.Writers, &s.readers.others)
	for range s.traits.Writers {
		w.done.Go(func() {
			own := newSession(s.db.Write, s.db.Dialect, s.traceFunc())
			own.locks, own.writes = s.readers.locks, true
			w.run(own)
		})
	}
	return w
}

// do runs work in a transaction and returns when the transaction is durable. work must not retain the session. do
// returns the errors of work, Unavailable, or Timeout.
func (w *writer) do(ctx context.Context, work func(w *session) error) error {
	return w.doTo(ctx, nil, work)
}

// doTo is do for work that writes items of a table.
func (w *writer) doTo(ctx context.Context, t *table, work func(w *session) error) error {
	return w.submitWork(ctx, t, false, work)
}

// doStatement is doTo for work in which a single statement writes.
func (w *writer) doStatement(ctx context.Context, t *table, work func(w *session) error) error {
	return w.submitWork(ctx, t, true, work)
}

func (w *writer) submitWork(ctx context.Context, t *table, single bool, work func(w *session) error) error {
	if whole := w.transactionOf(ctx); whole != nil {
		release, err := w.store.readers.locks.reservePlace(whole.session, t, true)
		if err != nil {
			return err
		}
		defer release()
		return whole.runWrite(&job{ctx: ctx, work: work})
	}
	return w.store.readers.locks.passLocks(ctx, t, true, func(p *passage) error {
		return w.waitFor(&job{ctx: ctx, work: work, single: single, pass: p, result: make(chan error, 1)})
	})
}

func (w *writer) waitFor(j *job) error {
	ctx := j.ctx
	if err := ctx.Err(); err != nil {
		return timeoutError(err)
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
		return timeoutError(ctx.Err())
	}
	return <-j.result // the job is running, so its result counts
}

func (w *writer) handJob(j *job) error {
	j.key = share.Key(j.ctx)
	w.store.readers.others.note(j.key)
	length, err := w.jobs.push(j)
	if err != nil {
		return w.report.logRefused(j.ctx, err)
	}
	w.crowd.noteLength(length)
	return nil
}

// close waits until the queue is empty and all jobs are done.
func (w *writer) close() {
	w.jobs.close()
	w.done.Wait()
}

func (w *writer) run(s *session) {
	defer s.disconnect()
	for j := w.jobs.pop(); j != nil; j = w.jobs.pop() {
		s.beginTurn()
		j.pass.lendUses(s)
		w.serveJob(s, j)
		s.endTurn()
		w.store.reportEnded(s)
	}
}

// answerJob sends the result of a job to its caller.
func (w *writer) answerJob(j *job, err error) {
	if errors.Is(err, errUnsettled) {
		engine.StagingFrom(j.ctx).Unsettle()
	}
	w.jobs.endJob(j)
	j.result <- err
}

// serveJob runs a job, and jobs that can share its commit.
func (w *writer) serveJob(s *session, j *job) {
	began := time.Now()
	switch {
	case j.whole != nil:
		s.worked = 0
		err := w.runTransaction(s, j)
		w.store.reportEnded(s)
		j.light = w.traits.Batch == 1 && s.worked < heavyRows
		w.jobs.chargeKey(j, time.Since(began))
		w.answerJob(j, err)
	case w.traits.Batch == 1:
		s.worked = 0
		err := w.runAlone(s, j)
		w.store.reportEnded(s)
		j.light = s.worked < heavyRows // most of its time is a flush to the disk
		w.jobs.chargeKey(j, time.Since(began))
		w.answerJob(j, err)
	default:
		w.runBatch(s, j)
	}
}

// runBatch runs first and waiting jobs with one commit, up to a job that needs a commit of its own. Jobs that fail get
// their error after the commit, because the reason may be data that another job of the batch has written, which is not
// visible before.
func (w *writer) runBatch(s *session, first *job) {
	if w.traits.Flushes {
		w.crowd.gather(w.jobs)
	}
	began := time.Now()
	if err := s.exec(w.traits.Begin); err != nil {
		w.answerJob(first, w.store.engineError(first.ctx, s, err))
		return
	}
	err := w.store.engineError(first.ctx, s, w.attemptTogether(s, first))
	last := w.chargeSince(first, began)
	if err != nil {
		w.rollback(s)
		w.answerJob(first, err)
		return
	}
	batch, refused := []*job{first}, []refusal(nil)
	only := &first.key
	for joining := last; len(batch)+len(refused) < w.traits.Batch && last.Sub(joining) < w.most; {
		j := w.jobs.joinBatch(only)
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
	if err = s.exec("COMMIT"); err != nil {
		w.rollback(s)
		err = w.unknownOutcome(w.store.engineError(context.Background(), s, err)) // data in the write-ahead log may become valid after a crash
	}
	w.store.reportEnded(s)
	w.answerAll(batch, refused, err)
}

// chargeSince charges a job with the time since another moment, and returns the present time.
func (w *writer) chargeSince(j *job, since time.Time) time.Time {
	now := time.Now()
	w.jobs.chargeKey(j, now.Sub(since))
	return now
}

// refusal is a job of a batch that failed independently of the others.
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
			r.err = err // the data that caused the refusal may be gone too
		}
		w.answerJob(r.job, r.err)
	}
}

// joinJob runs j in a batch, and undoes its changes if it fails. lost is true if the whole transaction is lost.
func (w *writer) joinJob(s *session, j *job) (lost bool, err error) {
	if j.single {
		err := w.store.engineError(j.ctx, s, w.attemptTogether(s, j))
		return err != nil && !w.isOpen(s), err
	}
	if err := s.exec("SAVEPOINT job"); err != nil {
		return true, w.store.engineError(j.ctx, s, err)
	}
	failure := w.store.engineError(j.ctx, s, w.attemptTogether(s, j))
	if s.conn == nil {
		return true, failure
	}
	if failure != nil {
		if err := s.exec("ROLLBACK TO SAVEPOINT job"); err != nil {
			return true, w.store.engineError(context.Background(), s, err)
		}
	}
	if err := s.exec("RELEASE SAVEPOINT job"); err != nil {
		return true, w.store.engineError(context.Background(), s, err)
	}
	return false, failure
}

// isOpen reports whether a transaction is still open. Another BEGIN then fails, with an error other than an unavailable
// database.
func (w *writer) isOpen(s *session) bool {
	if s.conn == nil {
		return false
	}
	err := s.exec(w.traits.Begin)
	return err != nil && w.store.failureKind(err) == Other
}

// attemptTogether is attemptJob in a batch. The context of the work contains the account, but does not end with its
// request, because an interrupted statement would end the transaction of all jobs.
func (w *writer) attemptTogether(s *session, j *job) error {
	s.ctx = context.WithoutCancel(j.ctx)
	defer func() { s.ctx = context.Background() }()
	return w.attemptJob(s, j)
}

// attemptWatched is attemptJob with statements that end with the context of the job.
func (w *writer) attemptWatched(s *session, j *job) error {
	inner, unwatch := s.watchContext(j.ctx)
	s.ctx = inner
	defer func() { s.ctx = context.Background() }()
	return unwatch(w.attemptJob(s, j))
}

// inTransaction is attemptWatched in a transaction, which is lost if the connection is lost.
func (w *writer) inTransaction(s *session, j *job) error {
	err := w.attemptWatched(s, j)
	if err == nil && s.conn == nil {
		return timeoutError(j.ctx.Err())
	}
	return err
}

// attemptJob runs the work of j. A panic fails the job, but not the queue.
func (w *writer) attemptJob(s *session, j *job) (err error) {
	defer func() {
		if r := recover(); r != nil {
			w.store.cfg.Log.Error("a write panicked", "panic", r, "stack", string(debug.Stack()))
			err = engine.Wrap(fmt.Errorf("panic: %v", r), "the write failed")
		}
	}()
	if err := j.ctx.Err(); err != nil {
		return timeoutError(err)
	}
	s.tied = true
	defer func() { s.tied = false }()
	return j.work(s)
}

// rollback ends the transaction. The database may have ended it already.
func (w *writer) rollback(s *session) {
	if s.conn != nil && s.exec("ROLLBACK") != nil {
		s.disconnect() // closing the connection ends any transaction
	}
}

// exec runs a statement without parameters or results.
func (s *session) exec(text string) error {
	st, err := s.prepare(text)
	if err != nil {
		return err
	}
	_, err = st.ExecContext(context.Background())
	return err
}
