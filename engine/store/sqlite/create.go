package sqlite

import (
	"context"
	"errors"
)

// fewStatements is the minimum number of statements for which createTables sets rows of sqlite_schema aside (see
// startAside). For fewer statements, this would cost more time than it saves.
const fewStatements = 50

// asideEvery is the number of statements after which createTables sets the rows of sqlite_schema aside again (see
// startAside).
const asideEvery = 100

// SQLite keeps the list of tables and indexes in sqlite_schema. It searches the whole list after each statement that
// adds to it, so the time for thousands of statements would grow with the square of their number. Therefore the list
// is kept short while the statements run: its rows are set aside, that is, moved to a temporary table. The connection
// has the tables in memory and does not read the list before the transaction ends. At the end of the transaction, the
// rows are put back in their order. So other connections never see an incomplete list, not even after a crash.
const (
	startAside  = "CREATE TEMP TABLE set_aside AS SELECT * FROM main.sqlite_schema WHERE 0"
	copyAside   = "INSERT INTO temp.set_aside SELECT * FROM main.sqlite_schema ORDER BY rowid"
	emptySchema = "DELETE FROM main.sqlite_schema"
	putBack     = "INSERT INTO main.sqlite_schema SELECT * FROM temp.set_aside ORDER BY rowid"
	endAside    = "DROP TABLE temp.set_aside"
	allowWrites = "PRAGMA writable_schema = ON"
	denyWrites  = "PRAGMA writable_schema = OFF"
)

// createTables implements sqldb.Traits.Create.
func createTables(ctx context.Context, statements []string, exec func(context.Context, string) error) (err error) {
	run := func(list ...string) error {
		for _, sql := range list {
			if err := exec(ctx, sql); err != nil {
				return err
			}
		}
		return nil
	}
	if len(statements) < fewStatements {
		return run(statements...)
	}
	// A rollback restores the list, but not the setting allowWrites, so turn it off in any case.
	defer func() { err = errors.Join(err, exec(context.WithoutCancel(ctx), denyWrites)) }()
	if err := run(startAside, allowWrites); err != nil {
		return err
	}
	for len(statements) > 0 {
		part := statements[:min(asideEvery, len(statements))]
		statements = statements[len(part):]
		if err := run(copyAside, emptySchema); err != nil {
			return err
		}
		if err := run(part...); err != nil {
			return err
		}
	}
	return run(copyAside, emptySchema, putBack, endAside)
}
