package clients

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"restsrv/cmd/restsrv/apptest"
)

// The tests in testdata/browser control the pages of the server with Chromium. They use the library
// playwright-core in Node.js, which npm installs as package-lock.json says. If one of these
// programs is missing, they are skipped, unless RESTSRV_TEST_BROWSER is "require", as in .ci/run.
// If RESTSRV_TEST_SCREENSHOTS is a folder, they save pictures of the pages there.

// driver is a copy of testdata/browser with its library. The first test that needs it creates it.
var driver struct {
	once sync.Once
	dir  string
	err  error
}

// browse runs a file of testdata/browser, and reports each of its cases as a test. servers are the
// URLs of servers, by the names that the file uses.
func browse(t *testing.T, file string, servers map[string]string) {
	t.Helper()
	chromium := tool(t, "chromium")
	node := tool(t, "node")
	tool(t, "npm")
	driver.once.Do(prepareDriver)
	if driver.err != nil {
		t.Fatal(driver.err)
	}
	addresses, err := json.Marshal(servers)
	if err != nil {
		t.Fatal(err)
	}
	shots := os.Getenv("RESTSRV_TEST_SCREENSHOTS")
	if shots == "" {
		shots = t.TempDir()
	}
	cmd := exec.CommandContext(t.Context(), node, file)
	cmd.Dir = driver.dir
	cmd.Env = append(os.Environ(), "CHROMIUM="+chromium, "SHOTS="+shots, "SERVERS="+string(addresses))
	var told bytes.Buffer
	cmd.Stderr = &told
	out, err := cmd.Output()
	cases := 0
	for line := range strings.Lines(string(out)) {
		var result struct{ Name, Error string }
		if json.Unmarshal([]byte(line), &result) != nil {
			t.Errorf("%s: got the line %s, want JSON", file, line)
			continue
		}
		cases++
		t.Run(result.Name, func(t *testing.T) {
			if result.Error != "" {
				t.Error(result.Error)
			}
		})
	}
	if err != nil || cases == 0 {
		t.Errorf("%s: got %v after %d cases, want at least one case and no error\n%s", file, err, cases, told.String())
	}
}

// tool returns the path of a program. If the program is missing, it skips the test.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	if os.Getenv("RESTSRV_TEST_BROWSER") == "require" {
		t.Fatalf("%s is required and was not found", name)
	}
	t.Skipf("there is no %s: the pages are not tested in a browser", name)
	return ""
}

// prepareDriver copies testdata/browser and runs npm install in the copy.
func prepareDriver() {
	dir, err := os.MkdirTemp("", "restsrv-browser")
	if err != nil {
		driver.err = err
		return
	}
	driver.dir = dir
	if driver.err = os.CopyFS(dir, os.DirFS(filepath.Join("../testdata", "browser"))); driver.err != nil {
		return
	}
	npm := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline")
	npm.Dir = dir
	if out, err := npm.CombinedOutput(); err != nil {
		driver.err = &npmError{err, string(out)}
	}
}

type npmError struct {
	err error
	out string
}

func (e *npmError) Error() string { return "npm ci: " + e.err.Error() + "\n" + e.out }

// TestSignInPages tests the pages below /auth. Server brief has short sessions. Server limited
// allows only one wrong password.
func TestSignInPages(t *testing.T) {
	t.Parallel()
	tool(t, "chromium")
	servers := map[string]string{}
	for name, config := range map[string]string{"main": `{}`, "brief": `{"globals": {"session": {"lifetime": 3}}}`,
		"limited": `{"globals": {"signIn": {"perAccount": 1}}}`} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "deploy.json"), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		servers[name] = apptest.Start(t, dir).URL
	}
	browse(t, "signin.mjs", servers)
}
