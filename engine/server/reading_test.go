package server

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"restsrv/engine/server/appdata"
)

// TestWhatAnApplicationIsReadFrom checks for which changed files a reload creates a new edition.
// Some files do not cause one, such as files in the folder data, which only the first start and
// restsrv import read.
func TestWhatAnApplicationIsReadFrom(t *testing.T) {
	dir := writeApplication(t, map[string]string{
		"deploy.json": `{"parametrised":true,"modules":{"api":{"globals":{"di":{"gate":{"module":"modules/rest/client/GateWay","options":{"base":"/api","clientId":"a","clientSecret":"b","definition":"gate.yml"}}}}}}}`,
		"gate.yml":    "paths:\n  /rest/echo:\n    get: {}\n",
		"one.ini":     "a=1\n",
	})
	a, err := LoadApplication(filepath.Join(dir, "deploy.json"), false)
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{}
	e := &edition{config: a.Config, reading: s.readingOf(filepath.Join(dir, "deploy.json"), a.Config)}
	for name, want := range map[string]bool{
		"deploy.json": true, "gate.yml": true, "one.ini": true, "two.ini": true, "meta": true, "meta/new.class.json": true, "meta/a.class.yml": true, "meta/types/x.type.json": true,
		"": true, "acl": true, "acl/admin.acl.yml": true, "scripts/a.js": false, "scripts": false, "sub/x.ini": false, "data/x.json": false, "meta/note.txt": false, "deploy.json.bak": false,
	} {
		if got := e.affectedBy([]string{filepath.Join(dir, name)}); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
	before := s.readingOf(filepath.Join(dir, "deploy.json"), a.Config)
	for _, name := range []string{"gate.yml", "one.ini", "deploy.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("other"), 0o600); err != nil {
			t.Fatal(err)
		}
		now := s.readingOf(filepath.Join(dir, "deploy.json"), a.Config)
		if now.same(before) {
			t.Errorf("after a change of %s: got the same reading, want another", name)
		}
		before = now
	}
}

// TestFixedSettings checks which changed settings are reported because they need a restart.
func TestFixedSettings(t *testing.T) {
	read := func(globals string) *appdata.App {
		t.Helper()
		a, err := LoadApplication(filepath.Join(writeApplication(t, map[string]string{"deploy.json": `{"globals":{` + globals + `}}`}), "deploy.json"), false)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	s := &Server{started: read("").Config}
	if names := s.fixedSettings(read(`"publicURL":"https://example.org","session":{"idle":5},"limits":{"wallTime":3},"minBodyRate":5,"shutdownTimeout":3`).Config); len(names) != 0 {
		t.Errorf("settings that need a restart: got %v, want none", names)
	}
	got := s.fixedSettings(read(`"addr":"127.0.0.1:9","db":{"url":"sqlite:x.db","synchronous":"normal"},"headerTimeout":1,"idleTimeout":1,"maxHeaderBytes":2000,"queryTimeout":1,"shares":{"scans":1},"signIn":{"perAccount":1},"audit":true`).Config)
	if want := []string{"addr", "db", "headerTimeout", "idleTimeout", "maxHeaderBytes", "queryTimeout", "shares", "signIn", "audit"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	s.options = Config{Addr: ":1", Database: "sqlite:y.db"}
	if got := s.fixedSettings(read(`"addr":"127.0.0.1:9","db":"sqlite:x.db"`).Config); len(got) != 0 {
		t.Errorf("settings that flags override: got %v, want none", got)
	}
}

// writeApplication writes the files of an application into a new directory.
func writeApplication(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
