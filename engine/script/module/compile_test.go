package module

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"restsrv/engine/script/sandbox"
	"restsrv/engine/script/transpile"
)

// deepSources are texts that are nested too deep or too long. Without a limit,
// their compilation ends the process, or takes minutes and all memory.
func deepSources() map[string]string {
	all := map[string]string{}
	const n = 500_000
	for name, p := range map[string][3]string{
		"brackets": {"(", "1", ")"}, "lists": {"[", "", "]"}, "objects": {"{a:", "1", "}"}, "not": {"!", "1", ""}, "minus": {"- ", "1", ""},
		"typeof": {"typeof ", "1", ""}, "new": {"new ", "a", ""}, "arrows": {"a=>", "1", ""}, "async arrows": {"async a=>", "1", ""},
		"assignments": {"a=", "1", ""}, "choices": {"a?b:", "1", ""}, "nested choices": {"a?", "1", ":b"}, "powers": {"a**", "1", ""},
		"sums": {"a+", "1", ""}, "and": {"a&&", "1", ""}, "less": {"a<", "b", ""}, "templates": {"`${", "1", "}`"}, "patterns": {"[", "a", "]=1"},
		"members": {"a.", "b", ""}, "calls": {"a", "", "()"}, "indexes": {"a", "", "[0]"}, "tags": {"a", "", "``"}, "casts": {"<any>", "1", ""},
		"assertions": {"1", "", " as any"}, "not null": {"a", "", "!"},
	} {
		k := n / (len(p[0]) + len(p[2]))
		if p[0] == "a" || p[0] == "1" {
			all[name] = "x=" + p[0] + strings.Repeat(p[2], n/len(p[2]))
			continue
		}
		all[name] = "x=" + strings.Repeat(p[0], k) + p[1] + strings.Repeat(p[2], k)
	}
	for name, text := range map[string]string{
		"if": "if(a)", "while": "while(a)", "do": "do ", "labels": "a:", "else": "if(a);else ", "namespaces": "namespace A.", "decorators": "@a ",
	} {
		all[name] = strings.Repeat(text, n/len(text)) + ";"
	}
	all["namespace"] = "namespace A" + strings.Repeat(".B", n/2) + "{}"
	all["types"] = "let x:" + strings.Repeat("A<", n/4) + "B" + strings.Repeat(">", n/4)
	all["types in lists"] = "type T=" + strings.Repeat("A<b,", n/4) + "B"
	all["keys"] = "type T=" + strings.Repeat("keyof ", n/6) + "a"
	all["conditional types"] = "type T=" + strings.Repeat("A extends B?C:", n/14) + "D"
	all["classes"] = "class A extends " + strings.Repeat("class extends ", n/14) + "B" + strings.Repeat("{}", n/14) + "{}"
	return all
}

// TestDeepSources compiles each of them as JavaScript and as TypeScript in a
// separate process, which must survive and end in time.
func TestDeepSources(t *testing.T) {
	if dir := os.Getenv("SCRIPT_DEEP"); dir != "" {
		for name, text := range deepSources() {
			for _, ext := range []string{".js", ".ts"} {
				path := filepath.Join(dir, "x"+ext)
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				_, err := NewCache().loadFile(path, "x"+ext, 1<<20)
				took := time.Since(start)
				t.Logf("%s%s: %v in %v", name, ext, err, took)
				if took > 15*time.Second {
					t.Errorf("%s%s took %v", name, ext, took)
				}
			}
		}
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestDeepSources$", "-test.timeout=300s", "-test.v")
	cmd.Env = append(os.Environ(), "SCRIPT_DEEP="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %.4000s", err, out)
	}
}

// TestLongSources compiles ordinary long texts.
func TestLongSources(t *testing.T) {
	for name, text := range map[string]string{
		"list":               "x = [" + strings.Repeat("1.5, -2, 'a b c',\n", 20_000) + "]",
		"object":             "x = {" + strings.Repeat("a: [1 < 2], 'b c': {d: e.f},\n", 8000) + "}",
		"statements":         strings.Repeat("a.b.c(d + 1);\n", 20_000),
		"no semicolons":      strings.Repeat("a = b.c(d => d + 1)\n", 20_000),
		"functions":          strings.Repeat("function f(a, b) { return a < b }\n", 10_000),
		"methods":            "class A {\n" + strings.Repeat("  m(a) { if (a) { return a.b } else { return 1 } }\n", 8000) + "}",
		"one line":           strings.Repeat("if(a<b){c(d.e)}else if(f){g=h}for(;;)i();", 8000),
		"text":               "x = `" + strings.Repeat("<p class='a'>it's a long text</p>\n", 12_000) + "`",
		"comment":            "/*" + strings.Repeat("many words in a row without any sign ", 10_000) + "*/",
		"comments":           strings.Repeat("// it's a comment (\na()\n", 12_000),
		"strings":            "x = " + strings.Repeat("'a(' +\n", 4000) + "'b'",
		"regular expression": strings.Repeat("a = /['\"`(]/.test(b);\n", 4000),
		"union":              "type T = " + strings.Repeat("| 'a'\n", 9000),
	} {
		if line, column := sandbox.TooLong(text, true); line > 0 {
			t.Errorf("%s: too long at %d:%d", name, line, column)
		}
	}
}

// BenchmarkCompile measures the first load of a file with 30 lines.
func BenchmarkCompile(b *testing.B) {
	plain := strings.Repeat("async function f@(a, b) {\n  for (const x of [a]) await g(x, b);\n}\n", 10)
	for name, c := range map[string]struct{ file, text string }{
		"plain":      {"a.js", plain + "module.exports = {}"},
		"module":     {"a.mjs", plain + "export default {}"},
		"TypeScript": {"a.ts", strings.ReplaceAll(plain, "(a, b)", "(a: number, b: string)") + "export default {}"},
	} {
		for i := range 10 {
			c.text = strings.Replace(c.text, "@", string(rune('a'+i)), 1)
		}
		b.Run(name, func(b *testing.B) {
			if transpile.Always(c.file) == (name == "plain") {
				b.Fatal("the wrong way")
			}
			for b.Loop() {
				s := &Source{File: c.file, Path: "/" + c.file, Text: []byte(c.text)}
				if err := s.compile(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
