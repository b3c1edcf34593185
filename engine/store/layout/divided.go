package layout

import (
	"slices"

	"restsrv/engine"
)

// StorageDiffers reports whether two properties of the same name need different columns. This is the case if their
// types are stored differently.
func StorageDiffers(p, q *engine.Property) bool {
	return p.ValueType().Storage() != q.ValueType().Storage()
}

// findDivided sets p.Divided: the properties of the plan's class that a descendant stores in another column, because
// it declares them with a type that is stored differently.
func (p *Plan) findDivided() {
	c := p.Class
	for _, d := range c.Descendants {
		for i, property := range c.Properties {
			if q := d.Property(property.Name); q != nil && StorageDiffers(property, q) && !slices.Contains(p.Divided, i) {
				p.Divided = append(p.Divided, i)
			}
		}
	}
	for _, name := range []string{c.CreationTracker, c.ChangeTracker, c.CreatorTracker, c.EditorTracker} {
		if tracker := c.Property(name); tracker != nil && slices.Contains(p.Divided, tracker.Index) {
			p.stampsDivided = true
		}
	}
}

// SetsDivided reports whether a write of the values v sets one of p.Divided. Trackers, such as the time of the last
// change, are always set.
func (p *Plan) SetsDivided(v engine.Values) bool {
	return p.stampsDivided || slices.ContainsFunc(p.Divided, func(i int) bool { return v[i] != engine.Absent })
}
