package event

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"restsrv/engine"
	"restsrv/engine/script/vm"
)

// Events is a Repository that calls the event handlers of scripts (dataRepo.on) for each item that is written through
// it. A handler before a write can change the values or refuse the write. A handler after a write can set more
// values. Records that are nested in a write cause the events pre-save and save. Handlers can also be called before a
// list is read. UpdateAll and DeleteAll cause no events.
//
// Handlers before a write run in its transaction, after the permissions of the account have been checked; see
// transact. Handlers after a write run when it is committed, or in the transaction that the caller has begun.
//
// A handler acts for the account of the write. It has the permissions that this account has on the repository where
// the handler was registered. Writes of a handler cause events, too, up to a maximum depth.
type Events struct {
	engine.Repository
	log *slog.Logger

	mu       sync.Mutex
	services map[string]registered // services with handlers, by name
	order    []string              // names of services; their handlers are called in this order
	table    atomic.Pointer[listeners]
}

var _ engine.Transactor = (*Events)(nil)

// listeners is the set of the handlers of all services.
type listeners struct {
	byType map[string][]listener // by the type of the event
	reads  bool                  // there are handlers for lists
	time   time.Duration         // time limit of a write together with the handlers before it
}

// listener is a handler for one type of event.
type listener struct {
	service *vm.Service
	event   Handler
	index   int    // index in Binding.Handlers of each VM of the service
	typ     string // type with which the handler was registered, such as "note@sample.pre-edit"
}

// NewEvents returns a Repository that adds events to inner. Errors of handlers after a write are logged to log.
func NewEvents(inner engine.Repository, log *slog.Logger) *Events {
	return &Events{Repository: inner, log: log, services: map[string]registered{}}
}

// Transaction implements engine.Transactor.
func (e *Events) Transaction(ctx context.Context, work func(ctx context.Context) error) error {
	return engine.InTransaction(ctx, e.Repository, work)
}

// Admit implements engine.Admitter.
func (e *Events) Admit(ctx context.Context, a engine.Admission) error {
	return engine.Admit(ctx, e.Repository, a)
}

// SetOrder adds services. If an event has handlers in several services, they are called in the order of the services.
// This order must not depend on which service is loaded first.
func (e *Events) SetOrder(services []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, name := range services {
		if !slices.Contains(e.order, name) {
			e.order = append(e.order, name)
		}
	}
}

// SetHandlers registers the handlers of a new version of the service s. They replace the handlers of the previous
// version.
func (e *Events) SetHandlers(s *vm.Service, handlers []Handler) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, known := e.services[s.Name]; !known && len(handlers) == 0 {
		return
	}
	e.services[s.Name] = registered{s, handlers}
	t := listeners{byType: map[string][]listener{}}
	for _, name := range e.order {
		r, ok := e.services[name]
		if !ok {
			continue
		}
		if len(r.handlers) > 0 {
			t.time = max(t.time, r.service.Limits.Transaction)
		}
		for i, ev := range r.handlers {
			for _, typ := range ev.types {
				t.byType[typ] = append(t.byType[typ], listener{service: r.service, event: ev, index: i})
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

// registered contains the handlers of one version of a service.
type registered struct {
	service  *vm.Service
	handlers []Handler
}

// The events of an item of a class. An event type is the name of the class, a dot and one of these.
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

// The events of a collection. An event type is the name of the class, the name of the collection and one of these, as
// in "order@shop.lines.put".
const (
	putIn   = "put"
	ejected = "eject"
)

var classEvents = []string{preCreate, created, preEdit, edited, preSave, saved, preDelete, deleted, preFetch, preIterate}

// listenersFor returns the listeners to call for an operation with ctx. It returns nil if there are none, or if the
// operation must not cause events.
func (e *Events) listenersFor(ctx context.Context) *listeners {
	t := e.table.Load()
	if t == nil || ctx.Value(silentKey{}) != nil {
		return nil
	}
	return t
}

// of returns the listeners for an event of an item of class c: first those of c, then those of its ancestors. In the
// result, typ is the type with which the listener was registered, so it can name an ancestor.
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

// hasAny reports whether one of the events has a listener. If none has, a write needs no preparation.
func (t *listeners) hasAny(c *engine.Class, what ...string) bool {
	return slices.ContainsFunc(what, func(w string) bool { return len(t.of(c, w)) > 0 })
}

// Create implements engine.Repository.
func (e *Events) Create(ctx context.Context, c *engine.Class, v engine.Values, o engine.WriteOptions) (*engine.Item, error) {
	t := e.listenersFor(ctx)
	if t == nil {
		return e.Repository.Create(ctx, c, v, o)
	}
	w := e.newWriting(ctx, t, c, "")
	w.values = v
	var it *engine.Item
	var given engine.Values
	err := e.transact(ctx, []*writing{w}, preCreate, nil, func(ctx context.Context) (err error) {
		if err = w.runBefore(preCreate); err == nil {
			err = w.runNested()
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
	w.runNestedSaved()
	it = w.runAfter(created, it)
	w.runLinked(it, given)
	return it, nil
}

// Update implements engine.Repository. An update that changes only collections causes no edit events.
func (e *Events) Update(ctx context.Context, c *engine.Class, id string, v engine.Values, o engine.WriteOptions) (*engine.Item, error) {
	t := e.listenersFor(ctx)
	if t == nil || !slices.ContainsFunc(v, func(value any) bool { return value != engine.Absent }) {
		return e.Repository.Update(ctx, c, id, v, o)
	}
	w := e.newWriting(ctx, t, c, id)
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
			err = w.runBefore(preEdit)
		}
		if err == nil {
			err = w.runNested()
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
	w.runNestedSaved()
	if !links {
		it = w.runAfter(edited, it)
	}
	w.runLinked(it, given)
	return it, nil
}

// onlyLinks reports whether the values contain at least one collection and no other attribute.
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

// Delete implements engine.Repository.
func (e *Events) Delete(ctx context.Context, c *engine.Class, id string, m *engine.Match) error {
	t := e.listenersFor(ctx)
	if t == nil || !t.hasAny(c, preDelete, deleted) {
		return e.Repository.Delete(ctx, c, id, m)
	}
	w := e.newWriting(ctx, t, c, id)
	err := e.transact(ctx, []*writing{w}, preDelete, m, func(ctx context.Context) error {
		if err := w.readDeleted(preDelete, deleted); err != nil {
			return err
		}
		if err := w.runBefore(preDelete); err != nil {
			return err
		}
		return e.Repository.Delete(ctx, c, id, m)
	})
	if err != nil {
		return err
	}
	w.runAfter(deleted, nil)
	return nil
}

// Save implements engine.Repository.
func (e *Events) Save(ctx context.Context, records []engine.Record) ([]*engine.Item, error) {
	t := e.listenersFor(ctx)
	if t == nil {
		return e.Repository.Save(ctx, records)
	}
	records = slices.Clone(records)
	writes := make([]*writing, len(records))
	given := make([]engine.Values, len(records))
	var items []*engine.Item
	for i := range records {
		if r := &records[i]; r.Make == nil { // records with Make are created by the server and cause no events
			writes[i] = e.newWriting(ctx, t, r.Class, r.ID)
			writes[i].values = r.Values
		}
	}
	err := e.transact(ctx, writes, preSave, nil, func(ctx context.Context) (err error) {
		for i, w := range writes {
			if w == nil {
				continue
			}
			if err = w.runBefore(preSave); err == nil {
				err = w.runNested()
			}
			if err != nil {
				return engine.AtRecord(err, i)
			}
			r := &records[i]
			r.Values, given[i] = w.values, slices.Clone(w.values)
			r.Brief = r.Brief && !t.hasAny(r.Class, saved) // a brief item has no creator, but a handler may read it
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
			writes[i].runNestedSaved()
			items[i] = writes[i].runAfter(saved, it)
			writes[i].runLinked(items[i], given[i])
		}
	}
	return items, nil
}

// Recache implements engine.Recacher.
func (e *Events) Recache(ctx context.Context, c *engine.Class, id string) error {
	again, ok := e.Repository.(engine.Recacher)
	if !ok {
		return engine.Errorf(engine.Invalid, "recache", "this repository keeps nothing of formulas")
	}
	return again.Recache(ctx, c, id)
}
