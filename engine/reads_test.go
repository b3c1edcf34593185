package engine

import (
	"context"
	"slices"
	"testing"
)

// mentioner is a formula that reports mentions and computes nothing.
type mentioner func(m *Mentions)

func (f mentioner) Needs() [][]*Property                                  { return nil }
func (f mentioner) Eval(context.Context, *Item, FormulaData) (any, error) { return nil, nil }
func (f mentioner) Mentions(m *Mentions, _ func(string) (*Class, error))  { f(m) }

// TestRowsRead checks which classes' items a cached attribute is computed from.
func TestRowsRead(t *testing.T) {
	prop := func(name string) *Property { return &Property{Name: name, Type: String, Nullable: true} }
	class := func(name string, properties ...*Property) *Class {
		return &Class{Name: name, Key: []string{"id"}, Properties: append([]*Property{prop("id")}, properties...)}
	}
	town := class("town", prop("name"), prop("live"))
	town.Semantic = "name"
	person := class("person", prop("name"), &Property{Name: "town", Type: Reference, Target: town, Nullable: true})
	clerk := class("clerk", prop("name"), prop("rank"))
	clerk.Ancestor, person.Descendants = person, []*Class{clerk}
	note := class("note")
	by := &Property{Name: "by", Type: Reference, Target: person, Nullable: true}
	note.Properties = append(note.Properties, by)
	person.Properties = append(person.Properties, &Property{Name: "notes", Type: Collection, Target: note, Back: by, Nullable: true})
	desk := class("desk", &Property{Name: "who", Type: Reference, Target: person, Nullable: true})
	all := []*Class{town, person, clerk, note, desk}
	for _, x := range []struct {
		what    string
		formula func(m *Mentions)
		want    []string
	}{
		{"the item alone", func(m *Mentions) { m.Value(desk.Property("id")) }, nil},
		{"a reference", func(m *Mentions) { m.Value(desk.Property("who"), person.Property("name")) }, []string{"person"}},
		{"a reference as people read it", func(m *Mentions) { m.ShownValue(person.Property("town")) }, []string{"town"}},
		{"a collection, and not the other side of it", func(m *Mentions) { m.Value(person.Property("notes")) }, []string{"note"}},
		{"a class", func(m *Mentions) { m.Look(note) }, []string{"note"}},
		{"items of a class", func(m *Mentions) { m.Give(note) }, []string{"note"}},
		{"attributes of unknown items", func(m *Mentions) { m.Name("by") }, []string{"person"}},
		{"what a live attribute is computed from", func(m *Mentions) { m.Value(town.Property("live")) }, []string{"note"}},
		{"an attribute that a descendant computes", func(m *Mentions) { m.Value(person.Property("name")) }, []string{"town"}},
		{"anything", func(m *Mentions) { m.Unknown = true }, []string{"town", "person", "note", "desk"}},
	} {
		for _, c := range all {
			if err := c.Init(); err != nil {
				t.Fatal(err)
			}
		}
		town.Property("live").Formula = mentioner(func(m *Mentions) { m.Look(note) })
		clerk.Property("name").Formula = mentioner(func(m *Mentions) { m.Look(town) })
		p := &Property{Name: "cached", Type: String, Cached: true, Formula: mentioner(x.formula)}
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
