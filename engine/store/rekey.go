package store

import (
	"slices"

	"restsrv/engine"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/read"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/sqlquery"
	"restsrv/engine/store/table"
)

// rekeyDepth limits how far a change of a key spreads: the key of an item can contain a reference to a second item,
// the key of that item a reference to a third one, and so on.
const rekeyDepth = 16

// lockFollowers locks an item whose key will change, and then the items that refer to it. Without these locks, two
// transactions could wait for each other: this one has locked the item and waits for a referring item, while a write
// of the referring item waits in lockTargets for the item. The item is locked before the referring items, because a
// write of a collection also locks the owner before the members. The lock does not block lockTargets.
func (sv *renaming) lockFollowers(t *layout.Table, key any, depth int) error {
	if depth == 0 || !slices.ContainsFunc(t.Pointers, func(p layout.Pointer) bool { return p.Other == "" }) {
		return nil
	}
	if _, err := sv.lockWhere(t, t.ID.Quoted, key, ""); err != nil {
		return err
	}
	for _, p := range t.Pointers {
		if p.Other != "" {
			continue
		}
		keys, err := sv.lockWhere(p.Plan.Table, p.Column, key, p.Classes)
		if err != nil {
			return err
		}
		if !p.Key {
			continue
		}
		for _, key := range keys {
			if err := sv.lockFollowers(p.Plan.Table, key, depth-1); err != nil {
				return err
			}
		}
	}
	return nil
}

// lockWhere locks the rows of a table that have a value in a column, and returns their keys. classes is an additional
// condition, or "".
func (sv *renaming) lockWhere(t *layout.Table, column string, value any, classes string) (keys []any, err error) {
	b := sqldb.NewBuilder(sv.store.traits)
	b.Add("SELECT ", t.ID.Quoted, " FROM ", t.Quoted, " WHERE ", column, " = ")
	b.Bind(value)
	b.Add(classes, " ORDER BY ", t.ID.Quoted, sv.store.traits.Lock)
	err = sv.w.VisitRows(b, 1, func(row []any) { keys = append(keys, sqldb.ReadValue(t.ID.Type, row[0])) })
	return keys, err
}

// mayRename reports whether a write of the values v may change the key of the entry's item.
func (e *entry) mayRename(v engine.Values) bool {
	if e.how == lookup || e.key == nil {
		return false
	}
	given := 0
	key := e.plan.Class.KeyProperties()
	for _, p := range key {
		if v[p.Index] != engine.Absent {
			given++
		}
	}
	return given > 0 && (given < len(key) || e.plan.Class.ID(v) != keyText(e.key))
}

// followMove updates all references to an item if the write of e has changed the item's key. It then reads the item
// again, because the item may refer to itself.
func (sv *renaming) followMove(e *entry, it *engine.Item) error {
	if e.key == nil || keyText(e.key) == it.ID {
		return nil
	}
	key := table.KeyOf(it)
	if err := sv.followAll(e.plan.Table, e.key[0], key, rekeyDepth); err != nil {
		return err
	}
	p := sv.store.layout.Plans[it.Class]
	_, err := read.One(sv.w, sv.w.Ctx, p.SQL().Get, p, it, []any{key})
	return err
}

// followAll changes all references to an item of t, and all data that names the item, from one key to another.
func (sv *renaming) followAll(t *layout.Table, from, to any, depth int) error {
	sv.ordering.applyRename(t, from, to)
	for _, pointer := range t.Pointers {
		var err error
		switch {
		case pointer.Other != "":
			err = sv.followLink(pointer, from, to)
		case pointer.Key:
			err = sv.followKey(pointer, from, to, depth)
		default:
			err = sv.followReference(t, pointer, from, to)
		}
		if err != nil {
			return err
		}
	}
	return sv.store.owned.Follow(sv.w, t, from, to)
}

// followReference updates the references in one column. The referring items change, so they get a new revision.
func (sv *renaming) followReference(t *layout.Table, p layout.Pointer, from, to any) error {
	b := sv.followStatement(p, from, to)
	if p.Plan.Duties.Journaled || p.Plan.SharesColumn(p.Column) {
		if err := sv.followWatched(t, p, from, to); err != nil {
			return err
		}
		// followWatched finds only items of known classes. Rows of removed classes have references too; the next
		// statement changes these. It must leave the rows of known classes alone: a concurrent transaction may have
		// added some, and the journal would lack their change.
		others := p.Plan.ClassCondition()
		if others == "" {
			return nil
		}
		b.Add(" AND NOT (", others, ")")
	}
	_, err := sv.w.Execute(b)
	return err
}

// followWatched does the work of followReference in two cases: the changes must be journaled, or the reference shares
// index entries with other columns, so that the sizes of the entries must be checked. If an item refers to itself, the
// change of the reference is journaled together with the change of its key, not here.
func (sv *renaming) followWatched(t *layout.Table, p layout.Pointer, from, to any) error {
	b := sv.followStatement(p, from, to)
	b.Add(sqlquery.AndCondition(p.Plan.ClassCondition()))
	items, err := table.RunReturning(sv.w, b, p.Plan)
	if err != nil {
		return err
	}
	for _, it := range items {
		if p.Plan.Table == t && it.ID == engine.ValueText(to) {
			continue
		}
		v := engine.NewValues(it.Class)
		v[it.Class.Property(p.PropertyName()).Index] = to
		if err := sv.store.layout.CheckSharedSizes(sv.store.layout.Plans[it.Class], v, it); err != nil {
			return err
		}
		was := it.Clone()
		was.Values[it.Class.Property(p.PropertyName()).Index] = from
		if err := sv.journaling.journalWrite(was, it); err != nil {
			return err
		}
	}
	return nil
}

// followStatement returns the statement that changes the references in one column from one key to another.
func (sv *renaming) followStatement(p layout.Pointer, from, to any) *sqldb.Builder {
	b := sqldb.NewBuilder(sv.store.traits)
	b.Add("UPDATE ", p.Table, " SET ", p.Column, " = ")
	b.Bind(to)
	b.Add(", ", layout.RevColumn, " = ")
	b.Bind(table.NewRevision())
	b.Add(" WHERE ", p.Column, " = ")
	b.Bind(from)
	b.Add(p.Classes)
	return b
}

// followLink updates the links in one column. There may be links to the new key already, although no item had this
// key. If two links become equal, followLink keeps one of them.
func (sv *renaming) followLink(p layout.Pointer, from, to any) error {
	b := sqldb.NewBuilder(sv.store.traits)
	b.Add("DELETE FROM ", p.Table, " WHERE ", p.Column, " = ")
	b.Bind(from)
	b.Add(" AND ", p.Other, " IN (SELECT ", p.Other, " FROM ", p.Table, " WHERE ", p.Column, " = ")
	b.Bind(to)
	b.Add(")")
	if _, err := sv.w.Execute(b); err != nil {
		return err
	}
	b = sqldb.NewBuilder(sv.store.traits)
	b.Add("UPDATE ", p.Table, " SET ", p.Column, " = ")
	b.Bind(to)
	b.Add(" WHERE ", p.Column, " = ")
	b.Bind(from)
	var others []any
	var err error
	if len(engine.ValueText(to)) > len(engine.ValueText(from)) {
		b.Returning(p.Other)
		err = sv.w.VisitRows(b, 1, func(row []any) { others = append(others, sqldb.ReadValue(engine.String, row[0])) })
	} else {
		_, err = sv.w.Execute(b)
	}
	if _, met := sv.store.db.Dialect.Duplicate(err, []sqldb.Index{{Name: p.Unique}}); met {
		return conns.MarkAgain(err) // another transaction has added the same link since the first statement
	}
	if err != nil || len(others) == 0 {
		return err
	}
	return layout.LinksFit(p.Collection, to, others)
}

// followKey updates references that are part of the key of their items. The keys of these items change as a result.
func (sv *renaming) followKey(p layout.Pointer, from, to any, depth int) error {
	if depth == 0 {
		return engine.Errorf(engine.Invalid, "key", "the key cannot be changed: too many keys depend on it")
	}
	t := p.Plan.Table
	b := sqldb.NewBuilder(sv.store.traits)
	b.Add("SELECT ", t.ID.Quoted, " FROM ", t.Quoted, " WHERE ", p.Column, " = ")
	b.Bind(from)
	b.Add(p.Classes)
	var keys []any
	if err := sv.w.VisitRows(b, 1, func(row []any) { keys = append(keys, sqldb.ReadValue(t.ID.Type, row[0])) }); err != nil {
		return err
	}
	for _, key := range keys {
		if _, err := sv.followOne(p.Plan, p.PropertyName(), key, to, depth); err != nil {
			return err
		}
	}
	return nil
}

// followOne changes a reference that is part of the key of an item. name is the name of the reference. The key of the
// item changes as a result, so followOne updates the references to the item, and returns the new key.
func (sv *renaming) followOne(p *layout.Plan, name string, key, to any, depth int) (any, error) {
	t := p.Table
	var before []*engine.Item
	if p.Duties.Journaled {
		var err error
		if before, err = sv.store.table.ReadLocked(sv.w, t, []any{key}); err != nil {
			return nil, err
		}
	}
	it := &engine.Item{}
	v := engine.NewValues(p.Class)
	v[p.Class.Property(name).Index] = to
	c := table.Change{Key: []any{key}, Values: v, Editor: sv.editorID(p)}
	found, err := sv.store.table.Update(sv.w, p, it, c)
	if err != nil || !found || it.ID == engine.ValueText(key) {
		return key, err
	}
	if err := sv.store.table.KeepWords(sv.w, p, it); err != nil {
		return nil, err
	}
	now := table.KeyOf(it)
	if err := sv.followAll(t, key, now, depth-1); err != nil || len(before) == 0 {
		return now, err
	}
	after, err := sv.store.table.ReadLocked(sv.w, t, []any{now}) // read again, because the item may refer to itself
	if err != nil || len(after) == 0 {
		return now, err
	}
	return now, sv.journaling.journalWrite(before[0], after[0])
}
