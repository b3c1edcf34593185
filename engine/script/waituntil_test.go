package script

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/script/limits"
)

// waitFor waits until cond is true.
func waitFor(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !cond(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it takes too long: " + what)
		}
	}
}

// TestWaitUntil: the answer does not wait for the work, and the work uses data for the account of the request, after
// the context of the request has ended.
func TestWaitUntil(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	a.repo.fill(t, 3)
	g := a.load(`module.exports = {
		'GET /': async (req) => {
			req.waitUntil((async () => {
				await new Promise((r) => setTimeout(r, 50));
				shared.set('done', (await dataRepo.getList('note@demo')).length + ' ' + req.user.id());
			})());
			return 'at once';
		},
		'PUT /': () => shared.get('done')}`)
	ctx, cancel := context.WithCancel(context.Background())
	expect(t, answer(send(t, g, request{ctx: ctx, account: &engine.Account{ID: "a@b"}})), jsonType+`"at once"`)
	cancel()
	if n := a.rt.Metrics()["svc"].OpenWorks; n != 1 {
		t.Errorf("got %d works, want 1", n)
	}
	done := ""
	waitFor(t, "the work", func() bool { done = answer(send(t, g, request{method: "PUT"})); return strings.Contains(done, "3") })
	expect(t, done, jsonType+`"3 a@b"`)
	waitFor(t, "the end of the call", func() bool { m := a.rt.Metrics()["svc"]; return m.OpenWorks == 0 && m.InFlight == 0 })
	if left := a.rt.FinishWorks(context.Background()); left != nil {
		t.Errorf("got works %v, want none", left)
	}
}

// TestWaitUntilFails: works that fail or exceed a limit do not change the answer, and end.
func TestWaitUntilFails(t *testing.T) {
	a := newApp(t, limits.Limits{CPU: 300 * time.Millisecond, WorkTime: time.Second, WorkPromises: 3, AccountWorks: 2, VMs: 1}, false)
	g := a.load(`const wait = (ms) => new Promise((r) => setTimeout(r, ms)); module.exports = {
		'GET /': (req) => { req.waitUntil(new Promise(() => {})); return 1; },
		'PUT /': (req) => { req.waitUntil(Promise.reject(new Error('a broken work'))); return 2; },
		'POST /': (req) => { req.waitUntil(wait(20).then(() => { for (;;) ; })); return 3; },
		'PATCH /': (req) => { for (let i = 0; i < 10000; i++) req.waitUntil(wait(1e6)); return 4; },
		'DELETE /': () => 5}`)
	expect(t, answer(send(t, g, request{})), jsonType+"1")
	expect(t, answer(send(t, g, request{method: "PUT"})), jsonType+"2")
	waitFor(t, "the time limit", func() bool { return a.rt.Metrics()["svc"].OpenWorks == 0 })
	expect(t, answer(send(t, g, request{method: "POST"})), jsonType+"3")
	waitFor(t, "the CPU limit", func() bool { return a.rt.Metrics()["svc"].OpenWorks == 0 })
	if _, err := send(t, g, request{method: "PATCH"}); engine.CodeOf(err) != engine.TooMany {
		t.Errorf("10,000 promises: got %v, want too many", err)
	}
	for i := range 3 {
		_, err := send(t, g, request{})
		if want := map[int]engine.Code{2: engine.TooMany}[i]; i == 2 && engine.CodeOf(err) != want || i < 2 && err != nil {
			t.Errorf("request %d: got %v", i, err)
		}
	}
	expect(t, answer(send(t, g, request{method: "DELETE"})), jsonType+"5")
	for _, want := range []string{"a broken work", "was ended at its time limit", "the script used more than 300ms of CPU"} {
		if !strings.Contains(a.log.String(), want) {
			t.Errorf("the log does not have %q", want)
		}
	}
	waitFor(t, "the end of the calls", func() bool { m := a.rt.Metrics()["svc"]; return m.OpenWorks == 0 && m.InFlight == 0 })
}

// TestWorksReturnMemory: 2,000 requests with works that never settle leave no memory behind.
func TestWorksReturnMemory(t *testing.T) {
	a := newApp(t, limits.Limits{WorkTime: 20 * time.Millisecond, AccountWorks: 10_000, Works: 10_000}, false)
	g := a.load(`module.exports = {'GET /': (req) => { const kept = new Uint8Array(100000); req.waitUntil(new Promise(() => kept)); return 1; }}`)
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for range 2000 {
		if _, err := send(t, g, request{}); err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t, "the works", func() bool { return a.rt.Metrics()["svc"].OpenWorks == 0 })
	waitFor(t, "the memory of the works", func() bool { return heap() < before+16<<20 })
}

// TestStreamWithWork: work goes on after a stream has ended.
func TestStreamWithWork(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	g := a.load(`module.exports = {
		'GET /': async (req) => { req.waitUntil(new Promise((r) => setTimeout(r, 50)).then(() => shared.set('done', true))); return (async function* () { yield 'x'; })(); },
		'PUT /': () => shared.get('done')}`)
	expect(t, stream(t, g, request{}), "200 text/plain; charset=utf-8 x")
	waitFor(t, "the work", func() bool { return strings.Contains(answer(send(t, g, request{method: "PUT"})), "true") })
	waitFor(t, "the end of the call", func() bool { m := a.rt.Metrics()["svc"]; return m.OpenWorks == 0 && m.InFlight == 0 })
}
