package rights

import (
	"slices"

	"restsrv/engine"
	"restsrv/engine/store/layout"
)

// A cached attribute has one stored value, which may be computed from many items. The stored value is withheld from an
// account that may not read all of these items: for this account, the value is computed again from the items that the
// account may read, as if the attribute were not cached. Filters, sort orders, searches and aggregations use only
// stored values, so the account cannot use the attribute in them. An account that may read all items of the classes
// gets the stored value at no extra cost.

// withholds reports whether the stored value of a property is withheld from the account.
func (g *Guard) withholds(p *engine.Property) bool {
	if g == nil || len(g.RowsRead) == 0 {
		return false
	}
	return slices.ContainsFunc(g.RowsRead[p], func(c *engine.Class) bool { return g.RowFilter(engine.MayRead, c) != nil })
}

// IsUnusable reports whether the account may not use a property in a condition: it is hidden or withheld.
func (g *Guard) IsUnusable(p *engine.Property) bool {
	return g.Hides(engine.MayRead, p) || g.withholds(p)
}

// WithheldIn returns the attributes of a class for which the stored value is withheld.
func (g *Guard) WithheldIn(c *engine.Class) []*engine.Property {
	if g == nil || len(g.RowsRead) == 0 {
		return nil
	}
	all, known := g.withheld[c]
	if !known {
		for _, p := range c.Properties {
			if p.Formula != nil && p.Stored() && g.withholds(p) {
				all = append(all, p)
			}
		}
		if g.withheld == nil {
			g.withheld = map[*engine.Class][]*engine.Property{}
		}
		g.withheld[c] = all
	}
	return all
}

// ComputesFor reports whether the plan's class or a descendant has an attribute that must be computed again for the
// account, because the stored value is withheld.
func (g *Guard) ComputesFor(p *layout.Plan) bool {
	if g == nil || !p.CachedBelow {
		return false
	}
	return len(g.WithheldIn(p.Class)) > 0 || slices.ContainsFunc(p.Class.Descendants, func(c *engine.Class) bool { return len(g.WithheldIn(c)) > 0 })
}

// Withhold sets the withheld values of items to nil.
func (g *Guard) Withhold(items []*engine.Item) {
	if g == nil || len(g.RowsRead) == 0 {
		return
	}
	for _, it := range items {
		for _, p := range g.WithheldIn(it.Class) {
			it.Values[p.Index] = nil
		}
	}
}

// WithheldReason is the Reason of the error that withheldAttribute returns.
const WithheldReason = "calculated"

// withheldAttribute returns the error for a condition that uses an attribute with a withheld stored value.
func withheldAttribute(c *engine.Class, p *engine.Property) *engine.Error {
	e := engine.Errorf(engine.Invalid, WithheldReason,
		"attribute %s is calculated from objects that the account may not all read: the account can neither filter nor sort by it", engine.Quote(p.Name))
	e.Class, e.Attribute = c.FullName, p.Name
	return e
}

// MayMeet reports whether the stored search words of items of class c may include words of attributes that the account
// cannot use.
func (g *Guard) MayMeet(c *engine.Class) bool {
	for _, p := range SearchedIn(c) {
		if g.IsUnusable(p) {
			return true
		}
	}
	return false
}

// SearchedIn returns the properties of a class and its descendants that have stored words for the search.
func SearchedIn(c *engine.Class) (all []*engine.Property) {
	for _, d := range append([]*engine.Class{c}, c.Descendants...) {
		for _, p := range d.Properties {
			if p.Search && p.Stored() && p.Type.Scalar() && p.Type != engine.Password {
				all = append(all, p)
			}
		}
	}
	return all
}
