package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"restsrv/engine/deploy"
	"restsrv/engine/mistake"
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
func importCommand(ctx context.Context, args []string, s stdio) (err error) {
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
	defer func() { err = errors.Join(err, d.close()) }()
	return c.importAll(ctx, d, from, source)
}

// importFrom is the source of an import.
type importFrom struct {
	name   string
	config string // deploy.json that belongs to it; may be ""
	acl    string // folder; may be ""
	data   string // folder; "" if the source is NDJSON
	close  func() error
}

// findImport finds out which kind of source a path is.
func findImport(name string) (*importFrom, error) {
	f := &importFrom{name: name, close: func() error { return nil }}
	if name == "-" {
		return f, nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("%s: expected an application directory, a data folder or an NDJSON file: %w", name, unwrapPath(err))
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

// unwrapPath removes the path from an error, if the caller prints the path
// itself.
func unwrapPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
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
		return dataFolder(f.name, folder, c.app.config.Namespace)
	}
	file, err := os.Open(f.name)
	if err != nil {
		return transfer.Source{}, fmt.Errorf("%s: %w", f.name, unwrapPath(err))
	}
	f.close = file.Close
	size := int64(-1)
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		size = info.Size()
	}
	return transfer.NDJSON(file, f.name, size), nil
}

// importAll imports everything and prints the result. If the source is not an
// application directory, its objects come after the inline objects or, if it is
// an export, replace them.
func (c *dataCommand) importAll(ctx context.Context, d *database, from *importFrom, source transfer.Source) (err error) {
	f := &filling{app: c.app, db: d, acl: from.acl, data: source, strict: c.strict}
	var end func()
	f.add, end = progress(c.io, "importing", source.Total, from.data == "")
	var done filled
	switch {
	case from.acl != "":
		done, err = c.fillDatabase(ctx, f)
	case source.Exact:
		if _, err = d.store.Seed(ctx, nil); err == nil {
			done.report, err = f.importObjects(ctx)
		}
	default:
		if done.seeded, done.left, err = c.app.seedObjects(ctx, d); err == nil {
			done.report, err = f.importObjects(ctx)
		}
	}
	end()
	if err != nil {
		if done.report != nil {
			fmt.Fprintf(c.io.Err, "restsrv import: ended after %d objects\n", done.report.Count())
		}
		return plainError(err)
	}
	return importSummary{c.app, done}.write(c.io.Out)
}

// fillDatabase fills the database. If it is new, it makes sure that no server fills it
// at the same time.
func (c *dataCommand) fillDatabase(ctx context.Context, f *filling) (done filled, err error) {
	fresh, err := f.db.store.Fresh(ctx)
	if err != nil || !fresh {
		return f.fill(ctx)
	}
	err = holdFirstStart(ctx, f.db, nil, func(ctx context.Context) error {
		done, err = f.fill(ctx)
		return err
	})
	return done, err
}

// importSummary is the report of an import.
type importSummary struct {
	app *app
	filled
}

// write prints the imported and the rejected objects. It returns an error if
// there are rejected ones.
func (s importSummary) write(out io.Writer) error {
	r, a := s.report, s.access
	for _, name := range slices.Sorted(maps.Keys(r.Taken)) {
		fmt.Fprintf(out, "%8d  %s\n", r.Taken[name], name)
	}
	fmt.Fprintf(out, "%8d  objects of %d classes taken", r.Count(), len(r.Taken))
	if r.Unchanged > 0 {
		fmt.Fprintf(out, ", %d of them were there as they are", r.Unchanged)
	}
	fmt.Fprintln(out)
	if s.seeded > 0 {
		fmt.Fprintf(out, "%8d  objects of %s created\n", s.seeded, s.app.config.File)
	}
	if a.accounts+a.roles+a.resources+a.known > 0 {
		fmt.Fprintf(out, "%8d  accounts and %d roles taken, %d accounts and roles known before, %d resources declared\n", a.accounts, a.roles, a.known, a.resources)
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
		fmt.Fprintln(out, refusalLine(f))
	}
	for _, f := range s.left {
		fmt.Fprintf(out, "not taken: %s\n", f)
	}
	for _, where := range a.weak {
		fmt.Fprintf(out, "warning: %s\n", weakPassword(where))
	}
	for _, line := range a.rejectedEntries() {
		fmt.Fprintf(out, "not taken: %s\n", line)
	}
	if n := r.Failed() + len(s.left) + len(a.rejectedEntries()); n > 0 {
		return fmt.Errorf("%d objects, values, accounts, roles or resources were not taken", n)
	}
	return nil
}
