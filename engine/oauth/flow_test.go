package oauth_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"restsrv/engine"
)

// TestPlainFlow runs the flow without redirect_uri, without PKCE and without fields in the form.
func TestPlainFlow(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		a := f.ask(http.MethodPost, "ann@local", "client_id", "ext@system", "response_type", "code", "state", "a b&c")
		to, v := f.location(a)
		if to != "http://redirect.location/handler" || v.Get("state") != "a b&c" || v.Get("iss") != issuer || len(v) != 3 || len(v.Get("code")) != 40 {
			t.Fatalf("%s %v", to, v)
		}
		a = f.exchange("ext@system", "grant_type", "authorization_code", "code", v.Get("code"))
		hex := regexp.MustCompile(`^[0-9a-f]{40}$`)
		if a.status != 200 || !hex.MatchString(a.text("access_token")) || !hex.MatchString(a.text("refresh_token")) || a.text("token_type") != "Bearer" ||
			a.json["expires_in"] != 3600.0 || a.header.Get("Cache-Control") != "no-store" || a.header.Get("Pragma") != "no-cache" {
			t.Fatalf("%d %s %v", a.status, a.body, a.header)
		}
		who, err := bearer(f.Provider, a.text("access_token"))
		if err != nil || who.ID != "ann@local" || who.Client != "ext@system" || who.Scope != nil || len(who.Roles) != 1 {
			t.Errorf("%+v, %v", who, err)
		}
		if f.record.count(engine.ConsentGiven) != 1 || f.record.count(engine.TokenIssued) != 1 {
			t.Errorf("events %v", f.record.events)
		}
		for _, e := range f.record.events {
			for _, d := range e.Details {
				if s := fmt.Sprint(d.Value); hex.MatchString(s) {
					t.Errorf("event %s shows the secret %s", e.Kind, s)
				}
			}
		}
	})
}

// TestCodeIsUsedOnce checks that only one of 100 concurrent uses of a code succeeds, and that the
// tokens of this use are revoked, because the 99 other uses indicate theft.
func TestCodeIsUsedOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		code := f.code("ext@system")
		wantOneSuccess(t, f, "grant_type", "authorization_code", "code", code)
	})
}

// TestRefreshTokenIsUsedOnce checks that only one of 100 concurrent uses of a refresh token
// succeeds, and that its grant is revoked.
func TestRefreshTokenIsUsedOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		_, refresh := f.tokens()
		wantOneSuccess(t, f, "grant_type", "refresh_token", "refresh_token", refresh)
	})
}

func wantOneSuccess(t *testing.T, f *fixture, pairs ...string) {
	t.Helper()
	var answers []answer
	var mu sync.Mutex
	var wg sync.WaitGroup
	other := f.another()
	for i := range 100 {
		wg.Go(func() {
			p := f.Provider
			if i%2 == 1 {
				p = other
			}
			a := exchangeAt(p, "ext@system", pairs...)
			mu.Lock()
			defer mu.Unlock()
			answers = append(answers, a)
		})
	}
	wg.Wait()
	var won []answer
	for _, a := range answers {
		if a.status == 200 {
			won = append(won, a)
		} else {
			wantError(t, "another use", a, 400, "invalid_grant")
		}
	}
	if len(won) != 1 {
		t.Fatalf("%d of 100 uses succeeded", len(won))
	}
	f.clock.Advance(time.Second)
	wantHolds(t, "after the reuse", f.Provider, won[0].text("access_token"), false)
	wantHolds(t, "after the reuse, elsewhere", other, won[0].text("access_token"), false)
	wantError(t, "its refresh token", f.exchange("ext@system", "grant_type", "refresh_token", "refresh_token", won[0].text("refresh_token")), 400, "invalid_grant")
	if n := f.record.count(engine.TokenReused); n != 1 {
		t.Errorf("%d events of reuse", n)
	}
}

func TestRefreshTokensRotate(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		access, first := f.tokens()
		a := f.exchange("ext@system", "grant_type", "refresh_token", "refresh_token", first)
		second := a.text("refresh_token")
		if a.status != 200 || second == first || second == "" || a.text("access_token") == access {
			t.Fatalf("%d %s", a.status, a.body)
		}
		wantHolds(t, "the access token before", f.Provider, access, false)
		wantHolds(t, "the new access token", f.Provider, a.text("access_token"), true)

		b := f.exchange("ext@system", "grant_type", "refresh_token", "refresh_token", second)
		if b.status != 200 {
			t.Fatalf("%d %s", b.status, b.body)
		}
		// If another client uses the old token, the grant is not revoked.
		wantError(t, "of another client", f.exchange("app@system", "grant_type", "refresh_token", "refresh_token", first), 400, "invalid_grant")
		wantHolds(t, "after another client's try", f.Provider, b.text("access_token"), true)
		wantError(t, "the first one again", f.exchange("ext@system", "grant_type", "refresh_token", "refresh_token", first), 400, "invalid_grant")
		wantHolds(t, "after the reuse", f.Provider, b.text("access_token"), false)
		if f.record.count(engine.TokenReused) != 1 {
			t.Errorf("events %v", f.record.events)
		}
	})
}

func TestLifetimes(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		code := f.code("ext@system")
		f.clock.Advance(5*time.Minute - time.Second)
		a := f.exchange("ext@system", "grant_type", "authorization_code", "code", code)
		if a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		late := f.code("ext@system")
		f.clock.Advance(5 * time.Minute)
		wantError(t, "an old code", f.exchange("ext@system", "grant_type", "authorization_code", "code", late), 400, "invalid_grant")
		f.clock.Advance(54 * time.Minute)
		wantHolds(t, "within the hour", f.Provider, a.text("access_token"), true)
		f.clock.Advance(2 * time.Minute)
		wantHolds(t, "after the hour", f.Provider, a.text("access_token"), false)

		a = f.exchange("ext@system", "grant_type", "refresh_token", "refresh_token", a.text("refresh_token"))
		if a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		f.clock.Advance(14 * 24 * time.Hour)
		wantError(t, "an old refresh token", f.exchange("ext@system", "grant_type", "refresh_token", "refresh_token", a.text("refresh_token")), 400, "invalid_grant")
		if err := f.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, c := range f.classes {
			if n, err := f.data.Count(t.Context(), &engine.Query{Class: c, Count: -1}); n != 0 || err != nil {
				t.Errorf("%s: %d rows stay, %v", c.Name, n, err)
			}
		}
	})
}

// TestClientsSettings checks the settings of a client for lifetimes, scopes and queries.
func TestClientsSettings(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		a := f.ask(http.MethodPost, "ann@local", "client_id", "app", "response_type", "code", "redirect_uri", "https://app.example/cb2?x=1")
		if to := a.header.Get("Location"); !strings.HasPrefix(to, "https://app.example/cb2?x=1&code=") || strings.Contains(to, "state") {
			t.Errorf("location %s", to)
		}
		a = f.exchange("app@system", "grant_type", "authorization_code", "code", f.code("app@system", "scope", "crud:read crud:read"))
		if a.json["expires_in"] != 600.0 || a.text("scope") != "crud:read" {
			t.Errorf("%s", a.body)
		}
		a = f.exchange("app@system", "grant_type", "authorization_code", "code", f.code("app@system"))
		if a.text("scope") != "crud echo:read" {
			t.Errorf("without a scope: %s", a.body)
		}
		b := f.exchange("app@system", "grant_type", "refresh_token", "refresh_token", a.text("refresh_token"), "scope", "echo:read")
		who, err := bearer(f.Provider, b.text("access_token"))
		if err != nil || who.Scope.On("echo") != engine.MayRead || who.Scope.On("crud") != 0 {
			t.Errorf("a narrower one: %s, %+v, %v", b.body, who, err)
		}
		b = f.exchange("app@system", "grant_type", "refresh_token", "refresh_token", b.text("refresh_token"))
		if b.text("scope") != "crud echo:read" {
			t.Errorf("the grant's own scope is lost: %s", b.body)
		}
		wantError(t, "a wider one", f.exchange("app@system", "grant_type", "refresh_token", "refresh_token", b.text("refresh_token"), "scope", "token"), 400, "invalid_scope")
		_, v := f.location(f.ask(http.MethodPost, "ann@local", "client_id", "app@system", "response_type", "code", "state", "x", "scope", "echo"))
		if v.Get("error") != "invalid_scope" || v.Get("state") != "x" || v.Get("code") != "" {
			t.Errorf("a wider one for a code: %v", v)
		}
		// The client conf gets no refresh tokens.
		a = f.exchange("conf", "grant_type", "authorization_code", "code", f.code("conf"))
		if a.status != 200 || a.json["refresh_token"] != nil {
			t.Errorf("%d %s", a.status, a.body)
		}
	})
}

func TestClientCredentials(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		a := f.exchange("app@system", "grant_type", "client_credentials", "scope", "crud:read")
		who, err := bearer(f.Provider, a.text("access_token"))
		if a.status != 200 || a.json["refresh_token"] != nil || err != nil || who.ID != "app@system" || who.Client != "app@system" || who.Scope.String() != "crud:read" {
			t.Errorf("%d %s %+v %v", a.status, a.body, who, err)
		}
		a = f.exchange("conf", "grant_type", "client_credentials")
		who, err = bearer(f.Provider, a.text("access_token"))
		if err != nil || who.ID != "ann@local" || who.Client != "conf" {
			t.Errorf("configured: %s %+v %v", a.body, who, err)
		}
		wantError(t, "not granted", f.exchange("ext@system", "grant_type", "client_credentials"), 400, "unauthorized_client")
		wantError(t, "a public client", f.exchange("tool@system", "grant_type", "client_credentials"), 400, "unauthorized_client")
		wantError(t, "password", f.exchange("app@system", "grant_type", "password", "username", "ann@local", "password", "x"), 400, "unsupported_grant_type")
	})
}

func challengeOf(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// TestCodesMatchTheirRequest checks that a code is refused if another client sends it, if the
// redirect URI differs, or if the request for the code used PKCE and the exchange does not.
func TestCodesMatchTheirRequest(t *testing.T) {
	verifier := strings.Repeat("v-._~", 10)
	pkce := []string{"code_challenge", challengeOf(verifier), "code_challenge_method", "S256"}
	uri := []string{"redirect_uri", "https://app.example/cb"}
	cases := []struct {
		name, client string
		asked, sent  []string
		fine         bool
	}{
		{"as asked", "app@system", append(uri, pkce...), append(uri, "code_verifier", verifier), true},
		{"no redirect_uri asked, the right one sent", "app@system", nil, uri, true},
		{"another client", "ext@system", nil, nil, false},
		{"another redirect_uri", "app@system", uri, []string{"redirect_uri", "https://app.example/cb2?x=1"}, false},
		{"a longer redirect_uri", "app@system", uri, []string{"redirect_uri", "https://app.example/cb/"}, false},
		{"no redirect_uri", "app@system", uri, nil, false},
		{"no verifier", "app@system", pkce, nil, false},
		{"an empty verifier", "app@system", pkce, []string{"code_verifier", ""}, false},
		{"another verifier", "app@system", pkce, []string{"code_verifier", strings.Repeat("w", 50)}, false},
		{"the challenge as verifier", "app@system", pkce, []string{"code_verifier", pkce[1]}, false},
		{"a verifier without a challenge", "app@system", nil, []string{"code_verifier", verifier}, false},
		{"a public client", "tool@system", pkce, []string{"code_verifier", verifier}, true},
		{"a public client without a verifier", "tool@system", pkce, nil, false},
	}
	onBoth(t, func(t *testing.T, f *fixture) {
		for _, c := range cases {
			asker := c.client
			if asker == "ext@system" {
				asker = "app@system"
			}
			code := f.code(asker, c.asked...)
			a := f.exchange(c.client, append([]string{"grant_type", "authorization_code", "code", code}, c.sent...)...)
			if c.fine && a.status != 200 {
				t.Errorf("%s: %d %s", c.name, a.status, a.body)
			} else if !c.fine {
				wantError(t, c.name, a, 400, "invalid_grant")
			}
		}
	})
}

// TestCodeEndsWhenClientChanges checks that a code becomes void when its redirect URI is removed
// from the client. A code without PKCE becomes void when the client becomes public.
func TestCodeEndsWhenClientChanges(t *testing.T) {
	for name, properties := range map[string]string{
		"other redirect URI": `{"oauth":{"redirectUris":["https://app.example/new"]}}`,
		"public":             `{"oauth":{"public":true,"redirectUris":["https://app.example/cb"]}}`,
	} {
		onBoth(t, func(t *testing.T, f *fixture) {
			code := f.code("app@system", "redirect_uri", "https://app.example/cb")
			f.people.change("app@system", func(p *person) { p.account.Properties = fields(t, properties) })
			a := f.exchange("app@system", "grant_type", "authorization_code", "code", code, "redirect_uri", "https://app.example/cb")
			wantError(t, name, a, 400, "invalid_grant")
		})
	}
}

// TestInvalidRequestsForCodes checks that invalid requests for a code are refused. The response
// is a redirect only if the redirect URI is known to belong to the client.
func TestInvalidRequestsForCodes(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		for name, pairs := range map[string][]string{
			"no client":              {"response_type", "code"},
			"unknown client":         {"client_id", "nobody", "response_type", "code"},
			"a person":               {"client_id", "ann@local", "response_type", "code"},
			"prefix":                 {"client_id", "app", "redirect_uri", "https://app.example/cb/more"},
			"shorter":                {"client_id", "app", "redirect_uri", "https://app.example/c"},
			"query":                  {"client_id", "app", "redirect_uri", "https://app.example/cb?x=1"},
			"fragment":               {"client_id", "app", "redirect_uri", "https://app.example/cb#x"},
			"user":                   {"client_id", "app", "redirect_uri", "https://app.example@evil.example/cb"},
			"host's end":             {"client_id", "app", "redirect_uri", "https://evilapp.example/cb"},
			"scheme":                 {"client_id", "app", "redirect_uri", "http://app.example/cb"},
			"case":                   {"client_id", "app", "redirect_uri", "https://APP.example/cb"},
			"dots":                   {"client_id", "app", "redirect_uri", "https://app.example/x/../cb"},
			"escape":                 {"client_id", "app", "redirect_uri", "https://app.example/%63b"},
			"port of a confidential": {"client_id", "app", "redirect_uri", "https://app.example:444/cb"},
			"relative":               {"client_id", "app", "redirect_uri", "/cb"},
			"script":                 {"client_id", "tool", "redirect_uri", "javascript:alert(1)"},
			"loopback, other path":   {"client_id", "tool", "redirect_uri", "http://127.0.0.1:5000/cb2"},
			"loopback, trick":        {"client_id", "tool", "redirect_uri", "http://127.0.0.1:5000@evil.example/cb"},
			"loopback, name":         {"client_id", "tool", "redirect_uri", "http://localhost:5000/cb"},
			"twice":                  {"client_id", "app", "redirect_uri", "https://app.example/cb", "redirect_uri", "https://app.example/cb2?x=1"},
		} {
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				a := f.ask(method, "ann@local", pairs...)
				if status, text := unknownClient(method, name); status != 0 {
					if a.status != status || string(a.body) != text || a.header.Get("Content-Type") != "text/html; charset=utf-8" {
						t.Errorf("%s %s: %d %v %s", method, name, a.status, a.header, a.body)
					}
					continue
				}
				if a.status != 400 || a.header.Get("Location") != "" || a.json["code"] != 400.0 || a.text("error") == "" {
					t.Errorf("%s %s: %d %v %s", method, name, a.status, a.header, a.body)
				}
			}
		}
		challenge := challengeOf("v")
		for name, c := range map[string]struct {
			kind  string
			pairs []string
		}{
			"no type":       {"invalid_request", nil},
			"token":         {"unsupported_response_type", []string{"response_type", "token"}},
			"mode":          {"invalid_request", []string{"response_type", "code", "response_mode", "fragment"}},
			"plain":         {"invalid_request", []string{"response_type", "code", "code_challenge", challenge, "code_challenge_method", "plain"}},
			"no method":     {"invalid_request", []string{"response_type", "code", "code_challenge", challenge}},
			"only a method": {"invalid_request", []string{"response_type", "code", "code_challenge_method", "S256"}},
			"short":         {"invalid_request", []string{"response_type", "code", "code_challenge", challenge[1:], "code_challenge_method", "S256"}},
			"bad scope":     {"invalid_scope", []string{"response_type", "code", "scope", "crud:fly"}},
			"a wide scope":  {"invalid_scope", []string{"response_type", "code", "scope", "*"}},
		} {
			to, v := f.location(f.ask(http.MethodPost, "ann@local", append([]string{"client_id", "app", "redirect_uri", "https://app.example/cb", "state", "s t"}, c.pairs...)...))
			if to != "https://app.example/cb" || v.Get("error") != c.kind || v.Get("error_description") == "" || v.Get("state") != "s t" || v.Get("iss") != issuer || v.Has("code") {
				t.Errorf("%s: %s %v", name, to, v)
			}
		}
		for _, scope := range []string{`"`, `cr\ud`, "crud\x01", "crud\techo", "sërvice"} { // invalid characters, which even a client without a limit must not use (RFC 6749 section 3.3)
			if _, v := f.location(f.ask(http.MethodPost, "ann@local", "client_id", "ext", "response_type", "code", "scope", scope)); v.Get("error") != "invalid_scope" {
				t.Errorf("scope %q: %v", scope, v)
			}
			_, refresh := f.tokens()
			wantError(t, "refreshing for "+scope, f.exchange("ext@system", "grant_type", "refresh_token", "refresh_token", refresh, "scope", scope), 400, "invalid_scope")
		}
		_, v := f.location(f.ask(http.MethodGet, "ann@local", "client_id", "tool", "response_type", "code"))
		if v.Get("error") != "invalid_request" {
			t.Errorf("a public client without PKCE: %v", v)
		}
		to, v := f.location(f.ask(http.MethodPost, "ann@local", "client_id", "tool", "response_type", "code", "redirect_uri", "http://127.0.0.1:51004/cb",
			"code_challenge", challenge, "code_challenge_method", "S256"))
		if to != "http://127.0.0.1:51004/cb" || !v.Has("code") {
			t.Errorf("a free port of the own machine: %s %v", to, v)
		}
	})
}

// unknownClient returns the expected response to a request for the consent page of an unknown
// client, as in IONDV.
func unknownClient(method, name string) (status int, text string) {
	switch {
	case method != http.MethodGet:
	case name == "no client":
		return 401, "Client application credentials were not specified."
	case name == "unknown client" || name == "a person":
		return 404, "Client not found."
	}
	return 0, ""
}
