package store

import (
	"slices"

	"restsrv/engine"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/table"
)

// Files and stages are rows of system classes that belong to items. Their attributes "class" and "item" name the owner.

// forgetOwned deletes the rows of a system class that belong to items. run executes the statements.
func (s *Store) forgetOwned(system *engine.Class, t *layout.Table, keys []any, run func(*sqldb.Builder) error) error {
	for chunk := range slices.Chunk(keys, table.BulkRows) {
		ids := make([]any, len(chunk))
		for i, key := range chunk {
			ids[i] = engine.ValueText(key)
		}
		b := sqldb.NewBuilder(s.traits)
		b.Add("DELETE FROM ", s.layout.Plans[system].Table.Quoted, t.OwnedBy(), " AND ")
		sqldb.WriteIn(s.db.Dialect, b, `"item"`, engine.String, ids)
		if err := run(b); err != nil {
			return err
		}
	}
	return nil
}
