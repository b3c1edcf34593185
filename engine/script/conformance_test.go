package script

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/script/platform"
	"restsrv/engine/script/transpile"
)

var update = flag.Bool("update", false, "write testdata/conformance.txt")

const (
	probeDir   = "testdata/conformance"
	probeTable = "testdata/conformance.txt"
	// leastWorking is the minimum percentage of features that must work.
	leastWorking = 85
)

// feature is one probe: a script whose route returns "ok" or a description of the difference.
type feature struct {
	file, text  string
	name, group string
	works       bool
	by          string // the component that implements it: goja, esbuild or restsrv
	differs     string
}

// row returns the row of the feature in the table.
func (f *feature) row() string {
	if !f.works {
		return f.group + " | " + f.name + " | missing |"
	}
	return f.group + " | " + f.name + " | works | " + f.by
}

// TestConformance runs every probe as a service and compares the working features with the table. It fails if a
// feature stopped working. If a feature works now, run the test with -update.
func TestConformance(t *testing.T) {
	features := readFeatures(t)
	lab := newLab(t)
	working, by := 0, map[string]int{}
	var rows strings.Builder
	for _, f := range features {
		lab.run(f)
		if f.works {
			working++
			by[f.by]++
		} else {
			t.Logf("%s (%s): %s", f.file, f.name, f.differs)
		}
		rows.WriteString(f.row() + "\n")
	}
	percent := 100 * working / len(features)
	table := fmt.Sprintf("%d features, %d work (%d %%): %d by goja alone, %d by esbuild, %d by restsrv\n\n",
		len(features), working, percent, by["goja"], by["esbuild"], by["restsrv"]) + rows.String()
	if *update {
		if err := os.WriteFile(probeTable, []byte(table), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	compareTable(t, features, table)
	if percent < leastWorking {
		t.Errorf("got %d %% of the features working, want at least %d %%", percent, leastWorking)
	}
}

func compareTable(t *testing.T, features []*feature, table string) {
	t.Helper()
	old, err := os.ReadFile(probeTable)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range features {
		if !f.works && strings.Contains(string(old), f.group+" | "+f.name+" | works") {
			t.Errorf("%s worked before and now fails: %s", f.name, f.differs)
		}
	}
	if string(old) != table {
		t.Logf("the table is out of date: go test ./engine/script -run TestConformance -update\n%s", table)
	}
}

// readFeatures reads the probes: files whose names begin with a number. Their comments describe the feature.
func readFeatures(t *testing.T) []*feature {
	t.Helper()
	names, err := filepath.Glob(probeDir + "/[0-9]*")
	if err != nil || len(names) < 100 {
		t.Fatalf("got %d probes, want at least 100: %v", len(names), err)
	}
	var all []*feature
	seen := map[string]bool{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f := &feature{file: filepath.Base(name), text: string(text), name: comment(string(text), "feature"), group: comment(string(text), "group")}
		if f.name == "" || f.group == "" || seen[f.name] {
			t.Fatalf("%s: the comments must name a unique feature and its group", f.file)
		}
		seen[f.name] = true
		all = append(all, f)
	}
	return all
}

func comment(text, key string) string {
	_, rest, _ := strings.Cut(text, "// "+key+": ")
	line, _, _ := strings.Cut(rest, "\n")
	return line
}

// lab is the environment of the probes: an application directory with all of them, and a server for fetch.
type lab struct {
	*app
	server *httptest.Server
}

func newLab(t *testing.T) *lab {
	server := httptest.NewServer(http.HandlerFunc(serveProbes))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	l := &lab{server: server, app: startApp(t, Config{Platform: platform.Settings{
		Fetch: platform.Fetch{Hosts: []string{host}, Private: true},
		Env:   []string{"CONFORMANCE"},
		Look:  func(name string) (string, bool) { return "yes", name == "CONFORMANCE" || name == "PATH" },
	}})}
	files, err := os.ReadDir(probeDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(probeDir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		l.write(f.Name(), string(text))
	}
	return l
}

// serveProbes is the handler of the server for fetch.
func serveProbes(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/json":
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"method":%q,"probe":%q,"body":%q}`, r.Method, r.Header.Get("X-Probe"), body)
	case "/bytes":
		_, _ = w.Write([]byte{0, 255, 1})
	case "/slow":
		<-r.Context().Done()
	default:
		http.Error(w, "nothing here", http.StatusNotFound)
	}
}

// run determines whether a feature works, and which component implements it.
func (l *lab) run(f *feature) {
	if f.differs = l.serve(f); f.differs != "" {
		return
	}
	f.works, f.by = true, "restsrv"
	if plain(f.text) {
		f.by = "goja"
		return
	}
	out, err := transpile.Transform(transpile.Input{File: f.file, Text: f.text})
	if err == nil && plain(out.Text) {
		f.by = "esbuild"
	}
}

// serve runs the probe as a service. It returns "" if the feature works.
func (l *lab) serve(f *feature) string {
	g, err := l.rt.Load(l.service(f.file))
	if err != nil {
		return err.Error()
	}
	defer g.Close()
	ctx, r := request{query: "server=" + l.server.URL, account: &engine.Account{ID: "probe@local"}}.build()
	if len(g.Routes()) != 1 {
		return fmt.Sprintf("the service has %d routes", len(g.Routes()))
	}
	got := answer(g.Routes()[0].Handler(ctx, r))
	if got == jsonType+`"ok"` {
		return ""
	}
	return strings.TrimPrefix(got, jsonType)
}

// plain reports whether a probe works as a CommonJS module in the bare engine, with a require for check.js only.
func plain(text string) bool {
	js := goja.New()
	module := func() *goja.Object {
		m := js.NewObject()
		_ = m.Set("exports", js.NewObject())
		_ = js.Set("module", m)
		_ = js.Set("exports", m.Get("exports"))
		return m
	}
	helper, err := os.ReadFile(filepath.Join(probeDir, "check.js"))
	if err != nil {
		return false
	}
	check := module()
	if _, err := js.RunScript("check.js", "(function () {"+string(helper)+"\n})()"); err != nil {
		return false
	}
	_ = js.Set("require", func(name string) (goja.Value, error) {
		if name != "./check.js" {
			return nil, fmt.Errorf("there is no module %s", name)
		}
		return check.Get("exports"), nil
	})
	probe := module()
	if _, err := js.RunScript("probe.js", text); err != nil {
		return false
	}
	exports, ok := probe.Get("exports").(*goja.Object)
	if !ok {
		return false
	}
	if d, ok := exports.Get("default").(*goja.Object); ok {
		exports = d
	}
	handler, ok := goja.AssertFunction(exports.Get("GET /"))
	if !ok {
		return false
	}
	req := js.NewObject()
	_ = req.Set("query", map[string]any{"server": "http://127.0.0.1:0"})
	_ = req.Set("body", js.NewObject())
	got, err := handler(exports, req)
	if err != nil {
		return false
	}
	promise, ok := got.Export().(*goja.Promise)
	return ok && promise.State() == goja.PromiseStateFulfilled && promise.Result().String() == "ok"
}

// TestMissingFeaturesAreDocumented: the README for authors of scripts names every feature that the table lists as
// missing.
func TestMissingFeaturesAreDocumented(t *testing.T) {
	table, err := os.ReadFile(probeTable)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../scripts/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		if cells := strings.Split(line, " | "); len(cells) == 3 && !strings.Contains(string(text), "**"+cells[1]+"**") {
			t.Errorf("scripts/README.md does not name the missing feature %s", cells[1])
		}
	}
}
