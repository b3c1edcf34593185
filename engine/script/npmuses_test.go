//go:build unix

package script

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"restsrv/engine/script/limits"
	"restsrv/engine/script/platform"
	"restsrv/engine/service"
)

// minEqual is the part of the uses whose results must equal those of Node.js.
const minEqual = 0.92

// npmUse is one use of packages of other projects, with its result here.
type npmUse struct {
	name, result string
	cpu          time.Duration // of loading
	memory       int64         // growth of the heap by loading, in bytes
}

// TestNpmUses runs the uses of testdata/npmuses/uses.txt, each in a service of its own, and compares their results with
// Node.js. It prints the rate, and NPM.md lists the differences with their causes. With -update, it writes the figures
// of NPM.md again and keeps the causes. It runs with RESTSRV_LONG, because it installs a gigabyte.
func TestNpmUses(t *testing.T) {
	if os.Getenv("RESTSRV_LONG") == "" {
		t.Skip("takes minutes: set RESTSRV_LONG")
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "npmuses"))); err != nil {
		t.Fatal(err)
	}
	names := writeUses(t, dir)
	echo := httptest.NewServer(http.HandlerFunc(answerUse))
	defer echo.Close()
	t.Setenv("BASE", echo.URL)
	t.Setenv("TZ", "UTC")
	runIn(t, dir, "npm", "install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--legacy-peer-deps")
	runIn(t, dir, "node", "run.mjs")
	want := map[string]string{}
	text, err := os.ReadFile(filepath.Join(dir, "results.json"))
	if err != nil || json.Unmarshal(text, &want) != nil {
		t.Fatalf("the results of Node.js: %v", err)
	}
	var all []npmUse
	equal := 0
	for _, name := range names {
		if strings.HasPrefix(want[name], "throws ") {
			t.Errorf("%s fails in Node.js: %s", name, want[name])
			continue
		}
		u := runUse(t, dir, name)
		if u.result == want[name] {
			equal++
			u.result = ""
		} else {
			t.Logf("%s\n\tgot  %.300s\n\tNode %.300s", name, u.result, want[name])
		}
		all = append(all, u)
	}
	rate := float64(equal) / float64(len(all))
	t.Logf("%d of %d uses are equal to Node.js (%.1f %%)", equal, len(all), 100*rate)
	checkUses(t, all, equal)
	if rate < minEqual {
		t.Errorf("got %.1f %% equal uses, want at least %.0f %%", 100*rate, 100*minEqual)
	}
}

func runIn(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		if os.Getenv("RESTSRV_TEST_NPM") == "require" {
			t.Fatalf("%s: %v: %s", name, err, out)
		}
		t.Skipf("%s: %v: no packages of others are tested: %s", name, err, out)
	}
}

// writeUses writes the parts of uses.txt as files and returns their names.
func writeUses(t *testing.T, dir string) (names []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "uses.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "uses"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split("\n"+string(text), "\n-- ")[1:] {
		name, code, _ := strings.Cut(part, " --\n")
		if err := os.WriteFile(filepath.Join(dir, "uses", name), []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// answerUse is the server to which the uses send requests.
func answerUse(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "application/json")
	var status int
	switch path := r.URL.Path; {
	case path == "/redirect":
		w.Header().Set("Location", "/echo")
		w.WriteHeader(http.StatusFound)
	case path == "/openai/chat/completions":
		fmt.Fprint(w, `{"choices": [{"message": {"role": "assistant", "content": "hello"}}]}`)
	case path == "/graphql":
		fmt.Fprint(w, `{"data": {"a": 5}}`)
	case path == "/v3/mail/send":
		w.WriteHeader(http.StatusAccepted)
	case strings.HasPrefix(path, "/openai"):
		w.WriteHeader(http.StatusNotFound)
	default:
		if n, _ := fmt.Sscanf(path, "/status/%d", &status); n == 1 {
			w.WriteHeader(status)
		}
		headers := map[string]string{}
		for name := range r.Header {
			headers[strings.ToLower(name)] = r.Header.Get(name)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"method": r.Method, "url": r.RequestURI, "headers": headers, "body": string(body)})
	}
}

// runUse loads a service with one use and calls it. Each use has a Runtime of its own, so that no compiled files of
// others are counted.
func runUse(t *testing.T, dir, name string) (u npmUse) {
	t.Helper()
	code := fmt.Sprintf(`const m = require('./uses/%s'), run = m.default || m;
		module.exports = {'GET /': async () => { let s; try { s = JSON.stringify(await run()) ?? 'undefined' } catch (e) { s = 'throws ' + (e && e.name) + ': ' + (e && e.message) } return {s} }};`, name)
	if err := os.WriteFile(filepath.Join(dir, "service.js"), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	const long = 20 * time.Second
	rt, err := New(Config{Dir: dir, NodeModules: true, Heap: 2 << 30, MaxCPU: long, Limits: limits.Limits{CPU: long, Load: long}, Log: slog.New(slog.DiscardHandler),
		Platform: platform.Settings{Env: []string{"BASE"}, Fetch: platform.Fetch{Hosts: []string{"*"}, Private: true}}})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	u.name = name
	memory, cpu := heapNow(), userTime()
	g, err := rt.Load(Service{Name: "use", File: "service.js", Env: &service.Env{Meta: newMemory(t), Data: newMemory(t)}})
	u.cpu = userTime() - cpu
	u.memory = max(0, heapNow()-memory)
	if err != nil {
		u.result = "does not load: " + err.Error()
		return u
	}
	defer g.Close()
	_, body, _ := strings.Cut(get(t, g), jsonType)
	var v struct{ S string }
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		u.result = "the request failed"
		return u
	}
	u.result = v.S
	return u
}

func heapNow() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func userTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano())
}

const npmHead = "| use | result | load CPU | load memory | cause |\n| --- | --- | --- | --- | --- |\n"

// checkUses compares the results with the table in NPM.md: a use that was equal must stay so.
func checkUses(t *testing.T, all []npmUse, equal int) {
	t.Helper()
	text, err := os.ReadFile("NPM.md")
	if err != nil {
		t.Fatal(err)
	}
	head, table, found := strings.Cut(string(text), npmHead)
	if !found {
		t.Fatal("NPM.md has no table")
	}
	causes, was := map[string]string{}, map[string]string{}
	for line := range strings.Lines(table) {
		if cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|"); len(cells) == 5 {
			name := strings.TrimSpace(cells[0])
			was[name], causes[name] = strings.TrimSpace(cells[1]), strings.TrimSpace(cells[4])
		}
	}
	var b strings.Builder
	for _, u := range all {
		result, cause := "equal", ""
		if u.result != "" {
			result, cause = "differs", causes[u.name]
		}
		if was[u.name] == "equal" && result != "equal" && !*update {
			t.Errorf("%s was equal to Node.js and now differs: %.200s", u.name, u.result)
		}
		fmt.Fprintf(&b, "| %s | %s | %d ms | %.1f MiB | %s |\n", u.name, result, u.cpu.Milliseconds(), float64(u.memory)/(1<<20), cause)
	}
	if *update {
		intro, _, _ := strings.Cut(head, "The last run: ")
		head = fmt.Sprintf("%sThe last run: %d of %d uses are equal (%.1f %%).\n\n", intro, equal, len(all), 100*float64(equal)/float64(len(all)))
		if err := os.WriteFile("NPM.md", []byte(head+npmHead+b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
