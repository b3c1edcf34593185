package appdata

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"restsrv/engine"
	"restsrv/engine/deploy"
	"restsrv/engine/file"
	"restsrv/engine/lease"
	"restsrv/engine/mistake"
	"restsrv/engine/transfer"
	"restsrv/engine/workflow"
)

// Filling fills a database from an application directory: with the accounts and roles of
// the folder acl, if they come for the first time, with the objects of the folder data
// and, if the database is new, with the inline objects. The inline objects come last. The
// database counts as new until they exist, so if the filling is interrupted, the next
// start does it again.
type Filling struct {
	App      *App
	Database *Database
	ACL      string          // folder; may be ""
	Data     transfer.Source // objects
	Progress func(int64)     // called with the progress, in units of data.Total; may be nil

	Strict bool // set if objects with invalid values are rejected
}

// Filled is the result of a filling.
type Filled struct {
	Access ImportedACL
	Report *transfer.Report
	Seeded int
	Left   engine.Faults // inline objects that the database rejected
}

// Fill runs the filling. Rejected accounts and objects are in the reports. An error means
// that the database is not available, that inline objects cannot be created, or that ctx
// ended.
func (f *Filling) Fill(ctx context.Context) (done Filled, err error) {
	if f.ACL != "" {
		if done.Access, err = ImportACL(ctx, f.Database, f.ACL); err != nil {
			return done, fmt.Errorf("%s: %w", f.ACL, err)
		}
	}
	if done.Report, err = f.ImportObjects(ctx); err == nil {
		done.Seeded, done.Left, err = f.App.SeedObjects(ctx, f.Database)
	}
	return done, err
}

// ImportObjects imports only the objects.
func (f *Filling) ImportObjects(ctx context.Context) (*transfer.Report, error) {
	ctx, staging := engine.WithStaging(ctx)
	defer staging.End()
	d, meta := f.Database, f.App.Meta
	files := engine.Files{Storage: d.Files, Data: d.Store, Meta: meta}
	report, err := transfer.Import(ctx, transfer.Config{
		Data: d.Store, Meta: meta, System: d.System.Classes(),
		Strict: f.Strict,
		Stage: func(c *engine.Class, id, name, stage string) *engine.Item {
			if f.App.Workflows == nil {
				return nil
			}
			name, ok := f.App.Workflows.FullName(c, name, stage)
			if !ok {
				return nil
			}
			return workflow.Stage(d.System.Stages, c, id, name, stage)
		},
		Accept: files.Accept, Content: Contents{Files: d.Files},
		Hash: d.Hasher.Hash, Matches: d.Hasher.Matches, Generate: d.Store.Generate(ctx), Progress: f.Progress,
	}, f.Data)
	if err != nil {
		return report, err
	}
	return report, touchPolicy(ctx, d, report)
}

// DataFolder returns the objects of a folder below root, or no objects if the folder does
// not exist. It rejects links that leave root. If an object names a content by its path,
// links must not leave the folder.
func DataFolder(root, folder, namespace string) (transfer.Source, error) {
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
		err = fmt.Errorf("%s: %w", dir, PathCause(err))
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
	ACLDir  = "acl"
	DataDir = "data"
)

// HoldFirstStart runs work while no other process can fill the database.
func HoldFirstStart(ctx context.Context, d *Database, wait func(), work func(context.Context) error) error {
	return lease.Hold(ctx, d.Store, d.System.Leases, "first start", wait, work)
}

// RefusalText returns the line of output for an object or a value that an import left out.
func RefusalText(f transfer.Refusal) string {
	line := "not taken: " + f.Place() + ": " + f.Reason
	if f.Taken || f.Rule == mistake.DataOther {
		line += ": " + f.Rule.Resolution
	}
	if f.Rule == mistake.DataOther {
		return strings.TrimPrefix(line, "not taken: ")
	}
	return line
}

// Contents implements transfer.Content on the file storage.
type Contents struct{ Files *file.Storage }

// Put implements transfer.Content.
func (c Contents) Put(ctx context.Context, content io.Reader) (string, error) {
	f, err := c.Files.Put(ctx, "", "", content)
	return f.Hash, err
}

// Open implements transfer.Content.
func (c Contents) Open(ctx context.Context, hash string) (io.ReadCloser, error) {
	return c.Files.Open(ctx, engine.StoredFile{Hash: hash})
}
