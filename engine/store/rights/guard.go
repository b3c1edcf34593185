// Package rights applies the permissions of the caller to one call of the store. A Guard decides which items,
// attributes and values the account may read and write, and which it may use in conditions. A nil Guard allows
// everything; the server uses it for its own work. The rules themselves are defined by engine.Guard. Package sqlquery
// turns them into SQL.
package rights

import (
	"context"
	"strings"

	"restsrv/engine"
	"restsrv/engine/store/layout"
)

// Guard checks the permissions of the account of one call. It is not safe for concurrent use.
type Guard struct {
	asked    engine.Guard
	RowsRead map[*engine.Property][]*engine.Class // for each cached property, the classes of the items from which its value was computed (see inputs.RowsRead)
	hidden   map[*engine.Class][]*engine.Property // cached, as are the other maps: by class or plan, nil until first used
	withheld map[*engine.Class][]*engine.Property
	pointers map[*layout.Plan][]*engine.Property
}

// Of returns the guard of the call with context ctx, or nil if the call has no guard. rowsRead is the result of
// inputs.RowsRead for all classes.
func Of(ctx context.Context, rowsRead map[*engine.Property][]*engine.Class) *Guard {
	if g := engine.GuardFrom(ctx); g != nil {
		return &Guard{asked: g, RowsRead: rowsRead}
	}
	return nil
}

// RowFilter returns the condition that items of class c must satisfy so that the account has the permission for them.
// It returns nil if the account has the permission for all items of the class.
func (g *Guard) RowFilter(may engine.Permission, c *engine.Class) *engine.Filter {
	if g == nil {
		return nil
	}
	f := g.asked.Rows(may, c)
	if f != nil && f.Op == engine.OpConst && f.Value {
		return nil
	}
	return f
}

// AllowsAll reports whether the account has all of the permissions for all items of a class.
func (g *Guard) AllowsAll(may engine.Permission, c *engine.Class) bool {
	for _, one := range Permissions {
		if may.Has(one) && g.RowFilter(one, c) != nil {
			return false
		}
	}
	return true
}

// NeverAllows reports whether there is no item of the class for which the account has the permission.
func (g *Guard) NeverAllows(may engine.Permission, c *engine.Class) bool {
	f := g.RowFilter(may, c)
	return f != nil && f.Op == engine.OpConst
}

// MayCreate reports whether the account may create items of exactly the class c. The permission may also depend on the
// values of the new item; that is checked after the write.
func (g *Guard) MayCreate(c *engine.Class) bool { return g == nil || g.asked.Creates(c) }

// Hides reports whether the account lacks the permission for property p. The class name and the id of an item are never
// hidden.
func (g *Guard) Hides(may engine.Permission, p *engine.Property) bool {
	return g != nil && p != engine.ClassName && p != engine.ItemID && g.asked.Hides(may, p)
}

// HiddenProperties returns the properties of a class that the account may not read.
func (g *Guard) HiddenProperties(c *engine.Class) []*engine.Property {
	all, known := g.hidden[c]
	if !known {
		for _, p := range c.Properties {
			if g.Hides(engine.MayRead, p) {
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

// HideValues removes hidden values and links from an item. Call it before formulas are computed from the item.
func (g *Guard) HideValues(it *engine.Item) {
	if g == nil {
		return
	}
	for _, p := range g.HiddenProperties(it.Class) {
		it.Values[p.Index] = nil
		if p.Index < len(it.Links) {
			it.Links[p.Index] = engine.Link{}
		}
	}
}

// HideLoaded removes hidden values from an item and from all items that were loaded with it.
func (g *Guard) HideLoaded(it *engine.Item) {
	if g == nil || it == nil {
		return
	}
	g.HideValues(it)
	for _, link := range it.Links {
		g.HideLoaded(link.Item)
		for _, member := range link.Items {
			g.HideLoaded(member)
		}
	}
}

// CheckPath returns an error if a path contains an attribute that is hidden from the account, or if a stored value in
// the path is withheld from the account (see withholds). Call it for every path of a filter, an order, a position or
// an aggregation before the path is written into a statement.
func (g *Guard) CheckPath(c *engine.Class, path []*engine.Property) error {
	if g == nil {
		return nil
	}
	for _, p := range path {
		if g.Hides(engine.MayRead, p) {
			return unknownAttribute(c, p)
		}
		if g.withholds(p) {
			return withheldAttribute(c, p)
		}
		c = p.Target
	}
	return nil
}

// CheckLoads returns an error if one of the loads names a hidden attribute.
func (g *Guard) CheckLoads(c *engine.Class, all []*engine.Load) error {
	if g == nil {
		return nil
	}
	for _, l := range all {
		if g.Hides(engine.MayRead, l.Property) {
			return unknownAttribute(c, l.Property)
		}
		if err := g.CheckLoads(l.Property.Target, l.Next); err != nil {
			return err
		}
	}
	return nil
}

// mentionsHidden reports whether a condition contains a hidden or withheld attribute.
func (g *Guard) mentionsHidden(f *engine.Filter) bool {
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

func (g *Guard) exprMentionsHidden(e *engine.Expr) bool {
	if e == nil {
		return false
	}
	for _, p := range e.Path {
		if g.IsUnusable(p) {
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

// MemberConditions returns the condition that selects the members of collection p. If the condition uses an attribute
// that the account cannot use (see IsUnusable), the members would disclose values of this attribute. In this case
// MemberConditions returns a condition that no item satisfies.
func (g *Guard) MemberConditions(p *engine.Property) *engine.Filter {
	if g.mentionsHidden(p.Conditions) || g.withholds(p) {
		return engine.Never()
	}
	return p.Conditions
}

// MemberSorting returns the sort order of the members of collection p. It leaves out attributes that the account
// cannot use.
func (g *Guard) MemberSorting(p *engine.Property) []engine.Sort {
	if g == nil {
		return p.Sorting
	}
	var known []engine.Sort
	for _, s := range p.Sorting {
		if g.CheckPath(p.Target, s.Path()) == nil {
			known = append(known, s)
		}
	}
	return known
}

// Permissions lists the permissions that an account can have for only some items of a class (see RowFilter).
var Permissions = [...]engine.Permission{engine.MayRead, engine.MayWrite, engine.MayDelete}

// NoItem returns the error for an item that was not found by its id. If there are items of the class that the account
// may not read, the error is Denied, so that it does not disclose whether the item exists.
func (g *Guard) NoItem(c *engine.Class, id string) error {
	if g.RowFilter(engine.MayRead, c) != nil {
		return engine.Denied()
	}
	return engine.NoItem(c, id)
}

// UnknownReason is the Reason of the error that unknownAttribute returns.
const UnknownReason = "unknown-attribute"

// unknownAttribute returns the error for an attribute that a class does not have. An attribute that is hidden from the
// account gets the same error.
func unknownAttribute(c *engine.Class, p *engine.Property) *engine.Error {
	name, _, _ := strings.Cut(p.Name, "$") // the name of an attribute of a structure contains the name of the structure, and $
	e := engine.Errorf(engine.Invalid, UnknownReason, "class %s has no attribute %s", c.FullName, engine.Quote(name))
	e.Class, e.Attribute = c.FullName, name
	return e
}
