package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"restsrv/engine/script"
	"restsrv/engine/script/module"
	"restsrv/engine/script/vm"
	"restsrv/engine/server"
)

// newLog returns the log of a server, with one record per line. With -watch it also returns the
// console; then the log shows the stack and an excerpt of the script below an error of a script,
// for the authors of the scripts. Without -watch the console is nil.
func newLog(f flags, s Stdio) (*slog.Logger, *console) {
	options := &slog.HandlerOptions{Level: f.log}
	if !f.watch {
		return slog.New(slog.NewTextHandler(s.Err, options)), nil
	}
	c := &console{to: s.Err, colour: useColours(s, s.Err)}
	return slog.New(&consoleHandler{slog.NewTextHandler(&c.record, options), c}), c
}

// console is the output of a server with -watch.
type console struct {
	to     io.Writer
	colour bool
	dir    string // the application directory

	mu     sync.Mutex
	record bytes.Buffer // output of the slog.TextHandler for the current record
}

// consoleHandler writes records to the console, with stacks and excerpts of scripts below them.
type consoleHandler struct {
	slog.Handler
	c *console
}

// Handle implements slog.Handler.
func (h *consoleHandler) Handle(ctx context.Context, r slog.Record) error {
	var excerpt, stack string
	first, more, _ := strings.Cut(r.Message, "\n") // scripts can log several lines
	brief := slog.NewRecord(r.Time, r.Level, first, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		switch {
		case a.Key == vm.ExcerptKey:
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
	for _, text := range []string{replaceControls(more), replaceControls(strings.ReplaceAll(stack, "\t", "")), colourExcerpt(excerpt, h.c.colour)} {
		if text != "" {
			h.c.record.WriteString("    " + strings.ReplaceAll(text, "\n", "\n    ") + "\n")
		}
	}
	_, err := h.c.to.Write(h.c.record.Bytes())
	return err
}

// replaceControls replaces control characters in a text, except tabs and line breaks.
func replaceControls(text string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' && c != '\t' && c != '\n' || c >= 0x7f && c <= 0x9f {
			return utf8.RuneError
		}
		return c
	}, text)
}

// headOf splits the text of a script error into the message with the first place, and the rest of
// the stack.
func headOf(v slog.Value) (head slog.Value, rest string) {
	message, stack, found := strings.Cut(v.String(), "\n\t")
	if !found {
		return v, ""
	}
	place, rest, _ := strings.Cut(stack, "\n")
	if !strings.HasPrefix(place, "at ") {
		return slog.StringValue(message), "\t" + stack
	}
	return slog.StringValue(message + " " + place), rest
}

// WithAttrs implements slog.Handler.
func (h *consoleHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &consoleHandler{h.Handler.WithAttrs(attrs), h.c}
}

// WithGroup implements slog.Handler.
func (h *consoleHandler) WithGroup(name string) slog.Handler {
	return &consoleHandler{h.Handler.WithGroup(name), h.c}
}

// printScripts prints one line about a reload of scripts. Below it, it prints the reason for each
// script that cannot be loaded.
func (c *console) printScripts(r script.Report) {
	if r.Idle() {
		return
	}
	var parts, reasons []string
	if len(r.Loaded) > 0 {
		parts = append(parts, strings.Join(r.Loaded, ", ")+" reloaded in "+shortDuration(r.Took))
	}
	var kept []string
	for _, name := range slices.Sorted(maps.Keys(r.Failed)) {
		if !slices.Contains(r.Down, name) {
			kept = append(kept, name)
		}
		reason := r.Failed[name].Error()
		if e := r.Failed[name].Excerpt; e != "" {
			reason += "\n" + colourExcerpt(e, c.colour)
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
	c.printLine(r.Changed, strings.Join(parts, "; "), reasons)
}

// printApplication prints one line about a reload of deploy.json and the classes. If the reload
// has failed, the line contains the reason.
func (c *console) printApplication(r server.Reload) {
	if r.Err == nil {
		text := "application reloaded in " + shortDuration(r.Took)
		if len(r.Database) > 0 {
			text += "; database: " + strings.Join(r.Database, ", ")
		}
		c.printLine(r.Changed, text, nil)
		return
	}
	text := withExcerpts(r.Err, c.dir, c.colour).Error()
	var e *module.LoadError
	if errors.As(r.Err, &e) && e.Excerpt != "" {
		text += "\n" + colourExcerpt(e.Excerpt, c.colour)
	}
	c.printLine(r.Changed, c.paint("the application cannot be reloaded and goes on as it was: ")+strings.ReplaceAll(text, "\n", "\n    "), nil)
}

// printLine prints a line with the changed files and the result, and the reasons below it. If
// changed is nil, all files count as changed.
func (c *console) printLine(changed []string, what string, reasons []string) {
	cause := "everything"
	if changed != nil {
		cause = server.ShownPaths(c.dir, changed)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s changed: %s\n", time.Now().Format(time.TimeOnly), cause, what)
	for _, r := range reasons {
		b.WriteString("    " + strings.ReplaceAll(r, "\n", "\n    ") + "\n")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = io.WriteString(c.to, b.String()) // fails if the terminal is gone
}

func (c *console) paint(text string) string {
	if !c.colour {
		return text
	}
	return red + text + noColour
}

// useColours reports whether output to w may contain colours: w is a terminal, and NO_COLOR is not
// set (see no-color.org).
func useColours(s Stdio, w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && s.Env("NO_COLOR") == "" && s.Env("TERM") != "dumb" && term.IsTerminal(int(f.Fd()))
}

const (
	red      = "\x1b[31m"
	green    = "\x1b[32m"
	faint    = "\x1b[2m"
	noColour = "\x1b[0m"
)

// colourExcerpt returns an excerpt of a script with colours, if yes is true. The marked line and
// the caret below it are red.
func colourExcerpt(excerpt string, yes bool) string {
	if !yes || excerpt == "" {
		return excerpt
	}
	lines := strings.Split(excerpt, "\n")
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, ">"), strings.HasPrefix(strings.TrimLeft(line, " "), "|"):
			lines[i] = red + line + noColour
		default:
			lines[i] = faint + line + noColour
		}
	}
	return strings.Join(lines, "\n")
}
