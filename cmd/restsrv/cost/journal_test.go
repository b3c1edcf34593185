package cost

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/engine/store/postgres/pgtest"
)

// diaries is an application with two equal classes. Only one of them has a journal.
var diaries = func() string {
	class := `{"name": %q, "journaling": %t, "key": ["id"], "properties": [{"name": "id", "type": "string"}, {"name": "title", "type": "string"},
	  {"name": "rank", "type": "int"}]}`
	return `{"namespace": "d", "classes": [` + fmt.Sprintf(class, "told", true) + "," + fmt.Sprintf(class, "quiet", false) + `],
	"modules": {"rest": {"globals": {
	  "di": {"crud": {"module": "builtin/crud"}, "work": {"module": "work.js"}, "acceptor": {"module": "builtin/acceptor", "options": {"dataRepo": "ion://dataRepo", "metaRepo": "ion://metaRepo"}}},
	  "authMode": {"crud": "none", "acceptor": "none", "work": "none"}}}}}`
}()

const diaryWork = `module.exports = {
  'POST /edit/:class': (req) => dataRepo.bulkEdit(req.params.class, req.body),
  'POST /delete/:class': (req) => dataRepo.bulkDelete(req.params.class, {}),
};`

// onDiaries matches statements on the classes and on the journal.
var onDiaries = regexp.MustCompile(`msg=statement sql=.*(?:told@d|quiet@d|#change).*`)

// TestStatementsOfJournal counts the statements of requests for a class with a journal and for a
// class without a journal. The class without a journal needs no additional statements. For the
// class with a journal, the number of additional statements must not depend on the number of
// objects.
func TestStatementsOfJournal(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) { statementsOfJournal(t, "") })
	t.Run("postgres", func(t *testing.T) { statementsOfJournal(t, pgtest.Database(t)) })
}

func statementsOfJournal(t *testing.T, db string) {
	c := apptest.NewOpenCase(t, db)
	defer c.StopServer()
	c.WriteFile("deploy.json", diaries)
	c.WriteFile("work.js", diaryWork)
	c.StartServer("-log", "debug")
	// do sends a request and returns its statements.
	do := func(method, path, body string) []string {
		t.Helper()
		before := len(c.Output.String())
		r, err := http.NewRequest(method, "http://"+c.Addr+"/rest/"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("%s %s: got %s, want 200", method, path, resp.Status)
		}
		return onDiaries.FindAllString(c.Output.String()[before:], -1)
	}
	many := func(class string, n int, rest string) string {
		var records []string
		for i := range n {
			records = append(records, fmt.Sprintf(`{"_class":"%s@d","_id":"r%d"%s}`, class, i, rest))
		}
		return "[" + strings.Join(records, ",") + "]"
	}
	type step struct {
		name         string
		quiet, told  int // number of statements
		method, path string
		body         func(class string) string
	}
	all := func(steps []step) {
		for _, step := range steps {
			for class, want := range map[string]int{"quiet": step.quiet, "told": step.told} {
				got := do(step.method, strings.ReplaceAll(step.path, "%s", class), step.body(class))
				if len(got) != want {
					t.Errorf("%s, class %s: %d statements, want %d\n%s", step.name, class, len(got), want, strings.Join(got, "\n"))
				}
			}
		}
	}
	same := func(body string) func(string) string { return func(string) string { return body } }
	for _, n := range []int{16, 256} {
		records := func(rest string) func(string) string {
			return func(class string) string { return many(class, n, rest) }
		}
		all([]step{
			{"new records", 1, 3, "POST", "acceptor", records(`,"title":"t"`)},
			{"changed records", 1, 4, "POST", "acceptor", records(`,"title":"u"`)},
			{"records as they are", 1, 3, "POST", "acceptor", records(`,"title":"u"`)},
			{"all that a filter finds", 1, 4, "POST", "work/edit/%s", same(`{"rank":1}`)},
			{"all deleted", 1, 3, "POST", "work/delete/%s", same("")},
		})
	}
	all([]step{
		{"create", 1, 2, "POST", "crud/%s@d", same(`{"id":"x"}`)},
		{"update", 1, 3, "PATCH", "crud/%s@d/x", same(`{"title":"a"}`)},
		{"update of nothing", 1, 2, "PATCH", "crud/%s@d/x", same(`{"title":"a"}`)},
		{"delete", 1, 3, "DELETE", "crud/%s@d/x", same("")},
	})
}
