package store

import (
	"slices"

	"restsrv/engine"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/table"
)

// A property is divided if a descendant class declares it with a type that is stored differently. Its values are then
// in several columns (see layout/naming.go), and each item uses the column of its own class. A write can name another
// class of the tree than the class of the item. The given values are then converted from the types of the named class
// to those of the item's class.

func (e *entry) setsDivided() bool {
	return len(e.plan.Divided) > 0 && (e.plan.SetsDivided(e.given) || e.deep != nil && slices.ContainsFunc(e.deep.members, func(m memberChange) bool {
		return slices.Contains(e.plan.Divided, m.property.Index)
	}))
}

// ownClass returns e and v, converted to the class of the stored item if e sets divided properties.
func (sv *rows) ownClass(e *entry, v engine.Values, before *engine.Item) (*entry, engine.Values, error) {
	if before == nil || before.Class == e.plan.Class || !e.plan.HoldsClass(before.Class) || !e.setsDivided() {
		return e, v, nil
	}
	c, own := e.plan.Class, *e
	own.plan, own.version = sv.store.layout.Plans[before.Class], before.Version
	for _, m := range e.members() {
		if q := before.Class.Property(m.property.Name); q.Type != engine.Collection {
			return nil, nil, misfitError(m.property, q, before.Class)
		}
	}
	v, err := sv.recastAll(c, before.Class, v)
	if err != nil {
		return nil, nil, err
	}
	own.given = slices.Clone(v)
	return &own, v, own.plan.CheckSizes(v)
}

func (e *entry) members() []memberChange {
	if e.deep == nil {
		return nil
	}
	return e.deep.members
}

// recastAll converts values of a class to values of a descendant class. It returns the errors that a write of the
// descendant class with these values would return.
func (sv *rows) recastAll(from, to *engine.Class, v engine.Values) (engine.Values, error) {
	cast := engine.NewValues(to)
	for i, value := range v {
		if value == engine.Absent {
			continue
		}
		p := from.Properties[i]
		q := to.Property(p.Name)
		if sv.guard.Hides(engine.MayWrite, q) {
			return nil, engine.Denied()
		}
		own, ok := recastValue(p, q, value)
		if !ok {
			return nil, misfitError(p, q, to)
		}
		cast[q.Index] = own
	}
	if err := sv.guard.CheckWrite(to, cast, engine.MayWrite); err != nil {
		return nil, err
	}
	return cast, to.Check(cast)
}

// recastValue converts a value of p to a value of q, a property of the same name in another class. ok is false if it
// cannot.
func recastValue(p, q *engine.Property, value any) (own any, ok bool) {
	switch {
	case value == nil || !layout.StorageDiffers(p, q):
		return value, true
	case !isCastable(p) || !isCastable(q):
		return nil, false
	}
	own, err := q.Cast(engine.ValueText(value))
	return own, err == nil
}

// isCastable reports whether a property has stored values that can be converted to another type through their text.
func isCastable(p *engine.Property) bool {
	return p.Stored() && p.Type != engine.Password && (p.Type.Scalar() || p.Type == engine.Reference)
}

// misfitError returns the error for a value of p that cannot be converted to a value of q, the property of the same
// name in the item's class c.
func misfitError(p, q *engine.Property, c *engine.Class) *engine.Error {
	e := engine.Errorf(engine.Invalid, "type", "attribute %s is %s in class %s, which is the class of the object, and the value cannot be one",
		engine.Quote(p.Name), q.Type, c.FullName)
	e.Class, e.Attribute = c.FullName, p.Name
	return e
}

// updateDivided does the work of updateAll for values that descendants of the class store in other columns. It updates
// the items of each class separately.
func (sv *filtered) updateDivided(p *layout.Plan, q *engine.Query, v engine.Values) (n int64, err error) {
	for _, c := range append([]*engine.Class{p.Class}, p.Class.Descendants...) {
		of := *q
		of.Class, of.Exact = c, true
		own, err := sv.rows.recastAll(p.Class, c, v)
		plan := sv.store.layout.Plans[c]
		if err != nil {
			found, failure := sv.store.table.RowNumbers(sv.w, sv.guard, engine.MayRead|engine.MayWrite, plan, &of)
			if failure != nil {
				return 0, failure
			}
			if len(found) > 0 {
				return 0, err
			}
			continue
		}
		if err := plan.CheckSizes(own); err != nil {
			return 0, err
		}
		done, err := sv.updateAll(plan, &of, sv.stampedUpdate(plan, own))
		if err != nil {
			return 0, err
		}
		n += done
		if done > 0 {
			sv.references.expectAll(&entry{plan: plan}, own)
		}
	}
	return n, nil
}

// refuseDivided returns an error if an item cannot become a member of collection p because its class stores the
// reference to the owner in another column.
func (sv *relations) refuseDivided(p *engine.Property, keys []any) error {
	target := sv.store.layout.Plans[p.Target]
	var others []string
	for _, d := range p.Target.Descendants {
		if target.Table.ColumnOf(d, p.Back.Name) != target.Table.Column(p.Back) {
			others = append(others, sqldb.QuoteText(d.FullName))
		}
	}
	if len(others) == 0 {
		return nil
	}
	for chunk := range slices.Chunk(keys, table.BulkRows) {
		b := sqldb.NewBuilder(sv.store.traits)
		b.Add("SELECT ", layout.ClassColumn, " FROM ", target.Table.Quoted, " WHERE ", layout.ClassColumn, " IN (")
		for i, name := range others {
			b.Add([]string{"", ", "}[min(i, 1)], name)
		}
		b.Add(") AND ")
		sqldb.WriteIn(sv.store.db.Dialect, b, target.Table.ID.Quoted, target.Table.ID.Type, chunk)
		var err error
		failure := sv.w.VisitRows(b, 1, func(row []any) {
			for _, d := range p.Target.Descendants {
				if q := d.Property(p.Back.Name); d.FullName == sqldb.TextOf(row[0]) && q != nil {
					err = withinAttribute(p.Name, misfitError(p.Back, q, d))
				}
			}
		})
		if failure != nil || err != nil {
			return firstError(failure, err)
		}
	}
	return nil
}

func firstError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}
