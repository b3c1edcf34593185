package sqldb

import (
	"slices"
	"strconv"
	"strings"

	"restsrv/engine"
)

// Builder writes one statement and collects its arguments.
type Builder struct {
	SQL      []byte
	Args     []any
	Numbered bool     // placeholders have numbers ($1, or ?1 with SQLite) instead of ?
	mark     byte     // first character of a numbered placeholder
	Label    string   // Traits.Label
	FullText FullText // Traits.FullText
	RowTail  string   // Traits.RowNumber
	Clauses  *Clauses // Traits.Clauses
}

// NewBuilder returns an empty statement for a database with these traits.
func NewBuilder(tr Traits) *Builder {
	mark := byte('?')
	if tr.Numbered {
		mark = '$'
	}
	return &Builder{SQL: make([]byte, 0, 256), Numbered: tr.Numbered, mark: mark, Label: tr.Label, FullText: tr.FullText, RowTail: tr.RowNumber, Clauses: tr.Clauses}
}

// Add appends parts of the text.
func (b *Builder) Add(parts ...string) {
	for _, p := range parts {
		b.SQL = append(b.SQL, p...)
	}
}

// Bind writes a placeholder for the value and adds the value to the arguments.
func (b *Builder) Bind(v any) {
	b.Args = append(b.Args, Encode(v))
	b.SQL = b.appendPlaceholder(b.SQL)
}

// appendPlaceholder appends the placeholder of the last argument.
func (b *Builder) appendPlaceholder(sql []byte) []byte {
	if !b.Numbered {
		return append(sql, '?')
	}
	return strconv.AppendInt(append(sql, b.mark), int64(len(b.Args)), 10)
}

// Placeholder adds the value to the arguments and returns its placeholder without writing it, for an expression that a
// dialect writes.
func (b *Builder) Placeholder(v any) string {
	b.Args = append(b.Args, Encode(v))
	return string(b.appendPlaceholder(nil))
}

// AddPage writes LIMIT and OFFSET at the end of a statement that returns one page. The casts keep SQLite from
// preparing the statement again for each value.
func (b *Builder) AddPage(count, offset int64) {
	b.Add(" LIMIT CAST(")
	b.Bind(count)
	b.Add(" AS BIGINT) OFFSET CAST(")
	b.Bind(offset)
	b.Add(" AS BIGINT)")
}

// Text returns the statement.
func (b *Builder) Text() string { return string(b.SQL) }

// Capture calls write and returns the text that write adds to the statement. The text is removed from the statement,
// but its arguments stay bound. Arguments and placeholders must have the same order. Therefore, if placeholders are
// not numbered, the caller must add the returned text before it binds other values.
func (b *Builder) Capture(write func()) string {
	at := len(b.SQL)
	write()
	text := string(b.SQL[at:])
	b.SQL = b.SQL[:at]
	return text
}

// Insert inserts text into the statement, before the byte with the index at. If placeholders are not numbered, the
// text must not contain any.
func (b *Builder) Insert(at int, text string) {
	b.SQL = slices.Insert(b.SQL, at, []byte(text)...)
}

// Encode converts a value to a type that every driver accepts.
func Encode(v any) any {
	switch v := v.(type) {
	case engine.Decimal:
		return string(v)
	case engine.Instant:
		return int64(v)
	case engine.JSONText:
		return string(v)
	}
	return v
}

// IsConverted reports whether the database returns values of type t as a Go type other than the one in engine.Values.
// If so, Decode must convert the values.
func IsConverted(t engine.PropertyType) bool {
	switch t {
	case engine.Real, engine.DecimalNum, engine.DateTime, engine.Boolean:
		return true // if a row was just written, SQLite returns its whole reals as ints
	}
	return t.JSON()
}

// Decode converts a value of type t from the Go type that the database returns to the Go type in engine.Values.
func Decode(t engine.PropertyType, v any) any {
	switch v := v.(type) {
	case int64:
		switch t {
		case engine.DateTime:
			return engine.Instant(v)
		case engine.Boolean:
			return v != 0
		case engine.Real:
			return float64(v)
		}
	case string:
		return decodeText(t, v)
	case []byte:
		return decodeText(t, string(v))
	}
	return v
}

func decodeText(t engine.PropertyType, s string) any {
	switch {
	case t == engine.DecimalNum:
		return engine.Decimal(s)
	case t.JSON():
		return engine.JSONText(s)
	}
	return s
}

// QuoteName returns a name as an SQL identifier.
func QuoteName(name string) string {
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// QuoteText returns a text as an SQL literal.
func QuoteText(s string) string {
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

// WriteIn writes the condition that the value of a column is one of values. There must be at least one value.
func WriteIn(d Dialect, b *Builder, column string, t engine.PropertyType, values []any) {
	encoded := make([]any, len(values))
	for i, v := range values {
		encoded[i] = Encode(v)
	}
	b.Add(d.In(column, t, encoded, b.Placeholder))
}

// Unnest writes a call of the SQL function unnest(), which turns arrays into a table. types are the types of the
// columns, and values holds the values of all rows, row by row. Unnest binds one array for each column. If values is
// empty, the arrays are empty.
func (b *Builder) Unnest(d Dialect, types []engine.PropertyType, values []any) {
	column := make([]any, 0, len(values)/len(types))
	b.Add("unnest(")
	for i, t := range types {
		column = column[:0]
		for at := i; at < len(values); at += len(types) {
			column = append(column, values[at])
		}
		typ, array := d.Array(t, column)
		b.Add([]string{"", ", "}[min(i, 1)])
		b.Bind(array)
		b.Add("::", typ)
	}
	b.Add(")")
}

// ReadValue converts a value of type t that the driver returned for a column or a computed expression. In contrast to
// Decode, it makes computed decimals canonical.
func ReadValue(t engine.PropertyType, v any) any {
	if b, ok := v.([]byte); ok {
		v = string(b)
	}
	if s, ok := v.(string); ok && t == engine.DecimalNum {
		if d, ok := engine.ParseDecimal(s); ok { // a computed decimal may not be canonical
			return d
		}
	}
	return Decode(t, v)
}

// TextOf converts a text that the driver has returned as string or []byte to a string. It returns "" for null.
func TextOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}

// SkipExisting ends an INSERT, and makes it skip each row for which a row with the same values in the columns exists
// already.
func (b *Builder) SkipExisting(columns ...string) {
	b.Add(b.Clauses.OnConflict, strings.Join(columns, ", "), b.Clauses.DoNothing)
}

// UpdateExisting ends the rows of an INSERT, and must be followed by assignments. For each row, if a row with the same
// values in the columns exists already, the INSERT applies the assignments to the existing row instead.
func (b *Builder) UpdateExisting(columns ...string) {
	b.Add(b.Clauses.OnConflict, strings.Join(columns, ", "), b.Clauses.DoUpdate)
}

// AssignNew writes assignments after UpdateExisting: the existing row gets the values of the row to insert in the
// columns.
func (b *Builder) AssignNew(columns ...string) {
	for i, column := range columns {
		b.Add([]string{"", ", "}[min(i, 1)], column, " = ", b.Clauses.Excluded, column)
	}
}

// Returning makes a statement return columns of the rows that it writes.
func (b *Builder) Returning(list ...string) {
	b.Add(b.Clauses.Returning, strings.Join(list, ", "))
}
