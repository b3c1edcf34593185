// Package storetest is the conformance suite of engine.Repository. It uses only the interface and
// checks the behaviour that every implementation must have. Implementations run it from their own
// tests. Tests for a single database belong to its own package.
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

// Open opens a new, empty repository of the classes and closes it when the test ends. The
// repository must hash passwords with HashPassword.
type Open func(t *testing.T, classes []*engine.Class) engine.Repository

// HashPassword is the hash function of the suite. The hash is readable, so that tests can distinguish it
// from the plain text.
func HashPassword(_ context.Context, plain string) (string, error) {
	return "hash of " + plain, nil
}

// FileClass returns the class #file, in which an implementation must store the rows of files, or
// nil if it is not among the classes.
func FileClass(classes []*engine.Class) *engine.Class {
	for _, c := range classes {
		if c.FullName == "#file" {
			return c
		}
	}
	return nil
}

// StageClass returns the class #stage, in which an implementation must store stages, or nil if it
// is not among the classes.
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

// Run runs the suite. If only is given, it runs only these groups of tests.
func Run(t *testing.T, open Open, only ...string) {
	groups := []struct {
		name  string
		tests []test
	}{
		{"values", valueTests},
		{"entries of indexes", entryTests},
		{"create", createTests},
		{"list", listTests},
		{"filter", filterTests},
		{"update", updateTests},
		{"save", saveTests},
		{"order", orderTests},
		{"inheritance", treeTests},
		{"trees", redeclaredTests},
		{"loading", loadTests},
		{"nested records", nestedTests},
		{"collections", collectionTests},
		{"changed keys", rekeyTests},
		{"all that a filter finds", allTests},
		{"numbers", numberTests},
		{"trackers", trackerTests},
		{"archive", archiveTests},
		{"files", fileTests},
		{"journal", journalTests},
		{"stages", stageTests},
		{"grants", grantTests},
		{"paths", pathTests},
		{"expressions", expressionTests},
		{"keysets", keysetTests},
		{"search", searchTests},
		{"aggregation", aggregateTests},
		{"formulas", calculateTests},
		{"guard", slices.Concat(guardTests, guardWriteTests, guardOracleTests, guardFormulaTests, guardKeptTests)},
		{"concurrency", concurrencyTests},
		{"transactions", transactionTests},
		{"moments", momentTests},
		{"races", raceTests},
	}
	for _, g := range groups {
		if len(only) > 0 && !slices.Contains(only, g.name) {
			continue
		}
		t.Run(g.name, func(t *testing.T) {
			for _, test := range g.tests {
				t.Run(test.name, func(t *testing.T) { test.run(t, open) })
			}
		})
	}
}

type test struct {
	name string
	run  func(t *testing.T, open Open)
}

// NewClass returns a class with its first property as the key. Other properties are nullable unless
// they are declared otherwise.
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

// Extend returns a class below another and adds it to the descendants of all its ancestors. A
// property with the name of an inherited one replaces it.
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

// Prop returns a nullable property. The change functions, if any, modify it.
func Prop(name string, typ engine.PropertyType, change ...func(*engine.Property)) *engine.Property {
	p := &engine.Property{Name: name, Caption: name, Type: typ, Nullable: true}
	for _, f := range change {
		f(p)
	}
	return p
}

func required(p *engine.Property)     { p.Nullable = false }
func unique(p *engine.Property)       { p.Unique = true }
func indexed(p *engine.Property)      { p.Indexed = true }
func readonly(p *engine.Property)     { p.Readonly = true }
func autoassigned(p *engine.Property) { p.Autoassigned = true }

func byDefault(v any) func(*engine.Property) {
	return func(p *engine.Property) { p.Default = v }
}

// note returns the class that most tests use.
func note() *engine.Class {
	return NewClass("note",
		Prop("id", engine.GUID, autoassigned),
		Prop("title", engine.String, indexed),
		Prop("body", engine.Text),
		Prop("rank", engine.Int),
		Prop("code", engine.String, unique),
	)
}

func openNotes(t *testing.T, open Open) (engine.Repository, *engine.Class) {
	c := note()
	return open(t, []*engine.Class{c}), c
}

// values returns input values. pairs are names and values in turn.
func values(c *engine.Class, pairs ...any) engine.Values {
	v := engine.NewValues(c)
	for i := 0; i < len(pairs); i += 2 {
		v[c.Property(pairs[i].(string)).Index] = pairs[i+1]
	}
	return v
}

func record(c *engine.Class, id string, pairs ...any) engine.Record {
	return engine.Record{Class: c, ID: id, Values: values(c, pairs...)}
}

func create(t *testing.T, r engine.Repository, c *engine.Class, pairs ...any) *engine.Item {
	t.Helper()
	it, err := r.Create(t.Context(), c, values(c, pairs...), engine.WriteOptions{})
	if err != nil {
		t.Fatalf("create: %v", err)
	}
	return it
}

func get(t *testing.T, r engine.Repository, c *engine.Class, id string) *engine.Item {
	t.Helper()
	it, err := r.Get(t.Context(), c, id)
	if err != nil {
		t.Fatalf("get %s: %v", id, err)
	}
	return it
}

// ids returns the ids that a query finds.
func ids(t *testing.T, r engine.Repository, q *engine.Query) []string {
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

func all(c *engine.Class) *engine.Query { return &engine.Query{Class: c, Count: -1} }

func count(t *testing.T, r engine.Repository, c *engine.Class) int64 {
	t.Helper()
	n, err := r.Count(t.Context(), all(c))
	if err != nil {
		t.Fatalf("count: %v", err)
	}
	return n
}

// Compare returns a filter that compares a property with a value of its type.
func Compare(op engine.Op, p *engine.Property, value any) *engine.Filter {
	return &engine.Filter{Op: op, Left: engine.Attribute(p), Right: engine.Constant(p.ValueType(), value)}
}

// parsed parses a filter from JSON.
func parsed(t *testing.T, c *engine.Class, filter string) *engine.Filter {
	t.Helper()
	f, err := query.ParseFilter(c, decoded(t, filter), now)
	if err != nil {
		t.Fatalf("%s: %v", filter, err)
	}
	return f
}

// now is the time of all filters.
var now = time.Date(2024, 2, 29, 12, 30, 0, 0, time.UTC)

func decoded(t *testing.T, json string) any {
	t.Helper()
	v, err := wire.Decode([]byte(json))
	if err != nil {
		t.Fatalf("%s: %v", json, err)
	}
	return v
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %#v, want %#v", what, got, want)
	}
}

// fails checks the code of an error and, unless it is "", the reason. It returns the error.
func fails(t *testing.T, err error, code engine.Code, reason string) *engine.Error {
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

// as returns the context of a request by an account.
func as(t *testing.T, id string) context.Context {
	return engine.WithAccount(t.Context(), &engine.Account{ID: id})
}
