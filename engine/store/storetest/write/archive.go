package write

import (
	"testing"

	"restsrv/engine"
	"restsrv/engine/store/storetest"
)

var archiveTests = []storetest.Test{
	{Name: "items as they are", Run: archiveItems},
	{Name: "pages", Run: archivePages},
	{Name: "links in their order", Run: archiveLinks},
	{Name: "in place of what is there", Run: archiveReplace},
	{Name: "all or none", Run: archiveRefused},
	{Name: "counters", Run: archiveCounters},
	{Name: "a counter at its end", Run: counterEnded},
	{Name: "words to be found by", Run: archiveWords},
}

// shop is a repository of items with properties of many types. A book is an item with pages. Items have shelves, and
// shelves have items, in two collections that mirror each other.
type shop struct {
	storetest.Archive
	item, book, shelf *engine.Class
}

func openShop(t *testing.T, open storetest.Open) *shop {
	s := &shop{}
	s.item = storetest.NewClass("item", storetest.Prop("no", engine.Int, storetest.Autoassigned), storetest.Prop("name", engine.String, storetest.Required), storetest.Prop("price", engine.DecimalNum),
		storetest.Prop("weight", engine.Real), storetest.Prop("since", engine.DateTime), storetest.Prop("sold", engine.Boolean), storetest.Prop("secret", engine.Password),
		storetest.Prop("place", engine.Geo), storetest.Ref("like", nil))
	s.item.Property("like").Target = s.item
	s.book = storetest.Extend(s.item, "book", storetest.Prop("pages", engine.Int))
	s.shelf = storetest.NewClass("shelf", storetest.Prop("id", engine.GUID))
	on, has := storetest.Prop("shelves", engine.Collection), storetest.Prop("items", engine.Collection)
	on.Target, has.Target, on.Mirror, has.Mirror = s.shelf, s.item, has, on
	storetest.AddProperties(s.shelf, has)
	storetest.AddProperties(s.item, on)
	inherited := *on
	s.book.Properties = append(s.book.Properties, &inherited)
	if err := s.book.Init(); err != nil {
		t.Fatal(err)
	}
	storetest.Link(s.item, s.book, s.shelf)
	s.Archive = open(t, []*engine.Class{s.item, s.book, s.shelf}).(storetest.Archive)
	return s
}

func (s *shop) put(t *testing.T, items ...*engine.Item) {
	t.Helper()
	if err := s.Import(t.Context(), items); err != nil {
		t.Fatalf("import: %v", err)
	}
}

func (s *shop) dump(t *testing.T, c *engine.Class) (all []*engine.Item) {
	t.Helper()
	_, err := s.Dump(t.Context(), c, 0, 1000, func(it *engine.Item) error {
		all = append(all, it.Clone())
		return nil
	})
	if err != nil {
		t.Fatalf("dump: %v", err)
	}
	return all
}

func archiveItems(t *testing.T, open storetest.Open) {
	s := openShop(t, open)
	s.put(t,
		storetest.NewObject(s.item, "ann@local", "", "no", int64(3), "name", "tea", "price", engine.Decimal("0.1000000000000000000000000000000000001"), "weight", 0.1,
			"since", engine.Instant(1), "sold", false, "secret", "a hash", "place", engine.JSONText(`{"type":"Point","coordinates":[1.50,2]}`), "like", int64(9)),
		storetest.NewObject(s.book, "", "bob@local", "no", int64(1), "pages", int64(7)),
		storetest.NewObject(s.item, "", "", "no", int64(2)))
	got := s.dump(t, s.item)
	if len(got) != 3 {
		t.Fatalf("got %d items", len(got))
	}
	tea := got[0]
	storetest.CheckSame(t, "order", []string{got[0].ID, got[1].ID, got[2].ID}, []string{"3", "1", "2"})
	storetest.CheckSame(t, "class", got[1].Class, s.book)
	storetest.CheckSame(t, "system", []string{tea.Version, tea.Creator, tea.Editor, got[1].Creator, got[1].Editor}, []string{"7", "ann@local", "", "", "bob@local"})
	storetest.CheckSame(t, "hash", tea.Values[s.item.Property("secret").Index], any("a hash"))
	for name, want := range map[string]any{"price": engine.Decimal("0.1000000000000000000000000000000000001"), "weight": 0.1, "since": engine.Instant(1), "sold": false,
		"like": int64(9)} {
		storetest.CheckSame(t, name, tea.Get(name), want)
	}
	storetest.CheckSame(t, "place", engine.ValueText(tea.Get("place")), `{"type":"Point","coordinates":[1.50,2]}`)
	storetest.CheckSame(t, "a value that must be there and is not", got[1].Get("name"), nil)
	if tea.Revision == 0 || tea.Revision == got[1].Revision {
		t.Errorf("revisions %d, %d", tea.Revision, got[1].Revision)
	}
}

func archivePages(t *testing.T, open storetest.Open) {
	s := openShop(t, open)
	var items []*engine.Item
	for n := range 1100 { // more items than one statement takes
		c := []*engine.Class{s.item, s.book}[n%2]
		items = append(items, storetest.NewObject(c, "", []string{"", "ann@local"}[n%3%2], "no", int64(n+1), "name", "x"))
	}
	s.put(t, items...)
	seen, after := []string{}, int64(0)
	for {
		last, err := s.Dump(t.Context(), s.item, after, 300, func(it *engine.Item) error {
			seen = append(seen, it.ID)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if last == 0 {
			break
		}
		after = last
	}
	storetest.CheckSame(t, "all, once, in order", seen, storetest.ListIDs(t, s, storetest.All(s.item)))
	storetest.CheckSame(t, "number", len(seen), 1100)
	storetest.CheckSame(t, "editor", storetest.Get(t, s, s.item, "2").Editor, "ann@local")
}

func (s *shop) links(t *testing.T) (pairs [][2]string) {
	t.Helper()
	linked := s.Linked()
	if len(linked) != 1 || linked[0].Name != "shelves" {
		t.Fatalf("tables of links: %v", linked)
	}
	_, err := s.DumpLinks(t.Context(), linked[0], 0, 1000, func(owner, member string) error {
		pairs = append(pairs, [2]string{owner, member})
		return nil
	})
	if err != nil {
		t.Fatalf("dump: %v", err)
	}
	return pairs
}

func archiveLinks(t *testing.T, open storetest.Open) {
	s := openShop(t, open)
	s.put(t, storetest.NewObject(s.shelf, "", "", "id", "b"), storetest.NewObject(s.shelf, "", "", "id", "a"), storetest.NewObject(s.item, "", "", "no", int64(1)),
		storetest.NewObject(s.book, "", "", "no", int64(2), "shelves", &engine.Links{Replace: true, Add: []any{"b"}}))
	storetest.CheckSame(t, "of a value", s.links(t), [][2]string{{"2", "b"}})
	pairs := [][2]string{{"1", "b"}, {"2", "a"}, {"1", "a"}, {"2", "b"}, {"1", "gone"}}
	if err := s.ImportLinks(t.Context(), s.Linked()[0], pairs); err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "in order", s.links(t), [][2]string{{"2", "b"}, {"1", "b"}, {"2", "a"}, {"1", "a"}, {"1", "gone"}})
	s.put(t, storetest.NewObject(s.shelf, "", "", "id", "b", "items", &engine.Links{Replace: true, Add: []any{"2"}}))
	storetest.CheckSame(t, "from the other side", s.links(t), [][2]string{{"2", "a"}, {"1", "a"}, {"1", "gone"}, {"2", "b"}})
	storetest.CheckError(t, s.ImportLinks(t.Context(), s.Linked()[0], [][2]string{{"x", "a"}}), engine.Invalid, "type")
}

func archiveReplace(t *testing.T, open storetest.Open) {
	s := openShop(t, open)
	s.put(t, storetest.NewObject(s.item, "ann@local", "", "no", int64(1), "name", "tea"), storetest.NewObject(s.item, "", "", "no", int64(2), "name", "milk"))
	s.put(t, storetest.NewObject(s.book, "bob@local", "cid@local", "no", int64(1), "pages", int64(7)),
		storetest.NewObject(s.item, "", "", "no", int64(2), "name", "cream"), storetest.NewObject(s.item, "", "", "no", int64(2), "name", "cheese"))
	got := s.dump(t, s.item)
	if len(got) != 2 {
		t.Fatalf("got %d items", len(got))
	}
	storetest.CheckSame(t, "class", got[0].Class, s.book)
	storetest.CheckSame(t, "stamps", []string{got[0].Creator, got[0].Editor}, []string{"bob@local", "cid@local"})
	storetest.CheckSame(t, "absent values are null", got[0].Get("name"), nil)
	storetest.CheckSame(t, "the last counts", got[1].Get("name"), any("cheese"))
}

func archiveRefused(t *testing.T, open storetest.Open) {
	c := storetest.NoteClass()
	r := open(t, []*engine.Class{c}).(storetest.Archive)
	good := storetest.NewObject(c, "", "", "id", "a", "code", "x")
	for what, bad := range map[string]*engine.Item{
		"a unique value": storetest.NewObject(c, "", "", "id", "b", "code", "x"),
		"no key":         storetest.NewObject(c, "", "", "code", "y"),
	} {
		err := r.Import(t.Context(), []*engine.Item{good, bad})
		e := storetest.CheckError(t, err, engine.Invalid, "")
		if want := map[string]string{"a unique value": "duplicate", "no key": "required"}[what]; e.Reason != want {
			t.Errorf("%s: %v", what, e)
		}
		storetest.CheckSame(t, what, storetest.Count(t, r, c), int64(0))
	}
	storetest.CheckError(t, r.Import(t.Context(), []*engine.Item{storetest.NewObject(storetest.NewClass("other", storetest.Prop("id", engine.GUID)), "", "", "id", "a")}), engine.NotFound, "unknown-class")
}

func archiveCounters(t *testing.T, open storetest.Open) {
	s := openShop(t, open)
	s.put(t, storetest.NewObject(s.book, "", "", "no", int64(41)))
	if err := s.ImportCounters(t.Context(), map[string]int64{"orders": 7, "item@test#no": 40}); err != nil {
		t.Fatal(err)
	}
	got, err := s.Counters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "counters", got, map[string]int64{"orders": 7, "item@test#no": 41})
}

func archiveWords(t *testing.T, open storetest.Open) {
	c := storetest.NewClass("text", storetest.Prop("id", engine.String), storetest.Prop("title", engine.String, storetest.Searched))
	r := open(t, []*engine.Class{c}).(storetest.Archive)
	put := func(items ...*engine.Item) {
		t.Helper()
		if err := r.Import(t.Context(), items); err != nil {
			t.Fatal(err)
		}
	}
	put(storetest.NewObject(c, "", "", "id", "1", "title", "green tea"), storetest.NewObject(c, "", "", "id", "2", "title", "milk"))
	storetest.CheckSearch(t, r, c, map[string]string{"tea": "1", "milk": "2"})
	put(storetest.NewObject(c, "", "", "id", "1", "title", "milk"))
	storetest.CheckSearch(t, r, c, map[string]string{"tea": "", "milk": "12"})
}
