// Package storetest is the conformance suite of engine.Repository: what every
// implementation must do, written against the interface alone. Implementations
// run it from their own tests. It is not for what only one database does.
package storetest

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/wire"
)

// Open opens a new, empty repository of the classes, which stores passwords
// with HashPassword, and closes it when the test ends.
type Open func(t *testing.T, classes []*engine.Class) engine.Repository

// HashPassword is the hash of the suite: readable, so that tests can tell a
// hash from the plain text.
func HashPassword(_ context.Context, plain string) (string, error) {
	return "hash of " + plain, nil
}

// FileClass is what an implementation is told to keep rows of files in: the class
// #file, nil when it is not among the classes.
func FileClass(classes []*engine.Class) *engine.Class {
	for _, c := range classes {
		if c.FullName == "#file" {
			return c
		}
	}
	return nil
}

// StageClass is so too what stages are kept in: the class #stage.
func StageClass(classes []*engine.Class) *engine.Class {
	for _, c := range classes {
		if c.FullName == "#stage" {
			return c
		}
	}
	return nil
}

// Class returns the class of that name, nil when it is not among the classes.
func Class(classes []*engine.Class, name string) *engine.Class {
	for _, c := range classes {
		if c.FullName == name {
			return c
		}
	}
	return nil
}

// Run runs the suite, or only the groups of tests that are named.
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
		{"guard", slices.Concat(guardTests, guardWriteTests, guardOracleTests, guardFormulaTests)},
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

// NewClass makes a class whose key is its first property. Properties are
// nullable unless they are the key or say otherwise.
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

// Extend makes a class below another, which it joins to all of its ancestors. A property
// with the name of an inherited one takes its place.
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

// Prop makes a nullable property; change, if given, alters it.
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

// note is the class of most tests.
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

// values makes input from names and values in turn.
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

// ids lists the ids that a query finds.
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

// Compare compares a property with a value of its type.
func Compare(op engine.Op, p *engine.Property, value any) *engine.Filter {
	return &engine.Filter{Op: op, Left: engine.Attribute(p), Right: engine.Constant(p.ValueType(), value)}
}

// parsed reads a filter of JSON.
func parsed(t *testing.T, c *engine.Class, filter string) *engine.Filter {
	t.Helper()
	f, err := engine.ParseFilter(c, decoded(t, filter), now)
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

// fails checks the code and, unless it is "", the reason of an error, which
// it returns.
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

// as acts for an account.
func as(t *testing.T, id string) context.Context {
	return engine.WithAccount(t.Context(), &engine.Account{ID: id})
}
