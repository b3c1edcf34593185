package store

import (
	"restsrv/engine"
)

// after writes that an item comes behind a position: term by term, it is
// either behind in this one, or equal in it and behind in the rest. Null is
// the least value.
func (b *builder) after(src *source, sorts []engine.Sort, at *engine.Position) {
	if len(sorts) == 0 {
		b.add(src.alias, ".", seqColumn, " > ")
		b.bind(at.Sequence)
		return
	}
	column := b.path(src, sorts[0].Path())
	value := at.Values[0]
	rest := func() { b.after(src, sorts[1:], &engine.Position{Values: at.Values[1:], Sequence: at.Sequence}) }
	switch {
	case value == nil && sorts[0].Descending: // nulls are last
		b.add("(", column, " IS NULL AND ")
		rest()
		b.add(")")
	case value == nil:
		b.add("(", column, " IS NOT NULL OR ")
		rest()
		b.add(")")
	case sorts[0].Descending:
		b.add("(", column, " < ")
		b.bind(value)
		b.add(" OR ", column, " IS NULL OR (", column, " = ")
		b.bind(value)
		b.add(" AND ")
		rest()
		b.add("))")
	case len(sorts) == 1: // an index of the column leads to the very row
		b.add("(", column, ", ", src.alias, ".", seqColumn, ") > (")
		b.bind(value)
		b.add(", ")
		b.bind(at.Sequence)
		b.add(b.rowTail, ")")
	default:
		// The first condition follows from the others; it tells where in an
		// index to begin.
		b.add("(", column, " >= ")
		b.bind(value)
		b.add(" AND (", column, " > ")
		b.bind(value)
		b.add(" OR ")
		rest()
		b.add("))")
	}
}
