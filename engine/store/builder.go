package store

import (
	"slices"
	"strconv"

	"restsrv/engine"
)

// builder writes one statement and collects what is bound to it.
type builder struct {
	sql      []byte
	args     []any
	numbered bool
	mark     byte // of a placeholder with a number
	label    string
	fullText FullText
	rowTail  string // Traits.RowNumber

	// For statements with filters (see Store.builder).
	dialect Dialect
	plans   map[*engine.Class]*plan
	links   linkNames
	stages  *engine.Class // Config.StageClass
	now     engine.Instant
	aliases int   // given out
	sources int   // tables read, besides the first
	atom    *atom // the condition that is being written
	guard   *guard
	may     engine.Permission // what the guard is asked for the items of a query
	err     error             // the first that made the statement impossible
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

// bind writes a placeholder for the value.
func (b *builder) bind(v any) {
	b.args = append(b.args, encode(v))
	b.sql = b.appendPlaceholder(b.sql)
}

// appendPlaceholder adds that of the value that was bound last.
func (b *builder) appendPlaceholder(sql []byte) []byte {
	if !b.numbered {
		return append(sql, '?')
	}
	return strconv.AppendInt(append(sql, b.mark), int64(len(b.args)), 10)
}

// placeholder is bind for an expression that a dialect writes.
func (b *builder) placeholder(v any) string {
	b.args = append(b.args, encode(v))
	return string(b.appendPlaceholder(nil))
}

func (b *builder) text() string { return string(b.sql) }

// capture returns what write would have written. Its values stay bound: what
// it wrote must follow what was written before, unless placeholders have
// numbers.
func (b *builder) capture(write func()) string {
	at := len(b.sql)
	write()
	text := string(b.sql[at:])
	b.sql = b.sql[:at]
	return text
}

// insert puts text before what was written from at on; it binds nothing, unless
// placeholders have numbers.
func (b *builder) insert(at int, text string) {
	b.sql = slices.Insert(b.sql, at, []byte(text)...)
}

// encode turns a value into one that every driver takes.
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

// converted reports whether values of the type come from a database in
// another Go type than engine.Values has.
func converted(t engine.PropertyType) bool {
	switch t {
	case engine.Real, engine.DecimalNum, engine.DateTime, engine.Boolean:
		return true // SQLite returns a whole real of a row just written as an int
	}
	return t.JSON()
}

// decode turns a database value of a converted type into the Go value.
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
