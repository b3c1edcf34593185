package formula_test

import (
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/formula"
	"restsrv/engine/wire"
)

func decode(s string) (any, error) { return wire.Decode([]byte(s)) }

// describe returns a query as text: class, filter, sort, count and loads.
func describe(q *engine.Query) string {
	var b strings.Builder
	b.WriteString(q.Class.Name + " " + describeFilter(q.Filter))
	for _, s := range q.Sort {
		b.WriteString(" by " + s.Property.Name)
		if s.Descending {
			b.WriteString(" down")
		}
	}
	if q.Count >= 0 {
		b.WriteString(" at most " + engine.ValueText(int64(q.Count)))
	}
	for _, l := range q.Load {
		b.WriteString(" with " + l.Property.Name)
		for _, n := range l.Next {
			b.WriteString("." + n.Property.Name)
		}
	}
	return b.String()
}

func describeFilter(f *engine.Filter) string {
	switch {
	case f == nil:
		return "all"
	case f.Left != nil:
		v := ""
		switch f.Op {
		case engine.OpIn:
			v = show(f.List)
		case engine.OpLike:
			v = f.Pattern
		case engine.OpEmpty:
			v = "null"
		default:
			v = show(f.Right.Value)
		}
		return f.Left.Path[0].Name + " " + string(f.Op) + " " + v
	}
	var parts []string
	for _, a := range f.Args {
		parts = append(parts, describeFilter(a))
	}
	return string(f.Op) + "(" + strings.Join(parts, ", ") + ")"
}

// TestLookups checks the queries of formulas.
func TestLookups(t *testing.T) {
	for _, x := range []struct{ source, want, query string }{
		{`get(town, 7)`, `town:1`, `town id eq 7 at most 1`},
		{`get('town@t', $town)`, `town:1`, `town id eq 7 at most 1`},
		{`get(town, x)`, `null`, ``}, // x cannot be an id of the class
		{`get(town, $none)`, `null`, ``},
		{`get($town)`, `city:7`, ``},
		{`{"get":["town","name","$name","id",["x"]]}`, `error: get: class town@t has no attribute "x", expected one of id, name`, ``},
		{`{"get":["town","name","$name","id"]}`, `error: get: takes a class and an id, or a class and pairs of attribute and value`, ``},
		{`{"get":["town","name","$x"]}`, ``, ``},
		{`{"get":["town","name","x","id","$a"]}`, `town:1`, `town and(name eq "x", id eq 7) at most 1`},
		{`{"get":["order","5",["town","lines.good.title"]]}`, `town:1`, `order id eq 5 at most 1 with town with lines.good`},
		{`{"get":["order","5",["twn"]]}`, `error: get: class order@t has no attribute "twn", expected "town"`, ``},
		{`get(twn, 1)`, `error: get: there is no class "twn"`, ``},
		{`count(town)`, `2`, `town all`},
		{`{"count":["town",{"name":"$name"}]}`, `2`, `town name eq "Größe"`},
		{`{"count":["town",{"obj":["name","$name","id",["gt","$b"]]}]}`, `2`, `town and(name eq "Größe", id gt 2)`},
		{`{"count":["town",null,{"obj":["name","$name"]}]}`, `2`, `town name eq "Größe"`},
		{`count(town, null, obj(name, $name))`, `2`, `town name eq "Größe"`},
		{`{"sum":["town","id",{"obj":["name","$name","id",["gt","$b"]]}]}`, `7`, `town and(name eq "Größe", id gt 2) at most 100001`},
		{`sum(town, id, obj(name, $name))`, `7`, `town name eq "Größe" at most 100001`},
		{`{"avg":["town","id",{"obj":["name","$name"]}]}`, `float 3.5`, `town name eq "Größe" at most 100001`},
		{`{"max":["town","id",{"obj":["name","$name"]}]}`, `3`, `town and(name eq "Größe", id ne null) by id down at most 1`},
		{`{"merge":["town","name",{"obj":["name","$name"]},false,"+"]}`, `"Rome+Lima"`, `town name eq "Größe" at most 100001`},
		{`{"sum":["town",{"obj":["name","$name"]}]}`, ``, ``},
		{`{"count":["town",{"obj":["$name",1]}]}`, ``, ``},
		{`count(town, name)`, `2`, `town name ne null`},
		{`max(town, id)`, `3`, `town id ne null by id down at most 1`},
		{`{"min":["town","$id",{"name":["like","o"],"id":["gt","$b"]}]}`, `3`, `town and(and(name like (?i)o, id gt 2), id ne null) by id at most 1`},
		{`{"sum":["town","id",{"id":["in",["$a","8"]]}]}`, `7`, `town id in [7 8] at most 100001`},
		{`{"avg":["town","id",{"name":["nempty"]}]}`, `float 3.5`, `town not(name empty null) at most 100001`},
		{`{"merge":["town","name",null,false,"+"]}`, `"Rome+Lima"`, `town all at most 100001`},
		{`{"merge":["line","good.title"]}`, `""`, `line all at most 100001 with good`},
		{`{"sum":["town","nam"]}`, `error: sum: class town@t has no attribute "nam", expected "name"`, ``},
		{`{"sum":["town","id",{"name":{"concat":["$","a"]}}]}`, `7`, `town name eq "$a" at most 100001`},
	} {
		w := newWorld(t)
		w.found = []*engine.Item{
			item(w.town, "1", map[string]any{"id": int64(3), "name": "Rome"}),
			item(w.town, "2", map[string]any{"id": int64(4), "name": "Lima"}),
		}
		if x.want == "" {
			if _, err := w.compile(t, x.source); err == nil {
				t.Errorf("%s: got no error, want one", x.source)
			}
			continue
		}
		if got := w.eval(t, x.source); got != x.want {
			t.Errorf("%s is %s, expected %s", x.source, got, x.want)
		}
		query := ""
		for _, q := range w.queries {
			query += describe(q)
		}
		if query != x.query {
			t.Errorf("%s: got the query %s, want %s", x.source, query, x.query)
		}
	}
}

// TestCheck checks that Check reports lookups of unknown classes and attributes.
func TestCheck(t *testing.T) {
	w := newWorld(t)
	for _, x := range []example{
		{`get(town, name, x)`, ``},
		{`{"max":["order@t","town.mayor",{"a":1}]}`, ``},
		{`get(twn, 1)`, `get: there is no class "twn"`},
		{`get(town, nam, x)`, `class town@t has no attribute "nam", expected "name"`},
		{`if(true, 1, max(town, nam))`, `class town@t has no attribute "nam", expected "name"`},
		{`{"count":["town",{"nam":1}]}`, `class town@t has no attribute "nam", expected "name"`},
	} {
		f, err := w.compile(t, x.source)
		if err != nil {
			t.Fatalf("%s: %v", x.source, err)
		}
		got := ""
		if err := formula.Check(f, w.Class); err != nil {
			got = err.Error()
		}
		if got != x.want {
			t.Errorf("%s: %q, expected %q", x.source, got, x.want)
		}
	}
}
