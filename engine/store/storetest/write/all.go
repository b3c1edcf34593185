package write

import (
	"testing"

	"restsrv/engine"
	"restsrv/engine/store/storetest"
)

var allTests = []storetest.Test{
	{Name: "update all", Run: updatingAll},
	{Name: "what many items cannot be given", Run: refusedForAll},
	{Name: "delete all", Run: deletingAll},
	{Name: "links and filters", Run: allLinks},
	{Name: "classes of a tree", Run: allOfTree},
}

func updatingAll(t *testing.T, open storetest.Open) {
	r, c := storetest.OpenNotes(t, open)
	for i, id := range []string{"a", "b", "c", "d"} {
		storetest.Create(t, r, c, "id", id, "rank", int64(i), "body", "keep")
	}
	before := storetest.Get(t, r, c, "c")
	n, err := r.UpdateAll(storetest.WithAccount(t, "eve@local"), storetest.Where(c, engine.OpGte, "rank", int64(2)), storetest.NewValues(c, "title", "T", "rank", nil))
	storetest.CheckSame(t, "changed", []any{n, err}, []any{int64(2), nil})
	for _, id := range []string{"c", "d"} {
		it := storetest.Get(t, r, c, id)
		storetest.CheckSame(t, id, it.Values, engine.Values{id, "T", "keep", nil, nil})
		storetest.CheckSame(t, "editor", it.Editor, "eve@local")
	}
	if storetest.Get(t, r, c, "c").Revision == before.Revision {
		t.Error("the revision did not change")
	}
	storetest.CheckSame(t, "untouched", storetest.Get(t, r, c, "b").Get("title"), nil)
	n, err = r.UpdateAll(t.Context(), storetest.Where(c, engine.OpEq, "rank", int64(99)), storetest.NewValues(c, "title", "never"))
	storetest.CheckSame(t, "none", []any{n, err}, []any{int64(0), nil})
	n, err = r.UpdateAll(t.Context(), storetest.All(c), storetest.NewValues(c))
	storetest.CheckSame(t, "update without values", []any{n, err}, []any{int64(4), nil})
	n, err = r.UpdateAll(t.Context(), storetest.All(c), storetest.NewValues(c, "body", "all"))
	storetest.CheckSame(t, "all", []any{n, err, storetest.Get(t, r, c, "a").Get("body")}, []any{int64(4), nil, "all"})
	_, err = r.UpdateAll(t.Context(), storetest.All(c), storetest.NewValues(c, "code", "one for all"))
	storetest.CheckSame(t, "attribute", storetest.CheckError(t, err, engine.Invalid, "duplicate").Attribute, "code")
	storetest.CheckSame(t, "undone", storetest.Get(t, r, c, "a").Get("code"), nil)
	n, err = r.UpdateAll(t.Context(), storetest.Where(c, engine.OpEq, "id", "a"), storetest.NewValues(c, "code", "one"))
	storetest.CheckSame(t, "one", []any{n, err, storetest.Get(t, r, c, "a").Get("code")}, []any{int64(1), nil, "one"})
}

func refusedForAll(t *testing.T, open storetest.Open) {
	c := storetest.OpenClub(t, open)
	storetest.Create(t, c, c.Person, "id", "ann", "name", "Ann")
	storetest.Create(t, c, c.Task, "id", "t")
	for _, bad := range []struct {
		class  *engine.Class
		values engine.Values
		reason string
	}{
		{c.Person, storetest.NewValues(c.Person, "id", "bob"), "key"},
		{c.Person, storetest.NewValues(c.Person, "tags", storetest.AddLinks("1")), "collection"},
		{c.Person, storetest.NewValues(c.Person, "tasks", storetest.AddLinks("t")), "collection"},
		{c.Task, storetest.NewValues(c.Task, "who", storetest.NestedRecord(c.Person, "name", "x")), "nested"},
	} {
		_, err := c.UpdateAll(t.Context(), storetest.All(bad.class), bad.values)
		e := storetest.CheckError(t, err, engine.Invalid, bad.reason)
		storetest.CheckSame(t, "class", e.Class, bad.class.FullName)
	}
	for _, q := range []*engine.Query{{Class: c.Task, Count: 1}, {Class: c.Task}, {Class: c.Task, Count: -1, Offset: 1}, {Class: c.Task, Count: -1, After: &engine.Position{}}} {
		_, err := c.UpdateAll(t.Context(), q, storetest.NewValues(c.Task, "name", "x"))
		storetest.CheckError(t, err, engine.Invalid, "query")
		_, err = c.DeleteAll(t.Context(), q)
		storetest.CheckError(t, err, engine.Invalid, "query")
	}
	storetest.CheckSame(t, "untouched", []any{storetest.Get(t, c, c.Person, "ann").Get("name"), storetest.Get(t, c, c.Task, "t").Get("name")}, []any{"Ann", nil})
	required := storetest.NewClass("strict", storetest.Prop("id", engine.String), storetest.Prop("name", engine.String, storetest.Required))
	r := open(t, []*engine.Class{required})
	_, err := r.UpdateAll(t.Context(), storetest.All(required), storetest.NewValues(required, "name", nil))
	storetest.CheckError(t, err, engine.Invalid, "required")
}

func deletingAll(t *testing.T, open storetest.Open) {
	r, c := storetest.OpenNotes(t, open)
	for i, id := range []string{"a", "b", "c"} {
		storetest.Create(t, r, c, "id", id, "rank", int64(i))
	}
	n, err := r.DeleteAll(t.Context(), storetest.Where(c, engine.OpLt, "rank", int64(2)))
	storetest.CheckSame(t, "deleted", []any{n, err}, []any{int64(2), nil})
	storetest.CheckSame(t, "left", storetest.ListIDs(t, r, storetest.All(c)), []string{"c"})
	n, err = r.DeleteAll(t.Context(), storetest.All(c))
	storetest.CheckSame(t, "deleted", []any{n, err}, []any{int64(1), nil})
	storetest.CheckSame(t, "left", storetest.Count(t, r, c), int64(0))
}

func allLinks(t *testing.T, open storetest.Open) {
	c := storetest.OpenClub(t, open)
	for i := range int64(3) {
		storetest.Create(t, c, c.Tag, "code", i)
	}
	storetest.Create(t, c, c.Person, "id", "ann", "tags", storetest.AddLinks("0", "1", "2"))
	storetest.Create(t, c, c.Person, "id", "bob", "tags", storetest.AddLinks("1"))
	n, err := c.DeleteAll(t.Context(), storetest.Where(c.Tag, engine.OpLt, "code", int64(2)))
	storetest.CheckSame(t, "deleted", []any{n, err}, []any{int64(2), nil})
	storetest.Create(t, c, c.Tag, "code", int64(1))
	storetest.CheckSame(t, "links", []any{storetest.ListMembers(t, c, c.Person, "ann", "tags"), storetest.ListMembers(t, c, c.Person, "bob", "tags")}, []any{[]string{"2"}, []string{}})
	n, err = c.UpdateAll(t.Context(), storetest.All(c.Person), storetest.NewValues(c.Person, "name", "N"))
	storetest.CheckSame(t, "updated", []any{n, err}, []any{int64(2), nil})
}

func allOfTree(t *testing.T, open storetest.Open) {
	f := storetest.OpenFamily(t, open)
	n, err := f.UpdateAll(t.Context(), storetest.All(f.Car), storetest.NewValues(f.Car, "name", "driven"))
	storetest.CheckSame(t, "updated", []any{n, err}, []any{int64(2), nil})
	storetest.CheckSame(t, "names", []any{storetest.Get(t, f, f.Bus, "b").Get("name"), storetest.Get(t, f, f.House, "h").Get("name")}, []any{"driven", nil})
	n, err = f.DeleteAll(t.Context(), storetest.All(f.Bus))
	storetest.CheckSame(t, "deleted", []any{n, err}, []any{int64(1), nil})
	storetest.CheckSame(t, "things", storetest.ListIDs(t, f, storetest.All(f.Thing)), []string{"t", "c", "h"})
}
