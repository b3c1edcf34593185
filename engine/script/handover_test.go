package script

import (
	"context"
	"sync"
	"testing"
	"time"

	"restsrv/engine/script/limits"
)

// TestHandedOver: operations of a script run on the goroutine of its request while that waits. A repository that
// blocks reveals operations that must not wait for it.
func TestHandedOver(t *testing.T) {
	const handlers = `
		const later = (ms) => new Promise(ok => setTimeout(ok, ms, 'a timer'));
		const count = () => dataRepo.getCount('note@demo');
		module.exports = {
			'GET /': async () => Promise.race([count(), later(20)]),
			'PUT /': () => { count(); return 'at once' },
			'POST /': () => { count(); return later(20) },
			'PATCH /': async () => { try { await count() } catch (e) { return 'caught ' + e.code } },
			'DELETE /': async () => 'another',
		}`
	a := newApp(t, limits.Limits{Wall: 300 * time.Millisecond, VMs: 1}, false)
	g := a.load(handlers)
	a.repo.away = make(chan struct{})
	start := time.Now()
	expect(t, get(t, g), jsonType+`"a timer"`)
	expect(t, answer(send(t, g, request{method: "PUT"})), jsonType+`"at once"`)
	expect(t, answer(send(t, g, request{method: "POST"})), jsonType+`"a timer"`)
	if took := time.Since(start); took > 250*time.Millisecond {
		t.Errorf("the responses took %s, want at most 250 ms: they do not need the repository", took)
	}
	var all sync.WaitGroup
	all.Go(func() {
		expect(t, answer(send(t, g, request{method: "PATCH"})), "error timeout service svc did not answer in time")
	})
	expect(t, answer(send(t, g, request{method: "DELETE"})), jsonType+`"another"`) // in the same VM
	all.Wait()
}

// TestHandedOverToNobody: if the client disconnects, the reads of its request are cancelled.
func TestHandedOverToNobody(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	g := a.load(`module.exports = {'GET /': async () => dataRepo.getCount('note@demo')}`)
	a.repo.away = make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	_, r := request{}.build()
	start := time.Now()
	_, err := g.Routes()[0].Handler(ctx, r)
	expect(t, answer(nil, err), "error timeout service svc did not answer in time")
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
}

// TestReadsAtOnce: reads that are started together run concurrently.
func TestReadsAtOnce(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	a.repo.fill(t, 3)
	g := a.load(`module.exports = {'GET /': async () => {
		const n = await Promise.all([1, 2, 3].map(() => dataRepo.getCount('note@demo')));
		return [...n, await dataRepo.getCount('note@demo')];
	}}`)
	var mu sync.Mutex
	inside, met := 0, make(chan struct{})
	a.repo.delay = func() {
		mu.Lock()
		if inside++; inside == 3 {
			close(met)
		}
		mu.Unlock()
		<-met
	}
	expect(t, get(t, g), jsonType+"[3,3,3,3]")
}
