package read

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/query"
	"restsrv/engine/store/storetest"
)

var keysetTests = []storetest.Test{
	{Name: "pages by position", Run: keysetPages},
	{Name: "pages while items come and go", Run: keysetStable},
	{Name: "pages by long texts", Run: keysetLong},
	{Name: "pages by long texts while items come and go", Run: keysetLongStable},
	{Name: "landmarks that are gone or hidden", Run: keysetLandmarks},
	{Name: "cursors", Run: cursors},
}

// openOrders opens a repository of items with repeated and null values, so that pages of sorted lists end between
// items with equal values.
func openOrders(t *testing.T, open storetest.Open) (engine.Repository, *engine.Class) {
	city := storetest.NewClass("city", storetest.Prop("id", engine.String), storetest.Prop("name", engine.String))
	c := storetest.NewClass("order", storetest.Prop("id", engine.String), storetest.Prop("title", engine.String), storetest.Prop("rank", engine.Int), storetest.Prop("pay", engine.DecimalNum),
		storetest.Prop("at", engine.DateTime), storetest.Prop("ok", engine.Boolean), storetest.Prop("real", engine.Real), storetest.Ref("city", city))
	storetest.Link(city, c)
	r := open(t, []*engine.Class{city, c})
	storetest.Create(t, r, city, "id", "b", "name", "Bonn")
	storetest.Create(t, r, city, "id", "a", "name", "Aachen")
	pick := func(n, i int, values ...any) any { return values[(i*n+i/3)%len(values)] }
	for i := range 40 {
		storetest.Create(t, r, c, "id", fmt.Sprint(i), "title", pick(3, i, "x", nil, "y", ""), "rank", pick(5, i, int64(1), nil, int64(2)),
			"pay", pick(7, i, engine.Decimal("9"), engine.Decimal("10.5"), nil, engine.Decimal("-1")), "at", pick(11, i, engine.Instant(5), nil, engine.Instant(-5)),
			"ok", pick(13, i, true, false, nil), "real", pick(17, i, 0.1, nil, 1e300), "city", pick(19, i, "a", "b", nil, "gone"))
	}
	return r, c
}

var orders = []string{"", "title", "pay", "real", "ok", "rank", "city.name", "-title", "rank,-title", "-rank,pay", "-pay,-title,rank", "at", "-at,ok", "ok,-real", "real,title", "city.name,-title", "-city.name", "_id", "-title,_class"}

// cursorOf returns the cursor for the end of a page of the given size. read lists the positions of the read items; as
// in services, these are the items of the page and one more.
func cursorOf(q *engine.Query, read []engine.Position, size int) string {
	var next *engine.Position
	if len(read) > size {
		next = &read[size]
		read = read[:size]
	}
	return query.CursorKey("key").Encode(q, read[max(0, len(read)-query.CursorItems):], next)
}

// readPage returns the ids of one page, and the cursor for the next page, or "" if this page is the last.
func readPage(t *testing.T, r engine.Repository, q engine.Query, cursor string, size int) (found []string, next string, err error) {
	t.Helper()
	if cursor != "" {
		if q.After, err = query.CursorKey("key").Decode(&q, cursor); err != nil {
			t.Fatal(err)
		}
	}
	var read []engine.Position
	q.Count, q.WantPosition = size+1, true
	err = r.List(t.Context(), &q, func(it *engine.Item) error {
		found = append(found, it.ID)
		read = append(read, it.Position.Clone())
		return nil
	})
	if err != nil || len(found) <= size {
		return found, "", err
	}
	if next = cursorOf(&q, read, size); len(next) >= 1024 {
		t.Errorf("the cursor has %d bytes, want less than 1024", len(next))
	}
	return found[:size], next, nil
}

// listPages lists all items by cursors, in pages of the given size.
func listPages(t *testing.T, r engine.Repository, q engine.Query, size int) (all []string) {
	t.Helper()
	for cursor := ""; ; {
		found, next, err := readPage(t, r, q, cursor, size)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
		if cursor = next; cursor == "" {
			return all
		}
	}
}

func keysetPages(t *testing.T, open storetest.Open) {
	r, c := openOrders(t, open)
	for _, order := range orders {
		sorted, err := query.ParseSortList(c, order)
		if err != nil {
			t.Fatal(err)
		}
		for _, filter := range []string{`{}`, `{"ne":["$rank",2]}`, `{"nempty":["$city.name"]}`} {
			q := engine.Query{Class: c, Sort: sorted, Filter: storetest.ParseFilter(t, c, filter), Count: -1}
			whole := storetest.ListIDs(t, r, &q)
			for _, size := range []int{1, 7} {
				storetest.CheckSame(t, order+" "+filter, listPages(t, r, q, size), whole)
			}
		}
	}
}

// keysetStable checks that items are neither repeated nor left out if items are inserted or deleted between two pages.
func keysetStable(t *testing.T, open storetest.Open) {
	r, c := openOrders(t, open)
	sorted, _ := query.ParseSortList(c, "title")
	q := engine.Query{Class: c, Sort: sorted, Count: 10, WantPosition: true}
	whole := storetest.ListIDs(t, r, &engine.Query{Class: c, Sort: sorted, Count: -1})
	var at *engine.Position
	err := r.List(t.Context(), &q, func(it *engine.Item) error {
		at = it.Clone().Position
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	storetest.Create(t, r, c, "id", "new", "title", "zz")
	for _, id := range whole[:3] {
		if err := r.Delete(t.Context(), c, id, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Delete(t.Context(), c, whole[9], nil); err != nil { // the last item of the first page
		t.Fatal(err)
	}
	q.After = at
	found := storetest.ListIDs(t, r, &q)
	at40 := strings.Join(whole[10:19], " ")
	if got := strings.Join(found, " "); !strings.Contains(got, at40[:20]) {
		t.Errorf("after the changes the page is %s, want %s", got, at40)
	}
	n, err := r.Count(t.Context(), &engine.Query{Class: c, Sort: sorted, After: at})
	storetest.CheckSame(t, "items behind", []any{n, err}, []any{int64(31), nil})
}

func cursors(t *testing.T, open storetest.Open) {
	r, c := openOrders(t, open)
	key := query.CursorKey("some key")
	listOf := func(order, filter, search string) *engine.Query {
		sorted, err := query.ParseSortList(c, order)
		if err != nil {
			t.Fatal(err)
		}
		return &engine.Query{Class: c, Sort: sorted, Filter: storetest.ParseFilter(t, c, filter), Search: search, Count: 1, WantPosition: true}
	}
	q := listOf("-pay,at", `{"gt":["$pay",0]}`, "")
	var cursor string
	err := r.List(t.Context(), q, func(it *engine.Item) error {
		cursor = key.Encode(q, []engine.Position{*it.Position}, nil)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := key.Decode(q, cursor); err != nil {
		t.Errorf("got %v for the list of the cursor, want no error", err)
	}
	later := *q
	later.Count, later.Offset = 100, 7
	if _, err := key.Decode(&later, cursor); err != nil {
		t.Errorf("got %v for another page, want no error", err)
	}
	others := map[string]*engine.Query{
		"another order": listOf("-pay,-at", `{"gt":["$pay",0]}`, ""), "another filter": listOf("-pay,at", `{"gt":["$pay",1]}`, ""),
		"another operator": listOf("-pay,at", `{"gte":["$pay",0]}`, ""), "a search": listOf("-pay,at", `{"gt":["$pay",0]}`, "x"), "another path": listOf("-pay,at", `{"gt":["$rank",0]}`, ""),
		"another class": {Class: storetest.NoteClass(), Filter: q.Filter, Sort: q.Sort},
	}
	for name, other := range others {
		if _, err := key.Decode(other, cursor); engine.CodeOf(err) != engine.Invalid {
			t.Errorf("%s: got %v, want code Invalid", name, err)
		}
	}
	if _, err := query.CursorKey("other key").Decode(q, cursor); engine.CodeOf(err) != engine.Invalid {
		t.Errorf("another key: got %v, want code Invalid", err)
	}
	for i := range cursor {
		changed := []byte(cursor)
		changed[i] = map[bool]byte{true: 'B', false: 'A'}[changed[i] == 'A']
		if _, err := key.Decode(q, string(changed)); engine.CodeOf(err) != engine.Invalid {
			t.Fatalf("changed at %d: got %v, want code Invalid", i, err)
		}
	}
	for _, bad := range []string{"", "x", cursor + "A", cursor + "\n", cursor[:9] + "\r\n" + cursor[9:], cursor[:len(cursor)-1], cursor + "=", strings.Repeat("A", 100_000)} {
		if _, err := key.Decode(q, bad); engine.CodeOf(err) != engine.Invalid {
			t.Errorf("%.20q: got %v, want code Invalid", bad, err)
		}
	}
	plain := listOf("", "{}", "")
	plain.Sort = nil
	for _, n := range []int64{1, 1 << 40} {
		if at, err := key.Decode(plain, key.Encode(plain, []engine.Position{{Sequence: n}}, nil)); err != nil || at.Sequence != n || len(at.Values) != 0 {
			t.Errorf("list without sort, position %d: got %+v, %v", n, at, err)
		}
	}
}

// longTexts returns a random text or null. Many of the texts are long and have the same beginning.
func longTexts(random *rand.Rand) any {
	switch random.IntN(12) {
	case 0:
		return nil
	case 1:
		return ""
	case 2:
		return strings.Repeat("\u00e4", 400)
	}
	text := strings.Repeat([]string{"a", "b", "\u00fc\u00a0", "\U0001f600"}[random.IntN(4)], []int{10, 600, 3000}[random.IntN(3)])
	return text + strings.Repeat("x", random.IntN(3)) + fmt.Sprint(random.IntN(5)) + strings.Repeat("y", random.IntN(2)*2000)
}

// openLong opens a repository of items with long texts in columns of all kinds. Lists can be sorted by these columns.
func openLong(t *testing.T, open storetest.Open, random *rand.Rand, items int) (engine.Repository, *engine.Class) {
	city := storetest.NewClass("city", storetest.Prop("id", engine.String), storetest.Prop("name", engine.Text))
	c := storetest.NewClass("long", storetest.Prop("id", engine.String), storetest.Prop("text", engine.Text), storetest.Prop("name", engine.String), storetest.Prop("html", engine.HTML, storetest.Indexed),
		storetest.Prop("short", engine.String, storetest.Indexed), storetest.Prop("rank", engine.Int), storetest.Ref("city", city))
	storetest.Link(city, c)
	r := open(t, []*engine.Class{city, c})
	for i := range 5 {
		storetest.Create(t, r, city, "id", fmt.Sprint("c", i), "name", longTexts(random))
	}
	for i := range items {
		short := longTexts(random)
		if text, ok := short.(string); ok {
			short = engine.Cut(text, 500)
		}
		storetest.Create(t, r, c, "id", fmt.Sprint(i), "text", longTexts(random), "name", longTexts(random), "html", longTexts(random), "short", short,
			"rank", random.Int64N(3), "city", []any{nil, "c0", "c1", "c2", "c3", "c4"}[random.IntN(6)])
	}
	return r, c
}

var longOrders = []string{"text", "-text", "html", "-name", "short", "-short", "rank,-text", "-rank,name", "text,-html,name", "-city.name,rank", "city.name,-text"}

// keysetLong checks that cursors stay short for every sort order, even if the values are long.
func keysetLong(t *testing.T, open storetest.Open) {
	r, c := openLong(t, open, rand.New(rand.NewPCG(7, 1)), 60)
	for _, order := range longOrders {
		sorted, err := query.ParseSortList(c, order)
		if err != nil {
			t.Fatal(err)
		}
		q := engine.Query{Class: c, Sort: sorted, Count: -1}
		whole := storetest.ListIDs(t, r, &q)
		for _, size := range []int{1, 2, 3, 7, 20} {
			storetest.CheckSame(t, fmt.Sprint(order, " by ", size), listPages(t, r, q, size), whole)
		}
		q.Filter = storetest.ParseFilter(t, c, `{"ne":["$rank",1]}`)
		storetest.CheckSame(t, order+" filtered", listPages(t, r, q, 5), storetest.ListIDs(t, r, &engine.Query{Class: c, Sort: sorted, Filter: q.Filter, Count: -1}))
	}
}

// keysetLongStable changes items at the ends of pages. Each unchanged item should still be listed once and in order.
func keysetLongStable(t *testing.T, open storetest.Open) {
	for seed := range uint64(6) {
		random := rand.New(rand.NewPCG(7, seed))
		r, c := openLong(t, open, random, 60)
		order := longOrders[random.IntN(7)]
		sorted, err := query.ParseSortList(c, order)
		if err != nil {
			t.Fatal(err)
		}
		q := engine.Query{Class: c, Sort: sorted, Count: -1}
		stay := storetest.ListIDs(t, r, &q)
		var seen []string
		for cursor, page := "", 0; ; page++ {
			found, next, err := readPage(t, r, q, cursor, 1+random.IntN(5))
			if err != nil {
				t.Fatalf("seed %d, %s, page %d: %v", seed, order, page, err)
			}
			seen = append(seen, found...)
			if cursor = next; cursor == "" {
				break
			}
			// Delete or change items of this and other pages, except the first item of the next page.
			after, _, err := readPage(t, r, q, cursor, 1)
			if err != nil {
				t.Fatal(err)
			}
			gone := slices.Clone(found)
			for range random.IntN(3) {
				gone = append(gone, fmt.Sprint(random.IntN(60)))
			}
			for _, id := range gone {
				if id == after[0] || random.IntN(4) == 0 || !slices.Contains(stay, id) {
					continue
				}
				stay = slices.DeleteFunc(stay, func(s string) bool { return s == id })
				if random.IntN(2) == 0 {
					if err := r.Delete(t.Context(), c, id, nil); err != nil {
						t.Fatal(err)
					}
					continue
				}
				storetest.Update(t, r, c, id, "text", longTexts(random), "name", longTexts(random), "html", longTexts(random), "short", fmt.Sprint(random.IntN(5)), "rank", random.Int64N(3))
			}
			storetest.Create(t, r, c, "id", fmt.Sprint("new", page), "text", longTexts(random), "name", longTexts(random))
		}
		got := slices.DeleteFunc(seen, func(id string) bool { return !slices.Contains(stay, id) })
		storetest.CheckSame(t, fmt.Sprint("seed ", seed, ", ", order), got, stay)
	}
}

// keysetLandmarks checks that a cursor remains valid as long as at least one of the items around it is unchanged and
// readable.
func keysetLandmarks(t *testing.T, open storetest.Open) {
	c := storetest.NewClass("doc", storetest.Prop("id", engine.Int), storetest.Prop("text", engine.Text), storetest.Prop("owner", engine.String))
	r := open(t, []*engine.Class{c})
	common := strings.Repeat("z", 2000)
	for i := range int64(20) {
		storetest.Create(t, r, c, "id", i, "text", common+fmt.Sprint(10+i), "owner", fmt.Sprint("o", i%2))
	}
	sorted, _ := query.ParseSortList(c, "text")
	q := engine.Query{Class: c, Sort: sorted, Count: -1}
	_, cursor, err := readPage(t, r, q, "", 8)
	if err != nil || cursor == "" {
		t.Fatal(cursor, err)
	}
	continues := func(what string, r engine.Repository, want ...string) {
		t.Helper()
		found, _, err := readPage(t, r, q, cursor, 3)
		storetest.CheckSame(t, what, []any{found, err}, []any{want, nil})
		at, err := query.CursorKey("key").Decode(&q, cursor)
		if err != nil {
			t.Fatal(err)
		}
		behind := q
		behind.After = at
		n, err := r.Count(t.Context(), &behind)
		whole, _, listed := readPage(t, r, q, cursor, 50)
		storetest.CheckSame(t, what+", counted", []any{n, err, listed}, []any{int64(len(whole)), nil, nil})
	}
	drop := func(id string) {
		t.Helper()
		if err := r.Delete(t.Context(), c, id, nil); err != nil {
			t.Fatal(err)
		}
	}
	continues("nothing has changed", r, "8", "9", "10")
	drop("7")
	continues("the last item is deleted", r, "8", "9", "10")
	storetest.Update(t, r, c, "8", "text", "moved")
	continues("the next one is changed, too", r, "9", "10", "11")
	mine := storetest.WithGuard(r, new(storetest.Rules).Only(storetest.ParseFilter(t, c, `{"owner":"o0"}`), c, engine.MayRead))
	continues("half of them are hidden", mine, "10", "12", "14")
	storetest.Update(t, r, c, "6", "text", nil)
	continues("the one before is changed", r, "9", "10", "11")
	storetest.Update(t, r, c, "4", "text", nil)
	_, _, err = readPage(t, mine, q, cursor, 3)
	storetest.CheckError(t, err, engine.Invalid, "cursor") // refused, because the account may not read the unchanged items around the cursor
	continues("but not from all", r, "9", "10", "11")
	storetest.Update(t, r, c, "5", "text", "other")
	_, _, err = readPage(t, r, q, cursor, 3)
	storetest.CheckError(t, err, engine.Invalid, "cursor")
}
