package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"restsrv/engine/deploy"
	"restsrv/engine/mistake"
	"restsrv/engine/server/appdata"
	"restsrv/engine/transfer"
)

const importUsage = `restsrv import takes objects into a database, also while its server runs.

  restsrv import DIR       an application directory: the objects of its data folder,
                           the accounts, roles and resources of its acl folder
  restsrv import DIR/data  a data folder: files named class@namespace@id.json, and
                           zip files of such files
  restsrv import FILE      NDJSON, one object a line with _class and _id; - is the
                           standard input. What restsrv export wrote comes back
                           exactly as it was.

Objects may refer to others that come later. Those that are there are changed
where they differ, so that importing twice changes nothing. Accounts and roles
are taken when they come for the first time. What cannot be taken is named, and
keeps nothing else from being taken; the command fails then. An object is taken
without a value that does not fit its attribute. The numbers in sequences.data
raise the sequences of the same name.

Mistakes in the application are resolved and reported as by the server. With
-strict they are refused, and so are objects with values that do not fit, with
null where a value is required, or with a workflow or stage that does not exist.
`

// importCommand runs restsrv import.
func importCommand(ctx context.Context, args []string, s Stdio) (err error) {
	c := newDataCommand("import", importUsage, s)
	c.set.BoolVar(&c.strict, "strict", false, "refuse mistakes in the application and objects with values that do not fit")
	names, err := c.parseAtMost(args, 1)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return c.usageError("what to import is missing: an application directory, a data folder, an NDJSON file or -")
	}
	from, err := findImport(names[0])
	if err != nil {
		return err
	}
	if c.config == "" {
		c.config = from.config
	}
	if err := c.loadApp(); err != nil {
		return err
	}
	source, err := from.open(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.close()) }()
	d, err := c.open(ctx, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return c.importAll(ctx, d, from, source)
}

// importFrom is the source of an import: the files and folders that it consists of.
type importFrom struct {
	name   string
	config string // deploy.json that belongs to the source; may be ""
	acl    string // folder acl; may be ""
	data   string // folder data; "" if the source is NDJSON
	close  func() error
}

// findImport determines the kind of source that a path is: an application directory, a data folder or a
// file.
func findImport(name string) (*importFrom, error) {
	f := &importFrom{name: name, close: func() error { return nil }}
	if name == "-" {
		return f, nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("%s: expected an application directory, a data folder or an NDJSON file: %w", name, appdata.PathCause(err))
	}
	if !info.IsDir() {
		return f, nil
	}
	has := func(dir, inner string) bool {
		_, err := os.Stat(filepath.Join(dir, inner))
		return err == nil
	}
	f.data = name
	if len(deploy.Sources(filepath.Join(name, "deploy.json"))) > 0 || has(name, "meta") || has(name, "data") || has(name, "acl") {
		f.data, f.acl = filepath.Join(name, "data"), filepath.Join(name, "acl")
	}
	for _, dir := range []string{name, filepath.Join(name, "..")} {
		if f.config == "" && len(deploy.Sources(filepath.Join(dir, "deploy.json"))) > 0 {
			f.config = filepath.Join(dir, "deploy.json")
		}
	}
	return f, nil
}

// open returns the objects of the source.
func (f *importFrom) open(c *dataCommand) (transfer.Source, error) {
	switch {
	case f.name == "-":
		return transfer.NDJSON(c.io.In, "standard input", -1), nil
	case f.data != "":
		folder, err := filepath.Rel(f.name, f.data)
		if err != nil {
			return transfer.Source{}, err
		}
		return appdata.DataFolder(f.name, folder, c.app.Config.Namespace)
	}
	file, err := os.Open(f.name)
	if err != nil {
		return transfer.Source{}, fmt.Errorf("%s: %w", f.name, appdata.PathCause(err))
	}
	f.close = file.Close
	size := int64(-1)
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		size = info.Size()
	}
	return transfer.NDJSON(file, f.name, size), nil
}

// importAll imports the whole source and prints the result. An application directory is loaded
// like at the first start of a server. If the source is an export, only the contents of the
// export are imported. For other sources, importAll first creates the objects in deploy.json if
// the database is new.
func (c *dataCommand) importAll(ctx context.Context, d *appdata.Database, from *importFrom, source transfer.Source) (err error) {
	f := &appdata.Filling{App: c.app, Database: d, ACL: from.acl, Data: source, Strict: c.strict}
	var end func()
	f.Progress, end = progress(c.io, "importing", source.Total, from.data == "")
	var done appdata.Filled
	switch {
	case from.acl != "":
		done, err = c.fillDatabase(ctx, f)
	case source.Exact:
		if _, err = d.Store.Seed(ctx, nil); err == nil {
			done.Report, err = f.ImportObjects(ctx)
		}
	default:
		if done.Seeded, done.Left, err = c.app.SeedObjects(ctx, d); err == nil {
			done.Report, err = f.ImportObjects(ctx)
		}
	}
	end()
	if err != nil {
		if done.Report != nil {
			fmt.Fprintf(c.io.Err, "restsrv import: ended after %d objects\n", done.Report.Count())
		}
		return appdata.PlainError(err)
	}
	return importSummary{c.app, done}.write(c.io.Out)
}

// fillDatabase loads the data of an application directory. A server that starts on a new database
// would load the same data, so fillDatabase makes such servers wait until it has finished.
func (c *dataCommand) fillDatabase(ctx context.Context, f *appdata.Filling) (done appdata.Filled, err error) {
	fresh, err := f.Database.Store.Fresh(ctx)
	if err != nil || !fresh {
		return f.Fill(ctx)
	}
	err = appdata.HoldFirstStart(ctx, f.Database, nil, func(ctx context.Context) error {
		done, err = f.Fill(ctx)
		return err
	})
	return done, err
}

// importSummary is the result of an import.
type importSummary struct {
	app *appdata.App
	appdata.Filled
}

// write prints the imported and the refused objects. It returns an error if any object was refused.
func (s importSummary) write(out io.Writer) error {
	r, a := s.Report, s.Access
	for _, name := range slices.Sorted(maps.Keys(r.Taken)) {
		fmt.Fprintf(out, "%8d  %s\n", r.Taken[name], name)
	}
	fmt.Fprintf(out, "%8d  objects of %d classes taken", r.Count(), len(r.Taken))
	if r.Unchanged > 0 {
		fmt.Fprintf(out, ", %d of them were there as they are", r.Unchanged)
	}
	fmt.Fprintln(out)
	if s.Seeded > 0 {
		fmt.Fprintf(out, "%8d  objects of %s created\n", s.Seeded, s.app.Config.File)
	}
	if a.Accounts+a.Roles+a.Resources+a.Known > 0 {
		fmt.Fprintf(out, "%8d  accounts and %d roles taken, %d accounts and roles known before, %d resources declared\n", a.Accounts, a.Roles, a.Known, a.Resources)
	}
	for _, name := range r.IgnoredNames() {
		fmt.Fprintf(out, "%8d  values passed over: there is no attribute %s\n", r.Ignored[name], name)
	}
	if r.Sequences > 0 {
		fmt.Fprintf(out, "%8d  sequences taken\n", r.Sequences)
	}
	for _, f := range r.Refused {
		if f.Rule == mistake.DataOther {
			fmt.Fprint(out, "warning: ")
		}
		fmt.Fprintln(out, appdata.RefusalText(f))
	}
	for _, f := range s.Left {
		fmt.Fprintf(out, "not taken: %s\n", f)
	}
	for _, where := range a.Weak {
		fmt.Fprintf(out, "warning: %s\n", appdata.WeakPasswordText(where))
	}
	for _, line := range a.RejectedEntries() {
		fmt.Fprintf(out, "not taken: %s\n", line)
	}
	if n := r.Failed() + len(s.Left) + len(a.RejectedEntries()); n > 0 {
		return fmt.Errorf("%d objects, values, accounts, roles or resources were not taken", n)
	}
	return nil
}
