package platform

import (
	"strings"
	"testing"

	"github.com/dop251/goja"
)

// TestModuleFiles: every file in the folder of a module list exists and is CommonJS, and the folder has no other
// files.
func TestModuleFiles(t *testing.T) {
	used := map[string]bool{}
	for name, m := range moduleTable {
		if m.file == "" {
			continue
		}
		used["modules/"+m.file+".js"], used["modules/"+m.file+".js.gz"] = true, true
		text, err := readFile("modules/" + m.file + ".js")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, err := goja.Compile(m.file, "(function(exports,require,module,native){"+string(text)+"\n})", false); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, dir := range []string{"modules", "modules/intl", "modules/ancestor"} {
		entries, err := files.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if path := dir + "/" + e.Name(); !e.IsDir() && !used[path] {
				t.Errorf("no module uses the file %s", path)
			}
		}
	}
}

// TestNeeds: a text needs the patches that have one of its words.
func TestNeeds(t *testing.T) {
	index := func(text string) string {
		var names []string
		for i, p := range patchTable {
			if NeedsOf(text, false).set&(1<<i) != 0 {
				names = append(names, p.name)
			}
		}
		return strings.Join(names, " ")
	}
	for text, want := range map[string]string{
		"":                                           "",
		"function* f() {}":                           "iterators",
		"o[Symbol.asyncIterator]":                    "symbols iterators",
		"class A { [Symbol.dispose]() {} }":          "symbols disposable",
		"new DisposableStack()":                      "symbols disposable",
		"m.getOrInsert(k, 1)":                        "upsert",
		"Object.groupBy(x, f)":                       "group-by",
		"Promise.try(f)":                             "promise",
		"try { Promise.resolve() } catch {}":         "",
		"m.values().map(f)":                          "iterators",
		"Object.keys(o).map(f)":                      "",
		"for (const [k, v] of Object.entries(o)) {}": "",
		"new WeakRef(o)":                             "weak",
		"d.toLocaleDateString('ru')":                 "locale",
		"a.localeCompare(b)":                         "locale",
		"s.isWellFormed()":                           "well-formed",
		"o.__defineGetter__('x', f)":                 "accessors",
		"Error.captureStackTrace(this, f)":           "stack",
		"RegExp.escape(s)":                           "regexp-escape",
		"Array.fromAsync(x)":                         "from-async",
		"b.transfer()":                               "transfer",
		"Atomics.add(a, 0, 1)":                       "atomics",
	} {
		if got := index(text); got != want {
			t.Errorf("%s: got the patches %q, want %q", text, got, want)
		}
	}
	if n := NeedsOf("", true); n.set != 1<<len(patchTable)-1 {
		t.Errorf("NeedsOf with all set: got %b, want all patches", n.set)
	}
}

func BenchmarkNeeds(b *testing.B) {
	text := strings.Repeat("module.exports.handler = async (req) => { const items = await dataRepo.getList('note@demo'); return items.map((i) => i.get('title')); };\n", 200)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		NeedsOf(text, false)
	}
}
