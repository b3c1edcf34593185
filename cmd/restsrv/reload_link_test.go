package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// linkedApp returns version n of an application with a class file and a script.
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
	tmp := filepath.Join(c.dir, name+"~") // like replacing a link in one step
	if err := os.Symlink(target, tmp); err != nil {
		c.Fatal(err)
	}
	if err := os.Rename(tmp, filepath.Join(c.dir, name)); err != nil {
		c.Fatal(err)
	}
}

// answers waits until the server uses a version of the application.
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

// TestConfigMapIsReloaded serves an application from a directory like a Kubernetes ConfigMap: every
// file is a link through the link ..data, which is then replaced.
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

// TestApplicationThatIsALink serves an application through a link to one of its versions. Then the
// link is replaced.
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
