package session_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/account"
	"restsrv/engine/quota"
	"restsrv/engine/session"
	"restsrv/engine/store"
	"restsrv/engine/store/dbtest"
	"restsrv/engine/store/postgres/pgtest"
	"restsrv/engine/store/sqlite"
)

const password = "correct-horse"

// fixture is Sessions on a real database with the account anna@local.
type fixture struct {
	*testing.T
	sessions *session.Sessions
	accounts *account.Store
	data     *store.Store
	class    *engine.Class
	people   *engine.Class // accounts
	config   session.Config

	mu     sync.Mutex
	now    time.Time
	events []engine.Event
}

// Audit implements engine.Auditor.
func (f *fixture) Audit(_ context.Context, e engine.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, e)
}

func open(t *testing.T, change ...func(*session.Config)) *fixture {
	t.Helper()
	ctx := context.Background()
	f := &fixture{T: t, now: time.Now(), class: session.Class()}
	classes := account.Classes()
	for _, c := range classes {
		if c.Name == "#account" {
			f.people = c
		}
	}
	db, err := sqlite.Open(ctx, sqlite.Config{Path: filepath.Join(t.TempDir(), "test.db"), Synchronous: "normal"})
	if err != nil {
		t.Fatal(err)
	}
	hasher := account.NewHasher(account.HasherConfig{})
	f.data, err = store.Open(ctx, db, store.Config{Classes: append(classes, f.class), HashPassword: hasher.Hash})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.data.Close(); err != nil {
			t.Error(err)
		}
	})
	f.accounts, err = account.New(account.Config{Data: f.data, Classes: classes, Hasher: hasher})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.accounts.Add(ctx, account.Account{ID: "anna@local"}, password); err != nil {
		t.Fatal(err)
	}
	f.config = session.Config{Data: f.data, Class: f.class, Auth: f.accounts, Accounts: f.accounts, Audit: f, Now: func() time.Time {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.now
	}}
	for _, c := range change {
		c(&f.config)
	}
	if f.sessions, err = session.New(f.config); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fixture) later(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

// failer is a response writer that implements service.Failer like engine/rest.
type failer struct {
	*httptest.ResponseRecorder
	err error
}

func (w *failer) Fail(err error) { w.err = err }

// ask sends a request to the page of its path.
func (f *fixture) ask(r *http.Request) *failer {
	f.Helper()
	w := &failer{ResponseRecorder: httptest.NewRecorder()}
	f.sessions.Handlers()[r.URL.Path].ServeHTTP(w, r)
	return w
}

func post(path, body string, header ...string) *http.Request {
	return with(httptest.NewRequest("POST", path, strings.NewReader(body)), append([]string{"Content-Type", "application/x-www-form-urlencoded"}, header...)...)
}

func with(r *http.Request, header ...string) *http.Request {
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

// signIn returns the cookie of a new session of anna.
func (f *fixture) signIn(header ...string) string {
	f.Helper()
	w := f.ask(post("/auth", url.Values{"username": {"anna"}, "password": {password}}.Encode(), header...))
	cookies := w.Result().Cookies()
	if w.Code != 302 || len(cookies) != 1 || w.err != nil {
		f.Fatalf("signing in: %d %v %v", w.Code, w.Header(), w.err)
	}
	return cookies[0].Name + "=" + cookies[0].Value
}

// account returns the account of a cookie, or the reason of the error.
func (f *fixture) account(cookie string) string {
	f.Helper()
	a, err := f.sessions.Account(with(httptest.NewRequest("GET", "/x", nil), "Cookie", cookie))
	if err != nil {
		if e, ok := err.(*engine.Error); ok && e.Code == engine.Unauthenticated {
			return e.Reason
		}
		f.Fatal(err)
	}
	return a.ID
}

// rows returns the stored sessions.
func (f *fixture) rows() (rows []*engine.Item) {
	f.Helper()
	err := f.data.List(context.Background(), &engine.Query{Class: f.class, Count: -1}, func(it *engine.Item) error {
		rows = append(rows, it.Clone())
		return nil
	})
	if err != nil {
		f.Fatal(err)
	}
	return rows
}

func (f *fixture) want(cookie, account, what string) {
	f.Helper()
	if got := f.account(cookie); got != account {
		f.Errorf("%s: %s, want %s", what, got, account)
	}
}

func TestIdle(t *testing.T) {
	f := open(t)
	cookie := f.signIn()
	for range 4 {
		f.later(29 * time.Minute)
		f.want(cookie, "anna@local", "used every 29 minutes")
	}
	f.later(30 * time.Minute)
	f.want(cookie, "session-ended", "unused for 30 minutes")
	if rows := f.rows(); len(rows) != 0 {
		t.Errorf("the ended session is still stored: %v", rows)
	}
	f.want("", "no-session", "no cookie")
	f.want("restsrv=AAAA", "session-ended", "a made-up token")
	f.want("restsrv="+strings.Repeat("A", 65), "no-session", "a token too long for one")
}

func TestLifetime(t *testing.T) {
	f := open(t)
	cookie := f.signIn()
	for range 12*3 - 1 {
		f.later(20 * time.Minute)
		f.want(cookie, "anna@local", "within 12 hours")
	}
	f.later(20 * time.Minute)
	f.want(cookie, "session-ended", "after 12 hours, always used")
}

// TestShorterTimes checks that new settings apply to existing sessions.
func TestShorterTimes(t *testing.T) {
	f := open(t)
	cookie := f.signIn()
	f.config.Lifetime = 10 * time.Minute
	var err error
	if f.sessions, err = session.New(f.config); err != nil {
		t.Fatal(err)
	}
	f.later(11 * time.Minute)
	f.want(cookie, "session-ended", "older than the new lifetime")
}

// TestFewWrites checks that a session in constant use is written once a minute.
func TestFewWrites(t *testing.T) {
	f := open(t)
	cookie := f.signIn()
	before := f.rows()[0].Get("seen")
	for range 59 {
		f.later(time.Second)
		f.want(cookie, "anna@local", "in use")
	}
	if now := f.rows()[0].Get("seen"); now != before {
		t.Errorf("written within a minute: %v, %v before", now, before)
	}
	f.later(time.Second)
	f.want(cookie, "anna@local", "in use")
	if now := f.rows()[0].Get("seen"); now == before {
		t.Error("not written after a minute")
	}
}

func TestSweep(t *testing.T) {
	f := open(t)
	f.signIn()
	f.later(20 * time.Minute)
	cookie := f.signIn()
	f.later(15 * time.Minute)
	if err := f.sessions.Sweep(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := len(f.rows()); n != 1 {
		t.Errorf("%d sessions are left, want one", n)
	}
	f.want(cookie, "anna@local", "what has not ended")
}

// TestTokens checks three things: a token from the browser is never used for a new session,
// signing in changes the token, and the database does not contain the token.
func TestTokens(t *testing.T) {
	f := open(t)
	chosen := "restsrv=" + strings.Repeat("A", 43)
	first := f.signIn("Cookie", chosen)
	if first == chosen {
		t.Error("the token from the browser is used for the new session")
	}
	f.want(chosen, "session-ended", "the token of somebody else's choice")
	second := f.signIn("Cookie", first)
	if second == first {
		t.Error("signing in kept the token")
	}
	f.want(first, "session-ended", "the token before")
	f.want(second, "anna@local", "the token after")
	_, token, _ := strings.Cut(second, "=")
	if len(token) < 43 {
		t.Errorf("the token %q is shorter than 256 bits", token)
	}
	for _, row := range f.rows() {
		for _, v := range append(row.Values, row.ID) {
			if s, ok := v.(string); ok && strings.Contains(s, token) {
				t.Errorf("the token is stored: %q", s)
			}
		}
		f.want("restsrv="+row.ID, "session-ended", "what is stored, used as a token")
	}
}

// TestAccountEnds checks that a session ends with its account or password.
func TestAccountEnds(t *testing.T) {
	ctx := context.Background()
	f := open(t)
	cookie := f.signIn()
	if err := f.accounts.SetProperties(ctx, "anna@local", engine.Fields{{Name: "room", Value: "12"}}); err != nil {
		t.Fatal(err)
	}
	a, err := f.sessions.Account(with(httptest.NewRequest("GET", "/x", nil), "Cookie", cookie))
	if err != nil {
		t.Fatal("a change of the account without its password ended the session:", err)
	}
	if room, _ := a.Properties.Get("room"); room != "12" {
		t.Errorf("the account is not as it is now: %+v", a)
	}
	f.later(time.Second) // so that the date of the next password, which is stored in milliseconds, differs
	if err := f.accounts.SetPassword(ctx, "anna@local", password); err != nil {
		t.Fatal(err)
	}
	f.want(cookie, "session-ended", "after a new password")
	cookie = f.signIn()
	if err := f.accounts.Disable(ctx, "anna@local"); err != nil {
		t.Fatal(err)
	}
	f.want(cookie, "session-ended", "of a disabled account")
	if err := f.accounts.Enable(ctx, "anna@local"); err != nil {
		t.Fatal(err)
	}
	f.want(cookie, "session-ended", "of an account that was disabled")
	cookie = f.signIn()
	if err := f.data.Delete(ctx, f.people, "anna@local", nil); err != nil {
		t.Fatal(err)
	}
	f.want(cookie, "session-ended", "of a deleted account")
}

func TestSignOut(t *testing.T) {
	f := open(t)
	cookie, other := f.signIn(), f.signIn()
	w := f.ask(post("/auth/logout", "", "Cookie", cookie, "Accept", "application/json"))
	if w.Code != 200 || w.Body.String() != "{}" || !strings.Contains(w.Header().Get("Set-Cookie"), "restsrv=; Path=/; Max-Age=0") {
		t.Errorf("signing out: %d %s %v", w.Code, w.Body, w.Header())
	}
	f.want(cookie, "session-ended", "after signing out")
	f.want(other, "anna@local", "another session")
	if len(f.events) != 1 || f.events[0].Kind != engine.SignedOut || f.events[0].Account != "anna@local" {
		t.Errorf("got audit events %+v", f.events)
	}
	// Signing out has no effect if the session has already ended or does not exist.
	for _, c := range []string{cookie, "restsrv=x", ""} {
		if w := f.ask(post("/auth/logout", "", "Cookie", c)); w.Code != 302 || w.Header().Get("Location") != "/auth?m=out" {
			t.Errorf("signing out with %q: %d %v", c, w.Code, w.Header())
		}
	}
	if len(f.events) != 1 {
		t.Errorf("got audit events %+v", f.events)
	}
}

// TestSignOutWins checks that a concurrent request does not restore a session that ends.
func TestSignOutWins(t *testing.T) {
	f := open(t)
	cookie := f.signIn()
	f.later(5 * time.Minute) // so that each use is written
	var users sync.WaitGroup
	for range 8 {
		users.Go(func() {
			for range 20 {
				_, _ = f.sessions.Account(with(httptest.NewRequest("GET", "/x", nil), "Cookie", cookie))
				f.later(2 * time.Minute / 160)
			}
		})
	}
	f.ask(post("/auth/logout", "", "Cookie", cookie))
	users.Wait()
	f.want(cookie, "session-ended", "after signing out")
	if n := len(f.rows()); n != 0 {
		t.Errorf("%d sessions are stored", n)
	}
}

func TestCookies(t *testing.T) {
	f := open(t)
	secure := func(r *http.Request) *http.Request {
		return r.WithContext(engine.WithCaller(r.Context(), &engine.Caller{Secure: true}))
	}
	form := url.Values{"username": {"anna@local"}, "password": {password}}.Encode()
	for name, c := range map[string]struct {
		r    *http.Request
		want string
	}{
		"plain":   {post("/auth", form), "restsrv=…; Path=/; HttpOnly; SameSite=Lax"},
		"by TLS":  {secure(post("/auth", form)), "__Host-restsrv=…; Path=/; HttpOnly; Secure; SameSite=Lax"},
		"claimed": {post("/auth", form, "X-Forwarded-Proto", "https"), "restsrv=…; Path=/; HttpOnly; SameSite=Lax"},
	} {
		got := f.ask(c.r).Header().Get("Set-Cookie")
		start, rest, _ := strings.Cut(got, "=")
		_, rest, _ = strings.Cut(rest, ";")
		if start+"=…;"+rest != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	f = open(t, func(c *session.Config) { c.PublicURL = "https://forms.example.org" })
	if cookie := f.signIn(); !strings.HasPrefix(cookie, "__Host-") {
		t.Errorf("with a public address of https: %s", cookie)
	} else {
		f.want(cookie, "anna@local", "it")
		f.want(strings.TrimPrefix(cookie, "__Host-"), "no-session", "it under the plain name")
	}
}

func TestCrossOrigin(t *testing.T) {
	f := open(t, func(c *session.Config) { c.PublicURL = "http://forms.example.org" })
	cookie := f.signIn()
	for name, c := range map[string]struct {
		method string
		header []string
		ok     bool
	}{
		"no browser":                {"POST", nil, true},
		"same origin":               {"POST", []string{"Sec-Fetch-Site", "same-origin", "Origin", "http://example.com"}, true},
		"typed by hand":             {"POST", []string{"Sec-Fetch-Site", "none"}, true},
		"cross-site":                {"POST", []string{"Sec-Fetch-Site", "cross-site", "Origin", "http://evil.example"}, false},
		"same site, other host":     {"DELETE", []string{"Sec-Fetch-Site", "same-site", "Origin", "http://other.example.com"}, false},
		"reading from another site": {"GET", []string{"Sec-Fetch-Site", "cross-site"}, true},
		"origin is the host":        {"PATCH", []string{"Origin", "http://example.com"}, true},
		"origin is another port":    {"POST", []string{"Origin", "http://example.com:81"}, false},
		"the public address":        {"POST", []string{"Origin", "http://forms.example.org"}, true},
		"its start":                 {"POST", []string{"Origin", "http://forms.example.org.evil.example"}, false},
		"null":                      {"POST", []string{"Origin", "null"}, false},
		"a search":                  {"SEARCH", []string{"Origin", "http://evil.example"}, false},
	} {
		r := with(httptest.NewRequest(c.method, "/x", nil), append(c.header, "Cookie", cookie)...) // the host is example.com
		_, err := f.sessions.Account(r)
		if c.ok != (err == nil) || !c.ok && engine.CodeOf(err) != engine.Forbidden {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRequire(t *testing.T) {
	f := open(t)
	cookie := f.signIn()
	ask := func(r *http.Request) (*engine.Account, *failer) {
		w := &failer{ResponseRecorder: httptest.NewRecorder()}
		a, ok := f.sessions.Require(w, r)
		if ok != (a != nil) {
			t.Errorf("%v without the other", a)
		}
		return a, w
	}
	const target = "/oauth2/grant?client_id=ext%40system&state=a%26b"
	if a, w := ask(with(httptest.NewRequest("POST", target, nil), "Cookie", cookie)); a == nil || a.ID != "anna@local" || len(w.Header()) > 0 {
		t.Errorf("with a session: %v, %d %v", a, w.Code, w.Header())
	}
	for _, method := range []string{"GET", "POST"} {
		_, w := ask(httptest.NewRequest(method, target, nil))
		to, err := url.Parse(w.Header().Get("Location"))
		if w.Code != 302 || err != nil || to.Path != "/auth" || to.Query().Get("return") != target || to.Query().Has("m") {
			t.Errorf("%s without one: %d %v", method, w.Code, w.Header())
		}
	}
	_, w := ask(with(httptest.NewRequest("GET", "/x", nil), "Cookie", "restsrv=AAAA"))
	if got := w.Header().Get("Location"); got != "/auth?m=ended&return=%2Fx" {
		t.Errorf("with one that has ended: %d %s", w.Code, got)
	}
	if _, w = ask(with(httptest.NewRequest("GET", "/x", nil), "Accept", "application/json")); engine.CodeOf(w.err) != engine.Unauthenticated || w.Header().Get("Location") != "" {
		t.Errorf("a client of JSON: %v %v", w.err, w.Header())
	}
	if _, w = ask(with(httptest.NewRequest("POST", "/x", nil), "Cookie", cookie, "Origin", "http://evil.example")); engine.CodeOf(w.err) != engine.Forbidden {
		t.Errorf("from another site: %v %v", w.err, w.Header())
	}
	// A path that looks like an address of another site must not become the return path.
	r := httptest.NewRequest("GET", "/x", nil)
	r.URL.Path, r.RequestURI = "//evil.example/", "//evil.example/"
	if _, w = ask(r); w.Header().Get("Location") != "/auth" {
		t.Errorf("a path with two slashes: %s", w.Header().Get("Location"))
	}
}

// authFunc is an engine.Authenticator that calls the function.
type authFunc func(c engine.Credentials) (*engine.Account, error)

func (f authFunc) Authenticate(_ context.Context, mode engine.AuthMode, c engine.Credentials) (*engine.Account, error) {
	if mode != engine.AuthPwd {
		panic("a session is begun by a password")
	}
	return f(c)
}

func TestTooMany(t *testing.T) {
	f := open(t, func(c *session.Config) {
		c.Auth = authFunc(func(c engine.Credentials) (*engine.Account, error) {
			if c.Caller.Request != "r1" {
				t.Errorf("the caller is %+v", c.Caller)
			}
			return nil, &engine.Error{Code: engine.TooMany, Reason: "guesses", Message: "wait", RetryAfter: 90 * time.Second}
		})
	})
	r := post("/auth", "username=anna&password=x&return=/livez")
	r = r.WithContext(engine.WithCaller(r.Context(), &engine.Caller{Request: "r1"}))
	w := f.ask(r)
	if w.Code != 429 || w.Header().Get("Retry-After") != "90" || !strings.Contains(w.Body.String(), "Try again in 90 seconds.") ||
		!strings.Contains(w.Body.String(), `role="alert"`) || !strings.Contains(w.Body.String(), `value="/livez"`) || w.Header().Get("Set-Cookie") != "" {
		t.Errorf("as a page: %d %v\n%s", w.Code, w.Header(), w.Body)
	}
	r = with(post("/auth", "username=anna&password=x").WithContext(r.Context()), "Accept", "application/json")
	if w := f.ask(r); engine.CodeOf(w.err) != engine.TooMany {
		t.Errorf("as JSON: %v", w.err)
	}
}

// TestStaleAuthentication checks a sign-in with a password that was recently verified and has
// changed since: the session has the current account or does not start.
func TestStaleAuthentication(t *testing.T) {
	f := open(t)
	calls := 0
	f.config.Auth = authFunc(func(c engine.Credentials) (*engine.Account, error) {
		if calls++; calls < 3 {
			return &engine.Account{ID: "anna@local", Revision: 12345}, nil
		}
		return f.accounts.Authenticate(context.Background(), engine.AuthPwd, c)
	})
	var err error
	if f.sessions, err = session.New(f.config); err != nil {
		t.Fatal(err)
	}
	f.want(f.signIn(), "anna@local", "once the account is as it is")
	calls = -1000
	w := f.ask(post("/auth", "username=anna&password="+password))
	if w.Code != 503 || w.Header().Get("Set-Cookie") != "" {
		t.Errorf("while it is not: %d %v", w.Code, w.Header())
	}
}

// TestDatabaseAway checks that an error of the database is not reported as an ended session.
func TestDatabaseAway(t *testing.T) {
	f := open(t)
	cookie := f.signIn()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := with(httptest.NewRequest("GET", "/auth", nil).WithContext(ctx), "Cookie", cookie)
	if _, err := f.sessions.Account(r); err == nil || engine.CodeOf(err) == engine.Unauthenticated {
		t.Errorf("got %v", err)
	}
	if w := f.ask(r); w.err == nil || engine.CodeOf(w.err) == engine.Unauthenticated || w.Header().Get("Set-Cookie") != "" {
		t.Errorf("the page: %v %v", w.err, w.Header())
	}
	f.want(cookie, "anna@local", "afterwards")
}

// TestHeaders checks that every response under /auth, including errors, has the headers that
// protect against framing, caching and requests from other sites.
func TestHeaders(t *testing.T) {
	f := open(t)
	for name, r := range map[string]*http.Request{
		"the page":        httptest.NewRequest("GET", "/auth", nil),
		"a sign-in":       post("/auth", "username=anna&password="+password),
		"as JSON":         with(post("/auth", "username=anna&password="+password), "Accept", "application/json"),
		"a wrong one":     post("/auth", "username=anna&password=x"),
		"wrong, as JSON":  with(post("/auth", "username=anna&password=x"), "Accept", "application/json"),
		"a malformed one": post("/auth", "username=%zz"),
		"another site's":  with(post("/auth", "username=anna&password=x"), "Origin", "http://evil.example"),
		"another method":  httptest.NewRequest("PUT", "/auth", nil),
		"a sign-out":      post("/auth/logout", ""),
		"its page":        httptest.NewRequest("GET", "/auth/logout", nil),
	} {
		h := f.ask(r).Header()
		if !strings.Contains(h.Get("Content-Security-Policy"), "frame-ancestors 'none'") || h.Get("X-Content-Type-Options") != "nosniff" ||
			h.Get("Referrer-Policy") != "no-referrer" || h.Get("Cache-Control") != "no-store" || h.Get("X-Frame-Options") != "DENY" || h.Get("Cross-Origin-Opener-Policy") != "same-origin" {
			t.Errorf("%s: %v", name, h)
		}
	}
}

// TestMarkup checks that input of a client never becomes markup, and that no
// page contains a password.
func TestMarkup(t *testing.T) {
	f := open(t)
	const evil = `"><script>alert(1)</script>`
	w := f.ask(httptest.NewRequest("GET", "/auth?m="+url.QueryEscape(evil)+"&return="+url.QueryEscape("/x?"+evil), nil))
	if body := w.Body.String(); strings.Contains(body, "<script") || strings.Contains(body, "alert(1)<") {
		t.Errorf("the page has markup of a client:\n%s", body)
	}
	w = f.ask(post("/auth", "username="+url.QueryEscape(evil)+"&password=canary"))
	if all := w.Body.String() + w.Header().Get("Location"); strings.Contains(all, "script") || strings.Contains(all, "canary") {
		t.Errorf("the response contains the input: %s", all)
	}
}

func TestBodies(t *testing.T) {
	f := open(t)
	for name, c := range map[string]struct {
		r    *http.Request
		want engine.Code
	}{
		"too long":      {post("/auth", "username=a&password="+strings.Repeat("x", 70000)), engine.TooLarge},
		"malformed":     {post("/auth", "username=%zz"), engine.Invalid},
		"no media type": {httptest.NewRequest("POST", "/auth", strings.NewReader("username=a&password=b")), engine.Invalid},
		"another":       {post("/auth", "<a/>", "Content-Type", "application/xml"), engine.Invalid},
		"JSON null":     {post("/auth", "null", "Content-Type", "application/json"), engine.Invalid},
		"JSON, number":  {post("/auth", `{"username":1,"password":"x"}`, "Content-Type", "application/json"), engine.Invalid},
		"a broken body": {with(httptest.NewRequest("POST", "/auth", broken{}), "Content-Type", "application/json"), engine.Invalid},
		"another verb":  {httptest.NewRequest("PUT", "/auth", nil), engine.NotFound},
		"or there":      {httptest.NewRequest("PUT", "/auth/logout", nil), engine.NotFound},
	} {
		if w := f.ask(c.r); w.err == nil || engine.CodeOf(w.err) != c.want || w.Header().Get("Set-Cookie") != "" {
			t.Errorf("%s: %v, want code %d", name, w.err, c.want)
		}
	}
	if n := len(f.rows()); n != 0 {
		t.Errorf("%d sessions were made", n)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// TestSessionsPerAccount checks the maximum number of sessions. A session that exceeds the limit
// of its account ends the oldest session of this account. A session that exceeds the total limit
// ends the oldest session of the account with the most sessions.
func TestSessionsPerAccount(t *testing.T) {
	dbtest.Both(t, func(t *testing.T, db dbtest.DB) {
		class, clock := session.Class(), dbtest.NewClock()
		data := db.Open(t, class)
		var log strings.Builder
		bound := quota.NewBound(quota.BoundConfig{Data: data, Class: class, PerAccount: 3, All: 5, Now: clock.Now, Log: slog.New(slog.NewTextHandler(&log, nil))})
		for i, account := range []string{"bob", "ann", "ann", "ann", "ann", "cid", "dan", "eve", "ann"} {
			clock.Advance(time.Second)
			v := engine.ValuesOf(class, engine.Named("id", fmt.Sprint(account, i)), engine.Named("account", account), engine.Named("created", engine.InstantOf(clock.Now())),
				engine.Named("expires", engine.InstantOf(clock.Now().Add(time.Hour))))
			if _, err := data.Create(t.Context(), class, v, engine.WriteOptions{}); err != nil {
				t.Fatal(err)
			}
			if err := bound.Added(t.Context(), account); err != nil {
				t.Fatal(err)
			}
		}
		var left []string
		list := func() {
			left = nil
			err := data.List(t.Context(), &engine.Query{Class: class, Sort: []engine.Sort{{Property: class.Property("created")}}, Count: -1}, func(it *engine.Item) error {
				left = append(left, it.ID)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		list()
		// ann4 exceeds the limit of ann and ends ann1. Then the total limit is exceeded: dan6
		// ends ann2, eve7 ends ann3 and ann8 ends ann4.
		if got, want := strings.Join(left, " "), "bob0 cid5 dan6 eve7 ann8"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if got := strings.Count(log.String(), "table=#session limit=3"); got != 1 {
			t.Errorf("got %d warnings, want 1 a minute:\n%s", got, &log)
		}
		clock.Advance(2 * time.Hour) // all have expired and make room first
		v := engine.ValuesOf(class, engine.Named("id", "bob9"), engine.Named("account", "bob"), engine.Named("created", engine.InstantOf(clock.Now())),
			engine.Named("expires", engine.InstantOf(clock.Now().Add(time.Hour))))
		if _, err := data.Create(t.Context(), class, v, engine.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := bound.Added(t.Context(), "bob"); err != nil {
			t.Fatal(err)
		}
		if list(); strings.Join(left, " ") != "bob9" {
			t.Errorf("got %v, want bob9 only: the others have expired", left)
		}
	})
}

// TestSignInEndsOldestSession checks that a sign-in beyond the limit of an
// account ends its oldest session.
func TestSignInEndsOldestSession(t *testing.T) {
	f := open(t, func(c *session.Config) { c.PerAccount = 2 })
	var cookies []string
	for range 3 {
		cookies = append(cookies, f.signIn())
		f.later(time.Second)
	}
	if got := len(f.rows()); got != 2 {
		t.Errorf("got %d sessions, want 2", got)
	}
	if got := f.account(cookies[0]); got == "anna@local" {
		t.Error("the oldest session still holds")
	}
	f.want(cookies[1], "anna@local", "the second session")
	f.want(cookies[2], "anna@local", "the third session")
}

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }
