package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/store"
	"restsrv/engine/store/storetest"
)

// openLimited opens a store with its own limits and closes it when the test ends.
func openLimited(t *testing.T, p place, cfg store.Config) *store.Store {
	t.Helper()
	db, err := p.open()
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), db, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}

// TestReadTime checks that a query which takes too long ends, and that its connection can be used
// for the next query.
func TestReadTime(t *testing.T) { onBoth(t, readTime) }

func readTime(t *testing.T, p place) {
	c := storetest.NewClass("note", storetest.Prop("id", engine.String), storetest.Prop("body", engine.Text))
	st := openLimited(t, p, store.Config{Classes: []*engine.Class{c}, ReadTime: 200 * time.Millisecond})
	for i := range 20 {
		v := engine.Values{fmt.Sprint(i), strings.Repeat("abcdefgh", 20_000)}
		if _, err := st.Create(t.Context(), c, v, engine.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	slow := &engine.Filter{Op: engine.OpOr}
	body := engine.Attribute(c.Property("body"))
	for i := range 400 {
		slow.Args = append(slow.Args, &engine.Filter{Op: engine.OpIncludes, Left: body, Right: engine.Constant(engine.String, fmt.Sprint("HABCDEFG", i))})
	}
	started := time.Now()
	_, err := st.Count(t.Context(), &engine.Query{Class: c, Filter: slow})
	if engine.CodeOf(err) != engine.Timeout || time.Since(started) > 10*time.Second {
		t.Errorf("got %[2]v after %[1]v, want code Timeout within 10 seconds", time.Since(started), err)
	}
	// Each item has one long text. SQLite cannot interrupt the evaluation of an expression, and this expression would
	// take minutes for the text.
	if _, err := st.Update(t.Context(), c, "0", engine.Values{engine.Absent, strings.Repeat("a", 3<<20)}, engine.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	slow.Args = []*engine.Filter{{Op: engine.OpLike, Left: body, Pattern: "(a?){200}.{200}b"}}
	started = time.Now()
	_, err = st.Count(t.Context(), &engine.Query{Class: c, Filter: slow})
	if err != nil && engine.CodeOf(err) != engine.Timeout || time.Since(started) > 10*time.Second {
		t.Errorf("got %[2]v for one long text after %[1]v, want code Timeout or no error within 10 seconds", time.Since(started), err)
	}
	if n, err := st.Count(t.Context(), &engine.Query{Class: c}); n != 20 || err != nil {
		t.Errorf("got count %d, error %v of the next query, want 20", n, err)
	}
}

// TestMaxLoaded checks the limit for the data that a read loads with its items. A few items suffice: they refer to
// each other, so the loaded data multiplies with each level.
func TestMaxLoaded(t *testing.T) { onBoth(t, maxLoaded) }

func maxLoaded(t *testing.T, p place) {
	c := storetest.NewClass("node", storetest.Prop("id", engine.String), storetest.Ref("hub", nil))
	hub := c.Property("hub")
	hub.Target = c
	spokes := storetest.Prop("spokes", engine.Collection)
	spokes.Target, spokes.Back, spokes.OrderNumber, spokes.Definition = c, hub, 2, c.FullName
	c.Properties = append(c.Properties, spokes)
	if err := c.Init(); err != nil {
		t.Fatal(err)
	}
	c.Link()
	st := openLimited(t, p, store.Config{Classes: []*engine.Class{c}, MaxLoaded: 100_000})
	for i := range 50 {
		if _, err := st.Create(t.Context(), c, engine.Values{fmt.Sprint(i), "0", engine.Absent}, engine.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	path := &engine.Load{Property: spokes, Shown: true}
	query := &engine.Query{Class: c, Count: 50, Load: []*engine.Load{path}}
	visit := func(*engine.Item) error { return nil }
	if err := st.List(t.Context(), query, visit); err != nil {
		t.Errorf("got %v for one level, want no error", err)
	}
	for range 10 {
		path = &engine.Load{Property: hub, Shown: true, Next: []*engine.Load{{Property: spokes, Shown: true, Next: []*engine.Load{path}}}}
	}
	query.Load = []*engine.Load{path}
	if err := st.List(t.Context(), query, visit); engine.CodeOf(err) != engine.Invalid {
		t.Errorf("got %v for twenty levels, want code Invalid", err)
	}
	if _, err := st.Get(t.Context(), c, "0", path); engine.CodeOf(err) != engine.Invalid {
		t.Errorf("got %v for twenty levels of one item, want code Invalid", err)
	}
}

// TestUpdatesBesideSharedIndexes checks updates of an item with an index over several texts. An update must be one
// statement if it sets none of these texts.
func TestUpdatesBesideSharedIndexes(t *testing.T) { onBoth(t, updatesBesideSharedIndexes) }

func updatesBesideSharedIndexes(t *testing.T, p place) {
	pair := storetest.NewClass("pair", storetest.Prop("a", engine.String), storetest.Prop("b", engine.String), storetest.Prop("title", engine.String))
	pair.Key = []string{"a", "b"}
	note := storetest.NewClass("note", storetest.Prop("id", engine.String), storetest.Prop("c", engine.String), storetest.Prop("d", engine.String), storetest.Prop("title", engine.String))
	note.Indexes = []engine.CompositeIndex{{Properties: []string{"c", "d"}}}
	if err := errors.Join(pair.Init(), note.Init()); err != nil {
		t.Fatal(err)
	}
	storetest.Link(pair, note)
	st := openAt(t, p, pair, note)
	none := engine.Absent
	if !st.InOneStatement(t.Context(), pair, "x_y", engine.Values{none, none, "title"}) {
		t.Error("an update beside a key of two texts takes a transaction, want one statement")
	}
	if !st.InOneStatement(t.Context(), note, "1", engine.Values{none, none, none, "title"}) {
		t.Error("an update beside an index of two texts takes a transaction, want one statement")
	}
	if st.InOneStatement(t.Context(), note, "1", engine.Values{none, "c", none, "title"}) {
		t.Error("an update of a text that shares an index is one statement, want a transaction")
	}
}
