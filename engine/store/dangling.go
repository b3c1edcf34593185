package store

import (
	"slices"

	"restsrv/engine"
)

// expectation is a reference that was written: what it points at is looked
// for when the transaction is done, since a later record may bring it.
type expectation struct {
	entry    *entry
	property *engine.Property
	value    any
}

// expectAll notes the references that values give.
func (sv *save) expectAll(e *entry, v engine.Values) {
	for _, p := range e.plan.duties.references {
		value := v[p.Index]
		if value == nil || value == engine.Absent || e.handling != engine.Strict && len(p.Subclasses) == 0 {
			continue
		}
		sv.expect(e, p, value)
	}
}

func (sv *save) expect(e *entry, p *engine.Property, value any) {
	sv.expected = append(sv.expected, expectation{e, p, value})
}

// checkReferences refuses references to what is not there, in strict handling,
// and to what is there and of a class that the attribute does not allow. It
// takes one statement for each table, whatever the number of references.
func (sv *save) checkReferences() error {
	if len(sv.expected) == 0 {
		return nil
	}
	wanted := map[*table][]any{}
	for _, x := range sv.expected {
		if p := sv.store.plans[x.property.Target]; p != nil {
			wanted[p.table] = append(wanted[p.table], x.value)
		}
	}
	classes := map[*table]map[string]string{}
	for t, values := range wanted {
		var err error
		if classes[t], err = sv.classesOf(t, distinct(values)); err != nil {
			return err
		}
	}
	for _, x := range sv.expected {
		p := sv.store.plans[x.property.Target]
		if p == nil {
			continue
		}
		id := engine.ValueText(x.value)
		if err := x.check(p.table, id, classes[p.table][id]); err != nil {
			return sv.blamed(x.entry, within(x.entry.path(), err))
		}
	}
	return nil
}

// check judges what was found: the name of a class, "" for nothing.
func (x *expectation) check(t *table, id, class string) error {
	p, strict := x.property, x.entry.handling == engine.Strict
	for _, c := range t.classes {
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
	e := dangling(p, id)
	e.Class = x.entry.plan.class.FullName
	return e
}

// classesOf returns the class names of the items that have these keys, by id.
func (sv *save) classesOf(t *table, keys []any) (map[string]string, error) {
	found := make(map[string]string, len(keys))
	for chunk := range slices.Chunk(keys, bulkRows) {
		b := newBuilder(sv.store.traits)
		b.add("SELECT ", t.id.quoted, ", ", classColumn, " FROM ", t.quoted, " WHERE ")
		sv.store.in(b, t.id.quoted, t.id.typ, chunk)
		err := sv.w.visitRows(b, 2, func(row []any) {
			found[engine.ValueText(read(t.id.typ, row[0]))] = text(row[1])
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}
