package engine

import "strings"

var mongoCompare = map[string]Op{"$eq": OpEq, "$ne": OpNe, "$lt": OpLt, "$lte": OpLte, "$gt": OpGt, "$gte": OpGte}

// parseOperators reads Mongo-style conditions on a path, such as {"$gt":1,"$lt":5}.
func (p filterParser) parseOperators(o operand, ops Fields, depth int) (*Filter, error) {
	if len(ops) == 0 {
		return nil, badFilter("%s has an empty condition", describeOperand(o))
	}
	var all []*Filter
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
	return And(all...), nil
}

func (p filterParser) parseOperator(o operand, op Field, ops Fields, depth int) (*Filter, error) {
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
			return nil, badFilter("$exists takes true or false, found %s", describeValue(op.Value))
		}
		if exists {
			return compareValue(OpNe, o, nil)
		}
		return compareValue(OpEq, o, nil)
	case "$regex":
		flags, err := regexFlags(ops)
		if err != nil {
			return nil, err
		}
		return p.matchFilter(o, flags, operand{literal: op.Value})
	case "$not":
		inner, ok := op.Value.(Fields)
		if !ok {
			return nil, badFilter("$not takes an object of operators, found %s", describeValue(op.Value))
		}
		return negated(p.parseOperators(o, inner, depth+1))
	}
	return nil, badFilter("unknown operator %s", Quote(op.Name))
}

// mongoValue compares an operand with a value. Text is never a path here, and
// an object is a function such as {"date":["today"]}.
func (p filterParser) mongoValue(op Op, o operand, v any, depth int) (*Filter, error) {
	if _, isObject := v.(Fields); isObject && !o.expr.Type.JSON() {
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

func negated(f *Filter, err error) (*Filter, error) {
	if err != nil {
		return nil, err
	}
	return Not(f), nil
}

// regexFlags converts $options to RE2 flags.
func regexFlags(ops Fields) (string, error) {
	v, ok := ops.Get("$options")
	if !ok || v == "" {
		return "", nil
	}
	s, ok := v.(string)
	if !ok || strings.Trim(s, "ims") != "" {
		return "", badFilter("$options takes the letters i, m and s, found %s", describeValue(v))
	}
	return "(?" + s + ")", nil
}
