// Package owned writes the rows of system classes that belong to items: the records of their files, the stages that
// they have reached in workflows, and the grants on them. If an item is deleted, its rows are deleted too. If the key
// of an item changes, its rows are updated.
package owned

import (
	"log/slog"
	"slices"

	"restsrv/engine"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/table"
)

// Config names the system classes. If a class is nil, the store does not have rows of this kind, and the methods of
// Rows ignore them.
type Config struct {
	Files, Stages, Permissions, Policy *engine.Class
	Log                                *slog.Logger
}

// Rows changes the rows that belong to items. Its methods should be called in the transaction that writes the items.
type Rows struct {
	cfg     Config
	pool    *conns.Pool
	layout  *layout.Layout
	dialect sqldb.Dialect
	traits  sqldb.Traits
}

// New returns the Rows for the tables of a layout.
func New(c Config, pool *conns.Pool, l *layout.Layout) *Rows {
	return &Rows{cfg: c, pool: pool, layout: l, dialect: l.Dialect, traits: l.Traits}
}

// Forget deletes the rows that belong to deleted items of table t.
func (s *Rows) Forget(w *conns.Session, t *layout.Table, keys []any) error {
	if err := s.forgetStages(w, t, keys); err != nil {
		return err
	}
	if err := s.forgetGrants(w, t, keys); err != nil {
		return err
	}
	return s.forgetFiles(w, t, keys)
}

// Follow changes the rows that belong to an item of table t when its key changes.
func (s *Rows) Follow(w *conns.Session, t *layout.Table, from, to any) error {
	if err := s.followStages(w, t, from, to); err != nil {
		return err
	}
	if err := s.followGrants(w, t, from, to); err != nil {
		return err
	}
	return s.followFiles(w, t, from, to)
}

// The records of files and stages are rows of system classes. Their attributes "class" and "item" name the item to
// which the file or the stage belongs.

// forgetOwned deletes the rows of a system class that belong to the items of table t with these keys. run executes a
// statement.
func (s *Rows) forgetOwned(system *engine.Class, t *layout.Table, keys []any, run func(*sqldb.Builder) error) error {
	for chunk := range slices.Chunk(keys, table.BulkRows) {
		ids := make([]any, len(chunk))
		for i, key := range chunk {
			ids[i] = engine.ValueText(key)
		}
		b := sqldb.NewBuilder(s.traits)
		b.Add("DELETE FROM ", s.layout.Plans[system].Table.Quoted, t.OwnedBy(), " AND ")
		sqldb.WriteIn(s.dialect, b, `"item"`, engine.String, ids)
		if err := run(b); err != nil {
			return err
		}
	}
	return nil
}
