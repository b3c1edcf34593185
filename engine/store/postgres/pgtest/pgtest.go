// Package pgtest provides PostgreSQL databases for tests. Each test gets a database of its own. RESTSRV_TEST_POSTGRES
// can contain the address of the server. Otherwise each test binary starts a temporary cluster from the installed
// binaries. If there are no binaries, tests are skipped, or fail if RESTSRV_TEST_POSTGRES is "require".
//
// The package is used by tests and by the benchmark. It is not a part of the server.
package pgtest

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	_ "github.com/lib/pq" // the driver
)

// variable is the name of the environment variable that contains the address of the server to use, or "require".
const variable = "RESTSRV_TEST_POSTGRES"

// shared is the server of the test binary.
var shared struct {
	once   sync.Once
	mu     sync.Mutex // serializes CREATE and DROP
	free   []lent     // databases of finished tests, emptied
	server *Server    // nil if RESTSRV_TEST_POSTGRES names a server
	url    string
	err    error
}

// lent is a database that is lent to one test after the other.
type lent struct {
	address string
	drop    func() error
}

// Run runs the tests of a binary. Afterwards it drops the databases of the tests and stops the cluster. Call it in
// TestMain of a package with tests that use Database.
func Run(m *testing.M) int {
	code := m.Run()
	if shared.server != nil {
		shared.server.Remove()
		return code
	}
	for _, d := range shared.free {
		if err := d.drop(); err != nil {
			fmt.Fprintf(os.Stderr, "PostgreSQL: %v\n", err)
		}
	}
	return code
}

// Database returns the address of an empty database that only this test uses until it ends. Then the database is
// emptied and used again, which takes a tenth of the time of creating a new one.
func Database(t testing.TB) string {
	t.Helper()
	d, err := lendDatabase(serverAddress(t))
	if err != nil {
		t.Fatalf("PostgreSQL: %v", err)
	}
	t.Cleanup(func() {
		if err := d.giveBack(); err != nil {
			t.Errorf("PostgreSQL: %v", err)
		}
	})
	return d.address
}

func lendDatabase(base string) (d lent, err error) {
	shared.mu.Lock()
	if n := len(shared.free); n > 0 {
		d, shared.free = shared.free[n-1], shared.free[:n-1]
	}
	shared.mu.Unlock()
	if d.drop == nil {
		d.address, d.drop, err = Create(base)
	}
	return d, err
}

// empty ends the connections to a database and returns the database to its initial state. It only recreates the
// schema, because the server does not create objects outside of it.
const empty = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid();
DROP SCHEMA public CASCADE;
CREATE SCHEMA public AUTHORIZATION pg_database_owner;
GRANT USAGE ON SCHEMA public TO PUBLIC`

// giveBack empties the database for the next test. If that fails, it drops the database.
func (d lent) giveBack() error {
	if err := runStatements(d.address, empty); err != nil {
		return d.drop()
	}
	shared.mu.Lock()
	defer shared.mu.Unlock()
	shared.free = append(shared.free, d)
	return nil
}

// Create creates an empty database in the server at base. It returns the address of the database and a function that
// drops it.
func Create(base string) (address string, drop func() error, err error) {
	name := fmt.Sprintf("restsrv_test_%016x", rand.Uint64())
	if err := executeAlone(base, "CREATE DATABASE "+name+" TEMPLATE template0 ENCODING 'UTF8'"); err != nil {
		return "", nil, err
	}
	return databaseAddress(base, name), func() error { return executeAlone(base, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)") }, nil
}

// Use returns the address of a server for a program that is not a test. This is the server in RESTSRV_TEST_POSTGRES
// or, if the variable contains no address, a new cluster. end stops the cluster. Each setting of the cluster has the
// form name=value.
func Use(settings ...string) (address string, end func(), err error) {
	if dsn := os.Getenv(variable); dsn != "" && dsn != "require" {
		return dsn, func() {}, nil
	}
	s, err := newServer(settings...)
	if err != nil {
		return "", nil, err
	}
	return s.URL, s.Remove, nil
}

// Execute runs a statement outside of a transaction.
func Execute(t testing.TB, address, statement string) {
	t.Helper()
	if err := executeAlone(address, statement); err != nil {
		t.Errorf("PostgreSQL: %s: %v", statement, err)
	}
}

// serverAddress returns the address of the server, with the name of one of its databases.
func serverAddress(t testing.TB) string {
	t.Helper()
	shared.once.Do(func() {
		if dsn := os.Getenv(variable); dsn != "" && dsn != "require" {
			shared.url = dsn
			return
		}
		if shared.server, shared.err = newServer("fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_wal_size=256MB", "shared_buffers=64MB", "deadlock_timeout=50ms"); shared.err == nil {
			shared.url = shared.server.URL
		}
	})
	giveUp(t, shared.err)
	return shared.url
}

// giveUp ends the test if err is not nil: it fails the test if PostgreSQL is required, and otherwise skips it.
func giveUp(t testing.TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case os.Getenv(variable) == "":
		t.Skipf("no PostgreSQL: %v; install it, or name a server by %s=postgres://...", err, variable)
	default:
		t.Fatalf("no PostgreSQL: %v", err)
	}
}

// executeAlone runs a statement that cannot be used in a transaction.
func executeAlone(address, statement string) error {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	return runStatements(address, statement)
}

// runStatements executes statements that are separated by semicolons. If there are several, they form one transaction.
func runStatements(address, statement string) error {
	db, err := sql.Open("postgres", address)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.Exec(statement)
	return err
}

// databaseAddress returns the address of another database of the same server.
func databaseAddress(address, name string) string {
	u, err := url.Parse(address)
	if err != nil {
		return strings.TrimSpace(address) + " dbname=" + name
	}
	u.Path = "/" + name
	return u.String()
}
