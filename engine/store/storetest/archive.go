package storetest

import (
	"context"
	"testing"

	"restsrv/engine"
)

var archiveTests = []test{
	{"items as they are", archiveItems},
	{"pages", archivePages},
	{"links in their order", archiveLinks},
	{"in place of what is there", archiveReplace},
	{"all or none", archiveRefused},
	{"counters", archiveCounters},
	{"a counter at its end", counterEnded},
	{"words to be found by", archiveWords},
}

// archive is a repository that supports export and import.
type archive interface {
	engine.Repository
	Dump(ctx context.Context, root *engine.Class, after int64, count int, visit func(*engine.Item) error) (int64, error)
	Linked() []*engine.Property
	DumpLinks(ctx context.Context, p *engine.Property, after int64, count int, visit func(owner, member string) error) (int64, error)
	Counters(ctx context.Context) (map[string]int64, error)
	Import(ctx context.Context, items []*engine.Item) error
	ImportLinks(ctx context.Context, p *engine.Property, pairs [][2]string) error
	ImportCounters(ctx context.Context, counters map[string]int64) error
}

// shop has a class with all types of properties, a class below it, and two collections that mirror
// each other.
type shop struct {
	archive
	item, book, shelf *engine.Class
}

func openShop(t *testing.T, open Open) *shop {
	s := &shop{}
	s.item = NewClass("item", Prop("no", engine.Int, autoassigned), Prop("name", engine.String, required), Prop("price", engine.DecimalNum),
		Prop("weight", engine.Real), Prop("since", engine.DateTime), Prop("sold", engine.Boolean), Prop("secret", engine.Password),
		Prop("place", engine.Geo), Ref("like", nil))
	s.item.Property("like").Target = s.item
	s.book = Extend(s.item, "book", Prop("pages", engine.Int))
	s.shelf = NewClass("shelf", Prop("id", engine.GUID))
	on, has := Prop("shelves", engine.Collection), Prop("items", engine.Collection)
	on.Target, has.Target, on.Mirror, has.Mirror = s.shelf, s.item, has, on
	add(s.shelf, has)
	add(s.item, on)
	inherited := *on
	s.book.Properties = append(s.book.Properties, &inherited)
	if err := s.book.Init(); err != nil {
		t.Fatal(err)
	}
	Link(s.item, s.book, s.shelf)
	s.archive = open(t, []*engine.Class{s.item, s.book, s.shelf}).(archive)
	return s
}

// object returns an item for Import. Values that are not given are null.
func object(c *engine.Class, creator, editor string, pairs ...any) *engine.Item {
	return &engine.Item{Class: c, Version: "7", Creator: creator, Editor: editor, Values: values(c, pairs...)}
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

func archiveItems(t *testing.T, open Open) {
	s := openShop(t, open)
	s.put(t,
		object(s.item, "ann@local", "", "no", int64(3), "name", "tea", "price", engine.Decimal("0.1000000000000000000000000000000000001"), "weight", 0.1,
			"since", engine.Instant(1), "sold", false, "secret", "a hash", "place", engine.JSONText(`{"type":"Point","coordinates":[1.50,2]}`), "like", int64(9)),
		object(s.book, "", "bob@local", "no", int64(1), "pages", int64(7)),
		object(s.item, "", "", "no", int64(2)))
	got := s.dump(t, s.item)
	if len(got) != 3 {
		t.Fatalf("got %d items", len(got))
	}
	tea := got[0]
	same(t, "order", []string{got[0].ID, got[1].ID, got[2].ID}, []string{"3", "1", "2"})
	same(t, "class", got[1].Class, s.book)
	same(t, "system", []string{tea.Version, tea.Creator, tea.Editor, got[1].Creator, got[1].Editor}, []string{"7", "ann@local", "", "", "bob@local"})
	same(t, "hash", tea.Values[s.item.Property("secret").Index], any("a hash"))
	for name, want := range map[string]any{"price": engine.Decimal("0.1000000000000000000000000000000000001"), "weight": 0.1, "since": engine.Instant(1), "sold": false,
		"like": int64(9)} {
		same(t, name, tea.Get(name), want)
	}
	same(t, "place", engine.ValueText(tea.Get("place")), `{"type":"Point","coordinates":[1.50,2]}`)
	same(t, "a value that must be there and is not", got[1].Get("name"), nil)
	if tea.Revision == 0 || tea.Revision == got[1].Revision {
		t.Errorf("revisions %d, %d", tea.Revision, got[1].Revision)
	}
}

func archivePages(t *testing.T, open Open) {
	s := openShop(t, open)
	var items []*engine.Item
	for n := range 1100 { // more items than one statement takes
		c := []*engine.Class{s.item, s.book}[n%2]
		items = append(items, object(c, "", []string{"", "ann@local"}[n%3%2], "no", int64(n+1), "name", "x"))
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
	same(t, "all, once, in order", seen, ids(t, s, all(s.item)))
	same(t, "number", len(seen), 1100)
	same(t, "editor", get(t, s, s.item, "2").Editor, "ann@local")
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

func archiveLinks(t *testing.T, open Open) {
	s := openShop(t, open)
	s.put(t, object(s.shelf, "", "", "id", "b"), object(s.shelf, "", "", "id", "a"), object(s.item, "", "", "no", int64(1)),
		object(s.book, "", "", "no", int64(2), "shelves", &engine.Links{Replace: true, Add: []any{"b"}}))
	same(t, "of a value", s.links(t), [][2]string{{"2", "b"}})
	pairs := [][2]string{{"1", "b"}, {"2", "a"}, {"1", "a"}, {"2", "b"}, {"1", "gone"}}
	if err := s.ImportLinks(t.Context(), s.Linked()[0], pairs); err != nil {
		t.Fatal(err)
	}
	same(t, "in order", s.links(t), [][2]string{{"2", "b"}, {"1", "b"}, {"2", "a"}, {"1", "a"}, {"1", "gone"}})
	s.put(t, object(s.shelf, "", "", "id", "b", "items", &engine.Links{Replace: true, Add: []any{"2"}}))
	same(t, "from the other side", s.links(t), [][2]string{{"2", "a"}, {"1", "a"}, {"1", "gone"}, {"2", "b"}})
	fails(t, s.ImportLinks(t.Context(), s.Linked()[0], [][2]string{{"x", "a"}}), engine.Invalid, "type")
}

func archiveReplace(t *testing.T, open Open) {
	s := openShop(t, open)
	s.put(t, object(s.item, "ann@local", "", "no", int64(1), "name", "tea"), object(s.item, "", "", "no", int64(2), "name", "milk"))
	s.put(t, object(s.book, "bob@local", "cid@local", "no", int64(1), "pages", int64(7)),
		object(s.item, "", "", "no", int64(2), "name", "cream"), object(s.item, "", "", "no", int64(2), "name", "cheese"))
	got := s.dump(t, s.item)
	if len(got) != 2 {
		t.Fatalf("got %d items", len(got))
	}
	same(t, "class", got[0].Class, s.book)
	same(t, "stamps", []string{got[0].Creator, got[0].Editor}, []string{"bob@local", "cid@local"})
	same(t, "absent values are null", got[0].Get("name"), nil)
	same(t, "the last counts", got[1].Get("name"), any("cheese"))
}

func archiveRefused(t *testing.T, open Open) {
	c := note()
	r := open(t, []*engine.Class{c}).(archive)
	good := object(c, "", "", "id", "a", "code", "x")
	for what, bad := range map[string]*engine.Item{
		"a unique value": object(c, "", "", "id", "b", "code", "x"),
		"no key":         object(c, "", "", "code", "y"),
	} {
		err := r.Import(t.Context(), []*engine.Item{good, bad})
		e := fails(t, err, engine.Invalid, "")
		if want := map[string]string{"a unique value": "duplicate", "no key": "required"}[what]; e.Reason != want {
			t.Errorf("%s: %v", what, e)
		}
		same(t, what, count(t, r, c), int64(0))
	}
	fails(t, r.Import(t.Context(), []*engine.Item{object(NewClass("other", Prop("id", engine.GUID)), "", "", "id", "a")}), engine.NotFound, "unknown-class")
}

func archiveCounters(t *testing.T, open Open) {
	s := openShop(t, open)
	s.put(t, object(s.book, "", "", "no", int64(41)))
	if err := s.ImportCounters(t.Context(), map[string]int64{"orders": 7, "item@test#no": 40}); err != nil {
		t.Fatal(err)
	}
	got, err := s.Counters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "counters", got, map[string]int64{"orders": 7, "item@test#no": 41})
}

func archiveWords(t *testing.T, open Open) {
	c := NewClass("text", Prop("id", engine.String), Prop("title", engine.String, searched))
	r := open(t, []*engine.Class{c}).(archive)
	put := func(items ...*engine.Item) {
		t.Helper()
		if err := r.Import(t.Context(), items); err != nil {
			t.Fatal(err)
		}
	}
	put(object(c, "", "", "id", "1", "title", "green tea"), object(c, "", "", "id", "2", "title", "milk"))
	findsText(t, r, c, map[string]string{"tea": "1", "milk": "2"})
	put(object(c, "", "", "id", "1", "title", "milk"))
	findsText(t, r, c, map[string]string{"tea": "", "milk": "12"})
}
