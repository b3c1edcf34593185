package storetest

import (
	"fmt"
	"testing"

	"restsrv/engine"
)

var saveTests = []test{
	{"insert and update", saveMixed},
	{"accounts and versions", saveAccounts},
	{"brief", saveBrief},
	{"ids and keys", saveKeys},
	{"one id twice", saveTwice},
	{"required properties", saveRequired},
	{"partial upsert", savePartial},
	{"all or nothing", saveAtomic},
	{"the record to blame", saveBlame},
	{"many", saveMany},
}

func save(t *testing.T, r engine.Repository, records ...engine.Record) []*engine.Item {
	t.Helper()
	items, err := r.Save(t.Context(), records)
	if err != nil {
		t.Fatalf("save: %v", err)
	}
	if len(items) != len(records) {
		t.Fatalf("save returned %d items for %d records", len(items), len(records))
	}
	return items
}

// checkStored checks that saved items equal the stored ones.
func checkStored(t *testing.T, r engine.Repository, items []*engine.Item) {
	t.Helper()
	for _, it := range items {
		same(t, "stored "+it.ID, get(t, r, it.Class, it.ID), it)
	}
}

func saveMixed(t *testing.T, open Open) {
	a, b := note(), NewClass("tag", Prop("id", engine.Int), Prop("name", engine.String))
	r := open(t, []*engine.Class{a, b})
	create(t, r, a, "id", "2", "title", "old", "body", "keep")
	items := save(t, r,
		record(a, "1", "title", "one"),
		record(a, "2", "title", "two"),
		record(b, "7", "name", "seven"),
		record(a, "", "title", "generated"),
		record(a, "", "id", "3", "title", "three", "rank", int64(3)),
		record(a, "4"))
	checkStored(t, r, items)
	same(t, "kept", items[1].Values, engine.Values{"2", "two", "keep", nil, nil})
	same(t, "generated", len(items[3].ID) > 0, true)
	same(t, "order", ids(t, r, all(a)), []string{"2", "1", items[3].ID, "3", "4"})
	same(t, "other class", get(t, r, b, "7").Get("name"), "seven")
	none, err := r.Save(t.Context(), nil)
	same(t, "no records", []any{len(none), err}, []any{0, nil})
}

func saveAccounts(t *testing.T, open Open) {
	r, c := openNotes(t, open)
	whole := []any{"title", "t", "body", "b", "rank", int64(1), "code", nil}
	one := func(account, id, version string, pairs ...any) *engine.Item {
		rec := record(c, id, pairs...)
		rec.Version = version
		items, err := r.Save(as(t, account), []engine.Record{rec})
		if err != nil {
			t.Fatal(err)
		}
		checkStored(t, r, items)
		return items[0]
	}
	for id, pairs := range map[string][]any{"whole": whole, "part": {"title", "t"}} {
		first := one("ann@local", id, "v1", pairs...)
		same(t, "inserted", []string{first.Creator, first.Editor, first.Version}, []string{"ann@local", "", "v1"})
		second := one("bob@local", id, "", pairs...)
		same(t, "updated", []string{second.Creator, second.Editor, second.Version}, []string{"ann@local", "bob@local", ""})
		if first.Revision == second.Revision {
			t.Error("the revision did not change")
		}
	}
}

// saveBrief saves records with Brief, which need not be returned whole. The stored items should be
// the same.
func saveBrief(t *testing.T, open Open) {
	r, c := openNotes(t, open)
	for _, account := range []string{"ann@local", "bob@local"} {
		var records []engine.Record
		for i := range 5 {
			rec := record(c, fmt.Sprint(i), "title", "by "+account, "body", "b", "rank", int64(i), "code", fmt.Sprint("c", i))
			rec.Brief = i > 0
			records = append(records, rec)
		}
		records = append(records, record(c, "4", "title", "last"))
		items, err := r.Save(as(t, account), records)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "title", items[1].Get("title"), "by "+account)
		if items[1].Creator != "" && items[1].Creator != "ann@local" {
			t.Errorf("the creator is %q", items[1].Creator)
		}
		checkStored(t, r, items[:1])
		for _, it := range items[1:4] {
			now := get(t, r, c, it.ID)
			same(t, "stored "+it.ID, []any{now.Values, now.Revision}, []any{it.Values, it.Revision})
		}
	}
	for i, title := range []string{"by bob@local", "by bob@local", "by bob@local", "by bob@local", "last"} {
		it := get(t, r, c, fmt.Sprint(i))
		same(t, "stored", []any{it.Get("title"), it.Creator, it.Editor}, []any{title, "ann@local", "bob@local"})
	}
}

func saveKeys(t *testing.T, open Open) {
	r, c := openNotes(t, open)
	create(t, r, c, "id", "1", "body", "keep")
	items := save(t, r,
		record(c, "1", "id", "2", "title", "moved"),
		record(c, "5", "id", "6", "title", "new"))
	checkStored(t, r, items)
	same(t, "ids", ids(t, r, all(c)), []string{"2", "6"})
	same(t, "moved", items[0].Values, engine.Values{"2", "moved", "keep", nil, nil})
	_, err := r.Save(t.Context(), []engine.Record{record(c, "2", "id", "6")})
	same(t, "attribute", fails(t, err, engine.Invalid, "duplicate").Attribute, "id")
	n := NewClass("n", Prop("id", engine.Int))
	numbers := open(t, []*engine.Class{n})
	_, err = numbers.Save(t.Context(), []engine.Record{record(n, "1"), record(n, "x")})
	e := fails(t, err, engine.Invalid, "")
	same(t, "index", []any{e.Bulk, e.Index}, []any{true, 1})
	same(t, "rows", count(t, numbers, n), int64(0))
}

func saveTwice(t *testing.T, open Open) {
	r, c := openNotes(t, open)
	items := save(t, r,
		record(c, "1", "title", "a", "rank", int64(1)),
		record(c, "1", "title", "b", "rank", int64(2)),
		record(c, "", "id", "1", "body", "c"),
		record(c, "1", "id", "2"),
		record(c, "1", "title", "fresh"))
	// All returned items have their final state.
	for i, it := range items[:4] {
		same(t, fmt.Sprint("record ", i), it.Values, engine.Values{"2", "b", "c", int64(2), nil})
	}
	same(t, "fresh", items[4].Values, engine.Values{"1", "fresh", nil, nil, nil})
	checkStored(t, r, items)
	same(t, "rows", count(t, r, c), int64(2))
}

func saveRequired(t *testing.T, open Open) {
	c := NewClass("doc", Prop("id", engine.String), Prop("name", engine.String, required), Prop("state", engine.String, required, byDefault("new")), Prop("rest", engine.String))
	r := open(t, []*engine.Class{c})
	create(t, r, c, "id", "1", "name", "n")
	create(t, r, c, "id", "2", "name", "m", "state", "old")
	// An update need not give values that an insert requires.
	items := save(t, r, record(c, "1", "rest", "x"), record(c, "2", "rest", "y"), record(c, "3", "name", "new one"))
	checkStored(t, r, items)
	same(t, "states", []any{items[0].Get("state"), items[1].Get("state"), items[2].Get("state")}, []any{"new", "old", "new"})
	for i, bad := range []engine.Record{record(c, "4", "rest", "x"), record(c, "1", "name", nil), record(c, "", "name", "no key")} {
		_, err := r.Save(t.Context(), []engine.Record{record(c, "1", "rest", "never"), record(c, "5", "name", "never"), bad})
		e := fails(t, err, engine.Invalid, "required")
		same(t, fmt.Sprint("blame ", i), []any{e.Bulk, e.Index, e.Attribute}, []any{true, 2, []string{"name", "name", "id"}[i]})
	}
	same(t, "untouched", get(t, r, c, "1").Get("rest"), "x")
	same(t, "rows", count(t, r, c), int64(3))
}

func savePartial(t *testing.T, open Open) {
	r, c := openNotes(t, open)
	for i := range 5 {
		create(t, r, c, "id", fmt.Sprint(i), "body", fmt.Sprint("body ", i), "code", fmt.Sprint("c", i))
	}
	var records []engine.Record
	for i := range 10 {
		records = append(records, record(c, fmt.Sprint(9-i), "title", fmt.Sprint("title ", 9-i)))
	}
	items := save(t, r, records...)
	checkStored(t, r, items)
	for i, it := range items {
		body := any(fmt.Sprint("body ", 9-i))
		if 9-i >= 5 {
			body = nil
		}
		same(t, it.ID, []any{it.Get("title"), it.Get("body")}, []any{fmt.Sprint("title ", 9-i), body})
	}
}

func saveAtomic(t *testing.T, open Open) {
	r, c := openNotes(t, open)
	before := create(t, r, c, "id", "0", "title", "before", "code", "taken")
	for reason, last := range map[string]engine.Record{"duplicate": record(c, "x", "code", "taken"), "required": record(c, "", "id", nil)} {
		records := []engine.Record{record(c, "0", "title", "after"), record(c, "0", "id", "moved")}
		for i := range 1500 {
			records = append(records, record(c, fmt.Sprint("new", i), "title", "t"))
		}
		_, err := r.Save(t.Context(), append(records, last))
		e := fails(t, err, engine.Invalid, reason)
		same(t, "index", []any{e.Bulk, e.Index}, []any{true, len(records)})
		same(t, "rows", count(t, r, c), int64(1))
		same(t, "item", get(t, r, c, "0"), before)
	}
}

// saveBlame puts the one invalid record at different places of a batch.
func saveBlame(t *testing.T, open Open) {
	r, c := openNotes(t, open)
	create(t, r, c, "id", "taken", "code", "taken")
	for _, partial := range []bool{false, true} {
		for _, bad := range []int{0, 1, 99, 511, 512, 699} {
			var records []engine.Record
			for i := range 700 {
				rec := record(c, fmt.Sprint(i), "code", fmt.Sprint("code ", i))
				if !partial {
					rec = record(c, fmt.Sprint(i), "title", "t", "body", "b", "rank", int64(1), "code", fmt.Sprint("code ", i))
				}
				records = append(records, rec)
			}
			records[bad].Values[c.Property("code").Index] = "taken"
			_, err := r.Save(t.Context(), records)
			e := fails(t, err, engine.Invalid, "duplicate")
			same(t, "blame", []any{e.Bulk, e.Index, e.Attribute, e.Class}, []any{true, bad, "code", c.FullName})
			same(t, "rows", count(t, r, c), int64(1))
		}
	}
}

func saveMany(t *testing.T, open Open) {
	r, c := openNotes(t, open)
	for _, n := range []int{1, 2, 3, 1000, 2500} {
		for range 2 { // first inserted, then updated
			var records []engine.Record
			for i := range n {
				records = append(records, record(c, fmt.Sprint(n, "-", i), "title", "t", "body", "b", "rank", int64(i), "code", nil))
			}
			items := save(t, r, records...)
			same(t, "last", items[n-1].Get("rank"), int64(n-1))
			checkStored(t, r, items[n-1:])
		}
	}
	same(t, "rows", count(t, r, c), int64(3506))
}
