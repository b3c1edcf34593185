package engine

import "slices"

// Query selects items of a class and their order.
type Query struct {
	Class  *Class    // items of this class and its descendants
	Filter *Filter   // nil for all
	Sort   []Sort    // ties are in insertion order
	Offset int       // number of items to skip
	Count  int       // maximum number of items; negative for no limit
	Load   []*Load   // references and collections to load with each item, in addition to the Needs of its class
	Search string    // words to be found in the item; "" for no search
	After  *Position // only items after this position; nil for all
	Exact  bool      // omit items of descendants

	WantPosition bool // fill Item.Position
	Few          bool // the filter matches few items: the database should find them first and then sort them

	// Total, if not nil, is set to the number of items that match the query without
	// regard to Offset, Count and After, at the time at which the items are read.
	Total *int64
}

// Position is a place in a sorted list, directly after an item. It does not move if other
// items are inserted or deleted.
type Position struct {
	Values   []any // one value for each Sort of the query
	Sequence int64 // insertion number of the item
	// Landmarks replace Values and Sequence if there are any. The position is at the first
	// of these items that has not changed since the position was taken. If all of them
	// have changed, a query fails with Invalid.
	Landmarks []Landmark
}

// Clone returns a copy that stays valid after the visit function returns.
func (at Position) Clone() Position {
	at.Values = slices.Clone(at.Values)
	return at
}

// Landmark identifies an item of a sorted list by its insertion number. It holds a hash of the item's values instead
// of the values, because these may be long.
type Landmark struct {
	Sequence int64
	Digest   Digest // hash of the item's values for each Sort of the query
	Ahead    bool   // the position is directly before the item, not after it
}

// Load requests that the target of a reference, or the members of a collection, are loaded with an item. Next lists
// the loads for each of the loaded items.
type Load struct {
	Property *Property // of the item's class or one of its relatives
	Shown    bool      // part of the answer; otherwise loaded only for computations
	Filter   *Filter   // additional condition on the loaded items; nil for all
	Next     []*Load
}

// Sort is one term of a sort order.
type Sort struct {
	Via        []*Property // references that lead to the item with the property; empty for the item itself
	Property   *Property
	Descending bool
}

// Path returns Via followed by Property.
func (s Sort) Path() []*Property {
	return append(append([]*Property(nil), s.Via...), s.Property)
}

// Digest is a hash of values of an item.
type Digest [16]byte

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
