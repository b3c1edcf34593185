package store

import (
	"maps"
	"slices"

	"restsrv/engine"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/table"
)

// expectation is a reference that was written. Its target is checked at the end of the transaction, because a later
// record may create it.
type expectation struct {
	entry    *entry
	property *engine.Property
	value    any
	guarded  bool // the account may not refer to all items of the class, so its permission must be checked
}

// expectAll records the references in v, to be checked at the end of the transaction.
func (sv *references) expectAll(e *entry, v engine.Values) {
	for _, p := range e.plan.Duties.References {
		value := v[p.Index]
		if value == nil || value == engine.Absent {
			continue
		}
		sv.expectTarget(e, p, sv.ordering.currentKey(sv.ordering.tableOf(p.Target), value))
	}
}

// expectTarget records a reference if its target must be checked at the end of the transaction. A reference that does
// not change needs no check if the account knows its value but may not refer to all items of the target class: with
// strict handling, a check would disclose whether the target exists.
func (sv *references) expectTarget(e *entry, p *engine.Property, value any) {
	guarded := sv.guard.RestrictsTarget(p.Target)
	if guarded && !sv.guard.IsUnusable(p) && e.holdsValue(p, value) {
		return
	}
	if guarded || e.handling == engine.Strict || len(p.Subclasses) > 0 {
		sv.expected = append(sv.expected, expectation{e, p, value, guarded})
	}
}

// expectKept records a reference that an item keeps when its class changes. The attribute of the new class may allow
// other classes, so the class of the target must be checked. The target need not exist even in strict handling, because
// the record does not give the reference.
func (sv *references) expectKept(e *entry, p *engine.Property, value any) {
	if p.Type == engine.Reference && value != nil && len(p.Subclasses) > 0 {
		lenient := *e
		lenient.handling = engine.Lenient
		sv.expected = append(sv.expected, expectation{&lenient, p, value, false})
	}
}

// holdsValue reports whether the reference p of the stored item already has the value, and the account may read that
// item.
func (e *entry) holdsValue(p *engine.Property, value any) bool {
	if e.was == nil || e.unread || p.Type != engine.Reference {
		return false
	}
	at := e.was.Class.Property(p.Name)
	return at != nil && e.was.Values[at.Index] != nil && engine.ValueText(e.was.Values[at.Index]) == engine.ValueText(value)
}

// checkReferences checks the recorded references. In strict handling, the target must exist. If the target exists, the
// attribute must allow its class. One statement for each table reads and locks the targets. Until the transaction ends,
// no other transaction can delete them or change their keys.
func (sv *references) checkReferences() error {
	if len(sv.expected) == 0 {
		return nil
	}
	wanted := map[*layout.Table][]any{}
	for _, x := range sv.expected {
		if p := sv.store.layout.Plans[x.property.Target]; p != nil {
			wanted[p.Table] = append(wanted[p.Table], x.value)
		}
	}
	classes := map[*layout.Table]map[string]string{}
	for _, t := range sv.store.layout.Tables {
		if len(wanted[t]) == 0 {
			continue
		}
		var err error
		if classes[t], err = sv.lockTargets(t, table.Distinct(wanted[t])); err != nil {
			return err
		}
	}
	if err := sv.checkPointed(); err != nil {
		return err
	}
	for _, x := range sv.expected {
		p := sv.store.layout.Plans[x.property.Target]
		if p == nil {
			continue
		}
		id := engine.ValueText(x.value)
		if err := x.checkTarget(p.Table, id, classes[p.Table][id]); err != nil {
			return sv.relations.withRecordIndex(x.entry, withinAttribute(x.entry.path(), err))
		}
	}
	return nil
}

// checkPointed returns Denied if a recorded reference leads to an item that the account may neither read nor use. If
// the reference leads to no item, the error is the same, so it does not disclose whether the item exists.
func (sv *references) checkPointed() error {
	wanted := map[*layout.Plan][]any{}
	for _, x := range sv.expected {
		if p := sv.store.layout.Plans[x.property.Target]; p != nil && x.guarded {
			wanted[p] = append(wanted[p], x.value)
		}
	}
	for p, values := range wanted { // the order does not matter: the items are locked already
		values = table.Distinct(values)
		found, err := sv.store.table.FindAdmitted(sv.w, sv.guard, table.Wish{Plan: p, Of: []engine.Permission{engine.MayRead, engine.MayUse}}, values)
		if err != nil {
			return err
		}
		if len(found) < len(values) {
			return engine.Denied()
		}
	}
	return nil
}

// checkTarget checks one reference. class is the name of the class of its target, or "" if there is no such item.
func (x *expectation) checkTarget(t *layout.Table, id, class string) error {
	p, strict := x.property, x.entry.handling == engine.Strict
	for _, c := range t.Classes {
		if c.FullName != class {
			continue
		}
		below := c == p.Target || slices.Contains(p.Target.Descendants, c)
		switch {
		case p.Allows(c), !below && !strict:
			return nil
		case below || len(p.Subclasses) > 0:
			e := notAllowed(p, c, id)
			e.Attribute = p.Name
			return e
		}
	}
	if !strict {
		return nil
	}
	e := danglingError(p, id)
	e.Class = x.entry.plan.Class.FullName
	return e
}

// lockTargets returns the class names of the items with these keys, by id, and locks the items: they keep their keys
// until the transaction ends. All transactions lock the items of a table in the order of their keys.
func (sv *references) lockTargets(t *layout.Table, keys []any) (map[string]string, error) {
	lock := sv.store.traits.LockKey
	if lock == "" {
		return sv.classesOf(t, keys, "")
	}
	lock = " ORDER BY " + t.ID.Quoted + lock
	all := map[string]string{}
	for range conns.MaxAttempts {
		found, err := sv.classesOf(t, keys, lock)
		maps.Copy(all, found)
		if err != nil || len(found) == len(keys) {
			return all, err
		}
		// The statement may have waited for another transaction. That transaction may have deleted an item or changed
		// its key, and then given the old key to another item. The statement does not find the other item. The next
		// statement finds it, and does not wait.
		missing := slices.DeleteFunc(keys, func(key any) bool { return found[engine.ValueText(key)] != "" })
		if found, err = sv.classesOf(t, missing, ""); err != nil || len(found) == 0 {
			return all, err
		}
		keys = slices.DeleteFunc(missing, func(key any) bool { return found[engine.ValueText(key)] == "" })
	}
	return all, nil
}

// classesOf returns the class names of the items with these keys, by id. lock is appended to the statement.
func (sv *references) classesOf(t *layout.Table, keys []any, lock string) (map[string]string, error) {
	found := make(map[string]string, len(keys))
	most := table.BulkRows
	if lock != "" {
		most = len(keys) // a single statement, so that items are locked in order
	}
	for chunk := range slices.Chunk(keys, max(most, 1)) {
		b := sqldb.NewBuilder(sv.store.traits)
		b.Add("SELECT ", t.ID.Quoted, ", ", layout.ClassColumn, " FROM ", t.Quoted, " WHERE ")
		sqldb.WriteIn(sv.store.db.Dialect, b, t.ID.Quoted, t.ID.Type, chunk)
		b.Add(lock)
		err := sv.w.VisitRows(b, 2, func(row []any) {
			found[engine.ValueText(sqldb.ReadValue(t.ID.Type, row[0]))] = sqldb.TextOf(row[1])
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// danglingError returns the error for an attribute that refers to an item which does not exist.
func danglingError(p *engine.Property, id string) *engine.Error {
	e := engine.Errorf(engine.Invalid, "dangling", "attribute %s names object %s of class %s, which does not exist",
		engine.Quote(p.Name), engine.Quote(id), p.Target.FullName)
	e.Attribute, e.ID = p.Name, id
	return e
}
