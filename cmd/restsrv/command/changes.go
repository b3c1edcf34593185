package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"restsrv/engine/journal"
	"restsrv/engine/server/appdata"
)

const changesUsage = `restsrv changes lists what writes have changed of the objects of classes with
"journaling": true, in the order of the writes, one a line: time, type, class, id,
account, address, values before -> values after. It works beside a running server.
Passwords are left out; references and files are shown as ids.

Times are those of the server that wrote, so with several servers they may go back.
A record is listed as soon as its transaction has ended: -since should reach back
further than the longest write.

  restsrv changes                                  the last 24 hours
  restsrv changes -class note@sample -id n1        all changes of one object
  restsrv changes -since 2024-05-01 -until 2024-06-01 -author ann@local -type DELETE
  restsrv changes -since 7d -json > week.ndjson

Types are CREATE, UPDATE, DELETE, and PUT and EJECT when members join a
collection of the object and when they leave it. The output contains
attributes that may be hidden in services. With "changes": {"keep": 90} in globals of
deploy.json, the server deletes records that are older than 90 days.
`

// changesCommand runs restsrv changes.
func changesCommand(ctx context.Context, args []string, s Stdio) (err error) {
	c := newDataCommand("changes", changesUsage, s)
	var selection journal.Selection
	c.timeFlag(&selection.Since, "since", "first `time`: 30m, 24h, 7d, or 2024-05-01, or 2024-05-01T12:00:00Z (default 24h; with -id, the beginning)")
	c.timeFlag(&selection.Until, "until", "`time` at which to end, as for -since (default now)")
	c.set.StringVar(&selection.Class, "class", "", "only of objects of `class@namespace`")
	c.set.StringVar(&selection.ID, "id", "", "only of objects with that `id`")
	c.set.StringVar(&selection.Author, "author", "", "only by `<user>@<type>`")
	c.set.Func("type", "only of that `type`: "+strings.Join(journal.Types(), ", "), func(text string) error {
		if selection.Type = strings.ToUpper(text); !slices.Contains(journal.Types(), selection.Type) {
			return errors.New("expected " + strings.Join(journal.Types(), ", "))
		}
		return nil
	})
	asJSON := c.set.Bool("json", false, "write NDJSON: one JSON object a line")
	d, err := c.openForReading(ctx, args)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if selection.Since.IsZero() && selection.ID == "" {
		selection.Since = time.Now().Add(-24 * time.Hour)
	}
	write := appendChange
	if *asJSON {
		write = func(b []byte, r journal.Record) []byte { return r.AppendJSON(b) }
	}
	out, n := bufio.NewWriter(s.Out), 0
	var line []byte
	err = journal.List(ctx, d.Store, d.System.Changes, selection, func(r journal.Record) error {
		n++
		line = append(write(line[:0], r), '\n')
		_, err := out.Write(line)
		return err
	})
	if err = errors.Join(err, out.Flush()); err != nil {
		return appdata.PlainError(err)
	}
	if n == 0 && !hasJournal(c.app) {
		fmt.Fprintf(s.Err, "no class of %s has \"journaling\": true\n", c.app.Config.File)
	}
	return nil
}

// hasJournal reports whether the application has a class with a journal.
func hasJournal(a *appdata.App) bool {
	for _, c := range a.Meta.Classes() {
		if c.Journaling {
			return true
		}
	}
	return false
}

// appendChange appends a record of the journal as a line of text.
func appendChange(b []byte, r journal.Record) []byte {
	what := r.Base + r.Data
	if r.Base != "" && r.Data != "" {
		what = r.Base + " -> " + r.Data
	}
	return append(b, strings.Join([]string{
		r.Timestamp.Format("2006-01-02T15:04:05.000Z"), r.Type, r.Class, quoteHidden(r.ID), orDash(quoteHidden(r.Author)), orDash(r.Remote), escapeControls(what),
	}, "  ")...)
}

// quoteHidden prepares a text for output. The text comes from a request, so it may contain
// characters that a terminal does not show as they are. In this case it is quoted.
func quoteHidden(s string) string {
	if strings.ContainsFunc(s, func(c rune) bool { return !unicode.IsGraphic(c) || c == '"' || unicode.Is(unicode.Cf, c) }) {
		return strconv.Quote(s)
	}
	return s
}

// escapeControls escapes characters in JSON that could control a terminal or change the direction
// of the text. JSON allows C1 control characters and direction marks without escapes.
func escapeControls(json string) string {
	var b strings.Builder
	for _, c := range json {
		switch {
		case unicode.IsGraphic(c) && !unicode.Is(unicode.Cf, c):
			b.WriteRune(c)
		case c > 0xffff:
			high, low := utf16.EncodeRune(c)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, c)
		}
	}
	return b.String()
}
