package store

import (
	"context"
	"slices"

	"restsrv/engine"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/read"
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
	single := s.deletesSingly(ctx, p) && g.RowFilter(may.May, p.Class) == nil && table.InStatement(m) && !p.Table.HasDependents() && !p.Caching.Any && !p.Duties.Journaled
	if single {
		do = s.pool.Writer.DoStatement
	}
	work := func(w *conns.Session) error {
		if err := s.table.AdmitNamed(w, g, may, key); err != nil {
			return err
		}
		before, err := s.readWatched(w, p, key)
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
			if err := s.checkMatch(w, p, id, m); err != nil {
				return err
			}
		}
		if single {
			s.writeUngranted(b, p.Table, key[0])
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
		case isWatched(p) && len(before) == 0: // a concurrent transaction has created the item since it was looked for
			return conns.MarkAgain(engine.NoItem(p.Class, id))
		}
		if err := s.forgetItems(ctx, w, p.Table, key); err != nil || len(before) == 0 {
			return err
		}
		return s.afterDelete(ctx, w, p, before)
	}
	if err = do(ctx, p.Table, work); err == nil && undone { // the item does not exist, or has a grant
		single = false
		err = s.pool.Writer.DoTo(ctx, p.Table, work)
	}
	return table.HideMissing(g, p.Class, err)
}

// afterDelete does the work after items were deleted in the transaction of w: it journals the deletion and
// recomputes cached attributes of other items.
func (s *Store) afterDelete(ctx context.Context, w *conns.Session, p *layout.Plan, items []*engine.Item) error {
	if p.Duties.Journaled {
		if err := s.journalDeleted(ctx, w, items); err != nil {
			return err
		}
	}
	if !p.Caching.Any {
		return nil
	}
	return s.recacheItems(w, nil, items)
}

// readWatched returns the item with a key before it is changed, if cached attributes of other items
// depend on it or if the class is journaled.
func (s *Store) readWatched(w *conns.Session, p *layout.Plan, key []any) ([]*engine.Item, error) {
	if !isWatched(p) {
		return nil, nil
	}
	it := &engine.Item{}
	found, err := read.OneHeld(w, w.Ctx, p.SQL().Get, s.traits.LockGone, p, it, slices.Clone(key))
	if err != nil || !found {
		return nil, err
	}
	return []*engine.Item{it}, nil
}

// isWatched reports whether a deletion of an item of p needs the former item.
func isWatched(p *layout.Plan) bool { return p.Caching.Watched || p.Duties.Journaled }

// checkMatch rejects a write if m does not allow the stored revision.
func (s *Store) checkMatch(w *conns.Session, p *layout.Plan, id string, m *engine.Match) error {
	key, _ := p.Class.KeyValues(id)
	stored := &engine.Item{}
	found, err := read.OneHeld(w, w.Ctx, p.SQL().Get, s.traits.LockGone, p, stored, key)
	switch {
	case err != nil:
		return err
	case !found:
		return engine.NoItem(p.Class, id)
	case !m.Allows(stored.Revision):
		return table.UnmatchedError(p.Class, id)
	}
	return nil
}

// forgetItems deletes the data of deleted items: links on both sides, stages, grants on the items, and
// the rows of their files. References to the items stay unchanged.
func (s *Store) forgetItems(ctx context.Context, w *conns.Session, t *layout.Table, keys []any) error {
	for chunk := range slices.Chunk(keys, table.BulkRows) {
		for _, p := range t.Pointers {
			if p.Other == "" {
				continue
			}
			b := sqldb.NewBuilder(s.traits)
			b.Add("DELETE FROM ", p.Table, " WHERE ")
			sqldb.WriteIn(s.db.Dialect, b, p.Column, t.ID.Type, chunk)
			if err := s.deleteLinks(ctx, w, b, t, p); err != nil {
				return err
			}
		}
	}
	if err := s.forgetStages(w, t, keys); err != nil {
		return err
	}
	if err := s.forgetGrants(w, t, keys); err != nil {
		return err
	}
	return s.forgetFiles(w, t, keys)
}
