package engine

// Mentions collects what a value is made of, so that who may not know a part of
// it is not shown the whole. The zero value is ready.
type Mentions struct {
	Values  map[*Property]bool // whose values count
	Shown   map[*Property]bool // whose values count as people read them (Item.Display)
	Display map[*Class]bool    // the display string of whose items counts
	Gives   map[*Class]bool    // the value may be items of these themselves
	Looked  map[*Class]bool    // items of these are looked up by a query, and not through a reference
	Names   map[string]bool    // attributes of items whose class is known only when the value is made
	Unknown bool               // and what else counts cannot be told
}

// Mentioner is a Formula that tells what its value is made of.
type Mentioner interface {
	// Mentions adds to m. find is MetaRepository.Class.
	Mentions(m *Mentions, find func(name string) (*Class, error))
}

// Value adds properties whose values count.
func (m *Mentions) Value(path ...*Property) { m.Values = noting(m.Values, path...) }

// ShownValue adds a property whose value counts as people read it.
func (m *Mentions) ShownValue(p *Property) { m.Shown = noting(m.Shown, p) }

// DisplayOf adds a class the display string of whose items counts.
func (m *Mentions) DisplayOf(c *Class) { m.Display = noting(m.Display, c) }

// Give adds a class of which the value may be an item itself.
func (m *Mentions) Give(c *Class) { m.Gives = noting(m.Gives, c) }

// Look adds a class whose items are looked up.
func (m *Mentions) Look(c *Class) { m.Looked = noting(m.Looked, c) }

// Name adds an attribute of unknown items.
func (m *Mentions) Name(name string) { m.Names = noting(m.Names, name) }

func noting[T string | *Property | *Class](noted map[T]bool, more ...T) map[T]bool {
	if noted == nil {
		noted = map[T]bool{}
	}
	for _, v := range more {
		noted[v] = true
	}
	return noted
}

// Formula adds what the value of f is made of; f may be nil. Of one that is no
// Mentioner only what it needs to have loaded is known.
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

// Semantic adds what a display string shows; s may be nil.
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

// Semantics adds what the display string of c's own items shows, unless it is
// computed.
func (m *Mentions) Semantics(c *Class) { m.Semantic(c.semantic) }

// Condition adds what a filter speaks of; f may be nil.
func (m *Mentions) Condition(f *Filter) {
	if f == nil {
		return
	}
	m.Unknown = m.Unknown || f.Op == OpSearch
	m.expr(f.Left)
	m.expr(f.Right)
	for _, a := range f.Args {
		m.Condition(a)
	}
}

func (m *Mentions) expr(e *Expr) {
	if e == nil {
		return
	}
	m.Value(e.Path...)
	for _, a := range e.Args {
		m.expr(a)
	}
	for _, c := range e.Conds {
		m.Condition(c)
	}
}
