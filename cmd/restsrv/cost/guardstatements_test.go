package cost

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/engine/store/postgres/pgtest"
)

// guardedLibrary is the application library with an owner for each book. A role gives the owner
// access to the book.
var guardedLibrary = strings.NewReplacer(
	`{"name": "book", "properties": [`, `{"name": "book", "properties": [{"name": "owner", "type": "string", "indexed": true}, {"name": "price", "type": "int", "nullable": true}, `,
	`"options": {"dataRepo": "ion://dataRepo", "metaRepo"`, `"options": {"dataRepo": "ion://securedDataRepo", "metaRepo"`,
	`"namespace": "lib",`, `"namespace": "lib", "globals": {"plugins": {"securedDataRepo": {"options": {"roleMap": {"book@lib": {"OWNER": {"attribute": "owner"}}}}}}},`,
	`"authMode": {"crud": "none", "acceptor": "none"}`, `"authMode": {}`,
).Replace(library)

// TestStatementsUnderGuard counts the SQL statements that permission checks add to a request. If
// the account has all permissions for a class, there must be no additional statement, even if
// attributes are hidden. Otherwise the number must not depend on the number of objects.
func TestStatementsUnderGuard(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) { statementsUnderGuard(t, "") })
	t.Run("postgres", func(t *testing.T) { statementsUnderGuard(t, pgtest.Database(t)) })
}

func statementsUnderGuard(t *testing.T, db string) {
	c := apptest.NewCase(t, db)
	defer c.StopServer()
	c.WriteFile("deploy.json", guardedLibrary)
	c.StartServer("-log", "debug")
	for _, name := range []string{"wide", "owner"} {
		if _, err := c.Run("restsrv user add "+name+"@local", "password of "+name+"\npassword of "+name+"\n"); err != nil {
			t.Fatal(err)
		}
		for _, class := range []string{"author", "shelf", "labelled"} {
			grant(c, name+"@local", "c:::"+class+"@lib", "full")
		}
	}
	grant(c, "wide@local", "c:::book@lib", "full")
	grant(c, "OWNER", "c:::book@lib", "full")
	grant(c, "nobody", "a:::book@lib.price", "full")

	books := func(account, from string, n int) string {
		var records []string
		for i := range n {
			records = append(records, fmt.Sprintf(`{"_class":"book@lib","_id":"%s%d","owner":"%s@local","author":"a%d","shelf":"s%d"}`, from, i, account, i, i%10))
		}
		return "[" + strings.Join(records, ",") + "]"
	}
	var others []string
	for i := range 100 {
		others = append(others, fmt.Sprintf(`{"_class":"author@lib","_id":"a%d","name":"A"}`, i), fmt.Sprintf(`{"_class":"shelf@lib","_id":"s%d"}`, i%10))
	}
	costs(c, "admin", "POST", "acceptor", "["+strings.Join(others, ",")+"]")
	cost := map[string][]int{}
	for _, account := range []string{"admin", "wide", "owner"} {
		costs(c, account, "GET", "crud/book@lib", "") // after this request the server knows the permissions
		for _, n := range []int{10, 100} {
			from := fmt.Sprint(account, n, "x")
			insert := costs(c, account, "POST", "acceptor", books(account, from, n))
			update := costs(c, account, "POST", "acceptor", books(account, from, n))
			cost[account] = append(cost[account], insert, update)
		}
		cost[account] = append(cost[account],
			costs(c, account, "POST", "crud/book@lib", fmt.Sprintf(`{"owner":"%s@local","author":"a1"}`, account)),
			costs(c, account, "PATCH", "crud/book@lib/"+account+"10x1", `{"author":"a2"}`),
			costs(c, account, "GET", "crud/book@lib/"+account+"10x1", ""), costs(c, account, "GET", "crud/book@lib/"+account+"10x1?_eager=author|shelf", ""),
			costs(c, account, "GET", "crud/book@lib?_count=1", ""), costs(c, account, "GET", "crud/book@lib?_count=100&_total=1", ""),
			costs(c, account, "GET", "crud/book@lib?_count=1&_eager=author|shelf", ""), costs(c, account, "GET", "crud/book@lib?_count=100&_eager=author|shelf", ""))
	}
	free, wide, owner := cost["admin"], cost["wide"], cost["owner"]
	if fmt.Sprint(free) != fmt.Sprint(wide) {
		t.Errorf("statements: got %v for the administrator and %v for an account with all rights on the class, want the same", free, wide)
	}
	if fmt.Sprint(free[6:]) != "[1 3 1 1 3 3]" || fmt.Sprint(owner[6:]) != fmt.Sprint(free[6:]) {
		t.Errorf("statements to read: got %v, and %v by a role, want [1 3 1 1 3 3] for both", free[6:], owner[6:])
	}
	for i := range 2 {
		few, many := owner[i]-free[i], owner[i+2]-free[i+2]
		if few <= 0 || many > few {
			t.Errorf("a role adds %d statements to a save of 10 and %d to one of 100, want the same number", few, many)
		}
	}
	if created, changed := owner[4]-free[4], owner[5]-free[5]; created > 2 || changed > 3 {
		t.Errorf("a role adds %d statements to the creation and %d to the change of an object, want at most 2 and 3", created, changed)
	}
}

func grant(c *apptest.Case, subject, resource, permission string) {
	c.Helper()
	if out, err := c.Run("restsrv acl grant "+subject+" "+resource+" "+permission, ""); err != nil {
		c.Fatal(err, out)
	}
}

// costs sends a request and returns the number of statements on objects that it needs.
func costs(c *apptest.Case, account, method, path, body string) (statements int) {
	c.Helper()
	req, err := http.NewRequestWithContext(c.Context(), method, "http://"+c.Addr+"/rest/"+path, strings.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	password := "password of " + account
	if account == "admin" {
		password = "secret"
	}
	req.SetBasicAuth(account+"@local", password)
	before := len(c.Output.String())
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.Fatal(err)
	}
	defer resp.Body.Close()
	if answer, _ := io.ReadAll(resp.Body); resp.StatusCode/100 != 2 {
		c.Errorf("%s %s by %s: got %s, want success: %s", method, path, account, resp.Status, answer)
	}
	for line := range strings.Lines(c.Output.String()[before:]) {
		if strings.Contains(line, "msg=statement") && strings.Contains(line, `@lib`) {
			statements++
		}
	}
	return statements
}
