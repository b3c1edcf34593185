package inputs

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"restsrv/engine"
)

// needing is a formula that only reports its Needs.
type needing [][]*engine.Property

func (n needing) Needs() [][]*engine.Property { return n }

func (n needing) Eval(context.Context, *engine.Item, engine.FormulaData) (any, error) {
	return nil, nil
}

func inputNames(noted map[*engine.Property]bool) string {
	var names []string
	for p := range noted {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func TestInputs(t *testing.T) {
	town := &engine.Class{Name: "town", Key: []string{"id"}, Properties: []*engine.Property{{Name: "id"}, {Name: "name"}, {Name: "size", Type: engine.Int}}}
	c := &engine.Class{Name: "person", Key: []string{"id"}, Semantic: "name| from |town.name", Properties: []*engine.Property{
		{Name: "id"}, {Name: "name"}, {Name: "nick"}, {Name: "age", Type: engine.Int}, {Name: "town", Type: engine.Reference, Target: town}}}
	for _, c := range []*engine.Class{town, c} {
		if err := c.Init(); err != nil {
			t.Fatal(err)
		}
	}
	var display Set
	display.AddDisplayString(c)
	if values, shown := inputNames(display.Values), inputNames(display.Shown); values != "town" || shown != "name name" {
		t.Errorf("display string: got values %q and displayed values %q", values, shown)
	}
	f := engine.Either(
		&engine.Filter{Op: engine.OpEq, Left: &engine.Expr{Op: engine.OpUpper, Type: engine.String, Args: []*engine.Expr{engine.Attribute(c.Property("nick"))}}, Right: engine.Constant(engine.String, "A")},
		engine.Not(&engine.Filter{Op: engine.OpGt, Left: engine.Attribute(c.Property("town"), town.Property("size")), Right: engine.Attribute(c.Property("age"))}))
	var condition Set
	condition.AddCondition(f)
	if got := inputNames(condition.Values); got != "age nick size town" || condition.Unknown {
		t.Errorf("filter: got %q", got)
	}
	condition.AddCondition(engine.And(f, &engine.Filter{Op: engine.OpSearch, Pattern: "words"}))
	if !condition.Unknown {
		t.Error("a search must set Unknown")
	}
	for _, cached := range []bool{false, true} {
		var kept Set
		if kept.AddFormula(engine.KeepValue{Cached: cached}, nil); kept.Unknown != cached {
			t.Errorf("formula that cannot be compiled, cached %t: got Unknown %t", cached, kept.Unknown)
		}
	}
	var formula Set
	formula.AddFormula(nil, nil)
	formula.AddFormula(needing{{c.Property("town"), town.Property("name")}}, nil)
	formula.AddCondition(nil)
	formula.AddSemantic(nil)
	if got := inputNames(formula.Values); got != "name town" || len(slices.Collect(maps.Keys(formula.Shown))) > 0 {
		t.Errorf("formula: got %q", got)
	}
}
