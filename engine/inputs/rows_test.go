package inputs

import (
	"context"
	"slices"
	"testing"

	"restsrv/engine"
)

// reporter is a formula that reports inputs and computes nothing.
type reporter func(m *Set)

func (f reporter) Needs() [][]*engine.Property { return nil }
func (f reporter) Eval(context.Context, *engine.Item, engine.FormulaData) (any, error) {
	return nil, nil
}
func (f reporter) ReportInputs(m *Set, _ func(string) (*engine.Class, error)) { f(m) }

// TestRowsRead checks the result of RowsRead: the classes of the items from which a cached
// attribute is computed.
func TestRowsRead(t *testing.T) {
	prop := func(name string) *engine.Property {
		return &engine.Property{Name: name, Type: engine.String, Nullable: true}
	}
	class := func(name string, properties ...*engine.Property) *engine.Class {
		return &engine.Class{Name: name, Key: []string{"id"}, Properties: append([]*engine.Property{prop("id")}, properties...)}
	}
	town := class("town", prop("name"), prop("live"))
	town.Semantic = "name"
	person := class("person", prop("name"), &engine.Property{Name: "town", Type: engine.Reference, Target: town, Nullable: true})
	clerk := class("clerk", prop("name"), prop("rank"))
	clerk.Ancestor, person.Descendants = person, []*engine.Class{clerk}
	note := class("note")
	by := &engine.Property{Name: "by", Type: engine.Reference, Target: person, Nullable: true}
	note.Properties = append(note.Properties, by)
	person.Properties = append(person.Properties, &engine.Property{Name: "notes", Type: engine.Collection, Target: note, Back: by, Nullable: true})
	desk := class("desk", &engine.Property{Name: "who", Type: engine.Reference, Target: person, Nullable: true})
	all := []*engine.Class{town, person, clerk, note, desk}
	for _, x := range []struct {
		what    string
		formula func(m *Set)
		want    []string
	}{
		{"the item alone", func(m *Set) { m.AddValue(desk.Property("id")) }, nil},
		{"a reference", func(m *Set) { m.AddValue(desk.Property("who"), person.Property("name")) }, []string{"person"}},
		{"a reference as people read it", func(m *Set) { m.AddShown(person.Property("town")) }, []string{"town"}},
		{"a collection, and not the other side of it", func(m *Set) { m.AddValue(person.Property("notes")) }, []string{"note"}},
		{"a class", func(m *Set) { m.AddLooked(note) }, []string{"note"}},
		{"items of a class", func(m *Set) { m.AddGiven(note) }, []string{"note"}},
		{"attributes of unknown items", func(m *Set) { m.AddName("by") }, []string{"person"}},
		{"what a live attribute is computed from", func(m *Set) { m.AddValue(town.Property("live")) }, []string{"note"}},
		{"an attribute that a descendant computes", func(m *Set) { m.AddValue(person.Property("name")) }, []string{"town"}},
		{"anything", func(m *Set) { m.Unknown = true }, []string{"town", "person", "note", "desk"}},
	} {
		for _, c := range all {
			if err := c.Init(); err != nil {
				t.Fatal(err)
			}
		}
		town.Property("live").Formula = reporter(func(m *Set) { m.AddLooked(note) })
		clerk.Property("name").Formula = reporter(func(m *Set) { m.AddLooked(town) })
		p := &engine.Property{Name: "cached", Type: engine.String, Cached: true, Formula: reporter(x.formula)}
		desk.Properties = append(desk.Properties, p)
		var got []string
		for _, c := range RowsRead(all)[p] {
			got = append(got, c.Name)
		}
		desk.Properties = desk.Properties[:len(desk.Properties)-1]
		if x.what == "a reference" { // and the inputs of the names of clerks
			x.want = []string{"person", "town"}
		}
		slices.Sort(got)
		slices.Sort(x.want)
		if !slices.Equal(got, x.want) {
			t.Errorf("%s: got items of %v, want %v", x.what, got, x.want)
		}
	}
}
