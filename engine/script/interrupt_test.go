package script

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"restsrv/engine/script/limits"
)

// TestLateInterrupts runs turns that end at their time limit. No later turn may
// be interrupted in their place, and calls that have not begun or have only
// read must be answered normally.
func TestLateInterrupts(t *testing.T) {
	a := newApp(t, limits.Limits{CPU: 300 * time.Millisecond, Load: time.Second, VMs: 1}, false)
	g := a.load(`module.exports = {
		'GET /': (req) => { const end = Date.now() + Number(req.query.ms); while (Date.now() < end) ; return 'slow' },
		'PUT /': () => 'quick', 'PATCH /': async () => { await null; await 1; return 'quick' }}`)
	stop := time.Now().Add(4 * time.Second) // a quick turn must not reach the limit on a busy machine
	var all sync.WaitGroup
	for i := range 2 {
		all.Go(func() {
			for n := 0; time.Now().Before(stop); n++ {
				got := answer(send(t, g, request{query: fmt.Sprint("ms=", 294+4*((n+i)%6))}))
				if got != jsonType+`"slow"` && got != "error internal Internal server error" {
					t.Errorf("slow: %s", got)
				}
			}
		})
	}
	quick := 0
	for time.Now().Before(stop) {
		for _, method := range []string{"PUT", "PATCH"} {
			got := answer(send(t, g, request{method: method}))
			// A PATCH that waited for its turn when the VM was lost gets an
			// error.
			if got != jsonType+`"quick"` && (method == "PUT" || got != "503 text/plain; charset=utf-8 the service was restarted, try again") {
				t.Errorf("%s: %s", method, got)
			}
			quick++
		}
	}
	all.Wait()
	if m := a.rt.Metrics()["svc"]; m.Interrupts["cpu"] == 0 || quick < 5 {
		t.Errorf("no turn was interrupted, or too few requests were sent: %d, %+v", quick, m.Interrupts)
	}
}

// TestWhoIsRunAgain checks that calls that have not begun are run on another
// VM, with any method, and that calls that have written are not.
func TestWhoIsRunAgain(t *testing.T) {
	a := newApp(t, limits.Limits{CPU: 300 * time.Millisecond, Load: time.Second, VMs: 1}, false)
	a.repo.fill(t, 1)
	g := a.load(`module.exports = {
		'GET /': async () => { shared.incr('get'); await dataRepo.getCount('note@demo'); await shared.lock('l', () => 1); return shared.get('get') },
		'POST /': async () => { shared.incr('post'); await dataRepo.createItem('note@demo', {title: 'x'}); await new Promise(() => 1) },
		'DELETE /': () => shared.incr('delete'),
		'COPY /': () => shared.get('post') ?? 0,
		'PUT /': () => shared.lock('l', async () => { await new Promise(ok => setTimeout(ok, 100)); for (;;) ; })}`)
	var all sync.WaitGroup
	all.Go(func() {
		expect(t, answer(send(t, g, request{method: "PUT", account: bob})), "error internal Internal server error")
	})
	all.Go(func() {
		r, err := send(t, g, request{method: "POST", account: bob})
		expect(t, answer(r, err), "503 text/plain; charset=utf-8 the service was restarted, try again")
	})
	eventually(t, "the POST wrote", func() bool { return answer(send(t, g, request{method: "COPY"})) == jsonType+"1" })
	all.Go(func() { // it reads, waits for the lock, and is run again
		expect(t, answer(send(t, g, request{account: bob})), jsonType+"2")
	})
	eventually(t, "the loop", func() bool {
		m := a.rt.Metrics()["svc"]
		return m.InFlight == 3 && m.VMs["running"] == 1
	})
	all.Wait()
	expect(t, answer(send(t, g, request{method: "DELETE"})), jsonType+"1")
	if n := len(a.repo.items); n != 2 {
		t.Errorf("%d notes, the POST was to write one", n)
	}
}
