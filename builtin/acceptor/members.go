package acceptor

import "restsrv/engine"

// memberLoads returns loads for the collections of class c, so that answers contain the ids of
// members.
func memberLoads(c *engine.Class) (loads []*engine.Load) {
	for _, p := range c.Properties {
		if p.Linked() && !c.Hides(p) {
			loads = append(loads, &engine.Load{Property: p})
		}
	}
	return loads
}
