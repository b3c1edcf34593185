package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"restsrv/engine"
	"restsrv/engine/script"
	"restsrv/engine/script/module"
	"restsrv/engine/server"
	"restsrv/engine/server/appdata"
)

const checkUsage = `restsrv check looks at everything that a server would read, and starts nothing: the
deploy.json, the classes, navigation, views and workflows, plug-ins and gateways,
the accounts and roles of the folder acl, the objects, and every script, which it
loads against a database that it throws away. A line for each finding tells
where it is, and what happens instead: mistakes, misspelt names, what the server
only warns of, and what the application uses that restsrv does not have. The
database and the files of the application are not touched.

Notes name cached attributes whose stored values are withheld from a role of the
application, because it may not read everything that they are computed from. They
do not count as differences.

Mistakes are what the server resolves by default and refuses with -strict; their
lines end with what it does instead.

The last line says "runs as is", "runs with the N listed differences, M of them
mistakes that -strict refuses", or "does not run". The command succeeds with the
first of them alone. With -json each finding is a JSON object on a line of its own,
with the members file, line, column, path, level (fatal, mistake or warning), code,
found, expected and resolution, and nothing else is printed.

  restsrv check
`

// ErrDiffers is the error of check if it has findings, which it has already printed.
var ErrDiffers = errors.New("it does not run as it is")

// checkCommand runs restsrv check.
func checkCommand(ctx context.Context, args []string, s Stdio) error {
	c := &dataCommand{commandLine: newCommandLine("check", "", checkUsage, s), io: s}
	c.set.StringVar(&c.config, "config", "", "the deploy.json of the application (default deploy.json)")
	c.set.BoolVar(&c.strict, "strict", false, "refuse mistakes, as a server with -strict does")
	asJSON := c.set.Bool("json", false, "print a JSON object for each finding")
	if _, err := c.parseAtMost(args, 0); err != nil {
		return err
	}
	defer printAfter(2*time.Second, s.Err, "restsrv check: loading objects and scripts ...")()
	found, a, err := checkApplication(ctx, first(c.config, "deploy.json"), c.strict, s)
	if err != nil {
		return err
	}
	all := found.sortUnique(a.Config)
	if *asJSON {
		return printFindings(s.Out, all)
	}
	mistakes := 0
	for _, f := range all {
		fmt.Fprintln(s.Out, f)
		if f.Level == engine.Mistake {
			mistakes++
		}
	}
	if a.Meta != nil {
		fmt.Fprintf(s.Out, "%s, %s, %s\n", countText(len(a.Meta.Classes()), "class"), countText(len(a.Config.Services), "service"), countText(found.scripts, "script"))
	}
	for _, text := range found.notes {
		fmt.Fprintln(s.Out, text)
	}
	switch {
	case found.stops || c.strict && mistakes > 0:
		fmt.Fprintln(s.Out, "does not run")
	case mistakes > 0:
		fmt.Fprintf(s.Out, "runs with the %s, %d of them mistakes that -strict refuses\n", countText(len(all), "listed difference"), mistakes)
	case len(all) > 0:
		fmt.Fprintf(s.Out, "runs with the %s\n", countText(len(all), "listed difference"))
	default:
		fmt.Fprintln(s.Out, "runs as is")
		return nil
	}
	return ErrDiffers
}

// checkApplication checks an application. The findings include reasons that prevent its start. The
// error is only set if the check itself fails.
func checkApplication(ctx context.Context, config string, strict bool, s Stdio) (found findings, a *appdata.App, err error) {
	a, err = server.LoadApplication(config, strict)
	found.addFatal(err)
	found.addFaults(a.Warnings)
	if err != nil {
		found.addFaults(unusedSettings(a, scriptFiles(a)))
		return found, a, nil
	}
	if !strict {
		found.addFaults(a.CheckPresentation())
	}
	b, err := server.OpenSandbox(ctx, a, server.SandboxConfig{})
	if err != nil {
		return found, a, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	done, err := b.Fill(ctx, true)
	found.addFatal(err)
	found.addFilling(a.Config, done)
	found.addFatal(b.Load(ctx))
	found.addFaults(missingScripts(a))
	scripts := b.Scripts()
	if scripts == nil {
		found.addFaults(unusedSettings(a, scriptFiles(a)))
		return found, a, nil
	}
	found.addFaults(b.Refused())
	found.addFaults(unusedSettings(a, scripts.Files()))
	for _, text := range scriptFaults(scripts, withoutScripts(a), useColours(s, s.Out)) {
		found.addText(engine.Warning, text)
	}
	for _, missing := range scripts.MissingModules() {
		found.addText(engine.Warning, missing.Error())
	}
	found.scripts = scripts.Sources()
	err = found.addPartlyRead(ctx, b)
	return found, a, err
}

// scriptFaults returns a text for each script that cannot be loaded, with the reason and the
// services that use it. It leaves out the services named in others, because check reports them
// elsewhere.
func scriptFaults(m *script.Manager, others []string, colour bool) (texts []string) {
	services := map[string][]string{}
	for name, err := range m.Faults() {
		if slices.Contains(others, name) {
			continue
		}
		text := err.Error()
		var e *module.LoadError
		if errors.As(err, &e) && e.Excerpt != "" {
			text += "\n" + colourExcerpt(e.Excerpt, colour)
		}
		services[text] = append(services[text], name)
	}
	for _, text := range slices.Sorted(maps.Keys(services)) {
		names := services[text]
		slices.Sort(names)
		head, excerpt, more := strings.Cut(text, "\n")
		text = head + " (" + strings.Join(names, ", ") + ")"
		if more {
			text += "\n" + excerpt
		}
		texts = append(texts, text)
	}
	return texts
}

// printAfter prints a line after the time d, unless stop is called earlier. It is used for work
// that may be slow.
func printAfter(d time.Duration, to io.Writer, line string) (stop func()) {
	t := time.AfterFunc(d, func() { fmt.Fprintln(to, line) })
	return func() { t.Stop() }
}

// countText returns a number with a noun, such as "1 class" or "2 classes".
func countText(n int, thing string) string { return fmt.Sprintf("%d %s", n, plural(n, thing)) }

// plural returns the noun in the singular or plural.
func plural(n int, thing string) string {
	switch {
	case n == 1:
		return thing
	case strings.HasSuffix(thing, "s"):
		return thing + "es"
	}
	return thing + "s"
}
