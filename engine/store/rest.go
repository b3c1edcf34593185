package store

import (
	"hash/maphash"
	"sync/atomic"
	"time"
)

// Costly work of an account rests while other accounts use the database: after
// some time at work it does nothing for restShare times as long. The number of
// its connections and the places of the lanes bound how much runs at once, but
// not how much of the processors that takes: a long reading alone keeps one of
// them busy without a break.
//
// What rests: a long reading where this process executes it (scan.go), the place
// of a costly reading in the quick lane, and the heavy writes of an account
// (queue.go).
const (
	restShare   = 3
	restEvery   = 500 * time.Microsecond // of work of a long reading
	restMost    = 500 * time.Millisecond
	costlyTicks = 30 // of a reading in the quick lane: about 0.2 ms
	costlyTimed = 2 * time.Millisecond
)

// restAfter returns how long to rest after so much work.
func restAfter(work time.Duration) time.Duration { return min(restShare*work, restMost) }

// others notices whether several accounts use the database at the same time. It
// is safe for concurrent use; what it reports may be late by a request.
type others struct {
	stay  time.Duration // how long an account counts as present after its last request
	last  atomic.Uint64 // the account of the last request
	at    atomic.Int64  // when that came, in ns
	other atomic.Int64  // when the last request of another account came, in ns
	rests atomic.Int64  // how often work has rested for the sake of others
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
