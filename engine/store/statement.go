package store

import (
	"context"
	"database/sql"

	"restsrv/engine"
)

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
	n, err := done.RowsAffected()
	s.worked += int(n)
	return n, err
}

// rows runs a statement and hands out each of its rows. visit must not use the
// session; an error of it ends the rows and is returned.
func (s *session) rows(ctx context.Context, text string, args []any, visit func(*sql.Rows) error) (err error) {
	st, err := s.prepare(text)
	if err != nil {
		return err
	}
	ctx, unwatch := s.watch(ctx)
	defer func() { err = unwatch(err) }()
	rows, err := st.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		s.meter.rows++
		if err := visit(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// visitRows runs a statement that returns so many columns and hands out each row,
// which is valid during the visit only. visit must not use the session.
func (s *session) visitRows(b *builder, columns int, visit func(row []any)) error {
	dest := s.row(columns)
	return s.rows(s.ctx, b.text(), b.args, func(rows *sql.Rows) error {
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		visit(s.raw)
		return nil
	})
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

// read turns what a driver hands out for a column, or for an expression, into a
// value of its type.
func read(t engine.PropertyType, v any) any {
	if b, ok := v.([]byte); ok {
		v = string(b)
	}
	if s, ok := v.(string); ok && t == engine.DecimalNum {
		if d, ok := engine.ParseDecimal(s); ok { // a computed one may not be canonical
			return d
		}
	}
	return decode(t, v)
}
