package engine

import (
	"context"
)

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

// Mentions sets m.Unknown if the value is stored, because it is not known how such a
// value was computed. Only an account that may read everything can see it.
func (f KeepValue) Mentions(m *Mentions, _ func(string) (*Class, error)) {
	m.Unknown = m.Unknown || f.Cached
}

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

// Mentions collects the inputs of a value. If one of the inputs is hidden from an account, the value must be hidden
// too. The zero value is ready for use.
type Mentions struct {
	Values  map[*Property]bool // properties whose stored values are inputs
	Shown   map[*Property]bool // properties whose displayed values (Item.Display) are inputs
	Display map[*Class]bool    // classes of items whose display strings are inputs
	Gives   map[*Class]bool    // classes of items that can be the value itself
	Looked  map[*Class]bool    // classes of items that a query finds, in contrast to items that a reference points at
	Names   map[string]bool    // attributes of items of a class that is not known in advance
	Unknown bool               // there are further inputs that cannot be determined
}

// Mentioner is a Formula that reports the inputs of its value.
type Mentioner interface {
	// Mentions adds the inputs to m. find is MetaRepository.Class.
	Mentions(m *Mentions, find func(name string) (*Class, error))
}

// Value adds properties whose stored values are inputs.
func (m *Mentions) Value(path ...*Property) { m.Values = addNoted(m.Values, path...) }

// ShownValue adds a property whose displayed value is an input.
func (m *Mentions) ShownValue(p *Property) { m.Shown = addNoted(m.Shown, p) }

// DisplayOf adds a class of items whose display strings are inputs.
func (m *Mentions) DisplayOf(c *Class) { m.Display = addNoted(m.Display, c) }

// Give adds a class of items that can be the value itself.
func (m *Mentions) Give(c *Class) { m.Gives = addNoted(m.Gives, c) }

// Look adds a class of items that a query finds.
func (m *Mentions) Look(c *Class) { m.Looked = addNoted(m.Looked, c) }

// Name adds an attribute of items of an unknown class.
func (m *Mentions) Name(name string) { m.Names = addNoted(m.Names, name) }

func addNoted[T string | *Property | *Class](noted map[T]bool, more ...T) map[T]bool {
	if noted == nil {
		noted = map[T]bool{}
	}
	for _, v := range more {
		noted[v] = true
	}
	return noted
}

// Formula adds the inputs of f, which may be nil. If f is not a Mentioner, it
// adds only the paths that f needs to have loaded.
func (m *Mentions) Formula(f Formula, find func(name string) (*Class, error)) {
	switch f := f.(type) {
	case nil:
	case Mentioner:
		f.Mentions(m, find)
	default:
		for _, path := range f.Needs() {
			m.Value(path...)
		}
	}
}

// Semantic adds the inputs of a display string; s may be nil.
func (m *Mentions) Semantic(s *Semantic) {
	if s == nil {
		return
	}
	for _, p := range s.pieces {
		if last := len(p.path) - 1; last >= 0 {
			m.Value(p.path[:last]...)
			m.ShownValue(p.path[last])
		}
	}
}

// Semantics adds the inputs of the display string of c's own items, unless a
// formula computes it.
func (m *Mentions) Semantics(c *Class) { m.Semantic(c.semantic) }

// Condition adds the inputs of a filter; f may be nil.
func (m *Mentions) Condition(f *Filter) {
	if f == nil {
		return
	}
	m.Unknown = m.Unknown || f.Op == OpSearch
	m.addExpr(f.Left)
	m.addExpr(f.Right)
	for _, a := range f.Args {
		m.Condition(a)
	}
}

func (m *Mentions) addExpr(e *Expr) {
	if e == nil {
		return
	}
	m.Value(e.Path...)
	for _, a := range e.Args {
		m.addExpr(a)
	}
	for _, c := range e.Conds {
		m.Condition(c)
	}
}
