package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"restsrv/engine/store/postgres/pgtest"
)

const sharedApp = `{
  "namespace": "shared",
  "classes": [{"name": "part", "key": ["id"], "properties": [
    {"name": "id", "type": "guid", "autoassigned": true}, {"name": "n", "type": "int", "unique": true}, {"name": "batch", "type": "string", "indexed": true}]}],
  "objects": [{"_class": "part@shared", "id": "first"}],
  "modules": {"rest": {"globals": {"authMode": {"open": "none"}, "di": {
    "open": {"module": "builtin/crud"}, "crud": {"module": "builtin/crud"},
    "acceptor": {"module": "builtin/acceptor", "options": {"dataRepo": "ion://dataRepo", "metaRepo": "ion://metaRepo"}}}}}}
}`

// TestTwoServers starts two servers at once on one empty database. Both come
// to serve, what one makes the other has, a thousand objects that are made at
// the same time are a thousand, and a new password holds on both within a
// second.
func TestTwoServers(t *testing.T) {
	url := pgtest.Database(t)
	var servers []*process
	for range 2 {
		servers = append(servers, launch(t, application(t, map[string]string{"deploy.json": sharedApp}), "-db", url))
	}
	for _, p := range servers {
		p.await(t)
	}
	mustRun(t, "acl", "grant", "-config", filepath.Join(servers[0].cmd.Dir, "deploy.json"), "-db", url, "anonymous", "c:::part@shared", "read", "use")
	for i, p := range servers {
		if status, body, err := p.request("GET", "/rest/crud/part@shared?_count=10", "", ""); err != nil || status != 200 || strings.Count(body, `"_id"`) != 1 {
			t.Errorf("server %d: want the one object of deploy.json, got %d %q, %v\n%s", i, status, body, err, p.log())
		}
	}
	thousand(t, servers)
	config := filepath.Join(servers[0].cmd.Dir, "deploy.json")
	var out lockedBuffer
	s := stdio{In: strings.NewReader("another\n"), Out: &out, Err: &out, Env: func(string) string { return "" }}
	if err := run(context.Background(), []string{"user", "passwd", "admin@local", "-config", config, "-db", url}, s); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	time.Sleep(time.Second)
	for i, p := range servers {
		if status, _, err := p.request("GET", "/rest/crud/part@shared", "", ""); err != nil || status != 401 {
			t.Errorf("server %d still knows the old password: %d, %v", i, status, err)
		}
	}
}

// thousand makes a thousand objects at once, half of them by each server, and
// lets every tenth fail for a number that is taken.
func thousand(t *testing.T, servers []*process) {
	t.Helper()
	var wg sync.WaitGroup
	var made, refused atomic.Int64
	for i := range 1000 {
		wg.Go(func() {
			n := i
			if i%10 == 9 {
				n = i - 1
			}
			status, body, err := servers[i%2].request("POST", "/rest/open/part@shared", "application/json", fmt.Sprintf(`{"n":%d,"batch":"thousand"}`, n))
			switch {
			case err != nil:
				t.Error(err)
			case status == 200:
				made.Add(1)
			case status == 400 && strings.Contains(body, `"duplicate"`):
				refused.Add(1)
			default:
				t.Errorf("object %d was answered %d %q", i, status, body)
			}
		})
	}
	wg.Wait()
	if made.Load() != 900 || refused.Load() != 100 {
		t.Errorf("%d were made and %d refused, want 900 and 100", made.Load(), refused.Load())
	}
	for i, p := range servers {
		_, body, err := p.request("GET", "/rest/crud/part@shared?_count=1000&batch=thousand", "", "")
		if n := strings.Count(body, `"_id"`); err != nil || n != 900 {
			t.Errorf("server %d has %d of them, %v", i, n, err)
		}
	}
}

// TestPostgresRestart restarts PostgreSQL under load, by command and by crash.
// A request succeeds or is answered 503 with Retry-After; no write that was
// answered is missing and no batch is there in part; and within two seconds of
// the database the service is back.
func TestPostgresRestart(t *testing.T) {
	long(t)
	const rounds, writers, readers, size = 6, 6, 4, 20
	database := pgtest.NewServer(t, "wal_sync_method=fdatasync")
	p := start(t, application(t, map[string]string{"deploy.json": batchApp}), "-db", database.URL)
	defer func() {
		if log := p.log(); t.Failed() {
			t.Logf("the log ends with:\n%s", log[max(0, len(log)-20000):])
		}
	}()
	l := &load{p: p, client: http.Client{Timeout: 15 * time.Second}, answered: map[string]bool{}}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for w := range writers + readers {
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				switch name := fmt.Sprintf("%d-%d", w, n); {
				case w >= writers:
					l.send(t, "GET", "/rest/crud/part@crash?_count=5", "")
				case w%2 == 0:
					l.write(t, name, "POST", "/rest/acceptor", records(name, size))
				default:
					l.write(t, name, "POST", "/rest/crud/part@crash", fmt.Sprintf(`{"id":%q,"batch":%q}`, name, name))
				}
			}
		})
	}
	var waits []time.Duration
	for round := range rounds {
		time.Sleep(time.Second)
		end := database.Stop
		if round%2 == 1 {
			end = database.Kill
		}
		end()
		time.Sleep(300 * time.Millisecond)
		if err := database.Start(); err != nil {
			t.Fatal(err)
		}
		waits = append(waits, l.back(t))
	}
	time.Sleep(time.Second)
	close(stop)
	wg.Wait()
	complete, absent := 0, 0
	for batch, ok := range l.answered {
		_, body, err := p.request("GET", "/rest/crud/part@crash?_count=1000&batch="+batch, "", "")
		if err != nil {
			t.Fatal(err)
		}
		want := size
		if strings.Contains("13579", batch[:1]) {
			want = 1
		}
		switch n := strings.Count(body, `"_id"`); {
		case n == want:
			complete++
		case n == 0 && !ok:
			absent++
		default:
			t.Errorf("batch %s, answered %v, has %d of %d records", batch, ok, n, want)
		}
	}
	t.Logf("%d restarts, %d requests: %d succeeded, %d answered 503; %d writes complete, %d absent and never answered; back after %v",
		rounds, l.good.Load()+l.away.Load(), l.good.Load(), l.away.Load(), complete, absent, waits)
	if l.away.Load() == 0 {
		t.Error("no request met a database that was away: the test shows nothing")
	}
}

// load is what is sent to a server whose database is restarted.
type load struct {
	p          *process
	client     http.Client
	good, away atomic.Int64
	mu         sync.Mutex
	answered   map[string]bool // batch: false when sent, true when answered 200
}

func (l *load) write(t *testing.T, batch, method, path, body string) {
	l.mu.Lock()
	l.answered[batch] = false
	l.mu.Unlock()
	if l.send(t, method, path, body) {
		l.mu.Lock()
		l.answered[batch] = true
		l.mu.Unlock()
	}
}

// send reports whether the request succeeded.
func (l *load) send(t *testing.T, method, path, body string) bool {
	r, err := http.NewRequest(method, l.p.url+path, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return false
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := l.client.Do(r)
	if err != nil {
		t.Error(err)
		return false
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(resp.Body)
	switch {
	case resp.StatusCode == 200:
		l.good.Add(1)
		return true
	case resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "":
		t.Errorf("%s %s was answered %d, Retry-After %q: %.300s", method, path, resp.StatusCode, resp.Header.Get("Retry-After"), answer)
	}
	l.away.Add(1)
	time.Sleep(5 * time.Millisecond)
	return false
}

// back waits until writes and reads succeed again, each several times in a row.
func (l *load) back(t *testing.T) time.Duration {
	begin := time.Now()
	for n := 0; n < 20; n++ {
		name := fmt.Sprintf("1back-%d", time.Now().UnixNano())
		if !l.send(t, "GET", "/rest/crud/part@crash?_count=1", "") || !l.send(t, "POST", "/rest/crud/part@crash", fmt.Sprintf(`{"id":%q}`, name)) {
			n = 0
		}
		if time.Since(begin) > 10*time.Second {
			break
		}
	}
	took := time.Since(begin)
	if took > 2*time.Second {
		t.Errorf("the service was back %v after the database", took)
	}
	return took
}
