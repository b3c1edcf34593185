package script

import (
	"fmt"
	"strings"
	"testing"

	"restsrv/engine"
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

	app := newApp(t, Limits{}, false)
	v, err := app.load(`module.exports = {'GET /': () => 1}`).newLoadedVM()
	if err != nil {
		t.Fatal(err)
	}
	defer v.dispose()
	v.do(task{nil, func() error {
		o := v.data.itemObject(a)
		it := itemOf(o)
		plain, _ := v.exchange.toJSON(o)
		expect(t, string(plain), string(a.AppendJSON(nil)))
		if it.links != nil || it.base != nil || it.props != nil {
			t.Error("an item was converted without access by a script")
		}
		touched, _ := v.exchange.toJSON(v.data.envelopeObject(a, nil))
		expect(t, string(touched), string(plain))
		expect(t, it.getPath("to.members.geo.type").String(), ",")
		expect(t, it.getPath("to.members.id").String(), "a,c")
		return nil
	}}, true)
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
	w := writer{size: 1 << 30, deep: 10}
	defer func() {
		if e, ok := recover().(errResult); !ok || !strings.Contains(string(e), "larger") {
			t.Errorf("got %v, want a refusal of the size", e)
		}
	}()
	w.writeItem(root)
	t.Errorf("%d bytes were written", len(w.buf))
}
