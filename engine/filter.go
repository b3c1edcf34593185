package engine

// Op is an operator of a filter or an expression, spelt as in the
// function-style filter language where that has it.
type Op string

// The operators of filters. A condition either holds or does not, also of
// null: eq null finds null, ne is the opposite of eq, and no order holds with
// null. What leads through a collection holds when it holds for any member;
// names that begin with the same collection mean the same member.
const (
	OpAnd      Op = "and" // Args, all
	OpOr       Op = "or"  // Args, any
	OpNot      Op = "not" // Args, none
	OpEq       Op = "eq"  // Left against Right, so too the next five; null is equal to null
	OpNe       Op = "ne"
	OpLt       Op = "lt"
	OpLte      Op = "lte"
	OpGt       Op = "gt"
	OpGte      Op = "gte"
	OpIn       Op = "in"       // Left is one of List
	OpHas      Op = "has"      // Left, a set, has one of List, which are decoded JSON
	OpLike     Op = "like"     // Left matches Pattern, an RE2 expression, anywhere
	OpIncludes Op = "includes" // Left contains the text of Right, in any letter case
	OpContains Op = "contains" // Left, a collection, has a member that passes Args[0]; any at all without Args
	OpEmpty    Op = "empty"    // Left is null, "" or a set without elements
	OpSearch   Op = "match"    // the item is found by the words of Pattern, as Query.Search has it
	OpReached  Op = "reached"  // the item has one of the stages of List in the workflow Pattern; of classes that are Staged
	OpConst    Op = "const"    // Value, for every item
	OpOwner    Op = "owner"    // a condition with values of the owner of a collection; see Filter.ForOwner
)

// Filter is a condition on an item, already checked against its class: every
// property exists and every value has its property's type.
type Filter struct {
	Op          Op
	Args        []*Filter
	Left, Right *Expr
	List        []any
	Pattern     string
	Value       bool

	owned *ownedCondition // of OpOwner
}

// And joins conditions; nil ones are left out, none at all is nil.
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

// Not is the filter that finds what none of the others finds.
func Not(filters ...*Filter) *Filter { return &Filter{Op: OpNot, Args: filters} }

// Never is the filter that no item passes.
func Never() *Filter { return &Filter{Op: OpConst} }

// Never reports that no item passes, as far as that can be told without looking.
func (f *Filter) Never() bool { return f != nil && f.Op == OpConst && !f.Value }

// Always reports that every item passes, so too; nil is such a filter.
func (f *Filter) Always() bool { return f == nil || f.Op == OpConst && f.Value }

// Either holds when any of the conditions does; never for none. What is decided
// without looking is left out.
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

// Both holds when all of the conditions do; so too.
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

// Equal finds items whose property is the value, cast to its type; for a set
// or a collection, items that have it as a member. The error is Invalid.
func Equal(p *Property, value any) (*Filter, error) {
	if err := filterable(p); err != nil {
		return nil, err
	}
	return compareValue(OpEq, operand{expr: Attribute(p)}, value)
}

// AnyOf finds items whose property is one of the values, cast to its type.
func AnyOf(p *Property, values []any) (*Filter, error) {
	if err := filterable(p); err != nil {
		return nil, err
	}
	return anyOf(operand{expr: Attribute(p)}, values)
}

// filterable refuses conditions that would let a client guess what it may not
// read, and those on what is not stored.
func filterable(p *Property) error {
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
// literal that waits for the type to which it is cast.
type operand struct {
	expr    *Expr
	literal any
	id      *Class // when expr is the id of items of this class
	missing bool   // it is the null that an attribute counts as that does not exist
}

// reference reports whether the operand is a reference.
func (o operand) reference() bool {
	return o.expr.Op == OpPath && o.expr.Path[len(o.expr.Path)-1].Type == Reference
}

// describeOperand names an operand in a message.
func describeOperand(o operand) string {
	switch {
	case o.expr == nil:
		return describe(o.literal)
	case o.expr.Op == OpPath:
		last := o.expr.Path[len(o.expr.Path)-1]
		return "attribute " + Quote(last.Name) + " (" + last.Type.String() + ")"
	}
	return string(o.expr.Op) + " (" + o.expr.Type.String() + ")"
}

// cast makes a value of o's type of a literal. ok is false when the literal
// stands for no value that o can have.
func (o operand) cast(v any) (value any, ok bool, err error) {
	if _, isObject := v.(Fields); isObject && !o.expr.Type.JSON() {
		return nil, false, badFilter("%s is compared with an object; a function has one name and an array, such as {\"date\":[\"2020-01-01\"]}", describeOperand(o))
	}
	if o.id != nil && v != nil {
		id, isText := castText(v)
		if !isText {
			return nil, false, badFilter("an id is text, found %s", describe(v))
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
		err = badFilter("%s is compared with %s: it takes %s", describeOperand(o), describe(v), typed.expects())
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
		return nil, badFilter("no object can have the id %s", describe(v))
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

// anyOf finds items whose operand is one of the values.
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

// setMember is the element of a set that a literal stands for, as the set
// would keep it.
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
		return nil, badFilter("%s cannot hold %s", describeOperand(operand{expr: set}), describe(v))
	}
	return elements[0], nil
}

// memberOf finds items whose collection has a member with one of the ids.
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
