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

// ownerValue returns the value that members of collection p store in their reference to the owner.
func ownerValue(owner pending, p *engine.Property) any {
	if p.Binding != nil {
		return owner.item.Values[owner.item.Class.Property(p.Binding.Name).Index]
	}
	return table.KeyOf(owner.item)
}

// relateBack makes a change of a collection of the current owner (sv.owner). The collection has no rows of its own:
// each member stores a reference to the owner.
func (sv *relations) relateBack(m memberChange) error {
	p := m.property
	value := ownerValue(sv.owner, p)
	if value == nil {
		if len(m.add) == 0 {
			return nil // no item can refer to the owner
		}
		e := engine.Errorf(engine.Invalid, "required", "attribute %s must have a value before %s can have members", engine.Quote(p.Binding.Name), engine.Quote(p.Name))
		e.Class, e.Attribute = sv.owner.entry.plan.Class.FullName, p.Binding.Name
		return e
	}
	known, ids, remove := sv.knownKeys(m)
	sv.ordering.dropAwaited(value, m, known, remove)
	pointing, err := sv.findReferring(p, value, append(slices.Clone(known), remove...), m.replace)
	if err != nil {
		return err
	}
	// Remove members before adding others, because the reference may be unique.
	left, err := sv.clearBack(p, value, pointing, known, remove, m.replace)
	if err != nil {
		return err
	}
	if m.replace {
		sv.noteReplaced(p, value, pointing, known, left)
	}
	before := sv.moves.count
	members, err := sv.memberKeys(sv.owner.entry, m, func(v engine.Values, c *engine.Class) {
		if back := c.Property(p.Back.Name); !layout.StorageDiffers(back, p.Back) {
			v[back.Index] = ownerValue(sv.owner, p)
		}
	})
	if err != nil {
		return err
	}
	if err := sv.refuseDivided(p, members); err != nil {
		return err
	}
	t := sv.ordering.tableOf(p.Target)
	if len(ids) < len(m.add) { // a record among the members may also be named by an id
		now, err := sv.findReferring(p, ownerValue(sv.owner, p), ids, false)
		if err != nil {
			return err
		}
		for id, here := range now {
			if _, there := pointing[id]; !there {
				pointing[id] = here
			}
		}
	}
	var joining, staying []any
	absent := map[string]bool{}
	for _, key := range table.Distinct(ids) {
		here, there := pointing[engine.ValueText(key)]
		key = sv.moves.presentKey(before, t, key)
		switch {
		case !there:
			sv.ordering.awaitMember(sv.owner, p, key)
			absent[engine.ValueText(key)] = true
		case here:
			staying = append(staying, key)
			pointing[engine.ValueText(key)] = true
		default:
			joining = append(joining, key)
		}
	}
	if err := sv.permits.admitStaying(p, staying); err != nil {
		return err
	}
	before = sv.moves.count
	if err := sv.setBack(p, nil, ownerValue(sv.owner, p), joining); err != nil || !sv.owner.item.Class.Journaling {
		return err
	}
	joined := slices.DeleteFunc(table.Distinct(members), func(key any) bool { return pointing[engine.ValueText(key)] || absent[engine.ValueText(key)] })
	for i := range joined {
		joined[i] = sv.moves.presentKey(before, t, joined[i])
	}
	return sv.journaling.journalMembers(sv.owner.item, p, &membership{joined, left})
}

// replacement describes a replaced collection of an existing owner. Its members store references to the owner.
type replacement struct {
	property *engine.Property
	value    any             // the reference to the owner
	kept     map[string]bool // ids of the items that the save knows as members; they can refer to the owner at the end
}

// noteReplaced records that the save has replaced the members of a collection of the current owner, for checkReplaced.
// pointing is the result of findReferring before the change. known contains the new members, and left contains the
// former members that were removed.
func (sv *relations) noteReplaced(p *engine.Property, value any, pointing map[string]bool, known, left []any) {
	if sv.store.traits.LockKey == "" || sv.owner.entry.how == insert {
		return
	}
	kept := maps.Clone(pointing)
	for _, key := range left {
		delete(kept, engine.ValueText(key))
	}
	for _, key := range known {
		kept[engine.ValueText(key)] = true
	}
	sv.replaced = append(sv.replaced, replacement{p, value, kept})
	if sv.wrote == nil {
		sv.wrote = map[table.ItemKey]bool{}
	}
}

// noteWritten records that the save has written an item, if checkReplaced needs this information.
func (sv *relations) noteWritten(t *layout.Table, id string) {
	if sv.wrote != nil {
		sv.wrote[table.ItemKey{Table: t, Key: id}] = true
	}
}

// checkReplaced checks that the replaced collections contain only members that the save knows. A concurrent
// transaction may have added a member after the save read the members. If the save then waited for that transaction,
// the response to the other request may be sent before the response to the save. The other write thus counts as the
// earlier one, and the replacement must remove its member. checkReplaced then returns errRelinked to repeat the save.
func (sv *relations) checkReplaced() error {
	if sv.attempts > maxMemberChecks || sv.shaken {
		return nil
	}
	for _, r := range sv.replaced {
		found, err := sv.findReferring(r.property, r.value, nil, true)
		if err != nil {
			return err
		}
		t := sv.ordering.tableOf(r.property.Target)
		var added []any
		for id := range found {
			if key, ok := r.property.Target.KeyValues(id); ok && !r.kept[id] && !sv.wrote[table.ItemKey{Table: t, Key: id}] {
				added = append(added, key[0])
			}
		}
		if len(added) == 0 {
			continue
		}
		if added, err = sv.permits.permittedKeys(sv.store.layout.Plans[r.property.Target], added, engine.MayRead); err != nil {
			return err
		}
		if len(added) > 0 {
			return conns.MarkAgain(errRelinked)
		}
	}
	return nil
}

// knownKeys returns three lists of keys for a change of a collection:
//   - known contains the members to be added, except those that get their key only when they are written.
//   - ids is the part of known that the caller gave as ids, not as records.
//   - remove contains the members to be removed.
func (sv *relations) knownKeys(m memberChange) (known, ids, remove []any) {
	target := m.property.Target
	t := sv.ordering.tableOf(target)
	for _, member := range m.add {
		switch member := member.(type) {
		case string:
			if key, ok := target.KeyValues(member); ok {
				current := sv.ordering.currentKey(t, key[0])
				known, ids = append(known, current), append(ids, current)
			}
		case *entry:
			if member.key != nil {
				known = append(known, sv.ordering.currentKey(t, member.key[0]))
			}
		}
	}
	for _, id := range m.remove {
		if key, ok := target.KeyValues(id); ok {
			remove = append(remove, sv.ordering.currentKey(t, key[0]))
		}
	}
	return known, ids, remove
}

// findReferring returns the existing items with the keys in asked. If all is true, it also returns all other items
// that refer to value. The items belong to the target class of p. The result maps the id of each item to whether the
// item refers to value, and so is a member of p.
func (sv *relations) findReferring(p *engine.Property, value any, asked []any, all bool) (map[string]bool, error) {
	target := sv.store.layout.Plans[p.Target]
	back := target.Table.Column(p.Back)
	found := map[string]bool{}
	look := func(where func(b *sqldb.Builder)) error {
		b := sqldb.NewBuilder(sv.store.traits)
		b.Add("SELECT ", target.Table.ID.Quoted, ", ", back.Quoted, " FROM ", target.Table.Quoted, " WHERE ")
		where(b)
		if target.ClassCondition() != "" {
			b.Add(" AND ", target.ClassCondition())
		}
		return sv.w.VisitRows(b, 2, func(row []any) {
			here := row[1] != nil && engine.ValueText(sqldb.ReadValue(back.Type, row[1])) == engine.ValueText(value)
			found[engine.ValueText(sqldb.ReadValue(target.Table.ID.Type, row[0]))] = here
		})
	}
	if all {
		if err := look(func(b *sqldb.Builder) { b.Add(back.Quoted, " = "); b.Bind(value) }); err != nil {
			return nil, err
		}
	}
	for chunk := range slices.Chunk(asked, table.BulkRows) {
		if err := look(func(b *sqldb.Builder) {
			sqldb.WriteIn(sv.store.db.Dialect, b, target.Table.ID.Quoted, target.Table.ID.Type, chunk)
		}); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// clearBack clears the reference to the owner in items that are no longer members, and returns their keys. If replace
// is true, these are all present members except those in members; otherwise, they are the items in remove, with the
// same exception. pointing is the result of findReferring.
func (sv *relations) clearBack(p *engine.Property, value any, pointing map[string]bool, members, remove []any, replace bool) (gone []any, err error) {
	leaving := map[string]bool{}
	for _, key := range remove {
		leaving[engine.ValueText(key)] = true
	}
	if replace {
		for id := range pointing {
			leaving[id] = true
		}
	}
	for _, key := range members {
		delete(leaving, engine.ValueText(key))
	}
	for _, id := range slices.Sorted(maps.Keys(leaving)) {
		if key, ok := p.Target.KeyValues(id); ok && pointing[id] {
			gone = append(gone, key[0])
		}
	}
	gone, err = sv.permits.permittedKeys(sv.store.layout.Plans[p.Target], gone, engine.MayRead)
	if err != nil || len(gone) == 0 {
		return nil, err
	}
	if !p.Back.Nullable {
		id := engine.ValueText(gone[0])
		e := engine.Errorf(engine.Invalid, "required", "object %s cannot leave %s: its attribute %s must have a value",
			engine.Quote(id), engine.Quote(p.Name), engine.Quote(p.Back.Name))
		e.Class, e.ID, e.Attribute = p.Target.FullName, id, p.Name
		return nil, e
	}
	return gone, sv.setBack(p, value, nil, gone)
}

// setBack sets the reference to the owner in items to value. If from is not nil, each item must still refer to from.
// If an item is deleted or refers to another owner now, a concurrent transaction has changed the item. In this case
// setBack returns an error that makes the store repeat the whole write (conns.MarkAgain).
func (sv *relations) setBack(p *engine.Property, from, value any, ids []any) error {
	target := sv.store.layout.Plans[p.Target]
	v := engine.NewValues(p.Target)
	v[p.Target.Property(p.Back.Name).Index] = value
	p.Target.Stamp(v, sv.newGenerate(), false)
	if err := sv.permits.admitMembers(p, ids); err != nil {
		return err
	}
	if err := sv.refuseDivided(p, ids); err != nil {
		return err
	}
	if target.Table.Column(p.Back).Key {
		return sv.setKeyBack(p, value, ids)
	}
	for chunk := range slices.Chunk(ids, table.BulkRows) {
		before, err := sv.noteItems(target, chunk, &sv.former)
		if err != nil {
			return err
		}
		sv.ordering.touchItems(p.Target.Root(), chunk...)
		b := sqldb.NewBuilder(sv.store.traits)
		sv.filtered.setAll(b, target, v)
		b.Add(" WHERE ")
		sqldb.WriteIn(sv.store.db.Dialect, b, target.Table.ID.Quoted, target.Table.ID.Type, chunk)
		if from != nil {
			b.Add(" AND ", target.Table.Column(p.Back).Quoted, " = ")
			b.Bind(from)
		}
		n, err := sv.w.Execute(b)
		if err != nil {
			given := func(name string) any { return v[p.Target.Property(name).Index] }
			return withinAttribute(p.Name, sv.store.table.WriteError(target, err, given))
		}
		if n < int64(len(chunk)) {
			return conns.MarkAgain(danglingError(p, engine.ValueText(chunk[0])))
		}
		for _, key := range chunk {
			sv.noteWritten(target.Table, engine.ValueText(key))
		}
		after, err := sv.noteItems(target, chunk, &sv.written)
		if err != nil {
			return err
		}
		if err := sv.journaling.journalWrites(before, after); err != nil {
			return err
		}
	}
	return nil
}

// setKeyBack does the work of setBack if the reference is part of the key of the items. Each of these items gets
// another key, so the references to it are updated too.
func (sv *relations) setKeyBack(p *engine.Property, value any, ids []any) error {
	target := sv.store.layout.Plans[p.Target]
	for _, key := range ids {
		if sv.store.traits.Lock != "" {
			if err := sv.renaming.lockFollowers(target.Table, key, rekeyDepth); err != nil {
				return err
			}
		}
		if _, err := sv.noteItems(target, []any{key}, &sv.former); err != nil {
			return err
		}
		now, err := sv.renaming.followOne(target, p.Back.Name, key, value, rekeyDepth)
		if err != nil {
			return withinAttribute(p.Name, err)
		}
		if engine.ValueText(now) == engine.ValueText(key) {
			return conns.MarkAgain(danglingError(p, engine.ValueText(key))) // a concurrent transaction has changed the item
		}
		sv.ordering.touchItems(p.Target.Root(), now)
		if _, err := sv.noteItems(target, []any{now}, &sv.written); err != nil {
			return err
		}
	}
	return nil
}

// noteItems reads and returns the items with these keys if their class is journaled or has cached attributes. For
// cached attributes, it also appends them to *items: to sv.former before a change, and to sv.written after it.
func (sv *relations) noteItems(p *layout.Plan, keys []any, items *[]*engine.Item) ([]*engine.Item, error) {
	if !p.Caching.Any && !p.Duties.Journaled {
		return nil, nil
	}
	found, err := sv.store.table.ReadLocked(sv.w, p.Table, keys)
	if p.Caching.Any {
		*items = append(*items, found...)
	}
	return found, err
}
