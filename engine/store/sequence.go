package store

import "context"

// NextNumber implements engine.Sequences: the counters are those of formulas.
func (s *Store) NextNumber(ctx context.Context, name string) (n int64, err error) {
	err = s.writer.statement(ctx, func(w *session) error {
		n, err = nextNumbers(w, namedCounter(name), 1)
		return err
	})
	return n, err
}

// LastNumber implements engine.Sequences.
func (s *Store) LastNumber(ctx context.Context, name string) (n int64, err error) {
	b := newBuilder(s.traits)
	b.add(`SELECT "value" FROM `, counterTable, ` WHERE "name" = `)
	b.bind(namedCounter(name))
	err = s.dump(ctx, b, &result{}, []any{&n}, func(*session) error { return nil })
	return n, err
}

// SetNumber implements engine.Sequences.
func (s *Store) SetNumber(ctx context.Context, name string, last int64) error {
	return s.writer.statement(ctx, func(w *session) error {
		b := newBuilder(w.dialect.Traits())
		b.add("INSERT INTO ", counterTable, ` ("name", "value") VALUES (`)
		b.bind(namedCounter(name))
		b.add(", ")
		b.bind(last)
		b.add(`) ON CONFLICT ("name") DO UPDATE SET "value" = excluded."value"`)
		_, err := w.execute(b)
		return err
	})
}
