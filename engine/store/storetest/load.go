package storetest

import (
	"testing"

	"restsrv/engine"
)

// World is a repository of people, who have a town and a boss. Towns belong to regions.
type World struct {
	engine.Repository
	Region, Town, Person *engine.Class
}

// Ref returns a new reference to a class.
func Ref(name string, target *engine.Class, change ...func(*engine.Property)) *engine.Property {
	p := Prop(name, engine.Reference, change...)
	p.Target = target
	return p
}

// Link resolves the references between classes, as engine/meta does after it has read all classes.
func Link(classes ...*engine.Class) {
	for _, c := range classes {
		c.Link()
	}
}

// BackProperty returns a virtual property for the target class of a reference. The parameter of is the class that
// declares the reference. For an item of the target class, the value of the property consists of the items that refer
// to this item.
func BackProperty(typ engine.PropertyType, name string, of *engine.Class, reference string) *engine.Property {
	p := Prop(name, typ)
	p.Target, p.Back = of, of.Property(reference)
	return p
}

// AddProperties adds properties to an existing class, for example properties that refer to the class itself.
func AddProperties(c *engine.Class, properties ...*engine.Property) {
	for _, p := range properties {
		p.OrderNumber, p.Definition = len(c.Properties), c.FullName
		c.Properties = append(c.Properties, p)
	}
	if err := c.Init(); err != nil {
		panic(err)
	}
}

// NewWorld returns a World without a repository. Use it if the test changes the classes before it opens the repository.
func NewWorld() *World {
	w := &World{}
	w.Region = NewClass("region", Prop("code", engine.Int), Prop("name", engine.String))
	w.Region.Semantic = "name"
	w.Town = NewClass("town", Prop("id", engine.GUID), Prop("name", engine.String), Ref("region", w.Region))
	w.Town.Semantic = "name|, |region"
	w.Person = NewClass("person", Prop("id", engine.GUID), Prop("name", engine.String), Ref("town", w.Town))
	AddProperties(w.Person, Ref("boss", w.Person))
	AddProperties(w.Person, BackProperty(engine.Collection, "staff", w.Person, "boss"))
	AddProperties(w.Town, BackProperty(engine.Collection, "people", w.Person, "town"), BackProperty(engine.Reference, "first", w.Person, "town"))
	Link(w.Region, w.Town, w.Person)
	return w
}

// OpenWorld opens a repository with the classes of a World and some items. Use it for tests of references.
func OpenWorld(t *testing.T, open Open) *World {
	w := NewWorld()
	w.Repository = open(t, []*engine.Class{w.Region, w.Town, w.Person})
	Create(t, w, w.Region, "code", int64(1), "name", "North")
	Create(t, w, w.Town, "id", "t1", "name", "Bergen", "region", int64(1))
	Create(t, w, w.Town, "id", "t2", "name", "Atlantis", "region", int64(9))
	Create(t, w, w.Person, "id", "ann", "name", "Ann", "town", "t1")
	Create(t, w, w.Person, "id", "bob", "name", "Bob", "town", "t1", "boss", "ann")
	Create(t, w, w.Person, "id", "cid", "name", "Cid", "town", "t2", "boss", "ann")
	Create(t, w, w.Person, "id", "dan", "name", "Dan", "town", "gone", "boss", "cid")
	return w
}

// NewLoad returns the Load for the path that starts at class c and follows the named properties. The loaded items are
// part of the response.
func NewLoad(c *engine.Class, names ...string) *engine.Load {
	p := c.Property(names[0])
	l := &engine.Load{Property: p, Shown: true}
	if len(names) > 1 {
		l.Next = []*engine.Load{NewLoad(p.Target, names[1:]...)}
	}
	return l
}

// ListLoaded returns the items that a query finds, by id, with the items that the query loads with them.
func ListLoaded(t *testing.T, r engine.Repository, q *engine.Query) map[string]*engine.Item {
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

// LinkOf returns the link of an item for the property with that name.
func LinkOf(it *engine.Item, name string) engine.Link { return it.Link(it.Class.Property(name)) }

// MemberIDs returns the ids of items.
func MemberIDs(items []*engine.Item) []string {
	found := []string{}
	for _, it := range items {
		found = append(found, it.ID)
	}
	return found
}
