package store

import (
	"errors"

	"restsrv/engine"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/sqlquery"
	"restsrv/engine/store/table"
)

// A write must not disclose the ids and unique values of items that are hidden from the account: the response must be
// the same as if these items did not exist. If a write violates a unique index because of a hidden item, it is
// repeated as a test, in a transaction that first deletes the hidden item and is always rolled back. If the test
// fails, the account gets the error of the test. If the test succeeds, the account may make such changes, and gets the
// error for a duplicate value; a unique index cannot avoid disclosing that the value exists.

// maxConflicts is the maximum number of hidden items that may conflict with one write. With more, it is Denied.
const maxConflicts = 3

// errSettled rolls back a write that was repeated only to check whether the account may make it.
var errSettled = &engine.Error{Code: engine.Internal, Reason: "internal", Message: "the write was only made to see whether it is permitted"}

// settleError returns the error for a write that failed with err. If err is about a duplicate value of a hidden item,
// settleError repeats the write without that item, by calling work. It returns err if this test succeeds, and
// otherwise the error of the test.
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

// removeHidden deletes the item that conflicts with a write, and reports whether it did. It does not delete an item
// that the account may read. If the write itself had created the item, the item no longer exists and the result is
// false.
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
