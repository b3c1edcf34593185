package layout

import (
	"slices"

	"restsrv/engine"
)

// StorageDiffers reports whether two properties of the same name need different columns, because the storage of their
// types differs.
func StorageDiffers(p, q *engine.Property) bool {
	return p.ValueType().Storage() != q.ValueType().Storage()
}

// findDivided sets p.Divided: the properties of the plan's class that a descendant declares with another storage, and
// so keeps in another column.
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

// SetsDivided reports whether a write of the values v sets one of p.Divided. A write always sets the trackers, such
// as the time of the last change.
func (p *Plan) SetsDivided(v engine.Values) bool {
	return p.stampsDivided || slices.ContainsFunc(p.Divided, func(i int) bool { return v[i] != engine.Absent })
}
