package query

import (
	"slices"
	"strings"

	"restsrv/engine"
)

// ownerValue is the name of an attribute of the owner of a collection. Parsers pass it as an argument of a function.
type ownerValue string

// ownedCondition is a condition of a class file that compares a property of the members of a collection with
// attributes of the owner. When the owner is known, the values of these attributes are cast to the type of the
// property.
type ownedCondition struct {
	left  operand
	name  string // name of an operation in a list of conditions
	right []operand
}

// findAttribute resolves a dotted path. If p.missing is not nil, an attribute that does not exist counts as null.
func (p operandParser) findAttribute(c *engine.Class, dotted string) (operand, error) {
	o, err := findPath(c, dotted)
	if err != nil && p.missing != nil {
		return p.noteMissing(err), nil
	}
	return o, err
}

// noteMissing adds err, the error for an attribute that does not exist, to p.missing. It does not add the same error
// twice. It returns null, because the attribute counts as null.
func (p operandParser) noteMissing(err error) operand {
	known := func(e error) bool { return e.Error() == err.Error() }
	if !slices.ContainsFunc(*p.missing, known) {
		*p.missing = append(*p.missing, err)
	}
	return operand{missing: true}
}

// ofOwner returns the value of an attribute of the owner.
func (p operandParser) ofOwner(name string) (operand, error) {
	o, err := findPath(p.owner, name)
	if err != nil {
		return p.noteMissing(err), nil
	}
	if path := o.expr.Path; len(path) > 1 || !path[0].Stored() || path[0] == engine.ItemID || path[0] == engine.ClassName {
		return p.noteMissing(badFilter("%s is no attribute of class %s that has a value of its own", engine.Quote(name), p.owner.FullName)), nil
	}
	e := *o.expr
	e.Op = engine.OpOwner
	return operand{expr: &e}, nil
}

// listedProperty returns the property of a condition in a list.
func (p listParser) listedProperty(name string) (operand, error) {
	if own, ok := strings.CutPrefix(name, "$"); ok && p.owner != nil {
		return p.ofOwner(own)
	} else if ok && p.own == p.class {
		return p.findAttribute(p.class, own) // such as $__class
	}
	return p.findAttribute(p.class, name)
}

// canContain reports whether the operand can be the first argument of contains.
func (o operand) canContain() bool {
	t := o.expr.Type
	return t == engine.Collection || t == engine.Set || t.Textual() && !(o.expr.Op == engine.OpPath && o.isReference())
}

// isOwned reports whether an operand is a value of the owner itself.
func (o operand) isOwned() bool { return o.expr != nil && o.expr.Op == engine.OpOwner }

// deferCondition returns a condition that is only completed when the owner is known.
func (p listParser) deferCondition(o operand, name string, right []operand) (*engine.Filter, error) {
	values := &engine.Expr{Op: engine.OpOwner, Type: engine.String}
	for _, r := range right {
		if r.expr != nil {
			values.Args = append(values.Args, r.expr)
		}
	}
	return &engine.Filter{Op: engine.OpOwner, Left: o.expr, Right: values, Deferred: &ownedCondition{o, name, right}}, nil
}

// compareMissing compares an attribute that does not exist, and so counts as null, with values.
func compareMissing(name string, right []operand) (*engine.Filter, error) {
	switch op := engine.Op(name); {
	case op == engine.OpIn:
		null := slices.ContainsFunc(right, func(o operand) bool { return o.expr == nil && o.literal == nil })
		return always(null), nil
	case len(right) != 1 || op != engine.OpEq && op != engine.OpNe:
		return engine.Never(), nil
	case right[0].expr != nil:
		return compareValue(op, right[0], nil)
	default:
		return always((right[0].literal == nil) == (op == engine.OpEq)), nil
	}
}

// ForOwner implements engine.OwnerCondition.
func (c *ownedCondition) ForOwner(it *engine.Item) *engine.Filter {
	left := c.left
	left.expr = left.expr.ForOwner(it)
	right := make([]operand, 0, len(c.right))
	for _, r := range c.right {
		if !r.isOwned() {
			right = append(right, operand{expr: r.expr.ForOwner(it), literal: r.literal})
			continue
		}
		v := it.OwnerValue(r.expr.Path[0])
		if list, ok := elementsOf(v); ok && (c.name == "in" || c.name == "eq" || c.name == "ne") && left.expr != nil && left.expr.Type != engine.Set {
			for _, element := range list {
				right = append(right, literalOperand(element))
			}
			continue
		}
		right = append(right, literalOperand(v))
	}
	state := parser{missing: new([]error), nodes: new(int), patterns: new(int)}
	p := listParser{conditionParser{functionParser{operandParser{state}}}}
	f, err := p.compareListed(left, c.name, right)
	if err != nil {
		return always(c.name == "ne")
	}
	return f
}

// literalOperand converts a value of an item to a literal. JSON that is not a plain value is converted to text,
// because otherwise it could be taken for a function.
func literalOperand(v any) operand {
	switch v.(type) {
	case []any, engine.Fields, engine.JSONText:
		return operand{literal: string(engine.AppendValue(nil, v))}
	}
	return operand{literal: v}
}

// elementsOf returns the elements of a set.
func elementsOf(v any) ([]any, bool) {
	text, ok := v.(engine.JSONText)
	if !ok {
		return nil, false
	}
	list, ok := text.Decode().([]any)
	return list, ok
}
