package sqldb

import (
	"fmt"
	"slices"
	"strings"
)

// Result describes the columns that a statement returns, and how a row is read from them. A row has one slot for each
// Field.
//
// SQLite runs in this process, where every returned column costs extra time. Therefore all text columns are packed
// into one column, one value after the other. A value that is not null consists of a mark and the text, and null is an
// empty string. Each value ends with U+0000, which stored texts never contain.
type Result struct {
	List   string // the columns, for SELECT or RETURNING
	Slots  int
	Packed []int // slots with values that are packed into the first column
	Alone  []int // slots that have a column each, in the order of the columns
}

// Field describes the value of one slot. Column is its SQL expression, or "" for a slot that is not fetched and stays
// nil. Text is true if the value is a text.
type Field struct {
	Column string
	Text   bool
}

// These limits keep statements small enough for SQLite's parser. maxPacked is the maximum number of texts that a
// statement packs into one column (see Result); further texts have a column each. MaxArguments is the maximum number
// of columns in one call of a function.
const (
	maxPacked    = 240
	MaxArguments = 60
)

// NewResult returns the result for these fields.
func NewResult(tr Traits, fields []Field) *Result {
	r := &Result{Slots: len(fields)}
	var pack, columns []string
	for slot, f := range fields {
		if f.Column == "" {
			continue
		}
		if f.Text && tr.Pack != "" && len(pack) < maxPacked {
			r.Packed = append(r.Packed, slot)
			pack = append(pack, fmt.Sprintf(tr.PackText, f.Column))
			continue
		}
		r.Alone = append(r.Alone, slot)
		columns = append(columns, f.Column)
	}
	if len(pack) > 0 {
		var parts []string
		for chunk := range slices.Chunk(pack, MaxArguments) {
			parts = append(parts, fmt.Sprintf(tr.Pack, strings.Join(chunk, ", ")))
		}
		columns = append([]string{strings.Join(parts, " || ")}, columns...)
	}
	if tr.Label != "" {
		for i := range columns {
			columns[i] = fmt.Sprintf(tr.Label, columns[i])
		}
	}
	r.List = strings.Join(columns, ", ")
	return r
}
