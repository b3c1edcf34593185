//go:build unix

package script

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"restsrv/engine/script/limits"
)

// TestPipes replaces scripts by pipes. Loading must not block.
func TestPipes(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	g := a.load("module.exports = {'GET /': () => require('./lib.js') && require('./sub/../data')}")
	defer g.Close()
	pipe := func(name string) {
		path := filepath.Join(a.dir, name)
		_ = os.Remove(path)
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Skip("no pipes here:", err)
		}
	}
	pipe("svc.js")
	pipe("lib.js")
	pipe("data.json")
	done := make(chan bool)
	go func() {
		defer close(done)
		if !g.Service.Files.IsStale() {
			t.Error("a script that has become a pipe is not stale")
		}
		for _, name := range []string{"svc.js", "svc", "lib", "data"} {
			if _, err := a.rt.Load(a.service(name)); err == nil || !strings.Contains(err.Error(), "there is no file") {
				t.Errorf("%s: got %v", name, err)
			}
		}
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("a pipe was read")
	}
}
