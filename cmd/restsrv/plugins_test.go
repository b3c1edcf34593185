package main

import (
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
)

// TestRealApplicationGateway makes the same call as the tests of the application: a browser that
// has signed in reads /registry-ajax-api/rest/echo-token.
func TestRealApplicationGateway(t *testing.T) {
	t.Parallel()
	eachApplication(t, callGateway)
}

func callGateway(t *testing.T, app *testApplication) {
	dir := app.complete(t)
	mustRun(t, "import", "-config", filepath.Join(dir, "deploy.json"), dir)
	p := start(t, dir)
	defer p.kill()
	jar := signIn(t, p, "demo", "ion-demo")
	for _, c := range []struct{ method, body, want string }{
		{"GET", "", `{"echo":"peekaboo","by":"ext@system","body":{}}`},
		{"POST", `{"a":[1]}`, `{"echo":"peekaboo","by":"ext@system","body":{"a":[1]}}`},
	} {
		r, _ := http.NewRequestWithContext(t.Context(), c.method, p.url+app.gateway+"/rest/echo-token", strings.NewReader(c.body))
		r.Header.Set("Content-Type", "application/json")
		r.AddCookie(jar)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK || string(body) != c.want {
			t.Errorf("%s: got %d %s, want 200 %s\n%s", c.method, resp.StatusCode, body, c.want, p.log())
		}
	}
}

// signIn signs in as a browser does and returns the cookie.
func signIn(t *testing.T, p *process, name, password string) *http.Cookie {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.PostForm(p.url+"/auth", url.Values{"username": {name}, "password": {password}})
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if len(resp.Cookies()) != 1 {
		t.Fatalf("sign-in: got %d %v, want one cookie\n%s", resp.StatusCode, resp.Header, p.log())
	}
	return resp.Cookies()[0]
}
