package store

import (
	"slices"

	"restsrv/engine"
	"restsrv/engine/quota"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/table"
)

// held lists the files that an attribute of an item holds after a write.
type held struct {
	item      *engine.Item
	attribute string
	files     []engine.StoredFile
}

// updateFiles updates the rows of FileClass for the file attributes that a write gave.
func (sv *filing) updateFiles(p *layout.Plan, given engine.Values, it *engine.Item) error {
	if !p.Table.Filed {
		return nil
	}
	var changed []held
	for _, property := range p.Duties.Files {
		if given[property.Index] != engine.Absent {
			changed = append(changed, heldBy(it, property.Name))
		}
	}
	return sv.syncFiles(p.Table, changed)
}

func heldBy(it *engine.Item, attribute string) held {
	return held{it, attribute, engine.FilesIn(it.Values[it.Class.Property(attribute).Index])}
}

// updateAllFiles updates all file rows of an item. It also deletes the rows of attributes that its class no
// longer has.
func (sv *filing) updateAllFiles(it *engine.Item) error {
	t := sv.store.layout.Plans[it.Class].Table
	if !t.Filed {
		return nil
	}
	if err := sv.store.forgetFiles(sv.w, t, []any{table.KeyOf(it)}); err != nil {
		return err
	}
	var all []held
	for _, property := range sv.store.layout.Plans[it.Class].Duties.Files {
		all = append(all, heldBy(it, property.Name))
	}
	return sv.syncFiles(t, all)
}

// syncFiles updates the file rows of attributes of items in one table.
func (sv *filing) syncFiles(t *layout.Table, all []held) error {
	byAttribute := map[string][]held{}
	for _, h := range all {
		byAttribute[h.attribute] = append(byAttribute[h.attribute], h)
	}
	for attribute, list := range byAttribute {
		if err := sv.dropFiles(t, attribute, list); err != nil {
			return err
		}
	}
	return sv.keepFiles(all)
}

// keepFiles inserts the rows of the files that attributes hold.
func (sv *filing) keepFiles(all []held) error {
	var rows []*engine.Item
	for _, h := range all {
		for _, f := range h.files {
			rows = append(rows, sv.fileRow(h, f))
		}
	}
	return sv.insertFiles(rows)
}

// dropFiles deletes the rows of files that an attribute of the items no longer holds. If attribute
// is "", it covers all attributes.
func (sv *filing) dropFiles(t *layout.Table, attribute string, list []held) error {
	type place struct{ id, attribute string }
	keep := map[place]bool{}
	var items []any
	for _, h := range list {
		items = append(items, h.item.ID)
		for _, f := range h.files {
			keep[place{f.ID, h.attribute}] = true
		}
	}
	p := sv.store.layout.Plans[sv.store.cfg.FileClass]
	var gone []any
	for chunk := range slices.Chunk(table.Distinct(items), table.BulkRows) {
		b := sqldb.NewBuilder(sv.store.traits)
		b.Add("SELECT ", p.Table.ID.Quoted, `, "attribute" FROM `, p.Table.Quoted, t.OwnedBy())
		if attribute != "" {
			b.Add(` AND "attribute" = `)
			b.Bind(attribute)
		}
		b.Add(" AND ")
		sqldb.WriteIn(sv.store.db.Dialect, b, `"item"`, engine.String, chunk)
		err := sv.w.VisitRows(b, 2, func(row []any) {
			if id := sqldb.TextOf(row[0]); !keep[place{id, sqldb.TextOf(row[1])}] {
				gone = append(gone, id)
			}
		})
		if err != nil {
			return err
		}
	}
	for chunk := range slices.Chunk(gone, table.BulkRows) {
		b := sqldb.NewBuilder(sv.store.traits)
		b.Add("DELETE FROM ", p.Table.Quoted, " WHERE ")
		sqldb.WriteIn(sv.store.db.Dialect, b, p.Table.ID.Quoted, engine.String, chunk)
		if err := deleteFiles(sv.w, b); err != nil {
			return err
		}
	}
	return nil
}

// deleteFiles runs a statement that deletes rows of files. It collects the hashes of their contents
// for Config.Unheld.
func deleteFiles(s *conns.Session, b *sqldb.Builder) error {
	b.Add(` RETURNING "hash"`)
	return s.VisitRows(b, 1, func(row []any) { s.Unheld = append(s.Unheld, sqldb.TextOf(row[0])) })
}

// reports are Config.Unheld and Config.Regranted. They outlive the classes of a Store; see With.
type reports struct {
	unheld    func(hashes []string)
	regranted func()
}

// reportEnded reports changed grants and removed files of the transactions of w that have ended.
// Call it before their callers get an answer.
func (s reports) reportEnded(w *conns.Session) {
	s.reportRegranted(w)
	s.reportUnheld(w)
}

// reportUnheld reports the files that items have lost in the ended transactions of w.
func (s reports) reportUnheld(w *conns.Session) {
	if len(w.Unheld) > 0 && s.unheld != nil {
		s.unheld(w.Unheld)
	}
	w.Unheld = nil
}

// fileRow returns the row of a file that an attribute of an item holds.
func (sv *filing) fileRow(h held, f engine.StoredFile) *engine.Item {
	c := sv.store.cfg.FileClass
	v := make(engine.Values, len(c.Properties))
	for name, value := range map[string]any{
		"id": f.ID, "hash": f.Hash, "name": layout.OrNull(f.Name), "mimeType": layout.OrNull(f.MimeType), "size": f.Size, "created": sv.now,
		"class": h.item.Class.FullName, "item": h.item.ID, "attribute": h.attribute,
	} {
		v[c.Property(name).Index] = value
	}
	if p := c.Property("account"); p != nil {
		v[p.Index] = layout.OrNull(quota.OwnerOf(sv.ctx))
	}
	return &engine.Item{Class: c, ID: f.ID, Revision: uint64(table.NewRevision()), Values: v}
}

// insertFiles inserts rows, or updates existing ones. A row of a file that another item or another
// attribute holds stays unchanged, because naming a file does not make the item its owner.
func (sv *filing) insertFiles(rows []*engine.Item) error {
	p := sv.store.layout.Plans[sv.store.cfg.FileClass]
	tail := " ON CONFLICT (" + p.Table.ID.Quoted + ") DO UPDATE SET " + layout.RevColumn + " = excluded." + layout.RevColumn
	for _, name := range []string{"hash", "name", "mimeType", "size"} {
		tail += ", " + sqldb.QuoteName(name) + " = excluded." + sqldb.QuoteName(name)
	}
	tail += " WHERE " + p.Table.Quoted + `."item" = excluded."item" AND ` + p.Table.Quoted + `."attribute" = excluded."attribute"`
	for len(rows) > 0 {
		n := table.PowerOfTwo(min(len(rows), table.BulkRows))
		seen := map[string]bool{}
		for _, row := range rows[:n] {
			if seen[row.ID] { // one statement cannot write a row twice
				n = len(seen)
				break
			}
			seen[row.ID] = true
		}
		b := sqldb.NewBuilder(sv.store.traits)
		b.Add(p.InsertText(sv.store.traits, n, tail))
		for _, row := range rows[:n] {
			b.Args = p.RowArgs(b.Args, row)
		}
		if _, err := sv.w.Execute(b); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// followFiles updates the rows of an item's files when its key changes.
func (sv *renaming) followFiles(t *layout.Table, from, to any) error {
	if !t.Filed {
		return nil
	}
	b := sqldb.NewBuilder(sv.store.traits)
	b.Add("UPDATE ", sv.store.layout.Plans[sv.store.cfg.FileClass].Table.Quoted, ` SET "item" = `)
	b.Bind(engine.ValueText(to))
	b.Add(t.OwnedBy(), ` AND "item" = `)
	b.Bind(engine.ValueText(from))
	_, err := sv.w.Execute(b)
	return err
}

// forgetFiles deletes the rows of the files of items.
func (s *Store) forgetFiles(w *conns.Session, t *layout.Table, keys []any) error {
	if !t.Filed {
		return nil
	}
	return s.forgetOwned(s.cfg.FileClass, t, keys, func(b *sqldb.Builder) error { return deleteFiles(w, b) })
}
