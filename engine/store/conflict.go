package store

import (
	"errors"
	"strings"

	"restsrv/engine"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/sqlquery"
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
	plan   *layout.Plan
	index  sqldb.Index
	values []any // of the columns of the index; nil if they are not known
}

// ofKey reports whether another item has the key.
func (c *conflict) ofKey() bool {
	return len(c.index.Columns) == 1 && c.index.Columns[0] == c.plan.Table.ID.Name
}

// Unwrap returns the error of the database.
func (c *conflict) Unwrap() error { return c.error }

// errSettled rolls back a write that was repeated only to check whether it is permitted.
var errSettled = &engine.Error{Code: engine.Internal, Reason: "internal", Message: "the write was only made to see whether it is permitted"}

// settleError returns the error for a write that failed with err. It returns the error
// for a duplicate only if the account may make the change. work is the write.
func (sv *permits) settleError(err error, work func(w *conns.Session) error) error {
	if sv.guard == nil {
		return err
	}
	var removed []*conflict
	for failure := err; ; {
		var c *conflict
		if !errors.As(failure, &c) {
			return failure
		}
		if sv.guard.RowFilter(engine.MayRead, sv.store.rootPlan(c.plan).Class) == nil {
			return failure
		}
		if len(removed) == maxConflicts || c.values == nil {
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

// removeHidden removes the item that conflicts with a write. It returns false if
// the account may read that item, or if the write itself has created it.
func (sv *permits) removeHidden(c *conflict) (bool, error) {
	root := sv.store.rootPlan(c.plan)
	where := func(b *sqldb.Builder) {
		b.Add(" FROM ", root.Table.Quoted, " WHERE ")
		for i, column := range c.index.Columns {
			if i > 0 {
				b.Add(" AND ")
			}
			b.Add(root.Table.Quoted, ".", sv.store.traits.Quote(column), " = ")
			b.Bind(c.values[i])
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

// rootPlan returns the plan of the topmost class of a table.
func (s *Store) rootPlan(p *layout.Plan) *layout.Plan { return s.layout.Plans[p.Table.Classes[0]] }

// writeError returns the error of a failed write: the error for a duplicate if a unique index was
// violated, else err.
func (s *Store) writeError(p *layout.Plan, err error, value func(property string) any) error {
	if d := s.duplicateError(p, err, value); d != nil {
		return d
	}
	return err
}

// duplicateError returns the error for a violated unique index, or nil if err is another error. value
// returns the value that the write gave to a property.
func (s *Store) duplicateError(p *layout.Plan, err error, value func(property string) any) *engine.Error {
	index, ok := s.db.Dialect.Duplicate(err, p.Table.Unique)
	if !ok {
		return nil
	}
	e := engine.Errorf(engine.Invalid, "duplicate", "class %s already has an object with this key", p.Class.FullName)
	met := &conflict{error: err, plan: p, index: index}
	e.Class, e.Err = p.Class.FullName, met
	var parts []string
	var values []any
	for _, name := range index.Columns {
		property := p.PropertyIn(name)
		if name == layout.IDColumn {
			if met.values = p.IDOf(value); met.values != nil {
				e.Message = "class " + p.Class.FullName + " already has an object with the id " + engine.Quote(engine.ValueText(met.values[0]))
			}
		}
		if property == nil { // the id of several properties, or a property of a class below
			return e
		}
		v := value(property.Name)
		if values = append(values, v); v == engine.Absent || v == nil {
			values = nil
		}
		if v == engine.Absent || v == nil || property.Type == engine.Password {
			parts = append(parts, "this "+property.Name)
			continue
		}
		parts = append(parts, property.Name+" "+engine.Quote(engine.ValueText(v)))
	}
	if len(values) == len(index.Columns) {
		met.values = values
	}
	e.Attribute = p.PropertyIn(index.Columns[0]).Name
	e.Message = "class " + p.Class.FullName + " already has an object with " + strings.Join(parts, ", ")
	return e
}

// errSameID is the cause of the error for two different keys that join to the same id.
var errSameID = errors.New("the object with that id has another key")

// otherKey returns the error for values whose key joins to the id of an item with another key.
func otherKey(p *layout.Plan, v engine.Values) *engine.Error {
	c := p.Class
	id := c.ID(v)
	e := engine.Errorf(engine.Invalid, "duplicate", "class %s already has an object with the id %s, and the parts of its key are others: two keys that join to one id cannot both be stored",
		c.FullName, engine.Quote(id))
	e.Class, e.ID = c.FullName, id
	e.Err = &conflict{error: errSameID, plan: p, index: p.Table.Unique[0], values: []any{id}}
	return e
}
