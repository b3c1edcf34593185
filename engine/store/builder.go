package store

import (
	"slices"
	"strconv"

	"restsrv/engine"
)

// builder writes one statement and collects its arguments.
type builder struct {
	sql      []byte
	args     []any
	numbered bool
	mark     byte // first character of a numbered placeholder
	label    string
	fullText FullText
	rowTail  string // Traits.RowNumber

	// These fields are for statements with filters (see Store.builder).
	dialect Dialect
	plans   map[*engine.Class]*plan
	links   linkNames
	stages  *engine.Class // Config.StageClass
	now     engine.Instant
	aliases int   // number of aliases given out
	sources int   // number of tables read besides the first
	atom    *atom // the condition being written
	guard   *guard
	may     engine.Permission // the permission that the guard checks for the items of a query
	err     error             // the first error; the statement must not run
}

func newBuilder(tr Traits) *builder {
	mark := byte('?')
	if tr.Numbered {
		mark = '$'
	}
	return &builder{sql: make([]byte, 0, 256), numbered: tr.Numbered, mark: mark, label: tr.Label, fullText: tr.FullText, rowTail: tr.RowNumber}
}

func (b *builder) add(parts ...string) {
	for _, p := range parts {
		b.sql = append(b.sql, p...)
	}
}

// bind writes a placeholder for the value and adds the value to the arguments.
func (b *builder) bind(v any) {
	b.args = append(b.args, encode(v))
	b.sql = b.appendPlaceholder(b.sql)
}

// appendPlaceholder appends the placeholder of the last argument.
func (b *builder) appendPlaceholder(sql []byte) []byte {
	if !b.numbered {
		return append(sql, '?')
	}
	return strconv.AppendInt(append(sql, b.mark), int64(len(b.args)), 10)
}

// placeholder is bind for an expression that is written by a dialect.
func (b *builder) placeholder(v any) string {
	b.args = append(b.args, encode(v))
	return string(b.appendPlaceholder(nil))
}

func (b *builder) text() string { return string(b.sql) }

// capture returns the text that write produces, and does not add it to the statement. The arguments
// stay bound. So the text must follow the text written before, unless placeholders are numbered.
func (b *builder) capture(write func()) string {
	at := len(b.sql)
	write()
	text := string(b.sql[at:])
	b.sql = b.sql[:at]
	return text
}

// insert puts text at position at of the statement. The text must not contain placeholders unless
// they are numbered.
func (b *builder) insert(at int, text string) {
	b.sql = slices.Insert(b.sql, at, []byte(text)...)
}

// encode converts a value to a type that every driver accepts.
func encode(v any) any {
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

// isConverted reports whether the database returns values of the type as another Go type than the one
// in engine.Values.
func isConverted(t engine.PropertyType) bool {
	switch t {
	case engine.Real, engine.DecimalNum, engine.DateTime, engine.Boolean:
		return true // SQLite returns a whole real of a row that was just written as an int
	}
	return t.JSON()
}

// decode converts a database value of a converted type to its Go value.
func decode(t engine.PropertyType, v any) any {
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
