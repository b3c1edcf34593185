package store

import (
	"context"
	"slices"

	"restsrv/engine"
)

// Delete implements engine.Repository.
func (s *Store) Delete(ctx context.Context, c *engine.Class, id string, m *engine.Match) error {
	p, err := s.planOf(c)
	if err != nil {
		return err
	}
	g, may := s.guardOf(ctx), check{p, engine.MayDelete}
	if g.neverAllows(may.may, p.class) {
		return engine.Denied()
	}
	key, ok := c.KeyValues(id)
	if !ok {
		return g.noItem(p.class, id)
	}
	do, undone := s.writer.doTo, false
	single := s.deletesSingly(ctx, p) && g.rowFilter(may.may, p.class) == nil && inStatement(m) && !p.table.hasDependents() && !p.caching.any && !p.duties.journaled
	if single {
		do = s.writer.doStatement
	}
	work := func(w *session) error {
		if err := s.admitNamed(w, g, may, key); err != nil {
			return err
		}
		before, err := s.readWatched(w, p, key)
		if err != nil {
			return err
		}
		b := newBuilder(s.traits)
		b.add("DELETE FROM ", p.table.quoted)
		p.whereKey(b, key)
		switch {
		case m == nil || m.Any:
		case len(m.Revisions) == 1:
			b.add(" AND ", revColumn, " = ")
			b.bind(storedRevision(m.Revisions[0]))
		default:
			if err := s.checkMatch(w, p, id, m); err != nil {
				return err
			}
		}
		if single {
			s.writeUngranted(b, p.table, key[0])
		}
		n, err := w.execute(b)
		switch {
		case err != nil:
			return err
		case single && p.table.granted:
			undone = n == 0
			return nil
		case n == 0:
			return s.missingError(w, p, id, m)
		}
		if err := s.forgetItems(ctx, w, p.table, key); err != nil || len(before) == 0 {
			return err
		}
		return s.afterDelete(ctx, w, p, before)
	}
	if err = do(ctx, p.table, work); err == nil && undone { // the item does not exist, or has a grant
		single = false
		err = s.writer.doTo(ctx, p.table, work)
	}
	return g.hideMissing(p.class, err)
}

// afterDelete does the work after items were deleted in the transaction of w: it journals the deletion and
// recomputes cached attributes of other items.
func (s *Store) afterDelete(ctx context.Context, w *session, p *plan, items []*engine.Item) error {
	if p.duties.journaled {
		if err := s.journalDeleted(ctx, w, items); err != nil {
			return err
		}
	}
	if !p.caching.any {
		return nil
	}
	return s.recacheItems(w, nil, items)
}

// readWatched returns the item with a key before it is changed, if cached attributes of other items
// depend on it or if the class is journaled.
func (s *Store) readWatched(w *session, p *plan, key []any) ([]*engine.Item, error) {
	if !p.caching.watched && !p.duties.journaled {
		return nil, nil
	}
	it := &engine.Item{}
	found, err := w.oneHeld(w.ctx, p.sql().get, s.traits.LockGone, p, it, slices.Clone(key))
	if err != nil || !found {
		return nil, err
	}
	return []*engine.Item{it}, nil
}

// checkMatch rejects a write if m does not allow the stored revision.
func (s *Store) checkMatch(w *session, p *plan, id string, m *engine.Match) error {
	key, _ := p.class.KeyValues(id)
	stored := &engine.Item{}
	found, err := w.oneHeld(w.ctx, p.sql().get, s.traits.LockGone, p, stored, key)
	switch {
	case err != nil:
		return err
	case !found:
		return engine.NoItem(p.class, id)
	case !m.Allows(stored.Revision):
		return unmatchedError(p.class, id)
	}
	return nil
}

// forgetItems deletes the data of deleted items: links on both sides, stages, grants on the items, and
// the rows of their files. References to the items stay unchanged.
func (s *Store) forgetItems(ctx context.Context, w *session, t *table, keys []any) error {
	for chunk := range slices.Chunk(keys, bulkRows) {
		for _, p := range t.pointers {
			if p.other == "" {
				continue
			}
			b := newBuilder(s.traits)
			b.add("DELETE FROM ", p.table, " WHERE ")
			s.writeIn(b, p.column, t.id.typ, chunk)
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
