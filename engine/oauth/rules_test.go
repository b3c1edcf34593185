package oauth

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	oautherrors "github.com/go-oauth2/oauth2/v4/errors"

	"restsrv/engine"
)

// TestFailuresInWords checks the status, error code, Retry-After and log level of each kind of
// failure.
func TestFailuresInWords(t *testing.T) {
	later := func(code engine.Code, reason string, after time.Duration) error {
		e := engine.Errorf(code, reason, "text of the error")
		e.RetryAfter = after
		return e
	}
	for _, x := range []struct {
		name   string
		err    error
		kind   error
		status int
		text   string
		retry  string // Retry-After
		logged bool   // whether it is logged as an error of the server
	}{
		{"one of OAuth2", invalidGrant("the code is wrong"), oautherrors.ErrInvalidGrant, 400, "the code is wrong", "", false},
		{"a wrong client", invalidClient(), oautherrors.ErrInvalidClient, 401, "the client is unknown or its secret is wrong", "", false},
		{"too many attempts", later(engine.TooMany, "guesses", 7*time.Second), oautherrors.ErrTemporarilyUnavailable, 429, "text of the error", "7", false},
		{"too many attempts, for part of a second", later(engine.TooMany, "guesses", 0), oautherrors.ErrTemporarilyUnavailable, 429, "text of the error", "1", false},
		{"a busy database", later(engine.Unavailable, "database", 1500*time.Millisecond), oautherrors.ErrTemporarilyUnavailable, 503, "the server is busy, try again later", "2", true},
		{"a full queue of passwords", later(engine.Unavailable, engine.PasswordQueue, 2*time.Second), oautherrors.ErrTemporarilyUnavailable, 503, "the server is busy, try again later", "2", false},
		{"a timeout", later(engine.Timeout, "timeout", 0), oautherrors.ErrTemporarilyUnavailable, 503, "the server is busy, try again later", "1", true},
		{"a malformed request", later(engine.Invalid, "x", 0), oautherrors.ErrInvalidRequest, 400, "text of the error", "", false},
		{"a long request", later(engine.TooLarge, "x", 0), oautherrors.ErrInvalidRequest, 400, "text of the error", "", false},
		{"another error of the engine", later(engine.Conflict, "x", 0), oautherrors.ErrServerError, 500, "internal server error", "", true},
		{"any other error", errors.New("secret"), oautherrors.ErrServerError, 500, "internal server error", "", true},
	} {
		f := failureOf(x.err)
		r := f.response()
		if !errors.Is(f.kind, x.kind) || r.StatusCode != x.status || r.Description != x.text || r.Header.Get("Retry-After") != x.retry {
			t.Errorf("%s: got %v with status %d, %q and Retry-After %q, want %v, %d, %q, %q", x.name, f.kind, r.StatusCode, r.Description, r.Header.Get("Retry-After"), x.kind, x.status, x.text, x.retry)
		}
		if got := r.Header.Get("WWW-Authenticate") != ""; got != (x.status == 401) {
			t.Errorf("%s: asks for credentials: %v", x.name, got)
		}
		var log bytes.Buffer
		p := &Provider{core: &core{cfg: Config{Log: slog.New(slog.NewTextHandler(&log, nil))}}}
		w, request := httptest.NewRecorder(), httptest.NewRequest("GET", "/oauth2/grant", nil)
		p.refuseRequest(w, request, x.err)
		if got := strings.Contains(log.String(), "level=ERROR"); got != x.logged {
			t.Errorf("%s: logged as an error: %v, want %v:\n%s", x.name, got, x.logged, log.String())
		}
		if _, there := w.Header()["Retry-After"]; w.Code != x.status || w.Header().Get("Retry-After") != x.retry || there != (x.retry != "") {
			t.Errorf("%s: answered with %d and Retry-After %q, want %d and %q", x.name, w.Code, w.Header()["Retry-After"], x.status, x.retry)
		}
		w = httptest.NewRecorder()
		request.Header.Set("Accept", "text/html")
		p.refuseRequest(w, request, x.err)
		if got, want := strings.Contains(w.Body.String(), "try again later."), x.status == 429 || x.status >= 500; got != want || w.Code != x.status {
			t.Errorf("%s: the page has status %d and advises to try again: %v, want %d and %v", x.name, w.Code, got, x.status, want)
		}
	}
}

// TestDescriptions checks which characters an error description keeps.
func TestDescriptions(t *testing.T) {
	for text, want := range map[string]string{"a b~": "a b~", "\x1f \x7f": "? ?", `"a\b”`: "'a'b'", "é": "?"} {
		if got := errorDescription(text); got != want {
			t.Errorf("%q is described as %q, want %q", text, got, want)
		}
	}
}

// TestLoopbackPorts checks which ports are accepted in a redirect URI with a loopback address.
func TestLoopbackPorts(t *testing.T) {
	for asked, want := range map[string]bool{
		"http://127.0.0.1:1/cb": true, "http://127.0.0.1:12345/cb": true, "http://127.0.0.1:123456/cb": false, "http://127.0.0.1:/cb": false,
		"http://127.0.0.1/cb": false, "http://127.0.0.1:1/cb2": false, "http://127.0.0.1:1x/cb": false, "http://localhost:1/cb": false, "http://[::1]:1/cb": false,
	} {
		if got := sameLoopback("http://127.0.0.1/cb", asked); got != want {
			t.Errorf("%s for http://127.0.0.1/cb: %v, want %v", asked, got, want)
		}
	}
}

// TestRedirectRules checks which redirect URIs a client may register.
func TestRedirectRules(t *testing.T) {
	for uri, ok := range map[string]bool{
		"https://app.example/cb": true, "https://app.example/!~": true, "app.example:/cb": true, "http://127.0.0.1/cb": true,
		"https://app.example/a b": false, "https://app.example/\x7f": false, "https://app.example/é": false, `https://app.example/\`: false,
		"https:///cb": false, "http:///cb": false, "http://:80/cb": false, "app:///cb": true, "/cb": false, "": false, "https://a@app.example/": false,
		"https://app.example/#x": false, "javascript:alert(1)": false,
	} {
		if got := CheckRedirect(uri); (got == "") != ok {
			t.Errorf("%q: got %q, want it accepted: %v", uri, got, ok)
		}
	}
}

// TestVerifiers checks the length and the characters of PKCE verifiers.
func TestVerifiers(t *testing.T) {
	challenge := func(verifier string) string {
		sum := sha256.Sum256([]byte(verifier))
		return base64.RawURLEncoding.EncodeToString(sum[:])
	}
	rest := strings.Repeat("x", 42)
	for verifier, want := range map[string]bool{
		rest: false, rest + "x": true, strings.Repeat("x", 128): true, strings.Repeat("x", 129): false,
		rest + "a": true, rest + "z": true, rest + "A": true, rest + "Z": true, rest + "0": true, rest + "9": true, rest + "-._~": true,
		rest + "`": false, rest + "{": false, rest + "@": false, rest + "[": false, rest + "/": false, rest + ":": false, rest + "é": false,
	} {
		if got := verifierMatches(challenge(verifier), verifier); got != want {
			t.Errorf("the verifier %q is taken: %v, want %v", verifier, got, want)
		}
	}
	for _, x := range [][2]string{{"", rest + "x"}, {challenge(rest + "x"), ""}, {challenge(rest + "y"), rest + "x"}} {
		if verifierMatches(x[0], x[1]) {
			t.Errorf("the verifier %q is taken for the challenge %q", x[1], x[0])
		}
	}
	if !verifierMatches("", "") {
		t.Error("neither a challenge nor a verifier: got refused, want accepted")
	}
}

// TestOptionBounds checks the default and the maximum lifetimes, and the names and secrets that a
// configured client can have.
func TestOptionBounds(t *testing.T) {
	if got, want := (Options{}).withDefaults(), (Options{AccessLifetime: time.Hour, RefreshLifetime: 336 * time.Hour, CodeLifetime: 5 * time.Minute, GrantsPerAccount: 1000, GrantsOfAll: 200_000}); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the usual times are %+v, want %+v", got, want)
	}
	own := Options{AccessLifetime: 1, RefreshLifetime: 2, CodeLifetime: 3, GrantsPerAccount: 4, GrantsOfAll: 5}
	if got := own.withDefaults(); fmt.Sprint(got) != fmt.Sprint(own) {
		t.Errorf("configured times became %+v, want %+v", got, own)
	}
	const client = `{"clients":[{"id":%q,"secret":%q,"redirectUris":["https://app.example/cb"]}]}`
	long := strings.Repeat("x", maxSecret)
	for source, ok := range map[string]bool{
		`{"accessTokenLifetime":31622400}`:                                                 true,
		`{"accessTokenLifetime":31622401}`:                                                 false,
		`{"refreshTokenLifetime":316224000}`:                                               true,
		`{"refreshTokenLifetime":316224001}`:                                               false,
		`{"authorizationCodeLifetime":3600}`:                                               true,
		`{"authorizationCodeLifetime":3601}`:                                               false,
		`{"maxGrants":{"perAccount":1,"all":1}}`:                                           true,
		`{"maxGrants":{"perAccount":0}}`:                                                   false,
		`{"maxGrants":{"perAccount":2,"all":1}}`:                                           false,
		`{"maxGrants":{"all":999}}`:                                                        false,
		fmt.Sprintf(client, "a !~", "x"):                                                   true,
		fmt.Sprintf(client, "a:", "x"):                                                     false,
		fmt.Sprintf(client, "a\t", "x"):                                                    false,
		fmt.Sprintf(client, "aé", "x"):                                                     false,
		fmt.Sprintf(client, "a", long):                                                     true,
		fmt.Sprintf(client, "a", long+"x"):                                                 false,
		`{"clients":[{"id":"a","public":true,"redirectUris":["https://app.example/cb"]}]}`: true,
		`{"clients":[{"id":"a","public":true,"secret":"x","redirectUris":["https://app.example/cb"]}]}`:            false,
		`{"clients":[{"id":"a","public":true,"secretHash":"pbkdf2$1","redirectUris":["https://app.example/cb"]}]}`: false,
	} {
		_, faults := ParseOptions("deploy.json", "options", engine.JSONText(source).Decode().(engine.Fields))
		if got := len(faults) == 0; got != ok {
			t.Errorf("%.80s: got %v, want it accepted: %v", source, faults, ok)
		}
	}
	for name, want := range map[string]string{`"name":"App",`: "App", "": "a"} {
		o, _ := ParseOptions("deploy.json", "options", engine.JSONText(`{"clients":[{`+name+`"id":"a","public":true,"redirectUris":["https://app.example/cb"]}]}`).Decode().(engine.Fields))
		if got := o.Clients[0].Name; got != want {
			t.Errorf("a client with %q is called %q, want %q", name, got, want)
		}
	}
}

// unavailable implements Accounts with a database that is not available.
type unavailable struct{ Accounts }

func (unavailable) Current(context.Context, string) (*engine.Account, string, error) {
	return nil, "", engine.Errorf(engine.Unavailable, "database", "away")
}

// TestClientsForTheLibrary checks that GetClient returns a configured client, and an error for a
// client that does not exist or cannot be read.
func TestClientsForTheLibrary(t *testing.T) {
	c := &core{cfg: Config{Accounts: unavailable{}}}
	f := &flows{core: c, clientStore: &clientStore{core: c, clients: map[string]*Client{"conf": {ID: "conf", Account: "ann@local"}}}}
	if c, err := f.GetClient(t.Context(), "conf"); err != nil || c.GetID() != "conf" || c.GetUserID() != "ann@local" {
		t.Errorf("got %v, %v, want conf of ann@local", c, err)
	}
	if c, err := f.GetClient(t.Context(), ""); c != nil || failureOf(err).status != 401 {
		t.Errorf("a missing client: got %v, %v, want an invalid client", c, err)
	}
	if c, err := f.GetClient(t.Context(), "app"); c != nil || engine.CodeOf(err) != engine.Unavailable {
		t.Errorf("a client that cannot be read: got %v, %v, want Unavailable", c, err)
	}
}
