package oauth_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/oauth"
)

// TestRevokedTokensEnd checks the changes that revoke a token: they take effect at once on the
// server that made the change, and within a second on others.
func TestRevokedTokensEnd(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		other := f.another()
		revoke := func(p *oauth.Provider, token string) {
			a := call(p, http.MethodPost, "/oauth2/revoke", query("token", token), basicOf("ext@system", "pw of ext@system"))
			if a.status != 200 || a.body != "" {
				t.Errorf("%d %s", a.status, a.body)
			}
		}
		for name, end := range map[string]func(access, refresh string){
			"its revocation":          func(access, _ string) { revoke(f.Provider, access) },
			"revocation of the grant": func(_, refresh string) { revoke(f.Provider, refresh) },
			"a disabled account": func(string, string) {
				f.people.change("ann@local", func(p *person) { p.disabled = true })
				f.Forget("ann@local")
			},
			"a new password": func(string, string) {
				f.people.change("ann@local", func(p *person) { p.basis += "1" })
				f.Forget("ann@local")
			},
			"a disabled client": func(string, string) {
				f.people.change("ext@system", func(p *person) { p.disabled = true })
				f.Forget("ext@system")
			},
			"a client with fewer rights": func(string, string) {
				f.people.change("ext@system", func(p *person) { p.account.Properties = fields(t, `{"oauth":{"scopes":"crud"}}`) })
				f.Forget("ext@system")
			},
			"all of the client": func(string, string) {
				if err := oauth.EndClient(t.Context(), f.data, f.classes, "ext@system"); err != nil {
					t.Error(err)
				}
				f.Forget("ext@system")
			},
			"a refresh": func(_, refresh string) {
				f.exchange("ext@system", "grant_type", "refresh_token", "refresh_token", refresh)
			},
		} {
			access, refresh := f.tokens()
			wantHolds(t, name+", before", f.Provider, access, true)
			wantHolds(t, name+", before, elsewhere", other, access, true)
			end(access, refresh)
			wantHolds(t, name, f.Provider, access, false)
			f.clock.Advance(500 * time.Millisecond)
			wantHolds(t, name+", elsewhere", other, access, false)
			for id, p := range f.people.all {
				p.disabled = false
				if id == "ext@system" {
					p.account.Properties = nil
				}
			}
		}
		if f.record.count(engine.TokenRevoked) != 2 {
			t.Errorf("events %v", f.record.events)
		}
	})
}

// TestRemovedClientLosesGrants checks that the grants of a configured client end when the client
// is removed from the configuration, even if there is an account with the same name.
func TestRemovedClientLosesGrants(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		token := f.exchange("conf", "grant_type", "client_credentials").text("access_token")
		wantHolds(t, "before", f.Provider, token, true)
		f.options.Clients = nil
		f.people.all["conf@system"] = &person{account: engine.Account{ID: "conf@system"}, password: "x", basis: "1"}
		wantHolds(t, "without it", f.another(), token, false)
	})
}

// TestRolesFollow checks that changed roles of an account take effect after half a second,
// although its access token is cached.
func TestRolesFollow(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		access, _ := f.tokens()
		before, err := bearer(f.Provider, access)
		if err != nil {
			t.Fatal(err)
		}
		f.people.change("ann@local", func(p *person) { p.account.Roles = []string{"other"} })
		if again, _ := bearer(f.Provider, access); again != before {
			t.Error("it was not remembered")
		}
		f.clock.Advance(500 * time.Millisecond)
		if after, err := bearer(f.Provider, access); err != nil || after.Roles[0] != "other" {
			t.Errorf("%+v, %v", after, err)
		}
	})
}

func TestRevocation(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		access, refresh := f.tokens()
		own := basicOf("ext@system", "pw of ext@system")
		wantError(t, "another client's", call(f.Provider, http.MethodPost, "/oauth2/revoke", query("token", access), basicOf("app@system", "pw of app@system")), 400, "unauthorized_client")
		wantError(t, "no client", call(f.Provider, http.MethodPost, "/oauth2/revoke", query("token", access), nil), 401, "invalid_client")
		wantError(t, "no token", call(f.Provider, http.MethodPost, "/oauth2/revoke", "x=y", own), 400, "invalid_request")
		for _, token := range []string{"x", strings.Repeat("a", 40)} {
			if a := call(f.Provider, http.MethodPost, "/oauth2/revoke", query("token", token), own); a.status != 200 {
				t.Errorf("%s: %d", token, a.status)
			}
		}
		wantHolds(t, "after all that", f.Provider, access, true)
		call(f.Provider, http.MethodPost, "/oauth2/revoke", query("token", access, "token_type_hint", "refresh_token"), own)
		wantHolds(t, "revoked", f.Provider, access, false)
		a := f.exchange("ext@system", "grant_type", "refresh_token", "refresh_token", refresh)
		if a.status != 200 {
			t.Errorf("its refresh token: %d %s", a.status, a.body)
		}
		call(f.Provider, http.MethodPost, "/oauth2/revoke", query("token", a.text("refresh_token")), own)
		wantHolds(t, "of a revoked family", f.Provider, a.text("access_token"), false)
		wantError(t, "the revoked one", f.exchange("ext@system", "grant_type", "refresh_token", "refresh_token", a.text("refresh_token")), 400, "invalid_grant")
		_, old := f.tokens()
		a = f.exchange("ext@system", "grant_type", "refresh_token", "refresh_token", old)
		wantError(t, "another client's old one", call(f.Provider, http.MethodPost, "/oauth2/revoke", query("token", old), basicOf("app@system", "pw of app@system")), 400, "unauthorized_client")
		wantHolds(t, "before its old refresh token is revoked", f.Provider, a.text("access_token"), true)
		if b := call(f.Provider, http.MethodPost, "/oauth2/revoke", query("token", old), own); b.status != 200 {
			t.Errorf("a refresh token that was exchanged: %d %s", b.status, b.body)
		}
		wantHolds(t, "of a family whose old refresh token was revoked", f.Provider, a.text("access_token"), false)
	})
}

// TestIntrospection checks that a client can introspect only its own tokens (RFC 7662).
func TestIntrospection(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		access, refresh := f.tokens()
		ask := func(token string, as map[string]string) answer {
			return call(f.Provider, http.MethodPost, "/oauth2/introspect", query("token", token), as)
		}
		own, others := basicOf("ext@system", "pw of ext@system"), basicOf("app@system", "pw of app@system")
		now := float64(f.clock.Now().Unix())
		a := ask(access, own)
		if a.json["active"] != true || a.text("username") != "ann@local" || a.text("sub") != "ann@local" || a.text("client_id") != "ext@system" ||
			a.json["exp"] != now+3600 || a.json["iat"] != now || a.text("token_type") != "Bearer" || a.text("iss") != issuer {
			t.Errorf("%s", a.body)
		}
		if a = ask(refresh, own); a.json["active"] != true || a.json["exp"] != now+14*24*3600 || a.json["token_type"] != nil {
			t.Errorf("refresh: %s", a.body)
		}
		for name, a := range map[string]answer{
			"another client's": ask(access, others), "unknown": ask(strings.Repeat("b", 40), own), "no token": ask("x", own),
		} {
			if a.status != 200 || strings.TrimSpace(a.body) != `{"active":false}` {
				t.Errorf("%s: %d %s", name, a.status, a.body)
			}
		}
		wantError(t, "nobody", ask(access, nil), 401, "invalid_client")
		wantError(t, "a public client", call(f.Provider, http.MethodPost, "/oauth2/introspect", query("token", access, "client_id", "tool"), nil), 401, "invalid_client")
		properties := f.people.all["ext@system"].account.Properties
		f.people.change("ext@system", func(p *person) { p.account.Properties = fields(t, `{"oauth":{"scopes":["crud"]}}`) })
		for _, token := range []string{access, refresh} {
			if a = ask(token, own); a.json["active"] != false {
				t.Errorf("of a client that may have less now: %s", a.body)
			}
		}
		f.people.change("ext@system", func(p *person) { p.account.Properties = properties })
		f.people.change("ann@local", func(p *person) { p.disabled = true })
		if a = ask(access, own); a.json["active"] != false {
			t.Errorf("of a disabled account: %s", a.body)
		}
	})
}

// TestTokensThatAreNone checks that a text without the form of a token causes no query.
func TestTokensThatAreNone(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		if err := f.data.Close(); err != nil {
			t.Fatal(err)
		}
		for _, token := range []string{"", "x", strings.Repeat("A", 40), strings.Repeat("a", 41), strings.Repeat("é", 20)} {
			wantHolds(t, token, f.Provider, token, false)
		}
	})
}

// TestRememberedTokenCosts checks the allocations for a cached access token. This is the hot path
// of services with the mode oauth.
func TestRememberedTokenCosts(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		access, _ := f.tokens()
		wantHolds(t, "first", f.Provider, access, true)
		c := engine.Credentials{Token: access}
		if n := testing.AllocsPerRun(100, func() {
			if _, err := f.Authenticate(t.Context(), engine.AuthOAuth, c); err != nil {
				t.Error(err)
			}
		}); n > 1 {
			t.Errorf("%v allocations", n)
		}
	})
}
