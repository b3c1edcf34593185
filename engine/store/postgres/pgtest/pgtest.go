// Package pgtest gives tests a real PostgreSQL: a database of their own in a
// throw-away cluster that is started from the installed binaries, once for each
// test binary, or in the server that RESTSRV_TEST_POSTGRES names. Without
// either, tests are skipped, or fail when RESTSRV_TEST_POSTGRES is "require".
// It is for tests and the benchmark, and not a part of restsrv.
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

// variable names a server to use, or is "require".
const variable = "RESTSRV_TEST_POSTGRES"

// shared is the server of the test binary.
var shared struct {
	once   sync.Once
	mu     sync.Mutex // one CREATE or DROP at a time
	free   []lent     // used before, and empty again
	server *Server    // nil when RESTSRV_TEST_POSTGRES names one
	url    string
	err    error
}

// lent is a database of tests, one after the other.
type lent struct {
	address string
	drop    func() error
}

// Run runs the tests of a binary, drops the databases that they used and stops
// the cluster behind them: it is what TestMain of a package with such tests calls.
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

// Database returns the address of an empty database that no other test uses
// before this one has ended. To empty one takes a tenth of the time that it takes
// to make one.
func Database(t testing.TB) string {
	t.Helper()
	d, err := lend(address(t))
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

func lend(base string) (d lent, err error) {
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

// empty ends the connections to a database, and leaves it as a
// new one is: restsrv makes nothing outside the schema.
const empty = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid();
DROP SCHEMA public CASCADE;
CREATE SCHEMA public AUTHORIZATION pg_database_owner;
GRANT USAGE ON SCHEMA public TO PUBLIC`

// giveBack empties the database for the next test, or drops it when it cannot be
// emptied.
func (d lent) giveBack() error {
	if err := run(d.address, empty); err != nil {
		return d.drop()
	}
	shared.mu.Lock()
	defer shared.mu.Unlock()
	shared.free = append(shared.free, d)
	return nil
}

// Create makes an empty database in the server of an address and returns its
// own address, and what drops it.
func Create(base string) (address string, drop func() error, err error) {
	name := fmt.Sprintf("restsrv_test_%016x", rand.Uint64())
	if err := execute(base, "CREATE DATABASE "+name+" TEMPLATE template0 ENCODING 'UTF8'"); err != nil {
		return "", nil, err
	}
	return within(base, name), func() error { return execute(base, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)") }, nil
}

// Use is for who is no test: it returns the address of the server that
// RESTSRV_TEST_POSTGRES names, else of a cluster that it starts, and what ends
// that. Settings are the cluster's, name=value.
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

// Execute runs a statement that is no part of a transaction.
func Execute(t testing.TB, address, statement string) {
	t.Helper()
	if err := execute(address, statement); err != nil {
		t.Errorf("PostgreSQL: %s: %v", statement, err)
	}
}

// address is the server's, of any database in it.
func address(t testing.TB) string {
	t.Helper()
	shared.once.Do(func() {
		if dsn := os.Getenv(variable); dsn != "" && dsn != "require" {
			shared.url = dsn
			return
		}
		if shared.server, shared.err = newServer("fsync=off", "synchronous_commit=off", "full_page_writes=off", "deadlock_timeout=50ms"); shared.err == nil {
			shared.url = shared.server.URL
		}
	})
	giveUp(t, shared.err)
	return shared.url
}

// giveUp skips the test when there is no PostgreSQL, or fails it.
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

// execute runs a statement that cannot be in a transaction.
func execute(address, statement string) error {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	return run(address, statement)
}

// run executes statements, several of them as one transaction.
func run(address, statement string) error {
	db, err := sql.Open("postgres", address)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.Exec(statement)
	return err
}

// within is the address of another database of the same server.
func within(address, name string) string {
	u, err := url.Parse(address)
	if err != nil {
		return strings.TrimSpace(address) + " dbname=" + name
	}
	u.Path = "/" + name
	return u.String()
}
