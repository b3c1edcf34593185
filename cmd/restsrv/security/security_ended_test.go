package security

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/engine/store/postgres/pgtest"
)

const endedApplication = `{"namespace": "s",
 "globals": {"plugins": {"oauth": {"module": "builtin/oauth", "options": {"clients": [{"id": "app", "public": true, "redirectUris": ["http://127.0.0.1/cb"]}]}}}},
 "classes": [{"name": "note", "key": ["id"], "properties": [{"name": "id", "type": "string"}]}],
 "objects": [{"_class": "note@s", "id": "n1"}],
 "modules": {"rest": {"globals": {"di": {"crud": {"module": "builtin/crud"}, "t": {"module": "builtin/crud"}, "o": {"module": "builtin/crud"}},
   "authMode": {"t": "token", "o": "oauth"}}}}}`

// proof is one kind of credential, with a request that uses it.
type proof struct {
	name, target string
	header       []string
	refused      int
}

// replicas are two servers on one database.
type replicas struct {
	*testing.T
	here, there *apptest.Case
}

// proofs returns all credentials of ann. Both servers must accept each of them.
func (r *replicas) proofs() map[string]proof {
	r.Helper()
	basic := []string{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("ann@local:first"))}
	_, token := r.here.Ask("GET", "/rest/token", "", basic...)
	resp, _ := r.here.Ask("POST", "/auth", "username=ann&password=first")
	if len(resp.Cookies()) == 0 {
		r.Fatal("sign-in: got no cookie, want a session")
	}
	session := resp.Cookies()[0].Name + "=" + resp.Cookies()[0].Value
	code := codeOf(r.here, session)
	_, text := r.here.Ask("POST", "/oauth2/token", code.Encode())
	all := map[string]proof{
		"password": {"password", "/rest/crud/note@s/n1", basic, 401},
		"token":    {"token", "/rest/t/note@s/n1", []string{"auth-token", token}, 403},
		"session":  {"session", "/oauth2/grant?client_id=app&response_type=code&redirect_uri=http%3A%2F%2F127.0.0.1%2Fcb&code_challenge_method=S256&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", []string{"Cookie", session}, 302},
		"access":   {"access", "/rest/o/note@s/n1", []string{"Authorization", "Bearer " + member(r.T, text, "access_token")}, 401},
		"refresh":  {"refresh", member(r.T, text, "refresh_token"), nil, 400},
	}
	for name, p := range all {
		if name != "refresh" {
			r.want(p, r.here, 200)
			r.want(p, r.there, 200)
		}
	}
	return all
}

// want sends the request of a credential and compares the status.
func (r *replicas) want(p proof, at *apptest.Case, status int) {
	r.Helper()
	var resp *http.Response
	if p.name == "refresh" {
		resp, _ = at.Ask("POST", "/oauth2/token", url.Values{"grant_type": {"refresh_token"}, "client_id": {"app"}, "refresh_token": {p.target}}.Encode())
	} else {
		resp, _ = at.Ask("GET", p.target, "", p.header...)
	}
	if resp.StatusCode != status {
		r.Errorf("%s of %s: %d, want %d", p.name, map[bool]string{true: "here", false: "there"}[at == r.here], resp.StatusCode, status)
	}
}

// codeOf returns the form that exchanges a new authorization code, for the session with the cookie.
func codeOf(c *apptest.Case, session string) url.Values {
	c.Helper()
	const verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk" // RFC 7636, appendix B
	query := url.Values{"client_id": {"app"}, "response_type": {"code"}, "redirect_uri": {"http://127.0.0.1/cb"}, "code_challenge_method": {"S256"}, "code_challenge": {"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"}}
	resp, text := c.Ask("POST", "/oauth2/grant?"+query.Encode(), "", "Cookie", session)
	to, err := resp.Location()
	if err != nil {
		c.Fatalf("grant: got %s %s, want a redirect", resp.Status, text)
	}
	return url.Values{"grant_type": {"authorization_code"}, "client_id": {"app"}, "redirect_uri": {"http://127.0.0.1/cb"}, "code_verifier": {verifier}, "code": {to.Query().Get("code")}}
}

// endings are changes by one server or by a command. Each has the credentials that must become
// invalid on both servers.
var endings = []struct {
	name string
	end  func(r *replicas, all map[string]proof)
	here bool // the server made the change itself, so it must apply it at once
	ends string
}{
	{"a token is revoked", func(r *replicas, all map[string]proof) {
		_, text := r.here.Ask("GET", "/rest/token/list", "", all["password"].header...)
		var list []struct{ ID string }
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			r.Fatalf("list of tokens: got %s, %v, want JSON", text, err)
		}
		for _, token := range list {
			if resp, text := r.here.Ask("DELETE", "/rest/token/"+token.ID, "", all["password"].header...); resp.StatusCode != 200 {
				r.Error(resp.Status, text)
			}
		}
	}, true, "token"},
	{"somebody signs out", func(r *replicas, all map[string]proof) {
		if resp, text := r.here.Ask("POST", "/auth/logout", "", all["session"].header...); resp.StatusCode != 302 {
			r.Error(resp.Status, text)
		}
	}, true, "session"},
	{"an access token is revoked", func(r *replicas, all map[string]proof) {
		r.here.Ask("POST", "/oauth2/revoke", url.Values{"client_id": {"app"}, "token": {strings.TrimPrefix(all["access"].header[1], "Bearer ")}}.Encode())
	}, true, "access"},
	{"a refresh token is used again", func(r *replicas, all map[string]proof) {
		r.want(all["refresh"], r.here, 200)
		r.want(all["refresh"], r.here, 400)
	}, true, "access refresh"},
	{"the account is disabled", func(r *replicas, _ map[string]proof) { r.manage("", "disable") }, false, "password token session access refresh"},
	{"the account is disabled and enabled again", func(r *replicas, _ map[string]proof) {
		r.manage("", "disable")
		r.manage("", "enable")
	}, false, "token session access refresh"},
	{"the password is another", func(r *replicas, _ map[string]proof) { r.manage("second\n", "passwd -force") }, false, "password token session access refresh"},
}

func (r *replicas) manage(input string, verb string) {
	r.Helper()
	if out, err := r.here.Run("restsrv user "+verb+" ann@local", input); err != nil {
		r.Fatal(err, out)
	}
}

// TestCredentialsEndInBothProcesses makes each kind of credential invalid. Within a second, both
// servers must reject the credential. The server that made the change must reject it at once.
func TestCredentialsEndInBothProcesses(t *testing.T) {
	t.Parallel()
	db := pgtest.Database(t)
	var both []*apptest.Case
	for range 2 {
		c := apptest.NewCase(t, db)
		c.WriteFile("deploy.json", endedApplication)
		t.Cleanup(c.StopServer)
		c.StartServer()
		both = append(both, c)
	}
	r := &replicas{t, both[0], both[1]}
	if out, err := r.here.Run("restsrv user add -force ann@local", "first\n"); err != nil {
		t.Fatal(err, out)
	}
	for _, grant := range []string{"c:::note@s read", "ws:::gen-ws-token use"} {
		if out, err := r.here.Run("restsrv acl grant ann@local "+grant, ""); err != nil {
			t.Fatal(err, out)
		}
	}
	time.Sleep(time.Second) // until both servers know the grants
	for _, e := range endings {
		all := r.proofs()
		e.end(r, all)
		if !e.here {
			time.Sleep(time.Second)
		}
		for _, name := range strings.Fields(e.ends) {
			r.want(all[name], r.here, all[name].refused)
		}
		if e.here {
			time.Sleep(time.Second)
		}
		for _, name := range strings.Fields(e.ends) {
			r.want(all[name], r.there, all[name].refused)
		}
		if t.Failed() {
			t.Fatalf("failed after the change: %s", e.name)
		}
		if e.name == "the account is disabled" {
			r.manage("", "enable")
			time.Sleep(time.Second)
		}
	}
}
