package applications

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/engine/store/postgres/pgtest"
)

// TestRealApplicationAccess sends the same requests for each account of the application through
// every kind of authentication. It compares the answers with the tables in
// testdata/real-access.txt: after the import, after more grants for a role, and after an account
// was added to a department that has grants.
func TestRealApplicationAccess(t *testing.T) {
	t.Parallel()
	apptest.EachApplication(t, compareAccess)
}

func compareAccess(t *testing.T, app *apptest.Application) {
	golden := filepath.Join("../testdata", app.AccessTable)
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	for kind, db := range map[string]string{"sqlite": "sqlite:" + filepath.Join(t.TempDir(), "test.db"), "postgres": pgtest.Database(t)} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			if got := realAccess(t, app, db); got != string(want) {
				t.Errorf("the tables differ from %s, got:\n%s", golden, got)
			}
		})
	}
}

func realAccess(t *testing.T, app *apptest.Application, db string) string {
	dir := app.Complete(t)
	apptest.MustRun(t, "import", "-config", filepath.Join(dir, "deploy.json"), "-db", db, dir)
	s := &realServer{apptest.NewClient(t, dir, db), app}
	var actors []*actor
	for _, id := range []string{"demo@local", "operator@local", "ext@system", "user@local"} {
		actors = append(actors, &actor{id: id})
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "As imported: demo has the role admin, which may do everything; operator and ext have the role token, which may get tokens.\n\n")
	s.table(&out, actors, joined(s.passwordActions(), s.tokenActions(), s.oauthActions(), s.dataActions()))

	fmt.Fprintf(&out, "\nAfter: restsrv acl grant token c:::%s read use\n\n", app.Class)
	s.MustRun("acl", "grant", "token", "c:::"+app.Class, "read", "use")
	s.Eventually("the grant", func() bool { return s.reads(actors[1]) })
	s.table(&out, actors, s.dataActions())

	fmt.Fprintf(&out, "\nAfter: %s; restsrv acl grant %s c:::%s read write delete\n\n", app.DepartmentComment, app.Department, app.Class)
	if a := s.Call("PATCH", "/rest/crud-sec/"+app.Employee, `{"uid":"user@local"}`, actors[0].withPassword); a.Status != 200 {
		t.Fatal(a)
	}
	s.MustRun("acl", "grant", app.Department, "c:::"+app.Class, "read", "write", "delete")
	s.Eventually("the department", func() bool { return s.reads(actors[3]) })
	s.table(&out, actors, s.dataActions())
	return out.String()
}

// realServer is a running server of the application.
type realServer struct {
	*apptest.Client
	app *apptest.Application
}

// table executes all actions and writes a table of the answers.
func (s *realServer) table(out *bytes.Buffer, actors []*actor, actions []action) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	cells := []string{"CHANNEL", "ACTION"}
	for _, a := range actors {
		name, _, _ := strings.Cut(a.id, "@")
		cells = append(cells, strings.ToUpper(name))
	}
	fmt.Fprintln(w, strings.Join(cells, "\t"))
	for _, row := range actions {
		cells := []string{row.channel, row.what}
		for _, a := range actors {
			cells = append(cells, fmt.Sprint(row.do(s, a)))
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	w.Flush()
}

func joined(all ...[]action) (rows []action) {
	for _, some := range all {
		rows = append(rows, some...)
	}
	return rows
}

// action is a row of a table: a request that every account sends.
type action struct {
	channel, what string
	do            func(s *realServer, a *actor) any
}

func (s *realServer) passwordActions() []action {
	saved := `[{"_class":"` + s.app.Class + `","_id":"` + s.app.Object + `","` + s.app.Body + `":"saved"}]`
	return []action{
		{"none", "GET echo", func(s *realServer, _ *actor) any { return s.Call("GET", "/rest/echo", "", nobody) }},
		{"none", "GET echo-pwd", func(s *realServer, _ *actor) any { return s.Call("GET", "/rest/echo-pwd", "", nobody) }},
		{"password", "GET echo-pwd", func(s *realServer, a *actor) any { return s.echo("GET", "/rest/echo-pwd", a, a.withPassword) }},
		{"password", "GET echo-pwd, wrong one", func(s *realServer, a *actor) any {
			return s.Call("GET", "/rest/echo-pwd", "", func(r *http.Request) { r.SetBasicAuth(a.id, "ion-demo ") })
		}},
		{"password", "GET echo-pwd, name in capitals", func(s *realServer, a *actor) any {
			name, kind, _ := strings.Cut(a.id, "@")
			return s.echo("GET", "/rest/echo-pwd", a, func(r *http.Request) { r.SetBasicAuth(strings.ToUpper(name)+"@"+kind, apptest.ApplicationPassword) })
		}},
		{"password", "GET echo-errtype, of no mode", func(s *realServer, a *actor) any { return s.Call("GET", "/rest/echo-errtype", "", a.withPassword) }},
		{"password", "GET echo-token", func(s *realServer, a *actor) any { return s.Call("GET", "/rest/echo-token", "", a.withPassword) }},
		{"password", "GET echo-oauth", func(s *realServer, a *actor) any { return s.Call("GET", "/rest/echo-oauth", "", a.withPassword) }},
		{"password", "GET simple", func(s *realServer, a *actor) any { return s.Call("GET", "/rest/simple", "", a.withPassword) }},
		{"password", "POST string-list", func(s *realServer, a *actor) any { return s.Call("POST", "/rest/string-list", "{}", a.withPassword) }},
		{"password", "POST string-list, of no such text", func(s *realServer, a *actor) any {
			return s.Call("POST", "/rest/string-list", `{"`+s.app.Line+`":"none","`+s.app.Body+`":"none"}`, a.withPassword)
		}},
		{"password", "POST acceptor", func(s *realServer, a *actor) any { return s.Call("POST", "/rest/acceptor", saved, a.withPassword) }},
	}
}

func (s *realServer) tokenActions() []action {
	return []action{
		{"password", "GET token", func(s *realServer, a *actor) any {
			got := s.Call("GET", "/rest/token", "", a.withPassword)
			if got.Status == http.StatusOK {
				a.token = got.Body
			}
			return got
		}},
		{"token", "GET echo-token", func(s *realServer, a *actor) any { return s.echo("GET", "/rest/echo-token", a, a.withToken) }},
		{"token", "GET echo-pwd", func(s *realServer, a *actor) any { return s.Call("GET", "/rest/echo-pwd", "", a.withToken) }},
		{"token", "GET echo-oauth", func(s *realServer, a *actor) any { return s.Call("GET", "/rest/echo-oauth", "", a.withToken) }},
		{"token", "list, crud", func(s *realServer, a *actor) any { return s.Call("GET", "/rest/crud/"+s.app.Class, "", a.withToken) }},
		{"token", "PATCH, crud", func(s *realServer, a *actor) any {
			return s.Call("PATCH", "/rest/crud/"+s.app.Class+"/"+s.app.Object, `{"`+s.app.Body+`":"changed"}`, a.withToken)
		}},
	}
}

// oauthActions returns the steps of the OAuth2 flow. Each person allows the client ext to act on
// behalf of this person. ext itself is not a person and requests its own token.
func (s *realServer) oauthActions() []action {
	const grant = "/oauth2/grant?client_id=ext@system&response_type=code&state=s"
	client := func(r *http.Request) { r.SetBasicAuth("ext@system", apptest.ApplicationPassword) }
	var code string
	token := func(s *realServer, a *actor, form url.Values) any {
		got := s.Form("/oauth2/token", form, client)
		var tokens struct {
			Access string `json:"access_token"`
			Error  string `json:"error"`
		}
		if json.Unmarshal([]byte(got.Body), &tokens) == nil && tokens.Access != "" {
			a.bearer = tokens.Access
		}
		return strings.TrimSuffix(fmt.Sprintf("%d %s", got.Status, tokens.Error), " ")
	}
	person := func(do func(s *realServer, a *actor) any) func(s *realServer, a *actor) any {
		return func(s *realServer, a *actor) any {
			if a.id == "ext@system" {
				return "-"
			}
			return do(s, a)
		}
	}
	return []action{
		{"session", "POST /auth", person(func(s *realServer, a *actor) any {
			a.session = apptest.SignIn(s.T, s.Process, a.id, apptest.ApplicationPassword)
			return s.Call("GET", "/auth", "", a.withSession)
		})},
		{"session", "POST /oauth2/grant, denied", person(func(s *realServer, a *actor) any {
			got := s.Form(grant, url.Values{"deny": {"1"}}, a.withSession)
			return fmt.Sprintf("%d %s", got.Status, parameter(s.T, got, "error"))
		})},
		{"session", "POST /oauth2/grant, POST /oauth2/token", person(func(s *realServer, a *actor) any {
			got := s.Form(grant, url.Values{"grant": {"1"}}, a.withSession)
			code = parameter(s.T, got, "code")
			return fmt.Sprintf("%d, %v", got.Status, token(s, a, url.Values{"grant_type": {"authorization_code"}, "code": {code}}))
		})},
		{"client", "POST /oauth2/token for itself, as imported", func(s *realServer, a *actor) any {
			if a.id != "ext@system" {
				return "-"
			}
			return token(s, a, url.Values{"grant_type": {"client_credentials"}})
		}},
		{"client", "the same after restsrv client add -grant client_credentials ext", func(s *realServer, a *actor) any {
			if a.id != "ext@system" {
				return "-"
			}
			s.MustRun("client", "add", "-grant", "authorization_code", "-grant", "refresh_token", "-grant", "client_credentials", "ext")
			form := url.Values{"grant_type": {"client_credentials"}}
			s.Eventually("the grant type", func() bool { return fmt.Sprint(token(s, a, form)) == "200" })
			return token(s, a, form)
		}},
		{"OAuth2", "POST echo-oauth", func(s *realServer, a *actor) any { return s.echo("POST", "/rest/echo-oauth", a, a.withBearer) }},
		{"OAuth2", "GET echo-token", func(s *realServer, a *actor) any { return s.Call("GET", "/rest/echo-token", "", a.withBearer) }},
		{"session", "GET echo-oauth", person(func(s *realServer, a *actor) any { return s.Call("GET", "/rest/echo-oauth", "", a.withSession) })},
		{"session", "GET " + s.app.Gateway + "/rest/echo-token", person(func(s *realServer, a *actor) any {
			return s.echo("GET", s.app.Gateway+"/rest/echo-token", &actor{id: "ext@system"}, a.withSession)
		})},
	}
}

// channels lists the services that use the secured repository, one for each kind of authentication.
var channels = []struct {
	channel, service string
	proof            func(a *actor) func(*http.Request)
}{
	{"password", "crud-sec", func(a *actor) func(*http.Request) { return a.withPassword }},
	{"token", "crud-sec-token", func(a *actor) func(*http.Request) { return a.withToken }},
	{"OAuth2", "crud-sec-oauth", func(a *actor) func(*http.Request) { return a.withBearer }},
}

// reads reports whether an account may read the object through every channel for which it has
// credentials. Call it repeatedly after a change, because each service notices changes by itself,
// within a second.
func (s *realServer) reads(a *actor) bool {
	for _, c := range channels {
		if c.channel == "token" && a.token == "" {
			continue
		}
		if s.Call("GET", "/rest/"+c.service+"/"+s.app.Class+"/"+s.app.Object, "", c.proof(a)).Status != http.StatusOK {
			return false
		}
	}
	return true
}

// dataActions returns the operations on objects, through crud with each kind of authentication.
func (s *realServer) dataActions() (all []action) {
	class, object := s.app.Class, s.app.Class+"/"+s.app.Object
	for _, c := range channels {
		do := func(method, path, body string) func(s *realServer, a *actor) any {
			return func(s *realServer, a *actor) any {
				return s.Call(method, "/rest/"+c.service+"/"+path, strings.ReplaceAll(body, "ID", a.id), c.proof(a))
			}
		}
		add := func(what string, do func(s *realServer, a *actor) any) {
			all = append(all, action{c.channel, what + ", " + c.service, do})
		}
		add("list", do("GET", class, ""))
		add("list by an attribute", do("GET", class+"?"+s.app.Line+"="+url.QueryEscape(s.app.Value), ""))
		add("one", do("GET", object, ""))
		add("one that is not there", do("GET", class+"/none", ""))
		add("of a class that is not there", do("GET", "none@"+s.app.Namespace, ""))
		add("PATCH", do("PATCH", object, `{"`+s.app.Body+`":"changed by ID"}`))
		add("POST", func(s *realServer, a *actor) any {
			return s.Call("POST", "/rest/"+c.service+"/"+class, `{"id":"of `+a.id+`"}`, c.proof(a))
		})
		add("DELETE of what was made", func(s *realServer, a *actor) any {
			mine := class + "/" + url.PathEscape("of "+a.id)
			got := s.Call("DELETE", "/rest/"+c.service+"/"+mine, "", c.proof(a))
			_ = s.Call("DELETE", "/rest/crud-sec/"+mine, "", (&actor{id: "demo@local"}).withPassword) // restores the state for the next account
			return got
		})
	}
	return all
}

// TestRealApplicationWarnings checks the warnings at the start for the application with and without
// overlays. They must report only unsupported and insecure features.
func TestRealApplicationWarnings(t *testing.T) {
	t.Parallel()
	const plugins, di, api = "globals.plugins.", "modules.rest.globals.di.", "modules.registry.globals.di.apiGateWay.options"
	const checksNothing = ".options.dataRepo: found \"ion://dataRepo\", which checks no permissions"
	always := []string{
		plugins + `fileStorage: found module "core/impl/resource/OwnCloudStorage"`,
		plugins + `customProfile: found a profile that accounts does not name`,
		`modules.rest.globals.authMode.echo-errtype: found "a7b4e07d"`,
		di + "acceptor" + checksNothing, di + "string-list" + checksNothing, di + "crud" + checksNothing, di + "workflows" + checksNothing, di + "meta" + checksNothing,
		`name: found class "adress@develop-and-test", which meta/adress@develop-and-test.class.json describes again`,
		`properties[1].semantic: found "a"`, `properties[1].semantic: found "b"`, `properties[1].semantic: found "c"`,
		`an OAuth2 client has registered no redirect URI: its codes go to the default one" client=ext@system`,
	}
	lacking := append([]string{
		api + `: found no clientSecret`,
		api + `.clientSecret: found "[[gateway.clientSecret]]", which nothing fills in`,
	}, always...)
	for _, service := range []string{"simple", "echo-pwd", "echo-errtype", "echo-oauth", "echo-token", "echo", "string-list"} {
		lacking = append(lacking, "script cannot be loaded; the service answers 503\" service="+service+" ")
	}
	own := []string{
		di + "crud" + checksNothing,
		`modules.rest.globals.authMode.echo-errtype: found "a7b4e07d"`,
		`an OAuth2 client has registered no redirect URI: its codes go to the default one" client=ext@system`,
	}
	wanted := map[string][]string{apptest.Library.Original(t): own}
	if apptest.HasDevelopAndTest() {
		wanted[apptest.DevelopAndTest.Original(t)], wanted[apptest.DevelopAndTest.Complete(t)] = lacking, always
	}
	for dir, want := range wanted {
		db := "sqlite:" + filepath.Join(t.TempDir(), "test.db")
		apptest.MustRun(t, "import", "-config", filepath.Join(dir, "deploy.json"), "-db", db, dir) // import reports the rejected entries
		p := apptest.Start(t, dir, "-db", db)
		p.Kill()
		var said []string
		for _, line := range strings.Split(p.Log(), "\n") {
			warns := strings.Contains(line, "level=WARN") && !strings.Contains(line, "RESTSRV_ADMIN_PASSWORD") // this warning is not about the application
			if warns || strings.Contains(line, "level=ERROR") {
				said = append(said, strings.ReplaceAll(line, `\"`, `"`))
			}
		}
		for _, w := range want {
			if n := apptest.CountLines(said, w); n != 1 {
				t.Errorf("got the line %d times, want once: %s", n, w)
			}
		}
		if len(said) != len(want) {
			t.Errorf("said %d things, want %d:\n%s", len(said), len(want), strings.Join(said, "\n"))
		}
	}
}

func nobody(*http.Request) {}

// echo calls a service that returns the account of the request. It must be the account of the
// actor.
func (s *realServer) echo(method, path string, a *actor, proof func(*http.Request)) apptest.Answer {
	s.T.Helper()
	got := s.Call(method, path, "", proof)
	if got.Status == http.StatusOK && !strings.Contains(got.Body, `"by":"`+a.id+`"`) {
		s.T.Errorf("%s %s by %s: got %s, want the account in the response", method, path, a.id, got.Body)
	}
	return got
}

// parameter returns a parameter of the address in the header Location.
func parameter(t *testing.T, a apptest.Answer, name string) string {
	t.Helper()
	to, err := url.Parse(a.To)
	if err != nil || !strings.HasPrefix(a.To, "http://redirect.location/handler?") {
		t.Errorf("redirect: got %q, %v, want the handler", a.To, err)
		return ""
	}
	return to.Query().Get(name)
}
