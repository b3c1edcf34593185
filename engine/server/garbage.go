package server

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
)

// GCPercent trades memory for time: the live heap is small compared to the page
// caches of SQLite, so it costs little to collect half as often. GOGC in the
// environment overrides it.
const GCPercent = 200

// leastGarbage is the minimum amount of garbage between two collections, in MiB.
// Often only 3 MiB are alive: with gcPercent alone a busy server would collect 50
// times a second, and spend 10 to 20 percent of its processor time on it.
const leastGarbage = 16

// If more than manyLive MiB are alive, the part above it may have only slowPercent
// of garbage. A large heap often contains temporary data, such as the objects of
// large answers, and it should not also cause more garbage.
const (
	manyLive    = 32
	slowPercent = 50
)

// paceGC sets GOGC by pacedPercent from the next collection on, as long as the
// process lives, so that the memory of the start is not kept longer than needed.
// held returns the number of bytes in bodies and answers of requests.
func paceGC(held func() int64) {
	heldBytes.Store(&held)
	startPacing()
}

var (
	heldBytes   atomic.Pointer[func() int64]
	startPacing = sync.OnceFunc(func() { runtime.AddCleanup(new([64]byte), pace, GCPercent) })
)

// pace runs after every collection, as the cleanup of an object that is not
// referenced. set is the current percentage.
func pace(set int) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	percent := pacedPercent(live[0].Value.Uint64(), uint64(max((*heldBytes.Load())(), 0)))
	if percent != set {
		debug.SetGCPercent(percent) // stops all goroutines for a moment
	}
	runtime.AddCleanup(new([64]byte), pace, percent)
}

// pacedPercent returns GOGC for a number of live bytes, of which held are bodies and
// answers of requests. These are large and short-lived, so they should not raise the
// amount of garbage. Go itself counts at least 4 MiB of live bytes.
func pacedPercent(live, held uint64) int {
	all := max(int(live>>20), 4)
	rest := max(all-int(held>>20), 0)
	garbage := GCPercent*min(rest, manyLive) + slowPercent*max(rest-manyLive, 0)
	return max(max(garbage, 100*leastGarbage)/all, 1)
}

// returnMemory returns the memory that a start or a reload no longer needs to the
// operating system. An idle server would otherwise hold it until its next garbage
// collection.
func returnMemory() { debug.FreeOSMemory() }
