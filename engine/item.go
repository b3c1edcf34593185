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
	Position *Position // in the list, when the query wants it
}

// Link is what was loaded for a reference or a collection of an item.
type Link struct {
	Loaded bool
	Shown  bool    // is part of the answer; else it only serves to compute
	Item   *Item   // of a reference; nil when nothing has its id
	Items  []*Item // of a collection
}

// Link returns what was loaded for a property; the zero Link for nothing.
func (it *Item) Link(p *Property) Link {
	if p.Index >= len(it.Links) {
		return Link{}
	}
	return it.Links[p.Index]
}

// Clone returns a copy that stays valid after the visit it was handed to.
func (it *Item) Clone() *Item {
	c := *it
	c.Values = append(Values(nil), it.Values...)
	if it.Position != nil {
		c.Position = &Position{append([]any(nil), it.Position.Values...), it.Position.Sequence}
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
func (it *Item) String() string { return it.display(nil) }

// display is the display string made by s, or by the item's class when s is
// nil.
func (it *Item) display(s *Semantic) string {
	if s == nil {
		s = it.Class.semantic
	}
	if text := s.eval(it); text != "" {
		return text
	}
	return it.ID
}

// AppendJSON appends the item in crud's envelope and key order (decisions.md
// section 2): _creator?, _editor?, _id, __string, __class, __classTitle, then
// the properties. Passwords are left out.
func (it *Item) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	if it.Creator != "" {
		b = append(AppendString(append(b, `"_creator":`...), it.Creator), ',')
	}
	if it.Editor != "" {
		b = append(AppendString(append(b, `"_editor":`...), it.Editor), ',')
	}
	b = AppendString(append(b, `"_id":`...), it.ID)
	b = AppendString(append(b, `,"__string":`...), it.String())
	b = append(b, it.Class.jsonHead...)
	for i, p := range it.Class.Properties {
		if p.Type == Password {
			continue
		}
		b = append(b, p.jsonKey...)
		b = AppendValue(b, it.Values[i])
	}
	return append(b, '}')
}

// AppendRecord appends the item as the acceptor answers it: _id, _class,
// _classVer, then the properties that have a value.
func (it *Item) AppendRecord(b []byte) []byte {
	b = AppendString(append(b, `{"_id":`...), it.ID)
	b = AppendString(append(b, `,"_class":`...), it.Class.FullName)
	b = AppendString(append(b, `,"_classVer":`...), it.Version)
	for i, p := range it.Class.Properties {
		if p.Type == Password || it.Values[i] == nil {
			continue
		}
		b = append(b, p.jsonKey...)
		b = AppendValue(b, it.Values[i])
	}
	return append(b, '}')
}

// ETag is the strong entity tag of the item's plain JSON (RFC 9110 section
// 8.8.3): its revision, and the fingerprint of the class that shaped it.
func (it *Item) ETag() string {
	return `"` + strconv.FormatUint(it.Revision, 36) + "." + it.Class.Fingerprint + `"`
}
