package store

import (
	"slices"

	"restsrv/engine"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/table"
)

// lookUpGroup writes a group of entries for which it is not known whether their items exist. It looks the items up,
// and then updates an item or inserts it, in the order of the entries.
func (sv *save) lookUpGroup(group []entry) error {
	p := group[0].plan
	step := min(table.BulkRows, sv.store.traits.MaxVariables)
	for len(group) > 0 {
		n := min(step, len(group))
		existing, err := sv.existingClasses(p, group[:n])
		if err != nil {
			return err
		}
		if err := sv.permits.meetExisting(p, group[:n], existing); err != nil {
			return err
		}
		if err := sv.divideGroup(group[:n], existing); err != nil {
			return err
		}
		group = group[n:]
	}
	return nil
}

// divideGroup updates the items that exist, and inserts the items of the other entries. existing maps the ids of
// existing items to their class names.
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
		if class != e.plan.Class.FullName || e.plan.Caching.Watched {
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

// completeAll adds the values that can be determined only in the transaction to entries that will be inserted.
func (sv *save) completeAll(p *layout.Plan, group []entry) error {
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
	if err := sv.store.table.AssignNumbers(sv.w, p, rows); err != nil {
		return err
	}
	for i := range group {
		if err := sv.completeValues(p, group[i].full); err != nil {
			return atRecord(group[i].index, err)
		}
	}
	return nil
}

// existingClasses looks up the items of a group of entries, and locks the existing ones. It returns their class names
// by id. It returns an error if an item has the id of an entry but another key.
func (sv *save) existingClasses(p *layout.Plan, group []entry) (map[string]string, error) {
	b := sqldb.NewBuilder(sv.store.traits)
	id := p.Table.ID
	keys := make([]any, len(group))
	for i := range group {
		keys[i] = group[i].key[0]
	}
	b.Add("SELECT ", id.Quoted, ", ", layout.ClassColumn)
	parts := p.KeyColumns()
	for _, column := range parts {
		b.Add(", ", column.Quoted)
	}
	b.Add(" FROM ", p.Table.Quoted, " WHERE ")
	sqldb.WriteIn(sv.store.db.Dialect, b, id.Quoted, id.Type, keys)
	if root := sv.store.layout.Plans[p.Table.Classes[0]]; root.ClassCondition() != "" {
		b.Add(" AND ", root.ClassCondition())
	}
	if lock := sv.store.traits.Lock; lock != "" {
		b.Add(" ORDER BY ", id.Quoted, lock)
	}
	found := make(map[string]string, len(group))
	byKey := map[string]*entry{}
	for i := range group {
		if parts != nil {
			byKey[keyText(group[i].key)] = &group[i]
		}
	}
	var other *entry
	err := sv.w.VisitRows(b, 2+len(parts), func(row []any) {
		key := engine.ValueText(sqldb.ReadValue(id.Type, row[0]))
		found[key] = sqldb.TextOf(row[1])
		e := byKey[key]
		if e != nil && (other == nil || e.index < other.index) && !p.HasKey(e.given, func(part int) any { return sqldb.ReadValue(parts[part].Type, row[2+part]) }) {
			other = e
		}
	})
	if err == nil && other != nil {
		err = atRecord(other.index, table.OtherKey(p, other.given))
	}
	return found, err
}
