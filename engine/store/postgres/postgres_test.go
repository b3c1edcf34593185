package postgres_test

import (
	"os"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/store"
	"restsrv/engine/store/postgres"
	"restsrv/engine/store/postgres/pgtest"
	"restsrv/engine/store/storetest"
	"restsrv/engine/store/storetest/journal"
	"restsrv/engine/store/storetest/suite"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

func TestRepository(t *testing.T) {
	suite.Run(t, func(t *testing.T, classes []*engine.Class) engine.Repository {
		return openAt(t, pgtest.Database(t), classes...)
	})
}

// TestInTransactions runs the conformance suite with each call in a transaction.
func TestInTransactions(t *testing.T) {
	suite.Run(t, func(t *testing.T, classes []*engine.Class) engine.Repository {
		return storetest.Whole{Repository: openAt(t, pgtest.Database(t), classes...)}
	}, "create", "update", "save", "order", "loading", "nested records", "collections", "all that a filter finds", "numbers", "journal", "concurrency")
}

// TestJournaled runs the conformance suite with a journal. All writes must be journaled, and the results must be the
// same as without a journal.
func TestJournaled(t *testing.T) {
	suite.Run(t, journal.Journaled(func(t *testing.T, classes []*engine.Class) engine.Repository {
		return openAt(t, pgtest.Database(t), classes...)
	}), "save", "order", "collections", "changed keys", "all that a filter finds", "concurrency", "transactions")
}

// openAt opens a store for the rest of the test.
func openAt(t testing.TB, url string, classes ...*engine.Class) *store.Store {
	t.Helper()
	st, err := tryOpen(t, url, classes...)
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

func tryOpen(t testing.TB, url string, classes ...*engine.Class) (*store.Store, error) {
	t.Helper()
	db, err := postgres.Open(t.Context(), postgres.Config{URL: url, Pool: 8, LockTime: lockTime})
	if err != nil {
		return nil, err
	}
	return store.Open(t.Context(), db, store.Config{Classes: classes, HashPassword: storetest.HashPassword, FileClass: storetest.FileClass(classes), StageClass: storetest.StageClass(classes), PermissionClass: storetest.Class(classes, "#permission"), PolicyClass: storetest.Class(classes, "#policy"), Journal: storetest.Journal(classes), LockTime: lockTime})
}

const lockTime = 20 * time.Second
