package clients

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"restsrv/cmd/restsrv/apptest"
)

// oauthApplication has a service with authentication by OAuth2, and clients of each kind. The
// secret of the client web contains characters that each place encodes differently.
const oauthApplication = `{"globals": {"plugins": {"oauth": {"module": "lib/oAuthAdapter", "options": {"clients": [
	{"id": "web", "secret": "s/3:%+ß", "redirectUris": ["https://web.example/cb?from=restsrv", "https://web.example/cb"], "account": "admin@local",
	 "grants": ["authorization_code", "refresh_token", "client_credentials"], "scopes": ["echo-oauth", "crud"]},
	{"id": "native", "public": true, "redirectUris": ["http://127.0.0.1/cb"]}]}}}},
	"modules": {"rest": {"globals": {"di": {"echo-oauth": {"module": "scripts/echo.js"}}, "authMode": {"echo-oauth": "oauth"}}}}}`

func startOAuth(t *testing.T) *apptest.Process {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("deploy.json", oauthApplication)
	if err := os.Mkdir(filepath.Join(dir, "scripts"), 0o700); err != nil {
		t.Fatal(err)
	}
	write("scripts/echo.js", `module.exports = {'POST /': () => ({echo: 'peekaboo'})};`)
	return apptest.Start(t, dir)
}

// signedIn returns a client in which admin@local has signed in. It does not follow redirects.
func signedIn(t *testing.T, server string) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := browser.PostForm(server+"/auth", url.Values{"username": {"admin"}, "password": {apptest.AdminPassword}})
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != http.StatusFound {
		t.Fatalf("sign-in: got %s, want 302", r.Status)
	}
	return browser
}

// granted grants the access that a client requests, and returns the parameters of the redirect.
func granted(t *testing.T, browser *http.Client, address string) url.Values {
	t.Helper()
	r, err := browser.PostForm(address, url.Values{"grant": {"1"}})
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	to, err := r.Location()
	if err != nil {
		t.Fatalf("%s: %v", r.Status, err)
	}
	return to.Query()
}

// TestGoClient runs all flows with golang.org/x/oauth2.
func TestGoClient(t *testing.T) {
	t.Parallel()
	p := startOAuth(t)
	browser := signedIn(t, p.URL)
	ctx := context.Background()
	endpoint := oauth2.Endpoint{AuthURL: p.URL + "/oauth2/grant", TokenURL: p.URL + "/oauth2/token"}
	for name, c := range map[string]*oauth2.Config{
		"in a header, found out": {ClientID: "web", ClientSecret: "s/3:%+ß", RedirectURL: "https://web.example/cb?from=restsrv", Scopes: []string{"echo-oauth"}, Endpoint: endpoint},
		"in the form": {ClientID: "web", ClientSecret: "s/3:%+ß", RedirectURL: "https://web.example/cb?from=restsrv",
			Endpoint: oauth2.Endpoint{AuthURL: endpoint.AuthURL, TokenURL: endpoint.TokenURL, AuthStyle: oauth2.AuthStyleInParams}},
		"public": {ClientID: "native", RedirectURL: "http://127.0.0.1:40404/cb", Endpoint: endpoint},
	} {
		t.Run(name, func(t *testing.T) {
			verifier := oauth2.GenerateVerifier()
			v := granted(t, browser, c.AuthCodeURL("st&te", oauth2.S256ChallengeOption(verifier)))
			if v.Get("state") != "st&te" || v.Get("code") == "" {
				t.Fatalf("got the parameters %v, want the state and a code", v)
			}
			if _, err := c.Exchange(ctx, v.Get("code"), oauth2.VerifierOption(oauth2.GenerateVerifier())); err == nil {
				t.Error("exchange with another verifier: got no error, want one")
			}
			token, err := c.Exchange(ctx, v.Get("code"), oauth2.VerifierOption(verifier))
			if err != nil {
				t.Fatal(err)
			}
			callOAuth(t, p, c.Client(ctx, token))
			// A source that has only the refresh token gets another one.
			fresh, err := c.TokenSource(ctx, &oauth2.Token{RefreshToken: token.RefreshToken}).Token()
			if err != nil || fresh.RefreshToken == token.RefreshToken {
				t.Fatalf("refresh: got %+v, %v, want a new refresh token", fresh, err)
			}
			callOAuth(t, p, c.Client(ctx, fresh))
			_, err = c.TokenSource(ctx, &oauth2.Token{RefreshToken: token.RefreshToken}).Token()
			var refused *oauth2.RetrieveError
			if !errors.As(err, &refused) || refused.ErrorCode != "invalid_grant" {
				t.Errorf("the previous refresh token: got %v, want invalid_grant", err)
			}
		})
	}
	own := clientcredentials.Config{ClientID: "web", ClientSecret: "s/3:%+ß", TokenURL: endpoint.TokenURL, Scopes: []string{"echo-oauth"}}
	callOAuth(t, p, own.Client(ctx))
	own.ClientSecret = "wrong"
	_, err := own.Token(ctx)
	var refused *oauth2.RetrieveError
	if !errors.As(err, &refused) || refused.ErrorCode != "invalid_client" || refused.Response.StatusCode != 401 {
		t.Errorf("a wrong secret: got %v, want invalid_client with 401", err)
	}
}

func callOAuth(t *testing.T, p *apptest.Process, c *http.Client) {
	t.Helper()
	r, err := c.Post(p.URL+"/rest/echo-oauth", "", nil)
	if err != nil {
		t.Error(err)
		return
	}
	defer r.Body.Close()
	if body, _ := io.ReadAll(r.Body); r.StatusCode != 200 || string(body) != `{"echo":"peekaboo"}` {
		t.Errorf("got %s %s, want 200 and the echo", r.Status, body)
	}
}

// TestNodeClient runs all flows with openid-client.
func TestNodeClient(t *testing.T) {
	t.Parallel()
	dir := npmPackages(t, "npm")
	p := startOAuth(t)
	node := exec.CommandContext(t.Context(), "node", "client.mjs")
	node.Dir = dir
	node.Env = append(os.Environ(), "SERVER="+p.URL, "PASSWORD="+apptest.AdminPassword)
	out, err := node.CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "done" {
		t.Errorf("node: got %v, want the output done:\n%s", err, out)
	}
}
