package formula

import (
	"strings"

	"restsrv/engine"
)

// special holds the functions that evaluate their arguments themselves, with the allowed number of arguments. Such
// functions do not evaluate some of the arguments, or evaluate them for the elements of a list.
var special = map[string]arity{
	"and": {1, -1}, "or": {1, -1}, "if": {2, 3},
	"contains": {2, 2},
	"sum":      {1, 5}, "avg": {1, 5}, "min": {1, 5}, "max": {1, 5}, "count": {1, 5}, "merge": {1, 5},
}

func (b *compiler) compileSpecial(name string, args []any, s scope, depth int) (node, error) {
	switch name {
	case "and", "or":
		nodes, err := b.compileExpressions(args, s, depth+1)
		if err != nil {
			return node{}, err
		}
		return logicNode(nodes, name == "or"), nil
	case "if":
		nodes, err := b.compileExpressions(args, s, depth+1)
		if err != nil {
			return node{}, err
		}
		return choiceNode(nodes), nil
	case "contains":
		return b.compileContains(args, s, depth)
	}
	return b.compileAggregate(name, args, s, depth)
}

// logicNode implements the functions "and" (until is false) and "or" (until is true). It returns the first argument
// that has the truth value until, or the last argument if there is no such argument.
func logicNode(args []node, until bool) node {
	return node{eval: func(e *env, it *engine.Item) (v any, err error) {
		for _, a := range args {
			if err := e.countStep(); err != nil {
				return nil, err
			}
			if v, err = a.eval(e, it); err != nil || engine.Truthy(v) == until {
				return v, err
			}
		}
		return v, nil
	}}
}

func choiceNode(args []node) node {
	return node{eval: func(e *env, it *engine.Item) (any, error) {
		if err := e.countStep(); err != nil {
			return nil, err
		}
		v, err := args[0].eval(e, it)
		switch {
		case err != nil:
			return nil, err
		case engine.Truthy(v):
			return args[1].eval(e, it)
		case len(args) == 3:
			return args[2].eval(e, it)
		}
		return nil, nil
	}}
}

// judge is an expression that is evaluated for each element of a list. The paths in the expression start at the
// element.
type judge struct {
	node
	given bool
}

// elementOf returns the scope of expressions that are evaluated for the elements of list. If it is known only during
// evaluation which items these are, the class of the scope is nil.
func elementOf(list node) scope {
	if list.items != nil {
		return *list.items
	}
	return scope{}
}

// compileCondition compiles a condition on the elements of list. The condition is written {"fn": [...]} or {"&fn":
// [...]}.
func (b *compiler) compileCondition(source engine.Fields, list node, depth int) (judge, error) {
	name, args, err := callOf(source)
	if err != nil {
		return judge{}, err
	}
	call := engine.Fields{{Name: strings.TrimPrefix(name, "&"), Value: args}}
	n, err := b.compileExpression(call, elementOf(list), depth+1)
	return judge{node: n, given: true}, err
}

// holds reports whether the condition is true for an element. If no condition is given, the result is true.
func (c judge) holds(e *env, v any) (bool, error) {
	if !c.given {
		return true, nil
	}
	it, ok := v.(*engine.Item)
	if !ok {
		return false, nil // a condition tests attributes, and only items have attributes
	}
	result, err := c.eval(e, it)
	return engine.Truthy(result), err
}

// compileContains compiles a call of contains. Depending on the arguments, the function reports whether a list
// contains a value, whether a condition is true for an element of a list, or whether a text contains another text.
func (b *compiler) compileContains(args []any, s scope, depth int) (node, error) {
	call, isCall := args[1].(engine.Fields)
	b.next = use{bare: isCall}
	list, err := b.compileExpression(args[0], s, depth+1)
	if err != nil {
		return node{}, err
	}
	passed := isCall && len(call) == 1 && strings.HasPrefix(call[0].Name, "&")
	if isCall && (passed || list.items != nil) {
		cond, err := b.compileCondition(call, list, depth)
		if err != nil {
			return node{}, err
		}
		return node{eval: func(e *env, it *engine.Item) (any, error) {
			v, err := list.eval(e, it)
			if err != nil {
				return nil, err
			}
			return anyHolds(e, asList(v), cond)
		}}, nil
	}
	value, err := b.compileExpression(args[1], s, depth+1)
	if err != nil {
		return node{}, err
	}
	return plainCall("contains", pureFunction(2, 2, func(a []any) any { return hasValue(a[0], a[1]) }), []node{list, value}), nil
}

func anyHolds(e *env, list []any, cond judge) (any, error) {
	for _, v := range list {
		if err := e.countStep(); err != nil {
			return nil, err
		}
		if ok, err := cond.holds(e, v); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// hasValue reports whether a list, a text or an item contains v. If v is a list, it reports whether at least one
// element of v is contained.
func hasValue(in, v any) bool {
	values := flatten(nil, []any{v})
	for _, v := range values {
		switch in := in.(type) {
		case nil:
		case []any:
			for _, element := range in {
				if looseEqual(element, v) {
					return true
				}
			}
		case *engine.Item:
			if looseEqual(in, v) {
				return true
			}
		default:
			if v != nil && strings.Contains(toText(in), toText(v)) {
				return true
			}
		}
	}
	return false
}

// asList converts a value to a list: a list stays as it is, null becomes an empty list, and any other value becomes a
// list with one element.
func asList(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	}
	return []any{v}
}
