// Package storetest contains helpers for tests of an engine.Repository, which declare classes, build values and
// filters, and check results. The packages below it contain the tests of the conformance suite, by subject; package
// suite runs them. Add a test to the package of its subject. Add a helper here if several of these packages use it.
package storetest

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/query"
	"restsrv/engine/wire"
)

// Open opens a new, empty repository of the classes, and closes it when the test ends. The repository must hash
// passwords with HashPassword.
type Open func(t *testing.T, classes []*engine.Class) engine.Repository

// HashPassword is the hash function for passwords in the suite. The hash is readable, so that tests can compare it.
func HashPassword(_ context.Context, plain string) (string, error) {
	return "hash of " + plain, nil
}

// FileClass returns the class #file, in which an implementation must record the files of items. It returns nil if the
// class is not among the classes.
func FileClass(classes []*engine.Class) *engine.Class {
	for _, c := range classes {
		if c.FullName == "#file" {
			return c
		}
	}
	return nil
}

// StageClass returns the class #stage, in which an implementation must record the workflow stages of items. It returns
// nil if the class is not among the classes.
func StageClass(classes []*engine.Class) *engine.Class {
	for _, c := range classes {
		if c.FullName == "#stage" {
			return c
		}
	}
	return nil
}

// Class returns the class with that name, or nil if it is not among the classes.
func Class(classes []*engine.Class, name string) *engine.Class {
	for _, c := range classes {
		if c.FullName == name {
			return c
		}
	}
	return nil
}

// Group is a named list of tests.
type Group struct {
	Name  string
	Tests []Test
}

// Test is a named test of the suite.
type Test struct {
	Name string
	Run  func(t *testing.T, open Open)
}

// NewClass returns a class. Its first property is the key. The other properties are nullable, except those that are
// changed by Required.
func NewClass(name string, properties ...*engine.Property) *engine.Class {
	c := &engine.Class{Name: name, Namespace: "test", Caption: name, Version: "1", Key: []string{properties[0].Name}, Properties: properties}
	properties[0].Nullable = false
	for i, p := range properties {
		p.OrderNumber, p.Definition = i, engine.FullName(name, "test")
	}
	if err := c.Init(); err != nil {
		panic(err)
	}
	return c
}

// Extend returns a new class below ancestor, and adds it to the descendants of all its ancestors. The new class
// inherits the properties of ancestor, except those that properties declares again.
func Extend(ancestor *engine.Class, name string, properties ...*engine.Property) *engine.Class {
	var all []*engine.Property
	for _, p := range ancestor.Properties {
		inherited := *p
		all = append(all, &inherited)
	}
	for i, p := range properties {
		p.OrderNumber, p.Definition = len(ancestor.Properties)+i, engine.FullName(name, "test")
		if at := slices.IndexFunc(all, func(q *engine.Property) bool { return q.Name == p.Name }); at >= 0 {
			p.OrderNumber = all[at].OrderNumber
			all[at] = p
			continue
		}
		all = append(all, p)
	}
	c := &engine.Class{Name: name, Namespace: "test", Caption: name, Version: "1", Key: ancestor.Key, Ancestor: ancestor, Properties: all}
	if err := c.Init(); err != nil {
		panic(err)
	}
	for a := ancestor; a != nil; a = a.Ancestor {
		a.Descendants = append(a.Descendants, c)
	}
	return c
}

// Prop returns a nullable property. The functions in change modify the property; Required, Unique and similar
// functions can be used.
func Prop(name string, typ engine.PropertyType, change ...func(*engine.Property)) *engine.Property {
	p := &engine.Property{Name: name, Caption: name, Type: typ, Nullable: true}
	for _, f := range change {
		f(p)
	}
	return p
}

// Required makes a property not nullable.
func Required(p *engine.Property) { p.Nullable = false }

// Unique makes the values of a property unique.
func Unique(p *engine.Property) { p.Unique = true }

// Indexed gives a property an index.
func Indexed(p *engine.Property) { p.Indexed = true }

// Readonly makes a property read-only.
func Readonly(p *engine.Property) { p.Readonly = true }

// Autoassigned lets the repository assign the value of a property.
func Autoassigned(p *engine.Property) { p.Autoassigned = true }

// ByDefault gives a property a default value.
func ByDefault(v any) func(*engine.Property) {
	return func(p *engine.Property) { p.Default = v }
}

// NoteClass returns the class that most tests use.
func NoteClass() *engine.Class {
	return NewClass("note",
		Prop("id", engine.GUID, Autoassigned),
		Prop("title", engine.String, Indexed),
		Prop("body", engine.Text),
		Prop("rank", engine.Int),
		Prop("code", engine.String, Unique),
	)
}

// OpenNotes opens a repository with the class of NoteClass.
func OpenNotes(t *testing.T, open Open) (engine.Repository, *engine.Class) {
	c := NoteClass()
	return open(t, []*engine.Class{c}), c
}

// NewValues returns input values for an item of class c. pairs lists names and values in turn.
func NewValues(c *engine.Class, pairs ...any) engine.Values {
	v := engine.NewValues(c)
	for i := 0; i < len(pairs); i += 2 {
		v[c.Property(pairs[i].(string)).Index] = pairs[i+1]
	}
	return v
}

// NewRecord returns a record of class c. pairs lists names and values in turn.
func NewRecord(c *engine.Class, id string, pairs ...any) engine.Record {
	return engine.Record{Class: c, ID: id, Values: NewValues(c, pairs...)}
}

// Create creates an item, and stops the test if that fails.
func Create(t *testing.T, r engine.Repository, c *engine.Class, pairs ...any) *engine.Item {
	t.Helper()
	it, err := r.Create(t.Context(), c, NewValues(c, pairs...), engine.WriteOptions{})
	if err != nil {
		t.Fatalf("create: %v", err)
	}
	return it
}

// Get returns an item, and stops the test if that fails.
func Get(t *testing.T, r engine.Repository, c *engine.Class, id string) *engine.Item {
	t.Helper()
	it, err := r.Get(t.Context(), c, id)
	if err != nil {
		t.Fatalf("get %s: %v", id, err)
	}
	return it
}

// ListIDs returns the ids of the items that a query finds.
func ListIDs(t *testing.T, r engine.Repository, q *engine.Query) []string {
	t.Helper()
	found := []string{}
	err := r.List(t.Context(), q, func(it *engine.Item) error {
		found = append(found, it.ID)
		return nil
	})
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	return found
}

// All returns the query for all items of a class.
func All(c *engine.Class) *engine.Query { return &engine.Query{Class: c, Count: -1} }

// Count returns the number of items of a class.
func Count(t *testing.T, r engine.Repository, c *engine.Class) int64 {
	t.Helper()
	n, err := r.Count(t.Context(), All(c))
	if err != nil {
		t.Fatalf("count: %v", err)
	}
	return n
}

// Compare returns a filter that compares a property with a value of its type.
func Compare(op engine.Op, p *engine.Property, value any) *engine.Filter {
	return &engine.Filter{Op: op, Left: engine.Attribute(p), Right: engine.Constant(p.ValueType(), value)}
}

// ParseFilter parses a filter from JSON.
func ParseFilter(t *testing.T, c *engine.Class, filter string) *engine.Filter {
	t.Helper()
	f, err := query.ParseFilter(c, DecodeJSON(t, filter), Now)
	if err != nil {
		t.Fatalf("%s: %v", filter, err)
	}
	return f
}

// Now is the present time for all filters and expressions.
var Now = time.Date(2024, 2, 29, 12, 30, 0, 0, time.UTC)

// DecodeJSON decodes a JSON text, and stops the test if that fails.
func DecodeJSON(t *testing.T, json string) any {
	t.Helper()
	v, err := wire.Decode([]byte(json))
	if err != nil {
		t.Fatalf("%s: %v", json, err)
	}
	return v
}

// CheckSame compares two values deeply and reports a difference.
func CheckSame(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %#v, want %#v", what, got, want)
	}
}

// CheckError checks the code of an error, and its reason if reason is not "". It returns the error.
func CheckError(t *testing.T, err error, code engine.Code, reason string) *engine.Error {
	t.Helper()
	var e *engine.Error
	if !errors.As(err, &e) {
		t.Fatalf("got error %v, want code %d", err, code)
	}
	if e.Code != code || reason != "" && e.Reason != reason {
		t.Fatalf("got code %d, reason %q (%v), want %d, %q", e.Code, e.Reason, e, code, reason)
	}
	return e
}

// WithAccount returns the context of a request of an account.
func WithAccount(t *testing.T, id string) context.Context {
	return engine.WithAccount(t.Context(), &engine.Account{ID: id})
}
