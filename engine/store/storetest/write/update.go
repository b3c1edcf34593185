package write

import (
	"testing"

	"restsrv/engine"
	"restsrv/engine/store/storetest"
)

var updateTests = []storetest.Test{
	{Name: "merge", Run: merge},
	{Name: "match", Run: matching},
	{Name: "nothing set", Run: noChange},
	{Name: "rekey", Run: rekeying},
	{Name: "readonly", Run: readonlyChange},
	{Name: "required", Run: clearing},
	{Name: "delete", Run: deleting},
}

func merge(t *testing.T, open storetest.Open) {
	r, c := storetest.OpenNotes(t, open)
	made, err := r.Create(storetest.WithAccount(t, "ann@local"), c, storetest.NewValues(c, "id", "1", "title", "T", "body", "B"), engine.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	it, err := r.Update(storetest.WithAccount(t, "bob@local"), c, "1", storetest.NewValues(c, "title", "U", "rank", int64(7)), engine.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "values", it.Values, engine.Values{"1", "U", "B", int64(7), nil})
	storetest.CheckSame(t, "accounts", []string{it.Creator, it.Editor}, []string{"ann@local", "bob@local"})
	if it.Revision == made.Revision {
		t.Error("the revision did not change")
	}
	storetest.CheckSame(t, "stored", storetest.Get(t, r, c, "1"), it)
	it, err = r.Update(t.Context(), c, "1", storetest.NewValues(c, "title", nil), engine.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "cleared", []any{it.Get("title"), it.Creator, it.Editor}, []any{nil, "ann@local", ""})
	_, err = r.Update(t.Context(), c, "2", storetest.NewValues(c, "title", "x"), engine.WriteOptions{})
	storetest.CheckError(t, err, engine.NotFound, "unknown-object")
}

func matching(t *testing.T, open storetest.Open) {
	r, c := storetest.OpenNotes(t, open)
	first := storetest.Create(t, r, c, "id", "1").Revision
	update := func(id string, m engine.Match) (*engine.Item, error) {
		return r.Update(t.Context(), c, id, storetest.NewValues(c, "rank", int64(1)), engine.WriteOptions{Match: &m})
	}
	it, err := update("1", engine.Match{Revisions: []uint64{first}})
	if err != nil {
		t.Fatal(err)
	}
	second := it.Revision
	for _, m := range []engine.Match{{}, {Revisions: []uint64{first}}, {Revisions: []uint64{first, 1<<64 - 1}}, {Revisions: []uint64{0}}} {
		_, err := update("1", m)
		e := storetest.CheckError(t, err, engine.Unmatched, "")
		storetest.CheckSame(t, "error", []string{e.Class, e.ID}, []string{c.FullName, "1"})
		storetest.CheckError(t, r.Delete(t.Context(), c, "1", &m), engine.Unmatched, "")
		_, err = update("2", m)
		storetest.CheckError(t, err, engine.NotFound, "unknown-object")
		storetest.CheckError(t, r.Delete(t.Context(), c, "2", &m), engine.NotFound, "unknown-object")
	}
	storetest.CheckSame(t, "untouched", storetest.Get(t, r, c, "1").Revision, second)
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

func noChange(t *testing.T, open storetest.Open) {
	r, c := storetest.OpenNotes(t, open)
	made := storetest.Create(t, r, c, "id", "1", "title", "T")
	it, err := r.Update(storetest.WithAccount(t, "bob@local"), c, "1", storetest.NewValues(c), engine.WriteOptions{Match: &engine.Match{Revisions: []uint64{made.Revision}}})
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "item", it, made)
	_, err = r.Update(t.Context(), c, "1", storetest.NewValues(c), engine.WriteOptions{Match: &engine.Match{Revisions: []uint64{1}}})
	storetest.CheckError(t, err, engine.Unmatched, "")
	_, err = r.Update(t.Context(), c, "2", storetest.NewValues(c), engine.WriteOptions{})
	storetest.CheckError(t, err, engine.NotFound, "unknown-object")
}

func rekeying(t *testing.T, open storetest.Open) {
	r, c := storetest.OpenNotes(t, open)
	storetest.Create(t, r, c, "id", "1", "title", "T")
	it, err := r.Update(t.Context(), c, "1", storetest.NewValues(c, "id", "9"), engine.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "moved", []any{it.ID, it.Get("title")}, []any{"9", "T"})
	_, err = r.Get(t.Context(), c, "1")
	storetest.CheckError(t, err, engine.NotFound, "")
	storetest.CheckSame(t, "stored", storetest.Get(t, r, c, "9"), it)
}

func readonlyChange(t *testing.T, open storetest.Open) {
	c := storetest.NewClass("fixed", storetest.Prop("id", engine.String), storetest.Prop("since", engine.Int, storetest.Readonly), storetest.Prop("note", engine.String), storetest.Prop("pay", engine.DecimalNum, storetest.Readonly))
	r := open(t, []*engine.Class{c})
	storetest.Create(t, r, c, "id", "1", "since", int64(5), "pay", engine.Decimal("1.5"))
	strict := engine.WriteOptions{Handling: engine.Strict}
	_, err := r.Update(t.Context(), c, "1", storetest.NewValues(c, "since", int64(6), "note", "x"), strict)
	storetest.CheckSame(t, "attribute", storetest.CheckError(t, err, engine.Invalid, "readonly").Attribute, "since")
	storetest.CheckSame(t, "untouched", storetest.Get(t, r, c, "1").Get("note"), nil)
	if _, err = r.Update(t.Context(), c, "1", storetest.NewValues(c, "since", int64(5), "pay", engine.Decimal("1.5"), "note", "x"), strict); err != nil {
		t.Errorf("got %v for a value that is stored already, want no error", err)
	}
	_, err = r.Update(t.Context(), c, "2", storetest.NewValues(c, "since", int64(6)), strict)
	storetest.CheckError(t, err, engine.NotFound, "")
	strict.Match = &engine.Match{Revisions: []uint64{1}}
	_, err = r.Update(t.Context(), c, "1", storetest.NewValues(c, "since", int64(5)), strict)
	storetest.CheckError(t, err, engine.Unmatched, "")
	it, err := r.Update(t.Context(), c, "1", storetest.NewValues(c, "since", int64(6)), engine.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "lenient", it.Get("since"), int64(6))
}

func clearing(t *testing.T, open storetest.Open) {
	c := storetest.NewClass("strict", storetest.Prop("id", engine.String), storetest.Prop("name", engine.String, storetest.Required))
	r := open(t, []*engine.Class{c})
	storetest.Create(t, r, c, "id", "1", "name", "n")
	for attribute, v := range map[string]engine.Values{"name": storetest.NewValues(c, "name", nil), "id": storetest.NewValues(c, "id", "")} {
		_, err := r.Update(t.Context(), c, "1", v, engine.WriteOptions{})
		storetest.CheckSame(t, "attribute", storetest.CheckError(t, err, engine.Invalid, "required").Attribute, attribute)
	}
	storetest.CheckSame(t, "untouched", storetest.Get(t, r, c, "1").Get("name"), "n")
}

func deleting(t *testing.T, open storetest.Open) {
	r, c := storetest.OpenNotes(t, open)
	storetest.Create(t, r, c, "id", "1", "code", "x")
	storetest.Create(t, r, c, "id", "2")
	if err := r.Delete(t.Context(), c, "1", nil); err != nil {
		t.Fatal(err)
	}
	storetest.CheckError(t, r.Delete(t.Context(), c, "1", nil), engine.NotFound, "unknown-object")
	storetest.Create(t, r, c, "id", "1", "code", "x") // after the deletion, the id and the code are free again
	storetest.CheckSame(t, "order", storetest.ListIDs(t, r, storetest.All(c)), []string{"2", "1"})
}
