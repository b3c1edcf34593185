// Package sqldb describes a database to the packages that write SQL. The differences between databases are behind the
// interface Dialect; packages sqlite and postgres implement it. Builder writes the text of one statement and collects
// its arguments. Result describes the columns that a statement returns. The package does not run statements.
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

	// ColumnType returns the type of a column for values of t. The type includes the ordering: texts are ordered by
	// bytes, decimals by number.
	ColumnType(t engine.PropertyType) string

	// IndexOn returns the text after the name of the table in CREATE INDEX, for an index of a column of type t. The
	// index supports equality. It also supports order if all values of t are short enough for an index.
	IndexOn(column string, t engine.PropertyType) string

	// Match returns a condition that is true if any part of the text in column matches the RE2 expression pattern. The
	// condition is never null. bind binds a value and returns its placeholder.
	Match(column, pattern string, bind func(any) string) string

	// In returns a condition that is true if the value in column, of type t, is in list, and null if the column is
	// null. A long list is bound as one value, so that the text of the statement does not depend on the length of the
	// list.
	In(column string, t engine.PropertyType, list []any, bind func(any) string) string

	// Array returns a list of values of type t as one value that can be bound, and the SQL type to which the
	// placeholder of this value should be cast. The values must have been converted by Encode. If the database has no
	// arrays, typ is "", and the caller must bind the values one by one.
	Array(t engine.PropertyType, list []any) (typ string, value any)

	// Function returns the SQL that calls f. The arguments are SQL expressions.
	Function(f Function, args ...string) string

	// Duplicate reports whether err means that a write violated one of the unique indexes, and returns the violated
	// index.
	Duplicate(err error, unique []Index) (broken Index, ok bool)

	// Classify returns the kind of failure of err.
	Classify(err error) Failure

	// Interrupt returns the functions that end the statement running on driverConn, a connection that was just opened.
	// Interrupt may query the database to create these functions, but only until ctx ends.
	Interrupt(ctx context.Context, driverConn any) (Interrupt, error)
}

// Interrupt ends the statement that runs on a connection.
type Interrupt struct {
	End    func() // may be called from any goroutine; nil if statements end with their context
	Spends bool   // after End, the connection must be closed, because the interrupt may arrive late and hit a later statement
	Close  func() // called when the connection is closed; nil if there is no work to do
	Number int64  // identifies the connection in Traits.LockWaits; 0 if it has no number

	// Tick makes the database call tick repeatedly while it runs a statement of the connection: each time after the
	// given number of steps, in the goroutine that runs the statement. A step is an instruction of SQLite's virtual
	// machine. If tick returns false, the statement ends. The field is nil if the database does not support this.
	Tick func(steps int, tick func() bool)
}

// Traits are the constant properties of a database.
type Traits struct {
	Sequence     string // type of the column #seq, which numbers the rows of a table in the order of insertion
	Numbered     bool   // placeholders are $1, $2 instead of ?
	MaxVariables int    // maximum number of placeholders in one statement
	Begin        string // begins a transaction that will write
	Snapshot     string // begins a read-only transaction: all its statements see the state that its first statement sees
	Writers      int    // number of concurrent connections that write
	Batch        int    // maximum number of transactions that are committed together; if it is 1, each has its own commit, and its statements end with its context
	Flushes      bool   // if Batch is above 1: each commit waits for the disk, so it pays to wait for a large batch
	Copy         int    // minimum number of new rows of one class for which COPY is used, because it is faster than INSERT; 0 if there is no COPY
	MaxName      int    // maximum number of bytes in the name of a table, column or index; 0 for no limit
	Lock         string // ends a SELECT of rows in which the transaction will change values, but not keys; others may still lock these rows with LockKey
	LockGone     string // ends a SELECT of rows that the transaction will delete, or in which it will change keys
	TimeLimit    string // if a number of milliseconds is appended, this statement limits the duration of each later statement of the connection; "" if not supported
	Savepoint    bool   // after a failed statement, the transaction can continue only from a savepoint that was set before the statement
	Label        string // format that gives a result column an alias, which makes the column cheap to describe; or ""
	Pack         string // format that joins text columns, each formatted with PackText, into one result column (see Result), or ""
	PackText     string // format of a column as an argument of Pack
	RowNumber    string // follows the placeholder of a row number in a comparison such as (a, "#seq") > (?, ?), so that an index can serve the comparison
	FullText     FullText
	Clauses      *Clauses

	// EnterTable and ExcludeTable lock a table until the transaction ends; %s stands for its name. A transaction
	// enters a table to use it together with others, which do not wait for each other. A transaction excludes others
	// to have the table alone. It then waits until all transactions that have entered the table or excluded others
	// have ended, and makes new ones wait until it ends itself. A statement that writes to the table or locks its rows
	// enters the table implicitly, before it takes its snapshot.
	//
	// ExcludeWriters is a weaker form of ExcludeTable: only transactions that write to the table exclude each other.
	//
	// LockKey ends a SELECT: it prevents other transactions from deleting the selected rows and from changing their
	// keys.
	//
	// EnterTable, ExcludeTable and ExcludeWriters are empty if there is only one writer.
	EnterTable     string
	ExcludeTable   []string // ExcludeTable and ExcludeWriters are several statements; they fail as Locked if the lock is not available soon
	ExcludeWriters []string
	LockKey        string

	// These four statements are about locks. They are empty if requests do not wait for locks of other sessions.
	//   - LockWaits is a query with a list of connections as its argument. It returns the connections in the list that
	//     wait for a lock on a table: the number of the connection (Interrupt.Number) and the name of the table.
	//   - EndWaits ends the statements of a list of connections, and returns when they have ended.
	//   - LockedTables is a query for tables on which a session holds a lock that blocks writes. It returns the name
	//     of the table, and a text that identifies the lock.
	//   - Patient makes a transaction wait for locks without a time limit.
	LockWaits, EndWaits, LockedTables, Patient string

	// Hurry limits how long later statements of a transaction wait for a lock, because other transactions may wait
	// behind them. It is "" if the database does not support this.
	Hurry string

	// Create runs statements that only create tables, indexes and triggers. It calls exec for each statement to run, in
	// the current transaction.
	Create func(ctx context.Context, statements []string, exec func(ctx context.Context, sql string) error) error
}

// Clauses are the parts of statements that differ in the SQL of other databases. Use the methods of Builder to write
// them.
type Clauses struct {
	OnConflict string // follows the rows of an INSERT; the columns of a unique index come next
	DoNothing  string // follows these columns: an existing row stays as it is
	DoUpdate   string // follows these columns, and begins the assignments to an existing row
	Excluded   string // in these assignments and their condition: qualifies a column of the row to insert
	Returning  string // begins the list of columns that a statement returns for each row that it writes
	Same       string // compares two values; two nulls are equal
}

// StandardClauses are the clauses that SQLite and PostgreSQL share.
var StandardClauses = &Clauses{
	OnConflict: " ON CONFLICT (",
	DoNothing:  ") DO NOTHING",
	DoUpdate:   ") DO UPDATE SET ",
	Excluded:   "excluded.",
	Returning:  " RETURNING ",
	Same:       " IS NOT DISTINCT FROM ",
}

// FullText describes how a database finds words. Words consist of letters and digits in lower case.
// SearchColumn holds the words of an item, separated by blanks.
type FullText struct {
	// Schema lists the statements that create the search index of a table. They are formats: %[1]s is the table, %[2]s
	// the name of the index, and %[3]s the beginning of the name of a trigger, to which the statement adds a letter
	// and the closing quote.
	Schema []string
	// Condition is the format of the condition that an item contains the words of a query: %[1]s is the alias of the
	// table, %[2]s the name of the search index, and %[3]s the placeholder of the query.
	Condition string
	Word      string // format of one word in a query; it finds words that begin with %s
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
	Away                       // the database is unreachable, locked or read-only; the request is not the cause
	Full                       // the disk is full; the failed write has no effect
	Interrupted                // the context ended the statement
	Lost                       // a concurrent transaction was in the way; the work may succeed when repeated
	Locked                     // another transaction holds a lock for longer than a statement waits
	Stale                      // the connection has outdated cached data; the work may succeed on a new connection
	TooLong                    // a value does not fit an index or a row
)

// Name returns the name of a table, column or index in the database. If name is too long, the result consists of the
// beginning of name and a hash, so that different names stay different.
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

// Quote returns Name(name) as an SQL identifier.
func (tr Traits) Quote(name string) string { return QuoteName(tr.Name(name)) }

// Database is an open database. The Open function of a dialect returns it.
type Database struct {
	Dialect Dialect
	Write   *sqlx.DB // opens at most Traits.Writers connections
	Read    *sqlx.DB
	Readers int          // number of connections for short reads (the quick lane of package conns)
	Release func() error // releases resources of Open other than the connections; may be nil

	// Scans is the maximum number of long reads that run at the same time, and ScansPerKey the maximum for one
	// account. If Scans is 0, long reads are treated like short reads. Parked is the maximum number of suspended
	// reads, or 0 if the database cannot suspend a read. Read opens at most Readers + Scans + Parked connections.
	Scans, ScansPerKey, Parked int
}
