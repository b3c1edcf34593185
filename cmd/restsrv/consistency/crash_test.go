package consistency

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/engine/store/postgres/pgtest"
)

// TestCrash kills the server again and again while writers send all kinds of changes. On PostgreSQL
// it also kills all processes of the database. After each kill it compares the whole database with
// the models of the writers: answered writes must be there, writes without an answer must be there
// completely or not at all, and there must be no dangling links. With RESTSRV_LONG=1 it kills fifty
// times.
func TestCrash(t *testing.T) {
	kills := 2
	if os.Getenv("RESTSRV_LONG") != "" {
		kills = 50
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		c := newCrash(t)
		for range kills {
			c.round(c.killServer, c.startServer)
		}
		c.end()
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		database := pgtest.NewServer(t)
		c := newCrash(t, "-db", database.URL)
		for range kills {
			c.round(c.killServer, c.startServer)
			c.round(database.Kill, func() {
				if err := database.Start(); err != nil {
					c.Fatal(err)
				}
			})
		}
		c.end()
	})
}

// crash is an application with writers, on a server that is killed again and again.
type crash struct {
	*testing.T
	dir     string
	args    []string // flags of all commands
	server  *apptest.Process
	token   string
	client  *http.Client
	writers []*writer
	kills   int
	down    atomic.Bool // the server was killed, so connections may break
}

const crashWriters = 8

func newCrash(t *testing.T, args ...string) *crash {
	c := newLoad(t, args...)
	// The first starts are killed very early, so the database is created in several steps.
	for i := range 5 {
		c.killStart(time.Duration(10*i) * time.Millisecond)
	}
	c.startServer()
	c.signIn()
	return c
}

// newLoad returns an application with writers. The server is not started.
func newLoad(t *testing.T, args ...string) *crash {
	transport := &http.Transport{MaxIdleConnsPerHost: crashWriters}
	t.Cleanup(transport.CloseIdleConnections)
	c := &crash{T: t, dir: apptest.WriteApplication(t, map[string]string{"deploy.json": crashApp, "workflows/life.wf.json": crashWorkflow}), args: args,
		client: &http.Client{Transport: transport, Timeout: 15 * time.Second}}
	for i := range crashWriters {
		w := newWriter(fmt.Sprintf("w%d", i), rand.Uint64())
		w.get = c.get
		c.writers = append(c.writers, w)
	}
	return c
}

func (c *crash) signIn() {
	c.Helper()
	status, token, err := c.server.Request("GET", "/rest/token", "", "")
	if err != nil || status != 200 {
		c.Fatal(status, token, err)
	}
	c.token = token
}

func (c *crash) startServer() {
	c.server = apptest.Start(c.T, c.dir, c.args...)
	c.down.Store(false)
}

// killStart starts a server and kills it after a while.
func (c *crash) killStart(after time.Duration) {
	p := apptest.Launch(c.T, c.dir, c.args...)
	time.Sleep(after)
	p.Kill()
}

// killServer kills the server. Sometimes it also starts another server and kills it before it
// listens.
func (c *crash) killServer() {
	c.down.Store(true)
	c.server.Kill()
	if rand.IntN(4) == 0 {
		c.killStart(time.Duration(rand.IntN(40)) * time.Millisecond)
	}
}

// round runs the writers until a process is killed. Then it restarts the server and checks the
// data.
func (c *crash) round(kill, start func()) {
	var writing sync.WaitGroup
	for _, w := range c.writers {
		writing.Go(func() { c.load(w) })
	}
	time.Sleep(time.Duration(50+rand.IntN(300)) * time.Millisecond)
	kill()
	writing.Wait()
	c.kills++
	start()
	c.check()
}

// load sends writes of one writer until one fails.
func (c *crash) load(w *writer) {
	for {
		x, kind := w.next()
		w.pending = x
		status, answer, err := c.send(x)
		switch {
		case status == 200 && !strings.Contains(answer, `"workflow.`): // a rejected move is answered as rejected; the rest of the answer after its head may be cut off
			w.pending = nil
			w.done(x)
			w.answered++
			w.counts[kind]++
			continue
		case status == 0 && c.down.Load() && !timeout(err):
		case status == 503 && !c.down.Load() && strings.HasPrefix(answer, "Retry-After: "):
			w.refusal = answer
		default:
			c.Errorf("%s %s %.300s: got the unexpected response %d %.300s, %v", x.method, x.path, x.body, status, answer, err)
		}
		return
	}
}

func timeout(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

// send sends a request. Status 0 means that there was no answer. If the request can be sent
// again, text begins with the reason.
func (c *crash) send(x *mutation) (status int, text string, err error) {
	r, err := http.NewRequest(x.method, c.server.URL+x.path, strings.NewReader(x.body))
	if err != nil {
		return 0, "", err
	}
	for name, value := range map[string]string{"auth-token": c.token, "Content-Type": x.contentType, "X-Request-Id": x.id} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	resp, err := c.client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if after := resp.Header.Get("Retry-After"); after != "" {
		return resp.StatusCode, "Retry-After: " + after + "\n" + string(b), err
	}
	return resp.StatusCode, string(b), err
}

func (c *crash) get(path string) (string, bool) {
	status, body, err := c.send(&mutation{method: "GET", path: path})
	if status != 200 && status != 503 && !c.down.Load() {
		c.Errorf("GET %s: got %d %.300s, %v, want 200 or 503", path, status, body, err)
	}
	return body, status == 200 && err == nil
}

// check compares an export with the models of the writers. It fails the test if they differ.
func (c *crash) check() {
	c.Helper()
	var models []*model
	for _, w := range c.writers {
		models = append(models, &w.model)
	}
	if faults := c.compare(models); len(faults) > 0 {
		c.Fatalf("after %d kills: got %d faults, want none:\n%s", c.kills, len(faults), strings.Join(faults[:min(len(faults), 20)], "\n"))
	}
}

// compare returns the differences between an export and the models.
func (c *crash) compare(models []*model) (faults []string) {
	c.Helper()
	file := filepath.Join(c.dir, "all.ndjson")
	apptest.MustRun(c.T, c.command("export", "-files", "-o", file)...)
	f, err := os.Open(file)
	if err != nil {
		c.Fatal(err)
	}
	defer f.Close()
	found := readArchive(f)
	faults = found.faults
	for _, m := range models {
		faults = append(faults, m.check(found.items)...)
	}
	return faults
}

// command returns the arguments of a command for the application.
func (c *crash) command(name string, args ...string) []string {
	return slices.Concat([]string{name, "-config", filepath.Join(c.dir, "deploy.json")}, c.args, args)
}

// end makes the final checks:
//
//   - restsrv files finds only contents to which no object refers
//   - the data are complete after these contents are removed
//   - SQLite finds its file correct
func (c *crash) end() {
	c.age(2 * time.Hour)
	remains := apptest.MustRun(c.T, c.command("files", "-remove")...)
	if strings.Contains(remains, "entry") {
		c.Errorf("rows of files that do not exist: got\n%s\nwant none", remains)
	}
	c.check()
	if len(c.args) == 0 {
		c.integrity()
	}
	kinds, answered, whole, none := make([]int, len(operations)), 0, 0, 0
	for _, w := range c.writers {
		answered, whole, none = answered+w.answered, whole+w.whole, none+w.none
		for i, n := range w.counts {
			kinds[i] += n
		}
	}
	var mix []string
	for i, n := range kinds {
		if mix = append(mix, fmt.Sprintf("%s %d", operations[i].name, n)); n == 0 && c.kills >= 50 {
			c.Errorf("got no response to %s: the load is not mixed, so the test proves nothing", operations[i].name)
		}
	}
	lines := strings.Split(strings.TrimSpace(remains), "\n")
	c.Logf("%d kills; %d writes answered, all of them there; %d not answered: %d there as a whole, %d not at all", c.kills, answered, whole+none, whole, none)
	c.Logf("answered: %s; %s", strings.Join(mix, ", "), lines[len(lines)-1])
}

// age changes the times of all stored files, so that they are older.
func (c *crash) age(by time.Duration) {
	old := time.Now().Add(-by)
	err := filepath.WalkDir(filepath.Join(c.dir, "files"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return os.Chtimes(path, old, old)
	})
	if err != nil {
		c.Fatal(err)
	}
}

func (c *crash) integrity() {
	db, err := sql.Open("sqlite", filepath.Join(c.dir, "restsrv.db"))
	if err != nil {
		c.Fatal(err)
	}
	defer db.Close()
	var result string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&result); err != nil || result != "ok" {
		c.Errorf("integrity_check: got %s, %v, want ok", result, err)
	}
}
