package query

import (
	"math"
	"slices"
	"time"

	"restsrv/engine"
)

const maxColumns = 32

// aggregationParser parses aggregations. The values of an aggregation are expressions.
type aggregationParser struct{ functionParser }

func badAggregate(format string, args ...any) error {
	return engine.Errorf(engine.Invalid, "aggregate", format, args...)
}

// ParseAggregation parses an aggregation, which is an object of this form:
//
//	{"fields": {"person": "$owner"}, "aggregates": {"n": {"count": ["$id"]}}, "filter": .., "sort": {"person": 1},
//	 "offset": 0, "count": 10, "distinct": true, "skipSubClasses": true}
//
// At least one of fields and aggregates must be given. The other members are optional. Expressions and now have the
// same meaning as in ParseFilter. The error is Invalid.
func ParseAggregation(c *engine.Class, v any, now time.Time) (*engine.Aggregation, error) {
	in, ok := v.(engine.Fields)
	if !ok {
		return nil, badAggregate("an aggregation is an object with fields and aggregates, found %s", engine.DescribeValue(v))
	}
	a := &engine.Aggregation{Class: c, Count: -1}
	p := aggregationParser{functionParser{operandParser{parser{class: c, now: now, nodes: new(int), patterns: new(int)}}}}
	for _, f := range in {
		if err := p.parseMember(a, f); err != nil {
			return nil, err
		}
	}
	if n := len(a.Columns) + len(a.Aggregates); n == 0 || n > maxColumns {
		return nil, badAggregate("an aggregation has 1 to %d fields and aggregates, found %d", maxColumns, n)
	}
	seen := map[string]bool{}
	for _, name := range a.Names() {
		if seen[name] {
			return nil, badAggregate("an aggregation has two values named %s", engine.Quote(name))
		}
		seen[name] = true
	}
	if order, ok := in.Get("sort"); ok && order != nil {
		return a, sortRows(a, order)
	}
	return a, nil
}

func (p aggregationParser) parseMember(a *engine.Aggregation, f engine.Field) (err error) {
	switch f.Name {
	case "fields":
		err = p.parseColumns(a, f.Value)
	case "aggregates":
		err = p.parseAggregates(a, f.Value)
	case "filter":
		a.Filter, err = ParseFilter(p.class, f.Value, p.now)
	case "offset", "count":
		n, ok := engine.CastInt(f.Value)
		if f.Value != nil && (!ok || n < 0 || n > math.MaxInt32) {
			return badAggregate("%s takes a whole number, 0 or more, found %s", f.Name, engine.DescribeValue(f.Value))
		}
		if f.Name == "offset" {
			a.Offset = int(n)
		} else if f.Value != nil {
			a.Count = int(n)
		}
	case "distinct", "skipSubClasses":
		on, ok := f.Value.(bool)
		if f.Value != nil && !ok {
			return badAggregate("%s takes true or false, found %s", f.Name, engine.DescribeValue(f.Value))
		}
		if f.Name == "distinct" {
			a.Distinct = on
		} else {
			a.Exact = on
		}
	case "sort":
	default:
		err = badAggregate("unknown member %s of an aggregation", engine.Quote(f.Name))
	}
	return err
}

func (p aggregationParser) parseColumns(a *engine.Aggregation, v any) error {
	fields, ok := v.(engine.Fields)
	if !ok && v != nil {
		return badAggregate(`fields takes an object such as {"who": "$owner"}, found %s`, engine.DescribeValue(v))
	}
	for _, f := range fields {
		e, err := p.parseColumn(f.Name, f.Value)
		if err != nil {
			return err
		}
		a.Columns = append(a.Columns, engine.Column{Name: f.Name, Expr: e})
	}
	return nil
}

// parseColumn parses an expression, which must have a single value for each item.
func (p aggregationParser) parseColumn(name string, v any) (*engine.Expr, error) {
	o, err := p.parseOperand(v, 0)
	if err != nil {
		return nil, err
	}
	if o.expr == nil {
		e, err := p.unifyArguments(name, []any{v}, 0)
		if err != nil {
			return nil, err
		}
		return e.Args[0], nil
	}
	if !isSingleValued(o.expr) {
		return nil, badAggregate("%s leads through a collection, which has no single value", engine.Quote(name))
	}
	return o.expr, nil
}

func (p aggregationParser) parseAggregates(a *engine.Aggregation, v any) error {
	fields, ok := v.(engine.Fields)
	if !ok && v != nil {
		return badAggregate(`aggregates takes an object such as {"n": {"count": ["$id"]}}, found %s`, engine.DescribeValue(v))
	}
	for _, f := range fields {
		call, ok := f.Value.(engine.Fields)
		if !ok || len(call) != 1 || !isAggregate(call[0].Name) {
			return badAggregate("aggregate %s is count, sum, avg, min or max of something, found %s", engine.Quote(f.Name), engine.DescribeValue(f.Value))
		}
		args, ok := call[0].Value.([]any)
		g := engine.Aggregate{Name: f.Name, Function: engine.AggregateFunction(call[0].Name)}
		if !ok || len(args) > 1 || len(args) == 0 && g.Function != engine.CountOf {
			return badAggregate("%s takes an array of one argument", g.Function)
		}
		if len(args) == 1 {
			var err error
			if g.Expr, err = p.parseAggregateArgument(g.Function, args[0]); err != nil {
				return err
			}
		}
		a.Aggregates = append(a.Aggregates, g)
	}
	return nil
}

func (p aggregationParser) parseAggregateArgument(f engine.AggregateFunction, v any) (*engine.Expr, error) {
	e, err := p.parseColumn(string(f), v)
	if err != nil {
		return nil, err
	}
	switch f {
	case engine.SumOf, engine.AvgOf:
		return numberArgument(string(f), operand{expr: e})
	case engine.MinOf, engine.MaxOf:
		if e.Type.JSON() {
			return nil, badAggregate("%s has no order: there is no %s of it", describeOperand(operand{expr: e}), f)
		}
	}
	return e, nil
}

// sortRows parses the sort order of the rows: an object with the names of columns and aggregates.
func sortRows(a *engine.Aggregation, v any) error {
	order, ok := v.(engine.Fields)
	if !ok {
		return badSort(`sort takes an object such as {"n": -1}, found %s`, engine.DescribeValue(v))
	}
	for _, f := range order {
		at := slices.Index(a.Names(), f.Name)
		n, ok := engine.CastInt(f.Value)
		if at < 0 || !ok || n != 1 && n != -1 {
			return badSort("the order of an aggregation names its fields and aggregates, with 1 or -1, found %s: %s", engine.Quote(f.Name), engine.DescribeValue(f.Value))
		}
		a.Sort = append(a.Sort, engine.RowSort{Column: at, Descending: n < 0})
	}
	return nil
}
