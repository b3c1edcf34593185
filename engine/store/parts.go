package store

import (
	"context"
	"slices"

	"restsrv/engine"
)

// inParts reports whether a change of many items is made in parts. It is if the journal needs each item's previous
// values and no cached attribute needs the previous values of all items.
func (p *plan) inParts() bool { return p.duties.journaled && !p.caching.any }

// selectRowNumbers returns the row numbers of the items that q finds and that the account may access with the
// permission. The rows are locked.
func (s *Store) selectRowNumbers(w *session, g *guard, may engine.Permission, p *plan, q *engine.Query) (all []any, err error) {
	b := s.guardedBuilder(g)
	b.may = may
	b.add("SELECT ", seqColumn, " FROM ", p.table.quoted)
	if err := s.whereFound(b, p, q); err != nil {
		return nil, err
	}
	b.add(s.lockClause(may))
	err = w.visitRows(b, 1, func(row []any) { all = append(all, row[0]) })
	return all, err
}

// inEach calls do for the items with these row numbers, a part at a time, and adds up the results. among writes the
// condition for a part.
func (s *Store) inEach(all []any, do func(among func(*builder)) (int64, error)) (n int64, err error) {
	for part := range slices.Chunk(all, bulkRows) {
		done, err := do(func(b *builder) {
			b.add(" WHERE ")
			s.writeIn(b, seqColumn, engine.Int, part)
		})
		if err != nil {
			return 0, err
		}
		n += done
	}
	return n, nil
}

// updateParts does the work of updateAll, a part at a time.
func (sv *save) updateParts(p *plan, q *engine.Query, v engine.Values) (n int64, err error) {
	s := sv.store
	all, err := s.selectRowNumbers(sv.w, sv.guard, engine.MayRead|engine.MayWrite, p, q)
	if err != nil || len(all) == 0 {
		return 0, err
	}
	if err := sv.raiseCounters(p, []engine.Values{v}); err != nil {
		return 0, err
	}
	return s.inEach(all, func(among func(*builder)) (int64, error) {
		b := newBuilder(s.traits)
		b.add("SELECT ", p.sql().listed.list, " FROM ", p.table.quoted)
		among(b)
		before, err := sv.w.cloneItems(sv.w.ctx, p, listing{text: b.text(), args: b.args})
		if err != nil {
			return 0, err
		}
		b = newBuilder(s.traits)
		sv.setAll(b, p, v)
		among(b)
		return sv.changeAll(b, p, v, before)
	})
}

// deleteParts does the work of DeleteAll, a part at a time.
func (s *Store) deleteParts(ctx context.Context, w *session, g *guard, p *plan, q *engine.Query) (n int64, err error) {
	all, err := s.selectRowNumbers(w, g, engine.MayRead|engine.MayDelete, p, q)
	if err != nil {
		return 0, err
	}
	return s.inEach(all, func(among func(*builder)) (int64, error) {
		b := newBuilder(s.traits)
		b.add("DELETE FROM ", p.table.quoted)
		among(b)
		return s.deleteAll(ctx, w, p, b)
	})
}
