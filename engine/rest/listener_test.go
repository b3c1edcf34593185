package rest

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// content returns a body that is larger than the buffers in which the kernel stores an unread
// response.
func content() []byte {
	b := make([]byte, 16<<20)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(b)
	return b
}

// slowly serves the same content in four ways: in one write, in small writes, as a file and as a
// stream. It returns the address and the number of running handlers.
func slowly(t *testing.T, rate int, grace time.Duration) (addr string, running *atomic.Int64, body []byte) {
	t.Helper()
	body = content()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, body, 0o600); err != nil {
		t.Fatal(err)
	}
	running = &atomic.Int64{}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		running.Add(1)
		defer running.Add(-1)
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		switch r.URL.Path {
		case "/write":
			_, _ = w.Write(body)
		case "/small":
			for b := body; len(b) > 0; b = b[min(1000, len(b)):] {
				if _, err := w.Write(b[:min(1000, len(b))]); err != nil {
					return
				}
			}
		case "/file":
			f, err := os.Open(file)
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			http.ServeContent(w, r, "", time.Time{}, f)
		case "/stream":
			_, _ = io.Copy(w, bytes.NewReader(body))
		}
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: h}
	go func() { _ = s.Serve(Listen(l, rate, grace, slog.New(slog.DiscardHandler))) }()
	t.Cleanup(func() { s.Close() })
	return l.Addr().String(), running, body
}

func request(t *testing.T, addr, path string) (net.Conn, *http.Response) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path)
	resp, err := http.ReadResponse(bufio.NewReaderSize(c, 16), nil)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return c, resp
}

// TestUnreadAnswersEnd checks that a client that stops reading does not block a
// handler.
func TestUnreadAnswersEnd(t *testing.T) {
	addr, running, _ := slowly(t, 1<<10, 200*time.Millisecond)
	for _, path := range []string{"/write", "/small", "/file", "/stream"} {
		request(t, addr, path)
		begin := time.Now()
		for running.Load() > 0 {
			if time.Since(begin) > 20*time.Second {
				t.Fatalf("%s: the handler still runs after %v although its client reads nothing", path, time.Since(begin))
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// TestUnreadSmallAnswersEnd checks that a client does not block a handler if it sends many
// requests on one connection and does not read the small responses.
func TestUnreadSmallAnswersEnd(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var served atomic.Int64
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		served.Add(1)
		_, _ = w.Write(make([]byte, 16<<10))
	})}
	go func() { _ = s.Serve(Listen(l, 1<<10, 200*time.Millisecond, slog.New(slog.DiscardHandler))) }()
	defer s.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.(*net.TCPConn).SetReadBuffer(4 << 10)
	_ = c.SetWriteDeadline(time.Now().Add(20 * time.Second))
	for {
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			if e, ok := err.(net.Error); ok && e.Timeout() {
				t.Fatalf("the connection is open after 20 s and %d answers that were not read", served.Load())
			}
			return // closed by the server
		}
	}
}

// TestSlowReadersGetWholeAnswers checks that a client gets every byte if it
// pauses for longer than a deadline but reads fast enough on average.
func TestSlowReadersGetWholeAnswers(t *testing.T) {
	addr, _, body := slowly(t, 1<<10, time.Second)
	want := sha256.Sum256(body)
	for _, path := range []string{"/write", "/small", "/file", "/stream"} {
		t.Run(path[1:], func(t *testing.T) {
			t.Parallel()
			_, resp := request(t, addr, path)
			sum := sha256.New()
			for i := 0; ; i++ {
				n, err := io.CopyN(sum, resp.Body, 1<<20)
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatalf("part %d of %d bytes: %v", i, n, err)
				}
				time.Sleep(300 * time.Millisecond)
			}
			if got := sum.Sum(nil); !bytes.Equal(got, want[:]) {
				t.Error("the answer differs from the content")
			}
		})
	}
}
