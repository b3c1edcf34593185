package storetest

import (
	"testing"

	"restsrv/engine"
)

var loadTests = []test{
	{"a reference", loadReference},
	{"a path", loadPath},
	{"back references", loadBack},
	{"display strings", loadDisplay},
	{"display strings in a circle", loadCircle},
	{"nothing to load", loadNothing},
	{"members of descendants", loadDescendants},
	{"conditions with values of owners", loadOwners},
}

// world has regions with towns, and people with a town and a boss.
type world struct {
	engine.Repository
	region, town, person *engine.Class
}

// Ref returns a new reference to a class.
func Ref(name string, target *engine.Class, change ...func(*engine.Property)) *engine.Property {
	p := Prop(name, engine.Reference, change...)
	p.Target = target
	return p
}

// Link links classes that refer to each other, as engine/meta does after it has read all classes.
func Link(classes ...*engine.Class) {
	for _, c := range classes {
		c.Link()
	}
}

// back returns a property that is the other side of a reference.
func back(typ engine.PropertyType, name string, of *engine.Class, reference string) *engine.Property {
	p := Prop(name, typ)
	p.Target, p.Back = of, of.Property(reference)
	return p
}

// add adds properties to an existing class. Use it for properties that refer to the class itself.
func add(c *engine.Class, properties ...*engine.Property) {
	for _, p := range properties {
		p.OrderNumber, p.Definition = len(c.Properties), c.FullName
		c.Properties = append(c.Properties, p)
	}
	if err := c.Init(); err != nil {
		panic(err)
	}
}

func newWorld() *world {
	w := &world{}
	w.region = NewClass("region", Prop("code", engine.Int), Prop("name", engine.String))
	w.region.Semantic = "name"
	w.town = NewClass("town", Prop("id", engine.GUID), Prop("name", engine.String), Ref("region", w.region))
	w.town.Semantic = "name|, |region"
	w.person = NewClass("person", Prop("id", engine.GUID), Prop("name", engine.String), Ref("town", w.town))
	add(w.person, Ref("boss", w.person))
	add(w.person, back(engine.Collection, "staff", w.person, "boss"))
	add(w.town, back(engine.Collection, "people", w.person, "town"), back(engine.Reference, "first", w.person, "town"))
	Link(w.region, w.town, w.person)
	return w
}

func openWorld(t *testing.T, open Open) *world {
	w := newWorld()
	w.Repository = open(t, []*engine.Class{w.region, w.town, w.person})
	create(t, w, w.region, "code", int64(1), "name", "North")
	create(t, w, w.town, "id", "t1", "name", "Bergen", "region", int64(1))
	create(t, w, w.town, "id", "t2", "name", "Atlantis", "region", int64(9))
	create(t, w, w.person, "id", "ann", "name", "Ann", "town", "t1")
	create(t, w, w.person, "id", "bob", "name", "Bob", "town", "t1", "boss", "ann")
	create(t, w, w.person, "id", "cid", "name", "Cid", "town", "t2", "boss", "ann")
	create(t, w, w.person, "id", "dan", "name", "Dan", "town", "gone", "boss", "cid")
	return w
}

// load returns the Load for a path of a class. Its items are part of the answer.
func load(c *engine.Class, names ...string) *engine.Load {
	p := c.Property(names[0])
	l := &engine.Load{Property: p, Shown: true}
	if len(names) > 1 {
		l.Next = []*engine.Load{load(p.Target, names[1:]...)}
	}
	return l
}

// listed lists items with their loaded relations, by id.
func listed(t *testing.T, r engine.Repository, q *engine.Query) map[string]*engine.Item {
	t.Helper()
	found := map[string]*engine.Item{}
	err := r.List(t.Context(), q, func(it *engine.Item) error {
		found[it.ID] = it.Clone()
		return nil
	})
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	return found
}

func linkOf(it *engine.Item, name string) engine.Link { return it.Link(it.Class.Property(name)) }

func memberIDs(items []*engine.Item) []string {
	found := []string{}
	for _, it := range items {
		found = append(found, it.ID)
	}
	return found
}

func loadReference(t *testing.T, open Open) {
	w := openWorld(t, open)
	people := listed(t, w, &engine.Query{Class: w.person, Count: -1, Load: []*engine.Load{load(w.person, "town")}})
	same(t, "people", len(people), 4)
	for id, want := range map[string]string{"ann": "t1", "bob": "t1", "cid": "t2"} {
		link := linkOf(people[id], "town")
		if link.Item == nil || !link.Loaded || !link.Shown {
			t.Fatalf("town of %s: %+v", id, link)
		}
		same(t, "town of "+id, link.Item.ID, want)
		same(t, "values", link.Item.Values, get(t, w, w.town, want).Values)
		same(t, "boss of "+id, linkOf(people[id], "boss"), engine.Link{})
	}
	dangling := linkOf(people["dan"], "town")
	same(t, "dangling", []any{dangling.Loaded, dangling.Item, people["dan"].Get("town")}, []any{true, (*engine.Item)(nil), "gone"})
	one, err := w.Get(t.Context(), w.person, "bob", load(w.person, "boss"))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "boss of bob", linkOf(one, "boss").Item.ID, "ann")
}

func loadPath(t *testing.T, open Open) {
	w := openWorld(t, open)
	people := listed(t, w, &engine.Query{Class: w.person, Count: -1,
		Load: []*engine.Load{load(w.person, "town", "region"), load(w.person, "boss", "boss")}})
	same(t, "region", linkOf(linkOf(people["bob"], "town").Item, "region").Item.ID, "1")
	same(t, "region of nowhere", linkOf(linkOf(people["cid"], "town").Item, "region").Item, (*engine.Item)(nil))
	same(t, "boss of boss", linkOf(linkOf(people["dan"], "boss").Item, "boss").Item.ID, "ann")
	same(t, "no boss", linkOf(people["ann"], "boss").Item, (*engine.Item)(nil))
}

func loadBack(t *testing.T, open Open) {
	w := openWorld(t, open)
	towns := listed(t, w, &engine.Query{Class: w.town, Count: -1,
		Load: []*engine.Load{load(w.town, "people", "staff"), load(w.town, "first")}})
	same(t, "people of Bergen", memberIDs(linkOf(towns["t1"], "people").Items), []string{"ann", "bob"})
	same(t, "first of Bergen", linkOf(towns["t1"], "first").Item.ID, "ann")
	same(t, "people of Atlantis", memberIDs(linkOf(towns["t2"], "people").Items), []string{"cid"})
	ann := linkOf(towns["t1"], "people").Items[0]
	same(t, "staff of Ann", memberIDs(linkOf(ann, "staff").Items), []string{"bob", "cid"})
	w.person.Property("staff").Sorting = []engine.Sort{{Property: w.person.Property("name"), Descending: true}}
	one, err := w.Get(t.Context(), w.person, "ann", load(w.person, "staff"))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "sorted staff", memberIDs(linkOf(one, "staff").Items), []string{"cid", "bob"})
}

func loadDisplay(t *testing.T, open Open) {
	w := openWorld(t, open)
	town := get(t, w, w.town, "t1")
	same(t, "display string", town.String(), "Bergen, North")
	same(t, "it is not part of the answer", linkOf(town, "region").Shown, false)
	same(t, "dangling", get(t, w, w.town, "t2").String(), "Atlantis, 9")
	people := listed(t, w, &engine.Query{Class: w.person, Count: -1, Load: []*engine.Load{load(w.person, "town")}})
	same(t, "label of a loaded item", linkOf(people["ann"], "town").Item.String(), "Bergen, North")
}

func loadCircle(t *testing.T, open Open) {
	a := NewClass("a", Prop("id", engine.String), Prop("name", engine.String))
	add(a, Ref("next", a))
	a.Semantic = "name| |next"
	Link(a)
	r := open(t, []*engine.Class{a})
	create(t, r, a, "id", "1", "name", "one", "next", "2")
	create(t, r, a, "id", "2", "name", "two", "next", "1")
	same(t, "display string", get(t, r, a, "1").String(), "one two one two 1")
}

func loadNothing(t *testing.T, open Open) {
	w := openWorld(t, open)
	q := &engine.Query{Class: w.person, Count: -1, Load: []*engine.Load{load(w.person, "town")}}
	q.Filter = engine.Never()
	same(t, "people", len(listed(t, w, q)), 0)
}

func loadDescendants(t *testing.T, open Open) {
	thing := NewClass("thing", Prop("id", engine.String))
	shelf := NewClass("shelf", Prop("id", engine.String))
	book := Extend(thing, "book", Ref("shelf", shelf))
	toy := Extend(thing, "toy", Ref("shelf", shelf))
	Link(thing, shelf, book, toy)
	r := open(t, []*engine.Class{thing, book, toy, shelf})
	create(t, r, shelf, "id", "s")
	create(t, r, book, "id", "b", "shelf", "s")
	create(t, r, toy, "id", "t", "shelf", "s")
	create(t, r, thing, "id", "x")
	things := listed(t, r, &engine.Query{Class: thing, Count: -1, Load: []*engine.Load{load(book, "shelf")}})
	same(t, "shelf of the book", linkOf(things["b"], "shelf").Item.ID, "s")
	same(t, "shelf of the toy", linkOf(things["t"], "shelf").Loaded, false)
	same(t, "shelf of the thing", len(things["x"].Links), 0)
}
