package script

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"restsrv/engine"
)

// Events is a Repository that calls the handlers of scripts (dataRepo.on) for
// each item that is written through it. A handler before a write may change the
// values, or refuse the write; a handler after it may add values. Objects that
// are nested in others cause the events of a save. Handlers may also be called
// before a list is read. UpdateAll and DeleteAll cause no events.
//
// Handlers before a write run in its transaction, after the permissions of the
// account were checked: see transact. Handlers after a write run when it is
// committed, or in the transaction that the caller has begun.
//
// A handler acts for the account of the write, with the permissions of the
// repository that it was registered on. Its own writes cause events too, to a
// depth.
type Events struct {
	engine.Repository
	log *slog.Logger

	mu       sync.Mutex
	services map[string]*Generation // that want to hear of something
	order    []string               // of the services, as they were added
	table    atomic.Pointer[listeners]
}

var _ engine.Transactor = (*Events)(nil)

// listeners are handlers.
type listeners struct {
	byType map[string][]listener // of the event
	reads  bool                  // some hear of lists
	time   time.Duration         // that a write may take with the handlers before it
}

// listener is a handler of one event.
type listener struct {
	gen   *Generation
	index int // among its events
	typ   string
}

// NewEvents puts events before a repository; log hears of handlers after a write
// that fail.
func NewEvents(inner engine.Repository, log *slog.Logger) *Events {
	return &Events{Repository: inner, log: log, services: map[string]*Generation{}}
}

// Transaction is engine.Transactor's.
func (e *Events) Transaction(ctx context.Context, work func(ctx context.Context) error) error {
	return engine.InTransaction(ctx, e.Repository, work)
}

// Admit implements engine.Admitter.
func (e *Events) Admit(ctx context.Context, a engine.Admission) error {
	return engine.Admit(ctx, e.Repository, a)
}

// Observe has the services of m hear of what is written through e. Call it before
// Add.
func (m *Manager) Observe(e *Events) { m.events = e }

// admit refuses a version that would never hear of what it asks for.
func (e *Events) admit(g *Generation) error {
	if e == nil && len(g.events) > 0 {
		return &LoadError{File: g.asked, Message: "dataRepo.on: nothing tells of events here"}
	}
	return nil
}

// expect has services hear in this order, whichever is loaded first.
func (e *Events) expect(services []*managed) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, one := range services {
		if !slices.Contains(e.order, one.Name) {
			e.order = append(e.order, one.Name)
		}
	}
}

// hear has a version of a service hear of events from now on, in the place of the
// one before.
func (e *Events) hear(service string, g *Generation) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, known := e.services[service]; !known && len(g.events) == 0 {
		return
	}
	e.services[service] = g
	t := listeners{byType: map[string][]listener{}}
	for _, name := range e.order {
		g := e.services[name]
		if g == nil {
			continue
		}
		if len(g.events) > 0 {
			t.time = max(t.time, g.limits.Transaction)
		}
		for i, ev := range g.events {
			for _, typ := range ev.types {
				t.byType[typ] = append(t.byType[typ], listener{gen: g, index: i})
				t.reads = t.reads || strings.HasSuffix(typ, "."+preFetch) || strings.HasSuffix(typ, "."+preIterate)
			}
		}
	}
	if len(t.byType) == 0 {
		e.table.Store(nil)
		return
	}
	e.table.Store(&t)
}

// The events of a class.
const (
	preCreate = "pre-create"
	created   = "create"
	preEdit   = "pre-edit"
	edited    = "edit"
	preSave   = "pre-save"
	saved     = "save"
	preDelete = "pre-delete"
	deleted   = "delete"
)

// And of a collection, behind its name.
const (
	putIn   = "put"
	ejected = "eject"
)

var classEvents = []string{preCreate, created, preEdit, edited, preSave, saved, preDelete, deleted, preFetch, preIterate}

// heard is who may hear of a write; nil for nobody.
func (e *Events) heard(ctx context.Context) *listeners {
	t := e.table.Load()
	if t == nil || ctx.Value(silentKey{}) != nil {
		return nil
	}
	return t
}

// of lists who hears of an event of a class: those of the class first, then those
// of its ancestors. The type is told as they know it.
func (t *listeners) of(c *engine.Class, what string) (all []listener) {
	for ; c != nil; c = c.Ancestor {
		typ := c.FullName + "." + what
		for _, l := range t.byType[typ] {
			l.typ = typ
			all = append(all, l)
		}
	}
	return all
}

// any reports whether somebody hears of one of the events.
func (t *listeners) any(c *engine.Class, what ...string) bool {
	return slices.ContainsFunc(what, func(w string) bool { return len(t.of(c, w)) > 0 })
}

// Create is engine.Repository's.
func (e *Events) Create(ctx context.Context, c *engine.Class, v engine.Values, o engine.WriteOptions) (*engine.Item, error) {
	t := e.heard(ctx)
	if t == nil {
		return e.Repository.Create(ctx, c, v, o)
	}
	w := e.writing(ctx, t, c, "")
	w.values = v
	var it *engine.Item
	var given engine.Values
	err := e.transact(ctx, []*writing{w}, preCreate, nil, func(ctx context.Context) (err error) {
		if err = w.before(preCreate); err == nil {
			err = w.nested()
		}
		if err != nil {
			return err
		}
		given = slices.Clone(w.values)
		it, err = e.Repository.Create(ctx, c, w.values, o)
		return err
	})
	if err != nil {
		return nil, err
	}
	w.saved()
	it = w.after(created, it)
	w.linked(it, given)
	return it, nil
}

// Update is engine.Repository's. One that changes collections alone is no edit.
func (e *Events) Update(ctx context.Context, c *engine.Class, id string, v engine.Values, o engine.WriteOptions) (*engine.Item, error) {
	t := e.heard(ctx)
	if t == nil || !slices.ContainsFunc(v, func(value any) bool { return value != engine.Absent }) {
		return e.Repository.Update(ctx, c, id, v, o)
	}
	w := e.writing(ctx, t, c, id)
	w.values = v
	what := preEdit
	links := onlyLinks(v)
	if links {
		what = ""
	}
	var it *engine.Item
	var given engine.Values
	err := e.transact(ctx, []*writing{w}, what, o.Match, func(ctx context.Context) (err error) {
		if !links {
			err = w.before(preEdit)
		}
		if err == nil {
			err = w.nested()
		}
		if err != nil {
			return err
		}
		given = slices.Clone(w.values)
		it, err = e.Repository.Update(ctx, c, id, w.values, o)
		return err
	})
	if err != nil {
		return nil, err
	}
	w.saved()
	if !links {
		it = w.after(edited, it)
	}
	w.linked(it, given)
	return it, nil
}

// onlyLinks reports whether values are of collections alone, and of one at least.
func onlyLinks(v engine.Values) bool {
	links := false
	for _, value := range v {
		switch value.(type) {
		case *engine.Links:
			links = true
		default:
			if value != engine.Absent {
				return false
			}
		}
	}
	return links
}

// Delete is engine.Repository's.
func (e *Events) Delete(ctx context.Context, c *engine.Class, id string, m *engine.Match) error {
	t := e.heard(ctx)
	if t == nil || !t.any(c, preDelete, deleted) {
		return e.Repository.Delete(ctx, c, id, m)
	}
	w := e.writing(ctx, t, c, id)
	err := e.transact(ctx, []*writing{w}, preDelete, m, func(ctx context.Context) error {
		if err := w.remember(preDelete, deleted); err != nil {
			return err
		}
		if err := w.before(preDelete); err != nil {
			return err
		}
		return e.Repository.Delete(ctx, c, id, m)
	})
	if err != nil {
		return err
	}
	w.after(deleted, nil)
	return nil
}

// Save is engine.Repository's.
func (e *Events) Save(ctx context.Context, records []engine.Record) ([]*engine.Item, error) {
	t := e.heard(ctx)
	if t == nil {
		return e.Repository.Save(ctx, records)
	}
	records = slices.Clone(records)
	writes := make([]*writing, len(records))
	given := make([]engine.Values, len(records))
	var items []*engine.Item
	for i := range records {
		if r := &records[i]; r.Make == nil { // the other records are the server's own
			writes[i] = e.writing(ctx, t, r.Class, r.ID)
			writes[i].values = r.Values
		}
	}
	err := e.transact(ctx, writes, preSave, nil, func(ctx context.Context) (err error) {
		for i, w := range writes {
			if w == nil {
				continue
			}
			if err = w.before(preSave); err == nil {
				err = w.nested()
			}
			if err != nil {
				return engine.AtRecord(err, i)
			}
			r := &records[i]
			r.Values, given[i] = w.values, slices.Clone(w.values)
			r.Brief = r.Brief && !t.any(r.Class, saved) // a handler may read who created the item
		}
		items, err = e.Repository.Save(ctx, records)
		return err
	})
	if err != nil {
		return nil, err
	}
	items = slices.Clone(items)
	for i, it := range items {
		if i < len(writes) && writes[i] != nil {
			writes[i].saved()
			items[i] = writes[i].after(saved, it)
			writes[i].linked(items[i], given[i])
		}
	}
	return items, nil
}

// Recache is engine.Recacher's.
func (e *Events) Recache(ctx context.Context, c *engine.Class, id string) error {
	again, ok := e.Repository.(engine.Recacher)
	if !ok {
		return engine.Errorf(engine.Invalid, "recache", "this repository keeps nothing of formulas")
	}
	return again.Recache(ctx, c, id)
}
