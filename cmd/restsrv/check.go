package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"restsrv/engine/script"
)

const checkUsage = `restsrv check looks at everything that a server would read, and starts nothing: the
deploy.json, the classes, the inline objects, plug-ins and gateways, navigation,
views and workflows, and every script, which it loads against a database that it
throws away. It tells each
finding with its place, misspelt names and what the server only warns of, too,
and fails when there is one. The database and the files of the application are
not touched.

  restsrv check
`

// checkCommand is restsrv check.
func checkCommand(ctx context.Context, args []string, s stdio) error {
	c := &dataCommand{commandLine: newCommandLine("check", "", checkUsage, s), io: s}
	c.set.StringVar(&c.config, "config", "", "the deploy.json of the application (default deploy.json)")
	if _, err := c.takes(args, 0); err != nil {
		return err
	}
	defer noteAfter(2*time.Second, s.Err, "restsrv check: loading the scripts ...")()
	found, a, err := check(ctx, first(c.config, "deploy.json"), s)
	if err != nil {
		return err
	}
	for _, f := range found.texts {
		fmt.Fprintln(s.Out, f)
	}
	if n := len(found.texts); n > 0 {
		return fmt.Errorf("%s found", counted(n, "mistake"))
	}
	fmt.Fprintf(s.Out, "ok: %s, %s, %s\n", counted(len(a.meta.Classes()), "class"), counted(len(a.config.Services), "service"), counted(found.scripts, "script"))
	return nil
}

// findings are what check finds.
type findings struct {
	texts   []string
	scripts int // files that services are made of
}

// check looks at an application. The error is one of ours, not of the
// application.
func check(ctx context.Context, config string, s stdio) (found findings, a *app, err error) {
	a, err = loadApplication(config)
	if err != nil {
		found.texts = strings.Split(err.Error(), "\n")
	}
	for _, w := range a.warnings {
		found.texts = append(found.texts, w.String())
	}
	if err != nil {
		return found, a, nil
	}
	for _, f := range a.checkPresentation() {
		found.texts = append(found.texts, f.String())
	}
	b, err := openSandbox(ctx, a, "", slog.New(slog.DiscardHandler))
	if err != nil {
		return found, a, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	if err := b.fill(ctx); err != nil {
		found.texts = append(found.texts, err.Error())
	}
	if err := b.load(ctx); err != nil {
		found.texts = append(found.texts, err.Error())
	}
	if e := b.current.Load(); e != nil {
		found.texts = append(found.texts, scriptFaults(e.scripts, colours(s, s.Out))...)
		found.scripts = e.scripts.Sources()
	}
	return found, a, nil
}

// scriptFaults tells which scripts cannot be loaded and why; services of one
// mistake together.
func scriptFaults(m *script.Manager, colour bool) (texts []string) {
	services := map[string][]string{}
	for name, err := range m.Faults() {
		text := err.Error()
		var e *script.LoadError
		if errors.As(err, &e) && e.Excerpt != "" {
			text += "\n" + coloured(e.Excerpt, colour)
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

// noteAfter writes a line unless stop is called before; for what may take long.
func noteAfter(d time.Duration, to io.Writer, line string) (stop func()) {
	t := time.AfterFunc(d, func() { fmt.Fprintln(to, line) })
	return func() { t.Stop() }
}

// counted is a number of things, "1 class" or "2 classes".
func counted(n int, thing string) string {
	switch {
	case n == 1:
		return "1 " + thing
	case strings.HasSuffix(thing, "s"):
		return fmt.Sprintf("%d %ses", n, thing)
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
