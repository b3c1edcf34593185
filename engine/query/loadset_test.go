package query

import (
	"fmt"
	"strings"
	"testing"

	"restsrv/engine"
)

// atlas returns a class town with the path region.country.towns and the references twin and mayor. Its descendant
// district has a guide.
func atlas(t testing.TB) *engine.Class {
	t.Helper()
	class := func(name string, properties ...*engine.Property) *engine.Class {
		for i, p := range properties {
			p.OrderNumber, p.Definition, p.Nullable = i+1, name, true
		}
		c := &engine.Class{Name: name, Key: []string{"id"}, Properties: append([]*engine.Property{{Name: "id", Type: engine.String}}, properties...)}
		return c
	}
	ref := func(name string) *engine.Property { return &engine.Property{Name: name, Type: engine.Reference} }
	towns := &engine.Property{Name: "towns", Type: engine.Collection}
	country := class("country", &engine.Property{Name: "name", Type: engine.String}, towns, ref("region"))
	region := class("region", ref("country"), ref("twin"))
	person := class("person", ref("home"))
	town := class("town", &engine.Property{Name: "name", Type: engine.String}, ref("region"), ref("twin"), ref("mayor"))
	region.Properties[1].Target, region.Properties[2].Target = country, region
	country.Properties[2].Target, country.Properties[3].Target = town, region
	person.Properties[1].Target = town
	town.Properties[2].Target, town.Properties[3].Target, town.Properties[4].Target = region, town, person
	own := append([]*engine.Property(nil), town.Properties...)
	district := &engine.Class{Name: "district", Key: []string{"id"}, Ancestor: town,
		Properties: append(own, &engine.Property{Name: "guide", Type: engine.Reference, Target: person, Definition: "district", OrderNumber: 9})}
	town.Descendants = []*engine.Class{district}
	for _, c := range []*engine.Class{country, region, person, town, district} {
		if err := c.Init(); err != nil {
			t.Fatal(err)
		}
	}
	return town
}

// tree writes loads in the form a(b c) d.
func tree(level []*engine.Load) string {
	var parts []string
	for _, l := range level {
		text := l.Property.Name
		if !l.Shown {
			text += "!"
		}
		if len(l.Next) > 0 {
			text += "(" + tree(l.Next) + ")"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

// TestEager checks _eager in each of its forms.
func TestEager(t *testing.T) {
	for in, want := range map[string]string{
		"":                        "",
		"name":                    "",
		"region":                  "region",
		"region|mayor":            "region mayor",
		"mayor|region":            "mayor region",
		"region|country":          "region(country)",
		"region|country|towns":    "region(country(towns))",
		"region|twin":             "region(twin) twin", // twin of the town and twin of the region
		"region|twin|mayor":       "region(twin) twin(mayor) mayor",
		"region.country":          "region(country)",
		"region.country|mayor":    "region(country) mayor",
		"region.country.name":     "region(country)",
		"region|region":           "region",
		"|region||mayor|":         "region mayor",
		"guide":                   "guide", // an attribute of a descendant
		"guide.home.region":       "guide(home(region))",
		"region.country.towns.id": "region(country(towns))",
	} {
		l := NewLoadSet(atlas(t))
		if err := l.Eager("_eager", in); err != nil {
			t.Errorf("_eager=%s: got %v, want no error", in, err)
			continue
		}
		if got := sorted(tree(l.Roots)); got != sorted(want) {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

func sorted(tree string) string {
	// the order of siblings at the top level does not matter
	parts, depth, start := []string{}, 0, 0
	for i, c := range tree + " " {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ' ' && depth == 0:
			parts, start = append(parts, tree[start:i]), i+1
		}
	}
	for i := range parts {
		for j := i; j > 0 && parts[j] < parts[j-1]; j-- {
			parts[j], parts[j-1] = parts[j-1], parts[j]
		}
	}
	return strings.Join(parts, " ")
}

// TestEagerRefused checks that a name is refused if it is neither an attribute nor the continuation of a path. The
// error must contain the name.
func TestEagerRefused(t *testing.T) {
	for in, want := range map[string]string{
		"nothing":                            `class town has no attribute \"nothing\"`,
		"region|nothing":                     `no attribute \"nothing\"`,
		"mayor|country":                      `no attribute \"country\"`,
		"region.name":                        `class region has no attribute \"name\"`,
		"name.x":                             `below attribute \"name\"`,
		"twin" + strings.Repeat(".twin", 16): "at most 16 names",
	} {
		err := NewLoadSet(atlas(t)).Eager("_eager", in)
		if engine.CodeOf(err) != engine.Invalid || err == nil || !strings.Contains(fmt.Sprintf("%q", err.Error()), want) {
			t.Errorf("%s: got %v, want %s", in, err, want)
		}
	}
}

// TestAlwaysEager checks that attributes with eagerLoading are loaded for items of the class itself, but not for
// nested items.
func TestAlwaysEager(t *testing.T) {
	c := atlas(t)
	c.Property("region").Eager = true
	c.Property("region").Target.Property("country").Eager = true
	if got := tree(NewLoadSet(c).Roots); got != "region" {
		t.Errorf("eager attributes: got %s, want region", got)
	}
}

// TestNested checks that nestingDepth loads all relations down to this depth, and that the number of paths is limited.
func TestNested(t *testing.T) {
	l := NewLoadSet(atlas(t))
	if err := l.Nested(1); err != nil || sorted(tree(l.Roots)) != "guide mayor region twin" {
		t.Errorf("one level: got %s, %v", tree(l.Roots), err)
	}
	if err := NewLoadSet(atlas(t)).Nested(maxLoadPath); engine.CodeOf(err) != engine.Invalid || err == nil {
		t.Errorf("too many paths: got %v, want Invalid", err)
	}
}

// TestEnrichment checks the forms of forceEnrichment.
func TestEnrichment(t *testing.T) {
	l := NewLoadSet(atlas(t))
	if err := l.Enrichment([]any{[]any{"region", "country"}, "mayor|home", "twin"}); err != nil || tree(l.Roots) != "region(country) mayor(home) twin" {
		t.Errorf("forceEnrichment: got %s, %v", tree(l.Roots), err)
	}
	for _, wrong := range []any{"region", []any{[]any{}}, []any{[]any{"region", nil}}, []any{nil}, []any{[]any{"region", "x"}}, []any{[]any{"mayor", "region"}}} {
		if err := NewLoadSet(atlas(t)).Enrichment(wrong); engine.CodeOf(err) != engine.Invalid || err == nil {
			t.Errorf("forceEnrichment %v: got %v, want Invalid", wrong, err)
		}
	}
}
