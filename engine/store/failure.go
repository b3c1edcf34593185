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

// When a client may hope that a database which is away is back, and one that
// is busy is not.
const (
	retryAfter = 2 * time.Second
	retryBusy  = time.Second
)

// maxAttempts is how often work is done before its failure is believed, when
// doing it again may help.
const maxAttempts = 16

// pause waits before another attempt, longer each time and never the same for
// two who were in each other's way. It reports whether ctx allows it.
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

// again marks an error of work that may succeed when it is done again.
type again struct{ error }

// Unwrap returns the error itself.
func (a again) Unwrap() error { return a.error }

// likewise returns e, which says more about err, with the mark of err.
func likewise(err error, e *engine.Error) error {
	var mark again
	if errors.As(err, &mark) {
		return again{e}
	}
	return e
}

// kind says what kind of failure err is.
func (s *Store) kind(err error) Failure {
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

// failed turns an error of the database, met on session r, into an
// *engine.Error. A session whose connection is gone makes a new one.
func (s *Store) failed(ctx context.Context, r *session, err error) error {
	if err == nil {
		return nil
	}
	kind := s.kind(err)
	if r.conn != nil && r.interrupt.Spends && (kind == Stale || kind == Interrupted || !r.sound()) {
		r.disconnect() // what was cancelled may still be cancelling
	}
	var known *engine.Error
	if errors.As(err, &known) {
		return known
	}
	away := kind == Away || kind == Full || kind == Stale
	cause := ctx.Err()
	left := errors.Is(cause, context.Canceled) && errors.Is(err, context.Canceled) // also while a connection was being opened
	if cause != nil && (!away || left) {
		return ended(cause)
	}
	switch {
	case away:
		s.lose(r)
		s.cfg.Log.Error("the database is not available", "error", err)
		return &engine.Error{Code: engine.Unavailable, Reason: "database", RetryAfter: retryAfter,
			Message: "the database is not available", Err: err}
	case kind == Interrupted, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return ended(err)
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

// ended is the error of work that its context ended.
func ended(cause error) error {
	return &engine.Error{Code: engine.Timeout, Reason: "timeout", Message: "the time for this request is over", Err: cause}
}

// refused is the error of a write that failed: that of a duplicate, if it is
// one.
func (s *Store) refused(p *plan, err error, value func(property string) any) error {
	if d := s.duplicate(p, err, value); d != nil {
		return d
	}
	return err
}

// duplicate returns the error for a broken unique index, nil when err is
// another one. value returns what the write gave a property.
func (s *Store) duplicate(p *plan, err error, value func(property string) any) *engine.Error {
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
		if property == nil { // the id of several properties, or one of a class below
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

// propertyIn returns the property that a column of that name holds, nil if there is none.
func (p *plan) propertyIn(column string) *engine.Property {
	for _, property := range p.stored {
		if p.table.column(property).name == column {
			return property
		}
	}
	return nil
}

// errSameID is the cause of the error for two keys that join to one id.
var errSameID = errors.New("the object with that id has another key")

// otherKey returns the error for values whose key joins to the id of an item that has another key.
func (p *plan) otherKey(v engine.Values) *engine.Error {
	c := p.class
	id := c.ID(v)
	e := engine.Errorf(engine.Invalid, "duplicate", "class %s already has an object with the id %s, and the parts of its key are others: two keys that join to one id cannot both be stored",
		c.FullName, engine.Quote(id))
	e.Class, e.ID = c.FullName, id
	e.Err = &conflict{error: errSameID, plan: p, index: p.table.unique[0], values: []any{id}}
	return e
}

// hasKey reports whether the stored parts of a key, in its order, are those given. A key of which
// a part is not given is not compared.
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

// idOf returns the id of an item with several key properties, as the value of an
// index; nil if a part of it is not known.
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
