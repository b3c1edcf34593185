package query

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"restsrv/engine"
	"restsrv/engine/suggest"
)

// Limits of a filter. They refuse input with a cost that is much greater than the size of the input suggests.
const (
	maxFilterDepth = 32
	maxFilterNodes = 1000
	maxFilterList  = 1000
	maxArguments   = 50   // arguments of one function
	maxPattern     = 1000 // bytes of a regular expression
	maxPatterns    = 32   // number of regular expressions in a filter: each of them reads the whole text
)

// ParseFilter parses a condition. There are three forms, which can be mixed:
//   - function style: {"eq":["$name",1]}
//   - Mongo style: {"name":{"$eq":1}}
//   - a list of conditions as in class files (see conditionList)
//
// The keys of an object are joined by and. A key that names a condition and holds an array is function style. A key
// that begins with $ is a Mongo operator. Any other key must be a path.
//
// A literal is cast to the type of the value with which it is compared. now is the value of "now" and "today"; if it
// is zero, they mean the time of each query. The error is Invalid.
func ParseFilter(c *engine.Class, v any, now time.Time) (*engine.Filter, error) {
	return parser{class: c, now: now, nodes: new(int), patterns: new(int)}.parse(v)
}

// ParseOwnFilter parses a condition like ParseFilter. It is for files with a condition on the item itself, such as a
// workflow. In a list of conditions, a value $attribute means an attribute of the same item. "now" means the time of
// each query.
func ParseOwnFilter(c *engine.Class, v any) (*engine.Filter, error) {
	return parser{class: c, own: c, nodes: new(int), patterns: new(int)}.parse(v)
}

// ParseAccountFilter parses a condition like ParseOwnFilter. The condition may also contain variables of an account:
// $$name is the value that the function variable returns for the name. In a list of conditions, $name is also a
// variable if the class has no attribute with this name.
//
// If the account does not have the variable, the result depends on the form. In function style, the error is Invalid.
// In a list of conditions, a comparison with the variable is replaced by the constant unset, or by its opposite if the
// comparison is negated. So where the comparison decides, unset is the result of the whole condition. Pass false for
// conditions that permit something, and true for conditions that restrict something.
func ParseAccountFilter(c *engine.Class, v any, variable func(name string) (value any, ok bool), unset bool) (*engine.Filter, error) {
	return parser{class: c, own: c, variable: variable, unset: unset, nodes: new(int), patterns: new(int)}.parse(v)
}

// ParseMemberFilter parses the conditions with which a class file selects the members of a collection. owner is the
// class that has the collection, and c is the class of the members. In a list of conditions, $name means an attribute
// of the owner; the filter is then Owned. Attributes that do not exist or cannot be compared count as null. missing
// lists the errors about such attributes.
func ParseMemberFilter(c, owner *engine.Class, v any) (f *engine.Filter, missing []error, err error) {
	p := parser{class: c, owner: owner, missing: &missing, nodes: new(int), patterns: new(int)}
	f, err = p.parse(v)
	return f, missing, err
}

// parse parses a filter: a list of conditions if v is an array, otherwise a single condition.
func (p parser) parse(v any) (*engine.Filter, error) {
	if v == nil {
		return nil, nil
	}
	conditions := conditionParser{functionParser{operandParser{p}}}
	if list, ok := v.([]any); ok {
		return listParser{conditions}.conditionList(list, 0)
	}
	return conditions.parseCondition(v, 0)
}

// parser is the state of parsing a filter or an aggregation. The grammar has four parts: operands, functions of
// operands, conditions, and lists of conditions. Each part has a parser type that embeds the type of the previous
// part.
type parser struct {
	class *engine.Class
	own   *engine.Class // class of the item to which $attribute refers in lists of conditions; nil if $attribute is not allowed
	owner *engine.Class // class of the owner to which $attribute refers instead (see ParseMemberFilter)
	now   time.Time
	nodes *int // number of conditions and functions so far

	missing *[]error // collects the errors about attributes that do not exist, which then count as null; if nil, such attributes are refused

	patterns *int // number of regular expressions so far

	variable func(name string) (value any, ok bool) // returns the value of $$name; nil if there are no variables
	unset    bool                                   // result of a comparison with a variable that the account does not have
}

// conditionParser parses conditions in function style and in Mongo style.
type conditionParser struct{ functionParser }

// forClass returns a parser for conditions on items of another class in the same filter.
func (p conditionParser) forClass(c *engine.Class) conditionParser {
	p.class = c
	return p
}

func badFilter(format string, args ...any) error {
	return engine.Errorf(engine.Invalid, "filter", format, args...)
}

// countNode counts a condition or a function. If the filter exceeds a limit, the error is Invalid.
func (p parser) countNode(depth int) error {
	if depth > maxFilterDepth {
		return badFilter("the filter is nested deeper than %d levels", maxFilterDepth)
	}
	if *p.nodes++; *p.nodes > maxFilterNodes {
		return badFilter("the filter has more than %d conditions and functions", maxFilterNodes)
	}
	return nil
}

func (p conditionParser) parseCondition(v any, depth int) (*engine.Filter, error) {
	fields, ok := v.(engine.Fields)
	if !ok {
		return nil, badFilter(`a filter is an object such as {"eq":["$name","x"]} or {"name":{"$eq":"x"}}, found %s`, engine.DescribeValue(v))
	}
	if len(fields) == 0 && depth > 0 {
		return nil, badFilter("an empty condition inside a filter matches nothing and everything: leave it out")
	}
	var all []*engine.Filter
	for _, f := range fields {
		if err := p.countNode(depth); err != nil {
			return nil, err
		}
		one, err := p.parseMember(f, depth)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return engine.And(all...), nil
}

// parseMember reads one key of a condition object.
func (p conditionParser) parseMember(f engine.Field, depth int) (*engine.Filter, error) {
	args, isArray := f.Value.([]any)
	if isArray && isCondition(f.Name) {
		return p.parseFunction(f.Name, args, depth)
	}
	switch f.Name {
	case "$and", "$or", "$nor":
		if !isArray {
			return nil, badFilter("%s takes an array of conditions", f.Name)
		}
		op := map[string]engine.Op{"$and": engine.OpAnd, "$or": engine.OpOr, "$nor": engine.OpNot}[f.Name]
		return p.parseLogic(op, args, depth)
	case "$not":
		inner, err := p.parseCondition(f.Value, depth+1)
		if err != nil {
			return nil, err
		}
		return engine.Not(inner), nil
	}
	if strings.HasPrefix(f.Name, "$") {
		return nil, unknownOperator(f.Name, logicNames)
	}
	o, err := findPath(p.class, f.Name)
	if err != nil {
		if isArray && !strings.Contains(f.Name, ".") {
			return nil, p.notCondition(f.Name)
		}
		if isCondition(f.Name) {
			return nil, badFilter("%s takes an array of arguments, found %s, and class %s has no attribute of that name", f.Name, engine.DescribeValue(f.Value), p.class.FullName)
		}
		return nil, err
	}
	if ops, ok := f.Value.(engine.Fields); ok {
		return p.parseOperators(o, ops, depth)
	}
	return compareValue(engine.OpEq, o, f.Value)
}

// notCondition returns the error for a key that holds an array but is not the name of a condition.
func (p conditionParser) notCondition(name string) error {
	switch {
	case isFunction(name):
		return badFilter("%s is no condition: compare what it makes with something, such as {\"eq\":[{%q:[..]}, ..]}", name, name)
	case isAggregate(name):
		return badFilter("%s is for aggregations and no condition", name)
	}
	return unknownOperator(name, conditionNames)
}

func (p conditionParser) parseLogic(op engine.Op, args []any, depth int) (*engine.Filter, error) {
	if len(args) == 0 {
		return nil, badFilter("%s takes at least one condition", op)
	}
	f := &engine.Filter{Op: op}
	for _, a := range args {
		arg, err := p.parseCondition(a, depth+1)
		if err != nil {
			return nil, err
		}
		f.Args = append(f.Args, arg)
	}
	return f, nil
}

// conditionNames are the functions that are conditions, and logicNames the operators that
// combine conditions in the style of Mongo.
var (
	conditionNames = []string{
		string(engine.OpAnd), string(engine.OpOr), string(engine.OpNot), string(engine.OpEq), string(engine.OpNe), string(engine.OpLt), string(engine.OpLte), string(engine.OpGt), string(engine.OpGte),
		string(engine.OpIn), string(engine.OpEmpty), string(engine.OpContains), string(engine.OpSearch), "like", "nempty", "geoWithin", "geoIntersects",
	}
	logicNames = []string{"$and", "$or", "$nor", "$not"}
)

// isCondition reports whether name is the name of a condition in function style.
func isCondition(name string) bool { return slices.Contains(conditionNames, name) }

// unknownOperator returns the error for an operator that does not exist. It may suggest any operator, because
// operators are not secret.
func unknownOperator(name string, known []string) error {
	return badFilter("unknown operator %s%s", engine.Quote(name), suggest.DidYouMean(name, known))
}

// parseFunction reads {"op":[args]}.
func (p conditionParser) parseFunction(name string, args []any, depth int) (*engine.Filter, error) {
	switch op := engine.Op(name); op {
	case engine.OpAnd, engine.OpOr, engine.OpNot:
		return p.parseLogic(op, args, depth)
	case engine.OpEmpty, "nempty":
		return p.parseEmpty(name, args, depth)
	case engine.OpSearch:
		words, ok := "", len(args) == 1
		if ok {
			words, ok = args[0].(string)
		}
		if !ok {
			return nil, badFilter(`match takes the words to search for, {"match":["some words"]}`)
		}
		return searchFilter(words), nil
	case "geoWithin", "geoIntersects":
		return nil, badFilter("%s is not supported: conditions on places cannot be told the same way on every database", name)
	case engine.OpIn:
		if len(args) > 2 {
			args = []any{args[0], args[1:]}
		}
	}
	if len(args) != 2 {
		return nil, badFilter("%s takes two arguments, found %d", name, len(args))
	}
	return p.parseBinary(name, args[0], args[1], depth)
}

func (p conditionParser) parseEmpty(name string, args []any, depth int) (*engine.Filter, error) {
	if len(args) != 1 {
		return nil, badFilter("%s takes one attribute", name)
	}
	o, err := p.parseOperand(args[0], depth)
	if err != nil {
		return nil, err
	}
	if o.missing {
		return always(name == "empty"), nil
	}
	if o.expr == nil {
		return nil, badFilter(`%s takes an attribute written "$name", found %s`, name, engine.DescribeValue(args[0]))
	}
	return negatedIf(name == "nempty", &engine.Filter{Op: engine.OpEmpty, Left: o.expr}), nil
}

var flipped = map[engine.Op]engine.Op{engine.OpEq: engine.OpEq, engine.OpNe: engine.OpNe, engine.OpLt: engine.OpGt, engine.OpLte: engine.OpGte, engine.OpGt: engine.OpLt, engine.OpGte: engine.OpLte}

func (p conditionParser) parseBinary(name string, a, b any, depth int) (*engine.Filter, error) {
	left, err := p.parseOperand(a, depth)
	if err != nil {
		return nil, err
	}
	op := engine.Op(name)
	if left.missing && (op == engine.OpContains || name == "like") {
		return engine.Never(), nil
	}
	switch op {
	case engine.OpContains:
		return p.parseContains(left, b, depth)
	case engine.OpIn:
		return p.parseList(left, b)
	}
	right, err := p.parseOperand(b, depth)
	if err != nil {
		return nil, err
	}
	if name == "like" {
		return p.matchFilter(left, "(?i)", right)
	}
	if left.expr == nil && right.expr != nil {
		left, right, op = right, left, flipped[op]
	}
	switch {
	case left.expr == nil:
		return compareConstants(op, left.literal, right.literal), nil
	case right.expr == nil:
		return compareValue(op, left, right.literal)
	}
	return compareExprs(op, left, right)
}

// compareConstants compares two literals. A client sends such a condition if it forgets the $ of an attribute, as in
// {"eq":["name",1]}, and IONDV does not refuse it. Only comparisons for equality have a result. Any other comparison
// matches no item.
func compareConstants(op engine.Op, a, b any) *engine.Filter {
	if op != engine.OpEq && op != engine.OpNe {
		return engine.Never()
	}
	same := string(engine.AppendValue(nil, a)) == string(engine.AppendValue(nil, b))
	return always(same == (op == engine.OpEq))
}

func compareExprs(op engine.Op, left, right operand) (*engine.Filter, error) {
	a, b, ok := makeComparable(left.expr, right.expr)
	if !ok || a.Type.JSON() && op != engine.OpEq && op != engine.OpNe {
		return nil, badFilter("%s and %s cannot be compared by %s", describeOperand(left), describeOperand(right), op)
	}
	return &engine.Filter{Op: op, Left: a, Right: b}, nil
}

// parseList returns the condition {"in":[left,v]}.
func (p conditionParser) parseList(left operand, v any) (*engine.Filter, error) {
	values, ok := v.([]any)
	if !ok {
		return nil, badFilter(`in takes an attribute and an array, {"in":["$name",["a","b"]]}, found %s`, engine.DescribeValue(v))
	}
	if len(values) > maxFilterList {
		return nil, badFilter("a list in a filter has at most %d values, found %d", maxFilterList, len(values))
	}
	resolved := make([]any, len(values))
	for i := range values {
		var err error
		if resolved[i], err = p.constantDate(values[i]); err != nil {
			return nil, err
		}
	}
	if left.expr == nil { // the $ was forgotten (see compareConstants)
		for _, v := range resolved {
			if compareConstants(engine.OpEq, left.literal, v).Value {
				return always(true), nil
			}
		}
		return engine.Never(), nil
	}
	return anyOf(left, resolved)
}

// parseContains parses {"contains":[a, b]}. It means, depending on a:
//   - a collection with a member that satisfies the condition b or has the id b
//   - a set with the element b
//   - a text that includes the text b
func (p conditionParser) parseContains(left operand, b any, depth int) (*engine.Filter, error) {
	if left.expr == nil {
		return nil, badFilter(`contains takes an attribute written "$name", found %s`, engine.DescribeValue(left.literal))
	}
	values, isList := b.([]any)
	if !isList {
		values = []any{b}
	}
	if len(values) > maxFilterList {
		return nil, badFilter("a list in a filter has at most %d values, found %d", maxFilterList, len(values))
	}
	switch t := left.expr.Type; {
	case t == engine.Collection:
		if sub, ok := b.(engine.Fields); ok {
			target := p.class.TargetOf(left.expr.Path[len(left.expr.Path)-1])
			inner, err := p.forClass(target).parseCondition(sub, depth+1)
			if err != nil {
				return nil, err
			}
			return &engine.Filter{Op: engine.OpContains, Left: left.expr, Args: []*engine.Filter{inner}}, nil
		}
		return memberOf(left.expr, values)
	case t == engine.Set:
		return anyOf(left, values)
	case t.Textual() && !isList && !left.isReference():
		right, err := p.parseOperand(b, depth)
		if err != nil {
			return nil, err
		}
		words, err := textArgument("contains", right)
		if err != nil {
			return nil, err
		}
		return &engine.Filter{Op: engine.OpIncludes, Left: left.expr, Right: words}, nil
	}
	return nil, badFilter("contains takes a collection, a set or a text and what to look for in it, found %s and %s", describeOperand(left), engine.DescribeValue(b))
}

// matchFilter returns the condition that a text matches a regular expression. The flags are those of RE2. The error is
// Invalid if one of the databases cannot use the expression.
func (p conditionParser) matchFilter(left operand, flags string, right operand) (*engine.Filter, error) {
	if left.expr == nil && right.expr == nil {
		return engine.Never(), nil // the $ was forgotten (see compareConstants)
	}
	pattern, ok := right.literal.(string)
	if !ok || right.expr != nil {
		return nil, badFilter("a regular expression is text, found %s", describeOperand(right))
	}
	if left.expr == nil || !left.expr.Type.Textual() {
		return nil, badFilter("%s is no text: it cannot be matched by a regular expression", describeOperand(left))
	}
	if *p.patterns++; *p.patterns > maxPatterns {
		return nil, badFilter("the filter has more than %d regular expressions", maxPatterns)
	}
	if len(pattern) > maxPattern {
		return nil, badFilter("a regular expression has at most %d bytes", maxPattern)
	}
	if _, err := regexp.Compile(flags + pattern); err != nil {
		return nil, badFilter("regular expression %s is not in RE2 syntax", engine.Quote(pattern))
	}
	// Refuse a pattern that one of the databases cannot match, so that all databases accept the same patterns.
	if _, err := TranslateRegexp(flags + pattern); err != nil {
		return nil, err
	}
	return &engine.Filter{Op: engine.OpLike, Left: left.expr, Pattern: flags + pattern}, nil
}
