package query

import (
	"strings"

	"restsrv/engine"
)

// maxSorts is the maximum number of terms in a sort order.
const maxSorts = 16

func badSort(format string, args ...any) error {
	return engine.Errorf(engine.Invalid, "sort", format, args...)
}

// ParseSort parses a sort order in one of two forms. In an object such as {"name": 1, "town.name": -1}, 1 means
// ascending. In a list of terms such as {"property": "name", "mode": 1}, the form of class files, mode 1 means
// descending. The error is Invalid.
func ParseSort(c *engine.Class, v any) ([]engine.Sort, error) {
	if list, ok := v.([]any); ok {
		return parseSortModes(c, list)
	}
	fields, ok := v.(engine.Fields)
	if !ok {
		return nil, badSort(`sort takes an object such as {"name": 1, "due": -1}`)
	}
	var sorts []engine.Sort
	for _, f := range fields {
		n, ok := engine.CastInt(f.Value)
		if !ok || n != 1 && n != -1 {
			return nil, badSort("sort by %s takes 1 (ascending) or -1 (descending), found %s", engine.Quote(f.Name), engine.DescribeValue(f.Value))
		}
		var err error
		if sorts, err = addSort(sorts, c, f.Name, n < 0); err != nil {
			return nil, err
		}
	}
	return sorts, nil
}

func parseSortModes(c *engine.Class, list []any) (sorts []engine.Sort, err error) {
	for _, v := range list {
		term, ok := v.(engine.Fields)
		name, _ := term.Get("property")
		property, isText := name.(string)
		mode, hasMode := term.Get("mode")
		n, isInt := engine.CastInt(mode)
		if mode == nil || !hasMode {
			n, isInt = 0, true
		}
		if !ok || !isText || !isInt || n < 0 || n > 1 {
			return nil, badSort(`a term of an order is {"property": "name", "mode": 0}, mode 1 for descending, found %s`, engine.DescribeValue(v))
		}
		if sorts, err = addSort(sorts, c, property, n == 1); err != nil {
			return nil, err
		}
	}
	return sorts, nil
}

// ParseSortList parses a sort order in the form of a query string, such as -due,town.name. The error is Invalid.
func ParseSortList(c *engine.Class, s string) (sorts []engine.Sort, err error) {
	if s == "" {
		return nil, nil
	}
	for name := range strings.SplitSeq(s, ",") {
		name, descending := strings.CutPrefix(strings.TrimSpace(name), "-")
		if sorts, err = addSort(sorts, c, name, descending); err != nil {
			return nil, err
		}
	}
	return sorts, nil
}

// addSort appends a term to an order. If the path leads through a collection, or if there are too many terms, the
// error is Invalid.
func addSort(sorts []engine.Sort, c *engine.Class, path string, descending bool) ([]engine.Sort, error) {
	if len(sorts) == maxSorts {
		return nil, badSort("an order has at most %d terms", maxSorts)
	}
	o, err := findPath(c, path)
	if err != nil {
		return nil, err
	}
	steps := o.expr.Path
	if !engine.Single(steps) {
		return nil, badSort("order by %s: a collection has no single value to order by", engine.Quote(path))
	}
	return append(sorts, engine.Sort{Via: steps[: len(steps)-1 : len(steps)-1], Property: steps[len(steps)-1], Descending: descending}), nil
}
