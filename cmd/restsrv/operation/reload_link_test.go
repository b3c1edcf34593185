package operation

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"restsrv/cmd/restsrv/apptest"
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

func link(c *apptest.Case, target, name string) {
	c.Helper()
	tmp := filepath.Join(c.Dir, name+"~") // like replacing a link in one step
	if err := os.Symlink(target, tmp); err != nil {
		c.Fatal(err)
	}
	if err := os.Rename(tmp, filepath.Join(c.Dir, name)); err != nil {
		c.Fatal(err)
	}
}

// awaitAnswer waits until the server uses a version of the application.
func awaitAnswer(c *apptest.Case, n int) {
	c.Helper()
	v := &visitor{c: c}
	c.Wait(fmt.Sprint("version ", n), func() error {
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
	c := apptest.NewOpenCase(t, "")
	defer c.StopServer()
	put := func(n int) {
		t.Helper()
		dir := fmt.Sprintf("..v%d", n)
		for name, text := range linkedApp(n) {
			c.WriteFile(dir+"/"+name, text)
		}
		link(c, dir, "..data")
	}
	put(1)
	for _, name := range []string{"deploy.json", "hello.js", "meta"} {
		link(c, "..data/"+name, name)
	}
	c.StartServer("-watch")
	awaitAnswer(c, 1)
	for n := 2; n < 5; n++ {
		put(n)
		if err := os.RemoveAll(filepath.Join(c.Dir, fmt.Sprintf("..v%d", n-1))); err != nil {
			t.Fatal(err)
		}
		awaitAnswer(c, n)
	}
}

// TestApplicationThatIsALink serves an application through a link to one of its versions. Then the
// link is replaced.
func TestApplicationThatIsALink(t *testing.T) {
	t.Parallel()
	outer := t.TempDir()
	c := apptest.NewOpenCase(t, "sqlite:"+filepath.Join(outer, "data.db"))
	c.Dir = outer
	defer c.StopServer()
	for n := 1; n < 4; n++ {
		for name, text := range linkedApp(n) {
			c.WriteFile(fmt.Sprintf("v%d/%s", n, name), text)
		}
	}
	link(c, "v1", "current")
	c.Dir = filepath.Join(outer, "current")
	c.StartServer("-watch")
	awaitAnswer(c, 1)
	for n := 2; n < 4; n++ {
		c.Dir = outer
		link(c, fmt.Sprintf("v%d", n), "current")
		awaitAnswer(c, n)
	}
}
