package store

import "restsrv/engine"

// maxIndexed is the most bytes of text in an entry of an index, which
// PostgreSQL limits. It holds everywhere, so that what one database takes the
// others take too.
const maxIndexed = 2600

// bounded reports whether texts of col go into an index that limits them.
// Texts of more than one line have none, unless they must be unique.
func (col *column) bounded() bool {
	if !col.typ.Textual() {
		return false
	}
	short := col.typ != engine.Text && col.typ != engine.HTML
	return col.key || col.unique || col.indexed && short
}

// fits refuses texts that are too long for the indexes they would go into. The
// texts of a key share one entry.
func (p *plan) fits(v engine.Values) error {
	key := 0
	for _, at := range p.bounded {
		text, ok := v[at].(string)
		if !ok {
			continue
		}
		property := p.class.Properties[at]
		size := len(text)
		if p.table.byName[property.Name].key {
			key += size
			size = key
		}
		if size > maxIndexed {
			e := engine.Errorf(engine.Invalid, "size", "attribute %s of class %s is a key or indexed and takes at most %d bytes of text, found %d",
				engine.Quote(property.Name), p.class.FullName, maxIndexed, size)
			e.Class, e.Attribute = p.class.FullName, property.Name
			return e
		}
	}
	return nil
}
