package storetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"restsrv/engine"
	"restsrv/engine/service"
)

var numberTests = []test{
	{"autoassigned ints", assignedInts},
	{"ints of a tree of classes", assignedTree},
	{"many writers", assignedTogether},
	{"in a save", assignedSave},
	{"the greatest number is given", greatestGiven},
	{"numbers behind the farthest", farthestGiven},
	{"random numbers are given", randomGiven},
	{"composite unique indexes", compositeUnique},
}

// numbered has an autoassigned key and another autoassigned number.
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
	checkStored(t, r, items[598:])
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

// farthest is the greatest given number that moves a counter.
const farthest = 1 << 52

// greatestGiven checks that numbers can still be assigned after the greatest number was given, in
// any way.
func greatestGiven(t *testing.T, open Open) {
	c := numbered()
	r := open(t, []*engine.Class{c})
	create(t, r, c)
	same(t, "given", create(t, r, c, "id", int64(math.MaxInt64), "n", int64(math.MaxInt64)).ID, "9223372036854775807")
	same(t, "after a create", create(t, r, c).Values, engine.Values{int64(2), int64(2), nil})
	update(t, r, c, "2", "n", int64(math.MaxInt64-1))
	same(t, "after an update", create(t, r, c).Values, engine.Values{int64(3), int64(3), nil})
	save(t, r, record(c, "9223372036854775806", "n", int64(farthest+1)), record(c, "3", "n", int64(math.MaxInt64)))
	same(t, "after a save", create(t, r, c).Values, engine.Values{int64(4), int64(4), nil})
	if _, err := r.UpdateAll(t.Context(), all(c), values(c, "n", int64(math.MaxInt64))); err != nil {
		t.Fatal(err)
	}
	items := save(t, r, record(c, ""), record(c, ""))
	same(t, "after an update of all", []any{items[0].Values, items[1].Values}, []any{engine.Values{int64(5), int64(5), nil}, engine.Values{int64(6), int64(6), nil}})
}

// farthestGiven checks that a counter beyond farthest skips numbers that exist.
func farthestGiven(t *testing.T, open Open) {
	c := NewClass("far", Prop("id", engine.Int, autoassigned), Prop("n", engine.Int, autoassigned))
	r := open(t, []*engine.Class{c})
	for _, n := range []int64{1, 2, 4, 5, 6, 1000} {
		create(t, r, c, "id", farthest+n)
	}
	same(t, "not moved", create(t, r, c).ID, "1")
	create(t, r, c, "id", int64(farthest), "n", int64(farthest))
	same(t, "passes two", create(t, r, c).Values, engine.Values{int64(farthest + 3), int64(farthest + 1)})
	same(t, "passes three", create(t, r, c).ID, fmt.Sprint(farthest+7))
	items := save(t, r, record(c, "", "id", int64(farthest+9)), record(c, ""), record(c, ""))
	same(t, "passes one of its own save", []string{items[1].ID, items[2].ID}, []string{fmt.Sprint(farthest + 10), fmt.Sprint(farthest + 11)})
	var records []engine.Record
	for range 2000 {
		records = append(records, record(c, ""))
	}
	save(t, r, records...)
	same(t, "objects", count(t, r, c), int64(7+1+1+1+3+2000))
}

// counterEnded checks a counter that has reached its end, because earlier versions let clients take
// it there. The counter should begin again, and sequences should report that they are used up.
func counterEnded(t *testing.T, open Open) {
	c := numbered()
	r := open(t, []*engine.Class{c}).(interface {
		archive
		service.Sequences
	})
	create(t, r, c, "id", int64(7))
	create(t, r, c, "id", int64(math.MaxInt64), "n", int64(math.MaxInt64-1))
	ended := map[string]int64{"numbered@test#id": math.MaxInt64, "numbered@test#n": math.MaxInt64 - 2}
	if err := r.ImportCounters(t.Context(), ended); err != nil {
		t.Fatal(err)
	}
	counters, err := r.Counters(t.Context())
	same(t, "kept", []any{counters["numbered@test#id"], counters["numbered@test#n"], err}, []any{int64(math.MaxInt64), int64(math.MaxInt64 - 2), nil})
	same(t, "begins again", create(t, r, c).Values, engine.Values{int64(8), int64(math.MaxInt64 - 1), nil})
	same(t, "the other", create(t, r, c, "n", int64(3)).Values, engine.Values{int64(9), int64(3), nil})
	items := save(t, r, record(c, ""), record(c, ""))
	same(t, "a save", []any{items[0].Values, items[1].Values}, []any{engine.Values{int64(10), int64(4), nil}, engine.Values{int64(11), int64(5), nil}})
	if err := r.SetNumber(t.Context(), "s", math.MaxInt64-1); err != nil {
		t.Fatal(err)
	}
	n, err := r.NextNumber(t.Context(), "s")
	same(t, "the last", []any{n, err}, []any{int64(math.MaxInt64), nil})
	_, err = r.NextNumber(t.Context(), "s")
	fails(t, err, engine.Invalid, "counter")
	last, err := r.LastNumbers(t.Context(), "")
	same(t, "numbers", []any{last, err}, []any{map[string]int64{"s": math.MaxInt64}, nil})
}

// randomGiven checks that an object without a number can be created after any given numbers, and
// that no number is assigned twice.
func randomGiven(t *testing.T, open Open) {
	random := rand.New(rand.NewPCG(6, 13))
	for range 2 {
		c := NewClass("random", Prop("id", engine.Int, autoassigned), Prop("u", engine.Int, autoassigned, unique))
		r := open(t, []*engine.Class{c})
		given := func() any {
			bases := []int64{0, 0, farthest - 20, farthest, farthest, 1 << 53, math.MaxInt64 - 40}
			if random.IntN(2) == 0 {
				return engine.Absent
			}
			return bases[random.IntN(len(bases))] + random.Int64N(40)
		}
		for step := range 60 {
			var records []engine.Record
			refusable := false
			for range 1 + random.IntN(4)*random.IntN(2) {
				id, u := given(), given()
				refusable = refusable || id != engine.Absent || u != engine.Absent
				records = append(records, record(c, "", "id", id, "u", u))
			}
			var err error
			if len(records) > 1 {
				_, err = r.Save(t.Context(), records)
			} else {
				_, err = r.Create(t.Context(), c, records[0].Values, engine.WriteOptions{})
			}
			if err != nil && !refusable {
				t.Fatalf("step %d: got %v for objects without numbers, want no error", step, err)
			}
			if e, ok := err.(*engine.Error); err != nil && (!ok || e.Reason != "duplicate") {
				t.Fatalf("step %d: %v", step, err)
			}
		}
	}
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
