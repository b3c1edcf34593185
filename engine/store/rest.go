package store

import (
	"hash/maphash"
	"sync/atomic"
	"time"
)

// While other accounts use the database, costly work of an account rests: after
// working for some time it pauses for restShare times as long. The number of
// connections and of places in the lanes limits how much runs at once, but not how
// much of the processors it takes: a single long reading keeps one of them busy.
//
// These rest: a long reading (scan.go), the place of a costly reading in the quick
// lane, and the heavy writes of an account (queue.go). Writes rest longer: the time
// of the writer is about half of what they take of the processors, and on SQLite no
// other write runs meanwhile.
const (
	restShare = 3
	restWrite = 6
	restEvery = 500 * time.Microsecond // of work of a long reading
	restMost  = 2 * time.Second
	rowSends  = 2 * time.Microsecond // of work to send a row after the reading
)

// A reading in the quick lane is costly from these numbers on. SQLite counts steps.
// Elsewhere the rows and the time decide. The time includes waiting, so it is long
// enough for a short list on a busy machine.
const (
	costlySteps = 6000 // about 0.2 ms
	stepsPerRow = 25   // that the work with a row costs in this process
	costlyRows  = 150
	costlyTimed = 10 * time.Millisecond
)

// restAfter returns how long to rest after working for a time.
func restAfter(work time.Duration, share int) time.Duration {
	return min(time.Duration(share)*work, restMost)
}

// others notices whether several accounts use the database at the same time. It
// is safe for concurrent use; what it reports may be late by a request.
type others struct {
	stay  time.Duration // how long an account counts as present after its last request
	last  atomic.Uint64 // the account of the last request
	at    atomic.Int64  // when that came, in ns
	other atomic.Int64  // when the last request of another account came, in ns
	rests atomic.Int64  // number of rests so far
}

// company is others.stay of a Store.
const company = 100 * time.Millisecond

// note is called with the key of every request, and reports whether other
// accounts are present. Work of the server itself, which has no key, does not
// count.
func (o *others) note(key string) bool {
	if key == "" {
		return false
	}
	now := time.Now().UnixNano()
	if name := nameOf(key); o.last.Load() != name {
		o.other.Store(o.at.Load())
		o.last.Store(name)
	}
	o.at.Store(now)
	return now-o.other.Load() < int64(o.stay)
}

// present reports whether an account other than that of key is present.
func (o *others) present(key string) bool {
	last := &o.at
	if o.last.Load() == nameOf(key) {
		last = &o.other
	}
	return time.Now().UnixNano()-last.Load() < int64(o.stay)
}

func nameOf(key string) uint64 { return maphash.String(keySeed, key) }

var keySeed = maphash.MakeSeed()
