package security

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/cmd/restsrv/command"
	"restsrv/engine/store/postgres/pgtest"
)

// twoApp has crud with each kind of authentication, and a gateway. It does not limit failed
// sign-ins, because the test repeats requests until they fail.
const twoApp = `{
  "namespace": "two",
  "globals": {"signIn": {"perAccount": 0, "perAddress": 0, "delayFrom": 0}, "plugins": {"oauth": {"module": "lib/oAuthAdapter"}}},
  "classes": [{"name": "note", "key": ["id"], "properties": [{"name": "id", "type": "string"}, {"name": "title", "type": "string"}]}],
  "objects": [{"_class": "note", "id": "n1", "title": "Tea"}],
  "modules": {
    "registry": {"globals": {"di": {"api": {"module": "modules/rest/client/GateWay", "options": {
      "base": "/api", "clientId": "gw@system", "clientSecret": "secret", "tokenPath": "/rest/token", "definition": {"paths": {"/rest/tokens/note@two/{id}": {"get": true}}}}}}}},
    "rest": {"globals": {
      "di": {"crud": {"module": "builtin/crud"}, "tokens": {"module": "builtin/crud"}, "bearers": {"module": "builtin/crud"}},
      "authMode": {"tokens": "token", "bearers": "oauth"}}}}
}`

// two holds two servers of one application on one database.
type two struct {
	config, db string
	servers    [2]*apptest.Process
	client     http.Client
}

func startTwo(t *testing.T) *two {
	t.Helper()
	dir := apptest.WriteApplication(t, map[string]string{"deploy.json": twoApp})
	w := &two{config: filepath.Join(dir, "deploy.json"), db: pgtest.Database(t)}
	w.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for i := range w.servers {
		w.servers[i] = apptest.Launch(t, dir, "-db", w.db)
	}
	for _, p := range w.servers {
		p.Await(t)
	}
	w.restsrv(t, "secret", "user", "add", "-force", "gw@system")
	w.restsrv(t, "secret", "user", "add", "-force", "page@system")
	w.restsrv(t, "", "acl", "grant", "gw@system", "ws:::gen-ws-token", "use")
	w.restsrv(t, "", "acl", "grant", "gw@system", "c:::note@two", "read")
	return w
}

// restsrv runs a command while the servers run.
func (w *two) restsrv(t *testing.T, input string, args ...string) {
	t.Helper()
	var out apptest.Buffer
	s := command.Stdio{In: strings.NewReader(input + "\n"), Out: &out, Err: &out, Env: func(string) string { return "" }}
	if err := command.Run(context.Background(), append(args, "-config", w.config, "-db", w.db), s); err != nil {
		t.Fatalf("restsrv %s: %v\n%s", strings.Join(args, " "), err, out.String())
	}
}

// ways holds an account with its role, a client that acts for the account, and the credentials of
// both.
type ways struct {
	t                        *testing.T
	two                      *two
	id, role, client         string
	cookie                   *http.Cookie
	token, tokenID           string // from the token service
	access, refresh, forself string // from OAuth2
}

// ways creates an account that may read the note through its role, and a client that has this
// permission itself. It sends requests to both servers in turn.
func (w *two) ways(t *testing.T, n int) *ways {
	t.Helper()
	a := &ways{t: t, two: w, id: fmt.Sprintf("ann%d@local", n), role: fmt.Sprintf("reader%d", n), client: fmt.Sprintf("shop%d@system", n)}
	a.restsrv("", "acl", "role", "add", a.role)
	a.restsrv("", "acl", "grant", a.role, "c:::note@two", "read")
	a.restsrv("secret", "user", "add", "-force", a.id, "-roles", a.role)
	a.restsrv("", "acl", "grant", a.id, "ws:::gen-ws-token", "use")
	a.restsrv("secret", "user", "add", "-force", a.client)
	a.restsrv("", "client", "add", a.client, "-redirect", "https://shop.example/cb", "-grant", "authorization_code", "-grant", "refresh_token", "-grant", "client_credentials")
	a.restsrv("", "acl", "grant", a.client, "c:::note@two", "read")
	p := &apptest.Client{Process: w.servers[n%2], T: t}
	p.Eventually("the accounts", func() bool {
		return a.send(0, "GET", "/rest/crud/note@two/n1", nil, a.password).Status == 200 && a.send(1, "GET", "/rest/crud/note@two/n1", nil, a.password).Status == 200
	})
	a.cookie = apptest.SignIn(t, w.servers[n%2], a.id, "secret")
	got := a.send(0, "GET", "/rest/token", nil, a.password)
	a.must(200, got)
	a.token = got.Body
	got = a.send(1, "GET", "/rest/token/list", nil, a.password)
	var tokens []struct{ ID string }
	if err := json.Unmarshal([]byte(got.Body), &tokens); err != nil || len(tokens) != 1 {
		t.Fatalf("tokens: got %d %s, want one token", got.Status, got.Body)
	}
	a.tokenID = tokens[0].ID
	got = a.send(1, "POST", a.consent(), url.Values{"grant": {"1"}}, a.session)
	to, err := url.Parse(got.To)
	if err != nil || to.Query().Get("code") == "" {
		t.Fatalf("grant: got a redirect to %q, %d %s, want a code", got.To, got.Status, got.Body)
	}
	a.access, a.refresh = a.exchange(0, url.Values{"grant_type": {"authorization_code"}, "code": {to.Query().Get("code")}, "redirect_uri": {"https://shop.example/cb"}})
	a.forself, _ = a.exchange(1, url.Values{"grant_type": {"client_credentials"}})
	return a
}

func (a *ways) consent() string {
	return "/oauth2/grant?response_type=code&state=s&client_id=" + a.client + "&redirect_uri=" + url.QueryEscape("https://shop.example/cb")
}

// exchange gets tokens for the client.
func (a *ways) exchange(server int, form url.Values) (access, refresh string) {
	a.t.Helper()
	got := a.send(server, "POST", "/oauth2/token", form, a.secret)
	var tokens struct {
		Access  string `json:"access_token"`
		Refresh string `json:"refresh_token"`
	}
	if err := json.Unmarshal([]byte(got.Body), &tokens); err != nil || tokens.Access == "" {
		a.t.Fatalf("token request: got %d %s, want a token", got.Status, got.Body)
	}
	return tokens.Access, tokens.Refresh
}

// all returns the ways to read the note or a page, each as a function of the server.
func (a *ways) all() map[string]func(server int) int {
	get := func(path string, proof func(*http.Request)) func(int) int {
		return func(server int) int { return a.send(server, "GET", path, nil, proof).Status }
	}
	return map[string]func(server int) int{
		"password": get("/rest/crud/note@two/n1", a.password),
		"token":    get("/rest/tokens/note@two/n1", func(r *http.Request) { r.Header.Set("auth-token", a.token) }),
		"bearer":   get("/rest/bearers/note@two/n1", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+a.access) }),
		"own":      get("/rest/bearers/note@two/n1", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+a.forself) }),
		"session":  get("/oauth2/grant?response_type=code&state=s&client_id=page@system", a.session),
		"gateway":  get("/api/rest/tokens/note@two/n1", a.session),
	}
}

func (a *ways) password(r *http.Request) { r.SetBasicAuth(a.id, "secret") }
func (a *ways) secret(r *http.Request)   { r.SetBasicAuth(a.client, "secret") }
func (a *ways) session(r *http.Request)  { r.AddCookie(a.cookie) }

func (a *ways) restsrv(input string, args ...string) {
	a.t.Helper()
	a.two.restsrv(a.t, input, args...)
}

// send sends a request, with a form if it is not nil.
func (a *ways) send(server int, method, path string, form url.Values, proof func(*http.Request)) apptest.Answer {
	r, err := http.NewRequestWithContext(a.t.Context(), method, a.two.servers[server].URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		a.t.Error(err)
		return apptest.Answer{}
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	proof(r)
	resp, err := a.two.client.Do(r)
	if err != nil {
		a.t.Error(err)
		return apptest.Answer{}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		a.t.Error(err)
	}
	return apptest.Answer{Status: resp.StatusCode, Body: string(body), To: resp.Header.Get("Location")}
}

func (a *ways) must(status int, got apptest.Answer) {
	a.t.Helper()
	if got.Status != status {
		a.t.Fatalf("%d %s, want %d", got.Status, got.Body, status)
	}
}
