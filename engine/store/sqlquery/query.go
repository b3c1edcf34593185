// Package sqlquery writes the statements that find items: it turns filters, expressions, sorting, pages, searches and
// aggregations into SQL. Every statement contains the conditions under which the account may read the items
// (guard.go). Other packages below store run the statements.
package sqlquery

import (
	"fmt"
	"math"
	"strings"
	"time"

	"restsrv/engine"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/rights"
	"restsrv/engine/store/sqldb"
)

// Queries writes the statements that find items.
type Queries struct {
	layout  *layout.Layout
	dialect sqldb.Dialect
	traits  sqldb.Traits
	stages  *engine.Class // records the stages of items; nil if there is none
	now     func() time.Time
}

// New returns the queries of the classes of a layout. stages is the class that records the stages of items, or
// nil. now returns the present time.
func New(l *layout.Layout, stages *engine.Class, now func() time.Time) *Queries {
	return &Queries{layout: l, dialect: l.Dialect, traits: l.Traits, stages: stages, now: now}
}

// Builder writes one statement with the conditions of a query.
type Builder struct {
	sqldb.Builder
	Dialect sqldb.Dialect
	plans   map[*engine.Class]*layout.Plan
	links   layout.LinkNames
	stages  *engine.Class // Queries.stages
	now     engine.Instant
	aliases int               // number of aliases used so far
	sources int               // number of tables that the statement reads in addition to the first
	atom    *atom             // the condition being written
	guard   *rights.Guard     // permissions of the account; nil allows everything
	May     engine.Permission // the permission that the guard checks for the items of a query
	err     error             // the first error; if there is one, the statement must not run
}

// StatementBuilder returns a builder for statements that may use all classes.
func (s *Queries) StatementBuilder() *Builder {
	return &Builder{Builder: *sqldb.NewBuilder(s.traits), Dialect: s.dialect, plans: s.layout.Plans, links: s.layout.LinkNames, stages: s.stages, now: engine.InstantOf(s.now())}
}

// Finish returns the error of the builder, or an error if the statement has more values than the database accepts.
func (b *Builder) Finish(tr sqldb.Traits) error {
	switch {
	case b.err != nil:
		return b.err
	case len(b.Args) > tr.MaxVariables:
		return engine.Errorf(engine.Invalid, "filter", "the filter has more than %d values", tr.MaxVariables)
	}
	return nil
}

// WriteFrom writes FROM with the table of p. The caller then writes the rest of the statement and calls close, which
// inserts the joins that the rest needs.
func (b *Builder) WriteFrom(p *layout.Plan) (src *Source, close func()) {
	b.Add(" FROM ", p.Table.Quoted)
	at := len(b.SQL)
	src = &Source{Plan: p, Alias: p.Table.Quoted, From: &From{}}
	return src, func() { b.Insert(at, src.From.Text()) }
}

// WriteWhere writes WHERE with the conditions of a query: class, permissions, filter, search and position. If there
// are no conditions, it does not write WHERE.
func (b *Builder) WriteWhere(src *Source, q *engine.Query) {
	word := " WHERE "
	condition := func(write func()) {
		b.Add(word)
		write()
		word = " AND "
	}
	switch {
	case q.Exact && src.Plan.Shapes != nil:
		condition(func() { b.Add(src.Alias, ".", layout.ClassColumn, " = ", sqldb.QuoteText(q.Class.FullName)) })
	case src.Plan.ClassCondition() != "":
		condition(func() { b.Add(src.OfClass()) })
	}
	if text := b.AllowedRows(src, b.May); text != "" {
		condition(func() { b.Add(text) })
	}
	if q.Filter != nil {
		condition(func() { b.Filter(src, q.Filter, false) })
	}
	if q.Search != "" {
		condition(func() { b.writeSearch(src, q.Search) })
	}
	if q.After != nil {
		condition(func() { b.writeAfter(src, q.Sort, q.After) })
	}
}

// WriteFind writes a statement that selects the columns in the list what from the items of a query, without order and
// page.
func (b *Builder) WriteFind(p *layout.Plan, what string, q *engine.Query) {
	b.Add("SELECT ", what)
	src, done := b.WriteFrom(p)
	b.WriteWhere(src, q)
	done()
}

// writePage writes the statement of a list. Its last two placeholders are count and offset.
func (b *Builder) writePage(p *layout.Plan, r *sqldb.Result, q *engine.Query) {
	b.Add("SELECT ", r.List)
	at := len(b.SQL)
	if q.Total != nil {
		writeTotal(b, p, q)
	}
	src, done := b.WriteFrom(p)
	b.WriteWhere(src, q)
	columns := b.WriteOrder(src, q.Sort)
	if q.Few {
		b.Add("+") // prevents SQLite from scanning the table in row order instead of using an index
	}
	b.Add(p.Table.Quoted, ".", layout.SeqColumn)
	b.AddPage(pageBounds(q))
	done()
	if q.WantPosition {
		b.Insert(at, PositionList(b.Label, p, columns))
	}
}

// writeTotal writes a column with the number of items that q finds without its page limits.
func writeTotal(b *Builder, p *layout.Plan, q *engine.Query) {
	sources := b.sources // restored afterwards, because the limit of sources applies to each SELECT
	b.Add(totalColumn(b.Label, b.Capture(func() { b.WriteFind(p, "count(*)", UnpagedQuery(q)) })))
	b.sources = sources
}

func totalColumn(label, count string) string {
	before, after, _ := strings.Cut(label, "%s")
	return ", " + before + "(" + count + ")" + after
}

// UnpagedQuery returns a query that finds the items of q on all pages.
func UnpagedQuery(q *engine.Query) *engine.Query {
	return &engine.Query{Class: q.Class, Filter: q.Filter, Search: q.Search, Exact: q.Exact, Count: -1}
}

// PositionList returns the columns that form the position of an item: the row number and the sort columns, each
// preceded by a comma.
func PositionList(label string, p *layout.Plan, columns []string) string {
	if label == "" {
		label = "%s"
	}
	var list strings.Builder
	for _, c := range append([]string{p.Table.Quoted + "." + layout.SeqColumn}, columns...) {
		fmt.Fprintf(&list, ", "+label, c)
	}
	return list.String()
}

// WriteOrder writes ORDER BY with the sort columns, and returns these columns. A comma follows each of them, so the
// caller must write one more column.
func (b *Builder) WriteOrder(src *Source, sorts []engine.Sort) (columns []string) {
	b.Add(" ORDER BY ")
	for _, s := range sorts {
		column := b.PathValue(src, s.Path())
		columns = append(columns, column)
		b.Add(column, []string{" NULLS FIRST, ", " DESC NULLS LAST, "}[boolToInt(s.Descending)])
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

// Listing is the statement of a list, with its arguments.
type Listing struct {
	Text  string
	Args  []any
	Types []engine.PropertyType // types of the values in an item's position; nil if positions are not needed
	Total *int64                // Query.Total if the statement also counts the items, in its last column; otherwise nil
}

// NewListing returns the statement that lists the items of q that the account may read.
func (s *Queries) NewListing(p *layout.Plan, g *rights.Guard, q *engine.Query) (Listing, error) {
	if err := g.CheckLoads(p.Class, q.Load); err != nil {
		return Listing{}, err
	}
	if p.FindsAll(q) && len(q.Sort) == 0 && !q.WantPosition && g.RowFilter(engine.MayRead, p.Class) == nil {
		count, offset := pageBounds(q)
		l := Listing{Text: p.SQL().List, Args: []any{count, offset}, Total: q.Total}
		if q.Total != nil {
			at := len("SELECT ") + len(p.SQL().Listed.List)
			l.Text = l.Text[:at] + totalColumn(s.traits.Label, p.SQL().Count) + l.Text[at:]
		}
		return l, nil
	}
	b := s.GuardedBuilder(g)
	b.writePage(p, p.SQL().Listed, q)
	if q.Total != nil && len(b.Args) > s.traits.MaxVariables {
		uncounted := *q
		uncounted.Total = nil
		return s.NewListing(p, g, &uncounted)
	}
	l := Listing{Text: b.Text(), Args: b.Args, Total: q.Total}
	if q.WantPosition {
		l.Types = []engine.PropertyType{engine.Int}
		for _, s := range q.Sort {
			l.Types = append(l.Types, s.Property.ValueType())
		}
	}
	return l, b.Finish(s.traits)
}

// SetPosition sets the position of an item from more, the values after the item's own in the result row.
func (l Listing) SetPosition(it *engine.Item, more []any) {
	if l.Types == nil {
		return
	}
	if it.Position == nil {
		it.Position = &engine.Position{Values: make([]any, len(more)-1)}
	}
	it.Position.Sequence, _ = more[0].(int64)
	for i, v := range more[1:] {
		it.Position.Values[i] = sqldb.ReadValue(l.Types[i+1], v)
	}
}

// CountStatement returns the statement that counts those items of q for which the account has the permission.
func (s *Queries) CountStatement(p *layout.Plan, g *rights.Guard, q *engine.Query, may engine.Permission) (string, []any, error) {
	if p.FindsAll(q) && g.AllowsAll(may, p.Class) {
		return p.SQL().Count, nil, nil
	}
	b := s.GuardedBuilder(g)
	b.May = may
	b.WriteFind(p, "count(*)", q)
	return b.Text(), b.Args, b.Finish(s.traits)
}
