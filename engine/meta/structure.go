package meta

import (
	"cmp"
	"slices"
	"strings"

	"restsrv/engine"
)

// partSeparator joins the name of a struct attribute and that of its part.
const partSeparator = "$"

// expandStructures puts the parts of each struct attribute in its place, in the
// structure's order: "passport" becomes "passport$number" and so on. A part is what the structure
// says of it, with these differences: it may be null and is read-only where
// the whole may be or is; and a key of the structure does not identify
// anything here, so that two items may have equal ones.
func (l *linker) expandStructures(d *draft, chain []string) bool {
	var expanded []*attribute
	ok := true
	for _, a := range d.own {
		if a.property.Type != engine.Struct || !a.typed {
			expanded = append(expanded, a)
			continue
		}
		s := l.structure(d, a, chain)
		if s == nil {
			ok = false
			continue
		}
		parts := slices.Clone(s.class.Properties)
		slices.SortStableFunc(parts, func(p, q *engine.Property) int { return cmp.Compare(p.OrderNumber, q.OrderNumber) })
		for _, p := range parts {
			expanded = append(expanded, l.part(d, a, s, p))
		}
	}
	if !ok {
		return false
	}
	d.own = nil
	for _, a := range expanded {
		if d.checkUnique(a.at, a.property.Name) {
			d.own = append(d.own, a)
		}
	}
	return true
}

// structure finds the class of a struct attribute, nil when it has none.
func (l *linker) structure(d *draft, a *attribute, chain []string) *draft {
	if a.target == "" {
		return nil
	}
	s := l.lookup(d, a.at, a.at.At("refClass"), a.target)
	if s == nil {
		return nil
	}
	if s.state == linking {
		a.at.Fault(a.at.At("refClass"), "a circle: "+strings.Join(append(chain, s.class.FullName), " -> "), "a structure that this class is no part of")
		return nil
	}
	if l.link(s, chain); s.state != linked {
		return nil
	}
	return s
}

// part is one part of a struct attribute. Its relations are as its own
// description says, its place is that of the whole.
func (l *linker) part(d *draft, whole *attribute, s *draft, p *engine.Property) *attribute {
	described := l.attribute(p)
	part := *described
	property := *p
	part.property, part.at = &property, whole.at
	part.prefix = whole.property.Name + partSeparator + described.prefix
	part.numbered = whole.numbered
	property.Name = whole.property.Name + partSeparator + p.Name
	property.Definition = d.class.FullName
	property.OrderNumber = whole.property.OrderNumber
	property.Nullable = p.Nullable || whole.property.Nullable
	property.Readonly = p.Readonly || whole.property.Readonly
	for _, name := range s.class.Key {
		if name == p.Name {
			property.Unique = false
		}
	}
	return &part
}

// attribute returns what was read of a property.
func (l *linker) attribute(p *engine.Property) *attribute {
	for _, a := range l.byName[p.Definition].own {
		if a.property.Name == p.Name {
			return a
		}
	}
	panic("meta: property " + p.Name + " of class " + p.Definition + " has no description")
}
