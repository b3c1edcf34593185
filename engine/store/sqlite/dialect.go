// Package sqlite is the SQLite dialect of engine/store. It opens database files and contains the SQL that is specific
// to SQLite. It is the only package that uses the SQLite driver. SQL that works in other databases too belongs to the
// other packages below engine/store.
package sqlite

import (
	"errors"
	"slices"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"restsrv/engine"
	"restsrv/engine/store/sqldb"
)

// dialect implements sqldb.Dialect. flushes is true if a commit waits for the disk (synchronous=FULL).
type dialect struct{ flushes bool }

// Dialect returns the dialect of SQLite.
func Dialect() sqldb.Dialect { return dialect{} }

// Traits implements sqldb.Dialect.
func (d dialect) Traits() sqldb.Traits {
	return sqldb.Traits{
		Sequence:     "INTEGER PRIMARY KEY",
		MaxVariables: 32766,
		Begin:        "BEGIN IMMEDIATE",
		Snapshot:     "BEGIN",
		Writers:      1,
		Batch:        64,
		Flushes:      d.flushes,
		// For every query, the driver asks for the name and the declared type of each result column, and copies both.
		// Label makes this cheap: an expression (+ before the column) has no declared type, and copying a name of one
		// character does not allocate.
		Label: `+%s AS "#"`,
		// Packing saves time, because each column costs three calls into the database, and each call locks its
		// connection.
		Pack:     `concat(%s)`,
		PackText: `'v' || %s, CAST(x'00' AS TEXT)`,
		// SQLite appends the row number to every index, so an index of a can serve the condition (a, "#seq") > (?, ?).
		// But SQLite uses the row numbers in the index only if the comparison of "#seq" has a collation. Without a
		// collation it uses the index only for a.
		RowNumber: " COLLATE BINARY",
		FullText:  fullText,
		Create:    createTables,
		Clauses:   sqldb.StandardClauses,
	}
}

// ColumnType implements sqldb.Dialect. No type may be called DATE, DATETIME or TIMESTAMP, because the driver would
// convert its values to time.Time.
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

// IndexOn implements sqldb.Dialect. In SQLite, every index ends with the row number.
func (dialect) IndexOn(column string, _ engine.PropertyType) string { return "(" + column + ")" }

// Match implements sqldb.Dialect.
func (dialect) Match(column, pattern string, bind func(any) string) string {
	return matchFunction + "(" + column + ", " + bind(pattern) + ")"
}

// shortList is the length up to which the values of a list are bound one by one.
const shortList = 8

// In implements sqldb.Dialect. A short list is padded to a power of two, so that lists of all lengths need only a few
// different statements. A long list is passed as JSON. This excludes reals, because SQLite does not always read the
// last digit of a real in JSON correctly.
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

// Array implements sqldb.Dialect. SQLite has no arrays.
func (dialect) Array(engine.PropertyType, []any) (typ string, value any) { return "", nil }

// Duplicate implements sqldb.Dialect. The error message of SQLite names the columns, not the index.
func (dialect) Duplicate(err error, unique []sqldb.Index) (sqldb.Index, bool) {
	var e *sqlite.Error
	if !errors.As(err, &e) || e.Code() != sqlite3.SQLITE_CONSTRAINT_UNIQUE {
		return sqldb.Index{}, false
	}
	best := sqldb.Index{}
	for _, index := range unique {
		names := make([]string, len(index.Columns))
		for i, c := range index.Columns {
			names[i] = index.Table + "." + c
		}
		list := strings.Join(names, ", ")
		// The names of one index can begin with the names of another index, so use the longest match.
		if strings.Contains(e.Error(), ": "+list+" (") && len(index.Columns) >= len(best.Columns) {
			best = index
		}
	}
	return best, best.Name != ""
}

// Classify implements sqldb.Dialect.
func (dialect) Classify(err error) sqldb.Failure {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return sqldb.Other
	}
	code := e.Code() & 0xff
	switch {
	case code == sqlite3.SQLITE_INTERRUPT, strings.Contains(e.Error(), matchTooSlow):
		return sqldb.Interrupted
	case code == sqlite3.SQLITE_FULL:
		return sqldb.Full
	case slices.Contains(away, code):
		return sqldb.Away
	}
	return sqldb.Other
}

// away lists the error codes of failures that do not depend on the request, so that a different request would fail
// too.
var away = []int{
	sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR,
	sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL,
	sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_PERM, sqlite3.SQLITE_NOMEM,
}
