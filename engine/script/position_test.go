package script

import (
	"strings"
	"testing"
	"time"

	"restsrv/engine/script/limits"
)

// TestPlaces fails at a known position in files of every kind, and checks the
// position in the response, in the log and in the stack that scripts read.
func TestPlaces(t *testing.T) {
	cases := []struct{ name, file, text, place string }{
		{"CommonJS", "svc.js", "module.exports = {'GET /': () => {\n  throw new Error(/*@*/'x') }}", "svc.js:2:9"},
		{"first line", "svc.js", "module.exports = {'GET /': () => { throw new Error('x') }}", "svc.js:1:42"},
		{"beyond ASCII", "svc.js", "module.exports = {'GET /': () => {\n  const ё = 'Ёж 🙂'; throw new Error('x') }}", "svc.js:2:28"},
		{"TypeScript", "svc.ts", "interface A { n: number }\n\nexport default {'GET /': (req: any): A => {\n  const ё: string = 'Ёж 🙂'; throw new Error('x') }}", "svc.ts:4:36"},
		{"awaited", "svc.mjs", "export default {'GET /': async () => {\n  await null;\n\n  throw new Error('x');\n}}", "svc.mjs:4:9"},
		{"async generator", "svc.js", "async function* g() {\n  yield 1;\n  throw new Error('x') }\nmodule.exports = {'GET /': async () => {\n  for await (const n of g()) await n }}", "svc.js:3:9"},
		{"odd name", "мои/my svc.ts", "export default {'GET /': (): any => {\n  throw new Error('x') }}", "мои/my svc.ts:2:9"},
		{"property missing", "svc.ts", "export default {'GET /': (req: any) => {\n  const o: any = undefined;\n  return o.x; }}", "svc.ts:3:12"},
		{"endless", "svc.ts", "export default {'GET /': (): any => {\n\n  let i = 0;\n  for (;;) { i++; } }}", "svc.ts:4:"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a := newApp(t, limits.Limits{CPU: 50 * time.Millisecond}, true)
			a.write(c.file, c.text)
			g, err := a.rt.Load(a.service(c.file))
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			r, err := send(t, g, request{})
			if err != nil {
				t.Fatal(err)
			}
			place := r.Header.Get("X-Script-Error")
			if place != c.place && !(strings.HasSuffix(c.place, ":") && strings.HasPrefix(place, c.place)) {
				t.Errorf("X-Script-Error: got %q, want %q", place, c.place)
			}
			expectIn(t, a.log.String(), "("+place+")")
			if strings.Contains(a.log.String(), "restsrv:prelude") {
				t.Error("the log has lines of code that is not in a script: " + a.log.String())
			}
		})
	}
}

// TestStackText checks the stack that scripts read.
func TestStackText(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	a.tree("lib.ts", "type X = 1;\nexport function fails(): void {\n  throw new Error('x');\n}",
		"first.js", "exports.fails = () => { throw new Error('y') }",
		"svc.mjs", `import {fails} from './lib.js'; import first from './first.js';
			const lines = (f) => { try { f() } catch (e) { return e.stack.split('\n').slice(1, 3).map((l) => l.trim().replace(/\(\d+\)/, '')) } };
			export default {'GET /': () => [lines(fails), lines(first.fails)[0]]}`)
	a.answers("svc.mjs", `[["at fails (lib.ts:3:9)","at lines (svc.mjs:2:33)"],"at first.js:1:31"]`)
}

func TestPatterns(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	a.write("svc.js", `const word = /^\p{L}+(?<tail>\P{L})?$/u;
		const made = (text, flags) => { try { return new RegExp(text, flags) } catch (e) { return e.name + ': ' + e.message } };
		class Own extends RegExp { twice(s) { return this.test(s) && this.test(s) } }
		module.exports = {'GET /': () => [
			word.test('Привет'), word.test('1'), 'Ёж!'.match(word).groups.tail, word.source, String(word), new RegExp(word, 'iu').source,
			made('^[\\p{Lu}\\d]+$', 'u').test('Я1'), made('^[\\p{Lu}\\d]+$', 'u').source, RegExp('\\p{L}', 'gu')[Symbol.replace]('я1ю', '-'),
			made('\\p{Nope}', 'u'), made('a', 'v'), new Own('^\\p{Ll}$', 'u').twice('я'), new Own('a') instanceof RegExp, /a/ instanceof RegExp,
			/a/.constructor === RegExp, RegExp.name, 'я1ю2'.split(/\p{Nd}/u), 'aя'.replace(/\p{sc=Cyrl}/u, '_'), new RegExp('a+').exec('baa').index,
			RegExp.prototype.toString.call(/x/g), RegExp('[').source]}`)
	g, err := a.rt.Load(a.service("svc.js"))
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if r, _ := send(t, g, request{}); r != nil && r.Status == 200 {
		t.Error("RegExp('[') must throw")
	}
	text := strings.Replace(readFile(t, a, "svc.js"), ", RegExp('[').source", "", 1)
	a.write("svc.js", text)
	a.answers("svc.js", `[true,false,"!","^\\p{L}+(?<tail>\\P{L})?$","/^\\p{L}+(?<tail>\\P{L})?$/u","^\\p{L}+(?<tail>\\P{L})?$",true,"^[\\p{Lu}\\d]+$","-1-",`+
		`"SyntaxError: Invalid regular expression: \\p{Nope}: there is no such property, or it is not supported","SyntaxError: Invalid flags supplied to RegExp constructor 'v'",`+
		`true,true,true,true,"RegExp",["я","ю",""],"a_",1,"/x/g"]`)
}
