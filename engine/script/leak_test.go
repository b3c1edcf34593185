package script

import (
	"net/http"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"restsrv/engine/script/limits"
)

// TestLeakOfNeighbour has a service keep 2 MiB of each request in a module variable, until it has kept several times the
// memory limit. Two other services answer requests at the same time, with longer turns. None of their requests may fail.
func TestLeakOfNeighbour(t *testing.T) {
	const limit = 192 << 20
	if os.Getenv("SCRIPT_LEAK") == "" { // in a process of its own, since memory is measured for the process
		cmd := exec.Command(os.Args[0], "-test.run=^TestLeakOfNeighbour$", "-test.v", "-test.timeout=120s")
		cmd.Env = append(os.Environ(), "SCRIPT_LEAK=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %.3000s", err, out)
		}
		return
	}
	a := startApp(t, Config{Heap: limit, Limits: limits.Limits{CPU: 10 * time.Second}})
	load := func(name, text string) *Generation {
		a.write(name+".js", text)
		s := a.service(name + ".js")
		s.Name = name
		g, err := a.rt.Load(s)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(g.Close)
		return g
	}
	leaking := load("leaking", `const kept = []; module.exports = { 'GET /': () => { kept.push(new Uint8Array(2 << 20).fill(1)); return kept.length } }`)
	var asked, failed [3]atomic.Int64
	var all sync.WaitGroup
	end := time.Now().Add(8 * time.Second)
	ask := func(i int, g *Generation, pause time.Duration) {
		for time.Now().Before(end) {
			asked[i].Add(1)
			if r, err := send(t, g, request{}); err != nil || r.Status >= http.StatusBadRequest {
				failed[i].Add(1)
				if i > 0 {
					t.Log(answer(r, err))
				}
			}
			time.Sleep(pause)
		}
	}
	for i, g := range []*Generation{leaking,
		load("one", `module.exports = { 'GET /': () => { for (const end = Date.now() + 30; Date.now() < end;); return 1 } }`),
		load("two", `module.exports = { 'GET /': async () => { for (let n = 0; n < 5; n++) await dataRepo.getCount('note@demo'); return 1 } }`)} {
		all.Go(func() { ask(i, g, 10*time.Millisecond) })
		all.Go(func() { ask(i, g, 10*time.Millisecond) })
	}
	all.Wait()
	for i, name := range []string{"leaking", "one", "two"} {
		t.Logf("%s: %d of %d requests failed", name, failed[i].Load(), asked[i].Load())
		if i > 0 && failed[i].Load() > 0 {
			t.Errorf("%s: got %d of %d requests failed, want none", name, failed[i].Load(), asked[i].Load())
		}
	}
	if kept := asked[0].Load() << 21; kept < 2*limit {
		t.Skipf("the leak was too slow: %d MiB", kept>>20)
	}
}
