package write

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"restsrv/engine"
	"restsrv/engine/service"
	"restsrv/engine/store/storetest"
)

var numberTests = []storetest.Test{
	{Name: "autoassigned ints", Run: assignedInts},
	{Name: "ints of a tree of classes", Run: assignedTree},
	{Name: "many writers", Run: assignedTogether},
	{Name: "in a save", Run: assignedSave},
	{Name: "the greatest number is given", Run: greatestGiven},
	{Name: "numbers behind the farthest", Run: farthestGiven},
	{Name: "random numbers are given", Run: randomGiven},
	{Name: "composite unique indexes", Run: compositeUnique},
}

// numbered returns a class with an autoassigned key and a second autoassigned number.
func numbered() *engine.Class {
	return storetest.NewClass("numbered", storetest.Prop("id", engine.Int, storetest.Autoassigned), storetest.Prop("n", engine.Int, storetest.Autoassigned, storetest.Required), storetest.Prop("name", engine.String))
}

func assignedInts(t *testing.T, open storetest.Open) {
	c := numbered()
	r := open(t, []*engine.Class{c})
	storetest.CheckSame(t, "first", storetest.Create(t, r, c).Values, engine.Values{int64(1), int64(1), nil})
	storetest.CheckSame(t, "second", storetest.Create(t, r, c, "name", "b").Values, engine.Values{int64(2), int64(2), "b"})
	storetest.CheckSame(t, "given", storetest.Create(t, r, c, "id", int64(10)).Values, engine.Values{int64(10), int64(3), nil})
	storetest.CheckSame(t, "after it", storetest.Create(t, r, c, "n", int64(7)).Values, engine.Values{int64(11), int64(7), nil})
	storetest.CheckSame(t, "negative", storetest.Create(t, r, c, "id", int64(-5)).ID, "-5")
	storetest.Update(t, r, c, "-5", "id", int64(20), "n", int64(30))
	storetest.CheckSame(t, "after an update", storetest.Create(t, r, c).Values, engine.Values{int64(21), int64(31), nil})
	if _, err := r.UpdateAll(t.Context(), storetest.Where(c, engine.OpEq, "name", "b"), storetest.NewValues(c, "n", int64(40))); err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "after an update of all", storetest.Create(t, r, c).Get("n"), int64(41))
	_, err := r.Create(t.Context(), c, storetest.NewValues(c, "n", nil), engine.WriteOptions{})
	storetest.CheckSame(t, "null was given", storetest.CheckError(t, err, engine.Invalid, "required").Attribute, "n")
}

func assignedTree(t *testing.T, open storetest.Open) {
	base := storetest.NewClass("base", storetest.Prop("id", engine.Int, storetest.Autoassigned))
	below := storetest.Extend(base, "below", storetest.Prop("n", engine.Int, storetest.Autoassigned))
	r := open(t, []*engine.Class{base, below})
	storetest.CheckSame(t, "ids", []string{storetest.Create(t, r, base).ID, storetest.Create(t, r, below).ID, storetest.Create(t, r, base).ID}, []string{"1", "2", "3"})
	storetest.CheckSame(t, "its own", storetest.Create(t, r, below).Get("n"), int64(2))
}

func assignedTogether(t *testing.T, open storetest.Open) {
	c := numbered()
	r := open(t, []*engine.Class{c})
	var mu sync.Mutex
	seen := map[string]bool{}
	const n = 1000
	storetest.RunTogether(t, n, func(int) error {
		it, err := r.Create(t.Context(), c, storetest.NewValues(c), engine.WriteOptions{})
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
	storetest.CheckSame(t, "items", []any{len(seen), storetest.Count(t, r, c)}, []any{n, int64(n)})
}

func assignedSave(t *testing.T, open storetest.Open) {
	c := numbered()
	r := open(t, []*engine.Class{c})
	var records []engine.Record
	for range 600 {
		records = append(records, storetest.NewRecord(c, ""))
	}
	records[5] = storetest.NewRecord(c, "1000")
	records[6] = storetest.NewRecord(c, "", "id", int64(2000), "name", "x")
	items := storetest.Save(t, r, records...)
	storetest.CheckStored(t, r, items[598:])
	seen := map[string]bool{}
	for _, it := range items {
		seen[it.ID] = true
	}
	storetest.CheckSame(t, "different", len(seen), 600)
	items = storetest.Save(t, r, storetest.NewRecord(c, ""), storetest.NewRecord(c, "1000", "name", "y"), storetest.NewRecord(c, ""))
	storetest.CheckSame(t, "after those that were given", items[0].ID > "2000" && items[2].ID > items[0].ID, true)
	storetest.CheckSame(t, "not counted anew", items[1].Get("n"), storetest.Get(t, r, c, "1000").Get("n"))
	_, err := r.Save(t.Context(), []engine.Record{storetest.NewRecord(c, ""), storetest.NewRecord(c, "1000", "n", nil)})
	storetest.CheckSame(t, "index", storetest.CheckError(t, err, engine.Invalid, "required").Index, 1)
}

// farthest is the greatest number that raises a counter if a client gives this number.
const farthest = 1 << 52

// greatestGiven gives the greatest number by each kind of write. Numbers should still be assigned afterwards.
func greatestGiven(t *testing.T, open storetest.Open) {
	c := numbered()
	r := open(t, []*engine.Class{c})
	storetest.Create(t, r, c)
	storetest.CheckSame(t, "given", storetest.Create(t, r, c, "id", int64(math.MaxInt64), "n", int64(math.MaxInt64)).ID, "9223372036854775807")
	storetest.CheckSame(t, "after a create", storetest.Create(t, r, c).Values, engine.Values{int64(2), int64(2), nil})
	storetest.Update(t, r, c, "2", "n", int64(math.MaxInt64-1))
	storetest.CheckSame(t, "after an update", storetest.Create(t, r, c).Values, engine.Values{int64(3), int64(3), nil})
	storetest.Save(t, r, storetest.NewRecord(c, "9223372036854775806", "n", int64(farthest+1)), storetest.NewRecord(c, "3", "n", int64(math.MaxInt64)))
	storetest.CheckSame(t, "after a save", storetest.Create(t, r, c).Values, engine.Values{int64(4), int64(4), nil})
	if _, err := r.UpdateAll(t.Context(), storetest.All(c), storetest.NewValues(c, "n", int64(math.MaxInt64))); err != nil {
		t.Fatal(err)
	}
	items := storetest.Save(t, r, storetest.NewRecord(c, ""), storetest.NewRecord(c, ""))
	storetest.CheckSame(t, "after an update of all", []any{items[0].Values, items[1].Values}, []any{engine.Values{int64(5), int64(5), nil}, engine.Values{int64(6), int64(6), nil}})
}

// farthestGiven checks that a counter that has been raised to farthest skips numbers that exist.
func farthestGiven(t *testing.T, open storetest.Open) {
	c := storetest.NewClass("far", storetest.Prop("id", engine.Int, storetest.Autoassigned), storetest.Prop("n", engine.Int, storetest.Autoassigned))
	r := open(t, []*engine.Class{c})
	for _, n := range []int64{1, 2, 4, 5, 6, 1000} {
		storetest.Create(t, r, c, "id", farthest+n)
	}
	storetest.CheckSame(t, "not moved", storetest.Create(t, r, c).ID, "1")
	storetest.Create(t, r, c, "id", int64(farthest), "n", int64(farthest))
	storetest.CheckSame(t, "passes two", storetest.Create(t, r, c).Values, engine.Values{int64(farthest + 3), int64(farthest + 1)})
	storetest.CheckSame(t, "passes three", storetest.Create(t, r, c).ID, fmt.Sprint(farthest+7))
	items := storetest.Save(t, r, storetest.NewRecord(c, "", "id", int64(farthest+9)), storetest.NewRecord(c, ""), storetest.NewRecord(c, ""))
	storetest.CheckSame(t, "passes one of its own save", []string{items[1].ID, items[2].ID}, []string{fmt.Sprint(farthest + 10), fmt.Sprint(farthest + 11)})
	var records []engine.Record
	for range 2000 {
		records = append(records, storetest.NewRecord(c, ""))
	}
	storetest.Save(t, r, records...)
	storetest.CheckSame(t, "objects", storetest.Count(t, r, c), int64(7+1+1+1+3+2000))
}

// counterEnded checks counters that have reached their last number, which clients could cause in earlier versions. The
// counter of a property should start again. A named counter should return an error.
func counterEnded(t *testing.T, open storetest.Open) {
	c := numbered()
	r := open(t, []*engine.Class{c}).(interface {
		storetest.Archive
		service.Sequences
	})
	storetest.Create(t, r, c, "id", int64(7))
	storetest.Create(t, r, c, "id", int64(math.MaxInt64), "n", int64(math.MaxInt64-1))
	ended := map[string]int64{"numbered@test#id": math.MaxInt64, "numbered@test#n": math.MaxInt64 - 2}
	if err := r.ImportCounters(t.Context(), ended); err != nil {
		t.Fatal(err)
	}
	counters, err := r.Counters(t.Context())
	storetest.CheckSame(t, "kept", []any{counters["numbered@test#id"], counters["numbered@test#n"], err}, []any{int64(math.MaxInt64), int64(math.MaxInt64 - 2), nil})
	storetest.CheckSame(t, "begins again", storetest.Create(t, r, c).Values, engine.Values{int64(8), int64(math.MaxInt64 - 1), nil})
	storetest.CheckSame(t, "the other", storetest.Create(t, r, c, "n", int64(3)).Values, engine.Values{int64(9), int64(3), nil})
	items := storetest.Save(t, r, storetest.NewRecord(c, ""), storetest.NewRecord(c, ""))
	storetest.CheckSame(t, "a save", []any{items[0].Values, items[1].Values}, []any{engine.Values{int64(10), int64(4), nil}, engine.Values{int64(11), int64(5), nil}})
	if err := r.SetNumber(t.Context(), "s", math.MaxInt64-1); err != nil {
		t.Fatal(err)
	}
	n, err := r.NextNumber(t.Context(), "s")
	storetest.CheckSame(t, "the last", []any{n, err}, []any{int64(math.MaxInt64), nil})
	_, err = r.NextNumber(t.Context(), "s")
	storetest.CheckError(t, err, engine.Invalid, "counter")
	last, err := r.LastNumbers(t.Context(), "")
	storetest.CheckSame(t, "numbers", []any{last, err}, []any{map[string]int64{"s": math.MaxInt64}, nil})
}

// randomGiven lets clients give random numbers. Afterwards objects without a number should still be created, and no
// number may be assigned twice.
func randomGiven(t *testing.T, open storetest.Open) {
	random := rand.New(rand.NewPCG(6, 13))
	for range 2 {
		c := storetest.NewClass("random", storetest.Prop("id", engine.Int, storetest.Autoassigned), storetest.Prop("u", engine.Int, storetest.Autoassigned, storetest.Unique))
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
				records = append(records, storetest.NewRecord(c, "", "id", id, "u", u))
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

func compositeUnique(t *testing.T, open storetest.Open) {
	c := storetest.NewClass("seat", storetest.Prop("id", engine.String), storetest.Prop("row", engine.Int), storetest.Prop("place", engine.String))
	c.Indexes = []engine.CompositeIndex{{Properties: []string{"row", "place"}, Unique: true}}
	r := open(t, []*engine.Class{c})
	storetest.Create(t, r, c, "id", "1", "row", int64(1), "place", "a")
	storetest.Create(t, r, c, "id", "2", "row", int64(1), "place", "b")
	storetest.Create(t, r, c, "id", "3", "row", int64(1)) // allowed, because a null is not equal to another null
	storetest.Create(t, r, c, "id", "4", "row", int64(1))
	names := func(err error) {
		t.Helper()
		e := storetest.CheckError(t, err, engine.Invalid, "duplicate")
		storetest.CheckSame(t, "error", []string{e.Attribute, e.Message}, []string{"row", `class seat@test already has an object with row "1", place "a"`})
	}
	_, err := r.Create(t.Context(), c, storetest.NewValues(c, "id", "5", "row", int64(1), "place", "a"), engine.WriteOptions{})
	names(err)
	_, err = r.Save(t.Context(), []engine.Record{storetest.NewRecord(c, "5", "row", int64(1), "place", "a")})
	names(err)
	_, err = r.Update(t.Context(), c, "2", storetest.NewValues(c, "place", "a"), engine.WriteOptions{})
	e := storetest.CheckError(t, err, engine.Invalid, "duplicate")
	storetest.CheckSame(t, "a part was there already", e.Message, `class seat@test already has an object with this row, place "a"`)
}
