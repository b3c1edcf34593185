package table

import (
	"database/sql"

	"restsrv/engine"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/read"
	"restsrv/engine/store/schema"
	"restsrv/engine/store/sqldb"
)

// Change describes a change of one item by Update.
type Change struct {
	Key     []any         // identifies the item
	Values  engine.Values // the new values of the properties that are not Absent
	KeepKey bool          // the values contain the present key, which the statement need not write
	Match   *engine.Match // condition on the revision, with at most one revision; may be nil
	Version *string       // the new version of the item; nil to keep the present version
	Editor  string
}

// Update changes an item, and loads the changed item into the parameter it. found is false if no item has the key and
// the revision.
func (s *Writer) Update(w *conns.Session, p *layout.Plan, it *engine.Item, c Change) (found bool, err error) {
	b := sqldb.NewBuilder(s.traits)
	b.Add("UPDATE ", p.Table.Quoted, " SET ")
	rekeyed := false
	for _, property := range p.Stored {
		col, value := p.Table.Column(property), c.Values[property.Index]
		if value != engine.Absent && !(c.KeepKey && col.Key) {
			b.Add(col.Quoted, " = ")
			b.Bind(value)
			b.Add(", ")
			rekeyed = rekeyed || col.Key
		}
	}
	if rekeyed && p.Table.HasIDColumn() {
		id, err := newID(w, p, c)
		if err != nil || id == "" {
			return false, err
		}
		b.Add(p.Table.ID.Quoted, " = ")
		b.Bind(id)
		b.Add(", ")
	}
	if c.Version != nil {
		b.Add(layout.VersionColumn, " = ")
		b.Bind(layout.OrNull(*c.Version))
		b.Add(", ")
	}
	b.Add(layout.RevColumn, " = ")
	b.Bind(NewRevision())
	b.Add(", ", layout.EditorColumn, " = ")
	b.Bind(layout.OrNull(c.Editor))
	p.WhereKey(b, c.Key)
	if c.Match != nil && !c.Match.Any {
		b.Add(" AND ", layout.RevColumn, " = ")
		b.Bind(StoredRevision(c.Match.Revisions[0]))
	}
	b.Returning(p.SQL().Selected.List)
	st, err := w.Prepare(b.Text())
	if err != nil {
		return false, err
	}
	found, err = read.Fetch(w, w.Ctx, st, p, it, b.Args)
	if err != nil {
		return false, s.WriteError(p, err, func(name string) any { return c.Values[p.Class.Property(name).Index] })
	}
	if found {
		err = s.layout.CheckSharedSizes(p, c.Values, it)
	}
	return found, err
}

// newID returns the id that an item will have after c has changed some properties of its key. It returns "" if the item
// does not exist.
func newID(w *conns.Session, p *layout.Plan, c Change) (string, error) {
	before := &engine.Item{}
	found, err := read.One(w, w.Ctx, p.SQL().Lock, p, before, append([]any(nil), c.Key...))
	if err != nil || !found {
		return "", err
	}
	for _, property := range p.Class.KeyProperties() {
		if v := c.Values[property.Index]; v != engine.Absent {
			before.Values[before.Class.Property(property.Name).Index] = v
		}
	}
	return before.Class.ID(before.Values), nil
}

// MissingError returns the error of a write that found no item with the key and a revision that m allows:
//   - NotFound if there is no item with the key.
//   - Unmatched if there is an item, but m does not allow its revision.
//   - An error that makes the store repeat the write if m allows the revision of the item. The write must have waited
//     for a transaction that deleted the item, and since then another item has received the key.
func (s *Writer) MissingError(w *conns.Session, p *layout.Plan, id string, m *engine.Match) error {
	key, _ := p.Class.KeyValues(id)
	found, err := existsKey(w, p, key)
	switch {
	case err != nil:
		return err
	case !found:
		return engine.NoItem(p.Class, id)
	case m == nil || m.Any:
		return conns.MarkAgain(engine.NoItem(p.Class, id))
	}
	return UnmatchedError(p.Class, id)
}

func existsKey(w *conns.Session, p *layout.Plan, key []any) (found bool, err error) {
	for i := range key {
		key[i] = sqldb.Encode(key[i])
	}
	err = w.EachRow(w.Ctx, p.SQL().Find, key, func(*sql.Rows) error {
		found = true
		return nil
	})
	return found, err
}

// UnmatchedError returns the error of a write that expects another revision of the item.
func UnmatchedError(c *engine.Class, id string) *engine.Error {
	e := engine.Errorf(engine.Unmatched, "unmatched", "object %s of class %s has been changed meanwhile", engine.Quote(id), c.FullName)
	e.Class, e.ID = c.FullName, id
	return e
}

// InStatement reports whether the condition m can be a part of the SQL statement of a write. This is possible if m
// allows exactly one revision, or all revisions.
func InStatement(m *engine.Match) bool { return m == nil || m.Any || len(m.Revisions) == 1 }

// Overwrite replaces all columns of the row with the key by the values of an item.
func (s *Writer) Overwrite(w *conns.Session, key any, it *engine.Item) error {
	p := s.layout.Plans[it.Class]
	b := sqldb.NewBuilder(s.traits)
	b.Add("UPDATE ", p.Table.Quoted, " SET ", layout.ClassColumn, " = ", sqldb.QuoteText(p.Class.FullName))
	set := func(quoted string, value any) {
		b.Add(", ", quoted, " = ")
		b.Bind(value)
	}
	set(layout.VersionColumn, layout.OrNull(it.Version))
	set(layout.RevColumn, int64(it.Revision))
	set(layout.CreatorColumn, layout.OrNull(it.Creator))
	set(layout.EditorColumn, layout.OrNull(it.Editor))
	for _, col := range p.Table.Columns {
		var value any
		if property := p.Table.PropertyOf(p.Class, col); property != nil {
			value = it.Values[property.Index]
		}
		set(col.Quoted, value)
	}
	if p.Table.HasIDColumn() {
		set(p.Table.ID.Quoted, it.ID)
	}
	b.Add(" WHERE ", p.Table.ID.Quoted, " = ")
	b.Bind(key)
	if _, err := w.Execute(b); err != nil {
		return s.WriteError(p, err, it.Get)
	}
	return nil
}

// RunReturning runs a statement that changes or deletes rows of p. It returns the changed items in their new state, or
// the deleted items.
func RunReturning(w *conns.Session, b *sqldb.Builder, p *layout.Plan) ([]*engine.Item, error) {
	b.Returning(p.SQL().Selected.List)
	scan := w.NewScanner(p.SQL().Selected)
	var items []*engine.Item
	err := w.EachRow(w.Ctx, b.Text(), b.Args, func(rows *sql.Rows) error {
		if err := scan(rows); err != nil {
			return err
		}
		it := &engine.Item{}
		p.LoadRow(it, w.Raw)
		items = append(items, it)
		return nil
	})
	return items, err
}

// KeepWords updates the stored search words of items that were written, if the table has search words.
func (s *Writer) KeepWords(w *conns.Session, p *layout.Plan, items ...*engine.Item) error {
	if !p.Table.HasWords() {
		return nil
	}
	b := sqldb.NewBuilder(s.traits)
	b.Add("UPDATE ", p.Table.Quoted, " SET ", layout.SearchColumn, " = ")
	b.Bind(nil)
	p.WhereKey(b, []any{nil})
	st, err := w.Prepare(b.Text())
	if err != nil {
		return err
	}
	for _, it := range items {
		key, _ := it.Class.KeyValues(it.ID)
		args := []any{schema.SearchText(it), sqldb.Encode(key[0])}
		if _, err := st.ExecContext(w.Ctx, args...); err != nil {
			return err
		}
	}
	return nil
}
