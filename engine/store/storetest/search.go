package storetest

import (
	"testing"

	"restsrv/engine"
)

// Searched makes a property part of the full-text search.
func Searched(p *engine.Property) { p.Search = true }

// OpenTexts opens a repository with items for the full-text search.
func OpenTexts(t *testing.T, open Open) (engine.Repository, *engine.Class, *engine.Class) {
	c := NewClass("text", Prop("id", engine.String), Prop("title", engine.String, Searched), Prop("body", engine.Text, Searched), Prop("note", engine.String), Prop("n", engine.Int, Searched))
	below := Extend(c, "letter", Prop("sender", engine.String, Searched))
	r := open(t, []*engine.Class{c, below})
	Create(t, r, c, "id", "0", "title", "The quick brown Fox", "body", "jumps over the lazy dog.", "n", int64(42))
	Create(t, r, c, "id", "1", "title", "Съешь ещё этих мягких", "body", "французских булок, да выпей чаю", "note", "fox")
	Create(t, r, c, "id", "2", "title", "Straße nach München", "body", "e-mail: fox_trot@example.org; don't")
	Create(t, r, c, "id", "3")
	Create(t, r, below, "id", "4", "title", "Ünïcödé 漢字かな", "sender", "Fox & Sons", "body", `"quoted" 'single' (a|b) & c:* !d`)
	return r, c, below
}

// CheckSearch checks the items that full-text searches find. want maps each search text to the ids of these items;
// each letter is an id.
func CheckSearch(t *testing.T, r engine.Repository, c *engine.Class, want map[string]string) {
	t.Helper()
	for search, ids_ := range want {
		q := &engine.Query{Class: c, Search: search, Count: -1}
		CheckSame(t, search, ListIDs(t, r, q), SplitLetters(ids_))
		n, err := r.Count(t.Context(), q)
		CheckSame(t, search+" counted", []any{n, err}, []any{int64(len(ids_)), nil})
	}
}
