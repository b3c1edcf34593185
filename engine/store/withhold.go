package store

import (
	"context"
	"slices"

	"restsrv/engine"
)

// A cached attribute has one stored value, computed from all items. The value is withheld from an account that may not
// read all of these: when the account reads the item, the value is computed again from the items that the account may
// read, as if the attribute were not cached. The account cannot use such an attribute in filters, orders, searches and
// aggregations, which use stored values only. Accounts that may read whole classes get the stored value at no cost.

// withholds reports whether the stored value of a property is withheld from the account, because it was computed from
// items that the account may not all read.
func (g *guard) withholds(p *engine.Property) bool {
	if g == nil || len(g.rowsRead) == 0 {
		return false
	}
	return slices.ContainsFunc(g.rowsRead[p], func(c *engine.Class) bool { return g.rowFilter(engine.MayRead, c) != nil })
}

// isUnusable reports whether the account may not use a property in a condition.
func (g *guard) isUnusable(p *engine.Property) bool {
	return g.hides(engine.MayRead, p) || g.withholds(p)
}

// withheldIn returns the attributes of a class for which the stored value is withheld.
func (g *guard) withheldIn(c *engine.Class) []*engine.Property {
	if g == nil || len(g.rowsRead) == 0 {
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

// computesFor reports whether items of a plan's class or of a descendant have attributes that are computed again for
// the account.
func (g *guard) computesFor(p *plan) bool {
	if g == nil || !p.cachedBelow {
		return false
	}
	return len(g.withheldIn(p.class)) > 0 || slices.ContainsFunc(p.class.Descendants, func(c *engine.Class) bool { return len(g.withheldIn(c)) > 0 })
}

// withhold sets the withheld values of items to nil.
func (g *guard) withhold(items []*engine.Item) {
	if g == nil || len(g.rowsRead) == 0 {
		return
	}
	for _, it := range items {
		for _, p := range g.withheldIn(it.Class) {
			it.Values[p.Index] = nil
		}
	}
}

// withheldReason is the reason of withheldAttribute.
const withheldReason = "calculated"

// withheldAttribute returns the error for a condition that uses an attribute with a withheld value.
func withheldAttribute(c *engine.Class, p *engine.Property) *engine.Error {
	e := engine.Errorf(engine.Invalid, withheldReason,
		"attribute %s is calculated from objects that the account may not all read: the account can neither filter nor sort by it", engine.Quote(p.Name))
	e.Class, e.Attribute = c.FullName, p.Name
	return e
}

// maxAgain is the maximum depth of nested lookups at which withheld attributes of the found items are computed.
const maxAgain = 3

// computeAgain computes the withheld attributes of items that a formula has found or loaded, and which have the stored
// values at first. If the lookup is nested more than maxAgain levels deep, they are set to null. Each item is computed
// only once, even in a transaction, because there are no writes in the meantime.
func (l *lookups) computeAgain(ctx context.Context, items []*engine.Item) error {
	g := l.r.guard
	if g == nil || len(g.rowsRead) == 0 {
		return nil
	}
	if l.kept == nil {
		l.kept = newResults()
		defer func() { l.kept = nil }()
	}
	var some, work []*engine.Item
	for it := range withLoaded(items, map[*engine.Item]bool{}) {
		if len(g.withheldIn(it.Class)) > 0 {
			some = append(some, it)
		}
	}
	g.withhold(some)
	if len(some) == 0 || l.depth == maxAgain {
		return nil
	}
	l.depth++
	defer func() { l.depth-- }()
	missing := some[:0]
	for _, it := range some {
		if values, ok := l.kept.again[l.againOf(it)]; ok {
			l.setWithheld(it, values)
			continue
		}
		missing, work = append(missing, it), append(work, withoutLinks(it))
	}
	if err := l.store.loadAll(ctx, l.r, work, nil, implicitDepth); err != nil {
		return err
	}
	for i, it := range work {
		values, ok := l.kept.again[l.againOf(it)] // the item may have been found twice
		if !ok {
			err := l.store.computeItems(ctx, work[i:i+1], l)
			if err != nil && engine.CodeOf(err) != engine.Invalid {
				return err
			}
			for _, p := range g.withheldIn(it.Class) {
				value := it.Values[p.Index]
				if err != nil {
					value = nil
				}
				values = append(values, value)
			}
			if l.kept.reserveRoom(1) {
				l.kept.again[l.againOf(it)] = values
			}
		}
		l.setWithheld(missing[i], values)
	}
	return nil
}

func (l *lookups) againOf(it *engine.Item) againKey { return againKey{l.depth, it.Class, it.ID} }

// setWithheld sets the withheld attributes of an item.
func (l *lookups) setWithheld(it *engine.Item, values engine.Values) {
	for i, p := range l.r.guard.withheldIn(it.Class) {
		it.Values[p.Index] = values[i]
	}
}

// withLoaded adds items and all items loaded with them to a set.
func withLoaded(items []*engine.Item, all map[*engine.Item]bool) map[*engine.Item]bool {
	for _, it := range items {
		if it == nil || all[it] {
			continue
		}
		all[it] = true
		for _, link := range it.Links {
			withLoaded(link.Items, all)
			withLoaded([]*engine.Item{link.Item}, all)
		}
	}
	return all
}
