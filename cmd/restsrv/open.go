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

	"restsrv/engine"
	"restsrv/engine/account"
	"restsrv/engine/deploy"
	"restsrv/engine/file"
	"restsrv/engine/replay"
	"restsrv/engine/secret"
	"restsrv/engine/store"
	"restsrv/engine/store/postgres"
	"restsrv/engine/store/sqlite"
)

// database is the open database of an application and what stands on it.
type database struct {
	store    *store.Store
	accounts *account.Store
	files    *file.Storage
	replays  *replay.Keeper
	cursors  []byte // the key of cursors
	file     string // of SQLite; a name in the application directory for others
}

// openDatabase opens the database that the flags, the environment or
// deploy.json name, in this order. The server holds a file of SQLite alone; the
// command line works beside it and names no classes of the application.
func openDatabase(ctx context.Context, c *deploy.Config, url string, classes []*engine.Class, server bool, log *slog.Logger) (*database, error) {
	db, path, err := connect(ctx, c, url, server, log)
	if err != nil {
		return nil, err
	}
	system, held, keys, secrets := account.Classes(), file.Class(), replay.Class(), secret.Class()
	hasher := account.NewHasher(account.HasherConfig{})
	s, err := store.Open(ctx, db, store.Config{
		Classes: slices.Concat(classes, system, []*engine.Class{held, keys, secrets}), FileClass: held, HashPassword: hasher.Hash, Log: log,
	})
	if err != nil {
		return nil, err
	}
	accounts, err := account.New(account.Config{Data: s, Classes: system, Hasher: hasher, TokenLifetime: c.TokenLifetime, Log: log})
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	files := file.New(file.Config{Dir: c.Abs("files"), Data: s, Class: held})
	replays := replay.New(replay.Config{Data: s, Class: keys, Log: log})
	cursors, err := secret.Key(ctx, s, secrets, "cursor")
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return &database{store: s, accounts: accounts, files: files, replays: replays, cursors: cursors, file: path}, nil
}

// connect opens the database of either kind, and names the file that it is, or
// would be, in the application directory.
func connect(ctx context.Context, c *deploy.Config, url string, server bool, log *slog.Logger) (db *store.Database, file string, err error) {
	if strings.HasPrefix(url, "postgres://") || strings.HasPrefix(url, "postgresql://") {
		db, err = postgres.Open(ctx, postgres.Config{URL: url, Pool: c.Pool, Log: log})
		return db, c.Abs("postgres"), err
	}
	path, ok := strings.CutPrefix(url, "sqlite:")
	if !ok || path == "" {
		return nil, "", fmt.Errorf("database %q: expected sqlite:PATH or postgres://user:password@host:port/database", withoutSecrets(url))
	}
	path = c.Abs(path)
	db, err = sqlite.Open(ctx, sqlite.Config{Path: path, Synchronous: c.Synchronous, Server: server, Log: log})
	return db, path, err
}

// withoutSecrets returns what of a database address may be shown: neither what
// stands before an @, nor parameters.
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

// ensureAdmin makes the first account, and tells its password once if it had
// to be made up: at the terminal, or in a file beside the database.
func (d *database) ensureAdmin(ctx context.Context, s stdio, log *slog.Logger) error {
	given := s.Env("RESTSRV_ADMIN_PASSWORD")
	admin, err := d.accounts.EnsureAdmin(ctx, given)
	if err != nil {
		return fmt.Errorf("creating %s: %w", account.AdminID, err)
	}
	switch {
	case admin.Created && admin.Generated == "":
		log.Info("account created", "account", account.AdminID, "password", "as in RESTSRV_ADMIN_PASSWORD")
	case admin.Created && s.Terminal:
		fmt.Fprintf(s.Err, "\nThe first account is %s, its password is %s\nIt is shown this once; restsrv user passwd changes it.\n\n", account.AdminID, admin.Generated)
	case admin.Created:
		file, err := writePassword(d.file, admin.Generated)
		if err != nil {
			return fmt.Errorf("the password of the new account %s cannot be written down: %w", account.AdminID, err)
		}
		log.Info("account created", "account", account.AdminID, "password", "in the file "+file)
	case given != "":
		go d.warnPasswordDiffers(ctx, given, log) // it hashes: not before the server answers
	}
	return nil
}

// writePassword writes a password into a new file beside the database and
// returns its path: admin-password, or a name with the database's and then a
// number when there is such a file. One that is there is another database's.
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

func (d *database) warnPasswordDiffers(ctx context.Context, given string, log *slog.Logger) {
	differs, err := d.accounts.AdminPasswordDiffers(ctx, given)
	if err == nil && differs {
		log.Warn("RESTSRV_ADMIN_PASSWORD is not the stored password and changes nothing", "account", account.AdminID, "to change it", "restsrv user passwd "+account.AdminID)
	}
}

// user runs restsrv user on the application's database.
func user(ctx context.Context, args []string, s stdio) error {
	env := userEnv{open: func(ctx context.Context, config, db string) (*account.Store, func() error, error) {
		c, faults := deploy.Load(config, known())
		if errs, _ := faults.Split(); len(errs) > 0 {
			return nil, nil, errs
		}
		d, err := openDatabase(ctx, c, first(db, s.Env("RESTSRV_DB"), c.DB), nil, false, slog.New(slog.DiscardHandler))
		if err != nil {
			return nil, nil, err
		}
		return d.accounts, d.store.Close, nil
	}}
	if in, ok := s.In.(*os.File); ok {
		env.readPassword = terminalPassword(in, s.Err)
	}
	return runUser(ctx, args, s, env)
}
