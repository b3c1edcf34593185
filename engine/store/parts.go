package store

import (
	"context"
	"slices"

	"restsrv/engine"
)

// inParts reports whether many items are changed a part at a time: a journal
// wants to know what each was, and nothing that all of them were.
func (p *plan) inParts() bool { return p.duties.journaled && !p.caching.any }

// numbers are those of the items that q finds and with which the account may do
// that. They are locked.
func (s *Store) numbers(w *session, g *guard, may engine.Permission, p *plan, q *engine.Query) (all []any, err error) {
	b := s.guarded(g)
	b.may = may
	b.add("SELECT ", seqColumn, " FROM ", p.table.quoted)
	if err := s.among(b, p, q); err != nil {
		return nil, err
	}
	b.add(s.traits.Lock)
	err = w.visitRows(b, 1, func(row []any) { all = append(all, row[0]) })
	return all, err
}

// updateParts is updateAll, a part at a time.
func (sv *save) updateParts(p *plan, q *engine.Query, v engine.Values) (n int64, err error) {
	s := sv.store
	all, err := s.numbers(sv.w, sv.guard, engine.MayRead|engine.MayWrite, p, q)
	if err != nil || len(all) == 0 {
		return 0, err
	}
	if err := sv.raise(p, []engine.Values{v}); err != nil {
		return 0, err
	}
	for part := range slices.Chunk(all, bulkRows) {
		b := newBuilder(s.traits)
		b.add("SELECT ", p.sql().listed.list, " FROM ", p.table.quoted, " WHERE ")
		s.in(b, seqColumn, engine.Int, part)
		before, err := sv.w.clones(sv.w.ctx, p, listing{text: b.text(), args: b.args})
		if err != nil {
			return 0, err
		}
		b = newBuilder(s.traits)
		sv.setAll(b, p, v)
		b.add(" WHERE ")
		s.in(b, seqColumn, engine.Int, part)
		changed, err := sv.changeAll(b, p, v, before)
		if err != nil {
			return 0, err
		}
		n += changed
	}
	return n, nil
}

// deleteParts is DeleteAll, a part at a time.
func (s *Store) deleteParts(ctx context.Context, w *session, g *guard, p *plan, q *engine.Query) (n int64, err error) {
	all, err := s.numbers(w, g, engine.MayRead|engine.MayDelete, p, q)
	if err != nil {
		return 0, err
	}
	for part := range slices.Chunk(all, bulkRows) {
		b := newBuilder(s.traits)
		b.add("DELETE FROM ", p.table.quoted, " WHERE ")
		s.in(b, seqColumn, engine.Int, part)
		gone, err := s.deleteAll(ctx, w, p, b)
		if err != nil {
			return 0, err
		}
		n += gone
	}
	return n, nil
}
