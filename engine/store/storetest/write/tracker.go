package write

import (
	"testing"

	"restsrv/engine"
	"restsrv/engine/store/storetest"
)

var trackerTests = []storetest.Test{
	{Name: "times", Run: trackedTimes},
	{Name: "accounts", Run: trackedAccounts},
	{Name: "in a save", Run: trackedSave},
}

func trackedTimes(t *testing.T, open storetest.Open) {
	c := storetest.Tracked()
	r := open(t, []*engine.Class{c})
	made := storetest.Create(t, r, c, "id", "1")
	if made.Get("made") == nil || made.Get("made") != made.Get("changed") {
		t.Errorf("created at %v, changed at %v, want the same time", made.Get("made"), made.Get("changed"))
	}
	storetest.CheckSame(t, "given", storetest.Create(t, r, c, "id", "2", "made", storetest.LongAgo, "changed", storetest.LongAgo).Values[2:4], engine.Values{storetest.LongAgo, storetest.LongAgo})
	it := storetest.Update(t, r, c, "2", "name", "x", "changed", storetest.LongAgo)
	storetest.CheckSame(t, "made", it.Get("made"), storetest.LongAgo)
	if it.Get("changed") == storetest.LongAgo {
		t.Error("an update did not change the time of the last change")
	}
	storetest.CheckSame(t, "stored", storetest.Get(t, r, c, "2").Values, it.Values)
	if _, err := r.UpdateAll(t.Context(), storetest.Where(c, engine.OpEq, "id", "2"), storetest.NewValues(c, "changed", nil)); err != nil {
		t.Fatal(err)
	}
	if storetest.Get(t, r, c, "2").Get("changed") == nil {
		t.Error("an update of all did not set the time of the last change")
	}
}

func trackedAccounts(t *testing.T, open storetest.Open) {
	c := storetest.Tracked()
	r := open(t, []*engine.Class{c})
	who := func(it *engine.Item) []any {
		return []any{it.Get("by"), it.Get("editor"), it.Creator, it.Editor}
	}
	it, err := r.Create(storetest.WithAccount(t, "ann@local"), c, storetest.NewValues(c, "id", "1", "by", "eve@local", "editor", "eve@local"), engine.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "created", who(it), []any{"ann@local", nil, "", ""})
	it, err = r.Update(storetest.WithAccount(t, "bob@local"), c, "1", storetest.NewValues(c, "by", "eve@local", "editor", "eve@local"), engine.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "updated", who(it), []any{"ann@local", "bob@local", "", ""})
	storetest.CheckSame(t, "stored", storetest.Get(t, r, c, "1").Values, it.Values)
	// If the server itself writes, it stores values that are given for these attributes, as in an import.
	storetest.CheckSame(t, "given", who(storetest.Create(t, r, c, "id", "2", "by", "eve@local")), []any{"eve@local", nil, "", ""})
}

func trackedSave(t *testing.T, open storetest.Open) {
	c := storetest.Tracked()
	r := open(t, []*engine.Class{c})
	storetest.Create(t, r, c, "id", "old", "made", storetest.LongAgo, "changed", storetest.LongAgo, "by", "eve@local")
	items, err := r.Save(storetest.WithAccount(t, "ann@local"), []engine.Record{storetest.NewRecord(c, "new", "name", "n"), storetest.NewRecord(c, "old", "name", "o"), storetest.NewRecord(c, "", "id", "third")})
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckStored(t, r, items)
	storetest.CheckSame(t, "old", []any{items[1].Get("made"), items[1].Get("by"), items[1].Get("editor")}, []any{storetest.LongAgo, "eve@local", "ann@local"})
	if items[1].Get("changed") == storetest.LongAgo {
		t.Error("the time of the last change did not change")
	}
	for _, it := range []*engine.Item{items[0], items[2]} {
		storetest.CheckSame(t, "new", []any{it.Get("by"), it.Get("editor"), it.Get("made") != nil, it.Get("made") == it.Get("changed")}, []any{"ann@local", nil, true, true})
	}
}
