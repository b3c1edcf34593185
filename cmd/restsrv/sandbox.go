package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"restsrv/engine"
	"restsrv/engine/query"
	"restsrv/engine/script"
	"restsrv/engine/secret"
	"restsrv/engine/transfer"
)

// sandbox is the server of an application on a temporary database in a
// temporary folder. Only this process can reach it, and it does not write to
// the application directory.
type sandbox struct {
	*server
	app    *app
	dir    string
	secret string // password of every account, see sandboxSignIn
}

// openSandbox creates a sandbox with an empty database, or with a copy of the
// template if that is not "". The caller must close it, even if load fails.
func openSandbox(ctx context.Context, a *app, template string, log *slog.Logger) (b *sandbox, err error) {
	dir, err := os.MkdirTemp("", "restsrv-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(dir) // err is more important
		}
	}()
	config := *a.config
	config.Synchronous = "normal" // it does not have to survive a crash
	b = &sandbox{dir: dir, secret: rand.Text(), server: &server{log: log, io: stdio{Env: noEnv}, started: &config}}
	here := *a
	here.config, b.app = &config, &here
	b.signIn = func(a engine.Authenticator) engine.Authenticator { return sandboxSignIn{a, b} }
	path := filepath.Join(dir, "sandbox.db")
	if template != "" {
		if err := copyDatabase(template, path); err != nil {
			return nil, err
		}
	}
	if b.db, err = openDatabase(ctx, &config, "sqlite:"+path, opening{classes: a.meta.Classes(), server: true, log: log}); err != nil {
		return nil, err
	}
	b.db.setFileFolder(filepath.Join(dir, "files"), &config)
	key, err := secret.Key(ctx, b.db.store, b.db.system.secrets, "cursor")
	if err != nil {
		return nil, errors.Join(err, b.db.close())
	}
	b.db.cursors = query.CursorKey(key)
	return b, nil
}

// fill does the work of the first start of a server. It imports the objects
// only if data is set.
func (b *sandbox) fill(ctx context.Context, data bool) (done filled, err error) {
	f := &filling{app: b.app, db: b.db, acl: b.started.Abs(aclDir), data: transfer.Source{Objects: func(func(transfer.Object) bool) {}}}
	if data {
		if f.data, err = dataFolder(b.started.Dir, dataDir, b.started.Namespace); err != nil {
			return done, err
		}
	}
	if done, err = f.fill(ctx); err != nil {
		return done, err
	}
	_, err = b.db.accounts.EnsureAdmin(ctx, b.secret)
	return done, err
}

// load loads the scripts and mounts all services. If a script cannot be loaded,
// that is a fault of the edition and not an error.
func (b *sandbox) load(ctx context.Context) (err error) {
	if b.scripts, err = script.New(scriptConfig(b.started, true, b.log)); err != nil {
		return err
	}
	e, err := b.newEdition(ctx, b.app, nil)
	if err == nil {
		b.useEdition(e)
	}
	return err
}

// noEnv is the environment of a sandbox, which is empty: only the settings of
// the application count.
func noEnv(string) string { return "" }

func (b *sandbox) close() error {
	if e := b.current.Load(); e != nil {
		e.retire(nil)
	}
	if b.scripts != nil {
		b.scripts.Close()
	}
	return errors.Join(b.db.close(), b.removeFolder())
}

// removeFolder removes the folder of a sandbox. The database must be closed.
func (b *sandbox) removeFolder() error { return os.RemoveAll(b.dir) }

// copyDatabase copies a SQLite database. It must not be open.
func copyDatabase(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o600)
}

// sandboxSignIn signs accounts in without their passwords: the secret of the
// sandbox is the password of every account, and the secret with the account
// name after it is its token.
type sandboxSignIn struct {
	engine.Authenticator // checks all other credentials; may be nil
	b                    *sandbox
}

// Authenticate implements engine.Authenticator.
func (s sandboxSignIn) Authenticate(ctx context.Context, mode engine.AuthMode, c engine.Credentials) (*engine.Account, error) {
	id := ""
	if token, ok := strings.CutPrefix(c.Token, s.b.secret+"."); ok {
		id = token
	} else if c.Password == s.b.secret {
		id = c.User
	}
	if id == "" {
		if s.Authenticator == nil {
			return nil, engine.Errorf(engine.Unauthenticated, "auth-mode", "OAuth2 is not set up on this server")
		}
		return s.Authenticator.Authenticate(ctx, mode, c)
	}
	a, _, err := s.b.db.accounts.Current(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("signing %s in: %w", id, err)
	}
	return a, nil
}

// wrapSignIn returns the authenticator of the server. A sandbox wraps it.
func (s *server) wrapSignIn(a engine.Authenticator) engine.Authenticator {
	if s.signIn == nil {
		return a
	}
	return s.signIn(a)
}
