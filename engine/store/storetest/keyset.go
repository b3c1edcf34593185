package storetest

import (
	"fmt"
	"strings"
	"testing"

	"restsrv/engine"
)

var keysetTests = []test{
	{"pages by position", keysetPages},
	{"pages while items come and go", keysetStable},
	{"cursors", cursors},
}

// openOrders has items whose sort values repeat and are null.
func openOrders(t *testing.T, open Open) (engine.Repository, *engine.Class) {
	city := NewClass("city", Prop("id", engine.String), Prop("name", engine.String))
	c := NewClass("order", Prop("id", engine.String), Prop("title", engine.String), Prop("rank", engine.Int), Prop("pay", engine.DecimalNum),
		Prop("at", engine.DateTime), Prop("ok", engine.Boolean), Prop("real", engine.Real), Ref("city", city))
	Link(city, c)
	r := open(t, []*engine.Class{city, c})
	create(t, r, city, "id", "b", "name", "Bonn")
	create(t, r, city, "id", "a", "name", "Aachen")
	pick := func(n, i int, values ...any) any { return values[(i*n+i/3)%len(values)] }
	for i := range 40 {
		create(t, r, c, "id", fmt.Sprint(i), "title", pick(3, i, "x", nil, "y", ""), "rank", pick(5, i, int64(1), nil, int64(2)),
			"pay", pick(7, i, engine.Decimal("9"), engine.Decimal("10.5"), nil, engine.Decimal("-1")), "at", pick(11, i, engine.Instant(5), nil, engine.Instant(-5)),
			"ok", pick(13, i, true, false, nil), "real", pick(17, i, 0.1, nil, 1e300), "city", pick(19, i, "a", "b", nil, "gone"))
	}
	return r, c
}

var orders = []string{"", "title", "pay", "real", "ok", "rank", "city.name", "-title", "rank,-title", "-rank,pay", "-pay,-title,rank", "at", "-at,ok", "ok,-real", "real,title", "city.name,-title", "-city.name", "_id", "-title,_class"}

// paged lists by cursors, so many items at a time.
func paged(t *testing.T, r engine.Repository, q engine.Query, size int) (all []string) {
	t.Helper()
	key := engine.CursorKey("key")
	q.Count, q.WantPosition = size, true
	for {
		cursor, n := "", 0
		err := r.List(t.Context(), &q, func(it *engine.Item) error {
			all = append(all, it.ID)
			n++
			cursor = key.Encode(&q, *it.Position)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if n < size {
			return all
		}
		if q.After, err = key.Decode(&q, cursor); err != nil {
			t.Fatal(err)
		}
	}
}

func keysetPages(t *testing.T, open Open) {
	r, c := openOrders(t, open)
	for _, order := range orders {
		sorted, err := engine.ParseSortList(c, order)
		if err != nil {
			t.Fatal(err)
		}
		for _, filter := range []string{`{}`, `{"ne":["$rank",2]}`, `{"nempty":["$city.name"]}`} {
			q := engine.Query{Class: c, Sort: sorted, Filter: parsed(t, c, filter), Count: -1}
			whole := ids(t, r, &q)
			for _, size := range []int{1, 7} {
				same(t, order+" "+filter, paged(t, r, q, size), whole)
			}
		}
	}
}

// keysetStable: what is inserted or deleted meanwhile moves no page.
func keysetStable(t *testing.T, open Open) {
	r, c := openOrders(t, open)
	sorted, _ := engine.ParseSortList(c, "title")
	q := engine.Query{Class: c, Sort: sorted, Count: 10, WantPosition: true}
	whole := ids(t, r, &engine.Query{Class: c, Sort: sorted, Count: -1})
	var at *engine.Position
	err := r.List(t.Context(), &q, func(it *engine.Item) error {
		at = it.Clone().Position
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	create(t, r, c, "id", "new", "title", "zz")
	for _, id := range whole[:3] {
		if err := r.Delete(t.Context(), c, id, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Delete(t.Context(), c, whole[9], nil); err != nil { // the item of the position itself
		t.Fatal(err)
	}
	q.After = at
	found := ids(t, r, &q)
	at40 := strings.Join(whole[10:19], " ")
	if got := strings.Join(found, " "); !strings.Contains(got, at40[:20]) {
		t.Errorf("after the changes the page is %s, want %s", got, at40)
	}
	n, err := r.Count(t.Context(), &engine.Query{Class: c, Sort: sorted, After: at})
	same(t, "items behind", []any{n, err}, []any{int64(31), nil})
}

func cursors(t *testing.T, open Open) {
	r, c := openOrders(t, open)
	key := engine.CursorKey("some key")
	query := func(order, filter, search string) *engine.Query {
		sorted, err := engine.ParseSortList(c, order)
		if err != nil {
			t.Fatal(err)
		}
		return &engine.Query{Class: c, Sort: sorted, Filter: parsed(t, c, filter), Search: search, Count: 1, WantPosition: true}
	}
	q := query("-pay,at", `{"gt":["$pay",0]}`, "")
	var cursor string
	err := r.List(t.Context(), q, func(it *engine.Item) error { cursor = key.Encode(q, *it.Position); return nil })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := key.Decode(q, cursor); err != nil {
		t.Errorf("its own list: %v", err)
	}
	later := *q
	later.Count, later.Offset = 100, 7
	if _, err := key.Decode(&later, cursor); err != nil {
		t.Errorf("another page: %v", err)
	}
	others := map[string]*engine.Query{
		"another order": query("-pay,-at", `{"gt":["$pay",0]}`, ""), "another filter": query("-pay,at", `{"gt":["$pay",1]}`, ""),
		"another operator": query("-pay,at", `{"gte":["$pay",0]}`, ""), "a search": query("-pay,at", `{"gt":["$pay",0]}`, "x"), "another path": query("-pay,at", `{"gt":["$rank",0]}`, ""),
		"another class": {Class: note(), Filter: q.Filter, Sort: q.Sort},
	}
	for name, other := range others {
		if _, err := key.Decode(other, cursor); engine.CodeOf(err) != engine.Invalid {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := engine.CursorKey("other key").Decode(q, cursor); engine.CodeOf(err) != engine.Invalid {
		t.Errorf("another key: got %v", err)
	}
	for i := range cursor {
		changed := []byte(cursor)
		changed[i] = map[bool]byte{true: 'B', false: 'A'}[changed[i] == 'A']
		if _, err := key.Decode(q, string(changed)); engine.CodeOf(err) != engine.Invalid {
			t.Fatalf("changed at %d: got %v", i, err)
		}
	}
	for _, bad := range []string{"", "x", cursor + "A", cursor + "\n", cursor[:9] + "\r\n" + cursor[9:], cursor[:len(cursor)-1], cursor + "=", strings.Repeat("A", 100_000)} {
		if _, err := key.Decode(q, bad); engine.CodeOf(err) != engine.Invalid {
			t.Errorf("%.20q: got %v", bad, err)
		}
	}
	plain := query("", "{}", "")
	plain.Sort = nil
	for _, n := range []int64{1, 1 << 40} {
		if at, err := key.Decode(plain, key.Encode(plain, engine.Position{Sequence: n})); err != nil || at.Sequence != n || len(at.Values) != 0 {
			t.Errorf("a list that nothing sorts, at %d: got %+v, %v", n, at, err)
		}
	}
}
