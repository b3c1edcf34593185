// Package dbtest opens SQLite and PostgreSQL databases for tests, and provides a clock that tests control. If tests of
// a package use Both, the TestMain of the package should call pgtest.Run. The package must be used only in tests.
package dbtest

import (
	"path/filepath"
	"sync"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/store"
	"restsrv/engine/store/postgres"
	"restsrv/engine/store/postgres/pgtest"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/sqlite"
)

// DB is a database that a test can open several times, as if by several processes.
type DB struct {
	connect func(t testing.TB) (*sqldb.Database, error)
}

// Both runs a test twice: on a new SQLite database, and on a new PostgreSQL database.
func Both(t *testing.T, run func(t *testing.T, db DB)) {
	t.Run("sqlite", func(t *testing.T) { run(t, File(filepath.Join(t.TempDir(), "test.db"))) })
	t.Run("postgres", func(t *testing.T) {
		url := pgtest.Database(t)
		run(t, DB{func(t testing.TB) (*sqldb.Database, error) {
			return postgres.Open(t.Context(), postgres.Config{URL: url, Pool: 8})
		}})
	})
}

// File returns the SQLite database in a file.
func File(path string) DB {
	return DB{func(t testing.TB) (*sqldb.Database, error) {
		return sqlite.Open(t.Context(), sqlite.Config{Path: path, Synchronous: "normal"})
	}}
}

// New returns a new SQLite database.
func New(t testing.TB) DB { return File(filepath.Join(t.TempDir(), "test.db")) }

// Open opens a store with the classes. The store is closed when the test ends.
func (db DB) Open(t testing.TB, classes ...*engine.Class) *store.Store {
	t.Helper()
	return db.OpenWith(t, store.Config{Classes: classes})
}

// OpenWith opens a store with a complete configuration. The store is closed when the test ends.
func (db DB) OpenWith(t testing.TB, c store.Config) *store.Store {
	t.Helper()
	d, err := db.connect(t)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), d, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// Clock is a clock that moves only when Advance is called. It can be used concurrently.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that stands at noon of 1 May 2024, UTC.
func NewClock() *Clock { return &Clock{now: time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)} }

// Now returns the time of the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock forward.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
