package engine

// Mentions collects the inputs of a value, so that the value can be hidden from
// an account from which one of them is hidden. The zero value is ready for use.
type Mentions struct {
	Values  map[*Property]bool // properties that give the value as stored
	Shown   map[*Property]bool // properties that give the value as displayed (Item.Display)
	Display map[*Class]bool    // classes of items that give it by their display strings
	Gives   map[*Class]bool    // classes of items that can be the value itself
	Looked  map[*Class]bool    // classes of items that a query looks up, in contrast to a reference
	Names   map[string]bool    // attributes of items of a class that is not known in advance
	Unknown bool               // there are further inputs that cannot be determined
}

// Mentioner is a Formula that reports the inputs of its value.
type Mentioner interface {
	// Mentions adds the inputs to m. find is MetaRepository.Class.
	Mentions(m *Mentions, find func(name string) (*Class, error))
}

// Value adds properties that are inputs as stored.
func (m *Mentions) Value(path ...*Property) { m.Values = addNoted(m.Values, path...) }

// ShownValue adds a property that is an input as displayed.
func (m *Mentions) ShownValue(p *Property) { m.Shown = addNoted(m.Shown, p) }

// DisplayOf adds a class; the display strings of its items are inputs.
func (m *Mentions) DisplayOf(c *Class) { m.Display = addNoted(m.Display, c) }

// Give adds a class of items that can be the value itself.
func (m *Mentions) Give(c *Class) { m.Gives = addNoted(m.Gives, c) }

// Look adds a class of items that are looked up.
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
