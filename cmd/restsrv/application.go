package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"

	"restsrv/engine"
	"restsrv/engine/deploy"
	"restsrv/engine/file"
	"restsrv/engine/meta"
	"restsrv/engine/oauth"
)

// app is what an application directory says.
type app struct {
	config   *deploy.Config
	meta     *meta.Repository
	warnings engine.Faults
}

// loadApplication reads deploy.json and the class files; all their faults come
// at once. There are warnings also beside an error.
func loadApplication(config string) (*app, error) {
	c, faults := deploy.Load(config, known())
	sources, unreadable := meta.ReadDir(os.DirFS(c.Dir), "meta")
	faults = append(faults, unreadable...)
	for _, class := range c.Classes {
		sources = append(sources, meta.Source{File: class.File, Path: class.Path, Value: class.Value, Inline: true})
	}
	repository, wrong := meta.Load(sources, c.Namespace)
	faults = append(faults, wrong...)
	if repository != nil {
		_, wrong := c.Records(repository)
		faults = append(faults, wrong...)
		_, wrong = readRules(c, repository, nil, nil)
		faults = append(faults, wrong...)
	} else if names, complete := meta.Names(sources, c.Namespace); complete && len(unreadable) == 0 {
		faults = append(faults, c.UnknownClasses(names)...)
	}
	if c.OAuth != nil {
		_, wrong := oauth.ParseOptions(c.File, c.OAuth.Path+".options", c.OAuth.Options)
		faults = append(faults, wrong...)
	}
	errs, warnings := deploy.Locate(c.Dir, faults).Split()
	a := &app{config: c, meta: repository, warnings: warnings}
	if len(errs) > 0 {
		return a, errs
	}
	return a, nil
}

// seed puts the inline objects into a new database, as the first start of the
// server does, and returns how many.
func (a *app) seed(ctx context.Context, d *database) (int, error) {
	records, faults := a.config.Records(a.meta)
	if len(faults) > 0 {
		return 0, faults
	}
	done, err := d.store.Seed(ctx, records)
	if err != nil {
		return 0, fmt.Errorf("the objects of %s cannot be created: %w", a.config.File, err)
	}
	if !done {
		return 0, nil
	}
	return len(records), nil
}

// dataCommand are the flags and the application of a command that works on a
// database.
type dataCommand struct {
	name       string
	config, db string
	io         stdio
	set        *flag.FlagSet
	app        *app
}

// newDataCommand defines the flags that the commands share. usage is what -h
// says before them.
func newDataCommand(name, usage string, s stdio) *dataCommand {
	c := &dataCommand{name: name, io: s, set: flag.NewFlagSet("restsrv "+name, flag.ContinueOnError)}
	c.set.SetOutput(s.Err)
	c.set.StringVar(&c.config, "config", "", "the deploy.json whose classes count (default deploy.json)")
	c.set.Usage = func() {
		fmt.Fprint(s.Err, usage, "\nFlags:\n")
		c.set.PrintDefaults()
	}
	return c
}

func (c *dataCommand) dbFlag() {
	c.set.StringVar(&c.db, "db", "", "database, sqlite:PATH or postgres://user@host/database (default as for the server; also RESTSRV_DB)")
}

// parse reads flags, which may stand before and after arguments, of which there
// are at most so many.
func (c *dataCommand) parse(args []string, most int) (names []string, err error) {
	for {
		if err := c.set.Parse(args); errors.Is(err, flag.ErrHelp) {
			return nil, err
		} else if err != nil {
			return nil, errUsage
		}
		if c.set.NArg() == 0 {
			return names, nil
		}
		if len(names) == most {
			fmt.Fprintf(c.io.Err, "restsrv %s: %q is one argument too many (restsrv %s -h)\n", c.name, c.set.Arg(0), c.name)
			return nil, errUsage
		}
		names, args = append(names, c.set.Arg(0)), c.set.Args()[1:]
	}
}

// load reads the application, and tells its warnings.
func (c *dataCommand) load() error {
	app, err := loadApplication(first(c.config, "deploy.json"))
	for _, w := range app.warnings {
		fmt.Fprintln(c.io.Err, "warning:", w)
	}
	if err != nil {
		return fmt.Errorf("the application cannot be read:\n%w", err)
	}
	c.app = app
	return nil
}

// open opens the database that -db, the environment or deploy.json name.
func (c *dataCommand) open(ctx context.Context, there bool) (*database, error) {
	return c.openAt(ctx, first(c.db, c.io.Env("RESTSRV_DB"), c.app.config.DB), opening{there: there})
}

func (c *dataCommand) openAt(ctx context.Context, url string, o opening) (*database, error) {
	o.classes, o.log = c.app.meta.Classes(), slog.New(slog.DiscardHandler)
	return openDatabase(ctx, c.app.config, url, o)
}

// contents are the contents of files as exports have them.
type contents struct{ files *file.Storage }

// Put is transfer.Content's.
func (c contents) Put(ctx context.Context, content io.Reader) (string, error) {
	f, err := c.files.Put(ctx, "", "", content)
	return f.Hash, err
}

// Open is transfer.Content's.
func (c contents) Open(ctx context.Context, hash string) (io.ReadCloser, error) {
	return c.files.Open(ctx, engine.StoredFile{Hash: hash})
}
