package write

import (
	"fmt"
	"testing"

	"restsrv/engine"
	"restsrv/engine/store/storetest"
)

var saveTests = []storetest.Test{
	{Name: "insert and update", Run: saveMixed},
	{Name: "accounts and versions", Run: saveAccounts},
	{Name: "brief", Run: saveBrief},
	{Name: "ids and keys", Run: saveKeys},
	{Name: "one id twice", Run: saveTwice},
	{Name: "required properties", Run: saveRequired},
	{Name: "partial upsert", Run: savePartial},
	{Name: "all or nothing", Run: saveAtomic},
	{Name: "the record to blame", Run: saveBlame},
	{Name: "many", Run: saveMany},
}

func saveMixed(t *testing.T, open storetest.Open) {
	a, b := storetest.NoteClass(), storetest.NewClass("tag", storetest.Prop("id", engine.Int), storetest.Prop("name", engine.String))
	r := open(t, []*engine.Class{a, b})
	storetest.Create(t, r, a, "id", "2", "title", "old", "body", "keep")
	items := storetest.Save(t, r,
		storetest.NewRecord(a, "1", "title", "one"),
		storetest.NewRecord(a, "2", "title", "two"),
		storetest.NewRecord(b, "7", "name", "seven"),
		storetest.NewRecord(a, "", "title", "generated"),
		storetest.NewRecord(a, "", "id", "3", "title", "three", "rank", int64(3)),
		storetest.NewRecord(a, "4"))
	storetest.CheckStored(t, r, items)
	storetest.CheckSame(t, "kept", items[1].Values, engine.Values{"2", "two", "keep", nil, nil})
	storetest.CheckSame(t, "generated", len(items[3].ID) > 0, true)
	storetest.CheckSame(t, "order", storetest.ListIDs(t, r, storetest.All(a)), []string{"2", "1", items[3].ID, "3", "4"})
	storetest.CheckSame(t, "other class", storetest.Get(t, r, b, "7").Get("name"), "seven")
	none, err := r.Save(t.Context(), nil)
	storetest.CheckSame(t, "no records", []any{len(none), err}, []any{0, nil})
}

func saveAccounts(t *testing.T, open storetest.Open) {
	r, c := storetest.OpenNotes(t, open)
	whole := []any{"title", "t", "body", "b", "rank", int64(1), "code", nil}
	one := func(account, id, version string, pairs ...any) *engine.Item {
		rec := storetest.NewRecord(c, id, pairs...)
		rec.Version = version
		items, err := r.Save(storetest.WithAccount(t, account), []engine.Record{rec})
		if err != nil {
			t.Fatal(err)
		}
		storetest.CheckStored(t, r, items)
		return items[0]
	}
	for id, pairs := range map[string][]any{"whole": whole, "part": {"title", "t"}} {
		first := one("ann@local", id, "v1", pairs...)
		storetest.CheckSame(t, "inserted", []string{first.Creator, first.Editor, first.Version}, []string{"ann@local", "", "v1"})
		second := one("bob@local", id, "", pairs...)
		storetest.CheckSame(t, "updated", []string{second.Creator, second.Editor, second.Version}, []string{"ann@local", "bob@local", ""})
		if first.Revision == second.Revision {
			t.Error("the revision did not change")
		}
	}
}

// saveBrief saves records with Brief. The returned items need not be complete, but the stored items should be the same
// as without Brief.
func saveBrief(t *testing.T, open storetest.Open) {
	r, c := storetest.OpenNotes(t, open)
	for _, account := range []string{"ann@local", "bob@local"} {
		var records []engine.Record
		for i := range 5 {
			rec := storetest.NewRecord(c, fmt.Sprint(i), "title", "by "+account, "body", "b", "rank", int64(i), "code", fmt.Sprint("c", i))
			rec.Brief = i > 0
			records = append(records, rec)
		}
		records = append(records, storetest.NewRecord(c, "4", "title", "last"))
		items, err := r.Save(storetest.WithAccount(t, account), records)
		if err != nil {
			t.Fatal(err)
		}
		storetest.CheckSame(t, "title", items[1].Get("title"), "by "+account)
		if items[1].Creator != "" && items[1].Creator != "ann@local" {
			t.Errorf("the creator is %q", items[1].Creator)
		}
		storetest.CheckStored(t, r, items[:1])
		for _, it := range items[1:4] {
			now := storetest.Get(t, r, c, it.ID)
			storetest.CheckSame(t, "stored "+it.ID, []any{now.Values, now.Revision}, []any{it.Values, it.Revision})
		}
	}
	for i, title := range []string{"by bob@local", "by bob@local", "by bob@local", "by bob@local", "last"} {
		it := storetest.Get(t, r, c, fmt.Sprint(i))
		storetest.CheckSame(t, "stored", []any{it.Get("title"), it.Creator, it.Editor}, []any{title, "ann@local", "bob@local"})
	}
}

func saveKeys(t *testing.T, open storetest.Open) {
	r, c := storetest.OpenNotes(t, open)
	storetest.Create(t, r, c, "id", "1", "body", "keep")
	items := storetest.Save(t, r,
		storetest.NewRecord(c, "1", "id", "2", "title", "moved"),
		storetest.NewRecord(c, "5", "id", "6", "title", "new"))
	storetest.CheckStored(t, r, items)
	storetest.CheckSame(t, "ids", storetest.ListIDs(t, r, storetest.All(c)), []string{"2", "6"})
	storetest.CheckSame(t, "moved", items[0].Values, engine.Values{"2", "moved", "keep", nil, nil})
	_, err := r.Save(t.Context(), []engine.Record{storetest.NewRecord(c, "2", "id", "6")})
	storetest.CheckSame(t, "attribute", storetest.CheckError(t, err, engine.Invalid, "duplicate").Attribute, "id")
	n := storetest.NewClass("n", storetest.Prop("id", engine.Int))
	numbers := open(t, []*engine.Class{n})
	_, err = numbers.Save(t.Context(), []engine.Record{storetest.NewRecord(n, "1"), storetest.NewRecord(n, "x")})
	e := storetest.CheckError(t, err, engine.Invalid, "")
	storetest.CheckSame(t, "index", []any{e.Bulk, e.Index}, []any{true, 1})
	storetest.CheckSame(t, "rows", storetest.Count(t, numbers, n), int64(0))
}

func saveTwice(t *testing.T, open storetest.Open) {
	r, c := storetest.OpenNotes(t, open)
	items := storetest.Save(t, r,
		storetest.NewRecord(c, "1", "title", "a", "rank", int64(1)),
		storetest.NewRecord(c, "1", "title", "b", "rank", int64(2)),
		storetest.NewRecord(c, "", "id", "1", "body", "c"),
		storetest.NewRecord(c, "1", "id", "2"),
		storetest.NewRecord(c, "1", "title", "fresh"))
	// All returned items should have their final state.
	for i, it := range items[:4] {
		storetest.CheckSame(t, fmt.Sprint("record ", i), it.Values, engine.Values{"2", "b", "c", int64(2), nil})
	}
	storetest.CheckSame(t, "fresh", items[4].Values, engine.Values{"1", "fresh", nil, nil, nil})
	storetest.CheckStored(t, r, items)
	storetest.CheckSame(t, "rows", storetest.Count(t, r, c), int64(2))
}

func saveRequired(t *testing.T, open storetest.Open) {
	c := storetest.NewClass("doc", storetest.Prop("id", engine.String), storetest.Prop("name", engine.String, storetest.Required), storetest.Prop("state", engine.String, storetest.Required, storetest.ByDefault("new")), storetest.Prop("rest", engine.String))
	r := open(t, []*engine.Class{c})
	storetest.Create(t, r, c, "id", "1", "name", "n")
	storetest.Create(t, r, c, "id", "2", "name", "m", "state", "old")
	// An update need not give the values that an insert requires.
	items := storetest.Save(t, r, storetest.NewRecord(c, "1", "rest", "x"), storetest.NewRecord(c, "2", "rest", "y"), storetest.NewRecord(c, "3", "name", "new one"))
	storetest.CheckStored(t, r, items)
	storetest.CheckSame(t, "states", []any{items[0].Get("state"), items[1].Get("state"), items[2].Get("state")}, []any{"new", "old", "new"})
	for i, bad := range []engine.Record{storetest.NewRecord(c, "4", "rest", "x"), storetest.NewRecord(c, "1", "name", nil), storetest.NewRecord(c, "", "name", "no key")} {
		_, err := r.Save(t.Context(), []engine.Record{storetest.NewRecord(c, "1", "rest", "never"), storetest.NewRecord(c, "5", "name", "never"), bad})
		e := storetest.CheckError(t, err, engine.Invalid, "required")
		storetest.CheckSame(t, fmt.Sprint("blame ", i), []any{e.Bulk, e.Index, e.Attribute}, []any{true, 2, []string{"name", "name", "id"}[i]})
	}
	storetest.CheckSame(t, "untouched", storetest.Get(t, r, c, "1").Get("rest"), "x")
	storetest.CheckSame(t, "rows", storetest.Count(t, r, c), int64(3))
}

func savePartial(t *testing.T, open storetest.Open) {
	r, c := storetest.OpenNotes(t, open)
	for i := range 5 {
		storetest.Create(t, r, c, "id", fmt.Sprint(i), "body", fmt.Sprint("body ", i), "code", fmt.Sprint("c", i))
	}
	var records []engine.Record
	for i := range 10 {
		records = append(records, storetest.NewRecord(c, fmt.Sprint(9-i), "title", fmt.Sprint("title ", 9-i)))
	}
	items := storetest.Save(t, r, records...)
	storetest.CheckStored(t, r, items)
	for i, it := range items {
		body := any(fmt.Sprint("body ", 9-i))
		if 9-i >= 5 {
			body = nil
		}
		storetest.CheckSame(t, it.ID, []any{it.Get("title"), it.Get("body")}, []any{fmt.Sprint("title ", 9-i), body})
	}
}

func saveAtomic(t *testing.T, open storetest.Open) {
	r, c := storetest.OpenNotes(t, open)
	before := storetest.Create(t, r, c, "id", "0", "title", "before", "code", "taken")
	for reason, last := range map[string]engine.Record{"duplicate": storetest.NewRecord(c, "x", "code", "taken"), "required": storetest.NewRecord(c, "", "id", nil)} {
		records := []engine.Record{storetest.NewRecord(c, "0", "title", "after"), storetest.NewRecord(c, "0", "id", "moved")}
		for i := range 1500 {
			records = append(records, storetest.NewRecord(c, fmt.Sprint("new", i), "title", "t"))
		}
		_, err := r.Save(t.Context(), append(records, last))
		e := storetest.CheckError(t, err, engine.Invalid, reason)
		storetest.CheckSame(t, "index", []any{e.Bulk, e.Index}, []any{true, len(records)})
		storetest.CheckSame(t, "rows", storetest.Count(t, r, c), int64(1))
		storetest.CheckSame(t, "item", storetest.Get(t, r, c, "0"), before)
	}
}

// saveBlame saves batches with one invalid record at different positions. The returned error should name this record.
func saveBlame(t *testing.T, open storetest.Open) {
	r, c := storetest.OpenNotes(t, open)
	storetest.Create(t, r, c, "id", "taken", "code", "taken")
	for _, partial := range []bool{false, true} {
		for _, bad := range []int{0, 1, 99, 511, 512, 699} {
			var records []engine.Record
			for i := range 700 {
				rec := storetest.NewRecord(c, fmt.Sprint(i), "code", fmt.Sprint("code ", i))
				if !partial {
					rec = storetest.NewRecord(c, fmt.Sprint(i), "title", "t", "body", "b", "rank", int64(1), "code", fmt.Sprint("code ", i))
				}
				records = append(records, rec)
			}
			records[bad].Values[c.Property("code").Index] = "taken"
			_, err := r.Save(t.Context(), records)
			e := storetest.CheckError(t, err, engine.Invalid, "duplicate")
			storetest.CheckSame(t, "blame", []any{e.Bulk, e.Index, e.Attribute, e.Class}, []any{true, bad, "code", c.FullName})
			storetest.CheckSame(t, "rows", storetest.Count(t, r, c), int64(1))
		}
	}
}

func saveMany(t *testing.T, open storetest.Open) {
	r, c := storetest.OpenNotes(t, open)
	for _, n := range []int{1, 2, 3, 1000, 2500} {
		for range 2 { // the first round inserts, the second updates
			var records []engine.Record
			for i := range n {
				records = append(records, storetest.NewRecord(c, fmt.Sprint(n, "-", i), "title", "t", "body", "b", "rank", int64(i), "code", nil))
			}
			items := storetest.Save(t, r, records...)
			storetest.CheckSame(t, "last", items[n-1].Get("rank"), int64(n-1))
			storetest.CheckStored(t, r, items[n-1:])
		}
	}
	storetest.CheckSame(t, "rows", storetest.Count(t, r, c), int64(3506))
}
