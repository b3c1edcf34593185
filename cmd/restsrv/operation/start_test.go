package operation

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/engine/store/postgres/pgtest"
)

// manyTowns is an application with a data folder whose import takes a while. The towns refer to
// each other, and there are acl files and objects in deploy.json.
func manyTowns(t *testing.T, n int) string {
	t.Helper()
	files := map[string]string{
		"deploy.json": `{"namespace": "sample", "objects": [{"_class": "town", "id": "inline", "name": "Oslo"}],
			"modules": {"rest": {"globals": {"di": {"crud": {"module": "builtin/crud"}}}}}}`,
		"meta/town.class.json": `{"name": "town", "key": ["id"], "properties": [{"name": "id", "type": 12}, {"name": "name", "type": 0}, {"name": "next", "type": 13, "refClass": "town", "nullable": true}]}`,
		"acl/all.yml":          "users: [{id: demo, pwd: ion-demo, roles: [admin]}]\nroles: [{id: admin, permissions: {'*': [full]}}]\n",
	}
	for i := range n {
		files[fmt.Sprintf("data/town@sample@t%d.json", i)] = fmt.Sprintf(`{"id": "t%d", "name": "Town %d", "next": "t%d"}`, i, i, (i+1)%n)
	}
	dir := t.TempDir()
	for _, folder := range []string{"meta", "acl", "data"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		apptest.WriteFile(t, filepath.Join(dir, name), text)
	}
	return dir
}

// towns returns the number of towns on a server.
func towns(p *apptest.Process, t *testing.T) int64 {
	t.Helper()
	status, token := p.Get(t, "/rest/token", func(r *http.Request) { r.SetBasicAuth("demo@local", "ion-demo") })
	if status != http.StatusOK {
		t.Fatalf("GET /rest/token: got %d %s, want 200\n%s", status, token, p.Log())
	}
	_, body := p.Get(t, "/rest/crud/town@sample?_count=1000", func(r *http.Request) { r.SetBasicAuth("demo@local", "ion-demo") })
	var list []map[string]any
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatal(err, body)
	}
	return int64(len(list))
}

// TestFirstStartCutOff kills servers during their first start. No server may answer before the
// data are complete. A server that is not killed must complete the work of the killed servers.
func TestFirstStartCutOff(t *testing.T) {
	t.Parallel()
	const n = 900
	app := manyTowns(t, n)
	for name, db := range map[string]string{"sqlite": "sqlite:" + filepath.Join(t.TempDir(), "test.db"), "postgres": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if db == "" {
				db = pgtest.Database(t)
			}
			for attempt := range 2 {
				p := apptest.Launch(t, app, "-db", db)
				for !strings.Contains(p.Log(), "msg=importing") && !strings.Contains(p.Log(), "msg=listening") { // it listens if the server before completed the import
					select {
					case <-p.Done:
						t.Fatalf("the server ended:\n%s", p.Log())
					case <-time.After(time.Millisecond):
					}
				}
				time.Sleep(time.Duration(20+attempt*40) * time.Millisecond)
				p.Kill()
				there := strings.Count(apptest.MustRun(t, "export", "-config", filepath.Join(app, "deploy.json"), "-db", db), `"_class":"town@sample"`)
				t.Logf("killed when %d of %d objects were there", there, n+1)
				if strings.Contains(p.Log(), "msg=listening") && there != n+1 {
					t.Errorf("the server listens after import of %d objects, want %d", there, n+1)
				}
			}
			p := apptest.Start(t, app, "-db", db)
			if got := towns(p, t); got != n+1 {
				t.Errorf("%d towns, want %d\n%s", got, n+1, p.Log())
			}
			p.Kill()
		})
	}
}

// TestFirstStartTogether starts several servers on one new database. One of them must fill it while
// the others wait, and all must have the same data.
func TestFirstStartTogether(t *testing.T) {
	t.Parallel()
	const n = 300
	app, db := manyTowns(t, n), pgtest.Database(t)
	var servers []*apptest.Process
	for range 3 {
		servers = append(servers, apptest.Launch(t, app, "-db", db))
	}
	filled := 0
	for _, p := range servers {
		p.Await(t)
		if got := towns(p, t); got != n+1 {
			t.Errorf("%d towns, want %d\n%s", got, n+1, p.Log())
		}
		filled += strings.Count(p.Log(), `msg="objects taken" count=300`)
	}
	if filled != 1 {
		t.Errorf("got %d servers that filled the database, want one", filled)
	}
}
