package store

import (
	"slices"
	"strings"

	"restsrv/engine"
)

// Files and stages are rows of system classes that belong to items. Their attributes "class" and "item" name the owner.

// ownedBy returns the condition for rows that belong to items of the table.
func (t *table) ownedBy() string {
	names := make([]string, len(t.classes))
	for i, c := range t.classes {
		names[i] = quoteText(c.FullName)
	}
	return ` WHERE "class" IN (` + strings.Join(names, ", ") + ")"
}

// forgetOwned deletes the rows of a system class that belong to items. run executes the statements.
func (s *Store) forgetOwned(system *engine.Class, t *table, keys []any, run func(*builder) error) error {
	for chunk := range slices.Chunk(keys, bulkRows) {
		ids := make([]any, len(chunk))
		for i, key := range chunk {
			ids[i] = engine.ValueText(key)
		}
		b := newBuilder(s.traits)
		b.add("DELETE FROM ", s.plans[system].table.quoted, t.ownedBy(), " AND ")
		s.writeIn(b, `"item"`, engine.String, ids)
		if err := run(b); err != nil {
			return err
		}
	}
	return nil
}
