package cost

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/cmd/restsrv/command"
)

// asked is an application with one object, which the test reads with every kind of authentication.
const asked = `{
  "namespace": "s",
  "globals": {"plugins": {"oauth": {"module": "builtin/oauth", "options": {"clients": [
    {"id": "robot", "secret": "r0b0t", "grants": ["client_credentials"], "account": "ann@local"},
    {"id": "bound", "secret": "b0und", "grants": ["client_credentials"], "account": "ann@local", "scopes": ["bearer:read"]}]}}}},
  "classes": [{"name": "note", "key": ["id"], "properties": [{"name": "id", "type": "string"}, {"name": "title", "type": "string"}, {"name": "secret", "type": "string"}]}],
  "objects": [{"_class": "note", "id": "n", "title": "Hello", "secret": "x"}],
  "modules": {"rest": {"globals": {"di": {"open": {"module": "builtin/crud"}, "pwd": {"module": "builtin/crud"}, "mine": {"module": "builtin/crud"}, "bearer": {"module": "builtin/crud"},
    "static": {"module": "builtin/echo"}},
    "authMode": {"open": "none", "static": "none", "mine": "token", "bearer": "oauth"}}}}
}`

// requestServer serves the application asked in this process. Its connection makes no allocations.
type requestServer struct {
	testing.TB
	dir, addr string
	conn      net.Conn
	in        *bufio.Reader
}

func newRequestServer(t testing.TB) *requestServer {
	s := &requestServer{TB: t, dir: t.TempDir()}
	config := filepath.Join(s.dir, "deploy.json")
	if err := os.WriteFile(config, []byte(asked), 0o600); err != nil {
		t.Fatal(err)
	}
	served, err := apptest.Serve(s.dir, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := served.Stop(); err != nil {
			t.Error(err)
		}
	})
	s.addr = served.Addr
	s.command("secret\n", "user", "add", "-force", "ann@local")
	s.command("secret\n", "user", "add", "-force", "bob@local")
	for _, subject := range []string{"anonymous", "ann@local", "bob@local"} {
		s.command("", "acl", "grant", subject, "c:::note@s", "read")
	}
	for _, subject := range []string{"anonymous", "ann@local"} {
		s.command("", "acl", "grant", subject, "a:::note@s.secret", "read")
	}
	s.command("", "acl", "grant", "ann@local", "ws:::gen-ws-token", "use")
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	s.conn, s.in = conn, bufio.NewReader(conn)
	return s
}

func (s *requestServer) stdio(in string, out io.Writer) command.Stdio {
	return command.Stdio{In: strings.NewReader(in), Out: out, Err: out, Env: func(name string) string {
		return map[string]string{"RESTSRV_ADMIN_PASSWORD": "secret"}[name]
	}}
}

func (s *requestServer) command(in string, words ...string) {
	var out apptest.Buffer
	args := append([]string{words[0], words[1], "-config", filepath.Join(s.dir, "deploy.json")}, words[2:]...)
	if err := command.Run(context.Background(), args, s.stdio(in, &out)); err != nil {
		s.Fatal(words, err, out.String())
	}
}

// fetch sends a request with a password. The answer must have status 200.
func (s *requestServer) fetch(method, path, user, password, form string) string {
	r, err := http.NewRequest(method, "http://"+s.addr+path, strings.NewReader(form))
	if err != nil {
		s.Fatal(err)
	}
	r.SetBasicAuth(user, password)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		s.Fatal(path, resp.Status, err, string(body))
	}
	return string(body)
}

// oauthToken returns a token of the client.
func (s *requestServer) oauthToken(client, secret string) string {
	var answer struct {
		Token string `json:"access_token"`
	}
	text := s.fetch("POST", "/oauth2/token", client, secret, "grant_type=client_credentials")
	if err := json.Unmarshal([]byte(text), &answer); err != nil || answer.Token == "" {
		s.Fatal(err, text)
	}
	return "Bearer " + answer.Token
}

// way is a kind of request. more is the number of allocations that it may make in addition to the
// same request of the administrator, which has no permission checks.
type way struct {
	name, path, authorization string
	more                      float64
}

func (s *requestServer) ways() []way {
	return []way{
		{"administrator", "/rest/pwd/note@s/n", apptest.BasicAuth("admin@local"), 0},
		{"echo", "/rest/static", "", -35},
		{"anonymous", "/rest/open/note@s/n", "", 0},
		{"password", "/rest/pwd/note@s/n", apptest.BasicAuth("ann@local"), 4},
		{"token", "/rest/mine/note@s/n", "Bearer " + s.fetch("GET", "/rest/token", "ann@local", "secret", ""), 3},
		{"OAuth2", "/rest/bearer/note@s/n", s.oauthToken("robot", "r0b0t"), 3},
		{"OAuth2, scope", "/rest/bearer/note@s/n", s.oauthToken("bound", "b0und"), 4},
		{"attribute hidden", "/rest/pwd/note@s/n", apptest.BasicAuth("bob@local"), 5},
	}
}

func (w way) request() []byte {
	line := ""
	if w.authorization != "" {
		line = "Authorization: " + w.authorization + "\r\n"
	}
	return []byte("GET " + w.path + " HTTP/1.1\r\nHost: localhost\r\n" + line + "\r\n")
}

// ask sends a request and reads the answer. It makes no allocations.
func (s *requestServer) ask(request []byte) error {
	if _, err := s.conn.Write(request); err != nil {
		return err
	}
	length, first := 0, true
	for {
		line, err := s.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		switch {
		case first && !bytes.HasPrefix(line, []byte("HTTP/1.1 200 ")):
			return fmt.Errorf("answered %q", line)
		case bytes.HasPrefix(line, []byte("Content-Length: ")):
			if length, err = strconv.Atoi(string(bytes.TrimSpace(line[len("Content-Length: "):]))); err != nil {
				return err
			}
		case len(bytes.TrimSpace(line)) == 0:
			_, err := s.in.Discard(length)
			return err
		}
		first = false
	}
}

// until repeats a request until it succeeds. Servers notice new grants after a moment.
func (s *requestServer) until(request []byte) {
	for begin := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		err := s.ask(request)
		if err == nil {
			return
		}
		if time.Since(begin) > 10*time.Second {
			s.Fatal(err)
		}
		s.conn.Close()
		if s.conn, err = net.Dial("tcp", s.addr); err != nil {
			s.Fatal(err)
		}
		s.in.Reset(s.conn)
	}
}

// TestRequestsAllocate counts the allocations of requests, from the connection to the database
// and back. It limits only the allocations of permission checks and authentication, because
// net/http and the database make the others. It does not run in parallel, because it counts
// allocations of the whole process.
func TestRequestsAllocate(t *testing.T) {
	if apptest.RaceDetector {
		t.Skip("pools drop what they are given under the race detector")
	}
	s := newRequestServer(t)
	var administrator float64
	for i, w := range s.ways() {
		request := w.request()
		s.until(request)
		got := testing.AllocsPerRun(300, func() {
			if err := s.ask(request); err != nil {
				t.Fatal(err)
			}
		})
		if i == 0 {
			administrator = got
		}
		t.Logf("%-16s %v", w.name, got)
		if got > administrator+w.more {
			t.Errorf("%s: got %v allocations, the administrator has %v, want at most %v more", w.name, got, administrator, w.more)
		}
	}
}

func BenchmarkRequest(b *testing.B) {
	s := newRequestServer(b)
	for _, w := range s.ways() {
		b.Run(w.name, func(b *testing.B) {
			request := w.request()
			s.until(request)
			b.ReportAllocs()
			for b.Loop() {
				if err := s.ask(request); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
