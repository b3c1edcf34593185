package server

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
)

// GCPercent is higher than the default of Go. The live heap is small compared with the page caches
// of SQLite, so collecting half as often costs little memory. GOGC in the environment takes
// precedence.
const GCPercent = 200

// leastGarbage is the minimum garbage between two collections, in MiB. Without it, a busy server
// with 3 MiB of live objects would collect 50 times a second, which takes 10 to 20 percent of its
// processor time.
const leastGarbage = 16

// If the live heap is larger than manyLive MiB, the part above manyLive increases the allowed
// garbage by only slowPercent of its size instead of GCPercent. A large heap often contains
// temporary data, such as objects of large answers; this data should not cause even more garbage.
const (
	manyLive    = 32
	slowPercent = 50
)

// paceGC adjusts GOGC after each collection, until the process ends (see pacedPercent). held
// returns the number of bytes in bodies and answers of requests.
func paceGC(held func() int64) {
	heldBytes.Store(&held)
	startPacing()
}

var (
	heldBytes   atomic.Pointer[func() int64]
	startPacing = sync.OnceFunc(func() { runtime.AddCleanup(new([64]byte), pace, GCPercent) })
)

// pace runs after each collection, as the cleanup of an unreachable object. set is the current
// percentage.
func pace(set int) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	percent := pacedPercent(live[0].Value.Uint64(), uint64(max((*heldBytes.Load())(), 0)))
	if percent != set {
		debug.SetGCPercent(percent) // stops all goroutines for a moment
	}
	runtime.AddCleanup(new([64]byte), pace, percent)
}

// pacedPercent returns the value for GOGC after a collection. live is the size of the live heap
// in bytes, and held is the part of it in bodies and answers of requests. Held bytes do not
// increase the allowed garbage, because they are soon released. Like Go itself, pacedPercent
// assumes at least 4 MiB of live bytes.
func pacedPercent(live, held uint64) int {
	all := max(int(live>>20), 4)
	rest := max(all-int(held>>20), 0)
	garbage := GCPercent*min(rest, manyLive) + slowPercent*max(rest-manyLive, 0)
	return max(max(garbage, 100*leastGarbage)/all, 1)
}

// returnMemory returns unused memory to the operating system after a start or a reload. Without it,
// an idle server would keep the memory until its next collection.
func returnMemory() { debug.FreeOSMemory() }
