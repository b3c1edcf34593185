package meta

import (
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/mistake"
)

// checkTrees compares the attributes of the classes of each tree, because the items of a tree share a table. It
// reports two attributes with the same name that are stored differently, and two attributes with names that differ
// only in letter case.
func (l *linker) checkTrees(usable []*draft) {
	type name struct {
		root *engine.Class
		text string
	}
	exact, folded := make(map[name]*attribute), make(map[name]*attribute)
	visited := make(map[*draft]bool)
	var visit func(d *draft)
	visit = func(d *draft) {
		if visited[d] {
			return
		}
		visited[d] = true
		if a := d.class.Ancestor; a != nil {
			visit(l.byName[a.FullName]) // visit ancestors first, because the first class that declares a name determines the storage
		}
		for _, a := range d.own {
			p, root := a.property, d.class.Root()
			if other := exact[name{root, p.Name}]; other != nil {
				a.compareTypes(other.property)
				continue
			}
			exact[name{root, p.Name}] = a
			alike := name{root, strings.ToLower(p.Name)}
			if other := folded[alike]; other == nil {
				folded[alike] = a
			} else if q := other.property; q.Definition != p.Definition {
				a.at.Report(mistake.TreeCase, a.at.At("name"), engine.Quote(p.Name), engine.Quote(q.Name)+", as class "+q.Definition+" of the same tree spells it, or another name")
			}
		}
	}
	for _, d := range usable {
		visit(d)
	}
}

// compareTypes reports attribute a if it is stored differently from q, an attribute with the same name in another
// class of the tree.
func (a *attribute) compareTypes(q *engine.Property) {
	p := a.property
	declared := ", as class " + q.Definition + " of the same tree declares " + engine.Quote(q.Name)
	switch {
	case p.Type != q.Type && p.ValueType().Storage() != q.ValueType().Storage():
		a.at.Report(mistake.TreeType, a.at.At("type"), "type "+p.Type.String(), "type "+q.Type.String()+declared)
	case p.ValueType().Storage() != q.ValueType().Storage():
		a.at.Report(mistake.TreeType, a.at.At("refClass"), "a reference that holds values of type "+p.ValueType().String(), "one that holds values of type "+q.ValueType().String()+declared)
	}
}

// keepKeyType handles an attribute of the key that a descendant declares again. If the new type is stored differently,
// the attribute keeps the type of the ancestor, because the ids of all items of a tree are in the same column.
func (d *draft) keepKeyType(a *attribute, inherited *engine.Property) {
	p := a.property
	if !slices.Contains(d.class.Key, p.Name) || p.Type.Storage() == inherited.Type.Storage() {
		return
	}
	a.at.Report(mistake.TreeKey, a.at.At("type"), "type "+p.Type.String(), "type "+inherited.Type.String()+", as class "+inherited.Definition+" declares "+engine.Quote(p.Name))
	p.Size, p.Decimals, p.Mode = inherited.Size, inherited.Decimals, inherited.Mode
	a.setType(d, inherited.Type)
	if inherited.Type == engine.Reference {
		above := d.parent
		for above.declaredAttribute(p.Name) == nil {
			above = above.parent
		}
		other := above.declaredAttribute(p.Name)
		if other.target != "" {
			a.target, a.subclasses = other.home.fullName(other.target), other.subclasses
			a.setField(d, "refClass", a.target)
		}
	}
}
