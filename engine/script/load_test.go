package script

import (
	"errors"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/script/js"
	"restsrv/engine/script/limits"
	"restsrv/engine/script/module"
	"restsrv/engine/service"
)

func TestForms(t *testing.T) {
	forms := map[string]string{
		"prototype": `const Service = require('modules/rest/lib/interfaces/Service');
			function Echo(options) {
				this._route = function (router) {
					this.addHandler(router, '/', 'GET', function (req) { return Promise.resolve({o: options.word}); });
				};
			}
			Echo.prototype = new Service();
			module.exports = Echo;`,
		"exports first": `module.exports = Echo;
			const Service = require('@iondv/rest/lib/interfaces/Service');
			function Echo(options) { this.o = options.word; }
			Echo.prototype = new Service();
			Echo.prototype._route = function (router) { return this.addHandler(router, '/', 'get', (req) => ({o: this.o})); };`,
		"class": `const {Service} = require('restsrv');
			module.exports = class extends Service {
				constructor(options) { super(); this.options = options; }
				_route(router) { this.addHandler(router, '/', 'GET', this.get); }
				async get(req) { await null; return {o: this.options.word}; }
			};`,
		"async route": `const {Service} = require('restsrv');
			module.exports = class extends Service {
				constructor(options) { super(); this.options = options; }
				async _route(router) {
					await new Promise(ok => setTimeout(ok, 2));
					await this.addHandler(router, '/', 'GET', async () => ({o: this.options.word}));
				}
			};`,
		"overrides route": `const {Service} = require('restsrv');
			module.exports = class extends Service {
				constructor(options) { super(); this.options = options; }
				route(router) { this.addHandler(router, '/', 'GET', () => ({o: this.options.word})); }
			};`,
		"short":           `module.exports = {'GET /': async (req) => ({o: options.word})};`,
		"exports":         `exports['GET /'] = (req) => ({o: options.word});`,
		"hashbang strict": "#!/usr/bin/env node\n'use strict';\nmodule.exports = {'GET /': (req) => ({o: options.word})};",
	}
	a := newApp(t, limits.Limits{}, false)
	a.opts = service.Options{"word": "peekaboo"}
	for name, text := range forms {
		t.Run(name, func(t *testing.T) {
			g := a.load(text)
			defer g.Close()
			expect(t, get(t, g), jsonType+`{"o":"peekaboo"}`)
			if g.Errors() != service.TextErrors {
				t.Error("failures must be answered as text")
			}
		})
	}
}

func TestRoutes(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	g := a.load(`module.exports = {'GET /': () => 1, 'post /a/:b': () => 1, 'SEARCH /:x?': () => 1, 'GET /:id(\\d+)': () => 1, 'GET *': () => 1}`)
	var got []string
	for _, r := range g.Routes() {
		got = append(got, r.Method+" "+r.Path)
	}
	expect(t, strings.Join(got, ", "), `GET /, POST /a/:b, SEARCH /:x?, GET /:id(\d+), GET *`)
}

func TestLoadErrors(t *testing.T) {
	class := func(body string) string {
		return "const {Service} = require('restsrv');\nmodule.exports = class extends Service {\n" + body + "\n};"
	}
	cases := []struct{ name, text, want, source string }{
		{"syntax", "module.exports = {\n  'GET /': (req) => {\n    let x = ;\n  }\n};", "svc.js:3:13: syntax error: Unexpected token ;", "let x = ;"},
		{"syntax in line 1", "let = = 1;", "svc.js:1:7: syntax error: ", "let = = 1;"},
		{"unclosed", "module.exports = {\n  'GET /': () => 1\n\n", "svc.js:2:19: syntax error: the text ends too early", "'GET /': () => 1"},
		{"compile", "const a = 1;\nconst a = 2;", "svc.js:2:7: syntax error: ", "const a = 2;"},
		{"throw", "function f() {\n  throw new Error('boom');\n}\nf();", "svc.js:2:9: Error: boom", "throw new Error('boom');"},
		{"throw text", "\n throw 'boom'", "svc.js:2:2: boom", "throw 'boom'"},
		{"reference", "\nnope()", "svc.js:2:5: ReferenceError: nope is not defined", "nope()"},
		{"constructor", class("constructor() { super(); null.x }"), "svc.js:3:31: TypeError: ", "constructor() { super(); null.x }"},
		{"route throws", class("_route() { throw new Error('no') }"), "svc.js:3:18: Error: no", "_route() { throw new Error('no') }"},
		{"route rejects", class("async _route() { await null; throw new Error('no') }"), "svc.js:3:36: Error: no", ""},
		{"infinite loop", "let i = 0;\nfor (;;) { i++ }", "more than 1s of CPU", "for (;;) { i++ }"},
		{"infinite promises", "\n(function f() { Promise.resolve().then(f) })()", "the script used more than 1s of CPU", ""},
		{"recursion", "\nfunction f() { f() }\nf()", "calls are nested deeper than 1000", ""},
		{"no exports", "1", "svc.js: the service registers no route", ""},
		{"wrong exports", "module.exports = 5", "svc.js: module.exports must be a Service class, or an object", ""},
		{"arrow", "module.exports = async (req) => 1", "svc.js: module.exports must be a Service class", ""},
		{"no route", "module.exports = function () {}", "svc.js: the service has neither a method _route(router)", ""},
		{"no _route", class(""), "TypeError: the service has no method _route(router)", ""},
		{"bad key", "module.exports = {handle: () => 1}", `key "handle" of module.exports is no route`, ""},
		{"bad method", "module.exports = {'FETCH /': () => 1}", `"FETCH" is no HTTP method`, ""},
		{"bad path", "module.exports = {'GET a': () => 1}", `svc.js: route GET a: path "a" must begin with /`, ""},
		{"bad parameter", "module.exports = {'GET /:': () => 1}", `svc.js: route GET /:: ":" is no parameter`, ""},
		{"bad expression", "module.exports = {'GET /:a((?=x))': () => 1}", `not in RE2 syntax`, ""},
		{"bad star", "module.exports = {'GET /*/a': () => 1}", `* can only end path "/*/a"`, ""},
		{"bad path with line", class("_route(r) { this.addHandler(r, '/a//b', 'GET', () => 1) }"), "svc.js:3:28: Error: addHandler: route GET /a//b: there is nothing between two slashes", ""},
		{"bad handler", "module.exports = {'GET /': 1}", `the handler of GET / is no function`, ""},
		{"bad addHandler", class("_route(r) { this.addHandler(r, '/', 'GET') }"), "svc.js:3:28: Error: addHandler: the handler of GET / is no function", ""},
		{"duplicate", "module.exports = {'GET /:a': () => 1, 'get /:b/': () => 1}", "route GET /:b/ is registered twice", ""},
		{"duplicate by case", "module.exports = {'GET /Ab/:x(A)?': () => 1, 'GET /aB/:y(A)?': () => 1}", "route GET /aB/:y(A)? is registered twice (GET /Ab/:x(A)?)", ""},
		{"express router", class("_route(r) { r.get('/', (req, res) => res.send('')) }"), "router.get is not supported: write this.addHandler", ""},
		{"unknown module", "\nrequire('node:no')", `svc.js:2:8: Error: cannot find module "node:no"`, "require('node:no')"},
		{"missing file", "require('./nope')", `svc.js:1:8: Error: cannot find module: there is no file "./nope"`, "require('./nope')"},
		{"escape", "require('../outside')", `"../outside" is outside the application directory`, ""},
		{"data at load", "\ndataRepo.getList('note@demo')", "svc.js:2:17: Error: dataRepo.getList acts for the account of a request", ""},
		{"import", "// x\n  import a from 'b'; a();", `svc.js:2:17: Error: cannot find module "b": it is no built-in module`, "import a from 'b'; a();"},
		{"syntax in a module", "export default {\n  'GET /': () => { let x = ; }\n};", `svc.js:2:28: syntax error: Unexpected ";"`, "'GET /': () => { let x = ; }"},
		{"syntax beside for await", "async () => {\n  for await (const x of y) {}\n  let z = ;\n}", `svc.js:3:11: syntax error: Unexpected ";"`, "let z = ;"},
		{"await outside, CommonJS", "const x = await fetch('x');\nmodule.exports = {'GET /': () => x};", "svc.js:1:11: await outside of functions is not supported here", "const x = await fetch('x');"},
		{"await outside, loop", "import a from './svc.js';\nfor await (const x of a) {}", "svc.js:2:5: await outside of functions is not supported here", "for await (const x of a) {}"},
		{"column after letters beyond ASCII", "const я = 'ёж'; let x = ;", "svc.js:1:25: syntax error: Unexpected token ;", ""},
		{"throw after letters beyond ASCII", "\nconst я = 'ёж🙂'; throw new Error('x');", "svc.js:2:25: Error: x", ""},
		{"property", "exports.a = /a/;\nexports.b = /\\p{Nope}/u;", `svc.js:2:13: \p{Nope}: there is no such property`, ""},
		{"flag", "exports.a = /a/v;", "the flags d and v of regular expressions are not supported", ""},
		{"operators", "x = " + strings.Repeat("a+\n", 20_000), "an expression goes on for more than 10000 operators", ""},
		{"brackets", "x = " + strings.Repeat("(", 300_000), "svc.js:1:5005: brackets are nested deeper than 5000", ""},
		{"huge", "//" + strings.Repeat("x", 5<<20), "svc.js: the file has 5242882 bytes, at most 4194304 are read", ""},
		{"empty", "", "svc.js: the service registers no route", ""},
	}
	a := newApp(t, limits.Limits{Load: time.Second}, false)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a.write("svc.js", c.text)
			_, err := a.rt.Load(a.service("svc.js"))
			var e *module.LoadError
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want a LoadError", err)
			}
			expectIn(t, e.Error(), c.want)
			if c.source != "" && e.Source != c.source {
				t.Errorf("got source line %q, want %q", e.Source, c.source)
			}
			if strings.Contains(err.Error(), a.dir) {
				t.Errorf("the error names the machine's path: %v", err)
			}
		})
	}
}

func TestLoadErrorsOfFiles(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	outside := filepath.Join(t.TempDir(), "outside.js")
	if err := os.WriteFile(outside, []byte("module.exports = {'GET /': () => 1}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(a.dir, "link.js")); err != nil {
		t.Skip("no symbolic links here")
	}
	a.write("a.ts", "interface A {}\nlet x: = 1")
	a.write("b.mjs", " throw new Error('boom');export default {}")
	a.write("uses.js", "const x = 1;\nmodule.exports = require('./lib/bad')")
	a.write("lib/bad.js", "\n\nfoo(;")
	a.write("json.js", "\nrequire('./bad.json')")
	a.write("bad.json", "{\n  \"a\": }")
	rel, _ := filepath.Rel(a.dir, outside)
	for file, want := range map[string]string{
		"missing.js": `missing.js: there is no file "missing.js"`,
		"../x.js":    `is outside the application directory`,
		rel:          `is outside the application directory`,
		"link.js":    `"link.js" leads outside the application directory`,
		"a.ts":       "a.ts:2:8: syntax error",
		"a":          "a.ts:2:8: syntax error",
		"b.mjs":      "b.mjs:1:8: Error: boom",
		"uses.js":    "lib/bad.js:3:5: syntax error",
		"json.js":    "bad.json:2:8: malformed JSON",
	} {
		_, err := a.rt.Load(a.service(file))
		if err == nil {
			t.Errorf("%s: loaded", file)
			continue
		}
		expectIn(t, err.Error(), want)
	}
}

func TestNeverEndingRoute(t *testing.T) {
	a := newApp(t, limits.Limits{Load: 200 * time.Millisecond}, false)
	a.write("svc.js", "const {Service} = require('restsrv');\nmodule.exports = class extends Service { _route() { return new Promise(() => 1) } }")
	_, err := a.rt.Load(a.service("svc.js"))
	if err == nil {
		t.Fatal("loaded")
	}
	expectIn(t, err.Error(), "_route did not finish within 1s")
}

func TestRequire(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	a.write("lib/a.js", "exports.early = 1; const b = require('./b'); exports.sawB = b.sawEarly; exports.name = __filename; exports.dir = __dirname;")
	a.write("lib/b.js", "exports.sawEarly = require('./a.js').early;")
	a.write("lib/data.json", `{"z": 1, "a": [1, {"__proto__": 5}]}`)
	a.write("lib/deep/index.js", "module.exports = module.id;")
	g := a.load(`const a = require('./lib/a'), again = require('./lib/../lib/a.js');
		let caught; try { require('./none') } catch (e) { caught = e.code }
		module.exports = {'GET /': () => [a, a === again, require('./lib/data'), require('./lib/deep'), caught, require('./lib/late')]}`)
	a.write("lib/late.js", "module.exports = 'late'")
	expect(t, get(t, g), jsonType+`[{"early":1,"sawB":1,"name":"lib/a.js","dir":"lib"},true,{"z":1,"a":[1,{"__proto__":5}]},"lib/deep/index.js","MODULE_NOT_FOUND","late"]`)
	files := g.Files()
	sort.Strings(files)
	all := strings.Join(files, "\n")
	for _, f := range []string{"svc.js", "lib/a.js", "lib/b.js", "lib/data.json", "none.js", "lib/late.js", "lib/deep/index.js"} {
		expectIn(t, all, filepath.Join(a.dir, f))
	}
}

func TestOptions(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	a.repo.fill(t, 1)
	a.opts = service.Options{
		"text": "x", "list": []any{true, nil}, "nested": engine.Fields{{Name: "a", Value: "b"}}, "number": js.Number("3"),
		"things": a.repo2(), "strange": struct{}{},
	}
	g := a.load(`module.exports = {'GET /': async () => [options.text, options.list, options.nested, options.number, options.strange === undefined,
		(await options.things.getList('note@demo')).length, options.things === options.things]}`)
	expect(t, get(t, g), jsonType+`["x",[true,null],{"a":"b"},3,true,1,true]`)
	expectIn(t, a.log.String(), "option=strange")
}

// repo2 is the repository of the app as an option that implements only
// engine.Repository.
func (a *app) repo2() engine.Repository { return struct{ engine.Repository }{a.repo} }

// TestHandlersOfExpress checks that loading a handler (req, res) fails with an
// explanation.
func TestHandlersOfExpress(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	g := a.load("module.exports = {'GET /': (req, res) => res.json({a: 1}), 'PUT /': (req, extra = 1) => extra};")
	defer g.Close()
	expectIn(t, a.log.String(), "level=WARN", "there is no res and no next; return the answer", `route="GET /"`)
	if strings.Contains(a.log.String(), "PUT") {
		t.Errorf("a default is no second parameter:\n%s", a.log)
	}
}

// TestServiceOptions checks that the base class stores the argument of its
// constructor.
func TestServiceOptions(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	a.opts = map[string]any{"word": "tea"}
	for name, class := range map[string]string{
		"no constructor": `class S extends Service { _route(r) { this.addHandler(r, '/', 'GET', () => this.options.word) } }`,
		"own":            `class S extends Service { constructor(o) { super(); this.options = {word: o.word} } _route(r) { this.addHandler(r, '/', 'GET', () => this.options.word) } }`,
		"getter":         `class S extends Service { get options() { return {word: 'tea'} } _route(r) { this.addHandler(r, '/', 'GET', () => this.options.word) } }`,
	} {
		t.Run(name, func(t *testing.T) {
			g := a.load("const { Service } = require('restsrv');\nmodule.exports = " + class)
			defer g.Close()
			expect(t, get(t, g), jsonType+`"tea"`)
		})
	}
}
