package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

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

// database is the open database of an application with the components that use it.
type database struct {
	store      *store.Store // with the classes of the application; the same as core when the server runs
	core       *store.Store // with the system classes only, for parts that outlive an edition
	accounts   *account.Store
	policy     *acl.Store
	files      *file.Storage
	images     *image.Storage // images of the file storage; each edition sets its thumbnails
	replays    *replay.Keeper
	cursors    query.CursorKey // secret key of the server
	hasher     *account.Hasher
	guards     guards
	system     *system
	rules      atomic.Pointer[rules] // rules of the current application; nil on the command line
	log        *slog.Logger
	file       string // the SQLite file; for other databases a path in the application directory
	fileLimits file.Limits
}

// system holds the classes of the server's own items. Applications do not see them.
type system struct {
	accounts []*engine.Class
	policy   []*engine.Class
	grants   []*engine.Class
	files    *engine.Class
	stages   *engine.Class
	replays  *engine.Class
	secrets  *engine.Class
	sessions *engine.Class
	guesses  *engine.Class
	events   *engine.Class
	changes  *engine.Class
	leases   *engine.Class
}

func newSystem() *system {
	return &system{
		accounts: account.Classes(),
		policy:   acl.Classes(),
		grants:   oauth.Classes(),
		files:    file.Class(),
		stages:   workflow.Class(),
		replays:  replay.Class(),
		secrets:  secret.Class(),
		sessions: session.Class(),
		guesses:  guess.Class(),
		events:   audit.Class(),
		changes:  journal.Class(),
		leases:   lease.Class(),
	}
}

func (s *system) allClasses() []*engine.Class {
	return slices.Concat(s.accounts, s.policy, s.grants, []*engine.Class{s.files, s.stages, s.replays, s.secrets, s.sessions, s.guesses, s.events, s.changes, s.leases})
}

// opening holds the options for opening a database.
type opening struct {
	classes []*engine.Class // classes of the application; may be empty if the command does not use them
	system  *system         // if nil, new ones are created; when a database is copied, both share them
	there   bool            // set if the database must exist: a missing SQLite file is not created
	server  bool            // set if the server opens it: it locks a SQLite file against other servers, not against commands
	log     *slog.Logger
}

// openDatabase opens the database with that URL. A relative path is relative to the
// application directory.
func openDatabase(ctx context.Context, c *deploy.Config, url string, o opening) (*database, error) {
	db, path, err := connect(ctx, c, url, o)
	if err != nil {
		return nil, err
	}
	sys := o.system
	if sys == nil {
		sys = newSystem()
	}
	hasher := account.NewHasher(account.HasherConfig{})
	var readTime, lockTime time.Duration // commands have no timeouts: copying everything takes long
	if o.server {
		readTime, lockTime = c.QueryTimeout, c.LockTimeout
	}
	d := &database{hasher: hasher, system: sys, file: path, log: o.log}
	permission, policy := acl.ItemClasses(sys.policy)
	s, err := store.Open(ctx, db, store.Config{
		Classes: slices.Concat(o.classes, sys.allClasses()), FileClass: sys.files, Unheld: d.removeUnheld, StageClass: sys.stages, PermissionClass: permission, PolicyClass: policy, Regranted: d.forgetGrants, Journal: journal.New(sys.changes), HashPassword: hasher.Hash, ReadTime: readTime,
		Scans: conns.Scans{Waiting: c.Shares.ScansWaiting, MaxWait: c.Shares.ScanWait}, WritesWaiting: c.Shares.WritesWaiting, LockTime: lockTime, Log: o.log,
	})
	var changed *layout.SchemaError
	if errors.As(err, &changed) {
		return nil, fmt.Errorf("%w\n%s", err, schemaHint)
	}
	if err != nil {
		return nil, err
	}
	core, err := s.With(sys.allClasses())
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	d.store, d.core, d.guards = s, core, newGuards(c, core, sys, o)
	if d.policy, err = acl.New(acl.Config{Data: core, Classes: sys.policy, Audit: d.guards.audit, Log: o.log}); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if d.accounts, err = d.newAccounts(c); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if o.server {
		d.fileLimits = file.Limits{PerAccount: c.FileBytes.PerAccount, All: c.FileBytes.All}
	}
	d.setFileFolder(c.Abs("files"), c)
	d.replays = replay.New(replay.Config{Data: core, Class: sys.replays, Log: o.log, Limits: replay.Limits{
		Keys: c.Idempotency.Keys, Bytes: c.Idempotency.Bytes, Total: c.Idempotency.TotalBytes, Answer: int64(c.Idempotency.AnswerBytes)}})
	return d, nil
}

// setFileFolder sets the folder for the contents of files and for the thumbnails of
// images.
func (d *database) setFileFolder(dir string, c *deploy.Config) {
	d.files = file.New(file.Config{Dir: dir, Data: d.core, Class: d.system.files, Log: d.log, Limits: d.fileLimits})
	d.images = image.New(image.Config{Files: d.files, Memory: c.Images.Memory})
}

// removeUnheld removes contents of files when no object refers to them any more.
func (d *database) removeUnheld(hashes []string) { d.files.Unheld(hashes) }

// forgetGrants makes the policy read the grants again.
func (d *database) forgetGrants() {
	if d.policy != nil { // nil while the database is being opened
		d.policy.Forget()
	}
}

// newAccounts returns the accounts with the settings of an application.
func (d *database) newAccounts(c *deploy.Config) (*account.Store, error) {
	var enrich func(context.Context, *engine.Account) error
	if hasEnrichment(c) {
		enrich = d.enrich
	}
	return account.New(account.Config{
		Data: d.core, Classes: d.system.accounts, Hasher: d.hasher, TokenLifetime: c.TokenLifetime,
		CaseInsensitive: c.CaseInsensitiveLogin, First: d.policy.EnsureAdmin, Removing: d.removeRights, Enrich: enrich,
		Guesses: d.guards.guesses, Audit: d.guards.audit, Log: d.log,
	})
}

// removeRights deletes the permissions, OAuth2 grants and consents of an account, so that
// a later account of the same name does not have them.
func (d *database) removeRights(ctx context.Context, account string) error {
	if err := d.policy.RevokeAll(ctx, account); err != nil {
		return err
	}
	return oauth.EndAccount(ctx, d.core, d.system.grants, account)
}

// hasEnrichment reports whether the data add to the stored accounts.
func hasEnrichment(c *deploy.Config) bool { return c.MetaMap != nil || len(c.Profiles) > 0 }

// schemaHint describes the migration that works for every change of classes. An
// export with the new classes would fail with the same error.
const schemaHint = `To keep the objects: put the classes back as they were and run restsrv export -o all.ndjson;
then change the classes and run restsrv import -db ANOTHER_DATABASE all.ndjson, and serve that one.`

// commandWait is how long a command waits if a server is writing to its database
// file.
const commandWait = time.Minute

// connect opens the database of either kind. file is the SQLite file, or a path in
// the application directory that stands for another database.
func connect(ctx context.Context, c *deploy.Config, url string, o opening) (db *sqldb.Database, file string, err error) {
	if strings.HasPrefix(url, "postgres://") || strings.HasPrefix(url, "postgresql://") {
		cfg := postgres.Config{URL: url, Pool: c.Pool, Scans: c.Shares.Scans, Log: o.log}
		if o.server {
			cfg.LockTime = c.LockTimeout
		}
		db, err = postgres.Open(ctx, cfg)
		return db, c.Abs("postgres"), err
	}
	path, ok := strings.CutPrefix(url, "sqlite:")
	if !ok || path == "" {
		return nil, "", fmt.Errorf("database %q: expected sqlite:PATH or postgres://user:password@host:port/database", withoutSecrets(url))
	}
	path = c.Abs(path)
	if _, err := os.Stat(path); o.there && errors.Is(err, fs.ErrNotExist) {
		return nil, "", fmt.Errorf("there is no database %s", path)
	}
	wait := commandWait
	if o.server {
		wait = 0
	}
	db, err = sqlite.Open(ctx, sqlite.Config{Path: path, Synchronous: c.Synchronous, Server: o.server, Scans: c.Shares.Scans, Log: o.log, Wait: wait})
	return db, path, err
}

// withoutSecrets removes the parts of a database URL that may be secret: all text
// before an @, and the parameters.
func withoutSecrets(url string) string {
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

// ensureAdmin creates the first account. If it has to generate the password, it shows
// it once: at the terminal, or in a file beside the database.
func (d *database) ensureAdmin(ctx context.Context, s stdio, log *slog.Logger) error {
	given := s.Env("RESTSRV_ADMIN_PASSWORD")
	admin, err := d.accounts.EnsureAdmin(ctx, given)
	if err != nil {
		return fmt.Errorf("creating %s: %w", account.AdminID, err)
	}
	if admin.Created && admin.Generated == "" && account.CheckPassword(given) != nil {
		log.Warn("RESTSRV_ADMIN_PASSWORD is short: choose a longer password for the administrator", "account", account.AdminID, "characters", utf8.RuneCountInString(given), "recommended", account.MinPassword, "to change it", "restsrv user passwd "+account.AdminID)
	}
	switch {
	case admin.Created && admin.Generated == "":
		log.Info("account created", "account", account.AdminID, "password", "as in RESTSRV_ADMIN_PASSWORD")
	case admin.Created && s.Terminal:
		fmt.Fprintf(s.Err, "\nThe first account is %s, its password is %s\nIt is shown this once; restsrv user passwd changes it.\n\n", account.AdminID, admin.Generated)
	case admin.Created:
		file, err := writePassword(d.file, admin.Generated)
		if err != nil {
			return fmt.Errorf("the password of the new account %s cannot be written down (restsrv user passwd %s sets another): %w", account.AdminID, account.AdminID, err)
		}
		log.Info("account created", "account", account.AdminID, "password", "in the file "+file)
	}
	return nil
}

// writePassword writes a password into a new file beside the database and returns its
// path: admin-password or, if that file exists, a name with that of the database and
// a number. An existing file may belong to another database, so it is not replaced.
func writePassword(database, password string) (string, error) {
	base := filepath.Base(database)
	stem := filepath.Join(filepath.Dir(database), "admin-password")
	file := stem
	for n := 1; ; n++ {
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			_, err = f.WriteString(password + "\n")
			return file, errors.Join(err, f.Close())
		}
		if !errors.Is(err, fs.ErrExist) || n == 100 {
			return "", err
		}
		file = stem + "-" + strings.TrimSuffix(base, filepath.Ext(base))
		if n > 1 {
			file += "-" + strconv.Itoa(n)
		}
	}
}

// warnPasswordDiffers logs a warning if RESTSRV_ADMIN_PASSWORD is set and is not the
// password. It computes a hash, so it should run after the server has begun to
// answer.
func (d *database) warnPasswordDiffers(ctx context.Context, given string, log *slog.Logger) {
	differs, err := d.accounts.AdminPasswordDiffers(ctx, given)
	switch {
	case engine.CodeOf(err) == engine.NotFound:
		log.Warn("RESTSRV_ADMIN_PASSWORD changes nothing: there are other accounts, and no such one", "account", account.AdminID, "to add it", "restsrv user add -roles admin "+account.AdminID)
	case err == nil && differs:
		log.Warn("RESTSRV_ADMIN_PASSWORD is not the stored password and changes nothing", "account", account.AdminID, "to change it", "restsrv user passwd "+account.AdminID)
	}
}

// openForAccess opens the database of an application without its classes, so that
// accounts and grants can be managed even if the classes are invalid.
func openForAccess(ctx context.Context, config, db string, s stdio) (*database, error) {
	c, faults := deploy.Load(first(config, "deploy.json"), knownNames())
	if errs, _ := faults.Split(false); len(errs) > 0 {
		return nil, errs
	}
	return openDatabase(ctx, c, first(db, s.Env("RESTSRV_DB"), c.DB), opening{log: slog.New(slog.DiscardHandler)})
}
