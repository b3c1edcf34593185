package main

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"runtime"
	"strconv"
	"strings"

	"github.com/lib/pq"    // also the driver "postgres"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

// bulkRows is the number of rows that one statement of a bulk save writes.
const bulkRows = 250

// note is one row of the table.
type note struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Group string `json:"group"`
	Body  string `json:"body"`
}

// change is the body of a PATCH. A nil field leaves the column as it is.
type change struct {
	Title *string `json:"title"`
	Group *string `json:"group"`
	Body  *string `json:"body"`
}

// notes is the table with its prepared statements. For SQLite, one connection writes, and two connections per
// processor read. For PostgreSQL, reads and writes share one pool.
type notes struct {
	postgres        bool
	writer, readers *sql.DB
	get, list, some *sql.Stmt
	again           *sql.Stmt    // SQLite: get on the writing connection; faster after a write, because its cache has the row
	one, many       *sql.Stmt    // SQLite: insert one row, or bulkRows rows; PostgreSQL: many takes arrays
	update          [8]*sql.Stmt // index: bit mask of the columns to change, title, group and body
}

const columns = `SELECT "id","title","group","body" FROM note`

// poolSize is the number of connections to PostgreSQL. It is equal to the number of clients in the benchmark.
const poolSize = 16

// openNotes opens the table, and creates it if it does not exist. db is the path of a SQLite file
// or a postgres:// address. sync is "normal" or "full"; it is used only for SQLite.
func openNotes(ctx context.Context, db, sync string) (*notes, error) {
	n := &notes{postgres: strings.HasPrefix(db, "postgres://")}
	var err error
	schema := `CREATE TABLE IF NOT EXISTS note("id" TEXT NOT NULL UNIQUE,"title" TEXT,"group" TEXT,"body" TEXT);
		CREATE INDEX IF NOT EXISTS note_group ON note("group")`
	if n.postgres {
		schema = `CREATE TABLE IF NOT EXISTS note("rowid" BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
			"id" TEXT COLLATE "C" NOT NULL UNIQUE,"title" TEXT,"group" TEXT COLLATE "C","body" TEXT);
			CREATE INDEX IF NOT EXISTS note_group ON note("group","rowid")`
		n.writer, err = sql.Open("postgres", db)
		n.readers = n.writer
	} else {
		err = n.openFile(db, sync)
	}
	if err != nil {
		return nil, err
	}
	if n.postgres {
		n.readers.SetMaxOpenConns(poolSize)
		n.readers.SetMaxIdleConns(poolSize)
	}
	if _, err = n.writer.ExecContext(ctx, schema); err != nil {
		return nil, err
	}
	return n, n.prepareStatements(ctx)
}

// openFile opens a SQLite file for writing and for reading.
func (n *notes) openFile(path, sync string) error {
	if sync != "normal" && sync != "full" {
		return fmt.Errorf("synchronous: %q is neither normal nor full", sync)
	}
	q := url.Values{"_pragma": {"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(" + sync + ")", "cache_size(-32768)"}}
	q.Set("_txlock", "immediate")
	dsn := "file:" + path + "?" + q.Encode()
	var err error
	if n.writer, err = sql.Open("sqlite", dsn); err != nil {
		return err
	}
	n.writer.SetMaxOpenConns(1)
	if n.readers, err = sql.Open("sqlite", dsn); err != nil {
		return err
	}
	n.readers.SetMaxOpenConns(2 * runtime.NumCPU())
	n.readers.SetMaxIdleConns(2 * runtime.NumCPU())
	return nil
}

func (n *notes) prepareStatements(ctx context.Context) error {
	const insert = `INSERT INTO note("id","title","group","body") `
	const upsert = ` ON CONFLICT("id") DO UPDATE SET "title"=excluded."title","group"=excluded."group","body"=excluded."body"`
	many := "VALUES " + strings.TrimSuffix(strings.Repeat("(?,?,?,?),", bulkRows), ",")
	returning := ""
	if n.postgres {
		many = "SELECT * FROM unnest(CAST(? AS text[]),CAST(? AS text[]),CAST(? AS text[]),CAST(? AS text[]))"
		returning = ` RETURNING "id","title","group","body"`
	}
	for _, s := range []struct {
		into **sql.Stmt
		db   *sql.DB
		sql  string
	}{
		{&n.get, n.readers, columns + ` WHERE "id"=?`},
		{&n.again, n.writer, columns + ` WHERE "id"=?`},
		{&n.list, n.readers, columns + ` ORDER BY rowid LIMIT ?`},
		{&n.some, n.readers, columns + ` WHERE "group"=? ORDER BY rowid LIMIT ?`},
		{&n.one, n.writer, insert + "VALUES (?,?,?,?)" + upsert},
		{&n.many, n.writer, insert + many + upsert},
	} {
		var err error
		if *s.into, err = s.db.PrepareContext(ctx, n.numberPlaceholders(s.sql)); err != nil {
			return err
		}
	}
	for mask := 1; mask < len(n.update); mask++ {
		var set []string
		for i, name := range []string{"title", "group", "body"} {
			if mask&(1<<i) != 0 {
				set = append(set, `"`+name+`"=?`)
			}
		}
		var err error
		n.update[mask], err = n.writer.PrepareContext(ctx, n.numberPlaceholders(`UPDATE note SET `+strings.Join(set, ",")+` WHERE "id"=?`+returning))
		if err != nil {
			return err
		}
	}
	return nil
}

// numberPlaceholders replaces ? by $1, $2 and so on if the database is PostgreSQL.
func (n *notes) numberPlaceholders(text string) string {
	if !n.postgres {
		return text
	}
	parts := strings.Split(text, "?")
	for i := 1; i < len(parts); i++ {
		parts[i] = "$" + strconv.Itoa(i) + parts[i]
	}
	return strings.Join(parts, "")
}

func (n *notes) close() {
	n.readers.Close()
	n.writer.Close() // PostgreSQL has only one pool; closing it twice is allowed
}

// selectOne returns the note that a statement finds.
func (n *notes) selectOne(ctx context.Context, stmt *sql.Stmt, args ...any) (note, error) {
	var r note
	err := stmt.QueryRowContext(ctx, args...).Scan(&r.ID, &r.Title, &r.Group, &r.Body)
	return r, err
}

// selectFirst returns the first count notes, or all if there are fewer. If group is not "", it considers only the
// notes of that group.
func (n *notes) selectFirst(ctx context.Context, group string, count int) ([]note, error) {
	var rows *sql.Rows
	var err error
	if group == "" {
		rows, err = n.list.QueryContext(ctx, count)
	} else {
		rows, err = n.some.QueryContext(ctx, group, count)
	}
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := make([]note, 0, min(count, 1000))
	for rows.Next() {
		var r note
		if err := rows.Scan(&r.ID, &r.Title, &r.Group, &r.Body); err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

// editOne changes one note and reads it again. PostgreSQL does both in one statement.
func (n *notes) editOne(ctx context.Context, id string, c change) (note, error) {
	mask, args := 0, make([]any, 0, 4)
	for i, v := range []*string{c.Title, c.Group, c.Body} {
		if v != nil {
			mask |= 1 << i
			args = append(args, *v)
		}
	}
	args = append(args, id)
	if n.postgres && mask != 0 {
		return n.selectOne(ctx, n.update[mask], args...)
	}
	if mask != 0 {
		if _, err := n.update[mask].ExecContext(ctx, args...); err != nil {
			return note{}, err
		}
	}
	return n.selectOne(ctx, n.again, id)
}

// saveAll inserts or updates all records in one transaction. For PostgreSQL this is one statement.
func (n *notes) saveAll(ctx context.Context, records []record) error {
	if n.postgres {
		return n.saveArrays(ctx, records)
	}
	tx, err := n.writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	many, one := tx.StmtContext(ctx, n.many), tx.StmtContext(ctx, n.one)
	args := make([]any, 0, 4*bulkRows)
	for len(records) > 0 {
		stmt, take := one, 1
		if len(records) >= bulkRows {
			stmt, take = many, bulkRows
		}
		args = args[:0]
		for i := range records[:take] {
			r := &records[i]
			args = append(args, r.ItemID, r.Title, r.Group, r.Body)
		}
		if _, err := stmt.ExecContext(ctx, args...); err != nil {
			return err
		}
		records = records[take:]
	}
	return tx.Commit()
}

func (n *notes) saveArrays(ctx context.Context, records []record) error {
	var arrays [4]pq.StringArray
	for i := range records {
		r := &records[i]
		for j, text := range []string{r.ItemID, r.Title, r.Group, r.Body} {
			arrays[j] = append(arrays[j], text)
		}
	}
	_, err := n.many.ExecContext(ctx, arrays[0], arrays[1], arrays[2], arrays[3])
	return err
}
