package script

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"time"

	"restsrv/engine/script/limits"
)

// typical is a service of usual size: a few routes for a class, a module,
// messages, dates and lists.
const typical = `
	const { shown, Checked } = require('./shown.js');
	const CLASS = 'note@demo';
	let last = null;
	module.exports = {
		'GET /': async (req) => {
			const notes = await dataRepo.getList(CLASS, { filter: { eq: ['$n', Number(req.query.n || 1)] }, count: 20 });
			last = new Date().toISOString();
			return notes.map(shown);
		},
		'GET /:id': async (req) => shown(await dataRepo.getItem(CLASS, req.params.id)),
		'POST /': async (req) => {
			const { title, ...others } = req.body;
			if (!title) throw new Checked('a note has a title', Object.keys(others));
			console.info('made', title, last);
			return shown(await dataRepo.createItem(CLASS, req.body));
		},
		'DELETE /:id': async (req) => { await dataRepo.deleteItem(CLASS, req.params.id); },
	};`

const typicalModule = `
	class Checked extends Error {
		constructor(message, names) { super(message + ', found ' + names.join(', ')); this.status = 400; }
	}
	exports.Checked = Checked;
	exports.shown = (n) => ({ id: n.id, title: n.get('title'), n: n.get('n') + 1, label: String(n.get('title')).toUpperCase().replace(/\s+/g, '-') });`

// maxLoadedVM is the maximum memory of a VM of a typical service before its
// first request, in bytes. After a request it also has the built-in functions
// that its handlers have used. The regular expressions of goja alone take 15
// KiB.
const (
	maxLoadedVM = 64 << 10
	maxUsedVM   = 96 << 10
)

// TestTimersOfEndedRequests has two requests leave timers behind that would use a core, and counts their calls.
func TestTimersOfEndedRequests(t *testing.T) {
	g := newApp(t, limits.Limits{VMs: 1}, false).load(`let n = 0;
		const work = () => { n++; for (const end = Date.now() + 20; Date.now() < end;); };
		module.exports = {
			'GET /': () => { setInterval(work, 0); },
			'PUT /': () => { const next = () => { work(); setImmediate(next); }; setImmediate(next); },
			'POST /': () => ({ n }) };`)
	for _, method := range []string{"GET", "PUT"} {
		answer(send(t, g, request{method: method}))
	}
	time.Sleep(4 * time.Second)
	text := strings.TrimPrefix(answer(send(t, g, request{method: "POST"})), jsonType)
	var got struct{ N int }
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(text, err)
	}
	// A second at once and a tenth of four seconds; the rest is for the last calls and a slow clock.
	if least, most := 30, 90; got.N < least || got.N > most {
		t.Errorf("got %d calls of 20 ms in 4 s, want %d to %d", got.N, least, most)
	}
}

func loadTypical(t testing.TB) *Generation {
	a := newApp(t, limits.Limits{}, false)
	a.repo.fill(t, 5)
	a.write("shown.js", typicalModule)
	return a.load(typical)
}

// retained returns how many bytes each of n results of make keeps.
func retained(n int, make func() any) uint64 {
	things := append([]any(nil), make()) // the first one also makes shared state
	var before, after runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range n {
		things = append(things, make())
	}
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(things)
	return (after.HeapAlloc - before.HeapAlloc) / uint64(n)
}

// TestIdleVM measures VMs that are only loaded, and VMs that have answered.
func TestIdleVM(t *testing.T) {
	g := loadTypical(t)
	loaded := retained(300, func() any {
		v, err := g.anotherVM()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(v.Dispose)
		return v
	})
	used := retained(300, func() any { // a generation with one VM, because a request runs on any VM of its generation
		one, err := g.rt.Load(Service{Name: "svc", File: "svc.js", Env: g.Env})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(one.Close)
		expectIn(t, answer(send(t, one, request{query: "n=3"})), `"label":"NOTE-3"`)
		return one
	})
	t.Logf("a VM keeps %d bytes when it is loaded, %d when it has answered", loaded, used)
	if loaded > maxLoadedVM || used > maxUsedVM {
		t.Errorf("a VM keeps %d bytes when it is loaded, %d when it has answered: more than %d and %d", loaded, used, maxLoadedVM, maxUsedVM)
	}
}

// BenchmarkTypicalVM starts one more VM of a typical service.
func BenchmarkTypicalVM(b *testing.B) {
	g := loadTypical(b)
	b.ReportAllocs()
	for b.Loop() {
		v, err := g.anotherVM()
		if err != nil {
			b.Fatal(err)
		}
		v.Dispose()
	}
}
