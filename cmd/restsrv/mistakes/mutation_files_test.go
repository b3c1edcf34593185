package mistakes

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/engine"
	"restsrv/engine/server"
	"restsrv/engine/server/appdata"
	"restsrv/engine/wire"
)

// TestMutatedApplication makes random changes to the files of applications, one at a time:
// deploy.json, workflows, navigation, views, accounts, roles, objects and classes. It starts each
// changed application and sends requests. Each start must succeed or report a file and a line. No
// request may get status 500 or invalid JSON, and every report must have a place. It tries the
// first RESTSRV_MUTATIONS (150) changes of the seed RESTSRV_SEED (1).
func TestMutatedApplication(t *testing.T) {
	t.Parallel()
	apptest.EachApplication(t, mutateApplication)
}

func mutateApplication(t *testing.T, app *apptest.Application) {
	m := newMutatedApplication(t, app)
	total, seed := mutations(app), environmentNumber("RESTSRV_SEED", 1)
	if apptest.RaceDetector {
		total = min(total, 10)
	}
	for i := environmentNumber("RESTSRV_MUTATION", 0); i < total; i++ {
		m.number, m.Rand = i, rand.New(rand.NewPCG(uint64(seed), uint64(i)))
		m.try()
	}
	t.Logf("%d of %d mutations were refused; %d requests", m.refused, total, m.requests)
	if m.refused*20 > total {
		t.Errorf("%d of %d mutations were refused, want at most 5 %%", m.refused, total)
	}
}

// mutatedApplication is a copy of an application in which one file is changed.
type mutatedApplication struct {
	*testing.T
	*rand.Rand
	app      *apptest.Application
	dir      string
	template string // a database with the objects and accounts of the unchanged application
	empty    string // the same without objects
	kinds    []mutatedKind
	number   int
	change   string // description of the change
	refused  int
	requests int
}

// mutatedKind is a kind of files of an application.
type mutatedKind struct {
	weight int
	files  []string
	filled bool // the database is filled from the changed files
}

func newMutatedApplication(t *testing.T, kind *apptest.Application) *mutatedApplication {
	t.Helper()
	m := &mutatedApplication{T: t, app: kind, dir: t.TempDir()}
	app := kind.Original(t)
	for _, name := range []string{"deploy.json", "meta", "workflows", "navigation", "views", "wfviews", "acl"} {
		copyTree(t, filepath.Join(app, name), filepath.Join(m.dir, name))
	}
	objects, err := filepath.Glob(filepath.Join(app, "data", "*.json"))
	if err != nil || len(objects) == 0 {
		t.Fatal("no objects", err)
	}
	step := 1 // all objects of a small application
	if len(objects) > 100 {
		step = 6
	}
	for i := 0; i < len(objects); i += step {
		copyTree(t, objects[i], filepath.Join(m.dir, "data", filepath.Base(objects[i])))
	}
	for _, kind := range []struct {
		weight  int
		folders []string
		filled  bool
	}{
		{weight: 30, folders: []string{"deploy.json"}},
		{weight: 20, folders: []string{"workflows"}},
		{weight: 15, folders: []string{"navigation", "views", "wfviews"}},
		{weight: 10, folders: []string{"acl"}, filled: true},
		{weight: 15, folders: []string{"data"}, filled: true},
		{weight: 10, folders: []string{"meta"}, filled: true},
	} {
		m.kinds = append(m.kinds, mutatedKind{weight: kind.weight, files: m.files(kind.folders), filled: kind.filled})
	}
	m.template, m.empty = m.database(true), m.database(false)
	return m
}

// files returns the files of folders.
func (m *mutatedApplication) files(folders []string) (files []string) {
	m.Helper()
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(m.dir, folder), func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			m.Fatal(err)
		}
	}
	return files
}

// database creates a database of the unchanged application and returns its path.
func (m *mutatedApplication) database(filled bool) string {
	m.Helper()
	a, err := server.LoadApplication(filepath.Join(m.dir, "deploy.json"), false)
	if err != nil {
		m.Fatal(err)
	}
	b, err := server.OpenSandbox(m.Context(), a, server.SandboxConfig{})
	if err != nil {
		m.Fatal(err)
	}
	if filled {
		if _, err := b.Fill(m.Context(), true); err != nil {
			m.Fatal(err)
		}
	}
	file, remove, err := b.Freeze()
	if err != nil {
		m.Fatal(err)
	}
	m.Cleanup(func() {
		if err := remove(); err != nil {
			m.Error(err)
		}
	})
	return file
}

// errorf reports a failure for the current mutation.
func (m *mutatedApplication) errorf(format string, args ...any) {
	m.Helper()
	m.Errorf("mutation %d: %s: %s", m.number, m.change, fmt.Sprintf(format, args...))
}

// try changes a file, starts the application and restores the file.
func (m *mutatedApplication) try() {
	m.Helper()
	at, kind := m.IntN(100), m.kinds[0]
	for _, kind = range m.kinds {
		if at -= kind.weight; at < 0 {
			break
		}
	}
	file := kind.files[m.IntN(len(kind.files))]
	text, err := os.ReadFile(file)
	if err != nil {
		m.Fatal(err)
	}
	name, _ := filepath.Rel(m.dir, file)
	m.change = name + ": "
	changed := m.mutate(text, filepath.Ext(name))
	if err := os.WriteFile(file, changed, 0o644); err != nil {
		m.Fatal(err)
	}
	m.start(kind, name)
	if err := os.WriteFile(file, text, 0o644); err != nil {
		m.Fatal(err)
	}
}

// mutate changes a text. JSON stays valid JSON in 19 of 20 cases.
func (m *mutatedApplication) mutate(text []byte, extension string) []byte {
	if v, err := wire.Decode(text); err == nil && m.IntN(20) > 0 {
		places := m.places(nil, nil, v)
		place := places[m.IntN(len(places))]
		m.change += strings.Join(place, ".") + " "
		return engine.AppendValue(nil, m.changeAt(v, place))
	}
	if extension == ".yml" && m.IntN(3) > 0 {
		lines := bytes.Split(text, []byte("\n"))
		i := m.IntN(len(lines))
		m.change += fmt.Sprintf("line %d deleted", i+1)
		return bytes.Join(slices.Delete(lines, i, i+1), []byte("\n"))
	}
	i := m.IntN(len(text) + 1)
	switch m.IntN(3) {
	case 0:
		m.change += fmt.Sprintf("cut off after %d bytes", i)
		return text[:i]
	case 1:
		inserted := []string{"{", "}", "]", ",", `"`, "\x00", "\xff", "é", "null", "\ufeff"}
		one := inserted[m.IntN(len(inserted))]
		m.change += fmt.Sprintf("%q inserted at %d", one, i)
		return slices.Concat(text[:i], []byte(one), text[i:])
	}
	m.change += "\ufeff in front"
	return slices.Concat([]byte("\ufeff"), text)
}

// places returns the paths of all values in v.
func (m *mutatedApplication) places(all [][]string, path []string, v any) [][]string {
	all = append(all, path)
	switch v := v.(type) {
	case engine.Fields:
		for _, f := range v {
			all = m.places(all, append(slices.Clone(path), f.Name), f.Value)
		}
	case []any:
		for i, e := range v {
			all = m.places(all, append(slices.Clone(path), fmt.Sprint(i)), e)
		}
	}
	return all
}

// changeAt returns v with a change at a path.
func (m *mutatedApplication) changeAt(v any, path []string) any {
	if len(path) == 0 {
		return m.other(v)
	}
	switch v := v.(type) {
	case engine.Fields:
		changed := slices.Clone(v)
		for i := range changed {
			if changed[i].Name != path[0] {
				continue
			}
			if len(path) > 1 {
				changed[i].Value = m.changeAt(changed[i].Value, path[1:])
				return changed
			}
			switch m.IntN(5) {
			case 0:
				m.change += "deleted"
				return slices.Delete(changed, i, i+1)
			case 1:
				m.change += "renamed"
				changed[i].Name += "x"
			case 2:
				m.change += "twice, once "
				return append(changed, engine.Field{Name: path[0], Value: m.other(changed[i].Value)})
			default:
				changed[i].Value = m.other(changed[i].Value)
			}
			return changed
		}
	case []any:
		for i := range v {
			if fmt.Sprint(i) != path[0] {
				continue
			}
			changed := slices.Clone(v)
			if len(path) > 1 {
				changed[i] = m.changeAt(v[i], path[1:])
				return changed
			}
			switch m.IntN(4) {
			case 0:
				m.change += "deleted"
				return slices.Delete(changed, i, i+1)
			case 1:
				m.change += "twice"
				return append(changed, v[i])
			}
			changed[i] = m.other(v[i])
			return changed
		}
	}
	return v
}

// other returns another value to use instead of v.
func (m *mutatedApplication) other(v any) any {
	others := []any{nil, true, false, json.Number("5"), json.Number("-1.5"), json.Number("0"), json.Number("1e400"), "", "text", "id", "$id", "$$uid", "a.b.c", "now()",
		strings.Split(m.app.Class, "@")[0], m.app.Class, "[[no.such]]", "ion://no", "ion://dataRepo", "../../x", strings.Repeat("long", 40), []any{}, []any{"id"}, []any{json.Number("1"), nil}, []any{[]any{}},
		engine.Fields{}, engine.Fields{{Name: "a", Value: "b"}}, engine.Fields{{Name: "eq", Value: []any{"$a", json.Number("1")}}}}
	if text, ok := v.(string); ok && m.IntN(3) == 0 {
		changes := []string{text + "x", strings.ToUpper(text), " " + text, text + "\x00", text + "(", "$" + text, text + "@other", "{" + text}
		others = []any{changes[m.IntN(len(changes))], []any{text}, engine.Fields{{Name: "name", Value: text}}}
	}
	other := others[m.IntN(len(others))]
	m.change += fmt.Sprintf("= %.100s", engine.AppendValue(nil, other))
	return other
}

// start starts the changed application and sends requests to it.
func (m *mutatedApplication) start(kind mutatedKind, file string) {
	m.Helper()
	a, err := server.LoadApplication(filepath.Join(m.dir, "deploy.json"), false)
	if err != nil {
		m.refused++
		m.expectFatal(err)
		return
	}
	m.expectPlaces(a.Warnings)
	m.expectPlaces(a.CheckPresentation())
	template := m.template
	if kind.filled {
		template = m.empty
		if strings.HasPrefix(file, "meta") {
			template = ""
		}
	}
	var log apptest.Buffer
	b, err := server.OpenSandbox(m.Context(), a, server.SandboxConfig{Template: template, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		m.errorf("the database refuses the application: %v", err)
		return
	}
	defer func() {
		if err := b.Close(); err != nil {
			m.errorf("%v", err)
		}
	}()
	if kind.filled {
		done, err := b.Fill(m.Context(), true)
		if err != nil {
			m.errorf("filling the database: %v", err)
			return
		}
		for _, r := range done.Report.Refused {
			if r.Where == "" || r.Reason == "" {
				m.errorf("a refusal without place or reason: %+v", r)
			}
		}
		m.expectPlaces(done.Access.Faults)
		m.expectPlaces(done.Left)
	}
	if err := b.Load(m.Context()); err != nil {
		m.refused++
		m.expectFatal(err)
		return
	}
	m.request(b, a)
	for _, line := range strings.Split(log.String(), "\n") {
		if strings.Contains(line, "level=ERROR") && !strings.Contains(line, "script cannot be loaded") || strings.Contains(line, "panic") {
			m.errorf("the log says %s", line)
		}
	}
}

// expectFatal checks that an error names files and lines.
func (m *mutatedApplication) expectFatal(err error) {
	m.Helper()
	var faults engine.Faults
	if !errors.As(err, &faults) {
		m.errorf("the refusal names no file: %v", err)
		return
	}
	m.Logf("mutation %d: %s: refused: %v", m.number, m.change, err)
	for _, f := range faults {
		if f.File == "" || f.Line == 0 {
			m.errorf("the refusal names no file and line: %s", f)
		}
	}
}

// expectPlaces checks that reports name files and state the action of the server.
func (m *mutatedApplication) expectPlaces(faults engine.Faults) {
	m.Helper()
	for _, f := range faults {
		if f.File == "" || f.Level == engine.Mistake && (f.Code == "" || f.Resolution == "") {
			m.errorf("a report without file, code or resolution: %s", f)
		}
		if len(f.String()) > 1000 {
			m.errorf("a report of %d bytes: %s", len(f.String()), f)
		}
	}
}

// askSandbox sends a request to an application as an account. headers are more headers: a name, a
// value and so on. fault describes an answer that a server must never give: status 500, or
// invalid JSON. It is "" for any other answer.
func askSandbox(t testing.TB, b *server.Sandbox, account, method, path, body string, headers ...string) (answer *httptest.ResponseRecorder, fault string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.RemoteAddr, r.RequestURI = "127.0.0.1:1024", path
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Auth-User", account)
	r.Header.Set("Auth-Pwd", b.Secret())
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer = httptest.NewRecorder()
	b.Handler().ServeHTTP(answer, r)
	text := answer.Body.Bytes()
	if answer.Code == http.StatusInternalServerError || strings.Contains(answer.Header().Get("Content-Type"), "json") && len(text) > 0 && !json.Valid(text) {
		return answer, fmt.Sprintf("%d %.500s", answer.Code, text)
	}
	return answer, ""
}

// request sends requests as an administrator of the application.
func (m *mutatedApplication) request(b *server.Sandbox, a *appdata.App) {
	m.Helper()
	send := func(method, path, body string) *httptest.ResponseRecorder {
		answer, fault := askSandbox(m, b, "demo@local", method, path, body, "Auth-Token", b.Secret()+".demo@local")
		m.requests++
		if fault != "" {
			m.errorf("%s %s %s: %s", method, path, body, fault)
		}
		return answer
	}
	for _, path := range []string{"/rest/meta/getNavigationSections", "/rest/meta/getNodes/" + m.app.Section, "/rest/meta/getNode/" + m.app.Node, "/rest/simple", "/rest/echo",
		"/rest/token", m.app.Gateway + "/rest/echo-token", "/auth", "/readyz"} {
		send("GET", path, "")
	}
	classes := a.Meta.Classes()
	chosen := []string{m.app.WorkflowClass, m.app.Class}
	for range 5 {
		chosen = append(chosen, classes[m.IntN(len(classes))].FullName)
	}
	for _, class := range chosen {
		m.requestClass(class, send)
	}
}

// requestClass reads and writes objects of a class, and reads what is defined for it.
func (m *mutatedApplication) requestClass(class string, send func(method, path, body string) *httptest.ResponseRecorder) {
	for _, method := range []string{"getMeta", "propertyMetas", "ancestor", "getListViewModel", "getItemViewModel", "getCreationViewModel", "getCollectionViewModel", "getWorkflows"} {
		send("GET", "/rest/meta/"+method+"/"+class, "")
	}
	send("GET", "/rest/meta/getWorkflowView/"+class+"/"+m.app.WorkflowState, "")
	path := "/rest/crud/" + url.PathEscape(class)
	list := send("GET", path+"?_count=2", "")
	send("GET", path+"?_search=a&_sort=-id", "")
	var items []map[string]any
	if json.Unmarshal(list.Body.Bytes(), &items) != nil || len(items) == 0 {
		send("POST", path, "{}")
		return
	}
	item := items[0]
	one := path + "/" + url.PathEscape(fmt.Sprint(item["_id"]))
	send("GET", one, "")
	send("GET", "/rest/workflows/"+class+"/"+url.PathEscape(fmt.Sprint(item["_id"])), "")
	for name := range item {
		if strings.HasPrefix(name, "_") || strings.HasSuffix(name, "_str") {
			delete(item, name)
		}
	}
	body, _ := json.Marshal(item)
	send("POST", path, string(body))
	send("PATCH", one, string(body))
	send("DELETE", one, "")
}
