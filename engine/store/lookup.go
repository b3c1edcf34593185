package store

import (
	"math/bits"
	"slices"

	"restsrv/engine"
)

// lookUpGroup finds out which items of the group exist. It updates these and inserts the others, in
// order.
func (sv *save) lookUpGroup(group []entry) error {
	p := group[0].plan
	step := min(bulkRows, sv.store.traits.MaxVariables)
	for len(group) > 0 {
		n := min(step, len(group))
		existing, err := sv.existingClasses(p, group[:n])
		if err != nil {
			return err
		}
		if err := sv.meetExisting(p, group[:n], existing); err != nil {
			return err
		}
		if err := sv.divideGroup(group[:n], existing); err != nil {
			return err
		}
		group = group[n:]
	}
	return nil
}

// divideGroup updates the entries with existing items and inserts the others.
func (sv *save) divideGroup(group []entry, existing map[string]string) error {
	from := 0 // start of a run of new entries
	for i := range group {
		e := &group[i]
		class := existing[keyText(e.key)]
		if class == "" {
			e.sought = e.how == lookup
			e.full, e.how, e.mask = nil, insert, ""
			continue
		}
		if err := sv.insertAll(group[from:i]); err != nil {
			return err
		}
		write := sv.updateEntry
		if class != e.plan.class.FullName || e.plan.caching.watched {
			write = sv.writeOne
		}
		if err := write(e); err != nil {
			return err
		}
		e.was = nil // otherwise it stays in memory until the last record is written
		from = i + 1
	}
	return sv.insertAll(group[from:])
}

// completeAll completes the values of entries for an insert, as far as they need the transaction.
func (sv *save) completeAll(p *plan, group []entry) error {
	var rows []engine.Values
	for i := range group {
		if e := &group[i]; e.full == nil {
			e.full = slices.Clone(e.given)
			rows = append(rows, e.full)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	if err := sv.assignNumbers(p, rows); err != nil {
		return err
	}
	for i := range group {
		if err := sv.completeValues(p, group[i].full); err != nil {
			return atRecord(group[i].index, err)
		}
	}
	return nil
}

// existingClasses returns the classes of those items of the group that exist, by id. It returns an error
// if an existing item has the same id but another key.
func (sv *save) existingClasses(p *plan, group []entry) (map[string]string, error) {
	b := newBuilder(sv.store.traits)
	id := p.table.id
	keys := make([]any, len(group))
	for i := range group {
		keys[i] = group[i].key[0]
	}
	b.add("SELECT ", id.quoted, ", ", classColumn)
	parts := p.keyColumns()
	for _, column := range parts {
		b.add(", ", column.quoted)
	}
	b.add(" FROM ", p.table.quoted, " WHERE ")
	sv.store.writeIn(b, id.quoted, id.typ, keys)
	if root := sv.store.plans[p.table.classes[0]]; root.classCondition() != "" {
		b.add(" AND ", root.classCondition())
	}
	if lock := sv.store.traits.Lock; lock != "" {
		b.add(" ORDER BY ", id.quoted, lock)
	}
	found := make(map[string]string, len(group))
	byKey := map[string]*entry{}
	for i := range group {
		if parts != nil {
			byKey[keyText(group[i].key)] = &group[i]
		}
	}
	var other *entry
	err := sv.w.visitRows(b, 2+len(parts), func(row []any) {
		key := engine.ValueText(readValue(id.typ, row[0]))
		found[key] = textOf(row[1])
		e := byKey[key]
		if e != nil && (other == nil || e.index < other.index) && !p.hasKey(e.given, func(part int) any { return readValue(parts[part].typ, row[2+part]) }) {
			other = e
		}
	})
	if err == nil && other != nil {
		err = atRecord(other.index, p.otherKey(other.given))
	}
	return found, err
}

// keyColumns returns the columns of the parts of the key, in order, or nil if the key has one
// property.
func (p *plan) keyColumns() []*column {
	if !p.table.hasIDColumn() {
		return nil
	}
	columns := make([]*column, len(p.class.Key))
	for i, part := range p.class.KeyProperties() {
		columns[i] = p.table.column(part)
	}
	return columns
}

// powerOfTwo returns the largest power of two that is not above n. n must be positive.
func powerOfTwo(n int) int { return 1 << (bits.Len(uint(n)) - 1) }
