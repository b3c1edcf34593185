package script

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/script/limits"
)

// bob is an account for operations that need one.
var bob = &engine.Account{ID: "bob@local"}

func jsonAnswer(text string) string { return jsonType + text }

func TestSharedValues(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	for code, want := range map[string]string{
		`shared.get('none') === undefined && !shared.has('none') && shared.delete('none') === false`:                                                  `true`,
		`(shared.set('a', null), [shared.has('a'), shared.get('a')])`:                                                                                 `[true,null]`,
		`(shared.set('a', undefined), [shared.has('a'), shared.get('a') === undefined])`:                                                              `[true,true]`,
		`(shared.set('a', {b: [1, -0.5, 'ж', true, null]}), shared.get('a'))`:                                                                         `{"b":[1,-0.5,"ж",true,null]}`,
		`(shared.set('a', [5n, -(2n ** 70n)]), shared.get('a').map(x => typeof x + x))`:                                                               `["bigint5","bigint-1180591620717411303424"]`,
		`(shared.set('a', new Date(12)), [shared.get('a') instanceof Date, +shared.get('a')])`:                                                        `[true,12]`,
		`(shared.set('a', new Uint8Array([1, 2])), Array.from(shared.get('a')))`:                                                                      `[1,2]`,
		`(shared.set('a', NaN), Number.isNaN(shared.get('a')))`:                                                                                       `true`,
		`(shared.set('a', {toJSON: () => 'said'}), shared.get('a'))`:                                                                                  `"said"`,
		`{ const o = {n: 1}; shared.set('a', o); o.n = 2; const p = shared.get('a'); p.n = 3; return [shared.get('a'), shared.get('a') === p] }`:      `[{"n":1},false]`,
		`[shared.incr('n'), shared.incr('n', 2), shared.incr('n', -0.5), shared.get('n')]`:                                                            `[1,3,2.5,2.5]`,
		`[shared.cas('c', undefined, 1), shared.cas('c', undefined, 2), shared.cas('c', 1, {x: [1]}), shared.cas('c', {x: [1]}, 3), shared.get('c')]`: `[true,false,true,true,3]`,
		`(shared.clear(), shared.set('x', 1), shared.set('y', 2), shared.get('x'), [shared.keys(), shared.size()])`:                                   `[["x","y"],2]`,
		`{ shared.set('__proto__', {__proto__: null, a: 1}); return [shared.get('__proto__'), ({}).a === undefined] }`:                                `[{"a":1},true]`,
	} {
		if !strings.HasPrefix(code, "{") {
			code = "{ return " + code + " }"
		}
		got := answer(send(t, a.load("module.exports = {'GET /': () => "+code+"}"), request{account: bob}))
		if got != jsonAnswer(want) {
			t.Errorf("%s:\ngot  %s\nwant %s", code, got, jsonAnswer(want))
		}
	}
}

func TestSharedRefuses(t *testing.T) {
	a := newApp(t, limits.Limits{Shared: 4096}, false)
	for code, want := range map[string]string{
		`shared.set('a', () => 1)`:                                "TypeError: shared: a Function cannot be stored",
		`shared.set('a', {b: {f() {}}})`:                          `TypeError: shared: a function ("f") cannot be stored`,
		`shared.set('a', Symbol('x'))`:                            "TypeError: shared: a symbol cannot be stored",
		`shared.set('a', new Map())`:                              "TypeError: shared: an instance of Map cannot be stored",
		`shared.set('a', new Error('x'))`:                         "TypeError: shared: an Error cannot be stored",
		`shared.set('a', Promise.resolve(1))`:                     "TypeError: shared: an instance of Promise cannot be stored",
		`shared.set('a', new (class Point {})())`:                 "TypeError: shared: an instance of Point cannot be stored",
		`{ const o = {}; o.o = o; shared.set('a', o) }`:           "TypeError: shared: what is cyclic or nested deeper than 64 levels cannot be stored",
		`shared.set('a', 'x'.repeat(2000))`:                       "RangeError: shared: an entry of",
		`shared.set('a', 'x'.repeat(20000))`:                      "RangeError: shared: an entry of",
		`shared.set(5, 1)`:                                        "TypeError: shared: the key is text, found 5",
		`shared.set('', 1)`:                                       "TypeError: shared: the key is a text of 1 to 512 characters",
		`shared.set('a', 1, {tll: 5})`:                            `TypeError: shared: there is no option "tll" here, but "ttl"`,
		`shared.set('a', 1, -5)`:                                  "TypeError: shared: ttl is a number of milliseconds above 0, found -5",
		`shared.incr('a', 'x')`:                                   "TypeError: shared.incr adds a number",
		`{ shared.set('a', 'x'); shared.incr('a') }`:              `TypeError: shared.incr: the value of "a" is no number`,
		`shared.getOrCompute('zz')`:                               "TypeError: shared.getOrCompute takes a key and a function",
		`shared.lock('zz', 1)`:                                    "TypeError: shared.lock takes a key and a function",
		`shared.getOrCompute('zz', () => () => 1)`:                "TypeError: shared: a Function cannot be stored",
		`shared.getOrCompute('zz', () => { throw Error('own') })`: "Error: own",
	} {
		if !strings.HasPrefix(code, "{") {
			code = "{ await " + code + " }"
		}
		g := a.load("module.exports = {'GET /': async () => { try " + code + " catch (e) { return String(e) } }}")
		got := answer(send(t, g, request{account: bob}))
		if !strings.Contains(got, strings.ReplaceAll(want, `"`, `\"`)) {
			t.Errorf("%s:\ngot  %s\nwant %s", code, got, want)
		}
	}
}

// TestSharedItems checks that items are stored as the JSON of responses.
func TestSharedItems(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	a.repo.fill(t, 2)
	g := a.load(`module.exports = {'GET /': async () => {
		const list = await shared.getOrCompute('list', () => dataRepo.getList('note@demo'));
		return list.map(i => [i.title, i.n]) }}`)
	for range 2 {
		expect(t, answer(send(t, g, request{account: bob})), jsonAnswer(`[["note 0",0],["note 1",1]]`))
	}
	if n := len(a.repo.who); n != 3 { // two calls of fill
		t.Errorf("the repository was asked %d times", n-2)
	}
}

// TestSharedIsOfTheService checks that the store is shared by all VMs and
// versions of a service, and not with other services.
func TestSharedIsOfTheService(t *testing.T) {
	a := newApp(t, limits.Limits{Calls: 1}, false)
	g := a.load(`shared.set('loaded', true); module.exports = {'GET /': () => { shared.set('a', 1); return shared.get('loaded') }}`)
	expect(t, get(t, g), jsonAnswer(`true`))
	next := a.load(`module.exports = {'GET /': () => shared.get('a')}`)
	g.Close()
	expect(t, get(t, next), jsonAnswer(`1`))
	s := a.service("svc.js")
	s.Name = "other"
	other, err := a.rt.Load(s)
	if err != nil {
		t.Fatal(err)
	}
	if got := get(t, other); got != "200  " {
		t.Errorf("another service sees %s", got)
	}
	eventually(t, "further VMs", func() bool {
		expect(t, get(t, next), jsonAnswer(`1`))
		return a.rt.Metrics()["svc"].Recycled >= 3
	})
	expect(t, get(t, next), jsonAnswer(`1`))
	a.rt.Forget("svc")
	if got := get(t, a.load(`module.exports = {'GET /': () => shared.get('a')}`)); got != "200  " {
		t.Errorf("a forgotten service kept %s", got)
	}
}

// crowd sends n concurrent requests and returns the responses.
func crowd(t *testing.T, g *Generation, n int) []string {
	t.Helper()
	var wg sync.WaitGroup
	all := make([]string, n)
	for i := range n {
		wg.Go(func() {
			ctx, r := request{account: bob, query: fmt.Sprint("i=", i)}.build()
			all[i] = answer(g.Routes()[0].Handler(ctx, r))
		})
	}
	wg.Wait()
	return all
}

func TestGetOrComputeRunsOnce(t *testing.T) {
	a := newApp(t, limits.Limits{VMs: 4, InFlight: 4}, false)
	a.repo.fill(t, 1)
	a.repo.delay = func() { time.Sleep(20 * time.Millisecond) }
	before := len(a.repo.who)
	g := a.load(`module.exports = {'GET /': async () => {
		const v = await shared.getOrCompute('v', async () => ({n: (await dataRepo.getList('note@demo')).length}));
		v.mine = true;
		return (await shared.getOrCompute('v', () => { throw Error('twice') })) }}`)
	for _, got := range crowd(t, g, 16) {
		expect(t, got, jsonAnswer(`{"n":1}`))
	}
	if n := len(a.repo.who) - before; n != 1 {
		t.Errorf("it was computed %d times", n)
	}
	if vms := countVMs(a); vms < 2 {
		t.Errorf("the requests met on %d VM only", vms)
	}
}

// TestGetOrComputeFails checks that all waiting calls get the error with its
// code, and that the next call computes again.
func TestGetOrComputeFails(t *testing.T) {
	a := newApp(t, limits.Limits{VMs: 4, InFlight: 4}, false)
	a.repo.delay = func() { time.Sleep(20 * time.Millisecond) }
	g := a.load(`module.exports = {'GET /': async (req) => {
		try {
			return await shared.getOrCompute('v', async () => {
				await dataRepo.getList('note@demo'); shared.incr('runs');
				throw Object.assign(new Error('no luck'), {code: 'bad-luck'}) });
		} catch (e) { return [e.message, e.code, e instanceof Error] } },
		'PUT /': () => shared.getOrCompute('v', () => shared.get('runs') < 8)}`)
	for _, got := range crowd(t, g, 8) {
		expect(t, got, jsonAnswer(`["no luck","bad-luck",true]`))
	}
	expect(t, answer(send(t, g, request{method: "PUT", account: bob})), jsonAnswer(`true`))
}

// TestGetOrComputeIsTakenOver checks that a waiting call takes over if the
// computing call ends, because of its time limit or because its VM is removed.
func TestGetOrComputeIsTakenOver(t *testing.T) {
	for name, end := range map[string]string{
		"answered":    `return 'gone'`,
		"time":        `await new Promise(() => 1)`,
		"interrupted": `await new Promise(ok => setTimeout(ok, 30)); for (;;) ;`,
		"stack":       `await new Promise(ok => setTimeout(ok, 30)); (function f() { f() })()`,
	} {
		t.Run(name, func(t *testing.T) {
			a := newApp(t, limits.Limits{VMs: 4, InFlight: 1, CPU: 200 * time.Millisecond, Wall: 5 * time.Second}, false)
			g := a.load(`module.exports = {
				'GET /': () => shared.getOrCompute('v', () => 'made'),
				'PUT /': async () => { shared.getOrCompute('v', () => { shared.set('begun', 1); return new Promise(() => 1) }); ` + end + ` },
				'PATCH /': () => shared.has('begun')}`)
			var first sync.WaitGroup
			first.Go(func() {
				_, _ = send(t, g, request{method: "PUT", account: bob})
			})
			if name == "time" { // the limit of the first call is reached long before that of the second
				time.Sleep(2 * time.Second)
			}
			eventually(t, "the computation", func() bool { return begun(t, g) == jsonAnswer(`true`) })
			expect(t, answer(send(t, g, request{account: bob})), jsonAnswer(`"made"`))
			first.Wait()
		})
	}
}

func begun(t *testing.T, g *Generation) string { return answer(send(t, g, request{method: "PATCH"})) }

func TestOnce(t *testing.T) {
	a := newApp(t, limits.Limits{VMs: 4, InFlight: 1}, false)
	code := `module.exports = {'GET /': async () => {
		let failed = 0;
		if (!shared.has('tried')) { shared.set('tried', 1); try { await shared.once('o', () => { throw 1 }) } catch (e) { failed++ } }
		const v = await shared.once('o', async () => { await null; return [shared.incr('ran')] });
		shared.clear; return v },
		'PUT /': async () => { shared.clear(); return shared.once('o', () => 'again') }}`
	g := a.load(code)
	for _, got := range crowd(t, g, 12) {
		expect(t, got, jsonAnswer(`[1]`))
	}
	expect(t, answer(send(t, a.load(code), request{method: "PUT", account: bob})), jsonAnswer(`[1]`))
}

// TestLock checks that one call at a time holds a lock, in the order of
// arrival, on all VMs.
func TestLock(t *testing.T) {
	a := newApp(t, limits.Limits{VMs: 4, InFlight: 8}, false)
	a.repo.fill(t, 1)
	g := a.load(`module.exports = {'GET /': (req) => shared.lock('l', async () => {
		if (shared.incr('inside') !== 1) shared.set('broken', true);
		const n = shared.get('n') ?? 0;
		await dataRepo.getList('note@demo');
		shared.set('n', n + 1);
		shared.incr('inside', -1);
		return n })
		, 'PUT /': () => [shared.get('n'), shared.get('broken') ?? false]}`)
	seen := map[string]bool{}
	for _, got := range crowd(t, g, 40) {
		seen[got] = true
	}
	if len(seen) != 40 {
		t.Errorf("%d different numbers were answered", len(seen))
	}
	expect(t, answer(send(t, g, request{method: "PUT", account: bob})), jsonAnswer(`[40,false]`))
}

// TestLockEnds checks that an error releases the lock and is passed on, that
// waiting has a time limit, and that a call that ends releases its locks.
func TestLockEnds(t *testing.T) {
	a := newApp(t, limits.Limits{VMs: 4, InFlight: 4, CPU: 200 * time.Millisecond, Wall: time.Second}, false)
	g := a.load(`module.exports = {
		'GET /': async () => { try { return await shared.lock('l', () => 'mine', {timeout: 20}) } catch (e) { return [e.code, e.message] } },
		'PUT /': async () => { try { await shared.lock('l', async () => { await null; throw Error('inside') }) } catch (e) { return e.message } },
		'POST /': () => shared.lock('l', () => { shared.set('held', 1); return new Promise(() => 1) }),
		'DELETE /': () => shared.lock('l', async () => { await new Promise(ok => setTimeout(ok, 2)); for (;;) ; }),
		'PATCH /': () => shared.has('held')}`)
	expect(t, answer(send(t, g, request{method: "PUT", account: bob})), jsonAnswer(`"inside"`))
	expect(t, answer(send(t, g, request{account: bob})), jsonAnswer(`"mine"`))
	var first sync.WaitGroup
	first.Go(func() { _, _ = send(t, g, request{method: "POST", account: bob}) })
	eventually(t, "the lock", func() bool { return begun(t, g) == jsonAnswer(`true`) })
	expect(t, answer(send(t, g, request{account: bob})), jsonAnswer(`["lock-timeout","shared.lock: \"l\" was not free within 20ms"]`))
	first.Wait() // its time limit is reached
	expect(t, answer(send(t, g, request{account: bob})), jsonAnswer(`"mine"`))
	expect(t, answer(send(t, g, request{method: "DELETE", account: bob})), "error internal Internal server error")
	expect(t, answer(send(t, g, request{account: bob})), jsonAnswer(`"mine"`))
}

// TestSharedOfVersionThatNeverAnswers checks that a version that is loaded but
// never becomes active, because another part of the reload fails, does not
// change the store of the active version.
func TestSharedOfVersionThatNeverAnswers(t *testing.T) {
	a := newApp(t, limits.Limits{Shared: 1 << 20}, false)
	g := a.load(`module.exports = {'POST /': () => shared.set('a', 'x'.repeat(1e4)), 'GET /': () => shared.has('a')}`)
	_, _ = send(t, g, request{method: "POST"})
	s := a.service("svc.js")
	s.Limits.Shared = 2000
	small, err := a.rt.Load(s)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, get(t, g), jsonAnswer(`true`))
	expect(t, get(t, small), jsonAnswer(`false`))
	small.Close()
}
