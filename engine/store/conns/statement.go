package conns

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"restsrv/engine/store/sqldb"
)

// Execute runs a statement of the writer and returns the number of changed rows.
func (s *Session) Execute(b *sqldb.Builder) (int64, error) {
	st, err := s.Prepare(b.Text())
	if err != nil {
		return 0, err
	}
	done, err := st.ExecContext(s.Ctx, b.Args...)
	if err != nil {
		return 0, err
	}
	n, err := done.RowsAffected()
	s.Worked += int(n)
	return n, err
}

// EachRow runs a statement and calls visit for each row. visit must not use the session. If visit returns an error,
// EachRow stops and returns the error.
func (s *Session) EachRow(ctx context.Context, text string, args []any, visit func(*sql.Rows) error) (err error) {
	st, err := s.Prepare(text)
	if err != nil {
		return err
	}
	ctx, unwatch := s.WatchContext(ctx)
	defer func() { err = unwatch(err) }()
	rows, err := st.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		s.Meter.rows++
		if err := visit(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// VisitRows runs a statement that returns the given number of columns and calls visit for each row. The row is valid
// only during the call. visit must not use the session.
func (s *Session) VisitRows(b *sqldb.Builder, columns int, visit func(row []any)) error {
	dest := s.MakeRow(columns)
	return s.EachRow(s.Ctx, b.Text(), b.Args, func(rows *sql.Rows) error {
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		visit(s.Raw)
		return nil
	})
}

// NewScanner returns a function that reads the current row of a statement. It stores the slots of r in s.Raw, and the
// columns that follow in more.
func (s *Session) NewScanner(r *sqldb.Result, more ...any) func(*sql.Rows) error {
	s.makeRoom(r.Slots)
	clear(s.Raw)
	if len(r.Packed) > 0 {
		s.dest = append(s.dest, &s.packed)
	}
	for _, slot := range r.Alone {
		s.dest = append(s.dest, &s.Raw[slot])
	}
	s.dest = append(s.dest, more...)
	dest := s.dest
	return func(rows *sql.Rows) error {
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		return s.unpackTexts(r)
	}
}

var errPacked = errors.New("a text in the database contains U+0000")

func (s *Session) unpackTexts(r *sqldb.Result) error {
	rest := s.packed
	for _, slot := range r.Packed {
		text, after, found := strings.Cut(rest, "\x00")
		if !found {
			return errPacked
		}
		rest = after
		if text == "" {
			s.Raw[slot] = nil
			continue
		}
		if last, ok := s.Raw[slot].(string); !ok || last != text[1:] {
			s.Raw[slot] = text[1:] // the previous row often has the same text; reusing it saves an allocation
		}
	}
	if len(r.Packed) > 0 && rest != "" {
		return errPacked
	}
	return nil
}

// QueryNumber runs a statement that returns one number.
func (r *Session) QueryNumber(ctx context.Context, text string, args []any) (n int64, err error) {
	st, err := r.Prepare(text)
	if err != nil {
		return 0, err
	}
	ctx, unwatch := r.WatchContext(ctx)
	defer func() { err = unwatch(err) }()
	err = st.QueryRowContext(ctx, args...).Scan(&n)
	return n, err
}

// Stop wraps an error of the caller's function that receives the items, to distinguish it from an error of the
// database.
type Stop struct{ Err error }

// Error returns the text of the wrapped error.
func (s *Stop) Error() string { return s.Err.Error() }
