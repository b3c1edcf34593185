package oauth_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/oauth"
	"restsrv/engine/store/dbtest"
)

// TestMetadataMethods checks with which methods the metadata of the server can be requested.
func TestMetadataMethods(t *testing.T) {
	f := newFixture(t, dbtest.New(t))
	const path = "/.well-known/oauth-authorization-server"
	for method, want := range map[string]int{http.MethodGet: 200, http.MethodHead: 200, http.MethodPost: 405, http.MethodDelete: 405} {
		a := call(f.Provider, method, path, "", nil)
		if a.status != want || (a.header.Get("Allow") != "") != (want == 405) {
			t.Errorf("%s: got %d with Allow %q, want %d", method, a.status, a.header.Get("Allow"), want)
		}
	}
}

// TestScopeBounds checks the longest scope that a request may have, and its
// characters.
func TestScopeBounds(t *testing.T) {
	f := newFixture(t, dbtest.New(t))
	for scope, ok := range map[string]bool{
		"": true, "crud": true, "crud echo:read": true, "a~": true, "a\x7f": false, "a\x1f": false, `a"`: false, `a\`: false, "é": false,
		strings.Repeat("x", 2000): true, strings.Repeat("x", 2001): false,
	} {
		a := f.ask(http.MethodPost, "ann@local", "client_id", "ext@system", "response_type", "code", "scope", scope)
		_, v := f.location(a)
		if got := v.Get("error") != "invalid_scope"; got != ok {
			t.Errorf("the scope %.40q: got error %q, want it accepted: %v", scope, v.Get("error"), ok)
		}
	}
}

// TestIntrospectedScope checks that introspection shows the scope of a token that has one.
func TestIntrospectedScope(t *testing.T) {
	f := newFixture(t, dbtest.New(t))
	for _, scope := range []string{"", "crud"} {
		pairs := []string{}
		if scope != "" {
			pairs = append(pairs, "scope", scope)
		}
		a := f.exchange("ext@system", "grant_type", "authorization_code", "code", f.code("ext@system", pairs...))
		shown := call(f.Provider, http.MethodPost, "/oauth2/introspect", query("token", a.text("access_token")), basicOf("ext@system", "pw of ext@system"))
		got, there := shown.json["scope"]
		if shown.json["active"] != true || there != (scope != "") || there && got != scope {
			t.Errorf("a token of scope %q: got %s", scope, shown.body)
		}
	}
}

// TestRedirectOfAClientWithoutAny checks that a client with an empty list of redirect URIs never
// gets a code, whatever URI the request contains.
func TestRedirectOfAClientWithoutAny(t *testing.T) {
	f := newFixture(t, dbtest.New(t))
	f.people.change("app@system", func(p *person) { p.account.Properties = fields(t, `{"oauth":{"redirectUris":[]}}`) })
	for redirect, want := range map[string]string{"": "the client has registered no redirect URI", "https://app.example/cb": "redirect_uri is not one that the client has registered"} {
		a := f.ask(http.MethodGet, "ann@local", "client_id", "app@system", "response_type", "code", "redirect_uri", redirect)
		if a.status != 400 || a.text("error") != "invalid_request" || a.text("error_description") != want {
			t.Errorf("redirect URI %q: got %d %s, want %q", redirect, a.status, a.body, want)
		}
	}
	f.people.change("app@system", func(p *person) {
		p.account.Properties = fields(t, `{"oauth":{"redirectUris":["https://app.example/cb"]}}`)
	})
	if a := f.ask(http.MethodGet, "ann@local", "client_id", "app@system", "response_type", "code"); a.status != 200 {
		t.Errorf("the only URI, not named: got %d %s, want the consent page", a.status, a.body)
	}
}

// TestClientNames checks the longest id of a client.
func TestClientNames(t *testing.T) {
	f := newFixture(t, dbtest.New(t))
	for length, want := range map[int]int{512: 302, 513: 404} {
		id := strings.Repeat("x", length-len("@system")) + "@system"
		f.people.all[id] = &person{account: engine.Account{ID: id}, basis: "1"}
		a := f.ask(http.MethodPost, "ann@local", "client_id", id, "response_type", "code")
		if (a.status == 302) != (want == 302) {
			t.Errorf("an id of %d bytes: got %d %s, want %d", length, a.status, a.body, want)
		}
	}
}

// refusing is a set of accounts in which every password check fails with err.
type refusing struct {
	*people
	err error
}

func (r refusing) Authenticate(context.Context, engine.AuthMode, engine.Credentials) (*engine.Account, error) {
	return nil, r.err
}

// TestSecretsThatCannotBeChecked checks which errors of the password check are reported as a
// wrong secret, and which are reported unchanged.
func TestSecretsThatCannotBeChecked(t *testing.T) {
	f := newFixture(t, dbtest.New(t))
	for code, want := range map[engine.Code]int{engine.Unauthenticated: 401, engine.Forbidden: 401, engine.Invalid: 401, engine.TooMany: 429, engine.Unavailable: 503, engine.Timeout: 503} {
		p := f.with(func(c *oauth.Config) { c.Accounts = refusing{f.people, engine.Errorf(code, "x", "no")} })
		if a := exchangeAt(p, "app@system", "grant_type", "client_credentials"); a.status != want {
			t.Errorf("code %d: got %d %s, want %d", code, a.status, a.body, want)
		}
	}
}

// with returns a provider on the same data with a changed configuration.
func (f *fixture) with(change func(*oauth.Config)) *oauth.Provider {
	f.t.Helper()
	c := oauth.Config{Data: f.data, Classes: f.classes, Accounts: f.people, Hasher: plainHasher{}, Sessions: browser{f.people}, Options: f.options,
		Issuer: func() string { return issuer }, PublicURL: true, Now: f.clock.Now}
	change(&c)
	p, err := oauth.New(f.t.Context(), c)
	if err != nil {
		f.t.Fatal(err)
	}
	return p
}

// TestWithoutGuesses checks configured clients of a server without a limit for guesses, and of a
// server with a limit.
func TestWithoutGuesses(t *testing.T) {
	f := newFixture(t, dbtest.New(t))
	waits := &waiting{}
	for name, p := range map[string]*oauth.Provider{"no guesses": f.with(func(*oauth.Config) {}), "guesses": f.with(func(c *oauth.Config) { c.Guesses = waits })} {
		for range 2 { // the second time, the secret is cached
			if a := exchangeAt(p, "conf", "grant_type", "client_credentials"); a.status != 200 {
				t.Errorf("%s: got %d %s, want 200", name, a.status, a.body)
			}
		}
		if a := call(p, http.MethodPost, "/oauth2/token", "grant_type=client_credentials", basicOf("conf", "wrong")); a.status != 401 {
			t.Errorf("%s, a wrong secret: got %d, want 401", name, a.status)
		}
	}
	if waits.succeeded != 2 || waits.failed != 1 {
		t.Errorf("%d successes and %d failures are counted, want 2 and 1", waits.succeeded, waits.failed)
	}
	waits.wait = time.Hour
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	p := f.with(func(c *oauth.Config) { c.Guesses = waits })
	r := request(http.MethodPost, "/oauth2/token", "grant_type=client_credentials", basicOf("conf", "s3")).WithContext(ctx)
	if a := answered(p, r); a.status != 503 {
		t.Errorf("a request that ends while it waits: got %d %s, want 503", a.status, a.body)
	}
}

// waiting is an engine.Guesses that counts attempts and delays them.
type waiting struct {
	wait              time.Duration
	succeeded, failed int
}

func (w *waiting) Admit(context.Context, string, engine.Caller) (time.Duration, error) {
	return w.wait, nil
}
func (w *waiting) Failed(context.Context, string, engine.Caller)    { w.failed++ }
func (w *waiting) Succeeded(context.Context, string, engine.Caller) { w.succeeded++ }

// broken is a repository in which reads or bulk deletes fail.
type broken struct {
	engine.Repository
	list, deleteAll error
	lists           int
	before          func() // called before each list
}

func (b *broken) List(ctx context.Context, q *engine.Query, visit func(*engine.Item) error) error {
	if b.lists++; b.before != nil {
		b.before()
	}
	if b.list != nil {
		return b.list
	}
	return b.Repository.List(ctx, q, visit)
}

func (b *broken) DeleteAll(ctx context.Context, q *engine.Query) (int64, error) {
	if b.deleteAll != nil {
		return 0, b.deleteAll
	}
	return b.Repository.DeleteAll(ctx, q)
}

// TestEndClientFails checks that an error is returned if the grants of a client
// cannot be deleted.
func TestEndClientFails(t *testing.T) {
	f := newFixture(t, dbtest.New(t))
	busy := engine.Errorf(engine.Unavailable, "busy", "the database is busy")
	if err := oauth.EndClient(t.Context(), &broken{Repository: f.data, deleteAll: busy}, f.classes, "ext@system"); engine.CodeOf(err) != engine.Unavailable {
		t.Errorf("got %v, want the failure of the database", err)
	}
	access, _ := f.tokens()
	if err := oauth.EndClient(t.Context(), f.data, f.classes, "ext@system"); err != nil {
		t.Error(err)
	}
	wantHolds(t, "a token of the client, in another process", f.another(), access, false)
}

// TestTokensAreCheckedCheaply checks how often the stored grant of a cached access token is read.
// Requests that wait for the same read share its result, and a failure of the database does not
// revoke the token.
func TestTokensAreCheckedCheaply(t *testing.T) {
	f := newFixture(t, dbtest.New(t))
	access, _ := f.tokens()
	data := &broken{Repository: f.data}
	p := f.with(func(c *oauth.Config) { c.Data = data })
	f.clock.Advance(10 * time.Second)
	use := func(what string, after time.Duration, lists int) {
		t.Helper()
		f.clock.Advance(after)
		before := data.lists
		wantHolds(t, what, p, access, true)
		if got := data.lists - before; got != lists {
			t.Errorf("%s: %d lists, want %d", what, got, lists)
		}
	}
	use("first", 0, 1)
	use("at once", 0, 0)
	use("499 ms later", 499*time.Millisecond, 0)
	use("500 ms later", time.Millisecond, 1)
	use("and at once", 0, 0)

	f.clock.Advance(time.Second)
	data.list = engine.Errorf(engine.Unavailable, "busy", "the database is busy")
	if _, err := bearer(p, access); engine.CodeOf(err) != engine.Unavailable {
		t.Errorf("with a busy database: got %v, want Unavailable", err)
	}
	data.list = nil
	use("when the database is back", 0, 1)

	// Three concurrent requests find that the cached token must be checked again.
	f.clock.Advance(time.Second)
	arrived, open, first := make(chan bool), make(chan bool), true
	data.before = func() {
		if first {
			first = false
			close(arrived)
			<-open
		}
	}
	before, done := data.lists, make(chan error)
	for range 3 {
		go func() { _, err := bearer(p, access); done <- err }()
	}
	<-arrived
	time.Sleep(50 * time.Millisecond) // let the others begin to wait
	close(open)
	for range 3 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	data.before = nil
	if got := data.lists - before; got != 1 {
		t.Errorf("three requests at once: %d lists, want 1", got)
	}
}

// TestTokenEndsToTheMoment checks that an access token, cached or not, is valid just before the
// moment at which it expires and not valid at that moment.
func TestTokenEndsToTheMoment(t *testing.T) {
	f := newFixture(t, dbtest.New(t))
	access, _ := f.tokens()
	f.clock.Advance(time.Hour - 100*time.Millisecond)
	wantHolds(t, "100 ms before its end", f.Provider, access, true)
	f.clock.Advance(99 * time.Millisecond)
	wantHolds(t, "1 ms before its end", f.Provider, access, true)
	f.clock.Advance(time.Millisecond)
	wantHolds(t, "at its end", f.Provider, access, false)
	wantHolds(t, "at its end, in another process", f.another(), access, false)
}
