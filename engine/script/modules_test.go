package script

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"restsrv/engine/script/limits"
	"restsrv/engine/script/module"
)

// tree writes files. Its arguments are names, each followed by the content.
func (a *app) tree(files ...string) {
	for i := 0; i < len(files); i += 2 {
		a.write(files[i], files[i+1])
	}
}

// answers loads svc.EXT and checks the response to GET /.
func (a *app) answers(file, want string) {
	a.t.Helper()
	g, err := a.rt.Load(a.service(file))
	if err != nil {
		a.t.Errorf("%s: %v", file, err)
		return
	}
	defer g.Close()
	expect(a.t, get(a.t, g), jsonType+want)
}

func TestModuleForms(t *testing.T) {
	for name, c := range map[string][3]string{
		"table":           {"svc.mjs", "export default {'GET /': async (req) => ({a: 1})};", `{"a":1}`},
		"class":           {"svc.ts", "import {Service} from 'restsrv';\nexport default class extends Service {\n  _route(router: any) { this.addHandler(router, '/', 'GET', async () => ({a: 2})); }\n}", `{"a":2}`},
		"class in .js":    {"svc.js", "import {Service} from 'restsrv';\nexport default class S extends Service {\n  _route(r) { this.addHandler(r, '/', 'GET', this.get) }\n  get() { return {a: 3} }\n}", `{"a":3}`},
		"ancestor's base": {"svc.ts", "import Service from 'modules/rest/lib/interfaces/Service';\nexport default class extends Service {\n  _route(r) { this.addHandler(r, '/', 'GET', async () => ({a: 4})) }\n}", `{"a":4}`},
		"named exports":   {"svc.mjs", "const get = () => 5;\nexport {get as 'GET /'};", `5`},
		"export =":        {"svc.ts", "const table = {'GET /': (): number => 6};\nexport = table;", `6`},
		"CommonJS .cts":   {"svc.cts", "const n: number = 7;\nmodule.exports = {'GET /': () => n};", `7`},
		"CommonJS .cjs":   {"svc.cjs", "module.exports = {'GET /': () => 8};", `8`},
		"hashbang":        {"svc.mts", "#!/usr/bin/env restsrv\nexport default {'GET /': () => 9 as number};", `9`},
		"for await": {"svc.js", `async function* numbers() { yield 1; yield Promise.resolve(2); }
			module.exports = {'GET /': async () => { const all = []; for await (const n of numbers()) all.push(n); return all; }}`, `[1,2]`},
		"import()": {"svc.js", "module.exports = {'GET /': async () => (await import('./lib.mjs')).default}", `"lib"`},
		"JSON":     {"svc.ts", "import words, {second} from './words.json' with {type: 'json'};\nexport default {'GET /': () => [words.first, second]};", `["one","two"]`},
	} {
		t.Run(name, func(t *testing.T) {
			a := newApp(t, limits.Limits{}, false)
			a.tree("lib.mjs", "export default 'lib'", "words.json", `{"first": "one", "second": "two"}`, c[0], c[1])
			a.answers(c[0], c[2])
		})
	}
}

func TestImports(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	a.rt.app.Namespace = "demo"
	a.tree(
		"deep/svc.ts", `import def, {n, up} from './esm.mjs';
			import * as all from './esm.mjs';
			import cjs, {part} from './common.cjs';
			import {typed} from './typed.js';
			import folder from '../folder';
			import own from 'applications/demo/lib/own';
			import bare from 'lib/own';
			import {join} from 'path';
			import './effect.js';
			import {even} from './even.mjs';
			up();
			export default {'GET /': () => [def, n, all.n, cjs.whole, part, typed, folder, own, bare, join('a', 'b'), (global as any).effect, even(10),
				require.resolve('./typed.js'), require.resolve('path'), import.meta.filename]};`,
		"deep/esm.mjs", "export let n = 1; export function up() { n++ } export default 'def';",
		"deep/common.cjs", "exports.whole = true; exports.part = 'p';",
		"deep/typed.ts", "export const typed: string = 't';",
		"deep/effect.js", "global.effect = 'e';",
		"deep/even.mjs", "import {odd} from './odd.mjs'; export const even = (n) => n === 0 || odd(n - 1);",
		"deep/odd.mjs", "import {even} from './even.mjs'; export const odd = (n) => n !== 0 && even(n - 1);",
		"folder/package.json", `{"main": "lib/start"}`, "folder/lib/start.mts", "export default 'f' as string;",
		"lib/own.js", "module.exports = 'own';",
	)
	a.answers("deep/svc", `["def",2,2,true,"p","t","f","own","own","a/b","e",true,"deep/typed.ts","path","deep/svc.ts"]`)
}

// TestImportsAsNode: in .mjs and in packages of type module, the default import of a CommonJS module is module.exports.
func TestImportsAsNode(t *testing.T) {
	a := startApp(t, Config{NodeModules: true})
	a.tree("marked.cjs", "Object.defineProperty(exports, '__esModule', {value: true}); exports.default = 'inner'; exports.named = 'n'; exports.later = () => exports.named;",
		"plain.cjs", "module.exports = {default: 'd', a: 1}", "function.cjs", "module.exports = () => 'f'; module.exports.x = 'x'; module.exports.__esModule = true; module.exports.default = 'inner'",
		"real.mjs", "export default 'real'; export const b = 2;", "named.mjs", "const f = () => 'value'; export {f as 'module.exports'}; export default 1",
		inModules+"dual/package.json", `{"exports": {"import": "./e.mjs", "require": "./c.cjs"}}`, inModules+"dual/e.mjs", "export default class {}",
		inModules+"dual/c.cjs", "exports.__esModule = true; exports.default = class {}",
		"typed/package.json", `{"type": "module"}`, "main/package.json", `{"main": "../plain.cjs"}`)
	imports := `import d, {named, later} from 'DIR/marked.cjs'; import * as all from 'DIR/marked.cjs'; import p, {a} from 'DIR/plain.cjs'; import f, {x} from 'DIR/function.cjs';
		import r, {b} from 'DIR/real.mjs'; import path, {sep} from 'path'; import Dual from 'dual'; new Dual(); export {default as again} from 'DIR/marked.cjs';
		const more = async () => { const m = await import('DIR/marked.cjs'), e = await import('DIR/real.mjs'); return [m.default.default ?? m.default, m.named, e.default] };
		export default {'GET /': async () => [d.default ?? d, named, later(), all.default === d, p.default, a, typeof f, x, r, b, path.sep === sep, await more(),
			require('DIR/named.mjs')(), require('DIR/main').a, typeof require.extensions['.js']]};`
	asNode := `["inner","n","n",true,"d",1,"function","x","real",2,true,["inner","n","real"],"value",1,"function"]`
	for file, want := range map[string]string{
		"svc.mjs": asNode, "svc.mts": asNode, "typed/svc.js": asNode, "typed/svc.ts": asNode,
		"svc.ts": strings.Replace(asNode, `"function","x"`, `"string","x"`, 1),
	} {
		dir := "."
		if strings.Contains(file, "/") {
			dir = ".."
		}
		text := strings.ReplaceAll(imports, "DIR", dir)
		a.write(file, text)
		a.answers(file, want)
		if want == asNode {
			a.write(file, strings.Replace(text, "d.default ?? d", "typeof d", 1))
			a.answers(file, strings.Replace(want, `"inner"`, `"object"`, 1))
		}
	}
}

const inModules = "node_modules/"

func TestNodeModules(t *testing.T) {
	a := startApp(t, Config{NodeModules: true})
	a.tree(
		inModules+"main/package.json", `{"main": "./lib"}`, inModules+"main/lib/index.js", "exports.name = __filename;",
		inModules+"plain/index.js", "module.exports = 'plain'",
		inModules+"plain/sub/x.js", "module.exports = require('../index.js') + ' sub ' + require('plain')",
		inModules+"@scope/pkg/package.json", `{"name": "@scope/pkg", "exports": {".": {"types": "./x.d.ts", "import": "./e.mjs", "require": "./c.cjs"}, "./only": {"import": "./e.mjs"},
			"./deep/*": "./src/*.js", "./deep/secret/*": null, "./self": "./self.cjs"}, "imports": {"#inner": {"node": "./src/inner.js", "default": "./no.js"}, "#path": "path"}}`,
		inModules+"@scope/pkg/e.mjs", "export default 'e'", inModules+"@scope/pkg/c.cjs", "module.exports = 'c' + require('#inner') + require('#path').sep",
		inModules+"@scope/pkg/src/inner.js", "module.exports = 'inner'", inModules+"@scope/pkg/src/a.js", "module.exports = 'a'",
		inModules+"@scope/pkg/self.cjs", "module.exports = require('@scope/pkg')",
		inModules+"outer/package.json", `{"exports": "./o.mjs", "type": "module"}`,
		inModules+"outer/o.mjs", "import inner from 'inner'; export const x = inner; export default 'o';",
		inModules+"outer/node_modules/inner/index.js", "module.exports = 'nested'", inModules+"inner/index.js", "module.exports = 'top'",
		inModules+"path/index.js", "module.exports = 'not this'",
		inModules+"web/package.json", `{"exports": {".": {"browser": {"import": "./e.mjs", "require": "./c.js"}, "worker": "./w.js"}, "./w": {"workerd": "./w.js"}, "./n": {"browser": "./no.js", "node": "./n.js"}}}`,
		inModules+"web/c.js", "module.exports = 'browser'", inModules+"web/w.js", "module.exports = 'worker'", inModules+"web/n.js", "module.exports = 'node'",
		"store/linked/index.js", "module.exports = __filename",
		"services/svc.ts", `import {x} from 'outer'; import only from '@scope/pkg/only'; import a from '@scope/pkg/deep/a';
			export default {'GET /': () => [require('main').name, require('plain'), require('plain/sub/x'), require('@scope/pkg'), only, a, require('@scope/pkg/self'), x, require('inner'),
				typeof require('path').join, require('linked'), require('web'), require('web/w'), require('web/n')]}`,
	)
	if err := os.Symlink("../store/linked", filepath.Join(a.dir, "node_modules", "linked")); err != nil {
		t.Fatal(err)
	}
	a.answers("services/svc.ts", `["node_modules/main/lib/index.js","plain","plain sub plain","cinner/","e","a","cinner/","nested","top","function","store/linked/index.js","browser","worker","node"]`)
}

func TestModuleFaults(t *testing.T) {
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "index.js"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cases := []struct{ text, on, off string }{
		{"require('lodahs')", `svc.js:1:8: Error: cannot find module "lodahs": it is no built-in module, and the application directory has no such file (.js .json .mjs .cjs .ts .mts .cts and index files were tried), nor is there such a package in node_modules`,
			"were tried)"},
		{"require('pkg')", "", `svc.js:1:8: Error: cannot find module "pkg": it is no built-in module, and the application directory has no such file (.js .json .mjs .cjs .ts .mts .cts and index files were tried); the package is in node_modules, which scripts can use if the setting scripts.nodeModules is true: "globals": {"scripts": {"nodeModules": true}} in deploy.json`},
		{"require('restsv')", `(the nearest is "restsrv")`, `(the nearest is "restsrv")`},
		{"require('child_process').exec('ls')", `svc.js:1:30: Error: child_process.exec is not supported: scripts start no processes`, ""},
		{"require('node:sea-shell')", `cannot find module "node:sea-shell": Node.js has no such module`, ""},
		{"require('other')", `; a file beside the one that asks is "./other"`, ""},
		{"require('/etc/passwd')", "it is no path within the application directory", ""},
		{"require('./none')", `there is no file "./none" (.js .json .mjs .cjs .ts .mts .cts and an index file in a folder of that name were tried)`, ""},
		{"require('exp')", `the package of "exp" names "./gone.js", which is none of its files`, ""},
		{"require('exp/no')", `the package of "exp/no" exports no "./no"`, ""},
		{"require('exp/up')", `names "./../pkg/index.js", which is none of its files`, ""},
		{"require('leads')", `"leads" leads outside the application directory`, ""},
		{"require('broken')", "node_modules/broken/package.json:1:2: malformed JSON", ""},
		{"require('#x')", `no package.json above says what "#x" is`, ""},
		{"require('bad')", "node_modules/bad/index.mjs:2:9: syntax error", ""},
		{"require.cache", "require.cache is not supported", "require.cache is not supported"},
		{"require('./mod.mjs')", "mod.mjs:2:7: Error: x", "mod.mjs:2:7: Error: x"},
	}
	for _, on := range []bool{true, false} {
		a := startApp(t, Config{NodeModules: on})
		a.tree(inModules+"pkg/package.json", "{}", inModules+"pkg/index.js", "", "scripts/other.js", "", "scripts/mod.mjs", "export {};\nthrow new Error('x')",
			inModules+"exp/package.json", `{"exports": {".": "./gone.js", "./up": "./../pkg/index.js"}}`,
			inModules+"broken/package.json", `{`, inModules+"bad/package.json", `{"exports": {"import": "./index.mjs"}}`, inModules+"bad/index.mjs", "export {};\nlet x = ;")
		if err := os.Symlink(outside, filepath.Join(a.dir, "node_modules", "leads")); err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			want := c.on
			if !on {
				want = c.off
			}
			if want == "" {
				continue
			}
			a.write("scripts/svc.js", c.text)
			_, err := a.rt.Load(a.service("scripts/svc.js"))
			var e *module.LoadError
			if !errors.As(err, &e) {
				t.Errorf("%s (%v): got %v", c.text, on, err)
				continue
			}
			expectIn(t, e.Error(), want)
			if strings.Contains(e.Error(), a.dir) {
				t.Errorf("the error names the machine's path: %v", err)
			}
		}
	}
}

// TestModulesThatAppear checks that a service is loaded again when a missing
// file is created.
func TestModulesThatAppear(t *testing.T) {
	for name, c := range map[string]struct{ text, file, content string }{
		"file":        {"require('./lib')", "lib.cts", ""},
		"imported":    {"import './lib.js'", "lib.ts", ""},
		"folder":      {"require('./lib')", "lib/index.mts", ""},
		"main":        {"require('./lib')", "lib/package.json", `{"main": "../other"}`},
		"package":     {"require('pkg')", inModules + "pkg/package.json", `{"main": "m.js"}`},
		"bare folder": {"require('pkg')", inModules + "pkg/index.js", ""},
		"exported":    {"require('exp/x')", inModules + "exp/x.js", ""},
		"exports":     {"require('exp/y')", inModules + "exp/package.json", `{"exports": {"./y": "./m.js"}}`},
		"above":       {"require('lib/own')", "lib/own.mjs", ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := startApp(t, Config{NodeModules: true})
			a.tree("other.js", "", inModules+"exp/package.json", `{"exports": {"./x": "./x.js"}}`, inModules+"exp/m.js", "", "svc.js",
				"try { "+c.text+" } catch {}\nmodule.exports = {'GET /': () => 1}")
			if strings.HasPrefix(c.text, "import") {
				a.write("svc.js", c.text)
				_, err := a.rt.Load(a.service("svc.js"))
				var failed *failedLoad
				if !errors.As(err, &failed) || !newPathSet([]string{filepath.Join(a.dir, c.file)}).containsAny(failed.files.AllPaths()) {
					t.Errorf("got %v", err)
				}
				return
			}
			g, err := a.rt.Load(a.service("svc.js"))
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			if g.Service.Files.IsStale() {
				t.Error("stale from the beginning")
			}
			a.write(c.file, c.content)
			if !newPathSet([]string{filepath.Join(a.dir, filepath.FromSlash(c.file))}).containsAny(g.Files()) || !g.Service.Files.IsStale() {
				t.Error("the missing file was not looked for")
			}
		})
	}
}

func readFile(t *testing.T, a *app, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(a.dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestBecomesTypeScript replaces a file by one with another extension.
func TestBecomesTypeScript(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	a.tree("svc.js", "module.exports = {'GET /': () => require('./lib').n}", "lib.js", "exports.n = 1")
	g, err := a.rt.Load(a.service("svc.js"))
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	expect(t, get(t, g), jsonType+"1")
	for _, name := range []string{"svc", "lib"} {
		if err := os.Remove(filepath.Join(a.dir, name+".js")); err != nil {
			t.Fatal(err)
		}
	}
	a.tree("svc.ts", "import {n} from './lib.js';\nexport default {'GET /': (): number => n}", "lib.ts", "export const n: number = 2")
	if !g.Service.Files.IsStale() {
		t.Error("removed files are not reported as faults")
	}
	a.answers("svc.js", "2")
}

// TestWithNamespace checks that With sets the namespace, because applications
// may be renamed while the server runs.
func TestWithNamespace(t *testing.T) {
	a := startApp(t, Config{Namespace: "one"})
	a.write("lib/x.js", "module.exports = 7")
	text := "module.exports = {'GET /': () => require('applications/%s/lib/x')}"
	expect(t, get(t, a.load(fmt.Sprintf(text, "one"))), jsonType+"7")
	rt, err := a.rt.With(Config{Dir: a.dir, Namespace: "two"})
	if err != nil {
		t.Fatal(err)
	}
	a.rt = rt
	expect(t, get(t, a.load(fmt.Sprintf(text, "two"))), jsonType+"7")
	expect(t, get(t, a.load(fmt.Sprintf(text, "one"))), "error internal Internal server error")
}

// TestPromiseInAnswer: a promise inside an answer is logged with its member.
func TestPromiseInAnswer(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	get(t, a.load(`module.exports = {'GET /': async () => ({a: 1, list: [{p: Promise.resolve(1)}]})}`))
	expectIn(t, a.log.String(), "an answer contains a promise, which is sent as {}: write await before the value", "member=p")
}
