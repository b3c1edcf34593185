package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"restsrv/builtin"
	"restsrv/engine"
	"restsrv/engine/access"
	"restsrv/engine/query"
	"restsrv/engine/script"
	"restsrv/engine/script/suite"
	"restsrv/engine/secret"
	"restsrv/engine/server/appdata"
	"restsrv/engine/service"
	"restsrv/engine/transfer"
)

// Sandbox is a server of an application with a temporary database in a temporary folder. It does
// not listen, and does not write to the application directory. restsrv test and restsrv check use
// it.
type Sandbox struct {
	server *Server
	app    *appdata.App
	dir    string
	secret string
}

// SandboxConfig holds the settings of a sandbox.
type SandboxConfig struct {
	// Template is a SQLite file that the sandbox copies, such as the result of Sandbox.Freeze. By
	// default, the database is empty.
	Template string
	// Database is the URL of a database to use instead of a temporary one. The folder for files is
	// still temporary.
	Database string
	// Log is the log of the server. The default discards it.
	Log *slog.Logger
}

// OpenSandbox creates a sandbox for an application. The caller must close it, even if Load
// fails.
func OpenSandbox(ctx context.Context, a *appdata.App, c SandboxConfig) (b *Sandbox, err error) {
	dir, err := os.MkdirTemp("", "restsrv-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(dir) // err is more important
		}
	}()
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	config := *a.Config
	config.Synchronous = "normal" // it does not have to survive a crash
	b = &Sandbox{dir: dir, secret: rand.Text(), server: &Server{log: c.Log, modules: builtin.Modules(), started: &config}}
	here := *a
	here.Config, b.app = &config, &here
	b.server.signIn = func(a engine.Authenticator) engine.Authenticator { return sandboxSignIn{a, b} }
	if c.Template != "" {
		if err := copyDatabase(c.Template, b.databaseFile()); err != nil {
			return nil, err
		}
	}
	url := cmp.Or(c.Database, "sqlite:"+b.databaseFile())
	d, err := appdata.Open(ctx, &config, url, appdata.Options{Classes: a.Meta.Classes(), Server: true, Log: c.Log})
	if err != nil {
		return nil, err
	}
	b.server.db = d
	d.SetFileFolder(filepath.Join(dir, "files"), &config)
	key, err := secret.Key(ctx, d.Store, d.System.Secrets, "cursor")
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	d.Cursors = query.CursorKey(key)
	return b, nil
}

func (b *Sandbox) databaseFile() string { return filepath.Join(b.dir, "sandbox.db") }

// Fill loads data like the first start of a server. It loads objects only if data is set.
func (b *Sandbox) Fill(ctx context.Context, data bool) (done appdata.Filled, err error) {
	c := b.app.Config
	f := &appdata.Filling{App: b.app, Database: b.server.db, ACL: c.Abs(appdata.ACLDir), Data: transfer.Source{Objects: func(func(transfer.Object) bool) {}}}
	if data {
		if f.Data, err = appdata.DataFolder(c.Dir, appdata.DataDir, c.Namespace); err != nil {
			return done, err
		}
	}
	if done, err = f.Fill(ctx); err != nil {
		return done, err
	}
	_, err = b.server.db.Accounts.EnsureAdmin(ctx, b.secret)
	return done, err
}

// Load loads the scripts and builds all services. It returns no error for a script that cannot be
// loaded; Scripts returns the reason.
func (b *Sandbox) Load(ctx context.Context) (err error) {
	s := b.server
	if s.scripts, err = script.New(scriptConfig(s.started, s.databaseURL(s.started), true, s.log)); err != nil {
		return err
	}
	e, err := s.newEdition(ctx, &loadedApp{App: b.app}, nil)
	if err == nil {
		s.useEdition(e)
	}
	return err
}

// App returns the application of the sandbox.
func (b *Sandbox) App() *appdata.App { return b.app }

// Database returns the database of the sandbox.
func (b *Sandbox) Database() *appdata.Database { return b.server.db }

// Handler returns a handler that answers requests.
func (b *Sandbox) Handler() http.Handler { return b.server.Handler() }

// Secret returns the password of all accounts. The token of an account is the secret, a dot and the name of the
// account.
func (b *Sandbox) Secret() string { return b.secret }

// Scripts returns the scripts, or nil if Load has failed.
func (b *Sandbox) Scripts() *script.Manager {
	if e := b.server.current.Load(); e != nil {
		return e.scripts
	}
	return nil
}

// Refused returns the faults in options of built-in services.
func (b *Sandbox) Refused() engine.Faults { return b.server.current.Load().refused }

// Checker returns the permission checks of the application.
func (b *Sandbox) Checker() *access.Checker { return b.server.current.Load().checker }

// LoadTests loads a file with tests of scripts. Its path is relative to the application directory.
func (b *Sandbox) LoadTests(file string) (*suite.Suite, error) {
	e := b.server.current.Load()
	return e.runtime.LoadTests(script.Service{Name: file, File: file, Env: &service.Env{
		Service: file, Meta: e.meta, Data: e.store, Access: e.checker, Tokens: e.accounts, Files: e.images(),
		Replays: e.db.Replays, Cursors: e.db.Cursors, Audit: e.db.Audit, Log: e.log, Presentation: e.shown,
	}}, testHost{b})
}

// Freeze closes the database and returns its file as a template for other sandboxes (see
// SandboxConfig). Load must not have been called. Call remove instead of Close when the file is not
// needed any more.
func (b *Sandbox) Freeze() (template string, remove func() error, err error) {
	remove = func() error { return os.RemoveAll(b.dir) }
	return b.databaseFile(), remove, b.server.db.Close()
}

// Close closes the database and removes the temporary files.
func (b *Sandbox) Close() error {
	if e := b.server.current.Load(); e != nil {
		e.retire(nil)
	}
	if b.server.scripts != nil {
		b.server.scripts.Close()
	}
	return errors.Join(b.server.db.Close(), os.RemoveAll(b.dir))
}

// copyDatabase copies a SQLite database that is not open.
func copyDatabase(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o600)
}

// sandboxSignIn authenticates accounts with the secret of the sandbox instead of the stored
// passwords. The secret is the password of each account and a part of its token (see
// Sandbox.Secret).
type sandboxSignIn struct {
	engine.Authenticator // checks other credentials; may be nil
	b                    *Sandbox
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
	a, _, err := s.b.server.db.Accounts.Current(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("signing %s in: %w", id, err)
	}
	return a, nil
}

// wrapSignIn returns the authenticator of the server. In a sandbox it is wrapped (see
// sandboxSignIn).
func (s *Server) wrapSignIn(a engine.Authenticator) engine.Authenticator {
	if s.signIn == nil {
		return a
	}
	return s.signIn(a)
}
