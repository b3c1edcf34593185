package rights

import (
	"slices"

	"restsrv/engine"
	"restsrv/engine/store/layout"
)

// checkValues returns Denied if v has a value for an attribute that the account may not change. It ignores values that
// a write ignores, such as those of calculated attributes.
func (g *Guard) checkValues(c *engine.Class, v engine.Values) error {
	if g == nil {
		return nil
	}
	for i, p := range c.Properties {
		passed := v[i] == engine.Absent || p.Formula != nil || v[i] == nil && p.Type == engine.Collection
		if !passed && g.Hides(engine.MayWrite, p) {
			return engine.Denied()
		}
	}
	return nil
}

// CheckWrite returns Denied in two cases:
//   - The account has, for all items of class c, not even one of the listed permissions. In the list, MayUse stands
//     for the permission to create an item.
//   - v has a value for an attribute that the account may not change.
func (g *Guard) CheckWrite(c *engine.Class, v engine.Values, of ...engine.Permission) error {
	if g == nil {
		return nil
	}
	allowed := func(may engine.Permission) bool {
		if may == engine.MayUse {
			return g.MayCreate(c)
		}
		return !g.NeverAllows(may, c)
	}
	if !slices.ContainsFunc(of, allowed) {
		return engine.Denied()
	}
	return g.checkValues(c, v)
}

// CheckReclass returns Denied if the account may not change the class of the item it to the class to. The account
// needs the permission to create items of the new class. It also needs the permission to read the attributes that the
// new class lacks: the change fails if they have a value, which would disclose that they have one. read reports
// whether the account may read the item.
func (g *Guard) CheckReclass(it *engine.Item, to *engine.Class, read bool) error {
	if g == nil {
		return nil
	}
	if !g.MayCreate(to) {
		return engine.Denied()
	}
	for _, p := range it.Class.Properties {
		if (!read || g.IsUnusable(p)) && to.Property(p.Name) == nil {
			return engine.Denied()
		}
	}
	return nil
}

// RestrictsTarget reports whether the account may be forbidden to refer to some items of class c. To refer to an item,
// the account needs the permission to read it or the permission to use it.
func (g *Guard) RestrictsTarget(c *engine.Class) bool {
	return c != nil && g.RowFilter(engine.MayRead, c) != nil && g.RowFilter(engine.MayUse, c) != nil
}

// RestrictedReferences returns the references of the plan's class to classes that are restricted for the account (see
// RestrictsTarget).
func (g *Guard) RestrictedReferences(p *layout.Plan) []*engine.Property {
	if g == nil {
		return nil
	}
	all, known := g.pointers[p]
	if !known {
		for _, property := range p.Duties.References {
			if g.RestrictsTarget(property.Target) {
				all = append(all, property)
			}
		}
		if g.pointers == nil {
			g.pointers = map[*layout.Plan][]*engine.Property{}
		}
		g.pointers[p] = all
	}
	return all
}

// SkipsRowChecks reports whether the account may insert and update all items of the plan's class. If so, the items
// need not be checked one by one.
func (g *Guard) SkipsRowChecks(p *layout.Plan) bool {
	return g == nil || g.RowFilter(engine.MayUse, p.Class) == nil && g.RowFilter(engine.MayWrite, p.Class) == nil && len(g.RestrictedReferences(p)) == 0
}
