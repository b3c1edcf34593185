package rest

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/service"
)

func handlerServer(log io.Writer, audit engine.Auditor) *Server {
	said := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, text+" "+r.URL.Path) }
	}
	failing := func(err error) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { service.Fail(w, err) }
	}
	return New(Config{Auth: nobody{}, Log: slog.New(slog.NewTextHandler(log, nil)), Audit: audit, Handlers: map[string]http.Handler{
		"/page":     said("exact"),
		"/tree/":    said("below"),
		"/tree/own": said("own"),
		"/caller": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c := engine.CallerFrom(r.Context())
			_, _ = io.WriteString(w, c.Request+" "+c.Address.String())
		}),
		"/panic":   http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("secret cause") }),
		"/late":    http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200); panic("secret cause") }),
		"/denied":  failing(engine.Denied()),
		"/markup":  failing(engine.Errorf(engine.Invalid, "x", "<b>")),
		"/broken":  failing(errors.New("secret cause")),
		"/busy":    failing(&engine.Error{Code: engine.TooMany, Reason: "guesses", Message: "wait", RetryAfter: 1500 * time.Millisecond}),
		"/refused": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }),
		"/body": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, err := io.ReadAll(r.Body)
			if err != nil {
				service.Fail(w, err)
				return
			}
			_, _ = w.Write(b)
		}),
	}})
}

func TestHandlers(t *testing.T) {
	var log bytes.Buffer
	srv := httptest.NewServer(handlerServer(&log, nil))
	defer srv.Close()
	for path, want := range map[string]string{
		"/page": "exact /page", "/tree/": "below /tree/", "/tree/a/b": "below /tree/a/b", "/tree/own": "own /tree/own",
	} {
		if status, header, body := get(t, "GET", srv.URL+path); status != 200 || body != want || header.Get("X-Request-Id") == "" {
			t.Errorf("%s: %d %q %v", path, status, body, header)
		}
	}
	for _, path := range []string{"/pages", "/page/", "/tree", "/Page", "//page", "/x/../page", "/%70age/x"} {
		if status, _, body := get(t, "GET", srv.URL+path); status != 404 {
			t.Errorf("%s: %d %q, want 404", path, status, body)
		}
	}
	if _, _, body := get(t, "GET", srv.URL+"/caller", "X-Request-Id", "r1"); body != "r1 127.0.0.1" {
		t.Errorf("the caller is %q", body)
	}
}

func TestHandlerFailures(t *testing.T) {
	var log bytes.Buffer
	srv := httptest.NewServer(handlerServer(&log, nil))
	defer srv.Close()
	status, header, body := get(t, "GET", srv.URL+"/denied", "Accept", "text/html,*/*")
	if status != 403 || !strings.Contains(body, "<h1>Forbidden</h1>") || header.Get("Content-Type") != "text/html; charset=utf-8" || header.Get("WWW-Authenticate") != "" {
		t.Errorf("as a page: %d %v %s", status, header, body)
	}
	status, header, body = get(t, "GET", srv.URL+"/denied")
	if status != 403 || header.Get("Content-Type") != problemJSON || !strings.Contains(body, `"code":"denied"`) {
		t.Errorf("as a problem: %d %v %s", status, header, body)
	}
	if _, _, body = get(t, "GET", srv.URL+"/markup", "Accept", "text/html"); strings.Contains(body, "<b>") || !strings.Contains(body, "&lt;b&gt;") {
		t.Errorf("a message became markup: %s", body)
	}
	if status, header, _ = get(t, "GET", srv.URL+"/busy"); status != 429 || header.Get("Retry-After") != "2" {
		t.Errorf("too many: %d %v", status, header)
	}
	for _, path := range []string{"/panic", "/broken"} {
		status, _, body = get(t, "GET", srv.URL+path)
		if status != 500 || strings.Contains(body, "secret") {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if n := strings.Count(log.String(), "secret cause"); n < 2 {
		t.Errorf("the causes are not in the log:\n%s", log.String())
	}
	if r, err := http.Get(srv.URL + "/late"); err == nil {
		if _, err = io.ReadAll(r.Body); err == nil {
			t.Error("a response that a panic has aborted looks complete")
		}
		r.Body.Close()
	}
}

func TestHandlerBody(t *testing.T) {
	srv := httptest.NewServer(handlerServer(io.Discard, nil))
	defer srv.Close()
	r, err := http.Post(srv.URL+"/body", "text/plain", strings.NewReader("text"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if b, err := io.ReadAll(r.Body); err != nil || string(b) != "text" {
		t.Errorf("got %q, %v", b, err)
	}
	q := httptest.NewRequest("POST", "/body", strings.NewReader("text"))
	q.ContentLength = maxHandlerBody + 1
	w := httptest.NewRecorder()
	handlerServer(io.Discard, nil).ServeHTTP(w, q)
	if w.Code != 413 {
		t.Errorf("a body over the limit: %d", w.Code)
	}
}

func TestHandlersAreAudited(t *testing.T) {
	var told events
	s := handlerServer(io.Discard, &told)
	for _, path := range []string{"/page", "/denied", "/busy", "/refused", "/broken"} {
		ask(s, "GET", path)
	}
	var paths []string
	for _, e := range told {
		path, _ := e.Details.Get("path")
		paths = append(paths, path.(string))
	}
	if got := strings.Join(paths, " "); got != "/denied /busy /refused" {
		t.Errorf("audited %s", got)
	}
}

// TestFileCredentials checks that a file can be read with any credentials, or
// with a session.
func TestFileCredentials(t *testing.T) {
	s := oauthServer(t, nil)
	session := engine.Errorf(engine.Unauthenticated, "no-session", "sign in")
	s.cfg.Sessions = func(r *http.Request) (*engine.Account, error) {
		if _, err := r.Cookie("session"); err != nil {
			return nil, session
		}
		return &engine.Account{ID: "b@local"}, nil
	}
	for name, c := range map[string]struct {
		header []string
		want   string
	}{
		"a password":          {[]string{"auth-user", "a@local", "auth-pwd", "x"}, "a@local"},
		"a token":             {[]string{"auth-token", "t"}, "a@local"},
		"a token as bearer":   {[]string{"Authorization", "Bearer t"}, "a@local"},
		"an access token":     {[]string{"Authorization", "Bearer all"}, "a@local"},
		"it in auth-token":    {[]string{"auth-token", "all"}, ""},
		"a session":           {[]string{"Cookie", "session=1"}, "b@local"},
		"a bad one counts":    {[]string{"Cookie", "session=1", "auth-token", "x"}, ""},
		"so does a bad basic": {[]string{"Cookie", "session=1", "Authorization", "Basic eA=="}, ""},
		"nothing":             {nil, ""},
		"an unknown token":    {[]string{"Authorization", "Bearer x"}, ""},
	} {
		r := httptest.NewRequest("GET", "/files/1", nil)
		for i := 0; i < len(c.header); i += 2 {
			r.Header.Add(c.header[i], c.header[i+1])
		}
		a, err := s.authenticateAny(r, s.newExchange(httptest.NewRecorder(), r))
		if (err == nil) != (c.want != "") || err == nil && a.ID != c.want {
			t.Errorf("%s: %v, %v", name, a, err)
		}
	}
	if w := ask(s, "GET", "/files/1", "Authorization", "Bearer other"); w.Code != 403 {
		t.Errorf("a token without files in its scope: got %d for a file", w.Code)
	}
}
