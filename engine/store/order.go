package store

import (
	"database/sql"
	"slices"

	"restsrv/engine"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/sqlquery"
	"restsrv/engine/store/table"
)

// The records of a Save take effect in order, as if they were saved one after the other, each with its nested records
// and collections. Records of one class still share statements where this makes no difference (see mustClose). There
// is one exception: a collection may name a member that a later record creates (see awaited). The returned items have
// the values that are stored at the end of the save (see refreshItems).

// moves lists the changes of keys that one record causes, in order. There may be hundreds of thousands of them, because
// many records can be nested in the collections of that record.
type moves struct {
	count int
	from  map[place][]move // by the table of the item and the key before the change
}

// move is a change of a key. number is its position among all changes of the record, from 0.
type move struct {
	number int
	to     any // the new key
}

func (m *moves) add(t *layout.Table, from, to any) {
	if m.from == nil {
		m.from = map[place][]move{}
	}
	at := place{t, engine.ValueText(from)}
	m.from[at] = append(m.from[at], move{m.count, to})
	m.count++
}

// presentKey returns the present key of an item. key is the item's key before the change with the given number.
func (m *moves) presentKey(number int, t *layout.Table, key any) any {
	for number < m.count {
		of := m.from[place{t, engine.ValueText(key)}]
		i, _ := slices.BinarySearchFunc(of, number, func(one move, number int) int { return one.number - number })
		if i == len(of) {
			break
		}
		key, number = of[i].to, of[i].number+1
	}
	return key
}

// currentKey returns the present key of an item that the current record names by key, and may have renamed already.
func (sv *ordering) currentKey(t *layout.Table, key any) any { return sv.moves.presentKey(0, t, key) }

// tableOf returns the table of a class, or nil if the store has none.
func (sv *ordering) tableOf(c *engine.Class) *layout.Table {
	if p := sv.store.layout.Plans[c]; p != nil {
		return p.Table
	}
	return nil
}

// enterRecord must be called before the save writes the record with this index. It clears the list of key changes of
// the previous record.
func (sv *ordering) enterRecord(index int) {
	if index != sv.record {
		sv.record, sv.moves = index, moves{}
	}
}

// applyRename updates the state of the save after the key of an item has changed. Several fields of the save contain
// the key or copies of the item.
func (sv *ordering) applyRename(t *layout.Table, from, to any) {
	sv.moves.add(t, from, to)
	sv.shaken = true
	old := engine.ValueText(from)
	for c, keys := range sv.deferred {
		if c.Plan.Table != t {
			continue
		}
		for i, key := range keys {
			if engine.ValueText(key) == old {
				keys[i] = to
			}
		}
	}
	for i := range sv.expected {
		x := &sv.expected[i]
		if sv.tableOf(x.property.Target) == t && engine.ValueText(x.value) == old {
			x.value = to
		}
	}
	rename := func(it **engine.Item) {
		if *it != nil && (*it).ID == old && sv.store.layout.Plans[(*it).Class].Table == t {
			*it = renamedItem(*it, to)
		}
	}
	for _, list := range [][]*engine.Item{sv.items, sv.written} {
		for i := range list {
			rename(&list[i])
		}
	}
	for _, list := range [][]pending{sv.later, sv.waiting} {
		for i := range list {
			rename(&list[i].item)
		}
	}
	for i := range sv.asked {
		rename(&sv.asked[i].item)
	}
	clear(sv.holding)
	for _, a := range sv.awaited {
		rename(&a.owner.item)
		sv.holdAwaited(a)
	}
	rename(&sv.owner.item)
}

// renamedItem returns a copy of an item with another key. The values are copied too, because the caller may own them.
func renamedItem(it *engine.Item, to any) *engine.Item {
	c := *it
	c.ID = engine.ValueText(to)
	if key := c.Class.KeyProperties(); len(key) == 1 {
		c.Values = slices.Clone(c.Values)
		c.Values[key[0].Index] = to
	}
	return &c
}

// redirectKey updates the key of an entry if the current record has changed the key of the entry's item.
func (sv *ordering) redirectKey(e *entry) {
	if e.key == nil || sv.moves.count == 0 {
		return
	}
	key := sv.currentKey(e.plan.Table, e.key[0])
	if engine.ValueText(key) == keyText(e.key) {
		return
	}
	e.key = []any{key}
	if e.how == lookup {
		e.given = slices.Clone(e.given)
		for _, p := range e.plan.Class.KeyProperties() {
			e.given[p.Index] = engine.Absent
		}
	}
}

// redirectReferences updates the references in v, if the current record has changed the keys of their targets.
func (sv *ordering) redirectReferences(p *layout.Plan, v engine.Values) {
	if sv.moves.count == 0 {
		return
	}
	for _, property := range p.Duties.References {
		if value := v[property.Index]; isScalar(value) {
			v[property.Index] = sv.currentKey(sv.tableOf(property.Target), value)
		}
	}
}

// mustClose reports whether the collections of an entry must be written before the row of the next record of its
// class. This is necessary if the collections may change the next record's item, or data on which its defaults or
// permissions depend. If mustClose is false, one statement can write the rows of several records, and their
// collections are written afterwards.
func (sv *ordering) mustClose(e *entry) bool {
	return e.deep != nil && len(e.deep.members) > 0 && (e.plan.Duties.Computed || !sv.guard.SkipsRowChecks(e.plan) || sv.mayReach(e, e.plan.Table))
}

// mayReach reports whether writing the collections or nested records of an entry may change items of table t, or keys
// to which items of t refer.
func (sv *ordering) mayReach(e *entry, t *layout.Table) bool {
	if e.deep == nil {
		return false
	}
	inner := func(e *entry) bool { return e.plan.Table == t || e.how == rekey || sv.mayReach(e, t) }
	if slices.ContainsFunc(e.deep.records, func(n nested) bool { return inner(n.entry) }) {
		return true
	}
	return slices.ContainsFunc(e.deep.members, func(m memberChange) bool {
		if m.property.Back != nil && sv.tableOf(m.property.Target) == t {
			return true
		}
		return slices.ContainsFunc(m.add, func(member any) bool {
			e, ok := member.(*entry)
			return ok && inner(e)
		})
	})
}

// awaited is a member that a collection names although the member does not exist yet. The link is a reference in the
// row of the member, so it cannot be stored before the member exists. If a later record of the save creates the member
// without setting this reference itself, the member is added to the collection.
type awaited struct {
	owner    pending
	property *engine.Property
	key      any
	dropped  bool // a later record has removed the member or moved it to another collection
	arrived  bool // the member was written
}

// place identifies an item by its table and id. It can also identify a collection: then table is the table of the
// members, and id is a text from collectionOf.
type place struct {
	table *layout.Table
	id    string
}

// awaitMember records that a collection of owner names a member that does not exist yet.
func (sv *ordering) awaitMember(owner pending, p *engine.Property, key any) {
	at := place{sv.tableOf(p.Target), engine.ValueText(key)}
	for _, a := range sv.awaiting[at] {
		a.dropped = a.dropped || a.property.Back.Name == p.Back.Name
	}
	a := &awaited{owner: owner, property: p, key: key}
	if sv.awaiting == nil {
		sv.awaiting, sv.holding = map[place][]*awaited{}, map[place][]*awaited{}
	}
	sv.awaited, sv.awaiting[at] = append(sv.awaited, a), append(sv.awaiting[at], a)
	sv.holdAwaited(a)
}

// collectionOf identifies a collection by the reference p.Back of its members and the value of this reference.
func (sv *ordering) collectionOf(p *engine.Property, value any) place {
	return place{sv.tableOf(p.Target), p.Back.Name + "#" + engine.ValueText(value)}
}

func (sv *ordering) holdAwaited(a *awaited) {
	at := sv.collectionOf(a.property, ownerValue(a.owner, a.property))
	sv.holding[at] = append(sv.holding[at], a)
}

// dropAwaited marks awaited members as dropped if the change m removes them from their collection: the members in
// remove and, if the change replaces the collection, all members that are not in known. value is the value that
// members store in their reference to the owner.
func (sv *ordering) dropAwaited(value any, m memberChange, known, remove []any) {
	if len(sv.awaited) == 0 {
		return
	}
	has := func(keys []any, key any) bool {
		return slices.ContainsFunc(keys, func(k any) bool { return engine.ValueText(k) == engine.ValueText(key) })
	}
	for _, a := range sv.holding[sv.collectionOf(m.property, value)] {
		a.dropped = a.dropped || m.replace && !has(known, a.key) || has(remove, a.key)
	}
}

// markArrived must be called for each written item. If collections await the item, joinArrived will add it to them.
func (sv *ordering) markArrived(e *entry, it *engine.Item) {
	at := place{e.plan.Table, it.ID}
	var others []*awaited
	for _, a := range sv.awaiting[at] {
		if it.Class != a.property.Target && !slices.Contains(a.property.Target.Descendants, it.Class) {
			others = append(others, a)
			continue
		}
		a.arrived = true
		back := e.plan.Class.Property(a.property.Back.Name)
		if !a.dropped && (back == nil || e.given[back.Index] == engine.Absent) {
			sv.arrived = append(sv.arrived, a)
		}
	}
	sv.awaiting[at] = others
}

// joinArrived takes the awaited members that were written and adds each of them to its collection.
func (sv *ordering) joinArrived() error {
	for len(sv.arrived) > 0 {
		first, n := sv.arrived[0], 1
		keys := []any{first.key}
		for ; n < len(sv.arrived) && sv.arrived[n].owner.entry == first.owner.entry && sv.arrived[n].property == first.property; n++ {
			keys = append(keys, sv.arrived[n].key)
		}
		sv.arrived = sv.arrived[n:]
		err := sv.relations.setBack(first.property, nil, ownerValue(first.owner, first.property), keys)
		if err == nil && first.owner.item.Class.Journaling {
			err = sv.journaling.journalMembers(first.owner.item, first.property, &membership{joined: keys})
		}
		if err != nil {
			return sv.relations.withRecordIndex(first.owner.entry, withinAttribute(first.owner.entry.path(), err))
		}
	}
	return nil
}

// settleAwaited returns an error if an awaited member does not exist at the end of the save. A member for which no
// record was written can still exist, because a record may have given its key to another item.
func (sv *ordering) settleAwaited() error {
	for _, a := range sv.awaited {
		if a.arrived {
			continue
		}
		found, err := sv.relations.findReferring(a.property, ownerValue(a.owner, a.property), []any{a.key}, false)
		if err != nil {
			return err
		}
		id := engine.ValueText(a.key)
		if _, there := found[id]; !there {
			return sv.relations.withRecordIndex(a.owner.entry, withinAttribute(a.owner.entry.path(), sv.permits.noMember(a.property, id)))
		}
		if a.arrived = true; !a.dropped {
			sv.arrived = append(sv.arrived, a)
		}
	}
	return sv.joinArrived()
}

// innerItem is the item of a nested record. saved is called with the item when the item has its final state.
type innerItem struct {
	item  *engine.Item
	saved func(*engine.Item)
}

// touchItems records that these items may have changed after the save wrote their records.
func (sv *ordering) touchItems(root *engine.Class, keys ...any) {
	if sv.touched == nil {
		sv.touched = map[table.Identity]bool{}
	}
	for _, key := range keys {
		sv.touched[table.Identity{Root: root, ID: engine.ValueText(key)}] = true
	}
}

// isDisturbed reports whether an item may have changed since the writing of the current record began.
func (sv *ordering) isDisturbed(it *engine.Item) bool {
	return sv.moves.count > 0 || sv.touched[table.IdentityOf(it)]
}

// touchRepeated calls touchItems for items that several records of the call have written. Only the last result is
// current.
func (sv *ordering) touchRepeated() {
	seen := make(map[table.Identity]bool, len(sv.items))
	for _, it := range sv.items {
		if it == nil {
			continue
		}
		at := table.IdentityOf(it)
		if seen[at] {
			sv.touchItems(at.Root, at.ID)
		}
		seen[at] = true
	}
}

// rereadWritten reads the items in sv.written again if they may have changed since they were written. It is called
// before the cached attributes of these items are computed.
func (sv *ordering) rereadWritten() error {
	seen := make(map[table.Identity]bool, len(sv.written))
	once := slices.DeleteFunc(slices.Clone(sv.written), func(it *engine.Item) bool {
		at := table.IdentityOf(it)
		twice := seen[at]
		seen[at] = true
		return twice
	})
	if len(once) == len(sv.written) && !sv.shaken {
		return nil
	}
	sv.shaken = true // cached.Writer.Update updates the items that were read here, not the result of the call
	sv.written = nil
	for chunk := range slices.Chunk(once, table.BulkRows) {
		items, err := sv.store.table.RereadLocked(sv.w, chunk)
		if err != nil {
			return err
		}
		sv.written = append(sv.written, items...)
	}
	return nil
}

// refreshItems reads the items of the result again if they may have changed since they were written, and then calls
// innerItem.saved for nested records.
func (sv *ordering) refreshItems() error {
	if sv.groups > 1 {
		sv.touchRepeated()
	}
	if sv.shaken || len(sv.touched) > 0 {
		if err := sv.rereadStale(); err != nil {
			return err
		}
	}
	for _, n := range sv.asked {
		n.saved(n.item)
	}
	return nil
}

// rereadStale reads items of the result again if they may have changed since they were written, and replaces them.
func (sv *ordering) rereadStale() error {
	var stale []**engine.Item
	add := func(it **engine.Item) {
		if *it != nil && (sv.shaken || sv.touched[table.IdentityOf(*it)]) {
			stale = append(stale, it)
		}
	}
	for i := range sv.items {
		add(&sv.items[i])
	}
	for i := range sv.asked {
		add(&sv.asked[i].item)
	}
	keys := map[*layout.Table][]any{}
	for _, it := range stale {
		t := sv.tableOf((*it).Class)
		keys[t] = append(keys[t], table.KeyOf(*it))
	}
	fresh := make(map[table.Identity]*engine.Item, len(stale))
	for t, all := range keys {
		for chunk := range slices.Chunk(table.Distinct(all), table.BulkRows) {
			if err := sv.readInto(fresh, sv.store.layout.Plans[t.Classes[0]], chunk); err != nil {
				return err
			}
		}
	}
	for _, it := range stale {
		if now := fresh[table.IdentityOf(*it)]; now != nil {
			*it = now.Clone()
		}
	}
	return nil
}

// readInto reads the items of a table with these keys into items, with the columns that a write returns.
func (sv *ordering) readInto(items map[table.Identity]*engine.Item, root *layout.Plan, keys []any) error {
	b := sqldb.NewBuilder(sv.store.traits)
	b.Add("SELECT ", root.SQL().Selected.List, " FROM ", root.Table.Quoted, " WHERE ")
	sqldb.WriteIn(sv.store.db.Dialect, b, root.Table.ID.Quoted, root.Table.ID.Type, keys)
	b.Add(sqlquery.AndCondition(root.ClassCondition()))
	scan := sv.w.NewScanner(root.SQL().Selected)
	return sv.w.EachRow(sv.w.Ctx, b.Text(), b.Args, func(rows *sql.Rows) error {
		if err := scan(rows); err != nil {
			return err
		}
		it := &engine.Item{}
		root.LoadRow(it, sv.w.Raw)
		items[table.IdentityOf(it)] = it
		return nil
	})
}
