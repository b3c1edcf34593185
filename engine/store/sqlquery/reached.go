package sqlquery

import (
	"restsrv/engine"
	"restsrv/engine/store/sqldb"
)

// reachedCondition returns the condition that an item has reached one of the stages in f.List of the workflow
// f.Pattern. The row with the stage is found by its id, which contains the key of the item as text. This fails for a
// key of type real whose JSON form has an exponent.
func reachedCondition(b *Builder, src *Source, f *engine.Filter) string {
	p := b.plans[b.stages]
	if p == nil {
		b.fail(engine.Errorf(engine.Internal, "internal", "no stages are kept"))
		return "1 = 0"
	}
	c := src.Plan.Class
	id := src.ID()
	if key := c.KeyProperties(); len(key) == 1 {
		if id = b.expr(src, asText(key[0])); key[0].ValueType() == engine.Boolean {
			id = "coalesce(nullif(" + id + ", ''), 'false')"
		}
	}
	alias := b.newAlias()
	b.countSource()
	name := func(text string) string { return b.Dialect.Function(sqldb.TextValue, b.Placeholder(text)) }
	text := "EXISTS (SELECT 1 FROM " + p.Table.Quoted + " AS " + alias + " WHERE " + alias + "." + p.Table.ID.Quoted + " = " +
		b.Dialect.Function(sqldb.Concat, name(c.Root().FullName+"\t"), id, name("\t"+f.Pattern))
	return text + " AND " + b.Dialect.In(alias+`."stage"`, engine.String, f.List, b.Placeholder) + ")"
}
