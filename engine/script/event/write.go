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

// maxEventDepth limits the nesting of events: a handler writes, which calls a handler, which writes, and so on.
const maxEventDepth = 8

type (
	silentKey struct{} // marks the context of an operation that causes no events
	depthKey  struct{} // marks the context of a handler; the value is the number of handlers that are running around it
)

// writing is one write together with the calls of its handlers.
type writing struct {
	events *Events
	table  *listeners
	asked  context.Context // context of the caller of the write
	ctx    context.Context // context of the handlers
	class  *engine.Class
	id     string
	values engine.Values                      // values to write; nil for a deletion
	was    map[engine.Repository]*engine.Item // the item to delete, by repository, since each may hide other parts
	inner  map[*engine.Record]*innerWrite     // writes of the records that are nested in values
	order  []*innerWrite                      // values of inner, in the order of the attributes
}

// newWriting returns a writing with a context for its handlers. ctx may contain a guard for the write (see
// engine.WithGuard). The guard does not apply to handlers, because a handler has the permissions that the account has
// on the repository where the handler was registered.
func (e *Events) newWriting(ctx context.Context, t *listeners, c *engine.Class, id string) *writing {
	depth, _ := ctx.Value(depthKey{}).(int)
	own := context.WithValue(engine.WithGuard(ctx, nil), depthKey{}, depth+1)
	return &writing{events: e, table: t, asked: ctx, ctx: own, class: c, id: id}
}

// repository returns the repository on which the handler was registered.
func (l listener) repository() engine.Repository { return l.event.repo }

// readVisible reads an item from the repository of the handler l. It returns nil if the item does not exist or is
// hidden from the account.
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

// readDeleted reads the item that is about to be deleted, if one of the events has handlers. Handlers that run after
// the write need it, because they cannot read the item any more.
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

// runBefore calls the handlers that run before the write. They can change the values or refuse the write.
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

// mergeValues adds the attributes that a handler has set to the values of the write.
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

// bindAttributes checks and converts the attributes that a handler has set.
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

// runAfter calls the handlers that run after the write. If they set attributes, it writes these without causing
// events. It returns the current item. Errors of handlers are logged, because the write cannot be undone.
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
	// Read the item as the caller of the write would. If the new values hide the item from the account, the caller
	// gets the item as it was before.
	changed, err = w.events.Repository.Get(w.asked, it.Class.Base(), it.ID)
	if code := engine.CodeOf(err); err != nil && (code == engine.NotFound || code == engine.Forbidden) {
		return nil, nil
	}
	return changed, err
}

// readWritten returns the written item as the repository of the handler l shows it to the account.
func (w *writing) readWritten(l listener, it *engine.Item) (*engine.Item, error) {
	if _, secured := l.repository().(engine.Warden); secured {
		return w.readVisible(l, it.Class, it.ID)
	}
	return it, nil
}

// runLinked calls the handlers for members that were put into collections or ejected from them.
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

// tellLinks calls the handlers for one event, put or eject, of collection p of the item it. ids are the members that
// were put into the collection or ejected from it. If there are no such members, tellLinks does nothing.
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

// readMembers reads the master and the members from the repository of the handler. Members that are hidden from the
// account are left out.
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

// callHandler calls the handler and returns the attributes that it has set.
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

// handlerError returns err with the reason "event". By default, an error of a script has the reason "converter" or
// "script".
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
