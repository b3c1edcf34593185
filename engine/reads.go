package engine

import (
	"slices"
	"strings"
)

// RowsRead returns from which other items the stored values of cached attributes were computed. For each cached
// attribute, the result has the classes of these items. An account that may not read all of them must not see the
// value. RowsRead follows formulas, display strings and collections to other attributes. An attribute that is
// computed from its own item alone is not in the result. Collections and virtual references are in the result if a
// cached attribute is their Back or Binding, because their members depend on its value. classes are all classes of
// the application.
func RowsRead(classes []*Class) map[*Property][]*Class {
	isCached := func(p *Property) bool { return p.Formula != nil && p.Cached }
	if !slices.ContainsFunc(classes, func(c *Class) bool { return slices.ContainsFunc(c.Properties, isCached) }) {
		return nil
	}
	all := newRowReader(classes)
	found := map[*Property][]*Class{}
	for _, c := range classes {
		for _, p := range c.Properties {
			for _, cached := range [...]*Property{p, p.Back, p.Binding} {
				if cached == nil || !isCached(cached) {
					continue
				}
				if rows := all.classesOf(cached); len(rows) > 0 {
					found[p] = append(slices.Clip(found[p]), rows...)
				}
			}
		}
	}
	return found
}

// rowReader finds the classes of the items from which values are computed.
type rowReader struct {
	classes []*Class
	byName  map[string]*Class
	named   map[string][]*Property
	same    map[*Property]*[]*Property // the properties of an attribute in all classes that have it

	// State of the search for one attribute.
	values, displayed map[*Property]bool
	displays          map[*Class]bool
	rows              []*Class
	unknown           bool // the items may be of any class
}

func newRowReader(classes []*Class) *rowReader {
	r := &rowReader{classes: classes, byName: map[string]*Class{}, named: map[string][]*Property{}, same: map[*Property]*[]*Property{}}
	for _, c := range classes {
		r.byName[c.FullName] = c
		for _, p := range c.Properties {
			r.named[p.Name] = append(r.named[p.Name], p)
			r.joinAttribute(c, p)
		}
	}
	return r
}

// joinAttribute records that a property of c and the property with that name in its
// ancestors are the same attribute. It returns the list of these properties.
func (r *rowReader) joinAttribute(c *Class, p *Property) *[]*Property {
	if all := r.same[p]; all != nil {
		return all
	}
	var all *[]*Property
	if c.Ancestor != nil {
		if above := c.Ancestor.Property(p.Name); above != nil {
			all = r.joinAttribute(c.Ancestor, above)
		}
	}
	if all == nil {
		all = new([]*Property)
	}
	*all = append(*all, p)
	r.same[p] = all
	return all
}

// classesOf returns the classes of the items from which the value of a property is
// computed.
func (r *rowReader) classesOf(p *Property) []*Class {
	r.values, r.displayed, r.displays = map[*Property]bool{}, map[*Property]bool{}, map[*Class]bool{}
	r.rows, r.unknown = nil, false
	r.addValue(p)
	if !r.unknown {
		return r.rows
	}
	var roots []*Class
	for _, c := range r.classes {
		if c.Ancestor == nil && !strings.HasPrefix(c.FullName, "#") { // formulas cannot read the server's own
			roots = append(roots, c)
		}
	}
	return roots
}

func (r *rowReader) findClass(name string) (*Class, error) {
	if c := r.byName[name]; c != nil {
		return c, nil
	}
	return nil, NoClass(name)
}

// addClass adds a class to the result.
func (r *rowReader) addClass(c *Class) {
	if c = c.Base(); c != nil && !slices.Contains(r.rows, c) {
		r.rows = append(r.rows, c)
	}
}

// addValue adds the classes from which the value of an attribute is computed.
func (r *rowReader) addValue(p *Property) {
	all := r.same[p]
	if all == nil { // not an attribute, for example ItemID
		return
	}
	for _, p := range *all {
		if r.values[p] {
			continue
		}
		r.values[p] = true
		var m Mentions
		m.Formula(p.Formula, r.findClass)
		m.Condition(p.Conditions)
		for _, by := range p.Sorting {
			m.Value(by.Path()...)
		}
		r.addMentioned(&m)
		for _, links := range [...]*Property{p.Back, p.Mirror, p.Binding} { // these describe the same links as p, so they are inputs too
			if links != nil {
				r.addValue(links)
			}
		}
	}
}

// addDisplayed adds the classes from which the displayed value of an attribute is
// computed: its label, or the display string of the items to which it refers.
func (r *rowReader) addDisplayed(p *Property) {
	r.addValue(p)
	all := r.same[p]
	if all == nil {
		return
	}
	for _, p := range *all {
		if r.displayed[p] {
			continue
		}
		r.displayed[p] = true
		var m Mentions
		if p.Selection != nil {
			for _, row := range p.Selection.Rows {
				m.Formula(row.Condition, r.findClass)
			}
		}
		m.Semantic(p.Display)
		if p.Target != nil {
			r.addClass(p.Target)
			if p.Display == nil {
				m.DisplayOf(p.Target)
			}
		}
		r.addMentioned(&m)
	}
}

// addDisplayStrings adds the classes whose items are read to compute display strings. The display strings are those
// of items of c and of its descendants.
func (r *rowReader) addDisplayStrings(c *Class) {
	for _, c := range Family(c.Base()) {
		if r.displays[c] {
			continue
		}
		r.displays[c] = true
		var m Mentions
		m.Semantics(c)
		m.Formula(c.Label, r.findClass)
		for given := range m.Gives {
			m.DisplayOf(given)
		}
		r.addMentioned(&m)
	}
}

// addMentioned adds the classes of all inputs of a formula. They include the target of
// a reference or a collection, because the formula may read its items.
func (r *rowReader) addMentioned(m *Mentions) {
	for p := range m.Values {
		if p.Target != nil {
			r.addClass(p.Target)
		}
		r.addValue(p)
	}
	for p := range m.Shown {
		r.addDisplayed(p)
	}
	for c := range m.Display {
		r.addDisplayStrings(c)
	}
	for c := range m.Looked {
		r.addClass(c)
	}
	for c := range m.Gives {
		r.addClass(c)
	}
	for name := range m.Names {
		for _, p := range r.named[name] {
			r.addDisplayed(p)
		}
	}
	r.unknown = r.unknown || m.Unknown
}
