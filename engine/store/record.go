package store

import (
	"errors"
	"slices"

	"restsrv/engine"
)

// insertOne completes v and inserts it as a new item.
func (sv *save) insertOne(e *entry, v engine.Values) (*engine.Item, error) {
	p := e.plan
	if e.full == nil {
		if err := sv.numberOne(p, v); err != nil {
			return nil, err
		}
		if err := sv.completeValues(p, v); err != nil {
			return nil, err
		}
	}
	if err := p.checkSizes(v); err != nil {
		return nil, err
	}
	it := &engine.Item{Class: p.class, ID: p.class.ID(v), Revision: uint64(newRevision()), Version: e.version, Creator: sv.creatorID(p), Values: v}
	st, err := sv.w.prepare(p.sql().insert)
	if err != nil {
		return nil, err
	}
	if _, err = st.ExecContext(sv.w.ctx, p.rowArgs(make([]any, 0, 5+len(v)), it)...); err != nil {
		if d := sv.store.duplicateError(p, err, it.Get); d != nil {
			if e.how == lookup {
				return nil, sv.duplicateError(d)
			}
			return nil, d
		}
		return nil, err
	}
	return it, nil
}

// duplicateAttempts is the number of attempts before a duplicate value of an attribute other than the key is reported.
const duplicateAttempts = 3

// duplicateError returns the error for a duplicate of an item that was searched and not found. Another transaction may
// have stored the item in the meantime, so the write is repeated. If a duplicate of another unique attribute remains,
// it belongs to another item. A duplicate key belongs to an item that the next attempt finds, unless its class is in
// another branch of the class tree.
func (sv *save) duplicateError(err error) error {
	var met *conflict
	if sv.attempts < duplicateAttempts || errors.As(err, &met) && met.ofKey() {
		return again{err}
	}
	return err
}

// changeItem updates an item. before is nil if the stored item was not needed; the statement itself then detects a
// missing item.
func (sv *save) changeItem(e *entry, v engine.Values, before *engine.Item) (*engine.Item, error) {
	match := sv.match
	if sv.store.traits.Lock != "" && e.mayRename(v) {
		if err := sv.lockFollowers(e.plan.table, e.key[0], rekeyDepth); err != nil {
			return nil, err
		}
	}
	if before != nil {
		if err := sv.checkPermitted(e, before); err != nil {
			return nil, err
		}
		if e.nest == nil && e.how != modify && !e.plan.holdsClass(before.Class) {
			return sv.reclassItem(e, slices.Clone(v), before) // the kept values were not given by the caller
		}
		match = nil
	}
	if len(e.plan.duties.numbers) > 0 {
		if err := sv.raiseCounters(e.plan, []engine.Values{v}); err != nil {
			return nil, err
		}
	}
	if e.plan.duties.hasTrackers() {
		e.plan.class.Stamp(v, sv.newGenerate(), false)
	}
	c := change{key: e.key, values: v, keepKey: e.how == lookup, match: match, editor: sv.editorID(e.plan)}
	if e.how != modify && e.nest == nil && before.Class == e.plan.class {
		c.version = &e.version
	}
	it := &engine.Item{}
	found, err := sv.store.updateOne(sv.w, e.plan, it, c)
	switch {
	case err != nil:
		return nil, err
	case found:
		return it, sv.followMove(e, it)
	case e.how == modify:
		return nil, sv.store.missingError(sv.w, e.plan, keyText(e.key), sv.match)
	}
	return nil, engine.NoItem(e.plan.class, e.plan.class.ID(v))
}

// checkPermitted returns an error if the stored item does not match or if a read-only attribute would change.
func (sv *save) checkPermitted(e *entry, stored *engine.Item) error {
	c := e.plan.class
	if !sv.match.Allows(stored.Revision) {
		return unmatchedError(c, stored.ID)
	}
	if e.handling != engine.Strict || !e.plan.duties.readonly {
		return nil
	}
	read, err := sv.readableIDs(stored)
	if err != nil {
		return err
	}
	for i, property := range c.Properties {
		if !property.Readonly || !property.Stored() || e.given[i] == engine.Absent {
			continue
		}
		// If an account may not read the stored value, the response must not reveal that it is equal.
		known := read[stored.ID] && !sv.guard.isUnusable(property)
		if at := stored.Class.Property(property.Name); !known || at == nil || e.given[i] != stored.Values[at.Index] {
			err := engine.Errorf(engine.Invalid, "readonly", "attribute %s of class %s is read-only and cannot be changed",
				engine.Quote(property.Name), c.FullName)
			err.Class, err.ID, err.Attribute = c.FullName, stored.ID, property.Name
			return err
		}
	}
	return nil
}

// holdsClass reports whether items of class c are items of the plan's class: c is that class or a descendant.
func (p *plan) holdsClass(c *engine.Class) bool {
	return c == p.class || slices.Contains(p.class.Descendants, c)
}

// reclassItem changes the class of an item to a descendant of its class, or to another class of the tree. The item
// keeps the values that both classes have. Other values of the new class are completed as for a new item. reclassItem
// returns an error if the item has a value for which the new class has no attribute.
func (sv *save) reclassItem(e *entry, v engine.Values, before *engine.Item) (*engine.Item, error) {
	p := e.plan
	read, err := sv.readableIDs(before)
	if err != nil {
		return nil, err
	}
	if err := sv.guard.checkReclass(before, p.class, read[before.ID]); err != nil {
		return nil, err
	}
	lost, err := sv.findLoss(before, p.class, v)
	if err != nil {
		return nil, err
	}
	if lost != nil {
		err := engine.Errorf(engine.Invalid, "class", "object %s of class %s cannot become one of class %s, which has no attribute for its %s: clear that first",
			engine.Quote(before.ID), before.Class.FullName, p.class.FullName, engine.Quote(lost.Name))
		err.Class, err.ID, err.Attribute = p.class.FullName, before.ID, lost.Name
		return nil, err
	}
	for i, property := range p.class.Properties {
		if at := before.Class.Property(property.Name); at != nil && v[i] == engine.Absent && property.Stored() {
			v[i], _ = recastValue(at, property, before.Values[at.Index]) // findLoss has checked that each value can be converted
			sv.expectKept(e, property, v[i])
		}
	}
	p.class.Stamp(v, sv.newGenerate(), false)
	if err := sv.numberOne(p, v); err != nil {
		return nil, err
	}
	if err := sv.fillValues(p, v); err != nil {
		return nil, err
	}
	if err := p.checkSizes(v); err != nil {
		return nil, err
	}
	it := &engine.Item{Class: p.class, ID: p.class.ID(v), Revision: uint64(newRevision()), Version: e.version,
		Creator: before.Creator, Editor: sv.editorID(p), Values: v}
	if err := sv.overwriteRow(e.key[0], it); err != nil {
		return nil, err
	}
	if err := sv.followMove(e, it); err != nil {
		return nil, err
	}
	sv.deferCheck(engine.MayUse, it)
	return it, sv.updateAllFiles(it)
}

// findLoss returns the first attribute whose value or members an item would lose if its class became to and it got the
// values v. It returns nil if there is none.
func (sv *save) findLoss(it *engine.Item, to *engine.Class, v engine.Values) (*engine.Property, error) {
	for i, p := range it.Class.Properties {
		switch q := to.Property(p.Name); {
		case p.Formula != nil:
		case isLinked(p):
			if q != nil && isLinked(q) && sv.store.linkNames.of(q).name == sv.store.linkNames.of(p).name {
				continue
			}
			some, err := sv.hasLinks(p, keyOf(it))
			if err != nil || some {
				return p, err
			}
		case p.Stored() && it.Values[i] != nil && (q == nil || v[q.Index] == engine.Absent && !canRecast(p, q, it.Values[i]) || (p.Type == engine.Reference || q.Type == engine.Reference) && q.Target != p.Target):
			return p, nil
		}
	}
	return nil, nil
}

// canRecast reports whether a value of p can be converted to q, a property of the same name.
func canRecast(p, q *engine.Property, value any) bool {
	_, ok := recastValue(p, q, value)
	return ok
}

// hasLinks reports whether a collection of an item has members.
func (sv *save) hasLinks(p *engine.Property, key any) (found bool, err error) {
	l := sv.store.linkNames.of(p)
	b := newBuilder(sv.store.traits)
	b.add("SELECT 1 FROM ", l.quoted, " WHERE ", l.owner, " = ")
	b.bind(key)
	b.add(" LIMIT 1")
	err = sv.w.visitRows(b, 1, func([]any) { found = true })
	return found, err
}

// overwriteRow replaces all columns of the row with the key by those of an item.
func (sv *save) overwriteRow(key any, it *engine.Item) error {
	p := sv.store.plans[it.Class]
	b := newBuilder(sv.store.traits)
	b.add("UPDATE ", p.table.quoted, " SET ", classColumn, " = ", quoteText(p.class.FullName))
	set := func(quoted string, value any) {
		b.add(", ", quoted, " = ")
		b.bind(value)
	}
	set(versionColumn, orNull(it.Version))
	set(revColumn, int64(it.Revision))
	set(creatorColumn, orNull(it.Creator))
	set(editorColumn, orNull(it.Editor))
	for _, col := range p.table.columns {
		var value any
		if property := p.table.propertyOf(p.class, col); property != nil {
			value = it.Values[property.Index]
		}
		set(col.quoted, value)
	}
	if p.table.hasIDColumn() {
		set(p.table.id.quoted, it.ID)
	}
	b.add(" WHERE ", p.table.id.quoted, " = ")
	b.bind(key)
	if _, err := sv.w.execute(b); err != nil {
		return sv.store.writeError(p, err, it.Get)
	}
	return nil
}

// afterWrite records the work that follows the write of a row: collections and checks are done at the end of the
// transaction.
func (sv *save) afterWrite(e *entry, given engine.Values, it *engine.Item) error {
	d := &e.plan.duties
	if e.deep != nil && len(e.deep.members) > 0 {
		sv.later = append(sv.later, pending{e, it})
	}
	if len(sv.awaited) > 0 {
		sv.markArrived(e, it)
	}
	if e.handling == engine.Strict || d.restricted || len(sv.guard.restrictedReferences(e.plan)) > 0 {
		sv.expectAll(e, given)
	}
	if sv.store.plans[it.Class].needsRecache() {
		sv.written = append(sv.written, it)
	}
	if err := sv.updateFiles(e.plan, given, it); err != nil {
		return err
	}
	if err := sv.journalWrite(e.was, it); err != nil {
		return err
	}
	return sv.store.keepWords(sv.w, e.plan, it)
}
