package meta

import (
	"strings"

	"restsrv/engine"
)

// checkTrees refuses attributes of one name that classes of one tree declare
// differently, because items of a tree are stored together.
func (l *linker) checkTrees(usable []*draft) {
	type column struct {
		root *engine.Class
		name string // without letter case
	}
	first := make(map[column]*attribute)
	visited := make(map[*draft]bool)
	var visit func(d *draft)
	visit = func(d *draft) {
		if visited[d] {
			return
		}
		visited[d] = true
		if a := d.class.Ancestor; a != nil {
			visit(l.byName[a.FullName]) // what an ancestor says holds for its descendants
		}
		for _, a := range d.own {
			at := column{d.class.Root(), strings.ToLower(a.property.Name)}
			if other := first[at]; other != nil {
				d.compare(a, other)
				continue
			}
			first[at] = a
		}
	}
	for _, d := range usable {
		visit(d)
	}
}

func (d *draft) compare(a, other *attribute) {
	p, q := a.property, other.property
	declared := ", as class " + q.Definition + " of the same tree declares " + engine.Quote(q.Name)
	switch {
	case p.Name != q.Name:
		a.at.Fault(a.at.At("name"), engine.Quote(p.Name), engine.Quote(q.Name)+", as class "+q.Definition+" of the same tree spells it, or another name")
	case p.Type != q.Type:
		a.at.Fault(a.at.At("type"), "type "+p.Type.String(), "type "+q.Type.String()+declared)
	case p.ValueType() != q.ValueType():
		a.at.Fault(a.at.At("refClass"), "a reference that holds values of type "+p.ValueType().String(), "one that holds values of type "+q.ValueType().String()+declared)
	}
}
