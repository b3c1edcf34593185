package engine

// Op is an operator of a filter or an expression. Operators of the
// function-style filter language have the name that they have there.
type Op string

// The operators of filters. A condition is either true or false, even for null:
// eq null matches null, ne is the negation of eq, and comparisons of order with
// null are false. A condition on a path through a collection is true if it is
// true for any member. Paths that begin with the same collection refer to the
// same member.
const (
	OpAnd      Op = "and" // all Args are true
	OpOr       Op = "or"  // any of Args is true
	OpNot      Op = "not" // all Args are false
	OpEq       Op = "eq"  // compares Left with Right, as the next five do; null is equal to null
	OpNe       Op = "ne"
	OpLt       Op = "lt"
	OpLte      Op = "lte"
	OpGt       Op = "gt"
	OpGte      Op = "gte"
	OpIn       Op = "in"       // List contains Left
	OpHas      Op = "has"      // Left, a set, contains an element of List, which is decoded JSON
	OpLike     Op = "like"     // Pattern, an RE2 expression, matches a part of Left
	OpIncludes Op = "includes" // Left contains the text of Right; letter case does not matter
	OpContains Op = "contains" // Left, a collection, has a member that matches Args[0], or any member without Args
	OpEmpty    Op = "empty"    // Left is null, "" or a set without elements
	OpSearch   Op = "match"    // a search for the words of Pattern finds the item, as with Query.Search
	OpReached  Op = "reached"  // the item is in one of the states of List in the workflow Pattern; only for Staged classes
	OpConst    Op = "const"    // Value for every item
	OpOwner    Op = "owner"    // a condition with values of the owner of a collection; see Filter.ForOwner
)

// Filter is a condition on an item. It has been checked against its class: every
// property exists, and every value has the type of its property.
type Filter struct {
	Op          Op
	Args        []*Filter
	Left, Right *Expr
	List        []any
	Pattern     string
	Value       bool

	owned *ownedCondition // for OpOwner
}

// And joins conditions and ignores nil. It returns nil if there are no
// conditions.
func And(filters ...*Filter) *Filter {
	var args []*Filter
	for _, f := range filters {
		if f != nil {
			args = append(args, f)
		}
	}
	if len(args) < 2 {
		if len(args) == 0 {
			return nil
		}
		return args[0]
	}
	return &Filter{Op: OpAnd, Args: args}
}

// Not returns a filter that matches an item if none of the filters matches it.
func Not(filters ...*Filter) *Filter { return &Filter{Op: OpNot, Args: filters} }

// Never returns the filter that does not match any item.
func Never() *Filter { return &Filter{Op: OpConst} }

// Never reports whether the filter cannot match any item, as far as that is
// known without reading data.
func (f *Filter) Never() bool { return f != nil && f.Op == OpConst && !f.Value }

// Always reports whether the filter, such as nil, matches every item, as far as
// that is known without reading data.
func (f *Filter) Always() bool { return f == nil || f.Op == OpConst && f.Value }

// Either returns a filter that is true if any of the conditions is true, and
// Never if there are no conditions. It omits conditions that are known to be
// false.
func Either(conditions ...*Filter) *Filter {
	var args []*Filter
	for _, f := range conditions {
		switch {
		case f.Always():
			return nil
		case !f.Never():
			args = append(args, f)
		}
	}
	switch len(args) {
	case 0:
		return Never()
	case 1:
		return args[0]
	}
	return &Filter{Op: OpOr, Args: args}
}

// Both returns a filter that is true if all conditions are true. It omits
// conditions that are known to be true.
func Both(conditions ...*Filter) *Filter {
	var args []*Filter
	for _, f := range conditions {
		switch {
		case f.Never():
			return f
		case !f.Always():
			args = append(args, f)
		}
	}
	return And(args...)
}

func always(value bool) *Filter { return &Filter{Op: OpConst, Value: value} }

// Equal returns a filter for items with the value in the property, cast to its
// type. For a set or a collection, it matches items that contain the value. The
// error is Invalid.
func Equal(p *Property, value any) (*Filter, error) {
	if err := checkFilterable(p); err != nil {
		return nil, err
	}
	return compareValue(OpEq, operand{expr: Attribute(p)}, value)
}

// AnyOf returns a filter for items with one of the values in the property, cast to
// its type.
func AnyOf(p *Property, values []any) (*Filter, error) {
	if err := checkFilterable(p); err != nil {
		return nil, err
	}
	return anyOf(operand{expr: Attribute(p)}, values)
}

// checkFilterable refuses conditions on attributes that are not stored, and
// conditions that would allow a client to guess values it cannot read.
func checkFilterable(p *Property) error {
	var e *Error
	switch {
	case p.Type == Password:
		e = Errorf(Invalid, "password", "attribute %s is a password: it can be neither filtered nor sorted by", Quote(p.Name))
	case p.Formula != nil && !p.Cached:
		e = Errorf(Invalid, "calculated", "attribute %s is calculated when it is read: it can be neither filtered nor sorted by (unless its class says that it is cached)", Quote(p.Name))
	case p.Type == Struct:
		e = Errorf(Invalid, "filter", "attribute %s is a struct: name one of its attributes", Quote(p.Name))
	default:
		return nil
	}
	e.Attribute = p.Name
	return e
}

func unknownAttribute(c *Class, name string) *Error {
	e := Errorf(Invalid, "unknown-attribute", "class %s has no attribute %s", c.FullName, Quote(name))
	e.Class, e.Attribute = c.FullName, name
	return e
}

// operand is an argument of a condition or a function: an expression, or a
// literal that has no type yet.
type operand struct {
	expr    *Expr
	literal any
	id      *Class // set if expr is the id of items of this class
	missing bool   // the attribute does not exist and counts as null
	unset   bool   // a variable that the account lacks
}

// isReference reports whether the operand is a reference.
func (o operand) isReference() bool {
	return o.expr.Op == OpPath && o.expr.Path[len(o.expr.Path)-1].Type == Reference
}

// describeOperand describes an operand for a message.
func describeOperand(o operand) string {
	switch {
	case o.expr == nil:
		return describeValue(o.literal)
	case o.expr.Op == OpPath:
		last := o.expr.Path[len(o.expr.Path)-1]
		return "attribute " + Quote(last.Name) + " (" + last.Type.String() + ")"
	}
	return string(o.expr.Op) + " (" + o.expr.Type.String() + ")"
}

// cast converts a literal to the type of o. ok is false if o can never have the
// value.
func (o operand) cast(v any) (value any, ok bool, err error) {
	if _, isObject := v.(Fields); isObject && !o.expr.Type.JSON() {
		return nil, false, badFilter("%s is compared with an object; a function has one name and an array, such as {\"date\":[\"2020-01-01\"]}", describeOperand(o))
	}
	if o.id != nil && v != nil {
		id, isText := castText(v)
		if !isText {
			return nil, false, badFilter("an id is text, found %s", describeValue(v))
		}
		key, known := o.id.KeyValues(id)
		if !known || len(key) > 1 {
			return id, known, nil
		}
		return key[0], true, nil
	}
	typed := Property{Name: string(o.expr.Op), Type: o.expr.Type}
	if o.expr.Op == OpPath {
		typed = *o.expr.Path[len(o.expr.Path)-1]
		typed.Type = o.expr.Type
	}
	value, err = typed.Cast(v)
	if err != nil && o.expr.Op != OpPath {
		err = badFilter("%s is compared with %s: it takes %s", describeOperand(o), describeValue(v), typed.describeExpected())
	}
	return value, err == nil, err
}

// compareValue compares an operand with a literal.
func compareValue(op Op, left operand, v any) (*Filter, error) {
	t := left.expr.Type
	equality := op == OpEq || op == OpNe
	switch {
	case v == nil && !equality:
		return Never(), nil
	case v == nil && t == Collection:
		return negatedIf(op == OpNe, &Filter{Op: OpEmpty, Left: left.expr}), nil
	case v == nil:
		return &Filter{Op: op, Left: left.expr, Right: Constant(t, nil)}, nil
	case !equality && (t.JSON() || t == Collection):
		return nil, badFilter("%s has no order: it cannot be compared by %s", describeOperand(left), op)
	case t == Collection || t == Set && !isArray(v):
		f, err := anyOf(left, []any{v})
		return negatedIf(op == OpNe, f), err
	}
	value, ok, err := left.cast(v)
	if err != nil {
		return nil, err
	}
	if !ok && equality {
		return always(op == OpNe), nil
	}
	if !ok {
		return nil, badFilter("no object can have the id %s", describeValue(v))
	}
	return &Filter{Op: op, Left: left.expr, Right: Constant(t, value)}, nil
}

func isArray(v any) bool {
	_, ok := v.([]any)
	return ok
}

func negatedIf(negated bool, f *Filter) *Filter {
	if negated {
		return Not(f)
	}
	return f
}

// anyOf returns a filter for items with one of the values as operand.
func anyOf(left operand, values []any) (*Filter, error) {
	if left.expr.Type == Collection {
		return memberOf(left.expr, values)
	}
	list := make([]any, 0, len(values))
	null := false
	for _, v := range values {
		if v == nil {
			null = true
			continue
		}
		if left.expr.Type == Set {
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
	op := OpIn
	if left.expr.Type == Set {
		op = OpHas
	}
	f := &Filter{Op: op, Left: left.expr, List: list}
	if null {
		return &Filter{Op: OpOr, Args: []*Filter{f, {Op: OpEq, Left: left.expr, Right: Constant(left.expr.Type, nil)}}}, nil
	}
	return f, nil
}

// setMember returns the element of a set that a literal stands for, in the form
// in which the set is stored.
func setMember(set *Expr, v any) (any, error) {
	if isArray(v) {
		return nil, badFilter("%s holds plain values, found an array", describeOperand(operand{expr: set}))
	}
	kept, err := set.Path[len(set.Path)-1].Cast([]any{v})
	if err != nil {
		return nil, err
	}
	elements, ok := decodeList(kept)
	if !ok || len(elements) != 1 {
		return nil, badFilter("%s cannot hold %s", describeOperand(operand{expr: set}), describeValue(v))
	}
	return elements[0], nil
}

// memberOf returns a filter for items whose collection has a member with one of
// the ids.
func memberOf(collection *Expr, ids []any) (*Filter, error) {
	target := collection.Path[len(collection.Path)-1].Target
	id, err := target.find("_id")
	if err != nil {
		return nil, err
	}
	f, err := anyOf(id, ids)
	if err != nil {
		return nil, err
	}
	return &Filter{Op: OpContains, Left: collection, Args: []*Filter{f}}, nil
}
