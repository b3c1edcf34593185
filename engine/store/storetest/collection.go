package storetest

import (
	"fmt"
	"testing"

	"restsrv/engine"
)

var collectionTests = []test{
	{"links", linking},
	{"a mirrored pair", mirrored},
	{"records as members", memberRecords},
	{"back references", backCollection},
	{"a required back reference", requiredBack},
	{"a single back reference", singleBack},
	{"a back reference to another attribute", bindingBack},
	{"members that do not exist", missingMembers},
	{"members of the records of one save", memberForward},
	{"a write that only links", onlyLinks},
	{"deleted items", deletedLinks},
	{"many members", manyMembers},
	{"keys of other types", typedLinks},
}

// club has people in groups, a pair of mirrored collections, people with tags, a collection without
// mirror, and tasks that refer to a person.
type club struct {
	engine.Repository
	person, group, tag, task *engine.Class
}

// nm returns a new n:m collection.
func nm(name string, of *engine.Class) *engine.Property {
	p := Prop(name, engine.Collection)
	p.Target = of
	return p
}

func openClub(t *testing.T, open Open) *club {
	c := &club{}
	c.tag = NewClass("tag", Prop("code", engine.Int), Prop("name", engine.String))
	c.person = NewClass("person", Prop("id", engine.GUID, autoassigned), Prop("name", engine.String), nm("tags", c.tag))
	c.group = NewClass("group", Prop("id", engine.String), nm("people", c.person))
	c.task = NewClass("task", Prop("id", engine.GUID, autoassigned), Prop("name", engine.String), Ref("who", c.person))
	add(c.person, nm("groups", c.group), back(engine.Collection, "tasks", c.task, "who"))
	groups, people := c.person.Property("groups"), c.group.Property("people")
	groups.Mirror, people.Mirror = people, groups
	Link(c.tag, c.person, c.group, c.task)
	c.Repository = open(t, []*engine.Class{c.tag, c.person, c.group, c.task})
	return c
}

func put(ids ...any) *engine.Links                 { return &engine.Links{Add: ids} }
func eject(ids ...string) *engine.Links            { return &engine.Links{Remove: ids} }
func replaced(members ...any) *engine.Links        { return &engine.Links{Replace: true, Add: members} }
func change(in []any, out ...string) *engine.Links { return &engine.Links{Add: in, Remove: out} }

// members returns the ids of the members of a collection.
func members(t *testing.T, r engine.Repository, c *engine.Class, id, collection string) []string {
	t.Helper()
	it, err := r.Get(t.Context(), c, id, load(c, collection))
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{}, memberIDs(linkOf(it, collection).Items)...)
}

func linking(t *testing.T, open Open) {
	c := openClub(t, open)
	for i := range int64(6) {
		create(t, c, c.tag, "code", i)
	}
	tags := func(want ...string) {
		t.Helper()
		same(t, "tags", members(t, c, c.person, "ann", "tags"), append([]string{}, want...))
	}
	it := create(t, c, c.person, "id", "ann", "tags", put("3", "1", "3"))
	same(t, "not a value", it.Get("tags"), nil)
	tags("3", "1") // in the order of adding, without repetition
	update(t, c, c.person, "ann", "tags", put("1", "2"))
	tags("3", "1", "2")
	update(t, c, c.person, "ann", "tags", eject("1", "5"))
	tags("3", "2")
	update(t, c, c.person, "ann", "tags", change([]any{"1", "5"}, "3"))
	tags("2", "1", "5")
	update(t, c, c.person, "ann", "tags", replaced("2", "4", "1", "4"))
	tags("2", "4", "1")
	update(t, c, c.person, "ann", "name", "Ann", "tags", nil) // null is the answer for a collection that is not loaded
	tags("2", "4", "1")
	create(t, c, c.person, "id", "bob", "tags", replaced("1"))
	update(t, c, c.person, "ann", "tags", replaced())
	tags()
	same(t, "another's", members(t, c, c.person, "bob", "tags"), []string{"1"})
	items := save(t, c, record(c.person, "ann", "tags", put("5")), record(c.person, "cid", "tags", put("1", "0")), record(c.person, "ann", "tags", put("0")))
	same(t, "saved", []string{items[0].ID, items[1].ID}, []string{"ann", "cid"})
	tags("5", "0")
	same(t, "inserted", members(t, c, c.person, "cid", "tags"), []string{"1", "0"})
	_, err := c.Update(t.Context(), c.person, "ann", values(c.person, "tags", put("x")), engine.WriteOptions{})
	same(t, "no such id", fails(t, err, engine.Invalid, "dangling").Attribute, "tags")
}

func mirrored(t *testing.T, open Open) {
	c := openClub(t, open)
	for _, id := range []string{"ann", "bob", "cid"} {
		create(t, c, c.person, "id", id)
	}
	create(t, c, c.group, "id", "g", "people", put("bob", "ann"))
	create(t, c, c.group, "id", "h", "people", put("bob"))
	same(t, "the other side", members(t, c, c.person, "bob", "groups"), []string{"g", "h"})
	update(t, c, c.person, "bob", "groups", eject("g"))
	update(t, c, c.person, "cid", "groups", put("g"))
	same(t, "this side", members(t, c, c.group, "g", "people"), []string{"ann", "cid"})
	update(t, c, c.person, "ann", "groups", replaced("h", "g"))
	same(t, "h", members(t, c, c.group, "h", "people"), []string{"bob", "ann"})
	same(t, "ann", members(t, c, c.person, "ann", "groups"), []string{"h", "g"})
}

func memberRecords(t *testing.T, open Open) {
	c := openClub(t, open)
	create(t, c, c.tag, "code", int64(1), "name", "old")
	create(t, c, c.person, "id", "ann", "tags", put(sub(c.tag, "code", int64(2), "name", "two"), "1", sub(c.tag, "code", int64(1), "name", "new")))
	same(t, "tags", members(t, c, c.person, "ann", "tags"), []string{"2", "1"})
	same(t, "saved", []any{get(t, c, c.tag, "1").Get("name"), get(t, c, c.tag, "2").Get("name")}, []any{"new", "two"})
	_, err := c.Update(t.Context(), c.person, "ann", values(c.person, "tags", put("1", sub(c.tag, "name", "no key"))), engine.WriteOptions{})
	same(t, "attribute", fails(t, err, engine.Invalid, "required").Attribute, "tags[1].code")
	// A new member may add members too.
	create(t, c, c.group, "id", "g", "people", put(sub(c.person, "id", "bob", "tags", put("2"), "tasks", put(sub(c.task, "id", "do")))))
	same(t, "of a member", []any{members(t, c, c.person, "bob", "tags"), members(t, c, c.person, "bob", "tasks")}, []any{[]string{"2"}, []string{"do"}})
}

func backCollection(t *testing.T, open Open) {
	c := openClub(t, open)
	create(t, c, c.person, "id", "ann", "tasks", put(sub(c.task, "id", "new", "name", "n")))
	same(t, "prefilled", get(t, c, c.task, "new").Get("who"), "ann")
	create(t, c, c.person, "id", "bob")
	create(t, c, c.task, "id", "free")
	taken := create(t, c, c.task, "id", "taken", "who", "bob", "name", "t")
	update(t, c, c.person, "ann", "tasks", put("free", "taken"))
	same(t, "ann's", members(t, c, c.person, "ann", "tasks"), []string{"new", "free", "taken"})
	same(t, "bob's", members(t, c, c.person, "bob", "tasks"), []string{})
	it := get(t, c, c.task, "taken")
	same(t, "kept", it.Get("name"), "t")
	if it.Revision == taken.Revision {
		t.Error("got the same revision of the member, want a new one")
	}
	update(t, c, c.person, "bob", "tasks", eject("free")) // bob does not have this task
	same(t, "still ann's", get(t, c, c.task, "free").Get("who"), "ann")
	update(t, c, c.person, "ann", "tasks", eject("free"))
	same(t, "free again", get(t, c, c.task, "free").Get("who"), nil)
	update(t, c, c.person, "ann", "tasks", replaced("free", "new"))
	same(t, "replaced", members(t, c, c.person, "ann", "tasks"), []string{"new", "free"})
	same(t, "left", get(t, c, c.task, "taken").Get("who"), nil)
	update(t, c, c.person, "ann", "tasks", replaced())
	same(t, "none", members(t, c, c.person, "ann", "tasks"), []string{})
	same(t, "tasks", count(t, c, c.task), int64(3))
}

func requiredBack(t *testing.T, open Open) {
	order := NewClass("order", Prop("id", engine.String))
	line := NewClass("line", Prop("id", engine.GUID, autoassigned), Ref("order", order, required))
	add(order, back(engine.Collection, "lines", line, "order"))
	Link(order, line)
	r := open(t, []*engine.Class{order, line})
	create(t, r, order, "id", "o", "lines", put(sub(line, "id", "l1"), sub(line, "id", "l2")))
	create(t, r, order, "id", "p")
	for _, links := range []*engine.Links{eject("l1"), replaced("l2"), replaced()} {
		_, err := r.Update(t.Context(), order, "o", values(order, "lines", links), engine.WriteOptions{})
		e := fails(t, err, engine.Invalid, "required")
		same(t, "error", []string{e.Attribute, e.Class}, []string{"lines", line.FullName})
	}
	update(t, r, order, "p", "lines", put("l1")) // moving a member to another owner does not leave the reference empty
	update(t, r, order, "o", "lines", replaced("l2"))
	same(t, "lines", []any{members(t, r, order, "o", "lines"), members(t, r, order, "p", "lines")}, []any{[]string{"l2"}, []string{"l1"}})
}

func singleBack(t *testing.T, open Open) {
	person := NewClass("person", Prop("id", engine.String))
	desk := NewClass("desk", Prop("id", engine.GUID, autoassigned), Ref("who", person, unique))
	add(person, back(engine.Reference, "desk", desk, "who"))
	Link(person, desk)
	r := open(t, []*engine.Class{person, desk})
	at := func(id string) any {
		t.Helper()
		it, err := r.Get(t.Context(), person, id, load(person, "desk"))
		if err != nil {
			t.Fatal(err)
		}
		if at := linkOf(it, "desk").Item; at != nil {
			return at.ID
		}
		return nil
	}
	create(t, r, person, "id", "ann", "desk", sub(desk, "id", "d1"))
	create(t, r, desk, "id", "d2")
	same(t, "new", at("ann"), "d1")
	update(t, r, person, "ann", "desk", "d2")
	same(t, "moved", []any{at("ann"), get(t, r, desk, "d1").Get("who")}, []any{"d2", nil})
	create(t, r, person, "id", "bob", "desk", "d1")
	update(t, r, person, "bob", "desk", "d2")
	same(t, "taken over", []any{at("ann"), at("bob")}, []any{nil, "d2"})
	update(t, r, person, "bob", "desk", sub(desk, "id", "d3"))
	same(t, "another new one", []any{at("bob"), get(t, r, desk, "d2").Get("who")}, []any{"d3", nil})
	update(t, r, person, "bob", "desk", sub(desk, "id", "d3"))
	same(t, "the same", at("bob"), "d3")
	update(t, r, person, "bob", "desk", nil)
	same(t, "cleared", at("bob"), nil)
}

func bindingBack(t *testing.T, open Open) {
	house := NewClass("house", Prop("id", engine.String), Prop("street", engine.String))
	shop := NewClass("shop", Prop("id", engine.String), Ref("street", house))
	shops := back(engine.Collection, "shops", shop, "street")
	shops.Binding = house.Property("street")
	add(house, shops)
	Link(house, shop)
	r := open(t, []*engine.Class{house, shop})
	create(t, r, shop, "id", "s1")
	create(t, r, house, "id", "h", "street", "Main", "shops", put("s1", sub(shop, "id", "s2")))
	same(t, "streets", []any{get(t, r, shop, "s1").Get("street"), get(t, r, shop, "s2").Get("street")}, []any{"Main", "Main"})
	same(t, "shops", members(t, r, house, "h", "shops"), []string{"s1", "s2"})
	update(t, r, house, "h", "shops", eject("s1"))
	same(t, "shops", members(t, r, house, "h", "shops"), []string{"s2"})
	_, err := r.Create(t.Context(), house, values(house, "id", "i", "shops", put("s1")), engine.WriteOptions{})
	same(t, "attribute", fails(t, err, engine.Invalid, "required").Attribute, "street")
	update(t, r, house, "h", "id", "Main") // a key to which the shops do not refer
	update(t, r, house, "Main", "id", "other")
	same(t, "not a key", get(t, r, shop, "s2").Get("street"), "Main")
}

func missingMembers(t *testing.T, open Open) {
	c := openClub(t, open)
	create(t, c, c.person, "id", "ann", "tags", put("1"))
	same(t, "missing members are not loaded", members(t, c, c.person, "ann", "tags"), []string{})
	create(t, c, c.tag, "code", int64(1))
	same(t, "it came later", members(t, c, c.person, "ann", "tags"), []string{"1"})
	_, err := c.Update(t.Context(), c.person, "ann", values(c.person, "tags", put("1", "9")), engine.WriteOptions{Handling: engine.Strict})
	e := fails(t, err, engine.Invalid, "dangling")
	same(t, "error", []string{e.Attribute, e.ID}, []string{"tags", "9"})
	// A back reference to a missing member cannot be stored.
	_, err = c.Update(t.Context(), c.person, "ann", values(c.person, "tasks", put("none")), engine.WriteOptions{})
	same(t, "attribute", fails(t, err, engine.Invalid, "dangling").Attribute, "tasks")
	same(t, "tags", members(t, c, c.person, "ann", "tags"), []string{"1"})
}

// memberForward names members that later records of the same save create.
func memberForward(t *testing.T, open Open) {
	c := openClub(t, open)
	records := []engine.Record{
		record(c.person, "ann", "tasks", put("t1", "t2"), "tags", put("7")),
		record(c.task, "t2"), record(c.tag, "7"), record(c.task, "t1", "name", "first"),
	}
	records[0].Handling = engine.Strict
	save(t, c, records...)
	same(t, "tasks", members(t, c, c.person, "ann", "tasks"), []string{"t2", "t1"})
	same(t, "tags", members(t, c, c.person, "ann", "tags"), []string{"7"})
	records = []engine.Record{record(c.person, "bob"), record(c.person, "ann", "tasks", put("t9"))}
	_, err := c.Save(t.Context(), records)
	e := fails(t, err, engine.Invalid, "dangling")
	same(t, "record", []any{e.Bulk, e.Index, e.Attribute}, []any{true, 1, "tasks"})
}

func onlyLinks(t *testing.T, open Open) {
	c := openClub(t, open)
	before := create(t, c, c.person, "id", "ann", "name", "Ann")
	create(t, c, c.tag, "code", int64(1))
	it, err := c.Update(as(t, "eve@local"), c.person, "ann", values(c.person, "tags", put("1")), engine.WriteOptions{Match: &engine.Match{Revisions: []uint64{before.Revision}}})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "item", []any{it.Get("name"), it.Editor}, []any{"Ann", "eve@local"})
	if it.Revision == before.Revision {
		t.Error("the revision did not change")
	}
	_, err = c.Update(t.Context(), c.person, "ann", values(c.person, "tags", eject("1")), engine.WriteOptions{Match: &engine.Match{Revisions: []uint64{before.Revision}}})
	fails(t, err, engine.Unmatched, "")
	_, err = c.Update(t.Context(), c.person, "nobody", values(c.person, "tags", put("1")), engine.WriteOptions{})
	fails(t, err, engine.NotFound, "unknown-object")
	same(t, "tags", members(t, c, c.person, "ann", "tags"), []string{"1"})
}

func deletedLinks(t *testing.T, open Open) {
	c := openClub(t, open)
	create(t, c, c.tag, "code", int64(1))
	create(t, c, c.person, "id", "ann", "tags", put("1"), "tasks", put(sub(c.task, "id", "t")))
	create(t, c, c.group, "id", "g", "people", put("ann"))
	for _, gone := range []struct {
		class *engine.Class
		id    string
	}{{c.tag, "1"}, {c.person, "ann"}} {
		if err := c.Delete(t.Context(), gone.class, gone.id, nil); err != nil {
			t.Fatal(err)
		}
	}
	same(t, "a reference dangles", get(t, c, c.task, "t").Get("who"), "ann")
	create(t, c, c.tag, "code", int64(1))
	create(t, c, c.person, "id", "ann") // a new item with the same id gets none of the former links
	same(t, "links", []any{members(t, c, c.person, "ann", "tags"), members(t, c, c.group, "g", "people")}, []any{[]string{}, []string{}})
}

func manyMembers(t *testing.T, open Open) {
	c := openClub(t, open)
	const n = 1100
	var tags []engine.Record
	var ids, odd []any
	var even []string
	for i := range n {
		id := fmt.Sprint(i)
		tags = append(tags, record(c.tag, id))
		ids = append(ids, id)
		if i%2 == 1 {
			odd = append(odd, id)
		} else {
			even = append(even, id)
		}
	}
	save(t, c, tags...)
	create(t, c, c.person, "id", "ann", "tags", put(ids...))
	same(t, "all", len(members(t, c, c.person, "ann", "tags")), n)
	update(t, c, c.person, "ann", "tags", replaced(odd...))
	same(t, "odd", len(members(t, c, c.person, "ann", "tags")), n/2)
	update(t, c, c.person, "ann", "tags", change([]any{"0"}, even...))
	same(t, "removed and added", members(t, c, c.person, "ann", "tags")[n/2:], []string{"0"})
}

// typedLinks links items with ids that are not text, and items with composite keys.
func typedLinks(t *testing.T, open Open) {
	day := NewClass("day", Prop("at", engine.DateTime), Prop("name", engine.String))
	place := &engine.Class{Name: "place", Namespace: "test", Key: []string{"row", "seat"}, Properties: []*engine.Property{
		{Name: "row", Type: engine.Int}, {Name: "seat", Type: engine.String, OrderNumber: 1},
		{Name: "days", Type: engine.Collection, Target: day, Nullable: true, OrderNumber: 2, Definition: "place@test"},
	}}
	if err := place.Init(); err != nil {
		t.Fatal(err)
	}
	add(day, Ref("main", place), nm("places", place))
	add(place, back(engine.Collection, "mains", day, "main"))
	Link(day, place)
	r := open(t, []*engine.Class{day, place})
	at := engine.Instant(1_000_000_000_123)
	create(t, r, day, "at", at)
	create(t, r, place, "row", int64(3), "seat", "a_b", "days", put(at.String()), "mains", put(at.String()))
	same(t, "days", members(t, r, place, "3_a_b", "days"), []string{at.String()})
	same(t, "mains", members(t, r, place, "3_a_b", "mains"), []string{at.String()})
	same(t, "a reference", get(t, r, day, at.String()).Get("main"), "3_a_b")
	update(t, r, day, at.String(), "places", put("3_a_b", sub(place, "row", int64(4), "seat", "c")))
	same(t, "places", members(t, r, day, at.String(), "places"), []string{"3_a_b", "4_c"})
	update(t, r, place, "3_a_b", "days", replaced(), "mains", replaced())
	same(t, "none", []any{members(t, r, place, "3_a_b", "days"), members(t, r, place, "3_a_b", "mains")}, []any{[]string{}, []string{}})
}
