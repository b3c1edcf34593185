package formula

import (
	"slices"

	"restsrv/engine"
	"restsrv/engine/query"
)

// maxFound is the maximum number of items that an aggregate over a class reads. It does not apply if the database
// computes the aggregate, because the items are then not read (see withoutReading).
const maxFound = 100_000

// classByName returns the class with a name that is used in a formula.
func (e *env) classByName(name string) (*engine.Class, error) {
	c, err := findClass(e.class, name, e.data.Class)
	if err != nil && engine.CodeOf(err) == engine.NotFound {
		return nil, invalid("there is no class %s", engine.Quote(name))
	}
	return c, err
}

// getItem implements the functions get(class, id) and get(class, attribute, value, ...). If several items match, it
// returns the item that was inserted first. If the last argument is a list, it contains paths to load with the item.
// If the first argument is an item, getItem returns that item.
func getItem(e *env, args []any) (any, error) {
	if it, ok := args[0].(*engine.Item); ok {
		return it, nil
	}
	name, ok := args[0].(string)
	if !ok {
		if args[0] == nil {
			return nil, nil
		}
		return nil, invalid("takes the name of a class and an id, or attributes and values")
	}
	c, err := e.classByName(name)
	if err != nil {
		return nil, err
	}
	args = args[1:]
	q := &engine.Query{Class: c, Count: 1}
	if n := len(args); n > 0 {
		if paths, ok := args[n-1].([]any); ok {
			if q.Load, err = loadsOf(c, paths); err != nil {
				return nil, err
			}
			args = args[:n-1]
		}
	}
	if q.Filter, err = getFilter(e, c, args); err != nil || q.Filter == nil {
		return nil, err
	}
	found, err := e.data.Find(e.ctx, q)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

// getFilter returns the filter for args, the arguments of get after the class. It returns nil if no item can match.
func getFilter(e *env, c *engine.Class, args []any) (*engine.Filter, error) {
	if len(args) == 1 {
		return idFilter(c, toText(itemID(args[0])))
	}
	if len(args) == 0 || len(args)%2 == 1 {
		return nil, invalid("takes a class and an id, or a class and pairs of attribute and value")
	}
	var all []*engine.Filter
	for i := 0; i < len(args); i += 2 {
		f, err := e.conditionFilter(c, toText(args[i]), "eq", args[i+1])
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return engine.And(all...), nil
}

func idFilter(c *engine.Class, id string) (*engine.Filter, error) {
	values, ok := c.KeyValues(id)
	if !ok {
		return nil, nil
	}
	if key := c.KeyProperties(); len(key) == 1 {
		return query.Equal(key[0], values[0])
	}
	return &engine.Filter{Op: engine.OpEq, Left: engine.Attribute(engine.ItemID), Right: engine.Constant(engine.String, id)}, nil
}

// operators maps the operators of class conditions to operators of the filter language. These begin with $, because
// such operators never interpret a value as a path.
var operators = map[string]string{"eq": "$eq", "ne": "$ne", "lt": "$lt", "lte": "$lte", "gt": "$gt", "gte": "$gte", "in": "$in", "like": "$regex"}

// conditionFilter returns the filter for the condition {attribute: [operator, v]} on items of
// class c.
func (e *env) conditionFilter(c *engine.Class, attribute, operator string, v any) (*engine.Filter, error) {
	if operator == "empty" || operator == "nempty" {
		return e.parseFilter(c, engine.Fields{{Name: operator, Value: []any{"$" + attribute}}})
	}
	op, ok := operators[operator]
	if !ok {
		return nil, unknownOperator(operator)
	}
	v, err := filterValue(v)
	if err != nil {
		return nil, err
	}
	condition := engine.Fields{{Name: op, Value: v}}
	if operator == "like" {
		condition = append(condition, engine.Field{Name: "$options", Value: "i"})
	}
	return e.parseFilter(c, engine.Fields{{Name: attribute, Value: condition}})
}

func (e *env) parseFilter(c *engine.Class, f engine.Fields) (*engine.Filter, error) {
	return query.ParseFilter(c, f, e.data.Now().Time())
}

// filterValue converts a value of a formula to decoded JSON for use in a filter.
func filterValue(v any) (any, error) {
	switch v := v.(type) {
	case *engine.Item:
		return v.ID, nil
	case engine.JSONText:
		return string(v), nil
	case engine.Fields:
		return nil, invalid("an object is nothing to compare an attribute with")
	case []any:
		list := make([]any, len(v))
		for i, element := range v {
			var err error
			if list[i], err = filterValue(element); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	return v, nil
}

// loadsOf returns the loads for paths from items of class c.
func loadsOf(c *engine.Class, paths []any) ([]*engine.Load, error) {
	var loads []*engine.Load
	for _, v := range paths {
		dotted, ok := v.(string)
		if !ok {
			return nil, invalid("the list at the end names what to load: texts")
		}
		p, err := resolvePath(c, dotted)
		if err != nil {
			return nil, err
		}
		loads = addLoads(loads, p.props)
	}
	return loads, nil
}

// addLoads adds the references and collections on a path to loads.
func addLoads(loads []*engine.Load, path []*engine.Property) []*engine.Load {
	if len(path) == 0 || path[0].Target == nil {
		return loads
	}
	i := slices.IndexFunc(loads, func(l *engine.Load) bool { return l.Property == path[0] })
	if i < 0 {
		i = len(loads)
		loads = append(loads, &engine.Load{Property: path[0]})
	}
	loads[i].Next = addLoads(loads[i].Next, path[1:])
	return loads
}

// nextNumber takes the next number of a named counter.
func nextNumber(e *env, args []any) (any, error) {
	name := toText(args[0])
	if name == "" {
		return nil, invalid("takes the name of a counter")
	}
	return e.data.Next(e.ctx, name)
}
