package read

import (
	"testing"

	"restsrv/engine"
	"restsrv/engine/store/storetest"
)

var loadTests = []storetest.Test{
	{Name: "a reference", Run: loadReference},
	{Name: "a path", Run: loadPath},
	{Name: "back references", Run: loadBack},
	{Name: "display strings", Run: loadDisplay},
	{Name: "display strings in a circle", Run: loadCircle},
	{Name: "nothing to load", Run: loadNothing},
	{Name: "members of descendants", Run: loadDescendants},
	{Name: "conditions with values of owners", Run: loadOwners},
}

func loadReference(t *testing.T, open storetest.Open) {
	w := storetest.OpenWorld(t, open)
	people := storetest.ListLoaded(t, w, &engine.Query{Class: w.Person, Count: -1, Load: []*engine.Load{storetest.NewLoad(w.Person, "town")}})
	storetest.CheckSame(t, "people", len(people), 4)
	for id, want := range map[string]string{"ann": "t1", "bob": "t1", "cid": "t2"} {
		link := storetest.LinkOf(people[id], "town")
		if link.Item == nil || !link.Loaded || !link.Shown {
			t.Fatalf("town of %s: %+v", id, link)
		}
		storetest.CheckSame(t, "town of "+id, link.Item.ID, want)
		storetest.CheckSame(t, "values", link.Item.Values, storetest.Get(t, w, w.Town, want).Values)
		storetest.CheckSame(t, "boss of "+id, storetest.LinkOf(people[id], "boss"), engine.Link{})
	}
	dangling := storetest.LinkOf(people["dan"], "town")
	storetest.CheckSame(t, "dangling", []any{dangling.Loaded, dangling.Item, people["dan"].Get("town")}, []any{true, (*engine.Item)(nil), "gone"})
	one, err := w.Get(t.Context(), w.Person, "bob", storetest.NewLoad(w.Person, "boss"))
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "boss of bob", storetest.LinkOf(one, "boss").Item.ID, "ann")
}

func loadPath(t *testing.T, open storetest.Open) {
	w := storetest.OpenWorld(t, open)
	people := storetest.ListLoaded(t, w, &engine.Query{Class: w.Person, Count: -1,
		Load: []*engine.Load{storetest.NewLoad(w.Person, "town", "region"), storetest.NewLoad(w.Person, "boss", "boss")}})
	storetest.CheckSame(t, "region", storetest.LinkOf(storetest.LinkOf(people["bob"], "town").Item, "region").Item.ID, "1")
	storetest.CheckSame(t, "region of nowhere", storetest.LinkOf(storetest.LinkOf(people["cid"], "town").Item, "region").Item, (*engine.Item)(nil))
	storetest.CheckSame(t, "boss of boss", storetest.LinkOf(storetest.LinkOf(people["dan"], "boss").Item, "boss").Item.ID, "ann")
	storetest.CheckSame(t, "no boss", storetest.LinkOf(people["ann"], "boss").Item, (*engine.Item)(nil))
}

func loadBack(t *testing.T, open storetest.Open) {
	w := storetest.OpenWorld(t, open)
	towns := storetest.ListLoaded(t, w, &engine.Query{Class: w.Town, Count: -1,
		Load: []*engine.Load{storetest.NewLoad(w.Town, "people", "staff"), storetest.NewLoad(w.Town, "first")}})
	storetest.CheckSame(t, "people of Bergen", storetest.MemberIDs(storetest.LinkOf(towns["t1"], "people").Items), []string{"ann", "bob"})
	storetest.CheckSame(t, "first of Bergen", storetest.LinkOf(towns["t1"], "first").Item.ID, "ann")
	storetest.CheckSame(t, "people of Atlantis", storetest.MemberIDs(storetest.LinkOf(towns["t2"], "people").Items), []string{"cid"})
	ann := storetest.LinkOf(towns["t1"], "people").Items[0]
	storetest.CheckSame(t, "staff of Ann", storetest.MemberIDs(storetest.LinkOf(ann, "staff").Items), []string{"bob", "cid"})
	w.Person.Property("staff").Sorting = []engine.Sort{{Property: w.Person.Property("name"), Descending: true}}
	one, err := w.Get(t.Context(), w.Person, "ann", storetest.NewLoad(w.Person, "staff"))
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "sorted staff", storetest.MemberIDs(storetest.LinkOf(one, "staff").Items), []string{"cid", "bob"})
}

func loadDisplay(t *testing.T, open storetest.Open) {
	w := storetest.OpenWorld(t, open)
	town := storetest.Get(t, w, w.Town, "t1")
	storetest.CheckSame(t, "display string", town.String(), "Bergen, North")
	storetest.CheckSame(t, "it is not part of the answer", storetest.LinkOf(town, "region").Shown, false)
	storetest.CheckSame(t, "dangling", storetest.Get(t, w, w.Town, "t2").String(), "Atlantis, 9")
	people := storetest.ListLoaded(t, w, &engine.Query{Class: w.Person, Count: -1, Load: []*engine.Load{storetest.NewLoad(w.Person, "town")}})
	storetest.CheckSame(t, "label of a loaded item", storetest.LinkOf(people["ann"], "town").Item.String(), "Bergen, North")
}

func loadCircle(t *testing.T, open storetest.Open) {
	a := storetest.NewClass("a", storetest.Prop("id", engine.String), storetest.Prop("name", engine.String))
	storetest.AddProperties(a, storetest.Ref("next", a))
	a.Semantic = "name| |next"
	storetest.Link(a)
	r := open(t, []*engine.Class{a})
	storetest.Create(t, r, a, "id", "1", "name", "one", "next", "2")
	storetest.Create(t, r, a, "id", "2", "name", "two", "next", "1")
	storetest.CheckSame(t, "display string", storetest.Get(t, r, a, "1").String(), "one two one two 1")
}

func loadNothing(t *testing.T, open storetest.Open) {
	w := storetest.OpenWorld(t, open)
	q := &engine.Query{Class: w.Person, Count: -1, Load: []*engine.Load{storetest.NewLoad(w.Person, "town")}}
	q.Filter = engine.Never()
	storetest.CheckSame(t, "people", len(storetest.ListLoaded(t, w, q)), 0)
}

func loadDescendants(t *testing.T, open storetest.Open) {
	thing := storetest.NewClass("thing", storetest.Prop("id", engine.String))
	shelf := storetest.NewClass("shelf", storetest.Prop("id", engine.String))
	book := storetest.Extend(thing, "book", storetest.Ref("shelf", shelf))
	toy := storetest.Extend(thing, "toy", storetest.Ref("shelf", shelf))
	storetest.Link(thing, shelf, book, toy)
	r := open(t, []*engine.Class{thing, book, toy, shelf})
	storetest.Create(t, r, shelf, "id", "s")
	storetest.Create(t, r, book, "id", "b", "shelf", "s")
	storetest.Create(t, r, toy, "id", "t", "shelf", "s")
	storetest.Create(t, r, thing, "id", "x")
	things := storetest.ListLoaded(t, r, &engine.Query{Class: thing, Count: -1, Load: []*engine.Load{storetest.NewLoad(book, "shelf")}})
	storetest.CheckSame(t, "shelf of the book", storetest.LinkOf(things["b"], "shelf").Item.ID, "s")
	storetest.CheckSame(t, "shelf of the toy", storetest.LinkOf(things["t"], "shelf").Loaded, false)
	storetest.CheckSame(t, "shelf of the thing", len(things["x"].Links), 0)
}
