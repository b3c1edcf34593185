package storetest

import (
	"fmt"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/query"
)

var searchTests = []test{
	{"words of marked properties", searchWords},
	{"words after changes", searchChanges},
	{"text in any property", searchContained},
	{"as a condition", searchCondition},
	{"long texts", searchLong},
}

func searched(p *engine.Property) { p.Search = true }

func openTexts(t *testing.T, open Open) (engine.Repository, *engine.Class, *engine.Class) {
	c := NewClass("text", Prop("id", engine.String), Prop("title", engine.String, searched), Prop("body", engine.Text, searched), Prop("note", engine.String), Prop("n", engine.Int, searched))
	below := Extend(c, "letter", Prop("sender", engine.String, searched))
	r := open(t, []*engine.Class{c, below})
	create(t, r, c, "id", "0", "title", "The quick brown Fox", "body", "jumps over the lazy dog.", "n", int64(42))
	create(t, r, c, "id", "1", "title", "Съешь ещё этих мягких", "body", "французских булок, да выпей чаю", "note", "fox")
	create(t, r, c, "id", "2", "title", "Straße nach München", "body", "e-mail: fox_trot@example.org; don't")
	create(t, r, c, "id", "3")
	create(t, r, below, "id", "4", "title", "Ünïcödé 漢字かな", "sender", "Fox & Sons", "body", `"quoted" 'single' (a|b) & c:* !d`)
	return r, c, below
}

func findsText(t *testing.T, r engine.Repository, c *engine.Class, want map[string]string) {
	t.Helper()
	for search, ids_ := range want {
		q := &engine.Query{Class: c, Search: search, Count: -1}
		same(t, search, ids(t, r, q), split(ids_))
		n, err := r.Count(t.Context(), q)
		same(t, search+" counted", []any{n, err}, []any{int64(len(ids_)), nil})
	}
}

func searchWords(t *testing.T, open Open) {
	r, c, below := openTexts(t, open)
	findsText(t, r, c, map[string]string{
		"fox": "024", "FOX": "024", "fo": "024", "ox": "", "quick fox": "0", "fox quick": "0", "quick cat": "", "lazy-dog": "0", "4": "0", "42": "0", "43": "",
		"БУЛОК": "1", "ещё съ": "1", "straße": "2", "STRASSE": "", "münch": "2", "trot": "2", "fox_trot": "2", "example.org": "2", "don't": "2", "don": "2",
		"漢字": "4", "ünïcödé": "4", "sons": "4", "quoted": "4", "!": "", "& | * : ( ) ' \" \\": "", "c:*": "4", "a|b": "4", "-fox": "024", "fox OR cat": "", "NOT fox": "", "\"quick brown\"": "0", "fox'": "024", "f*": "024",
		"\\": "", "%": "", "_": "", "  ": "", "title:fox": "", "NEAR(the fox)": "",
	})
	findsText(t, r, below, map[string]string{"fox": "4", "quick": ""})
	_, err := r.Count(t.Context(), &engine.Query{Class: c, Search: strings.Repeat("x", 1001)})
	fails(t, err, engine.Invalid, "search")
	_, err = r.Count(t.Context(), &engine.Query{Class: c, Search: "a\x00b"})
	fails(t, err, engine.Invalid, "search")
	sorted, _ := query.ParseSortList(c, "-title")
	same(t, "sorted and filtered", ids(t, r, &engine.Query{Class: c, Search: "fo", Sort: sorted, Filter: parsed(t, c, `{"ne":["$id","2"]}`), Count: 5}), []string{"4", "0"})
}

func searchChanges(t *testing.T, open Open) {
	r, c, below := openTexts(t, open)
	update := func(id string, pairs ...any) {
		t.Helper()
		if _, err := r.Update(t.Context(), c, id, values(c, pairs...), engine.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	update("0", "title", "A slow brown bear")
	update("3", "body", "fox at last")
	update("4", "title", nil)
	findsText(t, r, c, map[string]string{"fox": "234", "bear": "0", "quick": "", "lazy": "0", "ünïcödé": "", "sons": "4"})
	update("3", "body", nil)
	findsText(t, r, c, map[string]string{"fox": "24", "last": ""})
	save(t, r, record(c, "3", "title", "saved fox"), record(c, "5", "title", "new fox"), record(below, "4", "sender", "Bear"), record(c, "0", "n", int64(7)))
	findsText(t, r, c, map[string]string{"fox": "235", "saved": "3", "bear": "04", "42": "", "7": "0"})
	update("5", "id", "6")
	findsText(t, r, c, map[string]string{"new": "6"})
	n, err := r.UpdateAll(t.Context(), &engine.Query{Class: c, Filter: parsed(t, c, `{"match":["new"]}`), Count: -1}, values(c, "title", "many foxes"))
	same(t, "changed", []any{n, err}, []any{int64(1), nil})
	findsText(t, r, c, map[string]string{"new": "", "many": "6"})
	for _, id := range []string{"2", "6"} {
		if err := r.Delete(t.Context(), c, id, nil); err != nil {
			t.Fatal(err)
		}
	}
	findsText(t, r, c, map[string]string{"fox": "3", "new": ""})
	n, err = r.UpdateAll(t.Context(), where(c, engine.OpEq, "id", "3"), values(c, "title", "all bears"))
	same(t, "changed", []any{n, err}, []any{int64(1), nil})
	findsText(t, r, c, map[string]string{"fox": "", "bears": "3"})
}

func searchContained(t *testing.T, open Open) {
	c := NewClass("plain", Prop("id", engine.String), Prop("title", engine.String), Prop("body", engine.HTML), Prop("secret", engine.Password), Prop("n", engine.Int))
	r := open(t, []*engine.Class{c})
	create(t, r, c, "id", "0", "title", "Größe 100%", "body", "<b>x_y</b>")
	create(t, r, c, "id", "1", "title", "ПРИВЕТ мир", "n", int64(100))
	create(t, r, c, "id", "2", "secret", "hush", "body", `back\slash 'quote'`)
	findsText(t, r, c, map[string]string{
		"größe": "0", "GRÖSSE": "0", "SSE 1": "0", "%": "0", "_": "0", "привет МИР": "1", "ривет": "1", "100": "0", "hush": "", "hash": "", `\S`: "2", "'QUOTE'": "2", " мир ": "1", "  ": "", "x y": "", "2": "2",
	})
}

func searchCondition(t *testing.T, open Open) {
	r, c, _ := openTexts(t, open)
	for filter, want := range map[string]string{
		`{"match":["fox"]}`: "024", `{"not":[{"match":["fox"]}]}`: "13", `{"or":[{"match":["bulok"]},{"match":["булок"]},{"n":42}]}`: "01", `{"match":[""]}`: "",
	} {
		same(t, filter, ids(t, r, &engine.Query{Class: c, Filter: parsed(t, c, filter), Count: -1}), split(want))
	}
}

// searchLong checks the limits of a database for words and for all words of an item. Text over the
// limit is not found, but never causes an error.
func searchLong(t *testing.T, open Open) {
	r, c, _ := openTexts(t, open)
	long := strings.Repeat("я", 5000)
	var many strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&many, "w%d ", i)
	}
	create(t, r, c, "id", "8", "title", long, "body", many.String())
	findsText(t, r, c, map[string]string{long[:200]: "8", "w1": "8", "w777": "8"})
	var words strings.Builder
	for i := range 200 {
		fmt.Fprintf(&words, "w%d ", i)
	}
	findsText(t, r, c, map[string]string{words.String(): "8"})
}
