package storetest

import "restsrv/engine"

// Where returns the query for items by one comparison of a property with a value.
func Where(c *engine.Class, op engine.Op, property string, value any) *engine.Query {
	q := All(c)
	p := c.Property(property)
	q.Filter = &engine.Filter{Op: op, Left: engine.Attribute(p), Right: engine.Constant(p.ValueType(), value)}
	return q
}
