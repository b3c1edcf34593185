package script

import (
	"log/slog"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/script/limits"
	"restsrv/engine/script/vm"
)

// TestInspect checks the text of values in the log.
func TestInspect(t *testing.T) {
	for _, p := range []probe{
		{`'text'`, `text`},
		{`'a', 1, -0, 5n, null, undefined, true, Symbol('s')`, `a 1 -0 5n null undefined true Symbol(s)`},
		{`['a', "it's", 'say "it\'s"', 1]`, "[ 'a', \"it's\", `say \"it's\"`, 1 ]"},
		{`['a\nb\u0001']`, `[ 'a\nb\x01' ]`},
		{`{a: 1, 'b-c': {d: {e: {f: 1}}}, [Symbol('x')]: 2}`, `{ a: 1, 'b-c': { d: { e: [Object] } }, [Symbol(x)]: 2 }`},
		{`{}, [], [[[[1]]]]`, `{} [] [ [ [ [Array] ] ] ]`},
		{`new (class Point { constructor() { this.x = 1 } })`, `Point { x: 1 }`},
		{`new (class Empty {}), Object.create(null), {__proto__: {a: 1}}`, `Empty {} [Object: null prototype] {} {}`},
		{`{[Symbol.toStringTag]: 'Tag'}`, `Object [Tag] { [Symbol(Symbol.toStringTag)]: 'Tag' }`},
		{`new Map([['k', {a: 1}], [{b: 2}, 'v']]), new Set([1, 'x'])`, `Map(2) { 'k' => { a: 1 }, { b: 2 } => 'v' } Set(2) { 1, 'x' }`},
		{`new WeakMap(), Promise.resolve(7), new Promise(() => {})`, `WeakMap { <items unknown> } Promise { 7 } Promise { <pending> }`},
		{`new Date(0), [new Date(NaN)], /a+/gi, Object(3), Object('s')`, `1970-01-01T00:00:00.000Z [ Invalid Date ] /a+/gi [Number: 3] [String: 's']`},
		{`function f() {}, () => 1, class A {}, class B extends Map {}, async () => 1`, `[Function: f] [Function (anonymous)] [class A] [class B extends Map] [AsyncFunction (anonymous)]`},
		{`new Uint8Array([1, 2]), new ArrayBuffer(2)`, `Uint8Array(2) [ 1, 2 ] ArrayBuffer { [Uint8Contents]: <00 00>, byteLength: 2 }`},
		{`(() => { const o = {a: 1}; o.self = o; o.list = [o]; return o })()`, `<ref *1> { a: 1, self: [Circular *1], list: [ [Circular *1] ] }`},
		{`[1, , , 4, , ], [ , ], Object.assign([1], {x: 2})`, `[ 1, <2 empty items>, 4, <1 empty item> ] [ <1 empty item> ] [ 1, x: 2 ]`},
		{`{get a() { throw 1 }, set b(v) {}, get c() { return 1 }, set c(v) {}}`, `{ a: [Getter], b: [Setter], c: [Getter/Setter] }`},
		{`new Proxy({a: 1}, {get() { throw 1 }})`, `{ a: 1 }`},
		{`{[Symbol.for('nodejs.util.inspect.custom')](depth) { return 'mine ' + depth }}`, `mine 2`},
		{`'%s is %d, %i, %f, %j, %o%%', 'x', '42', 4.9, '1.5', {a: 1}, [1], 'rest', {b: 2}`, `x is 42, 4, 1.5, {"a":1}, [ 1 ]% rest { b: 2 }`},
		{`'%s', {a: {b: 1}}`, `{ a: [Object] }`},
		{`'100%', 'a %x', '%s'`, `100% a %x %s`},
		{`'%d %s', 'x'`, `NaN %s`},
		{`'%c styled', 'color: red'`, ` styled`},
		{`Array.from({length: 102}, (_, i) => 0).length, Array(101).fill(1).slice(99)`, `102 [ 1, 1 ]`},
		{`new Error('top', {cause: new TypeError('below')})`, `Error: top…svc.js:2:…{ [cause]: TypeError: below…svc.js:2:…}`},
		{`Object.assign(new RangeError('r'), {code: 'E_X'})`, `RangeError: r…svc.js:2:… { code: 'E_X' }`},
	} {
		a := newApp(t, limits.Limits{}, false)
		var lines []string
		a.rt.log = slog.New(lineHandler{&lines})
		g := a.load("module.exports = {'GET /': () => {\n console.log(" + p.code + ") }}")
		if got := answer(send(t, g, request{})); !strings.HasPrefix(got, "200") {
			t.Errorf("%s: %s", p.code, got)
		}
		if len(lines) != 1 || !alikeText(lines[0], p.want) {
			t.Errorf("%s\ngot  %q\nwant %q", p.code, lines, p.want)
		}
	}
}

// TestInspectIsBounded checks that logging a value takes little time and space,
// even if the value is large.
func TestInspectIsBounded(t *testing.T) {
	for name, code := range map[string]string{
		"wide":   `Array.from({length: 1e4}, () => ({a: 'x'.repeat(1000)}))`,
		"deep":   `(() => { let o = {}; for (let i = 0; i < 1e5; i++) o = {o}; return o })()`,
		"map":    `new Map(Array.from({length: 1e4}, (_, i) => [i, 'x'.repeat(100)]))`,
		"text":   `['x'.repeat(1e6)]`,
		"keys":   `Object.fromEntries(Array.from({length: 2e4}, (_, i) => ['k' + i, i]))`,
		"sparse": `(() => { const a = []; a.length = 4e9; a[3e9] = 1; return a })()`,
		"format": `'%s'.repeat(1000), ...Array(1000).fill('x'.repeat(1e5))`,
	} {
		a := newApp(t, limits.Limits{}, false)
		var lines []string
		a.rt.log = slog.New(lineHandler{&lines})
		g := a.load("module.exports = {'GET /': () => { console.log(" + code + ") }}")
		got := answer(send(t, g, request{account: &engine.Account{ID: "a@b"}}))
		if !strings.HasPrefix(got, "200") || len(lines) != 1 || len(lines[0]) > 2*vm.MaxLogText {
			t.Errorf("%s: %s, %d lines", name, got, len(lines))
		}
	}
}
