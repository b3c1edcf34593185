package table

import (
	"slices"

	"restsrv/engine"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/read"
	"restsrv/engine/store/rights"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/sqlquery"
)

// WriteFound writes the condition that an item is one of those that q finds. The condition also locks these items. If
// a concurrent transaction is changing an item, the database checks the condition again with the new state of the
// item. Items are locked in the order of their keys.
func (s *Writer) WriteFound(b *sqlquery.Builder, p *layout.Plan, q *engine.Query) error {
	b.Add(" WHERE ", layout.SeqColumn, " IN (")
	b.WriteFind(p, p.Table.Quoted+"."+layout.SeqColumn, q)
	if lock := s.LockClause(b.May); lock != "" {
		// Lock only the table itself, because an outer join may produce nulls, which cannot be locked.
		b.Add(" ORDER BY ", p.Table.Quoted, ".", p.Table.ID.Quoted, lock, " OF ", p.Table.Quoted)
	}
	b.Add(")")
	return b.Finish(s.traits)
}

// ReadAffected returns the items that q finds and that the account may change, and locks them as ReadLocked does. It
// is called before the change, because cached attributes of other items may depend on the present values.
func (s *Writer) ReadAffected(w *conns.Session, g *rights.Guard, p *layout.Plan, q *engine.Query) ([]*engine.Item, error) {
	b := s.queries.GuardedBuilder(g)
	b.May = engine.MayRead | engine.MayWrite
	b.Add("SELECT ", p.SQL().Listed.List, " FROM ", p.Table.Quoted)
	if err := s.WriteFound(b, p, q); err != nil {
		return nil, err
	}
	b.Add(s.traits.Lock)
	return read.Clone(w, w.Ctx, p, sqlquery.Listing{Text: b.Text(), Args: b.Args})
}

// RowNumbers returns the row numbers of the items that q finds and for which the account has the permission. It locks
// the rows.
func (s *Writer) RowNumbers(w *conns.Session, g *rights.Guard, may engine.Permission, p *layout.Plan, q *engine.Query) (all []any, err error) {
	b := s.queries.GuardedBuilder(g)
	b.May = may
	b.Add("SELECT ", layout.SeqColumn, " FROM ", p.Table.Quoted)
	if err := s.WriteFound(b, p, q); err != nil {
		return nil, err
	}
	b.Add(s.LockClause(may))
	err = w.VisitRows(&b.Builder, 1, func(row []any) { all = append(all, row[0]) })
	return all, err
}

// InEach divides the items with these row numbers into parts, calls do for each part, and returns the sum of the
// results. do calls among to write the condition that an item belongs to the part.
func (s *Writer) InEach(all []any, do func(among func(*sqldb.Builder)) (int64, error)) (n int64, err error) {
	for part := range slices.Chunk(all, BulkRows) {
		done, err := do(func(b *sqldb.Builder) {
			b.Add(" WHERE ")
			sqldb.WriteIn(s.dialect, b, layout.SeqColumn, engine.Int, part)
		})
		if err != nil {
			return 0, err
		}
		n += done
	}
	return n, nil
}
