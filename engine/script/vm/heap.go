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

// HeapLimit returns the heap limit for a configured value. If the value is 0, it is derived from Go's memory limit,
// or is the default.
func HeapLimit(asked int64) uint64 {
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

// heap compares the Go heap with a limit. Bodies and responses of requests have their own limits and are not
// counted. The heap cannot be attributed to scripts, and the amount of garbage in it is unknown until a collection
// has ended.
type heap struct {
	limit   uint64
	held    func() int64 // returns the bytes of bodies and responses; may be nil
	gc      func()       // runs a complete collection
	samples []metrics.Sample
	last    uint64       // bytes at the last check; 0 if there was none
	mark    uint64       // bytes when the heap crossed the limit or a turn was ended; 0 while it is under the limit
	clean   *atomic.Bool // a collection that began after the mark has ended
	ending  bool         // at the last check, an interrupted turn may have been running
}

// NewHeap returns a heap with a limit in bytes. If held is not nil, the bytes that it returns do not count.
func NewHeap(limit uint64, held func() int64) *heap {
	return &heap{limit: limit, held: held, gc: runtime.GC, samples: []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}}
}

// skipCheck is called instead of exceedsLimit while no script runs.
func (h *heap) skipCheck() { h.last = 0 }

// exceedsLimit reports whether a turn must be ended now. It returns true if the heap is over the limit after a
// collection, or if it grows too fast to wait for a collection. A string that is doubled, for example, grows while
// it is copied, and no check can run in between. If ending is true, an interrupted turn is still running, and its
// memory is not garbage yet.
func (h *heap) exceedsLimit(ending bool) bool {
	metrics.Read(h.samples)
	bytes := h.samples[0].Value.Uint64()
	if h.held != nil {
		bytes -= min(bytes, uint64(max(h.held(), 0)))
	}
	return h.judgeBytes(bytes, ending)
}

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
	case jumped, bytes > h.mark+step, !ending && h.clean.Load():
		h.startCollection(bytes)
		h.ending = true
		return true
	}
	return false
}

// startCollection starts a collection. It sets clean when the collection has ended.
func (h *heap) startCollection(bytes uint64) {
	done := &atomic.Bool{}
	h.mark, h.clean = bytes, done
	go func() {
		h.gc()
		done.Store(true)
	}()
}
