package security

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"restsrv/cmd/restsrv/apptest"
)

// TestLinksOutOfTheApplication checks that import and check do not read files through links that
// leave the application directory, and that they report each of these links.
func TestLinksOutOfTheApplication(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret.json")
	apptest.WriteFile(t, secret, `{"id":"x","name":"hidden text"}`)
	dir := apptest.WriteApplication(t, map[string]string{
		"deploy.json":       `{"namespace":"s","modules":{"rest":{"globals":{"di":{"crud":{"module":"builtin/crud"}}}}}}`,
		"meta/c.class.json": `{"name":"c","namespace":"s","key":["id"],"properties":[{"name":"id","type":0},{"name":"name","type":0}]}`,
		"data/c@s@1.json":   `{"id":"1","name":"one"}`,
		"acl/roles.yml":     "roles:\n  - id: clerk\n",
	})
	command := func(args ...string) string {
		c := exec.Command(apptest.Binary(t), args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "RESTSRV_ADMIN_PASSWORD="+apptest.AdminPassword)
		out, _ := c.CombinedOutput()
		return string(out)
	}
	expect := func(what, got string, want ...string) {
		t.Helper()
		for _, text := range want {
			if !strings.Contains(got, text) {
				t.Errorf("%s: got %s\nwant output with %q", what, got, text)
			}
		}
		if strings.Contains(got, "hidden text") {
			t.Errorf("%s: got a file outside of the application, want an error: %s", what, got)
		}
	}
	link := func(name string) (remove func()) {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(secret, at); err != nil {
			t.Fatal(err)
		}
		return func() { os.Remove(at) }
	}
	const why = "a symbolic link that leaves the directory"
	undo := []func(){link("data/c@s@x.json"), link("acl/more.yml")}
	expect("import", command("import", "-db", "sqlite:"+filepath.Join(outside, "one.db"), dir), "c@s@x.json", "acl/more.yml", why)
	expect("import of the folder", command("import", "-db", "sqlite:"+filepath.Join(outside, "two.db"), filepath.Join(dir, "data")), "c@s@x.json", why)
	exported := filepath.Join(outside, "all.ndjson")
	expect("export", command("export", "-db", "sqlite:"+filepath.Join(outside, "one.db"), "-o", exported), "exported")
	text, err := os.ReadFile(exported)
	if err != nil {
		t.Fatal(err)
	}
	expect("what was imported", string(text), `"name":"one"`, `"clerk"`)
	for _, remove := range undo {
		remove()
	}
	for _, name := range []string{"meta/x.class.json", "deploy/more.json", "workflows/x.wf.json", "views/c@s/list.json", "navigation/x.section.json"} {
		remove := link(name)
		expect("check with "+name, command("check"), filepath.Base(name), why)
		remove()
	}
}
