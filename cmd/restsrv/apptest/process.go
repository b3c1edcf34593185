package apptest

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"restsrv/cmd/restsrv/command"
	"restsrv/engine/account"
	"restsrv/engine/store/postgres/pgtest"
)

// RequireLong skips a test that takes minutes, unless RESTSRV_LONG is set, as in .ci/long.
func RequireLong(t *testing.T) {
	t.Helper()
	if os.Getenv("RESTSRV_LONG") == "" {
		t.Skip("takes minutes: RESTSRV_LONG=1 runs it (.ci/long)")
	}
}

// asProgram is an environment variable. If it is set, the test binary runs as restsrv, with the
// command in its arguments, instead of running tests.
const asProgram = "RESTSRV_TEST_AS_PROGRAM"

// Binary returns the path of a program that runs as restsrv in the environment of the test. It is
// the test binary itself, so that no other program has to be linked.
func Binary(t *testing.T) string {
	t.Helper()
	if RaceDetector {
		t.Skip("processes take too long under the race detector: the run without it has this test")
	}
	name, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// RunTests runs the tests of a package and returns the exit code. When all tests have ended, it
// removes the PostgreSQL server of the tests. TestMain of each package below cmd/restsrv must
// call RunTests. In a process that a test has started as restsrv, RunTests runs restsrv instead.
func RunTests(m *testing.M) int {
	account.WeakenForTests()
	if os.Getenv(asProgram) != "" {
		return command.Main()
	}
	_ = os.Setenv(asProgram, "1") // for all processes that the tests start
	defer keepFilesInMemory()()
	return pgtest.Run(m)
}

// Process is a separate restsrv process that can be killed, signalled and restarted.
type Process struct {
	Cmd  *exec.Cmd
	URL  string
	Addr chan string // address on which it listens
	mu   sync.Mutex
	logs bytes.Buffer
	Done chan struct{} // closed when the process has ended
}

// AdminPassword is the password of the account admin@local of a Process.
const AdminPassword = "correct-horse"

// Start starts restsrv in an application directory and waits until it listens. The process ends with the test.
func Start(t *testing.T, dir string, args ...string) *Process {
	t.Helper()
	p := Launch(t, dir, args...)
	p.Await(t)
	return p
}

// Launch starts restsrv in an application directory.
func Launch(t *testing.T, dir string, args ...string) *Process {
	t.Helper()
	return LaunchBy(t, dir, nil, args...)
}

// LaunchBy is like Launch. by is a command line that executes the binary, such as strace.
func LaunchBy(t *testing.T, dir string, by []string, args ...string) *Process {
	t.Helper()
	words := slices.Concat(by, []string{Binary(t), "-addr", "127.0.0.1:0"}, args)
	p := &Process{Cmd: exec.Command(words[0], words[1:]...), Addr: make(chan string, 1), Done: make(chan struct{})}
	p.Cmd.Dir = dir
	p.Cmd.Env = append(os.Environ(), "RESTSRV_ADMIN_PASSWORD="+AdminPassword)
	stderr, err := p.Cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Kill() })
	go p.read(stderr)
	return p
}

// Await waits until the process listens.
func (p *Process) Await(t *testing.T) {
	t.Helper()
	select {
	case a := <-p.Addr:
		p.URL = "http://" + a
	case <-p.Done:
		t.Fatalf("restsrv ended before it listened:\n%s", p.Log())
	case <-time.After(60 * time.Second):
		t.Fatalf("restsrv did not listen in time:\n%s", p.Log())
	}
}

var listening = regexp.MustCompile(`msg=listening .*addr=(\S+)`)

func (p *Process) read(stderr io.Reader) {
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		p.mu.Lock()
		p.logs.WriteString(lines.Text() + "\n")
		p.mu.Unlock()
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			p.Addr <- m[1]
		}
	}
	_ = p.Cmd.Wait() // ProcessState contains the result
	close(p.Done)
}

// Log returns the output of the process so far.
func (p *Process) Log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.logs.String()
}

// Stop asks the process to end. If it does not, the test fails and prints the goroutines of the
// process.
func (p *Process) Stop(t *testing.T) {
	t.Helper()
	_ = p.Cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.Done:
	case <-time.After(2 * time.Minute):
		_ = p.Cmd.Process.Signal(syscall.SIGQUIT)
		<-p.Done
		t.Fatalf("the server did not end in time:\n%s", p.Log())
	}
}

// Kill ends the process with SIGKILL.
func (p *Process) Kill() {
	_ = p.Cmd.Process.Kill()
	<-p.Done
}

// Request sends a request as the administrator. It returns the status and the body.
func (p *Process) Request(method, path, contentType, body string) (int, string, error) {
	r, err := http.NewRequest(method, p.URL+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	r.SetBasicAuth("admin@local", AdminPassword)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

// WriteApplication creates an application directory with files, by their paths.
func WriteApplication(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		WriteFile(t, file, text)
	}
	return dir
}

// WriteFile writes a file.
func WriteFile(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// SignIn signs in as a browser does and returns the cookie.
func SignIn(t *testing.T, p *Process, name, password string) *http.Cookie {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.PostForm(p.URL+"/auth", url.Values{"username": {name}, "password": {password}})
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if len(resp.Cookies()) != 1 {
		t.Fatalf("sign-in: got %d %v, want one cookie\n%s", resp.StatusCode, resp.Header, p.Log())
	}
	return resp.Cookies()[0]
}

// Get sends a GET request. The function change may set headers. Get returns the status and the body.
func (p *Process) Get(t *testing.T, path string, change func(*http.Request)) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	change(r)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}
