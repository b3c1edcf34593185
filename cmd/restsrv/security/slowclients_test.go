package security

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/engine/store/postgres/pgtest"
)

// Limits of TestSlowClients.
const (
	slowClients   = 200 // number of each kind
	maxSlowMemory = 400 // maximum memory of the server during the attack, in MiB
)

// slowRequests are the requests of slow clients. pace is the number of bytes per second that a
// client reads of the answer or sends of the body.
var slowRequests = []struct {
	name, head string
	body       bool
	pace       int
}{
	{"never reads", "GET /rest/crud/big@s?_count=1000 HTTP/1.1\r\n", false, 0},
	{"reads 1 byte/s", "GET /rest/crud/big@s?_count=1000&_fields=text,id HTTP/1.1\r\n", false, 1},
	{"sends 1 byte/s", "POST /rest/acceptor HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 30000000\r\n", true, 1},
}

// TestSlowClients checks clients that do not read their answers or do not send their bodies.
// Their use of memory must be limited, and the server must serve other clients and scripts during
// the attack. RESTSRV_SLOW is the duration of the attack; if it is set, the test also checks the
// response times.
func TestSlowClients(t *testing.T) {
	databases := map[string]func(t *testing.T) []string{
		"sqlite":   func(*testing.T) []string { return nil },
		"postgres": func(t *testing.T) []string { return []string{"-db", pgtest.Database(t)} },
	}
	for _, name := range []string{"sqlite", "postgres"} {
		t.Run(name, func(t *testing.T) { testSlowClients(t, databases[name](t)...) })
	}
}

func testSlowClients(t *testing.T, args ...string) {
	attack, judged := 5*time.Second, false
	if text := os.Getenv("RESTSRV_SLOW"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		attack, judged = d, true
	}
	p := apptest.Start(t, apptest.WriteApplication(t, map[string]string{
		"deploy.json": `{"namespace": "s", "globals": {"signIn": {"perAddress": 0, "perAccount": 0}},
			"classes": [{"name": "big", "key": ["id"], "properties": [{"name": "id", "type": "int", "autoassigned": true}, {"name": "text", "type": "text"}]},
				{"name": "small", "key": ["id"], "properties": [{"name": "id", "type": "string"}, {"name": "text", "type": "string"}]}],
			"objects": [{"_class": "small@s", "id": "a", "text": "one"}],
			"modules": {"rest": {"globals": {"authMode": {"script": "none"}, "di": {"crud": {"module": "builtin/crud"}, "script": {"module": "script.js"},
				"acceptor": {"module": "builtin/acceptor", "options": {"dataRepo": "ion://securedDataRepo", "metaRepo": "ion://metaRepo"}}}}}}}`,
		"script.js": `module.exports = {'GET /': async () => { const a = []; for (let i = 0; i < 20000; i++) a.push({i}); return a.length; }};`,
	}), args...)
	credentials := "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("admin@local:"+apptest.AdminPassword)) + "\r\n"
	fillBig(t, p)
	before := serveOthers(t, p, 2*time.Second)
	watchMemory(p, t)

	var stop atomic.Bool
	var clients sync.WaitGroup
	for _, kind := range slowRequests {
		for range slowClients {
			clients.Go(func() {
				for !stop.Load() {
					slowClient(p, kind.head+"Host: x\r\n"+credentials+"\r\n", kind.body, kind.pace, &stop)
				}
			})
		}
	}
	during := serveOthers(t, p, attack)
	stop.Store(true)
	clients.Wait()
	peak := peakMemory(p, t)
	t.Logf("p99 of other clients: %v alone, %v beside %d slow clients; the server took %d MiB at most", before, during, len(slowRequests)*slowClients, peak)
	if peak > maxSlowMemory {
		t.Errorf("memory beside slow clients: got %d MiB, want at most %d", peak, maxSlowMemory)
	}
	if most := 2 * max(before, 25*time.Millisecond); judged && during > most {
		t.Errorf("p99 of other clients: got %v beside slow clients, want at most %v", during, most)
	}
}

// fillBig stores 1000 objects of 54 KB.
func fillBig(t *testing.T, p *apptest.Process) {
	t.Helper()
	record := `{"_class":"big@s","text":"` + strings.Repeat("lorem ipsum ", 4500) + `"}`
	for range 10 {
		body := "[" + strings.Repeat(record+",", 99) + record + "]"
		status, answer, err := p.Request("POST", "/rest/acceptor", "application/json", body)
		if err != nil || status != 200 {
			t.Fatalf("objects could not be stored: %d %.200s %v", status, answer, err)
		}
	}
}

// serveOthers reads objects and calls a script for some time. It returns the 99th percentile of the
// response times. No request may fail.
func serveOthers(t *testing.T, p *apptest.Process, d time.Duration) time.Duration {
	t.Helper()
	var mu sync.Mutex
	var took []time.Duration
	var all sync.WaitGroup
	for _, c := range []struct{ path, want string }{
		{"/rest/crud/small@s/a", `"text":"one"`}, {"/rest/crud/small@s", `"text":"one"`}, {"/rest/script", "20000"},
	} {
		all.Go(func() {
			failed := 0
			for end := time.Now().Add(d); time.Now().Before(end) && failed < 5; time.Sleep(5 * time.Millisecond) {
				begin := time.Now()
				status, body, err := p.Request("GET", c.path, "", "")
				if err != nil || status != 200 || !strings.Contains(body, c.want) {
					failed++
					t.Errorf("another client: GET %s: got %d %.200s %v, want 200 with %s", c.path, status, body, err, c.want)
				}
				mu.Lock()
				took = append(took, time.Since(begin))
				mu.Unlock()
			}
		})
	}
	all.Wait()
	slices.Sort(took)
	return took[len(took)*99/100]
}

// slowClient sends one request on its own connection. It returns when the connection ends, or after
// a minute.
func slowClient(p *apptest.Process, head string, body bool, pace int, stop *atomic.Bool) {
	c, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
	if err != nil {
		time.Sleep(100 * time.Millisecond)
		return
	}
	defer c.Close()
	if _, err := io.WriteString(c, head); err != nil {
		return
	}
	in := bufio.NewReaderSize(c, 16)
	if !body { // a client whose request was refused waits and tries again
		_ = c.SetReadDeadline(time.Now().Add(30 * time.Second))
		if resp, err := http.ReadResponse(in, nil); err != nil || resp.StatusCode != 200 {
			time.Sleep(time.Second)
			return
		}
	}
	for begin := time.Now(); !stop.Load() && time.Since(begin) < time.Minute; time.Sleep(time.Second) {
		var err error
		switch {
		case body:
			_, err = io.WriteString(c, " ")
		case pace > 0:
			_ = c.SetReadDeadline(time.Now().Add(time.Second))
			_, err = in.ReadByte()
		}
		if e, timeout := err.(net.Error); err != nil && !(timeout && e.Timeout()) {
			return
		}
	}
}

// watchMemory resets the peak that peakMemory returns.
func watchMemory(p *apptest.Process, t *testing.T) {
	t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.Cmd.Process.Pid), []byte("5"), 0); err != nil {
		t.Skip("the memory of another process cannot be measured here:", err)
	}
}

// peakMemory returns the peak of the process's memory in MiB.
func peakMemory(p *apptest.Process, t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Cmd.Process.Pid))
	if err != nil {
		t.Fatalf("the server has ended: %v\n%s", err, p.Log())
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, _ := strconv.Atoi(strings.Fields(rest)[0])
			return n >> 10
		}
	}
	t.Fatal("the kernel does not report the memory of a process")
	return 0
}
