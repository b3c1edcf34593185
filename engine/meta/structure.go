package meta

import (
	"cmp"
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/mistake"
)

// partSeparator separates the name of a struct attribute from the name of its part.
const partSeparator = "$"

// expandStructures replaces each struct attribute by the attributes of its structure, called parts, in their order:
// attribute passport becomes passport$number and so on. A part is nullable or read-only if the structure or the struct
// attribute is declared so. A part that is the key of the structure need not be unique, because it does not identify
// items of this class. chain is described at linkAncestors.
func (l *linker) expandStructures(d *draft, chain []string) {
	var expanded []*attribute
	for _, a := range d.own {
		if a.property.Type != engine.Struct {
			expanded = append(expanded, a)
			continue
		}
		s := l.findStructure(d, a, chain)
		if s == nil {
			d.replaceEntry(a.position, nil)
			continue
		}
		parts := slices.Clone(s.class.Properties)
		slices.SortStableFunc(parts, func(p, q *engine.Property) int { return cmp.Compare(p.OrderNumber, q.OrderNumber) })
		for _, p := range parts {
			expanded = append(expanded, l.newPart(d, a, s, p))
		}
	}
	d.own = nil
	for i, a := range expanded {
		other := partNamed(expanded, i)
		if other == nil {
			d.own = append(d.own, a)
			continue
		}
		a.at.Report(mistake.PartTwice, a.at.At("name"), engine.Quote(a.property.Name)+", a part of structure "+other.at.Path, "another name")
		if a.prefix == "" {
			d.replaceEntry(a.position, nil)
		}
	}
}

// partNamed returns the part of a structure that replaces the attribute at index i, or nil if there is no such part. A
// part replaces every attribute of the same name that is not a part, and earlier parts of the same name.
func partNamed(all []*attribute, i int) *attribute {
	for j, b := range all {
		if b.prefix != "" && b.property.Name == all[i].property.Name && (all[i].prefix == "" || j > i) {
			return b
		}
	}
	return nil
}

// findStructure finds the class of a struct attribute, and links it. If the class cannot be used, it returns nil, and
// the attribute is left out. chain is described at linkAncestors.
func (l *linker) findStructure(d *draft, a *attribute, chain []string) *draft {
	if a.target == "" {
		a.at.Report(mistake.StructureClass, a.at.Path, a.noTarget(), "the name of a class")
		return nil
	}
	path := a.at.At("refClass")
	s := l.lookupClass(d, mistake.StructureClass, a.at, path, a.target)
	for c := s; c != nil; c = c.parent {
		if c.state == linking {
			a.at.Report(mistake.StructureCircle, path, "a circle: "+strings.Join(append(chain, s.class.FullName), " -> "), "a structure that this class is no part of")
			return nil
		}
	}
	if s == nil {
		return nil
	}
	if l.linkAncestors(s, chain); s.state != linked {
		return nil
	}
	return s
}

// newPart returns one part of a struct attribute. whole is the struct attribute of class d, and p is the property of
// structure s from which the part is copied. The part gets the position of whole. In the description of the part,
// names of classes still belong to the namespace of s.
func (l *linker) newPart(d *draft, whole *attribute, s *draft, p *engine.Property) *attribute {
	described := l.attributeOf(p)
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

// attributeOf returns the attribute that describes a property.
func (l *linker) attributeOf(p *engine.Property) *attribute {
	for _, a := range l.byName[p.Definition].own {
		if a.property.Name == p.Name {
			return a
		}
	}
	panic("meta: property " + p.Name + " of class " + p.Definition + " has no description")
}

// checkAttributeCase reports attributes with names that differ only in letter case.
func (d *draft) checkAttributeCase() {
	first := make(map[string]*attribute, len(d.own))
	for _, a := range d.own {
		folded := strings.ToLower(a.property.Name)
		if other := first[folded]; other != nil {
			a.at.Report(mistake.AttributeCase, a.at.At("name"), engine.Quote(a.property.Name), "a name that differs from "+engine.Quote(other.property.Name)+" in more than letter case")
			continue
		}
		first[folded] = a
	}
}
