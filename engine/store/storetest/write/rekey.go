package write

import (
	"testing"

	"restsrv/engine"
	"restsrv/engine/store/storetest"
)

var rekeyTests = []storetest.Test{
	{Name: "references follow", Run: referencesFollow},
	{Name: "links follow", Run: linksFollow},
	{Name: "references in a tree of classes", Run: treeFollow},
	{Name: "an item that points at itself", Run: selfFollow},
	{Name: "keys that are references", Run: keysFollow},
	{Name: "parts of a composite key", Run: compositeParts},
	{Name: "in a save", Run: saveFollow},
}

func referencesFollow(t *testing.T, open storetest.Open) {
	w := storetest.OpenWorld(t, open)
	before := storetest.Get(t, w, w.Person, "ann").Revision
	storetest.CheckSame(t, "moved", storetest.Update(t, w, w.Town, "t1", "id", "t9", "name", "Oslo").ID, "t9")
	for id, want := range map[string]any{"ann": "t9", "bob": "t9", "cid": "t2", "dan": "gone"} {
		storetest.CheckSame(t, id, storetest.Get(t, w, w.Person, id).Get("town"), want)
	}
	if storetest.Get(t, w, w.Person, "ann").Revision == before {
		t.Error("the revision of an item whose reference changed did not")
	}
	storetest.Update(t, w, w.Region, "1", "code", int64(2))
	storetest.CheckSame(t, "region", storetest.Get(t, w, w.Town, "t9").Get("region"), int64(2))
	storetest.CheckSame(t, "people", storetest.ListMembers(t, w, w.Town, "t9", "people"), []string{"ann", "bob"})
	_, err := w.Update(t.Context(), w.Town, "t9", storetest.NewValues(w.Town, "id", "t2"), engine.WriteOptions{})
	storetest.CheckError(t, err, engine.Invalid, "duplicate")
	storetest.CheckSame(t, "unchanged reference", storetest.Get(t, w, w.Person, "ann").Get("town"), "t9")
}

func linksFollow(t *testing.T, open storetest.Open) {
	c := storetest.OpenClub(t, open)
	storetest.Create(t, c, c.Tag, "code", int64(1))
	storetest.Create(t, c, c.Person, "id", "ann", "tags", storetest.AddLinks("1"), "tasks", storetest.AddLinks(storetest.NestedRecord(c.Task, "id", "t")))
	storetest.Create(t, c, c.Group, "id", "g", "people", storetest.AddLinks("eve", "ann")) // the next update changes the id of ann to eve
	storetest.Update(t, c, c.Person, "ann", "id", "eve")
	storetest.Update(t, c, c.Tag, "1", "code", int64(5))
	storetest.CheckSame(t, "links", []any{storetest.ListMembers(t, c, c.Person, "eve", "tags"), storetest.ListMembers(t, c, c.Person, "eve", "tasks"), storetest.ListMembers(t, c, c.Group, "g", "people")},
		[]any{[]string{"5"}, []string{"t"}, []string{"eve"}})
}

// treeFollow changes the keys of items of two classes, a and b. Two attributes with the same name refer to these
// items. The attributes belong to different classes of one tree, so they are in the same table: one attribute refers
// to a, the other to b.
func treeFollow(t *testing.T, open storetest.Open) {
	a, b := storetest.NewClass("a", storetest.Prop("id", engine.String)), storetest.NewClass("b", storetest.Prop("id", engine.String))
	base := storetest.NewClass("base", storetest.Prop("id", engine.String))
	left, right := storetest.Extend(base, "left", storetest.Ref("to", a)), storetest.Extend(base, "right", storetest.Ref("to", b))
	r := open(t, []*engine.Class{a, b, base, left, right})
	storetest.Create(t, r, a, "id", "x")
	storetest.Create(t, r, b, "id", "x")
	storetest.Create(t, r, left, "id", "l", "to", "x")
	storetest.Create(t, r, right, "id", "r", "to", "x")
	storetest.Update(t, r, a, "x", "id", "y")
	storetest.CheckSame(t, "references", []any{storetest.Get(t, r, base, "l").Get("to"), storetest.Get(t, r, base, "r").Get("to")}, []any{"y", "x"})
}

func selfFollow(t *testing.T, open storetest.Open) {
	w := storetest.OpenWorld(t, open)
	storetest.Update(t, w, w.Person, "ann", "boss", "ann")
	it := storetest.Update(t, w, w.Person, "ann", "id", "eve")
	storetest.CheckSame(t, "itself", []any{it.ID, it.Get("boss")}, []any{"eve", "eve"})
	storetest.CheckSame(t, "stored", storetest.Get(t, w, w.Person, "eve").Values, it.Values)
	storetest.CheckSame(t, "staff", storetest.ListMembers(t, w, w.Person, "eve", "staff"), []string{"eve", "bob", "cid"})
}

// keysFollow changes keys that are parts of other keys. The key of a line consists of an order and a number, and the
// key of a note is a line. Further items refer to notes.
func keysFollow(t *testing.T, open storetest.Open) {
	order := storetest.NewClass("order", storetest.Prop("id", engine.Int))
	line := &engine.Class{Name: "line", Namespace: "test", Key: []string{"order", "n"}, Properties: []*engine.Property{
		{Name: "order", Type: engine.Reference, Target: order, Definition: "line@test"}, {Name: "n", Type: engine.Int, OrderNumber: 1},
	}}
	if err := line.Init(); err != nil {
		t.Fatal(err)
	}
	note := storetest.NewClass("note", storetest.Ref("line", line), storetest.Prop("text", engine.String))
	mark := storetest.NewClass("mark", storetest.Prop("id", engine.String), storetest.Ref("note", note))
	r := open(t, []*engine.Class{order, line, note, mark})
	storetest.Create(t, r, order, "id", int64(1))
	storetest.Create(t, r, line, "order", int64(1), "n", int64(7))
	storetest.Create(t, r, note, "line", "1_7", "text", "t")
	storetest.Create(t, r, mark, "id", "m", "note", "1_7")
	storetest.Update(t, r, order, "1", "id", int64(2))
	storetest.CheckSame(t, "line", storetest.Get(t, r, line, "2_7").Get("order"), int64(2))
	storetest.CheckSame(t, "note", storetest.Get(t, r, note, "2_7").Get("text"), "t")
	storetest.CheckSame(t, "mark", storetest.Get(t, r, mark, "m").Get("note"), "2_7")
	storetest.CheckSame(t, "rows", []int64{storetest.Count(t, r, line), storetest.Count(t, r, note)}, []int64{1, 1})
}

func compositeParts(t *testing.T, open storetest.Open) {
	place := &engine.Class{Name: "place", Namespace: "test", Key: []string{"row", "seat"}, Properties: []*engine.Property{
		{Name: "row", Type: engine.Int}, {Name: "seat", Type: engine.String, OrderNumber: 1}, {Name: "who", Type: engine.String, Nullable: true, OrderNumber: 2},
	}}
	if err := place.Init(); err != nil {
		t.Fatal(err)
	}
	ticket := storetest.NewClass("ticket", storetest.Prop("id", engine.String), storetest.Ref("place", place))
	r := open(t, []*engine.Class{place, ticket})
	made := storetest.Create(t, r, place, "row", int64(1), "seat", "a_b", "who", "x")
	storetest.Create(t, r, place, "row", int64(1), "seat", "c")
	storetest.Create(t, r, ticket, "id", "t", "place", "1_a_b")
	it, err := r.Update(t.Context(), place, "1_a_b", storetest.NewValues(place, "row", int64(2)), engine.WriteOptions{Match: &engine.Match{Revisions: []uint64{made.Revision}}})
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "moved", []any{it.ID, it.Get("who")}, []any{"2_a_b", "x"})
	storetest.CheckSame(t, "followed", storetest.Get(t, r, ticket, "t").Get("place"), "2_a_b")
	_, err = r.Update(t.Context(), place, "2_a_b", storetest.NewValues(place, "row", int64(3)), engine.WriteOptions{Match: &engine.Match{Revisions: []uint64{made.Revision}}})
	storetest.CheckError(t, err, engine.Unmatched, "")
	_, err = r.Update(t.Context(), place, "2_a_b", storetest.NewValues(place, "row", int64(1), "seat", "c"), engine.WriteOptions{})
	storetest.CheckError(t, err, engine.Invalid, "duplicate")
	_, err = r.Update(t.Context(), place, "2_a_b", storetest.NewValues(place, "seat", ""), engine.WriteOptions{})
	storetest.CheckError(t, err, engine.Invalid, "required")
	items := storetest.Save(t, r,
		storetest.NewRecord(place, "2_a_b", "seat", "d"),                         // a part of the key, by id
		storetest.NewRecord(place, "", "row", int64(2), "seat", "d", "who", "y"), // by the parts of the key
		storetest.NewRecord(place, "1_c", "row", int64(5), "seat", "c"))
	storetest.CheckSame(t, "saved", []any{items[0].ID, items[1].ID, items[2].ID}, []any{"2_d", "2_d", "5_c"})
	storetest.CheckSame(t, "by parts", storetest.Get(t, r, place, "2_d").Get("who"), "y")
	storetest.CheckSame(t, "followed", storetest.Get(t, r, ticket, "t").Get("place"), "2_d")
	// Different keys can have equal ids. Only one of the items can be stored.
	storetest.Create(t, r, place, "row", int64(7), "seat", "1_2")
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
	storetest.Create(t, r, pair, "a", "x_y", "b", "z")
	_, err = r.Create(t.Context(), pair, storetest.NewValues(pair, "a", "x", "b", "y_z"), engine.WriteOptions{})
	storetest.CheckError(t, err, engine.Invalid, "duplicate")
}

func saveFollow(t *testing.T, open storetest.Open) {
	w := storetest.OpenWorld(t, open)
	items := storetest.Save(t, w, storetest.NewRecord(w.Person, "eve", "town", "t1"), storetest.NewRecord(w.Town, "t1", "id", "t9"), storetest.NewRecord(w.Person, "fay", "town", "t9"))
	storetest.CheckSame(t, "moved", items[1].ID, "t9")
	storetest.CheckSame(t, "people", storetest.ListMembers(t, w, w.Town, "t9", "people"), []string{"ann", "bob", "eve", "fay"})
}
