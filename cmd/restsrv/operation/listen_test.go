package operation

import (
	"bytes"
	"errors"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/cmd/restsrv/command"
)

// TestAddressInUse starts a server on an address that is in use. The error must say this, and no
// database must be created.
func TestAddressInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dir := apptest.WriteApplication(t, map[string]string{"deploy.json": `{"modules": {"rest": {"globals": {"di": {}}}}}`})
	addr := l.Addr().String()
	var out bytes.Buffer
	s := command.Stdio{Out: &out, Err: &out, Env: func(string) string { return "" }}
	err = command.Run(t.Context(), []string{"-config", filepath.Join(dir, "deploy.json"), "-addr", addr}, s)
	if want := "another program uses the address " + addr; err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "-addr") {
		if runtime.GOOS != "windows" {
			t.Errorf("start on an address in use: got %v, want an error with %q and -addr", err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "restsrv.db")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the database after a start that failed: got %v, want that it does not exist", err)
	}
}

func TestVersionCommand(t *testing.T) {
	var out, mistakes bytes.Buffer
	s := command.Stdio{Out: &out, Err: &mistakes, Env: func(string) string { return "" }}
	if err := command.Run(t.Context(), []string{"version"}, s); err != nil {
		t.Fatal(err)
	}
	if want := regexp.MustCompile(`^restsrv \S+\n(commit [0-9a-f]+( with changes)?\n)?go\S+( \S+)* \w+/\w+\n$`); !want.MatchString(out.String()) {
		t.Errorf("restsrv version: got %q, want it to match %s", out.String(), want)
	}
	if err := command.Run(t.Context(), []string{"version", "now"}, s); !errors.Is(err, command.ErrUsage) || !strings.Contains(mistakes.String(), `expected no arguments, found "now"`) {
		t.Errorf("restsrv version now: got %v and %q, want errUsage and the argument", err, mistakes.String())
	}
}
