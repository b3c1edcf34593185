package engine

import (
	"regexp"
	"strings"
	"time"
)

// Limits of a filter, against input that costs more than it says.
const (
	maxFilterDepth = 32
	maxFilterNodes = 1000
	maxFilterList  = 1000
	maxPattern     = 1000 // bytes of a regular expression
)

// ParseFilter reads a condition in either filter language, mixed at will:
// function style {"eq":["$name",1]} and Mongo style {"name":{"$eq":1}}. A key
// that names a function and holds an array is function style; keys that begin
// with $ are Mongo operators; any other key must be a property. Several keys
// are joined by and. Literals are cast to the property's type. now stands for
// "now" in date literals. The error is Invalid.
func ParseFilter(c *Class, v any, now time.Time) (*Filter, error) {
	if v == nil {
		return nil, nil
	}
	p := filterParser{class: c, now: now}
	return p.condition(v, 0)
}

type filterParser struct {
	class *Class
	now   time.Time
	nodes int
}

func badFilter(format string, args ...any) error {
	return Errorf(Invalid, "filter", format, args...)
}

func (p *filterParser) condition(v any, depth int) (*Filter, error) {
	fields, ok := v.(Fields)
	if !ok {
		return nil, badFilter(`a filter is an object such as {"eq":["$name","x"]} or {"name":{"$eq":"x"}}, found %s`, describe(v))
	}
	if depth > maxFilterDepth {
		return nil, badFilter("the filter is nested deeper than %d levels", maxFilterDepth)
	}
	if len(fields) == 0 && depth > 0 {
		return nil, badFilter("an empty condition inside a filter matches nothing and everything: leave it out")
	}
	var all []*Filter
	for _, f := range fields {
		if p.nodes++; p.nodes > maxFilterNodes {
			return nil, badFilter("the filter has more than %d conditions", maxFilterNodes)
		}
		one, err := p.member(f, depth)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return And(all...), nil
}

// member reads one key of a condition object.
func (p *filterParser) member(f Field, depth int) (*Filter, error) {
	args, isArray := f.Value.([]any)
	if isArray && isFunction(f.Name) {
		return p.function(f.Name, args, depth)
	}
	switch f.Name {
	case "$and", "$or", "$nor":
		if !isArray {
			return nil, badFilter("%s takes an array of conditions", f.Name)
		}
		op := map[string]Op{"$and": OpAnd, "$or": OpOr, "$nor": OpNot}[f.Name]
		return p.logic(op, args, depth)
	}
	if strings.HasPrefix(f.Name, "$") {
		return nil, badFilter("unknown operator %s", Quote(f.Name))
	}
	property, err := p.property(f.Name)
	if err != nil {
		if isArray {
			return nil, badFilter("unknown operator %s", Quote(f.Name))
		}
		return nil, err
	}
	if ops, ok := f.Value.(Fields); ok {
		return p.operators(property, ops, depth)
	}
	return compare(OpEq, property, f.Value)
}

func (p *filterParser) property(name string) (*Property, error) {
	property := p.class.Property(name)
	if property == nil {
		return nil, unknownAttribute(p.class, name)
	}
	return property, filterable(property)
}

func (p *filterParser) logic(op Op, args []any, depth int) (*Filter, error) {
	if len(args) == 0 {
		return nil, badFilter("%s takes at least one condition", op)
	}
	f := &Filter{Op: op}
	for _, a := range args {
		arg, err := p.condition(a, depth+1)
		if err != nil {
			return nil, err
		}
		f.Args = append(f.Args, arg)
	}
	return f, nil
}

func isFunction(name string) bool {
	switch Op(name) {
	case OpAnd, OpOr, OpNot, OpEq, OpNe, OpLt, OpLte, OpGt, OpGte, OpIn, OpEmpty, "like", "nempty":
		return true
	}
	return false
}

// function reads {"op":[args]}.
func (p *filterParser) function(name string, args []any, depth int) (*Filter, error) {
	switch op := Op(name); op {
	case OpAnd, OpOr, OpNot:
		return p.logic(op, args, depth)
	case OpEmpty, "nempty":
		if len(args) != 1 {
			return nil, badFilter("%s takes one attribute", name)
		}
		property, err := p.operandProperty(args[0])
		if err != nil {
			return nil, err
		}
		if property == nil {
			return nil, badFilter(`%s takes an attribute written "$name", found %s`, name, describe(args[0]))
		}
		f := &Filter{Op: OpEmpty, Property: property}
		if name == "nempty" {
			f = &Filter{Op: OpNot, Args: []*Filter{f}}
		}
		return f, nil
	}
	if len(args) != 2 {
		return nil, badFilter("%s takes two arguments, found %d", name, len(args))
	}
	return p.binary(name, args[0], args[1])
}

// operandProperty returns the property that an argument names as "$name", nil
// when it is a literal.
func (p *filterParser) operandProperty(v any) (*Property, error) {
	s, ok := v.(string)
	if !ok || len(s) < 2 || s[0] != '$' {
		return nil, nil
	}
	return p.property(s[1:])
}

var flipped = map[Op]Op{OpEq: OpEq, OpNe: OpNe, OpLt: OpGt, OpLte: OpGte, OpGt: OpLt, OpGte: OpLte}

func (p *filterParser) binary(name string, a, b any) (*Filter, error) {
	left, err := p.operandProperty(a)
	if err != nil {
		return nil, err
	}
	right, err := p.operandProperty(b)
	if err != nil {
		return nil, err
	}
	op := Op(name)
	if left == nil && right != nil && flipped[op] != "" {
		left, right, a, b, op = right, nil, b, a, flipped[op]
	}
	switch {
	case left == nil:
		return p.constant(op, a, b)
	case right != nil:
		return compareProperties(op, left, right)
	case name == "like":
		return matchFilter(left, "(?i)", b)
	case op == OpIn:
		return p.list(left, b)
	}
	value, err := p.literal(b)
	if err != nil {
		return nil, err
	}
	return compare(op, left, value)
}

// constant compares two literals, as the ancestor does when a $ is forgotten.
// Only equality can be told; everything else finds nothing.
func (p *filterParser) constant(op Op, a, b any) (*Filter, error) {
	if op != OpEq && op != OpNe {
		return Never(), nil
	}
	a, err := p.literal(a)
	if err != nil {
		return nil, err
	}
	if b, err = p.literal(b); err != nil {
		return nil, err
	}
	same := string(AppendValue(nil, a)) == string(AppendValue(nil, b))
	return &Filter{Op: OpConst, Value: same == (op == OpEq)}, nil
}

func compareProperties(op Op, left, right *Property) (*Filter, error) {
	if flipped[op] == "" {
		return nil, badFilter("%s takes a value on its right, found attribute %s", op, Quote(right.Name))
	}
	numeric := func(p *Property) bool { return p.Type == Int || p.Type == Real }
	if left.Type != right.Type && !(left.Type.Textual() && right.Type.Textual()) && !(numeric(left) && numeric(right)) {
		return nil, badFilter("attributes %s (%s) and %s (%s) cannot be compared", Quote(left.Name), left.Type, Quote(right.Name), right.Type)
	}
	return &Filter{Op: op, Property: left, Other: right}, nil
}

// literal resolves {"date":["2020-01-01"]} and {"now":[]} to instants.
func (p *filterParser) literal(v any) (any, error) {
	f, ok := v.(Fields)
	if !ok {
		return v, nil
	}
	if len(f) == 1 {
		args, isArray := f[0].Value.([]any)
		switch {
		case f[0].Name == "now" && isArray && len(args) == 0,
			f[0].Name == "date" && isArray && len(args) == 0:
			return InstantOf(p.now), nil
		case f[0].Name == "date" && isArray && len(args) == 1:
			if args[0] == "today" {
				return InstantOf(p.now.UTC().Truncate(24 * time.Hour)), nil
			}
			if i, ok := castInstant(args[0]); ok {
				return i, nil
			}
			return nil, badFilter("date takes an ISO 8601 date or date-time, found %s", describe(args[0]))
		}
	}
	return nil, badFilter("found an object where a value was expected; the functions known here are date and now")
}

func (p *filterParser) list(property *Property, v any) (*Filter, error) {
	values, ok := v.([]any)
	if !ok {
		return nil, badFilter(`in takes an attribute and an array, {"in":["$name",["a","b"]]}, found %s`, describe(v))
	}
	if len(values) > maxFilterList {
		return nil, badFilter("a list in a filter has at most %d values, found %d", maxFilterList, len(values))
	}
	resolved := make([]any, len(values))
	for i := range values {
		var err error
		if resolved[i], err = p.literal(values[i]); err != nil {
			return nil, err
		}
	}
	return AnyOf(property, resolved)
}

func matchFilter(p *Property, flags string, v any) (*Filter, error) {
	pattern, ok := v.(string)
	if !ok {
		return nil, badFilter("a regular expression is text, found %s", describe(v))
	}
	if !p.Type.Textual() {
		return nil, badFilter("attribute %s is no text (%s): it cannot be matched by a regular expression", Quote(p.Name), p.Type)
	}
	if len(pattern) > maxPattern {
		return nil, badFilter("a regular expression has at most %d bytes", maxPattern)
	}
	if _, err := regexp.Compile(flags + pattern); err != nil {
		return nil, badFilter("regular expression %s is not in RE2 syntax", Quote(pattern))
	}
	// What one of the databases could not do, none does.
	if _, err := TranslateRegexp(flags + pattern); err != nil {
		return nil, err
	}
	return &Filter{Op: OpMatch, Property: p, Pattern: flags + pattern}, nil
}

var mongoCompare = map[string]Op{"$eq": OpEq, "$ne": OpNe, "$lt": OpLt, "$lte": OpLte, "$gt": OpGt, "$gte": OpGte}

// operators reads {"$gt":1,"$lt":5}, the Mongo-style conditions on a property.
func (p *filterParser) operators(property *Property, ops Fields, depth int) (*Filter, error) {
	if depth > maxFilterDepth {
		return nil, badFilter("the filter is nested deeper than %d levels", maxFilterDepth)
	}
	if len(ops) == 0 {
		return nil, badFilter("attribute %s has an empty condition", Quote(property.Name))
	}
	var all []*Filter
	for _, o := range ops {
		if p.nodes++; p.nodes > maxFilterNodes {
			return nil, badFilter("the filter has more than %d conditions", maxFilterNodes)
		}
		if o.Name == "$options" {
			if _, ok := ops.Get("$regex"); !ok {
				return nil, badFilter("$options goes with $regex")
			}
			continue
		}
		f, err := p.operator(property, o, ops, depth)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return And(all...), nil
}

func (p *filterParser) operator(property *Property, o Field, ops Fields, depth int) (*Filter, error) {
	if op, ok := mongoCompare[o.Name]; ok {
		value, err := p.literal(o.Value)
		if err != nil {
			return nil, err
		}
		return compare(op, property, value)
	}
	switch o.Name {
	case "$in":
		return p.list(property, o.Value)
	case "$nin":
		return negated(p.list(property, o.Value))
	case "$exists":
		exists, ok := o.Value.(bool)
		if !ok {
			return nil, badFilter("$exists takes true or false, found %s", describe(o.Value))
		}
		op := OpEq
		if exists {
			op = OpNe
		}
		return &Filter{Op: op, Property: property}, nil
	case "$regex":
		flags, err := regexFlags(ops)
		if err != nil {
			return nil, err
		}
		return matchFilter(property, flags, o.Value)
	case "$not":
		inner, ok := o.Value.(Fields)
		if !ok {
			return nil, badFilter("$not takes an object of operators, found %s", describe(o.Value))
		}
		return negated(p.operators(property, inner, depth+1))
	}
	return nil, badFilter("unknown operator %s", Quote(o.Name))
}

func negated(f *Filter, err error) (*Filter, error) {
	if err != nil {
		return nil, err
	}
	return &Filter{Op: OpNot, Args: []*Filter{f}}, nil
}

// regexFlags turns $options into RE2 flags.
func regexFlags(ops Fields) (string, error) {
	v, ok := ops.Get("$options")
	if !ok || v == "" {
		return "", nil
	}
	s, ok := v.(string)
	if !ok || strings.Trim(s, "ims") != "" {
		return "", badFilter("$options takes the letters i, m and s, found %s", describe(v))
	}
	return "(?" + s + ")", nil
}
