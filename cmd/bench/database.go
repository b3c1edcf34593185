package main

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	_ "github.com/lib/pq" // the driver

	"restsrv/engine/store/postgres/pgtest"
)

// database is a kind of database, in which both sides of a table store their
// rows.
type database struct {
	name     string
	settings string                           // its settings, for the heading
	columns  string                           // description of the special columns of the comparison
	fresh    func(dir string) (string, error) // creates an empty one and returns its address in the form for the floor
	settle   func(address string) error       // runs the maintenance that would otherwise start some time after a load
	cpu      func() (time.Duration, error)    // processor time of its own processes; nil if it has none, or if they are not visible
	bulk     float64                          // the must value of the bulk save
	close    func()
}

// sqliteFiles returns SQLite, which runs inside the server's process.
func sqliteFiles() *database {
	return &database{
		name:     "SQLite",
		settings: "WAL, synchronous=NORMAL",
		columns:  "The FULL columns (floor / restsrv): WAL, synchronous=FULL. ",
		fresh:    func(dir string) (string, error) { return filepath.Join(dir, "bench.db"), nil },
		settle:   func(string) error { return nil },
		bulk:     1.5,
		close:    func() {},
	}
}

// postgresServer returns the PostgreSQL that the tests use: the server that
// RESTSRV_TEST_POSTGRES names, or a temporary cluster of the installed
// binaries.
func postgresServer() (*database, error) {
	address, end, err := pgtest.Use("shared_buffers=512MB", "max_wal_size=4GB")
	if err != nil {
		return nil, err
	}
	if !isPostgres(address) {
		end()
		return nil, errors.New("its address must be of the form postgres://user:password@host:port/database")
	}
	db := &database{
		name:     "PostgreSQL",
		settings: "commits with fsync",
		bulk:     1.4,
	}
	var drops []func() error
	db.fresh = func(string) (string, error) {
		made, drop, err := pgtest.Create(address)
		if err == nil {
			drops = append(drops, drop)
		}
		return made, err
	}
	db.close = func() {
		for _, drop := range drops {
			if err := drop(); err != nil {
				fmt.Fprintln(os.Stderr, "PostgreSQL:", err)
			}
		}
		end()
	}
	db.settle = func(address string) error {
		_, err := queryValue[int](address, "VACUUM (ANALYZE)")
		return err
	}
	if pid, err := postmaster(address); err == nil {
		db.cpu = func() (time.Duration, error) { return familyTime(pid) }
		db.columns = "The db columns: PostgreSQL's own processes, which no ratio counts. "
	}
	return db, nil
}

func isPostgres(address string) bool { return strings.HasPrefix(address, "postgres://") }

// queryValue runs a statement and returns its single value. If there is no row, it
// returns the zero value.
func queryValue[T any](address, statement string) (found T, err error) {
	conn, err := sql.Open("postgres", address)
	if err != nil {
		return found, err
	}
	defer conn.Close()
	err = conn.QueryRow(statement).Scan(&found)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return found, err
}

// postmaster returns the main process of a PostgreSQL that runs on this
// machine: the parent of the process that answers.
func postmaster(address string) (int, error) {
	conn, err := sql.Open("postgres", address)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	conn.SetMaxOpenConns(1) // the process ends with its connection
	var pid int
	if err := conn.QueryRow("SELECT pg_backend_pid()").Scan(&pid); err != nil {
		return 0, err
	}
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, err
	}
	if !bytes.Contains(text, []byte("(postgres)")) {
		return 0, errors.New("the server is on another machine")
	}
	return parentOf(text)
}

// parentOf parses the parent's process id from /proc/<pid>/stat.
func parentOf(stat []byte) (int, error) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0, fmt.Errorf("not a process state: %q", stat)
	}
	return strconv.Atoi(string(fields[1]))
}

// familyTime returns the processor time of a process, of its children, and of
// those that it has waited for.
func familyTime(pid int) (time.Duration, error) {
	own, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, fmt.Errorf("the database is gone: %w", err)
	}
	total, err := parseStat(own)
	if err != nil {
		return 0, err
	}
	others, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	for _, name := range others {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		if parent, err := parentOf(text); err != nil || parent != pid {
			continue
		}
		took, err := parseStat(text)
		if err != nil {
			return 0, err
		}
		total += took
	}
	return total, nil
}
