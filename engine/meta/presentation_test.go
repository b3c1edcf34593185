package meta

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"restsrv/engine"
	"restsrv/engine/service"
)

// presented loads the classes and the presentation in the given files.
func presented(t *testing.T, root fs.FS, namespace string) (*Repository, *Presentation) {
	t.Helper()
	sources, faults := ReadDir(root, "meta")
	r, more := Load(sources, namespace)
	if errs, _ := append(faults, more...).Split(false); len(errs) > 0 {
		t.Fatal(errs)
	}
	return r, NewPresentation(root, namespace)
}

func files(named map[string]string) fstest.MapFS {
	root := fstest.MapFS{
		"meta/note.class.json": {Data: []byte(`{"name": "note", "key": ["id"], "properties": [{"name": "id", "type": "string"}, {"name": "title", "type": "string"}, {"name": "in", "type": "reference", "refClass": "book"}]}`)},
		"meta/book.class.json": {Data: []byte(`{"name": "book", "key": ["id"], "properties": [{"name": "id", "type": "string"}, {"name": "isbn", "type": "string"}]}`)},
	}
	for name, text := range named {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return root
}

// TestRealPresentation reads the navigation, views and workflows of a real
// application.
func TestRealPresentation(t *testing.T) {
	r, p := presented(t, application(t, "develop-and-test"), "develop-and-test")
	class := func(name string) *engine.Class {
		c, err := r.Class(name + "@develop-and-test")
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	value := func(fields engine.Fields, name string) string {
		v, _ := fields.Get(name)
		return string(engine.AppendValue(nil, v))
	}
	n, err := p.loadNavigation()
	if err != nil {
		t.Fatal(err)
	}
	models, err := p.models.get(p, "", indexModels)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(len(n.sections), len(n.nodes), len(n.roots[""]), len(models.all)); got != "12 212 77 423" {
		t.Errorf("sections, nodes, roots, views: got %s, want 12 212 77 423", got)
	}
	node, _ := p.Node("class_string")
	if got := string(engine.AppendValue(nil, node.Said)); got != `{"namespace":"develop-and-test","code":"class_string","orderNumber":10,"type":1,"caption":"Class \"String [0]\"",`+
		`"classname":"class_string@develop-and-test","container":null,"collection":null,"url":null,"hint":null,"conditions":null,"sorting":[],"pathChains":[],"title":"",`+
		`"metaVersion":"2.0.0","itemType":"node","section":"develop-and-test@simpleTypes"}` {
		t.Errorf("node: %s", got)
	}
	sections, _ := p.Sections()
	if first := sections[0]; first.Name != "classProperties" || first.Roots[0].Code != "compositeIndexes" || len(first.Roots[0].Children) != 3 {
		t.Errorf("got the first section %s with the first node %s and %d children, want classProperties, compositeIndexes and 3", first.Name, first.Roots[0].Code, len(first.Roots[0].Children))
	}
	list, _ := p.ViewModel(service.ListView, class("class_string"), "develop-and-test@class_string")
	if columns, _ := list.Said.Get("columns"); len(columns.([]any)) != 4 || value(list.Said, "type") != `"list"` || value(list.Said, "path") != `""` {
		t.Errorf("list of class_string: got %s, want type list and 4 columns", engine.AppendValue(nil, list.Said))
	}
	if v, err := p.ViewModel(service.DetailView, class("class_string"), ""); err != nil || value(v.Said, "type") != `"item"` {
		t.Errorf("detail view: got %v, %v, want the item view", v, err)
	}
	if v, _ := p.ViewModel(service.ItemView, class("serviceAttribute"), "serviceAttribute"); v == nil || value(v.Said, "path") != `"develop-and-test@serviceAttribute"` {
		t.Errorf("view of a node: got %v, want the view in its folder", v)
	}
	flows, _ := p.Workflows(class("workflowBase"))
	if len(flows) != 1 || flows[0].Name != "simpleWorkflow" || value(flows[0].Said, "namespace") != `"develop-and-test"` {
		t.Errorf("workflows: got %v, want simpleWorkflow", flows)
	}
	state, _ := p.StateViewModel(class("workflowBase"), "simpleWorkflow@develop-and-test", "canStart")
	if state == nil || value(state.Said, "overrideMode") != "1" {
		t.Errorf("view of a state: got %v, want overrideMode 1", state)
	}
	if errs, warnings := p.Check(r).Split(false); len(errs) > 0 || len(warnings) != 5 {
		t.Errorf("got %d warnings, want 5, and the faults %v, want none:\n%v", len(warnings), errs, warnings)
	}
}

// TestPresentationFaults checks that every mistake is reported with its file and path. A wanted text without ! is a
// warning.
func TestPresentationFaults(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{"navigation/a.section.json", `{"nam": "a"}`, "!navigation/a.section.json: name: expected a name"},
		{"navigation/a.section.json", `[]`, "!navigation/a.section.json:1:1: found an array, expected an object that describes a section of the navigation"},
		{"navigation/a.section.yml", "name: a\nb: [", "!navigation/a.section.yml:3:1: found malformed YAML: "},
		{"navigation/a/n.json", `{"code": 5}`, "!navigation/a/n.json: code: found 5, expected a name: the file is left out"},
		{"navigation/a/n.json", `{"code": "n", "sorting": {}}`, "!navigation/a/n.json: sorting: found an object, expected an array"},
		{"navigation/a/n.json", `{"code": "n", "type": 1, "classname": "notes"}`, `navigation/a/n.json: classname: found class "notes@app", which is not there, expected "note@app"`},
		{"navigation/a/n.yaml", "code: m.n", `navigation/a/n.yaml:1:1: code: found a node below "m", which is not there`},
		{"navigation/n.json", `{"code": "n"}`, "navigation/n.json: found a node in no section, expected a file in the folder of a section, such as navigation/main/n.json"},
		{"views/list.json", `{}`, "views/list.json: found a view of no class"},
		{"views/note/lists.json", `{}`, `views/note/lists.json: found "lists", which is no kind of view, expected "list"`},
		{"views/nte/list.json", `{}`, `views/nte/list.json: found class "nte@app", which is not there, expected "note@app"`},
		{"views/note/list.json", `{"columns": [{"property": "title"}, 5]}`, "!views/note/list.json: columns[1]: found 5, expected an object"},
		{"views/note/item.json", `{"tabs": [{"fullFields": [{"property": "in", "fields": [{"property": "isbm"}]}]}]}`,
			`views/note/item.json: tabs[0].fullFields[0].fields[0].property: found "isbm", which is no attribute of class book@app, expected "isbn"`},
		{"views/note/item.json", `{"tabs": [{"fullFields": [{"property": "in.isbm"}]}]}`, `views/note/item.json: tabs[0].fullFields[0].property: found "in.isbm"`},
		{"wfviews/w/note.json", `{}`, "wfviews/w/note.json: found a view of no state"},
		{"workflows/w.wf.json", `{"name": "w"}`, "!workflows/w.wf.json: wfClass: expected the class of the workflow"},
		{"workflows/w.wf.json", `{"name": "w", "wfClass": 5}`, "!workflows/w.wf.json: wfClass: found 5, expected the class of the workflow"},
		{"workflows/w.wf.json", `[]`, "!workflows/w.wf.json:1:1: found an array, expected an object that describes a workflow"},
		{"workflows/w.wf.json", `{`, "!workflows/w.wf.json:1:2: found malformed JSON: "},
		{"workflows/w.wf.json", `{"wfClass": "note"}`, "!workflows/w.wf.json: name: expected a name: it has the name of its file"},
		{"masks/m.json", `{"mask": "9"}`, "!masks/m.json: name: expected a name"},
		{"validators/v.valid.json", `{`, "!validators/v.valid.json:1:2: found malformed JSON: "},
	} {
		r, p := presented(t, files(map[string]string{c.file: c.text}), "app")
		_, faults := p.AllWorkflows()
		faults = append(faults, p.Check(r)...)
		want, strict := strings.CutPrefix(c.want, "!")
		if len(faults) == 0 || !strings.HasPrefix(faults[0].String(), want) || (faults[0].Level == engine.Warning) == strict {
			t.Errorf("%s %s\ngot  %v\nwant %s", c.file, c.text, faults, c.want)
		}
	}
}

// TestPresentedTwice checks that of two files that describe the same thing, the later one in the order of names is
// used.
func TestPresentedTwice(t *testing.T) {
	r, p := presented(t, files(map[string]string{
		"navigation/a/n.json": `{"code": "n", "own": 1}`, "navigation/b/n.json": `{"code": "n", "own": 2}`,
		"navigation/a.section.json": `{"name": "a", "own": 1}`, "navigation/b.section.json": `{"name": "a", "own": 2}`,
		"views/note/list.json": `{"own": 1}`, "views/note/list.yml": `own: 2`,
		"workflows/a.wf.json": `{"name": "w", "wfClass": "note", "own": 1}`, "workflows/b.wf.json": `{"name": "w", "wfClass": "note", "own": 2}`,
		"masks/a.json": `{"name": "m", "own": 1}`, "masks/b.json": `{"name": "m", "own": 2}`,
		"views/.old/note/list.json": `{`, "views/note/..data.json": `{`,
	}), "app")
	_, faults := p.AllWorkflows()
	faults = append(faults, p.Check(r)...)
	if errs, warnings := faults.Split(false); len(errs) > 0 || len(warnings) != 5 {
		t.Errorf("got %v, want 5 warnings", faults)
	}
	note, _ := r.Class("note@app")
	node, _ := p.Node("app@n")
	sections, _ := p.Sections()
	list, _ := p.ViewModel(service.ListView, note, "")
	flows, _ := p.Workflows(note)
	mask, _ := p.Mask("m")
	if len(sections) != 1 || len(flows) != 1 || node.Section != "app@b" {
		t.Fatalf("got %d sections, %d workflows and a node in %s, want 1, 1 and app@b", len(sections), len(flows), node.Section)
	}
	for i, said := range []engine.Fields{node.Said, sections[0].Said, list.Said, flows[0].Said, mask} {
		if own, _ := said.Get("own"); string(engine.AppendValue(nil, own)) != "2" {
			t.Errorf("%d: got %v, want the later file", i, said)
		}
	}
}

// counting is a file system that counts how often each file is opened.
type counting struct {
	fs.FS
	mu     sync.Mutex
	opened map[string]int
}

func (c *counting) Open(name string) (fs.File, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if strings.Contains(name, ".") && name != "." {
		c.opened[name]++
	}
	return c.FS.Open(name)
}

// TestPresentationIsReadLate checks that a file is read once, when it is first used, even if several callers request
// it. A broken file must be left out: the other files are used, also in its place.
func TestPresentationIsReadLate(t *testing.T) {
	root := files(map[string]string{"views/note/list.json": `{"columns": []}`, "views/note/item.json": `{`, "views/book/list.json": `{}`,
		"navigation/a/n.json": `{`, "navigation/a/m.json": `{"code": "m"}`, "navigation/a.section.json": `{"name": "a"}`, "navigation/b.section.json": `{}`,
		"masks/m.json": `[]`, "masks/n.json": `{"name": "n", "mask": 9}`, "validators/v.json": `{"name": ""}`, "validators/w.json": `{"name": "w"}`})
	r, _ := presented(t, root, "app")
	c := &counting{FS: root, opened: map[string]int{}}
	p := NewPresentation(c, "app")
	note, _ := r.Class("note@app")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if v, err := p.ViewModel(service.ListView, note, ""); v == nil || err != nil {
				t.Errorf("ViewModel: got %v, %v, want a view", v, err)
			}
		})
	}
	all.Wait()
	if got := fmt.Sprint(c.opened); got != "map[views/note/list.json:1]" {
		t.Errorf("opened files: got %s, want views/note/list.json once", got)
	}
	if v, err := p.ViewModel(service.ItemView, note, ""); v != nil || err != nil {
		t.Errorf("a broken view: got %v, %v, want none", v, err)
	}
	if nodes, err := p.Nodes("a", ""); len(nodes) != 1 || err != nil {
		t.Errorf("beside a broken node: got %v, %v, want one node", nodes, err)
	}
	if sections, err := p.Sections(); len(sections) != 1 || err != nil {
		t.Errorf("beside a section without a name: got %v, %v, want one section", sections, err)
	}
	if m, err := p.Mask("n"); len(m) == 0 || err != nil {
		t.Errorf("a mask beside a broken one: got %v, %v, want a mask", m, err)
	}
	if all, err := p.Validators(); len(all) != 5 || err != nil {
		t.Errorf("beside a broken validator: got %d, %v, want 5", len(all), err)
	}
}

// TestNothingPresented checks an application without the folders. The presentation must have only the built-in
// validators.
func TestNothingPresented(t *testing.T) {
	r, p := presented(t, files(nil), "app")
	note, _ := r.Class("note@app")
	sections, err := p.Sections()
	node, err2 := p.NodeOf(note)
	mask, err3 := p.Mask("m")
	validators, err4 := p.Validators()
	if err := errors.Join(err, err2, err3, err4); err != nil || len(sections) > 0 || node != nil || len(mask) > 0 || len(validators) != 4 || len(p.Check(r)) > 0 {
		t.Errorf("got %v %v %v %v %v, want only 4 validators", err, sections, node, mask, validators)
	}
}
