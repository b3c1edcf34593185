package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"restsrv/engine"
	"restsrv/engine/audit"
	"restsrv/engine/server/appdata"
)

const auditUsage = `restsrv audit lists the events in the database: sign-ins, changes of accounts,
tokens, clients and permissions, and denied requests, oldest first, one per
line: time, kind, account, address, request, service, details. It works beside a
running server.

  restsrv audit                                   the last 24 hours
  restsrv audit -since 30m -kind sign-in-failed
  restsrv audit -since 2024-05-01 -account admin@local

The server stores events if deploy.json has "audit": true in globals, or
"audit": {"keep": 90} to keep them for 90 days. Its log has them in any case.
`

// auditCommand runs restsrv audit.
func auditCommand(ctx context.Context, args []string, s Stdio) (err error) {
	c := newDataCommand("audit", auditUsage, s)
	selection := audit.Selection{Since: time.Now().Add(-24 * time.Hour)}
	c.timeFlag(&selection.Since, "since", "first `time`: 30m, 24h, 7d, or 2024-05-01, or 2024-05-01T12:00:00Z (default 24h)")
	c.set.StringVar(&selection.Account, "account", "", "only of `<user>@<type>`")
	kinds := eventKinds()
	c.set.Func("kind", "only of that `kind`: "+kinds, func(text string) error {
		if !slices.Contains(engine.EventKinds(), engine.EventKind(text)) {
			return errors.New("expected " + kinds)
		}
		selection.Kind = text
		return nil
	})
	d, err := c.openForReading(ctx, args)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	n := 0
	err = audit.List(ctx, d.Store, d.System.Events, selection, func(e audit.Entry) error {
		n++
		_, err := fmt.Fprintln(s.Out, strings.TrimRight(strings.Join([]string{
			e.At.Format("2006-01-02T15:04:05.000Z"), e.Kind, orDash(e.Account), orDash(e.Address), orDash(e.Request), orDash(e.Service), e.Details,
		}, "  "), " "))
		return err
	})
	if err != nil {
		return appdata.PlainError(err)
	}
	if n == 0 && !c.app.Config.Audit.On {
		fmt.Fprintf(s.Err, "%s does not switch \"audit\" on: events are in the server's log only\n", c.app.Config.File)
	}
	return nil
}

func orDash(s string) string { return first(s, "-") }

func eventKinds() string {
	var all []string
	for _, k := range engine.EventKinds() {
		all = append(all, string(k))
	}
	return strings.Join(all, ", ")
}

// timeFlag adds a flag that is a time or an age.
func (c *commandLine) timeFlag(at *time.Time, name, usage string) {
	c.set.Func(name, usage, func(text string) (err error) {
		*at, err = sinceTime(text, time.Now())
		return err
	})
}

// sinceTime parses a time such as 2024-05-01, or an age such as 30m, 24h or 7d, which is subtracted
// from now.
func sinceTime(text string, now time.Time) (time.Time, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n int
		if _, err := fmt.Sscanf(days+"|", "%d|", &n); err == nil && n >= 0 && n <= 36_600 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	return now, errors.New("expected 30m, 24h, 7d, 2024-05-01 or 2024-05-01T12:00:00Z")
}
