package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"restsrv/engine"
	"restsrv/engine/server/appdata"
)

const tokenUsage = `restsrv token manages the tokens of an account, also while the server runs.

  restsrv token [-name TEXT] [-lifetime SECONDS] <user>@<type>
                                            print a new token for the account
  restsrv token list <user>@<type>          list its tokens, without their text
  restsrv token revoke <user>@<type> ID     revoke a token

A service in the mode token accepts it in the header Authorization: Bearer TOKEN or
auth-token. The token has the permissions of its account. It is shown only once; the
database stores a hash of it.
`

// maxTokenSeconds is longer than every lifetime that deploy.json can allow. As a time.Duration it
// does not overflow.
const maxTokenSeconds = 1 << 32

// tokenRun holds the flags of one call of restsrv token, and the open database.
type tokenRun struct {
	config, db, name string
	lifetime         int64 // seconds; 0 for the configured lifetime
	io               Stdio
	d                *appdata.Database
}

// tokenCommand runs restsrv token. args may begin with list or revoke.
func tokenCommand(ctx context.Context, args []string, s Stdio) (err error) {
	if len(args) == 0 {
		fmt.Fprint(s.Err, tokenUsage)
		return ErrUsage
	}
	r := &tokenRun{io: s}
	sub, expected := "", []string{"an account, <user>@<type>"}
	if slices.Contains([]string{"list", "revoke"}, args[0]) {
		sub, args = args[0], args[1:]
	}
	if sub == "revoke" {
		expected = append(expected, "the id of a token")
	}
	line := newCommandLine("token", sub, tokenUsage, s)
	line.databaseFlags(&r.config, &r.db)
	if sub == "" {
		line.set.StringVar(&r.name, "name", "", "name of the token in lists")
		line.set.Int64Var(&r.lifetime, "lifetime", 0, "`seconds` until it expires (default and maximum: tokenLifetime of deploy.json)")
	}
	names, err := line.parse(args)
	if err != nil {
		return err
	}
	if len(names) != len(expected) {
		return line.usageError("expected %s, found %s", strings.Join(expected, " and "), countText(len(names), "argument"))
	}
	if r.d, err = openForAccess(ctx, r.config, r.db, s); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.d.Close()) }()
	switch sub {
	case "list":
		return appdata.PlainError(r.list(ctx, names[0]))
	case "revoke":
		return appdata.PlainError(r.revoke(ctx, names[0], names[1]))
	}
	return appdata.PlainError(r.issue(ctx, names[0]))
}

// issue prints a new token. Standard output contains only the token, so that shell scripts can use
// it.
func (r *tokenRun) issue(ctx context.Context, id string) error {
	a, err := r.d.Accounts.Get(ctx, id)
	if err != nil {
		return err
	}
	if a.Disabled {
		return fmt.Errorf("account %s is disabled, so its tokens are refused: restsrv user enable %s", tableCell(a.ID), tableCell(a.ID))
	}
	if r.lifetime > maxTokenSeconds {
		r.lifetime = maxTokenSeconds // Issue reports the limit
	}
	secret, t, err := r.d.Accounts.Issue(ctx, a.ID, r.name, time.Duration(r.lifetime)*time.Second)
	if err != nil {
		return err
	}
	r.audit(ctx, engine.TokenIssued, a.ID, engine.Fields{{Name: "token", Value: t.ID}, {Name: "name", Value: t.Name}, {Name: "expires", Value: engine.InstantOf(t.Expires)}})
	fmt.Fprintln(r.io.Out, secret)
	fmt.Fprintf(r.io.Err, "token %s of %s, valid until %s\n", t.ID, tableCell(a.ID), t.Expires.UTC().Format(time.RFC3339))
	return nil
}

func (r *tokenRun) list(ctx context.Context, id string) error {
	a, err := r.d.Accounts.Get(ctx, id)
	if err != nil {
		return err
	}
	all, err := r.d.Accounts.Tokens(ctx, a.ID)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(r.io.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tNAME\tCREATED\tEXPIRES")
	for _, t := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", t.ID, tableCell(t.Name), t.Created.UTC().Format(time.RFC3339), t.Expires.UTC().Format(time.RFC3339))
	}
	return w.Flush()
}

func (r *tokenRun) revoke(ctx context.Context, id, token string) error {
	a, err := r.d.Accounts.Get(ctx, id)
	if err != nil {
		return err
	}
	if err := r.d.Accounts.Revoke(ctx, a.ID, token); err != nil {
		return err
	}
	r.audit(ctx, engine.TokenRevoked, a.ID, engine.Fields{{Name: "token", Value: token}})
	fmt.Fprintf(r.io.Out, "token %s of %s revoked\n", tableCell(token), tableCell(a.ID))
	return nil
}

func (r *tokenRun) audit(ctx context.Context, kind engine.EventKind, account string, details engine.Fields) {
	r.d.Audit.Audit(ctx, engine.Event{Kind: kind, Account: account, Details: details})
}
