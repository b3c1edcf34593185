package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
)

// gcPercent trades memory for time: the live heap is small beside the page
// caches of SQLite, so collecting half as often costs little of it. GOGC in
// the environment wins.
const gcPercent = 200

// leastGarbage is how many MiB of garbage a collection waits for at least. Often
// no more than 3 MiB are alive: by gcPercent alone a busy server would collect 50
// times a second, and spend a tenth of its processor time on it, or a fifth.
const leastGarbage = 16

// A heap of more than manyLive MiB may have garbage of slowPercent of the rest. What
// makes it so large is often no state but work of the moment, such as the objects of
// large answers, and more of it must not mean more garbage too.
const (
	manyLive    = 32
	slowPercent = 50
)

// paceGC has a server collect by pacedPercent from the next collection on, for
// as long as the process lives: what was needed to start it is not kept longer.
// held returns how many bytes the bodies and answers of requests take.
func paceGC(held func() int64) {
	heldBytes.Store(&held)
	startPacing()
}

var (
	heldBytes   atomic.Pointer[func() int64]
	startPacing = sync.OnceFunc(func() { runtime.AddCleanup(new([64]byte), pace, gcPercent) })
)

// pace is called at the end of every collection, which finds out that nothing
// holds what it is the cleanup of; set is the percentage so far.
func pace(set int) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	percent := pacedPercent(live[0].Value.Uint64(), uint64(max((*heldBytes.Load())(), 0)))
	if percent != set {
		debug.SetGCPercent(percent) // stops all for a moment
	}
	runtime.AddCleanup(new([64]byte), pace, percent)
}

// pacedPercent returns GOGC for a number of live bytes, of which held are bodies and
// answers of requests. These are large and short-lived, so they must not raise the
// amount of garbage. Go itself counts at least 4 MiB of live bytes.
func pacedPercent(live, held uint64) int {
	all := max(int(live>>20), 4)
	rest := max(all-int(held>>20), 0)
	garbage := gcPercent*min(rest, manyLive) + slowPercent*max(rest-manyLive, 0)
	return max(max(garbage, 100*leastGarbage)/all, 1)
}

// giveBack returns the memory that a start or a reload no longer needs to the
// operating system. An idle server would otherwise keep it until its next garbage
// collection.
func giveBack() { debug.FreeOSMemory() }
