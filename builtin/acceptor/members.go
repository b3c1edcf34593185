package acceptor

import "restsrv/engine"

// memberLoads returns the collections with member ids in answers.
func memberLoads(c *engine.Class) (loads []*engine.Load) {
	for _, p := range c.Properties {
		if p.Linked() && !c.Hides(p) {
			loads = append(loads, &engine.Load{Property: p})
		}
	}
	return loads
}
