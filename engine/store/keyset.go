package store

import (
	"context"

	"restsrv/engine"
)

// locatePosition returns the query with the position of its first usable landmark. A landmark that the
// account may not read counts as deleted.
func (s *Store) locatePosition(ctx context.Context, p *plan, g *guard, q *engine.Query) (*engine.Query, error) {
	if q.After == nil || len(q.After.Landmarks) == 0 {
		return q, nil
	}
	there, err := s.landmarkPositions(ctx, p, g, q)
	if err != nil {
		return nil, err
	}
	for _, l := range q.After.Landmarks {
		at, ok := there[l.Sequence]
		if !ok || at.Digest() != l.Digest {
			continue
		}
		if l.Ahead {
			at.Sequence--
		}
		found := *q
		found.After = &at
		return &found, nil
	}
	return nil, engine.Errorf(engine.Invalid, "cursor", "the objects where the page ended have all been changed or deleted, and what the list is sorted by is too long to be a part of the cursor: begin again without it")
}

// landmarkPositions returns the present positions of the landmarks in the list of q, by their sequence
// numbers.
func (s *Store) landmarkPositions(ctx context.Context, p *plan, g *guard, q *engine.Query) (map[int64]engine.Position, error) {
	b := s.guardedBuilder(g)
	b.add("SELECT 1")
	at := len(b.sql)
	src, done := b.writeFrom(p)
	word, head := " WHERE ", len(b.sql)
	if b.writeWhere(src, &engine.Query{Class: q.Class, Exact: q.Exact}); len(b.sql) > head {
		word = " AND "
	}
	numbers := make([]any, len(q.After.Landmarks))
	for i, l := range q.After.Landmarks {
		numbers[i] = l.Sequence
	}
	b.add(word)
	s.writeIn(b, src.alias+"."+seqColumn, engine.Int, numbers)
	columns := make([]string, len(q.Sort))
	for i, sort := range q.Sort {
		columns[i] = b.pathValue(src, sort.Path())
	}
	done()
	b.insert(at, positionList(b.label, p, columns))
	if err := b.finish(s.traits); err != nil {
		return nil, err
	}
	there := map[int64]engine.Position{}
	err := s.runRead(ctx, func(r *session) error {
		return r.visitRows(b, 2+len(columns), func(row []any) {
			number, _ := row[1].(int64)
			values := make([]any, len(columns))
			for i, sort := range q.Sort {
				values[i] = readValue(sort.Property.ValueType(), row[2+i])
			}
			there[number] = engine.Position{Values: values, Sequence: number}
		})
	})
	return there, err
}

// writeAfter writes the condition that an item comes after a position. In each term the item is either
// after the position, or it is equal and the remaining terms decide. Null is the lowest value.
func (b *builder) writeAfter(src *source, sorts []engine.Sort, at *engine.Position) {
	if len(sorts) == 0 {
		b.add(src.alias, ".", seqColumn, " > ")
		b.bind(at.Sequence)
		return
	}
	column := b.pathValue(src, sorts[0].Path())
	value := at.Values[0]
	rest := func() { b.writeAfter(src, sorts[1:], &engine.Position{Values: at.Values[1:], Sequence: at.Sequence}) }
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
	case len(sorts) == 1: // an index of the column finds the exact row
		b.add("(", column, ", ", src.alias, ".", seqColumn, ") > (")
		b.bind(value)
		b.add(", ")
		b.bind(at.Sequence)
		b.add(b.rowTail, ")")
	default:
		// The first condition follows from the others. It is the start of an index scan.
		b.add("(", column, " >= ")
		b.bind(value)
		b.add(" AND (", column, " > ")
		b.bind(value)
		b.add(" OR ")
		rest()
		b.add("))")
	}
}
