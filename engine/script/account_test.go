package script

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"restsrv/engine"
	"restsrv/engine/script/event"
	"restsrv/engine/script/limits"
	"restsrv/engine/service"
)

// TestWhoActs runs requests of two accounts in one VM at the same time, with promises and timers that they share.
// Each call acts for the account of its asynchronous context: that of the request, event or converter. The title of
// each note names its expected creator.
func TestWhoActs(t *testing.T) {
	a, _ := newStoredApp(t, limits.Limits{VMs: 1})
	e := event.NewEvents(a.data, slog.New(slog.DiscardHandler))
	a.data = e
	m := NewManager(a.rt, func(string, service.Service) error { return nil })
	m.Observe(e)
	t.Cleanup(m.Close)
	a.write("svc.js", `
		const make = (repo, who, what) => repo.createItem('note', {title: who + ' ' + what});
		let shared, open;
		const gate = new Promise(r => { open = r });
		dataRepo.on('note.create', async e => {
			if (e.item.get('title').includes('told')) await make(dataRepo, e.user.id(), 'heard');
		});
		module.exports = {
			'GET /': async req => {
				const who = req.user.id();
				// The first request makes a chain that the other waits for, too.
				if (!shared) shared = gate.then(() => make(dataRepo, who, 'in the shared chain'));
				else open();
				await shared;
				await make(dataRepo, who, 'after the shared promise');
				await new Promise(r => setTimeout(async () => { await make(dataRepo, who, 'in a timer'); r() }, 5));
				await dataRepo.transaction(async tx => {
					await make(tx, who, 'in a transaction');
					await shared;
					await Promise.all([make(tx, who, 'beside another'), new Promise(r => setTimeout(r, 5)).then(() => make(tx, who, 'after a timer'))]);
				});
				await make(dataRepo, who, 'told');
				queueMicrotask(() => make(dataRepo, who, 'in a microtask'));
				await new Promise(r => setTimeout(r, 30));
				return who;
			},
		}`)
	if err := m.Add(a.service("svc.js")); err != nil {
		t.Fatal(err)
	}
	a.write("conv.js", `module.exports = {
		parse: async (data, req) => { await dataRepo.createItem('note', {title: req.user.id() + ' in a converter'}); return [] },
	}`)
	s := a.service("conv.js")
	s.Name = "conv"
	converter, err := m.AddConverter(s)
	if err != nil {
		t.Fatal(err)
	}
	bob := &engine.Account{ID: "bob@local"}
	var wg sync.WaitGroup
	for _, who := range []*engine.Account{ann, bob} {
		wg.Go(func() {
			expect(t, answer(send(t, m.services[0].live, request{account: who})), jsonType+`"`+who.ID+`"`)
			ctx, r := request{method: "POST", account: who}.build()
			if _, err := converter.Parse(engine.WithAccount(ctx, who), r, []any{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	var made []string
	err = a.data.List(t.Context(), &engine.Query{Class: a.repo.class, Count: -1}, func(it *engine.Item) error {
		title := it.Get("title").(string)
		who, what, _ := strings.Cut(title, " ")
		if it.Creator != who {
			t.Errorf("creator of %q: got %s, want %s", title, it.Creator, who)
		}
		made = append(made, what)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(made)
	want := []string{"in the shared chain"}
	for _, what := range []string{"after the shared promise", "in a timer", "in a transaction", "beside another", "after a timer", "told", "heard", "in a microtask", "in a converter"} {
		want = append(want, what, what)
	}
	slices.Sort(want)
	expect(t, strings.Join(made, ","), strings.Join(want, ","))
}

// TestNobodyActs: calls outside of any request are refused.
func TestNobodyActs(t *testing.T) {
	a, m, _ := newListening(t, limits.Limits{VMs: 1})
	a.write("svc.js", `
		let late = 'nothing';
		const text = f => { try { return f() } catch (e) { return e.message } };
		const loading = [text(() => dataRepo.getCount('note')), text(() => dataRepo.transaction(() => 1)), text(() => dataRepo.wrap('note', {}))];
		module.exports = {
			'GET /': () => { setTimeout(() => { late = text(() => dataRepo.transaction(() => 1)) }, 20); return loading },
			'POST /': async () => { await new Promise(r => setTimeout(r, 100)); return late },
		}`)
	if err := m.Add(a.service("svc.js")); err != nil {
		t.Fatal(err)
	}
	g := m.services[0].live
	const why = ` acts for the account of a request: it cannot be called while the service loads, nor after the request was answered`
	expect(t, answer(send(t, g, request{account: ann})), jsonType+`["dataRepo.getCount`+why+`","dataRepo.transaction`+why+`","dataRepo.wrap`+why+`"]`)
	expect(t, answer(send(t, g, request{method: "POST", account: ann})), jsonType+`"dataRepo.transaction`+why+`"`)
}
