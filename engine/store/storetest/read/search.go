package read

import (
	"fmt"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/query"
	"restsrv/engine/store/storetest"
)

var searchTests = []storetest.Test{
	{Name: "words of marked properties", Run: searchWords},
	{Name: "words after changes", Run: searchChanges},
	{Name: "text in any property", Run: searchContained},
	{Name: "as a condition", Run: searchCondition},
	{Name: "long texts", Run: searchLong},
}

func searchWords(t *testing.T, open storetest.Open) {
	r, c, below := storetest.OpenTexts(t, open)
	storetest.CheckSearch(t, r, c, map[string]string{
		"fox": "024", "FOX": "024", "fo": "024", "ox": "", "quick fox": "0", "fox quick": "0", "quick cat": "", "lazy-dog": "0", "4": "0", "42": "0", "43": "",
		"БУЛОК": "1", "ещё съ": "1", "straße": "2", "STRASSE": "", "münch": "2", "trot": "2", "fox_trot": "2", "example.org": "2", "don't": "2", "don": "2",
		"漢字": "4", "ünïcödé": "4", "sons": "4", "quoted": "4", "!": "", "& | * : ( ) ' \" \\": "", "c:*": "4", "a|b": "4", "-fox": "024", "fox OR cat": "", "NOT fox": "", "\"quick brown\"": "0", "fox'": "024", "f*": "024",
		"\\": "", "%": "", "_": "", "  ": "", "title:fox": "", "NEAR(the fox)": "",
	})
	storetest.CheckSearch(t, r, below, map[string]string{"fox": "4", "quick": ""})
	_, err := r.Count(t.Context(), &engine.Query{Class: c, Search: strings.Repeat("x", 1001)})
	storetest.CheckError(t, err, engine.Invalid, "search")
	_, err = r.Count(t.Context(), &engine.Query{Class: c, Search: "a\x00b"})
	storetest.CheckError(t, err, engine.Invalid, "search")
	sorted, _ := query.ParseSortList(c, "-title")
	storetest.CheckSame(t, "sorted and filtered", storetest.ListIDs(t, r, &engine.Query{Class: c, Search: "fo", Sort: sorted, Filter: storetest.ParseFilter(t, c, `{"ne":["$id","2"]}`), Count: 5}), []string{"4", "0"})
}

func searchChanges(t *testing.T, open storetest.Open) {
	r, c, below := storetest.OpenTexts(t, open)
	update := func(id string, pairs ...any) {
		t.Helper()
		if _, err := r.Update(t.Context(), c, id, storetest.NewValues(c, pairs...), engine.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	update("0", "title", "A slow brown bear")
	update("3", "body", "fox at last")
	update("4", "title", nil)
	storetest.CheckSearch(t, r, c, map[string]string{"fox": "234", "bear": "0", "quick": "", "lazy": "0", "ünïcödé": "", "sons": "4"})
	update("3", "body", nil)
	storetest.CheckSearch(t, r, c, map[string]string{"fox": "24", "last": ""})
	storetest.Save(t, r, storetest.NewRecord(c, "3", "title", "saved fox"), storetest.NewRecord(c, "5", "title", "new fox"), storetest.NewRecord(below, "4", "sender", "Bear"), storetest.NewRecord(c, "0", "n", int64(7)))
	storetest.CheckSearch(t, r, c, map[string]string{"fox": "235", "saved": "3", "bear": "04", "42": "", "7": "0"})
	update("5", "id", "6")
	storetest.CheckSearch(t, r, c, map[string]string{"new": "6"})
	n, err := r.UpdateAll(t.Context(), &engine.Query{Class: c, Filter: storetest.ParseFilter(t, c, `{"match":["new"]}`), Count: -1}, storetest.NewValues(c, "title", "many foxes"))
	storetest.CheckSame(t, "changed", []any{n, err}, []any{int64(1), nil})
	storetest.CheckSearch(t, r, c, map[string]string{"new": "", "many": "6"})
	for _, id := range []string{"2", "6"} {
		if err := r.Delete(t.Context(), c, id, nil); err != nil {
			t.Fatal(err)
		}
	}
	storetest.CheckSearch(t, r, c, map[string]string{"fox": "3", "new": ""})
	n, err = r.UpdateAll(t.Context(), storetest.Where(c, engine.OpEq, "id", "3"), storetest.NewValues(c, "title", "all bears"))
	storetest.CheckSame(t, "changed", []any{n, err}, []any{int64(1), nil})
	storetest.CheckSearch(t, r, c, map[string]string{"fox": "", "bears": "3"})
}

func searchContained(t *testing.T, open storetest.Open) {
	c := storetest.NewClass("plain", storetest.Prop("id", engine.String), storetest.Prop("title", engine.String), storetest.Prop("body", engine.HTML), storetest.Prop("secret", engine.Password), storetest.Prop("n", engine.Int))
	r := open(t, []*engine.Class{c})
	storetest.Create(t, r, c, "id", "0", "title", "Größe 100%", "body", "<b>x_y</b>")
	storetest.Create(t, r, c, "id", "1", "title", "ПРИВЕТ мир", "n", int64(100))
	storetest.Create(t, r, c, "id", "2", "secret", "hush", "body", `back\slash 'quote'`)
	storetest.CheckSearch(t, r, c, map[string]string{
		"größe": "0", "GRÖSSE": "0", "SSE 1": "0", "%": "0", "_": "0", "привет МИР": "1", "ривет": "1", "100": "0", "hush": "", "hash": "", `\S`: "2", "'QUOTE'": "2", " мир ": "1", "  ": "", "x y": "", "2": "2",
	})
}

func searchCondition(t *testing.T, open storetest.Open) {
	r, c, _ := storetest.OpenTexts(t, open)
	for filter, want := range map[string]string{
		`{"match":["fox"]}`: "024", `{"not":[{"match":["fox"]}]}`: "13", `{"or":[{"match":["bulok"]},{"match":["булок"]},{"n":42}]}`: "01", `{"match":[""]}`: "",
	} {
		storetest.CheckSame(t, filter, storetest.ListIDs(t, r, &engine.Query{Class: c, Filter: storetest.ParseFilter(t, c, filter), Count: -1}), storetest.SplitLetters(want))
	}
}

// searchLong stores a word that is longer, and more words, than the databases index. Such words may not be found, but
// should never cause an error.
func searchLong(t *testing.T, open storetest.Open) {
	r, c, _ := storetest.OpenTexts(t, open)
	long := strings.Repeat("я", 5000)
	var many strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&many, "w%d ", i)
	}
	storetest.Create(t, r, c, "id", "8", "title", long, "body", many.String())
	storetest.CheckSearch(t, r, c, map[string]string{long[:200]: "8", "w1": "8", "w777": "8"})
	var words strings.Builder
	for i := range 200 {
		fmt.Fprintf(&words, "w%d ", i)
	}
	storetest.CheckSearch(t, r, c, map[string]string{words.String(): "8"})
}
