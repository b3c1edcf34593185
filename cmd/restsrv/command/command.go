package command

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"restsrv/engine/suggest"
)

// commandLine holds the flags and arguments of one command.
type commandLine struct {
	set  *flag.FlagSet
	help string // command that prints help with -h, for error messages
	err  io.Writer
}

// newCommandLine returns the command line of "restsrv name sub"; sub may be "". With -h it prints
// usage and then the flags.
func newCommandLine(name, sub, usage string, s Stdio) *commandLine {
	c := &commandLine{help: joinWords("restsrv", name), err: s.Err}
	c.set = flag.NewFlagSet(joinWords(c.help, sub), flag.ContinueOnError)
	heading := "Flags:"
	if sub != "" {
		heading = "Flags of " + sub + ":"
	}
	c.set.Usage = func() {
		fmt.Fprint(s.Err, usage, "\n", heading, "\n")
		c.set.SetOutput(s.Err)
		c.set.PrintDefaults()
	}
	return c
}

func joinWords(a, b string) string {
	if b == "" {
		return a
	}
	return a + " " + b
}

// databaseFlags adds the flags -config and -db, which all commands with a database have.
func (c *commandLine) databaseFlags(config, db *string) {
	c.set.StringVar(config, "config", "", "the deploy.json of the application (default deploy.json)")
	c.set.StringVar(db, "db", "", "database, sqlite:PATH or postgres://user@host/database (default as for the server; also RESTSRV_DB)")
}

// parse parses flags, before and after the arguments, and returns the arguments. If they are
// invalid, it prints one line and returns errUsage.
func (c *commandLine) parse(args []string) (names []string, err error) {
	explain := c.set.Usage
	c.set.SetOutput(io.Discard) // parse prints mistakes itself
	c.set.Usage = func() {}
	for {
		switch err := c.set.Parse(args); {
		case errors.Is(err, flag.ErrHelp):
			explain()
			return nil, err
		case err != nil:
			return nil, c.usageError("%v%s", err, c.suggestFlag(err))
		case c.set.NArg() == 0:
			return names, nil
		}
		names, args = append(names, c.set.Arg(0)), c.set.Args()[1:]
	}
}

// suggestFlag returns a question with the flag that is most similar to the one in err. It returns
// "" if err is not about an unknown flag, or if no flag is similar.
func (c *commandLine) suggestFlag(err error) string {
	name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !unknown {
		return ""
	}
	var known []string
	c.set.VisitAll(func(f *flag.Flag) { known = append(known, f.Name) })
	near := suggest.Nearest(strings.TrimPrefix(name, "-"), known)
	if near == "" {
		return ""
	}
	return "; did you mean -" + near + "?"
}

// unknownCommand is the usageError for a subcommand that does not exist.
func (c *commandLine) unknownCommand(name string, known ...string) error {
	if near := suggest.Nearest(name, known); near != "" {
		return c.usageError("unknown command %q; did you mean %s?", name, near)
	}
	last := len(known) - 1
	return c.usageError("unknown command %q; the commands are %s and %s", name, strings.Join(known[:last], ", "), known[last])
}

// usageError prints a mistake in the arguments and returns errUsage.
func (c *commandLine) usageError(format string, args ...any) error {
	fmt.Fprintf(c.err, "%s: %s (%s -h)\n", c.set.Name(), fmt.Sprintf(format, args...), c.help)
	return ErrUsage
}

// progress shows a progress bar if the command runs at a terminal. total is the final number,
// negative if unknown. If bytes is set, the unit is bytes. Call done before other output.
func progress(s Stdio, what string, total int64, bytes bool) (add func(int64), done func()) {
	if !s.Terminal {
		return func(int64) {}, func() {}
	}
	bar := progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(s.Err),
		progressbar.OptionSetDescription(what),
		progressbar.OptionShowCount(),
		progressbar.OptionShowBytes(bytes),
		progressbar.OptionSetWidth(30),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSetRenderBlankState(true),
		progressbar.OptionClearOnFinish(),
	)
	// Errors of the terminal do not fail the command.
	return func(n int64) { _ = bar.Add64(n) }, func() { _ = bar.Finish() }
}
