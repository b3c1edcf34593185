package formula

import (
	"restsrv/engine"
	"restsrv/engine/inputs"
)

// inputSet lists the inputs of a formula that are known at compilation. If an account cannot read one of the inputs,
// the value of the formula is hidden from the account. Attributes of classes that the formula looks up by name are not
// in inputSet, but in program.lookups.
type inputSet struct {
	inputs.Set
	displays []string // classes looked up by name, if display strings of their items may be inputs
	gives    []string // classes looked up by name, if an item of the class may be the value of the formula
}

// bare lists the functions that use only the id if an argument is an item. The display string of the item is then not
// an input of the formula.
var bare = map[string]bool{"eq": true, "ne": true, "lt": true, "lte": true, "gt": true, "gte": true, "in": true,
	"not": true, "empty": true, "nempty": true, "get": true}

// ReportInputs implements inputs.Reporter.
func (p *program) ReportInputs(m *inputs.Set, find func(string) (*engine.Class, error)) {
	for property := range p.inputs.Values {
		m.AddValue(property)
	}
	for property := range p.inputs.Shown {
		m.AddShown(property)
	}
	for c := range p.inputs.Display {
		m.AddDisplay(c)
	}
	for c := range p.inputs.Gives {
		m.AddGiven(c)
	}
	for name := range p.inputs.Names {
		m.AddName(name)
	}
	m.Unknown = m.Unknown || p.inputs.Unknown
	named := func(names []string, note func(*engine.Class)) {
		for _, name := range names {
			if c, err := findClass(p.class, name, find); err == nil {
				note(c)
			}
		}
	}
	named(p.inputs.displays, m.AddDisplay)
	named(p.inputs.gives, m.AddGiven)
	for _, l := range p.lookups {
		l.addInputs(m, p.class, find)
	}
}

// addInputs adds the inputs that a lookup uses. It leaves out attributes that the class does not have, because the
// formula does not read them. of is the class to which the formula belongs.
func (l lookup) addInputs(m *inputs.Set, of *engine.Class, find func(string) (*engine.Class, error)) {
	c, err := findClass(of, l.class, find)
	if err != nil {
		return
	}
	m.AddLooked(c)
	for _, name := range l.attributes {
		found, err := resolvePath(c, name)
		if err != nil {
			continue
		}
		found.addInputs(m, c, true)
	}
}

// addInputs adds the attributes that a path reads, starting at items of class c. If textual is true, an item at the
// end of the path may be converted to text, so the display string of the item is an input too.
func (p *path) addInputs(m *inputs.Set, c *engine.Class, textual bool) {
	end, last := c, len(p.props)-1
	for _, property := range p.props {
		m.AddValue(property)
		end = property.Target
	}
	switch {
	case p.system != "":
		addEnvelope(m, end, p.system)
	case p.display:
		m.AddShown(p.props[last])
	case end != nil && textual:
		m.AddShown(p.props[last])
		m.AddDisplay(end)
	}
}

// addEnvelope adds the inputs of a name such as _creator, which is not an attribute but exists for all items of
// class c.
func addEnvelope(m *inputs.Set, c *engine.Class, name string) {
	tracker := func(c *engine.Class, attribute string) {
		if p := c.Property(attribute); p != nil {
			m.AddValue(p)
		}
	}
	switch name {
	case "__string":
		m.AddDisplay(c)
	case "_creator":
		tracker(c, c.CreatorTracker)
	case "_editor":
		tracker(c, c.EditorTracker)
	}
}

// use describes how the value of an expression is used. In the zero value, an item may be converted to text.
type use struct {
	bare bool // only the id of the item is used
	top  bool // the value of the expression is the value of the whole formula
}

// addUnknown adds the names of a path as inputs. It is used if the class of the items at which the path starts is
// not known at compilation.
func addUnknown(m *inputs.Set, names []string) {
	for i, name := range names {
		m.AddName(name)
		if i+1 < len(names) {
			m.AddName(name + "$" + names[i+1]) // a part of a struct
		}
		m.Unknown = m.Unknown || name == "__string" || name == "_creator" || name == "_editor"
	}
}

// addGet adds the inputs of a call of get. u describes how the formula uses the item that get returns.
func (b *compiler) addGet(args []node, u use) {
	class, ok := args[0].literal.(string)
	if !ok {
		b.inputs.Unknown = b.inputs.Unknown || args[0].items == nil
		return
	}
	for i := 1; i+1 < len(args); i += 2 {
		_, fixed := args[i].literal.(string)
		b.inputs.Unknown = b.inputs.Unknown || !fixed
	}
	switch {
	case u.top:
		b.inputs.gives = append(b.inputs.gives, class)
	case !u.bare:
		b.inputs.displays = append(b.inputs.displays, class)
	}
}
