package query

import (
	"maps"
	"slices"
	"strings"

	"restsrv/engine"
)

// valueOperators are the operators on the value of an attribute.
var valueOperators = append(slices.Sorted(maps.Keys(mongoCompare)), "$in", "$nin", "$exists", "$regex", "$options", "$not")

var mongoCompare = map[string]engine.Op{"$eq": engine.OpEq, "$ne": engine.OpNe, "$lt": engine.OpLt, "$lte": engine.OpLte, "$gt": engine.OpGt, "$gte": engine.OpGte}

// parseOperators parses conditions in Mongo style on the operand o, such as {"$gt":1,"$lt":5}.
func (p conditionParser) parseOperators(o operand, ops engine.Fields, depth int) (*engine.Filter, error) {
	if len(ops) == 0 {
		return nil, badFilter("%s has an empty condition", describeOperand(o))
	}
	var all []*engine.Filter
	for _, op := range ops {
		if err := p.countNode(depth); err != nil {
			return nil, err
		}
		if op.Name == "$options" {
			if _, ok := ops.Get("$regex"); !ok {
				return nil, badFilter("$options goes with $regex")
			}
			continue
		}
		f, err := p.parseOperator(o, op, ops, depth)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return engine.And(all...), nil
}

func (p conditionParser) parseOperator(o operand, op engine.Field, ops engine.Fields, depth int) (*engine.Filter, error) {
	if compare, ok := mongoCompare[op.Name]; ok {
		return p.mongoValue(compare, o, op.Value, depth)
	}
	switch op.Name {
	case "$in":
		return p.parseList(o, op.Value)
	case "$nin":
		return negated(p.parseList(o, op.Value))
	case "$exists":
		exists, ok := op.Value.(bool)
		if !ok {
			return nil, badFilter("$exists takes true or false, found %s", engine.DescribeValue(op.Value))
		}
		if exists {
			return compareValue(engine.OpNe, o, nil)
		}
		return compareValue(engine.OpEq, o, nil)
	case "$regex":
		flags, err := regexFlags(ops)
		if err != nil {
			return nil, err
		}
		return p.matchFilter(o, flags, operand{literal: op.Value})
	case "$not":
		inner, ok := op.Value.(engine.Fields)
		if !ok {
			return nil, badFilter("$not takes an object of operators, found %s", engine.DescribeValue(op.Value))
		}
		return negated(p.parseOperators(o, inner, depth+1))
	}
	return nil, unknownOperator(op.Name, valueOperators)
}

// mongoValue compares an operand with a value in a condition in Mongo style. In this style, a text such as "$name" is
// never a path. An object is a function such as {"date":["today"]}.
func (p conditionParser) mongoValue(op engine.Op, o operand, v any, depth int) (*engine.Filter, error) {
	if _, isObject := v.(engine.Fields); isObject && !o.expr.Type.JSON() {
		right, err := p.parseOperand(v, depth)
		if err != nil {
			return nil, err
		}
		if right.expr != nil {
			return compareExprs(op, o, right)
		}
		v = right.literal
	}
	return compareValue(op, o, v)
}

func negated(f *engine.Filter, err error) (*engine.Filter, error) {
	if err != nil {
		return nil, err
	}
	return engine.Not(f), nil
}

// regexFlags converts $options to RE2 flags.
func regexFlags(ops engine.Fields) (string, error) {
	v, ok := ops.Get("$options")
	if !ok || v == "" {
		return "", nil
	}
	s, ok := v.(string)
	if !ok || strings.Trim(s, "ims") != "" {
		return "", badFilter("$options takes the letters i, m and s, found %s", engine.DescribeValue(v))
	}
	return "(?" + s + ")", nil
}
