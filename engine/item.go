package engine

import "strconv"

// Item is one stored instance of a class.
type Item struct {
	Class    *Class
	ID       string
	Revision uint64 // changes with every write; never the same again for another content
	Version  string // class version it was written with, "_classVer" of the acceptor
	Creator  string // account id, "" when unknown
	Editor   string
	Values   Values
	Links    []Link    // by Property.Index; nil when nothing was loaded
	Label    string    // computed display string, "" for none; see Compute
	Labels   []string  // by Property.Index: computed labels of values; nil for none
	Position *Position // in the list, when the query wants it
}

// Link is what was loaded for a reference or a collection of an item.
type Link struct {
	Loaded bool
	Shown  bool    // is part of the answer; else it only serves to compute
	Item   *Item   // of a reference; nil when nothing has its id
	Items  []*Item // of a collection
}

// Display is the value of a property of the item's class as people read it;
// a reference must be loaded for that, or is its id.
func (it *Item) Display(p *Property) string { return displayProperty(it, p, 0) }

// Link returns what was loaded for a property; the zero Link for nothing.
func (it *Item) Link(p *Property) Link {
	if p.Index >= len(it.Links) || it.Class.Lacks(p) {
		return Link{}
	}
	return it.Links[p.Index]
}

// Clone returns a copy that stays valid after the visit it was handed to.
func (it *Item) Clone() *Item {
	c := *it
	c.Values = append(Values(nil), it.Values...)
	if it.Position != nil {
		at := it.Position.Clone()
		c.Position = &at
	}
	return &c
}

// Get returns the value of a property; nil when null or unknown.
func (it *Item) Get(name string) any {
	p := it.Class.Property(name)
	if p == nil || p.Type == Password {
		return nil
	}
	return it.Values[p.Index]
}

// String is the display string, "__string" on the wire.
func (it *Item) String() string { return it.display(nil, 0) }

// display is the display string made by s, or by the item's class when s is
// nil. depth is how many display strings it is within.
func (it *Item) display(s *Semantic, depth int) string {
	if s == nil {
		if it.Label != "" {
			return it.Label
		}
		s = it.Class.semantic
	}
	if depth > maxDisplayDepth {
		return it.ID
	}
	if text := s.eval(it, depth); text != "" {
		return text
	}
	return it.ID
}

// ETag is the strong entity tag of the item's plain JSON, without loaded links
// and projection (RFC 9110 section 8.8.3): its revision, and the fingerprint of
// the class, or view of it, that shaped it.
func (it *Item) ETag() string {
	return `"` + strconv.FormatUint(it.Revision, 36) + "." + it.Class.Fingerprint() + `"`
}
