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
}

// Clone returns a copy that stays valid after the visit it was handed to.
func (it *Item) Clone() *Item {
	c := *it
	c.Values = append(Values(nil), it.Values...)
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
func (it *Item) String() string {
	if s := it.Class.semantic.eval(it); s != "" {
		return s
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
