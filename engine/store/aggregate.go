package store

import (
	"context"
	"database/sql"
	"strconv"

	"restsrv/engine"
)

// Aggregate implements engine.Repository.
func (s *Store) Aggregate(ctx context.Context, a *engine.Aggregation, visit func(row []any) error) error {
	p, err := s.planOf(a.Class)
	if err != nil {
		return err
	}
	b := s.guardedBuilder(s.guardOf(ctx))
	b.writeAggregation(p, a)
	if err := b.finish(s.traits); err != nil || a.Count == 0 {
		return err
	}
	ctx, done := s.withReadTime(ctx)
	defer done()
	return s.readMetered(ctx, p.table, s.readers.scans.nameStatement(b.text(), nil, -1), func(r *session) error { return r.visitResults(ctx, b, rowTypes(a), visit) })
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

func (r *session) visitResults(ctx context.Context, b *builder, types []engine.PropertyType, visit func([]any) error) error {
	dest := r.makeRow(len(types))
	return r.eachRow(ctx, b.text(), b.args, func(rows *sql.Rows) error {
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		for i, t := range types {
			r.raw[i] = readValue(t, r.raw[i])
		}
		r.markDelivered()
		if err := visit(r.raw); err != nil {
			return &stop{err}
		}
		return nil
	})
}

// writeAggregation writes the statement. It groups and orders by the numbers of columns. If it wrote a
// column again, its bound values would make it a different expression.
func (b *builder) writeAggregation(p *plan, a *engine.Aggregation) {
	b.add("SELECT ")
	grouped := len(a.Aggregates) > 0
	if a.Distinct && !grouped {
		b.add("DISTINCT ")
	}
	src := &source{plan: p, alias: p.table.quoted, from: &from{table: p.table.quoted}}
	for i, c := range a.Columns {
		b.add([]string{"", ", "}[min(i, 1)], b.comparableExpr(src, c.Expr))
	}
	for i, g := range a.Aggregates {
		b.add([]string{"", ", "}[min(i+len(a.Columns), 1)], b.aggregateExpr(src, g))
	}
	mark := len(b.sql)
	b.writeWhere(src, &engine.Query{Class: a.Class, Filter: a.Filter, Exact: a.Exact})
	b.insert(mark, " FROM "+src.from.text())
	if grouped && len(a.Columns) > 0 {
		b.add(" GROUP BY ")
		for i := range a.Columns {
			b.add([]string{"", ", "}[min(i, 1)], strconv.Itoa(i+1))
		}
	}
	b.rowOrder(p, a, grouped)
	count, offset := pageBounds(&engine.Query{Count: a.Count, Offset: a.Offset})
	b.add(" LIMIT CAST(")
	b.bind(count)
	b.add(" AS BIGINT) OFFSET CAST(")
	b.bind(offset)
	b.add(" AS BIGINT)")
}

func (b *builder) rowOrder(p *plan, a *engine.Aggregation, grouped bool) {
	word := " ORDER BY "
	term := func(column string, descending bool) {
		b.add(word, column, []string{" NULLS FIRST", " DESC NULLS LAST"}[boolToInt(descending)])
		word = ", "
	}
	sorted := map[int]bool{}
	for _, s := range a.Sort {
		sorted[s.Column] = true
		term(strconv.Itoa(s.Column+1), s.Descending)
	}
	if !grouped && !a.Distinct {
		b.add(word, p.table.quoted, ".", seqColumn)
		return
	}
	for i := range a.Columns {
		if !sorted[i] {
			term(strconv.Itoa(i+1), false)
		}
	}
}

func (b *builder) aggregateExpr(src *source, g engine.Aggregate) string {
	if g.Expr == nil {
		return "count(*)"
	}
	if g.Function == engine.AvgOf {
		sum := b.dialect.Function(Sum, b.expr(src, g.Expr))
		return b.dialect.Function(Ordered, b.dialect.Function(Div, sum, b.dialect.Function(DecimalOfInt, "count("+b.expr(src, g.Expr)+")")))
	}
	if g.Function == engine.SumOf {
		sum := b.dialect.Function(Sum, b.expr(src, g.Expr))
		return b.dialect.Function(Ordered, "coalesce("+sum+", "+b.dialect.Function(DecimalValue, "'0'")+")")
	}
	text := b.comparableExpr(src, g.Expr)
	switch {
	case g.Function == engine.CountOf:
		return "count(" + text + ")"
	case g.Expr.Type == engine.Boolean:
		// Not every database orders booleans, so compare numbers.
		text = string(g.Function) + "(CASE WHEN " + text + " THEN 1 WHEN NOT " + b.expr(src, g.Expr) + " THEN 0 END)"
		return "(" + text + " = 1)"
	}
	return string(g.Function) + "(" + text + ")"
}
