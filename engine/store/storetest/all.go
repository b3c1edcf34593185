package storetest

import (
	"testing"

	"restsrv/engine"
)

var allTests = []test{
	{"update all", updatingAll},
	{"what many items cannot be given", refusedForAll},
	{"delete all", deletingAll},
	{"links and filters", allLinks},
	{"classes of a tree", allOfTree},
}

func where(c *engine.Class, op engine.Op, property string, value any) *engine.Query {
	q := all(c)
	p := c.Property(property)
	q.Filter = &engine.Filter{Op: op, Left: engine.Attribute(p), Right: engine.Constant(p.ValueType(), value)}
	return q
}

func updatingAll(t *testing.T, open Open) {
	r, c := openNotes(t, open)
	for i, id := range []string{"a", "b", "c", "d"} {
		create(t, r, c, "id", id, "rank", int64(i), "body", "keep")
	}
	before := get(t, r, c, "c")
	n, err := r.UpdateAll(as(t, "eve@local"), where(c, engine.OpGte, "rank", int64(2)), values(c, "title", "T", "rank", nil))
	same(t, "changed", []any{n, err}, []any{int64(2), nil})
	for _, id := range []string{"c", "d"} {
		it := get(t, r, c, id)
		same(t, id, it.Values, engine.Values{id, "T", "keep", nil, nil})
		same(t, "editor", it.Editor, "eve@local")
	}
	if get(t, r, c, "c").Revision == before.Revision {
		t.Error("the revision did not change")
	}
	same(t, "untouched", get(t, r, c, "b").Get("title"), nil)
	n, err = r.UpdateAll(t.Context(), where(c, engine.OpEq, "rank", int64(99)), values(c, "title", "never"))
	same(t, "none", []any{n, err}, []any{int64(0), nil})
	n, err = r.UpdateAll(t.Context(), all(c), values(c))
	same(t, "update without values", []any{n, err}, []any{int64(4), nil})
	n, err = r.UpdateAll(t.Context(), all(c), values(c, "body", "all"))
	same(t, "all", []any{n, err, get(t, r, c, "a").Get("body")}, []any{int64(4), nil, "all"})
	_, err = r.UpdateAll(t.Context(), all(c), values(c, "code", "one for all"))
	same(t, "attribute", fails(t, err, engine.Invalid, "duplicate").Attribute, "code")
	same(t, "undone", get(t, r, c, "a").Get("code"), nil)
	n, err = r.UpdateAll(t.Context(), where(c, engine.OpEq, "id", "a"), values(c, "code", "one"))
	same(t, "one", []any{n, err, get(t, r, c, "a").Get("code")}, []any{int64(1), nil, "one"})
}

func refusedForAll(t *testing.T, open Open) {
	c := openClub(t, open)
	create(t, c, c.person, "id", "ann", "name", "Ann")
	create(t, c, c.task, "id", "t")
	for _, bad := range []struct {
		class  *engine.Class
		values engine.Values
		reason string
	}{
		{c.person, values(c.person, "id", "bob"), "key"},
		{c.person, values(c.person, "tags", put("1")), "collection"},
		{c.person, values(c.person, "tasks", put("t")), "collection"},
		{c.task, values(c.task, "who", sub(c.person, "name", "x")), "nested"},
	} {
		_, err := c.UpdateAll(t.Context(), all(bad.class), bad.values)
		e := fails(t, err, engine.Invalid, bad.reason)
		same(t, "class", e.Class, bad.class.FullName)
	}
	for _, q := range []*engine.Query{{Class: c.task, Count: 1}, {Class: c.task}, {Class: c.task, Count: -1, Offset: 1}, {Class: c.task, Count: -1, After: &engine.Position{}}} {
		_, err := c.UpdateAll(t.Context(), q, values(c.task, "name", "x"))
		fails(t, err, engine.Invalid, "query")
		_, err = c.DeleteAll(t.Context(), q)
		fails(t, err, engine.Invalid, "query")
	}
	same(t, "untouched", []any{get(t, c, c.person, "ann").Get("name"), get(t, c, c.task, "t").Get("name")}, []any{"Ann", nil})
	required := NewClass("strict", Prop("id", engine.String), Prop("name", engine.String, required))
	r := open(t, []*engine.Class{required})
	_, err := r.UpdateAll(t.Context(), all(required), values(required, "name", nil))
	fails(t, err, engine.Invalid, "required")
}

func deletingAll(t *testing.T, open Open) {
	r, c := openNotes(t, open)
	for i, id := range []string{"a", "b", "c"} {
		create(t, r, c, "id", id, "rank", int64(i))
	}
	n, err := r.DeleteAll(t.Context(), where(c, engine.OpLt, "rank", int64(2)))
	same(t, "deleted", []any{n, err}, []any{int64(2), nil})
	same(t, "left", ids(t, r, all(c)), []string{"c"})
	n, err = r.DeleteAll(t.Context(), all(c))
	same(t, "deleted", []any{n, err}, []any{int64(1), nil})
	same(t, "left", count(t, r, c), int64(0))
}

func allLinks(t *testing.T, open Open) {
	c := openClub(t, open)
	for i := range int64(3) {
		create(t, c, c.tag, "code", i)
	}
	create(t, c, c.person, "id", "ann", "tags", put("0", "1", "2"))
	create(t, c, c.person, "id", "bob", "tags", put("1"))
	n, err := c.DeleteAll(t.Context(), where(c.tag, engine.OpLt, "code", int64(2)))
	same(t, "deleted", []any{n, err}, []any{int64(2), nil})
	create(t, c, c.tag, "code", int64(1))
	same(t, "links", []any{members(t, c, c.person, "ann", "tags"), members(t, c, c.person, "bob", "tags")}, []any{[]string{"2"}, []string{}})
	n, err = c.UpdateAll(t.Context(), all(c.person), values(c.person, "name", "N"))
	same(t, "updated", []any{n, err}, []any{int64(2), nil})
}

func allOfTree(t *testing.T, open Open) {
	f := openFamily(t, open)
	n, err := f.UpdateAll(t.Context(), all(f.car), values(f.car, "name", "driven"))
	same(t, "updated", []any{n, err}, []any{int64(2), nil})
	same(t, "names", []any{get(t, f, f.bus, "b").Get("name"), get(t, f, f.house, "h").Get("name")}, []any{"driven", nil})
	n, err = f.DeleteAll(t.Context(), all(f.bus))
	same(t, "deleted", []any{n, err}, []any{int64(1), nil})
	same(t, "things", ids(t, f, all(f.thing)), []string{"t", "c", "h"})
}
