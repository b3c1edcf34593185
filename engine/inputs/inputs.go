// Package inputs finds the inputs of computed values. A formula, a display string or a condition
// reads attributes, and perhaps other items. An account that may not read one of these inputs
// must not see the computed value either.
package inputs

import "restsrv/engine"

// Set is the set of inputs of a value. If one of the inputs is hidden from an account, the value must be hidden
// too. The zero value is ready for use.
type Set struct {
	Values  map[*engine.Property]bool // properties with a stored value that is an input
	Shown   map[*engine.Property]bool // properties with a displayed value (Item.Display) that is an input
	Display map[*engine.Class]bool    // classes of items with a display string that is an input
	Gives   map[*engine.Class]bool    // classes of items that can be the value itself
	Looked  map[*engine.Class]bool    // classes of items that a query finds, in contrast to items that a reference points at
	Names   map[string]bool           // attributes of items of a class that is not known in advance
	Unknown bool                      // there are further inputs that cannot be determined
}

// Reporter is a Formula that reports the inputs of its value.
type Reporter interface {
	// ReportInputs adds the inputs to in. find is MetaRepository.Class.
	ReportInputs(in *Set, find func(name string) (*engine.Class, error))
}

// Known reports whether AddFormula can determine the inputs of f. If it cannot, AddFormula adds
// only the paths that must be loaded for f.
func Known(f engine.Formula) bool {
	switch f.(type) {
	case Reporter, engine.KeepValue:
		return true
	}
	return false
}

// AddValue adds properties. It is used if the stored values are inputs.
func (in *Set) AddValue(path ...*engine.Property) { in.Values = addNoted(in.Values, path...) }

// AddShown adds a property. It is used if the displayed value is an input.
func (in *Set) AddShown(p *engine.Property) { in.Shown = addNoted(in.Shown, p) }

// AddDisplay adds a class of items. It is used if the display strings of the items are inputs.
func (in *Set) AddDisplay(c *engine.Class) { in.Display = addNoted(in.Display, c) }

// AddGiven adds a class of items that can be the value itself.
func (in *Set) AddGiven(c *engine.Class) { in.Gives = addNoted(in.Gives, c) }

// AddLooked adds a class of items that a query finds.
func (in *Set) AddLooked(c *engine.Class) { in.Looked = addNoted(in.Looked, c) }

// AddName adds an attribute of items of an unknown class.
func (in *Set) AddName(name string) { in.Names = addNoted(in.Names, name) }

func addNoted[T string | *engine.Property | *engine.Class](noted map[T]bool, more ...T) map[T]bool {
	if noted == nil {
		noted = map[T]bool{}
	}
	for _, v := range more {
		noted[v] = true
	}
	return noted
}

// AddFormula adds the inputs of f, which may be nil. If f is a cached KeepValue, its
// inputs are unknown, so only an account that may read everything can see the value.
func (in *Set) AddFormula(f engine.Formula, find func(name string) (*engine.Class, error)) {
	switch f := f.(type) {
	case nil:
	case engine.KeepValue:
		in.Unknown = in.Unknown || f.Cached
	case Reporter:
		f.ReportInputs(in, find)
	default:
		for _, path := range f.Needs() {
			in.AddValue(path...)
		}
	}
}

// AddSemantic adds the inputs of a display string; s may be nil.
func (in *Set) AddSemantic(s *engine.Semantic) {
	for path := range s.Paths() {
		last := len(path) - 1
		in.AddValue(path[:last]...)
		in.AddShown(path[last])
	}
}

// AddDisplayString adds the inputs of the display string of c's own items, unless a
// formula computes it.
func (in *Set) AddDisplayString(c *engine.Class) { in.AddSemantic(c.DisplayString()) }

// AddCondition adds the inputs of a filter; f may be nil.
func (in *Set) AddCondition(f *engine.Filter) {
	if f == nil {
		return
	}
	in.Unknown = in.Unknown || f.Op == engine.OpSearch
	in.addExpr(f.Left)
	in.addExpr(f.Right)
	for _, a := range f.Args {
		in.AddCondition(a)
	}
}

func (in *Set) addExpr(e *engine.Expr) {
	if e == nil {
		return
	}
	in.AddValue(e.Path...)
	for _, a := range e.Args {
		in.addExpr(a)
	}
	for _, c := range e.Conds {
		in.AddCondition(c)
	}
}
