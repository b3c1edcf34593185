package oracle

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"restsrv/engine"
)

// tree holds the attributes that _eager loads. Each key is the name of an attribute, and the
// value is the tree of the attributes to load in the objects to which the attribute refers. The
// path town.region gives {town: {region: {}}}.
type tree map[string]tree

// loading is a position in a path of _eager: the class at this position, and the attributes to
// load there.
type loading struct {
	tree  tree
	class *engine.Class
}

// walk follows attribute names from this position and adds them to the tree. ok is false if an
// attribute does not exist.
func (l loading) walk(names []string) (end loading, ok bool) {
	for _, name := range names {
		var p *engine.Property
		if l.class != nil {
			p = anyProperty(l.class, name)
		}
		if p == nil {
			return l, false
		}
		if l.tree[name] == nil {
			l.tree[name] = tree{}
		}
		l = loading{l.tree[name], p.Target}
	}
	return l, true
}

// anyProperty returns the attribute name of a class or of one of its descendants.
func anyProperty(c *engine.Class, name string) *engine.Property {
	for _, d := range append([]*engine.Class{c}, c.Descendants...) {
		if p := d.Property(name); p != nil {
			return p
		}
	}
	return nil
}

// eagerPaths parses _eager: paths such as "town.region", separated by "|". A path with a single
// name is looked up twice: as an attribute of the class, and as an attribute of the objects at
// the end of the previous path. So "town|region" also loads town.region. If both attributes
// exist, both are loaded.
func (w *World) eagerPaths(c *engine.Class, eager string) tree {
	all := tree{}
	if eager == "" {
		return all
	}
	var before []loading
	for _, path := range strings.Split(eager, "|") {
		names, from := strings.Split(path, "."), []loading{{all, c}}
		if len(names) == 1 {
			from = append(from, before...)
		}
		before = nil
		for _, l := range from {
			if end, ok := l.walk(names); ok {
				before = append(before, end)
			}
		}
		if len(before) == 0 {
			refuse(400, "unknown-attribute")
		}
	}
	return all
}

// List returns the answer to a request for all objects of a class.
func (w *World) List(c *engine.Class, eager string) string {
	var all []string
	for _, o := range w.Objects(c) {
		all = append(all, w.render(o, w.eagerPaths(c, eager), nil))
	}
	return "[" + strings.Join(all, ",") + "]"
}

// render returns an object as JSON in the form of builtin/crud. path holds the objects around it;
// an object that contains itself is rendered without attributes.
func (w *World) render(o *Object, eager tree, path []*Object) string {
	if slices.Contains(path, o) {
		return `{"_id":` + Encode(o.ID()) + `,"__class":` + Encode(o.Class.FullName) + "}"
	}
	path = append(slices.Clone(path), o)
	var b strings.Builder
	b.WriteByte('{')
	if o.Creator != "" {
		b.WriteString(`"_creator":` + Encode(o.Creator) + ",")
	}
	if o.Editor != "" {
		b.WriteString(`"_editor":` + Encode(o.Editor) + ",")
	}
	b.WriteString(`"_id":` + Encode(o.ID()) + `,"__string":` + Encode(w.displayString(o)) + `,"__class":` + Encode(o.Class.FullName) + `,"__classTitle":` + Encode(o.Class.Caption))
	for _, p := range o.Class.Properties {
		next, loaded := eager[p.Name]
		b.WriteString("," + Encode(p.Name) + ":")
		switch {
		case p.Type == engine.Collection && !loaded:
			b.WriteString("null")
		case p.Type == engine.Collection:
			var members []string
			for _, m := range w.Members(o, p) {
				members = append(members, w.render(m, next, path))
			}
			b.WriteString("[" + strings.Join(members, ",") + "]")
		case p.Type == engine.Reference && loaded && w.targetOf(o, p) != nil:
			b.WriteString(w.render(w.targetOf(o, p), next, path))
		default:
			b.WriteString(encodeValue(p, w.Value(o, p)))
		}
		if p.Selection != nil {
			name, _ := selectionLabel(p, o.Values[p.Name])
			b.WriteString("," + Encode(p.Name+"_str") + ":" + Encode(name))
		}
	}
	return b.String() + "}"
}

// renderRecord returns an object as JSON in the form of builtin/acceptor. It has only attributes
// with a value.
func (w *World) renderRecord(o *Object) string {
	var b strings.Builder
	b.WriteString(`{"_id":` + Encode(o.ID()) + `,"_class":` + Encode(o.Class.FullName) + `,"_classVer":` + Encode(o.Version))
	for _, p := range o.Class.Properties {
		switch {
		case p.Type == engine.Collection && p.Back == nil && p.Formula == nil:
			ids := []string{}
			for _, m := range w.Members(o, p) {
				ids = append(ids, m.ID())
			}
			b.WriteString("," + Encode(p.Name) + ":" + Encode(ids))
		case p.Type == engine.Collection, p.Formula != nil && !p.Cached:
		case w.Value(o, p) != nil:
			b.WriteString("," + Encode(p.Name) + ":" + encodeValue(p, w.Value(o, p)))
		}
	}
	return b.String() + "}"
}

// Value returns the value of an attribute. For a cached attribute it computes the formula again,
// since the test classes declare all dependencies and the stored value must be equal.
func (w *World) Value(o *Object, p *engine.Property) any {
	if p.Formula != nil {
		return w.Formulas[p.Definition+"."+p.Name](w, o)
	}
	return o.Values[p.Name]
}

// encodeValue returns a value as JSON. A number in a reference becomes text.
func encodeValue(p *engine.Property, v any) string {
	if v != nil && p.Type == engine.Reference {
		v = valueText(v)
	}
	return Encode(v)
}

// targetOf returns the object that a reference points at, or nil if it does not exist.
func (w *World) targetOf(o *Object, p *engine.Property) *Object {
	id, _ := o.Values[p.Name].(string)
	if id == "" {
		return nil
	}
	return w.Object(p.Target, id)
}

// selectionLabel returns the label of a value in the selection list of p. offered is false if the
// list does not contain the value; the label is then the value itself.
func selectionLabel(p *engine.Property, v any) (label string, offered bool) {
	for _, row := range p.Selection.Rows {
		for _, offer := range row.Values {
			if valueText(literalValue(offer.Key)) == valueText(v) {
				return offer.Label, true
			}
		}
	}
	return valueText(v), false
}

// literalValue converts a literal in a class file to a value.
func literalValue(v any) any {
	if n, ok := v.(json.Number); ok {
		if i, err := n.Int64(); err == nil {
			return i
		}
		f, _ := n.Float64()
		return f
	}
	return v
}

// namesAttribute matches the parts of a display string that may be names of attributes.
var namesAttribute = regexp.MustCompile(`^[A-Za-z0-9_.]{2,}$`)

// displayString returns the display string of an object. Class.Semantic lists its parts, separated
// by "|", which are names of attributes or literal text. A reference is replaced by the display
// string of its target, or by the id if the target does not exist. If the result is empty, it is
// the id of the object.
func (w *World) displayString(o *Object) string {
	var b strings.Builder
	for _, part := range strings.Split(o.Class.Semantic, "|") {
		p := o.Class.Property(part)
		switch {
		case p == nil || !namesAttribute.MatchString(part):
			b.WriteString(part)
		case p.Type == engine.Reference && w.targetOf(o, p) != nil:
			b.WriteString(w.displayString(w.targetOf(o, p)))
		case w.Value(o, p) != false:
			b.WriteString(valueText(w.Value(o, p)))
		}
	}
	if b.Len() == 0 {
		return o.ID()
	}
	return b.String()
}
