package engine

import (
	"slices"
)

// Op is an operator of a filter or an expression. If the function-style filter
// language has the operator, it has the same name there.
type Op string

// The operators of filters. A condition is either true or false, even for null:
// eq null matches null, ne is the negation of eq, and comparisons of order with
// null are false. A condition on a path through a collection is true if it is
// true for any member. Paths that begin with the same collection refer to the
// same member.
const (
	OpAnd      Op = "and" // all Args are true
	OpOr       Op = "or"  // any of Args is true
	OpNot      Op = "not" // all Args are false
	OpEq       Op = "eq"  // compares Left with Right, as the next five do; null is equal to null
	OpNe       Op = "ne"
	OpLt       Op = "lt"
	OpLte      Op = "lte"
	OpGt       Op = "gt"
	OpGte      Op = "gte"
	OpIn       Op = "in"       // List contains Left
	OpHas      Op = "has"      // Left, a set, contains an element of List, which is decoded JSON
	OpLike     Op = "like"     // Pattern, an RE2 expression, matches a part of Left
	OpIncludes Op = "includes" // Left contains the text of Right; letter case does not matter
	OpContains Op = "contains" // Left, a collection, has a member that matches Args[0], or any member without Args
	OpEmpty    Op = "empty"    // Left is null, "" or a set without elements
	OpSearch   Op = "match"    // a search for the words of Pattern finds the item, as with Query.Search
	OpReached  Op = "reached"  // the item is in one of the states of List in the workflow Pattern; only for Staged classes
	OpConst    Op = "const"    // the same result for every item: Value
	OpOwner    Op = "owner"    // a condition with values of the owner of a collection; see Filter.ForOwner
)

// Filter is a condition on an item. It has been checked against its class: every
// property exists, and every value has the type of its property.
type Filter struct {
	Op          Op
	Args        []*Filter
	Left, Right *Expr
	List        []any
	Pattern     string
	Value       bool

	Deferred OwnerCondition // for OpOwner
}

// And joins conditions and ignores nil. It returns nil if there are no
// conditions.
func And(filters ...*Filter) *Filter {
	var args []*Filter
	for _, f := range filters {
		if f != nil {
			args = append(args, f)
		}
	}
	if len(args) < 2 {
		if len(args) == 0 {
			return nil
		}
		return args[0]
	}
	return &Filter{Op: OpAnd, Args: args}
}

// Not returns a filter that matches an item if none of the filters matches it.
func Not(filters ...*Filter) *Filter { return &Filter{Op: OpNot, Args: filters} }

// Never returns the filter that does not match any item.
func Never() *Filter { return &Filter{Op: OpConst} }

// Never reports whether it is known, without reading data, that the filter matches
// no item.
func (f *Filter) Never() bool { return f != nil && f.Op == OpConst && !f.Value }

// Always reports whether it is known, without reading data, that the filter matches
// every item. A nil filter does.
func (f *Filter) Always() bool { return f == nil || f.Op == OpConst && f.Value }

// Either returns a filter that is true if any of the conditions is true, and
// Never if there are no conditions. It omits conditions that are known to be
// false.
func Either(conditions ...*Filter) *Filter {
	var args []*Filter
	for _, f := range conditions {
		switch {
		case f.Always():
			return nil
		case !f.Never():
			args = append(args, f)
		}
	}
	switch len(args) {
	case 0:
		return Never()
	case 1:
		return args[0]
	}
	return &Filter{Op: OpOr, Args: args}
}

// Both returns a filter that is true if all conditions are true. It omits
// conditions that are known to be true.
func Both(conditions ...*Filter) *Filter {
	var args []*Filter
	for _, f := range conditions {
		switch {
		case f.Never():
			return f
		case !f.Always():
			args = append(args, f)
		}
	}
	return And(args...)
}

// OwnerCondition is a condition on members of a collection. It compares a property of the
// members with values of the owner, which is the item that has the collection. When the
// owner is known, its values are cast to the type of the property.
type OwnerCondition interface {
	// ForOwner returns the condition on the members for the given owner.
	ForOwner(it *Item) *Filter
}

// Owned reports whether the filter uses values of the owner of a collection. Such a
// filter cannot be used before ForOwner.
func (f *Filter) Owned() bool {
	return f != nil && (f.Op == OpOwner || f.Left.isOwned() || f.Right.isOwned() || slices.ContainsFunc(f.Args, (*Filter).Owned))
}

func (e *Expr) isOwned() bool {
	return e != nil && (e.Op == OpOwner || slices.ContainsFunc(e.Args, (*Expr).isOwned) || slices.ContainsFunc(e.Conds, (*Filter).Owned))
}

// OwnerProperties returns the attributes of the owner that the filter uses.
func (f *Filter) OwnerProperties() []*Property {
	var all []*Property
	var filter func(f *Filter)
	var expr func(e *Expr)
	expr = func(e *Expr) {
		if e == nil {
			return
		}
		if e.Op == OpOwner && len(e.Path) > 0 && !slices.Contains(all, e.Path[0]) {
			all = append(all, e.Path[0])
		}
		for _, a := range e.Args {
			expr(a)
		}
		for _, c := range e.Conds {
			filter(c)
		}
	}
	filter = func(f *Filter) {
		if f == nil {
			return
		}
		expr(f.Left)
		expr(f.Right)
		for _, a := range f.Args {
			filter(a)
		}
	}
	filter(f)
	return all
}

// ForOwner returns the filter to use for the collection of item it: values of the item replace the variables of the
// filter. If a value cannot be cast to the type of the property that it is compared with, the two are not equal.
func (f *Filter) ForOwner(it *Item) *Filter {
	if !f.Owned() {
		return f
	}
	if f.Op == OpOwner {
		return f.Deferred.ForOwner(it)
	}
	filled := *f
	filled.Left, filled.Right = f.Left.ForOwner(it), f.Right.ForOwner(it)
	filled.Args = make([]*Filter, len(f.Args))
	for i, a := range f.Args {
		filled.Args[i] = a.ForOwner(it)
	}
	return &filled
}

// ForOwner returns the expression to use for the collection of item it: constants replace the values of the owner.
func (e *Expr) ForOwner(it *Item) *Expr {
	if !e.isOwned() {
		return e
	}
	if e.Op == OpOwner {
		typed := *e.Path[0]
		typed.Type = e.Type
		v, err := typed.Cast(it.OwnerValue(e.Path[0]))
		if err != nil {
			v = nil
		}
		return Constant(e.Type, v)
	}
	filled := *e
	filled.Args = make([]*Expr, len(e.Args))
	for i, a := range e.Args {
		filled.Args[i] = a.ForOwner(it)
	}
	filled.Conds = make([]*Filter, len(e.Conds))
	for i, c := range e.Conds {
		filled.Conds[i] = c.ForOwner(it)
	}
	return &filled
}

// OwnerValue returns the value of a property for an item. The class of the item is that of
// the property or a descendant of it.
func (it *Item) OwnerValue(p *Property) any {
	own := it.Class.Property(p.Name)
	if own == nil || own.Index >= len(it.Values) {
		return nil
	}
	switch v := it.Values[own.Index].(type) {
	case nil, bool, string, int64, float64, Decimal, Instant, JSONText:
		return v
	}
	return nil
}
