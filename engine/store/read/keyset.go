package read

import (
	"context"

	"restsrv/engine"
	"restsrv/engine/query"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/rights"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/sqlquery"
)

// locatePosition replaces the position in q by one that is computed from landmarks. The landmarks in q.After are the
// items around the end of the previous page. The result has the present position of the first landmark that has not
// changed. A landmark that the account may not read counts as deleted. If there are no landmarks, locatePosition
// returns q itself.
func (s *Reader) locatePosition(ctx context.Context, p *layout.Plan, g *rights.Guard, q *engine.Query) (*engine.Query, error) {
	if q.After == nil || len(q.After.Landmarks) == 0 {
		return q, nil
	}
	there, err := s.landmarkPositions(ctx, p, g, q)
	if err != nil {
		return nil, err
	}
	for _, l := range q.After.Landmarks {
		at, ok := there[l.Sequence]
		if !ok || query.DigestOf(at) != l.Digest {
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

// landmarkPositions returns the present positions of the landmarks, in the sort order of q, by their sequence numbers.
func (s *Reader) landmarkPositions(ctx context.Context, p *layout.Plan, g *rights.Guard, q *engine.Query) (map[int64]engine.Position, error) {
	b := s.queries.GuardedBuilder(g)
	b.Add("SELECT 1")
	at := len(b.SQL)
	src, done := b.WriteFrom(p)
	word, head := " WHERE ", len(b.SQL)
	if b.WriteWhere(src, &engine.Query{Class: q.Class, Exact: q.Exact}); len(b.SQL) > head {
		word = " AND "
	}
	numbers := make([]any, len(q.After.Landmarks))
	for i, l := range q.After.Landmarks {
		numbers[i] = l.Sequence
	}
	b.Add(word)
	sqldb.WriteIn(s.dialect, &b.Builder, src.Alias+"."+layout.SeqColumn, engine.Int, numbers)
	columns := make([]string, len(q.Sort))
	for i, sort := range q.Sort {
		columns[i] = b.PathValue(src, sort.Path())
	}
	done()
	b.Insert(at, sqlquery.PositionList(b.Label, p, columns))
	if err := b.Finish(s.traits); err != nil {
		return nil, err
	}
	there := map[int64]engine.Position{}
	err := s.pool.RunRead(ctx, func(r *conns.Session) error {
		return r.VisitRows(&b.Builder, 2+len(columns), func(row []any) {
			number, _ := row[1].(int64)
			values := make([]any, len(columns))
			for i, sort := range q.Sort {
				values[i] = sqldb.ReadValue(sort.Property.ValueType(), row[2+i])
			}
			there[number] = engine.Position{Values: values, Sequence: number}
		})
	})
	return there, err
}
