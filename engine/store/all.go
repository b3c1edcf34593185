package store

import (
	"context"
	"database/sql"
	"slices"

	"restsrv/engine"
)

// UpdateAll implements engine.Repository.
func (s *Store) UpdateAll(ctx context.Context, q *engine.Query, v engine.Values) (int64, error) {
	n, err := s.updateAll(ctx, q, v)
	return n, s.hideError(ctx, err)
}

func (s *Store) updateAll(ctx context.Context, q *engine.Query, v engine.Values) (int64, error) {
	p, err := s.planOf(q.Class)
	if err != nil {
		return 0, err
	}
	g := s.guardOf(ctx)
	if err := g.checkWrite(p.class, v, engine.MayWrite); err != nil {
		return 0, err
	}
	if err := rejectPage(q); err != nil {
		return 0, err
	}
	if err := p.onlyPlain(v); err != nil {
		return 0, err
	}
	if err := q.Class.Check(v); err != nil {
		return 0, err
	}
	if err := p.checkSizes(v); err != nil {
		return 0, err
	}
	if !hasValues(v) {
		return s.countFor(ctx, p, q, engine.MayRead|engine.MayWrite)
	}
	sv := s.newWrite(ctx, g, 1)
	if err := s.hashValues(ctx, p, v); err != nil {
		return 0, err
	}
	written := sv.stampedUpdate(p, v)
	n := int64(0)
	work := func(w *session) (err error) {
		sv.begin(w)
		if !q.Exact && p.setsDivided(v) {
			n, err = sv.updateDivided(p, q, v)
		} else {
			n, err = sv.updateAll(p, q, written)
		}
		switch {
		case err != nil:
			return s.writeError(p, err, func(name string) any { return written[p.class.Property(name).Index] })
		case n == 0:
			return nil
		}
		sv.expectAll(&entry{plan: p}, v)
		return sv.finish()
	}
	if err = s.writer.doTo(ctx, p.table, work); err != nil {
		return 0, sv.settleError(err, work)
	}
	return n, nil
}

func (sv *save) updateAll(p *plan, q *engine.Query, v engine.Values) (n int64, err error) {
	if p.inParts() {
		return sv.updateParts(p, q, v)
	}
	var before []*engine.Item
	if p.caching.any {
		if before, err = sv.store.readAffected(sv.w, sv.guard, p, q); err != nil || len(before) == 0 {
			return 0, err
		}
	}
	sv.former = append(sv.former, before...)
	if err := sv.raiseCounters(p, []engine.Values{v}); err != nil {
		return 0, err
	}
	b := sv.store.guardedBuilder(sv.guard)
	b.may = engine.MayRead | engine.MayWrite
	sv.setAll(b, p, v)
	// Update only these items: the former values of others would be unknown.
	if before != nil {
		b.add(" WHERE ")
		sv.store.writeIn(b, p.table.id.quoted, p.table.id.typ, keysOf(before))
	} else if err := sv.store.whereFound(b, p, q); err != nil {
		return 0, err
	}
	return sv.changeAll(b, p, v, before)
}

// changeAll runs the statement of an UpdateAll and updates the search words if they may have
// changed. before holds the former items if cached attributes must be recomputed.
func (sv *save) changeAll(b *builder, p *plan, v engine.Values, before []*engine.Item) (int64, error) {
	words := slices.ContainsFunc(p.stored, func(property *engine.Property) bool { return property.Search && v[property.Index] != engine.Absent })
	checked := sv.guard.rowFilter(engine.MayWrite, p.class) != nil
	if !words && !p.caching.any && !checked && !p.duties.journaled && !p.setsShared(v) {
		return sv.w.execute(b)
	}
	items, err := sv.w.runReturning(b, p)
	if err != nil {
		return 0, err
	}
	if p.caching.any {
		sv.written = append(sv.written, items...)
	}
	for _, it := range items {
		if err := sv.store.checkSharedSizes(p, v, it); err != nil {
			return 0, err
		}
	}
	sv.deferCheck(engine.MayWrite, items...)
	if err := sv.journalWrites(before, items); err != nil {
		return 0, err
	}
	return int64(len(items)), sv.store.keepWords(sv.w, p, items...)
}

// runReturning runs a statement that changes or deletes rows of p. It returns the items after the
// change or, if they were deleted, the former items.
func (s *session) runReturning(b *builder, p *plan) ([]*engine.Item, error) {
	b.add(" RETURNING ", p.sql().selected.list)
	scan := s.newScanner(p.sql().selected)
	var items []*engine.Item
	err := s.eachRow(s.ctx, b.text(), b.args, func(rows *sql.Rows) error {
		if err := scan(rows); err != nil {
			return err
		}
		it := &engine.Item{}
		p.loadRow(it, s.raw)
		items = append(items, it)
		return nil
	})
	return items, err
}

// whereFound writes the condition that an item is one of those that q finds. The condition locks the
// items, so that an item changed by a concurrent transaction is checked in its new state. All
// statements lock items in the order of their keys.
func (s *Store) whereFound(b *builder, p *plan, q *engine.Query) error {
	b.add(" WHERE ", seqColumn, " IN (")
	b.writeFind(p, p.table.quoted+"."+seqColumn, q)
	if lock := s.lockClause(b.may); lock != "" {
		// An outer join may produce nulls, which cannot be locked.
		b.add(" ORDER BY ", p.table.quoted, ".", p.table.id.quoted, lock, " OF ", p.table.quoted)
	}
	b.add(")")
	return b.finish(s.traits)
}

// rejectPage rejects a query for one page of the result: the items of the page could change before the
// write.
func rejectPage(q *engine.Query) error {
	if q.Offset > 0 || q.Count >= 0 || q.After != nil {
		return engine.Errorf(engine.Invalid, "query", "a change of all objects that a filter finds takes neither offset nor count")
	}
	return nil
}

// onlyPlain rejects values that cannot be given to many items at once.
func (p *plan) onlyPlain(v engine.Values) error {
	refuse := func(property *engine.Property, reason, why string) error {
		e := engine.Errorf(engine.Invalid, reason, "attribute %s of class %s cannot be changed for many objects at once: it %s",
			engine.Quote(property.Name), p.class.FullName, why)
		e.Class, e.Attribute = p.class.FullName, property.Name
		return e
	}
	for _, property := range p.duties.derived {
		v[property.Index] = engine.Absent
	}
	for _, property := range p.class.KeyProperties() {
		if v[property.Index] != engine.Absent {
			return refuse(property, "key", "is the key")
		}
	}
	for _, property := range p.duties.collections {
		if v[property.Index] != engine.Absent {
			return refuse(property, "collection", "is a collection")
		}
	}
	for _, property := range p.duties.files {
		if v[property.Index] != engine.Absent {
			return refuse(property, "file", "is a file")
		}
	}
	for _, property := range p.duties.references {
		if _, nested := v[property.Index].(*engine.Record); nested {
			return refuse(property, "nested", "was given as an object")
		}
	}
	return nil
}

// DeleteAll implements engine.Repository.
func (s *Store) DeleteAll(ctx context.Context, q *engine.Query) (int64, error) {
	p, err := s.planOf(q.Class)
	if err != nil {
		return 0, err
	}
	g := s.guardOf(ctx)
	if err := g.checkWrite(p.class, engine.NewValues(p.class), engine.MayDelete); err != nil {
		return 0, err
	}
	if err := rejectPage(q); err != nil {
		return 0, err
	}
	n := int64(0)
	err = s.writer.doTo(ctx, p.table, func(w *session) (err error) {
		if p.inParts() {
			n, err = s.deleteParts(ctx, w, g, p, q)
			return err
		}
		b := s.guardedBuilder(g)
		b.may = engine.MayRead | engine.MayDelete
		b.add("DELETE FROM ", p.table.quoted)
		if err := s.whereFound(b, p, q); err != nil {
			return err
		}
		grants, err := s.grantsItems(w, p.table)
		if err != nil {
			return err
		}
		if !grants && !p.table.hasDependents() && !p.caching.any {
			n, err = w.execute(b)
			return err
		}
		n, err = s.deleteAll(ctx, w, p, b)
		return err
	})
	return n, err
}

// deleteAll runs a statement that deletes items, and then deletes or updates the data that depends
// on them.
func (s *Store) deleteAll(ctx context.Context, w *session, p *plan, b *builder) (int64, error) {
	items, err := w.runReturning(b, p)
	if err != nil {
		return 0, err
	}
	if err := s.forgetItems(ctx, w, p.table, keysOf(items)); err != nil {
		return 0, err
	}
	return int64(len(items)), s.afterDelete(ctx, w, p, items)
}

// hasDependents reports whether links, files or stages of the table's items are stored in other
// tables.
func (t *table) hasDependents() bool {
	for _, p := range t.pointers {
		if p.other != "" {
			return true
		}
	}
	return t.filed || t.staged
}

// setAll writes the head of an UPDATE that sets the values that are not Absent for several rows.
func (sv *save) setAll(b *builder, p *plan, v engine.Values) {
	b.add("UPDATE ", p.table.quoted, " SET ")
	for _, property := range p.stored {
		if v[property.Index] != engine.Absent {
			b.add(p.table.column(property).quoted, " = ")
			b.bind(v[property.Index])
			b.add(", ")
		}
	}
	b.add(revColumn, " = ")
	b.bind(newRevision())
	b.add(", ", editorColumn, " = ")
	b.bind(orNull(sv.editorID(p)))
}
