package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"restsrv/engine/store/sqldb"
)

// Errors of Open for a file that cannot be used as a database. Open wraps them together with the path.
var (
	ErrNoDirectory = errors.New("the directory of the database does not exist")
	ErrReadOnly    = errors.New("the database or its directory cannot be written")
	ErrNotDatabase = errors.New("the file is not an SQLite database")
	ErrServed      = errors.New("another server uses the database")
	ErrLocked      = errors.New("another program has locked the database")
)

// Config describes the database to open.
type Config struct {
	Path        string       // the database file; created if it does not exist
	Synchronous string       // "full" (default: survives a power failure) or "normal" (may lose the last commits)
	Scans       int          // long reads that may run at the same time; 0 means half of GOMAXPROCS
	Server      bool         // refuse to open if another server uses the file, and mark it as used by a server; commands can still use it
	Log         *slog.Logger // nil discards log records

	// Wait is how long a statement waits for a lock of another process; 0 means 5 s. Waiting processes get the lock in
	// no fixed order. Therefore a command should wait longer if a server may be writing constantly.
	Wait time.Duration
}

// Settings of every connection. _dqs=0 prevents SQLite from reading a misspelt column name as a text.
const settings = "?_dqs=0&_pragma=busy_timeout(%d)&_pragma=journal_mode(WAL)" +
	"&_pragma=journal_size_limit(67108864)&_pragma=temp_store(MEMORY)"

// Sizes of the page cache of a connection; a negative number is in KiB. There are two readers for each processor, and
// each has its own cache. Larger caches would mostly hold pages that are in other caches too.
const (
	writerCache = "&_pragma=cache_size(-8192)"
	readerCache = "&_pragma=cache_size(-6144)"
)

// Open opens the database in a file, or creates it. While the database is open, the files path-wal, path-shm and, for
// a server, path-server exist beside the file.
func Open(ctx context.Context, cfg Config) (*sqldb.Database, error) {
	synchronous := strings.ToLower(cfg.Synchronous)
	switch synchronous {
	case "":
		synchronous = "full"
	case "full", "normal":
	default:
		return nil, fmt.Errorf(`synchronous is "full" or "normal", found %q`, cfg.Synchronous)
	}
	path, err := prepareFile(cfg.Path)
	if err != nil {
		return nil, err
	}
	d, err := newDriver()
	if err != nil {
		return nil, err
	}
	release, giveUp := func() error { return nil }, func() error { return nil }
	if cfg.Server {
		if release, giveUp, err = holdServer(ctx, d, path); err != nil {
			return nil, err
		}
	}
	wait := cmp.Or(cfg.Wait, 5*time.Second)
	name := dsn(path) + fmt.Sprintf(settings, wait.Milliseconds()) + "&_pragma=synchronous(" + synchronous + ")"
	scans := cfg.Scans
	if scans == 0 { // scans run in this process, so they get only half of the processors
		scans = max(1, runtime.GOMAXPROCS(0)/2)
	}
	db := &sqldb.Database{
		Dialect: dialect{flushes: synchronous == "full"},
		Write:   open(d, name+writerCache, 1),
		Readers: 2 * runtime.GOMAXPROCS(0),
		Scans:   scans,
		Parked:  8,
		Release: release,
	}
	db.Read = open(d, name+readerCache+"&_pragma=query_only(1)", db.Readers+db.Scans+db.Parked)
	if err := tryWriting(ctx, db.Write); err != nil {
		return nil, errors.Join(explainError(cfg.Path, err), db.Read.Close(), db.Write.Close(), giveUp())
	}
	if cfg.Log != nil {
		warnReadable(path, cfg.Log)
		if cfg.Server {
			stop := watchLog(path+"-wal", logEvery, cfg.Log)
			db.Release = func() error { stop(); return release() }
		}
		cfg.Log.Debug("database opened", "path", path, "synchronous", synchronous, "readers", db.Readers)
	}
	return db, nil
}

// A server checks the size of its write-ahead log every logEvery, and warns when the size reaches largeLog. Normally
// SQLite uses the space of the log again, so that the log has a few megabytes and rarely exceeds journal_size_limit.
// Only a long read prevents this.
const (
	logEvery = time.Minute
	largeLog = 256 << 20
)

// watchLog warns when the write-ahead log becomes large, and each time its size has doubled since the last warning. It
// runs until stop is called.
func watchLog(path string, every time.Duration, log *slog.Logger) (stop func()) {
	ended := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		again := time.NewTicker(every)
		defer again.Stop()
		warned := int64(largeLog / 2)
		for {
			select {
			case <-again.C:
			case <-ended:
				return
			}
			switch info, err := os.Stat(path); {
			case err != nil || info.Size() < largeLog:
				warned = largeLog / 2
			case info.Size() >= 2*warned:
				warned = info.Size()
				log.Warn("the write-ahead log of the database grows because a read has been open for long, for example by restsrv export or another program; the space is freed when the read ends",
					"path", path, "bytes", warned)
			}
		}
	})
	return sync.OnceFunc(func() { close(ended); running.Wait() })
}

// warnReadable warns if every user of the machine may read the database. It does not change the mode of the file,
// because another program may depend on the mode.
func warnReadable(path string, log *slog.Logger) {
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o007 != 0 {
		log.Warn("every user of this machine can read the database and the password hashes in it; run chmod 600 on the file",
			"path", path, "mode", fmt.Sprintf("%04o", info.Mode().Perm()))
	}
}

// tryWriting checks that the database can be written, so that problems are reported by Open and not by the first
// request. It writes and rolls back. Beginning a transaction is not enough: if the file is read-only, SQLite turns
// even BEGIN IMMEDIATE into a read transaction. It writes an unused number in the header of the file. After a write to
// a table, the connection would have to read all tables again.
func tryWriting(ctx context.Context, db *sqlx.DB) error {
	conn, err := db.Connx(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, "PRAGMA user_version = 1")
	_, rollback := conn.ExecContext(ctx, "ROLLBACK")
	if err != nil { // the failed write may have rolled back already
		return err
	}
	return rollback
}

func open(d *sqlite.Driver, dsn string, connections int) *sqlx.DB {
	db := sqlx.NewDb(sql.OpenDB(connector{d, dsn}), "sqlite3")
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db
}

func dsn(path string) string {
	p := filepath.ToSlash(path)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p
	}
	return "file:" + (&url.URL{Path: p}).EscapedPath()
}

// prepareFile creates the file if it does not exist, readable by its owner only, and returns its absolute path.
func prepareFile(name string) (string, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // resolve links, so that all names of a database lead to the same lock
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return "", fmt.Errorf("%w: %s: make it first, or name another path", ErrNoDirectory, filepath.Dir(path))
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return "", fmt.Errorf("%w: %s is a directory", ErrNotDatabase, name)
	}
	_, err = createFile(path)
	return path, err
}

// createFile creates a file if it does not exist, and reports whether it did. It does not open an existing file,
// because closing the file would release the locks on it that this process may hold.
func createFile(path string) (made bool, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("%w: %w", ErrReadOnly, err)
	}
	return true, f.Close()
}

// holdServer takes a lock which shows that a server uses the file. It returns two functions: release releases the
// lock. giveUp, for the case that Open fails later, also removes the lock file if holdServer has created it. The lock
// is a lock of SQLite on an empty database beside the file. So it works wherever SQLite works, and ends with the
// process, even after a crash.
func holdServer(ctx context.Context, d *sqlite.Driver, path string) (release, giveUp func() error, err error) {
	lock := path + "-server"
	made, err := createFile(lock)
	if err != nil {
		return nil, nil, err
	}
	db := open(d, dsn(lock)+"?_pragma=busy_timeout(0)", 1)
	if _, err = db.ExecContext(ctx, "BEGIN EXCLUSIVE"); err == nil {
		giveUp = func() error {
			if made { // remove it while it is locked, so that a process that starts now creates a new file
				_ = os.Remove(lock)
			}
			return db.Close()
		}
		return db.Close, giveUp, nil
	}
	_ = db.Close()
	var e *sqlite.Error
	if errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_BUSY {
		return nil, nil, fmt.Errorf("%w: %s: stop it first, or give this one another database", ErrServed, path)
	}
	return nil, nil, explainError(path, err)
}

// explainError returns the error of opening a database, wrapping ErrLocked, ErrReadOnly or ErrNotDatabase if one of
// them is the reason.
func explainError(path string, err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("database %s: %w", path, err)
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL:
		return fmt.Errorf("%w: %s", ErrLocked, path)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN:
		return fmt.Errorf("%w: %s", ErrReadOnly, path)
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("%w: %s", ErrNotDatabase, path)
	}
	return fmt.Errorf("database %s: %w", path, err)
}
