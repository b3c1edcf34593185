package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"restsrv/engine"
)

func TestMaskSecrets(t *testing.T) {
	for text, want := range map[string]string{
		`{"clientSecret": "geheim", "a": 1}`:   `{"clientSecret": *****************`,
		"db: postgres://bob:geheim@h/d":        "db: postgres://**********@h/d",
		"  password: geheim\n  name: x":        "  password: ******\n  name: x",
		`{"url": "http://h/a@b", "name": "x"}`: `{"url": "http://***@b", "name": "x"}`,
		`{"key": ["id"], "name": "note"}`:      `{"key": ["id"], "name": "note"}`,
		`{"tokenLifetime": 60}`:                `{"tokenLifetime": ***`,
		`{"limits": {"rows": 5}}`:              `{"limits": {"rows": 5}}`,
		"\"pwd\": \"x\"\r\n\"b\": 1":           "\"pwd\": ***\r\n\"b\": 1",
	} {
		if got := maskSecrets(text); got != want {
			t.Errorf("maskSecrets(%q): got %q, want %q", text, got, want)
		}
	}
}

// TestWithExcerpts checks the lines below the faults of an error.
func TestWithExcerpts(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "deploy.json"), []byte("{\n \"a\": 1\n \"b\": 2\n}"), 0o600); err != nil {
		t.Fatal(err)
	}
	faults := engine.Faults{{File: "deploy.json", Line: 3, Column: 2, Found: "a", Expected: "b"}, {File: "../x", Line: 1, Found: "c", Expected: "d"}}
	got := withExcerpts(fmt.Errorf("not served:\n%w", faults), dir, false).Error()
	want := strings.Join([]string{"not served:", "deploy.json:3:2: found a, expected b", "  1 | {", `  2 |  "a": 1`, `> 3 |  "b": 2`, "    |  ^", "  4 | }", "../x:1:0: found c, expected d"}, "\n")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	other := errors.New("another error")
	if got := withExcerpts(other, dir, false); got != other {
		t.Errorf("another error: got %v, want it unchanged", got)
	}
}
