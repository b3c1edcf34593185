package layout

import (
	"slices"
	"strings"

	"restsrv/engine"
)

// maxIndexed is the maximum number of bytes of text in an index entry. The limit comes from
// PostgreSQL. It applies to every database, so that all accept the same data.
const maxIndexed = 2600

// Sizes in bytes of an index entry in PostgreSQL: the maximum, and the overhead besides the values,
// with the padding before and after them.
const (
	entrySize   = 2704
	entryHead   = 16 + 7
	fixedValue  = 8 + 7 // of a number, a time or a boolean
	varyingHead = 4 + 3
	fixedText   = 25 // of a fixed value in an id, with a separator
)

// bound is an index with a size limit for its entries.
type bound struct {
	columns []*Column // the columns of variable length
	most    int       // maximum number of bytes of all of them together
	key     bool
}

// isVariable reports whether values of the column may be long.
func (col *Column) isVariable() bool {
	return col.Type.Textual() || col.Type.JSON() || col.Type == engine.DecimalNum
}

// isBounded reports whether col has an index that limits its texts. A text of several lines has an
// index only if it is unique.
func (col *Column) isBounded() bool {
	if !col.Type.Textual() && !col.Type.JSON() {
		return false
	}
	short := col.Type != engine.Text && col.Type != engine.HTML && !col.Type.JSON()
	return col.unique || col.indexed && short
}

// layOutBounds determines the indexes that limit texts. Call it when all indexes are known.
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

// keyBound returns the bound of the key. If the key has several properties, it is the bound of the
// id.
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

// compositeBound returns the bound of an index over several properties. ok is false if all of them
// have a fixed length.
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

// limit is a bound as it applies to a class.
type limit struct {
	bound
	at []int // indexes of its properties that are columns of the bound
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

// CheckSizes returns an error if texts are too long for their indexes. Given values that share an index
// entry count together.
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

// CheckSharedSizes is CheckSizes for an item after a write of some values, which may share index entries with
// values that the item had before.
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

// SetsShared reports whether a property with a value in v shares an index entry with another property.
func (p *Plan) SetsShared(v engine.Values) bool {
	return slices.ContainsFunc(p.Stored, func(property *engine.Property) bool {
		return v[property.Index] != engine.Absent && p.SharesColumn(p.Table.Column(property).Quoted)
	})
}

// SharesColumn reports whether a column shares index entries with other columns of the table.
// quoted is its quoted name.
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
		if l.key { // an id contains it as text
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

// LinksFit returns an error if the ids of owner and member are too long for the index of links. p
// is the collection, or nil if it is not known.
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
