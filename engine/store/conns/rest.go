package conns

import (
	"hash/maphash"
	"sync/atomic"
	"time"
)

// While other accounts use the database, expensive work of an account rests: after each period of work it pauses for
// restShare times as long. The limits on connections and places are not enough for that: they limit how much work runs
// at the same time, but not its share of the processors. A single long read can keep one processor busy.
//
// Three kinds of work rest:
//   - long reads (scan.go)
//   - expensive reads in the quick lane; they have ended, but keep their place in the lane while they rest
//   - heavy writes (queue.go)
//
// Writes rest longer, because the time of the writer is only about half of the processor time of a write, and with
// SQLite no other write can run at the same time.
const (
	restShare = 4
	restWrite = 6                      // the same factor for heavy writes
	restEvery = 500 * time.Microsecond // a long read rests each time after it has worked this long
	restMost  = 2 * time.Second        // maximum length of a rest
	rowSends  = 2 * time.Microsecond   // estimated time to send a row after the read, which counts as work
)

// A read in the quick lane is expensive if it exceeds one of these numbers. For SQLite, its steps are counted. For
// other databases, rows and time are measured. The time includes waiting, so a short list on a busy machine must stay
// below the limit.
const (
	costlySteps = 6000 // about 0.2 ms
	stepsPerRow = 25   // the number of steps that take as long as the work for a row in this process
	costlyRows  = 150
	costlyTimed = 10 * time.Millisecond
)

// restAfter returns how long an account must rest after some work.
func restAfter(work time.Duration, share int) time.Duration {
	return min(time.Duration(share)*work, restMost)
}

// others detects whether several accounts use the database at the same time. It is safe for concurrent use. It may
// notice a change one request late.
type others struct {
	Stay  time.Duration // how long an account counts as present after its last request
	last  atomic.Uint64 // hash of the account of the last request
	at    atomic.Int64  // time of that request, in ns
	other atomic.Int64  // time of the last request of another account, in ns
	Rests atomic.Int64  // number of rests so far
}

// company is the value of others.Stay in a pool.
const company = 100 * time.Millisecond

// Note must be called for every request, with its key. It reports whether other accounts are present. Work of the
// server itself has an empty key and does not count.
func (o *others) Note(key string) bool {
	if key == "" {
		return false
	}
	now := time.Now().UnixNano()
	if name := nameOf(key); o.last.Load() != name {
		o.other.Store(o.at.Load())
		o.last.Store(name)
	}
	o.at.Store(now)
	return now-o.other.Load() < int64(o.Stay)
}

// present reports whether accounts other than that of key are present.
func (o *others) present(key string) bool {
	last := &o.at
	if o.last.Load() == nameOf(key) {
		last = &o.other
	}
	return time.Now().UnixNano()-last.Load() < int64(o.Stay)
}

func nameOf(key string) uint64 { return maphash.String(keySeed, key) }

var keySeed = maphash.MakeSeed()
