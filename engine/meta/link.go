package meta

import (
	"regexp"
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
}

// add takes a draft in, unless another class has its name.
func (l *linker) add(d *draft) {
	name := d.class.FullName
	if other := l.byName[name]; other != nil {
		d.Fault(d.At("name"), "class "+engine.Quote(name)+" again", "one class of that name, "+other.where()+" has it: several versions of a class are not supported yet")
		return
	}
	for _, other := range l.names {
		if strings.EqualFold(other, name) {
			d.Fault(d.At("name"), "class "+engine.Quote(name), "a name that differs from "+engine.Quote(other)+" in more than letter case")
			break
		}
	}
	l.byName[name] = d
	l.names = append(l.names, name)
	l.drafts = append(l.drafts, d)
}

func (d *draft) where() string {
	if d.Path == "" {
		return d.File
	}
	return d.File + " " + d.Path
}

// link finds the ancestor of d, and takes over its attributes, its key and its
// display string. chain holds the descendants that asked for it.
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
		ok := l.linkAncestor(d, append(chain, d.class.FullName))
		if !ok || d.state == broken {
			d.state = broken
			return
		}
		d.state = linked
		d.inheritKey()
		d.flatten()
		d.checkKey()
		d.checkSemantic()
	}
}

func (l *linker) linkAncestor(d *draft, chain []string) bool {
	if d.ancestor == "" {
		return true
	}
	name := d.ancestor
	if !strings.Contains(name, "@") {
		name = engine.FullName(name, d.class.Namespace)
	}
	a := l.byName[name]
	if a == nil {
		d.Fault(d.At("ancestor"), engine.Quote(d.ancestor)+", a class that does not exist", jsonfile.Choice(name, l.names))
		return false
	}
	l.link(a, chain)
	if a.state != linked {
		return false
	}
	d.class.Ancestor = a.class
	return true
}

// inheritKey fills in the key and display string of a class that names none.
func (d *draft) inheritKey() {
	c := d.class
	if a := c.Ancestor; a != nil {
		if c.Semantic == "" {
			c.Semantic = a.Semantic
		}
		switch {
		case !d.keyGiven:
			c.Key = a.Key
		case len(c.Key) > 0 && strings.Join(c.Key, "\n") != strings.Join(a.Key, "\n"):
			d.Fault(d.At("key"), strings.Join(c.Key, ", "), strings.Join(a.Key, ", ")+", the key of the ancestor: a key of its own is not supported yet")
		}
		return
	}
	if d.keyGiven || !d.inline {
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
	d.own = append([]*attribute{{property: id, path: d.Path, typed: true}}, d.own...)
	for _, own := range d.own {
		id.OrderNumber = min(id.OrderNumber, own.property.OrderNumber)
	}
	d.own[0].numbered = true
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

func (d *draft) checkKey() {
	key := d.class.Key
	if len(key) == 0 && !d.keyGiven && d.class.Ancestor == nil {
		expected := `a key, the name of an attribute, such as "key": ["id"]`
		if v, _ := d.Value("isStruct").(bool); v {
			expected += ": structures without one are not supported yet"
		}
		d.Fault(d.Path, "no key", expected)
	}
	if len(key) > 1 && d.keyGiven {
		d.Fault(d.At("key"), strings.Join(key, ", "), "one attribute: composite keys are not supported yet")
	}
	for _, name := range key {
		if p := d.property(name); p != nil {
			p.Nullable = false
		}
		if d.keyGiven || d.class.Ancestor == nil {
			d.checkKeyPart(name)
		}
	}
}

func (d *draft) checkKeyPart(name string) {
	p := d.property(name)
	switch {
	case p == nil && !d.written(name):
		d.Fault(d.At("key"), engine.Quote(name)+", which no attribute has as its name", jsonfile.Choice(name, d.propertyNames()))
	case p != nil && p.Type.Scalar() && !identifies(p.Type):
		d.Fault(d.At("key"), engine.Quote(name)+" of type "+p.Type.String(), "an attribute of type string, guid, int, decimal, datetime, url or user")
	}
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
	case engine.String, engine.GUID, engine.Int, engine.DecimalNum, engine.DateTime, engine.URL, engine.User:
		return true
	}
	return false
}

// piece is what the display string takes for the name of an attribute.
var piece = regexp.MustCompile(`^\s*([A-Za-z0-9_.]{2,})(?:\[\d+(?:,\d+)?\])?\s*$`)

func (d *draft) checkSemantic() {
	source, _ := d.Value("semantic").(string) // what is inherited was checked where it stands
	if source == "" {
		return
	}
	for _, part := range strings.Split(source, "|") {
		name := strings.TrimSpace(part)
		m := piece.FindStringSubmatch(part)
		if m == nil {
			if d.property(name) != nil {
				d.Warn(d.At("semantic"), engine.Quote(name), "a name of at least two of A-Z, a-z, 0-9 and _: this one is shown as it is written, not as a value")
			}
			continue
		}
		first, _, dotted := strings.Cut(m[1], ".")
		switch {
		case dotted && d.property(first) != nil:
			d.Fault(d.At("semantic"), engine.Quote(m[1]), "an attribute of the class itself: paths through references are not supported yet")
		case !dotted && d.property(m[1]) == nil:
			if near := jsonfile.Nearest(m[1], d.propertyNames()); near != "" {
				d.Warn(d.At("semantic"), engine.Quote(m[1])+", which is no attribute and shown as it is written", engine.Quote(near))
			}
		}
	}
}
