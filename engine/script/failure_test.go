package script

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/script/limits"
	"restsrv/engine/script/vm"
)

func TestFailures(t *testing.T) {
	const plain = " text/plain; charset=utf-8 "
	const failed = "error internal Internal server error"
	for _, c := range []struct{ thrown, want string }{
		{`new Error('x')`, failed},
		{`'text'`, failed},
		{`undefined`, failed},
		{`null`, failed},
		{`404`, failed},
		{`Symbol('x')`, failed},
		{`Object.assign(new Error('gone'), {code: 404})`, "404" + plain + "gone"},
		{`Object.assign(new Error('late'), {status: 409})`, "409" + plain + "late"},
		{`{status: 422, message: 'bad name'}`, "422" + plain + "bad name"},
		{`{code: 404}`, "404" + plain + "Not Found"},
		{`{code: 404, message: 404}`, "404" + plain + "Not Found"},
		{`{code: 499}`, "499" + plain + ""},
		{`Object.assign(new Error('no'), {code: 403})`, "403" + plain + "no"},
		{`Object.assign(new Error('no'), {code: 'rest.backend.403'})`, "403" + plain + "no"},
		{`Object.assign(new Error('no'), {code: 'x', status: 403})`, "403" + plain + "no"},
		{`Object.assign(new Error('no'), {code: '404'})`, failed},
		{`Object.assign(new Error('no'), {code: 500})`, failed},
		{`Object.assign(new Error('no'), {code: 200})`, failed},
		{`Object.assign(new Error('no'), {code: 404.5})`, failed},
		{`{get code() { throw 1 }}`, failed},
		{`new Proxy({}, {get() { throw 1 }})`, failed},
	} {
		a := newApp(t, limits.Limits{}, false)
		for name, handler := range map[string]string{
			"sync": "() => { throw " + c.thrown + " }", "async": "async () => { throw " + c.thrown + " }",
			"later": "async () => { await null; throw " + c.thrown + " }", "rejected": "() => Promise.reject(" + c.thrown + ")",
			"timer": "() => new Promise((ok, no) => setTimeout(() => no(" + c.thrown + "), 1))",
		} {
			g := a.load("module.exports = {'GET /': " + handler + ", 'PUT /': () => 1}")
			if got := get(t, g); got != c.want {
				t.Errorf("%s %s: got %q, want %q", name, c.thrown, got, c.want)
			}
			expect(t, answer(send(t, g, request{method: "PUT"})), jsonType+"1")
			g.Close()
		}
		if strings.Contains(a.log.String(), "nobody handled") {
			t.Errorf("%s: a handled rejection was logged:\n%s", c.thrown, a.log)
		}
	}
}

// TestFailureIsBounded: a thrown value may contain all data of a request. The log contains only its beginning, and
// the position.
func TestFailureIsBounded(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	for _, thrown := range []string{"new Error(long)", "long", "{message: long}"} {
		g := a.load("const long = 'я'.repeat(1e6); module.exports = {'GET /': () => { throw " + thrown + " }}")
		_, err := send(t, g, request{})
		var f *vm.Failure
		if !errors.As(err, &f) || len(f.Error()) > 4*vm.MaxLogText {
			t.Errorf("%s: got an error of %d bytes, want at most %d", thrown, len(err.Error()), 4*vm.MaxLogText)
		}
		if thrown == "new Error(long)" {
			expect(t, f.Place(), "svc.js:1:72")
		}
	}
}

func TestFailurePlace(t *testing.T) {
	text := "function inner() {\n  throw new TypeError('secret detail');\n}\nmodule.exports = {'GET /': async () => { await null; inner() }};"
	a := newApp(t, limits.Limits{}, false)
	_, err := send(t, a.load(text), request{})
	var f *vm.Failure
	if !errors.As(err, &f) {
		t.Fatalf("got the error %v, want a *Failure", err)
	}
	expect(t, f.Error(), "TypeError: secret detail\n\tat inner (svc.js:2:9)\n\tat GET / (svc.js:4:59)")
	dev := newApp(t, limits.Limits{}, true)
	r, err := send(t, dev.load(text), request{})
	expect(t, answer(r, err), "500 text/plain; charset=utf-8 Internal server error")
	expect(t, r.Header.Get("X-Script-Error"), "svc.js:2:9")
	expect(t, r.Header.Get("X-Content-Type-Options"), "nosniff")
	expectIn(t, dev.log.String(), "request=r1", "secret detail", "svc.js:2:9")
}

func TestUnhandledRejection(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	expect(t, get(t, a.load("module.exports = {'GET /': () => { Promise.reject(new Error('lost')); const p = Promise.reject(1); p.catch(() => 1); return 1 }}")), jsonType+"1")
	if n := strings.Count(a.log.String(), "nobody handled"); n != 1 {
		t.Errorf("got %d reports of rejections, want 1", n)
	}
	expectIn(t, a.log.String(), "lost", "request=r1")
}

func TestConsole(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	get(t, a.load("module.exports = {'GET /': async () => { await null; console.warn('careful', {a: [1]}, 5n, null); log.error(new Error('e1')); const c = {}; c.c = c; console.log(c, console.log, 'x'.repeat(20000)); }}"))
	expectIn(t, a.log.String(), `level=WARN msg="careful { a: [ 1 ] } 5n null" service=svc request=r1 from=script`, "e1", "svc.js:1", "[Circular *1]", "[Function: log]")
	if len(a.log.String()) > 12000 {
		t.Errorf("got a log of %d bytes, want at most 12000", len(a.log.String()))
	}
}

// TestConsoleIsBounded: the log output of one request has a limit for lines of any length, and the next request
// starts with the full limit again.
func TestConsoleIsBounded(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	g := a.load("module.exports = {'GET /': () => { for (let i = 0; i < 20000; i++) console.log('line'); return 1 }, " +
		"'PUT /': () => { for (let i = 0; i < 1000; i++) console.error('x'.repeat(5000)); return 1 }}")
	for i, method := range []string{"GET", "PUT", "GET"} {
		before := len(a.log.String())
		expect(t, answer(send(t, g, request{method: method})), jsonType+"1")
		log := a.log.String()[before:]
		if n := strings.Count(log, "exceeded the log limit of this request"); n != 1 {
			t.Errorf("request %d: got %d warnings about dropped lines, want 1", i, n)
		}
		if len(log) < maxLogged/2 || len(log) > 4*maxLogged {
			t.Errorf("request %d: got a log of %d bytes, want %d to %d", i, len(log), maxLogged/2, 4*maxLogged)
		}
	}
}

// fast holds low limits for scripts that never end.
var fast = limits.Limits{CPU: 500 * time.Millisecond, Wall: 30 * time.Second}

func TestCPULimit(t *testing.T) {
	const failed = "error internal Internal server error"
	for name, handler := range map[string]string{
		"loop":           "() => { for (;;) {} }",
		"caught":         "() => { for (;;) { try { for (;;) {} } catch (e) {} finally { } } }",
		"async":          "async () => { await null; for (;;) {} }",
		"promises":       "() => new Promise(() => { (function f() { Promise.resolve().then(f) })() })",
		"timer":          "() => new Promise(() => setTimeout(() => { for (;;) {} }, 1))",
		"getter":         "() => ({get a() { for (;;) {} }})",
		"toJSON":         "async () => { await null; return {toJSON() { for (;;) {} }} }",
		"thrown":         "() => { throw {get message() { for (;;) {} }} }",
		"sort":           "() => [3, 2, 1].sort(() => { for (;;) {} })",
		"backtracking":   "() => /(?=a)(a+)+$/.test('a'.repeat(28) + 'b')",
		"no match":       "() => /^(a|aa)+$(?!b)/.test('a'.repeat(60) + '!')",
		"unhandled":      "() => { Promise.reject({get message() { for (;;) {} }}); return new Promise(() => 1) }",
		"recursion":      "() => { (function f() { f() })() }",
		"recursion late": "async () => { await null; (function f() { f() })() }",
		"getter depth":   "() => { const o = {get a() { return this.a }}; return o.a }",
	} {
		t.Run(name, func(t *testing.T) {

			a := newApp(t, fast, false)
			g := a.load("module.exports = {'GET /': " + handler + ", 'PUT /': () => 1}")
			r, err := send(t, g, request{})
			expect(t, answer(r, err), failed)
			if err != nil && !strings.Contains(err.Error(), "CPU") && !strings.Contains(err.Error(), "nested deeper") {
				t.Errorf("the error does not name the exceeded limit: %v", err)
			}
			expect(t, answer(send(t, g, request{method: "PUT"})), jsonType+"1")
		})
	}
}

func TestWallLimit(t *testing.T) {
	a := newApp(t, limits.Limits{Wall: 200 * time.Millisecond}, false)
	g := a.load("module.exports = {'GET /': () => new Promise(() => 1), 'PUT /': () => 1, 'POST /': async () => { await dataRepo.getCount('note@demo'); return 1 }}")
	expect(t, get(t, g), "error timeout service svc did not answer in time")
	expect(t, answer(send(t, g, request{method: "PUT"})), jsonType+"1")
	a.repo.away = make(chan struct{})
	expect(t, answer(send(t, g, request{method: "POST"})), "error timeout service svc did not answer in time")
}

func TestQueueLimit(t *testing.T) {
	a := newApp(t, limits.Limits{VMs: 1, InFlight: 2, Queue: 3}, false)
	g := a.load("let go; const gate = new Promise(ok => go = ok); module.exports = {'GET /': async () => { await dataRepo.getCount('note@demo'); return 1 }}")
	release := make(chan struct{})
	a.repo.delay = func() { <-release }
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() { expect(t, get(t, g), jsonType+"1") })
	}
	eventually(t, "all places are taken", func() bool {
		m := a.rt.Metrics()["svc"]
		return m.InFlight == 2 && m.Waiting == 3
	})
	expect(t, get(t, g), "error unavailable service svc has too many requests waiting")
	close(release)
	wg.Wait()
}

// TestInnocentRequests: a VM is discarded while other requests run on it. Requests that only read are run again,
// requests that wrote return an error that asks the client to retry.
func TestInnocentRequests(t *testing.T) {
	a := newApp(t, limits.Limits{CPU: time.Second, VMs: 1}, false)
	gate := make(chan struct{})
	a.repo.delay = func() { <-gate }
	g := a.load(`module.exports = {
		'GET /': async () => { await dataRepo.getCount('note@demo'); return 'read' },
		'POST /': async () => { await dataRepo.getCount('note@demo'); return 'posted' },
		'PUT /': () => { for (;;) {} },
		'PATCH /': () => 'patched' }`)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() { expect(t, get(t, g), jsonType+`"read"`) })
	}
	wg.Go(func() {
		r, err := send(t, g, request{method: "POST"})
		expect(t, answer(r, err), "503 text/plain; charset=utf-8 the service was restarted, try again")
		if r != nil {
			expect(t, r.Header.Get("Retry-After"), "0")
		}
	})
	eventually(t, "four requests wait for the repository", func() bool {
		return a.rt.Metrics()["svc"].InFlight == 4
	})
	time.Sleep(10 * time.Millisecond) // wait until they have reached the repository
	wg.Go(func() { expect(t, answer(send(t, g, request{method: "PUT"})), "error internal Internal server error") })
	eventually(t, "the loop runs", func() bool {
		m := a.rt.Metrics()["svc"]
		return m.InFlight == 5 && m.VMs["running"] == 1
	})
	// This request waits behind the endless loop and has not begun. A new VM serves it while the others still wait
	// for the repository.
	expect(t, answer(send(t, g, request{method: "PATCH"})), jsonType+`"patched"`)
	close(gate)
	wg.Wait()
}

func TestPanicInTurn(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	g := a.load("module.exports = {'GET /': () => metaRepo.getMeta('note@demo') && 1, 'PUT /': () => 1}")
	meta := g.Env.Meta
	g.Env.Meta = nil // simulates a bug in restsrv
	expect(t, get(t, g), "error internal Internal server error")
	g.Env.Meta = meta
	expect(t, get(t, g), jsonType+"1")
}

// TestNoEffectAfterCPULimit: a regular expression that was interrupted must not continue the script with "no match".
func TestNoEffectAfterCPULimit(t *testing.T) {
	a := newApp(t, limits.Limits{CPU: 50 * time.Millisecond}, false)
	g := a.load("module.exports = {'POST /': () => { if (!/^(a|aa)+$(?!b)/.test('a'.repeat(60) + '!')) { try { return dataRepo.createItem('note@demo', {}) } catch (e) { return 'caught' } } }}")
	bob := &engine.Account{ID: "bob@local"}
	expect(t, answer(send(t, g, request{method: "POST", account: bob})), "error internal Internal server error")
	if n := len(a.repo.who); n != 0 {
		t.Errorf("got %d calls of the repository, want 0", n)
	}
}

// TestFailureBehind: the log contains the causes of errors.
func TestFailureBehind(t *testing.T) {
	for _, c := range []struct {
		thrown string
		want   []string
	}{
		{`new Error('outer', {cause: new TypeError('inner', {cause: 'text'})})`,
			[]string{`Error: outer\n\tat GET / (svc.js:1:`, `caused by: TypeError: inner\n\tat GET / (svc.js:1:`, `caused by: text"`}},
		{`new AggregateError([new Error('one'), {two: 2}], 'both')`, []string{"AggregateError: both", "one of its errors: Error: one", "one of its errors: { two: 2 }"}},
		{`{error: 'no message', at: [1]}`, []string{"{ error: 'no message', at: [ 1 ] }"}},
		{`{long: 'x'.repeat(9999)}`, []string{`xxx…`}},
		{`(() => { const e = new Error('itself'); e.cause = e; return e })()`, []string{"Error: itself"}},
		{`new Error('outer', {cause: 'y'.repeat(9999)})`, []string{"caused by: yyy", "yyy…"}},
		{`(function many(n) { return n ? new AggregateError(Array.from({length: 5}, () => many(n - 1)), 'n') : new Error('leaf') })(4)`, []string{"AggregateError: n"}},
		{`{get message() { throw 1 }}`, []string{"something was thrown that cannot be read"}},
		{`(function f(n) { return n ? f(n - 1) : new Error('deep') })(50)`, []string{`Error: deep\n\tat f (svc.js:1:`, `\n\tat GET / (svc.js:1:`}},
	} {
		a := newApp(t, limits.Limits{}, false)
		a.rt.dev = true
		g := a.load("module.exports = {'GET /': async () => { throw " + c.thrown + " }}")
		get(t, g)
		expectIn(t, a.log.String(), c.want...)
		if n := len(a.log.String()); n > 8<<10 {
			t.Errorf("%s: got a log of %d bytes, want at most %d", c.thrown, n, 8<<10)
		}
		if n := strings.Count(a.log.String(), "at f ("); n > 3 {
			t.Errorf("got %d lines for a recursion, want at most 3", n)
		}
		g.Close()
	}
}

// TestUnsettledPromise checks that the log names the position at which a request waits for a promise that never
// settles.
func TestUnsettledPromise(t *testing.T) {
	for name, c := range map[string]struct{ script, place string }{
		"await": {`module.exports = {'GET /': async () => {
			await null;
			return await new Promise(() => 0);
		}}`, "svc.js:3:11"},
		"in a called function": {`const inner = async () => {
			await new Promise(() => 0);
		};
		module.exports = {'GET /': async () => {
			await inner();
		}}`, "svc.js:2:4"},
		"in a called function, later": {`const inner = async () => {
			for (let i = 0; i < 3; i++) await i;
			await new Promise(() => 0);
		};
		module.exports = {'GET /': async () => {
			await inner();
		}}`, "svc.js:3:4"},
		"beside a promise that settles": {`const never = async () => {
			await new Promise(() => 0);
		};
		const soon = async () => { for (let i = 0; i < 9; i++) await null; };
		module.exports = {'GET /': async () => {
			return await Promise.all([soon(), never()]);
		}}`, "svc.js:2:4"},
		"after a timer": {`module.exports = {'GET /': async () => {
			await new Promise(done => setTimeout(done, 5));
			return await new Promise(() => 0);
		}}`, "svc.js:3:11"},
		"for await": {`async function* items() { yield 1; await new Promise(() => 0); }
		module.exports = {'GET /': async () => {
			for await (const i of items()) ;
		}}`, "svc.js:3:"},
		"a returned promise": {`
		module.exports = {
			'GET /': () => new Promise(() => 0),
		}`, "svc.js:3:13"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newApp(t, limits.Limits{Wall: 200 * time.Millisecond}, false)
			g := a.load(c.script)
			for range 2 {
				expect(t, answer(send(t, g, request{})), "error timeout service svc did not answer in time")
			}
			expectIn(t, a.log.String(), "level=ERROR", "a request was not answered within its time limit", "request=r1", "at="+c.place)
		})
	}
}

// TestUnsettledPromiseInDevelopment checks that the client gets the position in development mode.
func TestUnsettledPromiseInDevelopment(t *testing.T) {
	a := newApp(t, limits.Limits{Wall: 200 * time.Millisecond}, true)
	g := a.load("module.exports = {'GET /': async () => {\n  await new Promise(() => 0);\n}}")
	expect(t, answer(send(t, g, request{})), "error timeout service svc did not answer in time: a promise did not settle, which svc.js:2:3 waits for")
}
