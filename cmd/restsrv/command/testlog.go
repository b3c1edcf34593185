package command

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"restsrv/engine/script/vm"
)

// logged is a log record during a test.
type logged struct {
	text      string
	excerpt   string
	failure   string // error of a script
	rejection bool   // the record is about a promise that was rejected without a handler
}

// testLog is a slog.Handler that collects the log records of one test.
type testLog struct {
	mu    sync.Mutex
	lines []logged
}

// maxTestLines is the maximum number of log records of one test. Further records are dropped.
const maxTestLines = 200

// takeLines removes the collected records and returns them.
func (l *testLog) takeLines() []logged {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := l.lines
	l.lines = nil
	return lines
}

// Enabled implements slog.Handler.
func (l *testLog) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

// Handle implements slog.Handler.
func (l *testLog) Handle(_ context.Context, r slog.Record) error {
	l.addRecord(r, nil)
	return nil
}

// WithAttrs implements slog.Handler.
func (l *testLog) WithAttrs(attrs []slog.Attr) slog.Handler { return &testLogWith{l, attrs} }

// WithGroup implements slog.Handler. Groups are ignored, because no record has one.
func (l *testLog) WithGroup(string) slog.Handler { return l }

func (l *testLog) addRecord(r slog.Record, attrs []slog.Attr) {
	if r.Message == "audit" { // audit events are left out
		return
	}
	line := logged{rejection: r.Message == vm.RejectionMessage}
	var b strings.Builder
	b.WriteString(strings.ToLower(r.Level.String()) + ": " + r.Message)
	note := func(a slog.Attr) bool {
		switch a.Key {
		case vm.ExcerptKey:
			line.excerpt = a.Value.String()
		case "error":
			line.failure = a.Value.String()
			b.WriteString(": " + line.failure)
		case "service":
			if !testName.MatchString(a.Value.String()) { // the name of a test file is left out
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

// testLogWith adds attributes to the records of a testLog.
type testLogWith struct {
	*testLog
	attrs []slog.Attr
}

// Handle implements slog.Handler.
func (l *testLogWith) Handle(_ context.Context, r slog.Record) error {
	l.addRecord(r, l.attrs)
	return nil
}

// WithAttrs implements slog.Handler.
func (l *testLogWith) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &testLogWith{l.testLog, append(l.attrs[:len(l.attrs):len(l.attrs)], attrs...)}
}

// WithGroup implements slog.Handler.
func (l *testLogWith) WithGroup(string) slog.Handler { return l }
