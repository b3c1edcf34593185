package meta

import (
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/mistake"
)

// inheritKey sets the key of the class. All classes of a tree have the key of the topmost class, because their items
// share a table. If a descendant declares another key, checkKey adds a unique index for it instead. If the topmost
// class declares no key, the key is id. A structure can be without a key.
func (d *draft) inheritKey() {
	c := d.class
	if a := c.Ancestor; a != nil {
		if d.keyGiven && !slices.Equal(c.Key, a.Key) {
			d.otherKey = c.Key
		}
		c.Key = a.Key
		return
	}
	if d.keyGiven || c.Struct {
		return
	}
	if !d.inline {
		found, path := "no key", d.Path
		if v := d.Value("key"); v != nil {
			found, path = jsonfile.Describe(v), d.At("key")
		}
		d.Report(mistake.KeyMissing, path, found, `a key, the name of an attribute, such as "key": ["id"]`)
	}
	c.Key = []string{"id"}
	if own := d.declaredAttribute("id"); own != nil {
		d.assignID(own)
		return
	}
	d.addKey("id", engine.GUID)
}

// assignID lets the server generate the ids of a class that declares the attribute id but no key. It does so for ids
// of the types guid and string that do not have the field autoassigned.
func (d *draft) assignID(id *attribute) {
	p := id.property
	if !id.assigning && (p.Type == engine.GUID || p.Type == engine.String) {
		p.Autoassigned = true
	}
}

// addKey adds an attribute to the class, before all other attributes. The server generates the values of this
// attribute.
func (d *draft) addKey(name string, t engine.PropertyType) *engine.Property {
	p := &engine.Property{Name: name, Caption: name, Type: t, Autoassigned: true, Definition: d.class.FullName}
	for _, own := range d.own {
		p.OrderNumber = min(p.OrderNumber, own.property.OrderNumber)
	}
	a := &attribute{Object: d.Within(d.Path, nil), at: d.Object, home: d, property: p, typed: true, numbered: true, position: -1}
	d.own = append([]*attribute{a}, d.own...)
	return p
}

// declaredAttribute returns the attribute with this name if the class itself declares it, otherwise nil.
func (d *draft) declaredAttribute(name string) *attribute {
	for _, a := range d.own {
		if a.property.Name == name {
			return a
		}
	}
	return nil
}

// keys checks the keys of classes.
type keys struct{ *linker }

// checkKey changes the attributes of the key so that they can identify items. If this is impossible, the class is left
// out. If a descendant declares another key, checkKey adds a unique index for it.
func (l keys) checkKey(d *draft) {
	c := d.class
	switch {
	case d.isKeyless():
		return
	case len(c.Key) == 0:
		d.Report(mistake.KeyType, d.At("key"), "a key below class "+c.Root().FullName+", which has none", "a key in the topmost class")
		d.state = broken
		return
	}
	for _, name := range c.Key {
		if !l.checkKeyPart(d, name) {
			d.state = broken
			return
		}
		d.property(name).Nullable = false
	}
	if d.otherKey == nil {
		return
	}
	d.Report(mistake.KeyOfDescendant, d.At("key"), strings.Join(d.otherKey, ", "), strings.Join(c.Key, ", ")+", the key of class "+c.Ancestor.FullName)
	index := engine.CompositeIndex{Properties: d.otherKey, Unique: true}
	for _, name := range d.otherKey {
		p := d.property(name)
		if p == nil || !isIndexable(p.Type) || d.isVirtual(name) {
			return // an attribute is missing or cannot be unique
		}
	}
	for _, name := range d.otherKey {
		d.property(name).Nullable = false
		if own := d.declaredAttribute(name); own != nil {
			own.setField(d, "nullable", false)
		}
	}
	c.Indexes, d.indexAt = append(c.Indexes, index), append(d.indexAt, d.At("key"))
}

// checkKeyPart checks one attribute of the key. If the attribute is missing, it adds one. If values of its type cannot
// be part of an id, it changes the type. ok is false if the attribute cannot be corrected.
func (l keys) checkKeyPart(d *draft, name string) (ok bool) {
	known := func() []string { return attributeNames(d.class) }
	p, own := d.property(name), d.declaredAttribute(name)
	if p == nil && slices.ContainsFunc(d.class.Properties, func(q *engine.Property) bool { return strings.HasPrefix(q.Name, name+partSeparator) }) {
		d.Report(mistake.KeyType, d.At("key"), engine.Quote(name)+" of type struct", "attributes that are no structures")
		return false
	}
	if p == nil {
		if !jsonfile.ValidName(name) || slices.Contains(envelopeNames, name) {
			l.reportChoice(d.Object, mistake.KeyType, d.At("key"), engine.Quote(name)+", which cannot be the name of an attribute", name, known)
			return false
		}
		others := func() []string {
			return slices.DeleteFunc(attributeNames(d.class), func(other string) bool { return other == name })
		}
		l.reportChoice(d.Object, mistake.KeyUnknown, d.At("key"), engine.Quote(name)+", which no attribute has as its name", name, others)
		d.class.Properties = append([]*engine.Property{d.addKey(name, engine.String)}, d.class.Properties...)
		return true
	}
	if own == nil {
		return true // an inherited attribute stays as declared by the ancestor
	}
	if d.isVirtual(name) {
		d.Report(mistake.KeyCalculated, d.At("key"), engine.Quote(name)+", whose value is not kept", "an attribute that is neither calculated nor a back reference")
		own.makeStored(d)
	}
	found := engine.Quote(name) + " of type " + p.Type.String()
	switch {
	case p.Type == engine.Text || p.Type == engine.HTML:
		d.Report(mistake.KeyText, d.At("key"), found, "type string")
		own.setType(d, engine.String)
	case p.Type == engine.Real:
		d.Report(mistake.KeyReal, d.At("key"), found, "type decimal")
		own.setType(d, engine.DecimalNum)
	case !canIdentify(p.Type):
		d.Report(mistake.KeyType, d.At("key"), found, "an attribute of type string, guid, int, decimal, datetime, boolean, url, user or reference")
		return false
	}
	return true
}

// makeStored turns a calculated attribute or a back reference into a stored attribute. If the attribute has no default
// value, its formula becomes the default value.
func (a *attribute) makeStored(d *draft) {
	formula := a.Value("formula")
	if !isEmpty(formula) {
		a.setField(d, "formula", nil)
	}
	if !isEmpty(formula) && isEmpty(a.Value("defaultValue")) {
		a.setField(d, "defaultValue", formula)
	}
	if a.backRef != "" {
		a.backRef = ""
		a.setField(d, "backRef", nil)
	}
}

// isVirtual reports whether the class itself declares an attribute as a back reference or as calculated. Such an
// attribute cannot be in the key: its value is not stored, or changes with other values.
func (d *draft) isVirtual(name string) bool {
	a := d.declaredAttribute(name)
	return a != nil && (a.backRef != "" || !isEmpty(a.Value("formula")))
}

// canIdentify reports whether values of the type can be part of an id.
func canIdentify(t engine.PropertyType) bool {
	switch t {
	case engine.String, engine.GUID, engine.Int, engine.DecimalNum, engine.DateTime, engine.Boolean, engine.URL, engine.User, engine.Reference:
		return true
	}
	return false
}

// checkKeyCircle finds keys that depend on themselves. This is possible because a reference contains the key of its
// target. For example, if the key of A is a reference to B, and the key of B is a reference to A, the type of both
// keys is undefined. The reference that closes the circle becomes a text attribute. checkKeyCircle must run before the
// first call of ValueType, which would recurse forever.
func (l keys) checkKeyCircle(d *draft) {
	met := []*engine.Class{d.class}
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
		next := p.Target
		if at := slices.IndexFunc(met, func(m *engine.Class) bool { return m.Root() == next.Root() }); at >= 0 {
			var names []string
			for _, m := range append(met[at:], next) {
				names = append(names, m.FullName)
			}
			a := l.attributeOf(p)
			home := l.byName[p.Definition]
			l.report(home.Object, mistake.KeyCircle, home.At("key"), "a circle: "+strings.Join(names, " -> "), "a key that does not depend on itself")
			l.holdText(a)
			return
		}
		c = next
		met = append(met, c)
	}
}
