package store

import (
	"context"
	"slices"

	"restsrv/engine"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/read"
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
	if err := s.cfg.hashValues(ctx, p, v); err != nil {
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
		if before, err = sv.store.table.ReadAffected(sv.w, sv.guard, p, q); err != nil || len(before) == 0 {
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
	// Update only the items in before: they are the only ones with known former values.
	if before != nil {
		b.Add(" WHERE ")
		sqldb.WriteIn(sv.store.db.Dialect, &b.Builder, p.Table.ID.Quoted, p.Table.ID.Type, table.KeysOf(before))
	} else if err := sv.store.table.WriteFound(b, p, q); err != nil {
		return 0, err
	}
	return sv.changeAll(&b.Builder, p, v, before)
}

// changeAll runs the statement of an UpdateAll, journals the changes, and updates search words. before contains the
// items before the change; it is nil if the former values are not needed.
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

// rejectPage returns an error for a query that finds only one page of the items. Which items are on a page can change
// before the write runs, so such a write could change the wrong items.
func rejectPage(q *engine.Query) error {
	if q.Offset > 0 || q.Count >= 0 || q.After != nil {
		return engine.Errorf(engine.Invalid, "query", "a change of all objects that a filter finds takes neither offset nor count")
	}
	return nil
}

// setAll writes an UPDATE for several rows, without its condition. It sets the values in v that are not Absent.
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

// updateParts does the work of updateAll in several parts, to limit the items in memory (see layout.Plan.InParts).
func (sv *filtered) updateParts(p *layout.Plan, q *engine.Query, v engine.Values) (n int64, err error) {
	s := sv.store
	all, err := s.table.RowNumbers(sv.w, sv.guard, engine.MayRead|engine.MayWrite, p, q)
	if err != nil || len(all) == 0 {
		return 0, err
	}
	if err := sv.store.table.RaiseCounters(sv.w, p, []engine.Values{v}); err != nil {
		return 0, err
	}
	return s.table.InEach(all, func(among func(*sqldb.Builder)) (int64, error) {
		b := sqldb.NewBuilder(s.traits)
		b.Add("SELECT ", p.SQL().Listed.List, " FROM ", p.Table.Quoted)
		among(b)
		before, err := read.Clone(sv.w, sv.w.Ctx, p, sqlquery.Listing{Text: b.Text(), Args: b.Args})
		if err != nil {
			return 0, err
		}
		b = sqldb.NewBuilder(s.traits)
		sv.setAll(b, p, v)
		among(b)
		return sv.changeAll(b, p, v, before)
	})
}
