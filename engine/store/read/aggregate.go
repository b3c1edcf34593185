package read

import (
	"context"
	"database/sql"

	"restsrv/engine"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/sqlquery"
)

// Aggregate implements engine.Repository.
func (s *Reader) Aggregate(ctx context.Context, a *engine.Aggregation, visit func(row []any) error) error {
	p, err := s.layout.PlanOf(a.Class)
	if err != nil {
		return err
	}
	b := s.queries.GuardedBuilder(s.GuardOf(ctx))
	sqlquery.WriteAggregation(b, p, a)
	if err := b.Finish(s.traits); err != nil || a.Count == 0 {
		return err
	}
	ctx, done := s.pool.WithReadTime(ctx)
	defer done()
	return s.pool.ReadMetered(ctx, p.Table, s.pool.Readers.Scans.NameStatement(b.Text(), nil, -1), func(r *conns.Session) error { return visitResults(r, ctx, &b.Builder, rowTypes(a), visit) })
}

func rowTypes(a *engine.Aggregation) (types []engine.PropertyType) {
	for _, c := range a.Columns {
		types = append(types, c.Expr.Type)
	}
	for _, g := range a.Aggregates {
		types = append(types, g.Type())
	}
	return types
}

func visitResults(r *conns.Session, ctx context.Context, b *sqldb.Builder, types []engine.PropertyType, visit func([]any) error) error {
	dest := r.MakeRow(len(types))
	return r.EachRow(ctx, b.Text(), b.Args, func(rows *sql.Rows) error {
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		for i, t := range types {
			r.Raw[i] = sqldb.ReadValue(t, r.Raw[i])
		}
		r.MarkDelivered()
		if err := visit(r.Raw); err != nil {
			return &conns.Stop{Err: err}
		}
		return nil
	})
}
