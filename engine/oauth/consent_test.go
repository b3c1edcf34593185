package oauth_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/oauth"
)

func TestConsentPage(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		a := call(f.Provider, http.MethodGet, "/oauth2/grant?client_id=app&response_type=code&scope=crud:read+echo:read", "", map[string]string{"Test-Account": "ann@local"})
		for _, part := range []string{"<strong>An &lt;App&gt;</strong>", "<strong>ann@local</strong>", "<li>read what you may read, through the service “crud”</li>",
			`name="grant"`, `name="deny"`, `<form method="post" class="choice">`, "app@system", "https://app.example."} {
			if !strings.Contains(a.body, part) {
				t.Errorf("the page lacks %s:\n%s", part, a.body)
			}
		}
		if a.status != 200 || a.header.Get("Content-Type") != "text/html; charset=utf-8" || strings.Contains(a.body, "<script") {
			t.Errorf("%d %v", a.status, a.header)
		}
		if !strings.HasSuffix(strings.TrimSpace(a.body), "</html>") {
			t.Errorf("got text behind the page:\n%s", a.body)
		}
		if n := f.record.count(engine.ConsentGiven) + f.record.count(engine.ConsentDenied); n != 0 {
			t.Errorf("%d answers by looking at the page", n)
		}
	})
}

// TestPagesAreProtected checks that no page can be framed, cached or opened by another site, and
// that the headers Host and X-Forwarded-* have no effect.
func TestPagesAreProtected(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		forged := map[string]string{"X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "gopher", "Forwarded": "host=evil.example", "Test-Account": "ann@local", "Accept": "text/html"}
		for _, path := range []string{"/oauth2/grant?client_id=ext&response_type=code", "/oauth2/grant?client_id=nobody", "/oauth2/grant?client_id=ext&response_type=code&client_id=app"} {
			a := call(f.Provider, http.MethodGet, path, "", forged)
			h := a.header
			if !strings.Contains(h.Get("Content-Security-Policy"), "frame-ancestors 'none'") || h.Get("Cross-Origin-Opener-Policy") != "same-origin" ||
				h.Get("Referrer-Policy") != "no-referrer" || h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s: %v", path, h)
			}
			if strings.Contains(a.body, "evil") || !strings.HasPrefix(a.body, "<!DOCTYPE html>") {
				t.Errorf("%s: %s", path, a.body)
			}
		}
		a := call(f.Provider, http.MethodGet, "http://evil.example/.well-known/oauth-authorization-server", "", forged)
		if a.status != 200 || strings.Contains(a.body, "evil") || a.text("issuer") != issuer || a.text("token_endpoint") != issuer+"/oauth2/token" {
			t.Errorf("%d %s", a.status, a.body)
		}
		a = call(f.Provider, http.MethodPost, "/oauth2/grant?client_id=ext&response_type=code", "", map[string]string{"Test-Account": "ann@local", "Test-Site": "evil"})
		if a.header.Get("Location") != "" || f.record.count(engine.ConsentGiven) != 0 {
			t.Errorf("another site granted: %d %v", a.status, a.header)
		}
		delete(forged, "Test-Account")
		a = call(f.Provider, http.MethodPost, "/oauth2/grant?client_id=ext&response_type=code", "state=%26x&grant=1", forged)
		back, err := url.Parse(a.header.Get("Location"))
		if err != nil || a.status != 302 || back.Host != "" || back.Path != "/auth" || back.Query().Get("return") != "/oauth2/grant?client_id=ext&response_type=code&state=%26x" {
			t.Errorf("nobody signed in: %d %v", a.status, a.header)
		}
	})
}

func TestDeny(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		for _, body := range []string{"deny=1", "deny=", "allowed=false"} {
			a := call(f.Provider, http.MethodPost, "/oauth2/grant?client_id=ext&response_type=code&state=s", body, map[string]string{"Test-Account": "ann@local"})
			to, v := f.location(a)
			if to != "http://redirect.location/handler" || v.Get("error") != "access_denied" || v.Get("state") != "s" || v.Has("code") {
				t.Errorf("%s: %s %v", body, to, v)
			}
		}
		if f.record.count(engine.ConsentDenied) != 3 || f.record.count(engine.ConsentGiven) != 0 {
			t.Errorf("events %v", f.record.events)
		}
	})
}

// TestConsentIsRemembered checks a client with Remember: an account that gave its consent is
// asked again only if the client requests a larger scope.
func TestConsentIsRemembered(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		asks := func(account, client, scope string) bool {
			t.Helper()
			a := f.ask(http.MethodGet, account, "client_id", client, "response_type", "code", "scope", scope)
			if a.status == 302 {
				if _, v := f.location(a); !v.Has("code") {
					t.Errorf("%v", v)
				}
			}
			return a.status == 200
		}
		f.people.all["bob@local"] = &person{account: engine.Account{ID: "bob@local"}}
		if !asks("ann@local", "app", "crud:read") {
			t.Error("nobody was asked")
		}
		f.code("app@system", "scope", "crud:read")
		f.code("ext@system")
		for _, c := range []struct {
			account, client, scope string
			asks                   bool
		}{
			{"ann@local", "app", "crud:read", false}, {"ann@local", "app@system", "crud:read", false}, {"ann@local", "app", "crud", true},
			{"ann@local", "app", "", true}, {"bob@local", "app", "crud:read", true}, {"ann@local", "ext", "", true},
		} {
			if got := asks(c.account, c.client, c.scope); got != c.asks {
				t.Errorf("%+v: asks %t", c, got)
			}
		}
		f.ask(http.MethodPost, "ann@local", "client_id", "app", "response_type", "code", "deny", "1")
		if !asks("ann@local", "app", "crud:read") {
			t.Error("still remembered after it was denied")
		}

		f.code("app@system", "scope", "crud:read")
		if err := oauth.EndAccount(t.Context(), f.data, f.classes, "bob@local"); err != nil || asks("ann@local", "app", "crud:read") {
			t.Errorf("got %v, want the end of another account to keep the consent", err)
		}
		access, _ := f.tokens()
		if err := oauth.EndAccount(t.Context(), f.data, f.classes, "ann@local"); err != nil {
			t.Error(err)
		}
		wantHolds(t, "a token of an ended account, in another process", f.another(), access, false)
		if !asks("ann@local", "app", "crud:read") {
			t.Error("a later account of the same name has the consent")
		}
	})
}

func TestStateOfAnyLength(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		long := strings.Repeat("Ж&=", 5000)
		_, v := f.location(f.ask(http.MethodPost, "ann@local", "client_id", "ext", "response_type", "code", "state", long))
		if v.Get("state") != long {
			t.Errorf("%d bytes of state came back", len(v.Get("state")))
		}
		_, v = f.location(f.ask(http.MethodPost, "ann@local", "client_id", "ext", "response_type", "code"))
		if v.Has("state") || !v.Has("code") {
			t.Errorf("%v", v)
		}
	})
}
