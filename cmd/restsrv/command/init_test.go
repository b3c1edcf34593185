package command_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/cmd/restsrv/command"
)

// runInput runs a command with a standard input.
func runInput(t *testing.T, input string, args ...string) (out, errs string, err error) {
	t.Helper()
	var o, e bytes.Buffer
	err = command.Run(t.Context(), args, command.Stdio{In: strings.NewReader(input), Out: &o, Err: &e, Env: func(string) string { return "" }})
	return o.String(), e.String(), err
}

// TestInit creates an application of each kind: check finds no mistakes, and its test
// passes.
func TestInit(t *testing.T) {
	for flag, ext := range map[string]string{"-ts=false": "js", "-ts": "ts"} {
		dir := filepath.Join(t.TempDir(), "new", "app")
		out := apptest.MustRun(t, "init", flag, dir)
		if !strings.Contains(out, "scripts/tasks."+ext) || !strings.Contains(out, "restsrv -watch") {
			t.Errorf("init %s: got %q, want the script and the next commands", flag, out)
		}
		config := filepath.Join(dir, "deploy.json")
		if out := apptest.MustRun(t, "check", "-strict", "-config", config); !strings.HasSuffix(out, "runs as is\n") {
			t.Errorf("check of a new application: got %q, want no findings", out)
		}
		if out := apptest.MustRun(t, "test", "-config", config); !strings.Contains(out, "1 passed, 0 failed") {
			t.Errorf("test of a new application: got %q, want one test that passes", out)
		}
		for _, name := range []string{".gitignore", "scripts/restsrv.d.ts", "scripts/tasks." + ext, map[string]string{"js": "scripts/jsconfig.json", "ts": "tsconfig.json"}[ext]} {
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				t.Errorf("init %s: %v", flag, err)
			}
		}
		if entries, _ := os.ReadDir(dir); len(entries) > 4 {
			t.Errorf("check and test leave files: got %v, want those of init", entries)
		}
	}
}

// TestCheckUnknownOption checks that check lists a misspelt option of a built-in service once.
func TestCheckUnknownOption(t *testing.T) {
	config := filepath.Join(apptest.WriteApplication(t, map[string]string{"deploy.json": `{"modules": {"rest": {"globals": {"di": {"crud": {"module": "builtin/crud", "options": {"handlign": "strict"}}}}}}}`}), "deploy.json")
	out, _, _ := apptest.RunCommand(t, "check", "-config", config)
	if n := strings.Count(out, "handlign"); n != 2 || !strings.Contains(out, "runs with the 1 listed difference, 1 of them") {
		t.Errorf("check of a misspelt option: got %q, want one finding with its path", out)
	}
}

// TestInitRefused checks that init leaves a folder with files, and a file with the given name,
// unchanged.
func TestInitRefused(t *testing.T) {
	dir := apptest.WriteApplication(t, map[string]string{"notes.txt": "mine"})
	for _, to := range []string{dir, filepath.Join(dir, "notes.txt")} {
		if _, _, err := apptest.RunCommand(t, "init", to); err == nil {
			t.Errorf("init %s: got no error, want one", to)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("a refused init: got the files %v, want notes.txt only", entries)
	}
	if _, errs, err := apptest.RunCommand(t, "init"); err == nil || !strings.Contains(errs, "expected one folder, found 0 arguments") {
		t.Errorf("init without a folder: got %v and %q, want a mistake in the arguments", err, errs)
	}
}
