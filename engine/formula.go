package engine

import "context"

// Formula computes a value from an item: a calculated attribute, a default, a
// display string or a condition. Package engine/formula makes them from class
// files. A Formula is safe for concurrent use.
type Formula interface {
	// Needs lists the paths that must be loaded before Eval: references and
	// collections, then perhaps a property.
	Needs() [][]*Property

	// Eval computes the value for an item, in which everything in Needs is
	// loaded. It returns a value of Values (any type: the caller casts), a
	// decoded JSON value, an *Item or a []*Item. The error is Invalid when the
	// arguments do not suit the function.
	Eval(ctx context.Context, it *Item, data FormulaData) (any, error)
}

// KeepValue is the Formula of an attribute whose own formula cannot be compiled. The
// value stays what it is: null, or what is stored or imported if it is cached.
type KeepValue struct{ Cached bool }

// Kept reports whether values of the property are stored as they are imported,
// because its formula cannot be compiled. Clients do not write them.
func (p *Property) Kept() bool {
	_, kept := p.Formula.(KeepValue)
	return kept && p.Stored()
}

// String says what it does.
func (KeepValue) String() string { return "(kept)" }

// Needs returns nothing.
func (KeepValue) Needs() [][]*Property { return nil }

// Eval is not called but for collections, which have no members then.
func (KeepValue) Eval(context.Context, *Item, FormulaData) (any, error) { return nil, nil }

// Mentions reports that what a stored value was computed from is unknown: only an
// account that may read everything sees it.
func (f KeepValue) Mentions(m *Mentions, _ func(string) (*Class, error)) {
	m.Unknown = m.Unknown || f.Cached
}

// Loads says to load what a formula needs, none of it Shown.
func Loads(f Formula) []*Load {
	var loads []*Load
	for _, path := range f.Needs() {
		loads = addPath(loads, path)
	}
	return loads
}

// FormulaData is what formulas may look up beyond their item. It is only valid
// during one Eval.
type FormulaData interface {
	// Find returns the items that q finds.
	Find(ctx context.Context, q *Query) ([]*Item, error)
	// Count returns how many items q finds, whatever its Offset and Count.
	Count(ctx context.Context, q *Query) (int64, error)
	// Next increments a named counter and returns it; the first is 1.
	Next(ctx context.Context, counter string) (int64, error)
	// Class finds a class by its full name.
	Class(name string) (*Class, error)
	// Now is the time of the request.
	Now() Instant
}
