package event

import (
	"context"
	"slices"

	"restsrv/engine"
)

// innerWrite is the write of a record that is nested in a written item.
type innerWrite struct {
	*writing
	given engine.Values // copy of the values; the repository changes the values themselves
	item  *engine.Item  // the stored item; set by the repository during the write
}

// runNested calls the pre-save handlers of all records in the values, at any depth.
func (w *writing) runNested() error {
	for _, value := range w.values {
		if err := w.nestedIn(value); err != nil {
			return err
		}
	}
	return nil
}

func (w *writing) nestedIn(value any) error {
	switch v := value.(type) {
	case *engine.Record:
		return w.runNestedRecord(v)
	case *engine.Links:
		if v == nil {
			return nil
		}
		for _, member := range v.Add {
			if r, ok := member.(*engine.Record); ok {
				if err := w.runNestedRecord(r); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (w *writing) runNestedRecord(r *engine.Record) error {
	if r == nil {
		return nil
	}
	in := &innerWrite{writing: w.events.newWriting(w.asked, w.table, r.Class, r.ID)}
	in.values = r.Values
	if err := in.runBefore(preSave); err != nil {
		return err
	}
	r.Saved = func(it *engine.Item) { in.item = it }
	if w.inner == nil {
		w.inner = map[*engine.Record]*innerWrite{}
	}
	w.inner[r] = in
	w.order = append(w.order, in)
	if err := in.runNested(); err != nil {
		return err
	}
	in.given = slices.Clone(in.values)
	return nil
}

// runNestedSaved calls the save handlers of the nested records, innermost records first. If a record changes the
// members of a collection, it also calls the handlers for put and eject.
func (w *writing) runNestedSaved() {
	for i := len(w.order) - 1; i >= 0; i-- {
		in := w.order[i]
		in.runNestedSaved()
		if in.item == nil || !w.table.hasAny(in.class, saved) && !in.hasLinkListeners(in.given) {
			continue
		}
		it, err := w.events.Repository.Get(in.ctx, in.class.Base(), in.item.ID)
		if err != nil {
			w.events.log.Error("cannot read a nested object after its write; its save handlers were not called", "class", in.class.FullName, "id", in.item.ID, "error", err)
			continue
		}
		in.runLinked(in.runAfter(saved, it), in.given)
	}
}

// hasLinkListeners reports whether there is a listener for one of the collections that the values change.
func (w *writing) hasLinkListeners(given engine.Values) bool {
	for i, value := range given {
		if links, ok := value.(*engine.Links); ok && links != nil {
			name := w.class.Properties[i].Name
			if w.table.hasAny(w.class, name+"."+putIn, name+"."+ejected) {
				return true
			}
		}
	}
	return false
}

// idsOf returns the ids of members of a collection. A member is an id, or a record that the same write has created.
func (w *writing) idsOf(members []any) (ids []string) {
	for _, m := range members {
		switch m := m.(type) {
		case string:
			ids = append(ids, m)
		case *engine.Record:
			if in := w.inner[m]; in != nil && in.item != nil {
				ids = append(ids, in.item.ID)
			}
		}
	}
	return ids
}

// The events of reading. preFetch occurs before a list is read, preIterate before an iterator reads its first page.
const (
	preFetch   = "pre-fetch"
	preIterate = "pre-iterate"
)

// pageKey is the context key that marks a list as a page of an iterator. Its value is the event to cause: preIterate
// for the first page, "" for the following pages.
type pageKey struct{}

// PageContext returns the context with which an iterator reads a page. The first page causes the event pre-iterate.
func PageContext(ctx context.Context, first bool) context.Context {
	event := ""
	if first {
		event = preIterate
	}
	return context.WithValue(ctx, pageKey{}, event)
}

// List implements engine.Repository. It calls the handlers for preFetch or preIterate before it reads the list.
func (e *Events) List(ctx context.Context, q *engine.Query, visit func(*engine.Item) error) error {
	if t := e.listenersFor(ctx); t != nil && t.reads {
		if err := e.runBeforeList(ctx, t, q); err != nil {
			return err
		}
	}
	return e.Repository.List(ctx, q, visit)
}

// runBeforeList calls the handlers for a list that is about to be read. If a handler fails, the list is not read and
// List returns the error.
func (e *Events) runBeforeList(ctx context.Context, t *listeners, q *engine.Query) error {
	what, paged := ctx.Value(pageKey{}).(string)
	if !paged {
		what = preFetch
	}
	if what == "" {
		return nil
	}
	w := e.newWriting(ctx, t, q.Class, "")
	for _, l := range t.of(q.Class, what) {
		if _, err := (&eventRun{listener: l, class: q.Class, query: q}).callHandler(w.ctx); err != nil {
			return err
		}
	}
	return nil
}
