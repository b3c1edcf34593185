package store

import (
	"context"

	"restsrv/engine"
)

// Create is engine.Repository's.
func (s *Store) Create(ctx context.Context, c *engine.Class, v engine.Values, o engine.WriteOptions) (*engine.Item, error) {
	p, err := s.plan(c)
	if err != nil {
		return nil, err
	}
	if err := c.Complete(v, s.generate()); err != nil {
		return nil, err
	}
	if err := p.fits(v); err != nil {
		return nil, err
	}
	if err := s.hash(ctx, p, v); err != nil {
		return nil, err
	}
	rev := revision()
	it := &engine.Item{Class: c, ID: c.ID(v), Revision: uint64(rev), Version: c.Version, Creator: account(ctx), Values: v}
	args := p.rowArgs(make([]any, 0, 5+len(v)), it)
	do := s.writer.statement
	if p.table.searched() {
		do = s.writer.do
	}
	err = do(ctx, func(w *session) error {
		st, err := w.prepare(p.insert)
		if err != nil {
			return err
		}
		if _, err = st.ExecContext(w.ctx, args...); err != nil {
			if e := s.duplicate(p, err, it.Get); e != nil {
				return e
			}
			return err
		}
		return s.keepWords(w, p, it)
	})
	if err != nil {
		return nil, err
	}
	return it, nil
}

// hash turns the plain passwords in v into what is stored.
func (s *Store) hash(ctx context.Context, p *plan, v engine.Values) error {
	for _, property := range p.passwords {
		plain, ok := v[property.Index].(string)
		if !ok {
			continue
		}
		if s.cfg.HashPassword == nil {
			return engine.Errorf(engine.Internal, "internal", "passwords cannot be stored here")
		}
		hashed, err := s.cfg.HashPassword(ctx, plain)
		if err != nil {
			return err
		}
		v[property.Index] = hashed
	}
	return nil
}

// insertText is an INSERT of some rows, whose placeholders rowArgs fills. Tail
// follows the rows.
func (p *plan) insertText(tr Traits, rows int, tail string) string {
	b := newBuilder(tr)
	b.add("INSERT INTO ", p.table.quoted, " (", p.rowColumns(), ") VALUES ")
	class := quoteText(p.class.FullName)
	for i := range rows {
		if i > 0 {
			b.add(", ")
		}
		b.add("(", class, ", ")
		b.bind(nil)
		b.add(", ")
		b.bind(nil)
		b.add(", ")
		b.bind(nil)
		for range p.rowVariables() - 3 {
			b.add(", ")
			b.bind(nil)
		}
		b.add(")")
	}
	b.add(tail)
	return b.text()
}

// rowArgs appends what one row of insertText takes.
func (p *plan) rowArgs(args []any, it *engine.Item) []any {
	args = append(args, orNull(it.Version), int64(it.Revision), orNull(it.Creator))
	for _, property := range p.stored {
		args = append(args, encode(it.Values[property.Index]))
	}
	if p.table.composite() {
		args = append(args, it.ID)
	}
	return args
}

// rowVariables is how many placeholders a row of insertText has.
func (p *plan) rowVariables() int {
	n := 3 + len(p.stored)
	if p.table.composite() {
		n++
	}
	return n
}

// Update is engine.Repository's.
func (s *Store) Update(ctx context.Context, c *engine.Class, id string, v engine.Values, o engine.WriteOptions) (*engine.Item, error) {
	p, err := s.plan(c)
	if err != nil {
		return nil, err
	}
	key, ok := c.KeyValues(id)
	if !ok {
		return nil, engine.NoItem(c, id)
	}
	if err := c.Check(v); err != nil {
		return nil, err
	}
	if err := p.fits(v); err != nil {
		return nil, err
	}
	if !given(v) {
		return s.untouched(ctx, c, id, o.Match)
	}
	if err := s.hash(ctx, p, v); err != nil {
		return nil, err
	}
	it := &engine.Item{}
	inspects := o.Handling == engine.Strict && setsReadonly(p, v) || !inStatement(o.Match)
	do := s.writer.statement
	if inspects || p.table.searched() {
		do = s.writer.do
	}
	err = do(ctx, func(w *session) error {
		match := o.Match
		if inspects {
			if err := s.inspect(w, p, id, v, o); err != nil {
				return err
			}
			match = nil
		}
		found, err := s.updateOne(w, p, it, change{key: key, values: v, match: match, editor: account(ctx)})
		if err != nil || found {
			return err
		}
		return s.missing(w, p, id)
	})
	if err != nil {
		return nil, err
	}
	return it, nil
}

func given(v engine.Values) bool {
	for _, value := range v {
		if value != engine.Absent {
			return true
		}
	}
	return false
}

// untouched answers an update that sets nothing.
func (s *Store) untouched(ctx context.Context, c *engine.Class, id string, m *engine.Match) (*engine.Item, error) {
	it, err := s.Get(ctx, c, id)
	if err != nil {
		return nil, err
	}
	if !m.Allows(it.Revision) {
		return nil, unmatched(c, id)
	}
	return it, nil
}

func unmatched(c *engine.Class, id string) *engine.Error {
	e := engine.Errorf(engine.Unmatched, "unmatched", "object %s of class %s has been changed meanwhile", engine.Quote(id), c.FullName)
	e.Class, e.ID = c.FullName, id
	return e
}

// inStatement reports whether the condition of a write can be a part of its
// statement.
func inStatement(m *engine.Match) bool { return m == nil || m.Any || len(m.Revisions) == 1 }

func setsReadonly(p *plan, v engine.Values) bool {
	for i, property := range p.class.Properties {
		if property.Readonly && v[i] != engine.Absent {
			return true
		}
	}
	return false
}

// inspect reads the stored item, in the transaction of the update, and refuses
// what the update may not do to it.
func (s *Store) inspect(w *session, p *plan, id string, v engine.Values, o engine.WriteOptions) error {
	key, _ := p.class.KeyValues(id)
	stored := &engine.Item{}
	found, err := w.one(w.ctx, p.lock, p, stored, key)
	if err != nil {
		return err
	}
	if !found {
		return engine.NoItem(p.class, id)
	}
	if !o.Match.Allows(stored.Revision) {
		return unmatched(p.class, id)
	}
	if o.Handling != engine.Strict {
		return nil
	}
	for i, property := range p.class.Properties {
		at := stored.Class.Property(property.Name)
		if property.Readonly && v[i] != engine.Absent && v[i] != stored.Values[at.Index] {
			e := engine.Errorf(engine.Invalid, "readonly", "attribute %s of class %s is read-only and cannot be changed",
				engine.Quote(property.Name), p.class.FullName)
			e.Class, e.ID, e.Attribute = p.class.FullName, id, property.Name
			return e
		}
	}
	return nil
}

// missing tells why no row came back from a write: 412 when the item is there
// after all, else 404.
func (s *Store) missing(w *session, p *plan, id string) error {
	key, _ := p.class.KeyValues(id)
	found, err := w.exists(p, key)
	if err != nil {
		return err
	}
	if found {
		return unmatched(p.class, id)
	}
	return engine.NoItem(p.class, id)
}

func (s *session) exists(p *plan, key []any) (bool, error) {
	for i := range key {
		key[i] = encode(key[i])
	}
	st, err := s.prepare(p.find)
	if err != nil {
		return false, err
	}
	rows, err := st.QueryContext(s.ctx, key...)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	return rows.Next(), rows.Err()
}

// change is what updateOne does to one item.
type change struct {
	key     []any
	values  engine.Values // the properties that are not Absent
	keepKey bool          // the key among values is the one there already
	match   *engine.Match // at most one revision
	version *string       // set when not nil
	editor  string
}

// updateOne changes an item and loads it as it is then; found is false when no
// item has the key and the revision.
func (s *Store) updateOne(w *session, p *plan, it *engine.Item, c change) (found bool, err error) {
	b := newBuilder(s.traits)
	b.add("UPDATE ", p.table.quoted, " SET ")
	rekeyed := false
	for _, property := range p.stored {
		col, value := p.table.byName[property.Name], c.values[property.Index]
		if value != engine.Absent && !(c.keepKey && col.key) {
			b.add(col.quoted, " = ")
			b.bind(value)
			b.add(", ")
			rekeyed = rekeyed || col.key
		}
	}
	if rekeyed && p.table.composite() {
		id, err := w.newID(p, c)
		if err != nil {
			return false, err
		}
		b.add(p.table.id.quoted, " = ")
		b.bind(id)
		b.add(", ")
	}
	if c.version != nil {
		b.add(versionColumn, " = ")
		b.bind(orNull(*c.version))
		b.add(", ")
	}
	b.add(revColumn, " = ")
	b.bind(revision())
	b.add(", ", editorColumn, " = ")
	b.bind(orNull(c.editor))
	p.whereKey(b, c.key)
	if c.match != nil && !c.match.Any {
		b.add(" AND ", revColumn, " = ")
		b.bind(stored(c.match.Revisions[0]))
	}
	b.add(" RETURNING ", p.selected.list)
	st, err := w.prepare(b.text())
	if err != nil {
		return false, err
	}
	found, err = w.fetch(w.ctx, st, p, it, b.args)
	if err != nil {
		value := func(name string) any { return c.values[p.class.Property(name).Index] }
		if e := s.duplicate(p, err, value); e != nil {
			return false, e
		}
	}
	if err == nil && found {
		err = s.keepWords(w, p, it)
	}
	return found, err
}

// newID is the id of an item of several key properties after a change of some
// of them; "" when there is no such item.
func (s *session) newID(p *plan, c change) (string, error) {
	before := &engine.Item{}
	found, err := s.one(s.ctx, p.lock, p, before, append([]any(nil), c.key...))
	if err != nil || !found {
		return "", err
	}
	for _, property := range p.class.KeyProperties() {
		if v := c.values[property.Index]; v != engine.Absent {
			before.Values[before.Class.Property(property.Name).Index] = v
		}
	}
	return before.Class.ID(before.Values), nil
}

// Delete is engine.Repository's.
func (s *Store) Delete(ctx context.Context, c *engine.Class, id string, m *engine.Match) error {
	p, err := s.plan(c)
	if err != nil {
		return err
	}
	key, ok := c.KeyValues(id)
	if !ok {
		return engine.NoItem(c, id)
	}
	do := s.writer.statement
	if !inStatement(m) {
		do = s.writer.do
	}
	return do(ctx, func(w *session) error {
		text, args := p.remove, make([]any, 0, len(key)+1)
		for _, k := range key {
			args = append(args, encode(k))
		}
		switch {
		case m == nil || m.Any:
		case len(m.Revisions) == 1:
			b := newBuilder(s.traits)
			b.add("DELETE FROM ", p.table.quoted)
			p.whereKey(b, key)
			b.add(" AND ", revColumn, " = ")
			b.bind(stored(m.Revisions[0]))
			text, args = b.text(), b.args
		default:
			if err := s.inspect(w, p, id, nil, engine.WriteOptions{Match: m}); err != nil {
				return err
			}
		}
		st, err := w.prepare(text)
		if err != nil {
			return err
		}
		done, err := st.ExecContext(w.ctx, args...)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n > 0 {
			return err
		}
		return s.missing(w, p, id)
	})
}
