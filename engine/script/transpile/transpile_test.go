package transpile

import (
	"strings"
	"testing"
	"time"

	"github.com/dop251/goja"
	"github.com/dop251/goja/parser"
)

const head, tail = "(function(exports,require,module,__filename,__dirname){", "\n})"

func TestSyntax(t *testing.T) {
	cases := []struct{ name, file, text, want string }{
		{"types", "a.ts", "interface A { n: number }\nconst a: A = {n: 1};\nexport default a.n as number;", "1"},
		{"enum", "a.ts", "enum E { A = 1, B }\nexport default E[E.B] + E.A;", "B1"},
		{"parameter properties", "a.mts", "class A { constructor(readonly n: number) {} }\nexport default new A(7).n;", "7"},
		{"namespace", "a.cts", "namespace N { export const n = 3 }\nmodule.exports.default = N.n;", "3"},
		{"type import", "a.ts", "import type { X } from './nowhere';\nimport { Y } from './nowhere';\nlet x: X | Y = 4;\nexport default x;", "4"},
		{"satisfies", "a.ts", "export default ({n: 1} satisfies {n: number}).n!;", "1"},
		{"export class", "a.mjs", "export default class { static n = 2 }", "class"},
		{"export function", "a.mjs", "export default function f() { return 1 }", "function"},
		{"live binding", "a.mjs", "export let n = 1; export const up = () => { n++ };\nexport default '' + n;", "1"},
		{"using", "a.js", "let out = '';\n{ using x = {[Symbol.dispose || Symbol.for('Symbol.dispose')]() { out += 'x' }}; out += 'y' }\nmodule.exports.default = out;", "yx"},
		{"decorator", "a.js", "const twice = (v, c) => function () { return 2 * v.call(this) };\nclass A { @twice m() { return 4 } }\nmodule.exports.default = new A().m();", "8"},
		{"private in", "a.mjs", "class A { #x; static has(o) { return #x in o } }\nexport default A.has(new A());", "true"},
		{"text beyond ASCII", "a.ts", "const имя: string = 'Привет 🙂';\nexport default имя + String.raw`\\п`;", `Привет 🙂\п`},
		{"regexp beyond ASCII", "a.ts", "export default /^[а-яё]+$/i.test('Ёж');", "true"},
		{"meta", "scripts/a.ts", "export default [import.meta.url, import.meta.filename, import.meta.dirname, import.meta.main, (import.meta as any).env].join();", "file:///scripts/a.ts,file,dir,false,"},
		{"sloppy", "a.js", "var f = function () { return typeof this };\nmodule.exports.default = f() + typeof (async function* () {});", "objectfunction"},
		{"strict", "a.mjs", "const f = function () { return typeof this };\nexport default f();", "undefined"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			o, err := Transform(Input{File: c.file, Text: c.text, Head: head, Tail: tail, Ours: "ours"})
			if err != nil {
				t.Fatal(err)
			}
			vm := goja.New()
			run, err := vm.RunString(o.Text)
			if err != nil {
				t.Fatal(err, o.Text)
			}
			f, _ := goja.AssertFunction(run)
			module := vm.NewObject()
			_ = module.Set("exports", vm.NewObject())
			if _, err := f(nil, module.Get("exports"), goja.Undefined(), module, vm.ToValue("file"), vm.ToValue("dir")); err != nil {
				t.Fatal(err, o.Text)
			}
			got := module.Get("exports").(*goja.Object).Get("default").String()
			if got != c.want && !strings.HasPrefix(got, c.want+" ") {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestFaults(t *testing.T) {
	cases := []struct {
		file, text   string
		line, column int
		message      string
	}{
		{"a.ts", "let x: = 1", 1, 8, `syntax error: Unexpected "="`},
		{"a.ts", "\n\tconst имя = 'Привет' }", 2, 23, `syntax error: Unexpected "}"`},
		{"a.ts", "const t = '🙂', u = ;", 1, 21, "syntax error: Unexpected"},
		{"a.js", "const a = 1;\nconst b = await a;", 2, 11, "await outside of functions is not supported here"},
		{"a.mjs", "const b = await 1;\nconst c = ~-~-~b;", 1, 11, "await outside of functions"},
		{"a.mjs", "for await (const x of y) {}", 1, 5, "await outside of functions"},
		{"a.mjs", "import {a} from './a';\nreturn a;", 2, 1, "syntax error: "},
		{"a.mjs", "const a = 1;\nconst a = 2;", 2, 7, "syntax error: "},
		{"a.mjs", "const n: number = 1;", 1, 8, "syntax error: "},
		{"a.ts", "x = (", 1, 6, "syntax error: Unexpected end of file"},
	}
	for _, c := range cases {
		_, err := Transform(Input{File: c.file, Text: c.text, Head: head, Tail: tail, Ours: "ours"})
		f, ok := err.(*Fault)
		if !ok || f.Line != c.line || f.Column != c.column || !strings.HasPrefix(f.Message, c.message) {
			t.Errorf("%q: got %#v, want %d:%d %s", c.text, err, c.line, c.column, c.message)
		}
	}
}

// TestPositions checks the mapped position of each call of at().
func TestPositions(t *testing.T) {
	cases := []struct{ name, file, text string }{
		{"plain name", "scripts/a.ts", "type A = number;\nconst f = (a: A) => at(2, 21);\n\nf(1); at(4, 7);\nexport const x = [at(5, 19), at(5, 30)];"},
		{"first line", "a.ts", "at(1, 1); at(1, 11);"},
		{"odd name", "папка/my file (1).ts", "const привет: string = at(1, 24);"},
		{"percent", "100%.ts", "let a: any = 1;\nat(2, 1)"},
		{"addresses", "a#b?c:d.ts", "let a: any = 1;\nat(2, 1)"},
		{"last position", "a.mjs", "export const a = () => 1;\nclass A { m() { return at(2, 24) } }\nnew A().m()"},
		{"lowered", "a.mjs", "async function* g() {\n  at(2, 3);\n  yield 1;\n}\n(async () => {\n  for await (const x of g()) {\n    at(7, 5);\n  }\n})();"},
		{"beyond ASCII", "a.ts", "let a: string = '🙂 привет' + at(1, 31); /* ё */ at(1, 50)"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			o, err := Transform(Input{File: c.file, Text: c.text, Head: head, Tail: tail, Ours: "ours:x"})
			if err != nil {
				t.Fatal(err)
			}
			p, err := parser.ParseFile(nil, c.file, o.Text, 0, parser.WithDisableSourceMaps)
			if err != nil {
				t.Fatal(err)
			}
			p.File.SetSourceMap(o.Map.Consumer)
			program, err := goja.CompileAST(p, false)
			if err != nil {
				t.Fatal(err)
			}
			checkPositions(t, program, c.file, c.text)
		})
	}
}

func checkPositions(t *testing.T, program *goja.Program, file, text string) {
	t.Helper()
	want, lines := strings.Count(text, "at("), strings.Split(text, "\n")
	vm := goja.New()
	calls := 0
	_ = vm.Set("at", func(call goja.FunctionCall) goja.Value {
		calls++
		frames := vm.CaptureCallStack(0, nil)
		p := frames[1].Position()
		if FileName(p.Filename) != file || int64(p.Line) != call.Argument(0).ToInteger() || int64(p.Column) != call.Argument(1).ToInteger() {
			t.Errorf("got %s:%d:%d, want %s:%v", p.Filename, p.Line, p.Column, file, call.Arguments)
		}
		for _, f := range frames[1:] {
			p := f.Position()
			written := FileName(p.Filename) == file && p.Line <= len(lines) && p.Column <= len(lines[p.Line-1])
			if p.Filename != "" && p.Filename != "ours:x" && !written {
				t.Errorf("a frame has the position %s:%d:%d", p.Filename, p.Line, p.Column)
			}
		}
		return goja.Undefined()
	})
	v, err := vm.RunProgram(program)
	if err != nil {
		t.Fatal(err)
	}
	f, _ := goja.AssertFunction(v)
	module := vm.NewObject()
	_ = module.Set("exports", vm.NewObject())
	if _, err := f(nil, module.Get("exports"), goja.Undefined(), module); err != nil {
		t.Fatal(err)
	}
	if calls != want {
		t.Errorf("got %d calls, want %d", calls, want)
	}
}

// TestFirstLine does the same for a text that is not compiled. The position of a call is that of its bracket.
func TestFirstLine(t *testing.T) {
	for _, text := range []string{
		"at(1, 3); at(1, 13)",
		"'use strict'; const f = () => at(1, 33);f();\nat(2, 3);\n\tat(3, 4)",
		"let a=[at(1, 10),at(1, 20)];\n\nat(3, 3)",
	} {
		m, err := FirstLine("ours:x", "a/b.js", head, text)
		if err != nil {
			t.Fatal(err)
		}
		p, err := parser.ParseFile(nil, "a/b.js", head+text+tail, 0, parser.WithDisableSourceMaps)
		if err != nil {
			t.Fatal(err)
		}
		p.File.SetSourceMap(m.Consumer)
		program, err := goja.CompileAST(p, false)
		if err != nil {
			t.Fatal(err)
		}
		checkPositions(t, program, "a/b.js", text)
	}
}

func TestNumbers(t *testing.T) {
	for _, n := range []int{0, 1, -1, 15, 16, -16, 31, 32, 1000, -12345, 1 << 24} {
		if got, rest := cutVLQ(string(appendVLQ(nil, n)) + "rest"); got != n || rest != "rest" {
			t.Errorf("%d: got %d and %q", n, got, rest)
		}
	}
}

// BenchmarkTransform compiles a file of 30 lines.
func BenchmarkTransform(b *testing.B) {
	text := strings.Repeat("export async function f%(a: number, b: string): Promise<void> {\n  for (const x of [a]) await g(x, b);\n}\n", 10)
	for i := range 10 {
		text = strings.Replace(text, "%", string(rune('a'+i)), 1)
	}
	for b.Loop() {
		if _, err := Transform(Input{File: "a.ts", Text: text, Head: head, Tail: tail}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(time.Duration(b.Elapsed().Nanoseconds()/int64(b.N)).Microseconds()), "µs/file")
}
