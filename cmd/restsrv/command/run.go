package command

import (
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"restsrv/engine/suggest"
)

// Stdio holds the streams and the environment of a command.
type Stdio struct {
	In       io.Reader
	Out, Err io.Writer
	Env      func(string) string
	Terminal bool // Err is a terminal
}

// ErrUsage means that the arguments are invalid. The reason is already printed.
var ErrUsage = errors.New("wrong usage")

// ErrInterrupted means that a signal has ended the command.
var ErrInterrupted = errors.New("interrupted before it was done")

const usage = `restsrv serves the application directory of a deploy.json over HTTP.

  restsrv [flags]      serve until SIGTERM or SIGINT
  restsrv init DIR     write a new application
  restsrv config       print each setting with its value and its origin
  restsrv user ...     add, change and list accounts
  restsrv token ...    print, list and revoke tokens of an account
  restsrv acl ...      grant, revoke and explain permissions
  restsrv client ...   add, change and list OAuth2 clients
  restsrv import PATH  import objects, accounts and roles of an application, a data folder or NDJSON
  restsrv export       write everything as NDJSON
  restsrv migrate ...  copy everything into another database
  restsrv files        find and remove files that no object uses
  restsrv check        check whether the application runs, and list every mistake and difference
  restsrv test         run the tests beside the scripts
  restsrv types        write TypeScript declarations for scripts
  restsrv audit        list sign-ins, changes of access and denied requests
  restsrv changes      list the changes of objects with a journal
  restsrv version      print the version of restsrv and of Go

Each command explains itself with -h.
`

// commands returns the functions of the commands, by name.
func commands() map[string]func(ctx context.Context, args []string, s Stdio) error {
	return map[string]func(ctx context.Context, args []string, s Stdio) error{
		"acl": aclCommand, "audit": auditCommand, "changes": changesCommand, "check": checkCommand, "client": clientCommand, "config": configCommand, "export": exportCommand,
		"files": filesCommand, "init": initCommand, "import": importCommand, "migrate": migrateCommand, "test": testCommand, "token": tokenCommand, "types": typesCommand, "user": userCommandLine, "version": versionCommand,
	}
}

// Names returns the names of the commands in alphabetical order.
func Names() []string { return slices.Sorted(maps.Keys(commands())) }

// Run runs the command that args name. If args name no command, it runs the server. It returns when
// ctx ends.
func Run(ctx context.Context, args []string, s Stdio) error {
	if len(args) > 0 {
		if command := commands()[args[0]]; command != nil {
			err := command(ctx, args[1:], s)
			if err != nil && ctx.Err() != nil {
				return ErrInterrupted // the other error is only a consequence
			}
			return err
		}
	}
	f, err := parseFlags(args, s)
	if err != nil {
		return err
	}
	return serve(ctx, f, s)
}

// flags holds the flags of the server. If a flag is "", the value comes from the environment,
// else from deploy.json, else it is the default.
type flags struct {
	config, db, addr string
	watch, strict    bool
	log              slog.Level
}

func parseFlags(args []string, s Stdio) (flags, error) {
	var f flags
	c := newCommandLine("", "", usage, s)
	c.set.StringVar(&f.config, "config", "deploy.json", "the deploy.json or deploy.yml; its folder is the application directory")
	c.set.StringVar(&f.db, "db", "", "database, sqlite:PATH or postgres://user@host/database (default sqlite:restsrv.db in the application directory; also RESTSRV_DB)")
	c.set.StringVar(&f.addr, "addr", "", "address to listen on (default 127.0.0.1:8888; also RESTSRV_ADDR)")
	c.set.BoolVar(&f.watch, "watch", false, "development: reload scripts, deploy.json and class files when they are saved, and show where scripts fail")
	c.set.BoolVar(&f.strict, "strict", false, "do not start while a script cannot be loaded, or with mistakes in the application")
	c.set.Func("log", "log `level`: debug, info, warn or error (default info)", func(s string) error {
		level, ok := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}[strings.ToLower(s)]
		if !ok {
			return errors.New("expected debug, info, warn or error")
		}
		f.log = level
		return nil
	})
	explain := c.set.Usage
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		names, err := c.parse(args)
		if err != nil || len(names) == 0 {
			return f, err
		}
		args = names
	}
	if args[0] == "help" {
		explain()
		return f, flag.ErrHelp
	}
	known := Names()
	if near := suggest.Nearest(args[0], known); near != "" {
		return f, c.usageError("unknown command %q; did you mean %s?", args[0], near)
	}
	return f, c.usageError("unknown command %q; the commands are %s and, without one, serving", args[0], strings.Join(known, ", "))
}

// first returns the first value that is not "".
func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
