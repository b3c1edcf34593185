package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"restsrv/engine"
	"restsrv/engine/deploy"
	"restsrv/engine/lease"
	"restsrv/engine/mistake"
	"restsrv/engine/transfer"
	"restsrv/engine/workflow"
)

// filling fills a database from an application directory: with the accounts and roles of
// the folder acl, if they come for the first time, with the objects of the folder data
// and, if the database is new, with the inline objects. The inline objects come last. The
// database counts as new until they exist, so if the filling is interrupted, the next
// start does it again.
type filling struct {
	app  *app
	db   *database
	acl  string          // folder; may be ""
	data transfer.Source // objects
	add  func(int64)     // called with the progress, in units of data.Total; may be nil

	strict bool // set if objects with invalid values are rejected
}

// filled is the result of a filling.
type filled struct {
	access importedACL
	report *transfer.Report
	seeded int
	left   engine.Faults // inline objects that the database rejected
}

// fill runs the filling. Rejected accounts and objects are in the reports. An error means
// that the database is not available, that inline objects cannot be created, or that ctx
// ended.
func (f *filling) fill(ctx context.Context) (done filled, err error) {
	if f.acl != "" {
		if done.access, err = importACL(ctx, f.db, f.acl); err != nil {
			return done, fmt.Errorf("%s: %w", f.acl, err)
		}
	}
	if done.report, err = f.importObjects(ctx); err == nil {
		done.seeded, done.left, err = f.app.seedObjects(ctx, f.db)
	}
	return done, err
}

// importObjects imports only the objects.
func (f *filling) importObjects(ctx context.Context) (*transfer.Report, error) {
	ctx, staging := engine.WithStaging(ctx)
	defer staging.End()
	d, meta := f.db, f.app.meta
	files := engine.Files{Storage: d.files, Data: d.store, Meta: meta}
	report, err := transfer.Import(ctx, transfer.Config{
		Data: d.store, Meta: meta, System: d.system.allClasses(),
		Strict: f.strict,
		Stage: func(c *engine.Class, id, name, stage string) *engine.Item {
			if f.app.workflows == nil {
				return nil
			}
			name, ok := f.app.workflows.FullName(c, name, stage)
			if !ok {
				return nil
			}
			return workflow.Stage(d.system.stages, c, id, name, stage)
		},
		Accept: files.Accept, Content: contents{d.files},
		Hash: d.hasher.Hash, Matches: d.hasher.Matches, Generate: d.store.Generate(ctx), Progress: f.add,
	}, f.data)
	if err != nil {
		return report, err
	}
	return report, touchPolicy(ctx, d, report)
}

// dataFolder returns the objects of a folder below root, or no objects if the folder does
// not exist. It rejects links that leave root. If an object names a content by its path,
// links must not leave the folder.
func dataFolder(root, folder, namespace string) (transfer.Source, error) {
	dir := filepath.Join(root, folder)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return transfer.Source{Objects: func(func(transfer.Object) bool) {}}, nil
	}
	files, err := folderBelow(root, folder)
	if err != nil {
		return transfer.Source{}, fmt.Errorf("%s: the folder is %w", dir, err)
	}
	s, err := transfer.Directory(files, namespace)
	s.Contents = deploy.Directory(dir)
	if err != nil {
		err = fmt.Errorf("%s: %w", dir, unwrapPath(err))
	}
	return s, err
}

// folderBelow returns the file system of a folder below root. The folder and the files in it may
// be links to any place below root.
func folderBelow(root, folder string) (fs.FS, error) {
	files := deploy.Directory(root)
	if _, err := fs.Stat(files, folder); errors.Is(err, engine.ErrOutside) {
		return nil, engine.ErrOutside
	}
	return fs.Sub(files, folder)
}

// Folders of an application directory: accounts and roles, and objects.
const (
	aclDir  = "acl"
	dataDir = "data"
)

// fillFirst fills the database before the server answers requests. A new database gets all
// data of the application, any other one only accounts and roles that are new. If several
// servers start on a new database, one fills it while the others wait.
func (s *server) fillFirst(ctx context.Context, a *app) error {
	fresh, err := s.db.store.Fresh(ctx)
	if err != nil {
		return err
	}
	if !fresh {
		return s.importAccess(ctx, a)
	}
	wait := func() { s.log.Info("another process fills the new database: waiting for it") }
	return holdFirstStart(ctx, s.db, wait, func(ctx context.Context) error {
		fresh, err := s.db.store.Fresh(ctx)
		if err != nil || !fresh {
			return err
		}
		return s.firstStart(ctx, a)
	})
}

// holdFirstStart runs work while no other process can fill the database.
func holdFirstStart(ctx context.Context, d *database, wait func(), work func(context.Context) error) error {
	return lease.Hold(ctx, d.store, d.system.leases, "first start", wait, work)
}

func (s *server) firstStart(ctx context.Context, a *app) error {
	source, err := dataFolder(a.config.Dir, dataDir, a.config.Namespace)
	if err != nil {
		return err
	}
	started := time.Now()
	f := &filling{app: a, db: s.db, acl: a.config.Abs(aclDir), data: source}
	var end func()
	if f.add, end = progress(s.io, "importing", source.Total, false); !s.io.Terminal {
		f.add = progressLog(s.log, "importing", source.Total)
	}
	done, err := f.fill(ctx)
	end()
	s.logAccess(done.access)
	if done.report != nil && source.Total > 0 {
		s.logObjects(done.report, time.Since(started))
	}
	if err != nil {
		return fmt.Errorf("the new database is not filled, the next start goes on with it: %w", plainError(err))
	}
	for _, f := range done.left {
		s.log.Warn(f.String())
	}
	if done.seeded > 0 {
		s.log.Info("objects created", "file", a.config.File, "count", done.seeded)
	}
	return nil
}

// importAccess imports the accounts and roles of the folder acl that come for the first
// time.
func (s *server) importAccess(ctx context.Context, a *app) error {
	done, err := importACL(ctx, s.db, a.config.Abs(aclDir))
	if err != nil {
		return fmt.Errorf("%s: %w", aclDir, plainError(err))
	}
	s.logAccess(done)
	return nil
}

// logAccess logs which entries of the folder acl were rejected, and counts the imported
// ones.
func (s *server) logAccess(done importedACL) {
	for _, line := range done.rejectedEntries() {
		s.log.Warn(line + ": " + mistake.ACLEntry.Resolution)
	}
	for _, where := range done.weak {
		s.log.Warn(weakPassword(where))
	}
	if done.accounts+done.roles+done.resources+len(done.rejectedEntries()) > 0 {
		s.log.Info("accounts and roles taken", "accounts", done.accounts, "roles", done.roles, "resources", done.resources, "known", done.known, "not taken", len(done.rejectedEntries()))
	}
}

// logObjects logs the rejected objects of the folder data, and counts the imported ones.
func (s *server) logObjects(r *transfer.Report, took time.Duration) {
	for _, f := range r.Refused {
		f.Where = filepath.Join(dataDir, f.Where)
		s.log.Warn(refusalLine(f))
	}
	for _, name := range r.IgnoredNames() {
		s.log.Warn("values passed over: there is no such attribute", "attribute", name, "count", r.Ignored[name], "first", filepath.Join(dataDir, r.IgnoredIn[name]))
	}
	s.log.Info("objects taken", "count", r.Count(), "not taken", r.NotTaken(), "took", took.Round(time.Millisecond))
}

// refusalLine returns the line of output for an object or a value that an import left out.
func refusalLine(f transfer.Refusal) string {
	line := "not taken: " + f.Place() + ": " + f.Reason
	if f.Taken || f.Rule == mistake.DataOther {
		line += ": " + f.Rule.Resolution
	}
	if f.Rule == mistake.DataOther {
		return strings.TrimPrefix(line, "not taken: ")
	}
	return line
}
