package store

import (
	"context"
	"slices"

	"restsrv/engine"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/owned"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/table"
)

// Import stores items exactly as they are given, including class, version, creator, editor and values. It stores all
// of them or returns an error:
//   - Passwords are given as hashes. Absent values become null.
//   - Defaults are not applied, and required values are not checked.
//   - If an item with the same id exists in any class of the tree, it is replaced.
//   - A collection that is stored in a table of links may have the value *engine.Links with ids.
//   - Counters are raised to the given numbers.
//
// Import returns Invalid for an item without a key, and Invalid with reason duplicate if another item has the same
// unique value. Do not use Import for requests of clients.
func (s *Store) Import(ctx context.Context, items []*engine.Item) error {
	im := &importing{save: s.newWrite(ctx, nil, 0), items: make([]*engine.Item, len(items))}
	for i, it := range items {
		p := s.layout.Plans[it.Class]
		if p == nil {
			return engine.NoClass(it.Class.FullName)
		}
		im.grants = im.grants || p.Table.Grants
		if it.Class.Abstract {
			return atRecord(i, abstractError(it.Class))
		}
		given := *it
		given.Values = slices.Clone(it.Values)
		for n, v := range given.Values {
			if v == engine.Absent {
				given.Values[n] = nil
			}
		}
		given.Revision = uint64(table.NewRevision())
		if given.ID = it.Class.ID(given.Values); given.ID == "" {
			return atRecord(i, it.Class.Check(given.Values))
		}
		im.items[i] = &given
	}
	return s.pool.Writer.Do(ctx, func(w *conns.Session) error {
		if err := im.beginSave(w); err != nil {
			return err
		}
		for rest := im.items; len(rest) > 0; {
			n := im.groupLength(rest)
			if err := im.writeItems(s.layout.Plans[rest[0].Class], rest[:n]); err != nil {
				return err
			}
			rest = rest[n:]
		}
		return nil
	})
}

// importing is the state of one call of Import.
type importing struct {
	*save
	items []*engine.Item
}

// groupLength returns the number of items at the beginning of the list that have the same class and different ids.
func (im *importing) groupLength(items []*engine.Item) int {
	seen := map[string]bool{}
	for n, it := range items {
		if it.Class != items[0].Class || seen[it.ID] || n == table.BulkRows {
			return n
		}
		seen[it.ID] = true
	}
	return len(items)
}

// writeItems stores items that have the same class and different ids.
func (im *importing) writeItems(p *layout.Plan, items []*engine.Item) error {
	there, err := im.existingIDs(p, items)
	if err != nil {
		return err
	}
	var fresh []*engine.Item
	for _, it := range items {
		if !there[it.ID] {
			fresh = append(fresh, it)
			continue
		}
		if err := im.store.table.Overwrite(im.w, table.KeyOf(it), it); err != nil {
			return err
		}
		if err := im.store.table.KeepWords(im.w, p, it); err != nil {
			return err
		}
	}
	if err := im.insertNew(p, fresh); err != nil {
		return err
	}
	rows := make([]engine.Values, len(items))
	for i, it := range items {
		rows[i] = it.Values
	}
	if err := im.store.table.RaiseCounters(im.w, p, rows); err != nil {
		return err
	}
	if err := im.writeLinks(p, items); err != nil {
		return err
	}
	return im.writeFiles(p, items)
}

// existingIDs returns the set of ids of those given items that are already stored. It returns an error if a stored
// item has the id of a given item but another key (see table.ErrSameID).
func (im *importing) existingIDs(p *layout.Plan, items []*engine.Item) (map[string]bool, error) {
	keys := table.KeysOf(items)
	found := map[string]bool{}
	b := sqldb.NewBuilder(im.store.traits)
	b.Add("SELECT ", p.Table.ID.Quoted)
	parts := p.KeyColumns()
	for _, column := range parts {
		b.Add(", ", column.Quoted)
	}
	b.Add(" FROM ", p.Table.Quoted, " WHERE ")
	sqldb.WriteIn(im.store.db.Dialect, b, p.Table.ID.Quoted, p.Table.ID.Type, keys)
	byID := map[string]*engine.Item{}
	for _, it := range items {
		if parts != nil {
			byID[it.ID] = it
		}
	}
	var other *engine.Item
	err := im.w.VisitRows(b, 1+len(parts), func(row []any) {
		id := engine.ValueText(sqldb.ReadValue(p.Table.ID.Type, row[0]))
		found[id] = true
		if it := byID[id]; it != nil && !p.HasKey(it.Values, func(part int) any { return sqldb.ReadValue(parts[part].Type, row[1+part]) }) {
			other = it
		}
	})
	if err == nil && other != nil {
		err = table.OtherKey(p, other.Values)
	}
	return found, err
}

// insertNew inserts new items, as many as possible with each statement.
func (im *importing) insertNew(p *layout.Plan, items []*engine.Item) error {
	most := max(1, (im.store.traits.MaxVariables-1)/p.RowVariables())
	for len(items) > 0 {
		n := table.PowerOfTwo(min(len(items), most))
		var args []any
		for _, it := range items[:n] {
			args = p.RowArgs(args, it)
		}
		st, err := im.w.PrepareIn(&im.w.Bulk, conns.KeptBulkStatements, p.InsertText(im.store.traits, n, ""), nil)
		if err != nil {
			return err
		}
		if _, err := st.ExecContext(im.w.Ctx, args...); err != nil {
			return im.store.table.WriteError(p, err, items[0].Get)
		}
		if err := im.store.table.KeepWords(im.w, p, items[:n]...); err != nil {
			return err
		}
		if err := im.setEditors(p, items[:n]); err != nil {
			return err
		}
		items = items[n:]
	}
	return nil
}

// setEditors sets the editor of new items, because an insert sets only the creator.
func (im *importing) setEditors(p *layout.Plan, items []*engine.Item) error {
	byEditor := map[string][]any{}
	for _, it := range items {
		if it.Editor != "" {
			byEditor[it.Editor] = append(byEditor[it.Editor], table.KeyOf(it))
		}
	}
	for editor, keys := range byEditor {
		b := sqldb.NewBuilder(im.store.traits)
		b.Add("UPDATE ", p.Table.Quoted, " SET ", layout.EditorColumn, " = ")
		b.Bind(editor)
		b.Add(" WHERE ")
		sqldb.WriteIn(im.store.db.Dialect, b, p.Table.ID.Quoted, p.Table.ID.Type, keys)
		if _, err := im.w.Execute(b); err != nil {
			return err
		}
	}
	return nil
}

// writeLinks writes the collections that the values of the items contain.
func (im *importing) writeLinks(p *layout.Plan, items []*engine.Item) error {
	for _, property := range p.Class.Properties {
		if !layout.IsLinked(property) || im.store.layout.Plans[property.Target] == nil {
			continue
		}
		l := im.store.layout.LinkNames.Of(property)
		var pairs [][2]any
		var cleared []any
		for _, it := range items {
			given, ok := it.Values[property.Index].(*engine.Links)
			if !ok {
				continue
			}
			if given.Replace {
				cleared = append(cleared, table.KeyOf(it))
			}
			for _, member := range given.Add {
				id, _ := member.(string)
				key, ok := property.Target.KeyValues(id)
				if !ok {
					return notAnID(property, id)
				}
				pairs = append(pairs, [2]any{table.KeyOf(it), key[0]})
			}
		}
		if err := im.clearLinks(l, p.Table.ID.Type, cleared); err != nil {
			return err
		}
		if err := im.relations.linkPairs(l, property, pairs, nil); err != nil {
			return err
		}
	}
	return nil
}

// writeFiles updates the records of FileClass for the items; each record stands for a file of an item. Records of
// files that an item still has are not changed, because the records may have been imported too.
func (im *importing) writeFiles(p *layout.Plan, items []*engine.Item) error {
	if !p.Table.Filed {
		return nil
	}
	var all []owned.Held
	for _, it := range items {
		all = append(all, owned.Held{Item: it}) // the empty name covers attributes that the class no longer has
		for _, property := range p.Duties.Files {
			all = append(all, owned.HeldBy(it, property.Name))
		}
	}
	if err := im.files().Drop(p.Table, "", all); err != nil {
		return err
	}
	return im.files().Keep(all)
}

func notAnID(p *engine.Property, id string) *engine.Error {
	e := engine.Errorf(engine.Invalid, "type", "attribute %s: no object of class %s can have the id %s", engine.Quote(p.Name), p.Target.FullName, engine.Quote(id))
	e.Attribute = p.Name
	return e
}

func (im *importing) clearLinks(l *layout.Links, typ engine.PropertyType, owners []any) error {
	if len(owners) == 0 {
		return nil
	}
	b := sqldb.NewBuilder(im.store.traits)
	b.Add("DELETE FROM ", l.Quoted, " WHERE ")
	sqldb.WriteIn(im.store.db.Dialect, b, l.Owner, typ, owners)
	_, err := im.w.Execute(b)
	return err
}

// ImportLinks adds links to a collection p, which must be in the result of Linked. Each pair consists of the ids of
// owner and member. New links get the order of the pairs. Existing links keep their position.
func (s *Store) ImportLinks(ctx context.Context, p *engine.Property, pairs [][2]string) error {
	owner, err := s.layout.DeclaringClass(p)
	if err != nil {
		return err
	}
	keys := make([][2]any, len(pairs))
	for i, pair := range pairs {
		from, ok := owner.KeyValues(pair[0])
		to, also := p.Target.KeyValues(pair[1])
		if !ok || !also {
			return atRecord(i, notAnID(p, pair[1]))
		}
		keys[i] = [2]any{from[0], to[0]}
	}
	return s.pool.Writer.Do(ctx, func(w *conns.Session) error {
		sv := s.newWrite(ctx, nil, 0)
		sv.begin(w)
		return sv.relations.linkPairs(s.layout.LinkNames.Of(p), p, keys, nil)
	})
}

// Generate returns a generator for a write that begins now. It generates the values that the server supplies, such as
// times and ids, except those that can be generated only in the transaction.
func (s *Store) Generate(ctx context.Context) engine.Generate {
	return s.newWrite(ctx, nil, 0).newGenerate()
}
