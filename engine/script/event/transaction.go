package event

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"restsrv/engine"
)

// Limits for repeating a write after a conflict of transactions.
const (
	maxWriteAttempts = 5
	writePause       = 10 * time.Millisecond
)

// transact runs a write together with the handlers before it. The function write calls both: first the handlers, then
// the inner repository. If there are no such handlers, transact only calls write.
//
// Otherwise it first checks the permissions of the account. It then calls write in a transaction, so that a refused
// write also undoes the writes of the handlers. write gets the context of this transaction. If the transaction
// conflicts with another one, write is called again. The time of the transaction is limited, because on SQLite no other
// write can run meanwhile.
func (e *Events) transact(ctx context.Context, writes []*writing, what string, m *engine.Match, write func(ctx context.Context) error) error {
	i := slices.IndexFunc(writes, func(w *writing) bool { return w != nil && w.heardBefore(what) })
	if i < 0 {
		return write(ctx)
	}
	t := writes[i].table
	given := make([]engine.Values, len(writes))
	for i, w := range writes {
		if w != nil {
			given[i] = w.values
		}
	}
	for attempt := 1; ; attempt++ {
		err := engine.InTransaction(ctx, e.Repository, func(inner context.Context) error {
			limited, cancel := context.WithTimeout(inner, t.time)
			defer cancel()
			for i, w := range writes {
				if w != nil {
					w.values, w.was, w.inner, w.order = cloneValues(given[i]), nil, nil, nil
					w.setContext(limited)
				}
			}
			err := engine.Admit(limited, e.Repository, admissionOf(writes, what, m))
			if err == nil {
				err = write(limited)
			}
			if err != nil && limited.Err() != nil && ctx.Err() == nil {
				return engine.Errorf(engine.Timeout, "transaction-time", "the write and the handlers of its events took longer than %s (transactionTime) and were undone", t.time)
			}
			return err
		})
		for _, w := range writes {
			if w != nil {
				w.setContext(ctx)
			}
		}
		if !IsConflict(err) || attempt == maxWriteAttempts || !PauseWrite(ctx) {
			return err
		}
	}
}

// IsConflict reports whether a transaction failed because it conflicted with another one, so that it should be
// repeated.
func IsConflict(err error) bool {
	var e *engine.Error
	return errors.As(err, &e) && e.Code == engine.Unavailable && e.Reason == "busy"
}

// PauseWrite waits for a short random time before a write is repeated. It returns false if ctx is done.
func PauseWrite(ctx context.Context) bool {
	select {
	case <-time.After(writePause + rand.N(writePause)):
		return true
	case <-ctx.Done():
		return false
	}
}

// admissionOf describes the writes for the check of permissions. It uses the name of the event before the write, which
// is "" if an update changes only collections.
func admissionOf(writes []*writing, what string, m *engine.Match) engine.Admission {
	a := engine.Admission{Match: m, May: engine.MayWrite}
	switch what {
	case preCreate:
		a.May = engine.MayUse
	case preDelete:
		a.May = engine.MayDelete
	case preSave:
		a.May = engine.MayUse | engine.MayWrite
	}
	for _, w := range writes {
		if w != nil {
			a.Records = append(a.Records, engine.Record{Class: w.class, ID: w.id, Values: w.values})
		}
	}
	return a
}

// heardBefore reports whether handlers run before the write: handlers for the named event, or handlers for nested
// records. If the name is "", only nested records count.
func (w *writing) heardBefore(what string) bool {
	return what != "" && w.table.hasAny(w.class, what) || slices.ContainsFunc(w.values, w.table.nestedHeard)
}

// nestedHeard reports whether there are pre-save handlers for the records that a value contains.
func (t *listeners) nestedHeard(value any) bool {
	switch v := value.(type) {
	case *engine.Record:
		return v != nil && (t.hasAny(v.Class, preSave) || slices.ContainsFunc(v.Values, t.nestedHeard))
	case *engine.Links:
		return v != nil && slices.ContainsFunc(v.Add, t.nestedHeard)
	}
	return false
}

// setContext makes the write, its handlers and the nested writes use ctx.
func (w *writing) setContext(ctx context.Context) {
	depth := w.ctx.Value(depthKey{})
	w.asked, w.ctx = ctx, context.WithValue(engine.WithGuard(ctx, nil), depthKey{}, depth)
	for _, in := range w.order {
		in.setContext(ctx)
	}
}

// cloneValues copies values and the records nested in them. A repeated write needs the originals, but handlers and
// the repository modify the values.
func cloneValues(v engine.Values) engine.Values {
	v = slices.Clone(v)
	for i, value := range v {
		switch value := value.(type) {
		case *engine.Record:
			v[i] = cloneNested(value)
		case *engine.Links:
			if value != nil {
				links := *value
				links.Add = slices.Clone(links.Add)
				for k, member := range links.Add {
					links.Add[k] = cloneNested(member)
				}
				v[i] = &links
			}
		}
	}
	return v
}

// cloneNested copies a record. It returns any other value unchanged.
func cloneNested(value any) any {
	r, ok := value.(*engine.Record)
	if !ok || r == nil {
		return value
	}
	clone := *r
	clone.Values = cloneValues(r.Values)
	return &clone
}

// EnterEvent returns the internal type of the event that an item enters a state of a workflow.
func EnterEvent(workflow, state string) string { return "workflow " + workflow + "." + state }

// Entering calls the handlers that workflows.on has registered, before an item of class c enters a state. It runs in
// the transaction that changes the state. The handlers can set attributes, which are added to v and written to the
// item, and they can refuse the change.
func (e *Events) Entering(ctx context.Context, c *engine.Class, id, workflow, state string, v engine.Values) error {
	t := e.listenersFor(ctx)
	if t == nil {
		return nil
	}
	all := slices.Clone(t.byType[EnterEvent(workflow, state)])
	if len(all) == 0 {
		return nil
	}
	for i := range all {
		all[i].typ = workflow + "." + state
	}
	ctx, cancel := context.WithTimeout(ctx, t.time)
	defer cancel()
	w := e.newWriting(ctx, t, c, id)
	w.values = v
	return w.runHandlers(all, true)
}
