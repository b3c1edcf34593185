package command_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/cmd/restsrv/command"
)

// TestAdminPasswords starts servers on several databases in one folder. Each generated password
// must be in its own file, and no existing file may be overwritten.
func TestAdminPasswords(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "deploy.json")
	apptest.WriteFile(t, config, `{"modules":{"rest":{"globals":{"di":{}}}}}`)
	apptest.WriteFile(t, filepath.Join(dir, "admin-password-notes"), "somebody's")
	seen := map[string]string{}
	for _, db := range []string{"restsrv.db", "notes.db", "third.db"} {
		var log apptest.Buffer
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- command.Run(ctx, []string{"-config", config, "-db", "sqlite:" + db, "-addr", "127.0.0.1:0"},
				command.Stdio{In: &bytes.Buffer{}, Out: &log, Err: &log, Env: func(string) string { return "" }})
		}()
		for !strings.Contains(log.String(), "msg=listening") {
			select {
			case err := <-ended:
				t.Fatalf("%s: %v\n%s", db, err, log.String())
			case <-time.After(5 * time.Millisecond):
			}
		}
		stop()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		_, file, _ := strings.Cut(log.String(), `password="in the file `)
		file, _, _ = strings.Cut(file, `"`)
		text, err := os.ReadFile(file)
		if err != nil || len(strings.TrimSpace(string(text))) < 20 {
			t.Errorf("%s: the file %q: got %q, %v, want a password of at least 20 characters", db, file, text, err)
		}
		if info, err := os.Stat(file); err == nil && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: got mode %v, want 0600", file, info.Mode())
		}
		seen[file] = string(text)
	}
	if len(seen) != 3 {
		t.Errorf("got the files %v, want one for each of three databases", seen)
	}
	for file, text := range seen {
		if now, err := os.ReadFile(file); err != nil || string(now) != text {
			t.Errorf("%s: got the other content %q, %v, want the first", file, now, err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "admin-password-notes")); err != nil || string(text) != "somebody's" {
		t.Errorf("an existing file: got %q, %v, want it unchanged", text, err)
	}
}

// TestInterrupted checks that a command that is ended by a signal reports the signal, whatever
// error the signal has caused.
func TestInterrupted(t *testing.T) {
	config := filepath.Join(t.TempDir(), "deploy.json")
	apptest.WriteFile(t, config, `{"classes":[{"name":"note","namespace":"s","properties":[{"name":"title","type":"string"}]}]}`)
	ctx, interrupt := context.WithCancel(t.Context())
	in := readFunc(func([]byte) (int, error) {
		interrupt()
		return 0, io.EOF
	})
	lines := io.MultiReader(strings.NewReader(`{"_class":"note@s","_id":"1"}`+"\n"), in)
	err := command.Run(ctx, []string{"import", "-config", config, "-"},
		command.Stdio{In: lines, Out: io.Discard, Err: io.Discard, Env: func(string) string { return "" }})
	if !errors.Is(err, command.ErrInterrupted) {
		t.Error(err)
	}
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }
