package sqlquery

import (
	"restsrv/engine"
	"restsrv/engine/store/layout"
)

// writeAfter writes the condition that an item comes after a position in the sort order. The first sort column
// decides. If its value is equal to that of the position, the other columns decide in order, and finally the row
// number. Null is the lowest value.
func (b *Builder) writeAfter(src *Source, sorts []engine.Sort, at *engine.Position) {
	if len(sorts) == 0 {
		b.Add(src.Alias, ".", layout.SeqColumn, " > ")
		b.Bind(at.Sequence)
		return
	}
	column := b.PathValue(src, sorts[0].Path())
	value := at.Values[0]
	rest := func() { b.writeAfter(src, sorts[1:], &engine.Position{Values: at.Values[1:], Sequence: at.Sequence}) }
	switch {
	case value == nil && sorts[0].Descending: // in descending order, nulls are last
		b.Add("(", column, " IS NULL AND ")
		rest()
		b.Add(")")
	case value == nil:
		b.Add("(", column, " IS NOT NULL OR ")
		rest()
		b.Add(")")
	case sorts[0].Descending:
		b.Add("(", column, " < ")
		b.Bind(value)
		b.Add(" OR ", column, " IS NULL OR (", column, " = ")
		b.Bind(value)
		b.Add(" AND ")
		rest()
		b.Add("))")
	case len(sorts) == 1: // an index of the column finds the first row directly
		b.Add("(", column, ", ", src.Alias, ".", layout.SeqColumn, ") > (")
		b.Bind(value)
		b.Add(", ")
		b.Bind(at.Sequence)
		b.Add(b.RowTail, ")")
	default:
		// The first condition follows from the others. It lets the database start an index scan at the value.
		b.Add("(", column, " >= ")
		b.Bind(value)
		b.Add(" AND (", column, " > ")
		b.Bind(value)
		b.Add(" OR ")
		rest()
		b.Add("))")
	}
}
