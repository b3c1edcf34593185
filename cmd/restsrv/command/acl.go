package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"text/tabwriter"

	"restsrv/engine"
	"restsrv/engine/access"
	"restsrv/engine/account"
	"restsrv/engine/acl"
	"restsrv/engine/meta"
	"restsrv/engine/server"
	"restsrv/engine/server/appdata"
)

const aclUsage = `restsrv acl manages roles, grants and declared resources, also while the server runs.
The server applies every change within half a second.

  restsrv acl grant SUBJECT RESOURCE PERMISSION...
  restsrv acl deny SUBJECT RESOURCE PERMISSION...   revoke permissions
  restsrv acl list [-subject SUBJECT] [-resource RESOURCE]
  restsrv acl explain USER RESOURCE                 the permissions of an account, and their reasons
  restsrv acl role add [-name TEXT] ROLE
  restsrv acl role remove ROLE                      remove it with all its grants
  restsrv acl role list
  restsrv acl resource declare [-name TEXT] RESOURCE
  restsrv acl resource remove RESOURCE
  restsrv acl resource list

A SUBJECT is a role, an account such as ann@local, or '*' for everyone.
Grants to everyone count for resources of services, not for objects.
A PERMISSION is read, write, delete, use (create objects and point at them) or
full for all of them. A RESOURCE is
  '*'                                 everything
  c:::class@namespace                 all objects of a class
  i:::class@namespace@id              one object
  a:::class@namespace.attribute       an attribute: once it is declared or granted, it
                                      is hidden from accounts without a grant
  ws:::gen-ws-token                   tokens of one's own (permission use)

  restsrv acl role add clerk
  restsrv acl grant clerk c:::note@sample read write
  restsrv acl grant hr a:::person@sample.phone read
  restsrv user role add ann@local clerk
  restsrv acl explain ann@local c:::note@sample

A role is given to accounts by restsrv user role.
`

// aclRun holds the flags and the opened stores of one call of restsrv acl.
type aclRun struct {
	config, db              string
	name, subject, resource string
	io                      Stdio
	policy                  *acl.Store
	accounts                *account.Store
	app                     *appdata.App     // the application; nil if it cannot be read
	broken                  error            // reason why app cannot be read
	meta                    *meta.Repository // classes of app; nil if app is nil
}

// aclSubcommand is a subcommand with the names of its arguments and its flags. If the last name
// ends in dots, the argument may be repeated.
type aclSubcommand struct {
	args  []string
	flags []string
	run   func(ctx context.Context, r *aclRun, args []string) error
}

func aclSubcommands() map[string]aclSubcommand {
	grant := []string{"SUBJECT", "RESOURCE", "PERMISSION..."}
	return map[string]aclSubcommand{
		"grant":            {grant, nil, aclGrant},
		"deny":             {grant, nil, aclDeny},
		"list":             {nil, []string{"subject", "resource"}, aclList},
		"explain":          {[]string{"USER", "RESOURCE"}, nil, aclExplain},
		"role add":         {[]string{"ROLE"}, []string{"name"}, aclRoleAdd},
		"role remove":      {[]string{"ROLE"}, nil, aclRoleRemove},
		"role list":        {nil, nil, aclRoleList},
		"resource declare": {[]string{"RESOURCE"}, []string{"name"}, aclResourceDeclare},
		"resource remove":  {[]string{"RESOURCE"}, nil, aclResourceRemove},
		"resource list":    {nil, nil, aclResourceList},
	}
}

// aclCommand runs restsrv acl. args starts with the name of the subcommand.
func aclCommand(ctx context.Context, args []string, s Stdio) (err error) {
	if len(args) == 0 {
		fmt.Fprint(s.Err, aclUsage)
		return ErrUsage
	}
	name, rest := args[0], args[1:]
	if (name == "role" || name == "resource") && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		name, rest = name+" "+rest[0], rest[1:]
	}
	sub, ok := aclSubcommands()[name]
	r := &aclRun{io: s}
	if !ok {
		return unknownACL(r, name, args)
	}
	line := r.newACLLine(name, sub.flags)
	names, err := line.parse(rest)
	if err != nil {
		return err
	}
	if !sub.takesArguments(names) {
		return line.usageError("expected %s, found %d arguments", first(strings.Join(sub.args, " "), "no arguments"), len(names))
	}
	d, err := openForAccess(ctx, r.config, r.db, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	r.policy, r.accounts = d.Policy, d.Accounts
	app, err := server.LoadApplication(first(r.config, "deploy.json"), false)
	if r.broken = err; err == nil {
		r.app, r.meta = app, app.Meta
	} else if name != "explain" {
		r.warn("the classes cannot be read: names of resources are not checked")
	}
	return appdata.PlainError(sub.run(ctx, r, names))
}

// unknownACL handles arguments that start with an unknown subcommand or with a flag such as -h.
func unknownACL(r *aclRun, name string, args []string) error {
	line := r.newACLLine("", nil)
	if i := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "-") }); i == 0 || i == 1 {
		if _, err := line.parse(args[i:]); err != nil {
			return err
		}
	}
	switch name {
	case "role":
		return line.usageError("role: expected add, remove or list")
	case "resource":
		return line.usageError("resource: expected declare, remove or list")
	}
	return line.unknownCommand(name, "grant", "deny", "list", "explain", "role", "resource")
}

func (c aclSubcommand) takesArguments(args []string) bool {
	n := len(c.args)
	if n > 0 && strings.HasSuffix(c.args[n-1], "...") {
		return len(args) >= n
	}
	return len(args) == n
}

// newACLLine returns the command line of a subcommand. own are the names of its own flags, in
// addition to the flags that all subcommands have.
func (r *aclRun) newACLLine(command string, own []string) *commandLine {
	c := newCommandLine("acl", command, aclUsage, r.io)
	c.databaseFlags(&r.config, &r.db)
	for _, name := range own {
		switch name {
		case "name":
			c.set.StringVar(&r.name, name, "", "name to show")
		case "subject":
			c.set.StringVar(&r.subject, name, "", "only grants to this role or account itself")
		case "resource":
			c.set.StringVar(&r.resource, name, "", "only grants on this resource itself")
		}
	}
	return c
}

func (r *aclRun) warn(format string, args ...any) {
	fmt.Fprintf(r.io.Err, "warning: "+format+"\n", args...)
}

// grantOf parses the arguments SUBJECT RESOURCE PERMISSION... . It prints a warning if the subject
// or the resource is unknown.
func (r *aclRun) grantOf(ctx context.Context, args []string) (engine.Grant, error) {
	g := engine.Grant{Subject: args[0], Resource: args[1]}
	var err error
	if g.Permission, err = acl.ParsePermissions(args[2:]...); err != nil {
		return g, err
	}
	if err := r.checkResource(g.Resource); err != nil {
		return g, err
	}
	return g, r.checkSubject(ctx, g.Subject)
}

// checkSubject prints a warning if the subject is neither a role nor an account.
func (r *aclRun) checkSubject(ctx context.Context, subject string) error {
	if subject == engine.Everyone || subject == engine.Anonymous.ID {
		return nil
	}
	roles, err := r.policy.Roles(ctx)
	if err != nil || slices.ContainsFunc(roles, func(role acl.Role) bool { return role.ID == subject }) {
		return err
	}
	_, err = r.accounts.Get(ctx, subject)
	if engine.CodeOf(err) != engine.NotFound || err == nil {
		return err
	}
	r.warn("there is neither a role nor an account %s", engine.Quote(subject))
	return nil
}

func aclGrant(ctx context.Context, r *aclRun, args []string) error {
	g, err := r.grantOf(ctx, args)
	if err != nil {
		return err
	}
	grants, err := r.policy.Grants(ctx)
	if err != nil {
		return err
	}
	if err := r.policy.Grant(ctx, g); err != nil {
		return err
	}
	fmt.Fprintf(r.io.Out, "%s may %s %s\n", tableCell(g.Subject), g.Permission, tableCell(g.Resource))
	if strings.HasPrefix(g.Resource, engine.AttributeResource) && !grants.Known(g.Resource) {
		r.warn("%s", protectionWarning(g.Resource))
	}
	return nil
}

// protectionWarning returns the warning for an attribute that is declared or granted for the first
// time.
func protectionWarning(resource string) string {
	return tableCell(resource) + " is protected from now on: it is hidden from accounts without a grant on it or on *"
}

func aclDeny(ctx context.Context, r *aclRun, args []string) error {
	g, err := r.grantOf(ctx, args)
	if err != nil {
		return err
	}
	changed, err := r.policy.Deny(ctx, g)
	if err != nil {
		return err
	}
	grants, err := r.policy.Grants(ctx)
	if err != nil {
		return err
	}
	if changed {
		fmt.Fprintf(r.io.Out, "%s is no longer granted %s on %s\n", tableCell(g.Subject), g.Permission, tableCell(g.Resource))
	} else {
		fmt.Fprintf(r.io.Out, "%s was not granted %s on %s: nothing has changed\n", tableCell(g.Subject), g.Permission, tableCell(g.Resource))
	}
	if left := grants.On(engine.Everything, g.Subject) & g.Permission; left != 0 {
		r.warn("%s may still %s it, by its grants on *", tableCell(g.Subject), left)
	}
	return nil
}

func aclList(ctx context.Context, r *aclRun, _ []string) error {
	all, err := r.policy.List(ctx, acl.Filter{Subject: r.subject, Resource: r.resource})
	if err != nil {
		return err
	}
	rows := make([][]string, len(all))
	for i, g := range all {
		rows[i] = []string{g.Subject, g.Resource, g.Permission.String()}
	}
	return r.printTable([]string{"SUBJECT", "RESOURCE", "PERMISSIONS"}, rows)
}

func (r *aclRun) printTable(head []string, rows [][]string) error {
	w := tabwriter.NewWriter(r.io.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(head, "\t"))
	for _, row := range rows {
		for i := range row {
			row[i] = tableCell(row[i])
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	return w.Flush()
}

// aclExplain prints the permissions of an account on a resource and the reasons for them. It uses
// the code with which the server checks permissions.
func aclExplain(ctx context.Context, r *aclRun, args []string) error {
	if r.app == nil {
		return fmt.Errorf("what an account may do depends on the application, which cannot be read:\n%w", r.broken)
	}
	if err := r.checkResource(args[1]); err != nil {
		return err
	}
	a, rules, err := r.signedInAccount(ctx, args[0])
	if err != nil {
		return err
	}
	of := access.Config{Policy: r.policy, Meta: r.meta, RoleMap: rules.Roles}
	if r.app.Workflows.Any() {
		of.Stages = r.app.Workflows
	}
	checker := access.NewChecker(of)
	x, err := checker.Explain(ctx, a, args[1])
	if err != nil {
		return err
	}
	for _, line := range x.Lines() {
		fmt.Fprintln(r.io.Out, tableCell(line))
	}
	return nil
}

// signedInAccount returns an account as it is after a sign-in, with the identities and properties
// that aclMetaMap and customProfile add from the data. It opens the application's data only if one
// of these is configured.
func (r *aclRun) signedInAccount(ctx context.Context, id string) (_ *engine.Account, _ appdata.Rules, err error) {
	a := engine.Anonymous
	if id != a.ID {
		stored, err := r.accounts.Get(ctx, id)
		if err != nil {
			return nil, appdata.Rules{}, err
		}
		if stored.Disabled {
			r.warn("the account is disabled, so it has none of these permissions now (restsrv user enable %s)", tableCell(stored.ID))
		}
		a = &engine.Account{ID: stored.ID, Name: stored.Name, Roles: stored.Roles}
	}
	c := r.app.Config
	log := slog.New(slog.DiscardHandler)
	if c.MetaMap == nil || a == engine.Anonymous {
		found, _ := appdata.ReadRules(c, r.meta, appdata.RuleData{Log: log}) // its faults are reported when the application is read
		return a, found, nil
	}
	url := first(r.db, r.io.Env("RESTSRV_DB"), c.DB)
	d, err := appdata.Open(ctx, c, url, appdata.Options{Classes: r.meta.Classes(), Log: log})
	if err != nil {
		return nil, appdata.Rules{}, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	found, _ := appdata.ReadRules(c, r.meta, appdata.RuleData{Data: d.Store, RolesOf: d.Accounts.RolesOf, Log: log})
	return a, found, found.Enrich(ctx, a)
}
