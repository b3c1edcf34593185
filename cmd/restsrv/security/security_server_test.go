package security

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/engine/store/postgres/pgtest"
)

// onServers runs a test with a server of an application on SQLite and on PostgreSQL.
func onServers(t *testing.T, files map[string]string, test func(t *testing.T, c *apptest.Case)) {
	t.Parallel()
	for _, name := range []string{"sqlite", "postgres"} {
		t.Run(name, func(t *testing.T) {
			c := apptest.NewOpenCase(t, "")
			if name == "postgres" {
				c.DB = pgtest.Database(t)
			}
			for name, text := range files {
				c.WriteFile(name, text)
			}
			t.Cleanup(c.StopServer)
			c.StartServer()
			test(t, c)
		})
	}
}

const onceApplication = `{"namespace": "s",
 "globals": {"plugins": {"oauth": {"module": "builtin/oauth", "options": {"clients": [{"id": "app", "public": true, "redirectUris": ["http://127.0.0.1/cb"]}]}}}},
 "classes": [{"name": "note", "key": ["id"], "properties": [{"name": "id", "type": "guid", "autoassigned": true}, {"name": "title", "type": "string"}]}],
 "modules": {"rest": {"globals": {"di": {"crud": {"module": "builtin/crud"}, "who": {"module": "builtin/echo"},
   "acceptor": {"module": "builtin/acceptor", "options": {"dataRepo": "ion://securedDataRepo", "metaRepo": "ion://metaRepo"}}},
   "authMode": {"crud": "none", "acceptor": "none", "who": "oauth"}}}}}`

// atOnce calls a function a hundred times concurrently. It returns the answers with the given
// status, and the number of other answers by status.
func atOnce(do func() (*http.Response, string), status int) (answers []string, others map[int]int) {
	var mu sync.Mutex
	var all sync.WaitGroup
	begin := make(chan struct{})
	others = map[int]int{}
	for range 100 {
		all.Go(func() {
			<-begin
			resp, text := do()
			mu.Lock()
			defer mu.Unlock()
			if resp.StatusCode == status {
				answers = append(answers, text)
			} else {
				others[resp.StatusCode]++
			}
		})
	}
	close(begin)
	all.Wait()
	return answers, others
}

// TestCredentialsAreUsedOnce uses one code, one refresh token and one idempotency key a hundred
// times at the same time, on separate connections. Only one use may succeed.
func TestCredentialsAreUsedOnce(t *testing.T) {
	onServers(t, map[string]string{"deploy.json": onceApplication}, func(t *testing.T, c *apptest.Case) {
		code := takeCode(c)
		won, others := atOnce(func() (*http.Response, string) { return c.Ask("POST", "/oauth2/token", code.Encode()) }, 200)
		if len(won) != 1 || others[400]+others[429] != 99 { // further guesses are rejected with Retry-After
			t.Fatalf("100 uses of a code: got %d successes and the other statuses %v, want one success", len(won), others)
		}
		if resp, _ := c.Ask("POST", "/rest/who", "", "Authorization", "Bearer "+member(t, won[0], "access_token")); resp.StatusCode != 401 {
			t.Errorf("token from a code that was used twice: got %d, want 401", resp.StatusCode)
		}
		_, text := c.Ask("POST", "/oauth2/token", takeCode(c).Encode())
		refresh := url.Values{"grant_type": {"refresh_token"}, "client_id": {"app"}, "refresh_token": {member(t, text, "refresh_token")}}
		won, others = atOnce(func() (*http.Response, string) { return c.Ask("POST", "/oauth2/token", refresh.Encode()) }, 200)
		if len(won) != 1 || others[400]+others[429] != 99 {
			t.Fatalf("100 uses of a refresh token: got %d successes and the other statuses %v, want one success", len(won), others)
		}
		if resp, _ := c.Ask("POST", "/rest/who", "", "Authorization", "Bearer "+member(t, won[0], "access_token")); resp.StatusCode != 401 {
			t.Errorf("token from a refresh token that was used twice: got %d, want 401", resp.StatusCode)
		}
		fresh := 0
		var mu sync.Mutex
		same, others := atOnce(func() (*http.Response, string) {
			resp, text := c.Ask("POST", "/rest/acceptor", `[{"_class":"note@s","title":"once"}]`, "Idempotency-Key", "k")
			if resp.StatusCode == 200 && resp.Header.Get("Idempotency-Replayed") == "" {
				mu.Lock()
				defer mu.Unlock()
				fresh++
			}
			return resp, text
		}, 200)
		slices.Sort(same)
		if len(same) == 0 || len(slices.Compact(same)) != 1 || fresh != 1 || len(others) > 1 || len(others) == 1 && others[409] == 0 {
			t.Errorf("100 equal requests: got %d new responses, %d different ones and the other statuses %v, want one new response", fresh, len(slices.Compact(same)), others)
		}
		resp, _ := c.Ask("GET", "/rest/crud/note@s?_total=1", "")
		if n := resp.Header.Get("X-Total-Count"); n != "1" {
			t.Errorf("got %s objects, want 1", n)
		}
	})
}

func member(t *testing.T, text, name string) string {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatalf("got %s, %v, want JSON", text, err)
	}
	value, _ := all[name].(string)
	return value
}

// takeCode returns the form that exchanges an authorization code of the public client app.
func takeCode(c *apptest.Case) url.Values {
	c.Helper()
	const verifier = "0123456789012345678901234567890123456789012"
	digest := sha256.Sum256([]byte(verifier))
	resp, _ := c.Ask("POST", "/auth", "username=admin&password=secret")
	query := url.Values{"client_id": {"app"}, "response_type": {"code"}, "redirect_uri": {"http://127.0.0.1/cb"}, "code_challenge_method": {"S256"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(digest[:])}}
	resp, text := c.Ask("POST", "/oauth2/grant?"+query.Encode(), "", "Cookie", resp.Cookies()[0].Name+"="+resp.Cookies()[0].Value)
	to, err := resp.Location()
	if err != nil {
		c.Fatalf("grant: got %s %s, want a redirect", resp.Status, text)
	}
	return url.Values{"grant_type": {"authorization_code"}, "client_id": {"app"}, "redirect_uri": {"http://127.0.0.1/cb"}, "code_verifier": {verifier}, "code": {to.Query().Get("code")}}
}

const hostileApplication = `{"namespace": "s",
 "classes": [
   {"name": "note", "key": ["id"], "properties": [{"name": "id", "type": "string"}, {"name": "title", "type": "string", "indexSearch": true}, {"name": "n", "type": "int"}, {"name": "up", "type": "reference", "refClass": "note"},
     {"name": "down", "type": "collection", "itemsClass": "note", "backRef": "up"}, {"name": "likes", "type": "collection", "itemsClass": "note"}, {"name": "scan", "type": "file"}]},
   {"name": "canary", "key": ["id"], "properties": [{"name": "id", "type": "string"}, {"name": "song", "type": "string"}]}],
 "objects": [{"_class": "note@s", "id": "n1", "title": "one", "n": 1}, {"_class": "canary@s", "id": "c", "song": "tweet"}],
 "modules": {"rest": {"globals": {"di": {"crud": {"module": "builtin/crud"}, "probe": {"module": "probe.js", "options": {"repo": "ion://securedDataRepo"}}, "strings": {"module": "string-list.js", "options": {"className": "note@s", "dataRepo": "ion://securedDataRepo"}},
   "acceptor": {"module": "builtin/acceptor", "options": {"dataRepo": "ion://securedDataRepo", "metaRepo": "ion://metaRepo"}}},
   "authMode": {"crud": "none", "acceptor": "none", "probe": "none", "strings": "none"}}}}}`

// hostileTexts are names that would have a special meaning if the server inserted them into a
// statement, a path or a format.
var hostileTexts = []string{`'`, `"`, "`", `\`, `;`, `--`, `/*`, `*/`, `$1`, `?`, `%s`, `%`, `_`, `:a`, `@a`, `title'`, `title"`, `title";DROP TABLE "canary@s";--`, `title' OR '1'='1`, `title" IS NOT NULL OR "title`, `title)`, `title) OR (1=1`,
	`title/**/OR/**/1=1`, `title->>'a'`, `title::text`, `title COLLATE "C"`, `(SELECT song FROM canary)`, `n1' UNION SELECT * FROM canary--`, `n||song`, `up.title"`, `up"."title`, `up.`, `.`, `..`, `up..title`, `$`, `$$`, `$$now`, `$title`, `title$`, `title$x`, `__proto__`,
	`constructor`, `rowid`, `oid`, `ctid`, `xmin`, `sqlite_master`, `pg_catalog.pg_user`, `information_schema.tables`, "title\x00", "ti\ttle", "title\r\nX: y", "ｔitle", "tıtle", "TITLE", "\u202etitle", "😀", `{{.}}`, `${7*7}`, `<script>`, `../../etc/passwd`, `%27`, `%00`, `#account`, `#token`,
	`{"$gt":""}`, `[0]`, `title[0]`, `title[$ne]`, `1e999`, `-1`, `9223372036854775808`, `canary@s`, `note@s;canary@s`, `note@s" JOIN "canary`, strings.Repeat("a", 3000), strings.Repeat("a.", 300) + "b", strings.Repeat("'", 500)}

// hostilePlaces are all requests that contain a name. The name is written as T, in JSON as J, and
// in a URL as U.
var hostilePlaces = [][3]string{
	{"GET", "/rest/crud/U", ""}, {"GET", "/rest/crud/note@U", ""}, {"GET", "/rest/crud/note@s/U", ""}, {"PATCH", "/rest/crud/note@s/U", `{"n":1}`}, {"DELETE", "/rest/crud/canary@s/U", ""}, {"PUT", "/rest/crud/U/n1", `{"n":1}`},
	{"GET", "/rest/crud/note@s?U=1", ""}, {"GET", "/rest/crud/note@s?title=U", ""}, {"GET", "/rest/crud/note@s?up.U=1", ""}, {"GET", "/rest/crud/note@s?_U=1", ""}, {"GET", "/rest/crud/note@s?_sort=U", ""}, {"GET", "/rest/crud/note@s?_sort=-n,U", ""}, {"GET", "/rest/crud/note@s?_sort=up.U", ""},
	{"GET", "/rest/crud/note@s?_fields=U", ""}, {"GET", "/rest/crud/note@s?_eager=U", ""}, {"GET", "/rest/crud/note@s?_eager=down.U", ""}, {"GET", "/rest/crud/note@s?_after=U", ""}, {"GET", "/rest/crud/note@s?_search=U", ""}, {"GET", "/rest/crud/note@s?_filter=U", ""}, {"GET", "/rest/crud/note@s?_count=U", ""},
	{"SEARCH", "/rest/crud/note@s", `{"filter":{J:1}}`}, {"SEARCH", "/rest/crud/note@s", `{"filter":{J:["$title",1]}}`}, {"SEARCH", "/rest/crud/note@s", `{"filter":{"eq":[J,"x"]}}`}, {"SEARCH", "/rest/crud/note@s", `{"filter":{"eq":["$T",1]}}`}, {"SEARCH", "/rest/crud/note@s", `{"filter":{"title":{J:1}}}`},
	{"SEARCH", "/rest/crud/note@s", `{"filter":{"title":{"$regex":J}}}`}, {"SEARCH", "/rest/crud/note@s", `{"filter":{"like":["$title",J]}}`}, {"SEARCH", "/rest/crud/note@s", `{"filter":{"in":["$title",[J,"b"]]}}`}, {"SEARCH", "/rest/crud/note@s", `{"filter":{"contains":["$down",{J:1}]}}`},
	{"SEARCH", "/rest/crud/note@s", `{"filter":{"eq":[{J:["$title"]},1]}}`}, {"SEARCH", "/rest/crud/note@s", `{"filter":{"eq":[{"format":["$n",J]},1]}}`}, {"SEARCH", "/rest/crud/note@s", `{"filter":{"gt":[{"dateAdd":[{"now":[]},1,J]},{"now":[]}]}}`}, {"SEARCH", "/rest/crud/note@s", `{"filter":{"match":[J]}}`},
	{"SEARCH", "/rest/crud/note@s", `{"filter":[{"property":J,"operation":0,"value":["x"]}]}`}, {"SEARCH", "/rest/crud/note@s", `{"sort":{J:1}}`}, {"SEARCH", "/rest/crud/note@s", `{"sort":[{"property":J,"mode":1}]}`}, {"SEARCH", "/rest/crud/note@s", `{"sort":{"n":J}}`}, {"SEARCH", "/rest/crud/note@s", `{"forceEnrichment":[[J]]}`},
	{"SEARCH", "/rest/crud/note@s", `{J:1}`}, {"PATCH", "/rest/crud/note@s/n1", `{J:1}`}, {"PATCH", "/rest/crud/note@s/n1", `{"up.T":1}`}, {"PATCH", "/rest/crud/note@s/n1", `{"down":{J:["n1"]}}`}, {"PATCH", "/rest/crud/note@s/n1", `{"down":{"remove":[J]}}`}, {"PATCH", "/rest/crud/note@s/n1", `{"scan":{"id":J}}`},
	{"PATCH", "/rest/crud/note@s/n1", `{"scan":{J:"eA=="}}`}, {"PATCH", "/rest/crud/note@s/n1", `{"n":J}`}, {"POST", "/rest/acceptor", `[{"_class":J,"_id":"x"}]`}, {"POST", "/rest/acceptor", `[{"_class":"note@s","_id":"n1",J:1}]`}, {"POST", "/rest/acceptor", `[{"_class":"note@s","_id":"n2","_classVer":J}]`},
	{"POST", "/rest/strings", `{J:"x"}`}, {"POST", "/rest/probe", `{"call":["getList",J]}`}, {"POST", "/rest/probe", `{"call":["getItem","note@s",J]}`}, {"POST", "/rest/probe", `{"call":["aggregate","note@s",{"fields":{J:"$title"},"aggregates":{"n":{"count":[]}}}]}`},
	{"POST", "/rest/probe", `{"call":["aggregate","note@s",{"fields":{"a":"$title"},"aggregates":{J:{"max":["$n"]}},"sort":{J:1}}]}`}, {"POST", "/rest/probe", `{"call":["aggregate","note@s",{"aggregates":{"n":{J:["$n"]}}}]}`}, {"POST", "/rest/probe", `{"call":["aggregate","note@s",{"aggregates":{"n":{"sum":["$T"]}}}]}`},
	{"POST", "/rest/probe", `{"call":["bulkEdit","note@s",{J:1}]}`}, {"POST", "/rest/probe", `{"call":["bulkDelete","canary@s",{"filter":{"id":J}}]}`}, {"POST", "/rest/probe", `{"call":["getAssociationsList",{"item":["note@s","n1"]},J]}`}, {"POST", "/rest/probe", `{"call":["meta",J,J]}`}, {"POST", "/rest/probe", `{"call":["read",{"item":["note@s","n1"]},J]}`},
	{"GET", "/files/U", ""}, {"DELETE", "/rest/token/U", ""}, {"POST", "/rest/token", `{"name":J}`}, {"GET", "/rest/U", ""}, {"POST", "/oauth2/token", `grant_type=U&code=U&client_id=U`},
}

// sqlText matches words of a database, which an answer must not contain.
var sqlText = regexp.MustCompile(`(?i)sql:|sqlite|sqlstate|\bpq:|pgx|syntax error|no such (column|table)|near "|SELECT .* FROM "|relation "|tweet`)

// TestHostileNames sends hostile names, and random combinations of their parts, at every place
// that accepts a name. The server must reject each name or not find it. No answer may contain
// words of a database, both databases must give the same answers, and the stored data must stay
// unchanged.
func TestHostileNames(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 3))
	texts := slices.Clone(hostileTexts)
	for range 20 {
		pick := func() string { s := texts[random.IntN(len(hostileTexts))]; return s[:min(len(s), 40)] }
		texts = append(texts, pick()+pick()+pick())
	}
	files := map[string]string{"deploy.json": hostileApplication, "probe.js": apptest.ReadFile(t, "../testdata/security/probe.js"), "string-list.js": apptest.ReadFile(t, "../../../scripts/string-list.js")}
	var mu sync.Mutex
	told := map[string]string{}
	onServers(t, files, func(t *testing.T, c *apptest.Case) {
		sent := 0
		for _, place := range hostilePlaces {
			for _, text := range texts {
				target, body := hostile(place, text)
				resp, answer := c.Ask(place[0], target, body, "Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("admin@local:secret")), "X-Request-Id", "s3")
				sent++
				unanswered := answer == "Internal server error" && target == "/rest/strings" // its script does not handle errors
				if s := resp.StatusCode; s >= 500 && !unanswered || s < 200 {
					t.Errorf("%s %s %.300s: got %d, want a status below 500: %.300s", place[0], target, body, s, answer)
				}
				if found := sqlText.FindString(strings.ReplaceAll(answer, text, "")); found != "" && !sqlText.MatchString(text) && text != "canary@s" {
					t.Errorf("%s %s %.300s: the response contains %q: %.300s", place[0], target, body, found, answer)
				}
				key, got := place[0]+target+body, fmt.Sprintf("%d %s", resp.StatusCode, apptest.MaskVariable(answer))
				mu.Lock()
				if before, there := told[key]; there && before != got {
					t.Errorf("%s %s %.300s: the databases differ:\n%.500s\n%.500s", place[0], target, body, before, got)
				}
				told[key] = got
				mu.Unlock()
			}
		}
		if _, answer := c.Ask("GET", "/rest/crud/canary@s/c", ""); !strings.Contains(answer, `"song":"tweet"`) {
			t.Errorf("the stored object: got %s, want it unchanged", answer)
		}
		t.Logf("%d requests", sent)
	})
}

// hostile puts a text into a place.
func hostile(place [3]string, text string) (target, body string) {
	quoted := jsonText(strings.ToValidUTF8(text, "�"))
	target = strings.ReplaceAll(place[1], "U", url.PathEscape(text))
	if path, query, has := strings.Cut(place[1], "?"); has {
		target = path + "?" + strings.ReplaceAll(query, "U", url.QueryEscape(text))
	}
	if !strings.HasPrefix(place[2], "{") && !strings.HasPrefix(place[2], "[") {
		return target, strings.ReplaceAll(place[2], "U", url.QueryEscape(text))
	}
	return target, strings.NewReplacer("J", quoted, "$T", "$"+quoted[1:len(quoted)-1], ".T", "."+quoted[1:len(quoted)-1]).Replace(place[2])
}
