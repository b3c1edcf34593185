package main

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
	fresh    func(dir string) (string, error) // creates an empty database; the address is for the flag -db of the floor
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
		conn, err := sql.Open("postgres", address)
		if err != nil {
			return err
		}
		defer conn.Close()
		_, err = conn.Exec("VACUUM (ANALYZE)")
		return err
	}
	if took, err := postgresTime(); err == nil && took > 0 {
		db.cpu = postgresTime
		db.columns = "The db columns: PostgreSQL's own processes, which no ratio counts. "
	}
	return db, nil
}

func isPostgres(address string) bool { return strings.HasPrefix(address, "postgres://") }

// postgresTime returns the processor time of all processes of PostgreSQL on this machine,
// and of their children that have ended. It is 0 if the server is on another machine.
func postgresTime() (total time.Duration, err error) {
	names, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil || !bytes.Contains(text, []byte("(postgres)")) {
			continue // the process has ended, or it is another program
		}
		took, err := parseStat(text)
		if err != nil {
			return 0, err
		}
		total += took
	}
	return total, nil
}
