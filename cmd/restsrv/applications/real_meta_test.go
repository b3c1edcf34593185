package applications

import (
	"encoding/json"
	"net/http"
	"net/url"
	"path/filepath"
	"testing"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/engine"
	"restsrv/engine/server"
	"restsrv/engine/service"
)

// askedMeta sends requests to the service meta of an application and counts the answers.
type askedMeta struct {
	*testing.T
	*apptest.Process
	token   string
	classes engine.MetaRepository
	shown   service.Presentation
	answers int
	missing int // number of views that do not exist
}

// ask returns the answer of a method. It must be JSON, or empty where that is allowed.
func (m *askedMeta) ask(method string, params ...string) string {
	m.Helper()
	path := "/rest/meta/" + method
	for _, p := range params {
		path += "/" + url.PathEscape(p)
	}
	return m.get(path)
}

func (m *askedMeta) get(path string) string {
	m.Helper()
	status, body := m.Process.Get(m.T, path, func(r *http.Request) { r.Header.Set("auth-token", m.token) })
	if status != http.StatusOK || body != "" && !json.Valid([]byte(body)) {
		m.Errorf("GET %s: got %d %.300s, want 200 and JSON", path, status, body)
	}
	m.answers++
	return body
}

// view requests a view and compares it with expected. If expected is nil, the view must not
// exist.
func (m *askedMeta) view(path string, expected *service.ViewModel) {
	m.Helper()
	if expected != nil {
		m.get(path)
		return
	}
	m.missing++
	if status, body := m.Process.Get(m.T, path, func(r *http.Request) { r.Header.Set("auth-token", m.token) }); status != http.StatusNotFound {
		m.Errorf("GET %s: got %d %.300s, want 404 for a view that does not exist", path, status, body)
	}
}

var viewMethods = map[service.ViewKind]string{
	service.ListView: "getListViewModel", service.CollectionView: "getCollectionViewModel", service.ItemView: "getItemViewModel",
	service.CreateView: "getCreationViewModel", service.DetailView: "getDetailViewModel",
}

// class requests all descriptions of a class.
func (m *askedMeta) class(c *engine.Class) {
	m.Helper()
	for _, method := range []string{"getMeta", "propertyMetas"} {
		if m.ask(method, c.FullName) == "" {
			m.Errorf("%s of %s: got no description, want one", method, c.FullName)
		}
	}
	if said := m.ask("ancestor", c.FullName); (said == "") != (c.Ancestor == nil) {
		m.Errorf("ancestor of %s: got %.100s, want a class only if there is an ancestor", c.FullName, said)
	}
	for kind, method := range viewMethods {
		v, err := m.shown.ViewModel(kind, c, "")
		if err != nil {
			m.Error(err)
		}
		m.view("/rest/meta/"+method+"/"+c.FullName, v)
	}
	all, err := m.shown.Workflows(c)
	if err != nil {
		m.Error(err)
	}
	m.ask("getWorkflows", c.FullName)
	for _, w := range all {
		name := engine.FullName(w.Name, w.Namespace)
		m.ask("getWorkflow", c.FullName, name)
		states, _ := w.Said.Get("states")
		for _, s := range states.([]any) {
			state, _ := s.(engine.Fields).Get("name")
			v, err := m.shown.StateViewModel(c, name, state.(string))
			if err != nil {
				m.Error(err)
			}
			m.view("/rest/meta/getWorkflowView/"+c.FullName+"/"+name+"/"+url.PathEscape(state.(string)), v)
		}
	}
}

func (m *askedMeta) node(n *service.NavigationNode) {
	m.Helper()
	if m.ask("getNode", n.Namespace+"@"+n.Code) == "" {
		m.Errorf("node %s: got nothing, want a node", n.Code)
	}
	if n.Class != "" {
		c, err := m.classes.Class(n.Class)
		if err != nil {
			m.Fatal(err)
		}
		v, err := m.shown.ViewModel(service.ListView, c, n.Code)
		if err != nil {
			m.Error(err)
		}
		m.view("/rest/meta/getListViewModel/"+n.Class+"?node="+n.Namespace+"@"+n.Code, v)
	}
	for _, child := range n.Children {
		m.node(child)
	}
}

// TestRealApplicationMeta requests every class, section, node, view and workflow
// of the applications.
func TestRealApplicationMeta(t *testing.T) {
	t.Parallel()
	apptest.EachApplication(t, requestMeta)
}

func requestMeta(t *testing.T, app *apptest.Application) {
	dir := app.Original(t)
	a, err := server.LoadApplication(filepath.Join(dir, "deploy.json"), false)
	if err != nil {
		t.Fatal(err)
	}
	db := "sqlite:" + filepath.Join(t.TempDir(), "test.db")
	apptest.MustRun(t, "import", "-db", db, dir)
	p := apptest.Start(t, dir, "-db", db)
	m := &askedMeta{T: t, Process: p, token: demoToken(p, t), classes: a.Meta, shown: a.Presentation}
	for _, c := range a.Meta.Classes() {
		m.class(c)
	}
	sections, err := m.shown.Sections()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sections {
		code := s.Namespace + "@" + s.Name
		if m.ask("getNavigationSection", code) == "" || m.ask("getNodes", code) == "[]" {
			t.Errorf("section %s: got no section or no nodes, want both", code)
		}
		for _, n := range s.Roots {
			m.node(n)
		}
	}
	for path, length := range app.MetaLengths {
		if body := m.get("/rest/meta/" + path); len(body) != length {
			t.Errorf("%s: got %d bytes, want %d", path, len(body), length)
		}
	}
	if m.answers < app.MetaAnswers || m.missing == 0 {
		t.Errorf("got %d responses and %d missing views, want at least %d and 1", m.answers, m.missing, app.MetaAnswers)
	}
	t.Logf("got %d responses and %d missing views, want at least %d and 1", m.answers, m.missing, app.MetaAnswers)
}
