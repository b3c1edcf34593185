package script

import (
	"context"
	"errors"
	"net/http"

	"restsrv/engine"
)

// maxEventDepth is how deep writes of handlers may be told to handlers.
const maxEventDepth = 8

type (
	silentKey struct{} // of a write that nobody hears of
	depthKey  struct{} // how many handlers the write is made within
)

// writing is one write, of which handlers hear.
type writing struct {
	events *Events
	table  *listeners
	asked  context.Context // of the write
	ctx    context.Context // of the handlers
	class  *engine.Class
	id     string
	values engine.Values                      // that are given; nil for a deletion
	was    map[engine.Repository]*engine.Item // what is deleted, as each repository shows it
	inner  map[*engine.Record]*innerWrite     // of the records nested in values
	order  []*innerWrite                      // the same, as they stand there
}

// writing takes the guard off the context: what a handler may do, its repository
// says.
func (e *Events) writing(ctx context.Context, t *listeners, c *engine.Class, id string) *writing {
	depth, _ := ctx.Value(depthKey{}).(int)
	own := context.WithValue(engine.WithGuard(ctx, nil), depthKey{}, depth+1)
	return &writing{events: e, table: t, asked: ctx, ctx: own, class: c, id: id}
}

// repository is the one that a handler was registered on.
func (l listener) repository() engine.Repository { return l.gen.events[l.index].repo }

// seen is an item as the repository of a handler shows it to the account; nil for
// one that it does not show.
func (w *writing) seen(l listener, c *engine.Class, id string) (*engine.Item, error) {
	if id == "" {
		return nil, nil
	}
	it, err := l.repository().Get(w.ctx, c.Base(), id)
	if code := engine.CodeOf(err); err != nil && (code == engine.NotFound || code == engine.Forbidden) {
		return nil, nil
	}
	return it, err
}

// remember keeps what is about to be deleted for the handlers of the events.
func (w *writing) remember(what ...string) error {
	w.was = map[engine.Repository]*engine.Item{}
	for _, one := range what {
		for _, l := range w.table.of(w.class, one) {
			if _, there := w.was[l.repository()]; there {
				continue
			}
			it, err := w.seen(l, w.class, w.id)
			if err != nil {
				return err
			}
			w.was[l.repository()] = it
		}
	}
	return nil
}

// before has the handlers of an event change what is written, or refuse it.
func (w *writing) before(what string) error {
	return w.ask(w.table.of(w.class, what), what == preDelete)
}

func (w *writing) ask(all []listener, refuses bool) error {
	for _, l := range all {
		run := &eventRun{listener: l, before: true, refuses: refuses, class: w.class, id: w.id, values: w.values}
		var err error
		if w.was != nil {
			run.item = w.was[l.repository()]
		} else if run.item, err = w.seen(l, w.class, w.id); err != nil {
			return err
		}
		given, err := run.tell(w.ctx)
		if err != nil {
			return err
		}
		if err := w.merge(l, given); err != nil {
			return err
		}
	}
	return nil
}

// merge makes what a handler returned a part of what is written.
func (w *writing) merge(l listener, given engine.Fields) error {
	if len(given) == 0 || w.values == nil {
		return nil
	}
	v, err := l.bind(w.class, given)
	for i, value := range v {
		if value != engine.Absent {
			w.values[i] = value
		}
	}
	return err
}

// bind reads the attributes that a handler returned.
func (l listener) bind(c *engine.Class, given engine.Fields) (engine.Values, error) {
	v, unknown, err := c.Bind(given, engine.Lenient)
	if err != nil {
		return nil, err
	}
	if len(unknown) > 0 {
		l.gen.warn("a handler returns attributes that the class does not have; they are ignored", "event", l.typ, "attributes", unknown)
	}
	for i, value := range v {
		switch value.(type) {
		case *engine.Upload, []*engine.Upload:
			return nil, engine.Errorf(engine.Internal, "event", "the handler of %s returns a file for attribute %s: write it by editItem instead", l.typ, c.Properties[i].Name)
		}
	}
	return v, nil
}

// after tells of what was written; what the handlers return is written too, and
// nobody hears of that. It returns the item as it is then. The write stands: a
// handler that fails is logged.
func (w *writing) after(what string, it *engine.Item) *engine.Item {
	for _, l := range w.table.of(w.class, what) {
		changed, err := w.afterOne(l, it)
		if err != nil {
			w.failed(l, err)
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
		if run.item, err = w.shown(l, it); err != nil {
			return nil, err
		}
	}
	given, err := run.tell(w.ctx)
	if err != nil || len(given) == 0 || it == nil {
		return nil, err
	}
	v, err := l.bind(it.Class, given)
	if err != nil {
		return nil, err
	}
	silent := context.WithValue(w.ctx, silentKey{}, true)
	if _, err := l.repository().Update(silent, it.Class.Base(), it.ID, v, engine.WriteOptions{}); err != nil {
		return nil, err
	}
	// Who wrote hears no more of the item than before: what is loaded with it may
	// be nothing for them.
	changed, err = w.events.Repository.Get(w.asked, it.Class.Base(), it.ID)
	if code := engine.CodeOf(err); err != nil && (code == engine.NotFound || code == engine.Forbidden) {
		return nil, nil
	}
	return changed, err
}

// shown is an item that was written, as the repository of a handler shows it.
func (w *writing) shown(l listener, it *engine.Item) (*engine.Item, error) {
	if _, secured := l.repository().(engine.Warden); secured {
		return w.seen(l, it.Class, it.ID)
	}
	return it, nil
}

// linked tells of the members that collections were given, or lost.
func (w *writing) linked(it *engine.Item, given engine.Values) {
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
		err := run.members(w, p, it, ids)
		if err == nil {
			_, err = run.tell(w.ctx)
		}
		if err != nil {
			w.failed(l, err)
		}
	}
}

// members finds the master and the members as the repository of the handler shows
// them.
func (r *eventRun) members(w *writing, p *engine.Property, it *engine.Item, ids []string) (err error) {
	if r.item, err = w.shown(r.listener, it); err != nil {
		return err
	}
	r.details = []*engine.Item{}
	for _, id := range ids {
		member, err := w.seen(r.listener, p.Target, id)
		if err != nil {
			return err
		}
		if member != nil {
			r.details = append(r.details, member)
		}
	}
	return nil
}

func (w *writing) failed(l listener, err error) {
	w.events.log.Error("a handler failed after a write, which stands", "service", l.gen.name, "event", l.typ,
		"request", engine.CallerFrom(w.ctx).Request, "error", err)
}

// tell calls the handler and returns the attributes that it gives.
func (r *eventRun) tell(ctx context.Context) (engine.Fields, error) {
	if depth, _ := ctx.Value(depthKey{}).(int); depth > maxEventDepth {
		return nil, engine.Errorf(engine.Internal, "event", "handlers of events write what causes events again, more than %d deep", maxEventDepth)
	}
	g := r.gen
	req := &engine.Request{ID: engine.CallerFrom(ctx).Request, Service: g.name, Method: "EVENT", Path: "/", Header: http.Header{}, Account: engine.AccountFrom(ctx)}
	o, err := g.run(ctx, req, 0, body{}, &job{event: r, argument: r.argument})
	if err != nil {
		return nil, r.blamed(err)
	}
	if r.cancelled {
		e := engine.Errorf(engine.Invalid, "cancelled", "the write was refused by a handler of %s", r.typ)
		e.Class, e.ID = r.class.FullName, r.id
		return nil, e
	}
	given, _ := o.data.(engine.Fields)
	return given, nil
}

// blamed is the error of a handler.
func (r *eventRun) blamed(err error) error {
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
