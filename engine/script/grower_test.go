package script

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/script/limits"
)

// growers allocate memory in steps that no guard limits; the heap limit must end them. The number is the maximum
// memory of the process in multiples of that limit.
var growers = map[string]struct {
	handler string
	times   float64
}{
	"text":          {`() => { let s = 'x'; for (;;) s += s }`, 8},
	"wide text":     {`() => { let s = 'ж'; for (;;) s += s }`, 8},
	"text in a try": {`() => { for (;;) { try { let s = 'x'; for (;;) s += s } catch (e) { } } }`, 8},
	"push":          {`() => { const a = []; for (;;) a.push(a.length + 0.5) }`, 4},
	"objects":       {`() => { const a = []; for (;;) a.push({a: [1]}) }`, 4},
	"map":           {`() => { const m = new Map(); for (let i = 0; ; i++) m.set(i, 'v' + i) }`, 4},
	"property":      {`() => { const o = {}; for (let i = 0; ; i++) o['p' + i] = i }`, 4},
	"join":          {`() => { const kept = []; for (let a = ['xxxxxxxx']; ; a = ['xxxxxxxx']) { while (a[0].length < 1 << 20) a = [a.join(',') + a.join(',')]; kept.push(a) } }`, 8},
	"buffers":       {`() => { const a = []; for (;;) a.push(new Uint8Array(1 << 20)) }`, 4},
	"short turns":   {`async () => { const a = []; for (;;) { for (let i = 0; i < 2000; i++) a.push({i}); await new Promise(ok => setTimeout(ok, 0)) } }`, 4},
	"module":        {`() => { for (;;) kept.push(new Uint8Array(1 << 20)) }`, 4},
}

// TestGrowers runs each grower in its own process and checks the peak memory.
func TestGrowers(t *testing.T) {
	const limit = 96 << 20
	if name := os.Getenv("SCRIPT_GROWER"); name != "" {
		grow(t, growers[name].handler, limit)
		return
	}
	for name, g := range growers {
		t.Run(name, func(t *testing.T) {
			// The binary, the stacks and the race detector are not part of the heap. A busy machine collects garbage
			// late, so the lowest of three runs counts.
			most, peak := int64(g.times*limit)+64<<20, int64(math.MaxInt64)
			for range 3 {
				cmd := exec.Command(os.Args[0], "-test.run=^TestGrowers$", "-test.timeout=120s")
				cmd.Env = append(os.Environ(), "SCRIPT_GROWER="+name)
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%v: %.600s", err, out)
				}
				peak = min(peak, peakOf(t, string(out)))
				t.Logf("peak %d MiB, %.1f times the limit", peak>>20, float64(peak)/limit)
				if peak <= most || raceDetector() {
					return
				}
			}
			t.Errorf("got a peak of %d MiB, want at most %d", peak>>20, most>>20)
		})
	}
}

// grow is the main function of a grower's process: the request fails, and the service continues.
func grow(t *testing.T, handler string, limit int64) {
	a := startApp(t, Config{Heap: limit, Limits: limits.Limits{CPU: 60 * time.Second, Wall: 100 * time.Second}})
	g := a.load("const kept = []; module.exports = {'GET /': " + handler + ", 'PUT /': () => 1}")
	_, err := send(t, g, request{account: &engine.Account{ID: "a@b"}})
	expect(t, answer(nil, err), "error internal Internal server error")
	if err == nil || !strings.Contains(err.Error(), "memory limit of 96 MiB") {
		t.Errorf("the error does not name the memory limit: %v", err)
	}
	expect(t, answer(send(t, g, request{method: "PUT"})), jsonType+"1")
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return // only Linux reports the peak
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	fmt.Println(peakMark, strings.Fields(rest)[0])
}

const peakMark = "peak in KiB:"

// peakOf parses the output of grow. It returns the peak in bytes, or 0 if the system does not report it.
func peakOf(t *testing.T, out string) int64 {
	_, rest, ok := strings.Cut(out, peakMark)
	if !ok {
		return 0
	}
	kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// raceDetector reports whether the race detector is active, which needs additional memory.
func raceDetector() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == "-race" && s.Value == "true" })
}
