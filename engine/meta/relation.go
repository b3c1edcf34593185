package meta

import (
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
)

// findTargets finds the classes that the attributes of d point at. Those of
// parts of a structure were found for the structure.
func (l *linker) findTargets(d *draft) {
	for _, a := range d.own {
		p := a.property
		if a.prefix != "" || a.target == "" || p.Type != engine.Reference && p.Type != engine.Collection {
			continue
		}
		path := a.At(a.targetField())
		t := l.lookup(a.home, a.Object, path, a.target)
		if t == nil {
			continue
		}
		if l.keyless(t) {
			a.Fault(path, "class "+engine.Quote(t.class.FullName)+", which has no key", "a class that has objects")
			continue
		}
		p.Target = t.class
		for i, name := range a.subclasses {
			if s := l.lookup(a.home, a.Object, jsonfile.Element(a.At("allowedSubclasses"), i), name); s != nil {
				p.Subclasses = append(p.Subclasses, s.class)
			}
		}
	}
}

// keyless is draft.keyless for a class that may not be linked yet.
func (l *linker) keyless(d *draft) bool {
	for range l.drafts { // no chain of ancestors is longer
		if d.keyGiven || !d.class.Struct {
			return false
		}
		name := d.ancestor
		if name == "" {
			return true
		}
		if !strings.Contains(name, "@") {
			name = engine.FullName(name, d.class.Namespace)
		}
		if d = l.byName[name]; d == nil {
			return false
		}
	}
	return false
}

// place names a property by where it is declared.
type place struct{ class, name string }

// relater resolves what attributes say of attributes of other classes, once
// all classes know theirs.
type relater struct {
	*linker
	mirrors map[place]*engine.Property // the other side of a collection, by what names it in backColl
}

// relate resolves back references, bindings and mirrored collections.
func (l *linker) relate(usable []*draft) {
	r := relater{linker: l, mirrors: make(map[place]*engine.Property)}
	for _, d := range usable {
		for _, p := range d.class.Properties {
			if p.Target == nil || l.byName[p.Target.FullName].faulty {
				continue
			}
			a := l.attribute(p)
			r.checkSubclasses(a, p)
			if r.bind(d, a, p) {
				r.back(d, a, p)
			}
			r.mirror(d, a, p)
		}
	}
	for _, d := range usable {
		for _, p := range d.class.Properties {
			if p.Type == engine.Collection && p.Back == nil && p.Mirror == nil {
				p.Mirror = r.mirrors[place{p.Definition, p.Name}]
			}
		}
	}
}

func (r *relater) checkSubclasses(a *attribute, p *engine.Property) {
	for i, s := range p.Subclasses {
		if s != p.Target && !slices.Contains(p.Target.Descendants, s) {
			r.fault(a, jsonfile.Element(a.At("allowedSubclasses"), i), "class "+engine.Quote(s.FullName), "class "+p.Target.FullName+" or one that descends from it")
		}
	}
}

// fault adds a fault of an attribute unless the same was found there before:
// what a class inherits is looked at again for each descendant.
func (l *linker) fault(a *attribute, path, found, expected string) {
	l.once(engine.Fault{File: a.File, Path: path, Found: found, Expected: expected})
}

func (l *linker) warn(a *attribute, path, found, expected string) {
	l.once(engine.Fault{File: a.File, Path: path, Found: found, Expected: expected, Level: engine.Warning})
}

func (l *linker) once(f engine.Fault) {
	for _, known := range *l.faults {
		if known.File == f.File && known.Path == f.Path && known.Found == f.Found {
			return
		}
	}
	*l.faults = append(*l.faults, f)
}

func attributeNames(c *engine.Class) []string {
	names := make([]string, len(c.Properties))
	for i, p := range c.Properties {
		names[i] = p.Name
	}
	return names
}

// find returns an attribute that a field names.
func (r *relater) find(a *attribute, field, name string, c *engine.Class) *engine.Property {
	p := c.Property(name)
	if p == nil {
		r.fault(a, a.At(field), engine.Quote(name)+", which is no attribute of class "+c.FullName, jsonfile.Choice(name, attributeNames(c)))
	}
	return p
}

// bind finds the attribute that a back reference holds instead of the key. A
// part of a structure may name another part, or an attribute beside it.
func (r *relater) bind(d *draft, a *attribute, p *engine.Property) (ok bool) {
	named := engine.Quote(a.binding)
	switch {
	case a.binding == "":
		return true
	case a.backRef == "":
		r.warn(a, a.At("binding"), named+" without backRef", "nothing: it has no effect without one")
		return true
	}
	q := d.class.Property(a.prefix + a.binding)
	if q == nil {
		q = d.class.Property(a.binding)
	}
	switch {
	case q == nil:
		r.fault(a, a.At("binding"), named+", which no attribute has as its name", jsonfile.Choice(a.binding, attributeNames(d.class)))
		return false
	case !indexable(q.Type) || r.virtual(q):
		r.fault(a, a.At("binding"), named+" of type "+q.Type.String(), "an attribute with a value of its own that can be compared")
		return false
	}
	p.Binding = q
	return true
}

// back finds the attribute of the other class that points here: the attribute
// is then virtual. It must hold what is compared with it.
func (r *relater) back(d *draft, a *attribute, p *engine.Property) {
	if a.backRef == "" {
		return
	}
	q := r.find(a, "backRef", a.backRef, p.Target)
	if q == nil {
		return
	}
	here, what := keyType(d.class), "the key of class "+d.class.FullName
	if p.Binding != nil {
		here, what = p.Binding.ValueType(), "attribute "+engine.Quote(p.Binding.Name)
	}
	held := q.ValueType()
	switch {
	case q.Type == engine.Collection || !indexable(q.Type) || r.virtual(q):
		r.fault(a, a.At("backRef"), engine.Quote(a.backRef)+" of type "+q.Type.String(), "a reference, or an attribute with a value of its own that can be compared")
	case held != here && !(held.Textual() && here.Textual()):
		r.fault(a, a.At("backRef"), engine.Quote(a.backRef)+", which holds values of type "+held.String(), "an attribute that holds values of type "+here.String()+", as "+what+" has them")
	default:
		p.Back = q
	}
}

// virtual reports whether a reference is a back reference itself, or a value is
// not stored.
func (r *relater) virtual(p *engine.Property) bool {
	a := r.attribute(p)
	return p.Type == engine.Reference && a.backRef != "" || !empty(a.Value("formula")) && !p.Cached
}

func keyType(c *engine.Class) engine.PropertyType {
	if key := c.KeyProperties(); len(key) == 1 {
		return key[0].ValueType()
	}
	return engine.String
}

// mirror finds the other side of a collection. Either side may name the other;
// both know each other afterwards.
func (r *relater) mirror(d *draft, a *attribute, p *engine.Property) {
	if a.backColl == "" || p.Back != nil {
		return
	}
	if p.Type != engine.Collection {
		r.warn(a, a.At("backColl"), engine.Quote(a.backColl)+" on type "+p.Type.String(), "nothing: it has a meaning for collections only")
		return
	}
	q := r.find(a, "backColl", a.backColl, p.Target)
	if q == nil {
		return
	}
	other := r.attribute(q)
	named := engine.Quote(a.backColl)
	switch {
	case q.Type != engine.Collection || other.backRef != "":
		r.fault(a, a.At("backColl"), named+" of type "+q.Type.String(), "a collection without backRef")
	case q.Definition == p.Definition && q.Name == p.Name:
		r.fault(a, a.At("backColl"), named+", the collection itself", "another collection")
	case q.Target == nil || !related(q.Target, d.class):
		r.fault(a, a.At("backColl"), named+", a collection of other objects", "a collection of objects of class "+d.class.FullName)
	case other.backColl != "" && other.backColl != p.Name:
		r.fault(a, a.At("backColl"), named+", which names "+engine.Quote(other.backColl)+" as its other side", "a collection that names this one or none")
	default:
		r.pair(a, p, q)
	}
}

func (r *relater) pair(a *attribute, p, q *engine.Property) {
	at := place{q.Definition, q.Name}
	if known := r.mirrors[at]; known != nil && (known.Definition != p.Definition || known.Name != p.Name) {
		r.fault(a, a.At("backColl"), engine.Quote(a.backColl)+", which is the other side of "+engine.Quote(known.Name)+" of class "+known.Definition, "a collection of its own")
		return
	}
	p.Mirror = q
	if r.mirrors[at] == nil {
		r.mirrors[at] = p
	}
}

// related reports whether one class descends from the other.
func related(a, b *engine.Class) bool {
	return a == b || slices.Contains(a.Descendants, b) || slices.Contains(b.Descendants, a)
}
