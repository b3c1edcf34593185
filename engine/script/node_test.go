package script

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"restsrv/engine/script/limits"
	"restsrv/engine/wire"
)

// nodeCase is an expression and the text that Node.js prints for its value.
type nodeCase struct{ code, want string }

// TestNode evaluates the expressions of testdata/node and compares the results
// with the output of Node.js. With -update, and if Node.js is installed, it
// updates the files. A file contains one expression per line, followed by a
// line with a tab and the value. Lines that begin with # are comments. Lines
// that begin with > are run before all expressions.
func TestNode(t *testing.T) {
	names, err := filepath.Glob("testdata/node/*.txt")
	if err != nil || len(names) == 0 {
		t.Fatal("no tables:", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			head, cases := readCases(string(text))
			if *update {
				writeCases(t, name, string(text), askNode(t, head, cases))
				return
			}
			got := evaluate(t, head, cases)
			for i, c := range cases {
				if got[i] != c.want {
					t.Errorf("%s\n\tgot  %s\n\tNode %s", c.code, got[i], c.want)
				}
			}
		})
	}
}

func readCases(text string) (head string, cases []nodeCase) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '>':
			head += line[1:] + "\n"
		case line[0] == '\t':
			cases[len(cases)-1].want = line[1:]
		default:
			cases = append(cases, nodeCase{code: line})
		}
	}
	return head, cases
}

// program returns code with a function run that returns a list of texts.
func program(head string, cases []nodeCase) string {
	var b strings.Builder
	b.WriteString("const { show } = require('./check.js');\n" + head + "const cases = [\n")
	for _, c := range cases {
		b.WriteString("  async () => (" + c.code + "),\n")
	}
	b.WriteString(`];
async function run() {
  const out = [];
  for (const f of cases) {
    if (out.length % 10 === 0) await new Promise((next) => setTimeout(next, 0)); // start a new turn
    try {
      out.push(show(await f()).replace(/\n/g, '\\n'));
    } catch (e) {
      out.push('throws ' + (e && e.name) + (e && typeof e.code === 'string' ? ' ' + e.code : ''));
    }
  }
  return out;
}
`)
	return b.String()
}

func helper(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(probeDir, "check.js"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// evaluate runs the cases in restsrv.
func evaluate(t *testing.T, head string, cases []nodeCase) []string {
	t.Helper()
	a := newApp(t, limits.Limits{}, false)
	a.write("check.js", helper(t))
	got := get(t, a.load(program(head, cases)+"module.exports = { 'GET /': run };"))
	return decodeTexts(t, strings.TrimPrefix(got, jsonType))
}

// askNode runs the cases in Node.js.
func askNode(t *testing.T, head string, cases []nodeCase) []string {
	t.Helper()
	dir := t.TempDir()
	main := filepath.Join(dir, "main.js")
	code := program(head, cases) + "run().then((list) => process.stdout.write(JSON.stringify(list)));"
	for name, text := range map[string]string{main: code, filepath.Join(dir, "check.js"): helper(t)} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("node", main)
	cmd.Env = append(os.Environ(), "TZ=UTC", "LANG=en_US.UTF-8")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node: %v", err)
	}
	return decodeTexts(t, string(out))
}

func decodeTexts(t *testing.T, text string) []string {
	t.Helper()
	decoded, err := wire.Decode([]byte(text))
	list, ok := decoded.([]any)
	if err != nil || !ok {
		t.Fatalf("no list: %s", text)
	}
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = fmt.Sprint(v)
	}
	return texts
}

// writeCases writes the values into the file.
func writeCases(t *testing.T, name, text string, values []string) {
	t.Helper()
	var b strings.Builder
	next := 0
	for line := range strings.Lines(text) {
		if line[0] == '\t' {
			continue
		}
		b.WriteString(line)
		if line != "\n" && line[0] != '#' && line[0] != '>' {
			b.WriteString("\t" + values[next] + "\n")
			next++
		}
	}
	if err := os.WriteFile(name, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
