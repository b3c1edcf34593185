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
	guarded  bool // the class has items that the account may not refer to, so its permission must be checked
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

// expectTarget records a reference if its target must be checked at the end of the transaction. It skips a reference
// that keeps its stored value if the account may read this value and there are items of the target class that the
// account may not refer to. A check in strict handling would disclose whether the target exists.
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
// other classes of targets, so the class of the target must be checked. The record itself does not give the reference.
// Therefore the target need not exist, even in strict handling.
func (sv *references) expectKept(e *entry, p *engine.Property, value any) {
	if p.Type == engine.Reference && value != nil && len(p.Subclasses) > 0 {
		lenient := *e
		lenient.handling = engine.Lenient
		sv.expected = append(sv.expected, expectation{&lenient, p, value, false})
	}
}

// holdsValue reports whether the account may read the stored item of the entry, and its reference p has the value.
func (e *entry) holdsValue(p *engine.Property, value any) bool {
	if e.was == nil || e.unread || p.Type != engine.Reference {
		return false
	}
	at := e.was.Class.Property(p.Name)
	return at != nil && e.was.Values[at.Index] != nil && engine.ValueText(e.was.Values[at.Index]) == engine.ValueText(value)
}

// checkReferences checks the recorded references. If a target exists, the attribute must allow its class. In strict
// handling, the target must exist. For each table, one statement reads the targets and locks them, so that no other
// transaction can delete them or change their keys before this one ends.
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

// checkPointed returns Denied if a recorded reference leads to an item that the account may neither read nor use. It
// returns the same error if the item does not exist, so that the error does not disclose whether it exists.
func (sv *references) checkPointed() error {
	wanted := map[*layout.Plan][]any{}
	for _, x := range sv.expected {
		if p := sv.store.layout.Plans[x.property.Target]; p != nil && x.guarded {
			wanted[p] = append(wanted[p], x.value)
		}
	}
	for p, values := range wanted { // the order does not matter: all of these items are locked already
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

// checkTarget checks one reference. class is the name of the class of the target, or "" if the target does not exist.
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

// lockTargets locks the items with these keys, so that they keep their keys until the transaction ends. It returns
// their class names by id. All transactions lock the items of a table in the order of their keys.
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
		// The statement may have waited for a transaction that has removed an item, by deleting it or by changing its
		// key, and has then given the old key to a second item. In this case the statement finds neither of them. The
		// next statement finds the second item without waiting.
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
