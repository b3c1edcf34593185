package script

import (
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"restsrv/engine"
)

// killers end a process that does not guard against them.
var killers = map[string]string{
	"repeat":           `'x'.repeat(2**40)`,
	"padStart":         `'a'.padStart(1e11)`,
	"padEnd":           `'a'.padEnd(1e11)`,
	"ArrayBuffer":      `new ArrayBuffer(1e12)`,
	"Uint8Array":       `new Uint8Array(1e12)`,
	"Float64Array":     `new Float64Array(1e11)`,
	"subclass":         `new (class extends Uint8Array {})(1e12)`,
	"constructor":      `new (new Uint8Array(1)).constructor(1e12)`,
	"array-like":       `new Uint8Array({length: 1e11})`,
	"fill":             `new Array(1e8).fill(1)`,
	"from":             `Array.from({length: 1e9})`,
	"typed from":       `Uint8Array.from({length: 1e11})`,
	"join":             `new Array(4e9).join('x')`,
	"JSON.parse":       `JSON.parse('['.repeat(3e6))`,
	"Function":         `new Function('('.repeat(4e5))`,
	"Function length":  `new Function('x'.repeat(4e6))`,
	"eval":             `eval('('.repeat(4e5))`,
	"function ctor":    `(function () {}).constructor('('.repeat(4e5))`,
	"nested to text":   `(() => { let a = []; for (let i = 0; i < 1e6; i++) a = [a]; return String(a) })()`,
	"nested flat":      `(() => { let a = []; for (let i = 0; i < 1e6; i++) a = [a]; return a.flat(Infinity) })()`,
	"nested stringify": `(() => { let a = []; for (let i = 0; i < 1e6; i++) a = [a]; return JSON.stringify(a) })()`,
	"nested result":    `(() => { let a = []; for (let i = 0; i < 1e6; i++) a = [a]; return a })()`,
	"nested argument":  `(() => { let a = []; for (let i = 0; i < 1e6; i++) a = [a]; return dataRepo.createItem('note@demo', {n: a}) })()`,
	"nested log":       `(() => { let a = []; for (let i = 0; i < 1e6; i++) a = [a]; console.log(a); throw 1 })()`,
	"async ctor":       `(async () => {}).constructor('('.repeat(4e5))`,
	"generator ctor":   `(function* () {}).constructor('('.repeat(4e5))`,
	"power":            `2n ** (2n ** 40n)`,
	"power assigned":   `(() => { const o = {x: 3n}; for (;;) o.x **= 1000n })()`,
	"power of powers":  `(() => { let x = 3n; for (;;) x = x ** x })()`,
	"shift":            `1n << (1n << 40n)`,
	"shift assigned":   `(() => { let x = 1n; x <<= 1n << 40n })()`,
	"shift right":      `1n >> -(1n << 40n)`,
	"power in eval":    `eval('2n ** (2n ** 40n)')`,
	"multiply":         `(() => { let x = 3n; for (;;) x *= x })()`,
	"asUintN":          `BigInt.asUintN(1e12, -1n)`,
	"digits":           `BigInt('9'.repeat(5e7))`,
	"big array":        `(() => { const a = []; a[4e9] = 1; return a.indexOf(7) })()`,
}

// TestKillers runs each killer in a process of its own: a guard that fails
// ends that process only.
func TestKillers(t *testing.T) {
	if name := os.Getenv("SCRIPT_KILLER"); name != "" {
		a := newApp(t, Limits{CPU: 2 * time.Second}, false)
		got := answer(send(t, a.load("module.exports = {'GET /': async () => "+killers[name]+"}"), request{account: &engine.Account{ID: "a@b"}}))
		expect(t, got, "error internal Internal server error")
		return
	}
	for name := range killers {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestKillers$", "-test.timeout=60s")
			cmd.Env = append(os.Environ(), "SCRIPT_KILLER="+name, "GOMEMLIMIT=512MiB")
			out, err := cmd.CombinedOutput()
			if err != nil {
				text := string(out)
				if len(text) > 600 {
					text = text[:600]
				}
				t.Errorf("%v: %s", err, text)
			}
		})
	}
}

// growers fill the memory in steps that no guard sees: the heap limit ends
// them. The number is how many times that limit the process may take.
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
	"join":          {`() => { let a = ['xxxxxxxx']; for (;;) a = [a.join(',') + a.join(',')] }`, 8},
	"buffers":       {`() => { const a = []; for (;;) a.push(new Uint8Array(1 << 20)) }`, 4},
	"short turns":   {`async () => { const a = []; for (;;) { for (let i = 0; i < 2000; i++) a.push({i}); await new Promise(ok => setTimeout(ok, 0)) } }`, 4},
	"module":        {`() => { for (;;) kept.push(new Uint8Array(1 << 20)) }`, 4},
}

// TestGrowers runs each grower in a process of its own, and looks at the
// most memory that it ever took.
func TestGrowers(t *testing.T) {
	const limit = 96 << 20
	if name := os.Getenv("SCRIPT_GROWER"); name != "" {
		grow(t, growers[name].handler, limit)
		return
	}
	for name, g := range growers {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestGrowers$", "-test.timeout=120s")
			cmd.Env = append(os.Environ(), "SCRIPT_GROWER="+name)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %.600s", err, out)
			}
			peak := peakOf(t, string(out))
			t.Logf("peak %d MiB, %.1f times the limit", peak>>20, float64(peak)/limit)
			// The binary, the stacks and the race detector are not the heap.
			if most := int64(g.times*limit) + 64<<20; peak > most && !raceDetector() {
				t.Errorf("the process took %d MiB, at most %d were expected", peak>>20, most>>20)
			}
		})
	}
}

// grow is the process of one grower: the request fails, and the service goes
// on.
func grow(t *testing.T, handler string, limit int64) {
	a := startApp(t, Config{Heap: limit, Limits: Limits{CPU: 60 * time.Second, Wall: 100 * time.Second}})
	g := a.load("const kept = []; module.exports = {'GET /': " + handler + ", 'PUT /': () => 1}")
	_, err := send(t, g, request{account: &engine.Account{ID: "a@b"}})
	expect(t, answer(nil, err), "error internal Internal server error")
	if err == nil || !strings.Contains(err.Error(), "memory limit of 96 MiB") {
		t.Errorf("the cause is not told: %v", err)
	}
	expect(t, answer(send(t, g, request{method: "PUT"})), jsonType+"1")
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return // only Linux tells the peak
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	fmt.Println(peakMark, strings.Fields(rest)[0])
}

const peakMark = "peak in KiB:"

// peakOf reads what grow printed, in bytes; 0 when the system does not tell.
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

// raceDetector reports whether it is at work: it takes memory of its own.
func raceDetector() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == "-race" && s.Value == "true" })
}

// A file that names BigInts has its operators replaced: they must do as
// before.
func TestOperatorsBesideBigInts(t *testing.T) {
	for code, want := range map[string]string{
		"2n ** 10n":                  "1024",
		"(-1n) ** (10n ** 30n + 1n)": "-1",
		"1n << 70n":                  "1180591620717411303424",
		"(1n << 70n) >> 69n":         "2",
		"[2 ** 3 ** 2, 1 << 4, -16 >> 2, '3' ** '2']":                                                   "[512,16,-4,9]",
		"(() => { let a = 3; a **= 2; a <<= 1; return a >>= 1 })()":                                     "9",
		"(() => { const o = {a: [2n]}; const i = 0; o.a[i] **= 5n; return o.a[i] <<= 1n })()":           "64",
		"((a = 2n ** 3n, {b = 1 << 2} = {}) => [a, b])()":                                               "[8,4]",
		"new (class { #x = 2n; y = 3n ** 2n; static z = 1 << 3; f() { return this.#x **= 3n } })().f()": "8",
		"(() => { const f = function* () { yield 2n ** 2n }; return [...f()] })()":                      "[4]",
		"`${2n ** 2n}`": `"4"`,
		"(() => { for (let i = 1n << 1n; i < 2n ** 3n; i = i ** 2n) ; switch (1 << 1) { case 2: return 'two' } })()": `"two"`,
		"(() => { try { return 2n ** 2 } catch (e) { return e.name } })()":                                           `"TypeError"`,
		"(() => { try { return 2n ** -1n } catch (e) { return e.name } })()":                                         `"RangeError"`,
		"(() => { try { return 2n ** (1n << 30n) } catch (e) { return e.message } })()":                              `"bits of a BigInt: more than 4194304 at once"`,
		"[BigInt('12'), BigInt(3), typeof BigInt, BigInt.asIntN(8, 255n), BigInt.prototype.constructor === BigInt]":  `[12,3,"function",-1,true]`,
		"[Object(1n) instanceof BigInt, 5n instanceof BigInt, (5n).toString()]":                                      `[true,false,"5"]`,
	} {
		a := newApp(t, Limits{}, false)
		if got := get(t, a.load("module.exports = {'GET /': () => "+code+"}")); got != jsonType+want {
			t.Errorf("%s: got %s, want %s", code, got, want)
		}
	}
	a := newApp(t, Limits{}, false)
	a.write("svc.js", "const x = 1n;\nmodule.exports = {'GET /': () => { f().y **= x }}")
	if _, err := a.rt.Load(a.service("svc.js")); err == nil {
		t.Error("an assignment was accepted that cannot be guarded")
	} else {
		expectIn(t, err.Error(), "svc.js:2:", "write a = a ** b")
	}
}
