package operation

import (
	"syscall"
	"testing"
	"time"

	"restsrv/cmd/restsrv/apptest"
)

// TestShutdown checks that after SIGTERM the server completes the running requests, accepts no
// new requests, and ends without an error.
func TestShutdown(t *testing.T) {
	p := apptest.Start(t, apptest.WriteApplication(t, map[string]string{
		"deploy.json": `{"modules":{"rest":{"globals":{"authMode":{"slow":"none"},"di":{"slow":{"module":"slow.js"}}}}}}`,
		"slow.js":     `module.exports = {'GET /': async () => { await new Promise(r => setTimeout(r, 700)); return 'finished'; }};`,
	}))
	type answer struct {
		status int
		body   string
		err    error
	}
	got := make(chan answer, 1)
	go func() {
		status, body, err := p.Request("GET", "/rest/slow", "", "")
		got <- answer{status, body, err}
	}()
	time.Sleep(200 * time.Millisecond) // wait until the request is in progress
	if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if a := <-got; a.err != nil || a.status != 200 || a.body != `"finished"` {
		t.Errorf("the running request: got %d %q, %v, want 200 finished", a.status, a.body, a.err)
	}
	<-p.Done
	if !p.Cmd.ProcessState.Success() {
		t.Errorf("the process ended with %v, want success:\n%s", p.Cmd.ProcessState, p.Log())
	}
	if _, _, err := p.Request("GET", "/rest/slow", "", ""); err == nil {
		t.Error("a request after the end: got a response, want an error")
	}
}
