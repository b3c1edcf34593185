package store

import (
	"context"
	"strings"

	"restsrv/engine"
)

// guard checks the permissions of the account of one call. A nil guard allows everything; the
// server uses it for its own work.
type guard struct {
	asked    engine.Guard
	rowsRead map[*engine.Property][]*engine.Class // Store.rowsRead
	hidden   map[*engine.Class][]*engine.Property // nil until first used, as pointers
	withheld map[*engine.Class][]*engine.Property
	pointers map[*plan][]*engine.Property
}

func (s *Store) guardOf(ctx context.Context) *guard {
	if g := engine.GuardFrom(ctx); g != nil {
		return &guard{asked: g, rowsRead: s.rowsRead}
	}
	return nil
}

// rowFilter returns the condition under which the account has the permission for items of a class, or
// nil if it has it for all items.
func (g *guard) rowFilter(may engine.Permission, c *engine.Class) *engine.Filter {
	if g == nil {
		return nil
	}
	f := g.asked.Rows(may, c)
	if f != nil && f.Op == engine.OpConst && f.Value {
		return nil
	}
	return f
}

// allowsAll reports whether the account has all of the permissions for all items of a class.
func (g *guard) allowsAll(may engine.Permission, c *engine.Class) bool {
	for _, one := range permissions {
		if may.Has(one) && g.rowFilter(one, c) != nil {
			return false
		}
	}
	return true
}

// neverAllows reports whether the account has the permission for no item of the class.
func (g *guard) neverAllows(may engine.Permission, c *engine.Class) bool {
	f := g.rowFilter(may, c)
	return f != nil && f.Op == engine.OpConst
}

// mayCreate reports whether the account may create items of exactly the class c, as far as it is
// known before the item is written.
func (g *guard) mayCreate(c *engine.Class) bool { return g == nil || g.asked.Creates(c) }

// hides reports whether a property is hidden from the account: it does not have the permission for
// the property.
func (g *guard) hides(may engine.Permission, p *engine.Property) bool {
	return g != nil && p != engine.ClassName && p != engine.ItemID && g.asked.Hides(may, p)
}

// hiddenProperties returns the properties of a class that the account may not read.
func (g *guard) hiddenProperties(c *engine.Class) []*engine.Property {
	all, known := g.hidden[c]
	if !known {
		for _, p := range c.Properties {
			if g.hides(engine.MayRead, p) {
				all = append(all, p)
			}
		}
		if g.hidden == nil {
			g.hidden = map[*engine.Class][]*engine.Property{}
		}
		g.hidden[c] = all
	}
	return all
}

// hideValues removes hidden values and links from an item. Call it before formulas are computed.
func (g *guard) hideValues(it *engine.Item) {
	if g == nil {
		return
	}
	for _, p := range g.hiddenProperties(it.Class) {
		it.Values[p.Index] = nil
		if p.Index < len(it.Links) {
			it.Links[p.Index] = engine.Link{}
		}
	}
}

// hideLoaded removes hidden values from an item and from all items loaded with it.
func (g *guard) hideLoaded(it *engine.Item) {
	if g == nil || it == nil {
		return
	}
	g.hideValues(it)
	for _, link := range it.Links {
		g.hideLoaded(link.Item)
		for _, member := range link.Items {
			g.hideLoaded(member)
		}
	}
}

// checkPath returns an error if a path contains a hidden or withheld attribute. It is called for every
// path of a filter, an order, a position or an aggregation before the path is written.
func (g *guard) checkPath(c *engine.Class, path []*engine.Property) error {
	if g == nil {
		return nil
	}
	for _, p := range path {
		if g.hides(engine.MayRead, p) {
			return unknownAttribute(c, p)
		}
		if g.withholds(p) {
			return withheldAttribute(c, p)
		}
		c = p.Target
	}
	return nil
}

// checkLoads returns an error if one of the loads names a hidden attribute.
func (g *guard) checkLoads(c *engine.Class, all []*engine.Load) error {
	if g == nil {
		return nil
	}
	for _, l := range all {
		if g.hides(engine.MayRead, l.Property) {
			return unknownAttribute(c, l.Property)
		}
		if err := g.checkLoads(l.Property.Target, l.Next); err != nil {
			return err
		}
	}
	return nil
}

// mentionsHidden reports whether a condition contains a hidden or withheld attribute.
func (g *guard) mentionsHidden(f *engine.Filter) bool {
	if g == nil || f == nil {
		return false
	}
	for _, arg := range f.Args {
		if g.mentionsHidden(arg) {
			return true
		}
	}
	return g.exprMentionsHidden(f.Left) || g.exprMentionsHidden(f.Right)
}

func (g *guard) exprMentionsHidden(e *engine.Expr) bool {
	if e == nil {
		return false
	}
	for _, p := range e.Path {
		if g.isUnusable(p) {
			return true
		}
	}
	for _, arg := range e.Args {
		if g.exprMentionsHidden(arg) {
			return true
		}
	}
	for _, c := range e.Conds {
		if g.mentionsHidden(c) {
			return true
		}
	}
	return false
}

// memberConditions returns the condition on the members of a collection. If it depends on hidden
// attributes, the collection has no members for the account.
func (g *guard) memberConditions(p *engine.Property) *engine.Filter {
	if g.mentionsHidden(p.Conditions) || g.withholds(p) {
		return engine.Never()
	}
	return p.Conditions
}

// memberSorting returns the order of the members of a collection. It leaves out sorts by hidden
// or withheld attributes.
func (g *guard) memberSorting(p *engine.Property) []engine.Sort {
	if g == nil {
		return p.Sorting
	}
	var known []engine.Sort
	for _, s := range p.Sorting {
		if g.checkPath(p.Target, s.Path()) == nil {
			known = append(known, s)
		}
	}
	return known
}

// guardedBuilder returns a builder for statements that show an account only the items that it may read.
// Placeholders have numbers, because conditions on joined tables come first in the text but are
// written later.
func (s *Store) guardedBuilder(g *guard) *builder {
	b := s.statementBuilder()
	if g != nil {
		b.guard, b.numbered, b.may = g, true, engine.MayRead
	}
	return b
}

// permissions lists the permissions that depend on the row.
var permissions = [...]engine.Permission{engine.MayRead, engine.MayWrite, engine.MayDelete}

// allowedRows returns the condition on rows of src under which the account has all of the permissions,
// or "" if there is none. It may add joins to src.
func (b *builder) allowedRows(src *source, may engine.Permission) string {
	var all []string
	for _, one := range permissions {
		if !may.Has(one) {
			continue
		}
		if f := b.guard.rowFilter(one, src.plan.class); f != nil {
			all = append(all, b.unguardedFilter(src, f))
		}
	}
	return strings.Join(all, " AND ")
}

// readableRow is like allowedRows, for reading a row of src when src cannot get further joins.
func (b *builder) readableRow(src *source) string {
	if f := b.guard.rowFilter(engine.MayRead, src.plan.class); f != nil {
		return b.standaloneFilter(src, f)
	}
	return ""
}

// unguardedFilter returns a condition of the guard. The condition may use hidden items, so it has its own
// joins.
func (b *builder) unguardedFilter(src *source, f *engine.Filter) string {
	g, atom := b.guard, b.atom
	b.guard, b.atom = nil, nil
	bare := &source{plan: src.plan, alias: src.alias, from: src.from}
	text := b.capture(func() { b.filter(bare, f, false) })
	b.guard, b.atom = g, atom
	return "(" + text + ")"
}

// standaloneFilter is like unguardedFilter, for a src that cannot get further joins: the condition has its joins in
// a subquery. It must not be used to find the row. If it could be, PostgreSQL would try all ids of
// a long list or read the whole table, when other conditions are on the id too.
func (b *builder) standaloneFilter(src *source, f *engine.Filter) string {
	apart := &source{plan: src.plan, alias: src.alias, from: &from{}}
	text := b.unguardedFilter(apart, f)
	if joins := apart.from.joins.String(); joins != "" {
		return "EXISTS (SELECT 1 FROM (SELECT 1) AS " + b.newAlias() + joins + " WHERE " + text + ")"
	}
	return text + " IS TRUE"
}

// selectByKey returns the statement that reads an item by its key if the account has the permission for
// it.
func (s *Store) selectByKey(p *plan, g *guard, may engine.Permission, key []any) (text string, args []any, err error) {
	f := g.rowFilter(may, p.class)
	if f == nil {
		return p.sql().get, key, nil
	}
	b := s.guardedBuilder(g)
	b.add("SELECT ", p.sql().selected.list, " FROM ", p.table.quoted)
	p.whereKey(b, key)
	b.add(" AND ", b.standaloneFilter(b.topSource(p), f))
	return b.text(), b.args, b.finish(s.traits)
}

// topSource returns the table of a plan as the source of a statement that reads only this table, without
// an alias.
func (b *builder) topSource(p *plan) *source {
	return &source{plan: p, alias: p.table.quoted, from: &from{}}
}
