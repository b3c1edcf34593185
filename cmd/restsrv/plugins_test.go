package main

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestRealApplicationWarnings holds what the start says of deploy.json of an
// application as its authors left it: what is not here or not secure, and
// nothing else.
func TestRealApplicationWarnings(t *testing.T) {
	a, err := loadApplication(filepath.Join(realApplication(t), "deploy.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range a.warnings {
		if w.File == "deploy.json" {
			got = append(got, w.Path+": "+w.Found)
		}
	}
	api, di := "modules.registry.globals.di.apiGateWay.options", "modules.rest.globals.di."
	want := []string{
		`globals.plugins.fileStorage: module "core/impl/resource/OwnCloudStorage"`,
		"globals.plugins.customProfile: a profile that accounts does not name",
		api + ": no clientSecret",
		api + `.clientSecret: "[[gateway.clientSecret]]", which nothing fills in`,
		`modules.rest.globals.authMode.echo-errtype: "a7b4e07d"`,
		di + `acceptor.options.dataRepo: "ion://dataRepo", which checks no permissions`,
		di + `string-list.options.dataRepo: "ion://dataRepo", which checks no permissions`,
		di + `crud.options.dataRepo: "ion://dataRepo", which checks no permissions`,
	}
	for _, w := range got {
		if !slices.Contains(want, w) && !strings.HasPrefix(w, di+"meta.module") && !strings.HasPrefix(w, di+"workflows.module") {
			t.Errorf("a warning that was not expected: %s", w)
		}
	}
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("no warning %s", w)
		}
	}
	c := a.config
	if c.OAuth == nil || c.OAuth.Name != "oauth" || c.MetaMap == nil || c.MetaMap.Name != "aclProvider" || !c.CaseInsensitiveLogin || len(c.Profiles) != 0 || c.RoleMap != nil {
		t.Errorf("plug-ins: %+v %+v %v %v %v", c.OAuth, c.MetaMap, c.CaseInsensitiveLogin, c.Profiles, c.RoleMap)
	}
}

// TestRealApplicationGateway is the call that the tests of the application make:
// a browser that signed in reads /registry-ajax-api/rest/echo-token.
func TestRealApplicationGateway(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	app := realApplication(t)
	for _, part := range []string{"acl", "meta"} {
		if err := os.CopyFS(filepath.Join(dir, part), os.DirFS(filepath.Join(app, part))); err != nil {
			t.Fatal(err)
		}
	}
	deployed, err := os.ReadFile(filepath.Join(app, "deploy.json"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"deploy.json": string(deployed),
		"app.ini":     "[gateway]\nclientSecret = ion-demo\n",
		"service/EchoRest.js": `const Service = require('modules/rest/lib/interfaces/Service');
function Echo() {
  this._route = function (router) {
    this.addHandler(router, '/', 'GET', () => Promise.resolve({echo: 'peekaboo'}));
    this.addHandler(router, '/', 'POST', (req) => Promise.resolve({echo: req.body, by: req.user.id()}));
  };
}
Echo.prototype = new Service();
module.exports = Echo;
`,
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	mustRun(t, "import", "-config", filepath.Join(dir, "deploy.json"), dir)
	p := start(t, dir)
	defer p.kill()
	jar := signIn(t, p, "demo", "ion-demo")
	for _, c := range []struct{ method, body, want string }{
		{"GET", "", `{"echo":"peekaboo"}`},
		{"POST", `{"a":[1]}`, `{"echo":{"a":[1]},"by":"ext@system"}`},
	} {
		r, _ := http.NewRequestWithContext(t.Context(), c.method, p.url+"/registry-ajax-api/rest/echo-token", strings.NewReader(c.body))
		r.Header.Set("Content-Type", "application/json")
		r.AddCookie(jar)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK || string(body) != c.want {
			t.Errorf("%s: %d %s\n%s", c.method, resp.StatusCode, body, p.log())
		}
	}
}

// signIn signs a browser in and returns its cookie.
func signIn(t *testing.T, p *process, name, password string) *http.Cookie {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.PostForm(p.url+"/auth", url.Values{"username": {name}, "password": {password}})
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if len(resp.Cookies()) != 1 {
		t.Fatalf("no session: %d %v\n%s", resp.StatusCode, resp.Header, p.log())
	}
	return resp.Cookies()[0]
}
