package apptest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"restsrv/cmd/restsrv/command"
)

// Server is a server in this process. Unlike a Case, it returns errors to its caller instead of
// failing the test, and the caller can stop it at any time.
type Server struct {
	Addr   string
	log    Buffer
	end    func() error
	client *http.Client
}

// Stop ends the server and returns its error.
func (s *Server) Stop() error { return s.end() }

// Serve starts a server of the application in dir. If db is "", it uses the database that deploy.json names.
func Serve(dir, db string) (*Server, error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	s := &Server{client: &http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 8}}}
	env := func(name string) string {
		return map[string]string{"RESTSRV_DB": db, "RESTSRV_ADMIN_PASSWORD": "secret"}[name]
	}
	go func() {
		ended <- command.Run(ctx, []string{"-config", filepath.Join(dir, "deploy.json"), "-addr", "127.0.0.1:0"}, command.Stdio{In: strings.NewReader(""), Out: &s.log, Err: &s.log, Env: env})
	}()
	s.end = func() error { s.client.CloseIdleConnections(); cancel(); return <-ended }
	for begin := time.Now(); ; time.Sleep(2 * time.Millisecond) {
		if m := listens.FindStringSubmatch(s.log.String()); m != nil {
			s.Addr = m[1]
			return s, nil
		}
		select {
		case err := <-ended:
			return nil, fmt.Errorf("the server did not start: %w\n%s", err, s.log.String())
		default:
		}
		if time.Since(begin) > Timeout {
			return nil, errors.Join(s.Stop(), fmt.Errorf("the server does not listen:\n%s", s.log.String()))
		}
	}
}

// Send sends a request of an account with the password secret. If the answer is 503, it tries five more times.
func (s *Server) Send(account string, r Request) (*http.Response, string, error) {
	for try := 0; ; try++ {
		req, err := http.NewRequest(r.Method, "http://"+s.Addr+r.Target, strings.NewReader(r.Body))
		if err != nil {
			return nil, "", err
		}
		req.SetBasicAuth(account, "secret")
		req.Header.Set("X-Request-Id", "apptest")
		if r.Body != "" {
			req.Header.Set("Content-Type", "application/json")
		}
		for _, h := range r.Header {
			name, value, _ := strings.Cut(h, ": ")
			req.Header.Set(name, value)
		}
		resp, err := s.client.Do(req)
		if err != nil {
			return nil, "", err
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != 503 || try == 5 {
			return resp, string(body), err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// Failures returns the errors in the log.
func (s *Server) Failures() string {
	return strings.Join(slices.DeleteFunc(strings.Split(s.log.String(), "\n"), func(line string) bool { return !strings.Contains(line, "level=ERROR") }), "\n")
}

// Request is a request for Send. Each header is a line such as "Accept: text/plain".
type Request struct {
	Method, Target, Body string
	Header               []string
}
