package formula

import "restsrv/engine"

// mention lists the inputs of a formula that are known at compilation. If an account cannot read
// one of them, the value of the formula is hidden from this account. The attributes of classes
// that the formula looks up by name are not listed here, but in program.lookups.
type mention struct {
	engine.Mentions
	displays []string // classes looked up by name, if the display strings of their items may be inputs
	gives    []string // classes looked up by name, if an item of the class is the value of the formula
}

// bare lists the functions that use only the id of an argument that is an item. The display
// string of the item is then not an input of the formula.
var bare = map[string]bool{"eq": true, "ne": true, "lt": true, "lte": true, "gt": true, "gte": true, "in": true,
	"not": true, "empty": true, "nempty": true, "get": true}

// Mentions implements engine.Mentioner.
func (p *program) Mentions(m *engine.Mentions, find func(string) (*engine.Class, error)) {
	for property := range p.mention.Values {
		m.Value(property)
	}
	for property := range p.mention.Shown {
		m.ShownValue(property)
	}
	for c := range p.mention.Display {
		m.DisplayOf(c)
	}
	for c := range p.mention.Gives {
		m.Give(c)
	}
	for name := range p.mention.Names {
		m.Name(name)
	}
	m.Unknown = m.Unknown || p.mention.Unknown
	named := func(names []string, note func(*engine.Class)) {
		for _, name := range names {
			if c, err := findClass(p.class, name, find); err == nil {
				note(c)
			}
		}
	}
	named(p.mention.displays, m.DisplayOf)
	named(p.mention.gives, m.Give)
	for _, l := range p.lookups {
		l.addMentions(m, p.class, find)
	}
}

// addMentions adds the inputs that a lookup uses. It skips attributes that the class does not
// have, because the formula does not read them. of is the class to which the formula belongs.
func (l lookup) addMentions(m *engine.Mentions, of *engine.Class, find func(string) (*engine.Class, error)) {
	c, err := findClass(of, l.class, find)
	if err != nil {
		return
	}
	m.Look(c)
	for _, name := range l.attributes {
		found, err := resolvePath(c, name)
		if err != nil {
			continue
		}
		found.addMentions(m, c, true)
	}
}

// addMentions adds the attributes that a path reads, starting at items of class c. textual means
// that an item at the end of the path may be converted to text; then its display string is an input
// too.
func (p *path) addMentions(m *engine.Mentions, c *engine.Class, textual bool) {
	end, last := c, len(p.props)-1
	for _, property := range p.props {
		m.Value(property)
		end = property.Target
	}
	switch {
	case p.system != "":
		mentionEnvelope(m, end, p.system)
	case p.display:
		m.ShownValue(p.props[last])
	case end != nil && textual:
		m.ShownValue(p.props[last])
		m.DisplayOf(end)
	}
}

// mentionEnvelope adds the inputs of a name such as _creator, which an item of class c has in
// addition to its attributes.
func mentionEnvelope(m *engine.Mentions, c *engine.Class, name string) {
	tracker := func(c *engine.Class, attribute string) {
		if p := c.Property(attribute); p != nil {
			m.Value(p)
		}
	}
	switch name {
	case "__string":
		m.DisplayOf(c)
	case "_creator":
		tracker(c, c.CreatorTracker)
	case "_editor":
		tracker(c, c.EditorTracker)
	}
}

// use describes how the value of an expression is used. The zero value means that an item may be
// converted to text.
type use struct {
	bare bool // only the id of the item is used
	top  bool // the value of the expression is the value of the whole formula
}

// mentionUnknown adds the names of a path as inputs. It is used if the class of the items at
// which the path starts is not known at compilation.
func mentionUnknown(m *engine.Mentions, names []string) {
	for i, name := range names {
		m.Name(name)
		if i+1 < len(names) {
			m.Name(name + "$" + names[i+1]) // a part of a struct
		}
		m.Unknown = m.Unknown || name == "__string" || name == "_creator" || name == "_editor"
	}
}

// mentionGet adds the inputs of a call of get. u describes how the item that get returns is used.
func (b *compiler) mentionGet(args []node, u use) {
	class, ok := args[0].literal.(string)
	if !ok {
		b.mention.Unknown = b.mention.Unknown || args[0].items == nil
		return
	}
	for i := 1; i+1 < len(args); i += 2 {
		_, fixed := args[i].literal.(string)
		b.mention.Unknown = b.mention.Unknown || !fixed
	}
	switch {
	case u.top:
		b.mention.gives = append(b.mention.gives, class)
	case !u.bare:
		b.mention.displays = append(b.mention.displays, class)
	}
}
