package store

import (
	"errors"

	"restsrv/engine"
)

// An account must not learn from a write which ids and unique values hidden items
// have: the answer must be the same as if these items did not exist. So a write
// that violates a unique index because of a hidden item is repeated without that
// item, in a transaction that is always rolled back. If it is refused then, the
// account gets that refusal. If it succeeds, the account could have made such a
// change, and gets the error for a duplicate. A unique index cannot hide more.

// maxConflicts is how many hidden items may conflict with one write. A write with
// more is refused.
const maxConflicts = 3

// conflict is the error of the database for a violated unique index, with the
// values of the write in that index.
type conflict struct {
	error
	plan   *plan
	index  Index
	values []any // of the columns of the index; nil if they are not known
}

// ofKey reports whether another item has the key.
func (c *conflict) ofKey() bool {
	return len(c.index.Columns) == 1 && c.index.Columns[0] == c.plan.table.id.name
}

// Unwrap returns the error of the database.
func (c *conflict) Unwrap() error { return c.error }

// errSettled rolls back a write that was repeated only to check whether it is permitted.
var errSettled = &engine.Error{Code: engine.Internal, Reason: "internal", Message: "the write was only made to see whether it is permitted"}

// settleError returns the error for a write that failed with err. It returns the error
// for a duplicate only if the account may make the change. work is the write.
func (sv *save) settleError(err error, work func(w *session) error) error {
	if sv.guard == nil {
		return err
	}
	var removed []*conflict
	for failure := err; ; {
		var c *conflict
		if !errors.As(failure, &c) {
			return failure
		}
		if sv.guard.rowFilter(engine.MayRead, sv.store.rootPlan(c.plan).class) == nil {
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

// removeHidden removes the item that conflicts with a write. It returns false if
// the account may read that item, or if the write itself has created it.
func (sv *save) removeHidden(c *conflict) (bool, error) {
	root := sv.store.rootPlan(c.plan)
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
	b := sv.store.guardedBuilder(sv.guard)
	b.add("SELECT 1")
	where(b)
	b.add(andCondition(b.readableRow(b.topSource(root))))
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

// rootPlan returns the plan of the topmost class of a table.
func (s *Store) rootPlan(p *plan) *plan { return s.plans[p.table.classes[0]] }
