package script

import (
	"regexp"
	"strings"
	"testing"

	"restsrv/engine/script/limits"
)

var moduleVariable = regexp.MustCompile(`module variable (\S+) of (\S+) was changed during a request`)

// changedVariables returns the variables that the log reports, as name
// file:line.
func changedVariables(a *app) string {
	var all []string
	for _, m := range moduleVariable.FindAllStringSubmatch(a.log.String(), -1) {
		all = append(all, m[1]+" "+m[2])
	}
	return strings.Join(all, ", ")
}

// TestModuleVariables checks which changes of module variables are reported in
// development mode: each once per load, with the position of the declaration.
func TestModuleVariables(t *testing.T) {
	for _, c := range []struct{ name, file, text, want string }{
		{"counter", "svc.js", "let count = 0;\nmodule.exports = {'GET /': () => ++count};", "count svc.js:1"},
		{"var, later", "svc.js", "'use strict';\n\nvar last;\nmodule.exports = {'GET /': async (req) => { await null; last = req.id + Math.random(); return 1; }};", "last svc.js:3"},
		{"map", "svc.js", "const cache = new Map();\nmodule.exports = {'GET /': () => { cache.set('a', Math.random()); return 1; }};", "cache svc.js:1"},
		{"set", "svc.js", "const seen = new Set();\nmodule.exports = {'GET /': () => { seen.add(Math.random()); return 1; }};", "seen svc.js:1"},
		{"array", "svc.js", "const list = [];\nmodule.exports = {'GET /': () => { list.push(1); return 1; }};", "list svc.js:1"},
		{"array element", "svc.js", "const list = [0];\nmodule.exports = {'GET /': () => { list[0]++; return 1; }};", "list svc.js:1"},
		{"object", "svc.js", "const state = {n: 0};\nmodule.exports = {'GET /': () => ++state.n};", "state svc.js:1"},
		{"pattern", "svc.js", "let {a, b: [c]} = {a: 1, b: [2]};\nmodule.exports = {'GET /': () => { c++; return 1; }};", "c svc.js:1"},
		{"static", "svc.js", "class Counter { static n = 0; }\nmodule.exports = {'GET /': () => ++Counter.n};", "Counter svc.js:1"},
		{"function", "svc.js", "function f() { f.calls = (f.calls || 0) + 1; }\nmodule.exports = {'GET /': () => { f(); return 1; }};", "f svc.js:1"},
		{"exports", "svc.js", "module.exports = {'GET /': () => { module.exports.n = Math.random(); return 1; }};", "module.exports svc.js:1"},
		{"two", "svc.js", "let a = 0, b = 0;\nlet c = 0;\nmodule.exports = {'GET /': () => { a++; c++; return 1; }};", "a svc.js:1, c svc.js:2"},
		{"typescript", "svc.ts", "interface A { n: number }\n\nlet count: number = 0;\nexport default {'GET /': async () => { count++; return 1; }};", "count svc.ts:3"},
		{"ES module", "svc.mjs", "import path from 'path';\nexport let last = '';\nexport default {'GET /': () => { last = path.join('a', String(Math.random())); return 1; }};", "last svc.mjs:2"},

		{"nothing", "svc.js", "const a = [1], b = new Map([[1, {}]]), c = {d: 1}, {e} = c;\nlet f = () => a;\nmodule.exports = {'GET /': async () => { await null; return [a, [...b], c, e, f()]; }};", ""},
		{"a closure", "svc.js", "const next = (() => { let n = 0; return () => ++n; })();\nmodule.exports = {'GET /': () => next()};", ""},
		{"while loading", "svc.js", "let n = 0;\nfor (let i = 0; i < 3; i++) n++;\nmodule.exports = class { constructor() { n++; } async _route(r) { await null; n++; this.addHandler = 1; } route(r) { n++; return require('restsrv').Service.prototype.addHandler.call(this, r, '/', 'GET', () => n); } };", ""},
		{"a timer of the module", "svc.js", "let n = 0;\nsetInterval(() => n++, 1);\nmodule.exports = {'GET /': () => new Promise((ok) => setTimeout(() => ok(1), 10))};", ""},
		{"what throws when read", "svc.js", "const o = {get n() { throw new Error('no'); }};\nlet count = 0;\nmodule.exports = {'GET /': () => ++count};", "count svc.js:2"},
		{"required modules", "svc.js", "const path = require('path');\nconst {join} = require('path');\nmodule.exports = {'GET /': () => join('a', path.sep)};", ""},
		{"returns early", "svc.js", "let n = 0;\nmodule.exports = {'GET /': () => ++n};\nreturn;", ""},
	} {
		for _, dev := range []bool{true, false} {
			a := newApp(t, limits.Limits{VMs: 1}, dev)
			a.write(c.file, c.text)
			g, err := a.rt.Load(a.service(c.file))
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			for range 3 {
				if r, err := send(t, g, request{}); err != nil || r.Status >= 400 {
					t.Errorf("%s: %v, %v", c.name, answer(r, err), a.log)
				}
			}
			want := c.want
			if !dev {
				want = ""
			}
			if got := changedVariables(a); got != want {
				t.Errorf("%s, developing %v: got %q, want %q\n%s", c.name, dev, got, want, a.log)
			}
			g.Close()
		}
	}
}

// TestModuleVariablesOfOthers checks the reports for a file that the handler
// requires, and for packages, which have none.
func TestModuleVariablesOfOthers(t *testing.T) {
	a := startApp(t, Config{Dev: true, NodeModules: true, Limits: limits.Limits{VMs: 1}})
	a.write("node_modules/counter/index.js", "let n = 0;\nmodule.exports = () => ++n;")
	a.write("lib.js", "let n = 0;\nexports.next = () => ++n;")
	g := a.load("module.exports = {'GET /': () => require('./lib').next() + require('counter')()};")
	for range 3 {
		get(t, g)
	}
	expect(t, changedVariables(a), "n lib.js:1")
	expectIn(t, a.log.String(), "level=WARN", "service=svc", "request=r1", "> 1 | let n = 0;\\n    |     ^", "belongs in shared")
}

// TestModuleVariablesOfPackages checks that private state of classes from
// packages is not reported, and that state of the script's own classes is.
func TestModuleVariablesOfPackages(t *testing.T) {
	a := newApp(t, limits.Limits{}, true)
	a.rt.app.NodeModules = true
	a.write("node_modules/schema/index.js", "module.exports = class Schema { parse(x) { this.compiled = true; return x } };")
	a.write("lib.js", "class Counter { n = 0; next() { return ++this.n } }\nconst counter = new Counter();\nmodule.exports = () => counter.next();")
	g := a.load("const Schema = require('schema');\nconst body = new Schema();\nmodule.exports = {'GET /': () => body.parse(require('./lib')())};")
	for range 3 {
		get(t, g)
	}
	expect(t, changedVariables(a), "counter lib.js:2")
}

// TestModuleVariablesExclusive checks that there are no reports if the VMs take
// one request at a time.
func TestModuleVariablesExclusive(t *testing.T) {
	a := newApp(t, limits.Limits{}, true)
	a.opts = map[string]any{"isolation": "exclusive"}
	g := a.load("let n = 0;\nmodule.exports = {'GET /': () => ++n};")
	get(t, g)
	get(t, g)
	expect(t, changedVariables(a), "")
}
