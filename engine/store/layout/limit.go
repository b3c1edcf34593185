package layout

import (
	"slices"
	"strings"

	"restsrv/engine"
)

// maxIndexed is the maximum number of bytes of text in an index entry. The limit comes from PostgreSQL, but applies to
// every database, so that all databases accept the same data.
const maxIndexed = 2600

// Sizes in bytes of an index entry in PostgreSQL. In a sum, the second number is padding.
const (
	entrySize   = 2704   // maximum size of an entry
	entryHead   = 16 + 7 // additional size of each entry
	fixedValue  = 8 + 7  // size of a number, a time or a boolean
	varyingHead = 4 + 3  // additional size of each value of variable length
	fixedText   = 25     // maximum size of a value of fixed length as text within an id, including the separator
)

// bound limits the text in the entries of one index.
type bound struct {
	columns []*Column // the columns of variable length
	most    int       // maximum number of bytes in all these columns together
	key     bool      // the index is the index of the key
}

// isVariable reports whether values of the column may be long.
func (col *Column) isVariable() bool {
	return col.Type.Textual() || col.Type.JSON() || col.Type == engine.DecimalNum
}

// isBounded reports whether the column has an index of its own that limits the length of its texts. For texts of
// several lines (Text, HTML or JSON), only a unique index does so.
func (col *Column) isBounded() bool {
	if !col.Type.Textual() && !col.Type.JSON() {
		return false
	}
	short := col.Type != engine.Text && col.Type != engine.HTML && !col.Type.JSON()
	return col.unique || col.indexed && short
}

// layOutBounds collects the limits of all indexes. It must be called when all indexes are known.
func (s *Layout) layOutBounds() {
	for _, t := range s.Tables {
		t.bounds = append(t.bounds[:0], t.keyBound())
		for _, col := range t.Columns {
			if !col.Key && col.isBounded() {
				t.bounds = append(t.bounds, bound{columns: []*Column{col}, most: maxIndexed})
			}
		}
		for _, c := range t.Classes {
			for _, index := range t.compositeIndexes(c) {
				if b, ok := t.compositeBound(index); ok {
					t.bounds = append(t.bounds, b)
				}
			}
		}
		t.Shares = slices.ContainsFunc(t.bounds, func(b bound) bool { return len(b.columns) > 1 })
	}
	for _, p := range s.Plans {
		p.layOutBounds()
	}
}

// keyBound returns the bound of the index of the key. If the key has several properties, this is the index of the id.
func (t *Table) keyBound() bound {
	b := bound{most: entrySize - entryHead - varyingHead, key: true}
	for _, col := range t.Columns {
		switch {
		case !col.Key:
		case col.Type.Textual() || t.HasIDColumn() && col.isVariable():
			b.columns = append(b.columns, col)
			b.most-- // for the separator
		default:
			b.most -= fixedText
		}
	}
	b.most = min(b.most, maxIndexed)
	return b
}

// compositeBound returns the bound of an index over several properties. ok is false if all of them have a fixed
// length, so that no bound is needed.
func (t *Table) compositeBound(index composite) (b bound, ok bool) {
	b.most = entrySize - entryHead
	for _, col := range index.columns {
		switch {
		case col.isVariable():
			b.columns = append(b.columns, col)
			b.most -= varyingHead
		default:
			b.most -= fixedValue
		}
	}
	b.most = min(b.most, maxIndexed)
	return b, len(b.columns) > 0
}

// limit is a bound that is applied to the items of one class. The class may not have all columns of the bound.
type limit struct {
	bound
	at []int // indexes of the class's properties that are stored in columns of the bound
}

func (p *Plan) layOutBounds() {
	p.limits, p.Shares = nil, false
	for _, b := range p.Table.bounds {
		l := limit{bound: b}
		for _, property := range p.Stored {
			if slices.Contains(b.columns, p.Table.Column(property)) {
				l.at = append(l.at, property.Index)
			}
		}
		if len(l.at) > 0 {
			p.limits = append(p.limits, l)
		}
		p.Shares = p.Shares || len(l.at) > 1
	}
}

// CheckSizes returns an error if texts in v are too long for their indexes. For values that share an index entry, the
// sum of the lengths counts.
func (p *Plan) CheckSizes(v engine.Values) error {
	for i := range p.limits {
		l := &p.limits[i]
		size := 0
		for _, at := range l.at {
			if size += l.entryBytes(v[at]); size > l.most {
				return p.tooLong(l, at, size)
			}
		}
	}
	return nil
}

// CheckSharedSizes checks the index entries of an item after a write that gave only some of its values. An entry can
// contain a given value together with a value that the item already had. CheckSizes could not add up their lengths,
// because it saw only the given value. given holds the given values, for the class of plan p. it is the written item
// with all its values.
func (s *Layout) CheckSharedSizes(p *Plan, given engine.Values, it *engine.Item) error {
	own := s.Plans[it.Class]
	if own == nil || !own.Shares {
		return nil
	}
	for i := range own.limits {
		l := &own.limits[i]
		if !slices.ContainsFunc(l.columns, func(col *Column) bool {
			property := p.Table.PropertyOf(p.Class, col)
			return property != nil && given[property.Index] != engine.Absent
		}) {
			continue
		}
		size := 0
		for _, at := range l.at {
			if size += l.entryBytes(it.Values[at]); size > l.most {
				return own.tooLong(l, at, size)
			}
		}
	}
	return nil
}

// SetsShared reports whether v has a value for a property that shares an index entry with another property.
func (p *Plan) SetsShared(v engine.Values) bool {
	return slices.ContainsFunc(p.Stored, func(property *engine.Property) bool {
		return v[property.Index] != engine.Absent && p.SharesColumn(p.Table.Column(property).Quoted)
	})
}

// SharesColumn reports whether a column, given by its quoted name, shares index entries with other columns of the
// table.
func (p *Plan) SharesColumn(quoted string) bool {
	return slices.ContainsFunc(p.Table.bounds, func(b bound) bool {
		return len(b.columns) > 1 && slices.ContainsFunc(b.columns, func(col *Column) bool { return col.Quoted == quoted })
	})
}

// entryBytes returns the number of bytes that a value of variable length takes in the index.
func (l *limit) entryBytes(v any) int {
	switch v := v.(type) {
	case string:
		return len(v)
	case engine.JSONText:
		return len(v)
	case engine.Decimal:
		if l.key { // an id contains the number as text
			return len(v)
		}
		return len(v)/2 + 8 // four digits take two bytes
	}
	return 0
}

func (p *Plan) tooLong(l *limit, at, size int) *engine.Error {
	name := p.Class.Properties[at].Name
	e := engine.Errorf(engine.Invalid, "size", "attribute %s of class %s is a key or indexed and takes at most %d bytes of text, found %d",
		engine.Quote(name), p.Class.FullName, l.most, size)
	if len(l.columns) > 1 && !l.key {
		var names []string
		for _, col := range l.columns {
			names = append(names, engine.Quote(col.Property))
		}
		e.Message = engine.Errorf(engine.Invalid, "size", "attributes %s of class %s share an index and take at most %d bytes of text together, found %d",
			strings.Join(names, ", "), p.Class.FullName, l.most, size).Message
	}
	e.Class, e.Attribute = p.Class.FullName, name
	return e
}

// LinksFit returns an error if the id of an owner and the id of a member together are too long for the index of a
// table of links. p is the collection, or nil if it is not known.
func LinksFit(p *engine.Property, owner any, members []any) error {
	size := len(engine.ValueText(owner))
	for _, m := range members {
		n := size + len(engine.ValueText(m))
		if n <= maxIndexed {
			continue
		}
		e := engine.Errorf(engine.Invalid, "size", "the id of an object and those in its collections have at most %d bytes together, found %d", maxIndexed, n)
		if p != nil {
			e.Attribute = p.Name
		}
		return e
	}
	return nil
}
