package engine

import (
	"math"
	"slices"
	"time"
)

// Aggregation computes rows from the items of a class. Without aggregates there
// is a row for each item. With aggregates there is a row for each set of items
// with equal columns. Without columns there is exactly one row, even if no item
// matches.
type Aggregation struct {
	Class      *Class      // items of this class and its descendants
	Filter     *Filter     // nil for all
	Columns    []Column    // first values of a row
	Aggregates []Aggregate // last values of a row
	Sort       []RowSort   // ties are broken by all columns, or by insertion order
	Offset     int
	Count      int  // maximum number of rows; negative for no limit
	Distinct   bool // without Aggregates: omit duplicate rows
	Exact      bool // omit items of descendants
}

// Column is a named value of a row.
type Column struct {
	Name string
	Expr *Expr
}

// AggregateFunction is a function over a set of items.
type AggregateFunction string

// The aggregate functions. All of them ignore null.
const (
	CountOf AggregateFunction = "count" // number of items, or of values that are not null
	SumOf   AggregateFunction = "sum"   // exact; 0 for an empty set
	AvgOf   AggregateFunction = "avg"   // the exact sum divided by the count, as OpDiv divides; null for an empty set
	MinOf   AggregateFunction = "min"   // null for an empty set, and so is MaxOf
	MaxOf   AggregateFunction = "max"
)

// Aggregate is a named aggregate function over the items of a row.
type Aggregate struct {
	Name     string
	Function AggregateFunction
	Expr     *Expr // nil to count all items with CountOf
}

// Type returns the type of the aggregate's values.
func (a Aggregate) Type() PropertyType {
	switch a.Function {
	case CountOf:
		return Int
	case SumOf, AvgOf:
		return DecimalNum
	}
	return a.Expr.Type
}

// RowSort is one term of the order of rows.
type RowSort struct {
	Column     int // position among Columns and Aggregates
	Descending bool
}

// Names returns the names of the values of a row, in order.
func (a *Aggregation) Names() []string {
	var names []string
	for _, c := range a.Columns {
		names = append(names, c.Name)
	}
	for _, g := range a.Aggregates {
		names = append(names, g.Name)
	}
	return names
}

const maxColumns = 32

func badAggregate(format string, args ...any) error {
	return Errorf(Invalid, "aggregate", format, args...)
}

// ParseAggregation reads {"fields": {"who": "$owner"}, "aggregates": {"n":
// {"count": ["$id"]}}, "filter": .., "sort": {"who": 1}, "offset": 0, "count":
// 10, "distinct": true, "skipSubClasses": true}. At least one of fields and
// aggregates must be given; the other members are optional. Expressions and now
// have the same meaning as in ParseFilter. The error is Invalid.
func ParseAggregation(c *Class, v any, now time.Time) (*Aggregation, error) {
	in, ok := v.(Fields)
	if !ok {
		return nil, badAggregate("an aggregation is an object with fields and aggregates, found %s", describeValue(v))
	}
	a := &Aggregation{Class: c, Count: -1}
	p := filterParser{class: c, now: now, nodes: new(int), patterns: new(int)}
	for _, f := range in {
		if err := p.aggregationMember(a, f); err != nil {
			return nil, err
		}
	}
	if n := len(a.Columns) + len(a.Aggregates); n == 0 || n > maxColumns {
		return nil, badAggregate("an aggregation has 1 to %d fields and aggregates, found %d", maxColumns, n)
	}
	seen := map[string]bool{}
	for _, name := range a.Names() {
		if seen[name] {
			return nil, badAggregate("an aggregation has two values named %s", Quote(name))
		}
		seen[name] = true
	}
	if order, ok := in.Get("sort"); ok && order != nil {
		return a, a.sortBy(order)
	}
	return a, nil
}

func (p filterParser) aggregationMember(a *Aggregation, f Field) (err error) {
	switch f.Name {
	case "fields":
		err = p.parseColumns(a, f.Value)
	case "aggregates":
		err = p.parseAggregates(a, f.Value)
	case "filter":
		a.Filter, err = ParseFilter(p.class, f.Value, p.now)
	case "offset", "count":
		n, ok := castInt(f.Value)
		if f.Value != nil && (!ok || n < 0 || n > math.MaxInt32) {
			return badAggregate("%s takes a whole number, 0 or more, found %s", f.Name, describeValue(f.Value))
		}
		if f.Name == "offset" {
			a.Offset = int(n)
		} else if f.Value != nil {
			a.Count = int(n)
		}
	case "distinct", "skipSubClasses":
		on, ok := f.Value.(bool)
		if f.Value != nil && !ok {
			return badAggregate("%s takes true or false, found %s", f.Name, describeValue(f.Value))
		}
		if f.Name == "distinct" {
			a.Distinct = on
		} else {
			a.Exact = on
		}
	case "sort":
	default:
		err = badAggregate("unknown member %s of an aggregation", Quote(f.Name))
	}
	return err
}

func (p filterParser) parseColumns(a *Aggregation, v any) error {
	fields, ok := v.(Fields)
	if !ok && v != nil {
		return badAggregate(`fields takes an object such as {"who": "$owner"}, found %s`, describeValue(v))
	}
	for _, f := range fields {
		e, err := p.parseColumn(f.Name, f.Value)
		if err != nil {
			return err
		}
		a.Columns = append(a.Columns, Column{f.Name, e})
	}
	return nil
}

// parseColumn reads an expression that has a single value for each item.
func (p filterParser) parseColumn(name string, v any) (*Expr, error) {
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
	if !o.expr.isSingle() {
		return nil, badAggregate("%s leads through a collection, which has no single value", Quote(name))
	}
	return o.expr, nil
}

func (p filterParser) parseAggregates(a *Aggregation, v any) error {
	fields, ok := v.(Fields)
	if !ok && v != nil {
		return badAggregate(`aggregates takes an object such as {"n": {"count": ["$id"]}}, found %s`, describeValue(v))
	}
	for _, f := range fields {
		call, ok := f.Value.(Fields)
		if !ok || len(call) != 1 || !isAggregate(call[0].Name) {
			return badAggregate("aggregate %s is count, sum, avg, min or max of something, found %s", Quote(f.Name), describeValue(f.Value))
		}
		args, ok := call[0].Value.([]any)
		g := Aggregate{Name: f.Name, Function: AggregateFunction(call[0].Name)}
		if !ok || len(args) > 1 || len(args) == 0 && g.Function != CountOf {
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

func (p filterParser) parseAggregateArgument(f AggregateFunction, v any) (*Expr, error) {
	e, err := p.parseColumn(string(f), v)
	if err != nil {
		return nil, err
	}
	switch f {
	case SumOf, AvgOf:
		return numberArgument(string(f), operand{expr: e})
	case MinOf, MaxOf:
		if e.Type.JSON() {
			return nil, badAggregate("%s has no order: there is no %s of it", describeOperand(operand{expr: e}), f)
		}
	}
	return e, nil
}

// sortBy reads the order of the rows, which refers to values by name.
func (a *Aggregation) sortBy(v any) error {
	order, ok := v.(Fields)
	if !ok {
		return badSort(`sort takes an object such as {"n": -1}, found %s`, describeValue(v))
	}
	for _, f := range order {
		at := slices.Index(a.Names(), f.Name)
		n, ok := castInt(f.Value)
		if at < 0 || !ok || n != 1 && n != -1 {
			return badSort("the order of an aggregation names its fields and aggregates, with 1 or -1, found %s: %s", Quote(f.Name), describeValue(f.Value))
		}
		a.Sort = append(a.Sort, RowSort{at, n < 0})
	}
	return nil
}
