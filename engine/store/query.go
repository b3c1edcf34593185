package store

import (
	"fmt"
	"math"
	"strings"

	"restsrv/engine"
)

// statementBuilder returns a builder for statements that may use all classes.
func (s *Store) statementBuilder() *builder {
	b := newBuilder(s.traits)
	b.dialect, b.plans, b.links, b.stages, b.now = s.db.Dialect, s.plans, s.linkNames, s.cfg.StageClass, engine.InstantOf(s.cfg.Now())
	return b
}

// finish returns the error of the builder, or an error if the statement has more values than the database accepts.
func (b *builder) finish(tr Traits) error {
	switch {
	case b.err != nil:
		return b.err
	case len(b.args) > tr.MaxVariables:
		return engine.Errorf(engine.Invalid, "filter", "the filter has more than %d values", tr.MaxVariables)
	}
	return nil
}

// writeFrom writes a FROM with the table of p. close inserts the joins that the rest of the statement requires.
func (b *builder) writeFrom(p *plan) (src *source, close func()) {
	b.add(" FROM ", p.table.quoted)
	at := len(b.sql)
	src = &source{plan: p, alias: p.table.quoted, from: &from{}}
	return src, func() { b.insert(at, src.from.text()) }
}

// writeWhere writes the condition of a query, if there is one.
func (b *builder) writeWhere(src *source, q *engine.Query) {
	word := " WHERE "
	condition := func(write func()) {
		b.add(word)
		write()
		word = " AND "
	}
	switch {
	case q.Exact && src.plan.shapes != nil:
		condition(func() { b.add(src.alias, ".", classColumn, " = ", quoteText(q.Class.FullName)) })
	case src.plan.classCondition() != "":
		condition(func() { b.add(src.ofClass()) })
	}
	if text := b.allowedRows(src, b.may); text != "" {
		condition(func() { b.add(text) })
	}
	if q.Filter != nil {
		condition(func() { b.filter(src, q.Filter, false) })
	}
	if q.Search != "" {
		condition(func() { b.writeSearch(src, q.Search) })
	}
	if q.After != nil {
		condition(func() { b.writeAfter(src, q.Sort, q.After) })
	}
}

// writeFind writes a statement that selects the columns in what from the items of a query, without order and page.
func (b *builder) writeFind(p *plan, what string, q *engine.Query) {
	b.add("SELECT ", what)
	src, done := b.writeFrom(p)
	b.writeWhere(src, q)
	done()
}

// writePage writes the statement of a list. Its last two placeholders are count and offset.
func (b *builder) writePage(p *plan, r *result, q *engine.Query) {
	b.add("SELECT ", r.list)
	at := len(b.sql)
	if q.Total != nil {
		b.writeTotal(p, q)
	}
	src, done := b.writeFrom(p)
	b.writeWhere(src, q)
	columns := b.writeOrder(src, q.Sort)
	if q.Few {
		b.add("+") // without it, SQLite would scan the table, because the table is in this order
	}
	// The casts prevent SQLite from preparing the statement again for each value.
	b.add(p.table.quoted, ".", seqColumn, " LIMIT CAST(")
	count, offset := pageBounds(q)
	b.bind(count)
	b.add(" AS BIGINT) OFFSET CAST(")
	b.bind(offset)
	b.add(" AS BIGINT)")
	done()
	if q.WantPosition {
		b.insert(at, positionList(b.label, p, columns))
	}
}

// writeTotal writes a column with the number of items that a query finds on all pages.
func (b *builder) writeTotal(p *plan, q *engine.Query) {
	sources := b.sources // the limit of sources applies to each SELECT
	b.add(totalColumn(b.label, b.capture(func() { b.writeFind(p, "count(*)", unpagedQuery(q)) })))
	b.sources = sources
}

func totalColumn(label, count string) string {
	before, after, _ := strings.Cut(label, "%s")
	return ", " + before + "(" + count + ")" + after
}

// unpagedQuery returns a query for the items of q on all pages.
func unpagedQuery(q *engine.Query) *engine.Query {
	return &engine.Query{Class: q.Class, Filter: q.Filter, Search: q.Search, Exact: q.Exact, Count: -1}
}

func positionList(label string, p *plan, columns []string) string {
	if label == "" {
		label = "%s"
	}
	var list strings.Builder
	for _, c := range append([]string{p.table.quoted + "." + seqColumn}, columns...) {
		fmt.Fprintf(&list, ", "+label, c)
	}
	return list.String()
}

// writeOrder writes ORDER BY and the sort columns, each followed by a comma. It returns the columns.
func (b *builder) writeOrder(src *source, sorts []engine.Sort) (columns []string) {
	b.add(" ORDER BY ")
	for _, s := range sorts {
		column := b.pathValue(src, s.Path())
		columns = append(columns, column)
		b.add(column, []string{" NULLS FIRST, ", " DESC NULLS LAST, "}[boolToInt(s.Descending)])
	}
	return columns
}

func pageBounds(q *engine.Query) (count, offset int64) {
	count = int64(q.Count)
	if count < 0 {
		count = math.MaxInt64
	}
	return count, max(int64(q.Offset), 0)
}

// findsAll reports whether q finds all items of its class.
func (p *plan) findsAll(q *engine.Query) bool {
	return q.Filter == nil && q.Search == "" && q.After == nil && !(q.Exact && p.shapes != nil)
}

// listing is the prepared statement of a list.
type listing struct {
	text  string
	args  []any
	types []engine.PropertyType // types of the values of an item's position; nil if positions are not needed
	total *int64                // Query.Total, if the statement also counts; the count is then the last column
}

func (s *Store) newListing(p *plan, g *guard, q *engine.Query) (listing, error) {
	if err := g.checkLoads(p.class, q.Load); err != nil {
		return listing{}, err
	}
	if p.findsAll(q) && len(q.Sort) == 0 && !q.WantPosition && g.rowFilter(engine.MayRead, p.class) == nil {
		count, offset := pageBounds(q)
		l := listing{text: p.sql().list, args: []any{count, offset}, total: q.Total}
		if q.Total != nil {
			at := len("SELECT ") + len(p.sql().listed.list)
			l.text = l.text[:at] + totalColumn(s.traits.Label, p.sql().count) + l.text[at:]
		}
		return l, nil
	}
	b := s.guardedBuilder(g)
	b.writePage(p, p.sql().listed, q)
	if q.Total != nil && len(b.args) > s.traits.MaxVariables {
		uncounted := *q
		uncounted.Total = nil
		return s.newListing(p, g, &uncounted)
	}
	l := listing{text: b.text(), args: b.args, total: q.Total}
	if q.WantPosition {
		l.types = []engine.PropertyType{engine.Int}
		for _, s := range q.Sort {
			l.types = append(l.types, s.Property.ValueType())
		}
	}
	return l, b.finish(s.traits)
}

// setPosition sets the position of an item from the columns after its own.
func (l listing) setPosition(it *engine.Item, more []any) {
	if l.types == nil {
		return
	}
	if it.Position == nil {
		it.Position = &engine.Position{Values: make([]any, len(more)-1)}
	}
	it.Position.Sequence, _ = more[0].(int64)
	for i, v := range more[1:] {
		it.Position.Values[i] = readValue(l.types[i+1], v)
	}
}
