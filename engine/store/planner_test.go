package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/query"
	"restsrv/engine/store"
	"restsrv/engine/store/storetest"
	"restsrv/engine/wire"
)

// network is a database of people. Persons know each other (a pair of mirrored collections) and have a boss, staff and
// a home.
type network struct {
	*store.Store
	person, worker, home *engine.Class
}

// openNetwork opens a database and stores the people. They are the same in each database.
func openNetwork(t testing.TB, p place) *network {
	prop := storetest.Prop
	n := &network{}
	n.home = storetest.NewClass("home", prop("row", engine.Int), prop("no", engine.String), prop("name", engine.String, searched))
	n.home.Key = []string{"row", "no"}
	n.person = storetest.NewClass("person", prop("id", engine.String), prop("name", engine.String), prop("age", engine.Int), prop("size", engine.Real),
		prop("pay", engine.DecimalNum), prop("born", engine.DateTime), prop("ok", engine.Boolean), prop("tags", engine.Set), prop("any", engine.Custom),
		prop("secret", engine.Password), storetest.Ref("home", n.home))
	boss := storetest.Ref("boss", n.person)
	knows, known, staff, first := prop("knows", engine.Collection), prop("known", engine.Collection), prop("staff", engine.Collection), prop("first", engine.Reference)
	for _, p := range []*engine.Property{knows, known, staff, first} {
		p.Target = n.person
	}
	knows.Mirror, known.Mirror = known, knows
	staff.Back, first.Back = boss, boss
	for _, p := range []*engine.Property{boss, knows, known, staff, first} {
		p.OrderNumber, p.Definition = len(n.person.Properties), n.person.FullName
		n.person.Properties = append(n.person.Properties, p)
	}
	for _, c := range []*engine.Class{n.home, n.person} {
		if err := c.Init(); err != nil {
			t.Fatal(err)
		}
	}
	n.worker = storetest.Extend(n.person, "worker", prop("title", engine.String))
	storetest.Link(n.home, n.person, n.worker)
	n.Store = openAt(t, p, n.home, n.person, n.worker)
	n.fill(t, p)
	return n
}

func searched(p *engine.Property) { p.Search = true }

func (n *network) fill(t testing.TB, p place) {
	t.Helper()
	var records []engine.Record
	add := func(c *engine.Class, values ...any) {
		v := engine.NewValues(c)
		copy(v, values)
		records = append(records, engine.Record{Class: c, Values: v})
	}
	add(n.home, int64(1), "a", "Green House")
	add(n.home, int64(1), "b", "green field")
	add(n.home, int64(2), "a", nil)
	names := []any{"ann", "Bob", nil, "", "ÉVE ß", "ann"}
	for i := range 24 {
		c := n.person
		if i%5 == 4 {
			c = n.worker
		}
		pick := func(step int, values ...any) any { return values[(i*step+i/4)%len(values)] }
		add(c, fmt.Sprint(i), pick(1, names...), pick(3, int64(0), int64(40), nil, int64(-7), int64(1<<62)), pick(5, 1.5, nil, 40.0, -0.1, 1e300),
			pick(7, engine.Decimal("40"), engine.Decimal("0.1"), nil, engine.Decimal("-123456789012345678901234567890.5")),
			pick(11, engine.Instant(0), engine.Instant(1582934400000), nil, engine.Instant(-62167219200000)), pick(13, true, false, nil),
			pick(17, engine.JSONText("[1,2]"), engine.JSONText("[]"), nil, engine.JSONText("[2,3]")), pick(19, engine.JSONText(`{"a":1}`), engine.JSONText(`"x"`), nil), "hush",
			pick(23, "1_a", "1_b", nil, "9_z"), pick(29, "0", "1", nil, "3", "gone"))
	}
	if _, err := n.Save(t.Context(), records); err != nil {
		t.Fatal(err)
	}
	db, err := p.open()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 24 {
		for _, j := range []int{(i * 7) % 24, (i + 1) % 24} {
			if i%3 == 0 || i == j {
				continue
			}
			// The links of a pair of mirrored collections are stored for the side with the name that sorts first.
			_, err := db.Write.ExecContext(t.Context(), fmt.Sprintf(`INSERT INTO "person@test#known" ("#owner", "#item") VALUES ('%d', '%d') ON CONFLICT DO NOTHING`, i, j))
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(db.Read.Close(), db.Write.Close()); err != nil {
		t.Fatal(err)
	}
}

// cursorKey seals the cursors of all tests.
var cursorKey = query.CursorKey("a key of the tests")

var networkTime = time.Date(2020, 2, 29, 1, 2, 3, 0, time.UTC)

// query parses a query as a client can send it.
func (n *network) query(filter any, order, search string) (*engine.Query, error) {
	q := &engine.Query{Class: n.person, Search: search, Count: -1}
	var err error
	if q.Filter, err = query.ParseFilter(n.person, filter, networkTime); err != nil {
		return nil, err
	}
	q.Sort, err = query.ParseSortList(n.person, order)
	return q, err
}

func (n *network) ids(ctx context.Context, q *engine.Query) ([]string, error) {
	found := []string{}
	err := n.List(ctx, q, func(it *engine.Item) error {
		found = append(found, it.ID)
		return nil
	})
	return found, err
}

// TestLinkedMembers filters through a table of links, from both ends.
func TestLinkedMembers(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		n := openNetwork(t, p)
		for filter, want := range map[string]string{
			`{"known":"2"}`: "1 14", `{"knows":"1"}`: "2 7", `{"contains":["$knows",["1","10"]]}`: "2 7 11 22",
			`{"and":[{"contains":["$known","2"]},{"contains":["$known","7"]}]}`: "1", `{"eq":[{"size":["$known"]},0]}`: "0 3 6 9 12 15 18 21",
			`{"and":[{"eq":["$knows.knows._id","1"]},{"lt":["$_id","2"]}]}`: "1 14",
		} {
			f, err := wire.Decode([]byte(filter))
			if err != nil {
				t.Fatal(err)
			}
			q, err := n.query(f, "", "")
			if err != nil {
				t.Fatal(err)
			}
			found, err := n.ids(t.Context(), q)
			if got := strings.Join(found, " "); err != nil || got != want {
				t.Errorf("%s finds %s (%v), want %s", filter, got, err, want)
			}
		}
	})
}

// FuzzQuery sends arbitrary filters, orders, searches and cursors to both databases. An accepted query must not fail,
// and must find the same items on both. The negated filter must find exactly the other items. An additional condition
// must not find more items.
func FuzzQuery(f *testing.F) {
	for _, seed := range fuzzSeeds {
		for _, order := range []string{"", "-home.name,age", "boss.pay,-first.name,ok"} {
			f.Add([]byte(seed), order, "", "")
		}
	}
	for _, search := range []string{"ann", "ß", "green", "%", "'", "\\", "a b", "É"} {
		f.Add([]byte(`{"nempty":["$id"]}`), "name", search, "AAAA")
	}
	databases := []*network{openNetwork(f, sqlitePlace(f)), openNetwork(f, postgresPlace(f))}
	f.Fuzz(func(t *testing.T, filter []byte, order, search, cursor string) {
		v, err := wire.Decode(filter)
		if err != nil {
			return
		}
		var first []string
		for i, n := range databases {
			found, refused := n.check(t, v, order, search, cursor)
			if refused && i == 0 {
				return
			}
			if i == 0 {
				first = found
			} else if refused || !slices.Equal(found, first) {
				t.Fatalf("%s by %q, search %q: %v on SQLite, %v on PostgreSQL", filter, order, search, first, found)
			}
		}
	})
}

var fuzzSeeds = []string{
	`{}`, `{"name":"ann"}`, `{"ne":["$home.name","x"]}`, `{"contains":["$knows",{"gt":["$age",3]}]}`, `{"eq":["$staff.knows.name","ann"]}`, `{"match":["green"]}`, `{"home.name":{"$in":["x",null]}}`,
	`{"$nor":[{"age":{"$gte":40}},{"boss":"1"}]}`, `{"eq":[{"div":["$age","$size"]},{"mod":["$pay",3]}]}`, `{"gt":[{"mul":["$size","$size","$age"]},"$pay"]}`, `{"lt":[{"add":["$size","$age"]},{"round":["$pay",2]}]}`,
	`{"like":[{"concat":["$name","$age","$born","$size","$ok"]},"^a"]}`, `{"contains":[{"upper":["$name"]},"é"]}`, `{"eq":[{"lower":["$name"]},"éve ß"]}`, `{"eq":[{"substr":["$name",-3,2]},"nn"]}`,
	`{"gt":[{"dateAdd":["$born","$age","d"]},{"date":["today"]}]}`, `{"eq":[{"format":["$born","%Y-%m-%d"]},"0000-01-01"]}`, `{"gt":[{"dateDiff":["$born","$$now","y"]},"$size"]}`, `{"in":[{"year":["$born"]},[0,2020]]}`,
	`{"eq":[{"if":[{"eq":["$knows.name","ann"]},"$age",{"case":[{"empty":["$name"]},0,{"ifNull":["$size",1]}]}]},0]}`, `{"tags":{"$in":[2,null]}}`, `{"eq":["$tags",[1,2]]}`, `{"any":"x"}`, `{"any":{"a":1}}`,
	`{"eq":["$first.home._id","1_a"]}`, `{"_class":"worker@test"}`, `{"gt":[{"size":["$knows"]},{"size":["$tags"]}]}`, `{"eq":["$secret","hush"]}`, `{"eq":["$boss.boss.boss.boss.boss.boss.boss.name","x"]}`,
	`[{"property":"home.name","operation":10,"value":["g"]},{"property":"born","operation":5,"nestedConditions":[{"operation":9,"value":["$$now",-7]}]}]`,
	`{"empty":[{"ifNull":["$boss.name",{"if":[{"empty":["$knows"]},"x",null]}]}]}`, `{"lt":["$staff.age","$staff.boss.age"]}`, `{"gt":[{"abs":["$pay"]},{"floor":["$pay"]}]}`, `{"eq":["$ok",{"empty":["$staff"]}]}`,
}

// check runs a query and its variations on one database and returns the found items.
func (n *network) check(t *testing.T, filter any, order, search, cursor string) (found []string, refused bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	q, err := n.query(filter, order, search)
	if err == nil {
		found, err = n.ids(ctx, q)
	}
	if err != nil {
		if engine.CodeOf(err) != engine.Invalid {
			t.Fatalf("%v is not the client's fault", err)
		}
		return nil, true
	}
	must := func(ids []string, err error) []string {
		if err != nil {
			t.Fatalf("a variation failed: %v", err)
		}
		return ids
	}
	whole := must(n.ids(ctx, &engine.Query{Class: n.person, Search: search, Sort: q.Sort, Count: -1}))
	if q.Filter != nil {
		opposite, few := *q, *q
		opposite.Filter = engine.Not(q.Filter)
		few.Filter = engine.And(q.Filter, &engine.Filter{Op: engine.OpIn, Left: engine.Attribute(n.person.Property("id")), List: []any{"1", "4", "11", "x"}})
		rest := must(n.ids(ctx, &opposite))
		if merged := append(slices.Clone(found), rest...); !sameSet(merged, whole) {
			t.Fatalf("the filter found %v and its negation %v, want all of %v once", found, rest, whole)
		}
		want := slices.DeleteFunc(slices.Clone(found), func(id string) bool { return !slices.Contains([]string{"1", "4", "11"}, id) })
		if got := must(n.ids(ctx, &few)); !slices.Equal(got, want) {
			t.Fatalf("with an additional condition: got %v, want %v", got, want)
		}
	}
	if c, err := n.Count(ctx, q); err != nil || c != int64(len(found)) {
		t.Fatalf("counted %d (%v), listed %d", c, err, len(found))
	}
	n.checkPages(ctx, t, q, cursor, found)
	return found, false
}

func sameSet(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

// checkPages lists the pages of a query by cursors, and tries an invalid cursor.
func (n *network) checkPages(ctx context.Context, t *testing.T, q *engine.Query, cursor string, want []string) {
	t.Helper()
	if _, err := cursorKey.Decode(q, cursor); engine.CodeOf(err) != engine.Invalid {
		t.Fatalf("cursor %q: %v", cursor, err)
	}
	page := *q
	page.Count, page.WantPosition = 9, true
	var paged []string
	for range 4 {
		last := ""
		err := n.List(ctx, &page, func(it *engine.Item) error {
			paged = append(paged, it.ID)
			last = cursorKey.Encode(q, []engine.Position{*it.Position}, nil)
			return nil
		})
		if err != nil {
			t.Fatalf("page: %v", err)
		}
		if last == "" {
			break
		}
		if page.After, err = cursorKey.Decode(q, last); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(paged, want) && len(paged)+len(want) > 0 {
		t.Fatalf("by cursors %v, want %v", paged, want)
	}
}
