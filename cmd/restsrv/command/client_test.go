package command_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"restsrv/cmd/restsrv/command"
)

func TestClientCommand(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, a managed) {
		a.want("client add shop", "error: there are no accounts yet: start the server once, or add one with restsrv user add\n")
		addUser(t, a, "ann@local")
		secrets := map[string]bool{}
		a.wantSecret(secrets, "client add -name Shop -redirect https://shop.example/cb -redirect https://shop.example/cb2 -scope crud:read -remember shop", "client shop@system added\n")
		a.want(
			"client add -public tool", "error: a public client needs a redirect URI: -redirect URI\n",
			"client add -redirect https://tool.example/#x tool", `error: tool@system: properties.oauth.redirectUris[0]: found "https://tool.example/#x", expected a URI without a fragment`+"\n",
			"client add -scope crud:fly tool", `error: tool@system: properties.oauth.scopes: found "crud:fly", expected services, or service:permission: scope "crud:fly" names no permission behind its colon: these are read, write, delete, use, full`+"\n",
			"client add -public -redirect http://127.0.0.1/cb tool@system", "client tool@system added\n",
			"client secret tool", "error: client tool@system is public and has no secret\n",
			"client add -scope crud -scope echo:read shop", "client shop@system changed\n",
			"client secret ann@local", "error: account ann@local is no client: restsrv client add makes it one\n",
			"client add -grant authorization_code ann@local", "client ann@local changed\n",
			"client secret ann@local", "error: the secret of ann@local is somebody's password: restsrv user passwd changes it\n",
			"client secret nobody", "error: there is no account \"nobody@system\"\n",
		)
		a.wantSecret(secrets, "client add plain", "client plain@system added\n")
		a.wantSecret(secrets, "client secret plain", "")
		if len(secrets) != 3 {
			t.Errorf("got %d different secrets, want 3", len(secrets))
		}
		a.want("client list", `
CLIENT        NAME   STATE    KIND          GRANTS                            SCOPES          REDIRECT URIS
ann@local     ann    enabled  confidential  authorization_code                -               http://redirect.location/handler
plain@system  plain  enabled  confidential  authorization_code,refresh_token  -               http://redirect.location/handler
shop@system   Shop   enabled  confidential  authorization_code,refresh_token  crud echo:read  https://shop.example/cb,https://shop.example/cb2
tool@system   tool   enabled  public        authorization_code,refresh_token  -               http://127.0.0.1/cb
`[1:])
		a.run("acl grant shop@system c:::person@hr read")
		a.want(
			"client remove shop", "client shop@system removed\n",
			"client remove shop", "error: there is no account \"shop@system\"\n",
			"client remove ann@local", "client ann@local removed\n",
		)
		if list := a.run("acl list -subject shop@system"); strings.Contains(list, "person@hr") {
			t.Errorf("permissions of a removed client: got\n%s\nwant none", list)
		}
		if list := a.run("client list"); strings.Contains(list, "ann") || strings.Contains(list, "shop") || !strings.Contains(list, "plain") {
			t.Errorf("client list: got\n%s\nwant only plain", list)
		}
		if list := a.run("user list"); !strings.Contains(list, "ann@local") || strings.Contains(list, "shop") {
			t.Errorf("user list: got\n%s\nwant ann@local and no shop", list)
		}
	})
}

// wantSecret runs a command that prints the given text and then a new secret.
func (a managed) wantSecret(seen map[string]bool, line, want string) {
	a.t.Helper()
	got := a.run(line)
	rest, ok := strings.CutPrefix(got, want)
	if !ok || !regexp.MustCompile(`^secret: [0-9a-f]{40}\n$`).MatchString(rest) {
		a.t.Errorf("restsrv %s: got\n%s\nwant a secret at the end", line, got)
	}
	seen[rest] = true
}

// addUser adds an account with the password secret.
func addUser(t *testing.T, a managed, id string) {
	t.Helper()
	var out, failed bytes.Buffer
	args := []string{"user", "add", "-force", id, "-config", a.config, "-db", a.db}
	err := command.Run(t.Context(), args, command.Stdio{In: strings.NewReader("secret\n"), Out: &out, Err: &failed, Env: func(string) string { return "" }})
	if err != nil {
		t.Fatalf("%v\n%s", err, failed.String())
	}
}
