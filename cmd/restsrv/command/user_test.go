package command

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"path/filepath"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/account"
	"restsrv/engine/store"
	"restsrv/engine/store/sqlite"
)

// users is a database, with answers to the prompts for passwords.
type users struct {
	t       *testing.T
	path    string
	answers []string // texts typed at the terminal; nil if there is no terminal
	opened  [2]string
	closed  int
}

// call runs restsrv user on the database.
func (u *users) call(stdin string, args ...string) (out, errs string, err error) {
	u.t.Helper()
	var o, e bytes.Buffer
	env := userEnv{open: u.open}
	if u.answers != nil {
		env.readPassword = func(_ context.Context, prompt string) (string, error) {
			e.WriteString(prompt)
			a := u.answers[0]
			u.answers = u.answers[1:]
			return a, nil
		}
	}
	err = runUser(context.Background(), args, Stdio{In: strings.NewReader(stdin), Out: &o, Err: &e}, env)
	return o.String(), e.String(), err
}

func (u *users) open(ctx context.Context, config, db string) (*account.Store, func() error, error) {
	u.opened = [2]string{config, db}
	accounts, shut := u.accounts()
	return accounts, func() error { u.closed++; return shut() }, nil
}

// accounts opens the database.
func (u *users) accounts() (*account.Store, func() error) {
	u.t.Helper()
	ctx := context.Background()
	db, err := sqlite.Open(ctx, sqlite.Config{Path: u.path, Synchronous: "normal"})
	if err != nil {
		u.t.Fatal(err)
	}
	classes := account.Classes()
	s, err := store.Open(ctx, db, store.Config{Classes: classes})
	if err != nil {
		u.t.Fatal(err)
	}
	accounts, err := account.New(account.Config{Data: s, Classes: classes, Hasher: account.NewHasher(account.HasherConfig{})})
	if err != nil {
		u.t.Fatal(err)
	}
	return accounts, s.Close
}

func newUsers(t *testing.T) *users {
	return &users{t: t, path: filepath.Join(t.TempDir(), "test.db")}
}

// signsIn reports whether a password is accepted.
func (u *users) signsIn(id, password string) bool {
	u.t.Helper()
	accounts, shut := u.accounts()
	defer shut()
	_, err := accounts.Authenticate(context.Background(), engine.AuthPwd, engine.Credentials{User: id, Password: password})
	return err == nil
}

func TestUserCommands(t *testing.T) {
	u := newUsers(t)
	out, _, err := u.call("pa:ss word\r\nrest", "add", "-roles", "admin, clerk,", "-config", "x/deploy.json", "ann@local", "-name", "Ann Lee", "-db", "sqlite:y")
	if err != nil || out != "account ann@local added\n" {
		t.Fatalf("add: got %q, %v, want success", out, err)
	}
	if u.opened != [2]string{"x/deploy.json", "sqlite:y"} || u.closed != 1 {
		t.Errorf("opened %q and closed %d times, want the given files and once", u.opened, u.closed)
	}
	if !u.signsIn("ann@local", "pa:ss word") {
		t.Error("sign-in with the first line as password: got a refusal, want success")
	}
	u.answers = []string{"typed in", "typed in"}
	out, _, err = u.call("", "passwd", "ann@local")
	if err != nil || out != "password of ann@local changed\n" || !u.signsIn("ann@local", "typed in") || u.signsIn("ann@local", "pa:ss word") {
		t.Errorf("passwd: got %q, %v, want the new password", out, err)
	}
	u.answers = nil
	if _, _, err := u.call("x", "add", "-force", "bob@system"); err != nil {
		t.Errorf("add: %v", err)
	}
	if out, _, err = u.call("", "disable", "ann@local"); err != nil || u.signsIn("ann@local", "typed in") {
		t.Errorf("disable: got %q, %v, want no sign-in", out, err)
	}
	out, _, err = u.call("", "list")
	lines := strings.Split(out, "\n")
	if err != nil || len(lines) != 4 || lines[0] != "ACCOUNT     NAME     STATE     ROLES        PASSWORD SET" ||
		!strings.HasPrefix(lines[1], "ann@local   Ann Lee  disabled  admin,clerk  20") ||
		!strings.HasPrefix(lines[2], "bob@system  bob      enabled   -            20") || strings.Contains(out, "$") {
		t.Errorf("list: got %v and\n%s\nwant both accounts", err, out)
	}
	if out, _, err = u.call("", "enable", "ann@local"); err != nil || !u.signsIn("ann@local", "typed in") {
		t.Errorf("enable: got %q, %v, want sign-in", out, err)
	}
}

// TestShortPasswords checks that add and passwd reject passwords with fewer than 8 characters,
// typed or piped, unless -force is given.
func TestShortPasswords(t *testing.T) {
	u := newUsers(t)
	const want = "a password has at least 8 characters, found 7; -force accepts it"
	if _, _, err := u.call("1234567\n", "add", "ann@local"); err == nil || err.Error() != want {
		t.Errorf("add: got %v, want %s", err, want)
	}
	if _, _, err := u.call("ключ от\n", "add", "ann@local"); err == nil || err.Error() != want { // 13 bytes
		t.Errorf("add: got %v, want %s", err, want)
	}
	if _, _, err := u.call("12345678\n", "add", "ann@local"); err != nil || !u.signsIn("ann@local", "12345678") {
		t.Errorf("8 characters: got %v, want no error", err)
	}
	u.answers = []string{"1234567", "1234567"}
	if _, _, err := u.call("", "passwd", "ann@local"); err == nil || err.Error() != want || !u.signsIn("ann@local", "12345678") {
		t.Errorf("passwd: got %v, want %s", err, want)
	}
	u.answers = []string{"x", "x"}
	if _, _, err := u.call("", "passwd", "-force", "ann@local"); err != nil || !u.signsIn("ann@local", "x") {
		t.Errorf("passwd -force: got %v, want no error", err)
	}
}

func TestUserRefusals(t *testing.T) {
	u := newUsers(t)
	if _, _, err := u.call("x", "add", "-force", "ann@local"); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("secret", 300)
	tests := []struct {
		name, stdin string
		answers     []string
		args        []string
		want        string
	}{
		{"twice", "x", nil, []string{"add", "ann@local"}, `account "ann@local" exists already`},
		{"no type", "x", nil, []string{"add", "bob"}, `<user>@<type>, for example admin@local, found "bob"`},
		{"colon", "x", nil, []string{"add", "b:b@local"}, "no colon"},
		{"no password", "", nil, []string{"add", "bob@local"}, "the password is empty"},
		{"empty line", "\nx", nil, []string{"add", "bob@local"}, "the password is empty"},
		{"overlong", long, nil, []string{"add", "bob@local"}, "at most 1024 bytes"},
		{"overlong new one", long, nil, []string{"passwd", "ann@local"}, "at most 1024 bytes"},
		{"two passwords", "", []string{"a", "b"}, []string{"passwd", "ann@local"}, "the two passwords differ"},
		{"empty at the terminal", "", []string{""}, []string{"passwd", "ann@local"}, "the password is empty"},
		{"unknown", "x", nil, []string{"passwd", "bob@local"}, `there is no account "bob@local"`},
		{"unknown", "", nil, []string{"disable", "bob@local"}, `there is no account "bob@local"`},
		{"unknown", "", nil, []string{"enable", "bob@local"}, `there is no account "bob@local"`},
	}
	for _, test := range tests {
		u.answers = test.answers
		out, _, err := u.call(test.stdin, test.args...)
		if err == nil || errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), test.want) || out != "" {
			t.Errorf("%s: got %q, error %v, want an error with %q", test.name, out, err, test.want)
		} else if strings.Contains(err.Error(), "secretsecret") {
			t.Errorf("%s: the error contains the password", test.name)
		}
	}
	if !u.signsIn("ann@local", "x") {
		t.Error("sign-in after a refused command: got a refusal, want the old password to work")
	}
}

func TestUserUsage(t *testing.T) {
	u := newUsers(t)
	wrong := map[string][]string{
		"restsrv user add":             {},
		`unknown command "delete"`:     {"delete", "ann@local"},
		"the account is missing":       {"add"},
		"a password is never":          {"passwd", "ann@local", "secret"},
		"takes no arguments":           {"list", "x"},
		"not defined: -roles":          {"passwd", "-roles", "a", "ann@local"},
		"flag provided but not define": {"-x"},
	}
	for want, args := range wrong {
		if _, errs, err := u.call("", args...); !errors.Is(err, ErrUsage) || !strings.Contains(errs, want) {
			t.Errorf("%q: got %v and the output %q, want the usage", args, err, errs)
		}
	}
	for _, args := range [][]string{{"-h"}, {"--help"}, {"add", "-h"}, {"list", "-h"}} {
		if _, errs, err := u.call("", args...); !errors.Is(err, flag.ErrHelp) || !strings.Contains(errs, "restsrv user passwd") {
			t.Errorf("%q: got %v and the output %q, want the usage", args, err, errs)
		}
	}
	if u.opened != [2]string{} {
		t.Error("wrong usage: the database was opened, want it closed")
	}
}

func TestUserOpenFails(t *testing.T) {
	failure := errors.New("no such database")
	env := userEnv{open: func(context.Context, string, string) (*account.Store, func() error, error) { return nil, nil, failure }}
	err := runUser(context.Background(), []string{"list"}, Stdio{In: strings.NewReader(""), Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}, env)
	if !errors.Is(err, failure) {
		t.Error(err)
	}
}
