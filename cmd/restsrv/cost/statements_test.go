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

// library is an application with books. Each book refers to an author and a shelf, which are
// objects of other classes. The definition of the class of books loads no references.
const library = `{
  "namespace": "lib",
  "classes": [
    {"name": "author", "properties": [{"name": "name", "type": "string"}]},
    {"name": "shelf", "properties": [{"name": "name", "type": "string"}, {"name": "books", "type": "collection", "itemsClass": "book", "backRef": "shelf"}]},
    {"name": "book", "properties": [{"name": "author", "type": "reference", "refClass": "author"}, {"name": "shelf", "type": "reference", "refClass": "shelf"}]},
    {"name": "labelled", "semantic": "author.name", "properties": [{"name": "author", "type": "reference", "refClass": "author"}]}
  ],
  "modules": {"rest": {"globals": {
    "di": {"crud": {"module": "builtin/crud"}, "acceptor": {"module": "builtin/acceptor", "options": {"dataRepo": "ion://dataRepo", "metaRepo": "ion://metaRepo"}}},
    "authMode": {"crud": "none", "acceptor": "none"}
  }}}
}`

// selects matches statements that read classes of the application. It does not match statements
// that read grants, because the server reads grants independently of requests.
var selects = regexp.MustCompile(`msg=statement .*?sql="?SELECT .*? FROM \\"[^#]`)

// TestStatementsOfLoading counts the statements in the log. There must be one for the list and one
// for each distinct path, for any number of rows.
func TestStatementsOfLoading(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) { statementsOfLoading(t, "") })
	t.Run("postgres", func(t *testing.T) { statementsOfLoading(t, pgtest.Database(t)) })
}

func statementsOfLoading(t *testing.T, db string) {
	c := apptest.NewOpenCase(t, db)
	defer c.StopServer()
	c.WriteFile("deploy.json", library)
	c.StartServer("-log", "debug")
	var records []string
	for i := range 100 {
		records = append(records,
			fmt.Sprintf(`{"_class":"author@lib","_id":"a%d","name":"Author %d"}`, i, i),
			fmt.Sprintf(`{"_class":"shelf@lib","_id":"s%d"}`, i/10),
			fmt.Sprintf(`{"_class":"book@lib","_id":"b%d","author":"a%d","shelf":"s%d"}`, i, i, i/10),
			fmt.Sprintf(`{"_class":"labelled@lib","_id":"l%d","author":"a%d"}`, i, i))
	}
	resp, err := http.Post("http://"+c.Addr+"/rest/acceptor", "application/json", strings.NewReader("["+strings.Join(records, ",")+"]"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("saving the records: got %s, want 200", resp.Status)
	}
	for path, want := range map[string]int{
		"book@lib?_count=100":                                                    1,
		"book@lib?_count=1&_eager=author|shelf":                                  3,
		"book@lib?_count=100&_eager=author|shelf":                                3,
		"book@lib?_count=100&_eager=author|author&_eager=shelf":                  3,
		"book@lib?_count=100&_eager=shelf.books.author":                          4,
		"book@lib?_count=100&_total=1":                                           1,
		"book@lib?_count=1&_total=1&_offset=1000":                                3, // the page is empty, so it is read again and counted
		"book@lib?_count=100&_eager=author&_total=1":                             2,
		"book@lib?_count=100&_eager=author|shelf&_sort=-author.name&shelf.name=": 1, // no object is found
		"labelled@lib?_count=100":                                                2, // the display string needs the author
		"labelled@lib?_count=100&_eager=author":                                  2,
		"book@lib/b1?_eager=author|shelf":                                        3,
	} {
		before := len(c.Output.String())
		resp, err := http.Get("http://" + c.Addr + "/rest/crud/" + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: got %s, want 200", path, resp.Status)
		}
		if got := len(selects.FindAllString(c.Output.String()[before:], -1)); got != want {
			t.Errorf("%s takes %d statements, want %d:\n%s", path, got, want, c.Output.String()[before:])
		}
	}
}
