package engine

import "strconv"

// Item is one stored instance of a class.
type Item struct {
	Class    *Class
	ID       string
	Revision uint64 // changes with every write; never reused for different content
	Version  string // version of the class when the item was written, "_classVer" of the acceptor
	Creator  string // account id; "" if unknown
	Editor   string
	Values   Values
	Links    []Link    // by Property.Index; nil if no links were loaded
	Label    string    // computed display string; "" if there is none; see Compute
	Labels   []string  // by Property.Index: computed labels of values; nil if there are none
	Position *Position // position in the list, if the query wants it
}

// Link holds the loaded target or members of a reference or a collection.
type Link struct {
	Loaded bool
	Shown  bool    // part of the answer; otherwise loaded only for computations
	Item   *Item   // target of a reference; nil if no item has its id
	Items  []*Item // members of a collection
}

// Display returns the value of a property in the form for people. For a
// reference it is the display string of the target if that is loaded, else the
// id.
func (it *Item) Display(p *Property) string { return displayProperty(it, p, 0) }

// Link returns the loaded target or members of a property, or the zero Link.
func (it *Item) Link(p *Property) Link {
	if p.Index >= len(it.Links) || it.Class.Hides(p) {
		return Link{}
	}
	return it.Links[p.Index]
}

// Clone returns a copy that stays valid after the visit function returns.
func (it *Item) Clone() *Item {
	c := *it
	c.Values = append(Values(nil), it.Values...)
	if it.Position != nil {
		at := it.Position.Clone()
		c.Position = &at
	}
	return &c
}

// Get returns the value of a property, or nil if it is null or unknown.
func (it *Item) Get(name string) any {
	p := it.Class.Property(name)
	if p == nil || p.Type == Password {
		return nil
	}
	return it.Values[p.Index]
}

// String returns the display string, "__string" on the wire.
func (it *Item) String() string { return it.display(nil, 0) }

// display returns the display string according to s, or to the item's class if
// s is nil. depth is the number of display strings that contain it.
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

// ETag returns the strong entity tag of the item's plain JSON, without loaded
// links and projection (RFC 9110 section 8.8.3). It consists of the revision
// and the fingerprint of the class, or of the view of it.
func (it *Item) ETag() string {
	return `"` + strconv.FormatUint(it.Revision, 36) + "." + it.Class.Fingerprint() + `"`
}
