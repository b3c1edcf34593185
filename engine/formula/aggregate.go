package formula

import (
	"strings"

	"restsrv/engine"
)

// aggregation is a compiled call of sum, avg, min, max, count or merge for a list.
type aggregation struct {
	name      string
	attribute judge  // returns the value to aggregate for each element; if not given, the value is the element itself
	member    string // name of the attribute, used for elements that are objects, not items
	condition judge  // selects elements; if not given, all elements are used
	unique    node   // if its value is true, repeated values are ignored
	separator node   // text between the values of merge; if its value is null, " " is used
}

// compileAggregate compiles a call name(list, attribute, condition, unique, separator). Arguments after the list are
// optional and may be null. In a call of count, the condition can also be the second argument, without an attribute.
// If the first argument is the name of a class instead of a list, aggregateClass compiles the call.
func (b *compiler) compileAggregate(name string, args []any, s scope, depth int) (node, error) {
	if class, ok := className(args[0]); ok {
		return b.aggregateClass(name, class, args[1:], s, depth)
	}
	b.next = use{bare: name == "count" || name == "sum" || name == "avg" || takesOfElements(argumentAt(args, 1))}
	list, err := b.compileExpression(args[0], s, depth+1)
	if err != nil {
		return node{}, err
	}
	a, rest := aggregation{name: name}, args[1:]
	if len(rest) > 0 && name == "count" {
		if _, is := rest[0].(engine.Fields); is {
			rest = append([]any{nil}, rest...)
		}
	}
	if err := a.compileArguments(b, rest, list, s, depth); err != nil {
		return node{}, err
	}
	return node{eval: func(e *env, it *engine.Item) (any, error) {
		v, err := list.eval(e, it)
		if err != nil {
			return nil, err
		}
		return a.aggregateList(e, it, asList(v))
	}}, nil
}

// takesOfElements reports whether v, the second argument of an aggregate, selects a value of each element, as in
// sum($lines, price). If not, the elements themselves are aggregated.
func takesOfElements(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.TrimPrefix(v, "$") != ""
	case quoted:
		return strings.TrimPrefix(string(v), "$") != ""
	case engine.Fields:
		return true
	}
	return false
}

// className returns the name of a class if v, the first argument of an aggregate, is one instead of a list. The name
// of a class is a text that is not a path.
func className(v any) (string, bool) {
	if q, ok := v.(quoted); ok {
		return string(q), q != ""
	}
	s, ok := v.(string)
	return s, ok && s != "" && s[0] != '$'
}

// compileArguments compiles rest, the arguments after the list. list is the compiled list.
func (a *aggregation) compileArguments(b *compiler, rest []any, list node, s scope, depth int) (err error) {
	if a.attribute, a.member, err = b.elementValue(a.name, argumentAt(rest, 0), list, depth); err != nil {
		return err
	}
	switch cond := argumentAt(rest, 1).(type) {
	case engine.Fields:
		if a.condition, err = b.compileCondition(cond, list, depth); err != nil {
			return err
		}
	default:
		if engine.Truthy(cond) {
			return invalid(`%s takes a condition such as {"eq":["$a",1]}, or null, as argument %d`, a.name, 3)
		}
	}
	return a.compileEnd(b, rest, s, depth)
}

func (a *aggregation) compileEnd(b *compiler, rest []any, s scope, depth int) (err error) {
	if a.unique, err = b.compileExpression(argumentAt(rest, 2), s, depth+1); err != nil {
		return err
	}
	a.separator, err = b.compileExpression(argumentAt(rest, 3), s, depth+1)
	return err
}

func argumentAt(args []any, i int) any {
	if i < len(args) {
		return args[i]
	}
	return nil
}

// elementValue compiles the second argument of an aggregate, which selects a value of each element of list. The
// argument is an attribute or a path, with or without "$", or a call. The result of type string is the attribute or
// the path.
func (b *compiler) elementValue(function string, source any, list node, depth int) (judge, string, error) {
	if q, ok := source.(quoted); ok {
		source = string(q)
	}
	var n node
	var err error
	member := ""
	switch v := source.(type) {
	case nil:
		return judge{}, "", nil
	case string:
		if member = strings.TrimPrefix(v, "$"); member == "" {
			return judge{}, "", nil
		}
		n, err = b.compileExpression("$"+member, elementOf(list), depth+1)
	case engine.Fields:
		n, err = b.compileExpression(v, elementOf(list), depth+1)
	default:
		return judge{}, "", invalid("%s takes the name of an attribute as its second argument", function)
	}
	return judge{node: n, given: true}, member, err
}

// valueOf returns the value to aggregate for v, an element of the list.
func (a *aggregation) valueOf(e *env, v any) (any, error) {
	if !a.attribute.given {
		return v, nil
	}
	switch v := v.(type) {
	case *engine.Item:
		return a.attribute.eval(e, v)
	case engine.Fields:
		member, _ := v.Get(a.member)
		return member, nil
	}
	return nil, nil
}

// aggregateList aggregates the elements of a list.
func (a *aggregation) aggregateList(e *env, it *engine.Item, list []any) (any, error) {
	unique, err := a.unique.eval(e, it)
	if err != nil {
		return nil, err
	}
	separator, err := a.separator.eval(e, it)
	if err != nil {
		return nil, err
	}
	seen := map[any]bool{}
	var values []any
	for _, element := range list {
		if err := e.countStep(); err != nil {
			return nil, err
		}
		if element == nil || engine.Truthy(unique) && !isFirst(seen, element) {
			continue
		}
		if ok, err := a.condition.holds(e, element); err != nil {
			return nil, err
		} else if !ok {
			continue
		}
		v, err := a.valueOf(e, element)
		if err != nil {
			return nil, err
		}
		for _, v := range flatten(nil, []any{v}) {
			if v != nil {
				values = append(values, v)
			}
		}
	}
	return reduceValues(a.name, values, separator)
}

// isFirst adds v to seen, and reports whether v was not in seen before. Two items are equal if they have the same id
// and the same root class. Other values are equal if they have the same kind and the same text.
func isFirst(seen map[any]bool, v any) bool {
	type key struct {
		class *engine.Class
		text  string
	}
	k := key{text: kindOf(v) + " " + toText(itemID(v))}
	if it, ok := v.(*engine.Item); ok {
		k.class = it.Class.Root()
	}
	if seen[k] {
		return false
	}
	seen[k] = true
	return true
}

// reduceValues applies an aggregate function, such as "sum", to values, which must not contain null. Without values,
// sum and count return 0, merge returns "", and the other functions return null.
func reduceValues(name string, values []any, separator any) (any, error) {
	switch name {
	case "count":
		return int64(len(values)), nil
	case "sum":
		return adding.fold(int64(0), values), nil
	case "avg":
		if len(values) == 0 {
			return nil, nil
		}
		sum := adding.fold(int64(0), values)
		if sum == nil {
			return nil, nil
		}
		return dividing.of(sum, int64(len(values))), nil
	case "merge":
		return mergeTexts(values, separator)
	}
	var best any
	for _, v := range values {
		if best == nil {
			best = v
			continue
		}
		if n, ok := orderValues(v, best); ok && (n < 0) == (name == "min") && n != 0 {
			best = v
		}
	}
	return best, nil
}

func mergeTexts(values []any, separator any) (any, error) {
	between := " "
	if separator != nil {
		between = toText(separator)
	}
	var b strings.Builder
	for _, v := range values {
		s := toText(v)
		if s == "" || v == false {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(between)
		}
		b.WriteString(s)
		if b.Len() > maxText {
			return nil, tooLong()
		}
	}
	return b.String(), nil
}
