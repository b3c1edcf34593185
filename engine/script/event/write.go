package event

import (
	"context"
	"errors"
	"net/http"

	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/script/exchange"
	"restsrv/engine/script/vm"
	"restsrv/engine/service"
)

// maxEventDepth limits the nesting of writes in handlers of other writes.
const maxEventDepth = 8

type (
	silentKey struct{} // marks the context of a write that causes no events
	depthKey  struct{} // marks the context of a write in a handler; the value is the number of enclosing handlers
)

// writing is one write and its handlers.
type writing struct {
	events *Events
	table  *listeners
	asked  context.Context // context of the write
	ctx    context.Context // context of the handlers
	class  *engine.Class
	id     string
	values engine.Values                      // values to write; nil for a deletion
	was    map[engine.Repository]*engine.Item // the item to delete, as each repository returns it
	inner  map[*engine.Record]*innerWrite     // writes of the records nested in values
	order  []*innerWrite                      // the same writes in the order of values
}

// newWriting returns a write with a context for its handlers. That context has no guard: the repository of a handler
// decides what the handler may do.
func (e *Events) newWriting(ctx context.Context, t *listeners, c *engine.Class, id string) *writing {
	depth, _ := ctx.Value(depthKey{}).(int)
	own := context.WithValue(engine.WithGuard(ctx, nil), depthKey{}, depth+1)
	return &writing{events: e, table: t, asked: ctx, ctx: own, class: c, id: id}
}

// repository returns the repository that a handler was registered on.
func (l listener) repository() engine.Repository { return l.event.repo }

// readVisible reads an item from the repository of a handler. It returns nil if the item is hidden from the account.
func (w *writing) readVisible(l listener, c *engine.Class, id string) (*engine.Item, error) {
	if id == "" {
		return nil, nil
	}
	it, err := l.repository().Get(w.ctx, c.Base(), id)
	if code := engine.CodeOf(err); err != nil && (code == engine.NotFound || code == engine.Forbidden) {
		return nil, nil
	}
	return it, err
}

// readDeleted reads the item that is about to be deleted, for the handlers of the events.
func (w *writing) readDeleted(what ...string) error {
	w.was = map[engine.Repository]*engine.Item{}
	for _, one := range what {
		for _, l := range w.table.of(w.class, one) {
			if _, there := w.was[l.repository()]; there {
				continue
			}
			it, err := w.readVisible(l, w.class, w.id)
			if err != nil {
				return err
			}
			w.was[l.repository()] = it
		}
	}
	return nil
}

// runBefore calls the handlers before the write. They can change the values or refuse the write.
func (w *writing) runBefore(what string) error {
	return w.runHandlers(w.table.of(w.class, what), what == preDelete)
}

func (w *writing) runHandlers(all []listener, refuses bool) error {
	for _, l := range all {
		run := &eventRun{listener: l, before: true, refuses: refuses, class: w.class, id: w.id, values: w.values}
		var err error
		if w.was != nil {
			run.item = w.was[l.repository()]
		} else if run.item, err = w.readVisible(l, w.class, w.id); err != nil {
			return err
		}
		given, err := run.callHandler(w.ctx)
		if err != nil {
			return err
		}
		if err := w.mergeValues(l, given); err != nil {
			return err
		}
	}
	return nil
}

// mergeValues adds the attributes that a handler returned to the values of the write.
func (w *writing) mergeValues(l listener, given engine.Fields) error {
	if len(given) == 0 || w.values == nil {
		return nil
	}
	v, err := l.bindAttributes(w.class, given)
	for i, value := range v {
		if value != engine.Absent {
			w.values[i] = value
		}
	}
	return err
}

// bindAttributes converts the attributes that a handler returned.
func (l listener) bindAttributes(c *engine.Class, given engine.Fields) (engine.Values, error) {
	v, unknown, err := c.Bind(given, engine.Lenient)
	if err != nil {
		return nil, err
	}
	if len(unknown) > 0 {
		l.service.Warn("a handler returned attributes that the class does not have; they are ignored", "event", l.typ, "attributes", unknown)
	}
	for i, value := range v {
		switch value.(type) {
		case *engine.Upload, []*engine.Upload:
			return nil, engine.Errorf(engine.Internal, "event", "the handler of %s returns a file for attribute %s: write it by editItem instead", l.typ, c.Properties[i].Name)
		}
	}
	return v, nil
}

// runAfter calls the handlers after the write. It also writes the attributes that they return, which causes no events.
// It returns the current item. If a handler fails, the error is logged and the write stands.
func (w *writing) runAfter(what string, it *engine.Item) *engine.Item {
	for _, l := range w.table.of(w.class, what) {
		changed, err := w.afterOne(l, it)
		if err != nil {
			w.logFailure(l, err)
		} else if changed != nil {
			it = changed
		}
	}
	return it
}

func (w *writing) afterOne(l listener, it *engine.Item) (changed *engine.Item, err error) {
	run := &eventRun{listener: l, class: w.class, id: w.id, values: w.values}
	if it == nil {
		run.item = w.was[l.repository()]
	} else {
		run.id = it.ID
		if run.item, err = w.readWritten(l, it); err != nil {
			return nil, err
		}
	}
	given, err := run.callHandler(w.ctx)
	if err != nil || len(given) == 0 || it == nil {
		return nil, err
	}
	v, err := l.bindAttributes(it.Class, given)
	if err != nil {
		return nil, err
	}
	silent := context.WithValue(w.ctx, silentKey{}, true)
	if _, err := l.repository().Update(silent, it.Class.Base(), it.ID, v, engine.WriteOptions{}); err != nil {
		return nil, err
	}
	// Read the item as the caller of the write does. If the new values hide the item from that account, the caller
	// keeps the previous item.
	changed, err = w.events.Repository.Get(w.asked, it.Class.Base(), it.ID)
	if code := engine.CodeOf(err); err != nil && (code == engine.NotFound || code == engine.Forbidden) {
		return nil, nil
	}
	return changed, err
}

// readWritten returns a written item as the repository of a handler returns it.
func (w *writing) readWritten(l listener, it *engine.Item) (*engine.Item, error) {
	if _, secured := l.repository().(engine.Warden); secured {
		return w.readVisible(l, it.Class, it.ID)
	}
	return it, nil
}

// runLinked calls the handlers for members that were added to collections or removed from them.
func (w *writing) runLinked(it *engine.Item, given engine.Values) {
	for i, value := range given {
		links, ok := value.(*engine.Links)
		if !ok || links == nil {
			continue
		}
		p := w.class.Properties[i]
		w.tellLinks(p, p.Name+"."+putIn, it, w.idsOf(links.Add))
		w.tellLinks(p, p.Name+"."+ejected, it, links.Remove)
	}
}

func (w *writing) tellLinks(p *engine.Property, what string, it *engine.Item, ids []string) {
	if len(ids) == 0 {
		return
	}
	for _, l := range w.table.of(w.class, what) {
		run := &eventRun{listener: l, class: w.class, id: it.ID, collection: p.Name}
		err := run.readMembers(w, p, it, ids)
		if err == nil {
			_, err = run.callHandler(w.ctx)
		}
		if err != nil {
			w.logFailure(l, err)
		}
	}
}

// readMembers reads the master and the members from the repository of the handler.
func (r *eventRun) readMembers(w *writing, p *engine.Property, it *engine.Item, ids []string) (err error) {
	if r.item, err = w.readWritten(r.listener, it); err != nil {
		return err
	}
	r.details = []*engine.Item{}
	for _, id := range ids {
		member, err := w.readVisible(r.listener, p.Target, id)
		if err != nil {
			return err
		}
		if member != nil {
			r.details = append(r.details, member)
		}
	}
	return nil
}

func (w *writing) logFailure(l listener, err error) {
	w.events.log.Error("a handler failed after a write, and the write was kept", "service", l.service.Name, "event", l.typ,
		"request", engine.CallerFrom(w.ctx).Request, "error", err)
}

// callHandler calls the handler and returns the attributes that it sets.
func (r *eventRun) callHandler(ctx context.Context) (engine.Fields, error) {
	if depth, _ := ctx.Value(depthKey{}).(int); depth > maxEventDepth {
		return nil, engine.Errorf(engine.Internal, "event", "handlers of events write what causes events again, more than %d deep", maxEventDepth)
	}
	s := r.service
	req := &service.Request{ID: engine.CallerFrom(ctx).Request, Service: s.Name, Method: "EVENT", Path: "/", Header: http.Header{}, Account: engine.AccountFrom(ctx)}
	o, err := s.Run(ctx, req, &exchange.Job{
		Argument: r.newEvent, Result: r.readOutcome, Prompt: true,
		Handler: func(c *vm.Call) (goja.Callable, goja.Value) {
			return vm.BindingOf[*Binding](c.VM).Handlers[r.index].Function, goja.Undefined()
		},
	})
	if err != nil {
		return nil, r.handlerError(err)
	}
	if r.cancelled {
		e := engine.Errorf(engine.Invalid, "cancelled", "the write was refused by a handler of %s", r.typ)
		e.Class, e.ID = r.class.FullName, r.id
		return nil, e
	}
	given, _ := o.Data.(engine.Fields)
	return given, nil
}

// handlerError returns an error of a handler with the reason event.
func (r *eventRun) handlerError(err error) error {
	var e *engine.Error
	if !errors.As(err, &e) {
		return err
	}
	c := *e
	if c.Reason == "converter" || c.Reason == "script" {
		c.Reason = "event"
	}
	return &c
}
