package rest

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/service"
	"restsrv/engine/share"
)

// scarce serves a service with little memory for bodies and responses. Its handlers read the
// body, and the path of a request gives the size of the response in bytes.
func scarce(t *testing.T, cfg Config) *httptest.Server {
	t.Helper()
	cfg.Auth, cfg.Log = nobody{}, slog.New(slog.DiscardHandler)
	s := New(cfg)
	handler := func(_ context.Context, r *service.Request) (*service.Response, error) {
		if _, err := r.ReadBody(); err != nil {
			return nil, err
		}
		n := 0
		_, err := fmt.Sscan(r.Param("n"), &n)
		return &service.Response{ContentType: textPlain, Body: make([]byte, n)}, err
	}
	if err := s.Mount("s", engine.AuthNone, fake{routes: []service.Route{{Method: "GET", Path: "/:n", Handler: handler}, {Method: "POST", Path: "/:n", Handler: handler}}}); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	return srv
}

func status(t *testing.T, method, url string, body io.Reader) (int, http.Header) {
	t.Helper()
	r, err := http.NewRequest(method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, resp.Header
}

// TestBodiesAreAdmitted checks that a body reserves its memory while it is being sent. Other
// bodies that do not fit are refused until the request of the first body has ended.
func TestBodiesAreAdmitted(t *testing.T) {
	pool := share.New(share.Config{Name: "bytes of bodies", Capacity: 1 << 20, MaxWait: 20 * time.Millisecond})
	srv := scarce(t, Config{Bodies: pool})
	large := strings.Repeat("x", 600<<10)
	conn, in := dial(t, srv.Listener.Addr().String())
	fmt.Fprintf(conn, "POST /rest/s/1 HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(large), large[:engine.SmallBytes])
	if _, held := pool.Held(""); held != 0 {
		t.Errorf("a body of which little has arrived: %d bytes are held, want 0", held)
	}
	fmt.Fprint(conn, large[engine.SmallBytes:100<<10])
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		if _, held := pool.Held(""); held == int64(len(large)) {
			break
		} else if time.Since(begin) > 10*time.Second {
			t.Fatalf("a body that is sent: %d bytes are held, want %d", held, len(large))
		}
	}
	for name, body := range map[string]io.Reader{"announced": strings.NewReader(large), "chunked": io.MultiReader(strings.NewReader(large))} {
		if got, header := status(t, "POST", srv.URL+"/rest/s/1", body); got != 503 || header.Get("Retry-After") == "" {
			t.Errorf("a second body, %s: got %d with Retry-After %q, want 503 with one", name, got, header.Get("Retry-After"))
		}
	}
	if got, _ := status(t, "POST", srv.URL+"/rest/s/1", strings.NewReader("small")); got != 200 {
		t.Errorf("a small body: got %d, want 200", got)
	}
	fmt.Fprint(conn, large[100<<10:])
	if resp, err := http.ReadResponse(in, nil); err != nil || resp.StatusCode != 200 {
		t.Errorf("the first body: %v, want 200", err)
	}
	if got, _ := status(t, "POST", srv.URL+"/rest/s/1", strings.NewReader(large)); got != 200 {
		t.Errorf("after the first body: got %d, want 200", got)
	}
	if _, held := pool.Held(""); held != 0 {
		t.Errorf("at the end %d bytes are held, want 0", held)
	}
}

// TestAnswersAreSettled checks that responses count even if the service reserves no memory. A
// read is refused if there is no room for its response. A write is refused before it begins if
// responses already take more memory than the limit.
func TestAnswersAreSettled(t *testing.T) {
	pool := share.New(share.Config{Name: "bytes of answers", Capacity: 1 << 20})
	srv := scarce(t, Config{Answers: pool})
	g, err := pool.Acquire(context.Background(), "other", 900<<10)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		method string
		bytes  int
		want   int
	}{{"GET", 1000, 200}, {"GET", 100 << 10, 200}, {"GET", 200 << 10, 503}, {"POST", 200 << 10, 200}} {
		if got, _ := status(t, c.method, fmt.Sprint(srv.URL, "/rest/s/", c.bytes), nil); got != c.want {
			t.Errorf("%s of %d bytes: got %d, want %d", c.method, c.bytes, got, c.want)
		}
	}
	over := pool.Charge("other", 200<<10)
	if got, _ := status(t, "POST", srv.URL+"/rest/s/10", nil); got != 503 {
		t.Errorf("a write while more is held than may be: got %d, want 503", got)
	}
	if got, _ := status(t, "GET", srv.URL+"/rest/s/10", nil); got != 200 {
		t.Errorf("a small answer meanwhile: got %d, want 200", got)
	}
	over.Release()
	g.Release()
	if _, held := pool.Held(""); held != 0 {
		t.Errorf("at the end %d bytes are held, want 0", held)
	}
}
