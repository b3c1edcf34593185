package store

import (
	"context"
	"database/sql"

	"restsrv/engine"
)

// execute runs a statement of the writer and returns the number of changed rows.
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

// eachRow runs a statement and calls visit for each row. visit must not use the session. If it returns an error,
// eachRow stops and returns the error.
func (s *session) eachRow(ctx context.Context, text string, args []any, visit func(*sql.Rows) error) (err error) {
	st, err := s.prepare(text)
	if err != nil {
		return err
	}
	ctx, unwatch := s.watchContext(ctx)
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

// visitRows runs a statement that returns the given number of columns and calls visit for each row. The row is valid
// only during the call. visit must not use the session.
func (s *session) visitRows(b *builder, columns int, visit func(row []any)) error {
	dest := s.makeRow(columns)
	return s.eachRow(s.ctx, b.text(), b.args, func(rows *sql.Rows) error {
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		visit(s.raw)
		return nil
	})
}

// writeIn writes the condition that a column has one of the values. There must be at least one value.
func (s *Store) writeIn(b *builder, column string, t engine.PropertyType, values []any) {
	encoded := make([]any, len(values))
	for i, v := range values {
		encoded[i] = encode(v)
	}
	b.add(s.db.Dialect.In(column, t, encoded, b.placeholder))
}

// readValue converts the driver's value of a column or an expression to a value of the type.
func readValue(t engine.PropertyType, v any) any {
	if b, ok := v.([]byte); ok {
		v = string(b)
	}
	if s, ok := v.(string); ok && t == engine.DecimalNum {
		if d, ok := engine.ParseDecimal(s); ok { // a computed decimal may not be canonical
			return d
		}
	}
	return decode(t, v)
}
