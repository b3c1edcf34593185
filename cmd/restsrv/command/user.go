package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"golang.org/x/term"

	"restsrv/engine/account"
	"restsrv/engine/acl"
	"restsrv/engine/server/appdata"
)

const userUsage = `restsrv user manages the accounts of an application, also while its server runs.

  restsrv user add [-roles a,b] [-name TEXT] [-force] <user>@<type>
                                      create an account; the type is local for people
  restsrv user passwd [-force] <user>@<type>
                                      replace its password, and revoke its tokens
  restsrv user disable <user>@<type>  refuse its password; revoke its tokens, sessions
                                      and OAuth2 grants
  restsrv user enable <user>@<type>   accept its password again
  restsrv user role add|remove <user>@<type> ROLE...
                                      add roles to it, or remove them
  restsrv user list                   show all accounts

A password is asked for twice at a terminal, else it is the first line of the
standard input. It has at least 8 characters, unless -force is given. A running
server applies every change within a second.
restsrv acl manages the permissions of roles.
`

// maxPasswordLine is the maximum length of the line that is read as a password. It is larger than
// account.MaxPassword, so that a password that is too long is reported as such.
const maxPasswordLine = 4096

// userEnv holds the functions that restsrv user needs. Tests replace these functions.
type userEnv struct {
	// open opens the accounts in the database of -config and -db. It also returns a function that
	// closes the database.
	open func(ctx context.Context, config, db string) (*account.Store, func() error, error)
	// roles returns the roles in the opened database. If it is nil, unknown roles are not reported.
	roles func(ctx context.Context) ([]acl.Role, error)
	// readPassword asks for a password without showing it. It is nil if the standard input is not a
	// terminal.
	readPassword func(ctx context.Context, prompt string) (string, error)
}

// userFlags holds the flags of all subcommands. Most subcommands use only some of them.
type userFlags struct {
	config, db, roles, name string
	force                   bool // accept a short password
}

// userCommand is one subcommand. If named is true, it has one argument, the id of an account.
type userCommand struct {
	named bool
	run   func(ctx context.Context, u *userRun, id string) error
}

// userRun holds the state of one call of restsrv user.
type userRun struct {
	userFlags
	io    Stdio
	env   userEnv
	store *account.Store
}

func userCommands() map[string]userCommand {
	return map[string]userCommand{
		"add":     {true, userAdd},
		"passwd":  {true, userPasswd},
		"disable": {true, userDisable},
		"enable":  {true, userEnable},
		"list":    {false, userList},
	}
}

// userCommandLine runs restsrv user on the database of the application.
func userCommandLine(ctx context.Context, args []string, s Stdio) error {
	var d *appdata.Database
	env := userEnv{open: func(ctx context.Context, config, db string) (_ *account.Store, _ func() error, err error) {
		if d, err = openForAccess(ctx, config, db, s); err != nil {
			return nil, nil, err
		}
		return d.Accounts, d.Close, nil
	}}
	env.roles = func(ctx context.Context) ([]acl.Role, error) { return d.Policy.Roles(ctx) }
	if in, ok := s.In.(*os.File); ok {
		env.readPassword = terminalPassword(in, s.Err)
	}
	return runUser(ctx, args, s, env)
}

// runUser runs restsrv user. args starts with the name of the subcommand.
func runUser(ctx context.Context, args []string, s Stdio, env userEnv) (err error) {
	if len(args) == 0 {
		fmt.Fprint(s.Err, userUsage)
		return ErrUsage
	}
	u := &userRun{io: s, env: env}
	if args[0] == "role" {
		return u.changeRoles(ctx, args[1:])
	}
	command, ok := userCommands()[args[0]]
	if !ok {
		line := u.newUserLine("")
		if strings.HasPrefix(args[0], "-") {
			if _, err := line.parse(args); err != nil {
				return err
			}
		}
		return line.unknownCommand(args[0], "add", "passwd", "disable", "enable", "role", "list")
	}
	line := u.newUserLine(args[0])
	names, err := line.parse(args[1:])
	if err != nil {
		return err
	}
	id, err := singleName(line, args[0], names, command.named)
	if err != nil {
		return err
	}
	store, shut, err := env.open(ctx, u.config, u.db)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shut()) }()
	u.store = store
	return appdata.PlainError(command.run(ctx, u, id))
}

// newUserLine returns the command line of a subcommand.
func (u *userRun) newUserLine(command string) *commandLine {
	c := newCommandLine("user", command, userUsage, u.io)
	c.databaseFlags(&u.config, &u.db)
	if command == "add" || command == "passwd" {
		c.set.BoolVar(&u.force, "force", false, "accept a password of fewer than 8 characters")
	}
	if command == "add" {
		c.set.StringVar(&u.roles, "roles", "", "roles of the account, separated by commas; admin may do everything")
		c.set.StringVar(&u.name, "name", "", "name to show (default the part before @)")
	}
	return c
}

func singleName(line *commandLine, command string, names []string, named bool) (string, error) {
	switch {
	case !named && len(names) == 0:
		return "", nil
	case named && len(names) == 1:
		return names[0], nil
	case !named:
		return "", line.usageError("takes no arguments, found %q", names[0])
	case len(names) == 0:
		return "", line.usageError("the account is missing, for example: restsrv user %s ann@local", command)
	}
	return "", line.usageError("takes one account, found %q too; a password is never an argument", names[1:])
}

func userAdd(ctx context.Context, u *userRun, id string) error {
	a := account.Account{ID: id, Name: u.name, Roles: splitList(u.roles)}
	if a.Name == "" {
		a.Name, _, _ = strings.Cut(id, "@")
	}
	if err := u.store.CheckNew(ctx, a); err != nil {
		return err
	}
	password, err := u.newPassword(ctx, id)
	if err != nil {
		return err
	}
	if err := u.store.Add(ctx, a, password); err != nil {
		return err
	}
	fmt.Fprintf(u.io.Out, "account %s added\n", id)
	return u.warnOfRoles(ctx, a.Roles)
}

func splitList(s string) []string {
	var list []string
	for _, part := range strings.Split(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

func userPasswd(ctx context.Context, u *userRun, id string) error {
	if _, err := u.store.Get(ctx, id); err != nil {
		return err
	}
	password, err := u.newPassword(ctx, id)
	if err != nil {
		return err
	}
	if err := u.store.SetPassword(ctx, id, password); err != nil {
		return err
	}
	fmt.Fprintf(u.io.Out, "password of %s changed\n", id)
	return nil
}

func userDisable(ctx context.Context, u *userRun, id string) error {
	if err := u.store.Disable(ctx, id); err != nil {
		return err
	}
	fmt.Fprintf(u.io.Out, "account %s disabled\n", id)
	return nil
}

func userEnable(ctx context.Context, u *userRun, id string) error {
	if err := u.store.Enable(ctx, id); err != nil {
		return err
	}
	fmt.Fprintf(u.io.Out, "account %s enabled\n", id)
	return nil
}

func userList(ctx context.Context, u *userRun, _ string) error {
	all, err := u.store.List(ctx)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(u.io.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ACCOUNT\tNAME\tSTATE\tROLES\tPASSWORD SET")
	for _, a := range all {
		state, set := "enabled", "never"
		if a.Disabled {
			state = "disabled"
		}
		if !a.PasswordDate.IsZero() {
			set = a.PasswordDate.UTC().Format(time.RFC3339)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", tableCell(a.ID), tableCell(a.Name), state, tableCell(strings.Join(a.Roles, ",")), set)
	}
	return w.Flush()
}

// tableCell returns text for a table. It replaces control characters, which could break the table
// or control the terminal, and returns "-" for "".
func tableCell(s string) string {
	if s == "" {
		return "-"
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?'
		}
		return r
	}, s)
}

// newPassword reads the new password of an account. Unless -force is set, it returns an error for a
// short password.
func (u *userRun) newPassword(ctx context.Context, id string) (string, error) {
	password, err := u.readPassword(ctx, id)
	if err != nil || u.force {
		return password, err
	}
	if err := account.CheckPassword(password); err != nil {
		return "", fmt.Errorf("%w; -force accepts it", appdata.PlainError(err))
	}
	return password, nil
}

// readPassword asks for the password twice if the input is a terminal. Otherwise it reads one line.
func (u *userRun) readPassword(ctx context.Context, id string) (string, error) {
	if u.env.readPassword == nil {
		return readLine(u.io.In)
	}
	first, err := u.env.readPassword(ctx, "New password of "+id+": ")
	if err != nil {
		return "", err
	}
	if first == "" {
		return "", errors.New("the password is empty")
	}
	second, err := u.env.readPassword(ctx, "Once more: ")
	if err != nil {
		return "", err
	}
	if first != second {
		return "", errors.New("the two passwords differ, nothing was changed")
	}
	return first, nil
}

// readLine reads a password from a pipe: the first line without the line break.
func readLine(r io.Reader) (string, error) {
	line, err := bufio.NewReader(io.LimitReader(r, maxPasswordLine)).ReadString('\n')
	if err != nil && err != io.EOF {
		return "", fmt.Errorf("the password could not be read from the standard input: %w", err)
	}
	line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
	if line == "" {
		return "", errors.New("the password is empty: it is the first line of the standard input")
	}
	return line, nil
}

// terminalPassword returns a function that asks for a password at the terminal without showing
// the input. It returns nil if in is not a terminal. If ctx ends during the question, the
// function makes the terminal show input again.
func terminalPassword(in *os.File, out io.Writer) func(ctx context.Context, prompt string) (string, error) {
	fd := int(in.Fd())
	if !term.IsTerminal(fd) {
		return nil
	}
	return func(ctx context.Context, prompt string) (string, error) {
		before, err := term.GetState(fd)
		if err != nil {
			return "", fmt.Errorf("the terminal cannot be asked for a password: %w", err)
		}
		type answer struct {
			text []byte
			err  error
		}
		answers := make(chan answer, 1)
		fmt.Fprint(out, prompt)
		go func() {
			text, err := term.ReadPassword(fd)
			answers <- answer{text, err}
		}()
		select {
		case a := <-answers:
			fmt.Fprintln(out)
			return string(a.text), a.err
		case <-ctx.Done():
			fmt.Fprintln(out)
			return "", errors.Join(ctx.Err(), term.Restore(fd, before))
		}
	}
}

// changeRoles runs restsrv user role, which adds roles to an account or removes them.
func (u *userRun) changeRoles(ctx context.Context, args []string) (err error) {
	line := u.newUserLine("role")
	names, err := line.parse(args)
	if err != nil {
		return err
	}
	if len(names) < 3 || names[0] != "add" && names[0] != "remove" {
		return line.usageError("expected add or remove, an account and roles, for example: restsrv user role add ann@local clerk")
	}
	store, shut, err := u.env.open(ctx, u.config, u.db)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shut()) }()
	change := store.AddRole
	if names[0] == "remove" {
		change = store.RemoveRole
	}
	for _, role := range names[2:] {
		if _, err := change(ctx, names[1], role); err != nil {
			return appdata.PlainError(err)
		}
	}
	a, err := store.Get(ctx, names[1])
	if err != nil {
		return appdata.PlainError(err)
	}
	fmt.Fprintf(u.io.Out, "roles of %s: %s\n", names[1], tableCell(strings.Join(a.Roles, ",")))
	if names[0] == "remove" {
		return nil
	}
	return appdata.PlainError(u.warnOfRoles(ctx, names[2:]))
}

// warnOfRoles prints a warning for each role that does not exist.
func (u *userRun) warnOfRoles(ctx context.Context, roles []string) error {
	if u.env.roles == nil || len(roles) == 0 {
		return nil
	}
	all, err := u.env.roles(ctx)
	if err != nil {
		return err
	}
	for _, name := range roles {
		if !slices.ContainsFunc(all, func(r acl.Role) bool { return r.ID == name }) {
			fmt.Fprintf(u.io.Err, "warning: there is no role %s, so it gives no permissions (restsrv acl role add)\n", tableCell(name))
		}
	}
	return nil
}
