package formula

import (
	"maps"
	"slices"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
)

// classAggregation is an aggregate over all items of a class, such as sum("order", "total").
type classAggregation struct {
	aggregation
	class      string
	path       string // attribute or path to aggregate; "" if count counts the items
	conditions []classCondition
}

// classCondition is one field of the conditions {attribute: value} or {attribute: [operator, value]}. The value can
// contain paths, which start at the item of the formula, not at the items of the class.
type classCondition struct {
	attribute, operator string
	value               node
}

// aggregateClass compiles a call name("class", "attribute", conditions, unique, separator). rest holds the arguments
// after the class. In a call of count, the attribute can be omitted.
func (b *compiler) aggregateClass(name, class string, rest []any, s scope, depth int) (node, error) {
	a := &classAggregation{aggregation: aggregation{name: name}, class: class}
	if _, is := argumentAt(rest, 0).(engine.Fields); is && name == "count" {
		rest = append([]any{nil}, rest...)
	}
	switch v := argumentAt(rest, 0).(type) {
	case nil:
	case string:
		a.path = v
	case quoted:
		a.path = string(v)
	default:
		return node{}, invalid("%s takes the name of an attribute as its second argument", name)
	}
	if len(a.path) > 0 && a.path[0] == '$' {
		a.path = a.path[1:]
	}
	if a.path == "" && name != "count" {
		return node{}, invalid("%s over a class takes an attribute of the class as its second argument", name)
	}
	switch v := argumentAt(rest, 1).(type) {
	case engine.Fields:
		if err := a.compileConditions(b, v, s, depth); err != nil {
			return node{}, err
		}
	default:
		if engine.Truthy(v) {
			return node{}, invalid(`%s over a class takes conditions such as {"state":"open"} or {"age":["gt",5]}, or null`, name)
		}
	}
	if err := a.compileEnd(b, rest, s, depth); err != nil {
		return node{}, err
	}
	l := &lookup{function: name, class: class}
	if a.path != "" {
		l.attributes = append(l.attributes, a.path)
	}
	for _, c := range a.conditions {
		l.attributes = append(l.attributes, c.attribute)
	}
	b.lookups = append(b.lookups, l)
	return l.nullIfMissing(node{eval: func(e *env, it *engine.Item) (any, error) {
		v, err := a.eval(e, it)
		if err != nil {
			return nil, prefixName(name, err)
		}
		return v, nil
	}}), nil
}

func unknownOperator(name string) error {
	names := append(slices.Sorted(maps.Keys(operators)), "empty", "nempty")
	return invalid("there is no operator %s, expected %s", engine.Quote(name), jsonfile.Choice(name, names))
}

func (a *classAggregation) compileConditions(b *compiler, source engine.Fields, s scope, depth int) error {
	source, err := expandPairs(source)
	if err != nil {
		return invalid("%s: %s", a.name, err.Error())
	}
	for _, f := range source {
		c := classCondition{attribute: f.Name, operator: "eq"}
		value := f.Value
		if pair, ok := value.([]any); ok {
			operator, isText := argumentAt(pair, 0).(string)
			if !isText || len(pair) > 2 {
				return invalid("%s: the condition on %s takes a value or [operator, value]", a.name, engine.Quote(f.Name))
			}
			if operators[operator] == "" && operator != "empty" && operator != "nempty" {
				return unknownOperator(operator)
			}
			c.operator, value = operator, argumentAt(pair, 1)
		}
		if c.value, err = b.compileExpression(value, s, depth+1); err != nil {
			return err
		}
		a.conditions = append(a.conditions, c)
	}
	return nil
}

// expandPairs converts {"obj": ["a", 1, "b", ["gt", 2]]} to {"a": 1, "b": ["gt", 2]}. Formulas in text form write
// conditions with the function obj, because they cannot contain JSON objects.
func expandPairs(source engine.Fields) (engine.Fields, error) {
	if len(source) != 1 || source[0].Name != "obj" {
		return source, nil
	}
	_, args, err := callOf(source)
	if err != nil {
		return nil, err
	}
	var all engine.Fields
	for i, name := range args {
		if i%2 == 1 {
			continue
		}
		if q, ok := name.(quoted); ok {
			name = string(q)
		}
		text, ok := name.(string)
		if !ok || text == "" || text[0] == '$' {
			return nil, invalid("the names of obj are written out in a condition")
		}
		all = all.With(text, argumentAt(args, i+1))
	}
	return all, nil
}

func (a *classAggregation) eval(e *env, it *engine.Item) (any, error) {
	c, err := e.classByName(a.class)
	if err != nil {
		return nil, err
	}
	q := &engine.Query{Class: c, Count: -1}
	for _, condition := range a.conditions {
		v, err := condition.value.eval(e, it)
		if err != nil {
			return nil, err
		}
		f, err := e.conditionFilter(c, condition.attribute, condition.operator, v)
		if err != nil {
			return nil, err
		}
		q.Filter = engine.And(q.Filter, f)
	}
	var p *path
	if a.path != "" {
		if p, err = resolvePath(c, a.path); err != nil {
			return nil, err
		}
		if c.Property(a.path) != nil {
			if v, done, err := a.withoutReading(e, q, c.Property(a.path)); done || err != nil {
				return v, err
			}
		}
	} else {
		return e.data.Count(e.ctx, q)
	}
	return a.aggregateItems(e, it, q, p)
}

// withoutReading computes min, max and count in the database, without reading the items. p is the attribute to
// aggregate. If the database cannot compute the aggregate, done is false, and the caller must read the items.
func (a *classAggregation) withoutReading(e *env, q *engine.Query, p *engine.Property) (v any, done bool, err error) {
	if p.Formula != nil && !p.Cached || p.Type == engine.Collection || p.Back != nil {
		return nil, false, nil
	}
	if a.name != "count" && a.name != "min" && a.name != "max" {
		return nil, false, nil
	}
	given, err := e.conditionFilter(q.Class, p.Name, "ne", nil)
	if err != nil {
		return nil, false, err
	}
	q.Filter = engine.And(q.Filter, given)
	switch a.name {
	case "count":
		n, err := e.data.Count(e.ctx, q)
		return n, true, err
	default:
		q.Sort = []engine.Sort{{Property: p, Descending: a.name == "max"}}
		q.Count = 1
		found, err := e.data.Find(e.ctx, q)
		if err != nil || len(found) == 0 {
			return nil, true, err
		}
		return formulaValue(found[0].Get(p.Name)), true, nil
	}
}

// aggregateItems reads all items that match q, and aggregates the values at path p. It returns an error if there are
// more than maxFound items.
func (a *classAggregation) aggregateItems(e *env, it *engine.Item, q *engine.Query, p *path) (any, error) {
	q.Count = maxFound + 1
	q.Load = addLoads(nil, p.pathToLoad())
	found, err := e.data.Find(e.ctx, q)
	if err != nil {
		return nil, err
	}
	if len(found) > maxFound {
		return nil, invalid("class %s has more than %d objects to read: narrow it by a condition", q.Class.FullName, maxFound)
	}
	list := make([]any, len(found))
	for i, item := range found {
		list[i] = item
	}
	a2 := a.aggregation
	a2.attribute = judge{node: node{eval: p.eval}, given: true}
	return a2.aggregateList(e, it, list)
}
