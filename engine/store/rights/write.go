package rights

import (
	"slices"

	"restsrv/engine"
	"restsrv/engine/store/layout"
)

// checkValues denies values of attributes that the account may not change. Values that the write ignores
// are allowed.
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

// CheckWrite denies a write of a class if the account has none of the permissions for any item, or if
// it gives values of attributes that the account may not change. MayUse stands for creating the
// item.
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

// CheckReclass denies a change of the class of an item if the account may not create items of the new
// class. It also denies the change if the new class lacks an attribute that the account may not
// read, because the answer would disclose whether the item has a value of it. read reports whether
// the account may read the item.
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

// RestrictsTarget reports whether the account may refer to only some items of a class, or to no item. To
// refer to an item, the account must be allowed to read it or to use it.
func (g *Guard) RestrictsTarget(c *engine.Class) bool {
	return c != nil && g.RowFilter(engine.MayRead, c) != nil && g.RowFilter(engine.MayUse, c) != nil
}

// RestrictedReferences returns the references of a plan's class to classes that are restricted for the
// account.
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

// SkipsRowChecks reports whether items of a plan's class can be inserted and updated without a check of each
// item.
func (g *Guard) SkipsRowChecks(p *layout.Plan) bool {
	return g == nil || g.RowFilter(engine.MayUse, p.Class) == nil && g.RowFilter(engine.MayWrite, p.Class) == nil && len(g.RestrictedReferences(p)) == 0
}
