package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"restsrv/engine/account"
	"restsrv/engine/store/postgres/pgtest"
)

// long skips a test that takes minutes, unless RESTSRV_LONG is set, as in .ci/long.
func long(t *testing.T) {
	t.Helper()
	if os.Getenv("RESTSRV_LONG") == "" {
		t.Skip("takes minutes: RESTSRV_LONG=1 runs it (.ci/long)")
	}
}

// built is the binary for the tests. The first test that needs it builds it.
var built struct {
	once sync.Once
	bin  string
	err  error
}

func binary(t *testing.T) string {
	t.Helper()
	if raceDetector {
		t.Skip("another process is not watched by the race detector: the run without it has this test")
	}
	built.once.Do(func() {
		dir, err := os.MkdirTemp("", "restsrv-test")
		if err != nil {
			built.err = err
			return
		}
		built.bin = filepath.Join(dir, "restsrv")
		if out, err := exec.Command("go", "build", "-o", built.bin, ".").CombinedOutput(); err != nil {
			built.err = fmt.Errorf("go build: %v\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.bin
}

// TestMain removes the binary, the npm packages and the PostgreSQL server of the tests when all
// tests have ended.
func TestMain(m *testing.M) {
	flag.Parse()
	// Most tests spend half of their time waiting for servers and disks.
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = parallel.Value.Set(strconv.Itoa(2 * runtime.GOMAXPROCS(0)))
	}
	account.WeakenForTests()
	code := pgtest.Run(m)
	os.RemoveAll(driver.dir) // does nothing for ""
	if built.bin != "" {
		os.RemoveAll(filepath.Dir(built.bin))
	}
	os.Exit(code)
}

// process is a separate restsrv process that can be killed, signalled and restarted.
type process struct {
	cmd  *exec.Cmd
	url  string
	addr chan string // address on which it listens
	mu   sync.Mutex
	logs bytes.Buffer
	done chan struct{} // closed when the process has ended
}

const adminPassword = "correct-horse"

// start runs the binary in an application directory and waits until it listens.
func start(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	p := launch(t, dir, args...)
	p.await(t)
	return p
}

// launch runs the binary in an application directory.
func launch(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	return launchBy(t, dir, nil, args...)
}

// launchBy is like launch. by is a command line that executes the binary, such as strace.
func launchBy(t *testing.T, dir string, by []string, args ...string) *process {
	t.Helper()
	words := slices.Concat(by, []string{binary(t), "-addr", "127.0.0.1:0"}, args)
	p := &process{cmd: exec.Command(words[0], words[1:]...), addr: make(chan string, 1), done: make(chan struct{})}
	p.cmd.Dir = dir
	p.cmd.Env = append(os.Environ(), "RESTSRV_ADMIN_PASSWORD="+adminPassword)
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.kill() })
	go p.read(stderr)
	return p
}

// await waits until the process listens.
func (p *process) await(t *testing.T) {
	t.Helper()
	select {
	case a := <-p.addr:
		p.url = "http://" + a
	case <-p.done:
		t.Fatalf("restsrv ended before it listened:\n%s", p.log())
	case <-time.After(60 * time.Second):
		t.Fatalf("restsrv did not listen in time:\n%s", p.log())
	}
}

var listening = regexp.MustCompile(`msg=listening .*addr=(\S+)`)

func (p *process) read(stderr io.Reader) {
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		p.mu.Lock()
		p.logs.WriteString(lines.Text() + "\n")
		p.mu.Unlock()
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			p.addr <- m[1]
		}
	}
	_ = p.cmd.Wait() // ProcessState contains the result
	close(p.done)
}

// log returns the output of the process so far.
func (p *process) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.logs.String()
}

// stop asks the process to end. If it does not, the test fails and prints the goroutines of the
// process.
func (p *process) stop(t *testing.T) {
	t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(2 * time.Minute):
		_ = p.cmd.Process.Signal(syscall.SIGQUIT)
		<-p.done
		t.Fatalf("the server did not end in time:\n%s", p.log())
	}
}

// kill ends the process with SIGKILL.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// request sends one request as the administrator.
func (p *process) request(method, path, contentType, body string) (int, string, error) {
	r, err := http.NewRequest(method, p.url+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	r.SetBasicAuth("admin@local", adminPassword)
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

// application creates an application directory with a deploy.json and scripts.
func application(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, file, text)
	}
	return dir
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestShutdown checks that after SIGTERM the server completes current requests, accepts no new
// ones, and ends without an error.
func TestShutdown(t *testing.T) {
	p := start(t, application(t, map[string]string{
		"deploy.json": `{"modules":{"rest":{"globals":{"authMode":{"slow":"none"},"di":{"slow":{"module":"slow.js"}}}}}}`,
		"slow.js":     `module.exports = {'GET /': async () => { await new Promise(r => setTimeout(r, 700)); return 'finished'; }};`,
	}))
	type answer struct {
		status int
		body   string
		err    error
	}
	got := make(chan answer, 1)
	go func() {
		status, body, err := p.request("GET", "/rest/slow", "", "")
		got <- answer{status, body, err}
	}()
	time.Sleep(200 * time.Millisecond) // wait until the request is in progress
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if a := <-got; a.err != nil || a.status != 200 || a.body != `"finished"` {
		t.Errorf("the running request: got %d %q, %v, want 200 finished", a.status, a.body, a.err)
	}
	<-p.done
	if !p.cmd.ProcessState.Success() {
		t.Errorf("the process ended with %v, want success:\n%s", p.cmd.ProcessState, p.log())
	}
	if _, _, err := p.request("GET", "/rest/slow", "", ""); err == nil {
		t.Error("a request after the end: got a response, want an error")
	}
}
