package vm

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestHeapJudges(t *testing.T) {
	h := NewHeap(1000, nil)
	ended := make(chan struct{})
	defer close(ended)
	h.gc = func() { <-ended }
	cleaned := func() { h.clean.Store(true) }
	for i, step := range []struct {
		bytes  uint64
		ending bool
		before func()
		want   bool
	}{
		{bytes: 400}, // under the limit, at any rate
		{bytes: 900},
		{bytes: 1100}, // over the limit, but it may be garbage
		{bytes: 900},
		{bytes: 1100},
		{bytes: 1340},             // slow growth
		{bytes: 1360, want: true}, // growth too fast to wait for a collection
		{bytes: 1360, ending: true, before: cleaned}, // the memory of the ended turn is not garbage yet
		{bytes: 1360, before: cleaned},               // now it is, and needs its own collection
		{bytes: 1360, before: cleaned, want: true},   // that turn was not the cause
		{bytes: 900},              // that turn was the cause
		{bytes: 1300, want: true}, // a jump over the limit
		{bytes: 500},
		{bytes: 1200, before: h.skipCheck}, // growth while no script ran is not a jump
	} {
		if step.before != nil {
			step.before()
		}
		if got := h.judgeBytes(step.bytes, step.ending); got != step.want {
			t.Fatalf("step %d, %d bytes: got %v, want %v", i, step.bytes, got, step.want)
		}
	}
}

// TestHeapWithoutHeld: bodies and responses of requests do not cause a script to be ended.
func TestHeapWithoutHeld(t *testing.T) {
	answers := make([]byte, 64<<20)
	for held, want := range map[int64]bool{0: true, int64(len(answers)): false} {
		h := NewHeap(32<<20, func() int64 { return held })
		got := false
		for begin := time.Now(); !got && time.Since(begin) < 2*time.Second; time.Sleep(watchTick) {
			got = h.exceedsLimit(false)
		}
		if got != want {
			t.Errorf("64 MiB live with a limit of 32 MiB, %d bytes of them held by requests: got %v, want %v", held, got, want)
		}
	}
	runtime.KeepAlive(answers)
}

func TestHeapLimit(t *testing.T) {
	old := debug.SetMemoryLimit(1000 << 20)
	defer debug.SetMemoryLimit(old)
	for asked, want := range map[int64]uint64{0: 700 << 20, 5 << 20: 5 << 20} {
		if got := HeapLimit(asked); got>>20 != want>>20 && got>>20 != want>>20-1 {
			t.Errorf("heapLimit(%d): got %d, want %d", asked, got, want)
		}
	}
	debug.SetMemoryLimit(math.MaxInt64)
	if got := HeapLimit(0); got != 512<<20 {
		t.Errorf("heapLimit(0) without a memory limit: got %d, want %d", got, 512<<20)
	}
}
