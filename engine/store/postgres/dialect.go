// Package postgres is the PostgreSQL dialect of engine/store. It connects to databases and contains the SQL that is
// specific to PostgreSQL. It is the only package that uses the PostgreSQL driver. SQL that works in other databases
// too belongs to the other packages below engine/store.
//
// The package uses only features that databases compatible with PostgreSQL share. It does not use LISTEN or advisory
// locks. Only changes of grants lock a table. pg_locks is read only when requests wait.
package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"restsrv/engine"
	"restsrv/engine/query"
	"restsrv/engine/store/sqldb"
)

// dialect implements sqldb.Dialect.
type dialect struct {
	writers   int  // number of connections that write
	deadlocks bool // connections may set deadlock_timeout
}

// Dialect returns the dialect of PostgreSQL.
func Dialect() sqldb.Dialect { return dialect{writers: writersOf(DefaultPool)} }

// Traits implements sqldb.Dialect.
func (d dialect) Traits() sqldb.Traits {
	return sqldb.Traits{
		Sequence:       "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
		Numbered:       true,
		MaxVariables:   65535,
		Begin:          "BEGIN",
		Snapshot:       "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
		Writers:        d.writers,
		Batch:          1,
		Copy:           2000,
		MaxName:        63,
		Lock:           " FOR NO KEY UPDATE",
		LockGone:       " FOR UPDATE",
		EnterTable:     "LOCK TABLE %s IN ROW SHARE MODE",
		Hurry:          hurry,
		ExcludeTable:   []string{hurry, "LOCK TABLE %s IN EXCLUSIVE MODE", "SET LOCAL lock_timeout TO DEFAULT"},
		ExcludeWriters: []string{hurry, "LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE", "SET LOCAL lock_timeout TO DEFAULT"},
		LockKey:        " FOR KEY SHARE",
		TimeLimit:      "SET statement_timeout = ",
		LockWaits:      lockWaits,
		EndWaits:       "SELECT pg_cancel_backend(n) FROM unnest($1::int[]) AS n",
		LockedTables:   lockedTables,
		Patient:        "SET LOCAL lock_timeout = 0",
		Savepoint:      true,
		FullText:       fullText,
		Create:         createTables,
		Clauses:        sqldb.StandardClauses,
	}
}

// lockWaits is Traits.LockWaits. For a statement that waits for a lock on an index, it returns the table of the index.
const lockWaits = `SELECT l.pid, c.relname FROM pg_catalog.pg_locks AS l
	LEFT JOIN pg_catalog.pg_index AS i ON i.indexrelid = l.relation
	JOIN pg_catalog.pg_class AS c ON c.oid = coalesce(i.indrelid, l.relation)
	WHERE l.locktype = 'relation' AND NOT l.granted AND l.pid = ANY($1)`

const lockedTables = `SELECT c.relname, l.pid || ' ' || l.virtualtransaction FROM pg_catalog.pg_locks AS l
	JOIN pg_catalog.pg_class AS c ON c.oid = l.relation
	WHERE l.locktype = 'relation' AND l.granted AND l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
	AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
	AND c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace`

const hurry = "SET LOCAL lock_timeout = '300ms'"

// ColumnType implements sqldb.Dialect. Text is ordered by its bytes, as in SQLite. This order is the same on all
// systems. An order by language could change with a library of the operating system, and existing indexes would become
// wrong.
func (dialect) ColumnType(t engine.PropertyType) string {
	if typ := plainType(t); typ != "text" {
		return typ
	}
	return `text COLLATE "C"`
}

// plainType returns the type of a column without its collation.
func plainType(t engine.PropertyType) string {
	switch t {
	case engine.Int, engine.DateTime:
		return "bigint"
	case engine.Real:
		return "double precision"
	case engine.DecimalNum:
		return "numeric"
	case engine.Boolean:
		return "boolean"
	}
	return "text"
}

// IndexOn implements sqldb.Dialect. The sort orders of lists begin with nulls and end with the row number, so the
// index does the same. An index entry has at most 2.7 KB. Texts of several lines can be longer, so they use a hash
// index.
func (dialect) IndexOn(column string, t engine.PropertyType) string {
	if t == engine.Text || t == engine.HTML {
		return "USING hash (" + column + ")"
	}
	return "(" + column + ` NULLS FIRST, "#seq")`
}

// Match implements sqldb.Dialect. If pattern cannot be translated, the condition is false for all rows. Such patterns
// are normally refused earlier, when the filter is parsed.
func (dialect) Match(column, pattern string, bind func(any) string) string {
	translated, err := query.TranslateRegexp(pattern)
	if err != nil {
		return "1 = 0"
	}
	return "COALESCE(" + column + " ~ " + bind(translated) + ", FALSE)"
}

// In implements sqldb.Dialect.
func (dialect) In(column string, _ engine.PropertyType, list []any, bind func(any) string) string {
	return column + " = ANY(" + bind(formatArray(list)) + ")"
}

// Array implements sqldb.Dialect.
func (dialect) Array(t engine.PropertyType, list []any) (typ string, value any) {
	return plainType(t) + "[]", formatArray(list)
}

// Duplicate implements sqldb.Dialect.
func (dialect) Duplicate(err error, unique []sqldb.Index) (sqldb.Index, bool) {
	e := pq.As(err, pqerror.UniqueViolation)
	if e == nil {
		return sqldb.Index{}, false
	}
	for _, index := range unique {
		if index.Name == e.Constraint {
			return index, true
		}
	}
	return sqldb.Index{}, false
}

// Classify implements sqldb.Dialect.
func (dialect) Classify(err error) sqldb.Failure {
	var e *pq.Error
	if errors.As(err, &e) {
		return classifyError(e)
	}
	var broken net.Error
	if errors.Is(err, errNoServer) || errors.As(err, &broken) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) {
		return sqldb.Away
	}
	return sqldb.Other
}

func classifyError(e *pq.Error) sqldb.Failure {
	switch e.Code {
	case pqerror.TRSerializationFailure, pqerror.TRDeadlockDetected:
		return sqldb.Lost
	case pqerror.LockNotAvailable:
		return sqldb.Locked
	case pqerror.QueryCanceled:
		return sqldb.Interrupted
	case pqerror.ProgramLimitExceeded:
		return sqldb.TooLong
	case pqerror.ReadOnlySQLTransaction, // the server is a standby now
		pqerror.FeatureNotSupported,     // a cached plan for a table that another process has changed
		pqerror.InvalidSQLStatementName: // the prepared statement no longer exists
		return sqldb.Stale
	}
	switch e.Code.Class() {
	case "08", // connection exceptions
		"28", // login refused
		"3D", // database does not exist
		"53", // out of disk, memory or connections
		"57", // shutting down or starting up
		"58": // disk failure
		return sqldb.Away
	}
	if e.Fatal() {
		return sqldb.Away
	}
	return sqldb.Other
}

// cancelAgain is the delay before a cancellation is sent a second time, because PostgreSQL ignores a cancellation that
// arrives before its statement.
const cancelAgain = 500 * time.Millisecond

// Interrupt implements sqldb.Dialect. It uses a property of the driver: if the context of a statement ends while its
// rows are open, the driver cancels the statement that the connection is executing at that moment, even if it is
// another statement. So Interrupt opens two empty statements on each connection, each with its own context, and keeps
// them open. To end the running statement, it cancels the first context, and the second one after cancelAgain. It
// would be too expensive to run each statement with a context that can end, because the driver starts a goroutine for
// each of them.
func (d dialect) Interrupt(ctx context.Context, driverConn any) (sqldb.Interrupt, error) {
	conn, ok := driverConn.(driver.QueryerContext)
	if !ok {
		return sqldb.Interrupt{}, errors.New("the driver cannot run a statement")
	}
	number, err := d.prepareConnection(ctx, conn)
	if err != nil {
		return sqldb.Interrupt{}, err
	}
	first, end := context.WithCancel(context.Background())
	second, endAgain := context.WithCancel(context.Background())
	var open []driver.Rows
	done := func() {
		for _, rows := range open {
			_ = rows.Close() // Close only ends the goroutine
		}
		end()
		endAgain()
	}
	stop := context.AfterFunc(ctx, end)
	for _, own := range []context.Context{first, second} {
		rows, err := conn.QueryContext(own, ";", nil)
		if err != nil {
			stop()
			done()
			return sqldb.Interrupt{}, err
		}
		open = append(open, rows)
	}
	if !stop() && ctx.Err() != nil {
		done()
		return sqldb.Interrupt{}, ctx.Err()
	}
	return sqldb.Interrupt{End: func() {
		end()
		time.AfterFunc(cancelAgain, endAgain)
	}, Spends: true, Close: done, Number: number}, nil
}

// deadlockTimeout is the time that a statement waits for a lock before PostgreSQL checks for a deadlock. It replaces
// the default of PostgreSQL, 1 s, if the user of the connection is allowed to change it.
const deadlockTimeout = 100 // ms

// prepareConnection prepares a new connection and returns the process id of its backend.
func (d dialect) prepareConnection(ctx context.Context, conn driver.QueryerContext) (int64, error) {
	text := "SELECT pg_backend_pid()"
	if d.deadlocks {
		text += fmt.Sprintf(", set_config('deadlock_timeout', '%d', false)", deadlockTimeout)
	}
	rows, err := conn.QueryContext(ctx, text, nil)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	row := make([]driver.Value, len(rows.Columns()))
	if err := rows.Next(row); err != nil {
		return 0, err
	}
	number, _ := row[0].(int64)
	return number, nil
}
