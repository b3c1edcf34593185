package script

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/script/limits"
	"restsrv/engine/service"
)

// barrier blocks the operations of a repository until it is opened.
type barrier struct {
	held atomic.Int64
	open chan struct{}
	once sync.Once
}

func newBarrier(a *app) *barrier {
	b := &barrier{open: make(chan struct{})}
	a.repo.delay = func() {
		b.held.Add(1)
		<-b.open
	}
	a.t.Cleanup(b.release)
	return b
}

func (b *barrier) release() { b.once.Do(func() { close(b.open) }) }

const listing = `module.exports = {'GET /': async () => (await dataRepo.getList('note@demo')).length, 'PUT /': () => 1}`

// TestQueueIsBounded: if the queue is full, a request is rejected with Retry-After. Queued requests are served in
// order.
func TestQueueIsBounded(t *testing.T) {
	a := newApp(t, limits.Limits{VMs: 1, InFlight: 2, Queue: 3}, false)
	b := newBarrier(a)
	g := a.load(listing)
	var all sync.WaitGroup
	answers := make([]string, 5)
	for i := range answers {
		all.Go(func() { answers[i] = answer(send(t, g, request{account: bob})) })
	}
	eventually(t, "two at work and three waiting", func() bool {
		m := a.rt.Metrics()["svc"]
		return m.InFlight == 2 && m.Waiting == 3 && b.held.Load() == 2
	})
	_, err := send(t, g, request{account: bob})
	e, ok := err.(*engine.Error)
	if !ok || e.Code != engine.Unavailable || e.Reason != "busy" || e.RetryAfter != time.Second {
		t.Errorf("got the error %v, want Unavailable with a Retry-After of 1 s", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := send(t, g, request{account: bob, ctx: ctx}); engine.CodeOf(err) != engine.Unavailable && engine.CodeOf(err) != engine.Timeout {
		t.Errorf("disconnected client: got the error %v, want Unavailable or Timeout", err)
	}
	b.release()
	all.Wait()
	for _, got := range answers {
		expect(t, got, jsonType+"0")
	}
	m := a.rt.Metrics()["svc"]
	if m.InFlight != 0 || m.Waiting != 0 || m.Requests["busy"] < 1 || m.Requests["ok"] != 5 {
		t.Errorf("unexpected metrics: %+v", m)
	}
	expect(t, answer(send(t, g, request{method: "PUT"})), jsonType+"1")
}

func TestWaitersAreServedInOrder(t *testing.T) {
	a := newApp(t, limits.Limits{VMs: 1, InFlight: 1}, false)
	b := newBarrier(a)
	g := a.load(`module.exports = {'GET /': async (req) => { await dataRepo.getList('note@demo'); return shared.incr('served') }}`)
	var all sync.WaitGroup
	answers := make([]string, 8)
	for i := range answers {
		all.Go(func() { answers[i] = answer(send(t, g, request{account: bob})) })
		eventually(t, "the request", func() bool {
			m := a.rt.Metrics()["svc"]
			return m.InFlight == 1 && m.Waiting == i && b.held.Load() == 1
		})
	}
	b.release()
	all.Wait()
	for i, got := range answers {
		expect(t, got, fmt.Sprint(jsonType, i+1))
	}
}

// TestExclusive: with "isolation": "exclusive", data of a request in a module variable cannot be seen by concurrent
// requests.
func TestExclusive(t *testing.T) {
	for _, c := range []struct {
		isolation any
		mixed     bool
	}{{"exclusive", false}, {nil, true}} {
		a := newApp(t, limits.Limits{}, false)
		a.repo.delay = func() { time.Sleep(2 * time.Millisecond) }
		a.opts = service.Options{"isolation": c.isolation}
		g := a.load(`let mine; module.exports = {'GET /': async (req) => {
			mine = req.query.i; await dataRepo.getList('note@demo'); return mine === req.query.i }}`)
		mixed := false
		for _, got := range crowd(t, g, 200) {
			mixed = mixed || got != jsonType+"true"
		}
		if mixed != c.mixed {
			t.Errorf("isolation %v: data of requests mixed: got %v, want %v", c.isolation, mixed, c.mixed)
		}
		if n := countVMs(a); n > 64 || c.isolation != nil && n < 2 {
			t.Errorf("isolation %v: unexpected number of VMs: %d", c.isolation, n)
		}
	}
	a := newApp(t, limits.Limits{}, false)
	a.opts = service.Options{"isolation": "exclusiv"}
	a.write("svc.js", listing)
	if _, err := a.rt.Load(a.service("svc.js")); err == nil {
		t.Error("an unknown value of isolation was accepted, want an error")
	} else {
		expectIn(t, err.Error(), `the option "isolation" is "exclusive"`)
	}
	a.opts = service.Options{"isolation": "exclusive"}
	s := a.service("svc.js")
	s.Limits.VMs = 3
	g, err := a.rt.Load(s)
	if err != nil {
		t.Fatal(err)
	}
	crowd(t, g, 50)
	if n := countVMs(a); n > 3 {
		t.Errorf("got %d VMs, want at most 3", n)
	}
}

// countVMs returns the number of VMs of the service.
func countVMs(a *app) int {
	m := a.rt.Metrics()["svc"]
	return m.VMs["idle"] + m.VMs["running"]
}

// TestQuarantine: three interrupts in a minute limit each VM to one request, until the service is loaded again or no
// further interrupt occurs for a while.
func TestQuarantine(t *testing.T) {
	a := newApp(t, limits.Limits{CPU: 60 * time.Millisecond, Load: time.Second, VMs: 2}, false)
	a.repo.delay = func() { time.Sleep(time.Millisecond) }
	code := `let inside = 0; module.exports = {
		'GET /': async () => { if (inside++) return 'shared'; await dataRepo.getList('note@demo'); inside--; return 'alone' },
		'PUT /': () => { for (;;) ; }}`
	g := a.load(code)
	for range 4 {
		_, _ = send(t, g, request{method: "PUT"})
	}
	m := a.rt.Metrics()["svc"]
	if !m.Exclusive || m.Quarantines != 1 || m.Interrupts["cpu"] != 4 {
		t.Errorf("unexpected metrics: %+v", m)
	}
	for _, got := range crowd(t, g, 40) {
		expect(t, got, jsonType+`"alone"`)
	}
	if n := strings.Count(a.log.String(), "each VM takes one request at a time"); n != 1 {
		t.Errorf("got %d log records of the quarantine, want 1", n)
	}
	g.Group.RemoveIdle(time.Now().Add(4 * time.Minute))
	if !a.rt.Metrics()["svc"].Exclusive {
		t.Error("the quarantine ended early")
	}
	g.Group.RemoveIdle(time.Now().Add(5 * time.Minute))
	if a.rt.Metrics()["svc"].Exclusive {
		t.Error("the quarantine did not end")
	}
	g.Close()
	a.load(code)
	if a.rt.Metrics()["svc"].Exclusive {
		t.Error("the new version is exclusive, too, want it not to be")
	}
}

// TestRecycle: a VM is replaced after many calls without failing a call.
func TestRecycle(t *testing.T) {
	a := newApp(t, limits.Limits{Calls: 50, VMs: 2}, false)
	a.repo.fill(t, 1)
	g := a.load(`let n = 0; module.exports = {'GET /': async () => { n++; await dataRepo.getList('note@demo'); return n <= 300 }}`)
	for range 10 {
		for _, got := range crowd(t, g, 100) {
			expect(t, got, jsonType+"true")
		}
	}
	eventually(t, "new VMs", func() bool { return a.rt.Metrics()["svc"].Recycled >= 10 })
	eventually(t, "the end of the old VMs", func() bool {
		return a.rt.dog.Count() <= 2
	})
}

// TestNoMoreVMs: if no further VM can be created, the service continues with its present VMs.
func TestNoMoreVMs(t *testing.T) {
	a := newApp(t, limits.Limits{VMs: 4, InFlight: 2}, false)
	a.repo.delay = func() { time.Sleep(time.Millisecond) }
	g := a.load(`if (shared.incr('loads') > 1) throw new Error('once only');
		module.exports = {'GET /': async () => { for (let i = 0; i < 1e4; i++) ; return (await dataRepo.getList('note@demo')).length }}`)
	for _, got := range crowd(t, g, 60) {
		expect(t, got, jsonType+"0")
	}
	if n := countVMs(a); n != 1 {
		t.Errorf("got %d VMs, want 1", n)
	}
	expectIn(t, a.log.String(), "cannot create another VM", "once only")
}

// TestThousandAwait: two VMs serve a thousand requests that wait for data.
func TestThousandAwait(t *testing.T) {
	a := newApp(t, limits.Limits{VMs: 2, InFlight: 512}, false)
	b := newBarrier(a)
	g := a.load(listing)
	done := make(chan []string)
	go func() { done <- crowd(t, g, 1000) }()
	eventually(t, "a thousand that wait", func() bool { return b.held.Load() == 1000 })
	m := a.rt.Metrics()["svc"]
	if m.InFlight != 1000 || m.Waiting != 0 || m.VMs["idle"]+m.VMs["running"] > 2 {
		t.Errorf("unexpected metrics: %+v", m)
	}
	b.release()
	for _, got := range <-done {
		expect(t, got, jsonType+"0")
	}
}
