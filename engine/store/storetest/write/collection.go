package write

import (
	"fmt"
	"testing"

	"restsrv/engine"
	"restsrv/engine/store/storetest"
)

var collectionTests = []storetest.Test{
	{Name: "links", Run: linking},
	{Name: "a mirrored pair", Run: mirrored},
	{Name: "records as members", Run: memberRecords},
	{Name: "back references", Run: backCollection},
	{Name: "a required back reference", Run: requiredBack},
	{Name: "a single back reference", Run: singleBack},
	{Name: "a back reference to another attribute", Run: bindingBack},
	{Name: "members that do not exist", Run: missingMembers},
	{Name: "members of the records of one save", Run: memberForward},
	{Name: "a write that only links", Run: onlyLinks},
	{Name: "deleted items", Run: deletedLinks},
	{Name: "many members", Run: manyMembers},
	{Name: "keys of other types", Run: typedLinks},
}

func linking(t *testing.T, open storetest.Open) {
	c := storetest.OpenClub(t, open)
	for i := range int64(6) {
		storetest.Create(t, c, c.Tag, "code", i)
	}
	tags := func(want ...string) {
		t.Helper()
		storetest.CheckSame(t, "tags", storetest.ListMembers(t, c, c.Person, "ann", "tags"), append([]string{}, want...))
	}
	it := storetest.Create(t, c, c.Person, "id", "ann", "tags", storetest.AddLinks("3", "1", "3"))
	storetest.CheckSame(t, "not a value", it.Get("tags"), nil)
	tags("3", "1") // in the order of adding, without repetition
	storetest.Update(t, c, c.Person, "ann", "tags", storetest.AddLinks("1", "2"))
	tags("3", "1", "2")
	storetest.Update(t, c, c.Person, "ann", "tags", storetest.RemoveLinks("1", "5"))
	tags("3", "2")
	storetest.Update(t, c, c.Person, "ann", "tags", storetest.ChangeLinks([]any{"1", "5"}, "3"))
	tags("2", "1", "5")
	storetest.Update(t, c, c.Person, "ann", "tags", storetest.ReplaceLinks("2", "4", "1", "4"))
	tags("2", "4", "1")
	storetest.Update(t, c, c.Person, "ann", "name", "Ann", "tags", nil) // null should not change the collection: responses contain null for a collection that is not loaded
	tags("2", "4", "1")
	storetest.Create(t, c, c.Person, "id", "bob", "tags", storetest.ReplaceLinks("1"))
	storetest.Update(t, c, c.Person, "ann", "tags", storetest.ReplaceLinks())
	tags()
	storetest.CheckSame(t, "another's", storetest.ListMembers(t, c, c.Person, "bob", "tags"), []string{"1"})
	items := storetest.Save(t, c, storetest.NewRecord(c.Person, "ann", "tags", storetest.AddLinks("5")), storetest.NewRecord(c.Person, "cid", "tags", storetest.AddLinks("1", "0")), storetest.NewRecord(c.Person, "ann", "tags", storetest.AddLinks("0")))
	storetest.CheckSame(t, "saved", []string{items[0].ID, items[1].ID}, []string{"ann", "cid"})
	tags("5", "0")
	storetest.CheckSame(t, "inserted", storetest.ListMembers(t, c, c.Person, "cid", "tags"), []string{"1", "0"})
	_, err := c.Update(t.Context(), c.Person, "ann", storetest.NewValues(c.Person, "tags", storetest.AddLinks("x")), engine.WriteOptions{})
	storetest.CheckSame(t, "no such id", storetest.CheckError(t, err, engine.Invalid, "dangling").Attribute, "tags")
}

func mirrored(t *testing.T, open storetest.Open) {
	c := storetest.OpenClub(t, open)
	for _, id := range []string{"ann", "bob", "cid"} {
		storetest.Create(t, c, c.Person, "id", id)
	}
	storetest.Create(t, c, c.Group, "id", "g", "people", storetest.AddLinks("bob", "ann"))
	storetest.Create(t, c, c.Group, "id", "h", "people", storetest.AddLinks("bob"))
	storetest.CheckSame(t, "the other side", storetest.ListMembers(t, c, c.Person, "bob", "groups"), []string{"g", "h"})
	storetest.Update(t, c, c.Person, "bob", "groups", storetest.RemoveLinks("g"))
	storetest.Update(t, c, c.Person, "cid", "groups", storetest.AddLinks("g"))
	storetest.CheckSame(t, "this side", storetest.ListMembers(t, c, c.Group, "g", "people"), []string{"ann", "cid"})
	storetest.Update(t, c, c.Person, "ann", "groups", storetest.ReplaceLinks("h", "g"))
	storetest.CheckSame(t, "h", storetest.ListMembers(t, c, c.Group, "h", "people"), []string{"bob", "ann"})
	storetest.CheckSame(t, "ann", storetest.ListMembers(t, c, c.Person, "ann", "groups"), []string{"h", "g"})
}

func memberRecords(t *testing.T, open storetest.Open) {
	c := storetest.OpenClub(t, open)
	storetest.Create(t, c, c.Tag, "code", int64(1), "name", "old")
	storetest.Create(t, c, c.Person, "id", "ann", "tags", storetest.AddLinks(storetest.NestedRecord(c.Tag, "code", int64(2), "name", "two"), "1", storetest.NestedRecord(c.Tag, "code", int64(1), "name", "new")))
	storetest.CheckSame(t, "tags", storetest.ListMembers(t, c, c.Person, "ann", "tags"), []string{"2", "1"})
	storetest.CheckSame(t, "saved", []any{storetest.Get(t, c, c.Tag, "1").Get("name"), storetest.Get(t, c, c.Tag, "2").Get("name")}, []any{"new", "two"})
	_, err := c.Update(t.Context(), c.Person, "ann", storetest.NewValues(c.Person, "tags", storetest.AddLinks("1", storetest.NestedRecord(c.Tag, "name", "no key"))), engine.WriteOptions{})
	storetest.CheckSame(t, "attribute", storetest.CheckError(t, err, engine.Invalid, "required").Attribute, "tags[1].code")
	// A new member may add members too.
	storetest.Create(t, c, c.Group, "id", "g", "people", storetest.AddLinks(storetest.NestedRecord(c.Person, "id", "bob", "tags", storetest.AddLinks("2"), "tasks", storetest.AddLinks(storetest.NestedRecord(c.Task, "id", "do")))))
	storetest.CheckSame(t, "of a member", []any{storetest.ListMembers(t, c, c.Person, "bob", "tags"), storetest.ListMembers(t, c, c.Person, "bob", "tasks")}, []any{[]string{"2"}, []string{"do"}})
}

func backCollection(t *testing.T, open storetest.Open) {
	c := storetest.OpenClub(t, open)
	storetest.Create(t, c, c.Person, "id", "ann", "tasks", storetest.AddLinks(storetest.NestedRecord(c.Task, "id", "new", "name", "n")))
	storetest.CheckSame(t, "prefilled", storetest.Get(t, c, c.Task, "new").Get("who"), "ann")
	storetest.Create(t, c, c.Person, "id", "bob")
	storetest.Create(t, c, c.Task, "id", "free")
	taken := storetest.Create(t, c, c.Task, "id", "taken", "who", "bob", "name", "t")
	storetest.Update(t, c, c.Person, "ann", "tasks", storetest.AddLinks("free", "taken"))
	storetest.CheckSame(t, "ann's", storetest.ListMembers(t, c, c.Person, "ann", "tasks"), []string{"new", "free", "taken"})
	storetest.CheckSame(t, "bob's", storetest.ListMembers(t, c, c.Person, "bob", "tasks"), []string{})
	it := storetest.Get(t, c, c.Task, "taken")
	storetest.CheckSame(t, "kept", it.Get("name"), "t")
	if it.Revision == taken.Revision {
		t.Error("got the same revision of the member, want a new one")
	}
	storetest.Update(t, c, c.Person, "bob", "tasks", storetest.RemoveLinks("free")) // has no effect, because bob does not have this task
	storetest.CheckSame(t, "still ann's", storetest.Get(t, c, c.Task, "free").Get("who"), "ann")
	storetest.Update(t, c, c.Person, "ann", "tasks", storetest.RemoveLinks("free"))
	storetest.CheckSame(t, "free again", storetest.Get(t, c, c.Task, "free").Get("who"), nil)
	storetest.Update(t, c, c.Person, "ann", "tasks", storetest.ReplaceLinks("free", "new"))
	storetest.CheckSame(t, "replaced", storetest.ListMembers(t, c, c.Person, "ann", "tasks"), []string{"new", "free"})
	storetest.CheckSame(t, "left", storetest.Get(t, c, c.Task, "taken").Get("who"), nil)
	storetest.Update(t, c, c.Person, "ann", "tasks", storetest.ReplaceLinks())
	storetest.CheckSame(t, "none", storetest.ListMembers(t, c, c.Person, "ann", "tasks"), []string{})
	storetest.CheckSame(t, "tasks", storetest.Count(t, c, c.Task), int64(3))
}

func requiredBack(t *testing.T, open storetest.Open) {
	order := storetest.NewClass("order", storetest.Prop("id", engine.String))
	line := storetest.NewClass("line", storetest.Prop("id", engine.GUID, storetest.Autoassigned), storetest.Ref("order", order, storetest.Required))
	storetest.AddProperties(order, storetest.BackProperty(engine.Collection, "lines", line, "order"))
	storetest.Link(order, line)
	r := open(t, []*engine.Class{order, line})
	storetest.Create(t, r, order, "id", "o", "lines", storetest.AddLinks(storetest.NestedRecord(line, "id", "l1"), storetest.NestedRecord(line, "id", "l2")))
	storetest.Create(t, r, order, "id", "p")
	for _, links := range []*engine.Links{storetest.RemoveLinks("l1"), storetest.ReplaceLinks("l2"), storetest.ReplaceLinks()} {
		_, err := r.Update(t.Context(), order, "o", storetest.NewValues(order, "lines", links), engine.WriteOptions{})
		e := storetest.CheckError(t, err, engine.Invalid, "required")
		storetest.CheckSame(t, "error", []string{e.Attribute, e.Class}, []string{"lines", line.FullName})
	}
	storetest.Update(t, r, order, "p", "lines", storetest.AddLinks("l1")) // allowed, because a member that moves to another owner always has an owner
	storetest.Update(t, r, order, "o", "lines", storetest.ReplaceLinks("l2"))
	storetest.CheckSame(t, "lines", []any{storetest.ListMembers(t, r, order, "o", "lines"), storetest.ListMembers(t, r, order, "p", "lines")}, []any{[]string{"l2"}, []string{"l1"}})
}

func singleBack(t *testing.T, open storetest.Open) {
	person := storetest.NewClass("person", storetest.Prop("id", engine.String))
	desk := storetest.NewClass("desk", storetest.Prop("id", engine.GUID, storetest.Autoassigned), storetest.Ref("who", person, storetest.Unique))
	storetest.AddProperties(person, storetest.BackProperty(engine.Reference, "desk", desk, "who"))
	storetest.Link(person, desk)
	r := open(t, []*engine.Class{person, desk})
	at := func(id string) any {
		t.Helper()
		it, err := r.Get(t.Context(), person, id, storetest.NewLoad(person, "desk"))
		if err != nil {
			t.Fatal(err)
		}
		if at := storetest.LinkOf(it, "desk").Item; at != nil {
			return at.ID
		}
		return nil
	}
	storetest.Create(t, r, person, "id", "ann", "desk", storetest.NestedRecord(desk, "id", "d1"))
	storetest.Create(t, r, desk, "id", "d2")
	storetest.CheckSame(t, "new", at("ann"), "d1")
	storetest.Update(t, r, person, "ann", "desk", "d2")
	storetest.CheckSame(t, "moved", []any{at("ann"), storetest.Get(t, r, desk, "d1").Get("who")}, []any{"d2", nil})
	storetest.Create(t, r, person, "id", "bob", "desk", "d1")
	storetest.Update(t, r, person, "bob", "desk", "d2")
	storetest.CheckSame(t, "taken over", []any{at("ann"), at("bob")}, []any{nil, "d2"})
	storetest.Update(t, r, person, "bob", "desk", storetest.NestedRecord(desk, "id", "d3"))
	storetest.CheckSame(t, "another new one", []any{at("bob"), storetest.Get(t, r, desk, "d2").Get("who")}, []any{"d3", nil})
	storetest.Update(t, r, person, "bob", "desk", storetest.NestedRecord(desk, "id", "d3"))
	storetest.CheckSame(t, "the same", at("bob"), "d3")
	storetest.Update(t, r, person, "bob", "desk", nil)
	storetest.CheckSame(t, "cleared", at("bob"), nil)
}

func bindingBack(t *testing.T, open storetest.Open) {
	house := storetest.NewClass("house", storetest.Prop("id", engine.String), storetest.Prop("street", engine.String))
	shop := storetest.NewClass("shop", storetest.Prop("id", engine.String), storetest.Ref("street", house))
	shops := storetest.BackProperty(engine.Collection, "shops", shop, "street")
	shops.Binding = house.Property("street")
	storetest.AddProperties(house, shops)
	storetest.Link(house, shop)
	r := open(t, []*engine.Class{house, shop})
	storetest.Create(t, r, shop, "id", "s1")
	storetest.Create(t, r, house, "id", "h", "street", "Main", "shops", storetest.AddLinks("s1", storetest.NestedRecord(shop, "id", "s2")))
	storetest.CheckSame(t, "streets", []any{storetest.Get(t, r, shop, "s1").Get("street"), storetest.Get(t, r, shop, "s2").Get("street")}, []any{"Main", "Main"})
	storetest.CheckSame(t, "shops", storetest.ListMembers(t, r, house, "h", "shops"), []string{"s1", "s2"})
	storetest.Update(t, r, house, "h", "shops", storetest.RemoveLinks("s1"))
	storetest.CheckSame(t, "shops", storetest.ListMembers(t, r, house, "h", "shops"), []string{"s2"})
	_, err := r.Create(t.Context(), house, storetest.NewValues(house, "id", "i", "shops", storetest.AddLinks("s1")), engine.WriteOptions{})
	storetest.CheckSame(t, "attribute", storetest.CheckError(t, err, engine.Invalid, "required").Attribute, "street")
	storetest.Update(t, r, house, "h", "id", "Main") // changes a key to which the shops do not refer
	storetest.Update(t, r, house, "Main", "id", "other")
	storetest.CheckSame(t, "not a key", storetest.Get(t, r, shop, "s2").Get("street"), "Main")
}

func missingMembers(t *testing.T, open storetest.Open) {
	c := storetest.OpenClub(t, open)
	storetest.Create(t, c, c.Person, "id", "ann", "tags", storetest.AddLinks("1"))
	storetest.CheckSame(t, "missing members are not loaded", storetest.ListMembers(t, c, c.Person, "ann", "tags"), []string{})
	storetest.Create(t, c, c.Tag, "code", int64(1))
	storetest.CheckSame(t, "it came later", storetest.ListMembers(t, c, c.Person, "ann", "tags"), []string{"1"})
	_, err := c.Update(t.Context(), c.Person, "ann", storetest.NewValues(c.Person, "tags", storetest.AddLinks("1", "9")), engine.WriteOptions{Handling: engine.Strict})
	e := storetest.CheckError(t, err, engine.Invalid, "dangling")
	storetest.CheckSame(t, "error", []string{e.Attribute, e.ID}, []string{"tags", "9"})
	// A missing member of a collection that is stored as references cannot be added.
	_, err = c.Update(t.Context(), c.Person, "ann", storetest.NewValues(c.Person, "tasks", storetest.AddLinks("none")), engine.WriteOptions{})
	storetest.CheckSame(t, "attribute", storetest.CheckError(t, err, engine.Invalid, "dangling").Attribute, "tasks")
	storetest.CheckSame(t, "tags", storetest.ListMembers(t, c, c.Person, "ann", "tags"), []string{"1"})
}

// memberForward adds members to a collection that are created by later records of the same save.
func memberForward(t *testing.T, open storetest.Open) {
	c := storetest.OpenClub(t, open)
	records := []engine.Record{
		storetest.NewRecord(c.Person, "ann", "tasks", storetest.AddLinks("t1", "t2"), "tags", storetest.AddLinks("7")),
		storetest.NewRecord(c.Task, "t2"), storetest.NewRecord(c.Tag, "7"), storetest.NewRecord(c.Task, "t1", "name", "first"),
	}
	records[0].Handling = engine.Strict
	storetest.Save(t, c, records...)
	storetest.CheckSame(t, "tasks", storetest.ListMembers(t, c, c.Person, "ann", "tasks"), []string{"t2", "t1"})
	storetest.CheckSame(t, "tags", storetest.ListMembers(t, c, c.Person, "ann", "tags"), []string{"7"})
	records = []engine.Record{storetest.NewRecord(c.Person, "bob"), storetest.NewRecord(c.Person, "ann", "tasks", storetest.AddLinks("t9"))}
	_, err := c.Save(t.Context(), records)
	e := storetest.CheckError(t, err, engine.Invalid, "dangling")
	storetest.CheckSame(t, "record", []any{e.Bulk, e.Index, e.Attribute}, []any{true, 1, "tasks"})
}

func onlyLinks(t *testing.T, open storetest.Open) {
	c := storetest.OpenClub(t, open)
	before := storetest.Create(t, c, c.Person, "id", "ann", "name", "Ann")
	storetest.Create(t, c, c.Tag, "code", int64(1))
	it, err := c.Update(storetest.WithAccount(t, "eve@local"), c.Person, "ann", storetest.NewValues(c.Person, "tags", storetest.AddLinks("1")), engine.WriteOptions{Match: &engine.Match{Revisions: []uint64{before.Revision}}})
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "item", []any{it.Get("name"), it.Editor}, []any{"Ann", "eve@local"})
	if it.Revision == before.Revision {
		t.Error("the revision did not change")
	}
	_, err = c.Update(t.Context(), c.Person, "ann", storetest.NewValues(c.Person, "tags", storetest.RemoveLinks("1")), engine.WriteOptions{Match: &engine.Match{Revisions: []uint64{before.Revision}}})
	storetest.CheckError(t, err, engine.Unmatched, "")
	_, err = c.Update(t.Context(), c.Person, "nobody", storetest.NewValues(c.Person, "tags", storetest.AddLinks("1")), engine.WriteOptions{})
	storetest.CheckError(t, err, engine.NotFound, "unknown-object")
	storetest.CheckSame(t, "tags", storetest.ListMembers(t, c, c.Person, "ann", "tags"), []string{"1"})
}

func deletedLinks(t *testing.T, open storetest.Open) {
	c := storetest.OpenClub(t, open)
	storetest.Create(t, c, c.Tag, "code", int64(1))
	storetest.Create(t, c, c.Person, "id", "ann", "tags", storetest.AddLinks("1"), "tasks", storetest.AddLinks(storetest.NestedRecord(c.Task, "id", "t")))
	storetest.Create(t, c, c.Group, "id", "g", "people", storetest.AddLinks("ann"))
	for _, gone := range []struct {
		class *engine.Class
		id    string
	}{{c.Tag, "1"}, {c.Person, "ann"}} {
		if err := c.Delete(t.Context(), gone.class, gone.id, nil); err != nil {
			t.Fatal(err)
		}
	}
	storetest.CheckSame(t, "a reference dangles", storetest.Get(t, c, c.Task, "t").Get("who"), "ann")
	storetest.Create(t, c, c.Tag, "code", int64(1))
	storetest.Create(t, c, c.Person, "id", "ann") // a new item with the same id should not get the former links
	storetest.CheckSame(t, "links", []any{storetest.ListMembers(t, c, c.Person, "ann", "tags"), storetest.ListMembers(t, c, c.Group, "g", "people")}, []any{[]string{}, []string{}})
}

func manyMembers(t *testing.T, open storetest.Open) {
	c := storetest.OpenClub(t, open)
	const n = 1100
	var tags []engine.Record
	var ids, odd []any
	var even []string
	for i := range n {
		id := fmt.Sprint(i)
		tags = append(tags, storetest.NewRecord(c.Tag, id))
		ids = append(ids, id)
		if i%2 == 1 {
			odd = append(odd, id)
		} else {
			even = append(even, id)
		}
	}
	storetest.Save(t, c, tags...)
	storetest.Create(t, c, c.Person, "id", "ann", "tags", storetest.AddLinks(ids...))
	storetest.CheckSame(t, "all", len(storetest.ListMembers(t, c, c.Person, "ann", "tags")), n)
	storetest.Update(t, c, c.Person, "ann", "tags", storetest.ReplaceLinks(odd...))
	storetest.CheckSame(t, "odd", len(storetest.ListMembers(t, c, c.Person, "ann", "tags")), n/2)
	storetest.Update(t, c, c.Person, "ann", "tags", storetest.ChangeLinks([]any{"0"}, even...))
	storetest.CheckSame(t, "removed and added", storetest.ListMembers(t, c, c.Person, "ann", "tags")[n/2:], []string{"0"})
}

// typedLinks stores links to items with composite keys, and to items with ids that are not texts.
func typedLinks(t *testing.T, open storetest.Open) {
	day := storetest.NewClass("day", storetest.Prop("at", engine.DateTime), storetest.Prop("name", engine.String))
	place := &engine.Class{Name: "place", Namespace: "test", Key: []string{"row", "seat"}, Properties: []*engine.Property{
		{Name: "row", Type: engine.Int}, {Name: "seat", Type: engine.String, OrderNumber: 1},
		{Name: "days", Type: engine.Collection, Target: day, Nullable: true, OrderNumber: 2, Definition: "place@test"},
	}}
	if err := place.Init(); err != nil {
		t.Fatal(err)
	}
	storetest.AddProperties(day, storetest.Ref("main", place), storetest.LinkCollection("places", place))
	storetest.AddProperties(place, storetest.BackProperty(engine.Collection, "mains", day, "main"))
	storetest.Link(day, place)
	r := open(t, []*engine.Class{day, place})
	at := engine.Instant(1_000_000_000_123)
	storetest.Create(t, r, day, "at", at)
	storetest.Create(t, r, place, "row", int64(3), "seat", "a_b", "days", storetest.AddLinks(at.String()), "mains", storetest.AddLinks(at.String()))
	storetest.CheckSame(t, "days", storetest.ListMembers(t, r, place, "3_a_b", "days"), []string{at.String()})
	storetest.CheckSame(t, "mains", storetest.ListMembers(t, r, place, "3_a_b", "mains"), []string{at.String()})
	storetest.CheckSame(t, "a reference", storetest.Get(t, r, day, at.String()).Get("main"), "3_a_b")
	storetest.Update(t, r, day, at.String(), "places", storetest.AddLinks("3_a_b", storetest.NestedRecord(place, "row", int64(4), "seat", "c")))
	storetest.CheckSame(t, "places", storetest.ListMembers(t, r, day, at.String(), "places"), []string{"3_a_b", "4_c"})
	storetest.Update(t, r, place, "3_a_b", "days", storetest.ReplaceLinks(), "mains", storetest.ReplaceLinks())
	storetest.CheckSame(t, "none", []any{storetest.ListMembers(t, r, place, "3_a_b", "days"), storetest.ListMembers(t, r, place, "3_a_b", "mains")}, []any{[]string{}, []string{}})
}
