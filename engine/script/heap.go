package script

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
	heapShare   = 70 // percent of the memory limit of Go, when there is one
)

// heapLimit is the watermark that a Config asks for.
func heapLimit(asked int64) uint64 {
	if asked > 0 {
		return uint64(asked)
	}
	if total := debug.SetMemoryLimit(-1); total < math.MaxInt64 {
		return uint64(total / 100 * heapShare)
	}
	return defaultHeap
}

// errMemory is the reason of an interrupt.
type errMemory struct{ limit uint64 }

func (e errMemory) Error() string {
	return fmt.Sprintf("the memory limit of %d MiB for all scripts was reached, and this one had run longest", e.limit>>20)
}

// heap compares the Go heap with its watermark. It does not count bodies and answers
// of requests, which have their own limits. It cannot know which script the other
// bytes belong to, nor how many are garbage before a collection has ended.
type heap struct {
	limit   uint64
	held    func() int64 // bytes of bodies and answers; nil means none
	gc      func()       // runs a collection to its end
	samples []metrics.Sample
	last    uint64       // bytes at the last look, 0 for none
	mark    uint64       // bytes when it crossed the limit or a turn was ended, 0 while under the limit
	clean   *atomic.Bool // a collection that began after the mark has ended
	ending  bool         // an interrupted turn may not have ended at the last look
}

func newHeap(limit uint64, held func() int64) *heap {
	return &heap{limit: limit, held: held, gc: runtime.GC, samples: []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}}
}

// rest is called instead of excess while no script runs.
func (h *heap) rest() { h.last = 0 }

// excess reports whether a turn must be ended now. It does so when the heap is
// over the limit after a collection, or grows too fast to wait for one: a text
// that doubles does so while it is copied, when no look can come between.
// ending says that an interrupted turn has not ended yet: what it holds is not
// garbage so far.
func (h *heap) excess(ending bool) bool {
	metrics.Read(h.samples)
	bytes := h.samples[0].Value.Uint64()
	if h.held != nil {
		bytes -= min(bytes, uint64(max(h.held(), 0)))
	}
	return h.judge(bytes, ending)
}

func (h *heap) judge(bytes uint64, ending bool) bool {
	step := h.limit / 4
	jumped := h.last > 0 && bytes > h.last+step
	ended := h.ending && !ending
	h.last, h.ending = bytes, ending
	switch {
	case bytes <= h.limit:
		h.mark = 0
		return false
	case h.mark == 0 && !jumped, ended:
		h.collect(bytes)
		return false
	case jumped, bytes > h.mark+step, !ending && h.clean.Load():
		h.collect(bytes)
		h.ending = true
		return true
	}
	return false
}

// collect starts a collection, whose end clean tells.
func (h *heap) collect(bytes uint64) {
	done := &atomic.Bool{}
	h.mark, h.clean = bytes, done
	go func() {
		h.gc()
		done.Store(true)
	}()
}
