package security

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/engine/store/postgres/pgtest"
)

const awayApplication = `{"namespace": "s",
 "globals": {"plugins": {"oauth": {"module": "builtin/oauth", "options": {"clients": [{"id": "app", "public": true, "redirectUris": ["http://127.0.0.1/cb"]}]}}}},
 "classes": [{"name": "note", "key": ["id"], "properties": [{"name": "id", "type": "guid", "autoassigned": true}, {"name": "title", "type": "string"}, {"name": "scan", "type": "file"}]}],
 "objects": [{"_class": "note@s", "id": "n1", "title": "Tea"}],
 "modules": {"rest": {"globals": {"di": {
   "open": {"module": "builtin/crud"}, "pwd": {"module": "builtin/crud"}, "mine": {"module": "builtin/crud"}, "bearer": {"module": "builtin/crud"}, "script": {"module": "script.js"},
   "acceptor": {"module": "builtin/acceptor", "options": {"dataRepo": "ion://securedDataRepo", "metaRepo": "ion://metaRepo"}},
   "api": {"module": "builtin/gateway", "options": {"base": "/api", "clientId": "admin@local", "clientSecret": "secret", "tokenPath": "/rest/token",
     "definition": {"paths": {"/rest/mine/{class}/{id}": {"get": {}}}}}}},
   "authMode": {"open": "none", "mine": "token", "bearer": "oauth", "acceptor": "none", "script": "none"}}}}}`

const awayScript = `module.exports = {
  'GET /': () => dataRepo.getCount('note@s'),
  'POST /': async () => { await dataRepo.createItem('note@s', {title: 'one'}); },
  'POST /whole': () => dataRepo.transaction(async (tx) => { await tx.createItem('note@s', {title: 'two'}); }),
};`

// awayRequests contains a request of each kind that needs the database. A name in braces stands for
// a credential or a file.
var awayRequests = []struct{ request, body, header string }{
	{"GET /rest/open/note@s/n1", "", ""},
	{"GET /rest/open/note@s?title=Tea&_total=1", "", ""},
	{"POST /rest/open/note@s", `{"title":"new"}`, ""},
	{"PATCH /rest/open/note@s/n1", `{"title":"Tea"}`, ""},
	{"POST /rest/open/note@s", `{"title":"new","scan":"ZmlsZQ=="}`, ""},
	{"POST /rest/acceptor", `[{"_class":"note@s","title":"new"}]`, ""},
	{"GET /rest/pwd/note@s/n1", "", "Authorization: {basic}"},
	{"GET /rest/mine/note@s/n1", "", "auth-token: {token}"},
	{"GET /rest/bearer/note@s/n1", "", "Authorization: Bearer {bearer}"},
	{"GET /api/rest/mine/note@s/n1", "", "Cookie: {session}"},
	{"GET /files/{file}", "", "auth-token: {token}"},
	{"GET /rest/token", "", "Authorization: {basic}"},
	{"POST /auth", "username=admin&password=secret", "Accept: application/json"},
	{"GET /oauth2/grant?client_id=app&response_type=code&redirect_uri=http%3A%2F%2F127.0.0.1%2Fcb&code_challenge=0123456789012345678901234567890123456789012&code_challenge_method=S256", "", "Cookie: {session}"},
	{"POST /oauth2/token", "{exchange}", ""},
	{"GET /rest/script", "", ""},
	{"POST /rest/script", "", ""},
	{"POST /rest/script/whole", "", ""},
}

// TestDatabaseAway stops PostgreSQL while a server runs: with its command and with a kill, before
// and after the first authentication. Requests that need the database must get 503 with
// Retry-After at once, and must succeed as soon as the database is back.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	database := pgtest.NewServer(t)
	c := apptest.NewOpenCase(t, database.URL)
	c.WriteFile("deploy.json", awayApplication)
	c.WriteFile("script.js", awayScript)
	t.Cleanup(c.StopServer)
	c.StartServer()
	marks := proofs(c)
	c.StopServer() // the next server has empty caches
	c.StartServer()
	for i, end := range []func(){database.Kill, database.Stop, database.Kill} {
		end()
		expectReady(c, 503, "the database is not available")
		everyKind(c, marks, func(what string, resp *http.Response, body string) {
			if resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" {
				t.Errorf("outage %d of the database: %s: got %d with Retry-After %q, want 503 with the header: %.200s", i, what, resp.StatusCode, resp.Header.Get("Retry-After"), body)
			}
		})
		if err := database.Start(); err != nil {
			t.Fatal(err)
		}
		everyKind(c, marks, func(what string, resp *http.Response, body string) {
			if resp.StatusCode != 200 && !(strings.Contains(what, "/oauth2/token") && resp.StatusCode == 400) { // the code was used
				t.Errorf("after outage %d of the database: %s: got %d, want 200: %.200s", i, what, resp.StatusCode, body)
			}
		})
		expectReady(c, 200, "ok")
	}
}

// proofs requests one credential of each kind, for use in awayRequests.
func proofs(c *apptest.Case) *strings.Replacer {
	basic := apptest.BasicAuth("admin@local")
	_, token := c.Ask("GET", "/rest/token", "", "Authorization", basic)
	signed, _ := c.Ask("POST", "/auth", "username=admin&password=secret")
	_, tokens := c.Ask("POST", "/oauth2/token", takeCode(c).Encode())
	c.Ask("PATCH", "/rest/open/note@s/n1", `{"scan":{"name":"a.txt","body":"ZmlsZQ=="}}`)
	_, note := c.Ask("GET", "/rest/open/note@s/n1", "")
	_, file, _ := strings.Cut(note, `"link":"/files/`)
	file, _, _ = strings.Cut(file, `"`)
	cookie := signed.Cookies()[0]
	return strings.NewReplacer("{basic}", basic, "{token}", token, "{session}", cookie.Name+"="+cookie.Value,
		"{bearer}", member(c.T, tokens, "access_token"), "{file}", file, "{exchange}", takeCode(c).Encode())
}

// everyKind sends one request of each kind. Each must be answered quickly.
func everyKind(c *apptest.Case, marks *strings.Replacer, judge func(what string, resp *http.Response, body string)) {
	c.Helper()
	for _, r := range awayRequests {
		method, target, _ := strings.Cut(marks.Replace(r.request), " ")
		name, value, _ := strings.Cut(cmp.Or(marks.Replace(r.header), "Accept: */*"), ": ")
		begin := time.Now()
		resp, body := c.Ask(method, target, marks.Replace(r.body), name, value)
		what := fmt.Sprintf("%s %s %.20s", method, target, name+" "+value)
		judge(what, resp, body)
		if took := time.Since(begin); took > 2*time.Second {
			c.Errorf("%s took %v, want at most 2s", what, took)
		}
	}
}

// expectReady waits until /readyz answers with the status and the text.
func expectReady(c *apptest.Case, status int, text string) {
	c.Helper()
	c.Wait(fmt.Sprintf("/readyz answers %d", status), func() error {
		resp, body := c.Ask("GET", "/readyz", "")
		if resp.StatusCode != status || !strings.Contains(body, text) {
			return fmt.Errorf("it answers %d %s", resp.StatusCode, body)
		}
		if again := resp.Header.Get("Retry-After"); (again == "2") != (status == 503) {
			return fmt.Errorf("it answers %d with Retry-After %q", status, again)
		}
		return nil
	})
	if resp, _ := c.Ask("GET", "/livez", ""); resp.StatusCode != 200 {
		c.Errorf("/livez: got %d, want 200", resp.StatusCode)
	}
}
