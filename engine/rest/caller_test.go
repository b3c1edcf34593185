package rest

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/service"
)

func TestCaller(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for name, c := range map[string]struct {
		peer   string
		header []string // name, value, ...
		want   string
		secure bool
	}{
		"nothing forwarded":            {"192.0.2.1:5", nil, "192.0.2.1", false},
		"an undeclared proxy":          {"192.0.2.1:5", []string{"X-Forwarded-For", "203.0.113.9", "X-Forwarded-Proto", "https"}, "192.0.2.1", false},
		"a trusted one":                {"10.0.0.1:5", []string{"X-Forwarded-For", "203.0.113.9", "X-Forwarded-Proto", "https"}, "203.0.113.9", true},
		"what a client made up":        {"10.0.0.1:5", []string{"X-Forwarded-For", "1.1.1.1, 203.0.113.9"}, "203.0.113.9", false},
		"two proxies":                  {"10.0.0.1:5", []string{"X-Forwarded-For", "1.1.1.1, 203.0.113.9, 10.7.7.7"}, "203.0.113.9", false},
		"two lines":                    {"10.0.0.1:5", []string{"X-Forwarded-For", "203.0.113.9", "X-Forwarded-For", "10.7.7.7"}, "203.0.113.9", false},
		"all trusted":                  {"10.0.0.1:5", []string{"X-Forwarded-For", "10.1.1.1, 10.2.2.2"}, "10.1.1.1", false},
		"a port":                       {"10.0.0.1:5", []string{"X-Forwarded-For", "203.0.113.9:80"}, "203.0.113.9", false},
		"version 6":                    {"[fd00::1]:5", []string{"X-Forwarded-For", "2001:db8::1"}, "2001:db8::1", false},
		"version 6 with a port":        {"[fd00::1]:5", []string{"X-Forwarded-For", "[2001:db8::1]:443"}, "2001:db8::1", false},
		"version 4 within 6":           {"[::ffff:10.0.0.1]:5", []string{"X-Forwarded-For", "::ffff:203.0.113.9"}, "203.0.113.9", false},
		"no address":                   {"10.0.0.1:5", []string{"X-Forwarded-For", "203.0.113.9, unknown, 10.7.7.7"}, "10.7.7.7", false},
		"nonsense":                     {"10.0.0.1:5", []string{"X-Forwarded-For", "<script>"}, "10.0.0.1", false},
		"empty":                        {"10.0.0.1:5", []string{"X-Forwarded-For", ""}, "10.0.0.1", false},
		"the last word on the scheme":  {"10.0.0.1:5", []string{"X-Forwarded-Proto", "https, http"}, "10.0.0.1", false},
		"scheme in capitals":           {"10.0.0.1:5", []string{"X-Forwarded-Proto", "http,HTTPS"}, "10.0.0.1", true},
		"Forwarded":                    {"10.0.0.1:5", []string{"Forwarded", `for=1.1.1.1;proto=http, For="[2001:db8::1]:443" ; Proto=https;by=x, for=10.7.7.7;proto=http`}, "2001:db8::1", true},
		"Forwarded, hidden":            {"10.0.0.1:5", []string{"Forwarded", `for=_hidden;proto=https`}, "10.0.0.1", false},
		"Forwarded, undeclared":        {"192.0.2.1:5", []string{"Forwarded", `for=1.1.1.1;proto=https`}, "192.0.2.1", false},
		"both agree":                   {"10.0.0.1:5", []string{"Forwarded", `for=203.0.113.9;proto=https`, "X-Forwarded-For", "203.0.113.9"}, "203.0.113.9", true},
		"both differ: one is not true": {"10.0.0.1:5", []string{"Forwarded", `for=1.1.1.1;proto=https`, "X-Forwarded-For", "203.0.113.9"}, "10.0.0.1", false},
	} {
		s := New(Config{Auth: nobody{}, Log: slog.New(slog.DiscardHandler), TrustedProxies: trusted})
		r := httptest.NewRequest("GET", "http://x.test/", nil)
		r.RemoteAddr = c.peer
		for i := 0; i < len(c.header); i += 2 {
			r.Header.Add(c.header[i], c.header[i+1])
		}
		got, text := s.callerOf(r, "id")
		if got.Address.String() != c.want || got.Secure != c.secure || got.Request != "id" {
			t.Errorf("%s: got %v, secure %v, want %s, %v", name, got.Address, got.Secure, c.want, c.secure)
		}
		if want := strings.TrimPrefix(c.want, "::ffff:"); text != want && !strings.HasPrefix(c.peer, "[") {
			t.Errorf("%s: the address is %s as text, want %s", name, text, want)
		}
	}
}

// TestServiceCaller checks that services and authenticators get the address of the client.
func TestServiceCaller(t *testing.T) {
	var offered engine.Credentials
	var log bytes.Buffer
	s := New(Config{
		Auth: authFunc(func(_ context.Context, _ engine.AuthMode, c engine.Credentials) (*engine.Account, error) {
			offered = c
			return engine.Anonymous, nil
		}),
		Log: slog.New(slog.NewTextHandler(&log, nil)), TrustedProxies: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")},
	})
	var seen engine.Caller
	var request *service.Request
	err := s.Mount("svc", engine.AuthPwd, fake{routes: []service.Route{{Method: "GET", Path: "/", Handler: func(ctx context.Context, r *service.Request) (*service.Response, error) {
		seen, request = engine.CallerFrom(ctx), r
		return nil, nil
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("GET", "/rest/svc", nil) // from 192.0.2.1
	r.Header.Set("X-Forwarded-For", "203.0.113.9")
	r.Header.Set("X-Forwarded-Proto", "https")
	r.Header.Set("X-Request-Id", "r1")
	s.ServeHTTP(httptest.NewRecorder(), r)
	want := engine.Caller{Request: "r1", Address: netip.MustParseAddr("203.0.113.9"), Secure: true}
	if seen != want || offered.Caller != want || request.RemoteIP != "203.0.113.9" || !request.Secure {
		t.Errorf("the handler saw %+v (%s, %v), the authenticator %+v", seen, request.RemoteIP, request.Secure, offered.Caller)
	}
	for range 3 {
		r.RemoteAddr = "198.51.100.7:1"
		s.ServeHTTP(httptest.NewRecorder(), r)
	}
	if seen.Address != netip.MustParseAddr("198.51.100.7") || seen.Secure {
		t.Errorf("the headers of an undeclared proxy were used: %+v", seen)
	}
	if n := strings.Count(log.String(), "trustedProxies does not name"); n != 1 {
		t.Errorf("the undeclared proxy was warned of %d times:\n%s", n, log.String())
	}
}

type authFunc func(context.Context, engine.AuthMode, engine.Credentials) (*engine.Account, error)

func (f authFunc) Authenticate(ctx context.Context, mode engine.AuthMode, c engine.Credentials) (*engine.Account, error) {
	return f(ctx, mode, c)
}

// events stores audit events.
type events []engine.Event

func (e *events) Audit(_ context.Context, one engine.Event) { *e = append(*e, one) }

// oauthServer returns a server with a service of mode oauth. It accepts the OAuth2 tokens "all",
// "crud" and "none", and the ordinary token "t".
func oauthServer(t *testing.T, audit engine.Auditor) *Server {
	t.Helper()
	scope := func(text string) *engine.Scope {
		s, err := engine.ParseScope(text)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	tokens := map[string]*engine.Account{"all": {ID: "a@local"}, "some": {ID: "a@local", Scope: scope("svc:read")}, "other": {ID: "a@local", Scope: scope("crud")}}
	s := New(Config{
		Auth: keys{}, Log: slog.New(slog.DiscardHandler), Audit: audit,
		OAuth: authFunc(func(_ context.Context, mode engine.AuthMode, c engine.Credentials) (*engine.Account, error) {
			if a := tokens[c.Token]; a != nil && mode == engine.AuthOAuth && c.Caller.Request != "" {
				return a, nil
			}
			return nil, engine.Errorf(engine.Unauthenticated, "invalid_token", "no")
		}),
	})
	for name, mode := range map[string]engine.AuthMode{"svc": engine.AuthOAuth, "plain": engine.AuthToken} {
		err := s.Mount(name, mode, fake{routes: []service.Route{{Method: "GET", Path: "/", Handler: func(ctx context.Context, r *service.Request) (*service.Response, error) {
			if engine.AccountFrom(ctx) != r.Account {
				t.Error("the request and its context differ in the account")
			}
			return &service.Response{Body: []byte(r.Account.ID + " " + r.Account.Limit.String())}, nil
		}}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func ask(s http.Handler, method, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func TestBearer(t *testing.T) {
	s := oauthServer(t, nil)
	const plain, invalid, scope = `Bearer realm="restsrv"`, `Bearer realm="restsrv", error="invalid_token"`, `Bearer error="insufficient_scope"`
	for name, c := range map[string]struct {
		header    []string
		status    int
		body      string
		challenge string
	}{
		"a token":                 {[]string{"Authorization", "Bearer all"}, 200, "a@local ", ""},
		"in small letters":        {[]string{"Authorization", "bearer  all"}, 200, "a@local ", ""},
		"with a scope":            {[]string{"Authorization", "Bearer some"}, 200, "a@local read", ""},
		"beside an auth-token":    {[]string{"Authorization", "Bearer all", "auth-token", "x"}, 200, "a@local ", ""},
		"of another scope":        {[]string{"Authorization", "Bearer other"}, 403, "", scope},
		"unknown":                 {[]string{"Authorization", "Bearer x"}, 401, "", invalid},
		"nothing":                 {nil, 401, "", plain},
		"an empty one":            {[]string{"Authorization", "Bearer"}, 401, "", plain},
		"basic":                   {[]string{"Authorization", "Basic YUBsb2NhbDp4"}, 401, "", plain},
		"auth-token":              {[]string{"auth-token", "all"}, 401, "", plain},
		"a user and a password":   {[]string{"auth-user", "a@local", "auth-pwd", "x"}, 401, "", plain},
		"two headers, one is bad": {[]string{"Authorization", "Bearer all", "Authorization", "Bearer x"}, 400, "", ""},
	} {
		w := ask(s, "GET", "/rest/svc?access_token=all", c.header...)
		if w.Code != c.status || w.Header().Get("WWW-Authenticate") != c.challenge || c.status == 200 && w.Body.String() != c.body {
			t.Errorf("%s: got %d %q, WWW-Authenticate %q", name, w.Code, w.Body, w.Header().Get("WWW-Authenticate"))
		}
	}
	if w := ask(s, "GET", "/rest/plain", "Authorization", "Bearer all"); w.Code != 401 {
		t.Errorf("an access token was taken for one of mode token: %d", w.Code)
	}
}

func TestNoOAuth(t *testing.T) {
	srv := serve(t, engine.AuthOAuth, fake{})
	if status, header, _ := get(t, "GET", srv.URL+"/rest/svc", "Authorization", "Bearer x"); status != 401 || header.Get("WWW-Authenticate") == "" {
		t.Errorf("mode oauth without OAuth2: %d %v", status, header)
	}
}

func TestDeniedRequestsAreAudited(t *testing.T) {
	var told events
	s := oauthServer(t, &told)
	ask(s, "GET", "/rest/svc/some/path?secret=1", "X-Request-Id", "r1")
	ask(s, "GET", "/rest/svc", "Authorization", "Bearer other")
	ask(s, "GET", "/rest/svc", "Authorization", "Bearer all")
	ask(s, "GET", "/rest/svc/nothing", "Authorization", "Bearer all")
	if len(told) != 2 {
		t.Fatalf("%d events, want those of the 401 and the 403: %+v", len(told), told)
	}
	for i, want := range []struct{ path, reason string }{{"/some/path", "credentials-missing"}, {"/", "insufficient_scope"}} {
		path, _ := told[i].Details.Get("path")
		reason, _ := told[i].Details.Get("reason")
		if told[i].Kind != engine.RequestDenied || told[i].Service != "svc" || path != want.path || reason != want.reason || told[i].Caller.Request == "" {
			t.Errorf("event %d is %+v", i, told[i])
		}
	}
	if told[0].Caller.Request != "r1" {
		t.Errorf("the request id is %q", told[0].Caller.Request)
	}
}
