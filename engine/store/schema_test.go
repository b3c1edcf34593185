package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/store"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/storetest"
)

var prop = storetest.Prop

func unique(p *engine.Property)   { p.Unique = true }
func indexed(p *engine.Property)  { p.Indexed = true }
func required(p *engine.Property) { p.Nullable = false }

func note(properties ...*engine.Property) *engine.Class {
	return storetest.NewClass("note", append([]*engine.Property{prop("id", engine.String)}, properties...)...)
}

// TestSchemaChange opens a database with one version of a class, stores two items, and opens it with another version.
func TestSchemaChange(t *testing.T) {
	byDefault := func(v any) func(*engine.Property) { return func(p *engine.Property) { p.Default = v } }
	for _, test := range []struct {
		name          string
		before, after *engine.Class
		values        []any    // of the second property, in the items a and b
		want          any      // of the second property of a after the change; nil is null
		problems      []string // words of each problem, in any order
	}{
		{name: "same", before: note(prop("x", engine.Int)), after: note(prop("x", engine.Int)), values: []any{int64(1), nil}, want: int64(1)},
		{name: "new property", before: note(prop("y", engine.Int)), after: note(prop("x", engine.Int)), values: []any{nil, nil}},
		{name: "textual types replace each other", before: note(prop("x", engine.String)), after: note(prop("x", engine.HTML)), values: []any{"v", nil}, want: "v"},
		{name: "new type without values", before: note(prop("x", engine.Int)), after: note(prop("x", engine.String)), values: []any{nil, nil}},
		{name: "new type", before: note(prop("x", engine.Int)), after: note(prop("x", engine.String)), values: []any{int64(1), nil},
			problems: []string{`class note@test: property "x" was int and would become string, but 1 objects have a value`}},
		{name: "text to password", before: note(prop("x", engine.String)), after: note(prop("x", engine.Password)), values: []any{"v", "w"},
			problems: []string{`property "x" was string and would become password, but 2 objects`}},
		{name: "removed with values", before: note(prop("x", engine.Int), prop("y", engine.Int)), after: note(prop("y", engine.Int)), values: []any{int64(1), int64(2)},
			problems: []string{`property "x" (int) was removed, but 2 objects have a value for it`}},
		{name: "new index", before: note(prop("x", engine.Int)), after: note(prop("x", engine.Int, indexed)), values: []any{int64(1), int64(1)}, want: int64(1)},
		{name: "no longer unique", before: note(prop("x", engine.Int, unique)), after: note(prop("x", engine.Int)), values: []any{int64(1), int64(2)}, want: int64(1)},
		{name: "unique now", before: note(prop("x", engine.Int)), after: note(prop("x", engine.Int, unique)), values: []any{int64(1), int64(2)}, want: int64(1)},
		{name: "unique nulls", before: note(prop("x", engine.Int)), after: note(prop("x", engine.Int, unique)), values: []any{nil, nil}},
		{name: "unique over duplicates", before: note(prop("x", engine.Int)), after: note(prop("x", engine.Int, unique)), values: []any{int64(1), int64(1)},
			problems: []string{`property "x" would become unique, but 1 of its values`}},
		{name: "new required with default", before: note(prop("y", engine.Int)), after: note(prop("x", engine.Int, required, byDefault("7"))), values: []any{nil, nil}, want: int64(7)},
		{name: "new required without default", before: note(prop("y", engine.Int)), after: note(prop("x", engine.Int, required)), values: []any{nil, nil},
			problems: []string{`the new property "x" must have a value, but 2 objects have none`}},
		{name: "changed key", before: note(prop("x", engine.Int)), after: storetest.NewClass("note", prop("x", engine.Int), prop("id", engine.String)), values: []any{int64(1), int64(2)},
			problems: []string{`class note@test: the key was id and would become x; 2 objects`}},
		{name: "all problems at once", before: note(prop("x", engine.Int), prop("y", engine.Int)), after: note(prop("x", engine.Boolean), prop("z", engine.Int, required)), values: []any{int64(1), int64(1)},
			problems: []string{`property "x" was int`, `new property "z"`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, p place) {
				st := mustOpen(t, p, test.before)
				for i, id := range []string{"a", "b"} {
					v := engine.NewValues(test.before)
					v[test.before.Property("id").Index] = id
					v[1] = test.values[i]
					if _, err := st.Create(t.Context(), test.before, v, engine.WriteOptions{}); err != nil {
						t.Fatal(err)
					}
				}
				closeStore(t, st)
				after, err := tryOpen(t, p, test.after)
				if len(test.problems) > 0 {
					refused(t, err, test.problems)
					closeStore(t, mustOpen(t, p, test.before)) // the refused change has left the database unchanged
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				it, err := after.Get(t.Context(), test.after, "a")
				if err != nil || it.Get("x") != test.want {
					t.Errorf("got %v, %v, want x = %v", it, err, test.want)
				}
				closeStore(t, after)
				closeStore(t, mustOpen(t, p, test.after)) // opening it again changes nothing
			})
		})
	}
}

func refused(t *testing.T, err error, problems []string) {
	t.Helper()
	var e *layout.SchemaError
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a schema error", err)
	}
	if len(e.Problems) != len(problems) {
		t.Errorf("got %d problems, want %d:\n%v", len(e.Problems), len(problems), e)
	}
	for _, p := range problems {
		if !strings.Contains(e.Error(), p) {
			t.Errorf("got %v, want %q in it", e, p)
		}
	}
}

// TestSchemaEmptyTable makes changes that are possible only because the table is empty.
func TestSchemaEmptyTable(t *testing.T) { onBoth(t, schemaEmptyTable) }

func schemaEmptyTable(t *testing.T, p place) {
	closeStore(t, mustOpen(t, p, note(prop("x", engine.Int))))
	c := storetest.NewClass("note", prop("x", engine.Int), prop("name", engine.String, unique))
	st := openAt(t, p, c)
	for _, x := range []int64{1, 2} {
		if _, err := st.Create(t.Context(), c, engine.Values{x, nil}, engine.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := st.Create(t.Context(), c, engine.Values{int64(1), nil}, engine.WriteOptions{}); engine.CodeOf(err) != engine.Invalid {
		t.Errorf("got %v, want a duplicate of the new key", err)
	}
}

// TestForgottenProperty removes a property without values, and adds it again with another type and as unique.
func TestForgottenProperty(t *testing.T) { onBoth(t, forgottenProperty) }

func forgottenProperty(t *testing.T, p place) {
	before := note(prop("x", engine.Int, indexed))
	st := mustOpen(t, p, before)
	if _, err := st.Create(t.Context(), before, engine.Values{"a", nil}, engine.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	closeStore(t, st)
	closeStore(t, mustOpen(t, p, note()))
	after := note(prop("x", engine.DecimalNum, unique))
	st = openAt(t, p, after)
	if _, err := st.Update(t.Context(), after, "a", engine.Values{engine.Absent, engine.Decimal("1.5")}, engine.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := st.Create(t.Context(), after, engine.Values{"b", engine.Decimal("1.5")}, engine.WriteOptions{})
	if engine.CodeOf(err) != engine.Invalid {
		t.Errorf("got %v, want a duplicate", err)
	}
}

// TestSomeClasses opens a database with only some of its classes. The tables of the other classes must stay unchanged.
func TestSomeClasses(t *testing.T) { onBoth(t, someClasses) }

func someClasses(t *testing.T, p place) {
	n := note(prop("x", engine.Int))
	system := &engine.Class{Name: "#account", Key: []string{"id"}, Properties: []*engine.Property{{Name: "id", Type: engine.String}}}
	if err := system.Init(); err != nil {
		t.Fatal(err)
	}
	closeStore(t, mustOpen(t, p, system))
	st := mustOpen(t, p, system, n)
	if _, err := st.Create(t.Context(), n, engine.Values{"a", int64(1)}, engine.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	closeStore(t, st)
	closeStore(t, mustOpen(t, p, system))
	st = openAt(t, p, system, n)
	if it, err := st.Get(t.Context(), n, "a"); err != nil || it.Get("x") != int64(1) {
		t.Errorf("got %v, %v", it, err)
	}
}

// TestSeed seeds a database that has been opened before: first by a command that knows only system classes, then by a
// server that ended before seeding.
func TestSeed(t *testing.T) { onBoth(t, seed) }

func seed(t *testing.T, p place) {
	n := note(prop("x", engine.Int, unique))
	system := &engine.Class{Name: "#account", Key: []string{"id"}, Properties: []*engine.Property{{Name: "id", Type: engine.String}}}
	if err := system.Init(); err != nil {
		t.Fatal(err)
	}
	closeStore(t, mustOpen(t, p, system))
	closeStore(t, mustOpen(t, p, system, n))
	seed := func(st *store.Store, done bool, ids ...string) error {
		t.Helper()
		var records []engine.Record
		for _, id := range ids {
			records = append(records, engine.Record{Class: n, ID: id, Values: engine.NewValues(n)})
		}
		got, err := st.Seed(t.Context(), records)
		if got != done {
			t.Errorf("done: got %v, want %v", got, done)
		}
		return err
	}
	rows := func(st *store.Store, want int64) {
		t.Helper()
		if got, err := st.Count(t.Context(), &engine.Query{Class: n}); err != nil || got != want {
			t.Errorf("got %d rows, %v, want %d", got, err, want)
		}
	}
	st := mustOpen(t, p, system, n)
	twice := []engine.Record{{Class: n, ID: "a", Values: engine.Values{"a", int64(1)}}, {Class: n, ID: "b", Values: engine.Values{"b", int64(1)}}}
	if _, err := st.Seed(t.Context(), twice); engine.CodeOf(err) != engine.Invalid {
		t.Errorf("got %v, want a duplicate", err)
	}
	rows(st, 0)
	closeStore(t, st)
	st = mustOpen(t, p, system, n) // the database is still new
	if err := seed(st, true, "a", "b"); err != nil {
		t.Fatal(err)
	}
	if err := seed(st, false, "c"); err != nil {
		t.Error(err)
	}
	closeStore(t, st)
	st = openAt(t, p, system, n)
	if err := seed(st, false, "d"); err != nil {
		t.Error(err)
	}
	rows(st, 2)
}

// TestTreeChanges adds and removes classes of a tree.
func TestTreeChanges(t *testing.T) { onBoth(t, treeChanges) }

func treeChanges(t *testing.T, p place) {
	tree := func(descendants ...string) []*engine.Class {
		thing := storetest.NewClass("thing", prop("id", engine.String))
		classes := []*engine.Class{thing}
		for i, d := range descendants {
			classes = append(classes, storetest.Extend(thing, d, prop(fmt.Sprint("p", i), engine.Int, required)))
		}
		return classes
	}
	closeStore(t, mustOpen(t, p, tree()...))
	classes := tree("car", "bus")
	st := mustOpen(t, p, classes...)
	for _, c := range classes {
		v := engine.NewValues(c)
		v[0] = c.Name
		if len(v) > 1 {
			v[1] = int64(1)
		}
		if _, err := st.Create(t.Context(), c, v, engine.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	closeStore(t, st)
	classes = tree("car") // bus is removed: its items stay in the table but cannot be read
	st = mustOpen(t, p, classes...)
	var found []string
	err := st.List(t.Context(), &engine.Query{Class: classes[0], Count: -1}, func(it *engine.Item) error {
		found = append(found, it.Class.Name+" "+it.ID)
		return nil
	})
	if err != nil || fmt.Sprint(found) != "[thing thing car car]" {
		t.Errorf("got %v, %v", found, err)
	}
	closeStore(t, st)
	_, err = tryOpen(t, p, storetest.NewClass("thing", prop("id", engine.String)), storetest.NewClass("car", prop("id", engine.String), prop("p0", engine.Int)))
	refused(t, err, []string{"class car@test was stored with class thing@test and would now be stored with car@test; 1 objects would be lost"})
}
