package engine

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
)

// townItem returns an item of the classes of towns. rest has names and values
// alternately.
func townItem(c *Class, id string, rest ...any) *Item {
	v := make(Values, len(c.Properties))
	it := &Item{Class: c, ID: id, Version: "1", Values: v}
	if key, err := c.key[0].Cast(id); err == nil {
		v[0] = key
	}
	for i := 0; i < len(rest); i += 2 {
		p := c.Property(rest[i].(string))
		if l, ok := rest[i+1].(Link); ok {
			it.setLink(p, l)
			continue
		}
		v[p.Index] = rest[i+1]
	}
	return it
}

// TestLinksInJSON checks references and collections in answers.
func TestLinksInJSON(t *testing.T) {
	town, street, mayor := towns(t)
	only := func(it *Item, names ...string) string {
		t.Helper()
		p, err := NewProjection(it.Class, names)
		if err != nil {
			t.Fatal(err)
		}
		return string(it.AppendFields(nil, p))
	}
	a := townItem(town, "A", "name", "Ay", "mayor", int64(5), "country", "p_7", "rank", int64(2))
	head := `{"_id":"A","__string":"Ay","__class":"town@t","__classTitle":"town"`
	li := `{"_id":"5","__string":"Li","__class":"mayor@t","__classTitle":"mayor","id":5,"name":"Li"}`
	check := func(what, got, want string) {
		t.Helper()
		if !json.Valid([]byte(got)) || got != head+want {
			t.Errorf("%s:\ngot  %s\nwant %s", what, got, head+want)
		}
	}
	check("not loaded", only(a, "mayor", "country", "streets", "rank"), `,"mayor":"5","country":"p_7","streets":null,"rank":2,"rank_str":"second"}`)
	a.setLink(town.Property("mayor"), Link{Loaded: true, Item: townItem(mayor, "5", "name", "Li")})
	check("loaded to compute", only(a, "mayor"), `,"mayor":"5"}`)
	a.Links[town.Property("mayor").Index].Shown = true
	check("loaded", only(a, "mayor"), `,"mayor":`+li+`}`)
	check("part of what is loaded", only(a, "mayor.name"), `,"mayor":{"_id":"5","__string":"Li","__class":"mayor@t","__classTitle":"mayor","name":"Li"}}`)
	check("part and whole", only(a, "mayor.name", "mayor", "mayor.id"), `,"mayor":`+li+`}`)
	a.setLink(town.Property("mayor"), Link{Loaded: true, Shown: true})
	check("dangling", only(a, "mayor"), `,"mayor":"5"}`)
	a.setLink(town.Property("streets"), Link{Loaded: true, Shown: true})
	check("empty", only(a, "streets"), `,"streets":[]}`)

	b := townItem(town.Descendants[0], "B", "name", "Bee")
	s := townItem(street, "S", "name", "High", "town", "A", "town", Link{Loaded: true, Shown: true, Item: a})
	b.setLink(b.Class.Property("twins"), Link{Loaded: true, Shown: true, Items: []*Item{a}})
	a.setLink(town.Property("streets"), Link{Loaded: true, Shown: true, Items: []*Item{s, s}})
	a.setLink(town.Property("twins"), Link{Loaded: true, Shown: true, Items: []*Item{b}})
	cut := `{"_id":"S","__string":"High","__class":"street@t","__classTitle":"street","id":"S","name":"High","town":{"_id":"A","__class":"town@t"}}`
	check("on the path and twice", only(a, "streets"), `,"streets":[`+cut+`,`+cut+`]}`)
	check("a descendant leads back", only(a, "twins.twins"), `,"twins":[{"_id":"B","__string":"Bee","__class":"city@t","__classTitle":"city","twins":[{"_id":"A","__class":"town@t"}]}]}`)
	if got := string(a.AppendJSON(nil)); !json.Valid([]byte(got)) {
		t.Errorf("got invalid JSON: %s", got)
	}
	want := `{"_id":"A","_class":"town@t","_classVer":"1","id":"A","name":"Ay","mayor":"5","country":"p_7","twins":["B"],"rank":2}`
	a.Values[town.Property("sum").Index] = int64(3)
	if got := string(a.AppendRecord(nil)); got != want {
		t.Errorf("record:\ngot  %s\nwant %s", got, want)
	}
}

// TestAnswersCanBeSentBack binds the output of AppendJSON.
func TestAnswersCanBeSentBack(t *testing.T) {
	town, street, mayor := towns(t)
	a := townItem(town, "A", "name", "Ay", "rank", int64(2), "mayor", int64(5), "post$zip", "9", "sum", int64(3),
		"plan", StoredFile{ID: "f1", Name: "a.txt", Size: 5, Hash: "h"}.JSON(), "papers", JSONText(`[{"id":"f2","size":1,"hash":"h"}]`),
		"mayor", Link{Loaded: true, Shown: true, Item: townItem(mayor, "5", "name", "Li")})
	s := townItem(street, "S", "town", "A", "town", Link{Loaded: true, Shown: true, Item: a})
	a.setLink(town.Property("streets"), Link{Loaded: true, Shown: true, Items: []*Item{s}})
	v, unknown, err := town.Bind(decoded(t, string(a.AppendJSON(nil))).(Fields), Strict)
	want := `{id=A name=Ay mayor=mayor 5{id=5 name=Li} country=null streets=replace [street S{id=S name=null town=A}] [] ` +
		`rank=2 plan=file f1 papers=1 files post$zip=9 post$box$no=null post$holder=null}`
	if err != nil || unknown != nil || showValues(town, v) != want {
		t.Errorf("got  %s, %v, %v\nwant %s", showValues(town, v), unknown, err, want)
	}
}

func TestFilesInJSON(t *testing.T) {
	town, _, _ := towns(t)
	p, err := NewProjection(town, []string{"plan", "papers"})
	if err != nil {
		t.Fatal(err)
	}
	it := townItem(town, "A", "plan", StoredFile{ID: "x/1", Name: `a "b".txt`, MimeType: "text/plain", Size: 5, Hash: "secret"}.JSON(),
		"papers", JSONText(`[{"id":"p1","size":0,"hash":"h"}]`))
	want := `{"_id":"A","__string":"A","__class":"town@t","__classTitle":"town",` +
		`"plan":{"id":"x/1","name":"a \"b\".txt","link":"/files/x%2F1","options":{"name":"a \"b\".txt","mimeType":"text/plain"},"size":5},` +
		`"papers":[{"id":"p1","name":"p1","link":"/files/p1","options":{},"size":0}]}`
	if got := string(it.AppendFields(nil, p)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := it.Display(town.Property("plan")) + "|" + it.Display(town.Property("papers")); got != `a "b".txt|p1` {
		t.Errorf("display of files: got %s", got)
	}
}

func TestProjectionRefuses(t *testing.T) {
	town, _, _ := towns(t)
	for _, name := range []string{"color", "mayor.color", "name.x", "color.x", ""} {
		if _, err := NewProjection(town, []string{name}); CodeOf(err) != Invalid || err == nil {
			t.Errorf("projection %q: got %v, want Invalid", name, err)
		}
	}
	if _, err := NewProjection(town, []string{"_id", "__string", "metro", "post$zip"}); err != nil {
		t.Error(err)
	}
}

func TestDisplay(t *testing.T) {
	town, street, mayor := towns(t)
	town.Semantic = "name| |mayor|, |mayor.name[0,1]|, |streets|, |rank|, |country"
	town.Link()
	li := townItem(mayor, "5", "name", "Li")
	a := townItem(town, "A", "name", "Ay", "mayor", int64(5), "country", "p_7", "rank", int64(1))
	if got := a.String(); got != "Ay 5, , , first, p_7" {
		t.Errorf("display string without loaded items: got %q", got)
	}
	a.setLink(town.Property("mayor"), Link{Loaded: true, Item: li})
	a.setLink(town.Property("streets"), Link{Loaded: true, Items: []*Item{townItem(street, "S"), townItem(street, "T", "name", "Low")}})
	if got := a.String(); got != "Ay Li, L, S, Low, first, p_7" {
		t.Errorf("display string with loaded items: got %q", got)
	}
	town.Property("mayor").Display = CompileSemantic(mayor, "Mr. |name")
	if got := a.Display(town.Property("mayor")); got != "Mr. Li" {
		t.Errorf("display string of an attribute: got %q, want Mr. Li", got)
	}
	town.Semantic = "twins"
	town.Link()
	a.setLink(town.Property("twins"), Link{Loaded: true, Items: []*Item{a}})
	if got := a.String(); got != "A" {
		t.Errorf("display string of a circle: got %q, want A", got)
	}
	period := &Class{Name: "c", Key: []string{"id"}, Properties: []*Property{{Name: "id", Type: String}, {Name: "when", Type: Period, Size: 4}, {Name: "any", Type: Custom}}, Semantic: "when|; |any"}
	if err := period.Init(); err != nil {
		t.Fatal(err)
	}
	it := &Item{Class: period, Values: Values{"x", JSONText(`["2020-01-02T00:00:00.000Z",null]`), JSONText(`"text"`)}}
	if got := it.String(); got != "02.01.2020 - ; text" {
		t.Errorf("display string of a period: got %q", got)
	}
}

func TestSelectionLabels(t *testing.T) {
	list := []SelectionValue{{json.Number("4"), "four"}, {"2", "two"}, {"a", "letter"}, {true, "yes"}, {json.Number("0.50"), "half"}}
	for _, c := range []struct {
		v    any
		want string
	}{
		{int64(4), "four"}, {"4", "four"}, {int64(2), "two"}, {"a", "letter"}, {true, "yes"}, {0.5, "half"}, {Decimal("0.5"), "half"},
		{nil, ""}, {"b", "b"}, {JSONText(`[4,2,9]`), "four, two, 9"}, {JSONText(`[]`), ""}, {int64(9), "9"}, {false, "false"}, {int64(1), "yes"}, {Instant(0), "1970-01-01T00:00:00.000Z"},
	} {
		p := &Property{Name: "p", Type: String, Selection: &Selection{Rows: []SelectionRow{{Values: list}}}}
		it := &Item{Class: &Class{Properties: []*Property{p}}, Values: Values{c.v}}
		if got := it.label(p); got != c.want {
			t.Errorf("%v: got %q, want %q", c.v, got, c.want)
		}
	}
}

// failing is a formula that fails for its item.
type failing struct{ fixed }

func (failing) Eval(context.Context, *Item, FormulaData) (any, error) {
	return nil, Errorf(Invalid, "formula", "does not suit")
}

func TestCompute(t *testing.T) {
	town, street, _ := towns(t)
	town.Label = fixed{Instant(1577934245678)}
	rank := town.Property("rank")
	rank.Selection = &Selection{Rows: []SelectionRow{
		{Condition: fixed{""}, Values: []SelectionValue{{"1", "never"}}}, {Condition: fixed{"x"}, Values: []SelectionValue{{"1", "always"}}},
	}}
	town.Property("sum").Formula = fixed{3.7}
	town.Property("first").Formula = fixed{[]*Item{townItem(street, "S")}}
	it := townItem(town, "A", "rank", int64(1))
	if got := it.label(rank); got != "1" {
		t.Errorf("label before Compute: got %q, want 1", got)
	}
	if err := it.Compute(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if it.String() != "02.01.2020 3:04" || it.label(rank) != "always" || it.Get("sum") != int64(3) || it.Get("first") != "S" {
		t.Errorf("after Compute: got %q, %q, %v", it.String(), it.Labels, it.Values)
	}
	town.Property("sum").Formula, town.Property("sum").Cached = failing{}, true
	if err := it.Compute(t.Context(), nil); err != nil {
		t.Errorf("Compute with a cached formula that fails: got %v, want no error", err)
	}
	err := it.ComputeCached(t.Context(), nil)
	if e := (*Error)(nil); !errors.As(err, &e) || e.Attribute != "sum" || e.ID != "A" || e.Class != "town@t" {
		t.Errorf("got %#v, want an error with class, id and attribute", err)
	}
	for v, want := range map[any]any{"12": int64(12), "x": nil, -2.5: int64(-2), true: nil} {
		if got := property(Int).castComputed(v); got != want {
			t.Errorf("castComputed(%v): got %v, want %v", v, got, want)
		}
	}
	if got := property(String).castComputed(Instant(0)); got != "1970-01-01T00:00:00.000Z" {
		t.Errorf("a date as text: got %v", got)
	}
}
