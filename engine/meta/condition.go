package meta

import (
	"encoding/json"
	"errors"
	"strconv"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
)

// The operations of a condition list. A class file contains the number of an operation, which is its position in one
// of these lists: in attributeOperations if the condition names an attribute, otherwise in operations.
var (
	attributeOperations = []string{"eq", "ne", "empty", "nempty", "like", "lt", "gt", "lte", "gte", "in", "contains"}
	operations          = []string{
		"and", "or", "not", "min", "max", "avg", "sum", "count", "date", "dateAdd", "dateDiff", "add", "sub", "mul", "div",
		"mod", "round", "concat", "substr", "abs", "dateStr", "year", "", "month", "day", "hour", "minute", "second",
	}
)

// translateConditions translates the conditions of a class file to a formula in function style, such as {"eq":
// ["$state", "new"]}. c is the class to which the conditions apply.
//
// If v is an object, it already is such a formula. If v is an array, each element has the form {"property",
// "operation", "value", "nestedConditions"}, and all elements must be true. A value can be $$now, $$today, or $name
// for an attribute of the item itself.
func translateConditions(c *engine.Class, v any) (engine.Fields, error) {
	switch v := v.(type) {
	case engine.Fields:
		return v, nil
	case []any:
		all := make([]any, 0, len(v))
		for _, one := range v {
			f, err := translateCondition(c, one)
			if err != nil {
				return nil, err
			}
			all = append(all, f)
		}
		switch len(all) {
		case 0:
			return nil, nil
		case 1:
			return all[0].(engine.Fields), nil
		}
		return newCall("and", all...), nil
	}
	return nil, errors.New("conditions are an object or an array")
}

func newCall(name string, args ...any) engine.Fields {
	return engine.Fields{{Name: name, Value: args}}
}

func translateCondition(c *engine.Class, v any) (engine.Fields, error) {
	fields, ok := v.(engine.Fields)
	if !ok {
		return nil, errors.New(`a condition is an object such as {"property": "state", "operation": 0, "value": ["new"]}, found ` + jsonfile.Describe(v))
	}
	property, _ := fields.Get("property")
	name, _ := property.(string)
	values := conditionValues(fields)
	names := operations
	if name != "" {
		names = attributeOperations
	}
	number, _ := fields.Get("operation")
	n, _ := number.(json.Number)
	op, err := strconv.Atoi(string(n))
	if err != nil || op < 0 || op >= len(names) || names[op] == "" {
		return nil, errors.New("operation " + jsonfile.Describe(number) + " is unknown")
	}
	nested, _ := fields.Get("nestedConditions")
	list, _ := nested.([]any)
	if name != "" {
		return onAttribute(c, name, names[op], values, list)
	}
	args := make([]any, 0, len(list)+len(values))
	for _, one := range list {
		f, err := translateCondition(c, one)
		if err != nil {
			return nil, err
		}
		args = append(args, f)
	}
	return newCall(names[op], append(args, values...)...), nil
}

// conditionValues returns the values of a condition as an array. It replaces $$now and $$today by calls.
func conditionValues(fields engine.Fields) []any {
	v, _ := fields.Get("value")
	list, ok := v.([]any)
	if !ok && v != nil {
		list = []any{v}
	}
	values := make([]any, len(list))
	for i, v := range list {
		switch values[i] = v; v {
		case "$$now":
			values[i] = newCall("now")
		case "$$today":
			values[i] = newCall("date", newCall("format", newCall("now"), "YYYY-MM-DD"))
		}
	}
	return values
}

func onAttribute(c *engine.Class, name, op string, values, nested []any) (engine.Fields, error) {
	attribute := "$" + name
	switch op {
	case "empty", "nempty":
		return newCall(op, attribute), nil
	case "in":
		return newCall(op, attribute, values), nil
	case "contains":
		return translateContains(c, name, values, nested)
	}
	switch {
	case len(values) == 1:
		return newCall(op, attribute, values[0]), nil
	case len(values) > 1 && op == "eq":
		return newCall("in", attribute, values), nil
	case len(values) > 1 && op == "ne":
		return newCall("not", newCall("in", attribute, values)), nil
	case len(values) == 0 && (op == "eq" || op == "ne"):
		return newCall(op, attribute, nil), nil
	}
	return nil, errors.New("operation " + op + " on " + engine.Quote(name) + " takes one value")
}

// translateContains translates the operation contains for the attribute with this name. If the attribute is a
// collection, either nested contains conditions on its members, or values contains the ids of members. If the
// attribute is not a collection, the operation searches in the text of the attribute.
func translateContains(c *engine.Class, name string, values, nested []any) (engine.Fields, error) {
	p := c.Property(name)
	if p == nil || p.Type != engine.Collection || p.Target == nil {
		if len(values) != 1 {
			return nil, errors.New("contains on " + engine.Quote(name) + " takes one value")
		}
		return newCall("like", "$"+name, values[0]), nil
	}
	if len(nested) > 0 {
		f, err := translateConditions(p.Target, nested)
		return newCall("contains", "$"+name, f), err
	}
	if key := p.Target.KeyProperties(); len(key) == 1 && len(values) > 0 {
		return newCall("contains", "$"+name, newCall("in", "$"+key[0].Name, values)), nil
	}
	return nil, errors.New("contains on " + engine.Quote(name) + " takes ids or nested conditions")
}
