package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// restsrvCommand is where a command of the README begins that is ours.
var restsrvCommand = regexp.MustCompile(`(^|\| )restsrv `)

// TestREADME starts the repository's own application and runs every command of
// the README's console blocks. The output must be that in the README.
func TestREADME(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	p := startSample(t)
	commands := 0
	for i, block := range strings.Split(string(text), "```console\n") {
		block, _, found := strings.Cut(block, "```")
		if i == 0 || !found {
			continue
		}
		for _, part := range strings.Split("\n"+block, "\n$ ")[1:] {
			command, want, _ := strings.Cut(part, "\n")
			command = strings.ReplaceAll(command, "http://127.0.0.1:8888", p.url)
			command = strings.ReplaceAll(command, "secret", adminPassword)
			command = strings.ReplaceAll(command, "curl ", "curl -s ")
			ours := restsrvCommand.MatchString(command)
			command = restsrvCommand.ReplaceAllString(command, "${1}"+binary(t)+" ")
			shell := exec.Command("sh", "-c", command)
			shell.Dir = p.cmd.Dir
			out, err := shell.Output()
			if err != nil {
				t.Errorf("%s: %v", command, err)
			}
			if got := strings.TrimSpace(string(out)); got != strings.TrimSpace(want) {
				t.Errorf("%s\ngot  %s\nwant %s", command, got, want)
			}
			commands++
			if ours {
				time.Sleep(600 * time.Millisecond) // the server follows within half a second
			}
		}
	}
	if commands < 5 {
		t.Errorf("found %d commands in the README", commands)
	}
}

// startSample serves a copy of the repository's application.
func startSample(t *testing.T) *process {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"deploy.json", "scripts"} {
		if out, err := exec.Command("cp", "-r", filepath.Join(root, name), dir).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return start(t, dir)
}
