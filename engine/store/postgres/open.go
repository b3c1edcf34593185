package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"restsrv/engine/store/sqldb"
)

// Errors of Open for an address that does not lead to a usable database. They never contain the password.
var (
	ErrAddress = errors.New("the address of the database cannot be read")
	ErrAway    = errors.New("the database cannot be reached")
	ErrUnfit   = errors.New("the database cannot be used")
)

// MaxPool is the maximum number of connections. DefaultPool is used if the configuration does not set a number.
const (
	MaxPool     = 1000
	minPool     = 2
	DefaultPool = 32
)

// Network timeouts: connectTimeout limits connecting. If sent data stays unacknowledged for the time silence, the
// other side counts as gone.
const (
	connectTimeout = 5 * time.Second
	silence        = 20 * time.Second
)

// oldest is the oldest supported version of PostgreSQL, as in server_version_num.
const oldest = 120000

// grantsParameters is the first version in which users can be permitted to set parameters such as deadlock_timeout.
const grantsParameters = 150000

// Config describes the database to open.
type Config struct {
	// URL is postgres://user:password@host:port/database?parameter=value. Several hosts are separated by commas.
	// Missing parts come from the environment variables of PostgreSQL (PGHOST, PGPASSWORD ...). If sslmode is set
	// neither in the URL nor in the environment, the mode is "require": connections use TLS without checking the
	// certificate. Connections do not use TLS then if all hosts are sockets or loopback addresses. The mode
	// verify-full checks the certificate.
	URL   string
	Pool  int // number of connections, a quarter of them for writing; 0 means 32
	Scans int // number of these connections for long reads; 0 means an eighth
	// LockTime is how long a statement waits for a lock of another transaction; 0 means as long as the server is
	// configured.
	LockTime time.Duration
	Log      *slog.Logger // nil discards log records
}

// Open connects to a database, which must exist and use the encoding UTF-8. Several servers may use it at the same
// time.
func Open(ctx context.Context, cfg Config) (*sqldb.Database, error) {
	pool := cfg.Pool
	if pool == 0 {
		pool = DefaultPool
	}
	if pool < minPool || pool > MaxPool {
		return nil, fmt.Errorf("%w: the pool has %d to %d connections, found %d", ErrAddress, minPool, MaxPool, pool)
	}
	settings, err := parse(cfg.URL)
	if err != nil {
		return nil, err
	}
	if _, given := settings.Runtime["lock_timeout"]; cfg.LockTime > 0 && !given {
		settings.Runtime["lock_timeout"] = strconv.FormatInt(cfg.LockTime.Milliseconds(), 10)
	}
	connector, err := pq.NewConnectorConfig(settings)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", ErrAddress, describeError(err))
	}
	connector.Dialer(newDialer())
	db := sqlx.NewDb(sql.OpenDB(reaching{connector}), "postgres")
	db.SetMaxOpenConns(pool + 1) // one more than pool, to query the locks for which the others wait
	db.SetMaxIdleConns(pool)
	deadlocks, err := checkServer(ctx, db)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if _, given := settings.Runtime["deadlock_timeout"]; given {
		deadlocks = false
	}
	if cfg.Log != nil {
		cfg.Log.Debug("database opened", "host", settings.Host, "database", settings.Database, "pool", pool)
	}
	writers := writersOf(pool)
	scans := cfg.Scans
	if scans == 0 {
		scans = pool / 8
	}
	scans = min(scans, pool-writers-1) // with a pool of 2, no connection is left for scans
	return &sqldb.Database{
		Dialect: dialect{writers, deadlocks}, Write: db, Read: db, Readers: pool - writers - scans,
		Scans: scans, ScansPerKey: max(1, scans/4), // at most a quarter, because scans cannot be suspended, and each keeps a processor of the database busy
	}, nil
}

// writersOf returns the number of writing connections in a pool. Reads get more connections than writes, because most
// requests are reads, and they would wait for each other.
func writersOf(pool int) int { return max(1, pool/4) }

// checkServer tests the database, so that problems are reported by Open and not by the first request. deadlocks is
// true if connections should set deadlock_timeout: they are allowed to set it, and its present value is larger than
// deadlockTimeout.
func checkServer(ctx context.Context, db *sqlx.DB) (deadlocks bool, err error) {
	var version, milliseconds int
	var encoding, schema, user string
	var creates bool
	err = db.QueryRowContext(ctx, `SELECT current_setting('server_version_num')::int, current_setting('server_encoding'),
		coalesce(current_schema(), ''), current_user, coalesce(has_schema_privilege(current_schema(), 'CREATE'), false), 
		current_setting('is_superuser') = 'on', (SELECT setting::int FROM pg_settings WHERE name = 'deadlock_timeout')`).
		Scan(&version, &encoding, &schema, &user, &creates, &deadlocks, &milliseconds)
	var e *pq.Error
	switch {
	case errors.As(err, &e):
		return false, fmt.Errorf("%w: %s", ErrAway, e.Message)
	case err != nil:
		return false, fmt.Errorf("%w: %s", ErrAway, describeError(err))
	case version < oldest:
		return false, fmt.Errorf("%w: it is version %d of PostgreSQL, and %d or later is needed", ErrUnfit, version/10000, oldest/10000)
	case encoding != "UTF8":
		return false, fmt.Errorf("%w: its encoding is %s: make one with CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0", ErrUnfit, encoding)
	case schema == "":
		return false, fmt.Errorf("%w: none of the schemas in search_path exists", ErrUnfit)
	case !creates:
		return false, fmt.Errorf("%w: %s may not make tables in the schema %s: GRANT CREATE ON SCHEMA %s TO %s, or make the user the owner of the database", ErrUnfit, user, schema, schema, user)
	}
	if !deadlocks && version >= grantsParameters {
		err = db.QueryRowContext(ctx, "SELECT has_parameter_privilege('deadlock_timeout', 'SET')").Scan(&deadlocks)
		if err != nil {
			return false, fmt.Errorf("%w: %s", ErrAway, describeError(err))
		}
	}
	return deadlocks && milliseconds > deadlockTimeout, nil
}
