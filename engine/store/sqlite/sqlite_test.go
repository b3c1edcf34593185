package sqlite_test

import (
	"path/filepath"
	"testing"

	"restsrv/engine"
	"restsrv/engine/store"
	"restsrv/engine/store/sqlite"
	"restsrv/engine/store/storetest"
	"restsrv/engine/store/storetest/journal"
	"restsrv/engine/store/storetest/suite"
)

func TestRepository(t *testing.T) {
	suite.Run(t, func(t *testing.T, classes []*engine.Class) engine.Repository {
		return openAt(t, filepath.Join(t.TempDir(), "test.db"), classes...)
	})
}

// TestInTransactions runs the conformance suite with each call in a transaction.
func TestInTransactions(t *testing.T) {
	suite.Run(t, func(t *testing.T, classes []*engine.Class) engine.Repository {
		return storetest.Whole{Repository: openAt(t, filepath.Join(t.TempDir(), "test.db"), classes...)}
	}, "values", "create", "list", "update", "save", "order", "inheritance", "trees", "loading", "nested records", "collections", "changed keys",
		"all that a filter finds", "numbers", "trackers", "files", "aggregation", "formulas", "guard", "journal", "concurrency")
}

// TestJournaled runs the conformance suite with a journal. All writes must be journaled, and the results must be the
// same as without a journal.
func TestJournaled(t *testing.T) {
	suite.Run(t, journal.Journaled(func(t *testing.T, classes []*engine.Class) engine.Repository {
		return openAt(t, filepath.Join(t.TempDir(), "test.db"), classes...)
	}), "values", "create", "update", "save", "order", "inheritance", "trees", "nested records", "collections", "changed keys", "all that a filter finds",
		"numbers", "trackers", "files", "formulas", "guard", "concurrency", "transactions")
}

// openAt opens a store for the rest of the test.
func openAt(t testing.TB, path string, classes ...*engine.Class) *store.Store {
	t.Helper()
	st, err := tryOpen(t, path, classes...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return st
}

func tryOpen(t testing.TB, path string, classes ...*engine.Class) (*store.Store, error) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, Server: true})
	if err != nil {
		return nil, err
	}
	return store.Open(t.Context(), db, store.Config{Classes: classes, HashPassword: storetest.HashPassword, FileClass: storetest.FileClass(classes), StageClass: storetest.StageClass(classes), PermissionClass: storetest.Class(classes, "#permission"), PolicyClass: storetest.Class(classes, "#policy"), Journal: storetest.Journal(classes)})
}

func mustOpen(t *testing.T, path string, classes ...*engine.Class) *store.Store {
	t.Helper()
	st, err := tryOpen(t, path, classes...)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func closeStore(t *testing.T, st *store.Store) {
	t.Helper()
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}

func note() *engine.Class {
	return storetest.NewClass("note", storetest.Prop("id", engine.String))
}
