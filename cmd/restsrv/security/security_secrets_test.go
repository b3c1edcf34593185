package security

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"restsrv/cmd/restsrv/apptest"
)

const secretsApplication = `{"namespace": "s",
 "globals": {"audit": true, "signIn": {"perAccount": 1000, "perAddress": 1000, "delayFrom": 0},
   "plugins": {"oauth": {"module": "builtin/oauth", "options": {"clients": [{"id": "app", "public": true, "redirectUris": ["http://127.0.0.1/cb"]}, {"id": "robot", "secret": "canary-config", "grants": ["client_credentials"], "account": "admin@local"}]}}}},
 "classes": [{"name": "user", "key": ["id"], "properties": [{"name": "id", "type": "string"}, {"name": "pwd", "type": "password"}, {"name": "age", "type": "int"}]}],
 "modules": {"rest": {"globals": {"di": {"crud": {"module": "builtin/crud"}, "token1": {"module": "builtin/echo"}, "who": {"module": "builtin/echo"}, "simple": {"module": "builtin/echo"},
   "acceptor": {"module": "builtin/acceptor", "options": {"dataRepo": "ion://securedDataRepo", "metaRepo": "ion://metaRepo"}}},
   "authMode": {"crud": "none", "acceptor": "none", "who": "oauth", "token1": "token"}}}}}`

// secretRequests are requests with a secret, "canary-…", in every place where the server accepts
// a secret: method, path, body and headers. The secrets are right or wrong, and well or badly
// formed.
var secretRequests = [][]string{
	{"GET", "/rest/simple", "", "Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("admin@local:canary-basic"))},
	{"GET", "/rest/simple", "", "Authorization", "Basic admin@local:canary-plain"},
	{"GET", "/rest/simple", "", "Authorization", "Basic canary-half"},
	{"GET", "/rest/simple", "", "auth-user", "admin@local", "auth-pwd", "canary-header"},
	{"GET", "/rest/token1", "", "auth-token", "canary-token"},
	{"GET", "/rest/who", "", "Authorization", "Bearer canary-bearer"},
	{"GET", "/rest/who?access_token=canary-url", ""},
	{"GET", "/rest/token1?auth-token=canary-url2", ""},
	{"GET", "/rest/simple", "", "Cookie", "restsrv=canary-cookie"},
	{"POST", "/auth", "username=admin&password=canary-form"},
	{"POST", "/auth", `{"username":"admin","password":"canary-json"}`, "Accept", "application/json"},
	{"POST", "/auth", `{"username":"admin","password":["canary-array"]}`, "Accept", "application/json"},
	{"POST", "/auth", `{"username":"admin","password":"canary-cut`, "Accept", "application/json"},
	{"POST", "/auth", "username=admin&password=canary%zz"},
	{"POST", "/auth?username=admin&password=canary-query", "x=y"},
	{"POST", "/oauth2/token", "grant_type=client_credentials&client_id=robot&client_secret=canary-secret"},
	{"POST", "/oauth2/token", "grant_type=client_credentials", "Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("robot:canary-client"))},
	{"POST", "/oauth2/token", "grant_type=authorization_code&client_id=app&code=canary-code&code_verifier=canary-verifier"},
	{"POST", "/oauth2/token", "grant_type=refresh_token&client_id=app&refresh_token=canary-refresh"},
	{"POST", "/oauth2/token", "grant_type=password&client_id=app&username=admin&password=canary-grant"},
	{"POST", "/oauth2/token?client_secret=canary-inquery&code=canary-incode", "grant_type=authorization_code&client_id=app"},
	{"POST", "/oauth2/introspect", "token=canary-introspect&client_id=robot&client_secret=canary-wrong"},
	{"POST", "/oauth2/revoke", "token=canary-revoke&client_id=app"},
	{"POST", "/rest/crud/user@s", `{"id":"u1","pwd":"canary-attribute"}`},
	{"PATCH", "/rest/crud/user@s/u1", `{"pwd":"canary-other","age":"many"}`},
	{"PATCH", "/rest/crud/user@s/u1", `{"pwd":{"x":"canary-object"}}`},
	{"PATCH", "/rest/crud/user@s/u1", `{"pwd":["canary-list"]}`},
	{"POST", "/rest/crud/user@s", `{"id":"u1","pwd":"canary-twice"}`},
	{"POST", "/rest/acceptor", `[{"_class":"user@s","_id":"u2","pwd":"canary-record","age":{}}]`},
	{"POST", "/rest/acceptor", `[{"_class":"user@s","_id":"u3","pwd":"canary-saved"}]`},
	{"GET", "/rest/crud/user@s?pwd=canary-filter", ""},
	{"SEARCH", "/rest/crud/user@s", `{"filter":{"eq":["$pwd","canary-eq"]}}`},
	{"SEARCH", "/rest/crud/user@s", `{"filter":{"like":["$pwd","canary-like"]}}`},
	{"GET", "/rest/crud/user@s?_sort=pwd", ""},
	{"GET", "/rest/crud/user@s/u1", ""},
	{"GET", "/rest/crud/user@s", ""},
}

// secretText matches values that only their owner may read.
var secretText = regexp.MustCompile(`canary-[a-z]+|canary%zz|argon2id|pbkdf2`)

// TestSecretsAreNotRevealed sends secrets in every possible way and looks for them in the
// answers, in the log at level debug, and in the stored events.
func TestSecretsAreNotRevealed(t *testing.T) {
	onServers(t, map[string]string{"deploy.json": secretsApplication}, func(t *testing.T, c *apptest.Case) {
		c.StopServer()
		c.StartServer("-log", "debug")
		look := func(where, text string) {
			t.Helper()
			if at := secretText.FindStringIndex(text); at != nil {
				t.Errorf("%s contains a secret: …%s…", where, text[max(0, at[0]-200):min(len(text), at[1]+100)])
			}
		}
		for _, r := range secretRequests {
			resp, answer := c.Ask(r[0], r[1], r[2], r[3:]...)
			look(fmt.Sprint("the answer to ", r, " (", resp.Status, ")"), answer+fmt.Sprint(resp.Header))
			if resp.StatusCode >= 500 {
				t.Errorf("%v: got %d, want less than 500: %s", r, resp.StatusCode, answer)
			}
		}
		tokens := liveSecrets(c)
		c.StopServer()
		events, err := c.Run("restsrv audit", "")
		if err != nil || !strings.Contains(events, "sign-in-failed") {
			t.Errorf("restsrv audit: got %v, want failed sign-ins: %s", err, events)
		}
		for where, text := range map[string]string{"the log": c.Output.String(), "the audit": events} {
			look(where, text)
			for name, token := range tokens {
				if strings.Contains(text, token) {
					t.Errorf("%s contains the %s", where, name)
				}
			}
			if strings.Contains(text, ":secret") || strings.Contains(text, "=secret") || strings.Contains(text, `"secret"`) {
				t.Errorf("%s contains the administrator's password", where)
			}
		}
	})
}

// liveSecrets gets one secret of each kind from the server and uses it once.
func liveSecrets(c *apptest.Case) map[string]string {
	c.Helper()
	admin := "Basic " + base64.StdEncoding.EncodeToString([]byte("admin@local:secret"))
	_, token := c.Ask("GET", "/rest/token", "", "Authorization", admin)
	code := takeCode(c)
	_, text := c.Ask("POST", "/oauth2/token", code.Encode())
	all := map[string]string{"token": token, "code": code.Get("code"), "verifier": code.Get("code_verifier"), "access token": member(c.T, text, "access_token"), "refresh token": member(c.T, text, "refresh_token")}
	resp, _ := c.Ask("POST", "/auth", "username=admin&password=secret")
	all["session"] = resp.Cookies()[0].Value
	for _, use := range [][2]string{{"token1", "auth-token"}, {"token1", "Authorization"}} {
		value := token
		if use[1] == "Authorization" {
			value = "Bearer " + token
		}
		if resp, _ := c.Ask("GET", "/rest/"+use[0], "", use[1], value); resp.StatusCode != http.StatusOK {
			c.Errorf("%v: got %s, want 200", use, resp.Status)
		}
	}
	if resp, _ := c.Ask("POST", "/rest/who", "", "Authorization", "Bearer "+all["access token"]); resp.StatusCode != http.StatusOK {
		c.Errorf("the access token: got %s, want 200", resp.Status)
	}
	for name, value := range all {
		if len(value) < 20 {
			c.Errorf("the %s: got %q, want at least 20 characters", name, value)
		}
	}
	return all
}
