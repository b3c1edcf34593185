package data

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/script/js"
	"restsrv/engine/script/limits"
	"restsrv/engine/script/vm"
	"restsrv/engine/service"
)

// TestUntouchedLinks checks that an item and its loaded items are written
// without JavaScript objects, and that reading one of them does not change the
// response.
func TestUntouchedLinks(t *testing.T) {
	c := newNode(t)
	target, members := c.Property("to"), c.Property("members")
	node := func(id string) *engine.Item {
		v := make(engine.Values, len(c.Properties))
		v[0], v[target.Index], v[3], v[4] = id, "b", engine.JSONText(`{"type":"Point","coordinates":[1.5,2]}`), int64(1)
		return &engine.Item{Class: c, ID: id, Values: v, Creator: "bob@local"}
	}
	a, b := node("a"), node("b")
	b.Links = make([]engine.Link, len(c.Properties))
	b.Links[members.Index] = engine.Link{Loaded: true, Shown: true, Items: []*engine.Item{a, node("c")}} // a is shortened within a
	a.Links = make([]engine.Link, len(c.Properties))
	a.Links[target.Index] = engine.Link{Loaded: true, Shown: true, Item: b}
	a.Links[members.Index] = engine.Link{Loaded: true, Items: []*engine.Item{b}} // loaded only for computations

	h := newTestData()
	o := h.ItemObject(a)
	it := itemOf(o)
	expectJSON(t, h, o, string(a.AppendJSON(nil)))
	if it.links != nil || it.base != nil || it.props != nil {
		t.Error("an item was converted without access by a script")
	}
	expectJSON(t, h, h.envelopeObject(a, nil), string(a.AppendJSON(nil)))
	for path, want := range map[string]string{"to.members.geo.type": ",", "to.members.id": "a,c"} {
		if got := it.getPath(path).String(); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}

// newTestData returns the binding of a VM that runs no turns.
func newTestData() *Binding {
	v := &vm.VM{Service: &vm.Service{Env: &service.Env{}}}
	v.Realm = js.New(&limits.Limits{}, v)
	h := New(v, nil, nil)
	h.FindBuiltins()
	return h
}

func expectJSON(t *testing.T, h *Binding, v goja.Value, want string) {
	t.Helper()
	w := js.NewWriter(h.Realm, 1<<20, 100)
	w.WriteValue(v)
	if got := string(w.Bytes()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// newNode creates a class with references between its items.
func newNode(t *testing.T) *engine.Class {
	t.Helper()
	target := &engine.Property{Name: "to", Type: engine.Reference, Nullable: true}
	members := &engine.Property{Name: "members", Type: engine.Collection, Nullable: true}
	c := &engine.Class{Name: "node", Namespace: "demo", Caption: "Node", Key: []string{"id"}, Properties: []*engine.Property{
		{Name: "id", Type: engine.String}, target, members, {Name: "geo", Type: engine.Geo, Nullable: true},
		{Name: "kind", Type: engine.Int, Nullable: true, Selection: &engine.Selection{Rows: []engine.SelectionRow{{Values: []engine.SelectionValue{{Key: "1", Label: "One"}}}}}},
	}}
	target.Target, members.Target = c, c
	if err := c.Init(); err != nil {
		t.Fatal(err)
	}
	c.Link()
	return c
}

// TestLoadedItemIsBounded checks the size limit for a single item, because a
// few items that are loaded into each other can have any size.
func TestLoadedItemIsBounded(t *testing.T) {
	node := newNode(t)
	to, members := node.Property("to"), node.Property("members")
	many := make([]*engine.Item, 0, 300)
	for i := range 300 {
		it := &engine.Item{Class: node, ID: fmt.Sprint(i), Values: make(engine.Values, len(node.Properties)), Links: make([]engine.Link, len(node.Properties))}
		it.Values[0] = it.ID
		many = append(many, it)
	}
	for _, it := range many {
		it.Links[members.Index] = engine.Link{Loaded: true, Shown: true, Items: many}
	}
	root := many[0].Clone()
	root.Links[to.Index] = engine.Link{Loaded: true, Shown: true, Item: many[1]}
	w := js.NewWriter(nil, 1<<30, 10)
	defer func() {
		if e, ok := recover().(js.ResultError); !ok || !strings.Contains(string(e), "larger") {
			t.Errorf("got %v, want a refusal of the size", e)
		}
	}()
	w.WriteItem(root)
	t.Errorf("%d bytes were written", len(w.Bytes()))
}

// TestWrittenNotRead checks that a write succeeds without the objects to load
// if the account may not read the item afterwards.
func TestWrittenNotRead(t *testing.T) {
	c := newNode(t)
	r := &jsRepository{arguments: arguments{repo: unread{}}}
	it := &engine.Item{Class: c, ID: "a", Values: make(engine.Values, len(c.Properties))}
	result, err := r.writeResult(t.Context(), it, nil, after{load: []*engine.Load{{Property: c.Property("to")}}})
	if err != nil || result == nil {
		t.Error("the write is answered with", err)
	}
}

// unread is a repository without read permission.
type unread struct{ engine.Repository }

func (unread) Get(context.Context, *engine.Class, string, ...*engine.Load) (*engine.Item, error) {
	return nil, engine.Denied()
}

// TestViewsAreNotKept checks that a VM does not keep the views of all accounts that it has served.
func TestViewsAreNotKept(t *testing.T) {
	h, c := newTestData(), newNode(t)
	base := h.classObject(c)
	for range maxViews * 2 {
		view := engine.NewViews(func(p *engine.Property) bool { return p.Name == "kind" }).Of(c)
		if first := h.classObject(view); h.classObject(view) != first {
			t.Error("a view has two objects")
		}
	}
	if len(h.classes) > maxViews+1 || h.classObject(c) != base {
		t.Errorf("%d classes are kept", len(h.classes))
	}
}
