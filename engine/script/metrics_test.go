package script

import (
	"testing"
	"time"

	"restsrv/engine/script/limits"
	"restsrv/engine/service"
)

// TestMetrics checks that the metrics of a service survive its versions.
func TestMetrics(t *testing.T) {
	a := newApp(t, limits.Limits{CPU: 80 * time.Millisecond, Wall: 300 * time.Millisecond, Load: time.Second, CallStack: 200}, false)
	a.repo.fill(t, 3)
	m := NewManager(a.rt, func(string, service.Service) error { return nil })
	code := `module.exports = {
		'GET /': async () => { shared.set('a', 'b'); return dataRepo.getList('note@demo') },
		'PUT /': async () => (await dataRepo.getList('note@demo')).map(i => i.get('title')),
		'POST /': () => { throw Object.assign(new Error('no'), {status: 404}) },
		'PATCH /': () => { for (;;) ; },
		'DELETE /': () => { (function f() { f() })() },
		'COPY /': () => new Promise(() => 1),
		'MOVE /': () => { Promise.reject(new Error('nobody')); return 1 },
		'LOCK /': () => { throw new Error('broken') }}`
	a.write("svc.js", code)
	if err := m.Add(a.service("svc.js")); err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{"GET", "GET", "PUT", "POST", "PATCH", "DELETE", "COPY", "MOVE", "LOCK"} {
		_, _ = send(t, m.services[0].live, request{method: method, account: bob})
	}
	a.write("svc.js", code+";")
	m.Reload(nil)
	a.write("svc.js", "oops(")
	m.Reload(nil)
	eventually(t, "the CPU of all requests", func() bool { return m.Metrics()["svc"].CPU.Count() == 9 })
	got := m.Metrics()["svc"]
	for what, n := range map[string][2]uint64{
		"ok": {got.Requests["ok"], 4}, "refused": {got.Requests["refused"], 1}, "failed": {got.Requests["failed"], 3},
		"timeout": {got.Requests["timeout"], 1}, "cpu": {got.Interrupts["cpu"], 1}, "stack": {got.Interrupts["stack"], 1},
		"panic": {got.Interrupts["panic"], 0}, "memory": {got.Interrupts["memory"], 0},
		"rejections": {got.Rejections, 1}, "awaits": {got.Awaits, 3}, "raw rows": {got.RawRows, 6}, "made rows": {got.MadeRows, 3},
		"reloads": {got.Reloads, 2}, "failed reloads": {got.FailedReloads, 1},
		"queue wait": {got.QueueWait.Count(), 9}, "shared": {uint64(got.Shared), 1},
	} {
		if n[0] != n[1] {
			t.Errorf("%s: got %d, want %d", what, n[0], n[1])
		}
	}
	if got.Turns.Count() < 12 || got.Turns.Sum < 80*time.Millisecond || got.Turns.Sum > 20*time.Second {
		t.Errorf("%d turns took %v", got.Turns.Count(), got.Turns.Sum)
	}
	if got.CPU.Sum < 80*time.Millisecond || got.CPU.Sum > got.Turns.Sum {
		t.Errorf("requests took %v of CPU, turns %v", got.CPU.Sum, got.Turns.Sum)
	}
	if got.LastReload <= 0 || got.SharedUse <= 0 || got.InFlight != 0 || got.VMs["idle"] < 1 {
		t.Errorf("metrics say %+v", got)
	}
}
