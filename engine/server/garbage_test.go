package server

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

// TestPaceGC checks that GOGC follows the size of the live heap up and down.
func TestPaceGC(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(GCPercent)) // the main program does the same
	paceGC(func() int64 { return 0 })
	percent := []metrics.Sample{{Name: "/gc/gogc:percent"}, {Name: "/gc/heap/live:bytes"}}
	follows := func(to func(percent int, live uint64) bool) {
		t.Helper()
		for range 200 {
			runtime.GC()
			time.Sleep(10 * time.Millisecond) // the cleanup runs in another goroutine
			metrics.Read(percent)
			if to(int(percent[0].Value.Uint64()), percent[1].Value.Uint64()) {
				return
			}
		}
		t.Errorf("GOGC does not follow the live heap: got %d with %d live bytes after 200 collections", percent[0].Value.Uint64(), percent[1].Value.Uint64())
	}
	much := make([]byte, 64<<20)
	follows(func(percent int, live uint64) bool { return percent <= pacedPercent(64<<20, 0) && live > 64<<20 })
	runtime.KeepAlive(much)
	follows(func(percent int, live uint64) bool { return percent == pacedPercent(live, 0) && live < 64<<20 })
}

func TestPacedPercent(t *testing.T) {
	for live, want := range map[uint64]int{0: 400, 3 << 20: 400, 4 << 20: 400, 5 << 20: 320, 8 << 20: 200, 32 << 20: 200, 64 << 20: 125, 1 << 30: 54} {
		if got := pacedPercent(live, 0); got != want {
			t.Errorf("%d live bytes: GOGC %d, expected %d", live, got, want)
		}
	}
	// Bodies and answers do not increase the allowed garbage.
	for held, want := range map[uint64]int{0: 98, 60 << 20: 68, 100 << 20: 16, 200 << 20: 16} {
		if got := pacedPercent(100<<20, held); got != want {
			t.Errorf("100 MiB live, %d bytes held: GOGC %d, expected %d", held, got, want)
		}
	}
}
