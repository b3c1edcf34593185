package store

import (
	"context"
	"slices"

	"restsrv/engine"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/sqlquery"
	"restsrv/engine/store/table"
)

// UpdateAll implements engine.Repository.
func (s *Store) UpdateAll(ctx context.Context, q *engine.Query, v engine.Values) (int64, error) {
	n, err := s.updateAll(ctx, q, v)
	return n, s.hideError(ctx, err)
}

func (s *Store) updateAll(ctx context.Context, q *engine.Query, v engine.Values) (int64, error) {
	p, err := s.layout.PlanOf(q.Class)
	if err != nil {
		return 0, err
	}
	g := s.reader.GuardOf(ctx)
	if err := g.CheckWrite(p.Class, v, engine.MayWrite); err != nil {
		return 0, err
	}
	if err := rejectPage(q); err != nil {
		return 0, err
	}
	if err := p.OnlyPlain(v); err != nil {
		return 0, err
	}
	if err := q.Class.Check(v); err != nil {
		return 0, err
	}
	if err := p.CheckSizes(v); err != nil {
		return 0, err
	}
	if !hasValues(v) {
		return s.reader.CountFor(ctx, p, q, engine.MayRead|engine.MayWrite)
	}
	sv := s.newWrite(ctx, g, 1)
	if err := s.hashValues(ctx, p, v); err != nil {
		return 0, err
	}
	written := sv.stampedUpdate(p, v)
	n := int64(0)
	work := func(w *conns.Session) (err error) {
		sv.begin(w)
		if !q.Exact && p.SetsDivided(v) {
			n, err = sv.filtered.updateDivided(p, q, v)
		} else {
			n, err = sv.filtered.updateAll(p, q, written)
		}
		switch {
		case err != nil:
			return s.table.WriteError(p, err, func(name string) any { return written[p.Class.Property(name).Index] })
		case n == 0:
			return nil
		}
		sv.references.expectAll(&entry{plan: p}, v)
		return sv.relations.finish()
	}
	if err = s.pool.Writer.DoTo(ctx, p.Table, work); err != nil {
		return 0, sv.permits.settleError(err, work)
	}
	return n, nil
}

func (sv *filtered) updateAll(p *layout.Plan, q *engine.Query, v engine.Values) (n int64, err error) {
	if p.InParts() {
		return sv.updateParts(p, q, v)
	}
	var before []*engine.Item
	if p.Caching.Any {
		if before, err = sv.store.readAffected(sv.w, sv.guard, p, q); err != nil || len(before) == 0 {
			return 0, err
		}
	}
	sv.former = append(sv.former, before...)
	if err := sv.store.table.RaiseCounters(sv.w, p, []engine.Values{v}); err != nil {
		return 0, err
	}
	b := sv.store.queries.GuardedBuilder(sv.guard)
	b.May = engine.MayRead | engine.MayWrite
	sv.setAll(&b.Builder, p, v)
	// Update only these items: the former values of others would be unknown.
	if before != nil {
		b.Add(" WHERE ")
		sqldb.WriteIn(sv.store.db.Dialect, &b.Builder, p.Table.ID.Quoted, p.Table.ID.Type, table.KeysOf(before))
	} else if err := sv.store.whereFound(b, p, q); err != nil {
		return 0, err
	}
	return sv.changeAll(&b.Builder, p, v, before)
}

// changeAll runs the statement of an UpdateAll and updates the search words if they may have
// changed. before holds the former items if cached attributes must be recomputed.
func (sv *filtered) changeAll(b *sqldb.Builder, p *layout.Plan, v engine.Values, before []*engine.Item) (int64, error) {
	words := slices.ContainsFunc(p.Stored, func(property *engine.Property) bool { return property.Search && v[property.Index] != engine.Absent })
	checked := sv.guard.RowFilter(engine.MayWrite, p.Class) != nil
	if !words && !p.Caching.Any && !checked && !p.Duties.Journaled && !p.SetsShared(v) {
		return sv.w.Execute(b)
	}
	items, err := table.RunReturning(sv.w, b, p)
	if err != nil {
		return 0, err
	}
	if p.Caching.Any {
		sv.written = append(sv.written, items...)
	}
	for _, it := range items {
		if err := sv.store.layout.CheckSharedSizes(p, v, it); err != nil {
			return 0, err
		}
	}
	sv.permits.deferCheck(engine.MayWrite, items...)
	if err := sv.journaling.journalWrites(before, items); err != nil {
		return 0, err
	}
	return int64(len(items)), sv.store.table.KeepWords(sv.w, p, items...)
}

// whereFound writes the condition that an item is one of those that q finds. The condition locks the
// items, so that an item changed by a concurrent transaction is checked in its new state. All
// statements lock items in the order of their keys.
func (s *Store) whereFound(b *sqlquery.Builder, p *layout.Plan, q *engine.Query) error {
	b.Add(" WHERE ", layout.SeqColumn, " IN (")
	b.WriteFind(p, p.Table.Quoted+"."+layout.SeqColumn, q)
	if lock := s.table.LockClause(b.May); lock != "" {
		// An outer join may produce nulls, which cannot be locked.
		b.Add(" ORDER BY ", p.Table.Quoted, ".", p.Table.ID.Quoted, lock, " OF ", p.Table.Quoted)
	}
	b.Add(")")
	return b.Finish(s.traits)
}

// rejectPage rejects a query for one page of the result: the items of the page could change before the
// write.
func rejectPage(q *engine.Query) error {
	if q.Offset > 0 || q.Count >= 0 || q.After != nil {
		return engine.Errorf(engine.Invalid, "query", "a change of all objects that a filter finds takes neither offset nor count")
	}
	return nil
}

// DeleteAll implements engine.Repository.
func (s *Store) DeleteAll(ctx context.Context, q *engine.Query) (int64, error) {
	p, err := s.layout.PlanOf(q.Class)
	if err != nil {
		return 0, err
	}
	g := s.reader.GuardOf(ctx)
	if err := g.CheckWrite(p.Class, engine.NewValues(p.Class), engine.MayDelete); err != nil {
		return 0, err
	}
	if err := rejectPage(q); err != nil {
		return 0, err
	}
	n := int64(0)
	err = s.pool.Writer.DoTo(ctx, p.Table, func(w *conns.Session) (err error) {
		if p.InParts() {
			n, err = s.deleteParts(ctx, w, g, p, q)
			return err
		}
		b := s.queries.GuardedBuilder(g)
		b.May = engine.MayRead | engine.MayDelete
		b.Add("DELETE FROM ", p.Table.Quoted)
		if err := s.whereFound(b, p, q); err != nil {
			return err
		}
		grants, err := s.grantsItems(w, p.Table)
		if err != nil {
			return err
		}
		if !grants && !p.Table.HasDependents() && !p.Caching.Any {
			n, err = w.Execute(&b.Builder)
			return err
		}
		n, err = s.deleteAll(ctx, w, p, &b.Builder)
		return err
	})
	return n, err
}

// deleteAll runs a statement that deletes items, and then deletes or updates the data that depends
// on them.
func (s *Store) deleteAll(ctx context.Context, w *conns.Session, p *layout.Plan, b *sqldb.Builder) (int64, error) {
	items, err := table.RunReturning(w, b, p)
	if err != nil {
		return 0, err
	}
	if err := s.forgetItems(ctx, w, p.Table, table.KeysOf(items)); err != nil {
		return 0, err
	}
	return int64(len(items)), s.afterDelete(ctx, w, p, items)
}

// setAll writes the head of an UPDATE that sets the values that are not Absent for several rows.
func (sv *filtered) setAll(b *sqldb.Builder, p *layout.Plan, v engine.Values) {
	b.Add("UPDATE ", p.Table.Quoted, " SET ")
	for _, property := range p.Stored {
		if v[property.Index] != engine.Absent {
			b.Add(p.Table.Column(property).Quoted, " = ")
			b.Bind(v[property.Index])
			b.Add(", ")
		}
	}
	b.Add(layout.RevColumn, " = ")
	b.Bind(table.NewRevision())
	b.Add(", ", layout.EditorColumn, " = ")
	b.Bind(layout.OrNull(sv.editorID(p)))
}
