// Package sqlite is the SQLite dialect of engine/store: how to open a database
// file and what is particular to it. It owns the driver. It is not for SQL
// that another database would understand too.
package sqlite

import (
	"errors"
	"slices"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"restsrv/engine"
	"restsrv/engine/store"
)

// dialect says how SQLite differs; flushes tells whether a commit waits for the
// disk (synchronous=FULL).
type dialect struct{ flushes bool }

// Dialect returns how SQLite differs from other databases.
func Dialect() store.Dialect { return dialect{} }

// Traits is store.Dialect's.
func (d dialect) Traits() store.Traits {
	return store.Traits{
		Sequence:     "INTEGER PRIMARY KEY",
		MaxVariables: 32766,
		Begin:        "BEGIN IMMEDIATE",
		Snapshot:     "BEGIN",
		Writers:      1,
		Batch:        64,
		Flushes:      d.flushes,
		// The driver asks for name and declared type of each result column
		// and copies both, for every query. An expression has no declared
		// type, and a name of one character costs nothing.
		Label: `+%s AS "#"`,
		// Each column costs three calls into the database, and each of them
		// locks its connection.
		Pack:     `concat(%s)`,
		PackText: `'v' || %s, CAST(x'00' AS TEXT)`,
		// The row number ends every index, but has no collation of its own, and
		// without one SQLite looks up the columns before it alone.
		RowNumber: " COLLATE BINARY",
		FullText:  fullText,
		Create:    create,
	}
}

// ColumnType is store.Dialect's. No type may be called DATE, DATETIME or
// TIMESTAMP: the driver would make times of it.
func (dialect) ColumnType(t engine.PropertyType) string {
	switch t {
	case engine.Int:
		return "INTEGER"
	case engine.Real:
		return "REAL"
	case engine.DecimalNum:
		return "TEXT COLLATE " + decimalCollation
	case engine.DateTime:
		return "INTEGER"
	case engine.Boolean:
		return "BOOLEAN"
	}
	return "TEXT"
}

// IndexOn is store.Dialect's. Every index ends with the row number.
func (dialect) IndexOn(column string, _ engine.PropertyType) string { return "(" + column + ")" }

// Match is store.Dialect's.
func (dialect) Match(column, pattern string, bind func(any) string) string {
	return matchFunction + "(" + column + ", " + bind(pattern) + ")"
}

// shortList is the longest list whose values are bound one by one.
const shortList = 8

// In is store.Dialect's. A short list is padded to a power of two, so that
// lists of all lengths make few statements; a long one travels as JSON, except
// for reals, which SQLite does not always read to the last digit.
func (dialect) In(column string, t engine.PropertyType, list []any, bind func(any) string) string {
	if len(list) > shortList && t != engine.Real {
		return column + " IN (SELECT value FROM json_each(" + bind(jsonArray(list)) + "))"
	}
	size := 1
	for size < len(list) {
		size *= 2
	}
	var places []string
	for i := range size {
		places = append(places, bind(list[min(i, len(list)-1)]))
	}
	return column + " IN (" + strings.Join(places, ", ") + ")"
}

func jsonArray(list []any) string {
	b := []byte{'['}
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = engine.AppendValue(b, v)
	}
	return string(append(b, ']'))
}

// Array is store.Dialect's: SQLite has none.
func (dialect) Array(engine.PropertyType, []any) (typ string, value any) { return "", nil }

// Duplicate is store.Dialect's. The message names the columns, not the index.
func (dialect) Duplicate(err error, unique []store.Index) (store.Index, bool) {
	var e *sqlite.Error
	if !errors.As(err, &e) || e.Code() != sqlite3.SQLITE_CONSTRAINT_UNIQUE {
		return store.Index{}, false
	}
	best := store.Index{}
	for _, index := range unique {
		names := make([]string, len(index.Columns))
		for i, c := range index.Columns {
			names[i] = index.Table + "." + c
		}
		list := strings.Join(names, ", ")
		// A name can begin with another one: the longest is meant.
		if strings.Contains(e.Error(), ": "+list+" (") && len(index.Columns) >= len(best.Columns) {
			best = index
		}
	}
	return best, best.Name != ""
}

// Classify is store.Dialect's.
func (dialect) Classify(err error) store.Failure {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return store.Other
	}
	code := e.Code() & 0xff
	switch {
	case code == sqlite3.SQLITE_INTERRUPT, strings.Contains(e.Error(), matchTooSlow):
		return store.Interrupted
	case code == sqlite3.SQLITE_FULL:
		return store.Full
	case slices.Contains(away, code):
		return store.Away
	}
	return store.Other
}

// away are the failures that the client can neither cause nor mend.
var away = []int{
	sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR,
	sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL,
	sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_PERM, sqlite3.SQLITE_NOMEM,
}
