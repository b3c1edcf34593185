package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/formula"
	"restsrv/engine/query"
)

var calculateTests = []test{
	{"calculated when read", calculatedWhenRead},
	{"calculated of what is loaded", calculatedBelow},
	{"labels that depend on the item", conditionalLabels},
	{"computed display strings", computedDisplay},
	{"a formula that fails", failingFormula},
	{"cached when written", cachedWhenWritten},
	{"cached again when another changes", cachedAgain},
	{"cached again by the other side", cachedByMembers},
	{"cached again in a bulk", cachedInBulk},
	{"cached again further away", cachedFurther},
	{"cached again for all that a filter finds", cachedForAll},
	{"cached of concurrent writes", cachedTogether},
	{"cached beside a change of all", cachedBesideAll},
	{"calculated anew", recalculated},
	{"computed defaults", computedDefaults},
	{"numbers of named counters", namedCounters},
}

// compileFormula compiles a formula from its text.
func compileFormula(c *engine.Class, source any) engine.Formula {
	f, err := formula.Compile(c, source)
	if err != nil {
		panic(err)
	}
	return f
}

// setFormulas sets the formulas of properties of a class. pairs are names and formulas in turn.
func setFormulas(c *engine.Class, pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		c.Property(pairs[i]).Formula = compileFormula(c, pairs[i+1])
	}
}

func cached(p *engine.Property) { p.Cached = true }

// lands has countries, their cities and the districts of the cities. Cached attributes count
// upwards.
type lands struct {
	engine.Repository
	country, city, district *engine.Class
}

func openLands(t *testing.T, open Open) *lands {
	l := &lands{}
	l.country = NewClass("country", Prop("id", engine.Int), Prop("name", engine.String), Prop("districts", engine.Int, cached))
	l.city = NewClass("city", Prop("id", engine.Int), Prop("name", engine.String), Ref("country", l.country),
		Prop("count", engine.Int, cached), Prop("twice", engine.Int, cached), Prop("title", engine.String), Prop("area", engine.DecimalNum), Prop("largest", engine.Int))
	l.district = NewClass("district", Prop("id", engine.Int), Prop("name", engine.String), Prop("area", engine.DecimalNum), Ref("city", l.city))
	add(l.city, back(engine.Collection, "parts", l.district, "city"))
	add(l.country, back(engine.Collection, "cities", l.city, "country"))
	add(l.district, Ref("main", l.city))
	setFormulas(l.country, "districts", `sum($cities, count)`)
	setFormulas(l.city, "count", `count($parts)`, "twice", `mul($count, 2)`,
		"title", `concat($name, ', ', $country.name, ': ', $count)`, "area", `sum($parts, area)`, "largest", `max(district, id)`)
	setFormulas(l.district, "main", `get(city, name, 'Oslo')`)
	l.city.Dependencies = [][]string{{"country"}}
	l.district.Dependencies = [][]string{{"city"}}
	Link(l.country, l.city, l.district)
	l.Repository = open(t, []*engine.Class{l.country, l.city, l.district})
	create(t, l, l.country, "id", int64(1), "name", "Norway")
	create(t, l, l.city, "id", int64(1), "name", "Oslo", "country", int64(1))
	create(t, l, l.city, "id", int64(2), "name", "Bergen", "country", int64(1))
	return l
}

func (l *lands) newDistrict(t *testing.T, id, city int64) *engine.Item {
	t.Helper()
	return create(t, l, l.district, "id", id, "name", fmt.Sprint("d", id), "area", engine.Decimal("0.1"), "city", city)
}

func calculatedWhenRead(t *testing.T, open Open) {
	l := openLands(t, open)
	l.newDistrict(t, 1, 1)
	l.newDistrict(t, 2, 1)
	oslo := get(t, l, l.city, "1")
	same(t, "a text", oslo.Get("title"), "Oslo, Norway: 2")
	same(t, "a sum over a collection", oslo.Get("area"), engine.Decimal("0.2"))
	same(t, "an aggregate over a class", oslo.Get("largest"), int64(2))
	same(t, "needed relations are not shown", linkOf(oslo, "parts").Shown, false)
	cities := listed(t, l, all(l.city))
	same(t, "in a list", cities["2"].Get("title"), "Bergen, Norway: 0")
	same(t, "an empty sum", cities["2"].Get("area"), engine.Decimal("0"))
	created := create(t, l, l.city, "id", int64(3), "name", "Bodø", "country", int64(1), "title", "of my own")
	same(t, "in the answer to a write", created.Get("title"), "Bodø, Norway: 0")
	same(t, "a reference", get(t, l, l.district, "2").Get("main"), int64(1))
}

func calculatedBelow(t *testing.T, open Open) {
	l := openLands(t, open)
	l.newDistrict(t, 1, 2)
	d, err := l.Get(t.Context(), l.district, "1", load(l.district, "city"))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "title of a loaded city", linkOf(d, "city").Item.Get("title"), "Bergen, Norway: 1")
	c, err := l.Get(t.Context(), l.country, "1", load(l.country, "cities"))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "title of a member", linkOf(c, "cities").Items[1].Get("title"), "Bergen, Norway: 1")
	same(t, "area of a member", linkOf(c, "cities").Items[1].Get("area"), engine.Decimal("0.1"))
}

func conditionalLabels(t *testing.T, open Open) {
	c := NewClass("plan", Prop("id", engine.Int), Prop("base", engine.Int), Prop("choice", engine.Int))
	c.Property("choice").Selection = &engine.Selection{Rows: []engine.SelectionRow{
		{Condition: compileFormula(c, `gt($base, 5)`), Values: []engine.SelectionValue{{Key: int64(1), Label: "much"}}},
		{Condition: compileFormula(c, `lte($base, 5)`), Values: []engine.SelectionValue{{Key: int64(1), Label: "little"}}},
	}}
	Link(c)
	r := open(t, []*engine.Class{c})
	for id, base := range map[int64]int64{1: 3, 2: 9} {
		create(t, r, c, "id", id, "base", base, "choice", int64(1))
	}
	plans := listed(t, r, all(c))
	same(t, "label of 1", plans["1"].Labels[2], "little")
	same(t, "label of 2", plans["2"].Labels[2], "much")
}

func computedDisplay(t *testing.T, open Open) {
	town := NewClass("town", Prop("id", engine.Int), Prop("name", engine.String))
	person := NewClass("person", Prop("id", engine.Int), Prop("name", engine.String), Ref("town", town))
	town.Label = compileFormula(town, `upper($name)`)
	person.Label = compileFormula(person, `concat($name, ' of ', $town@)`)
	Link(town, person)
	r := open(t, []*engine.Class{town, person})
	create(t, r, town, "id", int64(1), "name", "Oslo")
	created := create(t, r, person, "id", int64(1), "name", "Ann", "town", int64(1))
	same(t, "created", created.String(), "Ann of OSLO")
	same(t, "read", get(t, r, person, "1").String(), "Ann of OSLO")
}

func failingFormula(t *testing.T, open Open) {
	c := NewClass("broken", Prop("id", engine.Int), Prop("name", engine.String), Prop("n", engine.Int))
	setFormulas(c, "n", `if($name, next(n), 0)`)
	Link(c)
	r := open(t, []*engine.Class{c})
	create(t, r, c, "id", int64(1))
	same(t, "number", get(t, r, c, "1").Get("n"), int64(0))
	create(t, r, c, "id", int64(2), "name", "x") // the write succeeds: it does not include values that are computed for a reader
	_, err := r.Get(t.Context(), c, "2")
	e := fails(t, err, engine.Internal, "")
	same(t, "attribute", e.Attribute, "n")
}

func cachedWhenWritten(t *testing.T, open Open) {
	c := NewClass("box", Prop("id", engine.Int), Prop("width", engine.Int), Prop("height", engine.Int), Prop("area", engine.Int, cached),
		Prop("code", engine.String, cached, unique))
	setFormulas(c, "area", `mul($width, $height)`, "code", `if(gt($area, 0), pad($area, 3), null)`)
	Link(c)
	r := open(t, []*engine.Class{c})
	created := create(t, r, c, "id", int64(1), "width", int64(2), "height", int64(3), "area", int64(99))
	same(t, "created", created.Get("area"), int64(6))
	stored := get(t, r, c, "1")
	same(t, "stored", stored.Get("area"), int64(6))
	same(t, "of another", stored.Get("code"), "006")
	same(t, "revision", stored.Revision, created.Revision)
	updated, err := r.Update(t.Context(), c, "1", values(c, "height", int64(5)), engine.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "updated", updated.Get("area"), int64(10))
	f, err := query.Equal(c.Property("area"), int64(10))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "found by it", ids(t, r, &engine.Query{Class: c, Filter: f, Count: -1}), []string{"1"})
	saved, err := r.Save(t.Context(), []engine.Record{record(c, "1", "width", int64(1)), record(c, "", "id", int64(2), "width", int64(4), "height", int64(4))})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "saved", []any{saved[0].Get("area"), saved[1].Get("area")}, []any{int64(5), int64(16)})
	same(t, "stored by a save", []any{get(t, r, c, "1").Get("area"), get(t, r, c, "2").Get("area")}, []any{int64(5), int64(16)})
	_, err = r.Create(t.Context(), c, values(c, "id", int64(3), "width", int64(16), "height", int64(1)), engine.WriteOptions{})
	fails(t, err, engine.Invalid, "duplicate")
	same(t, "boxes", count(t, r, c), int64(2))
}

func cachedAgain(t *testing.T, open Open) {
	l := openLands(t, open)
	counts := func(what string, oslo, bergen int64) {
		t.Helper()
		a, b := get(t, l, l.city, "1"), get(t, l, l.city, "2")
		same(t, what, []any{a.Get("count"), a.Get("twice"), b.Get("count"), b.Get("twice")}, []any{oslo, 2 * oslo, bergen, 2 * bergen})
	}
	before := get(t, l, l.city, "1")
	l.newDistrict(t, 1, 1)
	counts("created", 1, 0)
	after := get(t, l, l.city, "1")
	same(t, "revision changed", after.Revision != before.Revision, true)
	l.newDistrict(t, 2, 1)
	counts("another created", 2, 0)
	if _, err := l.Update(t.Context(), l.district, "1", values(l.district, "city", int64(2)), engine.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	counts("moved", 1, 1)
	after = get(t, l, l.city, "1")
	if _, err := l.Update(t.Context(), l.district, "1", values(l.district, "name", "x"), engine.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	same(t, "revision without a change", get(t, l, l.city, "1").Revision, after.Revision)
	if _, err := l.Update(t.Context(), l.district, "1", values(l.district, "city", nil), engine.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	counts("cleared", 1, 0)
	if err := l.Delete(t.Context(), l.district, "2", nil); err != nil {
		t.Fatal(err)
	}
	counts("deleted", 0, 0)
	l.newDistrict(t, 3, 77)
	counts("dangling", 0, 0)
}

// cachedByMembers changes references through the collection of their members.
func cachedByMembers(t *testing.T, open Open) {
	l := openLands(t, open)
	l.newDistrict(t, 1, 1)
	l.newDistrict(t, 2, 1)
	counts := func(what string, oslo, bergen int64) {
		t.Helper()
		same(t, what, []any{get(t, l, l.city, "1").Get("count"), get(t, l, l.city, "2").Get("count")}, []any{oslo, bergen})
	}
	update(t, l, l.city, "2", "parts", put("1"))
	counts("moved", 1, 1)
	update(t, l, l.city, "1", "parts", replaced("1"))
	counts("replaced", 1, 0)
	update(t, l, l.city, "1", "parts", eject("1"))
	counts("left", 0, 0)
	same(t, "two steps away", get(t, l, l.country, "1").Get("districts"), int64(0))
}

func cachedInBulk(t *testing.T, open Open) {
	l := openLands(t, open)
	var records []engine.Record
	for i := range int64(40) {
		records = append(records, record(l.district, "", "id", i, "city", 1+i%2))
	}
	if _, err := l.Save(t.Context(), records); err != nil {
		t.Fatal(err)
	}
	same(t, "inserted", []any{get(t, l, l.city, "1").Get("count"), get(t, l, l.city, "2").Get("count")}, []any{int64(20), int64(20)})
	for i := range records {
		records[i] = record(l.district, fmt.Sprint(i), "city", int64(2))
	}
	records = append(records, record(l.city, "1", "name", "Christiania"))
	saved, err := l.Save(t.Context(), records)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "moved", []any{get(t, l, l.city, "1").Get("count"), get(t, l, l.city, "2").Get("count")}, []any{int64(0), int64(40)})
	same(t, "answered", saved[40].Get("count"), int64(0))
	same(t, "revision answered", saved[40].Revision, get(t, l, l.city, "1").Revision)
}

func cachedFurther(t *testing.T, open Open) {
	l := openLands(t, open)
	l.newDistrict(t, 1, 1)
	l.newDistrict(t, 2, 2)
	same(t, "two steps away", get(t, l, l.country, "1").Get("districts"), int64(2))
	if err := l.Delete(t.Context(), l.district, "1", nil); err != nil {
		t.Fatal(err)
	}
	same(t, "after a deletion", get(t, l, l.country, "1").Get("districts"), int64(1))
	if err := l.Delete(t.Context(), l.city, "2", nil); err != nil {
		t.Fatal(err)
	}
	same(t, "without the city", get(t, l, l.country, "1").Get("districts"), int64(0))
}

func computedDefaults(t *testing.T, open Open) {
	town := NewClass("town", Prop("id", engine.Int), Prop("name", engine.String))
	person := NewClass("person", Prop("id", engine.Int), Prop("name", engine.String, required), Ref("town", town), Prop("note", engine.String), Prop("code", engine.String))
	add(person, Ref("boss", person))
	for name, source := range map[string]string{"note": `concat($name, ' of ', $town.name)`, "code": `concat('P-', pad(next(person), 3))`, "boss": `get(person, name, 'Eve')`} {
		person.Property(name).Computed = compileFormula(person, source)
	}
	Link(town, person)
	r := open(t, []*engine.Class{town, person})
	create(t, r, town, "id", int64(1), "name", "Oslo")
	eve := create(t, r, person, "id", int64(1), "name", "Eve", "note", "first", "boss", nil)
	same(t, "given", []any{eve.Get("note"), eve.Get("code"), eve.Get("boss")}, []any{"first", "P-001", nil})
	ann := create(t, r, person, "id", int64(2), "name", "Ann", "town", int64(1))
	same(t, "computed", []any{ann.Get("note"), ann.Get("code"), ann.Get("boss")}, []any{"Ann of Oslo", "P-002", int64(1)})
	_, err := r.Create(t.Context(), person, values(person, "id", int64(3)), engine.WriteOptions{})
	fails(t, err, engine.Invalid, "required")
	saved, err := r.Save(t.Context(), []engine.Record{record(person, "", "id", int64(4), "name", "Bob"), record(person, "", "id", int64(2), "name", "Ann B.")})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "saved", []any{saved[0].Get("code"), saved[1].Get("code"), saved[1].Get("note")}, []any{"P-003", "P-002", "Ann of Oslo"})
}

func namedCounters(t *testing.T, open Open) {
	c := NewClass("bill", Prop("id", engine.GUID, autoassigned), Prop("number", engine.Int, unique))
	c.Property("number").Computed = compileFormula(c, `next(bills)`)
	Link(c)
	r := open(t, []*engine.Class{c})
	const n = 200
	together(t, n, func(int) error {
		_, err := r.Create(t.Context(), c, engine.NewValues(c), engine.WriteOptions{})
		return err
	})
	_, err := r.Save(t.Context(), []engine.Record{record(c, "x"), record(c, "y", "number", int64(1))})
	fails(t, err, engine.Invalid, "duplicate")
	last := create(t, r, c)
	same(t, "the next number, after failed writes too", last.Get("number"), int64(n+1))
}

func cachedForAll(t *testing.T, open Open) {
	l := openLands(t, open)
	for i := range int64(6) {
		l.newDistrict(t, i, 1)
	}
	few, err := query.AnyOf(l.district.Property("id"), []any{int64(1), int64(2)})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := l.UpdateAll(t.Context(), &engine.Query{Class: l.district, Filter: few, Count: -1}, values(l.district, "city", int64(2))); err != nil || n != 2 {
		t.Fatal(n, err)
	}
	same(t, "moved", []any{get(t, l, l.city, "1").Get("count"), get(t, l, l.city, "2").Get("count")}, []any{int64(4), int64(2)})
	if n, err := l.DeleteAll(t.Context(), &engine.Query{Class: l.district, Filter: few, Count: -1}); err != nil || n != 2 {
		t.Fatal(n, err)
	}
	same(t, "deleted", []any{get(t, l, l.city, "1").Get("count"), get(t, l, l.city, "2").Get("count")}, []any{int64(4), int64(0)})
	same(t, "further away", get(t, l, l.country, "1").Get("districts"), int64(4))
}

// cachedTogether checks that concurrent transactions all count in a cached attribute.
func cachedTogether(t *testing.T, open Open) {
	l := openLands(t, open)
	const n = 120
	together(t, n, func(i int) error {
		_, err := l.Create(t.Context(), l.district, values(l.district, "id", int64(i), "city", int64(1+i%2)), engine.WriteOptions{})
		return err
	})
	same(t, "districts", []any{get(t, l, l.city, "1").Get("count"), get(t, l, l.city, "2").Get("count"), get(t, l, l.country, "1").Get("districts")},
		[]any{int64(n / 2), int64(n / 2), int64(n)})
}

// cachedBesideAll creates a district while another write moves all districts to another city. The
// other write should wait for the transaction that creates the district.
func cachedBesideAll(t *testing.T, open Open) {
	l := openLands(t, open)
	create(t, l, l.city, "id", int64(3), "country", int64(1))
	l.newDistrict(t, 1, 1)
	moved := make(chan error, 1)
	err := within(t.Context(), l.Repository, func(ctx context.Context) error {
		_, err := l.Update(ctx, l.district, "1", values(l.district, "name", "changed"), engine.WriteOptions{})
		if err != nil {
			return err
		}
		if err := createWithin(ctx, l, l.district, "id", int64(2), "city", int64(3)); err != nil {
			return err
		}
		go func() {
			_, err := l.UpdateAll(t.Context(), all(l.district), values(l.district, "city", int64(2)))
			moved <- err
		}()
		time.Sleep(200 * time.Millisecond) // enough time to reach the lock; otherwise the test passes without checking it
		return nil
	})
	if err := errors.Join(err, <-moved); err != nil {
		t.Fatal(err)
	}
	counts := map[int64]int64{}
	for _, d := range listed(t, l, all(l.district)) {
		counts[d.Get("city").(int64)]++
	}
	for id, city := range listed(t, l, all(l.city)) {
		same(t, "districts of city "+id, city.Get("count"), counts[city.Get("id").(int64)])
	}
}

// recalculated recalculates items that were stored without calculation.
func recalculated(t *testing.T, open Open) {
	l := openLands(t, open)
	st, ok := l.Repository.(interface {
		Import(context.Context, []*engine.Item) error
		Recalculate(context.Context, *engine.Class) error
	})
	if !ok {
		t.Skip("this repository imports nothing")
	}
	v := make(engine.Values, len(l.district.Properties))
	v[l.district.Property("id").Index], v[l.district.Property("city").Index] = int64(7), int64(2)
	if err := st.Import(t.Context(), []*engine.Item{{Class: l.district, Values: v}}); err != nil {
		t.Fatal(err)
	}
	same(t, "imported", get(t, l, l.city, "2").Get("count"), int64(0))
	before := get(t, l, l.city, "1").Revision
	if err := st.Recalculate(t.Context(), l.city); err != nil {
		t.Fatal(err)
	}
	same(t, "calculated", get(t, l, l.city, "2").Get("count"), int64(1))
	same(t, "dependent attribute", get(t, l, l.country, "1").Get("districts"), int64(1))
	same(t, "revision of an unchanged item", get(t, l, l.city, "1").Revision, before)
}
