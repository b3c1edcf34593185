package apptest

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// CopyFiles copies the files of one folder into another. It overwrites existing files.
func CopyFiles(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, name), 0o700)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), data, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// ApplicationPassword is the password of all accounts of an Application.
const ApplicationPassword = "ion-demo"

// Client sends requests to a server, and runs commands on its application.
type Client struct {
	*Process
	T       *testing.T
	dir, db string
	HTTP    http.Client
}

// NewClient starts a server in an application directory. The client does not follow redirects.
func NewClient(t *testing.T, dir, db string) *Client {
	t.Helper()
	return &Client{T: t, dir: dir, db: db, Process: Start(t, dir, "-db", db),
		HTTP: http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// Answer is the answer to a request. String returns the text for a table.
type Answer struct {
	Status int
	Body   string
	To     string // Location
}

// String returns the status, and the number of objects if the answer is a list.
func (a Answer) String() string {
	var list []json.RawMessage
	if json.Unmarshal([]byte(a.Body), &list) == nil {
		return fmt.Sprintf("%d, %d objects", a.Status, len(list))
	}
	return fmt.Sprint(a.Status)
}

// Call sends a request with a JSON body. The function change may set other headers.
func (s *Client) Call(method, path, body string, change func(*http.Request)) Answer {
	s.T.Helper()
	r, err := http.NewRequestWithContext(s.T.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		s.T.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	change(r)
	resp, err := s.HTTP.Do(r)
	if err != nil {
		s.T.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.T.Fatal(err)
	}
	return Answer{resp.StatusCode, string(text), resp.Header.Get("Location")}
}

// Form sends a form.
func (s *Client) Form(path string, form url.Values, change func(*http.Request)) Answer {
	s.T.Helper()
	return s.Call("POST", path, form.Encode(), func(r *http.Request) {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		change(r)
	})
}

// MustRun runs a command while the server runs.
func (s *Client) MustRun(args ...string) string {
	s.T.Helper()
	return MustRun(s.T, append(args, "-config", filepath.Join(s.dir, "deploy.json"), "-db", s.db)...)
}

// Eventually waits until a running server has noticed a change.
func (s *Client) Eventually(what string, done func() bool) {
	s.T.Helper()
	for end := time.Now().Add(Timeout); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			s.T.Fatalf("the server did not take over %s in time\n%s", what, s.Log())
		}
	}
}
