package conns

import (
	"sync"
	"sync/atomic"
	"time"

	"restsrv/engine"
	"restsrv/engine/share"
)

const (
	queueLength = 2048                 // waiting writes of all accounts
	heavyWrite  = 4 * time.Millisecond // if the jobs of an account or network take this long on average, they are heavy
	heavyRows   = 100                  // used if each write has its own commit: a write with fewer statements and changed rows is not heavy
	// An account that has just got the result of a write may send its next write soon. Before the queue starts a heavy
	// write of an account that has used more writer time, it waits this long for the next write of the first account.
	comebackTime = 1500 * time.Microsecond
)

// queue holds the waiting writes in one line for each key, which is an account or a network (share.Key). A job is one
// write. The next job is the first job of the key that has used the least writer time (start-time fair queueing, as in
// engine/share). When a key that was idle has a job again, its usage is raised to that of the key that was served
// last. Otherwise the key would be preferred for a long time.
//
// If a client sends its next write only after the previous one was answered, its line is empty for a moment. In this
// moment, the queue would always start a heavy write of another key, and the client would have to wait for it.
// Therefore the queue waits a moment for the next write of such a client (anticipatory scheduling).
//
// Heavy writes of one key may run at the same time, up to the number in the field heavies. While other accounts use
// the database, they run one after the other, with rests between them (rest.go).
type queue struct {
	perKey   int           // maximum number of waiting writes of one key
	heavies  int           // maximum number of heavy writes of one key that run at the same time; leaves one writer to other accounts
	comeback time.Duration // comebackTime, except in tests
	others   *others

	mu      sync.Mutex
	ready   sync.Cond
	closed  bool
	length  atomic.Int32
	clock   time.Duration // usage of the key that was served last
	keys    map[string]*line
	waiters int // number of goroutines that wait for a job
}

// line holds the waiting jobs of one key, and its usage.
type line struct {
	key      string
	jobs     []*job
	running  int
	used     time.Duration // writer time of all jobs
	cost     time.Duration // average writer time of a job
	answered time.Time     // when the last job ended; zero if the queue no longer waits for the next job
	rests    time.Time     // earliest start of the next heavy job while other accounts are present
}

func newQueue(perKey, writers int, others *others) *queue {
	q := &queue{perKey: waitingWrites(perKey), heavies: max(1, writers-1), comeback: comebackTime, others: others, keys: map[string]*line{}}
	q.ready.L = &q.mu
	return q
}

// waitingWrites returns Config.WritesWaiting, or its default.
func waitingWrites(configured int) int {
	if configured <= 0 {
		return queueLength / 2
	}
	return configured
}

func queueFull(reason, message string) error {
	return &engine.Error{Code: engine.Unavailable, Reason: reason, RetryAfter: time.Second, Message: message}
}

// push adds a job. It returns Unavailable if the queue is full or closed.
func (q *queue) push(j *job) (length int, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return 0, closedUnless(false)
	}
	n := int(q.length.Load())
	if n >= queueLength {
		return n, queueFull("queue", "too many writes are waiting")
	}
	l := q.keys[j.key]
	if l == nil {
		l = &line{key: j.key}
		q.keys[j.key] = l
	}
	if len(l.jobs) >= q.perKey && j.key != "" {
		return n, queueFull(share.Reason, "too many writes of this account are waiting")
	}
	if len(l.jobs) == 0 && l.running == 0 {
		l.used = max(l.used, q.clock)
	}
	l.jobs = append(l.jobs, j)
	q.length.Store(int32(n + 1))
	if q.waiters > 0 {
		q.ready.Signal()
	}
	return n + 1, nil
}

// Len returns the number of waiting jobs.
func (q *queue) Len() int { return int(q.length.Load()) }

// pop waits for a job and removes it from the queue. It returns nil if the queue is closed and empty.
func (q *queue) pop() *job {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		var rest time.Duration
		l := q.firstLine(func(l *line) bool { return l.cost < heavyWrite || q.mayRun(l, &rest) })
		switch {
		case l == nil && q.closed && q.length.Load() == 0:
			return nil
		case l == nil && rest > 0:
			q.waitFor(rest)
		case l == nil:
			q.wait()
		case l.cost >= heavyWrite && q.comesBack(l):
		default:
			if j := q.takeJob(l); j != nil {
				return j
			}
		}
	}
}

// mayRun reports whether a heavy job of a line may start. If the line must rest first, it lowers *rest to the
// remaining time of this rest.
func (q *queue) mayRun(l *line, rest *time.Duration) bool {
	switch {
	case l.running >= q.heavies:
		return false
	case q.closed || l.running == 0 && l.rests.IsZero() || !q.others.present(l.key):
		return true
	case l.running > 0:
		return false
	}
	left := time.Until(l.rests)
	if left > 0 && (*rest == 0 || left < *rest) {
		*rest = left
	}
	return left <= 0
}

func (q *queue) waitFor(d time.Duration) {
	wake := time.AfterFunc(d, q.wakeWaiters)
	q.wait()
	wake.Stop()
}

func (q *queue) wait() {
	q.waiters++
	q.ready.Wait()
	q.waiters--
}

// joinBatch takes a job that may share the commit of a batch, or returns nil if there is no such job. If all jobs of
// the batch have the same key, only points to this key; otherwise only is nil. A heavy job shares a commit only with
// jobs of its own key, and only if no other account is present.
func (q *queue) joinBatch(only *string) *job {
	if q.length.Load() == 0 {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		l := q.firstLine(func(l *line) bool {
			return l.jobs[0].whole == nil && (l.cost < heavyWrite || only != nil && *only == l.key && !q.others.present(l.key))
		})
		if l == nil {
			return nil
		}
		if j := q.takeJob(l); j != nil {
			return j
		}
	}
}

// firstLine returns the line with the next job. It considers only lines for which the function may returns true. It
// returns nil if there is no such line.
func (q *queue) firstLine(may func(*line) bool) (best *line) {
	for _, l := range q.keys {
		if len(l.jobs) == 0 || !may(l) {
			continue
		}
		if best == nil || l.used < best.used || l.used == best.used && l.key < best.key {
			best = l
		}
	}
	return best
}

// comesBack looks for a key that has used less time than l and whose last job was just answered. If there is such a
// key, comesBack waits a moment for the key's next job and returns true. Otherwise it returns false at once.
func (q *queue) comesBack(l *line) bool {
	if len(q.keys) < 2 {
		return false
	}
	now := time.Now()
	for _, other := range q.keys {
		if other == l || other.answered.IsZero() || len(other.jobs) > 0 || other.used >= l.used {
			continue
		}
		rest := q.comeback - now.Sub(other.answered)
		if rest <= 0 {
			other.answered = time.Time{}
			continue
		}
		q.waitFor(rest)
		return true
	}
	return false
}

func (q *queue) wakeWaiters() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ready.Broadcast()
}

// takeJob removes the first job of a line and returns it, or nil if the caller of the job no longer waits for it.
func (q *queue) takeJob(l *line) *job {
	j := l.jobs[0]
	l.jobs[0] = nil
	l.jobs = l.jobs[1:]
	q.length.Add(-1)
	if !j.state.CompareAndSwap(queued, started) {
		q.forgetIdle(l)
		return nil
	}
	l.running++
	q.clock = max(q.clock, l.used)
	return j
}

// chargeKey adds the duration of a job, or of a part of the job, to the usage of the job's key. After heavy work, it
// also sets how long the key must rest.
func (q *queue) chargeKey(j *job, used time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if l := q.keys[j.key]; l != nil {
		l.used += used
		if j.light {
			used = min(used, heavyWrite/2)
		}
		l.cost += (used - l.cost) / 4
		if used >= heavyWrite {
			now, rest := time.Now(), restAfter(used, restWrite)
			if l.rests.After(now) { // a rest remains from another heavy job in the same commit
				rest = min(rest+l.rests.Sub(now), restMost)
			}
			l.rests = now.Add(rest)
			if q.others.present(j.key) {
				q.others.Rests.Add(1)
			}
		}
	}
}

// endJob must be called when a job ends, before its caller gets the result.
func (q *queue) endJob(j *job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.keys[j.key]
	l.running--
	l.answered = time.Now()
	if q.waiters > 0 && (len(l.jobs) > 0 || q.closed) {
		q.ready.Broadcast() // a job of this key may have waited for the end of this one
	}
	q.forgetIdle(l)
}

// maxIdleKeys limits the number of keys without jobs for which the usage is remembered.
const maxIdleKeys = 64

func (q *queue) forgetIdle(l *line) {
	if len(q.keys) <= maxIdleKeys {
		return
	}
	for key, l := range q.keys {
		if l.running == 0 && len(l.jobs) == 0 && l.used <= q.clock {
			delete(q.keys, key)
		}
	}
}

// close marks the queue as closed. The writers end when the queue is empty.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.ready.Broadcast()
}
