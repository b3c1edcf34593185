// Package sqldb describes a database to the packages that write SQL. A Dialect says how the databases differ; package
// sqlite and package postgres implement it. Builder writes the text of one statement and collects its arguments. Result
// describes the columns that a statement returns. The package runs no statement.
package sqldb

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"unicode/utf8"

	"github.com/jmoiron/sqlx"

	"restsrv/engine"
)

// Dialect describes a database to the store. Its methods are pure and may be called from any
// goroutine.
type Dialect interface {
	// Traits returns the properties of the database as a whole.
	Traits() Traits

	// ColumnType returns the type of a column for values of t, with its ordering: texts are ordered
	// by bytes, decimals by number.
	ColumnType(t engine.PropertyType) string

	// IndexOn returns the text after the name of the table in CREATE INDEX, for an index of a
	// column of type t. The index supports equality and, unless values may be too long for it,
	// order.
	IndexOn(column string, t engine.PropertyType) string

	// Match returns a condition that is true if the text in column matches the RE2 expression
	// anywhere. The condition is never null. bind returns a placeholder.
	Match(column, pattern string, bind func(any) string) string

	// In returns a condition that is true if the value in column, of type t, is in list, and null
	// if the column is null. It binds long lists as one value, so that one statement serves lists
	// of any length.
	In(column string, t engine.PropertyType, list []any, bind func(any) string) string

	// Array returns a list of values of one type as a single value to bind, and the type to which
	// it should be cast. The type is empty if the database has no arrays; rows are then bound value
	// by value. list contains values that encode returned.
	Array(t engine.PropertyType, list []any) (typ string, value any)

	// Function returns the call of a function of expressions.
	Function(f Function, args ...string) string

	// Duplicate reports whether err means that a write violated one of the unique indexes, and
	// returns that index.
	Duplicate(err error, unique []Index) (broken Index, ok bool)

	// Classify returns the kind of failure of err.
	Classify(err error) Failure

	// Interrupt returns the means to end the statement that runs on a new connection of the driver.
	// It may query the database until ctx ends.
	Interrupt(ctx context.Context, driverConn any) (Interrupt, error)
}

// Interrupt ends the statement that runs on a connection.
type Interrupt struct {
	End    func() // may be called from any goroutine; nil if statements end with their context
	Spends bool   // after End the connection must be closed, because End may still be in progress
	Close  func() // called when the connection is closed; nil if there is no work to do
	Number int64  // identifies the connection in Traits.LockWaits; 0 if it has no number

	// Tick makes the database call tick each time a statement of the connection has taken a number
	// of steps, in the goroutine that runs the statement. If tick returns false, the statement
	// ends. Tick is nil if the database does not support it.
	Tick func(steps int, tick func() bool)
}

// Traits are the constant properties of a database.
type Traits struct {
	Sequence     string // column definition of the growing row number, without its name
	Numbered     bool   // placeholders are $1, $2 instead of ?
	MaxVariables int    // maximum number of placeholders in one statement
	Begin        string // begins a transaction that will write
	Snapshot     string // begins a read-only transaction: all its statements see the state that its first statement sees
	Writers      int    // number of concurrent connections that write
	Batch        int    // maximum number of transactions in one commit; if it is 1, each has its own commit and ends with its context
	Flushes      bool   // if Batch is above 1: each commit waits for the disk, so it pays to wait for a large batch
	Copy         int    // number of new rows of one class from which COPY is faster; 0 if there is no COPY
	MaxName      int    // maximum number of bytes in the name of a table, column or index; 0 for no limit
	Lock         string // ends a SELECT of rows that the transaction will change; other transactions may still refer to them (see LockKey)
	LockGone     string // ends a SELECT of rows that the transaction will delete or give another key
	TimeLimit    string // begins a statement that ends with a number of milliseconds: later statements of the connection are ended after that time; "" if not supported
	Savepoint    bool   // a failed statement aborts the transaction, unless a savepoint was set
	Label        string // alias that makes a result column cheap to describe, or ""
	Pack         string // joins text columns, each as PackText, into one column (see result), or ""
	PackText     string // format of a column as an argument of Pack
	RowNumber    string // follows the placeholder of a row number in a row value, so that an index can serve the comparison
	FullText     FullText

	// EnterTable and ExcludeTable make transactions take turns with a table; %s stands for its
	// name. A transaction that enters the table waits for transactions that exclude others, and the
	// reverse. Transactions that enter do not wait for each other. Statements that write to the
	// table or lock its rows enter it by themselves, before they take their snapshot. Both are
	// empty if there is only one writer. LockKey ends a SELECT that locks rows against deletion and
	// changes of keys.
	EnterTable   string
	ExcludeTable []string // fails as Locked if it has to wait too long
	LockKey      string

	// LockWaits is a query that returns, for a list of connections, those that wait for a lock on a
	// table: their numbers (Interrupt.Number) and the name of the table. EndWaits ends the
	// statements of a list of connections; when it returns, they have ended. LockedTables is a
	// query for the locks of other sessions on tables for which writes must wait: the name of the
	// table and a text that identifies the lock. Patient lets later statements of a transaction
	// wait for locks without a limit. All are empty if requests do not wait for locks of other
	// sessions.
	LockWaits, EndWaits, LockedTables, Patient string

	// Hurry limits how long later statements of a transaction wait for a lock, so that other
	// transactions do not wait long behind them. It is "" if the database does not support it.
	Hurry string

	// Create runs statements that only create tables, indexes and triggers. exec runs a statement
	// in the same transaction.
	Create func(ctx context.Context, statements []string, exec func(ctx context.Context, sql string) error) error
}

// FullText describes how a database finds words. Words consist of letters and digits in lower case.
// SearchColumn holds the words of an item, separated by blanks.
type FullText struct {
	// Schema lists the statements that create the search index of a table. They are formats of the
	// table (%[1]s), the name to use (%[2]s) and the beginning of the names of triggers, to which a
	// letter and a quote must be added (%[3]s).
	Schema []string
	// Condition is a format of the alias of the table (%[1]s), the name of the search index (%[2]s)
	// and the placeholder of a query (%[3]s).
	Condition string
	Word      string // format of a word within a query; it finds words that begin with %s
	And       string // joins words that must all be found
}

// Index is a unique index of a key, of a property, or of several properties.
type Index struct {
	Name    string
	Table   string
	Columns []string // names of the columns
}

// Failure is the kind of a database error.
type Failure int

// The kinds of database errors.
const (
	Other       Failure = iota // an error of the store or of its statements
	Away                       // the database is unreachable, locked or read-only
	Full                       // the disk is full; the failed write has no effect
	Interrupted                // the context ended the statement
	Lost                       // a concurrent transaction was in the way; the work may succeed when repeated
	Locked                     // another transaction holds a lock for longer than a statement waits
	Stale                      // the connection has outdated cached data; the work may succeed on a new connection
	TooLong                    // a value does not fit an index or a row
)

// Name returns the name of a thing in the database. If name is too long, the result is its
// beginning with a hash, which is unique.
func (tr Traits) Name(name string) string {
	if tr.MaxName == 0 || len(name) <= tr.MaxName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	tail := "~" + hex.EncodeToString(sum[:8])
	cut := tr.MaxName - len(tail)
	for !utf8.RuneStart(name[cut]) {
		cut--
	}
	return name[:cut] + tail
}

// Quote returns the quoted name of a thing in the database (see Name).
func (tr Traits) Quote(name string) string { return QuoteName(tr.Name(name)) }

// Database is an open database. The Open function of a dialect
// returns it.
type Database struct {
	Dialect Dialect
	Write   *sqlx.DB // opens at most Traits.Writers connections
	Read    *sqlx.DB
	Readers int          // sessions of the quick lane (see readers)
	Release func() error // releases resources of Open other than the connections; may be nil

	// Scans is the maximum number of concurrent long readings, and ScansPerKey the maximum for one
	// account. If Scans is 0, long readings are treated like others. Parked is the maximum number
	// of suspended readings, if the database can suspend them. Read opens at most Readers + Scans +
	// Parked connections.
	Scans, ScansPerKey, Parked int
}
