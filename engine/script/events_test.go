package script

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"restsrv/engine"
	"restsrv/engine/script/event"
	"restsrv/engine/script/limits"
	"restsrv/engine/service"
)

// newListening returns an app whose services can listen to writes of its data.
func newListening(t *testing.T, limits limits.Limits) (*app, *Manager, *event.Events) {
	a, _ := newStoredApp(t, limits)
	e := event.NewEvents(a.data, slog.New(slog.NewTextHandler(a.log, nil)))
	a.data = e
	m := NewManager(a.rt, func(string, service.Service) error { return nil })
	m.Observe(e)
	t.Cleanup(m.Close)
	return a, m, e
}

// writeNote creates a note and returns its title.
func writeNote(t *testing.T, a *app, title string) string {
	t.Helper()
	v := engine.NewValues(a.repo.class)
	v[a.repo.class.Property("title").Index] = title
	it, err := a.data.Create(as(ann), a.repo.class, v, engine.WriteOptions{})
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(it.Get("title"))
}

func TestEventsReload(t *testing.T) {
	a, m, _ := newListening(t, limits.Limits{})
	text := `dataRepo.on('note.pre-create', e => ({title: e.data.title + '%s'})); module.exports = {'GET /': () => 1}`
	a.write("svc.js", fmt.Sprintf(text, " one"))
	if err := m.Add(a.service("svc.js")); err != nil {
		t.Fatal(err)
	}
	expect(t, writeNote(t, a, "a"), "a one")
	a.write("svc.js", fmt.Sprintf(text, " two"))
	m.Reload(nil)
	expect(t, writeNote(t, a, "b"), "b two")
	a.write("svc.js", "broken(")
	m.Reload(nil)
	expect(t, writeNote(t, a, "c"), "c two")
	a.write("svc.js", "module.exports = {'GET /': () => 1}")
	m.Reload(nil)
	expect(t, writeNote(t, a, "d"), "d")
}

// TestEventsInOrder: handlers are called in the order of the services, independent of the order of loading.
func TestEventsInOrder(t *testing.T) {
	a, m, _ := newListening(t, limits.Limits{})
	var services []Service
	for i, name := range []string{"slow", "quick"} {
		a.write(name+".js", fmt.Sprintf(`const end = Date.now() + %d; while (Date.now() < end);
			dataRepo.on('note.pre-create', e => ({title: e.data.title + ' %s'})); module.exports = {'GET /': () => 1}`, 60*(1-i), name))
		s := a.service(name + ".js")
		s.Name = name
		services = append(services, s)
	}
	if err := m.Add(services...); err != nil {
		t.Fatal(err)
	}
	expect(t, writeNote(t, a, "a"), "a slow quick")
}

func TestEventsRefused(t *testing.T) {
	for text, want := range map[string]string{
		`dataRepo.on('note.created', () => 0)`:        "there is no such event",
		`dataRepo.on('note@demo.fetch', () => 0)`:     "there is no such event",
		`dataRepo.on('nothing@demo.create', () => 0)`: "does not exist",
		`dataRepo.on('note@demo.title.put', () => 0)`: "has no collection",
		`dataRepo.on('create', () => 0)`:              "the type of an event is",
		`dataRepo.on('note@demo.create')`:             "takes a type and a function",
		`dataRepo.on({}, () => 0)`:                    "takes the type of an event",
		`dataRepo.on(['note.create', 5], () => 0)`:    "the type of an event is",
	} {
		a, m, _ := newListening(t, limits.Limits{})
		a.write("svc.js", text+"; module.exports = {'GET /': () => 1}")
		if err := m.Add(a.service("svc.js")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got the error %v, want %q", text, err, want)
		}
	}
	a, m, _ := newListening(t, limits.Limits{})
	a.write("svc.js", `module.exports = {'GET /': () => { try { dataRepo.on('note.create', () => 0) } catch (e) { return e.message } }}`)
	if err := m.Add(a.service("svc.js")); err != nil {
		t.Fatal(err)
	}
	expect(t, get(t, m.services[0].live), jsonType+`"dataRepo.on: handlers are registered while the service loads, not later"`)
	m = NewManager(a.rt, func(string, service.Service) error { return nil })
	a.write("deaf.js", `dataRepo.on('note.create', () => 0); module.exports = {'GET /': () => 1}`)
	if err := m.Add(a.service("deaf.js")); err == nil || !strings.Contains(err.Error(), "events are not available here") {
		t.Errorf("Add without Events: got the error %v, want a refusal", err)
	}
}

// TestEventsOfManyWriters: the slots of the only VM are taken by calls whose writes wait for handlers in the same
// VM.
func TestEventsOfManyWriters(t *testing.T) {
	a, m, _ := newListening(t, limits.Limits{VMs: 1, InFlight: 4})
	a.write("svc.js", `let heard = 0;
		dataRepo.on('note.pre-create', async e => { await dataRepo.getCount('note'); return {n: ++heard} });
		module.exports = {
			'GET /': () => dataRepo.transaction(tx => tx.createItem('note', {})).then(() => 1),
			'POST /': () => heard,
		}`)
	if err := m.Add(a.service("svc.js")); err != nil {
		t.Fatal(err)
	}
	g := m.services[0].live
	var wg sync.WaitGroup
	for range 30 {
		wg.Go(func() { expect(t, answer(send(t, g, request{account: ann})), jsonType+"1") })
	}
	wg.Wait()
	expect(t, answer(send(t, g, request{method: "POST", account: ann})), jsonType+"30")
}

// TestEventsKillers: handlers that do not end fail the write or are logged, and delay it no longer than their
// limits.
func TestEventsKillers(t *testing.T) {
	a, m, _ := newListening(t, limits.Limits{CPU: 50_000_000, Wall: 200_000_000})
	a.write("svc.js", `
		dataRepo.on('note.pre-create', e => { if (e.data.title === 'loop') for (;;); });
		dataRepo.on('note.pre-create', e => { if (e.data.title === 'never') return new Promise(() => 0); });
		dataRepo.on('note.create', e => { if (e.item.title === 'late loop') for (;;); });
		module.exports = {'GET /': () => 1}`)
	if err := m.Add(a.service("svc.js")); err != nil {
		t.Fatal(err)
	}
	expectIn(t, writeNote(t, a, "loop"), "Internal server error")
	expectIn(t, writeNote(t, a, "never"), "did not answer in time")
	expect(t, writeNote(t, a, "late loop"), "late loop")
	expectIn(t, a.log.String(), "a handler failed after a write, and the write was kept", "event=note@demo.create")
	expect(t, writeNote(t, a, "good"), "good")
}

// TestEventsSeeWhatIsShown: a handler on a secured repository sees the items that the account of the write can see.
func TestEventsSeeWhatIsShown(t *testing.T) {
	a, m, _ := newListening(t, limits.Limits{})
	hides := newSecured(a.repo)
	a.data = shownData{Events: a.data.(*event.Events), hides: hides}
	a.write("svc.js", `dataRepo.on('note.edit', e => { console.log('sees ' + e.item.get('title') + ' as ' + e.user.id()) });
		module.exports = {'GET /': () => 1}`)
	if err := m.Add(a.service("svc.js")); err != nil {
		t.Fatal(err)
	}
	writeNote(t, a, "hidden")
	id := stored(t, a)
	for _, who := range []*engine.Account{ann, {ID: "bob@local"}} {
		v := engine.NewValues(a.repo.class)
		v[a.repo.class.Property("n").Index] = int64(1)
		if _, err := a.data.Update(as(who), a.repo.class, id, v, engine.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	expectIn(t, a.log.String(), "sees hidden as ann@local", "sees null as bob@local")
}

// shownData is a secured repository over a database.
type shownData struct {
	*event.Events
	hides *secured
}

func (s shownData) View(ctx context.Context, c *engine.Class) (*engine.Class, error) {
	return s.hides.View(ctx, c)
}

func (s shownData) Allow(ctx context.Context, c *engine.Class, p engine.Permission) error {
	return s.hides.Allow(ctx, c, p)
}

func (s shownData) Get(ctx context.Context, c *engine.Class, id string, load ...*engine.Load) (*engine.Item, error) {
	it, err := s.Events.Get(ctx, c.Base(), id, load...)
	return s.hides.show(ctx, it, err)
}
