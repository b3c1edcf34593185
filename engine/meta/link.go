package meta

import (
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
)

type linkState int

const (
	unlinked linkState = iota
	linking
	linked
	broken // its attributes are not known for sure, so nothing more is said of them
)

// linker joins drafts into trees of classes.
type linker struct {
	drafts []*draft
	byName map[string]*draft
	names  []string
	faults *engine.Faults

	thumbnails []engine.ThumbnailKind // of images
}

func newLinker(drafts []*draft, faults *engine.Faults) *linker {
	l := &linker{drafts: drafts, byName: make(map[string]*draft, len(drafts)), faults: faults}
	for _, d := range drafts {
		l.byName[d.class.FullName] = d
		l.names = append(l.names, d.class.FullName)
	}
	return l
}

// lookup finds the class that a field of d names, in d's own namespace when it
// names none. What is not there is a fault.
func (l *linker) lookup(d *draft, o jsonfile.Object, path, written string) *draft {
	name := written
	if !strings.Contains(name, "@") {
		name = engine.FullName(name, d.class.Namespace)
	}
	found := l.byName[name]
	if found == nil {
		o.Fault(path, engine.Quote(written)+", a class that does not exist", jsonfile.Choice(name, l.names))
	}
	return found
}

// link finds the ancestor of d and its structures, and takes over their
// attributes, and the ancestor's key, display string and trackers. chain holds
// the classes that asked for it.
func (l *linker) link(d *draft, chain []string) {
	switch d.state {
	case linking:
		for chain[0] != d.class.FullName {
			chain = chain[1:]
		}
		d.Fault(d.At("ancestor"), "a circle: "+strings.Join(append(chain, d.class.FullName), " -> "), "an ancestor that does not descend from this class")
		d.state = broken
	case unlinked:
		d.state = linking
		chain = append(chain, d.class.FullName)
		ok := l.linkAncestor(d, chain) && l.expandStructures(d, chain)
		if !ok || d.state == broken {
			d.state = broken
			return
		}
		d.state = linked
		l.findTargets(d)
		l.inherit(d)
		d.inheritKey()
		d.flatten()
		d.checkKey()
	}
}

func (l *linker) linkAncestor(d *draft, chain []string) bool {
	if d.ancestor == "" {
		return true
	}
	a := l.lookup(d, d.Object, d.At("ancestor"), d.ancestor)
	if a == nil {
		return false
	}
	l.link(a, chain)
	if a.state != linked {
		return false
	}
	d.class.Ancestor = a.class
	return true
}

// inherit fills in the display string and the trackers of a class that names
// none.
func (l *linker) inherit(d *draft) {
	c, a := d.class, d.class.Ancestor
	if a == nil {
		return
	}
	if c.Semantic == "" && d.label == nil {
		c.Semantic = a.Semantic
		d.label, d.labelled = l.byName[a.FullName].label, l.byName[a.FullName].labelled
	}
	for _, tracker := range []struct{ own, inherited *string }{
		{&c.CreationTracker, &a.CreationTracker}, {&c.ChangeTracker, &a.ChangeTracker},
		{&c.CreatorTracker, &a.CreatorTracker}, {&c.EditorTracker, &a.EditorTracker},
	} {
		if *tracker.own == "" {
			*tracker.own = *tracker.inherited
		}
	}
}

// inheritKey fills in the key of a class that names none. All classes of a tree
// have one key, since their items share a table.
func (d *draft) inheritKey() {
	c := d.class
	if a := c.Ancestor; a != nil {
		switch {
		case !d.keyGiven:
			c.Key = a.Key
		case len(c.Key) > 0 && strings.Join(c.Key, "\n") != strings.Join(a.Key, "\n"):
			d.Fault(d.At("key"), strings.Join(c.Key, ", "), keyOf(a))
		}
		return
	}
	if d.keyGiven || !d.inline || c.Struct {
		return
	}
	c.Key = []string{"id"}
	for _, own := range d.own {
		if own.property.Name == "id" {
			d.assignID(own)
			return
		}
	}
	id := &engine.Property{Name: "id", Caption: "id", Type: engine.GUID, Autoassigned: true, Definition: c.FullName}
	d.own = append([]*attribute{{Object: d.Within(d.Path, nil), home: d, property: id, typed: true}}, d.own...)
	for _, own := range d.own {
		id.OrderNumber = min(id.OrderNumber, own.property.OrderNumber)
	}
	d.own[0].numbered, d.own[0].at = true, d.Object
}

// assignID lets the server make the key of an inline class that declares its
// id but says nothing of keys.
func (d *draft) assignID(id *attribute) {
	p := id.property
	if !id.assigning && (p.Type == engine.GUID || p.Type == engine.String) {
		p.Autoassigned = true
	}
}

// flatten fills in the properties: those of the ancestor, then the class's
// own; one of the same name takes the ancestor's place. A property without
// orderNumber follows the one written before it.
func (d *draft) flatten() {
	c := d.class
	order := 0
	if c.Ancestor != nil {
		for i, p := range c.Ancestor.Properties {
			inherited := *p
			c.Properties = append(c.Properties, &inherited)
			if i == 0 || p.OrderNumber > order {
				order = p.OrderNumber
			}
		}
	}
own:
	for _, a := range d.own {
		p := a.property
		for i, inherited := range c.Properties {
			if inherited.Name == p.Name {
				if !a.numbered {
					p.OrderNumber = inherited.OrderNumber
				}
				c.Properties[i] = p
				continue own
			}
		}
		if a.numbered {
			order = p.OrderNumber
		}
		p.OrderNumber = order
		c.Properties = append(c.Properties, p)
	}
}

func keyOf(a *engine.Class) string {
	if len(a.Key) == 0 {
		return "no key: class " + a.FullName + ", the ancestor, has none"
	}
	return strings.Join(a.Key, ", ") + ", the key of class " + a.FullName + ": a class has the key of its ancestor"
}

func (d *draft) property(name string) *engine.Property {
	for _, p := range d.class.Properties {
		if p.Name == name {
			return p
		}
	}
	return nil
}

func (d *draft) propertyNames() []string {
	names := make([]string, len(d.class.Properties))
	for i, p := range d.class.Properties {
		names[i] = p.Name
	}
	return names
}

// keyless reports whether the class is a structure that describes a part of
// others only: without a key it has no items of its own.
func (d *draft) keyless() bool {
	root := d.class.Root()
	return root.Struct && len(root.Key) == 0 && !d.keyGiven
}

func (d *draft) checkKey() {
	key := d.class.Key
	if len(key) == 0 && !d.keyGiven && d.class.Ancestor == nil && !d.class.Struct {
		d.Fault(d.Path, "no key", `a key, the name of an attribute, such as "key": ["id"]`)
	}
	for i, name := range key {
		if p := d.property(name); p != nil {
			p.Nullable = false
		}
		if slices.Contains(key[:i], name) {
			d.Fault(d.At("key"), engine.Quote(name)+" again", "each attribute of the key once")
		} else if d.keyGiven || d.class.Ancestor == nil {
			d.checkKeyPart(name)
		}
	}
}

func (d *draft) checkKeyPart(name string) {
	p := d.property(name)
	switch {
	case p == nil && !d.written(name):
		d.Fault(d.At("key"), engine.Quote(name)+", which no attribute has as its name", jsonfile.Choice(name, d.propertyNames()))
	case p != nil && d.virtual(name):
		d.Fault(d.At("key"), engine.Quote(name)+", whose value is not kept", "an attribute that is neither calculated nor a back reference")
	case p != nil && d.typed(name) && !identifies(p.Type):
		d.Fault(d.At("key"), engine.Quote(name)+" of type "+p.Type.String(), "an attribute of type string, guid, int, decimal, datetime, boolean, url, user or reference")
	}
}

// typed reports whether the type of an attribute is known.
func (d *draft) typed(name string) bool {
	for _, a := range d.own {
		if a.property.Name == name {
			return a.typed
		}
	}
	return true
}

// virtual reports whether an attribute keeps no value of its own, or one that
// changes with others.
func (d *draft) virtual(name string) bool {
	for _, a := range d.own {
		if a.property.Name == name {
			return a.backRef != "" || !empty(a.Value("formula"))
		}
	}
	return false
}

// written reports whether an attribute of that name is there but unusable, so
// that its own fault says enough.
func (d *draft) written(name string) bool {
	list, _ := d.Value("properties").([]any)
	for _, v := range list {
		if fields, ok := v.(engine.Fields); ok {
			if n, _ := fields.Get("name"); n == name {
				return true
			}
		}
	}
	return false
}

// identifies reports whether values of the type make ids.
func identifies(t engine.PropertyType) bool {
	switch t {
	case engine.String, engine.GUID, engine.Int, engine.DecimalNum, engine.DateTime, engine.Boolean, engine.URL, engine.User, engine.Reference:
		return true
	}
	return false
}
