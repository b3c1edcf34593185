package clients

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/engine/script/platform"
)

// npmPackages copies a folder of testdata and runs npm install with its lock
// file. If npm or a package is missing, the test is skipped, unless
// RESTSRV_TEST_NPM is "require" as in .ci/run.
func npmPackages(t *testing.T, folder string) string {
	t.Helper()
	without := func(what string, err error) {
		if os.Getenv("RESTSRV_TEST_NPM") == "require" {
			t.Fatalf("%s: %v", what, err)
		}
		t.Skipf("%s: %v: nothing of Node.js is tested", what, err)
	}
	for _, name := range []string{"node", "npm"} {
		if _, err := exec.LookPath(name); err != nil {
			without(name, err)
		}
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("../testdata", folder))); err != nil {
		t.Fatal(err)
	}
	npm := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline")
	npm.Dir = dir
	if out, err := npm.CombinedOutput(); err != nil {
		without("npm ci: "+string(out), err)
	}
	return dir
}

// typesApplication has an attribute of each kind for which the declarations have a different
// type.
const typesApplication = `{"namespace": "t", "classes": [
	{"name": "town", "key": ["id"], "semantic": "name", "properties": [
		{"name": "id", "type": "guid", "autoassigned": true}, {"name": "name", "type": "string", "nullable": false},
		{"name": "people", "type": "collection", "itemsClass": "person", "backRef": "town"}]},
	{"name": "person", "key": ["no"], "semantic": "name| (|town|)", "properties": [
		{"name": "no", "type": "int", "autoassigned": true}, {"name": "name", "type": "string", "caption": "Full */ name\n\"quoted\""},
		{"name": "secret", "type": "password"}, {"name": "born", "type": "datetime"}, {"name": "pay", "type": "decimal"},
		{"name": "kind", "type": "string", "selectionProvider": {"type": "SIMPLE", "list": [{"key": "a", "value": "A"}, {"key": "b", "value": "B"}]}},
		{"name": "loud", "type": "string", "formula": {"upper": ["$name"]}}, {"name": "contains", "type": "string"},
		{"name": "town", "type": "reference", "refClass": "town"}, {"name": "photo", "type": "image"},
		{"name": "friends", "type": "collection", "itemsClass": "person"}]}]}`

// typesGood is correct TypeScript, also for strict checks.
const typesGood = `import { Service, type Routes, type Filter } from 'restsrv';
import path from 'path';
import { strictEqual } from 'node:assert';

const byName: Filter<'person@t'> = { name: { $regex: '^A' }, 'town.name': 'Oslo', $or: [{ no: 1 }, { eq: ['$kind', 'a'] }], contains: 'x' };

export const routes: Routes = {
  'GET /:id': async (req) => {
    const p = await dataRepo.getItem('person@t', req.params.id);
    if (!p) throw Object.assign(new Error('none'), { code: 404 });
    const born: Date | null = p.born;
    const loud: string | null = p.loud;
    strictEqual(path.basename('a/b'), 'b');
    return { name: p.name?.toUpperCase(), born, loud, friends: p.base.friends?.length, town: p.getAggregate('town')?.name, f: p.friends?.[0]?.name };
  },
  'POST /': async (req) => {
    const t = await dataRepo.createItem('town@t', { name: 'Oslo', people: [{ name: 'Ann' }] });
    await dataRepo.editItem('town', t.id, { name: 'Bergen' });
    const shown: string[] = metaRepo.getListViewModel('person@t', null)?.columns.map((c: { property: string }) => c.property) ?? [metaRepo.getNodes(null, 'x')[0].code];
    strictEqual(shown.length, metaRepo.getWorkflow('person@t', 'hire')?.transitionsBySrc.new[0].assignments.length);
    const list = await dataRepo.getList('person', {
      filter: { and: [{ eq: ['$name', 'x'] }, { gt: ['$born', new Date()] }, { contains: ['$friends', { name: 'x' }] }, { lt: [1, '$no'] }] },
      sort: { 'town.name': 1, name: -1 }, forceEnrichment: ['town', ['friends', 'town']],
    });
    await dataRepo.transaction(async (tx) => { await tx.saveItem('person@t', null, { kind: 'a', town: t, secret: 'x', pay: '1.10' }); });
    await dataRepo.getList(req.body.name, { filter: { a: 1 } });
    await dataRepo.put(t, 'people', [1, { name: 'Bob' }]);
    return [list.total, list.map((p) => p.get('town.name')), await dataRepo.getCount('person@t', { filter: byName })];
  },
};

export default class extends Service {
  async _route(router: unknown) {
    await this.addHandler(router, '/', 'GET', (req) => req.user.id());
  }
}

clearTimeout(setTimeout(() => console.log(new URL('http://a/b').searchParams.get('x'), process.env.HOME), 5));
fetch('https://x').then((r) => r.json());
Buffer.from('a').toString('base64');
`

// typesPlain is JavaScript as people write it, with a package that has no types.
const typesPlain = `const { Service } = require('restsrv');
const big = require('pkg');
const { upper, parse } = require('../lib/text');

class Plain extends Service {
  async _route(router) {
    await this.addHandler(router, '/', 'GET', (req) => this.raise(req.query.no, req));
  }

  async raise(no, req) {
    const p = await this.options.dataRepo.getItem('person@t', no);
    const same = await dataRepo.getItem('person@t', no);
    if (same) await dataRepo.editItem('person@t', no, { pay: same.pay, name: same.name });
    return [upper(p.name), parse(req.rawBody.toString()), big(1)];
  }
}

module.exports = Plain;
`

// typesBad are statements that each must be refused.
var typesBad = []string{
	`(await dataRepo.getItem('person@t', 1))!.nam`,
	`(await dataRepo.getItem('person@t', 1))!.get('nam')`,
	`(await dataRepo.getItem('person@t', 1))!.base.nam`,
	`(await dataRepo.getItem('person@t', 1))!.secret`,
	`(await dataRepo.getItem('person@t', 1))!.set('nam', 1)`,
	`(await dataRepo.getItem('person@t', 1))!.set('loud', 'X')`,
	`(await dataRepo.getItem('person@t', 1))!.kind === 'c'`,
	`(await dataRepo.getItem('person@t', 1))!.getAggregate('twn')`,
	`await dataRepo.getItem('persn@t', 1)`,
	`await dataRepo.getList('person@t', { filter: { nam: 1 } })`,
	`await dataRepo.getList('person@t', { filter: { eq: ['$nam', 1] } })`,
	`await dataRepo.getList('person@t', { filter: { and: [{ eq: ['$nam', 1] }] } })`,
	`await dataRepo.getList('person@t', { filter: { 'twn.name': 1 } })`,
	`await dataRepo.getList('person@t', { filter: { name: { $eqq: 1 } } })`,
	`await dataRepo.getList('person@t', { filter: { eqq: ['$name', 1] } })`,
	`await dataRepo.getList('person@t', { sort: { nam: 1 } })`,
	`await dataRepo.getList('person@t', { fliter: {} })`,
	`await dataRepo.getList('person@t', { forceEnrichment: ['twn'] })`,
	`await dataRepo.getCount('person@t', { filter: { nam: 1 } })`,
	`await dataRepo.createItem('town@t', { nme: 'Oslo' })`,
	`await dataRepo.createItem('town@t', { name: 'Oslo', nme: 'Oslo' })`,
	`await dataRepo.createItem('town@t', {})`,
	`await dataRepo.createItem('person@t', { kind: 'c' })`,
	`await dataRepo.createItem('person@t', { loud: 'X' })`,
	`await dataRepo.editItem('person@t', 1, { nam: 'x' })`,
	`await dataRepo.saveItem('person@t', null, { born: true })`,
	`await dataRepo.transaction((tx) => tx.createItem('person@t', { nam: 'x' }))`,
	`metaRepo.getMeta('persn@t')`,
	`metaRepo.getNods('main')`,
	`metaRepo.getListViewModel('person@t')!.columms.length && metaRepo.getNode('x').children`,
}

// typesGlobals are the globals of scripts in addition to the globals of the language.
var typesGlobals = strings.Fields(`AbortController AbortSignal Blob Buffer CustomEvent DOMException Event EventTarget File FormData Headers Intl
	Request Response TextDecoder TextEncoder URL URLSearchParams atob btoa clearImmediate clearInterval clearTimeout console crypto dataRepo fetch
	fileStorage global log metaRepo options performance process queueMicrotask require setImmediate setInterval setTimeout settings shared structuredClone CryptoKey SubtleCrypto
	ByteLengthQueuingStrategy CompressionStream CountQueuingStrategy DecompressionStream ReadableByteStreamController ReadableStream
	ReadableStreamBYOBReader ReadableStreamBYOBRequest ReadableStreamDefaultController ReadableStreamDefaultReader TextDecoderStream
	TextEncoderStream TransformStream TransformStreamDefaultController WritableStream WritableStreamDefaultController WritableStreamDefaultWriter`)

// tsc compiles scripts against the declarations of the application in dir.
func tsc(t *testing.T, compiler, dir string, flags ...string) string {
	t.Helper()
	node := exec.CommandContext(t.Context(), "node", append([]string{filepath.Join(compiler, "node_modules", "typescript", "bin", "tsc"), "-p", filepath.Join(dir, "scripts", "jsconfig.json")}, flags...)...)
	node.Dir = dir
	out, err := node.CombinedOutput()
	if err != nil && len(out) == 0 {
		t.Fatal(err)
	}
	return string(out)
}

// TestTypes compiles scripts with the declarations that restsrv types writes:
// correct code passes, each misspelt attribute is an error.
func TestTypes(t *testing.T) {
	t.Parallel()
	compiler := npmPackages(t, "tsc")

	t.Run("sample", func(t *testing.T) {
		c := apptest.NewCase(t, "")
		c.CopyFromRepository([]string{"deploy.json", "scripts"})
		apptest.MustRun(t, "types", "-init", "-config", filepath.Join(c.Dir, "deploy.json"))
		if out := tsc(t, compiler, c.Dir); out != "" {
			t.Errorf("the sample scripts: want no errors, got\n%s", out)
		}
		c.WriteFile("scripts/bad.js", `module.exports = {'GET /': async () => (await dataRepo.getItem('note@sample', 'x')).titel};`)
		if out := tsc(t, compiler, c.Dir); !strings.Contains(out, "Property 'titel' does not exist") || !strings.Contains(out, "bad.js(1,") {
			t.Errorf("a misspelt attribute in JavaScript: want an error, got\n%s", out)
		}
	})

	for flag, config := range map[string]string{"-ts=false": "scripts/jsconfig.json", "-ts": "tsconfig.json"} {
		t.Run("new application "+flag, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "app")
			apptest.MustRun(t, "init", flag, dir)
			if out := tsc(t, compiler, dir, "-p", filepath.Join(dir, config)); out != "" {
				t.Errorf("restsrv init %s: want no errors, got\n%s", flag, out)
			}
		})
	}

	t.Run("JavaScript without types", func(t *testing.T) {
		c := apptest.NewCase(t, "")
		c.WriteFile("deploy.json", typesApplication)
		apptest.MustRun(t, "types", "-init", "-config", filepath.Join(c.Dir, "deploy.json"))
		c.WriteFile("node_modules/pkg/package.json", `{"name": "pkg", "main": "index.js"}`)
		c.WriteFile("node_modules/pkg/index.js", "function Big(n) { this.c = n; }\nBig.prototype.add = function (n) { return new this.constructor(this.c ^ n.c); };\nmodule.exports = (n) => new Big(n);\n")
		c.WriteFile("lib/text.js", "exports.upper = (s) => s.toUpperCase();\nexports.parse = (s) => { try { return JSON.parse(s); } catch (e) { return e.message; } };\n")
		c.WriteFile("scripts/plain.js", typesPlain)
		if out := tsc(t, compiler, c.Dir); out != "" {
			t.Errorf("correct scripts: want no errors, got\n%s", out)
		}
		c.WriteFile("scripts/null.js", `module.exports = {'GET /': async () => (await dataRepo.getItem('town@t', 'x')).name};`)
		if out := tsc(t, compiler, c.Dir); !strings.Contains(out, "null.js(1,") || !strings.Contains(out, "possibly 'null'") {
			t.Errorf("an item that may be null: want an error, got\n%s", out)
		}
	})

	t.Run("every kind", func(t *testing.T) {
		c := apptest.NewCase(t, "")
		c.WriteFile("deploy.json", typesApplication)
		apptest.MustRun(t, "types", "-init", "-config", filepath.Join(c.Dir, "deploy.json"))
		c.WriteFile("scripts/good.ts", typesGood)
		var bad strings.Builder
		bad.WriteString("export {};\n")
		for _, statement := range typesBad {
			bad.WriteString("async () => { " + statement + "; };\n")
		}
		c.WriteFile("scripts/bad.ts", bad.String())
		var platformed strings.Builder
		for i, name := range platform.ModuleNames() {
			if strings.HasPrefix(name, "_") {
				continue
			}
			prefixed := name == "test" || name == "sqlite" // Node.js has them only with the prefix
			if prefixed || platform.IsNodeModule(name) {
				fmt.Fprintf(&platformed, "import n%d = require(%q);\nvoid n%d;\n", i, "node:"+name, i)
			}
			if prefixed {
				continue
			}
			fmt.Fprintf(&platformed, "import m%d = require(%q);\nvoid m%d;\n", i, name, i)
		}
		for _, name := range typesGlobals {
			platformed.WriteString("void " + name + ";\n")
		}
		c.WriteFile("scripts/platform.ts", platformed.String())
		out := tsc(t, compiler, c.Dir, "--strict")
		if strings.Contains(out, "good.ts") || strings.Contains(out, "platform.ts") || strings.Contains(out, "restsrv.d.ts") {
			for line := range strings.Lines(out) {
				if !strings.Contains(line, "bad.ts") && !strings.HasPrefix(line, " ") {
					t.Errorf("correct scripts: want no errors, got %s", line)
				}
			}
		}
		for i, statement := range typesBad {
			if !strings.Contains(out, "scripts/bad.ts("+strconv.Itoa(i+2)+",") {
				t.Errorf("wrong statement: got no error, want one: %s", statement)
			}
		}
	})

	for name, flags := range map[string][]string{
		"default settings": nil, "dom": {"--lib", "es2023,dom"}, "webworker": {"--lib", "esnext,webworker"},
	} {
		t.Run("with other declarations/"+name, func(t *testing.T) {
			c := apptest.NewCase(t, "")
			c.WriteFile("deploy.json", typesApplication)
			apptest.MustRun(t, "types", "-o", filepath.Join(c.Dir, "restsrv.d.ts"), "-config", filepath.Join(c.Dir, "deploy.json"))
			c.WriteFile("good.ts", typesGood)
			c.WriteFile("tsconfig.json", "{}")
			if out := tsc(t, compiler, c.Dir, append([]string{"-p", c.Dir, "--strict", "--noEmit", "--esModuleInterop"}, flags...)...); out != "" {
				t.Errorf("correct scripts: want no errors, got %s", out)
			}
		})
	}

	apptest.EachApplication(t, func(t *testing.T, kind *apptest.Application) {
		app := kind.Original(t)
		c := apptest.NewCase(t, "")
		apptest.MustRun(t, "types", "-init", "-o", filepath.Join(c.Dir, "scripts", "restsrv.d.ts"), "-config", filepath.Join(app, "deploy.json"))
		c.WriteFile("scripts/use.ts", "export const f = async () => (await dataRepo.getItem('"+kind.Class+"', 1))?."+kind.Line+";\n")
		if out := tsc(t, compiler, c.Dir, "--strict"); out != "" {
			t.Errorf("want no errors, got %s", out)
		}
	})
}
