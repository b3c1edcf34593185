package operation

import (
	"sort"
	"testing"
	"time"

	"restsrv/cmd/restsrv/apptest"
)

func waitFor(t *testing.T, p *apptest.Process, want string) time.Duration {
	t.Helper()
	begin := time.Now()
	for time.Since(begin) < 30*time.Second {
		if _, body, err := p.Request("GET", "/rest/s", "", ""); err == nil && body == want {
			return time.Since(begin)
		}
		time.Sleep(2 * time.Millisecond)
	}
	t.Fatalf("%s never came to answer:\n%s", want, p.Log())
	return 0
}

// TestEndlessLoop runs an endless loop in one handler. Its request must get status 500 soon after
// the time limit. During the loop, other services must answer. After it, the service with the
// loop must answer again.
func TestEndlessLoop(t *testing.T) {
	apptest.RequireLong(t)
	dir := apptest.WriteApplication(t, map[string]string{
		"deploy.json": `{"modules":{"rest":{"globals":{"authMode":{"loop":"none","other":"none"},"di":{"loop":{"module":"loop.js"},"other":{"module":"other.js"}}}}}}`,
		"loop.js":     `module.exports = {'GET /': async () => { while (true) {} }, 'GET /fine': async () => 'fine'};`,
		"other.js":    `module.exports = {'GET /': async () => 'other'};`,
	})
	p := apptest.Start(t, dir)
	for range 3 {
		ended := make(chan time.Duration, 1)
		begin := time.Now()
		go func() {
			status, body, err := p.Request("GET", "/rest/loop", "", "")
			if err != nil || status != 500 || body != "Internal server error" {
				t.Errorf("GET /rest/loop: got %d %q, %v, want 500 Internal server error", status, body, err)
			}
			ended <- time.Since(begin)
		}()
		var waits []time.Duration
		var took time.Duration
		for took == 0 {
			one := time.Now()
			if status, _, err := p.Request("GET", "/rest/other", "", ""); err != nil || status != 200 {
				t.Errorf("GET /rest/other: got %d, %v, want 200", status, err)
			}
			waits = append(waits, time.Since(one))
			select {
			case took = <-ended:
			default:
				time.Sleep(time.Millisecond)
			}
		}
		sort.Slice(waits, func(i, j int) bool { return waits[i] < waits[j] })
		t.Logf("limit 1s: the loop ended after %v; %d requests to another service meanwhile: median %v, worst %v",
			took, len(waits), waits[len(waits)/2], waits[len(waits)-1])
		if status, body, err := p.Request("GET", "/rest/loop/fine", "", ""); err != nil || status != 200 || body != `"fine"` {
			t.Errorf("GET /rest/loop/fine: got %d %q, %v, want 200 and fine", status, body, err)
		}
	}
}
