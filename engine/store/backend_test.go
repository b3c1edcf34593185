package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"restsrv/engine"
	"restsrv/engine/store"
	"restsrv/engine/store/postgres"
	"restsrv/engine/store/postgres/pgtest"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/sqlite"
	"restsrv/engine/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// place is a database that a test can open several times.
type place struct {
	open func() (*sqldb.Database, error)
	lock string // begins a transaction that keeps all others from writing notes
}

// onBoth runs a test on a new SQLite database and on a new PostgreSQL database.
func onBoth(t *testing.T, run func(t *testing.T, p place)) {
	t.Run("sqlite", func(t *testing.T) { run(t, sqlitePlace(t)) })
	t.Run("postgres", func(t *testing.T) { run(t, postgresPlace(t)) })
}

func sqlitePlace(t testing.TB) place {
	path := filepath.Join(t.TempDir(), "test.db")
	return place{
		open: func() (*sqldb.Database, error) { return sqlite.Open(t.Context(), sqlite.Config{Path: path}) },
		lock: "BEGIN IMMEDIATE",
	}
}

func postgresPlace(t testing.TB) place {
	url := pgtest.Database(t)
	return place{
		open: func() (*sqldb.Database, error) { return postgres.Open(t.Context(), postgres.Config{URL: url, Pool: 8}) },
		lock: `BEGIN; LOCK TABLE "note@test" IN EXCLUSIVE MODE`,
	}
}

// openAt opens a store and closes it when the test ends.
func openAt(t testing.TB, p place, classes ...*engine.Class) *store.Store {
	t.Helper()
	st := mustOpen(t, p, classes...)
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Errorf("got error %v on Close, want none", err)
		}
	})
	return st
}

func mustOpen(t testing.TB, p place, classes ...*engine.Class) *store.Store {
	t.Helper()
	st, err := tryOpen(t, p, classes...)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func tryOpen(t testing.TB, p place, classes ...*engine.Class) (*store.Store, error) {
	t.Helper()
	db, err := p.open()
	if err != nil {
		return nil, err
	}
	return store.Open(t.Context(), db, store.Config{Classes: classes, HashPassword: storetest.HashPassword, FileClass: storetest.FileClass(classes), StageClass: storetest.StageClass(classes), PermissionClass: storetest.Class(classes, "#permission"), PolicyClass: storetest.Class(classes, "#policy")})
}

func closeStore(t *testing.T, st *store.Store) {
	t.Helper()
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}

// openBeside opens a store and a second handle on its database.
func openBeside(t *testing.T, p place, c *engine.Class) (*store.Store, *sqldb.Database) {
	t.Helper()
	return openBesideWith(t, p, store.Config{Classes: []*engine.Class{c}, HashPassword: storetest.HashPassword})
}

func openBesideWith(t *testing.T, p place, cfg store.Config) (*store.Store, *sqldb.Database) {
	t.Helper()
	db, err := p.open()
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), db, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeStore(t, st) })
	other, err := p.open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(other.Read.Close(), other.Write.Close()); err != nil {
			t.Error(err)
		}
	})
	return st, other
}
