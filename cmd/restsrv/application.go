package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"

	"restsrv/engine"
	"restsrv/engine/deploy"
	"restsrv/engine/file"
	"restsrv/engine/meta"
	"restsrv/engine/mistake"
	"restsrv/engine/oauth"
	"restsrv/engine/workflow"
)

// app is a loaded application directory.
type app struct {
	config   *deploy.Config
	meta     *meta.Repository
	warnings engine.Faults
	reading  reading         // the files that it was read from, for the server
	told     map[string]bool // the warnings as lines of text, for the server
	strict   bool            // set if mistakes are rejected

	presentation *meta.Presentation // read on demand
	workflows    *workflow.Definitions
}

// loadApplication reads deploy.json and the class files. It reports all their faults at
// once, in the order of files and lines. If strict is set, mistakes are errors. An app
// with its warnings is returned even with an error.
func loadApplication(config string, strict bool) (*app, error) {
	c, faults := deploy.Load(config, knownNames())
	sources, unreadable := meta.ReadDir(deploy.Directory(c.Dir), "meta")
	faults = append(faults, unreadable...)
	for _, class := range c.Classes {
		sources = append(sources, meta.Source{File: class.File, Path: class.Path, Value: class.Value, Inline: true})
	}
	repository, wrong := meta.Load(sources, c.Namespace, c.Images.Thumbnails...)
	faults = append(faults, wrong...)
	var access rules
	if repository != nil {
		_, _, wrong := c.Records(repository)
		faults = append(faults, wrong...)
		access, wrong = readRules(c, repository, ruleData{})
		faults = append(faults, wrong...)
	} else if names, complete := meta.Names(sources, c.Namespace); complete && len(unreadable) == 0 {
		faults = append(faults, c.UnknownClasses(names)...)
	}
	if c.OAuth != nil {
		_, wrong := oauth.ParseOptions(c.File, c.OAuth.Path+".options", c.OAuth.Options)
		faults = append(faults, wrong...)
	}
	shown := meta.NewPresentation(deploy.Directory(c.Dir), c.Namespace)
	var flows *workflow.Definitions
	if repository != nil {
		flows, wrong = readWorkflows(repository, shown, access.accountProperties())
		faults = append(faults, wrong...)
		if strict {
			faults = append(faults, shown.Check(repository)...)
			if _, _, wrong, err := readACL(c.Abs(aclDir)); err == nil { // an error is reported by the start
				faults = append(faults, wrong...)
			}
		}
	}
	errs, warnings := sortFaults(c, c.Locate(faults)).Split(strict)
	a := &app{config: c, meta: repository, warnings: warnings, presentation: shown, workflows: flows, strict: strict}
	if len(errs) > 0 {
		return a, errs
	}
	return a, nil
}

// readWorkflows compiles the workflows of an application. A file that is not a workflow
// is a fatal fault.
func readWorkflows(classes engine.MetaRepository, shown *meta.Presentation, properties []string) (*workflow.Definitions, engine.Faults) {
	all, faults := shown.AllWorkflows()
	flows, wrong := workflow.Load(classes, all, properties)
	return flows, append(faults, wrong...)
}

// checkPresentation returns the faults in navigation, views, masks and validators. If
// loadApplication is strict, it includes them.
func (a *app) checkPresentation() engine.Faults {
	return a.config.Locate(a.presentation.Check(a.meta))
}

// seedObjects creates the inline objects in a new database, as the first start of the server
// does. If the database rejects an object, seed leaves it out and adds a fault for it.
// It returns the number of created objects and the faults. If the application is
// strict, one rejected object is an error.
func (a *app) seedObjects(ctx context.Context, d *database) (created int, refused engine.Faults, err error) {
	records, places, _ := a.config.Records(a.meta) // its faults were reported when the application was loaded
	for {
		done, err := d.store.Seed(ctx, records)
		switch at, reason := refusedRecord(err); {
		case err == nil && done:
			return len(records), a.config.Locate(refused), nil
		case err == nil: // the database is not new
			return 0, nil, nil
		case reason == "" || at >= len(records) || a.strict:
			return 0, nil, fmt.Errorf("the objects of %s cannot be created: %w", a.config.File, err)
		default:
			rule := mistake.InlineObject
			refused = append(refused, engine.Fault{File: a.config.File, Path: places[at], Level: rule.Level, Code: rule.Code,
				Found: "an object", Expected: "an object that the database takes: " + reason, Resolution: rule.Resolution})
			records, places = slices.Delete(records, at, at+1), slices.Delete(places, at, at+1)
		}
	}
}

// refusedRecord returns the index of the record that an error of Save is about, and the
// reason of the rejection; "" if the error has another cause.
func refusedRecord(err error) (index int, reason string) {
	var e *engine.Error
	if errors.As(err, &e) && e.Bulk && (e.Code == engine.Invalid || e.Code == engine.Conflict) {
		return e.Index, e.Message
	}
	return 0, ""
}

// dataCommand is the command line and the application of a command that works on a
// database.
type dataCommand struct {
	*commandLine
	config, db string
	io         stdio
	app        *app
	strict     bool // set if mistakes in the application are rejected
}

// newDataCommand returns a dataCommand. -h prints usage before the flags.
func newDataCommand(name, usage string, s stdio) *dataCommand {
	c := &dataCommand{commandLine: newCommandLine(name, "", usage, s), io: s}
	c.databaseFlags(&c.config, &c.db)
	return c
}

// parseAtMost parses the arguments, and fails if there are more than most besides flags.
func (c *dataCommand) parseAtMost(args []string, most int) ([]string, error) {
	names, err := c.parse(args)
	if err == nil && len(names) > most {
		err = c.usageError("%q is one argument too many", names[most])
	}
	return names, err
}

// loadApp reads the application and prints its warnings.
func (c *dataCommand) loadApp() error {
	app, err := loadApplication(first(c.config, "deploy.json"), c.strict)
	for _, w := range app.warnings {
		fmt.Fprintln(c.io.Err, "warning:", w)
	}
	if err != nil {
		return fmt.Errorf("the application cannot be read:\n%w", err)
	}
	c.app = app
	return nil
}

// openForReading prepares a command that only reads and takes no arguments: it parses the
// flags, reads the application and opens the database, which must exist.
func (c *dataCommand) openForReading(ctx context.Context, args []string) (*database, error) {
	if _, err := c.parseAtMost(args, 0); err != nil {
		return nil, err
	}
	if err := c.loadApp(); err != nil {
		return nil, err
	}
	return c.open(ctx, true)
}

// open opens the database that -db, the environment or deploy.json names. If there is
// set, the database must exist.
func (c *dataCommand) open(ctx context.Context, there bool) (*database, error) {
	return c.openAt(ctx, first(c.db, c.io.Env("RESTSRV_DB"), c.app.config.DB), opening{there: there})
}

func (c *dataCommand) openAt(ctx context.Context, url string, o opening) (*database, error) {
	o.classes, o.log = c.app.meta.Classes(), slog.New(slog.DiscardHandler)
	return openDatabase(ctx, c.app.config, url, o)
}

// contents implements transfer.Content on the file storage.
type contents struct{ files *file.Storage }

// Put implements transfer.Content.
func (c contents) Put(ctx context.Context, content io.Reader) (string, error) {
	f, err := c.files.Put(ctx, "", "", content)
	return f.Hash, err
}

// Open implements transfer.Content.
func (c contents) Open(ctx context.Context, hash string) (io.ReadCloser, error) {
	return c.files.Open(ctx, engine.StoredFile{Hash: hash})
}
