package sqlquery

import (
	"strings"

	"restsrv/engine"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/rights"
)

// GuardedBuilder returns a builder for statements that return only items that the account may read. The placeholders
// have numbers, because the conditions on joined tables are written last but inserted near the beginning of the text.
func (s *Queries) GuardedBuilder(g *rights.Guard) *Builder {
	b := s.StatementBuilder()
	if g != nil {
		b.guard, b.Numbered, b.May = g, true, engine.MayRead
	}
	return b
}

// SelectByKey returns the statement that reads the item with a key, if the account has the permission may for this
// item. Otherwise the statement returns no row.
func (s *Queries) SelectByKey(p *layout.Plan, g *rights.Guard, may engine.Permission, key []any) (text string, args []any, err error) {
	f := g.RowFilter(may, p.Class)
	if f == nil {
		return p.SQL().Get, key, nil
	}
	b := s.GuardedBuilder(g)
	b.Add("SELECT ", p.SQL().Selected.List, " FROM ", p.Table.Quoted)
	p.WhereKey(&b.Builder, key)
	b.Add(" AND ", b.StandaloneFilter(TopSource(p), f))
	return b.Text(), b.Args, b.Finish(s.traits)
}

// AllowedRows returns the condition that the account has all of the permissions for a row of src. It returns "" if the
// account has them for all rows. AllowedRows may add joins to src.
func (b *Builder) AllowedRows(src *Source, may engine.Permission) string {
	var all []string
	for _, one := range rights.Permissions {
		if !may.Has(one) {
			continue
		}
		if f := b.guard.RowFilter(one, src.Plan.Class); f != nil {
			all = append(all, b.unguardedFilter(src, f))
		}
	}
	return strings.Join(all, " AND ")
}

// ReadableRow returns the condition that the account may read a row of src, or "" if it may read all rows. In contrast
// to AllowedRows, it does not add joins to src.
func (b *Builder) ReadableRow(src *Source) string {
	if f := b.guard.RowFilter(engine.MayRead, src.Plan.Class); f != nil {
		return b.StandaloneFilter(src, f)
	}
	return ""
}

// unguardedFilter returns the text of f, a condition of the guard. f may depend on items that the account cannot read.
// The joins of the query leave such items out, so f gets joins of its own.
func (b *Builder) unguardedFilter(src *Source, f *engine.Filter) string {
	g, atom := b.guard, b.atom
	b.guard, b.atom = nil, nil
	bare := &Source{Plan: src.Plan, Alias: src.Alias, From: src.From}
	text := b.Capture(func() { b.Filter(bare, f, false) })
	b.guard, b.atom = g, atom
	return "(" + text + ")"
}

// StandaloneFilter returns the text of f, a condition of the guard. In contrast to unguardedFilter, it does not add
// joins to src, but writes the joins of f in a subquery. The text has a form that the database cannot use to find
// rows. Otherwise, together with other conditions on the id, PostgreSQL would try all ids of a long list or read the
// whole table.
func (b *Builder) StandaloneFilter(src *Source, f *engine.Filter) string {
	apart := &Source{Plan: src.Plan, Alias: src.Alias, From: &From{}}
	text := b.unguardedFilter(apart, f)
	if joins := apart.From.joins.String(); joins != "" {
		return "EXISTS (SELECT 1 FROM (SELECT 1) AS " + b.newAlias() + joins + " WHERE " + text + ")"
	}
	return text + " IS TRUE"
}

// TopSource returns the table of a plan as the source of a statement that reads only this table, without an alias.
func TopSource(p *layout.Plan) *Source {
	return &Source{Plan: p, Alias: p.Table.Quoted, From: &From{}}
}

// AnyPermission returns the condition that the account has at least one of the permissions for an item. It returns ""
// if no condition is needed, because the account has one of the permissions for all items.
func AnyPermission(b *Builder, p *layout.Plan, of []engine.Permission) string {
	var conditions []*engine.Filter
	for _, may := range of {
		f := b.guard.RowFilter(may, p.Class)
		if f == nil {
			return "" // return before any condition has bound arguments
		}
		conditions = append(conditions, f)
	}
	all := make([]string, len(conditions))
	for i, f := range conditions {
		all[i] = b.StandaloneFilter(TopSource(p), f)
	}
	return "(" + strings.Join(all, " OR ") + ")"
}
