package sqlquery

import (
	"strconv"

	"restsrv/engine"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/sqldb"
)

// WriteAggregation writes the statement of an aggregation. GROUP BY and ORDER BY name columns by their numbers.
// Repeating the expression of a column would bind its values to new placeholders, and the database would not recognize
// the same expression.
func WriteAggregation(b *Builder, p *layout.Plan, a *engine.Aggregation) {
	b.Add("SELECT ")
	grouped := len(a.Aggregates) > 0
	if a.Distinct && !grouped {
		b.Add("DISTINCT ")
	}
	src := &Source{Plan: p, Alias: p.Table.Quoted, From: &From{Table: p.Table.Quoted}}
	for i, c := range a.Columns {
		b.Add([]string{"", ", "}[min(i, 1)], b.comparableExpr(src, c.Expr))
	}
	for i, g := range a.Aggregates {
		b.Add([]string{"", ", "}[min(i+len(a.Columns), 1)], aggregateExpr(b, src, g))
	}
	mark := len(b.SQL)
	b.WriteWhere(src, &engine.Query{Class: a.Class, Filter: a.Filter, Exact: a.Exact})
	b.Insert(mark, " FROM "+src.From.Text())
	if grouped && len(a.Columns) > 0 {
		b.Add(" GROUP BY ")
		for i := range a.Columns {
			b.Add([]string{"", ", "}[min(i, 1)], strconv.Itoa(i+1))
		}
	}
	rowOrder(b, p, a, grouped)
	b.AddPage(pageBounds(&engine.Query{Count: a.Count, Offset: a.Offset}))
}

func rowOrder(b *Builder, p *layout.Plan, a *engine.Aggregation, grouped bool) {
	word := " ORDER BY "
	term := func(column string, descending bool) {
		b.Add(word, column, []string{" NULLS FIRST", " DESC NULLS LAST"}[boolToInt(descending)])
		word = ", "
	}
	sorted := map[int]bool{}
	for _, s := range a.Sort {
		sorted[s.Column] = true
		term(strconv.Itoa(s.Column+1), s.Descending)
	}
	if !grouped && !a.Distinct {
		b.Add(word, p.Table.Quoted, ".", layout.SeqColumn)
		return
	}
	for i := range a.Columns {
		if !sorted[i] {
			term(strconv.Itoa(i+1), false)
		}
	}
}

func aggregateExpr(b *Builder, src *Source, g engine.Aggregate) string {
	if g.Expr == nil {
		return "count(*)"
	}
	if g.Function == engine.AvgOf {
		sum := b.Dialect.Function(sqldb.Sum, b.expr(src, g.Expr))
		return b.Dialect.Function(sqldb.Ordered, b.Dialect.Function(sqldb.Div, sum, b.Dialect.Function(sqldb.DecimalOfInt, "count("+b.expr(src, g.Expr)+")")))
	}
	if g.Function == engine.SumOf {
		sum := b.Dialect.Function(sqldb.Sum, b.expr(src, g.Expr))
		return b.Dialect.Function(sqldb.Ordered, "coalesce("+sum+", "+b.Dialect.Function(sqldb.DecimalValue, "'0'")+")")
	}
	text := b.comparableExpr(src, g.Expr)
	switch {
	case g.Function == engine.CountOf:
		return "count(" + text + ")"
	case g.Expr.Type == engine.Boolean:
		// Some databases cannot order booleans, so compare numbers.
		text = string(g.Function) + "(CASE WHEN " + text + " THEN 1 WHEN NOT " + b.expr(src, g.Expr) + " THEN 0 END)"
		return "(" + text + " = 1)"
	}
	return string(g.Function) + "(" + text + ")"
}
