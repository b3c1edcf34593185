package store

import (
	"slices"

	"restsrv/engine"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/table"
)

// pending is a written item with collections that are still to be written.
type pending struct {
	entry *entry
	item  *engine.Item
}

// finish does the work that must wait until the rows of all records are written. It writes collections, which may
// contain further records. It checks references and computes cached attributes. It checks the permissions that depend
// on the final state of the items, and stores the journal.
func (sv *relations) finish() error {
	if err := sv.relateAll(); err != nil {
		return err
	}
	if err := sv.ordering.settleAwaited(); err != nil {
		return err
	}
	if err := sv.references.checkReferences(); err != nil {
		return err
	}
	if len(sv.written)+len(sv.former) > 0 {
		if err := sv.ordering.rereadWritten(); err != nil {
			return err
		}
		if err := sv.store.cached.Update(sv.w, sv.written, sv.former); err != nil {
			return sv.permits.ownError(err)
		}
	}
	if err := sv.permits.checkDeferred(); err != nil {
		return err
	}
	if err := sv.journaling.journalUnseen(); err != nil {
		return err
	}
	if err := sv.journaling.keepRecords(); err != nil {
		return err
	}
	if err := sv.ordering.refreshItems(); err != nil {
		return err
	}
	return sv.relations.checkReplaced()
}

// lockLinks locks the items whose links the entries change, before the save reads any link:
//   - Members are locked so that they are not deleted and keep their keys.
//   - An owner is locked if an entry replaces all its members. Other transactions then cannot add links to this owner
//     by writing a member. Otherwise, a save that replaces the members of several owners could see only some of the
//     links that a concurrent transaction adds.
func (sv *relations) lockLinks(entries []entry) error {
	if sv.store.traits.LockKey == "" {
		return nil
	}
	var owners, members map[*layout.Table][]any
	for i := range entries {
		if entries[i].deep == nil {
			continue
		}
		if owners == nil {
			owners, members = map[*layout.Table][]any{}, map[*layout.Table][]any{}
		}
		sv.linksOfEntry(&entries[i], owners, members)
	}
	if owners == nil {
		return nil
	}
	sv.locked = map[table.ItemKey]bool{}
	if err := sv.store.table.LockItems(sv.w, owners, sv.store.traits.LockGone, sv.locked); err != nil {
		return err
	}
	found := map[table.ItemKey]bool{}
	if err := sv.store.table.LockItems(sv.w, members, sv.store.traits.LockKey, found); err != nil {
		return err
	}
	return sv.excludeCreators(entries, members, found)
}

// excludeCreators handles members that the entries name but that do not exist. found contains the members that exist.
// The response does not contain a missing member, so no other transaction may create the member before this one
// commits. A missing row cannot be locked. Therefore excludeCreators waits for other transactions that are writing to
// the table, and excludes writers of the table until this transaction ends. It then locks the members that have been
// created in the meantime. Members that the entries themselves create need no lock.
func (sv *relations) excludeCreators(entries []entry, members map[*layout.Table][]any, found map[table.ItemKey]bool) error {
	missing := map[*layout.Table][]any{}
	for t, keys := range members {
		for _, key := range keys {
			if !found[table.ItemKey{Table: t, Key: engine.ValueText(key)}] {
				missing[t] = append(missing[t], key)
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	created := map[table.ItemKey]bool{}
	for i := range entries {
		if e := &entries[i]; e.key != nil {
			created[table.ItemKey{Table: e.plan.Table, Key: keyText(e.key)}] = true
		}
	}
	for _, t := range sv.store.layout.Tables {
		missing[t] = slices.DeleteFunc(missing[t], func(key any) bool {
			return created[table.ItemKey{Table: t, Key: engine.ValueText(key)}]
		})
		if len(missing[t]) == 0 {
			continue
		}
		if err := sv.store.pool.Exclude(sv.w, sv.store.traits.ExcludeWriters, t.Quoted); err != nil {
			return err
		}
	}
	return sv.store.table.LockItems(sv.w, missing, sv.store.traits.LockKey, nil)
}

// lockOwner locks the current owner, unless it is already locked. lockLinks misses an owner that another transaction
// creates after lockLinks has run. lockOwner also locks the owners of the collections that are written next.
func (sv *relations) lockOwner() error {
	if sv.store.traits.LockKey == "" || sv.isLocked(sv.owner) {
		return nil
	}
	keys := map[*layout.Table][]any{}
	for _, all := range [][]pending{{sv.owner}, sv.later, sv.waiting} {
		for _, p := range all {
			if replacesLinks(p.entry) && !sv.isLocked(p) {
				keys[p.entry.plan.Table] = append(keys[p.entry.plan.Table], table.KeyOf(p.item))
			}
		}
	}
	if sv.locked == nil {
		sv.locked = map[table.ItemKey]bool{}
	}
	return sv.store.table.LockItems(sv.w, keys, sv.store.traits.LockGone, sv.locked)
}

// isLocked reports whether other transactions cannot change the links of an owner, because the owner is locked, or
// because this save has inserted it and other transactions cannot see it yet.
func (sv *relations) isLocked(p pending) bool {
	return p.entry.how == insert || sv.locked[table.ItemKey{Table: p.entry.plan.Table, Key: engine.ValueText(table.KeyOf(p.item))}]
}

// replacesLinks reports whether an entry replaces all members of a collection that has a mirror.
func replacesLinks(e *entry) bool {
	return slices.ContainsFunc(e.deep.members, func(m memberChange) bool { return m.replace && m.property.Mirror != nil })
}

// linksOfEntry collects the keys of items whose links an entry changes, also in nested records. It adds the members
// that the entry names to members. If the entry replaces a collection that has a mirror, it adds the entry's item to
// owners.
func (sv *relations) linksOfEntry(e *entry, owners, members map[*layout.Table][]any) {
	if e.deep == nil {
		return
	}
	for _, n := range e.deep.records {
		sv.linksOfEntry(n.entry, owners, members)
	}
	for _, m := range e.deep.members {
		for _, member := range m.add {
			if inner, ok := member.(*entry); ok {
				sv.linksOfEntry(inner, owners, members)
			}
		}
		if m.property.Back != nil {
			continue
		}
		if m.replace && m.property.Mirror != nil && e.key != nil {
			owners[e.plan.Table] = append(owners[e.plan.Table], e.key[0])
		}
		t := sv.ordering.tableOf(m.property.Target)
		note := func(id string) {
			if key, ok := m.property.Target.KeyValues(id); ok {
				members[t] = append(members[t], key[0])
			}
		}
		for _, member := range m.add {
			if id, ok := member.(string); ok {
				note(id)
			}
		}
		for _, id := range m.remove {
			note(id)
		}
	}
}

// relateAll writes the collections of all records, record by record. The rows of these records are already written.
func (sv *relations) relateAll() error {
	if err := sv.ordering.joinArrived(); err != nil {
		return err
	}
	byRecord := func(a, b pending) int { return a.entry.index - b.entry.index }
	if !slices.IsSortedFunc(sv.later, byRecord) {
		slices.SortStableFunc(sv.later, byRecord)
	}
	for len(sv.later) > 0 {
		index, n := sv.later[0].entry.index, 1
		for n < len(sv.later) && sv.later[n].entry.index == index {
			n++
		}
		sv.ordering.enterRecord(index)
		sv.later, sv.waiting = sv.later[:n:n], sv.later[n:]
		if err := sv.relateRecord(); err != nil {
			return err
		}
		sv.later, sv.waiting = sv.waiting, nil
	}
	return nil
}

// relateRecord writes the collections of one record of the call, then those of the records nested in these collections.
func (sv *relations) relateRecord() error {
	for len(sv.later) > 0 {
		sv.owner = sv.later[0]
		sv.later = sv.later[1:]
		for _, m := range sv.owner.entry.deep.members {
			if err := sv.changeCollection(m); err != nil {
				return sv.withRecordIndex(sv.owner.entry, withinAttribute(sv.owner.entry.path(), err))
			}
			if err := sv.ordering.joinArrived(); err != nil {
				return err
			}
		}
	}
	sv.owner = pending{}
	return nil
}

// withRecordIndex adds the index of e's record to an error, if the call is a Save.
func (sv *relations) withRecordIndex(e *entry, err error) error {
	if sv.bulk {
		return atRecord(e.index, err)
	}
	return err
}

// changeCollection makes a change of a collection of the current owner (sv.owner).
func (sv *relations) changeCollection(m memberChange) error {
	if m.property.Back != nil {
		return sv.relateBack(m)
	}
	members, err := sv.memberKeys(sv.owner.entry, m, nil)
	if err != nil {
		return err
	}
	l, t := sv.store.layout.LinkNames.Of(m.property), sv.ordering.tableOf(m.property.Target)
	owner := sv.owner.item
	self := table.KeyOf(owner)
	change := sv.journaling.watchMembers(owner, m.property)
	if m.replace {
		if m.property.Mirror != nil {
			if err := sv.lockOwner(); err != nil {
				return err
			}
		}
		if members, err = sv.keepPrefix(l, self, m.property, members, change); err != nil {
			return err
		}
	}
	for chunk := range slices.Chunk(m.remove, table.BulkRows) {
		ids := make([]any, 0, len(chunk))
		for _, id := range chunk {
			if key, ok := m.property.Target.KeyValues(id); ok {
				ids = append(ids, sv.ordering.currentKey(t, key[0]))
			}
		}
		target := sv.store.layout.Plans[m.property.Target]
		if sv.guard.RestrictsTarget(target.Class) {
			if ids, err = sv.permits.permittedKeys(target, ids, engine.MayRead, engine.MayUse); err != nil {
				return err
			}
		}
		if _, err := sv.unlinkMembers(l, self, m.property, ids, change); err != nil {
			return err
		}
	}
	if err := sv.linkMembers(l, self, m.property, members, change); err != nil {
		return err
	}
	return sv.journaling.journalMembers(owner, m.property, change)
}

// memberKeys returns the keys of the members that are added to a collection of e. Members that were given as records
// are saved first. If fill is not nil, it sets the reference to the owner in the values of these records.
func (sv *relations) memberKeys(e *entry, m memberChange, fill func(v engine.Values, c *engine.Class)) ([]any, error) {
	keys, since := make([]any, 0, len(m.add)), make([]int, 0, len(m.add))
	before := sv.moves.count
	t := sv.ordering.tableOf(m.property.Target)
	for i, member := range m.add {
		if id, ok := member.(string); ok {
			key, ok := m.property.Target.KeyValues(id)
			if !ok {
				return nil, sv.permits.noMember(m.property, id)
			}
			keys, since = append(keys, sv.ordering.currentKey(t, key[0])), append(since, sv.moves.count)
			if m.property.Back == nil || e.handling == engine.Strict || len(m.property.Subclasses) > 0 {
				sv.references.expectTarget(e, m.property, keys[len(keys)-1])
			}
			continue
		}
		inner := *member.(*entry)
		if fill != nil {
			if sv.guard.Hides(engine.MayWrite, m.property.Back) {
				return nil, engine.Denied()
			}
			inner.given = slices.Clone(inner.given)
			fill(inner.given, inner.plan.Class)
			inner.nest = &nest{inner.nest.path, inner.nest.saved, fill}
		}
		it, err := sv.nesting.writeRecord(&inner)
		if err == nil && !m.property.Allows(it.Class) {
			err = notAllowed(m.property, it.Class, it.ID)
		}
		if err != nil {
			return nil, withinAttribute(memberPlace(m.property, i), err)
		}
		if m.property.Back == nil && sv.guard.RestrictsTarget(m.property.Target) {
			sv.references.expectTarget(e, m.property, table.KeyOf(it))
		}
		keys, since = append(keys, table.KeyOf(it)), append(since, sv.moves.count)
	}
	if sv.moves.count > before { // saving one member may have changed the key of another
		for i := range keys {
			keys[i] = sv.moves.presentKey(since[i], t, keys[i])
		}
	}
	return keys, nil
}

// keepPrefix prepares the links of an owner for a new list of members. The stored links that agree with the beginning
// of the new list, in members and order, stay. keepPrefix removes the other links, notes them in change, and returns
// the members that must still be added.
func (sv *relations) keepPrefix(l *layout.Links, owner any, p *engine.Property, members []any, change *membership) ([]any, error) {
	members = table.Distinct(members)
	typ := sv.store.layout.Plans[p.Target].Table.ID.Type
	b := sqldb.NewBuilder(sv.store.traits)
	b.Add("SELECT ", l.Item, " FROM ", l.Quoted, " WHERE ", l.Owner, " = ")
	b.Bind(owner)
	b.Add(" ORDER BY ", layout.SeqColumn)
	var gone []any
	err := sv.w.VisitRows(b, 1, func(row []any) {
		value := sqldb.ReadValue(typ, row[0])
		if len(members) > 0 && engine.ValueText(value) == engine.ValueText(members[0]) {
			members = members[1:]
			return
		}
		gone = append(gone, value)
	})
	if err != nil {
		return nil, err
	}
	if gone, err = sv.permits.permittedKeys(sv.store.layout.Plans[p.Target], gone, engine.MayRead); err != nil {
		return nil, err
	}
	n, err := sv.unlinkMembers(l, owner, p, gone, change)
	if err == nil && n < int64(len(gone)) {
		err = conns.MarkAgain(errRelinked)
	}
	return members, err
}

// errRelinked is the error that makes the store repeat a write because a concurrent transaction has changed links
// since the write read them, for example by changing the key of a member.
var errRelinked = &engine.Error{Code: engine.Unavailable, Reason: "busy", RetryAfter: conns.RetryBusy, Message: "other writes were in the way of this one"}

// unlinkMembers removes links of an owner and returns their number. It adds the removed members to change.
func (sv *relations) unlinkMembers(l *layout.Links, owner any, p *engine.Property, members []any, change *membership) (n int64, err error) {
	typ := sv.store.layout.Plans[p.Target].Table.ID.Type
	for chunk := range slices.Chunk(members, table.BulkRows) {
		b := sqldb.NewBuilder(sv.store.traits)
		b.Add("DELETE FROM ", l.Quoted, " WHERE ", l.Owner, " = ")
		b.Bind(owner)
		b.Add(" AND ")
		sqldb.WriteIn(sv.store.db.Dialect, b, l.Item, typ, chunk)
		gone, err := sv.journaling.membersOf(b, l, p, change.leftKeys())
		if err != nil {
			return 0, err
		}
		n += gone
	}
	return n, nil
}

// linkMembers adds members to a collection of an owner, in the given order. Existing members keep their position.
func (sv *relations) linkMembers(l *layout.Links, owner any, p *engine.Property, members []any, change *membership) error {
	if err := layout.LinksFit(p, owner, members); err != nil {
		return err
	}
	pairs := make([][2]any, len(members))
	for i, m := range members {
		pairs[i] = [2]any{owner, m}
	}
	return sv.linkPairs(l, p, pairs, change)
}

// linkPairs adds links to a collection. Each pair consists of the keys of an owner and a member.
func (sv *relations) linkPairs(l *layout.Links, p *engine.Property, pairs [][2]any, change *membership) error {
	for len(pairs) > 0 {
		n := table.PowerOfTwo(min(len(pairs), table.BulkRows))
		b := sqldb.NewBuilder(sv.store.traits)
		b.Add("INSERT INTO ", l.Quoted, " (", l.Owner, ", ", l.Item, ") VALUES ")
		for i, pair := range pairs[:n] {
			b.Add([]string{"(", ", ("}[min(i, 1)])
			b.Bind(pair[0])
			b.Add(", ")
			b.Bind(pair[1])
			b.Add(")")
		}
		b.SkipExisting(layout.OwnerColumn, layout.ItemColumn)
		if _, err := sv.journaling.membersOf(b, l, p, change.joinedKeys()); err != nil {
			return err
		}
		pairs = pairs[n:]
	}
	return nil
}
