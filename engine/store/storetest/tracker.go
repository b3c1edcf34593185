package storetest

import (
	"testing"

	"restsrv/engine"
)

var trackerTests = []test{
	{"times", trackedTimes},
	{"accounts", trackedAccounts},
	{"in a save", trackedSave},
}

func tracked() *engine.Class {
	c := NewClass("tracked", Prop("id", engine.String), Prop("name", engine.String),
		Prop("made", engine.DateTime), Prop("changed", engine.DateTime), Prop("by", engine.User), Prop("editor", engine.User))
	c.CreationTracker, c.ChangeTracker, c.CreatorTracker, c.EditorTracker = "made", "changed", "by", "editor"
	return c
}

const long = engine.Instant(1_000_000_000_000) // a time in the past

func trackedTimes(t *testing.T, open Open) {
	c := tracked()
	r := open(t, []*engine.Class{c})
	made := create(t, r, c, "id", "1")
	if made.Get("made") == nil || made.Get("made") != made.Get("changed") {
		t.Errorf("created at %v, changed at %v, want the same time", made.Get("made"), made.Get("changed"))
	}
	same(t, "given", create(t, r, c, "id", "2", "made", long, "changed", long).Values[2:4], engine.Values{long, long})
	it := update(t, r, c, "2", "name", "x", "changed", long)
	same(t, "made", it.Get("made"), long)
	if it.Get("changed") == long {
		t.Error("an update did not change the time of the last change")
	}
	same(t, "stored", get(t, r, c, "2").Values, it.Values)
	if _, err := r.UpdateAll(t.Context(), where(c, engine.OpEq, "id", "2"), values(c, "changed", nil)); err != nil {
		t.Fatal(err)
	}
	if get(t, r, c, "2").Get("changed") == nil {
		t.Error("an update of all did not set the time of the last change")
	}
}

func trackedAccounts(t *testing.T, open Open) {
	c := tracked()
	r := open(t, []*engine.Class{c})
	who := func(it *engine.Item) []any {
		return []any{it.Get("by"), it.Get("editor"), it.Creator, it.Editor}
	}
	it, err := r.Create(as(t, "ann@local"), c, values(c, "id", "1", "by", "eve@local", "editor", "eve@local"), engine.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "created", who(it), []any{"ann@local", nil, "", ""})
	it, err = r.Update(as(t, "bob@local"), c, "1", values(c, "by", "eve@local", "editor", "eve@local"), engine.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "updated", who(it), []any{"ann@local", "bob@local", "", ""})
	same(t, "stored", get(t, r, c, "1").Values, it.Values)
	// The server itself stores the given trackers, as in an import.
	same(t, "given", who(create(t, r, c, "id", "2", "by", "eve@local")), []any{"eve@local", nil, "", ""})
}

func trackedSave(t *testing.T, open Open) {
	c := tracked()
	r := open(t, []*engine.Class{c})
	create(t, r, c, "id", "old", "made", long, "changed", long, "by", "eve@local")
	items, err := r.Save(as(t, "ann@local"), []engine.Record{record(c, "new", "name", "n"), record(c, "old", "name", "o"), record(c, "", "id", "third")})
	if err != nil {
		t.Fatal(err)
	}
	checkStored(t, r, items)
	same(t, "old", []any{items[1].Get("made"), items[1].Get("by"), items[1].Get("editor")}, []any{long, "eve@local", "ann@local"})
	if items[1].Get("changed") == long {
		t.Error("the time of the last change did not change")
	}
	for _, it := range []*engine.Item{items[0], items[2]} {
		same(t, "new", []any{it.Get("by"), it.Get("editor"), it.Get("made") != nil, it.Get("made") == it.Get("changed")}, []any{"ann@local", nil, true, true})
	}
}
