package engine

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
)

// needing is a formula that only reports its Needs.
type needing [][]*Property

func (n needing) Needs() [][]*Property { return n }

func (n needing) Eval(context.Context, *Item, FormulaData) (any, error) { return nil, nil }

func mentionedNames(noted map[*Property]bool) string {
	var names []string
	for p := range noted {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func TestMentions(t *testing.T) {
	town := &Class{Name: "town", Key: []string{"id"}, Properties: []*Property{{Name: "id"}, {Name: "name"}, {Name: "size", Type: Int}}}
	c := &Class{Name: "person", Key: []string{"id"}, Semantic: "name| from |town.name", Properties: []*Property{
		{Name: "id"}, {Name: "name"}, {Name: "nick"}, {Name: "age", Type: Int}, {Name: "town", Type: Reference, Target: town}}}
	for _, c := range []*Class{town, c} {
		if err := c.Init(); err != nil {
			t.Fatal(err)
		}
	}
	var display Mentions
	display.Semantics(c)
	if values, shown := mentionedNames(display.Values), mentionedNames(display.Shown); values != "town" || shown != "name name" {
		t.Errorf("display string: got values %q and displayed values %q", values, shown)
	}
	f := Either(
		&Filter{Op: OpEq, Left: &Expr{Op: OpUpper, Type: String, Args: []*Expr{Attribute(c.Property("nick"))}}, Right: Constant(String, "A")},
		Not(&Filter{Op: OpGt, Left: Attribute(c.Property("town"), town.Property("size")), Right: Attribute(c.Property("age"))}))
	var condition Mentions
	condition.Condition(f)
	if got := mentionedNames(condition.Values); got != "age nick size town" || condition.Unknown {
		t.Errorf("filter: got %q", got)
	}
	condition.Condition(And(f, &Filter{Op: OpSearch, Pattern: "words"}))
	if !condition.Unknown {
		t.Error("a search must set Unknown")
	}
	var formula Mentions
	formula.Formula(nil, nil)
	formula.Formula(needing{{c.Property("town"), town.Property("name")}}, nil)
	formula.Condition(nil)
	formula.Semantic(nil)
	if got := mentionedNames(formula.Values); got != "name town" || len(slices.Collect(maps.Keys(formula.Shown))) > 0 {
		t.Errorf("formula: got %q", got)
	}
}
