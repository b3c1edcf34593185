package command

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"

	"restsrv/engine/deploy"
	"restsrv/engine/server"
	"restsrv/engine/server/appdata"
)

// dataCommand holds the command line and the application of a command that uses the database.
type dataCommand struct {
	*commandLine
	config, db string
	io         Stdio
	app        *appdata.App
	strict     bool // mistakes in the application are errors
}

// newDataCommand returns a dataCommand with the flags -config and -db. With -h it prints usage and
// then the flags.
func newDataCommand(name, usage string, s Stdio) *dataCommand {
	c := &dataCommand{commandLine: newCommandLine(name, "", usage, s), io: s}
	c.databaseFlags(&c.config, &c.db)
	return c
}

// parseAtMost parses the command line. It returns an error if there are more than most arguments.
func (c *dataCommand) parseAtMost(args []string, most int) ([]string, error) {
	names, err := c.parse(args)
	if err == nil && len(names) > most {
		err = c.usageError("%q is one argument too many", names[most])
	}
	return names, err
}

// loadApp reads the application and prints its warnings.
func (c *dataCommand) loadApp() error {
	app, err := server.LoadApplication(first(c.config, "deploy.json"), c.strict)
	for _, w := range app.Warnings {
		fmt.Fprintln(c.io.Err, "warning:", w)
	}
	if err != nil {
		return withExcerpts(fmt.Errorf("the application cannot be read:\n%w", err), filepath.Dir(first(c.config, "deploy.json")), useColours(c.io, c.io.Err))
	}
	c.app = app
	return nil
}

// openForReading prepares a command that only reads and has no arguments. It parses the flags,
// reads the application and opens the database, which must exist.
func (c *dataCommand) openForReading(ctx context.Context, args []string) (*appdata.Database, error) {
	if _, err := c.parseAtMost(args, 0); err != nil {
		return nil, err
	}
	if err := c.loadApp(); err != nil {
		return nil, err
	}
	return c.open(ctx, true)
}

// open opens the database in -db, RESTSRV_DB or deploy.json, in this order. If the parameter there
// is true, the database must exist.
func (c *dataCommand) open(ctx context.Context, there bool) (*appdata.Database, error) {
	return c.openAt(ctx, first(c.db, c.io.Env("RESTSRV_DB"), c.app.Config.DB), appdata.Options{MustExist: there})
}

func (c *dataCommand) openAt(ctx context.Context, url string, o appdata.Options) (*appdata.Database, error) {
	o.Classes, o.Log = c.app.Meta.Classes(), slog.New(slog.DiscardHandler)
	return appdata.Open(ctx, c.app.Config, url, o)
}

// openForAccess opens the database without the classes of the application, so that accounts and
// grants can be managed even if the classes are invalid.
func openForAccess(ctx context.Context, config, db string, s Stdio) (*appdata.Database, error) {
	c, faults := deploy.Load(first(config, "deploy.json"), server.KnownNames())
	if errs, _ := faults.Split(false); len(errs) > 0 {
		return nil, errs
	}
	return appdata.Open(ctx, c, first(db, s.Env("RESTSRV_DB"), c.DB), appdata.Options{Log: slog.New(slog.DiscardHandler)})
}
