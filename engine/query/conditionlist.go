package query

import (
	"slices"
	"strings"

	"restsrv/engine"
)

// conditionOps are the operations of a condition list that have a property. The index is the number of the operation.
var conditionOps = []string{"eq", "ne", "empty", "nempty", "like", "lt", "gt", "lte", "gte", "in", "contains"}

// expressionOps are the operations that return a value instead of a condition. They have no property. Their numbers
// begin with 8.
var expressionOps = []string{"date", "dateAdd", "dateDiff", "add", "sub", "mul", "div", "mod", "round", "concat", "substr",
	"abs", "format", "year", "month", "day", "hour", "minute", "second"}

// listParser parses lists of conditions in the form of class files.
type listParser struct{ conditionParser }

// conditionList parses the filters of class files and views. They are lists of conditions {"property", "operation",
// "value", "nestedConditions"}, all of which must be true:
//   - If a condition has a property, its operation is one of conditionOps.
//   - If it has no property, the operation joins the nested conditions: 0 is and, 1 is or, 2 is not.
//   - An element that is itself a list is a nested list of conditions.
//
// Values are cast. $$now and $$today mean the time. In IONDV, $attribute means an attribute of the object that a form
// shows. Here it is allowed only if this object is the item itself (see ParseOwnFilter) or the owner of a collection
// (see ParseMemberFilter).
func (p listParser) conditionList(list []any, depth int) (*engine.Filter, error) {
	if len(list) == 0 && depth > 0 {
		return nil, badFilter("an empty list of conditions inside a filter matches nothing and everything: leave it out")
	}
	var all []*engine.Filter
	for _, v := range list {
		if err := p.countNode(depth); err != nil {
			return nil, err
		}
		if nested, ok := v.([]any); ok {
			if len(nested) > 0 {
				f, err := p.conditionList(nested, depth+1)
				if err != nil {
					return nil, err
				}
				all = append(all, f)
			}
			continue
		}
		c, err := p.readCondition(v)
		if err != nil {
			return nil, err
		}
		f, err := p.parseListed(c, depth)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return engine.And(all...), nil
}

// listedCondition is one element of a condition list.
type listedCondition struct {
	property  string
	operation int64
	values    []any
	nested    []any
	plain     engine.Fields // a condition in function style; used if there is no operation
}

func (p listParser) readCondition(v any) (c listedCondition, err error) {
	fields, ok := v.(engine.Fields)
	if !ok {
		return c, badFilter("a condition in a list is an object with property, operation and value, found %s", engine.DescribeValue(v))
	}
	if _, ok := fields.Get("operation"); !ok {
		return listedCondition{plain: fields}, nil
	}
	for _, f := range fields {
		ok := true
		switch f.Name {
		case "property":
			c.property, ok = f.Value.(string)
			ok = ok || f.Value == nil
		case "operation":
			c.operation, ok = engine.CastInt(f.Value)
		case "value":
			if c.values, ok = f.Value.([]any); !ok && f.Value != nil {
				c.values = []any{f.Value}
			}
			ok = true
		case "nestedConditions":
			c.nested, ok = f.Value.([]any)
			ok = ok || f.Value == nil
		case "title":
		default:
			if p.missing != nil {
				continue // ignored, because class files may have further members
			}
			return c, badFilter("unknown member %s of a condition: known are property, operation, value and nestedConditions", engine.Quote(f.Name))
		}
		if !ok {
			return c, badFilter("%s of a condition cannot be %s", f.Name, engine.DescribeValue(f.Value))
		}
	}
	return c, nil
}

func (p listParser) parseListed(c listedCondition, depth int) (*engine.Filter, error) {
	if c.plain != nil {
		return p.parseCondition(c.plain, depth+1)
	}
	if c.property == "" {
		if c.operation < 0 || c.operation > 2 {
			return nil, badFilter("operation %d of a condition without a property makes a value: it cannot stand alone", c.operation)
		}
		if len(c.nested) == 0 {
			return nil, badFilter("operation %d joins nestedConditions, of which there are none", c.operation)
		}
		f := &engine.Filter{Op: []engine.Op{engine.OpAnd, engine.OpOr, engine.OpNot}[c.operation]}
		p.unset = p.unset != (f.Op == engine.OpNot)
		for _, n := range c.nested {
			arg, err := p.conditionList([]any{n}, depth+1)
			if err != nil {
				return nil, err
			}
			f.Args = append(f.Args, arg)
		}
		return f, nil
	}
	if c.operation < 0 || c.operation >= int64(len(conditionOps)) {
		return nil, badFilter("unknown operation %d of a condition on %s", c.operation, engine.Quote(c.property))
	}
	o, err := p.listedProperty(c.property)
	if err != nil {
		return nil, err
	}
	return p.listedOn(o, conditionOps[c.operation], c, depth)
}

// listedOn returns the filter for condition c. o is the property of c, and name is the name of its operation.
func (p listParser) listedOn(o operand, name string, c listedCondition, depth int) (*engine.Filter, error) {
	switch name {
	case "empty", "nempty":
		if o.missing {
			return always(name == "empty"), nil
		}
		return negatedIf(name == "nempty", &engine.Filter{Op: engine.OpEmpty, Left: o.expr}), nil
	case "contains":
		if !o.missing && o.expr.Type == engine.Collection && len(c.nested) > 0 {
			inner, err := listParser{p.forClass(p.class.TargetOf(o.expr.Path[len(o.expr.Path)-1]))}.conditionList(c.nested, depth+1)
			if err != nil {
				return nil, err
			}
			return &engine.Filter{Op: engine.OpContains, Left: o.expr, Args: []*engine.Filter{inner}}, nil
		}
	}
	if name == "contains" && p.missing != nil && !o.missing && !o.canContain() {
		return nil, badFilter("contains takes a collection, a set or a text, found %s", describeOperand(o))
	}
	right, err := p.listedValues(c, depth)
	if err != nil {
		return nil, err
	}
	if p.missing != nil && len(right) == 0 && name != "in" {
		right = []operand{{}} // a missing value counts as null
	}
	if slices.ContainsFunc(right, operand.isOwned) {
		return p.deferCondition(o, name, right)
	}
	return p.compareListed(o, name, right)
}

// compareListed returns the filter that compares property o with the operands right by the
// operation name.
func (p listParser) compareListed(o operand, name string, right []operand) (*engine.Filter, error) {
	if slices.ContainsFunc(right, operand.isUnset) {
		if right = slices.DeleteFunc(right, operand.isUnset); p.unset || len(right) == 0 || name != "in" {
			return always(p.unset), nil
		}
	}
	if o.missing {
		return compareMissing(name, right)
	}
	if name == "in" || name == "contains" && !o.expr.Type.Textual() {
		return p.listedIn(o, right)
	}
	if p.missing != nil && len(right) > 1 && (name == "eq" || name == "ne") {
		f, err := p.listedIn(o, right)
		return negatedIf(name == "ne", f), err
	}
	if len(right) != 1 {
		return nil, badFilter("operation %s on %s takes one value, found %d", name, describeOperand(o), len(right))
	}
	switch {
	case name == "like" || name == "contains":
		if p.missing != nil && right[0].expr == nil && right[0].literal == nil {
			return engine.Never(), nil
		}
		return p.matchFilter(o, "(?i)", right[0])
	case right[0].expr != nil:
		return compareExprs(engine.Op(name), o, right[0])
	}
	return compareValue(engine.Op(name), o, right[0].literal)
}

func (p listParser) listedIn(o operand, right []operand) (*engine.Filter, error) {
	var values []any
	for _, r := range right {
		if r.expr != nil {
			return nil, badFilter("a list takes values, found %s", describeOperand(r))
		}
		if nested, ok := r.literal.([]any); ok {
			values = append(values, nested...)
			continue
		}
		values = append(values, r.literal)
	}
	if t := o.expr.Type; t.JSON() && t != engine.Set {
		return nil, badFilter("%s cannot be looked up in a list", describeOperand(o))
	}
	return p.parseList(o, values)
}

// listedValues returns the values of a condition, followed by the values of its nested
// conditions.
func (p listParser) listedValues(c listedCondition, depth int) ([]operand, error) {
	var all []operand
	for _, v := range c.values {
		o, err := p.listedValue(v)
		if err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	for _, n := range c.nested {
		v, err := p.listedExpr(n, depth+1)
		if err != nil {
			return nil, err
		}
		o, err := p.parseOperand(v, depth+1)
		if err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
}

// accountFields are the variables of every account. They are written with $$, whereas properties are written with $.
var accountFields = []string{"uid", "id", "name"}

// accountVariable returns the value of a variable of the account. If the account does not have the variable, the
// operand is unset.
func (p listParser) accountVariable(name string) operand {
	v, ok := p.variable(name)
	return operand{literal: v, unset: !ok}
}

// isUnset reports whether the operand is a variable that the account does not have.
func (o operand) isUnset() bool { return o.unset }

// hasPath reports whether the class has the first attribute of a path.
func hasPath(c *engine.Class, path string) bool {
	first, _, _ := strings.Cut(path, ".")
	_, err := findPath(c, first)
	return err == nil
}

func (p listParser) listedValue(v any) (operand, error) {
	s, ok := v.(string)
	switch {
	case s == "$$now" || s == "$$today":
		return p.parseOperand(s, 0)
	case strings.HasPrefix(s, "$$") && p.variable != nil:
		return p.accountVariable(s[2:]), nil
	case ok && len(s) > 1 && s[0] == '$' && p.variable != nil && !slices.Contains(accountFields, s[1:]) && !hasPath(p.own, s[1:]):
		return p.accountVariable(s[1:]), nil
	case ok && len(s) > 1 && s[0] == '$' && p.own == p.class:
		return findPath(p.class, s[1:])
	case ok && len(s) > 1 && s[0] == '$' && p.owner != nil:
		return p.ofOwner(s[1:])
	case ok && len(s) > 1 && s[0] == '$':
		return operand{}, badFilter("%s stands for a value of another object, which a filter cannot know", engine.Quote(s))
	}
	if _, ok := v.(engine.Fields); ok {
		return operand{}, badFilter("a value of a condition is plain, found an object")
	}
	return operand{literal: v}, nil
}

// listedExpr converts v, a nested condition that returns a value, to function style.
func (p listParser) listedExpr(v any, depth int) (any, error) {
	if err := p.countNode(depth); err != nil {
		return nil, err
	}
	c, err := p.readCondition(v)
	if err != nil {
		return nil, err
	}
	if c.property != "" && c.plain == nil {
		if name, ok := strings.CutPrefix(c.property, "$"); ok && p.owner != nil {
			return ownerValue(name), nil
		}
		return "$" + c.property, nil
	}
	at := c.operation - 8
	if c.plain != nil || at < 0 || at >= int64(len(expressionOps)) {
		return nil, badFilter("operation %d makes no value here", c.operation)
	}
	args := append([]any(nil), c.values...)
	for i, a := range args {
		s, ok := a.(string)
		if variable := ok && len(s) > 1 && s[0] == '$' && s != "$$now" && s != "$$today"; variable && p.owner != nil {
			args[i] = ownerValue(s[1:])
			continue
		} else if variable && p.own != p.class && (p.variable == nil || s[1] != '$') {
			return nil, badFilter("%s stands for a value of another object, which a filter cannot know", engine.Quote(s))
		}
		if _, ok := a.(engine.Fields); ok {
			return nil, badFilter("a value of a condition is plain, found an object")
		}
		args[i] = a
	}
	for _, n := range c.nested {
		arg, err := p.listedExpr(n, depth+1)
		if err != nil {
			return nil, err
		}
		args = append(args, arg)
	}
	return engine.Fields{{Name: expressionOps[at], Value: args}}, nil
}
