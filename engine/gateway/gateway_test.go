package gateway

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"restsrv/engine"
)

// remote is a server behind a gateway. It issues numbered tokens, accepts only the newest token,
// and answers with the request that it got.
type remote struct {
	issued  atomic.Int64
	refuse  atomic.Int64 // number of requests that are refused whatever their token
	status  int          // status of refusals; 0 means 403
	bodies  atomic.Int64 // number of requests with a body that was read
	mu      sync.Mutex
	seen    []string // the requests in order
	headers http.Header
	remote  string
}

func (s *remote) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.seen = append(s.seen, r.Method+" "+r.URL.RequestURI())
	s.headers, s.remote = r.Header.Clone(), r.RemoteAddr
	s.mu.Unlock()
	if r.URL.Path == "/rest/token" {
		if user, secret, _ := r.BasicAuth(); user != "ext@system" || secret != "s3cret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprintf(w, "token-%d", s.issued.Add(1))
		return
	}
	if s.refuse.Add(-1) >= 0 || r.Header.Get("Authorization") != fmt.Sprintf("Bearer token-%d", s.issued.Load()) {
		w.Header().Set("WWW-Authenticate", "Basic")
		w.WriteHeader(max(s.status, http.StatusUnauthorized))
		return
	}
	body, _ := io.ReadAll(r.Body)
	if len(body) > 0 {
		s.bodies.Add(1)
	}
	w.Header().Set("Set-Cookie", "restsrv=stolen")
	w.Header().Set("X-Answer", "yes")
	w.Header().Set("Connection", "X-Hop")
	w.Header().Set("X-Hop", "1")
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, "%s %s %s", r.Method, r.URL.RequestURI(), body)
}

func (s *remote) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.seen...)
}

// failing writes errors with their status, as engine/rest does.
type failing struct{ http.ResponseWriter }

func (f failing) Fail(err error) {
	status := map[engine.Code]int{engine.NotFound: 404, engine.Unavailable: 503, engine.Timeout: 504, engine.Internal: 500, engine.TooLarge: 413}[engine.CodeOf(err)]
	f.WriteHeader(status)
	fmt.Fprint(f, err.(*engine.Error).Message)
}

func (f failing) Unwrap() http.ResponseWriter { return f.ResponseWriter }

// browse serves gateways for a service to browsers. The gateways reach the service over HTTP, or
// in this process if inProcess is set. A browser is signed in if it has the cookie "in".
func browse(t *testing.T, s http.Handler, inProcess bool, change func(*Server, *Config)) (url string, gs *Gateways) {
	t.Helper()
	server := Server{Log: slog.New(slog.DiscardHandler), Local: s}
	server.Require = func(w http.ResponseWriter, r *http.Request) (*engine.Account, bool) {
		if c, err := r.Cookie("restsrv"); err != nil || c.Value != "in" {
			w.WriteHeader(http.StatusUnauthorized)
			return nil, false
		}
		return &engine.Account{ID: "demo@local"}, true
	}
	c := Config{Name: "api", Base: "/api", Account: "ext", Secret: "s3cret", TokenPath: "/rest/token", Routes: []Route{
		{Path: "/rest/echo", Methods: []string{"GET", "POST"}}, {Path: "/rest/crud/{class}/{id}", Methods: []string{"GET", "PATCH"}},
	}}
	if !inProcess {
		remote := httptest.NewServer(s)
		t.Cleanup(remote.Close)
		c.Endpoint = remote.URL
	}
	if change != nil {
		change(&server, &c)
	}
	gs, err := New(server, []Config{c})
	if err != nil {
		t.Fatal(err)
	}
	caller := &engine.Caller{Request: "r1", Address: netip.MustParseAddr("192.0.2.7")}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		gs.ServeHTTP(failing{w}, r.WithContext(engine.WithCaller(r.Context(), caller)))
	}))
	t.Cleanup(front.Close)
	return front.URL, gs
}

func ask(t *testing.T, method, url, body string, header ...string) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Cookie", "restsrv=in; other=1")
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

// both runs a test with the service in another process and in this one.
func both(t *testing.T, run func(t *testing.T, inProcess bool)) {
	t.Run("remote", func(t *testing.T) { run(t, false) })
	t.Run("in process", func(t *testing.T) { run(t, true) })
}

func TestRequestsAreSentOn(t *testing.T) {
	both(t, func(t *testing.T, inProcess bool) {
		s := &remote{}
		url, _ := browse(t, s, inProcess, nil)
		for _, c := range []struct{ method, path, body, want string }{
			{"GET", "/api/rest/echo?a=1&b=%20x;y", "", "GET /rest/echo?a=1&b=%20x;y "},
			{"POST", "/api/rest/echo", `{"a":1}`, `POST /rest/echo {"a":1}`},
			{"GET", "/api/rest/crud/note@sample/a%2Fb%20c", "", "GET /rest/crud/note@sample/a%2Fb%20c "},
			{"PATCH", "/api/rest/crud/note@sample/1/", "x", "PATCH /rest/crud/note@sample/1/ x"},
			{"POST", "/api/rest/echo", strings.Repeat("long ", 100_000), "POST /rest/echo " + strings.Repeat("long ", 100_000)},
		} {
			status, header, body := ask(t, c.method, url+c.path, c.body)
			if status != http.StatusCreated || body != c.want || header.Get("X-Answer") != "yes" {
				t.Errorf("%s %s: %d %.200q", c.method, c.path, status, body)
			}
		}
		if status, _, body := ask(t, "HEAD", url+"/api/rest/echo", ""); status != http.StatusCreated || body != "" {
			t.Errorf("HEAD: %d %q", status, body)
		}
		if n := s.issued.Load(); n != 1 {
			t.Errorf("%d tokens were fetched, want one that is kept", n)
		}
	})
}

func TestOtherPathsAreNot(t *testing.T) {
	s := &remote{}
	url, gs := browse(t, s, false, nil)
	for _, path := range []string{
		"/api", "/api/", "/api/rest", "/api/rest/other", "/apix/rest/echo", "/api/rest/echo/more", "/api/rest/crud/a", "/api/rest/crud//b",
		"/api/rest/crud/a/..", "/api/rest/crud/a/%2e%2e", "/api/rest/crud/%2E/b", "/api/rest/crud/a/..%2F..%2Ftoken", "/api/rest/crud/a/x%5C..%5Cy",
		"/api/rest/crud/a/%00", "/api/rest/crud/a/..;", "/api/rest/./echo", "/api/../api/rest/echo",
	} {
		if status, header, _ := ask(t, "GET", url+path, ""); status != http.StatusNotFound || header.Get("Allow") != "" {
			t.Errorf("%s: %d", path, status)
		}
	}
	if status, header, _ := ask(t, "DELETE", url+"/api/rest/crud/a/b", ""); status != http.StatusNotFound || header.Get("Allow") != "GET, PATCH" {
		t.Errorf("another method: %d, Allow %q", status, header.Get("Allow"))
	}
	if status, _, _ := ask(t, "GET", url+"/api/rest/echo", "", "Cookie", "restsrv=out"); status != http.StatusUnauthorized {
		t.Errorf("without a session: %d", status)
	}
	if seen := s.asked(); len(seen) > 0 {
		t.Errorf("the service was asked %v", seen)
	}
	if got := gs.Prefixes(); len(got) != 1 || got[0] != "/api/" {
		t.Errorf("prefixes %v", got)
	}
}

// TestHeadersStayApart checks that the service gets neither the credentials of the browser nor
// headers in which the browser names hosts, and that an override header does not change the
// method.
func TestHeadersStayApart(t *testing.T) {
	both(t, func(t *testing.T, inProcess bool) {
		s := &remote{}
		url, _ := browse(t, s, inProcess, nil)
		status, header, _ := ask(t, "POST", url+"/api/rest/echo", "x", "Authorization", "Basic browser", "Auth-User", "browser", "Auth-Pwd", "browser",
			"Auth-Token", "browser", "X-Forwarded-For", "browser", "X-Forwarded-Host", "browser", "Forwarded", "host=browser", "Host", "browser",
			"X-HTTP-Method-Override", "DELETE", "Origin", "http://browser", "Sec-Fetch-Site", "browser", "Connection", "X-Mine, Upgrade", "Upgrade", "browser",
			"X-Mine", "browser", "Content-Type", "text/plain", "Accept", "application/json", "X-Request-Id", "browser")
		if status != http.StatusCreated {
			t.Fatal(status)
		}
		for name, values := range s.headers {
			if strings.Contains(strings.Join(values, " "), "browser") || name == "Cookie" || name == "X-Http-Method-Override" || name == "X-Hop" {
				t.Errorf("the service sees %s: %v", name, values)
			}
		}
		for name, want := range map[string]string{"Content-Type": "text/plain", "Accept": "application/json", "Authorization": "Bearer token-1", "X-Request-Id": "r1"} {
			if got := s.headers.Get(name); got != want {
				t.Errorf("the service sees %s %q, want %q", name, got, want)
			}
		}
		if inProcess && s.remote != "192.0.2.7:0" {
			t.Errorf("the service sees the address %s", s.remote)
		}
		for _, name := range []string{"Set-Cookie", "WWW-Authenticate", "X-Hop"} {
			if header.Get(name) != "" {
				t.Errorf("the browser sees %s", name)
			}
		}
		if header.Get("Cache-Control") != "private" || header.Get("Vary") != "Cookie" {
			t.Errorf("shared caches may keep it: %v", header)
		}
	})
}

func TestRefusedTokensAreReplacedOnce(t *testing.T) {
	both(t, func(t *testing.T, inProcess bool) {
		s := &remote{}
		url, gs := browse(t, s, inProcess, nil)
		now := time.Now()
		sender := gs.all[0].proxy.Transport.(*sender)
		sender.clock = func() time.Time { return now }
		if status, _, _ := ask(t, "GET", url+"/api/rest/echo", ""); status != http.StatusCreated {
			t.Fatal(status)
		}
		now = now.Add(time.Minute)
		s.issued.Add(1) // invalidates the token of the gateway
		if status, _, body := ask(t, "POST", url+"/api/rest/echo", "body"); status != http.StatusCreated || body != "POST /rest/echo body" {
			t.Errorf("with a new token: %d %s", status, body)
		}
		if s.bodies.Load() != 1 {
			t.Errorf("the body arrived %d times", s.bodies.Load())
		}
		before := len(s.asked())
		s.refuse.Store(1000)
		s.status = http.StatusForbidden
		now = now.Add(time.Minute)
		if status, _, _ := ask(t, "GET", url+"/api/rest/echo", ""); status != http.StatusForbidden {
			t.Errorf("a request that is always refused: got %d", status)
		}
		if seen := s.asked()[before:]; len(seen) != 3 { // the request, a token, the request
			t.Errorf("the service was asked %v", seen)
		}
		tokens := s.issued.Load()
		for range 20 { // the token is not the cause, so no more tokens are fetched
			now = now.Add(100 * time.Millisecond)
			ask(t, "GET", url+"/api/rest/echo", "")
		}
		if made := s.issued.Load() - tokens; made > 1 {
			t.Errorf("%d tokens for 20 requests that are refused", made)
		}
		s.refuse.Store(1000)
		s.status = http.StatusUnauthorized
		if status, header, _ := ask(t, "GET", url+"/api/rest/echo", ""); status != http.StatusInternalServerError || header.Get("WWW-Authenticate") != "" {
			t.Errorf("a service that does not know the account: %d", status)
		}
	})
}

// TestValidTokensAreKept checks that a refused request does not make the gateway fetch a new
// token if the gateway can check that its token is still valid.
func TestValidTokensAreKept(t *testing.T) {
	s := &remote{status: http.StatusForbidden}
	url, _ := browse(t, s, true, func(server *Server, _ *Config) {
		server.Valid = func(_ context.Context, token string) bool { return token == fmt.Sprintf("token-%d", s.issued.Load()) }
	})
	s.refuse.Store(5)
	for range 5 {
		if status, _, _ := ask(t, "GET", url+"/api/rest/echo", ""); status != http.StatusForbidden {
			t.Error(status)
		}
	}
	if n := s.issued.Load(); n != 1 {
		t.Errorf("%d tokens were fetched", n)
	}
	s.issued.Add(1)
	if status, _, _ := ask(t, "GET", url+"/api/rest/echo", ""); status != http.StatusCreated {
		t.Errorf("a token that ended at once: %d", status)
	}
}

func TestWrongSecretsAreNotTriedAgainAndAgain(t *testing.T) {
	both(t, func(t *testing.T, inProcess bool) {
		s := &remote{}
		var log bytes.Buffer
		url, _ := browse(t, s, inProcess, func(server *Server, c *Config) {
			c.Secret = "wr0ng"
			server.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
		for range 10 {
			if status, _, body := ask(t, "GET", url+"/api/rest/echo", ""); status != http.StatusInternalServerError || strings.Contains(body, "wr0ng") {
				t.Errorf("%d %s", status, body)
			}
		}
		if seen := s.asked(); len(seen) != 1 {
			t.Errorf("the service was asked %v", seen)
		}
		if text := log.String(); strings.Contains(text, "wr0ng") || !strings.Contains(text, "account=demo@local as=ext@system") {
			t.Errorf("the log is to name both accounts and no secret:\n%s", text)
		}
	})
}

func TestManyRequestsFetchOneToken(t *testing.T) {
	both(t, func(t *testing.T, inProcess bool) {
		s := &remote{}
		url, _ := browse(t, s, inProcess, nil)
		var wg sync.WaitGroup
		for range 30 {
			wg.Go(func() {
				if status, _, _ := ask(t, "GET", url+"/api/rest/echo", ""); status != http.StatusCreated {
					t.Errorf("%d", status)
				}
			})
		}
		wg.Wait()
		if n := s.issued.Load(); n != 1 {
			t.Errorf("%d tokens", n)
		}
	})
}

func TestWithoutTokens(t *testing.T) {
	both(t, func(t *testing.T, inProcess bool) {
		var seen http.Header
		s := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r.Header.Clone() })
		url, _ := browse(t, s, inProcess, func(_ *Server, c *Config) { c.TokenPath = "" })
		if status, _, _ := ask(t, "GET", url+"/api/rest/echo", ""); status != http.StatusOK {
			t.Fatal(status)
		}
		if inProcess && (seen.Get("Auth-User") != "ext@system" || seen.Get("Auth-Pwd") != "s3cret") {
			t.Errorf("credentials of a service here: %v", seen)
		}
		if !inProcess && (seen.Get("Authorization") != basicAuth("ext@system", "s3cret") || seen.Get("Auth-User") != "") {
			t.Errorf("credentials of a service elsewhere: %v", seen)
		}
	})
}

func TestAnswersStream(t *testing.T) {
	both(t, func(t *testing.T, inProcess bool) {
		next := make(chan bool)
		s := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "first")
			_ = http.NewResponseController(w).Flush()
			<-next
			fmt.Fprint(w, "second")
		})
		url, _ := browse(t, s, inProcess, func(_ *Server, c *Config) { c.TokenPath = "" })
		r, _ := http.NewRequest("GET", url+"/api/rest/echo", nil)
		r.Header.Set("Cookie", "restsrv=in")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		first := make([]byte, 5)
		if _, err := io.ReadFull(resp.Body, first); err != nil || string(first) != "first" {
			t.Fatalf("%q %v", first, err)
		}
		close(next)
		if rest, err := io.ReadAll(resp.Body); err != nil || string(rest) != "second" {
			t.Errorf("%q %v", rest, err)
		}
	})
}

func TestSilenceEnds(t *testing.T) {
	both(t, func(t *testing.T, inProcess bool) {
		s := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.RawQuery != "" {
				fmt.Fprint(w, "begun")
				_ = http.NewResponseController(w).Flush()
			}
			select {
			case <-r.Context().Done():
			case <-time.After(30 * time.Second):
			}
		})
		url, _ := browse(t, s, inProcess, func(server *Server, c *Config) { c.TokenPath, server.Idle = "", 50*time.Millisecond })
		started := time.Now()
		if status, _, _ := ask(t, "GET", url+"/api/rest/echo", ""); status != http.StatusGatewayTimeout {
			t.Errorf("no answer: %d", status)
		}
		r, _ := http.NewRequest("GET", url+"/api/rest/echo?begin", nil)
		r.Header.Set("Cookie", "restsrv=in")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if _, err := io.ReadAll(resp.Body); err == nil {
			t.Error("an aborted response looks complete")
		}
		if took := time.Since(started); took > 20*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	followed := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed = true }))
	defer other.Close()
	s := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, http.StatusFound) })
	url, _ := browse(t, s, false, func(_ *Server, c *Config) { c.TokenPath = "" })
	if status, header, _ := ask(t, "GET", url+"/api/rest/echo", ""); status != http.StatusFound || header.Get("Location") != other.URL || followed {
		t.Errorf("%d %v, followed %v", status, header, followed)
	}
}

func TestNothingThere(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	url, _ := browse(t, nil, true, func(_ *Server, c *Config) { c.Endpoint = gone.URL })
	if status, _, body := ask(t, "GET", url+"/api/rest/echo", ""); status != http.StatusServiceUnavailable || strings.Contains(body, gone.URL[7:]) {
		t.Errorf("%d %s", status, body)
	}
}

// TestAbort checks that a panic with http.ErrAbortHandler aborts the response.
func TestAbort(t *testing.T) {
	s := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "POST" {
			fmt.Fprint(w, "half")
		}
		panic(http.ErrAbortHandler)
	})
	url, _ := browse(t, s, true, func(_ *Server, c *Config) { c.TokenPath = "" })
	if status, _, _ := ask(t, "GET", url+"/api/rest/echo", ""); status != http.StatusServiceUnavailable {
		t.Errorf("before an answer: %d", status)
	}
	r, _ := http.NewRequest("POST", url+"/api/rest/echo", nil)
	r.Header.Set("Cookie", "restsrv=in")
	resp, err := http.DefaultClient.Do(r)
	if err == nil {
		_, err = io.ReadAll(resp.Body)
		resp.Body.Close()
	}
	if err == nil {
		t.Error("an incomplete response looks complete")
	}
}
