package query

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"restsrv/engine"
)

// The name of the hidden attribute in these tests, and a name that does not exist.
const (
	hiddenName = "hiddn"
	noName     = "absnt"
)

// people returns the classes person and team. person has the descendant lead. where is the name of the class that gets
// the hidden properties, person or lead.
func people(t *testing.T, where string, hidden ...*engine.Property) (person, team *engine.Class) {
	t.Helper()
	person = &engine.Class{Name: "person", Namespace: "t", Key: []string{"id"}, Semantic: "name", Properties: []*engine.Property{
		{Name: "id", Type: engine.Int}, {Name: "name", Type: engine.String, Nullable: true}, {Name: "addr$city", Type: engine.String, Nullable: true}}}
	team = &engine.Class{Name: "team", Namespace: "t", Key: []string{"id"}, Semantic: "title", Properties: []*engine.Property{
		{Name: "id", Type: engine.Int}, {Name: "title", Type: engine.String, Nullable: true}, {Name: "lead", Type: engine.Reference, Target: person, Nullable: true}}}
	lead := &engine.Class{Name: "lead", Namespace: "t", Key: []string{"id"}, Semantic: "name", Ancestor: person}
	person.Properties = append(person.Properties, &engine.Property{Name: "boss", Type: engine.Reference, Target: person, Nullable: true},
		&engine.Property{Name: "team", Type: engine.Reference, Target: team, Nullable: true}, &engine.Property{Name: "pals", Type: engine.Collection, Target: person})
	if where == "person" {
		person.Properties = append(person.Properties, hidden...)
	}
	for _, p := range person.Properties {
		inherited := *p
		lead.Properties = append(lead.Properties, &inherited)
	}
	lead.Properties = append(lead.Properties, &engine.Property{Name: "since", Type: engine.DateTime, Nullable: true, OrderNumber: -1})
	if where == "lead" {
		lead.Properties = append(lead.Properties, hidden...)
	}
	person.Descendants = []*engine.Class{lead}
	for _, c := range []*engine.Class{person, team, lead} {
		initialised(t, c)
	}
	for _, c := range []*engine.Class{person, team, lead} {
		c.Link()
	}
	return person, team
}

func hidesName(p *engine.Property) bool { return strings.Contains(p.Name, hiddenName) }

// hiddenKinds returns properties of every type that parsers distinguish.
func hiddenKinds(t *testing.T) map[string][]*engine.Property {
	other := initialised(t, &engine.Class{Name: "other", Namespace: "t", Key: []string{"id"}, Properties: []*engine.Property{{Name: "id", Type: engine.Int}, {Name: "name", Type: engine.String}}})
	kinds := map[string][]*engine.Property{
		"reference":    {{Name: hiddenName, Type: engine.Reference, Target: other, Nullable: true}},
		"eager":        {{Name: hiddenName, Type: engine.Reference, Target: other, Nullable: true, Eager: true}},
		"collection":   {{Name: hiddenName, Type: engine.Collection, Target: other}},
		"struct":       {{Name: hiddenName + "$name", Type: engine.String, Nullable: true}, {Name: hiddenName + "$n", Type: engine.Int, Nullable: true}},
		"struct part":  {{Name: "addr$" + hiddenName, Type: engine.String, Nullable: true}},
		"selection":    {{Name: hiddenName, Type: engine.String, Nullable: true, Selection: &engine.Selection{Rows: []engine.SelectionRow{{Values: []engine.SelectionValue{{Key: "a", Label: "A"}}}}}}},
		"calculated":   {{Name: hiddenName, Type: engine.String, Formula: engine.KeepValue{}, Nullable: true}},
		"searched":     {{Name: hiddenName, Type: engine.String, Search: true, Nullable: true}},
		"not nullable": {{Name: hiddenName, Type: engine.String}},
	}
	for _, typ := range []engine.PropertyType{engine.String, engine.Int, engine.Real, engine.DecimalNum, engine.DateTime, engine.Boolean, engine.Password, engine.GUID, engine.Set, engine.Custom, engine.Period, engine.Geo, engine.File, engine.FileList} {
		kinds[typ.String()] = []*engine.Property{{Name: hiddenName, Type: typ, Nullable: true}}
	}
	return kinds
}

// mentioned lists the ways to name a property N: itself, through references and collections, as a part of a struct, as
// a reference on a path, and in other letter case.
var mentioned = []string{"N", "boss.N", "boss.boss.N", "pals.N", "team.lead.N", "boss.team.lead.pals.N", "addr.N", "addr$N", "boss.addr.N",
	"N.name", "N.id", "N._id", "N.__class", "N.n", "N$name", "boss.N.name", "N.N", "N_str", "$N"}

// mentioningFilters are filters in which N is the name of a property.
var mentioningFilters = []string{
	`{"N":1}`, `{"N":"a"}`, `{"N":null}`, `{"N":[1]}`, `{"N":{}}`, `{"N":{"$eq":1}}`, `{"N":{"$ne":"a"}}`, `{"N":{"$gt":"2020-01-01"}}`, `{"N":{"$in":[1,"a"]}}`,
	`{"N":{"$nin":[]}}`, `{"N":{"$exists":true}}`, `{"N":{"$regex":"a","$options":"i"}}`, `{"N":{"$not":{"$eq":1}}}`, `{"N":{"0":1}}`, `{"name":"x","N":1}`,
	`{"eq":["$N",1]}`, `{"eq":["a","$N"]}`, `{"eq":["$N","$N"]}`, `{"eq":["$name","$N"]}`, `{"ne":["$N",null]}`, `{"lt":["$N","2020-01-01"]}`, `{"gte":[1,"$N"]}`,
	`{"in":["$N",[1,2]]}`, `{"in":["$N","a","b"]}`, `{"in":["$name",["$N"]]}`, `{"like":["$N","a"]}`, `{"like":["a","$N"]}`, `{"contains":["$N","a"]}`, `{"contains":["$N",["a"]]}`,
	`{"contains":["$N",{"name":"a"}]}`, `{"contains":["$name","$N"]}`, `{"empty":["$N"]}`, `{"nempty":["$N"]}`, `{"$and":[{"N":1}]}`, `{"$or":[{"name":"a"},{"$nor":[{"N":1}]}]}`, `{"$not":{"N":1}}`,
	`{"and":[{"or":[{"not":[{"eq":["$N",1]}]}]}]}`, `{"not":[{"in":["$N",[]]}]}`, `{"contains":["$pals",{"N":1}]}`, `{"contains":["$pals",{"contains":["$pals",{"eq":["$N",1]}]}]}`,
	`{"contains":["$boss.pals",{"or":[{"N":{"$eq":1}}]}]}`, `{"eq":[{"upper":["$N"]},"A"]}`, `{"eq":[{"lower":["$N"]},"A"]}`, `{"eq":[{"substr":["$N",0,1]},"A"]}`, `{"gt":[{"size":["$N"]},1]}`,
	`{"eq":[{"concat":["$name","$N"]},"A"]}`, `{"eq":[{"add":["$N",1]},1]}`, `{"eq":[{"abs":["$N"]},1]}`, `{"eq":[{"round":["$N",1]},1]}`, `{"eq":[{"if":[{"eq":["$N",1]},1,2]},1]}`,
	`{"eq":[{"case":[{"empty":["$name"]},"$N","$name"]},"a"]}`, `{"eq":[{"ifNull":["$N",1]},1]}`, `{"eq":[{"year":["$N"]},2020]}`, `{"eq":[{"date":["$N"]},null]}`,
	`{"gt":[{"dateAdd":["$N",1,"d"]},"2020-01-01"]}`, `{"eq":[{"dateDiff":["$N","$N"]},1]}`, `{"eq":[{"format":["$N","%Y"]},"2020"]}`, `{"eq":[{"eq":["$N",1]},true]}`, `{"N":{"$eq":{"upper":["$N"]}}}`,
	`[{"property":"N","operation":0,"value":[1]}]`, `[{"property":"N","operation":2}]`, `[{"property":"N","operation":9,"value":["a"]}]`, `[{"property":"N","operation":10,"value":["a"]}]`,
	`[{"property":"N","operation":10,"nestedConditions":[{"property":"name","operation":0,"value":["a"]}]}]`,
	`[{"property":"pals","operation":10,"nestedConditions":[{"property":"N","operation":0,"value":[1]}]}]`,
	`[{"operation":1,"nestedConditions":[{"operation":2,"nestedConditions":[{"property":"N","operation":4,"value":["a"]}]}]}]`,
	`[{"property":"name","operation":0,"nestedConditions":[{"property":"N"}]}]`, `[{"property":"name","operation":0,"nestedConditions":[{"operation":17,"nestedConditions":[{"property":"N","operation":0}]}]}]`,
	`[{"eq":["$N",1]}]`,
}

// mentioningOthers contains other JSON with the name N of a property, by the parser that reads it.
var mentioningOthers = map[string][]string{
	"sort":      {`{"N":1}`, `{"name":1,"N":-1}`, `[{"property":"N","mode":1}]`, `{"N":3}`},
	"aggregate": {`{"fields":{"x":"$N"}}`, `{"fields":{"x":{"upper":["$N"]}}}`, `{"aggregates":{"x":{"count":["$N"]}}}`, `{"aggregates":{"x":{"sum":["$N"]}}}`, `{"aggregates":{"x":{"max":["$N"]}}}`, `{"fields":{"x":"$name"},"filter":{"N":1}}`, `{"fields":{"x":"$name"},"sort":{"N":1}}`},
	"enrich":    {`["N"]`, `[["N"]]`, `[["boss","N"]]`, `["boss|N"]`, `[["pals","boss","N","name"]]`},
}

// mentioningReaders are the exported parsers of JSON or text that names properties of a class. They return their
// result as text.
var mentioningReaders = map[string]func(c *engine.Class, source string) string{
	"filter": func(c *engine.Class, source string) string {
		f, err := ParseFilter(c, jsonOf(source), time.Time{})
		return told(err, func() string { return string(appendFilter(nil, f)) })
	},
	"sort": func(c *engine.Class, source string) string {
		s, err := ParseSort(c, jsonOf(source))
		return told(err, func() string { return sortedBy(s) })
	},
	"aggregate": func(c *engine.Class, source string) string {
		a, err := ParseAggregation(c, jsonOf(source), time.Time{})
		return told(err, func() string {
			b := appendFilter(nil, a.Filter)
			for _, x := range a.Columns {
				b = appendExpr(b, x.Expr)
			}
			for _, x := range a.Aggregates {
				b = appendExpr(b, x.Expr)
			}
			return string(b)
		})
	},
	"enrich": func(c *engine.Class, source string) string {
		l := NewLoadSet(c)
		return told(l.Enrichment(jsonOf(source)), func() string { return loaded(l.Roots) })
	},
	"sort list": func(c *engine.Class, name string) string {
		s, err := ParseSortList(c, "name,-"+name)
		return told(err, func() string { return sortedBy(s) })
	},
	"eager": func(c *engine.Class, name string) string {
		all := ""
		for _, text := range []string{name, "boss|" + name, name + "|name", "pals." + name, "team|lead|" + name} {
			l := NewLoadSet(c)
			all += told(l.Eager("_eager", text), func() string { return loaded(l.Roots) })
		}
		return all
	},
	"nested": func(c *engine.Class, _ string) string {
		l := NewLoadSet(c)
		return told(l.Nested(2), func() string { return loaded(l.Roots) })
	},
}

func jsonOf(source string) any { return engine.JSONText(source).Decode() }

func told(err error, result func() string) string {
	if err != nil {
		e := err.(*engine.Error)
		return fmt.Sprintf("<%d %s %s %s %s %s>", e.Code, e.Reason, e.Message, e.Class, e.ID, e.Attribute)
	}
	return "<" + result() + ">"
}

func sortedBy(all []engine.Sort) string {
	var b []byte
	for _, s := range all {
		b = appendPath(b, s.Path())
	}
	return string(b)
}

func loaded(all []*engine.Load) string {
	text := ""
	for _, l := range all {
		text += l.Property.Definition + l.Property.Name + "(" + loaded(l.Next) + ")"
	}
	return text
}

// sources returns the inputs for a parser, with N as the name.
func sources(reader string) []string {
	switch {
	case reader == "filter":
		return named2(mentioningFilters)
	case mentioningOthers[reader] != nil:
		return named2(mentioningOthers[reader])
	}
	return mentioned
}

// named2 combines all ways to mention a name with all templates.
func named2(templates []string) (all []string) {
	for _, s := range templates {
		for _, way := range mentioned {
			all = append(all, strings.NewReplacer(`"N"`, `"`+way+`"`, `"$N"`, `"$`+way+`"`, `|N"`, `|`+way+`"`).Replace(s))
		}
		all = append(all, s)
	}
	return all
}

// TestHiddenIsUnknown checks that for a view, every parser treats a hidden attribute of any type like an unknown name:
// the results must be equal, byte by byte, except for the name. For the class itself the results differ, which shows
// that the test can fail.
func TestHiddenIsUnknown(t *testing.T) {
	distinguished := map[string]bool{}
	for kind, properties := range hiddenKinds(t) {
		for _, where := range []string{"person", "lead"} {
			person, _ := people(t, where, properties...)
			view := engine.NewViews(hidesName).Of(person)
			for reader, read := range mentioningReaders {
				for _, c := range []*engine.Class{view, view.Descendants[0]} {
					for _, source := range sources(reader) {
						for i, as := range []string{hiddenName, strings.ToUpper(hiddenName), "Hiddn"} {
							if i > 0 && kind != "string" {
								break
							}
							compareMention(t, [...]string{kind, where, reader, as, source}, c, read)
						}
					}
				}
				for _, source := range sources(reader) {
					hidden, absent := strings.ReplaceAll(source, "N", hiddenName), strings.ReplaceAll(source, "N", noName)
					if strings.ReplaceAll(read(person, hidden), hiddenName, noName) != read(person, absent) || reader == "nested" && strings.Contains(read(person, ""), hiddenName) {
						distinguished[reader] = true
					}
				}
			}
		}
	}
	for reader := range mentioningReaders {
		if !distinguished[reader] {
			t.Errorf("%s reads all names alike, so this test cannot fail", reader)
		}
	}
}

func compareMention(t *testing.T, what [5]string, c *engine.Class, read func(*engine.Class, string) string) {
	t.Helper()
	as, source := what[3], what[4]
	hidden, absent := strings.ReplaceAll(source, "N", as), strings.ReplaceAll(source, "N", noName)
	got, want := read(c, hidden), read(c, absent)
	if strings.ReplaceAll(got, as, noName) != want || strings.Contains(got, "leak") {
		t.Errorf("%v of %s:\nhidden  %s\nunknown %s", what, c.FullName, got, want)
	}
}

func initialised(t *testing.T, c *engine.Class) *engine.Class {
	t.Helper()
	if err := c.Init(); err != nil {
		t.Fatal(err)
	}
	return c
}
