package store

import "restsrv/engine"

// Rows of StageClass record which stages items have reached in workflows. The id of a row consists of the root class of
// the item, the id of the item, and the name of the workflow, separated by tabs (see engine/workflow.Stage). Conditions
// use it to find the row.

// forgetStages deletes the stages of items.
func (s *Store) forgetStages(w *session, t *table, keys []any) error {
	if !t.staged {
		return nil
	}
	return s.forgetOwned(s.cfg.StageClass, t, keys, func(b *builder) error {
		_, err := w.execute(b)
		return err
	})
}

// followStages updates the stages of an item when its key changes. Stages of another item that had the new key before
// classes had workflows are deleted.
func (sv *save) followStages(t *table, from, to any) error {
	if !t.staged {
		return nil
	}
	if err := sv.store.forgetStages(sv.w, t, []any{to}); err != nil {
		return err
	}
	p := sv.store.plans[sv.store.cfg.StageClass]
	b := newBuilder(sv.store.traits)
	b.add("UPDATE ", p.table.quoted, ` SET "item" = `)
	b.bind(engine.ValueText(to))
	b.add(", ", p.table.id.quoted, " = ")
	b.bind(t.classes[0].FullName + "\t" + engine.ValueText(to) + "\t")
	b.add(` || "workflow", `, revColumn, " = ")
	b.bind(newRevision())
	b.add(t.ownedBy(), ` AND "item" = `)
	b.bind(engine.ValueText(from))
	_, err := sv.w.execute(b)
	return err
}

// reachedCondition writes the condition that the item of a row has one of the stages of f.List in the workflow
// f.Pattern. The stage is found by its id. This does not work for a key of type real if its JSON form has an exponent.
func (b *builder) reachedCondition(src *source, f *engine.Filter) string {
	p := b.plans[b.stages]
	if p == nil {
		b.fail(engine.Errorf(engine.Internal, "internal", "no stages are kept"))
		return "1 = 0"
	}
	c := src.plan.class
	id := src.id()
	if key := c.KeyProperties(); len(key) == 1 {
		if id = b.expr(src, asText(key[0])); key[0].ValueType() == engine.Boolean {
			id = "coalesce(nullif(" + id + ", ''), 'false')"
		}
	}
	alias := b.newAlias()
	b.countSource()
	name := func(text string) string { return b.dialect.Function(TextValue, b.placeholder(text)) }
	text := "EXISTS (SELECT 1 FROM " + p.table.quoted + " AS " + alias + " WHERE " + alias + "." + p.table.id.quoted + " = " +
		b.dialect.Function(Concat, name(c.Root().FullName+"\t"), id, name("\t"+f.Pattern))
	return text + " AND " + b.dialect.In(alias+`."stage"`, engine.String, f.List, b.placeholder) + ")"
}
