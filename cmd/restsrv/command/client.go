package command

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"strings"
	"text/tabwriter"

	"restsrv/engine"
	"restsrv/engine/account"
	"restsrv/engine/oauth"
	"restsrv/engine/server/appdata"
)

const clientUsage = `restsrv client manages the OAuth2 clients of an application, also while its
server runs, which follows every change within a second. A client is an account
of type system, whose password is its secret.

  restsrv client add [flags] NAME     create a client, and show its secret once; if
                                      it exists, change the settings of the given flags
  restsrv client list                 show all clients
  restsrv client secret NAME          replace its secret, and show it once
  restsrv client remove NAME          delete it with its permissions and its OAuth2 grants

NAME is <user>@system, or without @system. An account of another type
becomes a client when it is added here; remove then keeps the account.

  restsrv client add -name "Our shop" -redirect https://shop.example/callback shop
`

// clientRun holds the flags and the opened database of one call of restsrv client.
type clientRun struct {
	config, db, name          string
	redirects, grants, scopes []string
	public, remember          bool
	given                     map[string]bool // names of the flags that are set
	io                        Stdio
	d                         *appdata.Database
}

func clientSubcommands() map[string]func(ctx context.Context, r *clientRun, id string) error {
	return map[string]func(ctx context.Context, r *clientRun, id string) error{
		"add": clientAdd, "list": clientList, "secret": clientSecret, "remove": clientRemove,
	}
}

// clientCommand runs restsrv client. args starts with the name of the subcommand.
func clientCommand(ctx context.Context, args []string, s Stdio) (err error) {
	if len(args) == 0 {
		fmt.Fprint(s.Err, clientUsage)
		return ErrUsage
	}
	r := &clientRun{io: s, given: map[string]bool{}}
	command, ok := clientSubcommands()[args[0]]
	if !ok {
		line := r.newClientLine("")
		if strings.HasPrefix(args[0], "-") {
			if _, err := line.parse(args); err != nil {
				return err
			}
		}
		return line.unknownCommand(args[0], "add", "list", "remove", "secret")
	}
	line := r.newClientLine(args[0])
	names, err := line.parse(args[1:])
	if err != nil {
		return err
	}
	line.set.Visit(func(f *flag.Flag) { r.given[f.Name] = true })
	id := ""
	if args[0] != "list" {
		if len(names) != 1 || names[0] == "" {
			return line.usageError("expected one name, found %d", len(names))
		}
		if id = names[0]; !strings.Contains(id, "@") {
			id += "@system"
		}
	} else if len(names) > 0 {
		return line.usageError("takes no arguments, found %q", names[0])
	}
	r.d, err = openForAccess(ctx, r.config, r.db, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.d.Close()) }()
	return appdata.PlainError(command(ctx, r, id))
}

// newClientLine returns the command line of a subcommand.
func (r *clientRun) newClientLine(command string) *commandLine {
	c := newCommandLine("client", command, clientUsage, r.io)
	c.databaseFlags(&r.config, &r.db)
	if command != "add" {
		return c
	}
	list := func(to *[]string) func(string) error {
		return func(s string) error { *to = append(*to, s); return nil }
	}
	c.set.StringVar(&r.name, "name", "", "name to show on the consent page")
	c.set.Func("redirect", "redirect `URI` that may receive codes; may be repeated", list(&r.redirects))
	c.set.Func("grant", "`type` that it may use: authorization_code, refresh_token (both by default) or client_credentials; may be repeated", list(&r.grants))
	c.set.Func("scope", "`service`, or service:permission, that it may ask for at most; may be repeated (default all)", list(&r.scopes))
	c.set.BoolVar(&r.public, "public", false, "it cannot keep a secret, such as a program on a user's machine; it must use PKCE")
	c.set.BoolVar(&r.remember, "remember", false, "store consents, so that each account is asked only once")
	return c
}

// applyFlags returns the properties of a client account, changed as the flags say. It returns an
// error if the result is invalid.
func (r *clientRun) applyFlags(id string, properties engine.Fields) (engine.Fields, error) {
	value, _ := properties.Get("oauth")
	old, _ := value.(engine.Fields)
	all := func(list []string) []any {
		values := make([]any, len(list))
		for i, s := range list {
			values[i] = s
		}
		return values
	}
	own := withoutField(old, "")
	for _, f := range []struct {
		flag, name string
		value      any
	}{
		{"name", "name", r.name}, {"redirect", "redirectUris", all(r.redirects)}, {"grant", "grants", all(r.grants)},
		{"scope", "scopes", all(r.scopes)}, {"public", "public", r.public}, {"remember", "remember", r.remember},
	} {
		if r.given[f.flag] {
			own = append(withoutField(own, f.name), engine.Field{Name: f.name, Value: f.value})
		}
	}
	changed := append(withoutField(properties, "oauth"), engine.Field{Name: "oauth", Value: own})
	c, faults := oauth.ClientOf(&engine.Account{ID: id, Properties: changed})
	if len(faults) > 0 {
		return nil, faults
	}
	if c.Public && len(c.RedirectURIs) == 0 {
		return nil, errors.New("a public client needs a redirect URI: -redirect URI")
	}
	return changed, nil
}

// withoutField returns the fields with other names than name.
func withoutField(fields engine.Fields, name string) (rest engine.Fields) {
	for _, f := range fields {
		if f.Name != name {
			rest = append(rest, f)
		}
	}
	return rest
}

func clientAdd(ctx context.Context, r *clientRun, id string) error {
	old, err := r.d.Accounts.Get(ctx, id)
	if err == nil {
		properties, err := r.applyFlags(id, old.Properties)
		if err == nil {
			err = r.d.Accounts.SetProperties(ctx, id, properties)
		}
		if err == nil {
			r.reportChange(ctx, id, "changed")
		}
		return err
	}
	if engine.CodeOf(err) != engine.NotFound {
		return err
	}
	properties, err := r.applyFlags(id, nil)
	if err != nil {
		return err
	}
	if all, err := r.d.Accounts.List(ctx); err != nil {
		return err
	} else if len(all) == 0 { // the first account must be the administrator
		return errors.New("there are no accounts yet: start the server once, or add one with restsrv user add")
	}
	login, _, _ := strings.Cut(id, "@")
	secret := newClientSecret()
	if err := r.d.Accounts.Add(ctx, account.Account{ID: id, Name: first(r.name, login), Properties: properties}, secret); err != nil {
		return err
	}
	r.reportChange(ctx, id, "added")
	r.showSecret(secret, r.public)
	return nil
}

// newClientSecret returns 160 random bits as hexadecimal text. These characters need no escapes in
// any form in which clients send the secret.
func newClientSecret() string {
	b := make([]byte, 20)
	rand.Read(b) // never returns an error: if it fails, it ends the process
	return hex.EncodeToString(b)
}

func (r *clientRun) showSecret(secret string, public bool) {
	if !public {
		fmt.Fprintf(r.io.Out, "secret: %s\n", secret)
	}
}

// reportChange prints a change of a client and records it as an audit event.
func (r *clientRun) reportChange(ctx context.Context, id, change string) {
	r.auditChange(ctx, id, change)
	fmt.Fprintf(r.io.Out, "client %s %s\n", id, change)
}

func (r *clientRun) auditChange(ctx context.Context, id, change string) {
	r.d.Audit.Audit(ctx, engine.Event{Kind: engine.ClientChanged,
		Details: engine.Fields{{Name: "change", Value: change}, {Name: "client", Value: id}}})
}

// existingClient returns the client with this id. It returns an error if the account is not a
// client.
func (r *clientRun) existingClient(ctx context.Context, id string) (*oauth.Client, error) {
	a, err := r.d.Accounts.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	c, _ := oauth.ClientOf(&engine.Account{ID: a.ID, Name: a.Name, Properties: a.Properties})
	if c == nil {
		return nil, fmt.Errorf("account %s is no client: restsrv client add makes it one", id)
	}
	return c, nil
}

func clientSecret(ctx context.Context, r *clientRun, id string) error {
	c, err := r.existingClient(ctx, id)
	if err != nil {
		return err
	}
	switch {
	case c.Public:
		return fmt.Errorf("client %s is public and has no secret", id)
	case !strings.HasSuffix(id, "@system"):
		return fmt.Errorf("the secret of %s is somebody's password: restsrv user passwd changes it", id)
	}
	secret := newClientSecret()
	if err := r.d.Accounts.SetPassword(ctx, id, secret); err != nil {
		return err
	}
	r.auditChange(ctx, id, "secret")
	r.showSecret(secret, false)
	return nil
}

func clientRemove(ctx context.Context, r *clientRun, id string) error {
	if _, err := r.existingClient(ctx, id); err != nil {
		return err
	}
	if err := r.removeAccount(ctx, id); err != nil {
		return err
	}
	err := oauth.EndClient(ctx, r.d.Store, r.d.System.Grants, id)
	if err == nil {
		r.reportChange(ctx, id, "removed")
	}
	return err
}

// removeAccount deletes the account of a client with its permissions. If the account is not of type
// system, it only removes the client settings from the account.
func (r *clientRun) removeAccount(ctx context.Context, id string) error {
	if !strings.HasSuffix(id, "@system") {
		a, err := r.d.Accounts.Get(ctx, id)
		if err != nil {
			return err
		}
		return r.d.Accounts.SetProperties(ctx, id, withoutField(a.Properties, "oauth"))
	}
	return r.d.Accounts.Remove(ctx, id)
}

func clientList(ctx context.Context, r *clientRun, _ string) error {
	all, err := r.d.Accounts.List(ctx)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(r.io.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "CLIENT\tNAME\tSTATE\tKIND\tGRANTS\tSCOPES\tREDIRECT URIS")
	for _, a := range all {
		c, faults := oauth.ClientOf(&engine.Account{ID: a.ID, Name: a.Name, Properties: a.Properties})
		if c == nil {
			continue
		}
		for _, f := range faults {
			fmt.Fprintln(r.io.Err, "warning:", f)
		}
		state, kind := "enabled", "confidential"
		if a.Disabled {
			state = "disabled"
		}
		if c.Public {
			kind = "public"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", tableCell(c.ID), tableCell(c.Name), state, kind,
			tableCell(strings.Join(c.Grants, ",")), tableCell(c.Scope.String()), tableCell(strings.Join(c.RedirectURIs, ",")))
	}
	return w.Flush()
}
