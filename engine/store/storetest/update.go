package storetest

import (
	"testing"

	"restsrv/engine"
)

var updateTests = []test{
	{"merge", merge},
	{"match", matching},
	{"nothing set", noChange},
	{"rekey", rekeying},
	{"readonly", readonlyChange},
	{"required", clearing},
	{"delete", deleting},
}

func merge(t *testing.T, open Open) {
	r, c := openNotes(t, open)
	made, err := r.Create(as(t, "ann@local"), c, values(c, "id", "1", "title", "T", "body", "B"), engine.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	it, err := r.Update(as(t, "bob@local"), c, "1", values(c, "title", "U", "rank", int64(7)), engine.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "values", it.Values, engine.Values{"1", "U", "B", int64(7), nil})
	same(t, "accounts", []string{it.Creator, it.Editor}, []string{"ann@local", "bob@local"})
	if it.Revision == made.Revision {
		t.Error("the revision did not change")
	}
	same(t, "stored", get(t, r, c, "1"), it)
	it, err = r.Update(t.Context(), c, "1", values(c, "title", nil), engine.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "cleared", []any{it.Get("title"), it.Creator, it.Editor}, []any{nil, "ann@local", ""})
	_, err = r.Update(t.Context(), c, "2", values(c, "title", "x"), engine.WriteOptions{})
	fails(t, err, engine.NotFound, "unknown-object")
}

func matching(t *testing.T, open Open) {
	r, c := openNotes(t, open)
	first := create(t, r, c, "id", "1").Revision
	update := func(id string, m engine.Match) (*engine.Item, error) {
		return r.Update(t.Context(), c, id, values(c, "rank", int64(1)), engine.WriteOptions{Match: &m})
	}
	it, err := update("1", engine.Match{Revisions: []uint64{first}})
	if err != nil {
		t.Fatal(err)
	}
	second := it.Revision
	for _, m := range []engine.Match{{}, {Revisions: []uint64{first}}, {Revisions: []uint64{first, 1<<64 - 1}}, {Revisions: []uint64{0}}} {
		_, err := update("1", m)
		e := fails(t, err, engine.Unmatched, "")
		same(t, "error", []string{e.Class, e.ID}, []string{c.FullName, "1"})
		fails(t, r.Delete(t.Context(), c, "1", &m), engine.Unmatched, "")
		_, err = update("2", m)
		fails(t, err, engine.NotFound, "unknown-object")
		fails(t, r.Delete(t.Context(), c, "2", &m), engine.NotFound, "unknown-object")
	}
	same(t, "untouched", get(t, r, c, "1").Revision, second)
	if _, err = update("1", engine.Match{Revisions: []uint64{first, second}}); err != nil {
		t.Fatal(err)
	}
	if it, err = update("1", engine.Match{Any: true}); err != nil {
		t.Fatal(err)
	}
	if err := r.Delete(t.Context(), c, "1", &engine.Match{Revisions: []uint64{it.Revision}}); err != nil {
		t.Fatal(err)
	}
}

func noChange(t *testing.T, open Open) {
	r, c := openNotes(t, open)
	made := create(t, r, c, "id", "1", "title", "T")
	it, err := r.Update(as(t, "bob@local"), c, "1", values(c), engine.WriteOptions{Match: &engine.Match{Revisions: []uint64{made.Revision}}})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "item", it, made)
	_, err = r.Update(t.Context(), c, "1", values(c), engine.WriteOptions{Match: &engine.Match{Revisions: []uint64{1}}})
	fails(t, err, engine.Unmatched, "")
	_, err = r.Update(t.Context(), c, "2", values(c), engine.WriteOptions{})
	fails(t, err, engine.NotFound, "unknown-object")
}

func rekeying(t *testing.T, open Open) {
	r, c := openNotes(t, open)
	create(t, r, c, "id", "1", "title", "T")
	it, err := r.Update(t.Context(), c, "1", values(c, "id", "9"), engine.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "moved", []any{it.ID, it.Get("title")}, []any{"9", "T"})
	_, err = r.Get(t.Context(), c, "1")
	fails(t, err, engine.NotFound, "")
	same(t, "stored", get(t, r, c, "9"), it)
}

func readonlyChange(t *testing.T, open Open) {
	c := NewClass("fixed", Prop("id", engine.String), Prop("since", engine.Int, readonly), Prop("note", engine.String), Prop("pay", engine.DecimalNum, readonly))
	r := open(t, []*engine.Class{c})
	create(t, r, c, "id", "1", "since", int64(5), "pay", engine.Decimal("1.5"))
	strict := engine.WriteOptions{Handling: engine.Strict}
	_, err := r.Update(t.Context(), c, "1", values(c, "since", int64(6), "note", "x"), strict)
	same(t, "attribute", fails(t, err, engine.Invalid, "readonly").Attribute, "since")
	same(t, "untouched", get(t, r, c, "1").Get("note"), nil)
	if _, err = r.Update(t.Context(), c, "1", values(c, "since", int64(5), "pay", engine.Decimal("1.5"), "note", "x"), strict); err != nil {
		t.Errorf("got %v for a value that is stored already, want no error", err)
	}
	_, err = r.Update(t.Context(), c, "2", values(c, "since", int64(6)), strict)
	fails(t, err, engine.NotFound, "")
	strict.Match = &engine.Match{Revisions: []uint64{1}}
	_, err = r.Update(t.Context(), c, "1", values(c, "since", int64(5)), strict)
	fails(t, err, engine.Unmatched, "")
	it, err := r.Update(t.Context(), c, "1", values(c, "since", int64(6)), engine.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "lenient", it.Get("since"), int64(6))
}

func clearing(t *testing.T, open Open) {
	c := NewClass("strict", Prop("id", engine.String), Prop("name", engine.String, required))
	r := open(t, []*engine.Class{c})
	create(t, r, c, "id", "1", "name", "n")
	for attribute, v := range map[string]engine.Values{"name": values(c, "name", nil), "id": values(c, "id", "")} {
		_, err := r.Update(t.Context(), c, "1", v, engine.WriteOptions{})
		same(t, "attribute", fails(t, err, engine.Invalid, "required").Attribute, attribute)
	}
	same(t, "untouched", get(t, r, c, "1").Get("name"), "n")
}

func deleting(t *testing.T, open Open) {
	r, c := openNotes(t, open)
	create(t, r, c, "id", "1", "code", "x")
	create(t, r, c, "id", "2")
	if err := r.Delete(t.Context(), c, "1", nil); err != nil {
		t.Fatal(err)
	}
	fails(t, r.Delete(t.Context(), c, "1", nil), engine.NotFound, "unknown-object")
	create(t, r, c, "id", "1", "code", "x") // both are free again
	same(t, "order", ids(t, r, all(c)), []string{"2", "1"})
}
