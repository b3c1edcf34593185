package read

import (
	"context"

	"restsrv/engine"
)

// maxAgain is the maximum depth of nested lookups in which withheld attributes are computed again.
const maxAgain = 3

// ComputeAgain computes the attributes of items for which the stored value is withheld from the account (see package
// rights). The items are the result of a lookup for a formula, so they have stored values. If the lookup is nested in
// maxAgain other lookups, ComputeAgain sets the attributes to null instead. It caches the computed values, so that the
// same item is not computed twice. The cache is safe even in a transaction, because no write happens during the call.
func (l *Lookups) ComputeAgain(ctx context.Context, items []*engine.Item) error {
	g := l.r.Guard
	if g == nil || len(g.RowsRead) == 0 {
		return nil
	}
	if l.kept == nil {
		l.kept = newResults()
		defer func() { l.kept = nil }()
	}
	var some, work []*engine.Item
	for it := range withLoaded(items, map[*engine.Item]bool{}) {
		if len(g.WithheldIn(it.Class)) > 0 {
			some = append(some, it)
		}
	}
	g.Withhold(some)
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
		missing, work = append(missing, it), append(work, WithoutLinks(it))
	}
	if err := l.reader.LoadAll(ctx, l.r, work, nil, ImplicitDepth); err != nil {
		return err
	}
	for i, it := range work {
		values, ok := l.kept.again[l.againOf(it)] // the same item may occur twice in work
		if !ok {
			err := l.reader.ComputeItems(ctx, work[i:i+1], l)
			if err != nil && engine.CodeOf(err) != engine.Invalid {
				return err
			}
			for _, p := range g.WithheldIn(it.Class) {
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

func (l *Lookups) againOf(it *engine.Item) againKey { return againKey{l.depth, it.Class, it.ID} }

// setWithheld sets the withheld attributes of an item.
func (l *Lookups) setWithheld(it *engine.Item, values engine.Values) {
	for i, p := range l.r.Guard.WithheldIn(it.Class) {
		it.Values[p.Index] = values[i]
	}
}

// withLoaded adds items, and all items that are loaded with them, to the set all. It returns the set.
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

// WithoutLinks returns a copy of an item without its loaded links.
func WithoutLinks(it *engine.Item) *engine.Item {
	c := it.Clone()
	c.Links = nil
	return c
}
