package store

import (
	"errors"

	"restsrv/engine"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/sqlquery"
	"restsrv/engine/store/table"
)

// A write must not disclose the ids and unique values of items that are hidden from the account: the answer must be the
// same as if these items did not exist. A write may violate a unique index because of a hidden item. It is then
// repeated as a test: in a transaction that is always rolled back, the hidden item is deleted first. If the repeated
// write is refused, the account gets that refusal. If it succeeds, the account may make such changes, and gets the
// error for a duplicate. A unique index must disclose this, but no more.

// maxConflicts is the maximum number of hidden items that may conflict with one write. A write with more is refused.
const maxConflicts = 3

// errSettled rolls back a write that was repeated only to check whether it is permitted.
var errSettled = &engine.Error{Code: engine.Internal, Reason: "internal", Message: "the write was only made to see whether it is permitted"}

// settleError returns the error for a write that failed with err. If err is about a duplicate value of a hidden item,
// it is returned only if the account may make the change otherwise. To find out, settleError runs work, which makes the
// write again.
func (sv *permits) settleError(err error, work func(w *conns.Session) error) error {
	if sv.guard == nil || err == nil {
		return err
	}
	var removed []*table.Conflict
	for failure := err; ; {
		var c *table.Conflict
		if !errors.As(failure, &c) {
			return failure
		}
		if sv.guard.RowFilter(engine.MayRead, sv.store.table.RootPlan(c.Plan).Class) == nil {
			return failure
		}
		if len(removed) == maxConflicts || c.Values == nil {
			return engine.Denied()
		}
		removed = append(removed, c)
		plain := false
		next := sv.store.pool.Writer.Do(sv.ctx, func(w *conns.Session) error {
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

// removeHidden deletes the item that conflicts with a write. It deletes nothing and returns false if the account may
// read that item, or if the write itself has created it.
func (sv *permits) removeHidden(c *table.Conflict) (bool, error) {
	root := sv.store.table.RootPlan(c.Plan)
	where := func(b *sqldb.Builder) {
		b.Add(" FROM ", root.Table.Quoted, " WHERE ")
		for i, column := range c.Index.Columns {
			if i > 0 {
				b.Add(" AND ")
			}
			b.Add(root.Table.Quoted, ".", sv.store.traits.Quote(column), " = ")
			b.Bind(c.Values[i])
		}
	}
	b := sv.store.queries.GuardedBuilder(sv.guard)
	b.Add("SELECT 1")
	where(&b.Builder)
	b.Add(sqlquery.AndCondition(b.ReadableRow(sqlquery.TopSource(root))))
	if err := b.Finish(sv.store.traits); err != nil {
		return false, err
	}
	readable := false
	if err := sv.w.VisitRows(&b.Builder, 1, func([]any) { readable = true }); err != nil || readable {
		return false, err
	}
	remove := sqldb.NewBuilder(sv.store.traits)
	remove.Add("DELETE")
	where(remove)
	n, err := sv.w.Execute(remove)
	return n > 0, err
}
