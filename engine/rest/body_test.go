package rest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/service"
)

// impatient serves two services, without and with authentication, with a short time limit for
// bodies.
func impatient(t *testing.T, grace time.Duration) (addr string) {
	t.Helper()
	s := New(Config{Auth: nobody{}, Log: slog.New(slog.DiscardHandler), BodyGrace: grace})
	long := strings.Repeat("x", 16<<20)
	routes := []service.Route{
		{Method: "GET", Path: "/", Handler: text("hello")},
		{Method: "POST", Path: "/unread", Handler: func(ctx context.Context, _ *service.Request) (*service.Response, error) {
			return &service.Response{ContentType: textPlain, Body: []byte(long)}, ctx.Err()
		}},
		{Method: "POST", Path: "/read", Handler: func(ctx context.Context, r *service.Request) (*service.Response, error) {
			b, err := r.ReadBody()
			if err == nil {
				err = ctx.Err()
			}
			return &service.Response{ContentType: textPlain, Body: b}, err
		}},
		{Method: "POST", Path: "/small", MaxBody: 10, Handler: func(_ context.Context, r *service.Request) (*service.Response, error) {
			_, err := r.ReadBody()
			return nil, err
		}},
	}
	for name, mode := range map[string]engine.AuthMode{"open": engine.AuthNone, "closed": engine.AuthPwd} {
		if err := s.Mount(name, mode, fake{routes: routes}); err != nil {
			t.Fatal(err)
		}
	}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	return srv.Listener.Addr().String()
}

func dial(t *testing.T, addr string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

// TestBodyThatNeverComes announces a small body and does not send it. net/http would wait for
// such a small body. For all handlers, the response must arrive and the connection must end.
func TestBodyThatNeverComes(t *testing.T) {
	addr := impatient(t, 100*time.Millisecond)
	for _, c := range []struct {
		request string
		status  int
	}{
		{"POST /rest/none", 404},
		{"POST /elsewhere", 404},
		{"GET /livez", 200},
		{"GET /readyz", 200},
		{"GET /rest/open", 200},
		{"POST /rest/open", 404}, // no such route
		{"POST /rest/open/unread", 200},
		{"POST /rest/closed/read", 401},
		{"POST /rest/open/read", 400},
		{"POST /rest/open/small", 413},
	} {
		for _, body := range []string{"Content-Length: 200000\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n30000\r\n{"} {
			t.Run(c.request+" "+body[:7], func(t *testing.T) {
				t.Parallel()
				want := c.status
				if want == 413 && strings.HasPrefix(body, "Transfer") {
					want = 400 // the length of the body is unknown
				}
				conn, in := dial(t, addr)
				fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: x\r\n%s", c.request, body)
				resp, err := http.ReadResponse(in, nil)
				if err != nil {
					t.Fatal(err)
				}
				_, err = io.Copy(io.Discard, resp.Body)
				if err != nil || resp.StatusCode != want {
					t.Errorf("got %d, %v, want %d", resp.StatusCode, err, want)
				}
				if _, err := in.ReadByte(); err != io.EOF {
					t.Errorf("the connection goes on: %v", err)
				}
			})
		}
	}
}

// TestBodyThenAnother sends requests with bodies on one connection, with pauses
// longer than the time limit of a body. Each request must be answered, and the
// time limit of one request must not end the context of the next.
func TestBodyThenAnother(t *testing.T) {
	const grace = 200 * time.Millisecond
	conn, in := dial(t, impatient(t, grace))
	for _, path := range []string{"read", "unread", "read", "unread", "read"} {
		fmt.Fprintf(conn, "POST /rest/open/%s HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello", path)
		time.Sleep(grace + grace/2) // the long response cannot be sent during this time
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(path, err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != 200 || resp.Close {
			t.Fatalf("%s: got %d, close %v, %v: %.100s", path, resp.StatusCode, resp.Close, err, body)
		}
	}
}

// TestBodyGoesOnArriving sends a body at the minimum rate for longer than the
// grace time.
func TestBodyGoesOnArriving(t *testing.T) {
	conn, in := dial(t, impatient(t, 300*time.Millisecond))
	fmt.Fprint(conn, "POST /rest/open/read HTTP/1.1\r\nHost: x\r\nContent-Length: 16384\r\n\r\n")
	for range 8 {
		fmt.Fprint(conn, strings.Repeat("y", 2048))
		time.Sleep(100 * time.Millisecond)
	}
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != 200 || len(body) != 16384 {
		t.Errorf("got %d with %d bytes, %v", resp.StatusCode, len(body), err)
	}
}
