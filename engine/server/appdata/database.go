package appdata

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"restsrv/engine"
	"restsrv/engine/account"
	"restsrv/engine/acl"
	"restsrv/engine/audit"
	"restsrv/engine/deploy"
	"restsrv/engine/file"
	"restsrv/engine/guess"
	"restsrv/engine/image"
	"restsrv/engine/journal"
	"restsrv/engine/lease"
	"restsrv/engine/oauth"
	"restsrv/engine/query"
	"restsrv/engine/replay"
	"restsrv/engine/secret"
	"restsrv/engine/session"
	"restsrv/engine/store"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/postgres"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/sqlite"
	"restsrv/engine/workflow"
)

// Database is the open database of an application, with the parts of the server that store data
// in the database.
type Database struct {
	Store      *store.Store // with the classes of the application; equal to Core in a running server
	Core       *store.Store // with the system classes only, for parts that outlive an edition (see edition)
	Accounts   *account.Store
	Policy     *acl.Store
	Files      *file.Storage
	Images     *image.Storage // uses the contents in Files; each edition sets its thumbnails
	Replays    *replay.Keeper
	Cursors    query.CursorKey // secret key for cursors
	Hasher     *account.Hasher
	Guesses    *guess.Keeper  // failed sign-ins
	Audit      *audit.Journal // security events
	System     *System
	rules      atomic.Pointer[Rules] // access rules of the current application; nil for commands
	log        *slog.Logger
	file       string // the SQLite file; for PostgreSQL a path in the application directory
	fileLimits file.Limits
}

// System holds the classes of the server's own items, which applications do not see.
type System struct {
	Accounts []*engine.Class
	Policy   []*engine.Class
	Grants   []*engine.Class
	Files    *engine.Class
	Stages   *engine.Class
	Replays  *engine.Class
	Secrets  *engine.Class
	Sessions *engine.Class
	Guesses  *engine.Class
	Events   *engine.Class
	Changes  *engine.Class
	Leases   *engine.Class
}

// NewSystem returns new system classes. Each open database needs its own system classes, with one
// exception: a command that copies a database opens both databases with the same classes.
func NewSystem() *System {
	return &System{
		Accounts: account.Classes(),
		Policy:   acl.Classes(),
		Grants:   oauth.Classes(),
		Files:    file.Class(),
		Stages:   workflow.Class(),
		Replays:  replay.Class(),
		Secrets:  secret.Class(),
		Sessions: session.Class(),
		Guesses:  guess.Class(),
		Events:   audit.Class(),
		Changes:  journal.Class(),
		Leases:   lease.Class(),
	}
}

// Classes returns all classes of the server.
func (s *System) Classes() []*engine.Class {
	return slices.Concat(s.Accounts, s.Policy, s.Grants, []*engine.Class{s.Files, s.Stages, s.Replays, s.Secrets, s.Sessions, s.Guesses, s.Events, s.Changes, s.Leases})
}

// Options holds the options of Open.
type Options struct {
	Classes   []*engine.Class // classes of the application; empty if the command does not use them
	System    *System         // if nil, new classes are created; to copy a database, pass those of the original for the copy
	MustExist bool            // the database must exist: a missing SQLite file is not created
	Server    bool            // a server opens it: it locks a SQLite file against other servers, but not against commands
	Log       *slog.Logger
}

// Open opens the database with a URL. A relative path in the URL starts at the application
// directory.
func Open(ctx context.Context, c *deploy.Config, url string, o Options) (*Database, error) {
	db, path, err := Connect(ctx, c, url, o)
	if err != nil {
		return nil, err
	}
	sys := o.System
	if sys == nil {
		sys = NewSystem()
	}
	hasher := account.NewHasher(account.HasherConfig{})
	var readTime, lockTime time.Duration // commands have no timeouts: copying everything takes long
	if o.Server {
		readTime, lockTime = c.QueryTimeout, c.LockTimeout
	}
	d := &Database{Hasher: hasher, System: sys, file: path, log: o.Log}
	permission, policy := acl.ItemClasses(sys.Policy)
	s, err := store.Open(ctx, db, store.Config{
		Classes: slices.Concat(o.Classes, sys.Classes()), FileClass: sys.Files, Unheld: d.removeUnheld, StageClass: sys.Stages, PermissionClass: permission, PolicyClass: policy, Regranted: d.forgetGrants, Journal: journal.New(sys.Changes), HashPassword: hasher.Hash, ReadTime: readTime,
		Scans: conns.Scans{Waiting: c.Shares.ScansWaiting, MaxWait: c.Shares.ScanWait}, WritesWaiting: c.Shares.WritesWaiting, LockTime: lockTime, Log: o.Log,
	})
	var changed *layout.SchemaError
	if errors.As(err, &changed) {
		return nil, fmt.Errorf("%w\n%s", err, SchemaHint)
	}
	if err != nil {
		return nil, err
	}
	core, err := s.With(sys.Classes())
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	d.Store, d.Core = s, core
	d.openGuards(c)
	if d.Policy, err = acl.New(acl.Config{Data: core, Classes: sys.Policy, Audit: d.Audit, Log: o.Log}); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if d.Accounts, err = d.NewAccounts(c); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if o.Server {
		d.fileLimits = file.Limits{PerAccount: c.FileBytes.PerAccount, All: c.FileBytes.All}
	}
	d.SetFileFolder(c.Abs("files"), c)
	d.Replays = replay.New(replay.Config{Data: core, Class: sys.Replays, Log: o.Log, Limits: replay.Limits{
		Keys: c.Idempotency.Keys, Bytes: c.Idempotency.Bytes, Total: c.Idempotency.TotalBytes, Answer: int64(c.Idempotency.AnswerBytes)}})
	return d, nil
}

// openGuards creates the parts that count failed sign-ins and store audit events.
func (d *Database) openGuards(c *deploy.Config) {
	limits := guess.Limits{PerAccount: c.SignIn.PerAccount, PerAddress: c.SignIn.PerAddress, DelayFrom: c.SignIn.DelayFrom, MaxDelay: c.SignIn.MaxDelay}
	events := audit.Config{Log: d.log, Class: d.System.Events, Keep: c.Audit.Keep, Rows: c.Audit.Rows}
	if c.Audit.On {
		events.Data = d.Core
	}
	d.Guesses = guess.New(guess.Config{Data: d.Core, Class: d.System.Guesses, Limits: limits, Log: d.log})
	d.Audit = audit.New(events)
}

// SetFileFolder sets the folder for contents of files and for thumbnails of images.
func (d *Database) SetFileFolder(dir string, c *deploy.Config) {
	d.Files = file.New(file.Config{Dir: dir, Data: d.Core, Class: d.System.Files, Log: d.log, Limits: d.fileLimits})
	d.Images = image.New(image.Config{Files: d.Files, Memory: c.Images.Memory})
}

// removeUnheld deletes the contents of files to which no object refers any more.
func (d *Database) removeUnheld(hashes []string) { d.Files.Unheld(hashes) }

// forgetGrants makes the policy read the grants again.
func (d *Database) forgetGrants() {
	if d.Policy != nil { // nil while the database is being opened
		d.Policy.Forget()
	}
}

// NewAccounts opens the accounts with the settings of an application.
func (d *Database) NewAccounts(c *deploy.Config) (*account.Store, error) {
	var enrich func(context.Context, *engine.Account) error
	if HasEnrichment(c) {
		enrich = d.enrich
	}
	return account.New(account.Config{
		Data: d.Core, Classes: d.System.Accounts, Hasher: d.Hasher, TokenLifetime: c.TokenLifetime,
		CaseInsensitive: c.CaseInsensitiveLogin, First: d.Policy.EnsureAdmin, Removing: d.removeRights, Enrich: enrich,
		Guesses: d.Guesses, Audit: d.Audit, Log: d.log,
	})
}

// removeRights deletes the permissions, OAuth2 grants and consents of an account, so that a later
// account with the same name does not get them.
func (d *Database) removeRights(ctx context.Context, account string) error {
	if err := d.Policy.RevokeAll(ctx, account); err != nil {
		return err
	}
	return oauth.EndAccount(ctx, d.Core, d.System.Grants, account)
}

// HasEnrichment reports whether aclMetaMap or customProfile adds data to accounts.
func HasEnrichment(c *deploy.Config) bool { return c.MetaMap != nil || len(c.Profiles) > 0 }

// SchemaHint describes how to keep the objects if the tables cannot be changed to fit the
// classes. The export must be made with the old classes, because the database cannot be opened
// with the new classes.
const SchemaHint = `To keep the objects: put the classes back as they were and run restsrv export -o all.ndjson;
then change the classes and run restsrv import -db ANOTHER_DATABASE all.ndjson, and serve that one.`

// commandWait is how long a command waits at most while a server is writing to the SQLite file.
const commandWait = time.Minute

// Connect opens a SQLite or PostgreSQL database. file is the SQLite file. For PostgreSQL, file is
// a path in the application directory; the server can write its own files beside this path.
func Connect(ctx context.Context, c *deploy.Config, url string, o Options) (db *sqldb.Database, file string, err error) {
	if strings.HasPrefix(url, "postgres://") || strings.HasPrefix(url, "postgresql://") {
		cfg := postgres.Config{URL: url, Pool: c.Pool, Scans: c.Shares.Scans, Log: o.Log}
		if o.Server {
			cfg.LockTime = c.LockTimeout
		}
		db, err = postgres.Open(ctx, cfg)
		return db, c.Abs("postgres"), err
	}
	path, ok := strings.CutPrefix(url, "sqlite:")
	if !ok || path == "" {
		return nil, "", fmt.Errorf("database %q: expected sqlite:PATH or postgres://user:password@host:port/database", WithoutSecrets(url))
	}
	path = c.Abs(path)
	if _, err := os.Stat(path); o.MustExist && errors.Is(err, fs.ErrNotExist) {
		return nil, "", fmt.Errorf("there is no database %s", path)
	}
	wait := commandWait
	if o.Server {
		wait = 0
	}
	db, err = sqlite.Open(ctx, sqlite.Config{Path: path, Synchronous: c.Synchronous, Server: o.Server, Scans: c.Shares.Scans, Log: o.Log, Wait: wait})
	return db, path, err
}

// WithoutSecrets removes the parts of a database URL that may be secret: the text before an @ and
// the parameters.
func WithoutSecrets(url string) string {
	if at := strings.LastIndexByte(url, '@'); at >= 0 {
		scheme, _, found := strings.Cut(url[:at], ":")
		if !found || strings.ContainsAny(scheme, "= ") {
			return "…"
		}
		url = scheme + ":…" + url[at:]
	}
	if i := strings.IndexAny(url, "?="); i >= 0 {
		url = url[:i] + "…"
	}
	return url
}

// closeTime is the maximum time for the last writes when the server stops.
const closeTime = 5 * time.Second

// Close waits for pending writes and closes the database.
func (d *Database) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	d.Files.Wait()
	return errors.Join(d.Guesses.Close(ctx), d.Audit.Close(ctx), d.Store.Close())
}

// ExportedClasses returns the system classes that an export contains: accounts, permissions, and
// the files, stages and journal of objects. It does not contain tokens, audit events, stored
// responses and keys, because these belong to one database.
func (s *System) ExportedClasses() []*engine.Class {
	accounts := slices.DeleteFunc(slices.Clone(s.Accounts), func(c *engine.Class) bool { return c.Name == "#token" })
	return slices.Concat(accounts, s.Policy, []*engine.Class{s.Files, s.Stages, s.Changes})
}
