// Package appdata opens the data of an application, for the server and for commands. It reads
// deploy.json and the classes, opens the database with the parts that store data in it, and loads
// the data of the folders acl and data into a new database.
package appdata

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"restsrv/engine"
	"restsrv/engine/deploy"
	"restsrv/engine/meta"
	"restsrv/engine/mistake"
	"restsrv/engine/oauth"
	"restsrv/engine/workflow"
)

// App is an application that was read from its directory.
type App struct {
	Config   *deploy.Config
	Meta     *meta.Repository
	Warnings engine.Faults
	strict   bool // mistakes are errors

	Presentation *meta.Presentation // its files are read on demand
	Workflows    *workflow.Definitions
}

// Load reads deploy.json, the class files and the workflows. known are the names that deploy.json
// may use. Load reports all faults at once, ordered by file and line. If strict is set, mistakes
// are errors. If there is an error, it still returns an App, with the warnings.
func Load(config string, known deploy.Known, strict bool) (*App, error) {
	c, faults := deploy.Load(config, known)
	sources, unreadable := meta.ReadDir(deploy.Directory(c.Dir), "meta")
	faults = append(faults, unreadable...)
	for _, class := range c.Classes {
		sources = append(sources, meta.Source{File: class.File, Path: class.Path, Value: class.Value, Inline: true})
	}
	repository, wrong := meta.Load(sources, c.Namespace, c.Images.Thumbnails...)
	faults = append(faults, wrong...)
	var access Rules
	if repository != nil {
		_, _, wrong := c.Records(repository)
		faults = append(faults, wrong...)
		access, wrong = ReadRules(c, repository, RuleData{})
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
			if _, _, wrong, err := readACL(c.Abs(ACLDir)); err == nil { // an error is reported at the start of the server
				faults = append(faults, wrong...)
			}
		}
	}
	errs, warnings := SortFaults(c, c.Locate(faults)).Split(strict)
	a := &App{Config: c, Meta: repository, Warnings: warnings, Presentation: shown, Workflows: flows, strict: strict}
	if len(errs) > 0 {
		return a, errs
	}
	return a, nil
}

// Report adds more faults to err, which Load returned, and returns an error with all faults that
// prevent a start.
func (a *App) Report(err error, more engine.Faults) error {
	var errs engine.Faults
	if err != nil && !errors.As(err, &errs) || len(more) == 0 {
		return err
	}
	errs, a.Warnings = SortFaults(a.Config, slices.Concat(errs, a.Warnings, more)).Split(a.strict)
	if len(errs) > 0 {
		return errs
	}
	return nil
}

// readWorkflows compiles the workflows of an application. properties are the names of properties
// that customProfile adds to accounts. A file without a workflow is a fatal fault.
func readWorkflows(classes engine.MetaRepository, shown *meta.Presentation, properties []string) (*workflow.Definitions, engine.Faults) {
	all, faults := shown.AllWorkflows()
	flows, wrong := workflow.Load(classes, all, properties)
	return flows, append(faults, wrong...)
}

// CheckPresentation returns the faults in navigation, views, masks and validators. It takes long
// for a large application. If Load was strict, it has already returned these faults.
func (a *App) CheckPresentation() engine.Faults {
	return a.Config.Locate(a.Presentation.Check(a.Meta))
}

// SeedObjects creates the objects that deploy.json describes if the database is new. It leaves
// out objects that the database refuses, and reports them in refused. If the application is
// strict, a refused object is an error instead.
func (a *App) SeedObjects(ctx context.Context, d *Database) (created int, refused engine.Faults, err error) {
	records, places, _ := a.Config.Records(a.Meta) // its faults are reported when the application is loaded
	for {
		done, err := d.Store.Seed(ctx, records)
		switch at, reason := refusedRecord(err); {
		case err == nil && done:
			return len(records), a.Config.Locate(refused), nil
		case err == nil: // the database is not new
			return 0, nil, nil
		case reason == "" || at >= len(records) || a.strict:
			return 0, nil, fmt.Errorf("the objects of %s cannot be created: %w", a.Config.File, err)
		default:
			rule := mistake.InlineObject
			refused = append(refused, engine.Fault{File: a.Config.File, Path: places[at], Level: rule.Level, Code: rule.Code,
				Found: "an object", Expected: "an object that the database takes: " + reason, Resolution: rule.Resolution})
			records, places = slices.Delete(records, at, at+1), slices.Delete(places, at, at+1)
		}
	}
}

// refusedRecord returns the index of the record that caused an error of Save, and the reason.
// reason is "" if no record caused the error.
func refusedRecord(err error) (index int, reason string) {
	var e *engine.Error
	if errors.As(err, &e) && e.Bulk && (e.Code == engine.Invalid || e.Code == engine.Conflict) {
		return e.Index, e.Message
	}
	return 0, ""
}

// SortFaults orders faults by file and line (see CompareFaults).
func SortFaults(c *deploy.Config, faults engine.Faults) engine.Faults {
	slices.SortStableFunc(faults, func(a, b engine.Fault) int { return CompareFaults(c, a, b) })
	return faults
}

// CompareFaults orders faults by place. Files of the configuration come first, then other files by
// name, then faults without a file.
func CompareFaults(c *deploy.Config, a, b engine.Fault) int {
	rank := func(f engine.Fault) int {
		switch {
		case f.File == "":
			return 2
		case f.File == c.File || deploy.IsSource(f.File):
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
}
