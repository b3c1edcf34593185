package owned

import (
	"restsrv/engine"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/table"
)

// Rows of Config.Stages record the stages that items have reached in workflows. The id of a row consists of the root
// class of the item, the id of the item, and the name of the workflow, separated by tabs (see engine/workflow.Stage).
// Queries with a condition on the stage find the row by this id.

// forgetStages deletes the recorded stages of items.
func (s *Rows) forgetStages(w *conns.Session, t *layout.Table, keys []any) error {
	if !t.Staged {
		return nil
	}
	return s.forgetOwned(s.cfg.Stages, t, keys, func(b *sqldb.Builder) error {
		_, err := w.Execute(b)
		return err
	})
}

// followStages updates the recorded stages of an item when its key changes. First it deletes stages that are already
// recorded for the new key. They were left behind by a deleted item with this key. This happens if the class of the
// item has no workflows when the item is deleted.
func (s *Rows) followStages(w *conns.Session, t *layout.Table, from, to any) error {
	if !t.Staged {
		return nil
	}
	if err := s.forgetStages(w, t, []any{to}); err != nil {
		return err
	}
	p := s.layout.Plans[s.cfg.Stages]
	b := sqldb.NewBuilder(s.traits)
	b.Add("UPDATE ", p.Table.Quoted, ` SET "item" = `)
	b.Bind(engine.ValueText(to))
	b.Add(", ", p.Table.ID.Quoted, " = ")
	b.Bind(t.Classes[0].FullName + "\t" + engine.ValueText(to) + "\t")
	b.Add(` || "workflow", `, layout.RevColumn, " = ")
	b.Bind(table.NewRevision())
	b.Add(t.OwnedBy(), ` AND "item" = `)
	b.Bind(engine.ValueText(from))
	_, err := w.Execute(b)
	return err
}
