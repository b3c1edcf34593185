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

// paceGC has a server collect by pacedPercent from the next collection on, for
// as long as the process lives: what was needed to start it is not kept longer.
// held returns how many bytes are bodies and answers of requests.
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

// pacedPercent is GOGC for so many live bytes, of which requests hold some as
// bodies and answers: large blocks that come and go, beside which there may be no
// more garbage than without them. Below 4 MiB Go itself counts live bytes as that
// many.
func pacedPercent(live, held uint64) int {
	all := max(int(live>>20), 4)
	rest := max(all-int(held>>20), 0)
	return max(max(gcPercent*rest, 100*leastGarbage)/all, 1)
}

// giveBack returns the memory to the operating system that a start or a reload
// needed for a moment. Without it a server with little to do would keep it until
// it has made as much garbage again.
func giveBack() { debug.FreeOSMemory() }
