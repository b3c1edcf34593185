package account_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/account"
	"restsrv/engine/store/dbtest"
)

// process is a Store with a database connection of its own, as each process
// has.
func process(t *testing.T, path string, c *dbtest.Clock) (s *account.Store, end func()) {
	t.Helper()
	classes := account.Classes()
	data := dbtest.File(path).Open(t, classes...)
	s, err := account.New(account.Config{
		Data: data, Classes: classes, Hasher: account.NewHasher(account.HasherConfig{}), Now: c.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, func() { wantOK(t, "close", data.Close()) }
}

func TestAccountsAndTokensSurviveARestart(t *testing.T) {
	ctx, path := context.Background(), filepath.Join(t.TempDir(), "test.db")
	c := dbtest.NewClock()
	before, end := process(t, path, c)
	if _, err := before.EnsureAdmin(ctx, password); err != nil {
		t.Fatal(err)
	}
	secret, token, err := before.Issue(ctx, account.AdminID, "laptop", 0)
	if err != nil {
		t.Fatal(err)
	}
	end()
	after, end := process(t, path, c)
	defer end()
	wantOK(t, "password", signIn(after, account.AdminID, password))
	wantOK(t, "token", useToken(after, secret))
	if all, err := after.Tokens(ctx, account.AdminID); err != nil || len(all) != 1 || all[0] != token {
		t.Errorf("tokens %+v, %v", all, err)
	}
	if admin, err := after.EnsureAdmin(ctx, "other"); err != nil || admin.Created {
		t.Errorf("%+v, %v", admin, err)
	}
}

func TestChangesOfAnotherProcessCount(t *testing.T) {
	ctx, path := context.Background(), filepath.Join(t.TempDir(), "test.db")
	c := dbtest.NewClock()
	server, end := process(t, path, c)
	defer end()
	command, endCommand := process(t, path, c)
	defer endCommand()
	wantOK(t, "add", command.Add(ctx, account.Account{ID: "ann@local"}, password))
	wantOK(t, "sign in", signIn(server, "ann@local", password))
	secret, _, err := server.Issue(ctx, "ann@local", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	wantOK(t, "token", useToken(server, secret))
	wantOK(t, "passwd", command.SetPassword(ctx, "ann@local", "new"))
	c.Advance(time.Second)
	wantCode(t, "old password", signIn(server, "ann@local", password), engine.Unauthenticated)
	wantOK(t, "new password", signIn(server, "ann@local", "new"))
	wantOK(t, "disable", command.Disable(ctx, "ann@local"))
	c.Advance(time.Second)
	wantCode(t, "disabled", signIn(server, "ann@local", "new"), engine.Unauthenticated)
	wantCode(t, "disabled, by token", useToken(server, secret), engine.Forbidden)
	wantOK(t, "enable", command.Enable(ctx, "ann@local"))
	wantOK(t, "enabled", signIn(server, "ann@local", "new"))
}
