package meta

import (
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
)

// check looks at what a class says of its own attributes.
func (l *linker) check(d *draft) {
	d.checkTrackers()
	d.checkContainer()
	d.checkIndexes()
	d.checkDependencies()
}

func (d *draft) checkTrackers() {
	c := d.class
	for _, t := range []struct {
		field, name string
		time        bool
	}{
		{"creationTracker", c.CreationTracker, true}, {"changeTracker", c.ChangeTracker, true},
		{"creatorTracker", c.CreatorTracker, false}, {"editorTracker", c.EditorTracker, false},
	} {
		if empty(d.Value(t.field)) {
			continue // what is inherited is checked where it stands
		}
		p := d.attribute(t.field, t.name)
		switch {
		case p == nil:
		case t.time && p.Type != engine.DateTime:
			d.Fault(d.At(t.field), engine.Quote(t.name)+" of type "+p.Type.String(), "an attribute of type datetime")
		case !t.time && (!p.ValueType().Textual() || p.Type == engine.Password):
			d.Fault(d.At(t.field), engine.Quote(t.name)+" of type "+p.Type.String(), "an attribute of type user or of another text type")
		}
	}
}

// attribute returns the attribute that a field of the class names; there being
// none is a fault.
func (d *draft) attribute(field, name string) *engine.Property {
	p := d.class.Property(name)
	if p == nil {
		d.Fault(d.At(field), engine.Quote(name)+", which no attribute has as its name", jsonfile.Choice(name, attributeNames(d.class)))
	}
	return p
}

// checkContainer warns only: the container matters to forms.
func (d *draft) checkContainer() {
	name := d.class.Container
	if name == "" {
		return
	}
	if p := d.class.Property(name); p == nil || p.Type != engine.Reference {
		d.Warn(d.At("container"), engine.Quote(name), "a reference of the class: it has no effect")
		d.class.Container = ""
	}
}

// checkIndexes leaves out what cannot be indexed, as the ancestor does.
func (d *draft) checkIndexes() {
	kept := d.class.Indexes[:0]
	for i, index := range d.class.Indexes {
		path := jsonfile.Element(d.At("compositeIndexes"), i)
		ok := true
		for _, name := range index.Properties {
			p := d.class.Property(name)
			switch {
			case p == nil:
				d.Fault(jsonfile.Member(path, "properties"), engine.Quote(name)+", which no attribute has as its name", jsonfile.Choice(name, attributeNames(d.class)))
				ok = false
			case !indexable(p.Type) || !p.Stored():
				d.Warn(jsonfile.Member(path, "properties"), engine.Quote(name)+" of type "+p.Type.String(), "attributes whose values can be compared: this index is left out")
				ok = false
			}
		}
		if ok {
			kept = append(kept, index)
		}
	}
	d.class.Indexes = kept
}

// checkDependencies checks that each path leads through references and
// collections.
func (d *draft) checkDependencies() {
	c := d.class
	for i, path := range c.Dependencies {
		at := c
		for _, name := range path {
			p := at.Property(name)
			if p == nil || p.Target == nil {
				found := engine.Quote(strings.Join(path, "."))
				d.Fault(jsonfile.Element(d.At("cacheDependencies"), i), found, "a path of references: "+engine.Quote(name)+" is none of class "+at.FullName)
				break
			}
			at = p.Target
		}
	}
}

// inheritDependencies adds the paths of all ancestors.
func inheritDependencies(c *engine.Class) {
	for a := c.Ancestor; a != nil; a = a.Ancestor {
		for _, path := range a.Dependencies {
			if !slices.ContainsFunc(c.Dependencies, func(own []string) bool { return slices.Equal(own, path) }) {
				c.Dependencies = append(c.Dependencies, path)
			}
		}
	}
}

// checkKeyCircle refuses keys that are made of each other: a reference holds
// the key of what it points at. It runs before anything asks for ValueType.
func (l *linker) checkKeyCircle(d *draft) {
	met := []string{d.class.FullName}
	for c := d.class; len(c.Key) == 1; {
		var p *engine.Property
		for _, q := range c.Properties {
			if q.Name == c.Key[0] {
				p = q
			}
		}
		if p == nil || p.Type != engine.Reference || p.Target == nil {
			return
		}
		c = p.Target
		if c == d.class {
			d.Fault(d.At("key"), "a circle: "+strings.Join(append(met, c.FullName), " -> "), "a key that does not depend on itself")
			return
		}
		if slices.Contains(met, c.FullName) {
			return // a circle of others, that is said there
		}
		met = append(met, c.FullName)
	}
}
