package read

import (
	"fmt"
	"testing"

	"restsrv/engine"
	"restsrv/engine/store/storetest"
)

var filterTests = []storetest.Test{
	{Name: "every operator, also under not", Run: operators},
	{Name: "properties against properties", Run: propertyOperands},
	{Name: "logic", Run: logic},
	{Name: "large filters", Run: largeFilters},
}

// people opens a repository with five people. Their ids and names are: 0 ann, 1 bob, 2 (null), 3 "", 4 Bob.
func people(t *testing.T, open storetest.Open) (engine.Repository, *engine.Class) {
	c := storetest.NewClass("person", storetest.Prop("id", engine.String), storetest.Prop("name", engine.String), storetest.Prop("nick", engine.String),
		storetest.Prop("age", engine.Int), storetest.Prop("size", engine.Real), storetest.Prop("born", engine.DateTime), storetest.Prop("ok", engine.Boolean), storetest.Prop("pay", engine.DecimalNum))
	r := open(t, []*engine.Class{c})
	rows := [][]any{
		{"ann", "ann", int64(30), 1.5, engine.Instant(-5), true, engine.Decimal("9.5")},
		{"bob", "b", int64(40), 2.0, engine.Instant(5), false, engine.Decimal("10")},
		{nil, nil, nil, nil, nil, nil, nil},
		{"", nil, int64(-1), -0.5, engine.Instant(0), true, engine.Decimal("-3")},
		{"Bob", "c", int64(40), 40.0, engine.Instant(5), false, engine.Decimal("10")},
	}
	for i, row := range rows {
		v := engine.Values{fmt.Sprint(i)}
		if _, err := r.Create(t.Context(), c, append(v, row...), engine.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return r, c
}

// finds checks that List and Count find exactly the items in want by f, and exactly the other items by the opposite of
// f.
func finds(t *testing.T, r engine.Repository, c *engine.Class, f *engine.Filter, want ...string) {
	t.Helper()
	rest := []string{}
	for _, id := range []string{"0", "1", "2", "3", "4"} {
		found := false
		for _, w := range want {
			found = found || w == id
		}
		if !found {
			rest = append(rest, id)
		}
	}
	not := &engine.Filter{Op: engine.OpNot, Args: []*engine.Filter{f}}
	twice := &engine.Filter{Op: engine.OpNot, Args: []*engine.Filter{not}}
	for _, one := range []struct {
		filter *engine.Filter
		want   []string
	}{{f, append([]string{}, want...)}, {not, rest}, {twice, append([]string{}, want...)}} {
		q := storetest.All(c)
		q.Filter = one.filter
		name := fmt.Sprintf("%s %v %v", f.Op, f.Left, f.Right)
		storetest.CheckSame(t, name, storetest.ListIDs(t, r, q), one.want)
		n, err := r.Count(t.Context(), q)
		storetest.CheckSame(t, name+" counted", []any{n, err}, []any{int64(len(one.want)), nil})
	}
}

func operators(t *testing.T, open storetest.Open) {
	r, c := people(t, open)
	for _, f := range []struct {
		op       engine.Op
		property string
		value    any
		want     []string
	}{
		{engine.OpEq, "name", "bob", []string{"1"}},
		{engine.OpEq, "name", "", []string{"3"}},
		{engine.OpEq, "name", nil, []string{"2"}},
		{engine.OpNe, "name", "bob", []string{"0", "2", "3", "4"}},
		{engine.OpNe, "name", nil, []string{"0", "1", "3", "4"}},
		{engine.OpLt, "name", "a", []string{"3", "4"}},
		{engine.OpLte, "name", "ann", []string{"0", "3", "4"}},
		{engine.OpGt, "name", "a", []string{"0", "1"}},
		{engine.OpGte, "name", "bob", []string{"1"}},
		{engine.OpEq, "age", int64(40), []string{"1", "4"}},
		{engine.OpNe, "age", int64(40), []string{"0", "2", "3"}},
		{engine.OpLt, "age", int64(30), []string{"3"}},
		{engine.OpLte, "age", int64(30), []string{"0", "3"}},
		{engine.OpGt, "age", int64(30), []string{"1", "4"}},
		{engine.OpGte, "age", int64(30), []string{"0", "1", "4"}},
		{engine.OpGt, "age", nil, nil},
		{engine.OpEq, "size", 2.0, []string{"1"}},
		{engine.OpLt, "size", 2.0, []string{"0", "3"}},
		{engine.OpEq, "born", engine.Instant(5), []string{"1", "4"}},
		{engine.OpLt, "born", engine.Instant(0), []string{"0"}},
		{engine.OpEq, "ok", true, []string{"0", "3"}},
		{engine.OpNe, "ok", true, []string{"1", "2", "4"}},
		{engine.OpEq, "pay", engine.Decimal("10"), []string{"1", "4"}},
		{engine.OpGte, "pay", engine.Decimal("9.5"), []string{"0", "1", "4"}},
		{engine.OpLt, "pay", engine.Decimal("9.49"), []string{"3"}},
	} {
		finds(t, r, c, storetest.Compare(f.op, c.Property(f.property), f.value), f.want...)
	}
	in := func(property string, list ...any) *engine.Filter {
		return &engine.Filter{Op: engine.OpIn, Left: engine.Attribute(c.Property(property)), List: list}
	}
	finds(t, r, c, in("name", "ann", "bob", "nobody"), "0", "1")
	finds(t, r, c, in("age", int64(40)), "1", "4")
	finds(t, r, c, in("pay", engine.Decimal("-3"), engine.Decimal("9.5")), "0", "3")
	finds(t, r, c, in("name"))
	match := func(pattern string) *engine.Filter {
		return &engine.Filter{Op: engine.OpLike, Left: engine.Attribute(c.Property("name")), Pattern: pattern}
	}
	finds(t, r, c, match("o"), "1", "4")
	finds(t, r, c, match("(?i)^b"), "1", "4")
	finds(t, r, c, match(`\bann$`), "0")
	finds(t, r, c, match(""), "0", "1", "3", "4")
	finds(t, r, c, &engine.Filter{Op: engine.OpEmpty, Left: engine.Attribute(c.Property("name"))}, "2", "3")
	finds(t, r, c, &engine.Filter{Op: engine.OpEmpty, Left: engine.Attribute(c.Property("age"))}, "2")
	finds(t, r, c, &engine.Filter{Op: engine.OpConst, Value: true}, "0", "1", "2", "3", "4")
	finds(t, r, c, engine.Never())
}

func propertyOperands(t *testing.T, open storetest.Open) {
	r, c := people(t, open)
	for _, f := range []struct {
		op          engine.Op
		left, right string
		want        []string
	}{
		{engine.OpEq, "name", "nick", []string{"0", "2"}},
		{engine.OpNe, "name", "nick", []string{"1", "3", "4"}},
		{engine.OpLt, "name", "nick", []string{"4"}},
		{engine.OpLte, "name", "nick", []string{"0", "4"}},
		{engine.OpGt, "name", "nick", []string{"1"}},
		{engine.OpGte, "name", "nick", []string{"0", "1"}},
		{engine.OpEq, "age", "size", []string{"2", "4"}},
		{engine.OpLt, "age", "size", []string{"3"}},
	} {
		finds(t, r, c, storetest.ParseFilter(t, c, fmt.Sprintf(`{%q: ["$%s", "$%s"]}`, f.op, f.left, f.right)), f.want...)
	}
}

func logic(t *testing.T, open storetest.Open) {
	r, c := people(t, open)
	bob := storetest.Compare(engine.OpEq, c.Property("name"), "bob")
	old := storetest.Compare(engine.OpGte, c.Property("age"), int64(40))
	ann := storetest.Compare(engine.OpEq, c.Property("name"), "ann")
	of := func(op engine.Op, args ...*engine.Filter) *engine.Filter { return &engine.Filter{Op: op, Args: args} }
	finds(t, r, c, of(engine.OpAnd, bob, old), "1")
	finds(t, r, c, of(engine.OpOr, bob, ann), "0", "1")
	finds(t, r, c, of(engine.OpNot, bob, ann), "2", "3", "4")
	finds(t, r, c, of(engine.OpAnd, old, of(engine.OpNot, bob)), "4")
	finds(t, r, c, of(engine.OpOr, ann, of(engine.OpAnd, old, of(engine.OpNot, of(engine.OpOr, bob, ann)))), "0", "4")
	finds(t, r, c, of(engine.OpAnd), "0", "1", "2", "3", "4")
	finds(t, r, c, of(engine.OpOr))
}

func largeFilters(t *testing.T, open storetest.Open) {
	r, c := people(t, open)
	for _, op := range []engine.Op{engine.OpAnd, engine.OpOr} {
		f := &engine.Filter{Op: op}
		for i := range 999 {
			f.Args = append(f.Args, storetest.Compare(engine.OpNe, c.Property("age"), int64(1000+i)))
		}
		finds(t, r, c, f, "0", "1", "2", "3", "4")
	}
	list := []any{"bob"}
	for i := range 999 {
		list = append(list, fmt.Sprint("p", i))
	}
	finds(t, r, c, &engine.Filter{Op: engine.OpIn, Left: engine.Attribute(c.Property("name")), List: list}, "1")
	huge := &engine.Filter{Op: engine.OpOr}
	for range 100 {
		huge.Args = append(huge.Args, &engine.Filter{Op: engine.OpIn, Left: engine.Attribute(c.Property("name")), List: list})
	}
	q := storetest.All(c)
	q.Filter = huge
	if _, err := r.Count(t.Context(), q); err != nil {
		storetest.CheckError(t, err, engine.Invalid, "filter")
	}
}
