package sqldb

import (
	"fmt"
	"slices"
	"strings"
)

// Result is the list of columns that a statement returns, and describes how they become the slots of a row.
//
// In SQLite, which runs in this process, every returned column costs extra time. Therefore text columns are packed into
// one column: each value is empty for null, otherwise a mark followed by the text, and ends with U+0000. Stored texts
// never contain U+0000.
type Result struct {
	List   string // for SELECT or RETURNING
	Slots  int
	Packed []int // slots in the first column
	Alone  []int // slots with a column of their own
}

// Field is one slot. column is "" if the slot is not fetched and stays nil. text is set if it holds text.
type Field struct {
	Column string
	Text   bool
}

// Limits of what SQLite can parse: the packed texts in total, and the arguments of one function call.
const (
	maxPacked    = 240
	MaxArguments = 60
)

// NewResult returns the result with one slot for each field.
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
