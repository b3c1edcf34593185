package script

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/script/limits"
)

// killers contains scripts that would end a process without limits, or run for
// a long time without an interrupt. Each must fail only its own request.
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

	// Cryptography with huge parameters, and many operations at the same time.
	"PBKDF2 1e9":      "(async () => crypto.subtle.deriveBits({name: 'PBKDF2', hash: 'SHA-256', salt: new Uint8Array(8), iterations: 1e9}, " + passwordKey + ", 256))()",
	"PBKDF2 1e7":      "(async () => crypto.subtle.deriveBits({name: 'PBKDF2', hash: 'SHA-512', salt: new Uint8Array(8), iterations: 1e7}, " + passwordKey + ", 256))()",
	"PBKDF2 parallel": "(async () => { const k = " + passwordKey + "; return Promise.all(Array.from({length: 200}, () => crypto.subtle.deriveBits({name: 'PBKDF2', hash: 'SHA-512', salt: new Uint8Array(8), iterations: 1e5}, k, 256))) })()",
	"pbkdf2Sync":      `crypto.pbkdf2Sync('p', 's', 1e7, 64, 'sha512')`,
	"pbkdf2Sync 1e9":  `crypto.pbkdf2Sync('p', 's', 1e9, 64, 'sha512')`,
	"scrypt 2^30":     `crypto.scryptSync('p', 's', 64, {N: 2 ** 30, maxmem: 2 ** 42})`,
	"scrypt parallel": `Promise.all(Array.from({length: 500}, () => new Promise((done, fail) => crypto.scrypt('p', 's', 64, (e, key) => e ? fail(e) : done(key)))))`,
	"scrypt loop":     `(() => { for (;;) crypto.scryptSync('p', 's', 64) })()`,
	"RSA 16384":       `crypto.subtle.generateKey({name: 'RSA-PSS', hash: 'SHA-256', modulusLength: 16384, publicExponent: new Uint8Array([1, 0, 1])}, true, ['sign'])`,
	"RSA parallel":    `Promise.all(Array.from({length: 50}, () => crypto.subtle.generateKey({name: 'RSA-PSS', hash: 'SHA-256', modulusLength: 4096, publicExponent: new Uint8Array([1, 0, 1])}, true, ['sign'])))`,
	"HMAC 100 MB":     `crypto.createHmac('sha256', 'k').update(Buffer.alloc(1e8)).digest()`,
	"HMAC parts":      `(() => { const h = crypto.createHmac('sha512', 'k'), b = Buffer.alloc(5e7); for (;;) h.update(b) })()`,
	"digest parallel": `(() => { const b = new ArrayBuffer(6e7), all = []; for (let i = 0; i < 1000; i++) all.push(crypto.subtle.digest('SHA-512', b)); return Promise.all(all) })()`,
	"digest loop":     `(async () => { const b = new Uint8Array(6e4); for (;;) await crypto.subtle.digest('SHA-512', b) })()`,

	// Scripts that an interrupt stops.
	"loop":            `(() => { for (;;) ; })()`,
	"try":             `(() => { for (;;) { try { for (;;) ; } catch (e) { } finally { continue } } })()`,
	"async loop":      `(async () => { for (;;) await null })()`,
	"microtasks":      `new Promise(() => (function f() { Promise.resolve().then(f) })())`,
	"queueMicrotask":  `new Promise(() => (function f() { queueMicrotask(f) })())`,
	"sort comparator": `[3, 2, 1].sort(() => { for (;;) ; })`,
	"getter":          `({get a() { for (;;) ; }})`,
	"toJSON":          `({toJSON() { for (;;) ; }})`,
	"thrown getter":   `Promise.reject({get message() { for (;;) ; }})`,
	"concatenation":   `(() => { let s = ''; for (;;) s += 'xxxxxxxxxx' })()`,
	"thenable":        `(() => { const t = {then(f) { f(t) }}; return t })()`,

	// Scripts that the limit for nested calls stops.
	"recursion":           `(function f() { f() })()`,
	"getter recursion":    `({get a() { return this.a }}).a`,
	"toString recursion":  `String({toString() { return '' + this }})`,
	"sort recursion":      `(function f() { [1, 2, 3].sort(f) })()`,
	"toJSON recursion":    `JSON.stringify({toJSON() { return [this] }})`,
	"replacer recursion":  `JSON.stringify([1], (k, v) => [v])`,
	"generator recursion": `(() => { function* g() { yield* g() } return [...g()] })()`,
	"async recursion":     `(async function f() { return f() })()`,
	"Proxy of itself":     `(() => { const t = {}; Object.setPrototypeOf(t, new Proxy(t, {})); return t.x })()`,
	"Proxy by __proto__":  `(() => { const t = {}; t.__proto__ = new Proxy(t, {}); return 'x' in t })()`,
	"handler of itself":   `(() => { const h = {}, p = new Proxy({}, h); Reflect.setPrototypeOf(h, p); return p.x })()`,

	// Regular expressions that backtrack or are too large.
	"backtracking":   `/(?=a)(a+)+$/.test('a'.repeat(30) + 'b')`,
	"backreference":  `/^(a+)+\1$/.test('a'.repeat(30) + 'b')`,
	"caught":         `(() => { for (;;) { try { if (/(?=a)(a+)+$/.test('a'.repeat(30) + 'b')) return 1 } catch (e) { } } })()`,
	"deep pattern":   `new RegExp('('.repeat(3e6) + ')'.repeat(3e6))`,
	"deep lookahead": `'a'.match('(?='.repeat(60000) + ')'.repeat(60000))`,
	"many matches":   `'x'.repeat(6e7).match(/x/g)`,
	"long subject":   `/(x+x+)+y/.test('x'.repeat(6e7))`,

	// Built-in Go functions with an argument that determines their time or
	// memory.
	"new Array":         `Array(1e9).map(x => 1)`,
	"sparse map":        `(() => { const a = []; a[4e9] = 1; return a.map(x => 1) })()`,
	"sparse forEach":    `(() => { const a = []; a.length = 4e9; a.forEach(x => 1) })()`,
	"sparse shift":      `(() => { const a = []; a.length = 4e9; a.shift() })()`,
	"sparse splice":     `(() => { const a = []; a.length = 4e9; a.splice(0, 1) })()`,
	"sparse concat":     `(() => { const a = []; a.length = 4e9; return a.concat(a) })()`,
	"sparse toSorted":   `(() => { const a = []; a.length = 4e9; return a.toSorted() })()`,
	"sparse reduce":     `(() => { const a = []; a.length = 4e9; return a.reduce((x, y) => x, 0) })()`,
	"spread":            `(() => { const a = []; a.length = 4e9; return [...a] })()`,
	"spread arguments":  `(() => { const a = []; a.length = 1e9; return Math.max(...a) })()`,
	"array-like map":    `Array.prototype.map.call({length: 1e15}, x => 1)`,
	"array-like loop":   `Array.prototype.forEach.call({length: 1e15}, x => 1)`,
	"apply":             `Math.max.apply(null, {length: 1e9})`,
	"Reflect.apply":     `Reflect.apply(Math.max, null, {length: 1e9})`,
	"Reflect.construct": `Reflect.construct(Array, {length: 1e9})`,
	"String.raw":        `String.raw({raw: {length: 1e9}})`,
	"fromCharCode":      `String.fromCharCode.apply(null, {length: 1e9})`,
	"replaceAll":        `'x'.repeat(1e6).replaceAll('x', 'y'.repeat(1e5))`,
	"replace":           `'x'.repeat(1e6).replace(/x/g, 'y'.repeat(1e5))`,
	"replace $":         "'x'.repeat(2e5).replace(/x/g, '$`')",
	"concat":            `(() => { let s = 'x'.repeat(6e7); for (;;) s = s.concat(s, s, s, s, s, s, s, s) })()`,
	"split":             `'x'.repeat(6e7).split('')`,
	"normalize":         `'\uFDFA'.repeat(1e7).normalize('NFKD')`,
	"Set of text":       `new Set('x'.repeat(6e7)).size`,
	"join of long":      `Array(1e5).fill('x'.repeat(1e6)).join('')`,
	"typed join":        `new Uint8Array(8e5).join('x'.repeat(1e6))`,
	"many brackets":     `JSON.parse('[' + '1,'.repeat(2e7) + '1]')`,
	"indented":          `(() => { let a = ['x']; for (let i = 0; i < 60; i++) a = [a, a]; return JSON.stringify(a, null, 1) })()`,
	"shared result":     `(() => { let a = []; for (let i = 0; i < 60; i++) a = [a, a]; return a })()`,
	"shared argument":   `(() => { let a = []; for (let i = 0; i < 50; i++) a = [a, a]; return dataRepo.createItem('note@demo', {n: a}) })()`,
	"shared value":      `(() => { let a = []; for (let i = 0; i < 60; i++) a = [a, a]; shared.set('a', a) })()`,
	"reviver":           `JSON.parse('[1,2]', function (k, v) { if (k === '0') { const a = []; a.length = 4e9; this[1] = a } return v })`,
	"operators":         `new Function('return ' + '!'.repeat(5e4) + '1')`,
	"sum":               `new Function('return 1' + '+1'.repeat(3e4))`,
	"arrows":            `new Function('return ' + 'a=>'.repeat(2e4) + '1')`,

	// Streams and compressed data.
	"endless stream":      `(async () => { for await (const x of new ReadableStream({ pull(c) { c.enqueue(1) } })) ; })()`,
	"endless queue":       `new ReadableStream({ start(c) { for (;;) c.enqueue('x'.repeat(1000)) } })`,
	"endless transform":   `new ReadableStream({ start(c) { c.enqueue(1) } }).pipeThrough(new TransformStream({ transform(x, c) { for (;;) c.enqueue(x) } })).getReader().read()`,
	"zip bomb":            `(() => { const z = require('zlib'); return z.gunzipSync(Buffer.concat(Array(40).fill(z.gzipSync(Buffer.alloc(5e7))))) })()`,
	"zip bombs collected": `(async () => { const all = [], b = require('zlib').gzipSync(Buffer.alloc(2e7)); for (;;) for await (const x of ReadableStream.from([b]).pipeThrough(new DecompressionStream('gzip'))) all.push(x) })()`,
	"endless compression": `(() => { const z = require('zlib'); for (;;) z.gzipSync(Buffer.alloc(1e6)) })()`,
}

const passwordKey = "await crypto.subtle.importKey('raw', new Uint8Array(8), 'PBKDF2', false, ['deriveBits'])"

// verdict is the result of the process of one killer.
type verdict struct {
	Cause  string
	Budget time.Duration
	Took   time.Duration
	Asked  int           // number of requests that another service answered meanwhile
	Median time.Duration // median duration of these requests
	P99    time.Duration
}

const verdictMark = "verdict: "

// TestKillers runs each killer in a separate process, because a limit that
// fails ends the process. With RESTSRV_LONG it prints the table.
func TestKillers(t *testing.T) {
	if name := os.Getenv("SCRIPT_KILLER"); name != "" {
		v, err := json.Marshal(kill(t, name))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("%s%s\n", verdictMark, v)
		return
	}
	var mu sync.Mutex
	table := map[string]verdict{}
	t.Run("each", func(t *testing.T) {
		for name := range killers {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				cmd := exec.Command(os.Args[0], "-test.run=^TestKillers$", "-test.timeout=100s")
				cmd.Env = append(os.Environ(), "SCRIPT_KILLER="+name, "GOMEMLIMIT=512MiB")
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%v: %.600s", err, out)
				}
				var v verdict
				_, rest, _ := strings.Cut(string(out), verdictMark)
				line, _, _ := strings.Cut(rest, "\n")
				if err := json.Unmarshal([]byte(line), &v); err != nil {
					t.Fatalf("%v: %.600s", err, out)
				}
				mu.Lock()
				table[name] = v
				mu.Unlock()
				// The time includes other load. A script without an interrupt
				// would take minutes, or end the process.
				if over := v.Took - v.Budget; over > 20*time.Second {
					t.Errorf("it took %v longer than its time limit", over)
				}
			})
		}
	})
	if os.Getenv("RESTSRV_LONG") != "" {
		printVerdicts(t, table)
	}
}

// kill runs in the process of one killer. The request of the killer must fail,
// and another service and the service itself must still answer.
func kill(t *testing.T, name string) verdict {
	v := verdict{Budget: 500 * time.Millisecond}
	if strings.HasPrefix(name, "nested") {
		v.Budget = 2 * time.Second // they need time to create the nested values
	}
	const load = 2 * time.Second // for loading; other processes run at the same time
	a := startApp(t, Config{MaxCPU: load, Limits: limits.Limits{CPU: v.Budget, Load: load}})
	other := a.load("module.exports = {'GET /': async () => ({hello: 'world'})}")
	g := a.load("module.exports = {'GET /': async () => " + killers[name] + ", 'PUT /': () => 1}")
	stop, asked := make(chan struct{}), make(chan []time.Duration)
	go ask(t, other, stop, asked)
	start := time.Now()
	_, err := send(t, g, request{account: &engine.Account{ID: "a@b"}})
	v.Took = time.Since(start)
	close(stop)
	waits := <-asked
	slices.Sort(waits)
	expect(t, answer(nil, err), "error internal Internal server error")
	if e, ok := err.(*engine.Error); ok && e.Err != nil {
		v.Cause, _, _ = strings.Cut(e.Err.Error(), "\n")
	}
	expect(t, answer(send(t, g, request{method: "PUT"})), jsonType+"1")
	if v.Asked = len(waits); v.Asked > 0 {
		v.Median, v.P99 = waits[len(waits)/2], waits[len(waits)*99/100]
	}
	return v
}

// ask sends requests to another service in a loop. Each must be answered.
func ask(t *testing.T, g *Generation, stop chan struct{}, asked chan []time.Duration) {
	var waits []time.Duration
	for {
		select {
		case <-stop:
			asked <- waits
			return
		case <-time.After(2 * time.Millisecond):
		}
		start := time.Now()
		if got := get(t, g); got != jsonType+`{"hello":"world"}` {
			t.Errorf("another service answers %s", got)
		}
		waits = append(waits, time.Since(start))
	}
}

func printVerdicts(t *testing.T, table map[string]verdict) {
	var names []string
	for name := range table {
		names = append(names, name)
	}
	slices.Sort(names)
	var b strings.Builder
	fmt.Fprintf(&b, "\n| killer | ended after | over budget | others: asked, median, p99 | why |\n|---|---|---|---|---|\n")
	for _, name := range names {
		v := table[name]
		fmt.Fprintf(&b, "| %s | %v | %v | %d, %v, %v | %.90s |\n", name, v.Took.Round(time.Millisecond),
			max(0, v.Took-v.Budget).Round(time.Millisecond), v.Asked, v.Median.Round(time.Microsecond), v.P99.Round(time.Microsecond), v.Cause)
	}
	t.Log(b.String())
}
