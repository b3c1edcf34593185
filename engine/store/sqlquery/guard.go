package sqlquery

import (
	"strings"

	"restsrv/engine"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/rights"
)

// GuardedBuilder returns a builder for statements that show an account only the items that it may read.
// Placeholders have numbers, because conditions on joined tables come first in the text but are
// written later.
func (s *Queries) GuardedBuilder(g *rights.Guard) *Builder {
	b := s.StatementBuilder()
	if g != nil {
		b.guard, b.Numbered, b.May = g, true, engine.MayRead
	}
	return b
}

// SelectByKey returns the statement that reads an item by its key if the account has the permission for
// it.
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

// AllowedRows returns the condition on rows of src under which the account has all of the permissions,
// or "" if there is none. It may add joins to src.
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

// ReadableRow is like AllowedRows, for reading a row of src when src cannot get further joins.
func (b *Builder) ReadableRow(src *Source) string {
	if f := b.guard.RowFilter(engine.MayRead, src.Plan.Class); f != nil {
		return b.StandaloneFilter(src, f)
	}
	return ""
}

// unguardedFilter returns a condition of the guard. The condition may use hidden items, so it has its own
// joins.
func (b *Builder) unguardedFilter(src *Source, f *engine.Filter) string {
	g, atom := b.guard, b.atom
	b.guard, b.atom = nil, nil
	bare := &Source{Plan: src.Plan, Alias: src.Alias, From: src.From}
	text := b.Capture(func() { b.Filter(bare, f, false) })
	b.guard, b.atom = g, atom
	return "(" + text + ")"
}

// StandaloneFilter is like unguardedFilter, for a src that cannot get further joins: the condition has its joins in
// a subquery. It must not be used to find the row. If it could be, PostgreSQL would try all ids of
// a long list or read the whole table, when other conditions are on the id too.
func (b *Builder) StandaloneFilter(src *Source, f *engine.Filter) string {
	apart := &Source{Plan: src.Plan, Alias: src.Alias, From: &From{}}
	text := b.unguardedFilter(apart, f)
	if joins := apart.From.joins.String(); joins != "" {
		return "EXISTS (SELECT 1 FROM (SELECT 1) AS " + b.newAlias() + joins + " WHERE " + text + ")"
	}
	return text + " IS TRUE"
}

// TopSource returns the table of a plan as the source of a statement that reads only this table, without
// an alias.
func TopSource(p *layout.Plan) *Source {
	return &Source{Plan: p, Alias: p.Table.Quoted, From: &From{}}
}

// AnyPermission writes the condition under which the account has one of several permissions. It returns ""
// if the account has one for every item.
func AnyPermission(b *Builder, p *layout.Plan, of []engine.Permission) string {
	var conditions []*engine.Filter
	for _, may := range of {
		f := b.guard.RowFilter(may, p.Class)
		if f == nil {
			return "" // returned before any condition binds arguments
		}
		conditions = append(conditions, f)
	}
	all := make([]string, len(conditions))
	for i, f := range conditions {
		all[i] = b.StandaloneFilter(TopSource(p), f)
	}
	return "(" + strings.Join(all, " OR ") + ")"
}
