package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// linkedApp is version n of an application with a class file and a script.
func linkedApp(n int) map[string]string {
	return map[string]string{
		"deploy.json": fmt.Sprintf(`{"namespace":"s","modules":{"rest":{"globals":{"authMode":{"hello":"none","crud":"none"},
			"di":{"crud":{"module":"builtin/crud"},"hello":{"module":"hello.js","options":{"n":%d}}}}}}}`, n),
		"hello.js":            fmt.Sprintf(`module.exports = {'GET /': () => options.n + ' %d'};`, n),
		"meta/c.class.json":   fmt.Sprintf(`{"name":"c%d","namespace":"s","key":["id"],"properties":[{"name":"id","type":0}]}`, n),
		"meta/types/.gitkeep": "",
	}
}

func (c *caseRun) link(target, name string) {
	c.Helper()
	tmp := filepath.Join(c.dir, name+"~") // as if a link is replaced in one step
	if err := os.Symlink(target, tmp); err != nil {
		c.Fatal(err)
	}
	if err := os.Rename(tmp, filepath.Join(c.dir, name)); err != nil {
		c.Fatal(err)
	}
}

// answers waits until the application of a version answers.
func (c *caseRun) answers(n int) {
	c.Helper()
	v := &visitor{c: c}
	c.wait(fmt.Sprint("version ", n), func() error {
		_, hello, err := v.ask("GET", "/rest/hello", "", "")
		status, _, other := v.ask("GET", fmt.Sprintf("/rest/crud/c%d@s", n), "", "")
		if want := fmt.Sprintf(`"%d %d"`, n, n); err != nil || other != nil || hello != want || status != 200 {
			return fmt.Errorf("got %s and %d, %v %v", hello, status, err, other)
		}
		return nil
	})
}

// TestConfigMapIsReloaded serves an application as Kubernetes shows a
// ConfigMap: every file is a link through ..data, which is swapped.
func TestConfigMapIsReloaded(t *testing.T) {
	t.Parallel()
	c := &caseRun{T: t, dir: t.TempDir(), vars: vars{}, open: true}
	defer c.stopServer()
	put := func(n int) {
		t.Helper()
		dir := fmt.Sprintf("..v%d", n)
		for name, text := range linkedApp(n) {
			c.save(dir+"/"+name, text)
		}
		c.link(dir, "..data")
	}
	put(1)
	for _, name := range []string{"deploy.json", "hello.js", "meta"} {
		c.link("..data/"+name, name)
	}
	c.startServer("-watch")
	c.answers(1)
	for n := 2; n < 5; n++ {
		put(n)
		if err := os.RemoveAll(filepath.Join(c.dir, fmt.Sprintf("..v%d", n-1))); err != nil {
			t.Fatal(err)
		}
		c.answers(n)
	}
}

// TestApplicationThatIsALink serves an application by a link to one of its
// versions, which is swapped.
func TestApplicationThatIsALink(t *testing.T) {
	t.Parallel()
	outer := t.TempDir()
	c := &caseRun{T: t, dir: outer, db: "sqlite:" + filepath.Join(outer, "data.db"), vars: vars{}, open: true}
	defer c.stopServer()
	for n := 1; n < 4; n++ {
		for name, text := range linkedApp(n) {
			c.save(fmt.Sprintf("v%d/%s", n, name), text)
		}
	}
	c.link("v1", "current")
	c.dir = filepath.Join(outer, "current")
	c.startServer("-watch")
	c.answers(1)
	for n := 2; n < 4; n++ {
		c.dir = outer
		c.link(fmt.Sprintf("v%d", n), "current")
		c.answers(n)
	}
}

// TestWhatAnApplicationIsReadFrom checks which changed files make a new edition.
// Other files, such as those of data, which only the first start and restsrv
// import read, make none.
func TestWhatAnApplicationIsReadFrom(t *testing.T) {
	dir := application(t, map[string]string{
		"deploy.json": `{"parametrised":true,"modules":{"api":{"globals":{"di":{"gate":{"module":"modules/rest/client/GateWay","options":{"base":"/api","clientId":"a","clientSecret":"b","definition":"gate.yml"}}}}}}}`,
		"gate.yml":    "paths:\n  /rest/echo:\n    get: {}\n",
		"one.ini":     "a=1\n",
	})
	a, err := loadApplication(filepath.Join(dir, "deploy.json"), false)
	if err != nil {
		t.Fatal(err)
	}
	e := &edition{config: a.config, reading: readingOf(filepath.Join(dir, "deploy.json"), a.config)}
	for name, want := range map[string]bool{
		"deploy.json": true, "gate.yml": true, "one.ini": true, "two.ini": true, "meta": true, "meta/new.class.json": true, "meta/a.class.yml": true, "meta/types/x.type.json": true,
		"": true, "acl": true, "acl/admin.acl.yml": true, "scripts/a.js": false, "scripts": false, "sub/x.ini": false, "data/x.json": false, "meta/note.txt": false, "deploy.json.bak": false,
	} {
		if got := e.affectedBy([]string{filepath.Join(dir, name)}); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
	before := readingOf(filepath.Join(dir, "deploy.json"), a.config)
	for _, name := range []string{"gate.yml", "one.ini", "deploy.json"} {
		write(t, filepath.Join(dir, name), "other")
		now := readingOf(filepath.Join(dir, "deploy.json"), a.config)
		if now.same(before) {
			t.Errorf("after a change of %s: got the same reading, want another", name)
		}
		before = now
	}
}

// TestFixedSettings checks which changed settings are reported as needing a
// restart, and that no other setting is.
func TestFixedSettings(t *testing.T) {
	read := func(globals string) *app {
		t.Helper()
		a, err := loadApplication(filepath.Join(application(t, map[string]string{"deploy.json": `{"globals":{` + globals + `}}`}), "deploy.json"), false)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	s := &server{started: read("").config, io: stdio{Env: func(string) string { return "" }}}
	if names := s.fixedSettings(read(`"publicURL":"https://example.org","session":{"idle":5},"limits":{"wallTime":3},"minBodyRate":5,"shutdownTimeout":3`).config); len(names) != 0 {
		t.Errorf("settings that need a restart: got %v, want none", names)
	}
	got := s.fixedSettings(read(`"addr":"127.0.0.1:9","db":{"url":"sqlite:x.db","synchronous":"normal"},"headerTimeout":1,"idleTimeout":1,"maxHeaderBytes":2000,"queryTimeout":1,"shares":{"scans":1},"signIn":{"perAccount":1},"audit":true`).config)
	if want := []string{"addr", "db", "headerTimeout", "idleTimeout", "maxHeaderBytes", "queryTimeout", "shares", "signIn", "audit"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	s.flags = flags{addr: ":1", db: "sqlite:y.db"}
	if got := s.fixedSettings(read(`"addr":"127.0.0.1:9","db":"sqlite:x.db"`).config); len(got) != 0 {
		t.Errorf("settings that flags override: got %v, want none", got)
	}
}
