package store

import (
	"slices"

	"restsrv/engine"
)

// rekeyDepth limits how far a change of a key continues through keys that are references.
const rekeyDepth = 16

// lockFollowers locks an item of t before its key changes, and the items with references that follow the change.
// Without these locks a deadlock would be possible: the change would lock the item and wait for a write of a referring
// item, while that write waits in lockTargets. The lock on the item does not block lockTargets. It is taken first,
// because a write of a collection also locks its owner before its members.
func (sv *save) lockFollowers(t *table, key any, depth int) error {
	if depth == 0 || !slices.ContainsFunc(t.pointers, func(p pointer) bool { return p.other == "" }) {
		return nil
	}
	if _, err := sv.lockWhere(t, t.id.quoted, key, ""); err != nil {
		return err
	}
	for _, p := range t.pointers {
		if p.other != "" {
			continue
		}
		keys, err := sv.lockWhere(p.plan.table, p.column, key, p.classes)
		if err != nil {
			return err
		}
		if !p.key {
			continue
		}
		for _, key := range keys {
			if err := sv.lockFollowers(p.plan.table, key, depth-1); err != nil {
				return err
			}
		}
	}
	return nil
}

// lockWhere locks the rows of a table that have a value in a column, and returns their keys. classes is an additional
// condition.
func (sv *save) lockWhere(t *table, column string, value any, classes string) (keys []any, err error) {
	b := newBuilder(sv.store.traits)
	b.add("SELECT ", t.id.quoted, " FROM ", t.quoted, " WHERE ", column, " = ")
	b.bind(value)
	b.add(classes, " ORDER BY ", t.id.quoted, sv.store.traits.Lock)
	err = sv.w.visitRows(b, 1, func(row []any) { keys = append(keys, readValue(t.id.typ, row[0])) })
	return keys, err
}

// mayRename reports whether the values may change the key of the item of e.
func (e *entry) mayRename(v engine.Values) bool {
	if e.how == lookup || e.key == nil {
		return false
	}
	given := 0
	key := e.plan.class.KeyProperties()
	for _, p := range key {
		if v[p.Index] != engine.Absent {
			given++
		}
	}
	return given > 0 && (given < len(key) || e.plan.class.ID(v) != keyText(e.key))
}

// followMove updates all references to an item if the write of e has changed its key. It then reads the item again,
// because it may refer to itself.
func (sv *save) followMove(e *entry, it *engine.Item) error {
	if e.key == nil || keyText(e.key) == it.ID {
		return nil
	}
	key := keyOf(it)
	if err := sv.followAll(e.plan.table, e.key[0], key, rekeyDepth); err != nil {
		return err
	}
	p := sv.store.plans[it.Class]
	_, err := sv.w.readOne(sv.w.ctx, p.sql().get, p, it, []any{key})
	return err
}

// followAll changes all references to an item of t from one key to another.
func (sv *save) followAll(t *table, from, to any, depth int) error {
	sv.applyRename(t, from, to)
	for _, pointer := range t.pointers {
		var err error
		switch {
		case pointer.other != "":
			err = sv.followLink(pointer, from, to)
		case pointer.key:
			err = sv.followKey(pointer, from, to, depth)
		default:
			err = sv.followReference(t, pointer, from, to)
		}
		if err != nil {
			return err
		}
	}
	if err := sv.followStages(t, from, to); err != nil {
		return err
	}
	if err := sv.followGrants(t, from, to); err != nil {
		return err
	}
	return sv.followFiles(t, from, to)
}

// followReference updates reference attributes. The revision of the referring items changes, because their content
// does.
func (sv *save) followReference(t *table, p pointer, from, to any) error {
	if p.plan.duties.journaled || p.plan.sharesColumn(p.column) {
		if err := sv.followTold(t, p, from, to); err != nil {
			return err
		}
	}
	_, err := sv.w.execute(sv.followStatement(p, from, to))
	return err
}

// followTold is followReference for items that have a journal, or in which the reference shares an index. A reference
// of an item to itself is journaled together with its key.
func (sv *save) followTold(t *table, p pointer, from, to any) error {
	b := sv.followStatement(p, from, to)
	b.add(andCondition(p.plan.classCondition()))
	items, err := sv.w.runReturning(b, p.plan)
	if err != nil {
		return err
	}
	for _, it := range items {
		if p.plan.table == t && it.ID == engine.ValueText(to) {
			continue
		}
		v := engine.NewValues(it.Class)
		v[it.Class.Property(p.propertyName()).Index] = to
		if err := sv.store.checkSharedSizes(sv.store.plans[it.Class], v, it); err != nil {
			return err
		}
		was := it.Clone()
		was.Values[it.Class.Property(p.propertyName()).Index] = from
		if err := sv.journalWrite(was, it); err != nil {
			return err
		}
	}
	return nil
}

// followStatement returns the statement of followReference.
func (sv *save) followStatement(p pointer, from, to any) *builder {
	b := newBuilder(sv.store.traits)
	b.add("UPDATE ", p.table, " SET ", p.column, " = ")
	b.bind(to)
	b.add(", ", revColumn, " = ")
	b.bind(newRevision())
	b.add(" WHERE ", p.column, " = ")
	b.bind(from)
	b.add(p.classes)
	return b
}

// propertyName returns the name of the property that holds the reference.
func (p pointer) propertyName() string {
	columns := p.plan.table.columns
	return columns[slices.IndexFunc(columns, func(c *column) bool { return c.quoted == p.column })].property
}

// followLink updates links. If there was a dangling link to the new key, the two links become one.
func (sv *save) followLink(p pointer, from, to any) error {
	b := newBuilder(sv.store.traits)
	b.add("DELETE FROM ", p.table, " WHERE ", p.column, " = ")
	b.bind(from)
	b.add(" AND ", p.other, " IN (SELECT ", p.other, " FROM ", p.table, " WHERE ", p.column, " = ")
	b.bind(to)
	b.add(")")
	if _, err := sv.w.execute(b); err != nil {
		return err
	}
	b = newBuilder(sv.store.traits)
	b.add("UPDATE ", p.table, " SET ", p.column, " = ")
	b.bind(to)
	b.add(" WHERE ", p.column, " = ")
	b.bind(from)
	var others []any
	var err error
	if len(engine.ValueText(to)) > len(engine.ValueText(from)) {
		b.add(" RETURNING ", p.other)
		err = sv.w.visitRows(b, 1, func(row []any) { others = append(others, readValue(engine.String, row[0])) })
	} else {
		_, err = sv.w.execute(b)
	}
	if _, met := sv.store.db.Dialect.Duplicate(err, []Index{{Name: p.unique}}); met {
		return again{err} // another transaction has added the same link since the first statement
	}
	if err != nil || len(others) == 0 {
		return err
	}
	return linksFit(p.collection, to, others)
}

// followKey updates references that are part of a key. The key of their items changes too.
func (sv *save) followKey(p pointer, from, to any, depth int) error {
	if depth == 0 {
		return engine.Errorf(engine.Invalid, "key", "the key cannot be changed: too many keys depend on it")
	}
	t := p.plan.table
	b := newBuilder(sv.store.traits)
	b.add("SELECT ", t.id.quoted, " FROM ", t.quoted, " WHERE ", p.column, " = ")
	b.bind(from)
	b.add(p.classes)
	var keys []any
	if err := sv.w.visitRows(b, 1, func(row []any) { keys = append(keys, readValue(t.id.typ, row[0])) }); err != nil {
		return err
	}
	for _, key := range keys {
		if _, err := sv.followOne(p.plan, p.propertyName(), key, to, depth); err != nil {
			return err
		}
	}
	return nil
}

// followOne changes a reference that is part of the key of one item, and returns the new key of the item.
func (sv *save) followOne(p *plan, name string, key, to any, depth int) (any, error) {
	t := p.table
	var before []*engine.Item
	if p.duties.journaled {
		var err error
		if before, err = sv.store.readLocked(sv.w, t, []any{key}); err != nil {
			return nil, err
		}
	}
	it := &engine.Item{}
	v := engine.NewValues(p.class)
	v[p.class.Property(name).Index] = to
	c := change{key: []any{key}, values: v, editor: sv.editorID(p)}
	found, err := sv.store.updateOne(sv.w, p, it, c)
	if err != nil || !found || it.ID == engine.ValueText(key) {
		return key, err
	}
	if err := sv.store.keepWords(sv.w, p, it); err != nil {
		return nil, err
	}
	now := keyOf(it)
	if err := sv.followAll(t, key, now, depth-1); err != nil || len(before) == 0 {
		return now, err
	}
	after, err := sv.store.readLocked(sv.w, t, []any{now}) // read again, because it may refer to itself
	if err != nil || len(after) == 0 {
		return now, err
	}
	return now, sv.journalWrite(before[0], after[0])
}
