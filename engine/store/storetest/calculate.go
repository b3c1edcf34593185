package storetest

import (
	"fmt"
	"testing"

	"restsrv/engine"
	"restsrv/engine/formula"
)

// CompileFormula compiles a formula from its text.
func CompileFormula(c *engine.Class, source any) engine.Formula {
	f, err := formula.Compile(c, source)
	if err != nil {
		panic(err)
	}
	return f
}

// SetFormulas sets the formulas of properties of a class. pairs lists names and formulas in turn.
func SetFormulas(c *engine.Class, pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		c.Property(pairs[i]).Formula = CompileFormula(c, pairs[i+1])
	}
}

// Cached makes a calculated property cached: its values are stored. Pass it to Prop.
func Cached(p *engine.Property) { p.Cached = true }

// lands is a repository of countries with cities, which have districts. Cached attributes of a country are computed
// from its cities, and cached attributes of a city from its districts.
type lands struct {
	engine.Repository
	Country, City, District *engine.Class
}

// OpenLands opens a repository with the classes of lands, one country and two cities. Use it for tests of calculated
// attributes.
func OpenLands(t *testing.T, open Open) *lands {
	l := &lands{}
	l.Country = NewClass("country", Prop("id", engine.Int), Prop("name", engine.String), Prop("districts", engine.Int, Cached))
	l.City = NewClass("city", Prop("id", engine.Int), Prop("name", engine.String), Ref("country", l.Country),
		Prop("count", engine.Int, Cached), Prop("twice", engine.Int, Cached), Prop("title", engine.String), Prop("area", engine.DecimalNum), Prop("largest", engine.Int))
	l.District = NewClass("district", Prop("id", engine.Int), Prop("name", engine.String), Prop("area", engine.DecimalNum), Ref("city", l.City))
	AddProperties(l.City, BackProperty(engine.Collection, "parts", l.District, "city"))
	AddProperties(l.Country, BackProperty(engine.Collection, "cities", l.City, "country"))
	AddProperties(l.District, Ref("main", l.City))
	SetFormulas(l.Country, "districts", `sum($cities, count)`)
	SetFormulas(l.City, "count", `count($parts)`, "twice", `mul($count, 2)`,
		"title", `concat($name, ', ', $country.name, ': ', $count)`, "area", `sum($parts, area)`, "largest", `max(district, id)`)
	SetFormulas(l.District, "main", `get(city, name, 'Oslo')`)
	l.City.Dependencies = [][]string{{"country"}}
	l.District.Dependencies = [][]string{{"city"}}
	Link(l.Country, l.City, l.District)
	l.Repository = open(t, []*engine.Class{l.Country, l.City, l.District})
	Create(t, l, l.Country, "id", int64(1), "name", "Norway")
	Create(t, l, l.City, "id", int64(1), "name", "Oslo", "country", int64(1))
	Create(t, l, l.City, "id", int64(2), "name", "Bergen", "country", int64(1))
	return l
}

// NewDistrict creates a district of a city.
func (l *lands) NewDistrict(t *testing.T, id, city int64) *engine.Item {
	t.Helper()
	return Create(t, l, l.District, "id", id, "name", fmt.Sprint("d", id), "area", engine.Decimal("0.1"), "city", city)
}
