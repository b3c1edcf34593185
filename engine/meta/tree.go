package meta

import (
	"strings"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
)

// checkTrees refuses attributes of one name that classes of one tree declare
// differently, because items of a tree are stored together.
func (l *linker) checkTrees() {
	type place struct {
		root *engine.Class
		name string // without letter case
	}
	first := make(map[place]*attribute)
	visited := make(map[*draft]bool)
	var visit func(d *draft)
	visit = func(d *draft) {
		if visited[d] || d.state != linked {
			return
		}
		visited[d] = true
		if a := d.class.Ancestor; a != nil {
			visit(l.byName[a.FullName]) // what an ancestor says holds for its descendants
		}
		for _, a := range d.own {
			at := place{d.class.Root(), strings.ToLower(a.property.Name)}
			if other := first[at]; other != nil {
				d.compare(a, other)
				continue
			}
			first[at] = a
		}
	}
	for _, d := range l.drafts {
		visit(d)
	}
}

func (d *draft) compare(a, other *attribute) {
	o := jsonfile.Object{File: d.File, Path: a.path, Faults: d.Faults}
	p, q := a.property, other.property
	switch {
	case p.Name != q.Name:
		o.Fault(o.At("name"), engine.Quote(p.Name), engine.Quote(q.Name)+", as class "+q.Definition+" of the same tree spells it, or another name")
	case a.typed && other.typed && p.Type != q.Type:
		o.Fault(o.At("type"), "type "+p.Type.String(), "type "+q.Type.String()+", as class "+q.Definition+" of the same tree declares "+engine.Quote(q.Name))
	}
}
