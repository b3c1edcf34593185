package engine

import (
	"fmt"
	"strings"
	"testing"
)

// name of the hidden attribute in these tests, and a name that does not exist
const (
	hiddenName = "hiddn"
	noName     = "absnt"
)

// people returns the classes person and team. person has the descendant lead.
// where is the name of the class, person or lead, that has the hidden
// properties.
func people(t *testing.T, where string, hidden ...*Property) (person, team *Class) {
	t.Helper()
	person = &Class{Name: "person", Namespace: "t", Key: []string{"id"}, Semantic: "name", Properties: []*Property{
		{Name: "id", Type: Int}, {Name: "name", Type: String, Nullable: true}, {Name: "addr$city", Type: String, Nullable: true}}}
	team = &Class{Name: "team", Namespace: "t", Key: []string{"id"}, Semantic: "title", Properties: []*Property{
		{Name: "id", Type: Int}, {Name: "title", Type: String, Nullable: true}, {Name: "lead", Type: Reference, Target: person, Nullable: true}}}
	lead := &Class{Name: "lead", Namespace: "t", Key: []string{"id"}, Semantic: "name", Ancestor: person}
	person.Properties = append(person.Properties, &Property{Name: "boss", Type: Reference, Target: person, Nullable: true},
		&Property{Name: "team", Type: Reference, Target: team, Nullable: true}, &Property{Name: "pals", Type: Collection, Target: person})
	if where == "person" {
		person.Properties = append(person.Properties, hidden...)
	}
	for _, p := range person.Properties {
		inherited := *p
		lead.Properties = append(lead.Properties, &inherited)
	}
	lead.Properties = append(lead.Properties, &Property{Name: "since", Type: DateTime, Nullable: true, OrderNumber: -1})
	if where == "lead" {
		lead.Properties = append(lead.Properties, hidden...)
	}
	person.Descendants = []*Class{lead}
	for _, c := range []*Class{person, team, lead} {
		initialised(t, c)
	}
	for _, c := range []*Class{person, team, lead} {
		c.Link()
	}
	return person, team
}

func hidesName(p *Property) bool { return strings.Contains(p.Name, hiddenName) }

// hiddenKinds are properties of every type that parsers distinguish.
func hiddenKinds(t *testing.T) map[string][]*Property {
	other := initialised(t, &Class{Name: "other", Namespace: "t", Key: []string{"id"}, Properties: []*Property{{Name: "id", Type: Int}, {Name: "name", Type: String}}})
	kinds := map[string][]*Property{
		"reference":    {{Name: hiddenName, Type: Reference, Target: other, Nullable: true}},
		"eager":        {{Name: hiddenName, Type: Reference, Target: other, Nullable: true, Eager: true}},
		"collection":   {{Name: hiddenName, Type: Collection, Target: other}},
		"struct":       {{Name: hiddenName + "$name", Type: String, Nullable: true}, {Name: hiddenName + "$n", Type: Int, Nullable: true}},
		"struct part":  {{Name: "addr$" + hiddenName, Type: String, Nullable: true}},
		"selection":    {{Name: hiddenName, Type: String, Nullable: true, Selection: &Selection{Rows: []SelectionRow{{Values: []SelectionValue{{"a", "A"}}}}}}},
		"calculated":   {{Name: hiddenName, Type: String, Formula: fixed{"x"}, Nullable: true}},
		"searched":     {{Name: hiddenName, Type: String, Search: true, Nullable: true}},
		"not nullable": {{Name: hiddenName, Type: String}},
	}
	for _, typ := range []PropertyType{String, Int, Real, DecimalNum, DateTime, Boolean, Password, GUID, Set, Custom, Period, Geo, File, FileList} {
		kinds[typ.String()] = []*Property{{Name: hiddenName, Type: typ, Nullable: true}}
	}
	return kinds
}

// mentioned are the ways to name a property N: itself, through references and
// collections, as a part of a struct, as a reference on a path, and in other
// letter case.
var mentioned = []string{"N", "boss.N", "boss.boss.N", "pals.N", "team.lead.N", "boss.team.lead.pals.N", "addr.N", "addr$N", "boss.addr.N",
	"N.name", "N.id", "N._id", "N.__class", "N.n", "N$name", "boss.N.name", "N.N", "N_str", "$N"}

// mentioningOthers is other JSON that names properties, by its reader.
var mentioningOthers = map[string][]string{
	"bind": {`{"N":1}`, `{"N":"a"}`, `{"N":null}`, `{"N":{"name":"a"}}`, `{"N":[{"id":1}]}`, `{"N":["a"]}`, `{"N":{"n":"x"}}`, `{"boss":{"N":1}}`, `{"boss":{"id":2,"N":null,"boss":{"N":"x"}}}`, `{"pals":[{"N":1}]}`, `{"pals":{"add":[{"id":3,"N":"a"}]}}`,
		`{"addr":{"N":1,"city":"x"}}`, `{"addr":{"N":{"x":1}}}`, `{"boss.N":1}`, `{"boss.boss.N":"a","boss":7}`, `{"boss":{"id":4,"addr":{"N":1}}}`, `{"boss":{"_class":"lead@t","N":1}}`, `{"addr":null,"name":"q"}`},
}

// mentioningReaders are the public parsers of JSON or text that names properties
// of a class. They return their result as text.
var mentioningReaders = map[string]func(c *Class, source string) string{
	"bind": func(c *Class, source string) string {
		all := ""
		for _, h := range []Handling{Lenient, Strict} {
			v, unknown, err := c.Bind(jsonOf(source).(Fields), h)
			all += told(err, func() string { return showValues(c.Base(), v) + fmt.Sprint(unknown) })
		}
		return all
	},
	"projection": func(c *Class, name string) string {
		p, err := NewProjection(c, []string{"name", name})
		return told(err, func() string { return projected(p) })
	},
	"path":     func(c *Class, name string) string { return pathNames(c.Path(name)) },
	"property": func(c *Class, name string) string { return fmt.Sprint(c.Property(name) != nil) },
	"item": func(c *Class, name string) string {
		it := hiddenItem(c)
		return fmt.Sprint(it.Get(name), it, string(it.AppendJSON(nil)), string(it.AppendRecord(nil)))
	},
}

// hiddenItem returns an item with "leak" in all attributes that are hidden.
func hiddenItem(c *Class) *Item {
	it := &Item{Class: c, ID: "1", Values: make(Values, len(c.Properties))}
	for _, p := range c.Properties {
		if strings.Contains(p.Name, hiddenName) {
			it.Values[p.Index] = "leak"
			if p.Target != nil {
				target := &Item{Class: p.Target, ID: "leak", Values: Values{int64(1), "leak"}}
				it.setLink(p, Link{Loaded: true, Shown: true, Item: target, Items: []*Item{target}})
			}
			if p.Type.JSON() {
				it.Values[p.Index] = JSONText(`"leak"`)
			}
		}
	}
	it.Values[0] = int64(1)
	return it
}

func pathNames(path []*Property) (names string) {
	for _, p := range path {
		names += "." + p.Name
	}
	return names
}

func jsonOf(source string) any { return JSONText(source).Decode() }

func told(err error, result func() string) string {
	if err != nil {
		e := err.(*Error)
		return fmt.Sprintf("<%d %s %s %s %s %s>", e.Code, e.Reason, e.Message, e.Class, e.ID, e.Attribute)
	}
	return "<" + result() + ">"
}

func projected(p *Projection) string {
	if p == nil {
		return "all"
	}
	var names []string
	for name, next := range p.names {
		names = append(names, name+":"+projected(next))
	}
	return fmt.Sprint(len(names), strings.Count(strings.Join(names, " "), "leak"))
}

// sources returns the input of a reader, with N for the name.
func sources(reader string) []string {
	switch {
	case mentioningOthers[reader] != nil:
		return named2(mentioningOthers[reader])
	}
	return mentioned
}

// named2 combines all ways to mention a name with all sources.
func named2(templates []string) (all []string) {
	for _, s := range templates {
		for _, way := range mentioned {
			all = append(all, strings.NewReplacer(`"N"`, `"`+way+`"`, `"$N"`, `"$`+way+`"`, `|N"`, `|`+way+`"`).Replace(s))
		}
		all = append(all, s)
	}
	return all
}

// TestHiddenIsUnknown: in a view, every parser and every answer treats a hidden
// attribute of any type like an unknown name: the bytes are equal except for the
// name. The class itself treats them differently, which shows that the test can
// fail.
func TestHiddenIsUnknown(t *testing.T) {
	distinguished := map[string]bool{}
	for kind, properties := range hiddenKinds(t) {
		for _, where := range []string{"person", "lead"} {
			person, _ := people(t, where, properties...)
			view := NewViews(hidesName).Of(person)
			for reader, read := range mentioningReaders {
				for _, c := range []*Class{view, view.Descendants[0]} {
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
					if strings.ReplaceAll(read(person, hidden), hiddenName, noName) != read(person, absent) ||
						reader == "item" && strings.Contains(read(person, hiddenName), "leak") {
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

func compareMention(t *testing.T, what [5]string, c *Class, read func(*Class, string) string) {
	t.Helper()
	as, source := what[3], what[4]
	hidden, absent := strings.ReplaceAll(source, "N", as), strings.ReplaceAll(source, "N", noName)
	got, want := read(c, hidden), read(c, absent)
	if strings.ReplaceAll(got, as, noName) != want || strings.Contains(got, "leak") {
		t.Errorf("%v of %s:\nhidden  %s\nunknown %s", what, c.FullName, got, want)
	}
}

// TestViewOfRelatives: all classes that can be reached from a view are views of
// the same kind, and Base and Root return the class itself.
func TestViewOfRelatives(t *testing.T) {
	person, team := people(t, "person", &Property{Name: hiddenName, Type: String})
	views := NewViews(hidesName)
	v := views.Of(person)
	lead := v.Descendants[0]
	if lead.Base() != person.Descendants[0] || lead.Ancestor != v || lead.Property(hiddenName) != nil || lead.Property("since") == nil {
		t.Errorf("the descendant of a view: got base %v, ancestor %v, want true", lead.Base() == person.Descendants[0], lead.Ancestor == v)
	}
	if got := v.TargetOf(v.Property("team")); got != views.Of(team) || got.TargetOf(got.Property("lead")) != v {
		t.Error("the target of a reference is not a view")
	}
	if v.Base() != person || v.Root() != person || lead.Root() != person || views.Of(v) != v || views.Of(lead.Base()) != lead {
		t.Error("Base, Root or the view of a view is wrong")
	}
	if !v.Property("boss").Allows(lead) || !v.Property("boss").Allows(lead.Base()) || v.Property("boss").Allows(views.Of(team)) {
		t.Error("Allows differs between a class and its view")
	}
	var none *Views
	if none.Of(person) != person || none.Hides(person.Property(hiddenName)) || person.Hides(person.Property(hiddenName)) {
		t.Error("nil Views did not return the class itself")
	}
}

// Records that Bind makes refer to classes, not views, because repositories save
// them. The names in them are checked with the view.
func TestViewBindsRecordsOfClasses(t *testing.T) {
	person, _ := people(t, "lead", &Property{Name: hiddenName, Type: String})
	v := NewViews(hidesName).Of(person)
	values, unknown, err := v.Bind(jsonOf(`{"boss":{"_class":"lead@t","hiddn":"x","since":"2020-01-01"},"boss.hiddn":1,"boss.boss.name":"y"}`).(Fields), Lenient)
	if err != nil || fmt.Sprint(unknown) != "[boss.hiddn boss.hiddn]" {
		t.Fatal(unknown, err)
	}
	r := values[v.Property("boss").Index].(*Record)
	inner := r.Values[r.Class.Property("boss").Index].(*Record)
	if r.Class != person.Descendants[0] || inner.Class != person || r.Values[r.Class.Property(hiddenName).Index] != Absent {
		t.Error(show(r), r.Class.Base() == r.Class)
	}
}

// null for a struct clears only the parts that are visible in the view
func TestViewKeepsHiddenParts(t *testing.T) {
	person, _ := people(t, "person", &Property{Name: "addr$" + hiddenName, Type: String, Nullable: true})
	v := NewViews(hidesName).Of(person)
	values, _, err := v.Bind(Fields{{"addr", nil}}, Strict)
	if err != nil || values[person.Property("addr$city").Index] != nil || values[person.Property("addr$"+hiddenName).Index] != Absent {
		t.Error(showValues(person, values), err)
	}
}

// A property that is only the other side of a hidden reference is hidden too.
// Keys are never hidden.
func TestViewHidesTheOtherSide(t *testing.T) {
	task := &Class{Name: "task", Key: []string{"id"}, Properties: []*Property{{Name: "id", Type: Int}, {Name: "code", Type: String, Unique: true}}}
	note := &Class{Name: "note", Key: []string{"id"}, Properties: []*Property{{Name: "id", Type: Int}, {Name: "task", Type: Reference, Target: task}, {Name: "about", Type: Reference, Target: task}}}
	task.Properties = append(task.Properties, &Property{Name: "notes", Type: Collection, Target: note, Back: note.Properties[1]},
		&Property{Name: "named", Type: Collection, Target: note, Back: note.Properties[2], Binding: task.Properties[1]}, &Property{Name: "plain", Type: Collection, Target: note})
	initialised(t, task)
	initialised(t, note)
	has := func(names ...string) string {
		v := NewViews(func(p *Property) bool {
			for _, n := range names {
				if p.Name == n {
					return true
				}
			}
			return false
		}).Of(task)
		var all []string
		for _, p := range v.Properties {
			if !v.Hides(p) {
				all = append(all, p.Name)
			}
		}
		return strings.Join(all, " ")
	}
	for hidden, want := range map[string]string{"task": "id code named plain", "code": "id notes plain", "id": "id code notes named plain", "plain": "id code notes named"} {
		if got := has(hidden); got != want {
			t.Errorf("without %s: %s", hidden, got)
		}
	}
}

// Display strings omit hidden attributes, both of the item and of its targets.
// The text around them stays.
func TestViewDisplaysNothingHidden(t *testing.T) {
	person, team := people(t, "person", &Property{Name: hiddenName, Type: String}, &Property{Name: "h" + hiddenName, Type: Reference, Target: nil})
	team.Semantic = "title| of |lead.hiddn|-|lead.name"
	team.Link()
	views := NewViews(hidesName)
	boss := &Item{Class: person, ID: "1", Values: make(Values, len(person.Properties))}
	boss.Values[person.Property("name").Index], boss.Values[person.Property(hiddenName).Index] = "Li", "leak"
	it := &Item{Class: team, ID: "7", Values: Values{int64(7), "A", int64(1)}}
	it.setLink(team.Property("lead"), Link{Loaded: true, Item: boss})
	if got := it.String(); got != "A of leak-Li" {
		t.Fatal(got)
	}
	boss.Class, it.Class = views.Of(person), views.Of(team)
	if got := it.String(); got != "A of -Li" {
		t.Error(got)
	}
	if got := boss.Display(person.Property(hiddenName)); got != "" {
		t.Error(got)
	}
}

// Different bodies have different strong tags: those of the class and those of
// its views. The revision, which If-Match compares, is the same.
func TestViewsHaveTagsOfTheirOwn(t *testing.T) {
	person, team := people(t, "person", &Property{Name: hiddenName, Type: String}, &Property{Name: "h" + hiddenName, Type: String})
	hides := func(names string) *Views {
		return NewViews(func(p *Property) bool { return strings.Contains(names, " "+p.Name+" ") })
	}
	tags := map[string]string{}
	for what, c := range map[string]*Class{"class": person, "one": hides(" hiddn ").Of(person), "other": hides(" hhiddn ").Of(person), "both": hides(" hiddn hhiddn ").Of(person)} {
		tag := (&Item{Class: c, Revision: 77}).ETag()
		if was, met := tags[tag]; met || !strings.HasPrefix(tag, `"25.`) {
			t.Errorf("%s: got the tag %s, which %s has too", what, tag, was)
		}
		tags[tag] = what
	}
	if a, b := hides(" hiddn ").Of(person).Fingerprint(), hides(" hiddn ").Of(person).Fingerprint(); a != b {
		t.Error("two equal views have different fingerprints")
	}
	if hides(" title ").Of(person).Fingerprint() != person.Fingerprint() || hides(" title ").Of(team).Fingerprint() == team.Fingerprint() {
		t.Error("a view without hidden attributes must have the tag of the class, and other views must not")
	}
}

// Hidden attributes are removed from the names in the class. The envelope is the
// same as without the view.
func TestViewForgetsNames(t *testing.T) {
	c := initialised(t, &Class{Name: "c", Key: []string{"id"}, CreatorTracker: hiddenName, EditorTracker: "editor", Container: "h" + hiddenName,
		Indexes:    []CompositeIndex{{Properties: []string{"id", hiddenName}}, {Properties: []string{"id", "editor"}}},
		Properties: []*Property{{Name: "id", Type: Int}, {Name: hiddenName, Type: String}, {Name: "editor", Type: String}, {Name: "h" + hiddenName, Type: Int}}})
	v := NewViews(hidesName).Of(c)
	if v.CreatorTracker != "" || v.EditorTracker != "editor" || v.Container != "" || len(v.Indexes) != 1 || len(c.Indexes) != 2 || c.CreatorTracker != hiddenName {
		t.Errorf("names in the view: got %q %q %q %v", v.CreatorTracker, v.EditorTracker, v.Container, v.Indexes)
	}
	it := &Item{Class: v, ID: "1", Creator: "leak", Values: Values{int64(1), "leak", "e", int64(2)}}
	if got := string(it.AppendJSON(nil)); strings.Contains(got, "leak") {
		t.Error(got)
	}
	for written, want := range map[string]bool{`"id|hiddn"`: true, `"$.hiddn"`: true, `{"eq":["$boss.hhiddn",1]}`: true, `{"hiddn":1}`: true, `["id","editor"]`: false, `{"hiddnx":1}`: false} {
		if got := v.MentionsHidden(jsonOf(written)); got != want {
			t.Errorf("MentionsHidden(%s) of the view: got %v, want %v", written, got, want)
		}
		if c.MentionsHidden(jsonOf(written)) {
			t.Errorf("MentionsHidden(%s) of the class: got true, want false", written)
		}
	}
}
