package storetest

import (
	"fmt"
	"sync"
	"testing"

	"restsrv/engine"
)

var numberTests = []test{
	{"autoassigned ints", assignedInts},
	{"ints of a tree of classes", assignedTree},
	{"many writers", assignedTogether},
	{"in a save", assignedSave},
	{"composite unique indexes", compositeUnique},
}

// numbered has a key that is counted, and another number beside it.
func numbered() *engine.Class {
	return NewClass("numbered", Prop("id", engine.Int, autoassigned), Prop("n", engine.Int, autoassigned, required), Prop("name", engine.String))
}

func assignedInts(t *testing.T, open Open) {
	c := numbered()
	r := open(t, []*engine.Class{c})
	same(t, "first", create(t, r, c).Values, engine.Values{int64(1), int64(1), nil})
	same(t, "second", create(t, r, c, "name", "b").Values, engine.Values{int64(2), int64(2), "b"})
	same(t, "given", create(t, r, c, "id", int64(10)).Values, engine.Values{int64(10), int64(3), nil})
	same(t, "after it", create(t, r, c, "n", int64(7)).Values, engine.Values{int64(11), int64(7), nil})
	same(t, "negative", create(t, r, c, "id", int64(-5)).ID, "-5")
	update(t, r, c, "-5", "id", int64(20), "n", int64(30))
	same(t, "after an update", create(t, r, c).Values, engine.Values{int64(21), int64(31), nil})
	if _, err := r.UpdateAll(t.Context(), where(c, engine.OpEq, "name", "b"), values(c, "n", int64(40))); err != nil {
		t.Fatal(err)
	}
	same(t, "after an update of all", create(t, r, c).Get("n"), int64(41))
	_, err := r.Create(t.Context(), c, values(c, "n", nil), engine.WriteOptions{})
	same(t, "null was given", fails(t, err, engine.Invalid, "required").Attribute, "n")
}

func assignedTree(t *testing.T, open Open) {
	base := NewClass("base", Prop("id", engine.Int, autoassigned))
	below := Extend(base, "below", Prop("n", engine.Int, autoassigned))
	r := open(t, []*engine.Class{base, below})
	same(t, "ids", []string{create(t, r, base).ID, create(t, r, below).ID, create(t, r, base).ID}, []string{"1", "2", "3"})
	same(t, "its own", create(t, r, below).Get("n"), int64(2))
}

func assignedTogether(t *testing.T, open Open) {
	c := numbered()
	r := open(t, []*engine.Class{c})
	var mu sync.Mutex
	seen := map[string]bool{}
	const n = 1000
	together(t, n, func(int) error {
		it, err := r.Create(t.Context(), c, values(c), engine.WriteOptions{})
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		if seen[it.ID] {
			return fmt.Errorf("two items have the id %s", it.ID)
		}
		seen[it.ID] = true
		return nil
	})
	same(t, "items", []any{len(seen), count(t, r, c)}, []any{n, int64(n)})
}

func assignedSave(t *testing.T, open Open) {
	c := numbered()
	r := open(t, []*engine.Class{c})
	var records []engine.Record
	for range 600 {
		records = append(records, record(c, ""))
	}
	records[5] = record(c, "1000")
	records[6] = record(c, "", "id", int64(2000), "name", "x")
	items := save(t, r, records...)
	stands(t, r, items[598:])
	seen := map[string]bool{}
	for _, it := range items {
		seen[it.ID] = true
	}
	same(t, "different", len(seen), 600)
	items = save(t, r, record(c, ""), record(c, "1000", "name", "y"), record(c, ""))
	same(t, "after those that were given", items[0].ID > "2000" && items[2].ID > items[0].ID, true)
	same(t, "not counted anew", items[1].Get("n"), get(t, r, c, "1000").Get("n"))
	_, err := r.Save(t.Context(), []engine.Record{record(c, ""), record(c, "1000", "n", nil)})
	same(t, "index", fails(t, err, engine.Invalid, "required").Index, 1)
}

func compositeUnique(t *testing.T, open Open) {
	c := NewClass("seat", Prop("id", engine.String), Prop("row", engine.Int), Prop("place", engine.String))
	c.Indexes = []engine.CompositeIndex{{Properties: []string{"row", "place"}, Unique: true}}
	r := open(t, []*engine.Class{c})
	create(t, r, c, "id", "1", "row", int64(1), "place", "a")
	create(t, r, c, "id", "2", "row", int64(1), "place", "b")
	create(t, r, c, "id", "3", "row", int64(1)) // null differs from null
	create(t, r, c, "id", "4", "row", int64(1))
	names := func(err error) {
		t.Helper()
		e := fails(t, err, engine.Invalid, "duplicate")
		same(t, "error", []string{e.Attribute, e.Message}, []string{"row", `class seat@test already has an object with row "1", place "a"`})
	}
	_, err := r.Create(t.Context(), c, values(c, "id", "5", "row", int64(1), "place", "a"), engine.WriteOptions{})
	names(err)
	_, err = r.Save(t.Context(), []engine.Record{record(c, "5", "row", int64(1), "place", "a")})
	names(err)
	_, err = r.Update(t.Context(), c, "2", values(c, "place", "a"), engine.WriteOptions{})
	e := fails(t, err, engine.Invalid, "duplicate")
	same(t, "a part was there already", e.Message, `class seat@test already has an object with this row, place "a"`)
}
