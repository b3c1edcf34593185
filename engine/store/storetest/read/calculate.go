package read

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/query"
	"restsrv/engine/store/storetest"
)

var calculateTests = []storetest.Test{
	{Name: "calculated when read", Run: calculatedWhenRead},
	{Name: "calculated of what is loaded", Run: calculatedBelow},
	{Name: "labels that depend on the item", Run: conditionalLabels},
	{Name: "computed display strings", Run: computedDisplay},
	{Name: "a formula that fails", Run: failingFormula},
	{Name: "cached when written", Run: cachedWhenWritten},
	{Name: "cached again when another changes", Run: cachedAgain},
	{Name: "cached again by the other side", Run: cachedByMembers},
	{Name: "cached again in a bulk", Run: cachedInBulk},
	{Name: "cached again further away", Run: cachedFurther},
	{Name: "cached again for all that a filter finds", Run: cachedForAll},
	{Name: "cached of concurrent writes", Run: cachedTogether},
	{Name: "cached beside a change of all", Run: cachedBesideAll},
	{Name: "calculated anew", Run: recalculated},
	{Name: "computed defaults", Run: computedDefaults},
	{Name: "numbers of named counters", Run: namedCounters},
}

func calculatedWhenRead(t *testing.T, open storetest.Open) {
	l := storetest.OpenLands(t, open)
	l.NewDistrict(t, 1, 1)
	l.NewDistrict(t, 2, 1)
	oslo := storetest.Get(t, l, l.City, "1")
	storetest.CheckSame(t, "a text", oslo.Get("title"), "Oslo, Norway: 2")
	storetest.CheckSame(t, "a sum over a collection", oslo.Get("area"), engine.Decimal("0.2"))
	storetest.CheckSame(t, "an aggregate over a class", oslo.Get("largest"), int64(2))
	storetest.CheckSame(t, "needed relations are not shown", storetest.LinkOf(oslo, "parts").Shown, false)
	cities := storetest.ListLoaded(t, l, storetest.All(l.City))
	storetest.CheckSame(t, "in a list", cities["2"].Get("title"), "Bergen, Norway: 0")
	storetest.CheckSame(t, "an empty sum", cities["2"].Get("area"), engine.Decimal("0"))
	created := storetest.Create(t, l, l.City, "id", int64(3), "name", "Bodø", "country", int64(1), "title", "of my own")
	storetest.CheckSame(t, "in the answer to a write", created.Get("title"), "Bodø, Norway: 0")
	storetest.CheckSame(t, "a reference", storetest.Get(t, l, l.District, "2").Get("main"), int64(1))
}

func calculatedBelow(t *testing.T, open storetest.Open) {
	l := storetest.OpenLands(t, open)
	l.NewDistrict(t, 1, 2)
	d, err := l.Get(t.Context(), l.District, "1", storetest.NewLoad(l.District, "city"))
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "title of a loaded city", storetest.LinkOf(d, "city").Item.Get("title"), "Bergen, Norway: 1")
	c, err := l.Get(t.Context(), l.Country, "1", storetest.NewLoad(l.Country, "cities"))
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "title of a member", storetest.LinkOf(c, "cities").Items[1].Get("title"), "Bergen, Norway: 1")
	storetest.CheckSame(t, "area of a member", storetest.LinkOf(c, "cities").Items[1].Get("area"), engine.Decimal("0.1"))
}

func conditionalLabels(t *testing.T, open storetest.Open) {
	c := storetest.NewClass("plan", storetest.Prop("id", engine.Int), storetest.Prop("base", engine.Int), storetest.Prop("choice", engine.Int))
	c.Property("choice").Selection = &engine.Selection{Rows: []engine.SelectionRow{
		{Condition: storetest.CompileFormula(c, `gt($base, 5)`), Values: []engine.SelectionValue{{Key: int64(1), Label: "much"}}},
		{Condition: storetest.CompileFormula(c, `lte($base, 5)`), Values: []engine.SelectionValue{{Key: int64(1), Label: "little"}}},
	}}
	storetest.Link(c)
	r := open(t, []*engine.Class{c})
	for id, base := range map[int64]int64{1: 3, 2: 9} {
		storetest.Create(t, r, c, "id", id, "base", base, "choice", int64(1))
	}
	plans := storetest.ListLoaded(t, r, storetest.All(c))
	storetest.CheckSame(t, "label of 1", plans["1"].Labels[2], "little")
	storetest.CheckSame(t, "label of 2", plans["2"].Labels[2], "much")
}

func computedDisplay(t *testing.T, open storetest.Open) {
	town := storetest.NewClass("town", storetest.Prop("id", engine.Int), storetest.Prop("name", engine.String))
	person := storetest.NewClass("person", storetest.Prop("id", engine.Int), storetest.Prop("name", engine.String), storetest.Ref("town", town))
	town.Label = storetest.CompileFormula(town, `upper($name)`)
	person.Label = storetest.CompileFormula(person, `concat($name, ' of ', $town@)`)
	storetest.Link(town, person)
	r := open(t, []*engine.Class{town, person})
	storetest.Create(t, r, town, "id", int64(1), "name", "Oslo")
	created := storetest.Create(t, r, person, "id", int64(1), "name", "Ann", "town", int64(1))
	storetest.CheckSame(t, "created", created.String(), "Ann of OSLO")
	storetest.CheckSame(t, "read", storetest.Get(t, r, person, "1").String(), "Ann of OSLO")
}

func failingFormula(t *testing.T, open storetest.Open) {
	c := storetest.NewClass("broken", storetest.Prop("id", engine.Int), storetest.Prop("name", engine.String), storetest.Prop("n", engine.Int))
	storetest.SetFormulas(c, "n", `if($name, next(n), 0)`)
	storetest.Link(c)
	r := open(t, []*engine.Class{c})
	storetest.Create(t, r, c, "id", int64(1))
	storetest.CheckSame(t, "number", storetest.Get(t, r, c, "1").Get("n"), int64(0))
	storetest.Create(t, r, c, "id", int64(2), "name", "x") // succeeds, because a write does not compute values that only reads need
	_, err := r.Get(t.Context(), c, "2")
	e := storetest.CheckError(t, err, engine.Internal, "")
	storetest.CheckSame(t, "attribute", e.Attribute, "n")
}

func cachedWhenWritten(t *testing.T, open storetest.Open) {
	c := storetest.NewClass("box", storetest.Prop("id", engine.Int), storetest.Prop("width", engine.Int), storetest.Prop("height", engine.Int), storetest.Prop("area", engine.Int, storetest.Cached),
		storetest.Prop("code", engine.String, storetest.Cached, storetest.Unique))
	storetest.SetFormulas(c, "area", `mul($width, $height)`, "code", `if(gt($area, 0), pad($area, 3), null)`)
	storetest.Link(c)
	r := open(t, []*engine.Class{c})
	created := storetest.Create(t, r, c, "id", int64(1), "width", int64(2), "height", int64(3), "area", int64(99))
	storetest.CheckSame(t, "created", created.Get("area"), int64(6))
	stored := storetest.Get(t, r, c, "1")
	storetest.CheckSame(t, "stored", stored.Get("area"), int64(6))
	storetest.CheckSame(t, "of another", stored.Get("code"), "006")
	storetest.CheckSame(t, "revision", stored.Revision, created.Revision)
	updated, err := r.Update(t.Context(), c, "1", storetest.NewValues(c, "height", int64(5)), engine.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "updated", updated.Get("area"), int64(10))
	f, err := query.Equal(c.Property("area"), int64(10))
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "found by it", storetest.ListIDs(t, r, &engine.Query{Class: c, Filter: f, Count: -1}), []string{"1"})
	saved, err := r.Save(t.Context(), []engine.Record{storetest.NewRecord(c, "1", "width", int64(1)), storetest.NewRecord(c, "", "id", int64(2), "width", int64(4), "height", int64(4))})
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "saved", []any{saved[0].Get("area"), saved[1].Get("area")}, []any{int64(5), int64(16)})
	storetest.CheckSame(t, "stored by a save", []any{storetest.Get(t, r, c, "1").Get("area"), storetest.Get(t, r, c, "2").Get("area")}, []any{int64(5), int64(16)})
	_, err = r.Create(t.Context(), c, storetest.NewValues(c, "id", int64(3), "width", int64(16), "height", int64(1)), engine.WriteOptions{})
	storetest.CheckError(t, err, engine.Invalid, "duplicate")
	storetest.CheckSame(t, "boxes", storetest.Count(t, r, c), int64(2))
}

func cachedAgain(t *testing.T, open storetest.Open) {
	l := storetest.OpenLands(t, open)
	counts := func(what string, oslo, bergen int64) {
		t.Helper()
		a, b := storetest.Get(t, l, l.City, "1"), storetest.Get(t, l, l.City, "2")
		storetest.CheckSame(t, what, []any{a.Get("count"), a.Get("twice"), b.Get("count"), b.Get("twice")}, []any{oslo, 2 * oslo, bergen, 2 * bergen})
	}
	before := storetest.Get(t, l, l.City, "1")
	l.NewDistrict(t, 1, 1)
	counts("created", 1, 0)
	after := storetest.Get(t, l, l.City, "1")
	storetest.CheckSame(t, "revision changed", after.Revision != before.Revision, true)
	l.NewDistrict(t, 2, 1)
	counts("another created", 2, 0)
	if _, err := l.Update(t.Context(), l.District, "1", storetest.NewValues(l.District, "city", int64(2)), engine.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	counts("moved", 1, 1)
	after = storetest.Get(t, l, l.City, "1")
	if _, err := l.Update(t.Context(), l.District, "1", storetest.NewValues(l.District, "name", "x"), engine.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "revision without a change", storetest.Get(t, l, l.City, "1").Revision, after.Revision)
	if _, err := l.Update(t.Context(), l.District, "1", storetest.NewValues(l.District, "city", nil), engine.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	counts("cleared", 1, 0)
	if err := l.Delete(t.Context(), l.District, "2", nil); err != nil {
		t.Fatal(err)
	}
	counts("deleted", 0, 0)
	l.NewDistrict(t, 3, 77)
	counts("dangling", 0, 0)
}

// cachedByMembers changes the city of districts by writing the collection of districts of a city.
func cachedByMembers(t *testing.T, open storetest.Open) {
	l := storetest.OpenLands(t, open)
	l.NewDistrict(t, 1, 1)
	l.NewDistrict(t, 2, 1)
	counts := func(what string, oslo, bergen int64) {
		t.Helper()
		storetest.CheckSame(t, what, []any{storetest.Get(t, l, l.City, "1").Get("count"), storetest.Get(t, l, l.City, "2").Get("count")}, []any{oslo, bergen})
	}
	storetest.Update(t, l, l.City, "2", "parts", storetest.AddLinks("1"))
	counts("moved", 1, 1)
	storetest.Update(t, l, l.City, "1", "parts", storetest.ReplaceLinks("1"))
	counts("replaced", 1, 0)
	storetest.Update(t, l, l.City, "1", "parts", storetest.RemoveLinks("1"))
	counts("left", 0, 0)
	storetest.CheckSame(t, "two steps away", storetest.Get(t, l, l.Country, "1").Get("districts"), int64(0))
}

func cachedInBulk(t *testing.T, open storetest.Open) {
	l := storetest.OpenLands(t, open)
	var records []engine.Record
	for i := range int64(40) {
		records = append(records, storetest.NewRecord(l.District, "", "id", i, "city", 1+i%2))
	}
	if _, err := l.Save(t.Context(), records); err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "inserted", []any{storetest.Get(t, l, l.City, "1").Get("count"), storetest.Get(t, l, l.City, "2").Get("count")}, []any{int64(20), int64(20)})
	for i := range records {
		records[i] = storetest.NewRecord(l.District, fmt.Sprint(i), "city", int64(2))
	}
	records = append(records, storetest.NewRecord(l.City, "1", "name", "Christiania"))
	saved, err := l.Save(t.Context(), records)
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "moved", []any{storetest.Get(t, l, l.City, "1").Get("count"), storetest.Get(t, l, l.City, "2").Get("count")}, []any{int64(0), int64(40)})
	storetest.CheckSame(t, "answered", saved[40].Get("count"), int64(0))
	storetest.CheckSame(t, "revision answered", saved[40].Revision, storetest.Get(t, l, l.City, "1").Revision)
}

func cachedFurther(t *testing.T, open storetest.Open) {
	l := storetest.OpenLands(t, open)
	l.NewDistrict(t, 1, 1)
	l.NewDistrict(t, 2, 2)
	storetest.CheckSame(t, "two steps away", storetest.Get(t, l, l.Country, "1").Get("districts"), int64(2))
	if err := l.Delete(t.Context(), l.District, "1", nil); err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "after a deletion", storetest.Get(t, l, l.Country, "1").Get("districts"), int64(1))
	if err := l.Delete(t.Context(), l.City, "2", nil); err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "without the city", storetest.Get(t, l, l.Country, "1").Get("districts"), int64(0))
}

func computedDefaults(t *testing.T, open storetest.Open) {
	town := storetest.NewClass("town", storetest.Prop("id", engine.Int), storetest.Prop("name", engine.String))
	person := storetest.NewClass("person", storetest.Prop("id", engine.Int), storetest.Prop("name", engine.String, storetest.Required), storetest.Ref("town", town), storetest.Prop("note", engine.String), storetest.Prop("code", engine.String))
	storetest.AddProperties(person, storetest.Ref("boss", person))
	for name, source := range map[string]string{"note": `concat($name, ' of ', $town.name)`, "code": `concat('P-', pad(next(person), 3))`, "boss": `get(person, name, 'Eve')`} {
		person.Property(name).Computed = storetest.CompileFormula(person, source)
	}
	storetest.Link(town, person)
	r := open(t, []*engine.Class{town, person})
	storetest.Create(t, r, town, "id", int64(1), "name", "Oslo")
	eve := storetest.Create(t, r, person, "id", int64(1), "name", "Eve", "note", "first", "boss", nil)
	storetest.CheckSame(t, "given", []any{eve.Get("note"), eve.Get("code"), eve.Get("boss")}, []any{"first", "P-001", nil})
	ann := storetest.Create(t, r, person, "id", int64(2), "name", "Ann", "town", int64(1))
	storetest.CheckSame(t, "computed", []any{ann.Get("note"), ann.Get("code"), ann.Get("boss")}, []any{"Ann of Oslo", "P-002", int64(1)})
	_, err := r.Create(t.Context(), person, storetest.NewValues(person, "id", int64(3)), engine.WriteOptions{})
	storetest.CheckError(t, err, engine.Invalid, "required")
	saved, err := r.Save(t.Context(), []engine.Record{storetest.NewRecord(person, "", "id", int64(4), "name", "Bob"), storetest.NewRecord(person, "", "id", int64(2), "name", "Ann B.")})
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "saved", []any{saved[0].Get("code"), saved[1].Get("code"), saved[1].Get("note")}, []any{"P-003", "P-002", "Ann of Oslo"})
}

func namedCounters(t *testing.T, open storetest.Open) {
	c := storetest.NewClass("bill", storetest.Prop("id", engine.GUID, storetest.Autoassigned), storetest.Prop("number", engine.Int, storetest.Unique))
	c.Property("number").Computed = storetest.CompileFormula(c, `next(bills)`)
	storetest.Link(c)
	r := open(t, []*engine.Class{c})
	const n = 200
	storetest.RunTogether(t, n, func(int) error {
		_, err := r.Create(t.Context(), c, engine.NewValues(c), engine.WriteOptions{})
		return err
	})
	_, err := r.Save(t.Context(), []engine.Record{storetest.NewRecord(c, "x"), storetest.NewRecord(c, "y", "number", int64(1))})
	storetest.CheckError(t, err, engine.Invalid, "duplicate")
	last := storetest.Create(t, r, c)
	storetest.CheckSame(t, "the next number, after failed writes too", last.Get("number"), int64(n+1))
}

func cachedForAll(t *testing.T, open storetest.Open) {
	l := storetest.OpenLands(t, open)
	for i := range int64(6) {
		l.NewDistrict(t, i, 1)
	}
	few, err := query.AnyOf(l.District.Property("id"), []any{int64(1), int64(2)})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := l.UpdateAll(t.Context(), &engine.Query{Class: l.District, Filter: few, Count: -1}, storetest.NewValues(l.District, "city", int64(2))); err != nil || n != 2 {
		t.Fatal(n, err)
	}
	storetest.CheckSame(t, "moved", []any{storetest.Get(t, l, l.City, "1").Get("count"), storetest.Get(t, l, l.City, "2").Get("count")}, []any{int64(4), int64(2)})
	if n, err := l.DeleteAll(t.Context(), &engine.Query{Class: l.District, Filter: few, Count: -1}); err != nil || n != 2 {
		t.Fatal(n, err)
	}
	storetest.CheckSame(t, "deleted", []any{storetest.Get(t, l, l.City, "1").Get("count"), storetest.Get(t, l, l.City, "2").Get("count")}, []any{int64(4), int64(0)})
	storetest.CheckSame(t, "further away", storetest.Get(t, l, l.Country, "1").Get("districts"), int64(4))
}

// cachedTogether checks that cached attributes include the changes of all concurrent transactions.
func cachedTogether(t *testing.T, open storetest.Open) {
	l := storetest.OpenLands(t, open)
	const n = 120
	storetest.RunTogether(t, n, func(i int) error {
		_, err := l.Create(t.Context(), l.District, storetest.NewValues(l.District, "id", int64(i), "city", int64(1+i%2)), engine.WriteOptions{})
		return err
	})
	storetest.CheckSame(t, "districts", []any{storetest.Get(t, l, l.City, "1").Get("count"), storetest.Get(t, l, l.City, "2").Get("count"), storetest.Get(t, l, l.Country, "1").Get("districts")},
		[]any{int64(n / 2), int64(n / 2), int64(n)})
}

// cachedBesideAll creates a district in a transaction while an UpdateAll moves all districts to another city. The
// UpdateAll should wait until the transaction ends.
func cachedBesideAll(t *testing.T, open storetest.Open) {
	l := storetest.OpenLands(t, open)
	storetest.Create(t, l, l.City, "id", int64(3), "country", int64(1))
	l.NewDistrict(t, 1, 1)
	moved := make(chan error, 1)
	err := storetest.InTransaction(t.Context(), l.Repository, func(ctx context.Context) error {
		_, err := l.Update(ctx, l.District, "1", storetest.NewValues(l.District, "name", "changed"), engine.WriteOptions{})
		if err != nil {
			return err
		}
		if err := storetest.CreateWithin(ctx, l, l.District, "id", int64(2), "city", int64(3)); err != nil {
			return err
		}
		go func() {
			_, err := l.UpdateAll(t.Context(), storetest.All(l.District), storetest.NewValues(l.District, "city", int64(2)))
			moved <- err
		}()
		time.Sleep(200 * time.Millisecond) // enough time for the UpdateAll to reach the lock; if not, the test passes without checking the lock
		return nil
	})
	if err := errors.Join(err, <-moved); err != nil {
		t.Fatal(err)
	}
	counts := map[int64]int64{}
	for _, d := range storetest.ListLoaded(t, l, storetest.All(l.District)) {
		counts[d.Get("city").(int64)]++
	}
	for id, city := range storetest.ListLoaded(t, l, storetest.All(l.City)) {
		storetest.CheckSame(t, "districts of city "+id, city.Get("count"), counts[city.Get("id").(int64)])
	}
}

// recalculated imports items without calculated values, and calls Recalculate.
func recalculated(t *testing.T, open storetest.Open) {
	l := storetest.OpenLands(t, open)
	st, ok := l.Repository.(interface {
		Import(context.Context, []*engine.Item) error
		Recalculate(context.Context, *engine.Class) error
	})
	if !ok {
		t.Skip("this repository imports nothing")
	}
	v := make(engine.Values, len(l.District.Properties))
	v[l.District.Property("id").Index], v[l.District.Property("city").Index] = int64(7), int64(2)
	if err := st.Import(t.Context(), []*engine.Item{{Class: l.District, Values: v}}); err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "imported", storetest.Get(t, l, l.City, "2").Get("count"), int64(0))
	before := storetest.Get(t, l, l.City, "1").Revision
	if err := st.Recalculate(t.Context(), l.City); err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "calculated", storetest.Get(t, l, l.City, "2").Get("count"), int64(1))
	storetest.CheckSame(t, "dependent attribute", storetest.Get(t, l, l.Country, "1").Get("districts"), int64(1))
	storetest.CheckSame(t, "revision of an unchanged item", storetest.Get(t, l, l.City, "1").Revision, before)
}
