package main

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

// lay copies the files of one folder into another and overwrites existing ones.
func lay(t *testing.T, from, to string) {
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

// actor is an account of the application, with its credentials.
type actor struct {
	id, token, bearer string
	session           *http.Cookie
}

// realPassword is the password of all accounts of the application.
const realPassword = "ion-demo"

// realServer is a running server of the application.
type realServer struct {
	*process
	t       *testing.T
	app     *testApplication
	dir, db string
	client  http.Client
}

// answer is the answer to a request. String returns the text for a table.
type answer struct {
	status int
	body   string
	to     string // Location
}

// String returns the status, and the number of objects if the answer is a list.
func (a answer) String() string {
	var list []json.RawMessage
	if json.Unmarshal([]byte(a.body), &list) == nil {
		return fmt.Sprintf("%d, %d objects", a.status, len(list))
	}
	return fmt.Sprint(a.status)
}

// call sends a request with a JSON body. The function change may set other headers.
func (s *realServer) call(method, path, body string, change func(*http.Request)) answer {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	change(r)
	resp, err := s.client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{resp.StatusCode, string(text), resp.Header.Get("Location")}
}

func (s *realServer) form(path string, form url.Values, change func(*http.Request)) answer {
	s.t.Helper()
	return s.call("POST", path, form.Encode(), func(r *http.Request) {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		change(r)
	})
}

// restsrv runs a command while the server runs.
func (s *realServer) restsrv(args ...string) string {
	s.t.Helper()
	return mustRun(s.t, append(args, "-config", filepath.Join(s.dir, "deploy.json"), "-db", s.db)...)
}

// as are the ways in which an actor proves itself.
func (a *actor) withPassword(r *http.Request) { r.SetBasicAuth(a.id, realPassword) }
func (a *actor) withToken(r *http.Request)    { r.Header.Set("auth-token", a.token) }
func (a *actor) withBearer(r *http.Request)   { r.Header.Set("Authorization", "Bearer "+a.bearer) }
func (a *actor) withSession(r *http.Request) {
	if a.session != nil {
		r.AddCookie(a.session)
	}
}

// eventually waits until a running server has noticed a change.
func (s *realServer) eventually(what string, done func() bool) {
	s.t.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("the server did not take over %s in time\n%s", what, s.log())
		}
	}
}
