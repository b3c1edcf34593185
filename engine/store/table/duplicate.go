package table

import (
	"errors"
	"strings"

	"restsrv/engine"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/sqldb"
)

// Conflict is the error of the database for a violated unique index. It contains the values that the write gave to the
// columns of this index.
type Conflict struct {
	error
	Plan   *layout.Plan
	Index  sqldb.Index
	Values []any // nil if they are not known
}

// OfKey reports whether the violated index is the index of the key, so that another item has the key.
func (c *Conflict) OfKey() bool {
	return len(c.Index.Columns) == 1 && c.Index.Columns[0] == c.Plan.Table.ID.Name
}

// Unwrap returns the error of the database.
func (c *Conflict) Unwrap() error { return c.error }

// RootPlan returns the plan of the root class of p's table.
func (s *Writer) RootPlan(p *layout.Plan) *layout.Plan { return s.layout.Plans[p.Table.Classes[0]] }

// WriteError converts the error of a failed write: DuplicateError if err reports a violated unique index, otherwise
// err itself.
func (s *Writer) WriteError(p *layout.Plan, err error, value func(property string) any) error {
	if d := s.DuplicateError(p, err, value); d != nil {
		return d
	}
	return err
}

// DuplicateError returns the error for a duplicate value if err reports a violated unique index, otherwise nil. value
// returns the value that the write gave to a property.
func (s *Writer) DuplicateError(p *layout.Plan, err error, value func(property string) any) *engine.Error {
	index, ok := s.dialect.Duplicate(err, p.Table.Unique)
	if !ok {
		return nil
	}
	e := engine.Errorf(engine.Invalid, "duplicate", "class %s already has an object with this key", p.Class.FullName)
	met := &Conflict{error: err, Plan: p, Index: index}
	e.Class, e.Err = p.Class.FullName, met
	var parts []string
	var values []any
	for _, name := range index.Columns {
		property := p.PropertyIn(name)
		if name == layout.IDColumn {
			if met.Values = p.IDOf(value); met.Values != nil {
				e.Message = "class " + p.Class.FullName + " already has an object with the id " + engine.Quote(engine.ValueText(met.Values[0]))
			}
		}
		if property == nil { // the index is that of an id of several properties, or of a property of a descendant
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
		met.Values = values
	}
	e.Attribute = p.PropertyIn(index.Columns[0]).Name
	e.Message = "class " + p.Class.FullName + " already has an object with " + strings.Join(parts, ", ")
	return e
}

// ErrSameID is the cause of an error for values that have the id of a stored item, but another key. If a key has
// several properties, different keys can have the same id. For example, (a_b, c) and (a, b_c) both have the id a_b_c.
var ErrSameID = errors.New("the object with that id has another key")

// OtherKey returns the error for values that have the id of a stored item, but another key (see ErrSameID).
func OtherKey(p *layout.Plan, v engine.Values) *engine.Error {
	c := p.Class
	id := c.ID(v)
	e := engine.Errorf(engine.Invalid, "duplicate", "class %s already has an object with the id %s, and the parts of its key are others: two keys that join to one id cannot both be stored",
		c.FullName, engine.Quote(id))
	e.Class, e.ID = c.FullName, id
	e.Err = &Conflict{error: ErrSameID, Plan: p, Index: p.Table.Unique[0], Values: []any{id}}
	return e
}
