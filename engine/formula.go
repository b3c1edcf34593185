package engine

import "context"

// Formula computes a value from an item: a calculated attribute, a default, a
// display string or a condition. Package engine/formula makes them from class
// files. A Formula is safe for concurrent use.
type Formula interface {
	// Needs lists the paths that must be loaded before Eval. A path consists of
	// references and collections, and may end with a property.
	Needs() [][]*Property

	// Eval computes the value for an item. Everything in Needs must be loaded. It returns
	// an element of Values of any type (the caller casts it), a decoded JSON value, an
	// *Item or a []*Item. The error is Invalid if the arguments do not fit the function.
	Eval(ctx context.Context, it *Item, data FormulaData) (any, error)
}

// KeepValue is the Formula of an attribute whose formula cannot be compiled. The
// value is null or, if the attribute is cached, the stored or imported value.
type KeepValue struct{ Cached bool }

// Kept reports whether values of the property are stored as they are imported, because
// its formula cannot be compiled. Clients cannot write them.
func (p *Property) Kept() bool {
	_, kept := p.Formula.(KeepValue)
	return kept && p.Stored()
}

// String returns a description of the formula.
func (KeepValue) String() string { return "(kept)" }

// Needs returns nil.
func (KeepValue) Needs() [][]*Property { return nil }

// Eval is called only for collections, which are then empty.
func (KeepValue) Eval(context.Context, *Item, FormulaData) (any, error) { return nil, nil }

// Loads returns the references and collections that a formula needs. Load.Shown is false
// in all of them.
func Loads(f Formula) []*Load {
	var loads []*Load
	for _, path := range f.Needs() {
		loads = addPath(loads, path)
	}
	return loads
}

// FormulaData gives formulas access to data outside their item. It is valid only during
// one Eval.
type FormulaData interface {
	// Find returns the items that match q.
	Find(ctx context.Context, q *Query) ([]*Item, error)
	// Count returns the number of items that match q, without regard to its Offset and
	// Count.
	Count(ctx context.Context, q *Query) (int64, error)
	// Next increments a named counter and returns it; the first is 1.
	Next(ctx context.Context, counter string) (int64, error)
	// Class returns the class with that full name.
	Class(name string) (*Class, error)
	// Now returns the time of the request.
	Now() Instant
}
