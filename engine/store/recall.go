package store

import (
	"maps"

	"restsrv/engine"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/table"
)

// meetExisting checks that the account may write the items of a group that exist. It also reads the stored items that
// the journal or the checks of references need. existing maps the ids of the items to their classes.
func (sv *permits) meetExisting(p *layout.Plan, group []entry, existing map[string]string) error {
	if err := sv.admitGroup(p, group, existing); err != nil {
		return err
	}
	var keys []any
	for i := range group {
		e := &group[i]
		if existing[keyText(e.key)] != "" && (p.Duties.Journaled || sv.setsRestricted(e)) {
			keys = append(keys, e.key[0])
		}
	}
	if len(keys) == 0 {
		return nil
	}
	return sv.recallItems(p, group, keys)
}

// recallItems reads the items with these keys. For each entry of the group it sets entry.was to the stored item, and
// entry.unread if the account may not read that item.
func (sv *permits) recallItems(p *layout.Plan, group []entry, keys []any) error {
	items, err := sv.store.table.ReadLocked(sv.w, p.Table, keys)
	if err != nil {
		return err
	}
	byID := make(map[string]*engine.Item, len(items))
	for _, it := range items {
		byID[it.ID] = it
	}
	read, err := sv.readableIDs(items...)
	if err != nil {
		return err
	}
	for i := range group {
		e := &group[i]
		e.was = byID[keyText(e.key)]
		e.unread = e.was != nil && !read[e.was.ID]
	}
	return nil
}

// recallOne sets e.was to before, the stored item or nil. If the entry sets a restricted reference, it also sets
// e.unread to whether the account may not read the stored item.
func (sv *permits) recallOne(e *entry, before *engine.Item) error {
	e.was = before
	if before == nil || !sv.setsRestricted(e) {
		return nil
	}
	read, err := sv.readableIDs(before)
	e.unread = !read[before.ID]
	return err
}

// readableIDs returns the ids of the items that the account may read. All items belong to one table.
func (sv *permits) readableIDs(items ...*engine.Item) (map[string]bool, error) {
	all := map[string]bool{}
	keys := map[*engine.Class][]any{}
	for _, it := range items {
		switch f := sv.guard.RowFilter(engine.MayRead, it.Class); {
		case f == nil:
			all[it.ID] = true
		case f.Op != engine.OpConst:
			keys[it.Class] = append(keys[it.Class], table.KeyOf(it))
		}
	}
	for c, some := range keys {
		found, err := sv.store.table.FindAdmitted(sv.w, sv.guard, table.Wish{Plan: sv.store.layout.Plans[c], Of: []engine.Permission{engine.MayRead}}, some)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, found)
	}
	return all, nil
}
