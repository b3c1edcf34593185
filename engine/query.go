package engine

import "slices"

// Query says which items of a class to fetch, and in which order.
type Query struct {
	Class  *Class    // items of this class and of its descendants
	Filter *Filter   // nil for all
	Sort   []Sort    // insertion order ends it in any case
	Offset int       // items to skip
	Count  int       // at most so many items; negative for no limit
	Load   []*Load   // what to load with each item, besides what its class needs
	Search string    // words to be found in the item; "" for none
	After  *Position // only what follows it; nil for all
	Exact  bool      // not the items of descendants

	WantPosition bool // Item.Position is filled
	Few          bool // the filter finds few items: the database should find these first, and then sort them

	// Total, if it is not nil, is set to the number of items that the query finds
	// whatever its Offset, Count and After, at the moment at which the items are read.
	Total *int64
}

// Position is a place in a sorted list: right behind an item. Items that are
// inserted or deleted meanwhile do not move it.
type Position struct {
	Values   []any // one for each Sort of the query
	Sequence int64 // insertion number of the item
	// Landmarks replace Values and Sequence if there are any: the first of these
	// items that has not changed since tells the position. Without such an item, a
	// query fails with Invalid.
	Landmarks []Landmark
}

// Clone returns a copy for later, when the list has gone on to another item.
func (at Position) Clone() Position {
	at.Values = slices.Clone(at.Values)
	return at
}

// Landmark is an item of a sorted list without its values, which may be long.
type Landmark struct {
	Sequence int64
	Digest   Digest // of its values for each Sort of the query
	Ahead    bool   // the position is right before the item, not behind it
}

// Load says to load a reference or a collection of an item, and what to load
// with that.
type Load struct {
	Property *Property // of the item's class, or of one of its relatives
	Shown    bool      // is part of the answer; else it only serves to compute
	Filter   *Filter   // further condition on what is loaded; nil for all
	Next     []*Load
}

// Sort is one term of an order.
type Sort struct {
	Via        []*Property // references that lead to the item whose property it is; none for the item's own
	Property   *Property
	Descending bool
}

// Path is Via and the property.
func (s Sort) Path() []*Property {
	return append(append([]*Property(nil), s.Via...), s.Property)
}
