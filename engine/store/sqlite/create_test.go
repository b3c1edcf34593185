package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/jmoiron/sqlx"
)

// manyTables returns the statements that create n tables with an index each. Every tenth table also has a search index
// with triggers.
func manyTables(n int) (ddl []string) {
	for i := range n {
		name := fmt.Sprintf("t%d", i)
		quoted := `"` + name + `"`
		ddl = append(ddl, "CREATE TABLE "+quoted+` ("#seq" INTEGER PRIMARY KEY, "id" TEXT NOT NULL, `+"\"#search\" TEXT)",
			`CREATE UNIQUE INDEX "`+name+`#key" ON `+quoted+` ("id")`)
		if i%10 == 0 {
			for _, text := range fullText.Schema {
				ddl = append(ddl, fmt.Sprintf(text, quoted, `"`+name+`#search"`, `"`+name+`#search#`))
			}
		}
	}
	return ddl
}

// created opens a new database and runs the statements in a transaction.
func created(t *testing.T, run func(exec func(context.Context, string) error) error) (*sqlx.Conn, error) {
	t.Helper()
	ctx := t.Context()
	db, err := Open(ctx, Config{Path: filepath.Join(t.TempDir(), "test.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(db.Read.Close(), db.Write.Close(), db.Release()) })
	conn, err := db.Write.Connx(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	exec := func(ctx context.Context, sql string) error {
		_, err := conn.ExecContext(ctx, sql)
		return err
	}
	if err := exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	end := "COMMIT"
	err = run(exec)
	if err != nil {
		end = "ROLLBACK"
	}
	if failed := exec(ctx, end); failed != nil {
		t.Fatal(failed)
	}
	return conn, err
}

// list returns the rows of the schema, without the page numbers of the tables.
func list(t *testing.T, conn *sqlx.Conn) (rows []string) {
	t.Helper()
	const all = "SELECT type || ' ' || name || ' ' || tbl_name || ' ' || coalesce(sql, '') FROM sqlite_schema ORDER BY rowid"
	if err := conn.SelectContext(t.Context(), &rows, all); err != nil {
		t.Fatal(err)
	}
	return rows
}

// value returns the only value of a query.
func value[T any](t *testing.T, conn *sqlx.Conn, sql string) (v T) {
	t.Helper()
	if err := conn.GetContext(t.Context(), &v, sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// TestCreateMany checks that tables have the same schema whether they are created together or one by one, and that the
// database passes its integrity check.
func TestCreateMany(t *testing.T) {
	ddl := manyTables(150)
	one, err := created(t, func(exec func(context.Context, string) error) error {
		for _, sql := range ddl {
			if err := exec(t.Context(), sql); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	many, err := created(t, func(exec func(context.Context, string) error) error {
		return createTables(t.Context(), ddl, exec)
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := list(t, many), list(t, one); !slices.Equal(got, want) {
		t.Errorf("%d rows in the schema differ from the %d of tables made one by one\ngot  %q\nwant %q", len(got), len(want), got, want)
	}
	if got := value[string](t, many, "PRAGMA integrity_check"); got != "ok" {
		t.Errorf("integrity_check: %s", got)
	}
	if n := value[int](t, many, "SELECT count(*) FROM sqlite_temp_schema"); n != 0 {
		t.Errorf("%d temporary tables are left, want 0", n)
	}
	if n := value[int](t, many, "PRAGMA writable_schema"); n != 0 {
		t.Errorf("writable_schema = %d afterwards, want 0", n)
	}
	if _, err := many.ExecContext(t.Context(), `INSERT INTO "t10" ("id", "#search") VALUES ('a', 'hello')`); err != nil {
		t.Error(err)
	}
	if n := value[int](t, many, `SELECT count(*) FROM "t10#search" WHERE "t10#search" MATCH 'hello'`); n != 1 {
		t.Errorf("words find %d rows, want 1", n)
	}
}

// TestCreateManyFails checks many statements of which a late one fails. The rollback must restore the database, and
// the connection must remain usable.
func TestCreateManyFails(t *testing.T) {
	ddl := append(manyTables(150), "CREATE TABLE wrong (")
	conn, err := created(t, func(exec func(context.Context, string) error) error {
		return createTables(t.Context(), ddl, exec)
	})
	if err == nil {
		t.Fatal("a wrong statement was accepted")
	}
	if rows := list(t, conn); len(rows) != 0 {
		t.Errorf("%d rows are in the schema after the rollback, want 0", len(rows))
	}
	if n := value[int](t, conn, "PRAGMA writable_schema"); n != 0 {
		t.Errorf("writable_schema = %d afterwards, want 0", n)
	}
	for _, sql := range ddl[:len(ddl)-1] {
		if _, err := conn.ExecContext(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	if got := value[string](t, conn, "PRAGMA integrity_check"); got != "ok" {
		t.Errorf("integrity_check: %s", got)
	}
}
