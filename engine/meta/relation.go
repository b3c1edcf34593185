package meta

import (
	"context"
	"encoding/json"
	"slices"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/mistake"
)

// findTargets finds the target classes of references and collections. If a target does not exist, the rule of the
// mistake determines the result: either the attribute holds plain values, or it is left out.
func (l *linker) findTargets() {
	left := map[*attribute]bool{}
	for _, d := range l.drafts {
		if d.state != linked {
			continue
		}
		for _, p := range d.class.Properties {
			if p.Type == engine.Reference || p.Type == engine.Collection {
				l.findTarget(d, l.attributeOf(p), p, left)
			}
		}
	}
	if len(left) == 0 {
		return
	}
	for _, d := range l.drafts {
		if d.state != linked {
			continue
		}
		d.class.Properties = slices.DeleteFunc(d.class.Properties, func(p *engine.Property) bool { return left[l.attributeOf(p)] })
	}
	for _, d := range l.drafts {
		d.own = slices.DeleteFunc(d.own, func(a *attribute) bool { return left[a] })
	}
}

// findTarget finds the target class of one attribute of d. It adds the attribute to left if the attribute must be left
// out.
func (l *linker) findTarget(d *draft, a *attribute, p *engine.Property, left map[*attribute]bool) {
	rule, path := mistake.ReferenceClass, a.At(a.targetField())
	switch {
	case p.Type == engine.Collection && a.backRef != "":
		rule = mistake.CollectionBack
	case p.Type == engine.Collection:
		rule = mistake.CollectionClass
	case a.backRef != "":
		rule = mistake.BackUnknown
	}
	var t *draft
	if a.target == "" {
		l.report(a.Object, rule, a.Path, a.noTarget(), "the name of the class that attribute "+engine.Quote(p.Name)+" points at")
	} else if t = l.lookupClass(a.home, rule, a.Object, path, a.target); t != nil && t.isKeyless() {
		l.report(a.Object, rule, path, "class "+engine.Quote(t.class.FullName)+", which has no key", "a class that has objects")
		t = nil
	}
	switch {
	case t != nil:
		p.Target = t.class
		l.findSubclasses(a, p)
	case rule == mistake.CollectionBack:
		left[a] = true
		if a.prefix == "" {
			l.byName[p.Definition].replaceEntry(a.position, nil)
		}
	case rule == mistake.CollectionClass:
		p.Type = engine.Custom
		a.setField(l.byName[p.Definition], "type", json.Number("17"))
	case rule == mistake.BackUnknown:
		l.detachTarget(p)
		p.Type = engine.String
		a.setField(l.byName[p.Definition], "type", json.Number("0"))
	default:
		p.Type, p.Nowhere = engine.String, true
		a.setField(l.byName[p.Definition], "type", json.Number("0"))
		if _, text := a.Value("refClass").(string); !text {
			l.addEdit(a.Object, a.At("refClass"), makeAbsent)
		}
	}
}

// noTarget describes the value that was found instead of the name of a class, for a message.
func (a *attribute) noTarget() string {
	field := a.targetField()
	if v := a.Value(field); !isEmpty(v) {
		return jsonfile.Describe(v) + " as " + field
	}
	return "no " + field
}

// findSubclasses finds the classes that are named in allowedSubclasses.
func (l *linker) findSubclasses(a *attribute, p *engine.Property) {
	for i, name := range a.subclasses {
		path := jsonfile.Element(a.At("allowedSubclasses"), i)
		s := l.lookupClass(a.home, mistake.SubclassUnknown, a.Object, path, name)
		switch {
		case s == nil:
		case !s.descendsFrom(p.Target):
			l.report(a.Object, mistake.SubclassUnknown, path, "class "+engine.Quote(s.class.FullName), "class "+p.Target.FullName+" or one that descends from it")
		default:
			p.Subclasses = append(p.Subclasses, s.class)
		}
	}
	if !isEmpty(a.Value("allowedSubclasses")) && len(p.Subclasses) == 0 {
		p.Subclasses = []*engine.Class{engine.NoClassAllowed}
	}
}

// descendsFrom reports whether d is class c or a descendant of c.
func (d *draft) descendsFrom(c *engine.Class) bool {
	for ; d != nil; d = d.parent {
		if d.class == c {
			return true
		}
	}
	return false
}

// holdText turns a reference into a text attribute that contains ids, in all classes that have the attribute.
func (l *linker) holdText(a *attribute) {
	for _, d := range l.drafts {
		for _, p := range d.class.Properties {
			if d.state == linked && p.Type == engine.Reference && l.attributeOf(p) == a {
				p.Type, p.Target, p.Subclasses, p.Nowhere = engine.String, nil, nil, true
			}
		}
	}
	a.setField(l.byName[a.property.Definition], "type", json.Number("0"))
}

// detachTarget turns a relation into a calculated attribute that is always null or empty.
func (l *linker) detachTarget(p *engine.Property) {
	p.Target, p.Subclasses, p.Nowhere, p.Nullable = nil, nil, true, true
	p.Formula = null{}
}

// null is the formula of an attribute that is always null or empty.
type null struct{}

// Needs implements engine.Formula.
func (null) Needs() [][]*engine.Property { return nil }

// Eval implements engine.Formula.
func (null) Eval(context.Context, *engine.Item, engine.FormulaData) (any, error) { return nil, nil }

// place identifies a property by its name and the class that declares it.
type place struct{ class, name string }

// relater resolves the fields of an attribute that name other attributes: backRef, binding and backColl. It needs the
// attributes of all classes.
type relater struct {
	*linker
	mirrors map[place]*engine.Property // maps a collection to the collection that names it in backColl
}

// relateAttributes resolves back references, bindings and mirrored collections.
func (l *linker) relateAttributes(usable []*draft) {
	r := relater{linker: l, mirrors: make(map[place]*engine.Property)}
	for _, d := range usable {
		for _, p := range d.class.Properties {
			if p.Target == nil || l.byName[p.Target.FullName].faulty {
				continue
			}
			a := l.attributeOf(p)
			if !r.resolveBinding(d, a, p) || !r.resolveBackRef(d, a, p) {
				l.detachTarget(p)
				continue
			}
			r.resolveMirror(d, a, p)
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

// report adds a fault for a mistake. The fields of an inherited attribute are checked again in each descendant, so
// report ignores a fault that is already reported.
func (l *linker) report(o jsonfile.Object, rule *mistake.Rule, path, found, expected string) {
	var one engine.Faults
	o.Faults = &one
	o.Report(rule, path, found, expected)
	l.reportOnce(one[0])
}

func (l *linker) warn(a *attribute, path, found, expected string) {
	l.reportOnce(engine.Fault{File: a.File, Path: path, Found: found, Expected: expected, Level: engine.Warning})
}

func (l *linker) reportOnce(f engine.Fault) {
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

// findAttribute returns the attribute of class c with a name, which a field of attribute a, such as backRef, contains.
// If c does not have this attribute, findAttribute reports rule as a mistake and returns nil.
func (r *relater) findAttribute(a *attribute, rule *mistake.Rule, field, name string, c *engine.Class) *engine.Property {
	p := c.Property(name)
	if p == nil {
		r.report(a.Object, rule, a.At(field), engine.Quote(name)+", which is no attribute of class "+c.FullName, jsonfile.Choice(name, attributeNames(c)))
	}
	return p
}

// resolveBinding finds the attribute that the field binding names. The values of the back reference are compared with
// this attribute instead of the key. In a part of a structure, the name can be that of another part of the structure,
// or that of an attribute of the class. ok is false if the attribute is missing or its values cannot be compared.
func (r *relater) resolveBinding(d *draft, a *attribute, p *engine.Property) (ok bool) {
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
		r.report(a.Object, mistake.BindingUnknown, a.At("binding"), named+", which no attribute has as its name", jsonfile.Choice(a.binding, attributeNames(d.class)))
		return false
	case !isIndexable(q.Type) || r.isVirtual(q):
		r.report(a.Object, mistake.BindingUnknown, a.At("binding"), named+" of type "+q.Type.String(), "an attribute with a value of its own that can be compared")
		return false
	}
	p.Binding = q
	return true
}

// resolveBackRef resolves the field backRef, the name of an attribute of the target class that refers to this class.
// The attribute with the field backRef has no stored value itself. ok is false if the attribute of the target class is
// missing, or if its values cannot be compared with the key or the binding.
func (r *relater) resolveBackRef(d *draft, a *attribute, p *engine.Property) (ok bool) {
	if a.backRef == "" {
		return true
	}
	q := r.findAttribute(a, mistake.BackUnknown, "backRef", a.backRef, p.Target)
	if q == nil {
		return false
	}
	here, what := keyType(d.class), "the key of class "+d.class.FullName
	if p.Binding != nil {
		here, what = p.Binding.ValueType(), "attribute "+engine.Quote(p.Binding.Name)
	}
	held := q.ValueType()
	switch {
	case q.Type == engine.Collection || !isIndexable(q.Type) || r.isVirtual(q):
		r.report(a.Object, mistake.BackType, a.At("backRef"), engine.Quote(a.backRef)+" of type "+q.Type.String(), "a reference, or an attribute with a value of its own that can be compared")
	case held != here && !(held.Textual() && here.Textual()):
		r.report(a.Object, mistake.BackType, a.At("backRef"), engine.Quote(a.backRef)+", which holds values of type "+held.String(), "an attribute that holds values of type "+here.String()+", as "+what+" has them")
	default:
		p.Back = q
		return true
	}
	return false
}

// isVirtual reports whether the attribute has no stored value, because it is a back reference or is calculated on each
// read.
func (r *relater) isVirtual(p *engine.Property) bool {
	a := r.attributeOf(p)
	return p.Type == engine.Reference && a.backRef != "" || !isEmpty(a.Value("formula")) && !p.Cached
}

func keyType(c *engine.Class) engine.PropertyType {
	if key := c.KeyProperties(); len(key) == 1 {
		return key[0].ValueType()
	}
	return engine.String
}

// resolveMirror finds the collection that mirrors p, and links both. It suffices that one of the two collections names
// the other in backColl.
func (r *relater) resolveMirror(d *draft, a *attribute, p *engine.Property) {
	if a.backColl == "" || p.Back != nil {
		return
	}
	if p.Type != engine.Collection {
		r.warn(a, a.At("backColl"), engine.Quote(a.backColl)+" on type "+p.Type.String(), "nothing: it has a meaning for collections only")
		return
	}
	q := r.findAttribute(a, mistake.OtherSide, "backColl", a.backColl, p.Target)
	if q == nil {
		return
	}
	other := r.attributeOf(q)
	named := engine.Quote(a.backColl)
	switch {
	case q.Type != engine.Collection || other.backRef != "":
		r.report(a.Object, mistake.OtherSideType, a.At("backColl"), named+" of type "+q.Type.String(), "a collection without backRef")
	case q.Definition == p.Definition && q.Name == p.Name:
		r.report(a.Object, mistake.OtherSideType, a.At("backColl"), named+", the collection itself", "another collection")
	case q.Target == nil || !areRelated(q.Target, d.class):
		r.report(a.Object, mistake.OtherSideType, a.At("backColl"), named+", a collection of other objects", "a collection of objects of class "+d.class.FullName)
	case other.backColl != "" && other.backColl != p.Name:
		r.report(a.Object, mistake.OtherSideType, a.At("backColl"), named+", which names "+engine.Quote(other.backColl)+" as its other side", "a collection that names this one or none")
	default:
		r.linkMirror(a, p, q)
	}
}

func (r *relater) linkMirror(a *attribute, p, q *engine.Property) {
	at := place{q.Definition, q.Name}
	if known := r.mirrors[at]; known != nil && (known.Definition != p.Definition || known.Name != p.Name) {
		r.report(a.Object, mistake.OtherSideType, a.At("backColl"), engine.Quote(a.backColl)+", which is the other side of "+engine.Quote(known.Name)+" of class "+known.Definition, "a collection of its own")
		return
	}
	p.Mirror = q
	if r.mirrors[at] == nil {
		r.mirrors[at] = p
	}
}

// areRelated reports whether one class descends from the other.
func areRelated(a, b *engine.Class) bool {
	return a == b || slices.Contains(a.Descendants, b) || slices.Contains(b.Descendants, a)
}
