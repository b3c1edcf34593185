package script

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dlclark/regexp2/v2"

	"restsrv/engine/script/limits"
	"restsrv/engine/script/module"
	"restsrv/engine/service"
)

// mounted contains the active services.
type mounted struct {
	current atomic.Pointer[service.Service]
}

func (m *mounted) mount(_ string, s service.Service) error {
	m.current.Store(&s)
	return nil
}

func (m *mounted) service() service.Service { return *m.current.Load() }

func TestReload(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	var at mounted
	m := NewManager(a.rt, at.mount)
	defer m.Close()
	file := func(name string) []string { return []string{filepath.Join(a.dir, name)} }

	a.write("svc.js", "module.exports = {'GET /': () => 1")
	var e *module.LoadError
	if err := m.Add(a.service("svc")); !errors.As(err, &e) || e.Line != 1 {
		t.Fatalf("got %v", err)
	}
	expect(t, get(t, at.service()), "error unavailable service svc is not available: its script could not be loaded")
	if at.service().Errors() != service.TextErrors || len(m.Faults()) != 1 {
		t.Error("a broken service is not reported")
	}

	a.write("svc.js", "const lib = require('./lib/text');\nmodule.exports = {'GET /': () => lib}")
	m.Reload(file("svc.js"))
	expectIn(t, a.log.String(), `svc.js:1:20: Error: cannot find module`, "answers 503")
	a.write("lib/text.js", "module.exports = 'one'")
	m.Reload(file("lib")) // a new folder is reported as a folder
	expect(t, get(t, at.service()), jsonType+`"one"`)
	if len(m.Faults()) != 0 {
		t.Errorf("faults: %v", m.Faults())
	}

	a.write("lib/text.js", "module.exports = 'two'")
	m.Reload(file("other.js"))
	expect(t, get(t, at.service()), jsonType+`"one"`)
	before := at.service()
	m.Reload(file("lib/text.js"))
	expect(t, get(t, at.service()), jsonType+`"two"`)
	expect(t, get(t, before), jsonType+`"one"`)

	same := at.service()
	m.Reload(file("lib/text.js"))
	if at.service() != same {
		t.Error("reloaded without a change")
	}
	m.Reload(nil)
	if at.service() == same {
		t.Error("nil must reload all")
	}

	a.write("lib/text.js", "module.exports = 'three'\nthrow new Error('no')")
	m.Reload(file("lib/text.js"))
	expect(t, get(t, at.service()), jsonType+`"two"`)
	expectIn(t, a.log.String(), `lib/text.js:2:7: Error: no`, `source="throw new Error('no')"`, "last good version keeps answering")
	if err := os.Remove(filepath.Join(a.dir, "lib/text.js")); err != nil {
		t.Fatal(err)
	}
	m.Reload(file("lib/text.js"))
	expect(t, get(t, at.service()), jsonType+`"two"`)
	a.write("lib/text.js", "module.exports = 'two'") // the content of the good version
	m.Reload(file("lib/text.js"))
	if len(m.Faults()) != 0 {
		t.Errorf("faults after the file was fixed: %v, want none", m.Faults())
	}
}

func TestMountRefuses(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	refuse := false
	var at mounted
	m := NewManager(a.rt, func(name string, s service.Service) error {
		if refuse {
			return errors.New("route not understood")
		}
		return at.mount(name, s)
	})
	defer m.Close()
	a.write("svc.js", "module.exports = {'GET /': () => 1}")
	if err := m.Add(a.service("svc.js")); err != nil {
		t.Fatal(err)
	}
	refuse = true
	a.write("svc.js", "module.exports = {'GET /': () => 2}")
	m.Reload(nil)
	expect(t, get(t, at.service()), jsonType+"1")
	if len(m.Faults()) != 1 {
		t.Error("the fault is not reported")
	}
}

// TestReloadUnderLoad alternates good and broken versions under load. No
// request may fail, and old versions must be released.
func TestReloadUnderLoad(t *testing.T) {
	a := newApp(t, limits.Limits{VMs: 2, CPU: longestCPU}, false)
	var at mounted
	m := NewManager(a.rt, at.mount)
	version := func(n int) string {
		return fmt.Sprintf("module.exports = {'GET /': async () => { await dataRepo.getCount('note@demo'); return %d }}", n)
	}
	a.write("svc.js", version(0))
	if err := m.Add(a.service("svc.js")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	var answered atomic.Int64
	for range 4 {
		wg.Go(func() {
			for ctx.Err() == nil {
				if got := get(t, at.service()); !strings.HasPrefix(got, jsonType) {
					t.Errorf("a request failed: %s", got)
					return
				}
				answered.Add(1)
			}
		})
	}
	for i := range 60 {
		a.write("svc.js", version(i))
		if i%2 == 1 {
			a.write("svc.js", version(i)+";;)")
		}
		m.Reload([]string{filepath.Join(a.dir, "svc.js")})
		n := answered.Load()
		eventually(t, "requests go on", func() bool { return answered.Load() > n+2 || t.Failed() })
	}
	cancel()
	wg.Wait()
	expect(t, get(t, at.service()), jsonType+"58")
	m.Close()
	expect(t, get(t, at.service()), jsonType+"58") // a late request
	eventually(t, "all VMs are released", func() bool {
		return a.rt.dog.Count() == 0
	})
}

func TestIdleVMsAreDropped(t *testing.T) {
	a := newApp(t, limits.Limits{VMs: 4, Idle: time.Millisecond, CPU: longestCPU}, false)
	g := a.load("module.exports = {'GET /': () => { for (let i = 0; i < 1e4; i++); return 1 }}")
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { get(t, g) })
	}
	wg.Wait()
	time.Sleep(5 * time.Millisecond)
	a.rt.reap()
	if n := countVMs(a); n != 1 {
		t.Errorf("%d VMs are left, want 1", n)
	}
	expect(t, get(t, g), jsonType+"1")
}

func TestNoGoroutineIsLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	a := newApp(t, limits.Limits{CPU: 50 * time.Millisecond, Wall: 5 * time.Second}, false)
	g := a.load(`setInterval(() => 1, 1); module.exports = {'GET /': () => { for (;;) {} }, 'PUT /': async () => await dataRepo.getCount('note@demo'), 'POST /': () => new Promise(ok => setTimeout(ok, 5))}`)
	for _, method := range []string{"GET", "PUT", "POST"} {
		_, _ = send(t, g, request{method: method})
	}
	a.rt.Close()
	eventually(t, "all goroutines end", func() bool { return runtime.NumGoroutine() <= before })
}

func TestTooManyTimers(t *testing.T) {
	a := newApp(t, limits.Limits{Timers: 10}, false)
	g := a.load("module.exports = {'GET /': () => { for (;;) setTimeout(() => 1, 1e6) }, 'PUT /': () => { const t = setTimeout(() => 1, 1e6); clearTimeout(t); return 1 }}")
	expect(t, answer(send(t, g, request{method: "PUT"})), jsonType+"1")
	r, err := send(t, g, request{})
	expect(t, answer(r, err), "error internal Internal server error")
	expectIn(t, err.Error(), "too many timers")
}

// TestTimersLeftBehind sends more requests than the limit for timers, and each
// leaves a timer, as Promise.race with a timeout does.
func TestTimersLeftBehind(t *testing.T) {
	a := newApp(t, limits.Limits{Timers: 10, VMs: 1}, false)
	g := a.load(`let ticks = 0; setInterval(() => ticks++, 1);
		module.exports = {
			'GET /': async () => await Promise.race([Promise.resolve(1), new Promise((_, no) => setTimeout(no, 1e6))]),
			'PUT /': () => ticks,
		}`)
	for range 35 {
		expect(t, get(t, g), jsonType+"1")
	}
	before := answer(send(t, g, request{method: "PUT"}))
	eventually(t, "the timer of the module goes on", func() bool { return answer(send(t, g, request{method: "PUT"})) != before })
	if n := strings.Count(a.log.String(), "left behind"); n != 1 {
		t.Errorf("the warning is logged %d times, want once", n)
	}
}

// TestCPULimitOfOneService loads a service with a limit longer than the timeout of regular expressions, which lowers
// the limit, and then one with a short limit, which ends its request.
func TestCPULimitOfOneService(t *testing.T) {
	a := newApp(t, limits.Limits{CPU: time.Second}, false)
	a.write("svc.js", "module.exports = {'GET /': () => { for (;;) {} }}")
	s := a.service("svc.js")
	s.Limits.CPU = longestCPU + time.Second
	g, err := a.rt.Load(s)
	if err != nil {
		t.Fatal(err)
	}
	if g.Limits.CPU >= s.Limits.CPU {
		t.Errorf("got a CPU limit of %v, want less than %v", g.Limits.CPU, s.Limits.CPU)
	}
	expectIn(t, a.log.String(), "until it is restarted")
	g.Close()
	s.Limits.CPU = 30 * time.Millisecond
	if g, err = a.rt.Load(s); err != nil {
		t.Fatal(err)
	}
	_, err = send(t, g, request{})
	if err == nil {
		t.Fatal("answered")
	}
	expectIn(t, err.Error(), "more than 30ms of CPU")
}

// TestRuntimesSideBySide starts Runtimes while others run scripts. The race
// detector reports changes of shared state.
func TestRuntimesSideBySide(t *testing.T) {
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			a := newApp(t, limits.Limits{CPU: time.Duration(i+1) * 100 * time.Millisecond}, false)
			g := a.load(`module.exports = {'GET /': () => new RegExp('(?=a)(a|b)+\\1$').test('abaa')}`)
			expect(t, get(t, g), jsonType+"true")
		})
	}
	wg.Wait()
}

// TestRegexpsOutlastTurns checks that an expression times out after its turn,
// with all limits.
func TestRegexpsOutlastTurns(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	if longest := max(a.rt.limits.CPU, a.rt.limits.Load); regexp2.DefaultMatchTimeout <= longest || regexp2.DefaultMatchTimeout > 60*time.Second {
		t.Errorf("expressions end after %v, turns after %v", regexp2.DefaultMatchTimeout, longest)
	}
	a.write("svc.js", "if (!/^(a|aa)+$(?!b)/.test('a'.repeat(60) + '!')) module.exports = {'GET /': () => 'loaded on a wrong answer'}")
	if _, err := a.rt.Load(a.service("svc.js")); err == nil {
		t.Error("loading continued after an expression had timed out")
	} else {
		expectIn(t, err.Error(), "of CPU in one turn")
	}
}

func TestBrokenMethods(t *testing.T) {
	for _, m := range strings.Fields(brokenMethods) {
		if !service.IsMethod(m) {
			t.Errorf("%s is not a valid method", m)
		}
	}
}
