package script

import (
	"strings"
	"testing"

	"restsrv/engine/script/limits"
)

func TestResults(t *testing.T) {
	const text = "200 text/html; charset=utf-8 "
	cases := []struct{ name, result, want string }{
		{"object", `{a: 1, b: [true, null, 'ж"']}`, jsonType + `{"a":1,"b":[true,null,"ж\""]}`},
		{"text", `'hello'`, jsonType + `"hello"`},
		{"number", `404`, jsonType + `404`},
		{"boolean", `false`, jsonType + `false`},
		{"null", `null`, jsonType + `null`},
		{"array", `[1, undefined, () => 1]`, jsonType + `[1,null,null]`},
		{"bigint", `({n: 12345678901234567890n})`, jsonType + `{"n":12345678901234567890}`},
		{"undefined", `undefined`, "200  "},
		{"function", `() => 1`, "error internal Internal server error"},
		{"skipped members", `({a: undefined, b: Symbol('x'), c: NaN, d: -0})`, jsonType + `{"c":null,"d":0}`},
		{"date", `({at: new Date(0)})`, jsonType + `{"at":"1970-01-01T00:00:00.000Z"}`},
		{"invalid date", `({at: new Date(NaN)})`, jsonType + `{"at":null}`},
		{"toJSON", `({toJSON() { return {x: 1} }})`, jsonType + `{"x":1}`},
		{"boxed", `[Object('s'), Object(1), Object(true)]`, jsonType + `["s",1,true]`},
		{"map", `new Map([[1, 2]])`, jsonType + `{}`},
		{"error", `Object.assign(new Error('x'), {k: 1})`, jsonType + `{"k":1}`},
		{"class", `new (class { constructor() { this.z = 1 } get hidden() { return 2 } })()`, jsonType + `{"z":1}`},
		{"proxy", `new Proxy({a: 1}, {})`, jsonType + `{"a":1}`},
		{"status without data", `({status: 201})`, jsonType + `{"status":201}`},
		{"data number", `({data: 5, status: 201})`, jsonType + `{"data":5,"status":201}`},
		{"data boolean", `({data: false})`, jsonType + `{"data":false}`},
		{"inherited data", `Object.create({data: 'x'})`, jsonType + `{}`},
		{"bytes", `new Uint8Array([104, 105])`, "200 application/octet-stream hi"},
		{"part of a buffer", `new Uint8Array([1, 104, 105, 2]).subarray(1, 3)`, "200 application/octet-stream hi"},
		{"array buffer", `new Uint8Array([104, 105]).buffer`, "200 application/octet-stream hi"},
		{"data text", `({data: '<b>'})`, text + "<b>"},
		{"data object", `({data: {a: 1}, status: 201})`, "201 application/json; charset=utf-8 " + `{"a":1}`},
		{"data array", `({data: [1]})`, jsonType + `[1]`},
		{"data null", `({data: null})`, jsonType + `null`},
		{"data bytes", `({data: new Uint8Array([104, 105]), headers: {'content-type': 'image/png'}})`, "200 image/png hi"},
		{"header lines", `({data: 'a,b', headers: ['Content-Type: text/csv', 'X-A: 1']})`, "200 text/csv; charset=utf-8 a,b"},
		{"no content", `({data: 'x', status: 204})`, "204  "},
		{"promise", `Promise.resolve({a: 1})`, jsonType + `{"a":1}`},
		{"promise of promise", `Promise.resolve(new Promise(r => setTimeout(() => r([7]), 1)))`, jsonType + `[7]`},
		{"thenable", `({then(ok) { ok({t: 1}) }})`, jsonType + `{"t":1}`},
	}
	a := newApp(t, limits.Limits{}, false)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g := a.load("module.exports = {'GET /': () => { return " + c.result + " }}")
			defer g.Close()
			expect(t, get(t, g), c.want)
			g = a.load("module.exports = {'GET /': async () => { await null; return " + c.result + " }}")
			defer g.Close()
			expect(t, get(t, g), c.want)
		})
	}
}

func TestResultHeaders(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	g := a.load(`module.exports = {'GET /': () => ({data: {}, extra: 1, headers: {
		'X-Many': ['a', 'b'], 'content-length': 3, location: '/x'}, status: 302})}`)
	r, err := send(t, g, request{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != 302 || strings.Join(r.Header["X-Many"], ",") != "a,b" || r.Header.Get("Location") != "/x" || r.Header["Content-Length"] != nil {
		t.Errorf("got %d %v", r.Status, r.Header)
	}
	get(t, g)
	if n := strings.Count(a.log.String(), "they are dropped"); n != 1 {
		t.Errorf("warned %d times of dropped keys, want once per load:\n%s", n, a.log)
	}
	expectIn(t, a.log.String(), "key=extra", "header=Content-Length", "service=svc")
}

func TestBadResults(t *testing.T) {
	const failed = "error internal Internal server error"
	cases := []struct{ name, result, cause string }{
		{"header injection", `({data: '', headers: {a: 'b\r\nSet-Cookie: x'}})`, "control character"},
		{"header name", `({data: '', headers: {'a b': '1'}})`, "malformed"},
		{"header line", `({data: '', headers: ['nonsense']})`, "no colon"},
		{"status 99", `({data: '', status: 99})`, "no HTTP status"},
		{"status 200.5", `({data: '', status: 200.5})`, "no HTTP status"},
		{"content type", `({data: '', headers: {'content-type': ';;'}})`, "malformed"},
		{"cycle", `(() => { const o = {}; o.o = o; return o })()`, "cyclic or nested deeper"},
		{"wide cycle", `(() => { const o = []; o.push(o, o); return o })()`, "cyclic or nested deeper"},
		{"too large", `'x'.repeat(2e6)`, "larger than 1000000 bytes"},
		{"too large text", `({data: 'x'.repeat(2e6)})`, "larger than 1000000 bytes"},
		{"too large bytes", `new Uint8Array(2e6)`, "larger than 1000000 bytes"},
		{"too large Response", `new Response('x'.repeat(2e6))`, "larger than 1000000 bytes"},
		{"too many", `new Array(1e6)`, "larger than 1000000 bytes"},
		{"getter throws", `({get a() { throw new Error('boom') }})`, "boom"},
		{"toJSON throws", `({toJSON() { throw new Error('boom') }})`, "boom"},
		{"then throws", `({get then() { throw new Error('boom') }})`, "boom"},
	}
	a := newApp(t, limits.Limits{Response: 1e6}, false)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g := a.load("module.exports = {'GET /': () => { return " + c.result + " }}")
			defer g.Close()
			r, err := send(t, g, request{})
			expect(t, answer(r, err), failed)
			expectIn(t, err.Error(), c.cause)
			expect(t, get(t, a.load(`module.exports = {'GET /': () => 1}`)), jsonType+"1")
		})
	}
}

func TestLegacyResults(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	cases := []struct{ result, want string }{
		{`'<b>hi</b>'`, "200 text/html; charset=utf-8 <b>hi</b>"},
		{`404`, "404 text/plain; charset=utf-8 Not Found"},
		{`503`, "503 text/plain; charset=utf-8 Service Unavailable"},
		{`7`, "error internal Internal server error"},
		{`true`, jsonType + "true"},
		{`({a: 1})`, jsonType + `{"a":1}`},
	}
	for _, base := range []string{"modules/rest/lib/interfaces/Service", "@iondv/rest/lib/interfaces/Service"} {
		for _, c := range cases {
			g := a.load(`const Service = require('` + base + `');
				function Mine() { this._route = function (router) { this.addHandler(router, '/', 'GET', () => Promise.resolve(` + c.result + `)); }; }
				Mine.prototype = new Service();
				module.exports = Mine;`)
			expect(t, get(t, g), c.want)
			g.Close()
		}
	}
}
