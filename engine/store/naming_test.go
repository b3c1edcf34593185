package store_test

import (
	"fmt"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/store"
	"restsrv/engine/store/storetest"
)

// redeclaration is a change of the classes of a database. After the change, each object must have the same value of x
// as before.
type redeclaration struct {
	name          string
	before, after func() []*engine.Class
	values        map[string]any    // of x, by the class of the object; the id of each object is the name of its class
	columns       map[string]string // of x after the change, by class
	problem       string            // the expected error, if the change must be refused
}

func class(name string, properties ...*engine.Property) *engine.Class {
	return storetest.NewClass(name, append([]*engine.Property{prop("id", engine.String)}, properties...)...)
}

// withCollection returns a function that returns a class root with a collection x of objects of root, and a descendant
// c.
func withCollection(below ...*engine.Property) func() []*engine.Class {
	return func() []*engine.Class {
		top := &engine.Class{Name: "root", Namespace: "test", Key: []string{"id"}}
		x := &engine.Property{Name: "x", Type: engine.Collection, Target: top, Nullable: true, OrderNumber: 1, Definition: "root@test"}
		top.Properties = []*engine.Property{prop("id", engine.String), x}
		if err := top.Init(); err != nil {
			panic(err)
		}
		return []*engine.Class{top, storetest.Extend(top, "c", below...)}
	}
}

// classesOf returns a function that returns a class root and its descendants. Each class declares its own x, or no x.
func classesOf(root *engine.Property, below ...any) func() []*engine.Class {
	return func() []*engine.Class {
		copied := func(p *engine.Property) []*engine.Property {
			if p == nil {
				return nil
			}
			c := *p
			return []*engine.Property{&c}
		}
		top := class("root", copied(root)...)
		all := []*engine.Class{top}
		for i := 0; i < len(below); i += 2 {
			p, _ := below[i+1].(*engine.Property)
			all = append(all, storetest.Extend(top, below[i].(string), copied(p)...))
		}
		return all
	}
}

var redeclarations = []redeclaration{
	{name: "a new class with another type",
		before: classesOf(prop("x", engine.Int), "c", nil), after: classesOf(prop("x", engine.Int), "a", prop("x", engine.String), "c", nil),
		values: map[string]any{"root": int64(1), "c": int64(2)}, columns: map[string]string{"root": "x", "c": "x", "a": "x@a@test"}},
	{name: "an attribute of another type above",
		before: classesOf(nil, "c", prop("x", engine.String)), after: classesOf(prop("x", engine.Int), "a", nil, "c", prop("x", engine.String)),
		values: map[string]any{"root": nil, "c": "v"}, columns: map[string]string{"root": "x@root@test", "a": "x@root@test", "c": "x"}},
	{name: "siblings, the new one is first",
		before: classesOf(nil, "c", prop("x", engine.Boolean)), after: classesOf(nil, "a", prop("x", engine.Real), "b", prop("x", engine.Text), "c", prop("x", engine.Boolean)),
		values: map[string]any{"c": true}, columns: map[string]string{"a": "x@a@test", "b": "x@b@test", "c": "x"}},
	{name: "one storage",
		before: classesOf(prop("x", engine.String, indexed), "c", nil), after: classesOf(prop("x", engine.String), "a", prop("x", engine.HTML, indexed), "c", prop("x", engine.GUID)),
		values: map[string]any{"root": "r", "c": "v"}, columns: map[string]string{"root": "x", "a": "x", "c": "x"}},
	{name: "a class without objects gets another type",
		before: classesOf(prop("x", engine.Int), "c", nil), after: classesOf(prop("x", engine.Int), "c", prop("x", engine.String, required, func(p *engine.Property) { p.Default = "d" })),
		values: map[string]any{"root": int64(1)}, columns: map[string]string{"root": "x", "c": "x@c@test"}},
	{name: "a class with values gets another type",
		before: classesOf(prop("x", engine.Int), "c", nil), after: classesOf(prop("x", engine.Int), "c", prop("x", engine.String)),
		values: map[string]any{"root": int64(1), "c": int64(2)}, problem: `class c@test: property "x" was int and would become string, but 1 objects have a value for it`},
	{name: "the ancestor gets another type, a descendant the stored one",
		before: classesOf(prop("x", engine.Int), "c", nil), after: classesOf(prop("x", engine.String), "c", prop("x", engine.Int)),
		values: map[string]any{"root": int64(1), "c": int64(2)}, problem: `class root@test: property "x" was int and would become string, but 1 objects have a value for it`},
	{name: "the ancestor without values gets another type",
		before: classesOf(prop("x", engine.Int), "c", nil), after: classesOf(prop("x", engine.String), "c", prop("x", engine.Int)),
		values: map[string]any{"root": nil, "c": int64(2)}, columns: map[string]string{"root": "x@root@test", "c": "x"}},
	{name: "one type again",
		before: classesOf(prop("x", engine.Int), "c", prop("x", engine.String)), after: classesOf(prop("x", engine.Int), "c", nil),
		values: map[string]any{"root": int64(1), "c": nil}, columns: map[string]string{"root": "x", "c": "x"}},
	{name: "one type again with values",
		before: classesOf(prop("x", engine.Int), "c", prop("x", engine.String)), after: classesOf(prop("x", engine.Int), "c", nil),
		values: map[string]any{"root": int64(1), "c": "2"}, problem: `class c@test: property "x" was string and would become int, but 1 objects have a value for it`},
	{name: "removed below", before: classesOf(prop("x", engine.Int), "c", prop("x", engine.String)), after: classesOf(nil, "c", prop("x", engine.String)),
		values: map[string]any{"root": nil, "c": "2"}, columns: map[string]string{"c": "x@c@test"}},
	{name: "a collection with links becomes a number",
		before: withCollection(), after: withCollection(prop("x", engine.Int)),
		values: map[string]any{"root": nil, "c": &engine.Links{Add: []any{"root"}}}, problem: `class c@test: collection "x" of class root@test would become int, but its objects have 1 links`},
	{name: "attributes that differ in letter case",
		before: classesOf(prop("x", engine.Int)), after: classesOf(prop("x", engine.Int), "a", prop("X", engine.Int)),
		values: map[string]any{"root": int64(1)}, columns: map[string]string{"root": "x", "a": "x"}},
}

// TestRedeclaration changes the classes of a database with objects. It does so in two ways: by opening the database
// again, and while the database is open.
func TestRedeclaration(t *testing.T) {
	for _, r := range redeclarations {
		t.Run(r.name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, p place) { r.run(t, p) })
		})
	}
}

func (r *redeclaration) run(t *testing.T, p place) {
	before := r.before()
	st := mustOpen(t, p, before...)
	for _, c := range before {
		x, given := r.values[c.Name]
		switch {
		case given && x != nil:
			create(t, st, c, engine.Named("id", c.Name), engine.Named("x", x))
		case given:
			create(t, st, c, engine.Named("id", c.Name))
		}
	}
	next, err := st.With(r.after())
	if err == nil {
		err = next.Upgrade(t.Context())
	}
	if r.problem != "" {
		refused(t, err, []string{r.problem})
		closeStore(t, st)
		_, err = tryOpen(t, p, r.after()...)
		refused(t, err, []string{r.problem})
		closeStore(t, mustOpen(t, p, before...)) // the failed upgrade has left the database unchanged
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	closeStore(t, st)
	for range 2 {
		after := r.after()
		st := mustOpen(t, p, after...)
		for _, c := range after {
			if want, given := r.values[c.Name]; given && c.Property("x") != nil {
				it, err := st.Get(t.Context(), after[0], c.Name)
				if err != nil || it.Class != c || it.Get("x") != want {
					t.Errorf("%s: got %v, %v, want x = %v", c.Name, it, err, want)
				}
			}
			if got := st.ColumnOf(c, "x"); got != r.columns[c.Name] {
				t.Errorf("x of %s: got column %q, want %q", c.Name, got, r.columns[c.Name])
			}
		}
		closeStore(t, st)
	}
}

// TestForgottenColumns removes columns of redeclared attributes and adds them again.
func TestForgottenColumns(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		types := []engine.PropertyType{engine.String, engine.Int, engine.Boolean, engine.Text}
		for i := range 24 {
			var declared []any
			for n := range 3 {
				if (i>>n)&1 == 0 {
					declared = append(declared, fmt.Sprint("c", n), prop("x", types[(i*7+n*3)%len(types)]))
				}
			}
			var root *engine.Property
			if i%3 > 0 {
				root = prop("x", types[i%len(types)])
			}
			classes := classesOf(root, declared...)()
			st := mustOpen(t, p, classes...)
			for _, c := range classes {
				x := c.Property("x")
				if x == nil {
					continue
				}
				value, err := x.Cast(map[engine.PropertyType]any{engine.Int: int64(1), engine.Boolean: true}[x.Type])
				if err != nil {
					t.Fatal(err)
				}
				it := create(t, st, c, engine.Named("id", c.Name), engine.Named("x", value))
				if got, err := st.Get(t.Context(), classes[0], it.ID); err != nil || got.Get("x") != value {
					t.Errorf("%s: got %v, %v, want x = %v", c.Name, got, err, value)
				}
				if err := st.Delete(t.Context(), c, it.ID, nil); err != nil {
					t.Fatal(err)
				}
			}
			closeStore(t, st)
		}
	})
}

// TestLetterCaseOfStoredNames adds classes and attributes that differ from stored ones in letter case only. Existing
// tables and columns keep their names.
func TestLetterCaseOfStoredNames(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		before := note(prop("Name", engine.Int))
		st := mustOpen(t, p, before)
		create(t, st, before, engine.Named("id", "a"), engine.Named("Name", int64(1)))
		closeStore(t, st)
		for range 2 {
			upper := storetest.NewClass("Note", prop("id", engine.String), prop("name", engine.String))
			after := note(prop("name", engine.String), prop("NAME", engine.String), prop("Name", engine.Int))
			st := openAt(t, p, upper, after)
			it, err := st.Get(t.Context(), after, "a")
			if err != nil || it.Get("Name") != int64(1) || it.Get("name") != nil {
				t.Errorf("got %v, %v, want Name = 1", it, err)
			}
			names := []string{st.TableOf(after), st.TableOf(upper), st.ColumnOf(after, "Name"), st.ColumnOf(after, "name"), st.ColumnOf(after, "NAME")}
			if got, want := strings.Join(names, " "), "note@test Note@test#2 Name name#2 NAME#3"; got != want {
				t.Errorf("got names %s, want %s", got, want)
			}
			if err := st.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestReloadOfOneServer upgrades the same classes on two servers of one database, one after the other. Both servers
// must use the columns that the first one has created.
func TestReloadOfOneServer(t *testing.T) {
	p := postgresPlace(t)
	before := classesOf(prop("x", engine.Int))
	one, two := openAt(t, p, before()...), openAt(t, p, before()...)
	after := classesOf(prop("x", engine.Int), "a", prop("x", engine.String))
	var classes [2][]*engine.Class
	var stores [2]*store.Store
	for i, st := range []*store.Store{one, two} {
		classes[i] = after()
		stores[i] = upgraded(t, st, classes[i]...)
	}
	create(t, stores[0], classes[0][1], engine.Named("id", "a"), engine.Named("x", "v"))
	it, err := stores[1].Get(t.Context(), classes[1][0], "a")
	if err != nil || it.Get("x") != "v" {
		t.Errorf("got %v, %v, want x = v", it, err)
	}
}
