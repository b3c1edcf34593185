package store

import (
	"slices"

	"restsrv/engine"
	"restsrv/engine/quota"
)

// held lists the files that an attribute of an item holds after a write.
type held struct {
	item      *engine.Item
	attribute string
	files     []engine.StoredFile
}

// updateFiles updates the rows of FileClass for the file attributes that a write gave.
func (sv *save) updateFiles(p *plan, given engine.Values, it *engine.Item) error {
	if !p.table.filed {
		return nil
	}
	var changed []held
	for _, property := range p.duties.files {
		if given[property.Index] != engine.Absent {
			changed = append(changed, heldBy(it, property.Name))
		}
	}
	return sv.syncFiles(p.table, changed)
}

func heldBy(it *engine.Item, attribute string) held {
	return held{it, attribute, engine.FilesIn(it.Values[it.Class.Property(attribute).Index])}
}

// updateAllFiles updates all file rows of an item. It also deletes the rows of attributes that its class no
// longer has.
func (sv *save) updateAllFiles(it *engine.Item) error {
	t := sv.store.plans[it.Class].table
	if !t.filed {
		return nil
	}
	if err := sv.store.forgetFiles(sv.w, t, []any{keyOf(it)}); err != nil {
		return err
	}
	var all []held
	for _, property := range sv.store.plans[it.Class].duties.files {
		all = append(all, heldBy(it, property.Name))
	}
	return sv.syncFiles(t, all)
}

// syncFiles updates the file rows of attributes of items in one table.
func (sv *save) syncFiles(t *table, all []held) error {
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
func (sv *save) keepFiles(all []held) error {
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
func (sv *save) dropFiles(t *table, attribute string, list []held) error {
	type place struct{ id, attribute string }
	keep := map[place]bool{}
	var items []any
	for _, h := range list {
		items = append(items, h.item.ID)
		for _, f := range h.files {
			keep[place{f.ID, h.attribute}] = true
		}
	}
	p := sv.store.plans[sv.store.cfg.FileClass]
	var gone []any
	for chunk := range slices.Chunk(distinctValues(items), bulkRows) {
		b := newBuilder(sv.store.traits)
		b.add("SELECT ", p.table.id.quoted, `, "attribute" FROM `, p.table.quoted, t.ownedBy())
		if attribute != "" {
			b.add(` AND "attribute" = `)
			b.bind(attribute)
		}
		b.add(" AND ")
		sv.store.writeIn(b, `"item"`, engine.String, chunk)
		err := sv.w.visitRows(b, 2, func(row []any) {
			if id := textOf(row[0]); !keep[place{id, textOf(row[1])}] {
				gone = append(gone, id)
			}
		})
		if err != nil {
			return err
		}
	}
	for chunk := range slices.Chunk(gone, bulkRows) {
		b := newBuilder(sv.store.traits)
		b.add("DELETE FROM ", p.table.quoted, " WHERE ")
		sv.store.writeIn(b, p.table.id.quoted, engine.String, chunk)
		if err := sv.w.deleteFiles(b); err != nil {
			return err
		}
	}
	return nil
}

// deleteFiles runs a statement that deletes rows of files. It collects the hashes of their contents
// for Config.Unheld.
func (s *session) deleteFiles(b *builder) error {
	b.add(` RETURNING "hash"`)
	return s.visitRows(b, 1, func(row []any) { s.unheld = append(s.unheld, textOf(row[0])) })
}

// reportEnded reports changed grants and removed files of the transactions of w that have ended.
// Call it before their callers get an answer.
func (s *Store) reportEnded(w *session) {
	s.reportRegranted(w)
	s.reportUnheld(w)
}

// reportUnheld reports the files that items have lost in the ended transactions of w.
func (s *Store) reportUnheld(w *session) {
	if len(w.unheld) > 0 && s.cfg.Unheld != nil {
		s.cfg.Unheld(w.unheld)
	}
	w.unheld = nil
}

// fileRow returns the row of a file that an attribute of an item holds.
func (sv *save) fileRow(h held, f engine.StoredFile) *engine.Item {
	c := sv.store.cfg.FileClass
	v := make(engine.Values, len(c.Properties))
	for name, value := range map[string]any{
		"id": f.ID, "hash": f.Hash, "name": orNull(f.Name), "mimeType": orNull(f.MimeType), "size": f.Size, "created": sv.now,
		"class": h.item.Class.FullName, "item": h.item.ID, "attribute": h.attribute,
	} {
		v[c.Property(name).Index] = value
	}
	if p := c.Property("account"); p != nil {
		v[p.Index] = orNull(quota.OwnerOf(sv.ctx))
	}
	return &engine.Item{Class: c, ID: f.ID, Revision: uint64(newRevision()), Values: v}
}

// insertFiles inserts rows, or updates existing ones. A row of a file that another item or another
// attribute holds stays unchanged, because naming a file does not make the item its owner.
func (sv *save) insertFiles(rows []*engine.Item) error {
	p := sv.store.plans[sv.store.cfg.FileClass]
	tail := " ON CONFLICT (" + p.table.id.quoted + ") DO UPDATE SET " + revColumn + " = excluded." + revColumn
	for _, name := range []string{"hash", "name", "mimeType", "size"} {
		tail += ", " + quoteName(name) + " = excluded." + quoteName(name)
	}
	tail += " WHERE " + p.table.quoted + `."item" = excluded."item" AND ` + p.table.quoted + `."attribute" = excluded."attribute"`
	for len(rows) > 0 {
		n := powerOfTwo(min(len(rows), bulkRows))
		seen := map[string]bool{}
		for _, row := range rows[:n] {
			if seen[row.ID] { // one statement cannot write a row twice
				n = len(seen)
				break
			}
			seen[row.ID] = true
		}
		b := newBuilder(sv.store.traits)
		b.add(p.insertText(sv.store.traits, n, tail))
		for _, row := range rows[:n] {
			b.args = p.rowArgs(b.args, row)
		}
		if _, err := sv.w.execute(b); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// followFiles updates the rows of an item's files when its key changes.
func (sv *save) followFiles(t *table, from, to any) error {
	if !t.filed {
		return nil
	}
	b := newBuilder(sv.store.traits)
	b.add("UPDATE ", sv.store.plans[sv.store.cfg.FileClass].table.quoted, ` SET "item" = `)
	b.bind(engine.ValueText(to))
	b.add(t.ownedBy(), ` AND "item" = `)
	b.bind(engine.ValueText(from))
	_, err := sv.w.execute(b)
	return err
}

// forgetFiles deletes the rows of the files of items.
func (s *Store) forgetFiles(w *session, t *table, keys []any) error {
	if !t.filed {
		return nil
	}
	return s.forgetOwned(s.cfg.FileClass, t, keys, w.deleteFiles)
}
