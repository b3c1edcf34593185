package store

import (
	"context"

	"restsrv/engine"
)

// execute runs a statement of the writer and returns how many rows it changed.
func (s *session) execute(b *builder) (int64, error) {
	st, err := s.prepare(b.text())
	if err != nil {
		return 0, err
	}
	done, err := st.ExecContext(context.Background(), b.args...)
	if err != nil {
		return 0, err
	}
	return done.RowsAffected()
}

// rows runs a statement that returns so many columns and hands out each row,
// which is valid during the visit only. visit must not use the session.
func (s *session) rows(b *builder, columns int, visit func(row []any)) error {
	st, err := s.prepare(b.text())
	if err != nil {
		return err
	}
	rows, err := st.QueryContext(context.Background(), b.args...)
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

// list writes values in parentheses, padded so that few statements serve all
// lengths. There must be one at least.
func (b *builder) list(values []any) {
	b.add("(")
	for i := range powerOfTwo(len(values)) {
		if i > 0 {
			b.add(", ")
		}
		b.bind(values[min(i, len(values)-1)])
	}
	b.add(")")
}

// read turns what a driver hands out for a column into a value of its type.
func read(t engine.PropertyType, v any) any {
	if b, ok := v.([]byte); ok {
		v = string(b)
	}
	return decode(t, v)
}
