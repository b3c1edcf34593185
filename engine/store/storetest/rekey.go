package storetest

import (
	"testing"

	"restsrv/engine"
)

var rekeyTests = []test{
	{"references follow", referencesFollow},
	{"links follow", linksFollow},
	{"references in a tree of classes", treeFollow},
	{"an item that points at itself", selfFollow},
	{"keys that are references", keysFollow},
	{"parts of a composite key", compositeParts},
	{"in a save", saveFollow},
}

func referencesFollow(t *testing.T, open Open) {
	w := openWorld(t, open)
	before := get(t, w, w.person, "ann").Revision
	same(t, "moved", update(t, w, w.town, "t1", "id", "t9", "name", "Oslo").ID, "t9")
	for id, want := range map[string]any{"ann": "t9", "bob": "t9", "cid": "t2", "dan": "gone"} {
		same(t, id, get(t, w, w.person, id).Get("town"), want)
	}
	if get(t, w, w.person, "ann").Revision == before {
		t.Error("the revision of an item whose reference changed did not")
	}
	update(t, w, w.region, "1", "code", int64(2))
	same(t, "region", get(t, w, w.town, "t9").Get("region"), int64(2))
	same(t, "people", members(t, w, w.town, "t9", "people"), []string{"ann", "bob"})
	_, err := w.Update(t.Context(), w.town, "t9", values(w.town, "id", "t2"), engine.WriteOptions{})
	fails(t, err, engine.Invalid, "duplicate")
	same(t, "unchanged reference", get(t, w, w.person, "ann").Get("town"), "t9")
}

func linksFollow(t *testing.T, open Open) {
	c := openClub(t, open)
	create(t, c, c.tag, "code", int64(1))
	create(t, c, c.person, "id", "ann", "tags", put("1"), "tasks", put(sub(c.task, "id", "t")))
	create(t, c, c.group, "id", "g", "people", put("eve", "ann")) // eve will be ann
	update(t, c, c.person, "ann", "id", "eve")
	update(t, c, c.tag, "1", "code", int64(5))
	same(t, "links", []any{members(t, c, c.person, "eve", "tags"), members(t, c, c.person, "eve", "tasks"), members(t, c, c.group, "g", "people")},
		[]any{[]string{"5"}, []string{"t"}, []string{"eve"}})
}

// treeFollow has classes in one table with attributes of the same name that refer to different
// classes.
func treeFollow(t *testing.T, open Open) {
	a, b := NewClass("a", Prop("id", engine.String)), NewClass("b", Prop("id", engine.String))
	base := NewClass("base", Prop("id", engine.String))
	left, right := Extend(base, "left", Ref("to", a)), Extend(base, "right", Ref("to", b))
	r := open(t, []*engine.Class{a, b, base, left, right})
	create(t, r, a, "id", "x")
	create(t, r, b, "id", "x")
	create(t, r, left, "id", "l", "to", "x")
	create(t, r, right, "id", "r", "to", "x")
	update(t, r, a, "x", "id", "y")
	same(t, "references", []any{get(t, r, base, "l").Get("to"), get(t, r, base, "r").Get("to")}, []any{"y", "x"})
}

func selfFollow(t *testing.T, open Open) {
	w := openWorld(t, open)
	update(t, w, w.person, "ann", "boss", "ann")
	it := update(t, w, w.person, "ann", "id", "eve")
	same(t, "itself", []any{it.ID, it.Get("boss")}, []any{"eve", "eve"})
	same(t, "stored", get(t, w, w.person, "eve").Values, it.Values)
	same(t, "staff", members(t, w, w.person, "eve", "staff"), []string{"eve", "bob", "cid"})
}

// keysFollow has a line with an order and a number as its key, a note with a line as its key, and
// references to notes.
func keysFollow(t *testing.T, open Open) {
	order := NewClass("order", Prop("id", engine.Int))
	line := &engine.Class{Name: "line", Namespace: "test", Key: []string{"order", "n"}, Properties: []*engine.Property{
		{Name: "order", Type: engine.Reference, Target: order, Definition: "line@test"}, {Name: "n", Type: engine.Int, OrderNumber: 1},
	}}
	if err := line.Init(); err != nil {
		t.Fatal(err)
	}
	note := NewClass("note", Ref("line", line), Prop("text", engine.String))
	mark := NewClass("mark", Prop("id", engine.String), Ref("note", note))
	r := open(t, []*engine.Class{order, line, note, mark})
	create(t, r, order, "id", int64(1))
	create(t, r, line, "order", int64(1), "n", int64(7))
	create(t, r, note, "line", "1_7", "text", "t")
	create(t, r, mark, "id", "m", "note", "1_7")
	update(t, r, order, "1", "id", int64(2))
	same(t, "line", get(t, r, line, "2_7").Get("order"), int64(2))
	same(t, "note", get(t, r, note, "2_7").Get("text"), "t")
	same(t, "mark", get(t, r, mark, "m").Get("note"), "2_7")
	same(t, "rows", []int64{count(t, r, line), count(t, r, note)}, []int64{1, 1})
}

func compositeParts(t *testing.T, open Open) {
	place := &engine.Class{Name: "place", Namespace: "test", Key: []string{"row", "seat"}, Properties: []*engine.Property{
		{Name: "row", Type: engine.Int}, {Name: "seat", Type: engine.String, OrderNumber: 1}, {Name: "who", Type: engine.String, Nullable: true, OrderNumber: 2},
	}}
	if err := place.Init(); err != nil {
		t.Fatal(err)
	}
	ticket := NewClass("ticket", Prop("id", engine.String), Ref("place", place))
	r := open(t, []*engine.Class{place, ticket})
	made := create(t, r, place, "row", int64(1), "seat", "a_b", "who", "x")
	create(t, r, place, "row", int64(1), "seat", "c")
	create(t, r, ticket, "id", "t", "place", "1_a_b")
	it, err := r.Update(t.Context(), place, "1_a_b", values(place, "row", int64(2)), engine.WriteOptions{Match: &engine.Match{Revisions: []uint64{made.Revision}}})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "moved", []any{it.ID, it.Get("who")}, []any{"2_a_b", "x"})
	same(t, "followed", get(t, r, ticket, "t").Get("place"), "2_a_b")
	_, err = r.Update(t.Context(), place, "2_a_b", values(place, "row", int64(3)), engine.WriteOptions{Match: &engine.Match{Revisions: []uint64{made.Revision}}})
	fails(t, err, engine.Unmatched, "")
	_, err = r.Update(t.Context(), place, "2_a_b", values(place, "row", int64(1), "seat", "c"), engine.WriteOptions{})
	fails(t, err, engine.Invalid, "duplicate")
	_, err = r.Update(t.Context(), place, "2_a_b", values(place, "seat", ""), engine.WriteOptions{})
	fails(t, err, engine.Invalid, "required")
	items := save(t, r,
		record(place, "2_a_b", "seat", "d"),                         // a part of the key, by id
		record(place, "", "row", int64(2), "seat", "d", "who", "y"), // by the parts of the key
		record(place, "1_c", "row", int64(5), "seat", "c"))
	same(t, "saved", []any{items[0].ID, items[1].ID, items[2].ID}, []any{"2_d", "2_d", "5_c"})
	same(t, "by parts", get(t, r, place, "2_d").Get("who"), "y")
	same(t, "followed", get(t, r, ticket, "t").Get("place"), "2_d")
	// Two keys may join to the same id. Only one of them can be stored.
	create(t, r, place, "row", int64(7), "seat", "1_2")
	if err := r.Delete(t.Context(), place, "7_1_2", &engine.Match{Revisions: []uint64{1}}); engine.CodeOf(err) != engine.Unmatched {
		t.Errorf("got %v, want unmatched", err)
	}
	if err := r.Delete(t.Context(), place, "7_1_2", nil); err != nil {
		t.Error(err)
	}
	pair := &engine.Class{Name: "pair", Namespace: "test", Key: []string{"a", "b"}, Properties: []*engine.Property{
		{Name: "a", Type: engine.String}, {Name: "b", Type: engine.String, OrderNumber: 1}}}
	if err := pair.Init(); err != nil {
		t.Fatal(err)
	}
	r = open(t, []*engine.Class{pair})
	create(t, r, pair, "a", "x_y", "b", "z")
	_, err = r.Create(t.Context(), pair, values(pair, "a", "x", "b", "y_z"), engine.WriteOptions{})
	fails(t, err, engine.Invalid, "duplicate")
}

func saveFollow(t *testing.T, open Open) {
	w := openWorld(t, open)
	items := save(t, w, record(w.person, "eve", "town", "t1"), record(w.town, "t1", "id", "t9"), record(w.person, "fay", "town", "t9"))
	same(t, "moved", items[1].ID, "t9")
	same(t, "people", members(t, w, w.town, "t9", "people"), []string{"ann", "bob", "eve", "fay"})
}
