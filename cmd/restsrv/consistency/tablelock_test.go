package consistency

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/engine/store/postgres/pgtest"
)

const tableLockApplication = `{"namespace": "s", "globals": {"lockTimeout": 1},
 "classes": [
   {"name": "locked", "key": ["id"], "properties": [{"name": "id", "type": "string"}, {"name": "title", "type": "string"}]},
   {"name": "other", "key": ["id"], "properties": [{"name": "id", "type": "string"}, {"name": "title", "type": "string"}, {"name": "to", "type": "reference", "refClass": "locked"}]}],
 "objects": [{"_class": "locked@s", "id": "a"}, {"_class": "other@s", "id": "a", "to": "a"}],
 "modules": {"rest": {"globals": {"di": {"crud": {"module": "builtin/crud"}, "script": {"module": "script.js"}}, "authMode": {"crud": "none", "script": "none"}}}}}`

const tableLockScript = `module.exports = {
  'POST /': () => dataRepo.transaction(async (tx) => {
    await tx.editItem('other@s', 'b' + Math.random(), {title: 'x'}).catch(() => null);
    await tx.editItem('locked@s', 'a', {title: 'x'});
  }),
};`

// TestTableLock locks the table of a class, as a command of an operator does, while clients read
// and write objects of this class and of another class. The server must answer requests for the
// other class as before. Requests that need the locked table must get 503 in time, and /readyz
// must also answer in time. With RESTSRV_LONG=1 the lock lasts a minute.
func TestTableLock(t *testing.T) {
	lock := 4 * time.Second
	if os.Getenv("RESTSRV_LONG") != "" {
		lock = time.Minute
	}
	for _, mode := range []string{"ACCESS EXCLUSIVE", "SHARE ROW EXCLUSIVE"} {
		t.Run(strings.ToLower(mode), func(t *testing.T) {
			c := apptest.NewOpenCase(t, pgtest.Database(t))
			c.WriteFile("deploy.json", tableLockApplication)
			c.WriteFile("script.js", tableLockScript)
			t.Cleanup(c.StopServer)
			c.StartServer()
			var over atomic.Bool
			measure := func() (others, locked func() answered) {
				over.Store(false)
				others = measure(c, &over, 4, "GET /rest/crud/other@s/a", "GET /rest/crud/other@s?_count=1", `PATCH /rest/crud/other@s/a {"title":"x"}`)
				return others, measure(c, &over, 24, "GET /rest/crud/locked@s/a", "GET /rest/crud/locked@s?_count=1", `PATCH /rest/crud/locked@s/a {"title":"x"}`,
					"GET /rest/crud/other@s/a?_eager=to", "DELETE /rest/crud/locked@s/none", "POST /rest/script {}")
			}
			others, waiting := measure()
			time.Sleep(2 * time.Second)
			over.Store(true)
			before := others()
			waiting()

			released := make(chan struct{})
			go func() {
				defer close(released)
				pgtest.Execute(t, c.DB, fmt.Sprintf(`BEGIN; LOCK TABLE "locked@s" IN %s MODE; SELECT pg_sleep(%g); COMMIT`, mode, lock.Seconds()))
			}()
			time.Sleep(50 * time.Millisecond)
			begun := time.Now()
			others, waiting = measure()
			time.Sleep(time.Second)
			resp, body := c.Ask("GET", "/readyz", "")
			if resp.StatusCode != 503 || !strings.Contains(body, "locked") {
				t.Errorf("/readyz while the table is locked: got %d %s, want 503 and that tables are locked", resp.StatusCode, body)
			}
			select {
			case <-released:
			case <-time.After(lock - time.Since(begun) - 100*time.Millisecond):
			}
			over.Store(true)
			during, locked := others(), waiting()
			t.Logf("other class: %v before, %v while locked; locked class: %v", before, during, locked)
			if most := 3*before.p99() + 30*time.Millisecond; during.p99() > most && !apptest.RaceDetector {
				t.Errorf("p99 of the other class: got %v while a table is locked, want at most %v (%v before)", during.p99(), most, before.p99())
			}
			if n := during.answers[503] + before.answers[503]; n > 0 {
				t.Errorf("requests for the other class: got %d responses 503, want none", n)
			}
			if worst := locked.times[len(locked.times)-1]; worst > 3500*time.Millisecond {
				t.Errorf("a request for the locked class took %v, want lockTimeout (1 s), and a second more at most", worst)
			}
			if locked.answers[503] == 0 {
				t.Errorf("requests for the locked class: got %v, want some 503", locked.answers)
			}
			<-released
			c.Wait("/readyz is well again", func() error {
				if resp, body := c.Ask("GET", "/readyz", ""); resp.StatusCode != 200 {
					return fmt.Errorf("%d %s", resp.StatusCode, body)
				}
				return nil
			})
			for _, request := range []string{"GET /rest/crud/locked@s/a", `PATCH /rest/crud/locked@s/a {"title":"y"}`} {
				if status, took, _ := timed(c, http.DefaultClient, request); status != 200 || took > time.Second {
					t.Errorf("%s after the lock: got %d in %v, want 200 at once", request, status, took)
				}
			}
		})
	}
}

// answered holds the sorted response times of requests, and the number of answers by status.
type answered struct {
	times   []time.Duration
	answers map[int]int
}

func (m answered) p99() time.Duration { return m.times[len(m.times)*99/100] }

func (m answered) String() string {
	return fmt.Sprintf("%d requests, median %v, p99 %v, worst %v, answers %v", len(m.times), m.times[len(m.times)/2].Round(time.Microsecond), m.p99().Round(time.Microsecond), m.times[len(m.times)-1].Round(time.Millisecond), m.answers)
}

// measure starts clients that send requests until over is set. Each client waits a little between
// two requests. An answer 503 must have the header Retry-After.
func measure(c *apptest.Case, over *atomic.Bool, clients int, requests ...string) func() answered {
	m := answered{answers: map[int]int{}}
	var mu sync.Mutex
	var wg sync.WaitGroup
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	for range clients {
		wg.Go(func() {
			for !over.Load() {
				request := requests[rand.IntN(len(requests))]
				status, took, again := timed(c, client, request)
				if status == 503 && again == "" {
					c.Errorf("%s: got 503 without Retry-After, want the header", request)
				}
				mu.Lock()
				m.times = append(m.times, took)
				m.answers[status]++
				mu.Unlock()
				time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
			}
		})
	}
	return func() answered {
		wg.Wait()
		slices.Sort(m.times)
		return m
	}
}

// timed sends a request, written as METHOD TARGET BODY, and measures the time.
func timed(c *apptest.Case, client *http.Client, request string) (status int, took time.Duration, again string) {
	parts := strings.SplitN(request+" ", " ", 3)
	r, err := http.NewRequest(parts[0], "http://"+c.Addr+parts[1], strings.NewReader(strings.TrimSpace(parts[2])))
	if err != nil {
		c.Error(err)
		return 0, 0, ""
	}
	if parts[2] != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	begin := time.Now()
	resp, err := client.Do(r)
	took = time.Since(begin)
	if err != nil {
		c.Error(err)
		return 0, took, ""
	}
	_ = resp.Body.Close()
	return resp.StatusCode, took, resp.Header.Get("Retry-After")
}
