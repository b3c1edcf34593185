package layout

import (
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/inputs"
)

// caching describes the cached attributes that must be computed again after a write of an item of a class.
type caching struct {
	Cached       []*engine.Property // cached attributes of the item itself
	Dependencies []dependency
	Watched      bool // the class or a descendant has dependencies
	Any          bool // the class or a descendant has dependencies or cached attributes
}

// dependency is a path of references or collections. The items at the end of the path have cached attributes that
// depend on the item at its beginning.
type dependency struct {
	Load *engine.Load
	Path []string // names of the properties of Load
}

// NeedsRecache reports whether cached attributes must be computed again after an item of the class was written.
func (p *Plan) NeedsRecache() bool { return len(p.Caching.Cached) > 0 || p.AffectsOthers() }

// AffectsOthers reports whether cached attributes of other items depend on items of the class. If so, a write must
// know the previous values of the item.
func (p *Plan) AffectsOthers() bool { return len(p.Caching.Dependencies) > 0 }

// layOutCaching sets the fields for calculated attributes in all plans. It ignores paths that do not exist, because
// the reader of the class files has already reported them.
func (s *Layout) layOutCaching() {
	s.RowsRead = inputs.RowsRead(s.cfg.Classes)
	for c, p := range s.Plans {
		p.Computed = needsCompute(c)
		s.Computing = s.Computing || p.Computed
		for _, property := range c.Properties {
			if property.Formula != nil && property.Cached {
				p.Caching.Cached = append(p.Caching.Cached, property)
			}
		}
		for _, names := range c.Dependencies {
			if load := pathLoad(c, names); load != nil {
				p.Caching.Dependencies = append(p.Caching.Dependencies, dependency{load, names})
			}
		}
	}
	for c, p := range s.Plans {
		for _, d := range append([]*engine.Class{c}, c.Descendants...) {
			if at := s.Plans[d]; at != nil {
				p.Caching.Watched = p.Caching.Watched || at.AffectsOthers()
				p.Caching.Any = p.Caching.Any || at.NeedsRecache()
			}
			p.Several = p.Several || s.looksUp(d)
			p.CachedBelow = p.CachedBelow || slices.ContainsFunc(d.Properties, func(property *engine.Property) bool { return len(s.RowsRead[property]) > 0 })
		}
	}
}

// pathLoad returns the Load for a path of property names, or nil if the path does not exist.
func pathLoad(c *engine.Class, names []string) *engine.Load {
	if len(names) == 0 || c == nil {
		return nil
	}
	p := c.Property(names[0])
	if p == nil || p.Target == nil {
		return nil
	}
	load := &engine.Load{Property: p}
	if len(names) > 1 {
		next := pathLoad(p.Target, names[1:])
		if next == nil {
			return nil
		}
		load.Next = []*engine.Load{next}
	}
	return load
}

// needsMore reports whether reading items of the class requires more than their rows: related items or a computation.
func needsMore(c *engine.Class) bool {
	return len(c.Needs()) > 0 || needsCompute(c)
}

// needsCompute reports whether reading an item of the class requires a computation.
func needsCompute(c *engine.Class) bool {
	return c.Label != nil || slices.ContainsFunc(c.Properties, func(p *engine.Property) bool {
		return p.Formula != nil && !p.Cached || hasConditions(p.Selection)
	})
}

// looksUp reports whether reading items of the class requires further statements besides the statement that reads
// their rows.
func (s *Layout) looksUp(c *engine.Class) bool {
	formulas := []engine.Formula{c.Label}
	for _, p := range c.Properties {
		if !p.Cached {
			formulas = append(formulas, p.Formula)
		}
		if hasConditions(p.Selection) {
			for _, row := range p.Selection.Rows {
				formulas = append(formulas, row.Condition)
			}
		}
	}
	var m inputs.Set
	for _, f := range formulas {
		if f != nil && !inputs.Known(f) {
			return true
		}
		m.AddFormula(f, s.ClassNamed)
	}
	return len(c.Needs()) > 0 || len(m.Looked) > 0 || len(m.Gives) > 0 || m.Unknown
}

// hasConditions reports whether the labels of a selection depend on the item.
func hasConditions(s *engine.Selection) bool {
	return s != nil && slices.ContainsFunc(s.Rows, func(r engine.SelectionRow) bool { return r.Condition != nil })
}

// ClassNamed returns the class with a name that is used in a formula. It does not return system classes such as
// accounts, because formulas cannot read them.
func (s *Layout) ClassNamed(name string) (*engine.Class, error) {
	for _, c := range s.cfg.Classes {
		if c.FullName == name && !strings.HasPrefix(name, "#") {
			return c, nil
		}
	}
	return nil, engine.NoClass(name)
}
