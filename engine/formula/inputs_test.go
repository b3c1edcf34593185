package formula_test

import (
	"slices"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/formula"
	"restsrv/engine/inputs"
	"restsrv/engine/wire"
)

// mentions returns the inputs of a formula of an order, each with a prefix:
//   - no prefix for an attribute
//   - = for an attribute as displayed
//   - @ for a class whose display strings are used
//   - > for the class of items that are the value
//   - # for a class that is looked up
//   - ? for the name of an unknown attribute
//   - ! for unknown inputs
func (w *world) mentions(t *testing.T, source string) string {
	t.Helper()
	var v any = source
	if source[0] == '{' || source[0] == '"' {
		var err error
		if v, err = wire.Decode([]byte(source)); err != nil {
			t.Fatal(err)
		}
	}
	f, err := formula.Compile(w.order, v)
	if err != nil {
		t.Fatal(source, err)
	}
	var m inputs.Set
	m.AddFormula(f, func(name string) (*engine.Class, error) {
		for _, c := range []*engine.Class{w.order, w.town, w.line, w.good} {
			if c.FullName == name {
				return c, nil
			}
		}
		return nil, engine.NoClass(name)
	})
	var all []string
	for p := range m.Values {
		all = append(all, p.Name)
	}
	for p := range m.Shown {
		all = append(all, "="+p.Name)
	}
	for c := range m.Display {
		all = append(all, "@"+c.Name)
	}
	for c := range m.Gives {
		all = append(all, ">"+c.Name)
	}
	for c := range m.Looked {
		all = append(all, "#"+c.Name)
	}
	for name := range m.Names {
		all = append(all, "?"+name)
	}
	if m.Unknown {
		all = append(all, "!")
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), " ")
}

// TestMentions checks that a formula mentions every attribute that it can read. If an item may be used as text, the
// formula must also mention the display string of the item.
func TestMentions(t *testing.T) {
	w := newWorld(t)
	w.order.CreatorTracker = "name"
	for _, x := range []example{
		{`1`, ""},
		{`$name`, "name"},
		{`{"add":["$a",{"mul":["$b","$real"]}]}`, "a b real"},
		{`{"if":[{"eq":["$a",1]},"$name",["$dec"]]}`, "a dec name"},
		{`{"and":["$a",{"or":["$b","$ok"]}]}`, "a b ok"},
		{`$fio.last`, "fio$last"},
		{`$town.name`, "name town"},
		{`$town.mayor`, "mayor town"},
		{`$town`, ">town town"},
		{`$town@`, "=town town"},
		{`$name@`, "=name name"},
		{`$__string`, "@order"},
		{`$town.__string`, "@town town"},
		{`$_creator`, "name"},
		{`$_id`, ""},
		{`{"concat":["$town"]}`, "=town @town town"},
		{`{"eq":["$town","$lost"]}`, "lost town"},
		{`{"if":["$ok","$town"]}`, "=town @town ok town"},
		{`{"count":["$lines"]}`, "lines"},
		{`{"sum":["$lines","n",{"eq":["$paid",true]}]}`, "lines n paid"},
		{`{"merge":["$lines"]}`, "=lines @line lines"},
		{`{"merge":["$lines","good"]}`, "=good @good good lines"},
		{`{"merge":["$lines","good.title"]}`, "good lines title"},
		{`{"max":["$lines.good.price"]}`, "good lines price"},
		{`{"contains":["$lines",{"gt":["$n",2]}]}`, "lines n"},
		{`{"count":[{"collect":["$lines","$town"]},{"&eq":["$paid.x","$__string"]}]}`, "! =lines =town ?__string ?paid ?paid$x ?x @line @town lines town"},
		{`{"count":["good@t",{"price":["gt","$a"]}]}`, "#good a price"},
		{`{"sum":["good","price",{"title":"x"}]}`, "#good price title"},
		{`{"min":["line@t","good.price"]}`, "#line good price"},
		{`{"get":["good","title","$name"]}`, "#good >good name title"},
		{`{"concat":[{"get":["good","$name"]}]}`, "#good @good name"},
		{`{"get":["good","$town","$name"]}`, "! #good >good name town"},
		{`{"get":["$name",1]}`, "! name"},
	} {
		got := w.mentions(t, x.source)
		if got != x.want {
			t.Errorf("%s mentions %q, expected %q", x.source, got, x.want)
		}
	}
}
