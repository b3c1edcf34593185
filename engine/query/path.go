package query

import (
	"strings"

	"restsrv/engine"
)

// maxPath is the maximum number of names in a path of a filter or a sort.
const maxPath = 8

// findPath resolves a dotted path of a filter. The path consists of names of references and collections, followed by
// an attribute. Instead of the attribute, it can end with _id or _class (__class): the id or class of the item to
// which the references and collections lead. The error is Invalid.
func findPath(c *engine.Class, dotted string) (operand, error) {
	names := strings.Split(dotted, ".")
	if len(names) > maxPath {
		return operand{}, badFilter("path %s has more than %d names", engine.Quote(dotted), maxPath)
	}
	var path []*engine.Property
	for i := 0; i < len(names); i++ {
		name := names[i]
		last := i == len(names)-1
		p := c.Property(name)
		for p == nil && i+1 < len(names) { // if a is a struct, the name of a.b is a$b
			i++
			name += "$" + names[i]
			p, last = c.Property(name), i == len(names)-1
		}
		if p == nil && last {
			return findSystem(c, path, name, names[len(names)-1])
		}
		if p != nil && p.Nowhere && (!last || p.Formula != nil) {
			return operand{expr: engine.Constant(engine.String, nil)}, nil
		}
		if err := checkFilterable(p); err != nil {
			return operand{}, err
		}
		path = append(path, p)
		if last {
			break
		}
		if p.Target == nil {
			return operand{}, badFilter("path %s: attribute %s of class %s is no reference and no collection (%s)", engine.Quote(dotted), engine.Quote(p.Name), c.FullName, p.Type)
		}
		c = c.TargetOf(p)
	}
	return operand{expr: engine.Attribute(path...)}, nil
}

// findSystem resolves the end of a path that is not a property. whole is the name that findPath has looked up, and
// name is the last part of whole.
func findSystem(c *engine.Class, path []*engine.Property, whole, name string) (operand, error) {
	if whole != name {
		return operand{}, engine.UnknownAttribute(c, strings.SplitN(whole, "$", 2)[0])
	}
	switch name {
	case "_class", "__class":
		return operand{expr: engine.Attribute(append(path, engine.ClassName)...)}, nil
	case "_id":
		key := c.KeyProperties()
		if len(key) != 1 {
			return operand{expr: engine.Attribute(append(path, engine.ItemID)...), id: c}, nil
		}
		if err := checkFilterable(key[0]); err != nil {
			return operand{}, err
		}
		return operand{expr: engine.Attribute(append(path, key[0])...), id: c}, nil
	}
	return operand{}, engine.UnknownAttribute(c, name)
}
