package cost

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/engine/store/postgres/pgtest"
)

// awaiting is an application with a script that writes notes. Requests to the script wait while
// another connection locks the notes.
type awaiting struct {
	*apptest.Case
	client *http.Client
}

func newAwaiting(t *testing.T, db, limits string) *awaiting {
	c := apptest.NewOpenCase(t, db)
	t.Cleanup(c.StopServer)
	c.WriteFile("deploy.json", `{"namespace": "sample", "classes": [{"name": "note", "properties": [{"name": "title", "type": "string"}]}],
		"globals": {"db": "sqlite:notes.db"},
		"modules": {"rest": {"globals": {"di": {"add": {"module": "scripts/add.js", "limits": `+limits+`}}, "authMode": {"add": "none"}}}}}`)
	c.WriteFile("scripts/add.js", `module.exports = {
		'POST /': async () => { shared.incr('begun'); await dataRepo.createItem('note@sample', {title: 'x'}); return shared.incr('ended') },
		'GET /': () => [shared.get('begun') ?? 0, shared.get('ended') ?? 0],
		'GET /count': () => dataRepo.getCount('note@sample'),
		'DELETE /': () => { shared.clear() } }`)
	c.StartServer()
	transport := &http.Transport{MaxIdleConnsPerHost: 2000}
	t.Cleanup(transport.CloseIdleConnections)
	return &awaiting{c, &http.Client{Transport: transport}}
}

// ask returns the status and the body of an answer.
func (a *awaiting) ask(method, path string) string {
	r, err := http.NewRequest(method, "http://"+a.Addr+"/rest/add"+path, nil)
	if err != nil {
		return err.Error()
	}
	resp, err := a.client.Do(r)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d %s", resp.StatusCode, text)
}

// lock locks the notes, so that requests cannot write them until unlock is called.
func (a *awaiting) lock() (unlock func()) {
	driver, address, begin := "sqlite", filepath.Join(a.Dir, "notes.db"), "BEGIN IMMEDIATE"
	if a.DB != "" {
		driver, address, begin = "postgres", a.DB, `BEGIN; LOCK TABLE "note@sample" IN EXCLUSIVE MODE`
	}
	db, err := sql.Open(driver, address)
	if err != nil {
		a.Fatal(err)
	}
	conn, err := db.Conn(context.Background())
	if err == nil {
		_, err = conn.ExecContext(context.Background(), begin)
	}
	if err != nil {
		a.Fatal(err)
	}
	return func() {
		if _, err := conn.ExecContext(context.Background(), "ROLLBACK"); err != nil {
			a.Error(err)
		}
		_ = conn.Close()
		_ = db.Close()
	}
}

func awaitOnBoth(t *testing.T, run func(t *testing.T, db string)) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) { run(t, "") })
	t.Run("postgres", func(t *testing.T) {
		if apptest.RaceDetector {
			t.Skip("the run without the detector does")
		}
		run(t, pgtest.Database(t))
	})
}

// TestThousandRequestsAwait sends a thousand requests to a script service with two VMs. All of them
// wait for the database at the same time, and then all must be answered.
func TestThousandRequestsAwait(t *testing.T) {
	awaitOnBoth(t, func(t *testing.T, db string) {
		a := newAwaiting(t, db, `{"vms": 2, "inFlight": 512, "queue": 1, "wallTime": 100}`)
		// SQLite waits for a lock for at most five seconds. A slow machine needs longer to send
		// the requests, so there are several attempts.
		for attempt := 1; !a.thousand(); attempt++ {
			if attempt == 5 {
				t.Fatal("got fewer than a thousand waiting requests in 5 attempts")
			}
			a.ask("DELETE", "")
		}
	})
}

// thousand makes one attempt. It returns false if the lock was held for too long.
func (a *awaiting) thousand() bool {
	unlock, since := a.lock(), time.Now()
	var all sync.WaitGroup
	answers := make([]string, 1000)
	for i := range answers {
		all.Go(func() { answers[i] = a.ask("POST", "") })
		if i == 0 && a.DB != "" {
			time.Sleep(200 * time.Millisecond) // the server notices the lock, so that the other requests wait without a connection
		}
	}
	a.Wait("a thousand wait", func() error {
		if got := a.ask("GET", ""); got != "200 [1000,0]" && time.Since(since) < 4*time.Second {
			return fmt.Errorf("POST: got %s, want 504", got)
		}
		return nil
	})
	unlock()
	all.Wait()
	if time.Since(since) > 30*time.Second || a.DB == "" && a.ask("GET", "") != "200 [1000,1000]" {
		return false
	}
	for _, got := range answers {
		if !strings.HasPrefix(got, "200 ") {
			a.Errorf("got %s, want 200", got)
		}
	}
	return true
}

// TestWallTimeEndsTheOperation checks that a request that waits too long for the database ends with
// 504, and that its write does not happen later.
func TestWallTimeEndsTheOperation(t *testing.T) {
	awaitOnBoth(t, func(t *testing.T, db string) {
		a := newAwaiting(t, db, `{"wallTime": 0.5}`)
		unlock := a.lock()
		start := time.Now()
		if got := a.ask("POST", ""); got != "504 service add did not answer in time" && !strings.HasPrefix(got, "504 ") {
			t.Errorf("POST: got %s, want 504", got)
		}
		if took := time.Since(start); took > 4*time.Second {
			t.Errorf("the timeout took %v, want at most 4s", took)
		}
		time.Sleep(100 * time.Millisecond) // the operation may still be ending
		unlock()
		time.Sleep(300 * time.Millisecond) // a write that was still waiting would happen now
		if got := a.ask("GET", "/count"); got != "200 0" {
			t.Errorf("notes after the timeout: got %s, want 200 0", got)
		}
		if got := a.ask("POST", ""); got != "200 1" {
			t.Errorf("the next request: got %s, want 200 1", got)
		}
		if got := a.ask("GET", "/count"); got != "200 1" {
			t.Errorf("notes after the next request: got %s, want 200 1", got)
		}
	})
}

// TestQueueIsFull checks that a request gets 503 with Retry-After if too many requests are waiting.
func TestQueueIsFull(t *testing.T) {
	awaitOnBoth(t, func(t *testing.T, db string) {
		a := newAwaiting(t, db, `{"vms": 1, "inFlight": 1, "queue": 1}`)
		unlock := a.lock()
		full := make(chan *http.Response, 3)
		statuses := make(chan int, 3)
		for range 3 {
			go func() {
				resp, err := a.client.Post("http://"+a.Addr+"/rest/add", "", nil)
				if err != nil {
					t.Error(err)
					statuses <- 0
					return
				}
				resp.Body.Close()
				if resp.StatusCode == http.StatusServiceUnavailable {
					full <- resp
				}
				statuses <- resp.StatusCode
			}()
		}
		resp := <-full // while the two others wait
		unlock()
		if got := resp.Header.Get("Retry-After"); got != "1" {
			t.Errorf("Retry-After: got %q, want 1", got)
		}
		count := map[int]int{}
		for range 3 {
			count[<-statuses]++
		}
		if count[200] != 2 || count[503] != 1 {
			t.Errorf("number of responses by status: got %v, want two 200 and one 503", count)
		}
	})
}
