package store

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// result is the list of columns that a statement returns, and describes how they become the slots of a row.
//
// In SQLite, which runs in this process, every returned column costs extra time. Therefore text columns are packed into
// one column: each value is empty for null, otherwise a mark followed by the text, and ends with U+0000. Stored texts
// never contain U+0000.
type result struct {
	list   string // for SELECT or RETURNING
	slots  int
	packed []int // slots in the first column
	alone  []int // slots with a column of their own
}

// field is one slot. column is "" if the slot is not fetched and stays nil. text is set if it holds text.
type field struct {
	column string
	text   bool
}

// Limits of what SQLite can parse: the packed texts in total, and the arguments of one function call.
const (
	maxPacked    = 240
	maxArguments = 60
)

func newResult(tr Traits, fields []field) *result {
	r := &result{slots: len(fields)}
	var pack, columns []string
	for slot, f := range fields {
		if f.column == "" {
			continue
		}
		if f.text && tr.Pack != "" && len(pack) < maxPacked {
			r.packed = append(r.packed, slot)
			pack = append(pack, fmt.Sprintf(tr.PackText, f.column))
			continue
		}
		r.alone = append(r.alone, slot)
		columns = append(columns, f.column)
	}
	if len(pack) > 0 {
		var parts []string
		for chunk := range slices.Chunk(pack, maxArguments) {
			parts = append(parts, fmt.Sprintf(tr.Pack, strings.Join(chunk, ", ")))
		}
		columns = append([]string{strings.Join(parts, " || ")}, columns...)
	}
	if tr.Label != "" {
		for i := range columns {
			columns[i] = fmt.Sprintf(tr.Label, columns[i])
		}
	}
	r.list = strings.Join(columns, ", ")
	return r
}

// newScanner returns a function that reads the current row of a statement. It stores the columns of r in s.raw, and the
// following columns in more.
func (s *session) newScanner(r *result, more ...any) func(*sql.Rows) error {
	s.makeRoom(r.slots)
	clear(s.raw)
	if len(r.packed) > 0 {
		s.dest = append(s.dest, &s.packed)
	}
	for _, slot := range r.alone {
		s.dest = append(s.dest, &s.raw[slot])
	}
	s.dest = append(s.dest, more...)
	dest := s.dest
	return func(rows *sql.Rows) error {
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		return s.unpackTexts(r)
	}
}

var errPacked = errors.New("a text in the database contains U+0000")

func (s *session) unpackTexts(r *result) error {
	rest := s.packed
	for _, slot := range r.packed {
		text, after, found := strings.Cut(rest, "\x00")
		if !found {
			return errPacked
		}
		rest = after
		if text == "" {
			s.raw[slot] = nil
			continue
		}
		if last, ok := s.raw[slot].(string); !ok || last != text[1:] {
			s.raw[slot] = text[1:] // the previous row often has the same text; reusing it saves an allocation
		}
	}
	if len(r.packed) > 0 && rest != "" {
		return errPacked
	}
	return nil
}
