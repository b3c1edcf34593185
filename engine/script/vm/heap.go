package vm

import (
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

const (
	defaultHeap = 512 << 20
	heapShare   = 70 // percent of Go's memory limit, if that is set
)

// HeapLimit returns the limit of the heap in bytes for asked, the configured value. If asked is 0, the limit is 70
// percent of Go's memory limit, or 512 MiB if there is no memory limit.
func HeapLimit(asked int64) uint64 {
	if asked > 0 {
		return uint64(asked)
	}
	if total := debug.SetMemoryLimit(-1); total < math.MaxInt64 {
		return uint64(total / 100 * heapShare)
	}
	return defaultHeap
}

// errMemory is the reason of an interrupt because of the limit of the heap.
type errMemory struct{ limit uint64 }

func (e errMemory) Error() string {
	return fmt.Sprintf("the memory limit of %d MiB for all scripts was reached, and this one had run longest", e.limit>>20)
}

// heap compares the size of the Go heap with a limit. The bodies of requests and responses have their own limits and
// are not counted. It cannot know which script has allocated a part of the heap. It also does not know how much of
// the heap is garbage until a collection has ended.
type heap struct {
	limit     uint64
	held      func() int64 // returns the bytes of bodies and responses; may be nil
	gc        func()       // runs a complete collection
	relieve   func()       // replaces VMs if scripts retain too much memory (see relief); may be nil
	relieving atomic.Bool  // relieve is running; meanwhile, the heap may grow further before a turn is interrupted
	samples   []metrics.Sample
	last      uint64       // bytes at the last check; 0 if there was none
	mark      uint64       // bytes when the limit was crossed or a turn was interrupted; 0 while the heap is smaller
	clean     *atomic.Bool // set when the collection that began at the mark has ended
	ending    bool         // at the last check, an interrupted turn may have been running
}

// NewHeap returns a heap with a limit in bytes. The bytes that held returns are subtracted from the size of the heap;
// held may be nil.
func NewHeap(limit uint64, held func() int64) *heap {
	return &heap{limit: limit, held: held, gc: runtime.GC, samples: []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}}
}

// skipCheck is called instead of exceedsLimit while no script runs. The next check of exceedsLimit then does not
// attribute the growth of the heap since the last check to a script.
func (h *heap) skipCheck() { h.last = 0 }

// exceedsLimit reports whether a turn must be interrupted now. Normally this is the case if the heap is still over
// the limit after a collection and after relieve. If the heap grows too fast, exceedsLimit does not wait for these.
// For example, a string that is doubled repeatedly grows while it is copied, and no check can run during a copy. The
// parameter ending reports that an interrupted turn is still running, so its memory cannot be collected yet.
func (h *heap) exceedsLimit(ending bool) bool {
	metrics.Read(h.samples)
	return h.judgeBytes(h.withoutHeld(h.samples[0].Value.Uint64()), ending)
}

// judgeBytes is exceedsLimit for a heap of the given size.
func (h *heap) judgeBytes(bytes uint64, ending bool) bool {
	step := h.limit / 4
	jumped := h.last > 0 && bytes > h.last+step
	ended := h.ending && !ending
	h.last, h.ending = bytes, ending
	switch {
	case bytes <= h.limit:
		h.mark = 0
		return false
	case h.mark == 0 && !jumped, ended:
		h.startCollection(bytes)
		return false
	case jumped, bytes > h.mark+step && !h.relieving.Load(), bytes > h.mark+2*step, !ending && h.clean.Load():
		h.startCollection(bytes)
		h.ending = true
		return true
	}
	return false
}

// startCollection starts a garbage collection on another goroutine. It then calls relieve, which replaces VMs if too
// much memory is still in use. When both have ended, h.clean is set.
func (h *heap) startCollection(bytes uint64) {
	done := &atomic.Bool{}
	h.mark, h.clean = bytes, done
	go func() {
		h.gc()
		if h.relieve != nil {
			h.relieving.Store(true)
			h.relieve()
			h.relieving.Store(false)
		}
		done.Store(true)
	}()
}

// liveBytes returns the size of the objects that were in use at the last collection, without bodies and responses.
func (h *heap) liveBytes() uint64 {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(samples)
	return h.withoutHeld(samples[0].Value.Uint64())
}

func (h *heap) withoutHeld(bytes uint64) uint64 {
	if h.held == nil {
		return bytes
	}
	return bytes - min(bytes, uint64(max(h.held(), 0)))
}
