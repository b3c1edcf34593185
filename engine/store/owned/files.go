package owned

import (
	"context"
	"slices"

	"restsrv/engine"
	"restsrv/engine/quota"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/table"
)

// Held is an attribute of an item together with the files that it contains after a write.
type Held struct {
	Item      *engine.Item
	Attribute string
	Files     []engine.StoredFile
}

// Files updates the records of files (Config.Files) for one write.
type Files struct {
	rows *Rows
	ctx  context.Context
	w    *conns.Session
	now  engine.Instant
}

// FilesOf returns the Files of a write at the given time. New files belong to the account of ctx.
func (s *Rows) FilesOf(ctx context.Context, w *conns.Session, now engine.Instant) *Files {
	return &Files{s, ctx, w, now}
}

// Update updates the records of an item's files after a write. It considers only file attributes to which the write
// has given a value.
func (s *Files) Update(p *layout.Plan, given engine.Values, it *engine.Item) error {
	if !p.Table.Filed {
		return nil
	}
	var changed []Held
	for _, property := range p.Duties.Files {
		if given[property.Index] != engine.Absent {
			changed = append(changed, HeldBy(it, property.Name))
		}
	}
	return s.syncFiles(p.Table, changed)
}

// HeldBy returns the list of files that an attribute of an item contains.
func HeldBy(it *engine.Item, attribute string) Held {
	return Held{it, attribute, engine.FilesIn(it.Values[it.Class.Property(attribute).Index])}
}

// UpdateAll updates the records of all files of an item. It also deletes records of attributes that the item's class
// does not have, for example after the class of the item has changed.
func (s *Files) UpdateAll(it *engine.Item) error {
	t := s.rows.layout.Plans[it.Class].Table
	if !t.Filed {
		return nil
	}
	if err := s.rows.forgetFiles(s.w, t, []any{table.KeyOf(it)}); err != nil {
		return err
	}
	var all []Held
	for _, property := range s.rows.layout.Plans[it.Class].Duties.Files {
		all = append(all, HeldBy(it, property.Name))
	}
	return s.syncFiles(t, all)
}

// syncFiles makes the records of files agree with the attributes in all. It deletes the records of files that an
// attribute no longer contains, and adds records of new files. The items are in table t. The records of attributes
// that are not in all stay unchanged.
func (s *Files) syncFiles(t *layout.Table, all []Held) error {
	byAttribute := map[string][]Held{}
	for _, h := range all {
		byAttribute[h.Attribute] = append(byAttribute[h.Attribute], h)
	}
	for attribute, list := range byAttribute {
		if err := s.Drop(t, attribute, list); err != nil {
			return err
		}
	}
	return s.Keep(all)
}

// Keep adds a record for each file that the attributes contain, or updates the existing record of the file.
func (s *Files) Keep(all []Held) error {
	var rows []*engine.Item
	for _, h := range all {
		for _, f := range h.Files {
			rows = append(rows, s.fileRow(h, f))
		}
	}
	return s.insertFiles(rows)
}

// Drop deletes the records of files that the items in list no longer contain. It considers only the records of one
// attribute or, if attribute is "", of all attributes.
func (s *Files) Drop(t *layout.Table, attribute string, list []Held) error {
	type place struct{ id, attribute string }
	keep := map[place]bool{}
	var items []any
	for _, h := range list {
		items = append(items, h.Item.ID)
		for _, f := range h.Files {
			keep[place{f.ID, h.Attribute}] = true
		}
	}
	p := s.rows.layout.Plans[s.rows.cfg.Files]
	var gone []any
	for chunk := range slices.Chunk(table.Distinct(items), table.BulkRows) {
		b := sqldb.NewBuilder(s.rows.traits)
		b.Add("SELECT ", p.Table.ID.Quoted, `, "attribute" FROM `, p.Table.Quoted, t.OwnedBy())
		if attribute != "" {
			b.Add(` AND "attribute" = `)
			b.Bind(attribute)
		}
		b.Add(" AND ")
		sqldb.WriteIn(s.rows.dialect, b, `"item"`, engine.String, chunk)
		err := s.w.VisitRows(b, 2, func(row []any) {
			if id := sqldb.TextOf(row[0]); !keep[place{id, sqldb.TextOf(row[1])}] {
				gone = append(gone, id)
			}
		})
		if err != nil {
			return err
		}
	}
	for chunk := range slices.Chunk(gone, table.BulkRows) {
		b := sqldb.NewBuilder(s.rows.traits)
		b.Add("DELETE FROM ", p.Table.Quoted, " WHERE ")
		sqldb.WriteIn(s.rows.dialect, b, p.Table.ID.Quoted, engine.String, chunk)
		if err := deleteFiles(s.w, b); err != nil {
			return err
		}
	}
	return nil
}

// deleteFiles runs a statement that deletes records of files, and collects the hashes of the files for Reports.Unheld.
func deleteFiles(s *conns.Session, b *sqldb.Builder) error {
	b.Returning(`"hash"`)
	return s.VisitRows(b, 1, func(row []any) { s.Unheld = append(s.Unheld, sqldb.TextOf(row[0])) })
}

// Reports contains functions to be called after a transaction. store.Config describes their purpose. All Stores of a
// database have the same functions.
type Reports struct {
	Unheld    func(hashes []string)
	Regranted func()
}

// ReportEnded reports the changed grants and lost files of the transactions on w that have ended. It must be called
// before the callers of these transactions get their results.
func (s Reports) ReportEnded(w *conns.Session) {
	s.reportRegranted(w)
	s.reportUnheld(w)
}

// reportUnheld calls Reports.Unheld with the hashes of files that items have lost in the transactions on w that have
// ended.
func (s Reports) reportUnheld(w *conns.Session) {
	if len(w.Unheld) > 0 && s.Unheld != nil {
		s.Unheld(w.Unheld)
	}
	w.Unheld = nil
}

// fileRow returns the record of a file in an attribute of an item, as an item of Config.Files.
func (s *Files) fileRow(h Held, f engine.StoredFile) *engine.Item {
	c := s.rows.cfg.Files
	v := make(engine.Values, len(c.Properties))
	for name, value := range map[string]any{
		"id": f.ID, "hash": f.Hash, "name": layout.OrNull(f.Name), "mimeType": layout.OrNull(f.MimeType), "size": f.Size, "created": s.now,
		"class": h.Item.Class.FullName, "item": h.Item.ID, "attribute": h.Attribute,
	} {
		v[c.Property(name).Index] = value
	}
	if p := c.Property("account"); p != nil {
		v[p.Index] = layout.OrNull(quota.OwnerOf(s.ctx))
	}
	return &engine.Item{Class: c, ID: f.ID, Revision: uint64(table.NewRevision()), Values: v}
}

// insertFiles inserts records of files, or updates a record if it exists. It does not change an existing record that
// belongs to another item or attribute: a write that names a file must not take the file from its owner.
func (s *Files) insertFiles(rows []*engine.Item) error {
	p := s.rows.layout.Plans[s.rows.cfg.Files]
	tail := sqldb.NewBuilder(s.rows.traits)
	tail.UpdateExisting(p.Table.ID.Quoted)
	tail.AssignNew(layout.RevColumn, `"hash"`, `"name"`, `"mimeType"`, `"size"`)
	tail.Add(" WHERE ", p.Table.Quoted, `."item" = `, tail.Clauses.Excluded, `"item" AND `, p.Table.Quoted, `."attribute" = `, tail.Clauses.Excluded, `"attribute"`)
	for len(rows) > 0 {
		n := table.PowerOfTwo(min(len(rows), table.BulkRows))
		seen := map[string]bool{}
		for _, row := range rows[:n] {
			if seen[row.ID] { // a statement cannot write the same row twice
				n = len(seen)
				break
			}
			seen[row.ID] = true
		}
		b := sqldb.NewBuilder(s.rows.traits)
		b.Add(p.InsertText(s.rows.traits, n, tail.Text()))
		for _, row := range rows[:n] {
			b.Args = p.RowArgs(b.Args, row)
		}
		if _, err := s.w.Execute(b); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// followFiles updates the records of an item's files when its key changes.
func (s *Rows) followFiles(w *conns.Session, t *layout.Table, from, to any) error {
	if !t.Filed {
		return nil
	}
	b := sqldb.NewBuilder(s.traits)
	b.Add("UPDATE ", s.layout.Plans[s.cfg.Files].Table.Quoted, ` SET "item" = `)
	b.Bind(engine.ValueText(to))
	b.Add(t.OwnedBy(), ` AND "item" = `)
	b.Bind(engine.ValueText(from))
	_, err := w.Execute(b)
	return err
}

// forgetFiles deletes the records of the files of items.
func (s *Rows) forgetFiles(w *conns.Session, t *layout.Table, keys []any) error {
	if !t.Filed {
		return nil
	}
	return s.forgetOwned(s.cfg.Files, t, keys, func(b *sqldb.Builder) error { return deleteFiles(w, b) })
}
