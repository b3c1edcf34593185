package store

import (
	"errors"
	"slices"

	"restsrv/engine"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/table"
)

// insertOne adds the missing values to v and inserts a new item with the values.
func (sv *rows) insertOne(e *entry, v engine.Values) (*engine.Item, error) {
	p := e.plan
	if e.full == nil {
		if err := sv.store.table.AssignNumbers(sv.w, p, []engine.Values{v}); err != nil {
			return nil, err
		}
		if err := sv.completeValues(p, v); err != nil {
			return nil, err
		}
	}
	if err := p.CheckSizes(v); err != nil {
		return nil, err
	}
	it := &engine.Item{Class: p.Class, ID: p.Class.ID(v), Revision: uint64(table.NewRevision()), Version: e.version, Creator: sv.creatorID(p), Values: v}
	st, err := sv.w.Prepare(p.SQL().Insert)
	if err != nil {
		return nil, err
	}
	if _, err = st.ExecContext(sv.w.Ctx, p.RowArgs(make([]any, 0, 5+len(v)), it)...); err != nil {
		if d := sv.store.table.DuplicateError(p, err, it.Get); d != nil {
			if e.how == lookup {
				return nil, sv.duplicateError(d)
			}
			return nil, d
		}
		return nil, err
	}
	return it, nil
}

// duplicateAttempts is the number of attempts of a write after which duplicateError reports a duplicate value.
const duplicateAttempts = 3

// duplicateError returns the error for a write that did not find its item and then failed with a duplicate value. The
// error makes the store repeat the write, because another transaction may have stored the item in the meantime. If the
// duplicate value is the key, the next attempt finds the item, unless its class is in another branch of the class
// tree. If it is a value of another attribute, another item may have it, so the attempts are limited.
func (sv *rows) duplicateError(err error) error {
	var met *table.Conflict
	if sv.attempts < duplicateAttempts || errors.As(err, &met) && met.OfKey() {
		return conns.MarkAgain(err)
	}
	return err
}

// changeItem updates the item of an entry with the values v. before is the stored item, or nil if the save does not
// need it. In the latter case the statement itself detects that the item is missing.
func (sv *rows) changeItem(e *entry, v engine.Values, before *engine.Item) (*engine.Item, error) {
	match := sv.match
	if sv.store.traits.Lock != "" && e.mayRename(v) {
		if err := sv.renaming.lockFollowers(e.plan.Table, e.key[0], rekeyDepth); err != nil {
			return nil, err
		}
	}
	if before != nil {
		if err := sv.checkPermitted(e, before); err != nil {
			return nil, err
		}
		if e.nest == nil && e.how != modify && !e.plan.HoldsClass(before.Class) {
			return sv.reclassItem(e, slices.Clone(v), before) // cloned, because the kept values were not given by the caller
		}
		match = nil
	}
	if len(e.plan.Duties.Numbers) > 0 {
		if err := sv.store.table.RaiseCounters(sv.w, e.plan, []engine.Values{v}); err != nil {
			return nil, err
		}
	}
	if e.plan.Duties.HasTrackers() {
		e.plan.Class.Stamp(v, sv.newGenerate(), false)
	}
	c := table.Change{Key: e.key, Values: v, KeepKey: e.how == lookup, Match: match, Editor: sv.editorID(e.plan)}
	if e.how != modify && e.nest == nil && before.Class == e.plan.Class {
		c.Version = &e.version
	}
	it := &engine.Item{}
	found, err := sv.store.table.Update(sv.w, e.plan, it, c)
	switch {
	case err != nil:
		return nil, err
	case found:
		return it, sv.renaming.followMove(e, it)
	case e.how == modify:
		return nil, sv.store.table.MissingError(sv.w, e.plan, keyText(e.key), sv.match)
	}
	return nil, engine.NoItem(e.plan.Class, e.plan.Class.ID(v))
}

// checkPermitted returns an error if the revision of the stored item is not the one that the call expects. In strict
// handling, it also returns an error if the write would change a read-only attribute.
func (sv *rows) checkPermitted(e *entry, stored *engine.Item) error {
	c := e.plan.Class
	if !sv.match.Allows(stored.Revision) {
		return table.UnmatchedError(c, stored.ID)
	}
	if e.handling != engine.Strict || !e.plan.Duties.Readonly {
		return nil
	}
	read, err := sv.permits.readableIDs(stored)
	if err != nil {
		return err
	}
	for i, property := range c.Properties {
		if !property.Readonly || !property.Stored() || e.given[i] == engine.Absent {
			continue
		}
		// If the account may not read the stored value, return an error even if the given value is equal: success
		// would disclose the stored value.
		known := read[stored.ID] && !sv.guard.IsUnusable(property)
		if at := stored.Class.Property(property.Name); !known || at == nil || e.given[i] != stored.Values[at.Index] {
			err := engine.Errorf(engine.Invalid, "readonly", "attribute %s of class %s is read-only and cannot be changed",
				engine.Quote(property.Name), c.FullName)
			err.Class, err.ID, err.Attribute = c.FullName, stored.ID, property.Name
			return err
		}
	}
	return nil
}

// reclassItem changes the class of an item to e's class, which may be a descendant or any other class of the tree. The
// item keeps the values of attributes that both classes have. The other values of the new class are completed as for a
// new item. reclassItem returns an error if the item has a value for which the new class has no attribute.
func (sv *rows) reclassItem(e *entry, v engine.Values, before *engine.Item) (*engine.Item, error) {
	p := e.plan
	read, err := sv.permits.readableIDs(before)
	if err != nil {
		return nil, err
	}
	if err := sv.guard.CheckReclass(before, p.Class, read[before.ID]); err != nil {
		return nil, err
	}
	lost, err := sv.findLoss(before, p.Class, v)
	if err != nil {
		return nil, err
	}
	if lost != nil {
		err := engine.Errorf(engine.Invalid, "class", "object %s of class %s cannot become one of class %s, which has no attribute for its %s: clear that first",
			engine.Quote(before.ID), before.Class.FullName, p.Class.FullName, engine.Quote(lost.Name))
		err.Class, err.ID, err.Attribute = p.Class.FullName, before.ID, lost.Name
		return nil, err
	}
	for i, property := range p.Class.Properties {
		if at := before.Class.Property(property.Name); at != nil && v[i] == engine.Absent && property.Stored() {
			v[i], _ = recastValue(at, property, before.Values[at.Index]) // findLoss has checked that each value can be converted
			sv.references.expectKept(e, property, v[i])
		}
	}
	p.Class.Stamp(v, sv.newGenerate(), false)
	if err := sv.store.table.AssignNumbers(sv.w, p, []engine.Values{v}); err != nil {
		return nil, err
	}
	if err := sv.fillValues(p, v); err != nil {
		return nil, err
	}
	if err := p.CheckSizes(v); err != nil {
		return nil, err
	}
	it := &engine.Item{Class: p.Class, ID: p.Class.ID(v), Revision: uint64(table.NewRevision()), Version: e.version,
		Creator: before.Creator, Editor: sv.editorID(p), Values: v}
	if err := sv.store.table.Overwrite(sv.w, e.key[0], it); err != nil {
		return nil, err
	}
	if err := sv.renaming.followMove(e, it); err != nil {
		return nil, err
	}
	sv.permits.deferCheck(engine.MayUse, it)
	return it, sv.files().UpdateAll(it)
}

// findLoss checks whether a stored item can become an item of the class to with the values v. If the item would lose
// the value or the members of an attribute, findLoss returns the first such attribute, otherwise nil.
func (sv *rows) findLoss(it *engine.Item, to *engine.Class, v engine.Values) (*engine.Property, error) {
	for i, p := range it.Class.Properties {
		switch q := to.Property(p.Name); {
		case p.Formula != nil:
		case layout.IsLinked(p):
			if q != nil && layout.IsLinked(q) && sv.store.layout.LinkNames.Of(q).Name == sv.store.layout.LinkNames.Of(p).Name {
				continue
			}
			some, err := sv.hasLinks(p, table.KeyOf(it))
			if err != nil || some {
				return p, err
			}
		case p.Stored() && it.Values[i] != nil && (q == nil || v[q.Index] == engine.Absent && !canRecast(p, q, it.Values[i]) || (p.Type == engine.Reference || q.Type == engine.Reference) && q.Target != p.Target):
			return p, nil
		}
	}
	return nil, nil
}

// canRecast reports whether a value of p can be converted to a value of q, a property of the same name in another
// class.
func canRecast(p, q *engine.Property, value any) bool {
	_, ok := recastValue(p, q, value)
	return ok
}

// hasLinks reports whether the item with this key has members in collection p.
func (sv *rows) hasLinks(p *engine.Property, key any) (found bool, err error) {
	l := sv.store.layout.LinkNames.Of(p)
	b := sqldb.NewBuilder(sv.store.traits)
	b.Add("SELECT 1 FROM ", l.Quoted, " WHERE ", l.Owner, " = ")
	b.Bind(key)
	b.Add(" LIMIT 1")
	err = sv.w.VisitRows(b, 1, func([]any) { found = true })
	return found, err
}

// afterWrite does the work that follows the write of an entry's row. It only records collections and references: they
// are written or checked at the end of the transaction.
func (sv *rows) afterWrite(e *entry, given engine.Values, it *engine.Item) error {
	d := &e.plan.Duties
	if e.deep != nil && len(e.deep.members) > 0 {
		sv.later = append(sv.later, pending{e, it})
	}
	if len(sv.awaited) > 0 {
		sv.ordering.markArrived(e, it)
	}
	if e.handling == engine.Strict || d.Restricted || len(sv.guard.RestrictedReferences(e.plan)) > 0 {
		sv.references.expectAll(e, given)
	}
	if sv.store.layout.Plans[it.Class].NeedsRecache() {
		sv.written = append(sv.written, it)
	}
	if e.plan.Table.Filed {
		if err := sv.files().Update(e.plan, given, it); err != nil {
			return err
		}
	}
	if err := sv.journaling.journalWrite(e.was, it); err != nil {
		return err
	}
	return sv.store.table.KeepWords(sv.w, e.plan, it)
}
