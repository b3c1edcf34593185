package command_test

import (
	"errors"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/cmd/restsrv/command"
)

// TestToken issues, lists and revokes a token while a server runs. The server must accept the
// token before it is revoked, and refuse it afterwards.
func TestToken(t *testing.T) {
	t.Parallel()
	p := apptest.StartSample(t)
	token := func(args ...string) (string, string, error) {
		cmd := exec.Command(apptest.Binary(t), append([]string{"token"}, args...)...)
		cmd.Dir = p.Cmd.Dir
		var errs strings.Builder
		cmd.Stderr = &errs
		out, err := cmd.Output()
		return string(out), errs.String(), err
	}
	secret, errs, err := token("-name", "ci", "admin@local")
	if err != nil || !regexp.MustCompile(`^[0-9a-f]{40}\n$`).MatchString(secret) {
		t.Fatalf("restsrv token: got %v, %q and %q, want a token", err, secret, errs)
	}
	bearer := func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(secret)) }
	if status, body := p.Get(t, "/rest/echo-token", bearer); status != http.StatusOK {
		t.Errorf("a request with the token: got %d %s, want 200", status, body)
	}
	list, _, err := token("list", "admin@local")
	m := regexp.MustCompile(`(?m)^([0-9a-f]{16}) +ci `).FindStringSubmatch(list)
	if err != nil || m == nil || strings.Contains(list, strings.TrimSpace(secret)) {
		t.Fatalf("restsrv token list: got %v and %q, want the id and the name without the secret", err, list)
	}
	if _, errs, err := token("revoke", "admin@local", m[1]); err != nil {
		t.Fatalf("restsrv token revoke: got %v and %q, want success", err, errs)
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		if status, body := p.Get(t, "/rest/echo-token", bearer); status == http.StatusForbidden {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("a request with the revoked token: got %d %s, want 403", status, body)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// TestTokenRefused checks the errors of restsrv token.
func TestTokenRefused(t *testing.T) {
	config := filepath.Join(apptest.WriteApplication(t, map[string]string{"deploy.json": `{}`}), "deploy.json")
	env := map[string]string{}
	for _, c := range []struct{ args, want string }{
		{"token", "restsrv token manages the tokens"},
		{"token -config " + config, "expected an account, <user>@<type>, found 0 arguments"},
		{"token revoke ann@local -config " + config, "and the id of a token, found 1 argument"},
		{"token nobody@local -config " + config, `there is no account "nobody@local"`},
	} {
		_, errs, err := runWith(t, env, strings.Fields(c.args)...)
		if err == nil || !strings.Contains(errs+err.Error(), c.want) {
			t.Errorf("restsrv %s: got %v and %q, want %q", c.args, err, errs, c.want)
		}
	}
	u := managed{t, config, "sqlite:" + filepath.Join(t.TempDir(), "test.db")}
	if _, _, err := runInput(t, "long-password\n", "user", "add", "-config", config, "-db", u.db, "ann@local"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{"-lifetime -1", "a token lives from 1 to"}, {"-lifetime 9223372036854775807", "a token lives from 1 to"}, {"-name a\x01", "text without control characters"},
	} {
		args := append([]string{"token", "-config", config, "-db", u.db, "ann@local"}, strings.Fields(c.args)...)
		if out, _, err := runWith(t, env, args...); err == nil || out != "" || !strings.Contains(err.Error(), c.want) {
			t.Errorf("restsrv token %s: got %v and %q, want the error %q", c.args, err, out, c.want)
		}
	}
	apptest.MustRun(t, "user", "disable", "-config", config, "-db", u.db, "ann@local")
	if out, _, err := runWith(t, env, "token", "-config", config, "-db", u.db, "ann@local"); err == nil || errors.Is(err, command.ErrUsage) || out != "" || !strings.Contains(err.Error(), "is disabled") {
		t.Errorf("a token of a disabled account: got %v and %q, want an error", err, out)
	}
}
