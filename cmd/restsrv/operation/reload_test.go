package operation

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/engine/store/postgres/pgtest"
)

// reloadedApp returns version n of an application with all features. Every other version has one
// more index.
func reloadedApp(n int) string {
	return fmt.Sprintf(`{
  "namespace": "s",
  "globals": {"session": {"idle": %d}, "plugins": {"oauth": {"module": "builtin/oauth", "options": {"clients": [
    {"id": "robot", "secret": "r0b0t", "grants": ["client_credentials"], "account": "admin@local"}]}}}},
  "classes": [{"name": "note", "properties": [{"name": "title", "type": "string", "indexed": %v}, {"name": "text", "type": "text"}]}],
  "modules": {"rest": {"globals": {
    "di": {
      "crud": {"module": "builtin/crud"}, "echo": {"module": "builtin/echo"}, "echo-pwd": {"module": "builtin/echo"}, "echo-oauth": {"module": "builtin/echo"},
      "gate": {"module": "builtin/gateway", "options": {"base": "/api", "clientId": "admin@local", "clientSecret": "secret", "tokenPath": "/rest/token", "definition": {"paths": {"/rest/echo": {"get": {}}}}}},
      "js": {"module": "js.js", "options": {"version": %d}}},
    "authMode": {"crud": "none", "echo": "token", "echo-oauth": "oauth", "js": "none"}}}}
}`, 1000+n%3, n%2 == 0, n)
}

const reloadedScript = `
setInterval(() => 1, 5);
module.exports = {
  'GET /': async () => { await dataRepo.getCount('note@s'); return options.version },
  'PUT /': () => dataRepo.transaction(async tx => {
    const note = await tx.createItem('note@s', {title: 'x', text: 'y'});
    await tx.editItem('note@s', note.getItemId(), {text: 'z'});
    return options.version;
  }),
};`

// visitor is a client that sends requests under load.
type visitor struct {
	c      *apptest.Case
	client http.Client
	header http.Header
}

func (u *visitor) ask(method, path, contentType, body string) (int, string, error) {
	r, err := http.NewRequest(method, "http://"+u.c.Addr+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	r.Header = u.header.Clone()
	if r.Header == nil {
		r.Header = http.Header{}
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	resp, err := u.client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

func (u *visitor) must(method, path, contentType, body string) string {
	u.c.Helper()
	status, text, err := u.ask(method, path, contentType, body)
	if err != nil || status != http.StatusOK {
		u.c.Fatalf("%s %s: got %d %q %v, want 200", method, path, status, text, err)
	}
	return text
}

// TestReloadOfApplicationUnderLoad reloads deploy.json again and again while clients send requests
// of all kinds. Every third version is broken. No request may fail, sessions, tokens and gateways
// must stay valid, and old editions must not leave memory or goroutines behind.
func TestReloadOfApplicationUnderLoad(t *testing.T) {
	t.Parallel()
	times := 24
	if os.Getenv("RESTSRV_LONG") != "" {
		times = 200
	}
	t.Run("sqlite", func(t *testing.T) { reloadUnderLoad(t, "", times) })
	t.Run("postgres", func(t *testing.T) { reloadUnderLoad(t, pgtest.Database(t), times) })
}

func reloadUnderLoad(t *testing.T, db string, times int) {
	c := apptest.NewOpenCase(t, db)
	defer c.StopServer()
	defer http.DefaultClient.CloseIdleConnections()
	c.WriteFile("js.js", reloadedScript)
	c.WriteFile("deploy.json", reloadedApp(0))
	c.StartServer("-watch")
	c.MustRun("acl", "grant", "admin", "*", "full")

	anybody := &visitor{c: c}
	signed := &visitor{c: c, header: http.Header{"Authorization": {"Basic YWRtaW5AbG9jYWw6c2VjcmV0"}}}
	token := signed.must("GET", "/rest/token", "", "")
	bearer := &visitor{c: c, header: http.Header{"Auth-Token": {token}}}
	robot := &visitor{c: c, header: http.Header{"Authorization": {"Basic cm9ib3Q6cjBiMHQ="}}}
	_, access, _ := strings.Cut(robot.must("POST", "/oauth2/token", "application/x-www-form-urlencoded", "grant_type=client_credentials"), `"access_token":"`)
	access, _, _ = strings.Cut(access, `"`)
	oauth := &visitor{c: c, header: http.Header{"Authorization": {"Bearer " + access}}}
	jar, _ := cookiejar.New(nil)
	browser := &visitor{c: c, client: http.Client{Jar: jar}, header: http.Header{"Accept": {"application/json"}}}
	browser.must("POST", "/auth", "application/x-www-form-urlencoded", url.Values{"username": {"admin"}, "password": {"secret"}}.Encode())

	load := []func() (int, string, error){
		func() (int, string, error) {
			return anybody.ask("POST", "/rest/crud/note@s", "application/json", `{"title":"x","text":"y"}`)
		},
		func() (int, string, error) { return anybody.ask("GET", "/rest/crud/note@s?title=x", "", "") },
		func() (int, string, error) { return anybody.ask("GET", "/rest/js", "", "") },
		func() (int, string, error) { return anybody.ask("PUT", "/rest/js", "", "") },
		func() (int, string, error) { return signed.ask("GET", "/rest/echo-pwd", "", "") },
		func() (int, string, error) { return bearer.ask("GET", "/rest/echo", "", "") },
		func() (int, string, error) { return oauth.ask("GET", "/rest/echo-oauth", "", "") },
		func() (int, string, error) { return browser.ask("GET", "/api/rest/echo", "", "") },
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var wg sync.WaitGroup
	var requests atomic.Int64
	for i, ask := range load {
		wg.Go(func() {
			for ctx.Err() == nil {
				if status, text, err := ask(); err != nil || status != http.StatusOK {
					t.Errorf("request of kind %d: got %d %q %v, want 200", i, status, text, err)
					return
				}
				requests.Add(1)
				time.Sleep(time.Millisecond)
			}
		})
	}
	settled, goroutines := int64(0), 0
	for n := 1; n <= times && !t.Failed(); n++ {
		if n == times/4 {
			settled, goroutines = heapInUse(), runtime.NumGoroutine()
		}
		if n%3 == 0 {
			c.WriteFile("deploy.json", reloadedApp(n)[:100])
			c.Wait("the failure is told", func() error {
				if strings.Count(c.Output.String(), "goes on as it was") < n/3 {
					return fmt.Errorf("it is not")
				}
				return nil
			})
		}
		c.WriteFile("deploy.json", reloadedApp(n))
		c.Wait(fmt.Sprint("version ", n), func() error {
			if _, text, err := anybody.ask("GET", "/rest/js", "", ""); err != nil || text != fmt.Sprint(n) {
				return fmt.Errorf("version %q, %v", text, err)
			}
			return nil
		})
	}
	stop()
	wg.Wait()
	if t.Failed() {
		t.Fatal(c.Output.String())
	}
	after := heapInUse()
	for begin := time.Now(); after-settled > 4<<20 && time.Since(begin) < 10*time.Second; {
		after = heapInUse()
	}
	t.Logf("%d reloads, %d requests; heap %d KiB after a quarter, %d KiB at the end; %d goroutines, %d at the end",
		times, requests.Load(), settled>>10, after>>10, goroutines, runtime.NumGoroutine())
	if grown := after - settled; grown > 4<<20 {
		t.Errorf("the heap grew by %d KiB, want at most 4 MiB", grown>>10)
	}
	if n := runtime.NumGoroutine(); n > goroutines+5 {
		t.Errorf("got %d goroutines, want about %d as before", n, goroutines)
	}
}

// heapInUse returns the size of the heap without temporary allocations. For example, hashing a
// password needs 19 MiB for a while.
func heapInUse() int64 {
	least := int64(1 << 62)
	for range 8 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		least = min(least, int64(m.HeapAlloc))
		time.Sleep(50 * time.Millisecond)
	}
	return least
}

// TestReloadOnSignal checks a server without -watch: SIGHUP reloads deploy.json, class files and
// scripts, and saving a file does not reload anything.
func TestReloadOnSignal(t *testing.T) {
	app := func(version int) string {
		return fmt.Sprintf(`{"modules":{"rest":{"globals":{"authMode":{"s":"none"},"di":{"s":{"module":"s.js","options":{"version":%d}}}}}}}`, version)
	}
	dir := apptest.WriteApplication(t, map[string]string{"deploy.json": app(1), "s.js": `module.exports = {'GET /': () => options.version};`})
	p := apptest.Start(t, dir)
	apptest.WriteFile(t, filepath.Join(dir, "deploy.json"), app(2))
	time.Sleep(100 * time.Millisecond)
	if _, body, err := p.Request("GET", "/rest/s", "", ""); err != nil || body != "1" {
		t.Fatalf("got %q, %v, want 1", body, err)
	}
	hangUp := func(want string) {
		t.Helper()
		if err := p.Cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		waitFor(t, p, want)
	}
	hangUp("2")
	apptest.WriteFile(t, filepath.Join(dir, "s.js"), `module.exports = {'GET /': () => -options.version};`)
	hangUp("-2")
}
