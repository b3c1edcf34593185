package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"
	"time"

	"restsrv/engine"
)

// retryAfter is when a client may hope that a database which is away is back.
const retryAfter = 2 * time.Second

// failed turns an error of the database, met on session r, into an
// *engine.Error. A session whose connection is gone makes a new one.
func (s *Store) failed(ctx context.Context, r *session, err error) error {
	if err == nil {
		return nil
	}
	var known *engine.Error
	if errors.As(err, &known) {
		return known
	}
	kind := s.db.Dialect.Classify(err)
	if errors.Is(err, driver.ErrBadConn) {
		kind = Away
	}
	if cause := ctx.Err(); cause != nil && kind != Away {
		return ended(cause)
	}
	switch {
	case kind == Away:
		r.disconnect()
		s.cfg.Log.Error("the database is not available", "error", err)
		return &engine.Error{Code: engine.Unavailable, Reason: "database", RetryAfter: retryAfter,
			Message: "the database is not available", Err: err}
	case kind == Interrupted, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return ended(err)
	}
	return engine.Wrap(err, "the database refused a statement")
}

// ended is the error of work that its context ended.
func ended(cause error) error {
	return &engine.Error{Code: engine.Timeout, Reason: "timeout", Message: "the time for this request is over", Err: cause}
}

// duplicate returns the error for a broken unique index, nil when err is
// another one. value returns what the write gave a property.
func (s *Store) duplicate(p *plan, err error, value func(property string) any) *engine.Error {
	index, ok := s.db.Dialect.Duplicate(err, p.table.unique)
	if !ok {
		return nil
	}
	e := engine.Errorf(engine.Invalid, "duplicate", "class %s already has an object with this key", p.class.FullName)
	e.Class, e.Err = p.class.FullName, err
	var parts []string
	for _, name := range index.Columns {
		property := p.class.Property(name)
		if property == nil { // the id of several properties, or one of a class below
			return e
		}
		v := value(name)
		if v == engine.Absent || v == nil || property.Type == engine.Password {
			parts = append(parts, "this "+property.Name)
			continue
		}
		parts = append(parts, property.Name+" "+engine.Quote(engine.ValueText(v)))
	}
	e.Attribute = index.Columns[0]
	e.Message = "class " + p.class.FullName + " already has an object with " + strings.Join(parts, ", ")
	return e
}
