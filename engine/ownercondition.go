package engine

import (
	"slices"
	"strings"
)

// ownerValue is an argument of a function: the name of an attribute of the owner of a
// collection.
type ownerValue string

// ownedCondition compares a property with values of the owner. When the values are known,
// they are cast to the type of the property.
type ownedCondition struct {
	left  operand
	name  string // name of an operation in a list of conditions
	right []operand
}

// findAttribute is Class.find, except that an attribute that does not exist may count as null.
func (p filterParser) findAttribute(c *Class, dotted string) (operand, error) {
	o, err := c.find(dotted)
	if err != nil && p.missing != nil {
		return p.noteMissing(err), nil
	}
	return o, err
}

// noteMissing records that an attribute does not exist.
func (p filterParser) noteMissing(err error) operand {
	known := func(e error) bool { return e.Error() == err.Error() }
	if !slices.ContainsFunc(*p.missing, known) {
		*p.missing = append(*p.missing, err)
	}
	return operand{missing: true}
}

// ofOwner returns the value of an attribute of the owner.
func (p filterParser) ofOwner(name string) (operand, error) {
	o, err := p.owner.find(name)
	if err != nil {
		return p.noteMissing(err), nil
	}
	if path := o.expr.Path; len(path) > 1 || !path[0].Stored() || path[0] == ItemID || path[0] == ClassName {
		return p.noteMissing(badFilter("%s is no attribute of class %s that has a value of its own", Quote(name), p.owner.FullName)), nil
	}
	e := *o.expr
	e.Op = OpOwner
	return operand{expr: &e}, nil
}

// listedProperty returns the left side of a condition in a list.
func (p filterParser) listedProperty(name string) (operand, error) {
	if own, ok := strings.CutPrefix(name, "$"); ok && p.owner != nil {
		return p.ofOwner(own)
	} else if ok && p.own == p.class {
		return p.findAttribute(p.class, own) // such as $__class
	}
	return p.findAttribute(p.class, name)
}

// canContain reports whether an operand can be used with contains.
func (o operand) canContain() bool {
	t := o.expr.Type
	return t == Collection || t == Set || t.Textual() && !(o.expr.Op == OpPath && o.isReference())
}

// isOwned reports whether an operand is a value of the owner itself.
func (o operand) isOwned() bool { return o.expr != nil && o.expr.Op == OpOwner }

// deferCondition returns a condition that is completed when the owner is known.
func (p filterParser) deferCondition(o operand, name string, right []operand) (*Filter, error) {
	values := &Expr{Op: OpOwner, Type: String}
	for _, r := range right {
		if r.expr != nil {
			values.Args = append(values.Args, r.expr)
		}
	}
	return &Filter{Op: OpOwner, Left: o.expr, Right: values, owned: &ownedCondition{o, name, right}}, nil
}

// compareMissing compares a missing attribute, which counts as null, with values.
func compareMissing(name string, right []operand) (*Filter, error) {
	switch op := Op(name); {
	case op == OpIn:
		null := slices.ContainsFunc(right, func(o operand) bool { return o.expr == nil && o.literal == nil })
		return always(null), nil
	case len(right) != 1 || op != OpEq && op != OpNe:
		return Never(), nil
	case right[0].expr != nil:
		return compareValue(op, right[0], nil)
	default:
		return always((right[0].literal == nil) == (op == OpEq)), nil
	}
}

// Owned reports whether the filter uses values of the owner of a collection. Such a
// filter cannot be used before ForOwner.
func (f *Filter) Owned() bool {
	return f != nil && (f.Op == OpOwner || f.Left.isOwned() || f.Right.isOwned() || slices.ContainsFunc(f.Args, (*Filter).Owned))
}

func (e *Expr) isOwned() bool {
	return e != nil && (e.Op == OpOwner || slices.ContainsFunc(e.Args, (*Expr).isOwned) || slices.ContainsFunc(e.Conds, (*Filter).Owned))
}

// OwnerProperties returns the attributes of the owner that the filter uses.
func (f *Filter) OwnerProperties() []*Property {
	var all []*Property
	var filter func(f *Filter)
	var expr func(e *Expr)
	expr = func(e *Expr) {
		if e == nil {
			return
		}
		if e.Op == OpOwner && len(e.Path) > 0 && !slices.Contains(all, e.Path[0]) {
			all = append(all, e.Path[0])
		}
		for _, a := range e.Args {
			expr(a)
		}
		for _, c := range e.Conds {
			filter(c)
		}
	}
	filter = func(f *Filter) {
		if f == nil {
			return
		}
		expr(f.Left)
		expr(f.Right)
		for _, a := range f.Args {
			filter(a)
		}
	}
	filter(f)
	return all
}

// ForOwner returns the filter for the members of a collection of it. If a property cannot
// have a value, it is not equal to it.
func (f *Filter) ForOwner(it *Item) *Filter {
	if !f.Owned() {
		return f
	}
	if f.Op == OpOwner {
		return f.owned.resolveFor(it)
	}
	filled := *f
	filled.Left, filled.Right = f.Left.forOwner(it), f.Right.forOwner(it)
	filled.Args = make([]*Filter, len(f.Args))
	for i, a := range f.Args {
		filled.Args[i] = a.ForOwner(it)
	}
	return &filled
}

func (c *ownedCondition) resolveFor(it *Item) *Filter {
	left := c.left
	left.expr = left.expr.forOwner(it)
	right := make([]operand, 0, len(c.right))
	for _, r := range c.right {
		if !r.isOwned() {
			right = append(right, operand{expr: r.expr.forOwner(it), literal: r.literal})
			continue
		}
		v := it.ownerValue(r.expr.Path[0])
		if list, ok := elements(v); ok && (c.name == "in" || c.name == "eq" || c.name == "ne") && left.expr != nil && left.expr.Type != Set {
			for _, element := range list {
				right = append(right, literalOperand(element))
			}
			continue
		}
		right = append(right, literalOperand(v))
	}
	p := filterParser{missing: new([]error), nodes: new(int), patterns: new(int)}
	f, err := p.compareListed(left, c.name, right)
	if err != nil {
		return always(c.name == "ne")
	}
	return f
}

// literalOperand converts a value of an item to a literal. JSON that is not a plain value
// counts as its text, because otherwise it could be read as a function.
func literalOperand(v any) operand {
	switch v.(type) {
	case []any, Fields, JSONText:
		return operand{literal: string(AppendValue(nil, v))}
	}
	return operand{literal: v}
}

// forOwner replaces values of the owner by constants.
func (e *Expr) forOwner(it *Item) *Expr {
	if !e.isOwned() {
		return e
	}
	if e.Op == OpOwner {
		typed := *e.Path[0]
		typed.Type = e.Type
		v, err := typed.Cast(it.ownerValue(e.Path[0]))
		if err != nil {
			v = nil
		}
		return Constant(e.Type, v)
	}
	filled := *e
	filled.Args = make([]*Expr, len(e.Args))
	for i, a := range e.Args {
		filled.Args[i] = a.forOwner(it)
	}
	filled.Conds = make([]*Filter, len(e.Conds))
	for i, c := range e.Conds {
		filled.Conds[i] = c.ForOwner(it)
	}
	return &filled
}

// ownerValue returns the value of a property for an item of the class of the property or
// of a descendant.
func (it *Item) ownerValue(p *Property) any {
	own := it.Class.Property(p.Name)
	if own == nil || own.Index >= len(it.Values) {
		return nil
	}
	switch v := it.Values[own.Index].(type) {
	case nil, bool, string, int64, float64, Decimal, Instant, JSONText:
		return v
	}
	return nil
}
