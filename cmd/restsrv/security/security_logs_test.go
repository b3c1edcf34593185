package security

import (
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"restsrv/cmd/restsrv/apptest"
)

// TestRequestSecretsAreNotLogged checks that the log, at any level, and the stored events do not
// contain the passwords and tokens of requests, whether they are right or wrong.
func TestRequestSecretsAreNotLogged(t *testing.T) {
	t.Parallel()
	dir := apptest.WriteApplication(t, map[string]string{"deploy.json": `{"globals": {"audit": true, "signIn": {"perAccount": 3}}, "modules": {"rest": {"globals": {
		"di": {"simple": {"module": "builtin/echo"}, "bearer": {"module": "builtin/echo"}, "other": {"module": "builtin/echo"}},
		"authMode": {"bearer": "token", "other": "oauth"}}}}}`})
	p := apptest.Start(t, dir, "-log", "debug")
	send := func(path string, header ...string) string {
		r, err := http.NewRequest("GET", p.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.Status
	}
	_, token, err := p.Request("GET", "/rest/token", "", "")
	if err != nil || len(token) != 40 {
		t.Fatalf("GET /rest/token: got %q, %v, want a token of 40 characters", token, err)
	}
	if s := send("/rest/bearer", "Authorization", "Bearer "+token); s != "200 OK" {
		t.Errorf("request with the token: got %s, want 200 OK", s)
	}
	wrong := strings.Repeat("c0ffee", 6) + "cafe"
	for range 5 { // until it is refused
		send("/rest/simple", "Authorization", "Basic admin@local:canary-basic")
	}
	for _, path := range []string{"/rest/simple", "/rest/bearer", "/rest/other", "/rest/none", "/files/none"} {
		send(path, "auth-user", "ann", "auth-user-type", "local", "auth-pwd", "canary-header")
		send(path, "Authorization", "Bearer "+wrong)
		send(path, "auth-token", wrong)
		send(path, "Authorization", "Basic canary-without-colon")
		send(path, "Authorization", "canary-scheme canary-value")
	}
	if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-p.Done
	list := exec.Command(apptest.Binary(t), "audit")
	list.Dir = dir
	events, err := list.CombinedOutput()
	if err != nil || !strings.Contains(string(events), "sign-in-failed  admin@local") || !strings.Contains(string(events), `"reason":"too many failures"`) {
		t.Errorf("restsrv audit: got %v, want the failed sign-ins in the events:\n%s", err, events)
	}
	for where, text := range map[string]string{"the log": p.Log(), "the audit": string(events)} {
		for _, canary := range []string{"canary", token, wrong, apptest.AdminPassword, "argon2id"} {
			if i := strings.Index(text, canary); i >= 0 {
				t.Errorf("%s contains the secret %s: %s", where, canary, text[max(0, i-200):min(len(text), i+200)])
			}
		}
	}
}
