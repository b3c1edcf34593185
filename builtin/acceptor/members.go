package acceptor

import "restsrv/engine"

// memberLoads are the collections of which answers have the ids of the members.
func memberLoads(c *engine.Class) (loads []*engine.Load) {
	for _, p := range c.Properties {
		if p.Linked() && !c.Lacks(p) {
			loads = append(loads, &engine.Load{Property: p})
		}
	}
	return loads
}
