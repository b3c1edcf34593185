package store

import (
	"errors"

	"restsrv/engine"
)

// An account must not learn from a write which ids and unique values items have
// that it may not read: the answer must be the same as if these items were not
// there. So a write that breaks a unique index because of a hidden item is done
// again without that item, in a transaction that is always undone. Where it is
// refused then, the account gets that refusal. Where it succeeds, the account
// could have made such a change, and gets the error for a duplicate: this is the
// one thing that a hidden item shows, because an index cannot be unique without.

// maxConflicts is how many hidden items may be in the way of one write. A write
// with more is refused.
const maxConflicts = 3

// conflict is the error of the database for a broken unique index, with what the
// index has there.
type conflict struct {
	error
	plan   *plan
	index  Index
	values []any // of the columns of the index; nil when they are not known
}

// Unwrap returns the error of the database.
func (c *conflict) Unwrap() error { return c.error }

// errSettled undoes a write that was only done to see whether it is permitted.
var errSettled = &engine.Error{Code: engine.Internal, Reason: "internal", Message: "the write was done to see whether it is permitted"}

// settle returns the error of a write that failed with err: that of a duplicate
// only if the account may make the change. work is the write.
func (sv *save) settle(err error, work func(w *session) error) error {
	if sv.guard == nil {
		return err
	}
	var removed []*conflict
	for failure := err; ; {
		var c *conflict
		if !errors.As(failure, &c) {
			return failure
		}
		if sv.guard.rows(engine.MayRead, sv.store.root(c.plan).class) == nil {
			return failure
		}
		if len(removed) == maxConflicts || c.values == nil {
			return engine.Denied()
		}
		removed = append(removed, c)
		plain := false
		next := sv.store.writer.do(sv.ctx, func(w *session) error {
			sv.begin(w)
			for _, c := range removed {
				hidden, err := sv.removeHidden(c)
				if err != nil {
					return err
				}
				plain = !hidden
			}
			if plain {
				return errSettled
			}
			if err := work(w); err != nil {
				return err
			}
			return errSettled
		})
		switch {
		case plain:
			return failure
		case errors.Is(next, errSettled):
			return err
		}
		failure = next
	}
}

// removeHidden removes the item that is in the way of a write. It reports false
// when the account may read that item, or the write itself has made it.
func (sv *save) removeHidden(c *conflict) (bool, error) {
	root := sv.store.root(c.plan)
	where := func(b *builder) {
		b.add(" FROM ", root.table.quoted, " WHERE ")
		for i, column := range c.index.Columns {
			if i > 0 {
				b.add(" AND ")
			}
			b.add(root.table.quoted, ".", sv.store.traits.quote(column), " = ")
			b.bind(c.values[i])
		}
	}
	b := sv.store.guarded(sv.guard)
	b.add("SELECT 1")
	where(b)
	b.add(and(b.readable(b.top(root))))
	if err := b.finish(sv.store.traits); err != nil {
		return false, err
	}
	readable := false
	if err := sv.w.visitRows(b, 1, func([]any) { readable = true }); err != nil || readable {
		return false, err
	}
	b = newBuilder(sv.store.traits)
	b.add("DELETE")
	where(b)
	n, err := sv.w.execute(b)
	return n > 0, err
}

// root is the plan of the topmost class of a table.
func (s *Store) root(p *plan) *plan { return s.plans[p.table.classes[0]] }
