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

// rows returns the condition under which the account has the permission for items of a class, or
// nil if it has it for all items.
func (g *guard) rows(may engine.Permission, c *engine.Class) *engine.Filter {
	if g == nil {
		return nil
	}
	f := g.asked.Rows(may, c)
	if f != nil && f.Op == engine.OpConst && f.Value {
		return nil
	}
	return f
}

// allows reports whether the account has all of the permissions for all items of a class.
func (g *guard) allows(may engine.Permission, c *engine.Class) bool {
	for _, one := range permissions {
		if may.Has(one) && g.rows(one, c) != nil {
			return false
		}
	}
	return true
}

// never reports whether the account has the permission for no item of the class.
func (g *guard) never(may engine.Permission, c *engine.Class) bool {
	f := g.rows(may, c)
	return f != nil && f.Op == engine.OpConst
}

// creates reports whether the account may create items of exactly the class c, as far as it is
// known before the item is written.
func (g *guard) creates(c *engine.Class) bool { return g == nil || g.asked.Creates(c) }

// hides reports whether a property is hidden from the account: it does not have the permission for
// the property.
func (g *guard) hides(may engine.Permission, p *engine.Property) bool {
	return g != nil && p != engine.ClassName && p != engine.ItemID && g.asked.Hides(may, p)
}

// unread returns the properties of a class that the account may not read.
func (g *guard) unread(c *engine.Class) []*engine.Property {
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

// blank removes hidden values and links from an item. Call it before formulas are computed.
func (g *guard) blank(it *engine.Item) {
	if g == nil {
		return
	}
	for _, p := range g.unread(it.Class) {
		it.Values[p.Index] = nil
		if p.Index < len(it.Links) {
			it.Links[p.Index] = engine.Link{}
		}
	}
}

// blankAll removes hidden values from an item and from all items loaded with it.
func (g *guard) blankAll(it *engine.Item) {
	if g == nil || it == nil {
		return
	}
	g.blank(it)
	for _, link := range it.Links {
		g.blankAll(link.Item)
		for _, member := range link.Items {
			g.blankAll(member)
		}
	}
}

// known returns an error if a path contains a hidden or withheld attribute. It is called for every
// path of a filter, an order, a position or an aggregation before the path is written.
func (g *guard) known(c *engine.Class, path []*engine.Property) error {
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

// loads returns an error if one of the loads names a hidden attribute.
func (g *guard) loads(c *engine.Class, all []*engine.Load) error {
	if g == nil {
		return nil
	}
	for _, l := range all {
		if g.hides(engine.MayRead, l.Property) {
			return unknownAttribute(c, l.Property)
		}
		if err := g.loads(l.Property.Target, l.Next); err != nil {
			return err
		}
	}
	return nil
}

// mentions reports whether a condition contains a hidden or withheld attribute.
func (g *guard) mentions(f *engine.Filter) bool {
	if g == nil || f == nil {
		return false
	}
	for _, arg := range f.Args {
		if g.mentions(arg) {
			return true
		}
	}
	return g.mentionedIn(f.Left) || g.mentionedIn(f.Right)
}

func (g *guard) mentionedIn(e *engine.Expr) bool {
	if e == nil {
		return false
	}
	for _, p := range e.Path {
		if g.unusable(p) {
			return true
		}
	}
	for _, arg := range e.Args {
		if g.mentionedIn(arg) {
			return true
		}
	}
	for _, c := range e.Conds {
		if g.mentions(c) {
			return true
		}
	}
	return false
}

// conditions returns the condition on the members of a collection. If it depends on hidden
// attributes, the collection has no members for the account.
func (g *guard) conditions(p *engine.Property) *engine.Filter {
	if g.mentions(p.Conditions) || g.withholds(p) {
		return engine.Never()
	}
	return p.Conditions
}

// sorting returns the order of the members of a collection. It leaves out sorts by hidden
// or withheld attributes.
func (g *guard) sorting(p *engine.Property) []engine.Sort {
	if g == nil {
		return p.Sorting
	}
	var known []engine.Sort
	for _, s := range p.Sorting {
		if g.known(p.Target, s.Path()) == nil {
			known = append(known, s)
		}
	}
	return known
}

// guarded returns a builder for statements that show an account only the items that it may read.
// Placeholders have numbers, because conditions on joined tables come first in the text but are
// written later.
func (s *Store) guarded(g *guard) *builder {
	b := s.builder()
	if g != nil {
		b.guard, b.numbered, b.may = g, true, engine.MayRead
	}
	return b
}

// permissions lists the permissions that depend on the row.
var permissions = [...]engine.Permission{engine.MayRead, engine.MayWrite, engine.MayDelete}

// allowed returns the condition on rows of src under which the account has all of the permissions,
// or "" if there is none. It may add joins to src.
func (b *builder) allowed(src *source, may engine.Permission) string {
	var all []string
	for _, one := range permissions {
		if !may.Has(one) {
			continue
		}
		if f := b.guard.rows(one, src.plan.class); f != nil {
			all = append(all, b.unguarded(src, f))
		}
	}
	return strings.Join(all, " AND ")
}

// readable is like allowed, for reading a row of src when src cannot get further joins.
func (b *builder) readable(src *source) string {
	if f := b.guard.rows(engine.MayRead, src.plan.class); f != nil {
		return b.alone(src, f)
	}
	return ""
}

// unguarded returns a condition of the guard. The condition may use hidden items, so it has its own
// joins.
func (b *builder) unguarded(src *source, f *engine.Filter) string {
	g, atom := b.guard, b.atom
	b.guard, b.atom = nil, nil
	bare := &source{plan: src.plan, alias: src.alias, from: src.from}
	text := b.capture(func() { b.filter(bare, f, false) })
	b.guard, b.atom = g, atom
	return "(" + text + ")"
}

// alone is like unguarded, for a src that cannot get further joins: the condition has its joins in
// a subquery. It must not be used to find the row. If it could be, PostgreSQL would try all ids of
// a long list or read the whole table, when other conditions are on the id too.
func (b *builder) alone(src *source, f *engine.Filter) string {
	apart := &source{plan: src.plan, alias: src.alias, from: &from{}}
	text := b.unguarded(apart, f)
	if joins := apart.from.joins.String(); joins != "" {
		return "EXISTS (SELECT 1 FROM (SELECT 1) AS " + b.alias() + joins + " WHERE " + text + ")"
	}
	return text + " IS TRUE"
}

// single returns the statement that reads an item by its key if the account has the permission for
// it.
func (s *Store) single(p *plan, g *guard, may engine.Permission, key []any) (text string, args []any, err error) {
	f := g.rows(may, p.class)
	if f == nil {
		return p.sql().get, key, nil
	}
	b := s.guarded(g)
	b.add("SELECT ", p.sql().selected.list, " FROM ", p.table.quoted)
	p.whereKey(b, key)
	b.add(" AND ", b.alone(b.top(p), f))
	return b.text(), b.args, b.finish(s.traits)
}

// top returns the table of a plan as the source of a statement that reads only this table, without
// an alias.
func (b *builder) top(p *plan) *source {
	return &source{plan: p, alias: p.table.quoted, from: &from{}}
}
