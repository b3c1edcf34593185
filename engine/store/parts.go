package store

import (
	"context"
	"slices"

	"restsrv/engine"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/read"
	"restsrv/engine/store/rights"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/sqlquery"
	"restsrv/engine/store/table"
)

// selectRowNumbers returns the row numbers of the items that q finds and that the account may access with the
// permission. The rows are locked.
func (s *Store) selectRowNumbers(w *conns.Session, g *rights.Guard, may engine.Permission, p *layout.Plan, q *engine.Query) (all []any, err error) {
	b := s.queries.GuardedBuilder(g)
	b.May = may
	b.Add("SELECT ", layout.SeqColumn, " FROM ", p.Table.Quoted)
	if err := s.whereFound(b, p, q); err != nil {
		return nil, err
	}
	b.Add(s.table.LockClause(may))
	err = w.VisitRows(&b.Builder, 1, func(row []any) { all = append(all, row[0]) })
	return all, err
}

// inEach calls do for the items with these row numbers, a part at a time, and adds up the results. among writes the
// condition for a part.
func (s *Store) inEach(all []any, do func(among func(*sqldb.Builder)) (int64, error)) (n int64, err error) {
	for part := range slices.Chunk(all, table.BulkRows) {
		done, err := do(func(b *sqldb.Builder) {
			b.Add(" WHERE ")
			sqldb.WriteIn(s.db.Dialect, b, layout.SeqColumn, engine.Int, part)
		})
		if err != nil {
			return 0, err
		}
		n += done
	}
	return n, nil
}

// updateParts does the work of updateAll, a part at a time.
func (sv *filtered) updateParts(p *layout.Plan, q *engine.Query, v engine.Values) (n int64, err error) {
	s := sv.store
	all, err := s.selectRowNumbers(sv.w, sv.guard, engine.MayRead|engine.MayWrite, p, q)
	if err != nil || len(all) == 0 {
		return 0, err
	}
	if err := sv.store.table.RaiseCounters(sv.w, p, []engine.Values{v}); err != nil {
		return 0, err
	}
	return s.inEach(all, func(among func(*sqldb.Builder)) (int64, error) {
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

// deleteParts does the work of DeleteAll, a part at a time.
func (s *Store) deleteParts(ctx context.Context, w *conns.Session, g *rights.Guard, p *layout.Plan, q *engine.Query) (n int64, err error) {
	all, err := s.selectRowNumbers(w, g, engine.MayRead|engine.MayDelete, p, q)
	if err != nil {
		return 0, err
	}
	return s.inEach(all, func(among func(*sqldb.Builder)) (int64, error) {
		b := sqldb.NewBuilder(s.traits)
		b.Add("DELETE FROM ", p.Table.Quoted)
		among(b)
		return s.deleteAll(ctx, w, p, b)
	})
}
