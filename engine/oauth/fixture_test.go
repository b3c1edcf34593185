package oauth_test

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/oauth"
	"restsrv/engine/store"
	"restsrv/engine/store/dbtest"
	"restsrv/engine/store/postgres/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// onBoth runs a test on a new database of each kind.
func onBoth(t *testing.T, run func(t *testing.T, f *fixture)) {
	dbtest.Both(t, func(t *testing.T, db dbtest.DB) { run(t, newFixture(t, db)) })
}

// people implements oauth.Accounts with accounts and passwords that a test can change.
type people struct {
	mu  sync.Mutex
	all map[string]*person
}

type person struct {
	account  engine.Account
	password string
	basis    string
	disabled bool
}

func (p *people) Authenticate(_ context.Context, mode engine.AuthMode, c engine.Credentials) (*engine.Account, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := c.User
	if !strings.Contains(id, "@") {
		id += "@" + c.Type
	}
	one := p.all[id]
	if mode != engine.AuthPwd || one == nil || one.disabled || one.password != c.Password {
		return nil, engine.Errorf(engine.Unauthenticated, "credentials", "the user name or the password is wrong")
	}
	a := one.account
	return &a, nil
}

func (p *people) Current(_ context.Context, id string) (*engine.Account, string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.all[id]
	if one == nil || one.disabled {
		return nil, "", engine.Errorf(engine.Unauthenticated, "account", "the account may not sign in")
	}
	a := one.account
	return &a, one.basis, nil
}

func (p *people) change(id string, how func(*person)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	how(p.all[id])
}

// browser implements oauth.Sessions: the header Test-Account names the signed-in account. The
// header "Test-Site: evil" marks a request that another site made.
type browser struct{ people *people }

func (b browser) Require(w http.ResponseWriter, r *http.Request) (*engine.Account, bool) {
	if r.Header.Get("Test-Site") == "evil" {
		w.WriteHeader(http.StatusForbidden)
		return nil, false
	}
	a, _, err := b.people.Current(r.Context(), r.Header.Get("Test-Account"))
	if err != nil {
		w.Header().Set("Location", "/auth?return="+url.QueryEscape(r.URL.RequestURI()))
		w.WriteHeader(http.StatusFound)
		return nil, false
	}
	return a, true
}

// plainHasher is a fast Hasher without security.
type plainHasher struct{}

func (plainHasher) Hash(_ context.Context, plain string) (string, error) {
	return "hash of " + plain, nil
}

func (plainHasher) Matches(_ context.Context, hash, plain string) (bool, error) {
	return hash == "hash of "+plain, nil
}

// record is an auditor that stores events and an engine.Guesses that counts guesses.
type record struct {
	mu      sync.Mutex
	events  []engine.Event
	failed  []string
	refuses bool
}

func (r *record) Audit(_ context.Context, e engine.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

func (r *record) Admit(context.Context, string, engine.Caller) (time.Duration, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refuses {
		e := engine.Errorf(engine.TooMany, "too-many", "too many failures")
		e.RetryAfter = 7 * time.Second
		return 0, e
	}
	return 0, nil
}

func (r *record) Failed(_ context.Context, account string, _ engine.Caller) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = append(r.failed, account)
}

func (r *record) Succeeded(context.Context, string, engine.Caller) {}

// count returns the number of events of a kind.
func (r *record) count(kind engine.EventKind) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// fixture is a provider on a new database, with these accounts and clients:
//
//   - ann@local is a person.
//   - ext@system is a client without registered settings.
//   - app@system is a client with all settings.
//   - tool@system is a public client.
//   - conf is a client of the configuration.
type fixture struct {
	*oauth.Provider
	t       *testing.T
	data    *store.Store
	people  *people
	clock   *dbtest.Clock
	record  *record
	classes []*engine.Class
	options oauth.Options
}

const issuer = "https://rest.example"

func newFixture(t *testing.T, db dbtest.DB) *fixture {
	t.Helper()
	classes := oauth.Classes()
	data := db.Open(t, classes...)
	f := &fixture{t: t, data: data, classes: classes, clock: dbtest.NewClock(), record: &record{}, people: &people{all: map[string]*person{}}}
	add := func(id, name, properties string) {
		p := &person{account: engine.Account{ID: id, Name: name, Roles: []string{"r"}, Properties: fields(t, properties)}, password: "pw of " + id, basis: "1"}
		f.people.all[id] = p
	}
	add("ann@local", "Ann", `{}`)
	add("ext@system", "Extension", `{}`)
	add("app@system", "An <App>", `{"oauth":{"redirectUris":["https://app.example/cb","https://app.example/cb2?x=1"],
		"grants":["authorization_code","refresh_token","client_credentials"],"scopes":["crud","echo:read"],"remember":true,"accessTokenLifetime":600}}`)
	add("tool@system", "Tool", `{"oauth":{"public":true,"redirectUris":["http://127.0.0.1/cb","tool.example:/cb"]}}`)
	options, faults := oauth.ParseOptions("deploy.json", "options", fields(t, `{"clients":[
		{"id":"conf","secret":"s3","name":"Configured","redirectUris":["https://conf.example/cb"],"grants":["authorization_code","client_credentials"],"account":"ann@local"}]}`))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	f.options = options
	f.Provider = f.another()
	return f
}

// another returns a second provider on the same data, as another process would use.
func (f *fixture) another() *oauth.Provider {
	f.t.Helper()
	p, err := oauth.New(f.t.Context(), oauth.Config{
		Data: f.data, Classes: f.classes, Accounts: f.people, Hasher: plainHasher{}, Sessions: browser{f.people}, Options: f.options,
		Issuer: func() string { return issuer }, PublicURL: true, Guesses: f.record, Audit: f.record, Now: f.clock.Now,
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return p
}

// fields reads a JSON object.
func fields(t *testing.T, text string) engine.Fields {
	t.Helper()
	v, ok := engine.JSONText(text).Decode().(engine.Fields)
	if !ok {
		t.Fatalf("%s is no JSON object", text)
	}
	return v
}

// answer is the response of an endpoint.
type answer struct {
	status int
	header http.Header
	body   string
	json   map[string]any
}

func (a answer) text(name string) string {
	s, _ := a.json[name].(string)
	return s
}

// call sends a request to the endpoints of a provider.
func call(p *oauth.Provider, method, path, body string, headers map[string]string) answer {
	return answered(p, request(method, path, body, headers))
}

func request(method, path, body string, headers map[string]string) *http.Request {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	return r
}

func answered(p *oauth.Provider, r *http.Request) answer {
	w := httptest.NewRecorder()
	p.Handlers()[r.URL.Path].ServeHTTP(w, r)
	res := w.Result()
	b, _ := io.ReadAll(res.Body)
	a := answer{status: res.StatusCode, header: res.Header, body: string(b)}
	_ = json.Unmarshal(b, &a.json) // pages are not JSON
	return a
}

// query returns a query string with the given names and values.
func query(pairs ...string) string {
	v := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		v.Add(pairs[i], pairs[i+1])
	}
	return v.Encode()
}

// ask sends a request for a code on behalf of a person.
func (f *fixture) ask(method, account string, pairs ...string) answer {
	return call(f.Provider, method, "/oauth2/grant?"+query(pairs...), "", map[string]string{"Test-Account": account})
}

// location returns the URL of a redirect without its query, and the parameters of the query.
func (f *fixture) location(a answer) (string, url.Values) {
	f.t.Helper()
	u, err := url.Parse(a.header.Get("Location"))
	if err != nil || a.status != http.StatusFound {
		f.t.Fatalf("status %d, location %q, %v; body %s", a.status, a.header.Get("Location"), err, a.body)
	}
	v := u.Query()
	u.RawQuery = ""
	return u.String(), v
}

// code returns a code that ann@local grants to a client.
func (f *fixture) code(client string, pairs ...string) string {
	f.t.Helper()
	a := f.ask(http.MethodPost, "ann@local", append([]string{"client_id", client, "response_type", "code", "state", "s"}, pairs...)...)
	_, v := f.location(a)
	if v.Get("code") == "" {
		f.t.Fatalf("no code: %v", v)
	}
	return v.Get("code")
}

// basicOf returns the headers with which a client authenticates.
func basicOf(id, secret string) map[string]string {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.SetBasicAuth(id, secret)
	return map[string]string{"Authorization": r.Header.Get("Authorization")}
}

// exchange sends a request to /oauth2/token as a client.
func (f *fixture) exchange(client string, pairs ...string) answer {
	return exchangeAt(f.Provider, client, pairs...)
}

func exchangeAt(p *oauth.Provider, client string, pairs ...string) answer {
	headers := map[string]string{}
	switch client {
	case "tool@system":
		pairs = append(pairs, "client_id", client)
	case "conf":
		maps.Copy(headers, basicOf("conf", "s3"))
	default:
		maps.Copy(headers, basicOf(client, "pw of "+client))
	}
	return call(p, http.MethodPost, "/oauth2/token", query(pairs...), headers)
}

// tokens returns new tokens of ann@local for ext@system.
func (f *fixture) tokens() (access, refresh string) {
	f.t.Helper()
	a := f.exchange("ext@system", "grant_type", "authorization_code", "code", f.code("ext@system"))
	if a.status != http.StatusOK {
		f.t.Fatalf("%d %s", a.status, a.body)
	}
	return a.text("access_token"), a.text("refresh_token")
}

// bearer returns the account of an access token.
func bearer(p *oauth.Provider, token string) (*engine.Account, error) {
	return p.Authenticate(context.Background(), engine.AuthOAuth, engine.Credentials{Token: token})
}

// wantHolds checks whether an access token is valid.
func wantHolds(t *testing.T, what string, p *oauth.Provider, token string, holds bool) {
	t.Helper()
	_, err := bearer(p, token)
	if holds && err != nil {
		t.Errorf("%s: %v", what, err)
	}
	if !holds && (err == nil || engine.CodeOf(err) != engine.Unauthenticated) {
		t.Errorf("%s: the token still holds: %v", what, err)
	}
}

// wantError checks that a response is an error in the form of RFC 6749 section 5.2.
func wantError(t *testing.T, what string, a answer, status int, kind string) {
	t.Helper()
	if a.status != status || a.text("error") != kind || a.text("error_description") == "" || a.header.Get("Cache-Control") != "no-store" ||
		a.header.Get("Content-Type") != "application/json; charset=utf-8" {
		t.Errorf("%s: %d %s %v, want %d %s", what, a.status, a.body, a.header, status, kind)
	}
}
