// Package pgtest provides PostgreSQL databases for tests. Each test gets a database of its own. The server is the one
// that RESTSRV_TEST_POSTGRES names or, if it names none, a temporary cluster that is started from the installed
// binaries once for each test binary. If neither is available, tests are skipped, or fail if RESTSRV_TEST_POSTGRES is
// "require". The package is used by tests and by the benchmark, and is not a part of restsrv.
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

// variable is the environment variable with the address of the server to use. It may also be "require".
const variable = "RESTSRV_TEST_POSTGRES"

// shared is the server of the test binary.
var shared struct {
	once   sync.Once
	mu     sync.Mutex // serializes CREATE and DROP
	free   []lent     // databases of earlier tests, emptied
	server *Server    // nil if RESTSRV_TEST_POSTGRES names a server
	url    string
	err    error
}

// lent is a database that several tests use one after the other.
type lent struct {
	address string
	drop    func() error
}

// Run runs the tests of a binary. Afterwards it drops the databases that they used and stops the cluster. TestMain of a
// package with such tests should call it.
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

// Database returns the address of an empty database that no other test uses until this test ends. Databases are emptied
// and used again, which takes a tenth of the time of creating them.
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

// empty ends the connections to a database and returns it to its initial state. restsrv creates no objects outside of
// the schema.
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

// Use is for programs that are not tests. It returns the address of the server that RESTSRV_TEST_POSTGRES names. If
// the variable contains no address, it starts a cluster, and end stops that cluster. Each setting of the cluster has
// the form name=value.
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

// giveUp skips the test if PostgreSQL is not available, or fails it if PostgreSQL is required.
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

// runStatements executes statements, which are separated by semicolons. Several statements form one transaction.
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
