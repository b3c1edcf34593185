package layout

import (
	"maps"
	"slices"
	"strings"

	"restsrv/engine"
)

// RebuildClass returns a class with the attributes that are recorded in the memory for a class name. It returns nil if
// an attribute of the key is not recorded.
func (m *Memory) RebuildClass(name string) *engine.Class {
	k, _ := m.FindClass(name)
	c := &engine.Class{Key: strings.Split(k.Kind, ",")}
	c.Name, c.Namespace, _ = strings.Cut(name, "@")
	for _, property := range slices.Sorted(maps.Keys(m.Classes[name])) {
		old := m.Classes[name][property]
		typ, known := engine.TypeByName(old.Kind)
		if property != "" && !old.Gone && old.Root == k.Root && known {
			c.Properties = append(c.Properties, &engine.Property{Name: property, Type: typ, Nullable: true, Definition: name})
		}
	}
	if c.Init() != nil {
		return nil
	}
	c.Link()
	return c
}

// RebuildPlan returns a plan that can read the rows of a class made by RebuildClass.
func (s *Layout) RebuildPlan(c *engine.Class, m *Memory) *Plan {
	k, _ := m.FindClass(c.FullName)
	t := newTable(s.Traits, c, k.Root, m.FindTable(k.Root), &SchemaError{})
	for _, col := range t.Columns {
		col.Name = m.Classes[c.FullName][col.Property].ColumnName()
		col.Quoted = s.Traits.Quote(col.Name)
	}
	t.Foreign.Store(true) // other classes may share the table
	return newPlan(&s.Traits, c, t)
}
