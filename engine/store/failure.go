package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"restsrv/engine"
)

// The Retry-After of a database that is unavailable, and of one that is busy.
const (
	retryAfter = 2 * time.Second
	retryBusy  = time.Second
)

// maxAttempts is how often work is repeated if repeating may help, before its error is returned.
const maxAttempts = 16

// pause waits before another attempt. The time grows with attempt and is random, so that two
// transactions in each other's way do not meet again. It returns false if ctx ends.
func pause(ctx context.Context, attempt int) bool {
	most := time.Millisecond << min(attempt, 7)
	wait := time.NewTimer(most/4 + rand.N(most))
	defer wait.Stop()
	select {
	case <-wait.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// again marks an error of work that may succeed when it is repeated.
type again struct{ error }

// Unwrap returns the marked error.
func (a again) Unwrap() error { return a.error }

// keepMark returns e, which describes err in more detail. If err is marked with again, so is the
// result.
func keepMark(err error, e *engine.Error) error {
	var mark again
	if errors.As(err, &mark) {
		return again{e}
	}
	return e
}

// failureKind returns the kind of failure of err.
func (s *Store) failureKind(err error) Failure {
	var mark again
	switch {
	case err == nil:
		return Other
	case errors.As(err, &mark):
		return Lost
	case errors.Is(err, driver.ErrBadConn), errors.Is(err, sql.ErrConnDone):
		return Away
	}
	return s.db.Dialect.Classify(err)
}

// engineError converts an error of the database on session r to an *engine.Error. If the connection of
// the session is broken, the session will open a new one.
func (s *Store) engineError(ctx context.Context, r *session, err error) error {
	if err == nil {
		return nil
	}
	kind := s.failureKind(err)
	if r.conn != nil && r.interrupt.Spends && (kind == Stale || kind == Interrupted || !r.isSound()) {
		r.disconnect() // the statement may still be ending
	}
	var known *engine.Error
	if errors.As(err, &known) {
		return known
	}
	away := kind == Away || kind == Full || kind == Stale
	cause := ctx.Err()
	left := errors.Is(cause, context.Canceled) && errors.Is(err, context.Canceled) // also true if the connection was still being opened
	if cause != nil && (!away || left) {
		return timeoutError(cause)
	}
	switch {
	case away:
		s.loseConnection(r)
		s.cfg.Log.Error("the database is not available", "error", err)
		return &engine.Error{Code: engine.Unavailable, Reason: "database", RetryAfter: retryAfter,
			Message: "the database is not available", Err: err}
	case kind == Interrupted, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return timeoutError(err)
	case kind == Lost:
		return &engine.Error{Code: engine.Unavailable, Reason: "busy", RetryAfter: retryBusy,
			Message: "other writes were in the way of this one", Err: err}
	case kind == Locked:
		return lockedTable("", err)
	case kind == TooLong:
		return &engine.Error{Code: engine.Invalid, Reason: "size", Message: "a value is too long for the database", Err: err}
	}
	return engine.Wrap(err, "the database refused a statement")
}

// timeoutError returns the error for work that was ended by its context.
func timeoutError(cause error) error {
	return &engine.Error{Code: engine.Timeout, Reason: "timeout", Message: "the time for this request is over", Err: cause}
}

// writeError returns the error of a failed write: the error for a duplicate if a unique index was
// violated, else err.
func (s *Store) writeError(p *plan, err error, value func(property string) any) error {
	if d := s.duplicateError(p, err, value); d != nil {
		return d
	}
	return err
}

// duplicateError returns the error for a violated unique index, or nil if err is another error. value
// returns the value that the write gave to a property.
func (s *Store) duplicateError(p *plan, err error, value func(property string) any) *engine.Error {
	index, ok := s.db.Dialect.Duplicate(err, p.table.unique)
	if !ok {
		return nil
	}
	e := engine.Errorf(engine.Invalid, "duplicate", "class %s already has an object with this key", p.class.FullName)
	met := &conflict{error: err, plan: p, index: index}
	e.Class, e.Err = p.class.FullName, met
	var parts []string
	var values []any
	for _, name := range index.Columns {
		property := p.propertyIn(name)
		if name == idColumn {
			if met.values = p.idOf(value); met.values != nil {
				e.Message = "class " + p.class.FullName + " already has an object with the id " + engine.Quote(engine.ValueText(met.values[0]))
			}
		}
		if property == nil { // the id of several properties, or a property of a class below
			return e
		}
		v := value(property.Name)
		if values = append(values, v); v == engine.Absent || v == nil {
			values = nil
		}
		if v == engine.Absent || v == nil || property.Type == engine.Password {
			parts = append(parts, "this "+property.Name)
			continue
		}
		parts = append(parts, property.Name+" "+engine.Quote(engine.ValueText(v)))
	}
	if len(values) == len(index.Columns) {
		met.values = values
	}
	e.Attribute = p.propertyIn(index.Columns[0]).Name
	e.Message = "class " + p.class.FullName + " already has an object with " + strings.Join(parts, ", ")
	return e
}

// propertyIn returns the property stored in the column with that name, or nil.
func (p *plan) propertyIn(column string) *engine.Property {
	for _, property := range p.stored {
		if p.table.column(property).name == column {
			return property
		}
	}
	return nil
}

// errSameID is the cause of the error for two different keys that join to the same id.
var errSameID = errors.New("the object with that id has another key")

// otherKey returns the error for values whose key joins to the id of an item with another key.
func (p *plan) otherKey(v engine.Values) *engine.Error {
	c := p.class
	id := c.ID(v)
	e := engine.Errorf(engine.Invalid, "duplicate", "class %s already has an object with the id %s, and the parts of its key are others: two keys that join to one id cannot both be stored",
		c.FullName, engine.Quote(id))
	e.Class, e.ID = c.FullName, id
	e.Err = &conflict{error: errSameID, plan: p, index: p.table.unique[0], values: []any{id}}
	return e
}

// hasKey reports whether the stored parts of a key, in the order of the key, equal the given ones.
// If a part is not given, it returns true.
func (p *plan) hasKey(given engine.Values, stored func(part int) any) bool {
	if p.class.ID(given) == "" {
		return true
	}
	for i, part := range p.class.KeyProperties() {
		if engine.ValueText(stored(i)) != engine.ValueText(given[part.Index]) {
			return false
		}
	}
	return true
}

// idOf returns the id of an item with several key properties, as the value of an index. It returns
// nil if a part of the id is not known.
func (p *plan) idOf(value func(property string) any) []any {
	v := engine.NewValues(p.class)
	for _, key := range p.class.KeyProperties() {
		v[key.Index] = value(key.Name)
	}
	if id := p.class.ID(v); id != "" {
		return []any{id}
	}
	return nil
}
