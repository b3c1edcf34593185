package layout

import (
	"slices"

	"restsrv/engine"
)

// StorageDiffers reports whether properties of the same name have different storage.
func StorageDiffers(p, q *engine.Property) bool {
	return p.ValueType().Storage() != q.ValueType().Storage()
}

// findDivided finds the divided properties of the class of p.
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

// SetsDivided reports whether v sets divided properties of the class of p.
func (p *Plan) SetsDivided(v engine.Values) bool {
	return p.stampsDivided || slices.ContainsFunc(p.Divided, func(i int) bool { return v[i] != engine.Absent })
}
