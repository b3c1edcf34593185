package server_test

import (
	"bufio"
	"flag"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write go.mod and go.sum of the example")

// TestExample builds the program in the folder example, which is a separate Go module, and sends
// a request to each of its services.
func TestExample(t *testing.T) {
	checkExampleModule(t)
	program := filepath.Join(t.TempDir(), "example")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = "example"
	build.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=readonly", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	app := t.TempDir()
	if err := os.CopyFS(app, os.DirFS("example/notes")); err != nil {
		t.Fatal(err)
	}
	address := startExample(t, program, app)
	for _, c := range []struct{ path, want string }{
		{"/rest/crud/note@example/first", `"title":"A class is a REST resource"`},
		{"/rest/titles", `["A class is a REST resource","Services are in JavaScript or Go"]`},
		{"/rest/count", `{"notes":2}`},
		{"/hello", "hello\n"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Auth-User", "admin@local")
		r.Header.Set("Auth-Pwd", "secret of the example")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(body), c.want) {
			t.Errorf("GET %s: got %d %s, %v, want 200 %s", c.path, answer.StatusCode, body, err, c.want)
		}
	}
}

// startExample starts the example on a free port and returns its address. At the end of
// the test it interrupts the example, which must then end without an error.
func startExample(t *testing.T, program, app string) (address string) {
	t.Helper()
	cmd := exec.Command(program, "-addr", "127.0.0.1:0", "-app", app)
	cmd.Env = append(os.Environ(), "ADMIN_PASSWORD=secret of the example")
	var log strings.Builder
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if runtime.GOOS == "windows" { // it has no signals
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			return
		}
		_ = cmd.Process.Signal(os.Interrupt) // if it has already ended, Wait returns its error
		if err := cmd.Wait(); err != nil {
			t.Errorf("the example: %v\n%s", err, log.String())
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	address, found := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !found {
		t.Fatalf("the example printed %q, %v, want its address", line, err)
	}
	return address
}

// checkExampleModule checks that the example requires the same versions as restsrv.
func checkExampleModule(t *testing.T) {
	t.Helper()
	for name, change := range map[string]func(string) string{"go.sum": strings.TrimSpace, "go.mod": exampleModule} {
		text, err := os.ReadFile("../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		want := change(string(text)) + "\n"
		if *update {
			if err := os.WriteFile("example/"+name, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile("example/" + name); err != nil || string(got) != want {
			t.Errorf("engine/server/example/%s does not have the versions of restsrv: run go test -run TestExample ./engine/server -update", name)
		}
	}
}

// exampleModule returns the expected go.mod of the example. text is the go.mod of restsrv.
func exampleModule(text string) string {
	required := regexp.MustCompile(`(?m)^\t(\S+ \S+)( // indirect)?$`).ReplaceAllString(text, "\t$1 // indirect")
	required = strings.Replace(required, "module restsrv\n", "module example\n", 1)
	return strings.TrimSpace(required) + "\n\nrequire restsrv v0.0.0\n\nreplace restsrv => ../../.."
}
