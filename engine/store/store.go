package store

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"restsrv/engine"
)

// Config says what a Store keeps and how.
type Config struct {
	// Classes are all classes to store, descendants too. Tables of other
	// classes are left alone.
	Classes []*engine.Class
	// HashPassword turns the plain text of a password into what is stored. It
	// is called outside of transactions. Without it passwords are refused.
	HashPassword func(ctx context.Context, plain string) (string, error)
	// FileClass, one of Classes, says which item holds which file; its rows
	// follow the file attributes of items. Nil when nobody asks.
	FileClass *engine.Class
	// Unheld is called after a transaction with the hashes of files whose rows of
	// FileClass it has deleted; other items may hold the same contents, and the
	// transaction may have failed. It must not wait. Nil is allowed.
	Unheld func(hashes []string)
	// StageClass, one of Classes, says which stages items of classes that are
	// Staged have reached; its rows go and move with these. Nil when nobody asks.
	StageClass *engine.Class
	// PermissionClass and PolicyClass, of Classes, are #permission and #policy of
	// package acl. When an item is deleted or gets another key, the store deletes or
	// changes the grants on it and updates the item of #policy. Nil for a store
	// without grants.
	PermissionClass, PolicyClass *engine.Class
	// Regranted is called after a transaction that changed grants, also if it
	// failed, before its caller is answered. It must not wait. Nil is allowed.
	Regranted func()
	// Journal keeps what writes of items of classes with Journaling do, in their
	// transactions; its class is one of Classes. Nil when nobody asks.
	Journal engine.Journal
	// ReadTime is how long a reading may take, waiting for a connection
	// included; 0 means for ever. Whoever asks for more holds up all others.
	ReadTime time.Duration
	Scans    Scans
	// LockTime is how long a request waits for a table that another session of the
	// database locks (see tableLocks); 0 means as long as the database lets it.
	LockTime time.Duration
	// WritesWaiting is how many writes of one account may wait; 0 means 1024.
	WritesWaiting int
	MaxLoaded     int              // bytes, about, of what a reading loads with its items; 0 means 256 MiB
	Now           func() time.Time // nil means time.Now
	NewID         func() string    // nil means UUIDs of version 7
	Log           *slog.Logger     // nil means none
}

// Scans limits the long readings that wait. Database.Scans is how many run.
type Scans struct {
	Waiting, AllWaiting int           // requests of one account, and of all; 0 means 64 and 1024
	MaxWait             time.Duration // 0 means 10 s
}

// Store is the SQL engine.Repository.
type Store struct {
	cfg       Config
	db        *Database
	traits    Traits
	plans     map[*engine.Class]*plan
	tables    []*table
	linkNames linkNames
	readers   *readers
	writer    *writer
	computing bool                                 // some class has something that is computed when read
	rowsRead  map[*engine.Property][]*engine.Class // engine.RowsRead of the classes
	fresh     bool                                 // no Seed has succeeded yet; changed by Open and Seed alone
	lost      *atomic.Int64                        // when a connection was last found gone, in ns since 1970
}

var _ engine.Repository = (*Store)(nil)

// Open brings the tables of db up to the classes, in one transaction, and
// starts the writer. It takes db over, also when it fails. The error is a
// *SchemaError when the classes contradict what is stored.
func Open(ctx context.Context, db *Database, cfg Config) (*Store, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.MaxLoaded <= 0 {
		cfg.MaxLoaded = defaultMaxLoaded
	}
	if cfg.Scans.MaxWait <= 0 {
		cfg.Scans.MaxWait = 10 * time.Second
	}
	if cfg.NewID == nil {
		cfg.NewID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := &Store{cfg: cfg, db: db, traits: db.Dialect.Traits(), lost: new(atomic.Int64)}
	s.readers = newReaders(db, cfg, s.trace())
	warm := s.readers.warm(ctx, db)
	err := s.layOut(cfg.Classes, newMemory(nil))
	if err == nil {
		err = s.upgrade(ctx)
	}
	warm()
	if err != nil {
		s.readers.close()
		return nil, errors.Join(err, s.closeConnections())
	}
	shared := &Store{cfg: s.cfg, db: s.db, traits: s.traits, readers: s.readers, lost: s.lost}
	shared.cfg.Classes = nil // the writer outlives the classes of this Store; see With
	s.writer = newWriter(shared)
	return s, nil
}

// Seed saves the records that a new database begins with, once in its life:
// done tells whether it was now. A database is new from the Open that makes its
// first table until a Seed succeeds, even if the process ends between them.
// System classes, whose names begin with #, do not count: the command line may
// have made their tables first. No journal is kept of them. Call it before the
// store is shared. Errors: those of Save.
func (s *Store) Seed(ctx context.Context, records []engine.Record) (done bool, err error) {
	if !s.fresh {
		return false, nil
	}
	sv, entries, err := s.newSave(engine.WithGuard(engine.Unjournaled(ctx), nil), records)
	if err != nil {
		return false, err
	}
	err = s.writer.do(ctx, func(w *session) error {
		done, err = w.forgetFresh()
		if err != nil || !done {
			return err // another process was faster
		}
		return sv.run(w, entries)
	})
	if err != nil {
		return false, err
	}
	s.fresh = false
	return done, nil
}

// Fresh reports whether the database is new: no Seed of any process has
// succeeded yet.
func (s *Store) Fresh(ctx context.Context) (fresh bool, err error) {
	if !s.fresh {
		return false, nil
	}
	err = s.read(ctx, func(r *session) error {
		n, err := r.number(ctx, countFresh, nil)
		fresh = n > 0
		return err
	})
	return fresh, err
}

// forgetFresh takes the mark of a new database away, and reports whether it
// was there.
func (s *session) forgetFresh() (bool, error) {
	st, err := s.prepare(forgetFresh)
	if err != nil {
		return false, err
	}
	result, err := st.ExecContext(s.ctx)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// With returns a Store of other classes in the same database: it shares the
// connections and the queue of writes, and may be used beside this one once
// Upgrade has brought the tables up to it. The system classes of this Store
// must be among its classes. The error is a *SchemaError when the classes
// contradict each other. Close of any of them closes all.
func (s *Store) With(classes []*engine.Class) (*Store, error) {
	n := &Store{cfg: s.cfg, db: s.db, traits: s.traits, readers: s.readers, writer: s.writer, lost: s.lost}
	n.cfg.Classes = classes
	if err := n.layOut(classes, newMemory(nil)); err != nil {
		return nil, err
	}
	return n, nil
}

// Upgrade brings the tables up to the classes of a Store that With made, in
// one transaction, between the writes of all others. After an error nothing has
// changed; it is a *SchemaError when the classes contradict what is stored, and
// Unavailable when other sessions of the database use the tables for too long.
func (s *Store) Upgrade(ctx context.Context) error {
	began := time.Now()
	for attempt := 1; ; attempt++ {
		var last error
		err := s.writer.do(ctx, func(w *session) error {
			w.stays() // it waits for locks for a moment only, and begins again here
			// Not ctx: where writes share a transaction, its end would be that of all.
			if last = s.passGuard(w.ctx, w.conn); last == nil {
				last = s.upgradeIn(w.ctx, w.conn)
			}
			return last
		})
		var refused *SchemaError
		switch {
		case err != nil && errors.As(last, &refused):
			return refused
		case err == nil || s.kind(last) != Locked:
			return err
		case time.Since(began) > upgradeTime || !pause(ctx, attempt):
			return tablesInUse(last)
		}
	}
}

// Ping tells whether the database is away: the error is Unavailable then. One
// that is only busy until ctx ends is not.
func (s *Store) Ping(ctx context.Context) error {
	err := s.read(ctx, func(r *session) error {
		_, err := r.number(ctx, "SELECT 1", nil)
		return err
	})
	if engine.CodeOf(err) == engine.Timeout {
		return nil
	}
	return err
}

// LockedTables returns the names of tables that other sessions of the database lock,
// so that writes wait for them. A lock that is held for a moment does not count.
func (s *Store) LockedTables(ctx context.Context) (names []string, err error) {
	if s.traits.LockedTables == "" {
		return nil, nil
	}
	locks := func() (map[string]string, error) {
		found := map[string]string{}
		b := newBuilder(s.traits)
		b.add(s.traits.LockedTables)
		return found, s.read(ctx, func(r *session) error {
			return r.visitRows(b, 2, func(row []any) { found[text(row[1])+" "+text(row[0])] = text(row[0]) })
		})
	}
	first, err := locks()
	if err != nil || len(first) == 0 {
		return nil, err
	}
	select {
	case <-time.After(momentaryLock):
	case <-ctx.Done():
		return nil, nil
	}
	second, err := locks()
	for lock, name := range second {
		if first[lock] != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, err
}

// momentaryLock is how long a lock may be held without being reported.
const momentaryLock = 300 * time.Millisecond

// Close waits until the writes that were accepted are done and the queries
// that run have ended, then closes the database. Later calls of the
// repository are Unavailable.
func (s *Store) Close() error {
	s.writer.close()
	s.readers.close()
	return s.closeConnections()
}

func (s *Store) closeConnections() error {
	// The writer's connection closes last: it is the one that folds the log
	// back into the database.
	errs := []error{s.db.Read.Close(), s.db.Write.Close()}
	if s.db.Release != nil {
		errs = append(errs, s.db.Release())
	}
	return errors.Join(errs...)
}

// plan returns the plan of a class, which must be one of Config.Classes or a
// view of one.
func (s *Store) plan(c *engine.Class) (*plan, error) {
	if p := s.plans[c.Base()]; p != nil {
		return p, nil
	}
	return nil, engine.NoClass(c.FullName)
}

// trace logs every statement, as text without values, when the log wants that
// much; nil when it does not.
func (s *Store) trace() func(sql string) {
	if !s.cfg.Log.Enabled(context.Background(), slog.LevelDebug) {
		return nil
	}
	return func(sql string) { s.cfg.Log.Debug("statement", "sql", sql) }
}

// revision is a number that no content of an item had before.
func revision() int64 { return rand.Int64N(1<<63-1) + 1 }

// account returns the id of who acts, "" for nobody.
func account(ctx context.Context) string {
	if a := engine.AccountFrom(ctx); a != nil {
		return a.ID
	}
	return ""
}
