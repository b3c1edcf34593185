package storetest

import "restsrv/engine"

// Where returns a query for the items of class c in which a property compares with value by the operator op.
func Where(c *engine.Class, op engine.Op, property string, value any) *engine.Query {
	q := All(c)
	p := c.Property(property)
	q.Filter = &engine.Filter{Op: op, Left: engine.Attribute(p), Right: engine.Constant(p.ValueType(), value)}
	return q
}
