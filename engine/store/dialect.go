// Package store is engine.Repository over SQL. It owns every statement: the
// tables made from classes, the plan of a query, the transactions and the one
// queue through which writes go. What differs between databases is a Dialect,
// in a package below this one. It asks engine.Guard for every item, but
// does not know who may do what (engine/access), and no HTTP.
//
// Reading order: store.go (opening), plan.go, texts.go and duties.go (classes as tables,
// and what goes with writing them), schema.go, memory.go, columns.go and extra.go (tables
// made and changed), query.go, filter.go, join.go and expr.go (reading as SQL),
// reader.go, scan.go, statement.go, read.go and load.go (reading), tablelocks.go (locks of
// other sessions), writer.go, queue.go,
// alone.go and transaction.go (the queue), write.go, save.go and bulk.go (writing), nested.go, record.go,
// collection.go and backref.go (what a record brings with it), all.go and parts.go (many at
// once), journal.go (what is told of it),
// guard.go, veil.go and admit.go (what an account sees and is told, and may write),
// calculate.go and recache.go (what formulas compute), dump.go and import.go
// (what leaves the database as it is, and comes back).
//
// Accounts share the database fairly. Readings begin in a quick lane and go on in
// a scan lane when they turn out to be long (scan.go), so that reading by key,
// sign-in and permissions never wait for a scan. The queue of writes serves the
// account that has used the least time of the writers (queue.go).
package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"unicode/utf8"

	"github.com/jmoiron/sqlx"

	"restsrv/engine"
)

// Dialect is what a database must say of itself. Its methods are pure and may
// be called from any goroutine.
type Dialect interface {
	// Traits returns what holds for the database as a whole.
	Traits() Traits

	// ColumnType is the type of a column for values of t, its ordering
	// included: text by bytes, decimals by number.
	ColumnType(t engine.PropertyType) string

	// IndexOn is what an index of a column of that type is made on: all that
	// follows the table's name in CREATE INDEX. It serves equality and, unless
	// values may be too long for it, order.
	IndexOn(column string, t engine.PropertyType) string

	// Match is a condition, never null, that is true when the text in column
	// matches the RE2 expression, anywhere in it. bind returns a placeholder.
	Match(column, pattern string, bind func(any) string) string

	// In is a condition that is true when the value in column, which has the
	// type, is one of list, and null when column is. It binds long lists as one
	// value, so that one statement serves any length.
	In(column string, t engine.PropertyType, list []any, bind func(any) string) string

	// Array returns a list of values of one type as a single value to bind, and
	// the type to cast it to; an empty type where there are no arrays and rows
	// are bound value by value. List holds what encode returns.
	Array(t engine.PropertyType, list []any) (typ string, value any)

	// Function writes the call of a function of expressions.
	Function(f Function, args ...string) string

	// Duplicate reports whether err says that a write broke one of the unique
	// indexes, and which.
	Duplicate(err error, unique []Index) (broken Index, ok bool)

	// Classify says what kind of failure err is.
	Classify(err error) Failure

	// Interrupt makes what ends the statement that runs on a new connection of
	// the driver. It may ask the database, until ctx ends.
	Interrupt(ctx context.Context, driverConn any) (Interrupt, error)
}

// Interrupt ends the statement that runs on a connection.
type Interrupt struct {
	End    func() // from any goroutine; nil when statements heed their context by themselves
	Spends bool   // after End the connection must be given up: it may still be ending
	Close  func() // when the connection is given up; nil for nothing to do
	Number int64  // by which Traits.LockWaits knows the connection; 0 for none

	// Tick makes the database call tick whenever a statement of the connection has
	// taken a number of steps, in the goroutine that runs the statement. The
	// statement ends if tick returns false. Nil if the database cannot do that.
	Tick func(steps int, tick func() bool)
}

// Traits are the properties of a database that need no arguments.
type Traits struct {
	Sequence     string // column definition, after its name, of the growing row number
	Numbered     bool   // placeholders are $1, $2 and not ?
	MaxVariables int    // placeholders in one statement
	Begin        string // opens a transaction that will write
	Snapshot     string // opens a transaction that only reads: its statements see what the first of them sees
	Writers      int    // connections that write at the same time
	Batch        int    // transactions that one commit may carry; with 1 each is alone and heeds its context
	Flushes      bool   // with a Batch above 1: each commit waits for the disk, so large batches are worth waiting for
	Copy         int    // rows of one class, surely new, from which COPY pays; 0 where there is no COPY
	MaxName      int    // bytes of the name of a table, column or index; 0 for any
	Lock         string // ends a SELECT of rows that the transaction is about to change; others may still refer to them (see LockKey)
	LockGone     string // ends a SELECT of rows that the transaction is about to delete or to give another key
	TimeLimit    string // begins a statement that ends with milliseconds: the database ends later statements of the connection after that; "" where it cannot
	Savepoint    bool   // a failed statement takes the transaction with it, unless a savepoint was set
	Label        string // alias that makes a result column cheap to describe, or ""
	Pack         string // joins what PackText makes of text columns into one column (see result), or ""
	PackText     string // a column as an argument of Pack
	RowNumber    string // follows the placeholder of a row number in a row value, for an index to serve the comparison
	FullText     FullText

	// EnterTable and ExcludeTable make transactions take turns with a table, whose
	// name is their %s. A transaction that enters waits for one that excludes others,
	// and the other way round; those that enter do not wait for each other. So do
	// statements that write to the table or lock rows of it: they enter it before
	// they take their snapshot. Both are empty if there is one writer. LockKey ends
	// a SELECT that locks rows against deletion and other keys.
	EnterTable   string
	ExcludeTable []string // it fails as Locked if it cannot soon
	LockKey      string

	// LockWaits is a query for those of a list of connections that wait for a lock on
	// a table: their numbers (Interrupt.Number) and the name of the table. EndWaits ends
	// the statements of a list of connections, and has done so when it returns. LockedTables
	// is one for the locks that other sessions hold on tables, as far as writes wait
	// for them: the name of the table and what tells the lock from others. Patient
	// lets later statements of a transaction wait for locks without a limit. All are
	// empty where requests do not wait for locks of other sessions.
	LockWaits, EndWaits, LockedTables, Patient string

	// Hurry limits for how long later statements of a transaction wait for a lock,
	// so that others do not wait behind them for long; "" where that cannot be.
	Hurry string

	// Create runs statements that only create tables, indexes and triggers.
	// exec runs a statement in the transaction that they belong to.
	Create func(ctx context.Context, statements []string, exec func(ctx context.Context, sql string) error) error
}

// FullText is how a database finds words. They are made of letters and digits
// in lower case; searchColumn holds those of an item, separated by blanks.
type FullText struct {
	// Schema makes what finds words of the items of a table: formats of the
	// table (%[1]s), the name to use (%[2]s) and the beginning of names for
	// triggers, to which a letter and a quote must be added (%[3]s).
	Schema []string
	// Condition is a format of the table's alias (%[1]s), the name used
	// (%[2]s) and the placeholder of a query (%[3]s).
	Condition string
	Word      string // format of a word that begins with %s, within a query
	And       string // joins words that must all be found
}

// Index is a unique index: of a key or of one property.
type Index struct {
	Name    string
	Table   string
	Columns []string // their names
}

// Failure is the kind of a database error.
type Failure int

// The failures.
const (
	Other       Failure = iota // a mistake of ours
	Away                       // the database cannot be reached, is locked or read-only
	Full                       // its disk is full: nothing of what failed is there
	Interrupted                // the statement was ended by its context
	Lost                       // another transaction was in the way: doing it all again may help
	Locked                     // another transaction holds a lock for longer than a statement waits
	Stale                      // the statement was refused because of what the connection remembers: a new one may do
	TooLong                    // a value does not fit an index or a row
)

// name is what a thing is called in the database: its name, or when that is
// too long its beginning and a hash, which no other thing has.
func (tr Traits) name(name string) string {
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

func (tr Traits) quote(name string) string { return quoteName(tr.name(name)) }

// Database is an open database, ready to be made a Store of. A dialect's Open
// returns it.
type Database struct {
	Dialect Dialect
	Write   *sqlx.DB // opens at most Traits.Writers connections
	Read    *sqlx.DB
	Readers int          // sessions of the quick lane (see readers)
	Release func() error // gives up what Open took besides the connections; may be nil

	// Scans is how many long readings run at the same time, and ScansPerKey how
	// many of these one account may have; if Scans is 0, long readings are treated
	// as others. Parked is how many may be suspended, if the database can do that.
	// Read opens at most Readers + Scans + Parked connections.
	Scans, ScansPerKey, Parked int
}
