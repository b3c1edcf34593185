package inputs

import (
	"slices"
	"strings"

	"restsrv/engine"
)

// RowsRead returns the cached attributes with stored values that were computed from other items,
// each with the classes of these items. If an account may not read all items of these classes, it
// must not see the value. RowsRead follows formulas, display strings and collections to other
// attributes. If an attribute is computed from its own item alone, it is not in the result. If a
// cached attribute is the Back or Binding of a collection or a virtual reference, this property is
// in the result too, because its members depend on the value of the attribute. classes are all
// classes of the application.
func RowsRead(classes []*engine.Class) map[*engine.Property][]*engine.Class {
	isCached := func(p *engine.Property) bool { return p.Formula != nil && p.Cached }
	if !slices.ContainsFunc(classes, func(c *engine.Class) bool { return slices.ContainsFunc(c.Properties, isCached) }) {
		return nil
	}
	all := newRowReader(classes)
	found := map[*engine.Property][]*engine.Class{}
	for _, c := range classes {
		for _, p := range c.Properties {
			for _, cached := range [...]*engine.Property{p, p.Back, p.Binding} {
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
	classes []*engine.Class
	byName  map[string]*engine.Class
	named   map[string][]*engine.Property
	same    map[*engine.Property]*[]*engine.Property // the properties of an attribute in all classes that have it

	// State of the search for one attribute.
	values, displayed map[*engine.Property]bool
	displays          map[*engine.Class]bool
	rows              []*engine.Class
	unknown           bool // the items may be of any class
}

func newRowReader(classes []*engine.Class) *rowReader {
	r := &rowReader{classes: classes, byName: map[string]*engine.Class{}, named: map[string][]*engine.Property{}, same: map[*engine.Property]*[]*engine.Property{}}
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
func (r *rowReader) joinAttribute(c *engine.Class, p *engine.Property) *[]*engine.Property {
	if all := r.same[p]; all != nil {
		return all
	}
	var all *[]*engine.Property
	if c.Ancestor != nil {
		if above := c.Ancestor.Property(p.Name); above != nil {
			all = r.joinAttribute(c.Ancestor, above)
		}
	}
	if all == nil {
		all = new([]*engine.Property)
	}
	*all = append(*all, p)
	r.same[p] = all
	return all
}

// classesOf returns the classes of the items from which the value of a property is
// computed.
func (r *rowReader) classesOf(p *engine.Property) []*engine.Class {
	r.values, r.displayed, r.displays = map[*engine.Property]bool{}, map[*engine.Property]bool{}, map[*engine.Class]bool{}
	r.rows, r.unknown = nil, false
	r.addValue(p)
	if !r.unknown {
		return r.rows
	}
	var roots []*engine.Class
	for _, c := range r.classes {
		if c.Ancestor == nil && !strings.HasPrefix(c.FullName, "#") { // formulas cannot read the server's own
			roots = append(roots, c)
		}
	}
	return roots
}

func (r *rowReader) findClass(name string) (*engine.Class, error) {
	if c := r.byName[name]; c != nil {
		return c, nil
	}
	return nil, engine.NoClass(name)
}

// addClass adds a class to the result.
func (r *rowReader) addClass(c *engine.Class) {
	if c = c.Base(); c != nil && !slices.Contains(r.rows, c) {
		r.rows = append(r.rows, c)
	}
}

// addValue adds the classes from which the value of an attribute is computed.
func (r *rowReader) addValue(p *engine.Property) {
	all := r.same[p]
	if all == nil { // not an attribute, for example ItemID
		return
	}
	for _, p := range *all {
		if r.values[p] {
			continue
		}
		r.values[p] = true
		var in Set
		in.AddFormula(p.Formula, r.findClass)
		in.AddCondition(p.Conditions)
		for _, by := range p.Sorting {
			in.AddValue(by.Path()...)
		}
		r.addInputs(&in)
		for _, links := range [...]*engine.Property{p.Back, p.Mirror, p.Binding} { // these describe the same links as p, so they are inputs too
			if links != nil {
				r.addValue(links)
			}
		}
	}
}

// addDisplayed adds the classes from which the displayed value of an attribute is
// computed: its label, or the display string of the items to which it refers.
func (r *rowReader) addDisplayed(p *engine.Property) {
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
		var in Set
		if p.Selection != nil {
			for _, row := range p.Selection.Rows {
				in.AddFormula(row.Condition, r.findClass)
			}
		}
		in.AddSemantic(p.Display)
		if p.Target != nil {
			r.addClass(p.Target)
			if p.Display == nil {
				in.AddDisplay(p.Target)
			}
		}
		r.addInputs(&in)
	}
}

// addDisplayStrings adds the classes of the items that are read to compute the display strings of
// items of c and of its descendants.
func (r *rowReader) addDisplayStrings(c *engine.Class) {
	for _, c := range engine.Family(c.Base()) {
		if r.displays[c] {
			continue
		}
		r.displays[c] = true
		var in Set
		in.AddDisplayString(c)
		in.AddFormula(c.Label, r.findClass)
		for given := range in.Gives {
			in.AddDisplay(given)
		}
		r.addInputs(&in)
	}
}

// addInputs adds the classes of all inputs of a formula. They include the target of
// a reference or a collection, because the formula may read its items.
func (r *rowReader) addInputs(in *Set) {
	for p := range in.Values {
		if p.Target != nil {
			r.addClass(p.Target)
		}
		r.addValue(p)
	}
	for p := range in.Shown {
		r.addDisplayed(p)
	}
	for c := range in.Display {
		r.addDisplayStrings(c)
	}
	for c := range in.Looked {
		r.addClass(c)
	}
	for c := range in.Gives {
		r.addClass(c)
	}
	for name := range in.Names {
		for _, p := range r.named[name] {
			r.addDisplayed(p)
		}
	}
	r.unknown = r.unknown || in.Unknown
}
