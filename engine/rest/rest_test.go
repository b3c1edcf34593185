package rest

import (
	"context"
	"encoding/base64"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/service"
)

// fake is a service with given routes.
type fake struct {
	routes []service.Route
	form   service.ErrorForm
}

func (f fake) Routes() []service.Route   { return f.routes }
func (f fake) Errors() service.ErrorForm { return f.form }

// nobody is an authenticator that rejects all credentials.
type nobody struct{}

func (nobody) Authenticate(context.Context, engine.AuthMode, engine.Credentials) (*engine.Account, error) {
	return nil, engine.Errorf(engine.Unauthenticated, "credentials", "who are you?")
}

func text(s string) service.Handler {
	return func(context.Context, *service.Request) (*service.Response, error) {
		return &service.Response{ContentType: textPlain, Body: []byte(s)}, nil
	}
}

// params is a handler that answers with the decoded path parameters.
func params(_ context.Context, r *service.Request) (*service.Response, error) {
	var b strings.Builder
	for _, p := range r.Params {
		b.WriteString(p.Name + "=" + p.Value + ";")
	}
	return &service.Response{ContentType: textPlain, Body: []byte(b.String())}, nil
}

func serve(t *testing.T, mode engine.AuthMode, f fake) *httptest.Server {
	t.Helper()
	s := New(Config{Auth: nobody{}, Log: slog.New(slog.DiscardHandler)})
	if err := s.Mount("svc", mode, f); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	return srv
}

func get(t *testing.T, method, url string, header ...string) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(b)
}

func TestRoutes(t *testing.T) {
	srv := serve(t, engine.AuthNone, fake{routes: []service.Route{
		{Method: "GET", Path: "/", Handler: text("root")},
		{Method: "GET", Path: "/list/:page?", Handler: params},
		{Method: "GET", Path: `/n/:num(\d+)`, Handler: text("number")},
		{Method: "GET", Path: "/n/:word", Handler: params},
		{Method: "POST", Path: "/n/:word", Handler: text("posted")},
		{Method: "PUT", Path: "/n/:word", Handler: text("put")},
		{Method: "GET", Path: "/files/*", Handler: params},
		{Method: "HEAD", Path: "/n/:word", Handler: func(context.Context, *service.Request) (*service.Response, error) {
			return &service.Response{Status: 204}, nil
		}},
	}})
	for path, want := range map[string]string{
		"/rest/svc": "root", "/rest/svc/": "root",
		"/rest/svc/list": "", "/rest/svc/LIST/": "", "/rest/svc/list/2": "page=2;", "/rest/svc/list/2/": "page=2;",
		"/rest/svc/n/12": "number", "/rest/svc/n/x1": "word=x1;", "/rest/svc/n/a%2Fb%20c": "word=a/b c;",
		"/rest/svc/n/..": "word=..;", "/rest/%73vc/n/x": "word=x;",
		"/rest/svc/files": "0=;", "/rest/svc/files/a/b": "0=a/b;",
	} {
		if status, _, body := get(t, "GET", srv.URL+path); status != 200 || body != want {
			t.Errorf("%s: got %d %q, want %q", path, status, body, want)
		}
	}
	for _, path := range []string{"/rest/svc/x", "/rest/svc//n/1", "/rest/svc/n", "/rest/svc/n/", "/rest/svc/n/1/2", "/rest/svc/n/1//"} {
		if status, _, _ := get(t, "GET", srv.URL+path); status != 404 {
			t.Errorf("%s: got %d, want 404", path, status)
		}
	}
	const allow = "GET,HEAD,POST,PUT"
	if status, header, _ := get(t, "DELETE", srv.URL+"/rest/svc/n/x"); status != 404 || header.Get("Allow") != allow {
		t.Errorf("DELETE: %d, Allow %q", status, header.Get("Allow"))
	}
	if status, header, _ := get(t, "OPTIONS", srv.URL+"/rest/svc/n/x"); status != 200 || header.Get("Allow") != allow {
		t.Errorf("OPTIONS: %d, Allow %q", status, header.Get("Allow"))
	}
	if status, _, _ := get(t, "HEAD", srv.URL+"/rest/svc/n/x"); status != 204 {
		t.Errorf("a HEAD route of its own goes first, got %d", status)
	}
	if status, header, _ := get(t, "HEAD", srv.URL+"/rest/svc/list/22"); status != 200 || header.Get("Content-Length") != "8" {
		t.Errorf("HEAD by GET: %d %v", status, header)
	}
	if _, _, body := get(t, "POST", srv.URL+"/rest/svc/n/x", "X-HTTP-Method-Override", "put"); body != "put" {
		t.Errorf("overridden method: %q", body)
	}
}

func TestBadRoutes(t *testing.T) {
	for path, want := range map[string]string{
		"x": "must begin with /", "/a*b": "mixes text", "/:": "is no parameter", "/:a(": "is no parameter",
		"/:a([)": "not in RE2", "/:a?/b": "only the last", "/*/b": "can only end",
		"/:a/:a": "occurs twice", "/a//b": "nothing between",
	} {
		_, err := newRouter([]service.Route{{Method: "GET", Path: path}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", path, err, want)
		}
	}
	if _, err := newRouter([]service.Route{{Method: "get", Path: "/"}}); err == nil {
		t.Error("a method in small letters was accepted")
	}
}

func TestCredentials(t *testing.T) {
	b64 := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	for name, c := range map[string]struct {
		header []string
		want   engine.Credentials
	}{
		"basic":           {[]string{"Authorization", "Basic " + b64("a@local:p:w")}, engine.Credentials{User: "a@local", Password: "p:w"}},
		"basic, small":    {[]string{"Authorization", "basic " + b64("a@local:p")}, engine.Credentials{User: "a@local", Password: "p"}},
		"basic, unpadded": {[]string{"Authorization", "Basic " + strings.TrimRight(b64("a@local:pw"), "=")}, engine.Credentials{User: "a@local", Password: "pw"}},
		"basic, plain":    {[]string{"Authorization", "Basic a@local:p w:x"}, engine.Credentials{User: "a@local", Password: "p w:x"}},
		"basic, half":     {[]string{"Authorization", "Basic " + b64("a@local")}, engine.Credentials{User: "a@local"}},
		"basic, rubbish":  {[]string{"Authorization", "Basic %%%"}, engine.Credentials{}},
		"headers":         {[]string{"auth-user", "a", "auth-user-type", "local", "auth-pwd", "p"}, engine.Credentials{User: "a", Type: "local", Password: "p"}},
		"headers win":     {[]string{"auth-user", "a@local", "Authorization", "Basic " + b64("b@local:q")}, engine.Credentials{User: "a@local"}},
		"token":           {[]string{"auth-token", "t"}, engine.Credentials{Token: "t"}},
		"bearer wins":     {[]string{"auth-token", "t", "Authorization", "bearer u"}, engine.Credentials{Token: "u"}},
	} {
		h := http.Header{}
		for i := 0; i < len(c.header); i += 2 {
			h.Set(c.header[i], c.header[i+1])
		}
		if got := parseCredentials(h); got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}

// FuzzAuthorization checks that no header causes a panic, and that each gives at most one kind of
// credential.
func FuzzAuthorization(f *testing.F) {
	for _, s := range []string{"Basic YTpi", "Basic a:b", "Bearer x", "basic", "Basic ====", "Bearer ", " "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c := parseCredentials(http.Header{"Authorization": {s}})
		if c.Token != "" && (c.User != "" || c.Password != "") {
			t.Fatalf("%q gives both %+v", s, c)
		}
	})
}

// FuzzMatch checks that matching a path never panics and that the parameters of
// a match are set.
func FuzzMatch(f *testing.F) {
	for _, s := range []string{"/", "/a@b/c", "/%", "/%2F/%00", "//", "/a/b/c/d"} {
		f.Add(s)
	}
	r, err := newRouter([]service.Route{{Method: "GET", Path: "/:class/:id"}, {Method: "GET", Path: "/:class"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, path string) {
		route, params, _ := r.match("GET", path)
		if route != nil && (len(params) == 0 || params[0].Value == "") {
			t.Fatalf("%q matched %s with %v", path, route.Path, params)
		}
	})
}

func TestFailures(t *testing.T) {
	fail := func(e *engine.Error) service.Handler {
		return func(context.Context, *service.Request) (*service.Response, error) { return nil, e }
	}
	routes := []service.Route{
		{Method: "GET", Path: "/bad", Handler: fail(&engine.Error{Code: engine.Invalid, Reason: "type", Message: "m", Class: "c@n", Attribute: "a", Index: 3, Bulk: true})},
		{Method: "GET", Path: "/ours", Handler: fail(engine.Wrap(io.ErrClosedPipe, "reading sql: /etc/passwd"))},
		{Method: "GET", Path: "/away", Handler: fail(engine.Errorf(engine.Unavailable, "queue", "later"))},
		{Method: "GET", Path: "/panic", Handler: func(context.Context, *service.Request) (*service.Response, error) { panic("secret") }},
	}
	const page, exact = "text/html; charset=utf-8", `{"type":"about:blank","title":"Bad Request","status":400,"detail":"m","code":"type","class":"c@n","attribute":"a","index":3,"requestId":"r1"}`
	for _, c := range []struct {
		form         service.ErrorForm
		path, accept string
		status       int
		typ, body    string // body is a part of the response
	}{
		{service.ProblemErrors, "/bad", "", 400, problemJSON, exact},
		{service.ProblemErrors, "/ours", "", 500, problemJSON, `"detail":"Internal server error","code":"internal"`},
		{service.ProblemErrors, "/nowhere", "", 404, problemJSON, `"code":"unknown-route"`},
		{service.TextErrors, "/bad", "", 400, textPlain, "m"},
		{service.TextErrors, "/panic", "", 500, textPlain, "Internal server error"},
		{service.TextErrors, "/away", "", 503, textPlain, "later"},
		{service.PageErrors, "/bad", "", 400, page, "<body><pre>Bad Request</pre></body>"},
		{service.PageErrors, "/ours", "", 400, page, "<body><pre>Bad Request</pre></body>"},
		{service.PageErrors, "/away", "", 503, page, "Service Unavailable"},
		{service.PageErrors, "/nowhere", "", 404, page, "Not Found"},
		{service.PageErrors, "/bad", "application/problem+json", 400, problemJSON, exact},
	} {
		srv := serve(t, engine.AuthNone, fake{routes: routes, form: c.form})
		status, header, body := get(t, "GET", srv.URL+"/rest/svc"+c.path, "X-Request-Id", "r1", "Accept", c.accept)
		if status != c.status || header.Get("Content-Type") != c.typ || !strings.Contains(body, c.body) {
			t.Errorf("%d %s: got %d %s %s", c.form, c.path, status, header.Get("Content-Type"), body)
		}
		for _, leak := range []string{"secret", "passwd", "sql", ".go:", "goroutine"} {
			if strings.Contains(body, leak) {
				t.Errorf("%d %s: the body leaks %q: %s", c.form, c.path, leak, body)
			}
		}
		if c.status == 503 && header.Get("Retry-After") != "1" {
			t.Errorf("Retry-After %q", header.Get("Retry-After"))
		}
	}
}

// TestOwnFailureBeforeTheHandler checks an internal error during authentication: a client that
// accepts problem+json gets no details of the error.
func TestOwnFailureBeforeTheHandler(t *testing.T) {
	s := New(Config{Log: slog.New(slog.DiscardHandler), Auth: authFunc(func(context.Context, engine.AuthMode, engine.Credentials) (*engine.Account, error) {
		return nil, engine.Wrap(io.ErrClosedPipe, "reading sql: /etc/passwd")
	})})
	for _, form := range []service.ErrorForm{service.ProblemErrors, service.TextErrors, service.PageErrors} {
		if err := s.Mount("svc", engine.AuthToken, fake{form: form}); err != nil {
			t.Fatal(err)
		}
		w := ask(s, "GET", "/rest/svc/", "Accept", problemJSON, "auth-token", "t")
		if body := w.Body.String(); strings.Contains(body, "passwd") || !strings.Contains(body, engine.InternalText) {
			t.Errorf("%d: got %d %s", form, w.Code, body)
		}
	}
}

func TestOrderOfChecks(t *testing.T) {
	srv := serve(t, engine.AuthToken, fake{})
	if status, header, body := get(t, "GET", srv.URL+"/rest/other/x"); status != 404 || body != "Service not found" || header.Get("X-Request-Id") == "" {
		t.Errorf("unknown service: %d %q", status, body)
	}
	status, header, _ := get(t, "OPTIONS", srv.URL+"/rest/svc/nowhere")
	if status != 401 || !strings.HasPrefix(header.Get("WWW-Authenticate"), "Bearer") {
		t.Errorf("authentication comes before routing: %d %v", status, header)
	}
	for _, path := range []string{"/", "/rest", "/nowhere", "/livez/x"} {
		if status, _, _ := get(t, "GET", srv.URL+path); status != 404 {
			t.Errorf("%s: %d", path, status)
		}
	}
	if status, _, body := get(t, "GET", srv.URL+"/readyz"); status != 200 || body != "ok\n" {
		t.Errorf("/readyz: %d %q", status, body)
	}
}

func TestBodyLimitAndTags(t *testing.T) {
	srv := serve(t, engine.AuthNone, fake{routes: []service.Route{
		{Method: "POST", Path: "/", MaxBody: 10, Handler: func(_ context.Context, r *service.Request) (*service.Response, error) {
			b, err := r.ReadBody()
			return &service.Response{Body: b}, err
		}},
		{Method: "GET", Path: "/", Handler: text("hello")},
	}})
	for body, want := range map[string]int{"0123456789": 200, "0123456789a": 413, "": 200} {
		for _, length := range []int64{int64(len(body)), -1} {
			r, _ := http.NewRequest("POST", srv.URL+"/rest/svc", io.NopCloser(strings.NewReader(body)))
			r.ContentLength = length
			resp, err := http.DefaultTransport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != want {
				t.Errorf("%d bytes, length %d: got %d, want %d", len(body), length, resp.StatusCode, want)
			}
		}
	}
	_, header, _ := get(t, "GET", srv.URL+"/rest/svc")
	tag := header.Get("ETag")
	if !strings.HasPrefix(tag, `W/"`) {
		t.Fatalf("ETag %q", tag)
	}
	for _, sent := range []string{tag, strings.TrimPrefix(tag, "W/"), `"x", ` + tag, "*"} {
		if status, _, body := get(t, "GET", srv.URL+"/rest/svc", "If-None-Match", sent); status != 304 || body != "" {
			t.Errorf("If-None-Match %s: %d %q", sent, status, body)
		}
	}
}
