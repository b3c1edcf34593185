package main

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"runtime"
	"strings"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// bulkRows is the number of rows one multi-row statement writes.
const bulkRows = 250

// note is one row of the table.
type note struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Group string `json:"group"`
	Body  string `json:"body"`
}

// change is a partial note; nil leaves the column as it is.
type change struct {
	Title *string `json:"title"`
	Group *string `json:"group"`
	Body  *string `json:"body"`
}

// notes is the table with its statements: one writer, two readers per core.
type notes struct {
	writer, readers *sql.DB
	get, list, some *sql.Stmt
	again           *sql.Stmt // get on the writer, whose pages are warm after a write
	one, many       *sql.Stmt
	update          [8]*sql.Stmt // by which of title, group and body are given
}

const columns = `SELECT "id","title","group","body" FROM note`

// openNotes opens or creates the table. sync is "normal" or "full".
func openNotes(ctx context.Context, path, sync string) (*notes, error) {
	if sync != "normal" && sync != "full" {
		return nil, fmt.Errorf("synchronous: %q is neither normal nor full", sync)
	}
	q := url.Values{"_pragma": {"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(" + sync + ")", "cache_size(-32768)"}}
	q.Set("_txlock", "immediate")
	dsn := "file:" + path + "?" + q.Encode()
	n := &notes{}
	var err error
	if n.writer, err = sql.Open("sqlite", dsn); err != nil {
		return nil, err
	}
	n.writer.SetMaxOpenConns(1)
	if n.readers, err = sql.Open("sqlite", dsn); err != nil {
		return nil, err
	}
	n.readers.SetMaxOpenConns(2 * runtime.NumCPU())
	n.readers.SetMaxIdleConns(2 * runtime.NumCPU())
	_, err = n.writer.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS note("id" TEXT NOT NULL UNIQUE,"title" TEXT,"group" TEXT,"body" TEXT);
		CREATE INDEX IF NOT EXISTS note_group ON note("group")`)
	if err != nil {
		return nil, err
	}
	return n, n.prepare(ctx)
}

func (n *notes) prepare(ctx context.Context) error {
	const insert = `INSERT INTO note("id","title","group","body") VALUES `
	const upsert = ` ON CONFLICT("id") DO UPDATE SET "title"=excluded."title","group"=excluded."group","body"=excluded."body"`
	rows := strings.TrimSuffix(strings.Repeat("(?,?,?,?),", bulkRows), ",")
	for _, s := range []struct {
		into **sql.Stmt
		db   *sql.DB
		sql  string
	}{
		{&n.get, n.readers, columns + ` WHERE "id"=?`},
		{&n.again, n.writer, columns + ` WHERE "id"=?`},
		{&n.list, n.readers, columns + ` ORDER BY rowid LIMIT ?`},
		{&n.some, n.readers, columns + ` WHERE "group"=? ORDER BY rowid LIMIT ?`},
		{&n.one, n.writer, insert + "(?,?,?,?)" + upsert},
		{&n.many, n.writer, insert + rows + upsert},
	} {
		var err error
		if *s.into, err = s.db.PrepareContext(ctx, s.sql); err != nil {
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
		n.update[mask], err = n.writer.PrepareContext(ctx, `UPDATE note SET `+strings.Join(set, ",")+` WHERE "id"=?`)
		if err != nil {
			return err
		}
	}
	return nil
}

func (n *notes) close() {
	n.readers.Close()
	n.writer.Close()
}

func (n *notes) byID(ctx context.Context, get *sql.Stmt, id string) (note, error) {
	var r note
	err := get.QueryRowContext(ctx, id).Scan(&r.ID, &r.Title, &r.Group, &r.Body)
	return r, err
}

// first returns the first count notes, of the group unless it is "".
func (n *notes) first(ctx context.Context, group string, count int) ([]note, error) {
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

// edit changes one note and reads it again.
func (n *notes) edit(ctx context.Context, id string, c change) (note, error) {
	mask, args := 0, make([]any, 0, 4)
	for i, v := range []*string{c.Title, c.Group, c.Body} {
		if v != nil {
			mask |= 1 << i
			args = append(args, *v)
		}
	}
	if mask != 0 {
		if _, err := n.update[mask].ExecContext(ctx, append(args, id)...); err != nil {
			return note{}, err
		}
	}
	return n.byID(ctx, n.again, id)
}

// save inserts or updates all records in one transaction.
func (n *notes) save(ctx context.Context, records []record) error {
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
