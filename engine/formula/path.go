package formula

import (
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
)

// path leads from an item through references and collections to an attribute. An item on the path may belong to a
// descendant class, in which attributes have other indexes. Therefore eval looks up each attribute by name, in the
// item's own class.
type path struct {
	names   []string
	props   []*engine.Property // attributes of the path; nil if the classes are known only during evaluation
	system  string             // name at the end if it is not an attribute, such as _creator (see envelope); otherwise ""
	display bool               // the value of the path is the displayed text
	many    bool               // the path contains a collection, so its value is a list
}

// envelope maps names at the end of a path that are not attributes to functions that return their values.
var envelope = map[string]func(*engine.Item) any{
	"_id":          func(it *engine.Item) any { return it.ID },
	"_class":       func(it *engine.Item) any { return it.Class.FullName },
	"_creator":     func(it *engine.Item) any { return orNil(it.Creator) },
	"_editor":      func(it *engine.Item) any { return orNil(it.Editor) },
	"__class":      func(it *engine.Item) any { return it.Class.FullName },
	"__classTitle": func(it *engine.Item) any { return it.Class.Caption },
	"__string":     func(it *engine.Item) any { return it.String() },
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// compilePath compiles a path that starts at the items of s. u describes how the formula uses the value of the path.
func (b *compiler) compilePath(dotted string, s scope, u use) (node, error) {
	p := &path{}
	if p.display = strings.HasSuffix(dotted, "@"); p.display {
		dotted = strings.TrimSuffix(dotted, "@")
	}
	if s.class != nil && s.class.Nowhere(dotted) {
		return constantNode(nil), nil
	}
	if s.class == nil {
		p.names = strings.Split(dotted, ".")
		if len(p.names) > maxPath {
			return node{}, longPath(dotted)
		}
		addUnknown(&b.inputs.Set, p.names)
		return node{eval: p.eval}, nil
	}
	found, err := resolvePath(s.class, dotted)
	if err != nil {
		if b.missing == nil {
			return node{}, err
		}
		b.addMissing(err)
		return constantNode(nil), nil
	}
	found.display = p.display
	found.addInputs(&b.inputs.Set, s.class, !u.bare && !u.top)
	if err := b.addNeed(s, found.pathToLoad()); err != nil {
		return node{}, err
	}
	n := node{eval: found.eval}
	if last := len(found.props) - 1; last >= 0 && found.system == "" && !p.display && found.props[last].Target != nil {
		if n.items, err = s.itemsBelow(found.props, found.props[last].Target); err != nil {
			return node{}, err
		}
		if u.top {
			b.inputs.AddGiven(found.props[last].Target)
		}
	}
	return n, nil
}

func longPath(dotted string) error {
	return invalid("path %s has more than %d attributes", engine.Quote(dotted), maxPath)
}

// hasStruct reports whether the class has a structure with this name. If so, it has attributes such as passport$number
// for the structure "passport".
func hasStruct(c *engine.Class, name string) bool {
	return slices.ContainsFunc(c.Properties, func(p *engine.Property) bool { return strings.HasPrefix(p.Name, name+"$") })
}

// resolvePath finds the attributes of a path that starts at class c. If only a descendant of c declares an attribute,
// the value of the path is null for items of other classes.
func resolvePath(c *engine.Class, dotted string) (*path, error) {
	names := strings.Split(dotted, ".")
	if len(names) > maxPath {
		return nil, longPath(dotted)
	}
	p := &path{}
	for i := 0; i < len(names); i++ {
		if c == nil {
			return nil, invalid("path %s goes on behind attribute %s, which is neither a reference nor a collection", engine.Quote(dotted), engine.Quote(names[i-1]))
		}
		name, first := names[i], names[i]
		property := findAttribute(c, name)
		for property == nil && i+1 < len(names) { // the names may be a part of a struct
			i++
			name += "$" + names[i]
			property = findAttribute(c, name)
		}
		switch {
		case property == nil && i == len(names)-1 && envelope[names[i]] != nil && name == names[i]:
			p.system = name
			return p, nil
		case property == nil && !hasStruct(c, first):
			return nil, unknownAttribute(c, first)
		case property == nil:
			return nil, unknownAttribute(c, name)
		case property.Type == engine.Password:
			e := invalid("attribute %s is a password: no formula reads it", engine.Quote(name))
			e.Class, e.Attribute = c.FullName, name
			return nil, e
		}
		p.props, p.names = append(p.props, property), append(p.names, name)
		p.many = p.many || property.Type == engine.Collection
		c = property.Target
	}
	return p, nil
}

// findAttribute finds a property of the class or of a descendant.
func findAttribute(c *engine.Class, name string) *engine.Property {
	if p := c.Property(name); p != nil {
		return p
	}
	for _, d := range c.Descendants {
		if p := d.Property(name); p != nil {
			return p
		}
	}
	return nil
}

func unknownAttribute(c *engine.Class, name string) error {
	var names []string
	for _, p := range c.Properties {
		names = append(names, p.Name)
	}
	e := invalid("class %s has no attribute %s, expected %s", c.FullName, engine.Quote(name), jsonfile.Choice(name, names))
	e.Class, e.Attribute = c.FullName, name
	return e
}

// pathToLoad returns the part of the path that must be loaded. This is often not the whole path, because a reference
// contains the key of its target. For example, if code is the key of a town, the town need not be loaded for
// $town.code.
func (p *path) pathToLoad() []*engine.Property {
	if n := len(p.props); n > 1 && keyOf(p.props[n-2], p.names[n-1]) && p.props[n-1].Target == nil && p.system == "" && !p.display {
		return p.props[:n-2]
	}
	return p.props
}

// keyOf reports whether ref is a stored reference and name is the only key attribute of its target class.
func keyOf(ref *engine.Property, name string) bool {
	if ref == nil || ref.Type != engine.Reference || ref.Target == nil || ref.Back != nil {
		return false
	}
	key := ref.Target.KeyProperties()
	return len(key) == 1 && key[0].Name == name
}

func (p *path) eval(e *env, it *engine.Item) (any, error) {
	if it == nil {
		return nil, nil
	}
	w := walk{path: p, env: e, many: p.many}
	if err := w.followFrom(it, 0); err != nil {
		return nil, err
	}
	switch {
	case w.many && w.list == nil:
		return []any{}, nil
	case w.many:
		return w.list, nil
	case len(w.list) == 0:
		return nil, nil
	}
	return w.list[0], nil
}

// walk is one evaluation of a path. It collects the values to which the path leads.
type walk struct {
	path *path
	env  *env
	many bool
	list []any
}

func (w *walk) emit(v any) {
	if list, ok := v.([]any); ok && w.many {
		w.list = append(w.list, list...)
		return
	}
	w.list = append(w.list, v)
}

func (w *walk) followFrom(it *engine.Item, i int) error {
	if err := w.env.countStep(); err != nil {
		return err
	}
	p := w.path
	if i == len(p.names) {
		w.emit(envelope[p.system](it))
		return nil
	}
	own := it.Class.Property(p.names[i])
	last := i == len(p.names)-1
	switch {
	case own == nil:
		if f := envelope[p.names[i]]; f != nil && last {
			w.emit(f(it))
			return nil
		}
		w.emit(nil)
		return nil
	case last && p.system == "":
		return w.emitValue(it, own)
	}
	link := it.Link(own)
	switch {
	case own.Type == engine.Collection:
		w.many = true
		for _, element := range link.Items {
			if err := w.followFrom(element, i+1); err != nil {
				return err
			}
		}
	case link.Item != nil:
		return w.followFrom(link.Item, i+1)
	case !last && i+2 == len(p.names) && p.system == "" && keyOf(own, p.names[i+1]):
		w.emit(formulaValue(it.Values[own.Index]))
	default:
		w.emit(nil)
	}
	return nil
}

// emitValue adds the value of property own of an item to the collected values.
func (w *walk) emitValue(it *engine.Item, own *engine.Property) error {
	switch {
	case own.Type == engine.Password:
		w.emit(nil)
	case own.Type == engine.Collection:
		w.many = true
		for _, element := range it.Link(own).Items {
			if err := w.env.countStep(); err != nil {
				return err
			}
			if w.path.display {
				w.emit(element.String())
			} else {
				w.emit(element)
			}
		}
	case w.path.display:
		w.emit(it.Display(own))
	case own.Target != nil && it.Link(own).Item != nil:
		w.emit(it.Link(own).Item)
	case own.Index < len(it.Values):
		w.emit(formulaValue(it.Values[own.Index]))
	default:
		w.emit(nil)
	}
	return nil
}
