package script

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"restsrv/engine/script/limits"
)

// TestTest262 runs the tests of ECMAScript (https://github.com/tc39/test262) below the folder that the environment
// variable TEST262 names, and prints how many pass, by area. It fetches no files. TEST262_SAMPLE is the number of tests
// to choose at random, TEST262_SEED (1) selects them, TEST262_WITHOUT (Temporal) is a regular expression for paths to
// leave out, and TEST262_FAILED=1 lists the tests that fail, with the reasons.
//
// Each test runs as a file of a service, in a VM of its own with the usual guards and limits. It runs in strict mode and
// in sloppy mode, if it allows both, and must pass in both. Without TEST262 the tests in testdata/test262 run, which must
// all have the results that their names state.
func TestTest262(t *testing.T) {
	root := os.Getenv("TEST262")
	own := root == ""
	if own {
		root = filepath.Join("testdata", "test262", "test")
	}
	s := newSpecification(t, root)
	s.choose(os.Getenv("TEST262_SAMPLE"), cmp.Or(os.Getenv("TEST262_SEED"), "1"), cmp.Or(os.Getenv("TEST262_WITHOUT"), "Temporal"))
	results := s.runAll()
	if own {
		for _, r := range results {
			if want := !strings.HasPrefix(filepath.Base(r.file), "fails-"); (r.why == "") != want {
				t.Errorf("%s: passed %t, want %t: %s", r.file, r.why == "", want, r.why)
			}
		}
		return
	}
	fmt.Print(ratesByArea(results))
	if os.Getenv("TEST262_FAILED") != "" {
		for _, r := range results {
			if r.why != "" {
				fmt.Printf("%s: %s\n", r.file, r.why)
			}
		}
	}
}

// specification is a copy of test262.
type specification struct {
	t       *testing.T
	root    string // the folder that contains the folder harness
	files   []string
	harness sync.Map // content of the files in harness, by name
}

func newSpecification(t *testing.T, folder string) *specification {
	t.Helper()
	folder, err := filepath.Abs(folder)
	if err != nil {
		t.Fatal(err)
	}
	s := &specification{t: t, root: folder}
	for ; ; s.root = filepath.Dir(s.root) {
		if _, err := os.Stat(filepath.Join(s.root, "harness", "assert.js")); err == nil {
			break
		}
		if s.root == filepath.Dir(s.root) {
			t.Fatalf("TEST262: there is no folder harness beside or above %s", folder)
		}
	}
	err = filepath.WalkDir(folder, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() && strings.HasSuffix(path, ".js") && !strings.Contains(path, "_FIXTURE") && !strings.HasPrefix(path, filepath.Join(s.root, "harness")) {
			s.files = append(s.files, path)
		}
		return err
	})
	if err != nil || len(s.files) == 0 {
		t.Fatalf("TEST262: %d tests below %s, error %v", len(s.files), folder, err)
	}
	return s
}

// choose keeps a random sample of the files.
func (s *specification) choose(sample, seed, without string) {
	left := regexp.MustCompile(without)
	s.files = slices.DeleteFunc(s.files, left.MatchString)
	n, err := strconv.Atoi(cmp.Or(sample, "0"))
	start, err2 := strconv.ParseUint(seed, 10, 64)
	if err != nil || err2 != nil {
		s.t.Fatalf("TEST262_SAMPLE %q and TEST262_SEED %q must be numbers", sample, seed)
	}
	if n > 0 && n < len(s.files) {
		rand.New(rand.NewPCG(start, start)).Shuffle(len(s.files), func(i, j int) { s.files[i], s.files[j] = s.files[j], s.files[i] })
		s.files = s.files[:n]
	}
}

// specResult is the result of a test.
type specResult struct{ file, area, why string } // why is "" if the test passed

func (s *specification) runAll() []specResult {
	results := make([]specResult, len(s.files))
	next := make(chan int)
	var done sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		done.Go(func() {
			a := newApp(s.t, limits.Limits{CPU: 10 * time.Second, Load: 10 * time.Second, Wall: 15 * time.Second}, false)
			for i := range next {
				rel, _ := filepath.Rel(s.root, s.files[i])
				results[i] = specResult{filepath.ToSlash(rel), areaOf(filepath.ToSlash(rel)), s.run(a, s.files[i])}
			}
		})
	}
	for i := range s.files {
		next <- i
	}
	close(next)
	done.Wait()
	return results
}

// areaOf returns the area of a test: the name of a global object or of a syntactic form.
func areaOf(file string) string {
	parts := strings.Split(strings.TrimPrefix(file, "test/"), "/")
	if len(parts) > 3 && (parts[1] == "expressions" || parts[1] == "statements") {
		return parts[0] + " " + parts[2]
	}
	if len(parts) > 2 {
		return parts[0] + " " + parts[1]
	}
	return parts[0]
}

// ratesByArea returns a table of the areas, those with the most failures first.
func ratesByArea(results []specResult) string {
	type rate struct {
		area          string
		passed, total int
	}
	rates := map[string]*rate{}
	all := rate{area: "all"}
	for _, r := range results {
		one := rates[r.area]
		if one == nil {
			one = &rate{area: r.area}
			rates[r.area] = one
		}
		for _, count := range []*rate{one, &all} {
			count.total++
			if r.why == "" {
				count.passed++
			}
		}
	}
	list := []*rate{&all}
	for _, one := range rates {
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b *rate) int {
		return cmp.Or(cmp.Compare(b.total-b.passed, a.total-a.passed), cmp.Compare(a.area, b.area))
	})
	var b strings.Builder
	for _, r := range list {
		fmt.Fprintf(&b, "%-45s %6d of %6d  %5.1f %%\n", r.area, r.passed, r.total, 100*float64(r.passed)/float64(r.total))
	}
	return b.String()
}

// specTest is one test with the directives in its first comment.
type specTest struct {
	text, path string
	flags      []string
	includes   []string
	phase      string // of the expected error; "" if none is expected
	want       string // type of the expected error
}

var (
	specDirectives = regexp.MustCompile(`(?s)/\*---(.*?)---\*/`)
	specList       = func(name string) *regexp.Regexp {
		return regexp.MustCompile(`(?m)^\s*` + name + `:\s*(?:\[([^\]]*)\]|((?:\s*\n\s+-[^\n]*)+))`)
	}
	specFlags    = specList("flags")
	specIncludes = specList("includes")
	specPhase    = regexp.MustCompile(`(?m)^\s+phase:\s*(\w+)`)
	specError    = regexp.MustCompile(`(?m)^\s+type:\s*(\w+)`)
	specNames    = regexp.MustCompile(`(?m)^(?:async )?(?:function\*?|var|let|const|class) +(\w+)`)
)

func readSpecTest(path string) (specTest, error) {
	text, err := os.ReadFile(path)
	c := specTest{text: string(text), path: path}
	m := specDirectives.FindStringSubmatch(c.text)
	if err != nil || m == nil {
		return c, err
	}
	words := func(expression *regexp.Regexp) []string {
		if found := expression.FindStringSubmatch(m[1]); found != nil {
			return strings.FieldsFunc(found[1]+found[2], func(r rune) bool { return strings.ContainsRune(" ,\n\r\t", r) })
		}
		return nil
	}
	c.flags = words(specFlags)
	c.includes = slices.DeleteFunc(words(specIncludes), func(w string) bool { return w == "-" })
	if strings.Contains(m[1], "negative:") {
		c.phase, c.want = specPhase.FindStringSubmatch(m[1])[1], specError.FindStringSubmatch(m[1])[1]
	}
	return c, nil
}

func (c *specTest) has(flag string) bool { return slices.Contains(c.flags, flag) }

// run returns why a test fails, or "".
func (s *specification) run(a *app, path string) string {
	c, err := readSpecTest(path)
	if err != nil {
		return err.Error()
	}
	type mode struct{ name, head string }
	modes := []mode{{"sloppy", ""}, {"strict", "\"use strict\";\n"}}
	switch {
	case c.has("module") || c.has("raw") || c.has("noStrict"):
		modes = modes[:1]
	case c.has("onlyStrict"):
		modes = modes[1:]
	}
	for _, m := range modes {
		if why := s.runMode(a, &c, m.head); why != "" {
			return m.name + ": " + why
		}
	}
	return ""
}

// specRunner is the main file of the service that runs a test. The test is the file TEST.
const specRunner = `require('./harness');
const done = new Promise(resolve => { globalThis.$DONE = error => resolve(error === undefined ? '' : describe(error)) });
function describe(e) {
	const text = String(e && e.message), name = e && e.constructor && e.constructor.name;
	return (/syntax error|SyntaxError/.test(text) && name === 'Error' ? 'SyntaxError' : name) + ': ' + text;
}
let result = '';
try { result = require('TEST'); } catch (e) { result = describe(e); }
if (typeof result !== 'string') result = FINISH;
module.exports = {'GET /': async () => ({result: await result})};
`

// runMode runs a test after the text head.
func (s *specification) runMode(a *app, c *specTest, head string) (why string) {
	dir, err := os.MkdirTemp(a.dir, "t")
	if err != nil {
		return err.Error()
	}
	defer os.RemoveAll(dir)
	folder := filepath.Base(dir)
	name, finish := "test.js", "''"
	if c.has("module") {
		name = "test.mjs"
		s.copyFixtures(c, dir)
	}
	if c.has("async") {
		finish = "done"
	}
	harness, err := s.harnessOf(c)
	if err != nil {
		return err.Error()
	}
	a.write(folder+"/harness.js", harness)
	a.write(folder+"/"+name, head+c.text)
	a.write(folder+"/main.js", strings.NewReplacer("TEST", "./"+name, "FINISH", finish).Replace(specRunner))
	g, err := a.rt.Load(a.service(folder + "/main.js"))
	got := ""
	if err != nil {
		got = "load: " + err.Error()
	} else {
		got = answer(send(s.t, g, request{}))
		g.Close()
		got = strings.TrimSuffix(strings.TrimPrefix(got, jsonType+`{"result":"`), `"}`)
	}
	got = got[:min(len(got), 300)]
	switch {
	case c.want == "":
		return got
	case strings.HasPrefix(got, c.want+": ") || strings.HasPrefix(got, "load: ") && c.want == "SyntaxError" && strings.Contains(got, "syntax error"):
		return ""
	}
	return fmt.Sprintf("want a %s, got %q", c.want, got)
}

// copyFixtures copies the files that a module may import. Its own name is that of the test, too.
func (s *specification) copyFixtures(c *specTest, dir string) {
	all, _ := filepath.Glob(filepath.Join(filepath.Dir(c.path), "*_FIXTURE*"))
	for _, path := range append(all, c.path) {
		if text, err := os.ReadFile(path); err == nil {
			_ = os.WriteFile(filepath.Join(dir, filepath.Base(path)), text, 0o644)
		}
	}
}

// specHost defines the host functions that tests use.
const specHost = `
globalThis.print = () => {};
globalThis.$262 = {
	global: globalThis, gc() {}, destroy() {}, evalScript: text => (0, eval)(text),
	detachArrayBuffer(buffer) { buffer.transfer(); },
};
`

// harnessOf returns the text that defines the functions of the harness that a test uses.
func (s *specification) harnessOf(c *specTest) (string, error) {
	if c.has("raw") {
		return specHost, nil
	}
	var b strings.Builder
	for _, name := range append([]string{"assert.js", "sta.js"}, c.includes...) {
		text, ok := s.harness.Load(name)
		if !ok {
			content, err := os.ReadFile(filepath.Join(s.root, "harness", name))
			if err != nil {
				return "", err
			}
			text = string(content)
			s.harness.Store(name, text)
		}
		b.WriteString(text.(string) + "\n")
	}
	var names []string
	for _, m := range specNames.FindAllStringSubmatch(b.String(), -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	return specHost + b.String() + "Object.assign(globalThis, {" + strings.Join(slices.Compact(names), ", ") + "});\n", nil
}
