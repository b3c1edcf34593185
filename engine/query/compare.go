package query

import "restsrv/engine"

func always(value bool) *engine.Filter { return &engine.Filter{Op: engine.OpConst, Value: value} }

// Equal returns a filter for items in which property p has the value. The value is cast to the type of p. For a set or
// a collection, the filter matches items that contain the value. The error is Invalid.
func Equal(p *engine.Property, value any) (*engine.Filter, error) {
	if err := checkFilterable(p); err != nil {
		return nil, err
	}
	return compareValue(engine.OpEq, operand{expr: engine.Attribute(p)}, value)
}

// AnyOf returns a filter for items in which property p has one of the values. The values are cast to the type of p.
func AnyOf(p *engine.Property, values []any) (*engine.Filter, error) {
	if err := checkFilterable(p); err != nil {
		return nil, err
	}
	return anyOf(operand{expr: engine.Attribute(p)}, values)
}

// checkFilterable refuses attributes that conditions and sort orders cannot use:
//   - passwords, because a client could guess them with conditions
//   - attributes that are not stored
//   - structs
func checkFilterable(p *engine.Property) error {
	var e *engine.Error
	switch {
	case p.Type == engine.Password:
		e = engine.Errorf(engine.Invalid, "password", "attribute %s is a password: it can be neither filtered nor sorted by", engine.Quote(p.Name))
	case p.Formula != nil && !p.Cached:
		e = engine.Errorf(engine.Invalid, "calculated", "attribute %s is calculated when it is read: it can be neither filtered nor sorted by (unless its class says that it is cached)", engine.Quote(p.Name))
	case p.Type == engine.Struct:
		e = engine.Errorf(engine.Invalid, "filter", "attribute %s is a struct: name one of its attributes", engine.Quote(p.Name))
	default:
		return nil
	}
	e.Attribute = p.Name
	return e
}

// operand is an argument of a condition or a function: an expression, or a literal. A literal is cast to the type of
// the operand with which it is compared.
type operand struct {
	expr    *engine.Expr
	literal any
	id      *engine.Class // not nil if expr is the id of items of this class
	missing bool          // expr names an attribute that does not exist, and counts as null
	unset   bool          // the operand is a variable that the account does not have
}

// isReference reports whether the operand is a reference.
func (o operand) isReference() bool {
	return o.expr.Op == engine.OpPath && o.expr.Path[len(o.expr.Path)-1].Type == engine.Reference
}

// describeOperand describes an operand for a message.
func describeOperand(o operand) string {
	switch {
	case o.expr == nil:
		return engine.DescribeValue(o.literal)
	case o.expr.Op == engine.OpPath:
		last := o.expr.Path[len(o.expr.Path)-1]
		return "attribute " + engine.Quote(last.Name) + " (" + last.Type.String() + ")"
	}
	return string(o.expr.Op) + " (" + o.expr.Type.String() + ")"
}

// cast converts the literal v to the type of o. ok is false if o can never have this value.
func (o operand) cast(v any) (value any, ok bool, err error) {
	if _, isObject := v.(engine.Fields); isObject && !o.expr.Type.JSON() {
		return nil, false, badFilter("%s is compared with an object; a function has one name and an array, such as {\"date\":[\"2020-01-01\"]}", describeOperand(o))
	}
	if o.id != nil && v != nil {
		id, isText := engine.CastText(v)
		if !isText {
			return nil, false, badFilter("an id is text, found %s", engine.DescribeValue(v))
		}
		key, known := o.id.KeyValues(id)
		if !known || len(key) > 1 {
			return id, known, nil
		}
		return key[0], true, nil
	}
	typed := engine.Property{Name: string(o.expr.Op), Type: o.expr.Type}
	if o.expr.Op == engine.OpPath {
		typed = *o.expr.Path[len(o.expr.Path)-1]
		typed.Type = o.expr.Type
	}
	value, err = typed.Cast(v)
	if err != nil && o.expr.Op != engine.OpPath {
		err = badFilter("%s is compared with %s: it takes %s", describeOperand(o), engine.DescribeValue(v), typed.DescribeExpected())
	}
	return value, err == nil, err
}

// compareValue returns a filter that compares an operand with a literal. If items can never have this value, for
// example an id of another form, eq matches no item, ne matches all items, and other comparisons are refused.
func compareValue(op engine.Op, left operand, v any) (*engine.Filter, error) {
	t := left.expr.Type
	equality := op == engine.OpEq || op == engine.OpNe
	switch {
	case v == nil && !equality:
		return engine.Never(), nil
	case v == nil && t == engine.Collection:
		return negatedIf(op == engine.OpNe, &engine.Filter{Op: engine.OpEmpty, Left: left.expr}), nil
	case v == nil:
		return &engine.Filter{Op: op, Left: left.expr, Right: engine.Constant(t, nil)}, nil
	case !equality && (t.JSON() || t == engine.Collection):
		return nil, badFilter("%s has no order: it cannot be compared by %s", describeOperand(left), op)
	case t == engine.Collection || t == engine.Set && !isArray(v):
		f, err := anyOf(left, []any{v})
		return negatedIf(op == engine.OpNe, f), err
	}
	value, ok, err := left.cast(v)
	if err != nil {
		return nil, err
	}
	if !ok && equality {
		return always(op == engine.OpNe), nil
	}
	if !ok {
		return nil, badFilter("no object can have the id %s", engine.DescribeValue(v))
	}
	return &engine.Filter{Op: op, Left: left.expr, Right: engine.Constant(t, value)}, nil
}

func isArray(v any) bool {
	_, ok := v.([]any)
	return ok
}

func negatedIf(negated bool, f *engine.Filter) *engine.Filter {
	if negated {
		return engine.Not(f)
	}
	return f
}

// anyOf returns a filter for items in which left has one of the values.
func anyOf(left operand, values []any) (*engine.Filter, error) {
	if left.expr.Type == engine.Collection {
		return memberOf(left.expr, values)
	}
	list := make([]any, 0, len(values))
	null := false
	for _, v := range values {
		if v == nil {
			null = true
			continue
		}
		if left.expr.Type == engine.Set {
			member, err := setMember(left.expr, v)
			if err != nil {
				return nil, err
			}
			list = append(list, member)
			continue
		}
		value, ok, err := left.cast(v)
		if err != nil {
			return nil, err
		}
		if ok {
			list = append(list, value)
		}
	}
	op := engine.OpIn
	if left.expr.Type == engine.Set {
		op = engine.OpHas
	}
	f := &engine.Filter{Op: op, Left: left.expr, List: list}
	if null {
		return &engine.Filter{Op: engine.OpOr, Args: []*engine.Filter{f, {Op: engine.OpEq, Left: left.expr, Right: engine.Constant(left.expr.Type, nil)}}}, nil
	}
	return f, nil
}

// setMember converts a literal to the form in which a set stores it as an element.
func setMember(set *engine.Expr, v any) (any, error) {
	if isArray(v) {
		return nil, badFilter("%s holds plain values, found an array", describeOperand(operand{expr: set}))
	}
	kept, err := set.Path[len(set.Path)-1].Cast([]any{v})
	if err != nil {
		return nil, err
	}
	elements, ok := decodeList(kept)
	if !ok || len(elements) != 1 {
		return nil, badFilter("%s cannot hold %s", describeOperand(operand{expr: set}), engine.DescribeValue(v))
	}
	return elements[0], nil
}

// memberOf returns a filter for items whose collection has a member with one of
// the ids.
func memberOf(collection *engine.Expr, ids []any) (*engine.Filter, error) {
	target := collection.Path[len(collection.Path)-1].Target
	id, err := findPath(target, "_id")
	if err != nil {
		return nil, err
	}
	f, err := anyOf(id, ids)
	if err != nil {
		return nil, err
	}
	return &engine.Filter{Op: engine.OpContains, Left: collection, Args: []*engine.Filter{f}}, nil
}
