package store

import (
	"context"
	"maps"
	"slices"

	"restsrv/engine"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/read"
	"restsrv/engine/store/rights"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/table"
)

// Delete implements engine.Repository.
func (s *Store) Delete(ctx context.Context, c *engine.Class, id string, m *engine.Match) error {
	p, err := s.layout.PlanOf(c)
	if err != nil {
		return err
	}
	g, may := s.reader.GuardOf(ctx), table.Check{Plan: p, May: engine.MayDelete}
	if g.NeverAllows(may.May, p.Class) {
		return engine.Denied()
	}
	key, ok := c.KeyValues(id)
	if !ok {
		return g.NoItem(p.Class, id)
	}
	do, undone := s.pool.Writer.DoTo, false
	single := s.owned.DeletesSingly(ctx, p) && g.RowFilter(may.May, p.Class) == nil && table.InStatement(m) && !p.Table.HasDependents() && !p.Caching.Any && !p.Duties.Journaled
	if single {
		do = s.pool.Writer.DoStatement
	}
	d := &deletion{store: s, ctx: ctx, plan: p, guard: g}
	work := func(w *conns.Session) error {
		d.w = w
		if err := s.table.AdmitNamed(w, g, may, key); err != nil {
			return err
		}
		before, err := d.readWatched(key)
		if err != nil {
			return err
		}
		b := sqldb.NewBuilder(s.traits)
		b.Add("DELETE FROM ", p.Table.Quoted)
		p.WhereKey(b, key)
		switch {
		case m == nil || m.Any:
		case len(m.Revisions) == 1:
			b.Add(" AND ", layout.RevColumn, " = ")
			b.Bind(table.StoredRevision(m.Revisions[0]))
		default:
			if err := d.checkMatch(id, m); err != nil {
				return err
			}
		}
		if single {
			s.owned.WriteUngranted(b, p.Table, key[0])
		}
		n, err := w.Execute(b)
		switch {
		case err != nil:
			return err
		case single && p.Table.Granted:
			undone = n == 0
			return nil
		case n == 0:
			return s.table.MissingError(w, p, id, m)
		case isWatched(p) && len(before) == 0: // a concurrent transaction has created the item since this one looked for it
			return conns.MarkAgain(engine.NoItem(p.Class, id))
		}
		if err := d.forgetItems(key); err != nil || len(before) == 0 {
			return err
		}
		return d.afterDelete(before)
	}
	if err = do(ctx, p.Table, work); err == nil && undone { // the item does not exist, or has a grant
		single = false
		err = s.pool.Writer.DoTo(ctx, p.Table, work)
	}
	return table.HideMissing(g, p.Class, err)
}

// deletion is the state of one call of Delete or DeleteAll.
type deletion struct {
	store *Store
	ctx   context.Context
	w     *conns.Session
	plan  *layout.Plan
	guard *rights.Guard
}

// afterDelete does the work after items were deleted: it journals the deletion, and computes the cached attributes of
// items that depend on them.
func (d *deletion) afterDelete(items []*engine.Item) error {
	if d.plan.Duties.Journaled {
		if err := d.journalItems(items); err != nil {
			return err
		}
	}
	if !d.plan.Caching.Any {
		return nil
	}
	return d.store.cached.Update(d.w, nil, items)
}

// readWatched returns the item with a key and locks it, if the deletion needs its values (see isWatched).
func (d *deletion) readWatched(key []any) ([]*engine.Item, error) {
	if !isWatched(d.plan) {
		return nil, nil
	}
	it := &engine.Item{}
	found, err := read.OneHeld(d.w, d.w.Ctx, d.plan.SQL().Get, d.store.traits.LockGone, d.plan, it, slices.Clone(key))
	if err != nil || !found {
		return nil, err
	}
	return []*engine.Item{it}, nil
}

// isWatched reports whether the deletion of an item of p needs the values of the item: for the journal, or because
// cached attributes of other items depend on them.
func isWatched(p *layout.Plan) bool { return p.Caching.Watched || p.Duties.Journaled }

// checkMatch returns an error if m does not allow the revision of the stored item, or if there is no item.
func (d *deletion) checkMatch(id string, m *engine.Match) error {
	key, _ := d.plan.Class.KeyValues(id)
	stored := &engine.Item{}
	found, err := read.OneHeld(d.w, d.w.Ctx, d.plan.SQL().Get, d.store.traits.LockGone, d.plan, stored, key)
	switch {
	case err != nil:
		return err
	case !found:
		return engine.NoItem(d.plan.Class, id)
	case !m.Allows(stored.Revision):
		return table.UnmatchedError(d.plan.Class, id)
	}
	return nil
}

// forgetItems deletes the data that belongs to deleted items: links on both sides, stages, grants on the items, and the
// records of their files. References to the items stay unchanged.
func (d *deletion) forgetItems(keys []any) error {
	t := d.plan.Table
	for chunk := range slices.Chunk(keys, table.BulkRows) {
		for _, p := range t.Pointers {
			if p.Other == "" {
				continue
			}
			b := sqldb.NewBuilder(d.store.traits)
			b.Add("DELETE FROM ", p.Table, " WHERE ")
			sqldb.WriteIn(d.store.db.Dialect, b, p.Column, t.ID.Type, chunk)
			if err := d.deleteLinks(b, p); err != nil {
				return err
			}
		}
	}
	return d.store.owned.Forget(d.w, t, keys)
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
	n, d := int64(0), &deletion{store: s, ctx: ctx, plan: p, guard: g}
	err = s.pool.Writer.DoTo(ctx, p.Table, func(w *conns.Session) (err error) {
		d.w = w
		if p.InParts() {
			n, err = d.deleteParts(q)
			return err
		}
		b := s.queries.GuardedBuilder(g)
		b.May = engine.MayRead | engine.MayDelete
		b.Add("DELETE FROM ", p.Table.Quoted)
		if err := s.table.WriteFound(b, p, q); err != nil {
			return err
		}
		grants, err := s.owned.GrantsItems(w, p.Table)
		if err != nil {
			return err
		}
		if !grants && !p.Table.HasDependents() && !p.Caching.Any {
			n, err = w.Execute(&b.Builder)
			return err
		}
		n, err = d.deleteFound(&b.Builder)
		return err
	})
	return n, err
}

// deleteFound runs a statement that deletes items, and then deletes or updates the data that depends on them.
func (d *deletion) deleteFound(b *sqldb.Builder) (int64, error) {
	items, err := table.RunReturning(d.w, b, d.plan)
	if err != nil {
		return 0, err
	}
	if err := d.forgetItems(table.KeysOf(items)); err != nil {
		return 0, err
	}
	return int64(len(items)), d.afterDelete(items)
}

// deleteParts does the work of DeleteAll in several parts, to limit the number of items in memory.
func (d *deletion) deleteParts(q *engine.Query) (n int64, err error) {
	all, err := d.store.table.RowNumbers(d.w, d.guard, engine.MayRead|engine.MayDelete, d.plan, q)
	if err != nil {
		return 0, err
	}
	return d.store.table.InEach(all, func(among func(*sqldb.Builder)) (int64, error) {
		b := sqldb.NewBuilder(d.store.traits)
		b.Add("DELETE FROM ", d.plan.Table.Quoted)
		among(b)
		return d.deleteFound(b)
	})
}

// journalItems journals the deletion of items.
func (d *deletion) journalItems(items []*engine.Item) error {
	sv := d.store.newWrite(d.ctx, nil, 0)
	sv.begin(d.w)
	for _, it := range items {
		if err := sv.journaling.journalWrite(it, nil); err != nil {
			return err
		}
	}
	return sv.journaling.keepRecords()
}

// deleteLinks runs b, which deletes the rows of a table of links that refer to deleted items. p.Column is the column
// with the ids of the deleted items. The items in the other column have lost members of their collection p.Collection.
// If the class of these items has a journal, deleteLinks journals the change of the collection.
func (d *deletion) deleteLinks(b *sqldb.Builder, p layout.Pointer) error {
	kept := func(c *engine.Class) bool { return c.Journaling }
	if d.store.cfg.Journal == nil || p.Collection == nil || !slices.ContainsFunc(p.Holders.Classes, kept) {
		_, err := d.w.Execute(b)
		return err
	}
	var holders []any
	members := map[string][]string{} // by the id of the item that has the collection
	b.Returning(p.Other, p.Column)
	err := d.w.VisitRows(b, 2, func(row []any) {
		key := sqldb.ReadValue(p.Holders.ID.Type, row[0])
		id := engine.ValueText(key)
		if members[id] == nil {
			holders = append(holders, key)
		}
		members[id] = append(members[id], engine.ValueText(sqldb.ReadValue(d.plan.Table.ID.Type, row[1])))
	})
	if err != nil || len(holders) == 0 {
		return err
	}
	sv := d.store.newWrite(d.ctx, nil, 0)
	sv.begin(d.w)
	classes, err := sv.journaling.journaledClasses(p.Holders, holders)
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(classes)) {
		slices.Sort(members[id])
		left := engine.Change{Is: &engine.Item{Class: classes[id], ID: id}, Collection: p.Collection, Members: members[id], Left: true}
		if err := sv.journaling.recordChange(left); err != nil {
			return err
		}
	}
	return sv.journaling.keepRecords()
}
