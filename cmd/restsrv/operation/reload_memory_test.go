package operation

import (
	"fmt"
	"strings"
	"testing"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/engine/store/postgres/pgtest"
)

// TestReloadsGiveUpClasses checks the memory after ten reloads. It must contain only the current
// edition of the classes, and not also the first edition.
func TestReloadsGiveUpClasses(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { reloadsGiveUpClasses(t, "") })
	t.Run("postgres", func(t *testing.T) { reloadsGiveUpClasses(t, pgtest.Database(t)) })
}

func reloadsGiveUpClasses(t *testing.T, db string) {
	const classes, reloads = 300, 10
	c := apptest.NewOpenCase(t, db)
	defer c.StopServer()
	var properties strings.Builder
	for i := range 40 {
		fmt.Fprintf(&properties, `, {"name": "p%d", "type": "string", "caption": "%s"}`, i, strings.Repeat("Caption ", 20))
	}
	for i := range classes {
		c.WriteFile(fmt.Sprintf("meta/c%d.class.json", i), fmt.Sprintf(`{"name": "c%d", "key": ["id"], "properties": [
			{"name": "id", "type": "string"}, {"name": "next", "type": "reference", "refClass": "c%d"}%s]}`, i, (i+1)%classes, properties.String()))
	}
	c.WriteFile("js.js", "module.exports = {'GET /': () => options.version};")
	application := func(version int) string {
		return fmt.Sprintf(`{"namespace": "s", "modules": {"rest": {"globals": {"authMode": {"js": "none", "crud": "none"},
			"di": {"crud": {"module": "builtin/crud"}, "js": {"module": "js.js", "options": {"version": %d}}}}}}}`, version)
	}
	v := &visitor{c: c}
	serve := func(version int) {
		t.Helper()
		c.WriteFile("deploy.json", application(version))
		c.Wait(fmt.Sprint("version ", version), func() error {
			if _, body, err := v.ask("GET", "/rest/js", "", ""); err != nil || body != fmt.Sprint(version) {
				return fmt.Errorf("got %s, %v", body, err)
			}
			return nil
		})
		v.must("GET", "/rest/crud/c1@s", "", "")
	}
	empty := heapInUse()
	c.WriteFile("deploy.json", application(0))
	c.StartServer("-watch")
	serve(0)
	first := heapInUse()
	for n := range reloads {
		serve(n + 1)
	}
	last := heapInUse()
	t.Logf("heap: %d KiB before the start, %d after it, %d after %d reloads", empty>>10, first>>10, last>>10, reloads)
	if edition := first - empty; last > first+edition/2 {
		t.Errorf("the heap grew from %d KiB after the start to %d KiB after %d reloads; want growth of at most half of the %d KiB that all classes take", first>>10, last>>10, reloads, edition>>10)
	}
}
