package apptest

// The cases in testdata/*.txtar describe the behaviour of restsrv, one aspect in each file. A case is a
// comment, followed by sections that are executed in order:
//
//	-- FILE --        writes FILE into the application directory, also while the server runs
//	-- repository --  copies the listed files and folders from this repository
//	-- start --       starts the server with the listed flags; if it runs, stops it first
//	-- stop --        stops the server
//	-- http --        sends requests; starts the server if it does not run
//	-- shell --       runs commands
//	-- log --         waits until each of its lines matches a line in the log of the server
//
// In http, lines with > are sent, and lines with < are expected:
//
//	> PATCH /rest/crud/note@sample/n1        method and path, sent as they are
//	> Content-Type: application/json         header lines; Host, Connection and Content-Length are added
//	>
//	> {"title":"Tea"}                        body; Transfer-Encoding: chunked sends it in chunks
//	< 200                                    with "200 eventually" the request is repeated until the whole answer is as
//	                                         expected; with "200 meanwhile" the answer may arrive until the section ends
//	< ETag: "{{etag}}"                       a header line that is required; a name may have several
//	< no Warning                             a header that is not allowed
//	<
//	< {"_id":"n1",…}                         body; if this line is missing, the body must be empty; without the < above it,
//	                                         the body is not checked
//
// A body of one line is compared byte by byte, and JSON of several lines as JSON. "contains {...}"
// is JSON that must have these fields, among others. "visible text: x" is text that a browser shows
// for an HTML page.
//
// In shell, "$ restsrv user list" runs a command on the same application. Lines with > are its
// input. Lines with < must match lines of its output. "< ok" and "< fails" are its result.
//
// Everywhere, … stands for any text, {{name}} for the text that it matched first, and {{dir}} for
// the application directory. {{repeat 3 "x"}}, {{hex ff}} and {{base64 "a:b"}} are replaced by
// their values. Lines that begin with # are comments. The variable RESTSRV_ADMIN_PASSWORD is
// "secret".
//
// Services without authentication use the account anonymous. It has all permissions unless the case
// runs "$ restsrv acl".
//
// Each case runs on SQLite and on PostgreSQL. The answers must be equal byte by byte, except values
// that differ each time (see MaskVariable). A case for SQLite only begins with the line "sqlite only: "
// and a reason.
//
// No answer may reveal internals of the server (see leaks).

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"restsrv/cmd/restsrv/command"
)

// Timeout is the timeout of every wait. It should never be reached.
const Timeout = 60 * time.Second

// CompareAnswers compares the answers on both databases to each request.
func CompareAnswers(t *testing.T, got, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d requests were answered, %d on SQLite", len(got), len(want))
		return
	}
	for i := range got {
		if g, w := MaskVariable(got[i]), MaskVariable(want[i]); g != w {
			t.Errorf("the responses of the databases differ: on PostgreSQL\n%.2000s\non SQLite\n%.2000s", g, w)
		}
	}
}

// anew matches values that differ each time: generated ids, times, tokens and request numbers.
var anew = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[a-z2-7]{26}(?:\b|_)|20\d\d-\d\d-\d\dT[0-9:.]+Z|\b(?:[0-9a-f]{16}|[0-9a-f]{40})\b|"requestId":"[^"]*"|(?:/tmp|/dev/shm)/\S*`)

// MaskVariable replaces the values in an answer that differ each time.
func MaskVariable(answer string) string { return anew.ReplaceAllString(answer, "…") }

// Case is the execution of one case: an application directory and a server in this process. Tests in Go use it too, and
// call the methods instead of reading a text.
type Case struct {
	*testing.T
	Dir     string // the application directory
	DB      string // RESTSRV_DB, "" for none
	vars    vars
	Output  Buffer   // the log of the server
	Answers []string // the answers to compare
	Addr    string   // on which the server listens
	stop    func()   // nil when no server runs
	open    bool     // the anonymous account must get all permissions at the next start
}

// NewCase returns a case with an empty application directory. If db is "", it uses SQLite.
func NewCase(t *testing.T, db string) *Case {
	t.Helper()
	c := &Case{T: t, Dir: filepath.Join(t.TempDir(), "app"), DB: db, vars: vars{}} // a case may write beside the application, too
	if err := os.Mkdir(c.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	c.vars["dir"] = c.Dir
	return c
}

// NewOpenCase is like NewCase. When the server starts for the first time, the account anonymous gets all permissions.
func NewOpenCase(t *testing.T, db string) *Case {
	c := NewCase(t, db)
	c.open = true
	return c
}

// PlayCase executes a case and returns the answers to its requests. It leaves out answers that arrive
// in no fixed order.
func PlayCase(t *testing.T, text, db string) []string {
	c := NewCase(t, db)
	defer c.StopServer()
	c.open = !strings.Contains(text, "$ restsrv acl ")
	comment, sections := ReadSections(text)
	if strings.TrimSpace(comment) == "" || len(sections) == 0 {
		t.Fatal("a case must begin with a description, and must have sections")
	}
	for _, s := range sections {
		c.Play(s)
	}
	return c.Answers
}

// Play executes a section of a case.
func (c *Case) Play(s Section) {
	c.Helper()
	switch s.Name {
	case "http":
		c.PlayHTTP(s.Text)
	case "shell":
		c.shell(s.Text)
	case "log":
		c.expectLog(s.Text)
	case "start":
		c.StopServer()
		c.StartServer(strings.Fields(s.Text)...)
	case "stop":
		c.StopServer()
	case "repository":
		c.CopyFromRepository(strings.Fields(s.Text))
	default:
		c.WriteFile(s.Name, c.vars.expand(s.Text))
	}
}

// WriteFile writes a file like an editor does: it writes a temporary file and renames it.
func (c *Case) WriteFile(name, text string) {
	c.Helper()
	file := filepath.Join(c.Dir, filepath.FromSlash(name))
	err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file+"~", []byte(text), 0o644), os.Rename(file+"~", file))
	if err != nil {
		c.Fatal(err)
	}
}

// CopyFromRepository copies files and folders of this repository into the application directory.
func (c *Case) CopyFromRepository(names []string) {
	for _, name := range names {
		from := filepath.Join(Root, name)
		err := filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			rel, _ := filepath.Rel(Root, path)
			c.WriteFile(rel, string(text))
			return err
		})
		if err != nil {
			c.Fatal(err)
		}
	}
}

// Env returns the environment variables of the server and of commands.
func (c *Case) Env(name string) string {
	return map[string]string{"RESTSRV_ADMIN_PASSWORD": "secret", "RESTSRV_DB": c.DB}[name]
}

var listens = regexp.MustCompile(`msg=listening .*?addr=(\S+)`)

// StartServer runs the server in this process and waits until it listens.
func (c *Case) StartServer(flags ...string) {
	c.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	before := len(c.Output.String())
	args := append([]string{"-config", filepath.Join(c.Dir, "deploy.json"), "-addr", "127.0.0.1:0"}, flags...)
	go func() {
		ended <- command.Run(ctx, args, command.Stdio{In: strings.NewReader(""), Out: &c.Output, Err: &c.Output, Env: c.Env})
	}()
	c.stop = func() {
		cancel()
		if err := <-ended; err != nil {
			c.Errorf("the server ended with the error %v, want none", err)
		}
	}
	c.Wait("the server listens", func() error {
		if m := listens.FindStringSubmatch(c.Output.String()[before:]); m != nil {
			c.Addr = m[1]
			return nil
		}
		select {
		case err := <-ended:
			c.stop = nil
			c.Fatalf("the server did not start: %v\n%s", err, c.Output.String())
		default:
		}
		return errors.New("not yet")
	})
	if c.open {
		c.open = false
		c.MustRun("acl", "grant", "anonymous", "*", "full")
	}
}

// MustRun runs a command on the application. The command must succeed.
func (c *Case) MustRun(args ...string) {
	c.Helper()
	var out Buffer
	args = slices.Insert(args, 2, "-config", filepath.Join(c.Dir, "deploy.json"))
	if err := command.Run(context.Background(), args, command.Stdio{In: strings.NewReader(""), Out: &out, Err: &out, Env: c.Env}); err != nil {
		c.Fatalf("restsrv %v: %v\n%s", args, err, out.String())
	}
}

// Running reports whether the server runs.
func (c *Case) Running() bool { return c.stop != nil }

// StopServer stops the server if it runs.
func (c *Case) StopServer() {
	if c.stop != nil {
		stop := c.stop
		c.stop = nil
		stop()
	}
}

// Wait calls try until it returns no error, for at most the time Timeout.
func (c *Case) Wait(what string, try func() error) {
	c.Helper()
	for end := time.Now().Add(Timeout); ; time.Sleep(10 * time.Millisecond) {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			c.Fatalf("timeout while waiting until %s: %v\nlog:\n%s", what, err, c.Output.String())
		}
	}
}

func (c *Case) expectLog(text string) {
	for _, want := range TextLines(text) {
		c.Wait("the log says "+want, func() error { return anyLine(c.vars, want, c.Output.String()) })
	}
}

// TextLines returns the lines of a text except empty lines and comments.
func TextLines(text string) (all []string) {
	for _, line := range strings.Split(text, "\n") {
		if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "#") {
			all = append(all, line)
		}
	}
	return all
}

func anyLine(v vars, want, text string) error {
	for _, line := range strings.Split(text, "\n") {
		if v.match(want, line) {
			return nil
		}
	}
	return fmt.Errorf("no line matches %q", want)
}

// shell runs the commands of a section.
func (c *Case) shell(text string) {
	for _, command := range strings.Split("\n"+strings.Join(TextLines(text), "\n"), "\n$ ")[1:] {
		line, rest, _ := strings.Cut(command, "\n")
		var input string
		var want []string
		for _, l := range TextLines(rest) {
			if in, ok := strings.CutPrefix(l, "> "); ok {
				input += c.vars.expand(in) + "\n"
			} else {
				want = append(want, strings.TrimPrefix(l, "< "))
			}
		}
		output, err := c.Run(line, input)
		for _, w := range want {
			switch {
			case w == "ok" && err != nil, w == "fails" && err == nil:
				c.Errorf("$ %s\nended with %v, want %q; output:\n%s", line, err, w, output)
			case w != "ok" && w != "fails" && anyLine(c.vars, w, output) != nil:
				c.Errorf("$ %s\nwant a line that matches %q, got:\n%s", line, w, output)
			}
		}
	}
}

// Run runs one command line. If it starts a server, the server is stopped at once.
func (c *Case) Run(line, input string) (output string, err error) {
	args := strings.Fields(c.vars.expand(line))[1:]
	switch {
	case strings.Contains(line, "-config"):
	case len(args) > 0 && slices.Contains(command.Names(), args[0]):
		args = append(args, "-config", filepath.Join(c.Dir, "deploy.json"))
	default:
		args = append([]string{"-config", filepath.Join(c.Dir, "deploy.json"), "-addr", "127.0.0.1:0"}, args...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), Timeout)
	defer cancel()
	var out Buffer
	ended := make(chan error, 1)
	go func() {
		ended <- command.Run(ctx, args, command.Stdio{In: strings.NewReader(input), Out: &out, Err: &out, Env: c.Env})
	}()
	for {
		select {
		case err := <-ended:
			if err != nil {
				fmt.Fprintln(&out, err)
			}
			return out.String(), err
		case <-time.After(10 * time.Millisecond):
			if listens.MatchString(out.String()) {
				cancel()
			}
		}
	}
}

// PlayHTTP sends the requests of a section http and compares the answers.
func (c *Case) PlayHTTP(text string) {
	if c.stop == nil {
		c.StartServer()
	}
	exchanges, err := readExchanges(text)
	if err != nil {
		c.Fatal(err)
	}
	var meanwhile sync.WaitGroup
	defer meanwhile.Wait()
	for _, e := range exchanges {
		once := func(v vars) (answer string) {
			answer, err := c.exchange(e, v)
			if err != nil {
				c.Errorf("> %s\n> %s\n%v", e.line, strings.Join(e.header, "\n> "), err)
			}
			return answer
		}
		switch {
		case e.eventually:
			c.Wait(e.line+" answers "+e.status, func() error {
				_, err := c.exchange(e, c.vars)
				return err
			})
		case e.meanwhile:
			v := maps.Clone(c.vars)
			meanwhile.Go(func() { once(v) })
		default:
			c.Answers = append(c.Answers, e.line+"\n"+once(c.vars))
		}
	}
}

// exchange sends a request and compares the answer. It returns the status and the body.
func (c *Case) exchange(e exchange, v vars) (string, error) {
	resp, body, err := c.send(e, v)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d\n%s", resp.StatusCode, body), c.judge(e, v, resp, body)
}

// judge compares an answer with the expected one.
func (c *Case) judge(e exchange, v vars, resp *http.Response, body string) error {
	var got bytes.Buffer
	fmt.Fprintf(&got, "%d\n", resp.StatusCode)
	_ = resp.Header.Write(&got)
	fmt.Fprintf(&got, "\n%s", body)
	for _, leak := range c.leaks() {
		if strings.Contains(got.String(), leak) {
			return fmt.Errorf("the answer leaks %q:\n%s", leak, got.String())
		}
	}
	fail := func(want string) error { return fmt.Errorf("want %s\ngot  %.2000s", want, got.String()) }
	if !v.match(e.status, fmt.Sprint(resp.StatusCode)) {
		return fail(e.status)
	}
	for _, want := range e.wantHeader {
		if name, absent := strings.CutPrefix(want, "no "); absent {
			if resp.Header.Get(name) != "" {
				return fail(want)
			}
			continue
		}
		name, pattern, _ := strings.Cut(want, ": ")
		if anyLine(v, pattern, strings.Join(resp.Header.Values(name), "\n")) != nil {
			return fail(want)
		}
	}
	if e.checkBody && !v.matchBody(e.wantBody, body) {
		return fail("the body\n" + v.expand(strings.Join(e.wantBody, "\n")))
	}
	return nil
}

// leaks returns texts that must not occur in an answer.
func (c *Case) leaks() []string {
	repository, _ := filepath.Abs(Root)
	return []string{"sql:", "SQLITE", "pq:", "SQLSTATE", ".go:", "goroutine", "$argon2", c.Dir, repository}
}

// send sends a request as it is written in the case, and reads the answer.
func (c *Case) send(e exchange, v vars) (*http.Response, string, error) {
	header, body := v.expand(strings.Join(e.header, "\r\n")), v.expand(e.body)
	lower := "\r\n" + strings.ToLower(header)
	request := v.expand(e.line) + " HTTP/1.1\r\nHost: " + c.Addr + "\r\nConnection: close\r\n"
	if header != "" {
		request += header + "\r\n"
	}
	switch {
	case strings.Contains(lower, "\r\ntransfer-encoding: chunked"):
		body = fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	case e.hasBody && !strings.Contains(lower, "\r\ncontent-length:"):
		request += fmt.Sprintf("Content-Length: %d\r\n", len(body))
	}
	conn, err := net.Dial("tcp", c.Addr)
	if err != nil {
		return nil, "", err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(Timeout))
	go func() { _, _ = io.WriteString(conn, request+"\r\n"+body) }() // the answer may come before all is sent
	method, _, _ := strings.Cut(e.line, " ")
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		return nil, "", fmt.Errorf("no answer: %w", err)
	}
	answer, err := io.ReadAll(resp.Body)
	return resp, string(answer), err
}

// Buffer is a buffer that can be read while it is written.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (l *Buffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String returns everything that was written.
func (l *Buffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Ask sends a request. header is alternately names and values.
func (c *Case) Ask(method, target, body string, header ...string) (*http.Response, string) {
	c.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, "http://"+c.Addr+target, strings.NewReader(body))
	if err != nil {
		c.Error(err)
		return &http.Response{}, ""
	}
	if strings.HasPrefix(body, "{") || strings.HasPrefix(body, "[") {
		r.Header.Set("Content-Type", "application/json")
	} else if body != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		c.Error(err)
		return &http.Response{}, ""
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.Error(err)
	}
	return resp, string(text)
}
