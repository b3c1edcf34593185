package store

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"

	"restsrv/engine"
	"restsrv/engine/store/cached"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/dump"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/owned"
	"restsrv/engine/store/read"
	"restsrv/engine/store/schema"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/sqlquery"
	"restsrv/engine/store/table"
)

// Config configures a Store.
type Config struct {
	// Classes are all classes to store, including descendants. Tables of other classes are left unchanged.
	Classes []*engine.Class
	// HashPassword hashes a password for storage. It is called outside of transactions. If it is nil, passwords are
	// refused.
	HashPassword func(ctx context.Context, plain string) (string, error)
	// FileClass, one of Classes, has a record for each file of an item. The store updates these records when file
	// attributes of items change. FileClass is nil if such records are not needed.
	FileClass *engine.Class
	// Unheld, if not nil, is called after a transaction that has deleted records of FileClass because items have lost
	// files. hashes identify the contents of these files. The contents may still be needed: other items may have files
	// with the same contents, and the transaction may have failed. Unheld must not block.
	Unheld func(hashes []string)
	// StageClass, one of Classes, records the stages that items of Staged classes have reached. Its records are
	// deleted and updated together with these items. StageClass is nil if no class is Staged.
	StageClass *engine.Class
	// PermissionClass and PolicyClass, two of Classes, are #permission and #policy of package acl. When an item is
	// deleted, the store deletes the grants on it. When its key changes, the store updates them. In both cases it
	// updates the item of #policy. Both classes are nil for a store without grants.
	PermissionClass, PolicyClass *engine.Class
	// Regranted, if not nil, is called after a transaction that changed grants, even if the transaction failed. It
	// returns before the caller of the transaction gets the result. Regranted must not block.
	Regranted func()
	// Journal records the writes of items of classes with Journaling, in the transactions of the writes. The class of
	// its records must be one of Classes. Journal is nil if no journal is needed.
	Journal engine.Journal
	// ReadTime limits the duration of a read, including the wait for a connection; 0 means no limit. Longer reads would
	// block other requests.
	ReadTime time.Duration
	Scans    conns.Scans // limits the long reads that wait
	// LockTime is the longest time for which a request waits for a table that another session of the database has
	// locked (see conns/tablelocks.go); 0 means as long as the database permits.
	LockTime time.Duration
	// WritesWaiting is the number of writes of one account that may wait; 0 means 1024.
	WritesWaiting int
	MaxLoaded     int              // approximate number of bytes that a read may load in addition to its items; 0 means 256 MiB
	Now           func() time.Time // if nil, time.Now is used
	NewID         func() string    // if nil, UUIDs of version 7 are used
	Log           *slog.Logger     // if nil, log records are discarded
}

// Store implements engine.Repository with SQL.
type Store struct {
	*dump.Dumper
	*schema.Sequences
	cfg     Config
	db      *sqldb.Database
	traits  sqldb.Traits
	pool    *conns.Pool
	layout  *layout.Layout
	queries *sqlquery.Queries
	reader  *read.Reader
	table   *table.Writer
	owned   *owned.Rows
	cached  *cached.Writer
	fresh   bool // no Seed has succeeded yet; changed only by Open, Upgrade and Seed
}

var _ engine.Repository = (*Store)(nil)

// Open changes the tables of db as the classes require, in one transaction, and starts the writer. Open takes
// ownership of db, even if it fails. The error is a *layout.SchemaError if the classes contradict the stored data.
func Open(ctx context.Context, db *sqldb.Database, cfg Config) (*Store, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.MaxLoaded <= 0 {
		cfg.MaxLoaded = read.DefaultMaxLoaded
	}
	if cfg.NewID == nil {
		cfg.NewID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := &Store{cfg: cfg, db: db, traits: db.Dialect.Traits()}
	s.pool = conns.New(db, conns.Config{ReadTime: cfg.ReadTime, Scans: cfg.Scans, LockTime: cfg.LockTime, WritesWaiting: cfg.WritesWaiting,
		Log: cfg.Log, Ended: owned.Reports{Unheld: cfg.Unheld, Regranted: cfg.Regranted}.ReportEnded})
	warm := s.pool.Readers.WarmUp(ctx, db)
	err := s.layOut(cfg.Classes)
	if err == nil {
		up := s.newUpgrade()
		err = up.UpgradeTables(ctx)
		s.fresh = up.Fresh
	}
	warm()
	if err != nil {
		return nil, errors.Join(err, s.pool.Close())
	}
	s.pool.StartWriter()
	return s, nil
}

// layOut computes the layout of the classes, and creates the parts of the Store that depend on it.
func (s *Store) layOut(classes []*engine.Class) (err error) {
	s.layout, err = layout.New(s.db.Dialect, layout.Config{Classes: classes, Files: s.cfg.FileClass, Stages: s.cfg.StageClass,
		Permissions: s.cfg.PermissionClass, Policy: s.cfg.PolicyClass, Journaled: s.cfg.Journal != nil})
	s.queries = sqlquery.New(s.layout, s.cfg.StageClass, s.cfg.Now)
	s.reader = read.New(read.Config{Pool: s.pool, Layout: s.layout, Queries: s.queries, MaxLoaded: s.cfg.MaxLoaded, Now: s.cfg.Now})
	s.table = table.New(s.reader, s.layout, s.queries)
	s.cached = cached.New(s.pool, s.layout, s.queries, s.reader, s.table)
	s.owned = owned.New(owned.Config{Files: s.cfg.FileClass, Stages: s.cfg.StageClass, Permissions: s.cfg.PermissionClass, Policy: s.cfg.PolicyClass, Log: s.cfg.Log}, s.pool, s.layout)
	s.Dumper, s.Sequences = dump.New(s.pool, s.layout), &schema.Sequences{Pool: s.pool, Traits: s.traits}
	return err
}

// newUpgrade returns an upgrade of the tables to the layout.
func (s *Store) newUpgrade() *schema.Upgrade {
	return &schema.Upgrade{Db: s.db, Traits: s.traits, Log: s.cfg.Log, Layout: s.layout, Fresh: s.fresh}
}

// Seed saves the initial records of a new database, unless an earlier Seed has done so; done reports whether this call
// saved them. A database is new from the Open that creates its first table until a Seed succeeds, even if the process
// ends in between. Tables of system classes, with names that begin with #, do not count as first tables, because the
// command line may create them before the first start of a server. The records are not journaled. Seed must be called
// before other goroutines use the Store. It returns the errors of Save.
func (s *Store) Seed(ctx context.Context, records []engine.Record) (done bool, err error) {
	if !s.fresh {
		return false, nil
	}
	sv, entries, err := s.newSave(engine.WithGuard(engine.Unjournaled(ctx), nil), records)
	if err != nil {
		return false, err
	}
	err = s.pool.Writer.Do(ctx, func(w *conns.Session) error {
		done, err = dropFreshMark(w)
		if err != nil || !done {
			return err // another process has already seeded the database
		}
		return sv.run(w, entries)
	})
	if err != nil {
		return false, err
	}
	s.fresh = false
	return done, nil
}

// Fresh reports whether the database is new: no Seed of any process has succeeded yet.
func (s *Store) Fresh(ctx context.Context) (fresh bool, err error) {
	if !s.fresh {
		return false, nil
	}
	err = s.pool.RunRead(ctx, func(r *conns.Session) error {
		n, err := r.QueryNumber(ctx, schema.CountFresh, nil)
		fresh = n > 0
		return err
	})
	return fresh, err
}

// dropFreshMark removes the mark of a new database, and reports whether there was one.
func dropFreshMark(s *conns.Session) (bool, error) {
	st, err := s.Prepare(schema.ForgetFresh)
	if err != nil {
		return false, err
	}
	result, err := st.ExecContext(s.Ctx)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// With returns a Store with other classes in the same database. The new Store shares the connections and the queue of
// writes with s. Upgrade must be the first call of the new Store, because it changes the tables. Then both Stores can
// be used at the same time. classes must include the system classes of s. The error is a *layout.SchemaError if the
// classes contradict each other. Closing any of these Stores closes all of them.
func (s *Store) With(classes []*engine.Class) (*Store, error) {
	n := &Store{cfg: s.cfg, db: s.db, traits: s.traits, pool: s.pool}
	n.cfg.Classes = classes
	if err := n.layOut(classes); err != nil {
		return nil, err
	}
	return n, nil
}

// Upgrade changes the tables as the classes of the Store require. It is for a Store that was created by With. It uses
// one transaction, which runs between the writes of all Stores of the database. If it returns an error, the database
// is unchanged. The error is a *layout.SchemaError if the classes contradict the stored data, and Unavailable if other
// sessions of the database use the tables for too long.
func (s *Store) Upgrade(ctx context.Context) error {
	began := time.Now()
	for attempt := 1; ; attempt++ {
		var last error
		err := s.pool.Writer.Do(ctx, func(w *conns.Session) error {
			w.ForbidEviction() // the upgrade waits for locks only for a moment, and is retried here
			// Use w.Ctx instead of ctx: several writes may share the transaction, and the end of ctx would end all of
			// them.
			up := s.newUpgrade()
			if last = up.PassGuard(w.Ctx, w.Conn); last == nil {
				last = up.UpgradeIn(w.Ctx, w.Conn)
			}
			s.fresh = up.Fresh
			return last
		})
		var refused *layout.SchemaError
		switch {
		case err != nil && errors.As(last, &refused):
			return refused
		case err == nil || s.pool.FailureKind(last) != sqldb.Locked:
			return err
		case time.Since(began) > schema.UpgradeTime || !conns.Pause(ctx, attempt):
			return schema.TablesInUse(last)
		}
	}
}

var (
	_ engine.Transactor  = (*Store)(nil)
	_ engine.Snapshotter = (*Store)(nil)
)

// Transaction implements engine.Transactor.
func (s *Store) Transaction(ctx context.Context, work func(ctx context.Context) error) error {
	return s.pool.Transaction(ctx, work)
}

// Snapshot implements engine.Snapshotter.
func (s *Store) Snapshot(ctx context.Context, work func(ctx context.Context) error) error {
	return s.pool.Snapshot(ctx, work)
}

// Get implements engine.Repository.
func (s *Store) Get(ctx context.Context, c *engine.Class, id string, load ...*engine.Load) (*engine.Item, error) {
	return s.reader.Get(ctx, c, id, load...)
}

// List implements engine.Repository. It holds a connection while it calls visit, so visit must not call the repository.
func (s *Store) List(ctx context.Context, q *engine.Query, visit func(*engine.Item) error) error {
	return s.reader.List(ctx, q, visit)
}

// Count implements engine.Repository.
func (s *Store) Count(ctx context.Context, q *engine.Query) (int64, error) {
	return s.reader.Count(ctx, q)
}

// Aggregate implements engine.Repository.
func (s *Store) Aggregate(ctx context.Context, a *engine.Aggregation, visit func(row []any) error) error {
	return s.reader.Aggregate(ctx, a, visit)
}

// Recache implements engine.Recacher.
func (s *Store) Recache(ctx context.Context, c *engine.Class, id string) error {
	return s.cached.Recache(ctx, c, id)
}

// Recalculate computes and stores the cached attributes of all items of a class and of the classes below it, and all
// cached attributes that depend on these. Use it after an Import, which stores values unchanged, and when a formula
// has changed. It takes several transactions. After each transaction the items are consistent.
func (s *Store) Recalculate(ctx context.Context, c *engine.Class) error {
	return s.cached.Recalculate(ctx, c)
}

// Ping returns Unavailable if the database is not available. If the database is only busy, Ping returns nil when ctx
// ends.
func (s *Store) Ping(ctx context.Context) error {
	err := s.pool.RunRead(ctx, func(r *conns.Session) error {
		_, err := r.QueryNumber(ctx, "SELECT 1", nil)
		return err
	})
	if engine.CodeOf(err) == engine.Timeout {
		return nil
	}
	return err
}

// LockedTables returns the names of the tables for which writes wait because other sessions of the database have
// locked them. It leaves out locks that last only for a moment.
func (s *Store) LockedTables(ctx context.Context) (names []string, err error) {
	if s.traits.LockedTables == "" {
		return nil, nil
	}
	locks := func() (map[string]string, error) {
		found := map[string]string{}
		b := sqldb.NewBuilder(s.traits)
		b.Add(s.traits.LockedTables)
		return found, s.pool.RunRead(ctx, func(r *conns.Session) error {
			return r.VisitRows(b, 2, func(row []any) { found[sqldb.TextOf(row[1])+" "+sqldb.TextOf(row[0])] = sqldb.TextOf(row[0]) })
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

// momentaryLock is the minimum duration of a lock that LockedTables reports.
const momentaryLock = 300 * time.Millisecond

// Close waits for accepted writes and running queries to end, then closes the database. Later calls of the repository
// return Unavailable.
func (s *Store) Close() error {
	return s.pool.Close()
}

// accountID returns the id of the account of ctx, or "" if there is none.
func accountID(ctx context.Context) string {
	if a := engine.AccountFrom(ctx); a != nil {
		return a.ID
	}
	return ""
}
