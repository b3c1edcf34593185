package store

import (
	"context"
	"slices"

	"restsrv/engine"
)

// Delete is engine.Repository's.
func (s *Store) Delete(ctx context.Context, c *engine.Class, id string, m *engine.Match) error {
	p, err := s.plan(c)
	if err != nil {
		return err
	}
	g, may := s.guardOf(ctx), check{p, engine.MayDelete}
	if g.never(may.may, p.class) {
		return engine.Denied()
	}
	key, ok := c.KeyValues(id)
	if !ok {
		return g.noItem(p.class, id)
	}
	do, undone := s.writer.doTo, false
	single := s.singly(ctx, p) && g.rows(may.may, p.class) == nil && inStatement(m) && !p.table.remembered() && !p.caching.any && !p.duties.journaled
	if single {
		do = s.writer.statement
	}
	work := func(w *session) error {
		if err := s.admitNamed(w, g, may, key); err != nil {
			return err
		}
		before, err := s.watched(w, p, key)
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
			b.bind(stored(m.Revisions[0]))
		default:
			if err := s.matches(w, p, id, m); err != nil {
				return err
			}
		}
		if single {
			s.ungranted(b, p.table, key[0])
		}
		n, err := w.execute(b)
		switch {
		case err != nil:
			return err
		case single && p.table.granted:
			undone = n == 0
			return nil
		case n == 0:
			return s.missing(w, p, id, m)
		}
		if err := s.forget(ctx, w, p.table, key); err != nil || len(before) == 0 {
			return err
		}
		return s.gone(ctx, w, p, before)
	}
	if err = do(ctx, p.table, work); err == nil && undone { // there is no such item, or a grant on it
		single = false
		err = s.writer.doTo(ctx, p.table, work)
	}
	return g.veiled(p.class, err)
}

// gone does what follows when items were deleted in the transaction of w, of
// which something depends on what they were.
func (s *Store) gone(ctx context.Context, w *session, p *plan, items []*engine.Item) error {
	if p.duties.journaled {
		if err := s.tellGone(ctx, w, items); err != nil {
			return err
		}
	}
	if !p.caching.any {
		return nil
	}
	return s.recache(w, nil, items)
}

// watched is the item with a key when cached attributes of others depend on
// it, or a journal is kept: what it is before it is changed.
func (s *Store) watched(w *session, p *plan, key []any) ([]*engine.Item, error) {
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

// matches refuses a write that names other revisions than the stored one.
func (s *Store) matches(w *session, p *plan, id string, m *engine.Match) error {
	key, _ := p.class.KeyValues(id)
	stored := &engine.Item{}
	found, err := w.oneHeld(w.ctx, p.sql().get, s.traits.LockGone, p, stored, key)
	switch {
	case err != nil:
		return err
	case !found:
		return engine.NoItem(p.class, id)
	case !m.Allows(stored.Revision):
		return unmatched(p.class, id)
	}
	return nil
}

// forget deletes what belonged to deleted items: links on both sides, their
// stages, grants on them, and what is known of their files. References to them stay as they are.
func (s *Store) forget(ctx context.Context, w *session, t *table, keys []any) error {
	for chunk := range slices.Chunk(keys, bulkRows) {
		for _, p := range t.pointers {
			if p.other == "" {
				continue
			}
			b := newBuilder(s.traits)
			b.add("DELETE FROM ", p.table, " WHERE ")
			s.in(b, p.column, t.id.typ, chunk)
			if err := s.unlink(ctx, w, b, t, p); err != nil {
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
