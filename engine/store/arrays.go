package store

import (
	"slices"
	"strings"

	"restsrv/engine"
)

// arrayRows is the most rows of one statement that takes its rows as arrays.
const arrayRows = 1000

// arrays reports whether rows are bound as one array for each column.
func (s *Store) arrays() bool {
	typ, _ := s.db.Dialect.Array(engine.String, nil)
	return typ != ""
}

// rowTypes are the types of what rowArgs appends.
func (p *plan) rowTypes() []engine.PropertyType {
	types := []engine.PropertyType{engine.String, engine.Int, engine.String}
	for _, property := range p.stored {
		types = append(types, property.ValueType())
	}
	if p.table.composite() {
		types = append(types, p.table.id.typ)
	}
	return types
}

// unnest writes rows as a table made of one array for each column. values has
// the rows one after the other; none are bound when it is empty.
func (b *builder) unnest(d Dialect, types []engine.PropertyType, values []any) {
	column := make([]any, 0, len(values)/len(types))
	b.add("unnest(")
	for i, t := range types {
		column = column[:0]
		for at := i; at < len(values); at += len(types) {
			column = append(column, values[at])
		}
		typ, array := d.Array(t, column)
		b.add([]string{"", ", "}[min(i, 1)])
		b.bind(array)
		b.add("::", typ)
	}
	b.add(")")
}

// insertArrays is insertText for rows bound as arrays.
func (p *plan) insertArrays(tr Traits, d Dialect, tail string) string {
	b := newBuilder(tr)
	b.add("INSERT INTO ", p.table.quoted, " (", p.rowColumns(), ") SELECT ", quoteText(p.class.FullName), ", * FROM ")
	b.unnest(d, p.rowTypes(), nil)
	b.add(tail)
	return b.text()
}

// rowColumns are the columns of a row as insertText writes it.
func (p *plan) rowColumns() string {
	names := []string{classColumn, versionColumn, revColumn, creatorColumn}
	for _, property := range p.stored {
		names = append(names, p.table.column(property).quoted)
	}
	if p.table.composite() {
		names = append(names, p.table.id.quoted)
	}
	return strings.Join(names, ", ")
}

// asArrays turns the values of rows into one array for each column.
func (s *Store) asArrays(p *plan, values []any) []any {
	b := newBuilder(s.traits)
	b.unnest(s.db.Dialect, p.rowTypes(), values)
	return b.args
}

// copyRows inserts entries that are surely new by COPY.
func (sv *save) copyRows(p *plan, group []entry) error {
	w := sv.w
	if w.conn == nil {
		if err := w.connect(w.ctx); err != nil {
			return err
		}
	}
	st, err := w.conn.PrepareContext(w.ctx, "COPY "+p.table.quoted+" ("+p.rowColumns()+") FROM STDIN")
	if err != nil {
		return err
	}
	defer st.Close()
	args := slices.Grow(sv.args[:0], p.rowVariables()+1)
	for i, it := range sv.newItems(p, group) {
		if i%arrayRows == 0 && sv.ctx.Err() != nil {
			return ended(sv.ctx.Err())
		}
		args = p.rowArgs(append(args[:0], p.class.FullName), it)
		if _, err := st.ExecContext(w.ctx, args...); err != nil {
			return err
		}
	}
	sv.args = args
	_, err = st.ExecContext(w.ctx) // ends the copy, and tells what went wrong
	return err
}

// orNull keeps empty system columns out of rows: reading them would cost more
// than a null.
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// rowVariables is how many placeholders a row of insertText has.
func (p *plan) rowVariables() int {
	n := 3 + len(p.stored)
	if p.table.composite() {
		n++
	}
	return n
}
