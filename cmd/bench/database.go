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

// database is a database system on which the benchmark runs. The two compared servers have separate
// databases in it.
type database struct {
	name     string
	settings string                           // its settings, for the heading of the table
	columns  string                           // explanation of the additional columns of the table
	fresh    func(dir string) (string, error) // creates an empty database and returns its address, as the floor takes it
	settle   func(address string) error       // runs maintenance that would otherwise start during the measurement
	cpu      func() (time.Duration, error)    // processor time of the database's own processes; nil if unknown
	bulk     float64                          // goal of the ratio for the bulk save
	close    func()
}

// sqliteFiles returns SQLite, which runs in the process of the server.
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

// postgresServer returns the PostgreSQL server that tests use too: the server in
// RESTSRV_TEST_POSTGRES, or a temporary one if PostgreSQL is installed.
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

// queryValue runs a statement and returns its single value. If there is no row, it returns the zero
// value.
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

// postmaster returns the process id of a PostgreSQL server on this machine. It is the parent of the
// process that serves the connection.
func postmaster(address string) (int, error) {
	conn, err := sql.Open("postgres", address)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	conn.SetMaxOpenConns(1) // the process of a connection ends with the connection
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

// parentOf returns the parent's process id from the contents of /proc/<pid>/stat.
func parentOf(stat []byte) (int, error) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0, fmt.Errorf("not a process state: %q", stat)
	}
	return strconv.Atoi(string(fields[1]))
}

// familyTime returns the processor time of a process, of its running children and of children that
// have ended.
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
