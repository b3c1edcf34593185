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
	"restsrv/engine/attachment"
	"restsrv/engine/deploy"
	"restsrv/engine/file"
	"restsrv/engine/lease"
	"restsrv/engine/mistake"
	"restsrv/engine/transfer"
	"restsrv/engine/workflow"
)

// Filling loads the data of an application directory into a database:
//
//   - accounts and roles of the folder acl that are new
//   - objects of the folder data
//   - the objects in deploy.json, if the database is new
//
// The objects in deploy.json come last, and the database counts as new until they are stored. So
// if a filling is interrupted, the next start repeats it.
type Filling struct {
	App      *App
	Database *Database
	ACL      string          // folder acl; may be ""
	Data     transfer.Source // objects of the folder data
	Progress func(int64)     // called with the progress, in units of Data.Total; may be nil

	Strict bool // objects with invalid values are refused
}

// Filled is the result of a Filling.
type Filled struct {
	Access ImportedACL
	Report *transfer.Report
	Seeded int
	Left   engine.Faults // objects in deploy.json that the database refused
}

// Fill loads all data. Refused accounts and objects are in the result. An error means that the
// database is not available, that the objects in deploy.json cannot be created, or that ctx has
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

// ImportObjects loads only the objects of the folder data.
func (f *Filling) ImportObjects(ctx context.Context) (*transfer.Report, error) {
	ctx, staging := engine.WithStaging(ctx)
	defer staging.End()
	d, meta := f.Database, f.App.Meta
	files := attachment.Files{Storage: d.Files, Data: d.Store, Meta: meta}
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

// DataFolder returns the objects in a folder below root as a source. If the folder does not exist,
// the source is empty. Symbolic links must not leave root, and links to contents of files must not
// leave the folder.
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

// folderBelow returns the file system of a folder below root. The folder and its files may be
// symbolic links to other places below root.
func folderBelow(root, folder string) (fs.FS, error) {
	files := deploy.Directory(root)
	if _, err := fs.Stat(files, folder); errors.Is(err, engine.ErrOutside) {
		return nil, engine.ErrOutside
	}
	return fs.Sub(files, folder)
}

// Folders of an application directory. ACLDir has accounts and roles, DataDir has objects.
const (
	ACLDir  = "acl"
	DataDir = "data"
)

// HoldFirstStart runs work while no other process can load data into the new database. If it has
// to wait for another process, it first calls wait, which may be nil.
func HoldFirstStart(ctx context.Context, d *Database, wait func(), work func(context.Context) error) error {
	return lease.Hold(ctx, d.Store, d.System.Leases, "first start", wait, work)
}

// RefusalText returns a line about an object or a value that was not imported.
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

// Contents implements transfer.Content with the file storage.
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
