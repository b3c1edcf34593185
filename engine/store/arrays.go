package store

import (
	"slices"
	"strings"

	"restsrv/engine"
)

// arrayRows is the maximum number of rows of one statement that takes its rows as arrays.
const arrayRows = 1000

// bindsArrays reports whether the rows of a statement are bound as one array for each column.
func (s *Store) bindsArrays() bool {
	typ, _ := s.db.Dialect.Array(engine.String, nil)
	return typ != ""
}

// rowTypes returns the types of the values that rowArgs appends.
func (p *plan) rowTypes() []engine.PropertyType {
	types := []engine.PropertyType{engine.String, engine.Int, engine.String}
	for _, property := range p.stored {
		types = append(types, property.ValueType())
	}
	if p.table.hasIDColumn() {
		types = append(types, p.table.id.typ)
	}
	return types
}

// unnest writes rows as a table made of one array for each column. values holds the rows one after
// the other. If it is empty, the arrays are empty.
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

// insertArrays is insertText for rows that are bound as arrays.
func (p *plan) insertArrays(tr Traits, d Dialect, tail string) string {
	b := newBuilder(tr)
	b.add("INSERT INTO ", p.table.quoted, " (", p.rowColumns(), ") SELECT ", quoteText(p.class.FullName), ", * FROM ")
	b.unnest(d, p.rowTypes(), nil)
	b.add(tail)
	return b.text()
}

// rowColumns returns the columns of a row in the order of insertText.
func (p *plan) rowColumns() string {
	names := []string{classColumn, versionColumn, revColumn, creatorColumn}
	for _, property := range p.stored {
		names = append(names, p.table.column(property).quoted)
	}
	if p.table.hasIDColumn() {
		names = append(names, p.table.id.quoted)
	}
	return strings.Join(names, ", ")
}

// asArrays converts the values of rows to one array for each column.
func (s *Store) asArrays(p *plan, values []any) []any {
	b := newBuilder(s.traits)
	b.unnest(s.db.Dialect, p.rowTypes(), values)
	return b.args
}

// copyRows inserts entries by COPY. The entries must be new.
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
			return timeoutError(sv.ctx.Err())
		}
		args = p.rowArgs(append(args[:0], p.class.FullName), it)
		if _, err := st.ExecContext(w.ctx, args...); err != nil {
			return err
		}
	}
	sv.args = args
	_, err = st.ExecContext(w.ctx) // ends the copy and returns its error
	return err
}

// orNull returns nil for an empty system column, because reading an empty text costs more than
// reading a null.
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// rowVariables returns the number of placeholders in a row of insertText.
func (p *plan) rowVariables() int {
	n := 3 + len(p.stored)
	if p.table.hasIDColumn() {
		n++
	}
	return n
}
