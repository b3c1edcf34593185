package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"restsrv/engine/script"
)

// logged is a line of the log of a test.
type logged struct {
	text      string
	excerpt   string
	failure   string // what a script failed with
	rejection bool   // of a promise, that nobody handled
}

// testLog keeps what is logged until it is taken: what one test brought about.
type testLog struct {
	mu    sync.Mutex
	lines []logged
}

// maxTestLines bounds the log of one test.
const maxTestLines = 200

// take returns the lines so far, and forgets them.
func (l *testLog) take() []logged {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := l.lines
	l.lines = nil
	return lines
}

// Enabled is slog.Handler's.
func (l *testLog) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

// Handle is slog.Handler's.
func (l *testLog) Handle(_ context.Context, r slog.Record) error {
	l.add(r, nil)
	return nil
}

// WithAttrs is slog.Handler's.
func (l *testLog) WithAttrs(attrs []slog.Attr) slog.Handler { return &testLogWith{l, attrs} }

// WithGroup is slog.Handler's; nothing here has groups.
func (l *testLog) WithGroup(string) slog.Handler { return l }

func (l *testLog) add(r slog.Record, attrs []slog.Attr) {
	if r.Message == "audit" { // events are no news of a test
		return
	}
	line := logged{rejection: r.Message == script.RejectionMessage}
	var b strings.Builder
	b.WriteString(strings.ToLower(r.Level.String()) + ": " + r.Message)
	note := func(a slog.Attr) bool {
		switch a.Key {
		case script.ExcerptKey:
			line.excerpt = a.Value.String()
		case "error":
			line.failure = a.Value.String()
			b.WriteString(": " + line.failure)
		case "service":
			if !testName.MatchString(a.Value.String()) { // what a test itself logs is plain
				b.WriteString(" service=" + a.Value.String())
			}
		case "at":
			b.WriteString(" (" + a.Value.String() + ")")
		case "from", "request":
		default:
			fmt.Fprintf(&b, " %s=%s", a.Key, a.Value)
		}
		return true
	}
	for _, a := range attrs {
		note(a)
	}
	r.Attrs(note)
	line.text = b.String()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines) < maxTestLines {
		l.lines = append(l.lines, line)
	}
}

// testLogWith is a testLog with attributes.
type testLogWith struct {
	*testLog
	attrs []slog.Attr
}

// Handle is slog.Handler's.
func (l *testLogWith) Handle(_ context.Context, r slog.Record) error {
	l.add(r, l.attrs)
	return nil
}

// WithAttrs is slog.Handler's.
func (l *testLogWith) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &testLogWith{l.testLog, append(l.attrs[:len(l.attrs):len(l.attrs)], attrs...)}
}

// WithGroup is slog.Handler's.
func (l *testLogWith) WithGroup(string) slog.Handler { return l }
