package sqlite

import (
	"context"
	"errors"
)

// fewStatements is the number of statements from which createTables sets rows of sqlite_schema aside (see
// startAside). For fewer statements, setting rows aside costs more time than it saves.
const fewStatements = 50

// asideEvery is the maximum number of statements that createTables runs before it sets the rows of sqlite_schema aside
// again (see startAside).
const asideEvery = 100

// SQLite searches the whole list of tables and indexes, sqlite_schema, after each statement that adds to it. The time
// for thousands of statements would grow with the square of their number. Therefore the list is kept short while the
// statements run: its rows are set aside, which means that they are moved to a temporary table. The connection has the
// tables in memory and does not read the list again before the transaction ends. Before that, the rows are put back in
// their order, so other connections never see a list without them, not even after a crash.
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
	// A rollback restores the list, but not the setting.
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
