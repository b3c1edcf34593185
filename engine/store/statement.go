package store

import "restsrv/engine"

// execute runs a statement of the writer and returns how many rows it changed.
func (s *session) execute(b *builder) (int64, error) {
	st, err := s.prepare(b.text())
	if err != nil {
		return 0, err
	}
	done, err := st.ExecContext(s.ctx, b.args...)
	if err != nil {
		return 0, err
	}
	return done.RowsAffected()
}

// visitRows runs a statement that returns so many columns and hands out each row,
// which is valid during the visit only. visit must not use the session.
func (s *session) visitRows(b *builder, columns int, visit func(row []any)) error {
	st, err := s.prepare(b.text())
	if err != nil {
		return err
	}
	rows, err := st.QueryContext(s.ctx, b.args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	dest := s.row(columns)
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		visit(s.raw)
	}
	return rows.Err()
}

// in writes the condition that a column has one of the values, of which there
// must be one at least.
func (s *Store) in(b *builder, column string, t engine.PropertyType, values []any) {
	encoded := make([]any, len(values))
	for i, v := range values {
		encoded[i] = encode(v)
	}
	b.add(s.db.Dialect.In(column, t, encoded, b.placeholder))
}

// read turns what a driver hands out for a column into a value of its type.
func read(t engine.PropertyType, v any) any {
	if b, ok := v.([]byte); ok {
		v = string(b)
	}
	return decode(t, v)
}
