package script

import (
	"regexp"

	"restsrv/engine"
)

// In the ancestor item.base is what is stored of an item, and the collections
// that no back reference makes are stored in it, as the ids of their members.
// We have these elsewhere. So services built on the ancestor's base whose text
// names base get such collections loaded with every item; others do not pay for
// it.
var baseNames = regexp.MustCompile(`\.\s*base\b`)

// withStored adds to what is loaded with items of a class the collections that
// base shows.
func (r *jsRepository) withStored(c *engine.Class, load []*engine.Load) []*engine.Load {
	if !r.h.v.gen.legacy || !r.h.provided.base {
		return load
	}
	named := map[string]bool{}
	for _, l := range load {
		named[l.Property.Name] = true
	}
	for _, p := range c.Properties {
		if p.Type == engine.Collection && p.Back == nil && !named[p.Name] && !c.Lacks(p) {
			load = append(load, &engine.Load{Property: p})
		}
	}
	return load
}
