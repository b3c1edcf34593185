package applications

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/engine/server"
	"restsrv/engine/store/postgres/pgtest"
)

// TestRealApplication imports an application into both databases. It must import everything, and a
// second import must change nothing. The server must list every class and return every object, with
// equal answers on both databases.
func TestRealApplication(t *testing.T) {
	t.Parallel()
	apptest.EachApplication(t, importTwice)
}

func importTwice(t *testing.T, kind *apptest.Application) {
	app := kind.Original(t)
	objects, err := filepath.Glob(filepath.Join(app, "data", "*.json"))
	if err != nil || len(objects) == 0 {
		t.Fatal("no data", err)
	}
	started := time.Now()
	databases := []string{"sqlite:" + filepath.Join(t.TempDir(), "test.db"), pgtest.Database(t)}
	var walks []map[string]string
	for _, db := range databases {
		out, warnings, err := apptest.RunCommand(t, "import", "-db", db, app)
		if err != nil || !strings.Contains(out, fmt.Sprintf("%8d  objects of ", len(objects))) || !strings.Contains(out, kind.Accounts) {
			t.Fatalf("import: got %v, want all objects and accounts:\n%s", err, out)
		}
		if n := strings.Count(warnings, "describes again"); n != kind.Duplicates {
			t.Errorf("%d class files are named as duplicates, want %d", n, kind.Duplicates)
		}
		out = apptest.MustRun(t, "import", "-db", db, app)
		if want := fmt.Sprintf("taken, %d of them were there as they are\n", len(objects)); !strings.Contains(out, want) {
			t.Errorf("the second import: want no changed objects, got\n%s", out)
		}
		walks = append(walks, walk(t, app, db, started))
	}
	if len(walks[0]) < len(objects) {
		t.Errorf("got %d responses, want at least %d", len(walks[0]), len(objects))
	}
	for path, body := range walks[0] {
		if other := walks[1][path]; other != body {
			t.Errorf("%s: the responses of the databases differ\nSQLite     %.3000s\nPostgreSQL %.3000s", path, body, other)
		}
	}
	if len(walks[0]) != len(walks[1]) {
		t.Errorf("got %d responses on SQLite and %d on PostgreSQL, want the same number", len(walks[0]), len(walks[1]))
	}
}

// walk requests the list of every class and each object in it.
func walk(t *testing.T, app, db string, started time.Time) map[string]string {
	t.Helper()
	a, err := server.LoadApplication(filepath.Join(app, "deploy.json"), false)
	if err != nil {
		t.Fatal(err)
	}
	p := apptest.Start(t, app, "-db", db)
	defer p.Kill()
	token := demoToken(p, t)
	answers := map[string]string{}
	get := func(path string) string {
		status, body := p.Get(t, path, func(r *http.Request) { r.Header.Set("auth-token", token) })
		if status != http.StatusOK {
			t.Errorf("GET %s: got %d %s, want 200", path, status, body)
		}
		answers[path] = withoutNow(body, started)
		return body
	}
	for _, c := range a.Meta.Classes() {
		var list []struct {
			ID string `json:"_id"`
		}
		path := "/rest/crud/" + url.PathEscape(c.FullName)
		if body := get(path + "?_count=1000"); json.Unmarshal([]byte(body), &list) != nil {
			t.Errorf("GET %s: got %s, want a list", path, body)
		}
		for _, it := range list {
			get(path + "/" + url.PathEscape(it.ID))
		}
	}
	return answers
}

var instants = regexp.MustCompile(`"\d{4}-\d\d-\d\dT[\d:.]+Z"`)

// withoutNow replaces the times of the import and times that are computed when objects are read.
func withoutNow(body string, since time.Time) string {
	return instants.ReplaceAllStringFunc(body, func(s string) string {
		at, err := time.Parse(time.RFC3339, strings.Trim(s, `"`))
		if err == nil && !at.Before(since.Truncate(24*time.Hour)) {
			return `"now"`
		}
		return s
	})
}

// demoToken signs in with an account of the application and returns a token.
func demoToken(p *apptest.Process, t *testing.T) string {
	t.Helper()
	status, token := p.Get(t, "/rest/token", func(r *http.Request) { r.SetBasicAuth("demo@local", "ion-demo") })
	if status != http.StatusOK {
		t.Fatalf("GET /rest/token: got %d %s, want 200\n%s", status, token, p.Log())
	}
	return token
}

// TestRealApplicationMoves copies the application from each database to the other, with an export
// and with restsrv migrate. The exports must be equal byte by byte.
func TestRealApplicationMoves(t *testing.T) {
	t.Parallel()
	apptest.EachApplication(t, moveBetweenDatabases)
}

func moveBetweenDatabases(t *testing.T, kind *apptest.Application) {
	app := kind.Original(t)
	config := filepath.Join(app, "deploy.json")
	dir := t.TempDir()
	fresh := func(kind string) string {
		if kind == "sqlite" {
			return "sqlite:" + filepath.Join(t.TempDir(), "test.db")
		}
		return pgtest.Database(t)
	}
	for from, to := range map[string]string{"sqlite": "postgres", "postgres": "sqlite"} {
		source, restored, migrated := fresh(from), fresh(to), fresh(to)
		apptest.MustRun(t, "import", "-db", source, app)
		file := filepath.Join(dir, from+".ndjson")
		apptest.MustRun(t, "export", "-config", config, "-db", source, "-o", file)
		apptest.MustRun(t, "import", "-config", config, "-db", restored, file)
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := apptest.MustRun(t, "export", "-config", config, "-db", restored); got != string(want) || len(want) < kind.ExportBytes {
			t.Errorf("from %s to %s: exported again it is not the same, %d and %d bytes", from, to, len(want), len(got))
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("export: got mode %v, %v, want 0600", info.Mode(), err)
		}
		out := apptest.MustRun(t, "migrate", "-config", config, "-from", source, "-to", migrated)
		if !strings.HasSuffix(out, "both databases are the same\n") || !strings.Contains(out, "  "+kind.Class+"\n") {
			t.Errorf("migrate from %s to %s: want equal databases, got\n%s", from, to, out)
		}
		if got := apptest.MustRun(t, "export", "-config", config, "-db", migrated); got != string(want) {
			t.Errorf("from %s to %s: what was migrated is not the same, %d and %d bytes", from, to, len(want), len(got))
		}
	}
}
