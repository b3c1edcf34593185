package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"restsrv/engine/script"
)

// newLog is the log of a server: records with attributes, one a line. While
// developing it is read by who writes the scripts: failures come with their
// stack and the lines of the script around them.
func newLog(f flags, s stdio) (*slog.Logger, *console) {
	options := &slog.HandlerOptions{Level: f.log}
	if !f.watch {
		return slog.New(slog.NewTextHandler(s.Err, options)), nil
	}
	c := &console{to: s.Err, colour: colours(s, s.Err)}
	return slog.New(&consoleHandler{slog.NewTextHandler(&c.record, options), c}), c
}

// console is where developing is watched.
type console struct {
	to     io.Writer
	colour bool
	dir    string // the application directory

	mu     sync.Mutex
	record bytes.Buffer // what the handler of records has written
}

// consoleHandler writes records with what else they have to show.
type consoleHandler struct {
	slog.Handler
	c *console
}

// Handle is slog.Handler's.
func (h *consoleHandler) Handle(ctx context.Context, r slog.Record) error {
	var excerpt, stack string
	first, more, _ := strings.Cut(r.Message, "\n") // of what scripts write to the console
	brief := slog.NewRecord(r.Time, r.Level, first, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		switch {
		case a.Key == script.ExcerptKey:
			excerpt = a.Value.String()
			return true
		case a.Key == "error":
			a.Value, stack = headOf(a.Value)
		}
		brief.AddAttrs(a)
		return true
	})
	h.c.mu.Lock()
	defer h.c.mu.Unlock()
	h.c.record.Reset()
	if err := h.Handler.Handle(ctx, brief); err != nil {
		return err
	}
	for _, text := range []string{printable(more), strings.ReplaceAll(stack, "\t", ""), coloured(excerpt, h.c.colour)} {
		if text != "" {
			h.c.record.WriteString("    " + strings.ReplaceAll(text, "\n", "\n    ") + "\n")
		}
	}
	_, err := h.c.to.Write(h.c.record.Bytes())
	return err
}

// printable is text without what a terminal takes for more than text.
func printable(text string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' && c != '\t' && c != '\n' || c >= 0x7f && c <= 0x9f {
			return utf8.RuneError
		}
		return c
	}, text)
}

// headOf is the message of a failure with its place, and the rest of its stack.
func headOf(v slog.Value) (head slog.Value, rest string) {
	message, stack, found := strings.Cut(v.String(), "\n\t")
	if !found {
		return v, ""
	}
	place, rest, _ := strings.Cut(stack, "\n")
	return slog.StringValue(message + " " + place), rest
}

// WithAttrs is slog.Handler's.
func (h *consoleHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &consoleHandler{h.Handler.WithAttrs(attrs), h.c}
}

// WithGroup is slog.Handler's.
func (h *consoleHandler) WithGroup(name string) slog.Handler {
	return &consoleHandler{h.Handler.WithGroup(name), h.c}
}

// scripts tells what became of a reload of scripts, in a line; and of each file
// that cannot be loaded, why.
func (c *console) scripts(r script.Report) {
	if r.Idle() {
		return
	}
	var parts, reasons []string
	if len(r.Loaded) > 0 {
		parts = append(parts, strings.Join(r.Loaded, ", ")+" reloaded in "+short(r.Took))
	}
	var kept []string
	for _, name := range slices.Sorted(maps.Keys(r.Failed)) {
		if !slices.Contains(r.Down, name) {
			kept = append(kept, name)
		}
		reason := r.Failed[name].Error()
		if e := r.Failed[name].Excerpt; e != "" {
			reason += "\n" + coloured(e, c.colour)
		}
		if !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
	}
	if len(kept) > 0 {
		parts = append(parts, c.paint(strings.Join(kept, ", ")+" failed, the last good version keeps answering"))
	}
	if len(r.Down) > 0 {
		parts = append(parts, c.paint(strings.Join(r.Down, ", ")+" failed and answers 503"))
	}
	c.line(r.Changed, strings.Join(parts, "; "), reasons)
}

// application tells what became of a reload of deploy.json and classes.
func (c *console) application(changed []string, took time.Duration, err error) {
	if err == nil {
		c.line(changed, "application reloaded in "+short(took), nil)
		return
	}
	text := err.Error()
	var e *script.LoadError
	if errors.As(err, &e) && e.Excerpt != "" {
		text += "\n" + coloured(e.Excerpt, c.colour)
	}
	c.line(changed, c.paint("the application cannot be reloaded and goes on as it was: ")+strings.ReplaceAll(text, "\n", "\n    "), nil)
}

// line writes what changed and what came of it, with reasons below it.
func (c *console) line(changed []string, what string, reasons []string) {
	cause := "everything"
	if changed != nil {
		cause = shownPaths(c.dir, changed)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s changed: %s\n", time.Now().Format(time.TimeOnly), cause, what)
	for _, r := range reasons {
		b.WriteString("    " + strings.ReplaceAll(r, "\n", "\n    ") + "\n")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = io.WriteString(c.to, b.String()) // nobody is to be told of a console that is gone
}

func (c *console) paint(text string) string {
	if !c.colour {
		return text
	}
	return red + text + noColour
}

// shownPaths are paths as people know them: from the application directory on,
// and not too many.
func shownPaths(dir string, paths []string) string {
	const most = 5
	var names []string
	for _, p := range paths {
		if rel, err := filepath.Rel(dir, p); err == nil {
			p = filepath.ToSlash(rel)
		}
		names = append(names, p)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	all := slices.Clone(names)
	names = slices.DeleteFunc(names, func(name string) bool {
		return slices.ContainsFunc(all, func(folder string) bool { return strings.HasPrefix(name, folder+"/") })
	})
	if n := len(names) - most; n > 0 {
		names = append(names[:most], fmt.Sprintf("%d more", n))
	}
	return strings.Join(names, ", ")
}
