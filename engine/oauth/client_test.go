package oauth_test

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/oauth"
	"restsrv/engine/store/dbtest"
)

// TestClientAuthentication checks the ways in which a client can authenticate. All wrong
// credentials get the same response.
func TestClientAuthentication(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.people.change("app@system", func(p *person) { p.password = "p%41+ß:x" })
		encode := func(id, secret string) string {
			return "Basic " + base64.StdEncoding.EncodeToString([]byte(url.QueryEscape(id)+":"+url.QueryEscape(secret)))
		}
		plain := func(id, secret string) string {
			return "Basic " + base64.StdEncoding.EncodeToString([]byte(id+":"+secret))
		}
		for name, c := range map[string]struct {
			header, form string
			fine         bool
		}{
			"Basic":                         {plain("app@system", "p%41+ß:x"), "", true},
			"Basic, encoded":                {encode("app@system", "p%41+ß:x"), "", true},
			"Basic, short name":             {plain("app", "p%41+ß:x"), "", true},
			"Basic, short name, encoded":    {encode("app", "p%41+ß:x"), "", true},
			"Basic, not in base64":          {"basic app@system:p%41+ß:x", "", true},
			"Basic and its client_id":       {plain("app@system", "p%41+ß:x"), "client_id=app", true},
			"form":                          {"", "client_id=app%40system&client_secret=p%2541%2B%C3%9F%3Ax", true},
			"form, short name":              {"", "client_id=app&client_secret=p%2541%2B%C3%9F%3Ax", true},
			"wrong secret":                  {plain("app@system", "pA+ß:x"), "", false},
			"unknown client":                {plain("nobody@system", "x"), "", false},
			"a person":                      {plain("ann@local", "pw of ann@local"), "", false},
			"no secret":                     {"", "client_id=app", false},
			"nothing":                       {"", "", false},
			"Bearer":                        {"Bearer x", "", false},
			"no colon":                      {"Basic " + base64.StdEncoding.EncodeToString([]byte("app@system")), "", false},
			"the hash of a configured one":  {plain("conf", "hash of s3"), "", false},
			"a public one with some secret": {plain("tool@system", "x"), "", false},
		} {
			headers := map[string]string{}
			if c.header != "" {
				headers["Authorization"] = c.header
			}
			a := call(f.Provider, http.MethodPost, "/oauth2/token", "grant_type=authorization_code&code=x&"+c.form, headers)
			if c.fine {
				wantError(t, name, a, 400, "invalid_grant")
				continue
			}
			wantError(t, name, a, 401, "invalid_client")
			if !strings.HasPrefix(a.header.Get("WWW-Authenticate"), "Basic ") || strings.TrimSpace(a.body) != `{"code":401,"error":"invalid_client","error_description":"the client is unknown or its secret is wrong"}` {
				t.Errorf("%s: %v %s", name, a.header, a.body)
			}
		}
		for name, c := range map[string]struct{ header, form string }{
			"both ways":          {plain("app@system", "p%41+ß:x"), "client_id=app&client_secret=x"},
			"two clients":        {plain("app@system", "p%41+ß:x"), "client_id=ext"},
			"a parameter twice":  {plain("app@system", "p%41+ß:x"), "code=y"},
			"a secret twice":     {"", "client_id=app&client_secret=x&client_secret=y"},
			"bytes, not text":    {plain("app@system", "p%41+ß:x"), "scope=%ff"},
			"not a form at all":  {plain("app@system", "p%41+ß:x"), "scope=%zz"},
			"separated by comma": {plain("app@system", "p%41+ß:x"), "a;b"},
		} {
			headers := map[string]string{}
			if c.header != "" {
				headers["Authorization"] = c.header
			}
			a := call(f.Provider, http.MethodPost, "/oauth2/token", "grant_type=authorization_code&code=x&"+c.form, headers)
			wantError(t, name, a, 400, "invalid_request")
		}
	})
}

// TestMalformedTokenRequests checks that a token request accepts only a form of texts, and only
// in the body of a POST.
func TestMalformedTokenRequests(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		right := basicOf("ext@system", "pw of ext@system")
		code := f.code("ext@system")
		with := func(kind string) map[string]string {
			return map[string]string{"Authorization": right["Authorization"], "Content-Type": kind}
		}
		wantError(t, "JSON", call(f.Provider, http.MethodPost, "/oauth2/token", `{"grant_type":"authorization_code","code":{"$ne":""}}`, with("application/json")), 400, "invalid_request")
		wantError(t, "no type", call(f.Provider, http.MethodPost, "/oauth2/token", "grant_type=authorization_code&code="+code, with("")), 400, "invalid_request")
		wantError(t, "GET", call(f.Provider, http.MethodGet, "/oauth2/token?grant_type=authorization_code&code="+code, "", right), 405, "invalid_request")
		wantError(t, "query", call(f.Provider, http.MethodPost, "/oauth2/token?grant_type=authorization_code&code="+code, "x=y", right), 400, "invalid_request")
		wantError(t, "secrets in the query", call(f.Provider, http.MethodPost, "/oauth2/token?client_id=ext&client_secret=pw+of+ext@system", "grant_type=authorization_code&code="+code, nil), 401, "invalid_client")
		wantError(t, "too long", call(f.Provider, http.MethodPost, "/oauth2/token", "grant_type=authorization_code&code="+strings.Repeat("x", 1<<17), right), 413, "invalid_request")
		for _, c := range []string{"code[]=x", "code[$ne]=x", "code=", "code=%00", "code=" + strings.ToUpper(code), "code=" + code + "+", "code=" + code[:39]} {
			a := call(f.Provider, http.MethodPost, "/oauth2/token", "grant_type=authorization_code&"+c, right)
			if a.status != 400 {
				t.Errorf("%s: %d %s", c, a.status, a.body)
			}
		}
		a := f.ask(http.MethodPost, "ann@local", "client_id", "ext", "client_id", "app", "response_type", "code")
		if a.status != 400 {
			t.Errorf("two clients: %d", a.status)
		}
		a = call(f.Provider, http.MethodPost, "/oauth2/grant?client_id=ext&response_type=code", `{"deny":true}`, map[string]string{"Test-Account": "ann@local", "Content-Type": "application/json"})
		if a.status != 400 || a.header.Get("Location") != "" {
			t.Errorf("an answer in JSON: %d %v", a.status, a.header)
		}
		a = f.exchange("ext@system", "grant_type", "authorization_code", "code", code)
		if a.status != 200 {
			t.Errorf("the code after all that: %d %s", a.status, a.body)
		}
	})
}

// TestConfiguredClientGoesOn checks a configured client while others guess its secret. The client
// does not wait, and its right secret is not hashed with every request. A wrong secret still
// waits.
func TestConfiguredClientGoesOn(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		ask := func(secret string) answer {
			return call(f.Provider, http.MethodPost, "/oauth2/token", "grant_type=client_credentials", basicOf("conf", secret))
		}
		if a := ask("s3"); a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		wantError(t, "wrong", ask("s4"), 401, "invalid_client")
		f.record.refuses = true
		if a := ask("s3"); a.status != 200 {
			t.Errorf("the right one after too many guesses: %d %s", a.status, a.body)
		}
		wantError(t, "another guess", ask("s4"), 429, "temporarily_unavailable")
	})
}

// TestGuessesAreLimited checks that unknown codes and refresh tokens count as guesses, and that
// the limit is reported in the form of RFC 6749. Valid codes and tokens are accepted even at the
// limit: an attacker can send made-up codes to the redirect URI of a client, and this must not
// lock out the other users of the client.
func TestGuessesAreLimited(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.exchange("ext@system", "grant_type", "authorization_code", "code", strings.Repeat("a", 40))
		f.exchange("ext@system", "grant_type", "refresh_token", "refresh_token", strings.Repeat("a", 40))
		call(f.Provider, http.MethodPost, "/oauth2/token", "grant_type=x", basicOf("conf", "wrong"))
		if got := strings.Join(f.record.failed, ","); got != ",,conf" {
			t.Errorf("counted %q", got)
		}
		code := f.code("ext@system")
		_, refresh := f.tokens()
		f.record.refuses = true
		if a := f.exchange("ext@system", "grant_type", "authorization_code", "code", code); a.status != 200 {
			t.Errorf("a good code after bad ones: %d %s", a.status, a.body)
		}
		if a := f.exchange("ext@system", "grant_type", "refresh_token", "refresh_token", refresh); a.status != 200 {
			t.Errorf("a good refresh token after bad codes: %d %s", a.status, a.body)
		}
		for _, client := range []string{"ext@system", "conf"} {
			a := f.exchange(client, "grant_type", "authorization_code", "code", "x")
			wantError(t, client, a, 429, "temporarily_unavailable")
			if a.header.Get("Retry-After") != "7" {
				t.Errorf("%s: %v", client, a.header)
			}
		}
	})
}

func TestClientOfAccounts(t *testing.T) {
	of := func(id, properties string) (*oauth.Client, engine.Faults) {
		return oauth.ClientOf(&engine.Account{ID: id, Properties: fields(t, properties)})
	}
	if c, _ := of("ann@local", `{"oauth2":{}}`); c != nil {
		t.Error("a person is a client")
	}
	c, faults := of("ann@local", `{"oauth":{"name":"A person's tool"}}`)
	if c == nil || c.Name != "A person's tool" || len(faults) > 0 {
		t.Errorf("%+v, %v", c, faults)
	}
	c, faults = of("ext@system", `{}`)
	if len(faults) > 0 || strings.Join(c.RedirectURIs, " ") != oauth.DefaultRedirect || strings.Join(c.Grants, " ") != "authorization_code refresh_token" || !c.Defaulted() {
		t.Errorf("%+v, %v", c, faults)
	}
	for _, none := range []string{`[]`, `["javascript:alert(1)"]`} { // the list is given, although without a valid URI, so DefaultRedirect must not get codes
		if c, _ = of("ext@system", `{"oauth":{"redirectUris":`+none+`}}`); len(c.RedirectURIs) > 0 || c.Defaulted() {
			t.Errorf("redirectUris %s: %+v", none, c)
		}
	}
	for _, no := range []string{`false`, `"no"`} {
		if c, faults = of("ext@system", `{"oauth":`+no+`}`); c != nil || len(faults) != 1 {
			t.Errorf("oauth %s: %+v, %v", no, c, faults)
		}
	}
	c, _ = of("ext@system", `{"oauth":{"public":true,"remember":true,"grants":["authorization_code","client_credentials"]}}`)
	if len(c.RedirectURIs) > 0 || c.Remember || strings.Join(c.Grants, " ") != "authorization_code" {
		t.Errorf("a public one: %+v", c)
	}
	c, faults = of("ext@system", `{"oauth":{"redirectUris":["javascript:alert(1)","/x","https://a/#f","https://u@a/","https://","https://a.example/ok"],"grants":["password","refresh_token"],"scopes":["crud:fly"],"accessTokenLifetime":"1h"}}`)
	if len(faults) != 8 || strings.Join(c.RedirectURIs, " ") != "https://a.example/ok" || strings.Join(c.Grants, " ") != "refresh_token" || c.Scope.On("crud") != 0 || c.Scope == nil || c.AccessLifetime != 0 {
		t.Errorf("%+v\n%v", c, faults)
	}
}

func TestParseOptions(t *testing.T) {
	o, faults := oauth.ParseOptions("deploy.json", "plugins.oauth.options", fields(t, `{"auth":"ion://auth","dataSource":"ion://Db","accessTokenLifetime":60,"acessTokenLifetime":1,
		"clients":[{"id":"a","secret":"x","secretHash":"y"},{"id":"a","public":true,"secret":"x","redirectUris":["https://a/"]},7,
		{"secretHash":"plain","grants":["client_credentials"]},{"id":"ok","secret":"s","redirectUris":["https://ok.example/"]}]}`))
	if o.AccessLifetime.Seconds() != 60 || len(o.Clients) != 1 || o.Clients[0].ID != "ok" {
		t.Errorf("%+v", o)
	}
	const at = "deploy.json: plugins.oauth.options."
	want := []string{
		at + `acessTokenLifetime: found unknown name "acessTokenLifetime", expected "accessTokenLifetime"`,
		at + `clients[0]: found a client with no secret, or with two, expected secret, secretHash or "public": true: the client is left out`,
		at + `clients[0].redirectUris: found no redirect URI, expected at least one, or grants without authorization_code: the client is left out`,
		at + `clients[1]: found a public client with a secret, expected no secret, or "public": false: the client is left out`,
		at + `clients[1]: found client "a" again, expected each client once: the client is left out`,
		at + `clients[2]: found 7, expected an object: the client is left out`,
		at + `clients[3].id: found null, expected a name in ASCII without a colon: the client is left out`,
		at + `clients[3].secretHash: found something else, expected a hash as restsrv makes it, which begins with $argon2id$: the client is left out`,
		at + `clients[3].account: found no account, expected the account that client_credentials acts for: the client is left out`,
	}
	if got := faults.Error(); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// slowHasher waits for a signal before it hashes.
type slowHasher struct {
	plainHasher
	may  chan struct{}
	busy atomic.Int32
}

func (h *slowHasher) Hash(ctx context.Context, plain string) (string, error) {
	<-h.may
	if h.busy.Add(-1) >= 0 {
		return "", engine.Errorf(engine.Unavailable, "password-queue", "busy")
	}
	return h.plainHasher.Hash(ctx, plain)
}

// TestConfiguredSecretsAreHashedAside checks that the server starts while the secrets are hashed,
// and that a request with a secret waits for the hash.
func TestConfiguredSecretsAreHashedAside(t *testing.T) {
	f := newFixture(t, dbtest.New(t))
	h := &slowHasher{may: make(chan struct{})}
	h.busy.Store(2)
	p, err := oauth.New(t.Context(), oauth.Config{Data: f.data, Classes: f.classes, Accounts: f.people, Hasher: h, Options: f.options,
		Issuer: func() string { return issuer }})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(secret string) answer {
		return call(p, http.MethodPost, "/oauth2/token", query("grant_type", "client_credentials", "client_id", "conf", "client_secret", secret), nil)
	}
	answers := make(chan answer)
	go func() { answers <- ask("s3") }()
	select {
	case a := <-answers:
		t.Fatalf("answered before the secret was known: %d %s", a.status, a.body)
	case <-time.After(50 * time.Millisecond):
	}
	start := time.Now()
	close(h.may)
	if a := <-answers; a.status != http.StatusOK {
		t.Errorf("the right secret: %d %s", a.status, a.body)
	}
	if took := time.Since(start); took < 150*time.Millisecond {
		t.Errorf("got an answer after %v, want a pause before each of the two new attempts to hash", took)
	}
	if a := ask("s4"); a.status != http.StatusUnauthorized {
		t.Errorf("a wrong secret: %d %s", a.status, a.body)
	}
}
