package formula

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
)

// node is a compiled expression.
type node struct {
	eval    func(e *env, it *engine.Item) (any, error)
	literal any    // the value of a constant
	fixed   bool   // the node is a constant
	items   *scope // scope of the items that eval returns; nil if it returns other values, or if the items are unknown
}

// scope describes the item to which "$" refers in an expression. In an argument of an aggregate, this is an element of
// the list. Elsewhere it is the item for which the formula is evaluated.
type scope struct {
	class    *engine.Class        // class of the items; nil if it is known only during evaluation
	prefixes [][]*engine.Property // paths from the formula's item to the items of the scope; empty if class is nil
}

type compiler struct {
	class   *engine.Class
	nodes   int
	needs   [][]*engine.Property
	lookups []*lookup
	missing *[]error // collects errors about attributes that do not exist; if nil, the first such error ends the compilation
	inputs  inputSet
	next    use // use of the value of the expression that is compiled next
}

// quoted is a literal in quotes, in the text form of a formula. It is never a path, even if it begins with "$".
type quoted string

func constantNode(v any) node {
	return node{literal: v, fixed: true, eval: func(*env, *engine.Item) (any, error) { return v, nil }}
}

func (b *compiler) compileExpression(source any, s scope, depth int) (node, error) {
	if b.nodes++; b.nodes > maxNodes {
		return node{}, invalid("a formula has at most %d calls, paths and literals", maxNodes)
	}
	u := b.next
	b.next = use{}
	if depth > maxDepth {
		return node{}, invalid("a formula is nested at most %d levels deep", maxDepth)
	}
	switch v := source.(type) {
	case nil, bool, int64, float64, engine.Decimal, engine.Instant:
		return constantNode(v), nil
	case quoted:
		return constantNode(string(v)), nil
	case json.Number:
		n, ok := parseNumber(string(v))
		if !ok {
			return node{}, invalid("number %s is out of range", engine.Quote(string(v)))
		}
		return constantNode(n), nil
	case string:
		if len(v) > 1 && v[0] == '$' {
			return b.compilePath(v[1:], s, u)
		}
		return constantNode(v), nil
	case []any:
		return b.compileList(v, s, depth)
	case engine.Fields:
		return b.compileCall(v, s, depth, u)
	}
	return node{}, invalid("a formula is made of JSON values")
}

func (b *compiler) compileList(source []any, s scope, depth int) (node, error) {
	args, err := b.compileExpressions(source, s, depth+1)
	if err != nil {
		return node{}, err
	}
	return node{eval: func(e *env, it *engine.Item) (any, error) {
		list, err := evalAll(args, e, it)
		return list, err
	}}, nil
}

func (b *compiler) compileExpressions(source []any, s scope, depth int) ([]node, error) {
	nodes := make([]node, len(source))
	for i, a := range source {
		var err error
		if nodes[i], err = b.compileExpression(a, s, depth); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}

// compileArguments compiles source, the arguments in a call of the function name.
func (b *compiler) compileArguments(name string, source []any, s scope, depth int) ([]node, error) {
	nodes := make([]node, len(source))
	for i, a := range source {
		var err error
		b.next = use{bare: bare[name]}
		if nodes[i], err = b.compileExpression(a, s, depth); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}

func evalAll(args []node, e *env, it *engine.Item) ([]any, error) {
	values := make([]any, len(args))
	for i, a := range args {
		var err error
		if values[i], err = a.eval(e, it); err != nil {
			return nil, err
		}
		if err := e.chargeValue(values[i]); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// callOf splits {"fn": [arguments]} into the name and the arguments. A single argument can be given without an array.
func callOf(f engine.Fields) (name string, args []any, err error) {
	if len(f) != 1 {
		return "", nil, invalid(`a call is an object with one function, such as {"add":["$a",1]}, found one with %d names`, len(f))
	}
	switch v := f[0].Value.(type) {
	case nil:
	case []any:
		args = v
	default:
		args = []any{v}
	}
	return f[0].Name, args, nil
}

func (b *compiler) compileCall(f engine.Fields, s scope, depth int, u use) (node, error) {
	name, args, err := callOf(f)
	if err != nil {
		return node{}, err
	}
	if strings.HasPrefix(name, "&") {
		return node{}, invalid("%s: a function is passed on only where one is taken: as the condition of contains and of the aggregates", engine.Quote(name))
	}
	if limits, ok := special[name]; ok {
		if err := limits.checkCount(name, len(args)); err != nil {
			return node{}, err
		}
		return b.compileSpecial(name, args, s, depth)
	}
	fn, ok := functions[name]
	if !ok {
		return node{}, unknownFunction(name)
	}
	if err := fn.checkCount(name, len(args)); err != nil {
		return node{}, err
	}
	nodes, err := b.compileArguments(name, args, s, depth+1)
	if err != nil {
		return node{}, err
	}
	if fn.verify != nil {
		if err := fn.verify(nodes); err != nil {
			return node{}, invalid("%s: %s", name, err.Error())
		}
	}
	n := plainCall(name, fn, nodes)
	if name == "get" {
		if l := b.noteGet(nodes); l != nil {
			n = l.nullIfMissing(n)
		}
		b.addGet(nodes, u)
	}
	return n, nil
}

func plainCall(name string, fn function, args []node) node {
	n := node{eval: func(e *env, it *engine.Item) (any, error) {
		values, err := evalAll(args, e, it)
		if err != nil {
			return nil, err
		}
		v, err := fn.apply(e, values)
		if err != nil {
			return nil, prefixName(name, err)
		}
		return v, nil
	}}
	switch {
	case name == "collect":
		n.items = commonItems(args)
	case name == "element" && args[0].items != nil:
		n.items = args[0].items
	}
	return n
}

// noteGet records the class and the attributes that a call of get looks up, for Check. It returns nil if the class is
// known only during evaluation.
func (b *compiler) noteGet(args []node) *lookup {
	class, ok := args[0].literal.(string)
	if !ok {
		return nil
	}
	l := &lookup{function: "get", class: class}
	for i := 1; i+1 < len(args); i += 2 {
		if name, ok := args[i].literal.(string); ok {
			l.attributes = append(l.attributes, name)
		}
	}
	b.lookups = append(b.lookups, l)
	return l
}

// addMissing records an error about an attribute that does not exist. Equal errors are recorded only once.
func (b *compiler) addMissing(err error) {
	known := func(e error) bool { return e.Error() == err.Error() }
	if !slices.ContainsFunc(*b.missing, known) {
		*b.missing = append(*b.missing, err)
	}
}

// prefixName adds the function name to the beginning of a formula error. It returns other errors unchanged.
func prefixName(name string, err error) error {
	if e, ok := err.(*engine.Error); ok && e.Code == engine.Invalid && e.Reason == "formula" {
		return invalid("%s: %s", name, e.Message)
	}
	return err
}

// commonItems returns the scope of the items that args return. It returns nil if an argument returns other values than
// items, or if the arguments return items of different classes.
func commonItems(args []node) *scope {
	var all *scope
	for _, a := range args {
		switch {
		case a.items == nil:
			return nil
		case all == nil:
			all = &scope{class: a.items.class, prefixes: slices.Clone(a.items.prefixes)}
		case all.class != a.items.class:
			return nil
		default:
			all.prefixes = append(all.prefixes, a.items.prefixes...)
		}
	}
	return all
}

// addNeed records that a path from the items of s must be loaded before the evaluation.
func (b *compiler) addNeed(s scope, path []*engine.Property) error {
	for _, prefix := range s.prefixes {
		full := slices.Concat(prefix, path)
		if len(full) == 0 || slices.ContainsFunc(b.needs, func(p []*engine.Property) bool { return slices.Equal(p, full) }) {
			continue
		}
		if len(b.needs) == maxNeeds {
			return invalid("a formula reads at most %d paths", maxNeeds)
		}
		b.needs = append(b.needs, full)
	}
	return nil
}

// itemsBelow returns the scope of the items at the end of a path that starts at the items of s. c is the class of the
// items at the end.
func (s scope) itemsBelow(path []*engine.Property, c *engine.Class) (*scope, error) {
	if len(s.prefixes) > maxNeeds {
		return nil, invalid("a formula reads at most %d paths", maxNeeds)
	}
	t := &scope{class: c}
	for _, prefix := range s.prefixes {
		if len(prefix)+len(path) > maxDepth {
			return nil, invalid("the attributes of a formula lead at most %d references and collections away", maxDepth)
		}
		t.prefixes = append(t.prefixes, slices.Concat(prefix, path))
	}
	return t, nil
}

func unknownFunction(name string) error {
	if name == "number2words" {
		return invalid("function number2words has never worked in IONDV and is not available")
	}
	names := slices.Concat(slices.Collect(maps.Keys(functions)), slices.Collect(maps.Keys(special)))
	slices.Sort(names)
	return invalid("there is no function %s, expected %s", engine.Quote(name), jsonfile.Choice(name, names))
}

// arity is the allowed number of arguments of a function. If max is negative, there is no upper limit.
type arity struct{ min, max int }

func (a arity) checkCount(name string, n int) error {
	if n >= a.min && (a.max < 0 || n <= a.max) {
		return nil
	}
	switch {
	case a.max < 0:
		return invalid("%s takes at least %d arguments, found %d", name, a.min, n)
	case a.min == a.max:
		return invalid("%s takes %d arguments, found %d", name, a.min, n)
	}
	return invalid("%s takes %d to %d arguments, found %d", name, a.min, a.max, n)
}
