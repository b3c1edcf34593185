package script

import (
	"strings"
	"testing"
	"time"

	"restsrv/engine/script/limits"
)

// TestUnparsedSyntax loads a file for each kind of syntax that the engine does not compile. Such syntax must work if
// it is the only one in its file, since the compiler is then called for it alone.
func TestUnparsedSyntax(t *testing.T) {
	const all = "const out = []; for await (const v of it) out.push(v); return out.join();"
	for name, code := range map[string]string{
		"async generator":            "async function* g() { yield 1; yield 2; }\nmodule.exports = async () => { const it = g(); return (await it.next()).value + '' + (await it.next()).value; };",
		"async generator expression": "const g = async function* () { yield 1; yield 2; };\nmodule.exports = async () => { const it = g(); return (await it.next()).value + '' + (await it.next()).value; };",
		"async generator method":     "class A { async *g() { yield 1; yield 2; } }\nmodule.exports = async () => { const it = new A().g(); return (await it.next()).value + '' + (await it.next()).value; };",
		"for await":                  "const run = async (it) => {" + strings.ReplaceAll(all, "out.join()", "out.join('')") + "};\nmodule.exports = () => run([1, Promise.resolve(2)]);",
		"field set":                  "class A { set = 1; b = 2; }\nmodule.exports = () => '' + new A().set + new A().b;",
		"fields get and async":       "class A { get = 1; async = 2; }\nmodule.exports = () => '' + new A().get + new A().async;",
		"static field get":           "class A { static get = 1; static set = 2; }\nmodule.exports = () => '' + A.get + A.set;",
	} {
		for _, file := range []string{"x.js", "x.ts"} {
			t.Run(name+" in "+file, func(t *testing.T) {
				a := newApp(t, limits.Limits{}, false)
				a.write(file, code)
				if got := get(t, a.load("const run = require('./"+file+"');\nmodule.exports = { 'GET /': async () => ({ got: await run() }) };")); !strings.HasSuffix(got, `{"got":"12"}`) {
					t.Errorf("got %s, want 12", got)
				}
			})
		}
	}
}

// TestTopLevelAwait loads services whose modules wait outside of functions.
func TestTopLevelAwait(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"main file": {map[string]string{"svc.js": "const n = await Promise.resolve(41);\nconst m = -await 1 + (await n) + [await 2, await (async () => 3)()].length;\nexport default {'GET /': () => m};"}, jsonType + "42"},
		"timer":     {map[string]string{"svc.js": "await new Promise(done => setTimeout(done, 5));\nconst l = await Promise.all([1, 2]);\nexport default {'GET /': () => l};"}, jsonType + "[1,2]"},
		"imported module": {map[string]string{
			"svc.js":    "import {late} from './late.mjs';\nimport {twice} from './twice.mjs';\nexport default {'GET /': () => [late, twice]};",
			"twice.mjs": "import {late} from './late.mjs';\nexport const twice = 2 * late;", "late.mjs": "let n = 0;\nfor (const i of [1, 2, 3]) n += await i;\nexport const late = n;"}, jsonType + "[6,12]"},
		"two levels": {map[string]string{
			"svc.js": "import a from './a.mjs';\nexport default {'GET /': () => a};",
			"a.mjs":  "import b from './b.mjs';\nexport default b + await 1;", "b.mjs": "import './c.mjs';\nexport default await new Promise(done => setImmediate(() => done(globalThis.c++)));", "c.mjs": "globalThis.c = (globalThis.c || 0) + await 1;"}, jsonType + "2"},
		"TypeScript": {map[string]string{"svc.js": "import {n} from './n.ts';\nexport default {'GET /': () => n};", "n.ts": "const p: Promise<number> = Promise.resolve(7);\nexport const n: number = await p;"}, jsonType + "7"},
		"try":        {map[string]string{"svc.js": "let m;\ntry { await Promise.reject(new Error('no')); } catch (e) { m = e.message; } finally { await null; }\nexport default {'GET /': () => m};"}, jsonType + `"no"`},
	} {
		t.Run(name, func(t *testing.T) {
			a := newApp(t, limits.Limits{}, false)
			for file, text := range c.files {
				a.write(file, text)
			}
			g := a.load(c.files["svc.js"])
			expect(t, get(t, g), c.want)
			if v, err := g.anotherVM(); err != nil {
				t.Error(err)
			} else {
				v.Dispose()
			}
		})
	}
	for name, c := range map[string]struct{ text, want string }{
		"rejected":      {"const a = 1;\nawait Promise.reject(new Error('refused'));\nexport default {'GET /': () => a};", "svc.js:2:"},
		"thrown":        {"await null;\nnull.x;\nexport default {};", "svc.js:2:"},
		"never":         {"await new Promise(() => 0);\nexport default {'GET /': () => 1};", "svc.js"},
		"CommonJS":      {"const a = await 1;\nmodule.exports = {'GET /': () => a};", "svc.js:1:11: await outside of functions"},
		"for await":     {"for await (const x of []) ;\nexport default {'GET /': () => 1};", "svc.js:1:5: await outside of functions"},
		"required late": {"import './x.mjs';\nconst r = require('./late.cjs');\nexport default {'GET /': () => r};", ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := newApp(t, limits.Limits{Load: 300 * time.Millisecond}, false)
			a.write("x.mjs", "export const x = 1;")
			a.write("late.cjs", "try { require('./late.mjs') } catch (e) { module.exports = e.code }")
			a.write("late.mjs", "export default await 1;")
			a.write("svc.js", c.text)
			g, err := a.rt.Load(a.service("svc.js"))
			switch {
			case c.want == "" && err == nil:
				expect(t, get(t, g), jsonType+`"ERR_REQUIRE_ASYNC_MODULE"`)
			case err == nil || c.want == "" || !strings.HasPrefix(err.Error(), c.want):
				t.Errorf("got the error %v, want %q", err, c.want)
			}
		})
	}
}
