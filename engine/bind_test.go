package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// fixed is a formula with a constant value.
type fixed struct{ v any }

func (f fixed) Needs() [][]*Property                                  { return nil }
func (f fixed) Eval(context.Context, *Item, FormulaData) (any, error) { return f.v, nil }

func showLinks(l *Links) string {
	word := "change"
	if l.Replace {
		word = "replace"
	}
	add := make([]string, len(l.Add))
	for i, e := range l.Add {
		add[i] = show(e)
	}
	return fmt.Sprint(word, " ", add, " ", l.Remove)
}

// show writes a value of Bind in a readable form.
func show(v any) string {
	switch v := v.(type) {
	case *Record:
		s := v.Class.Name
		if v.ID != "" {
			s += " " + v.ID
		}
		if v.Follow {
			s += " follow"
		}
		return s + showValues(v.Class, v.Values)
	case *Links:
		return showLinks(v)
	case *Upload:
		return "file " + v.File.ID
	case []*Upload:
		return fmt.Sprint(len(v), " files")
	}
	return ValueText(v)
}

func showValues(c *Class, v Values) string {
	var parts []string
	for i, p := range c.Properties {
		if v[i] == nil {
			parts = append(parts, p.Name+"=null")
		} else if v[i] != Absent {
			parts = append(parts, p.Name+"="+show(v[i]))
		}
	}
	return "{" + strings.Join(parts, " ") + "}"
}

// TestBindNested checks the values for nested input of crud and the acceptor. Unknown
// names follow a "!".
func TestBindNested(t *testing.T) {
	town, _, _ := towns(t)
	for in, want := range map[string]string{
		`{"mayor":5}`:                                      `{mayor=5}`,
		`{"mayor":null,"streets":null}`:                    `{mayor=null}`,
		`{"mayor":{"id":5,"name":"Li"}}`:                   `{mayor=mayor{id=5 name=Li}}`,
		`{"mayor":{}}`:                                     `{mayor=mayor{}}`,
		`{"mayor":{"_id":"5","age":7}}`:                    `{mayor=5}!mayor.age`,
		`{"mayor":{"_id":5,"name":"Li"}}`:                  `{mayor=mayor 5{name=Li}}`,
		`{"mayor.name":"Li"}`:                              `{mayor=mayor follow{name=Li}}`,
		`{"mayor.name":"Li","mayor.id":5}`:                 `{mayor=mayor follow{id=5 name=Li}}`,
		`{"mayor.name":"Li","mayor":5}`:                    `{mayor=mayor 5{name=Li}}`,
		`{"mayor.name":"Li","mayor":{"id":5,"name":"Bo"}}`: `{mayor=mayor{id=5 name=Li}}`,
		`{"mayor":null,"mayor.name":"Li"}`:                 `{mayor=mayor{name=Li}}`,
		`{"mayor.age":7,"mayor._id":5}`:                    `{}!mayor.age`,
		`{"country":"p_7"}`:                                `{country=p_7}`,
		`{"country":{"capital":"t1","a":"p","b":7}}`:       `{country=country{a=p b=7}}!country.capital`,
		`{"country":{"capital":null,"a":"p","b":7}}`:       `{country=country{a=p b=7}}`,
		`{"streets":["s1",{"name":"High"},{"_id":"s2"},{"_id":"s3","name":"Low","x":1}]}`:   `{streets=replace [s1 street{name=High} s2 street s3{name=Low}] []}!streets[3].x`,
		`{"streets":{"add":[{"name":"High","town":{"name":"A"}}],"remove":["s1"]}}`:         `{streets=change [street{name=High town=town{name=A}}] [s1]}`,
		`{"twins":[{"_class":"city@t","metro":true},{"_class":"town","name":"B"}]}`:         `{twins=replace [city{metro=true} town{name=B}] []}`,
		`{"twins":[{"_id":"c1","__string":"C","__class":"city@t","id":"c1","metro":true}]}`: `{twins=replace [city c1{id=c1 metro=true}] []}`,
		`{"twins":[{"_id":"c1","_class":"city@t"},{"name":"D","streets":null}]}`:            `{twins=replace [c1 town{name=D}] []}`,
		`{"post":{"zip":"9","box":{"no":"12"},"holder":{"name":"Li"},"x":1,"_id":1}}`:       `{post$zip=9 post$box$no=12 post$holder=mayor{name=Li}}!post$x`,
		`{"post$zip":"9","post":{"box":null}}`:                                              `{post$zip=9 post$box$no=null}`,
		`{"sum":9,"first":{"name":"x"},"rank_str":"one","_id":"t","__class":"town@t"}`:      `{}`,
		`{"plan":"","papers":["aGVsbG8="]}`:                                                 `{plan=null papers=1 files}`,
		`{"plan":"x1","name.first":"a","nobody.name":"b"}`:                                  `{plan=file x1}!name.first!nobody.name`,
	} {
		v, unknown, err := town.Bind(decoded(t, in).(Fields), Lenient)
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		got := showValues(town, v)
		for _, name := range unknown {
			got += "!" + name
		}
		if got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", in, got, want)
		}
	}
}

func TestBindRefuses(t *testing.T) {
	town, _, _ := towns(t)
	for _, c := range []struct {
		in, reason, attribute string
		strict                bool
	}{
		{`{"mayor":{"id":"x"}}`, "type", "mayor.id", false},
		{`{"streets":[{"name":"a"},{"town":{"rank":"x"}}]}`, "type", "streets[1].town.rank", false},
		{`{"mayor.name.x":1}`, "unknown-attribute", "mayor.name.x", true},
		{`{"mayor":{"_id":"five","name":"x"}}`, "type", "mayor", false},
		{`{"mayor":{"_class":"town@t"}}`, "class", "mayor", false},
		{`{"mayor":[5]}`, "type", "mayor", false},
		{`{"streets":"a"}`, "type", "streets", false},
		{`{"streets":[{"add":[]},7,[]]}`, "type", "streets", false},
		{`{"post":5}`, "type", "post", false},
		{`{"plan":{"path":"/etc/passwd"}}`, "type", "plan", false},
		{`{"streets":[{"x":1}]}`, "unknown-attribute", "streets[0].x", true},
		{`{"mayor":{"name":"too long a name"}}`, "size", "mayor.name", true},
		{`{"rank":3}`, "selection", "rank", true},
		{`{"country":{"capital":"t1","a":"p","b":7}}`, "virtual", "country.capital", true},
	} {
		in := decoded(t, c.in).(Fields)
		_, _, err := town.Bind(in, Handling(c.strict))
		e, ok := err.(*Error)
		if !ok || e.Code != Invalid || e.Reason != c.reason || e.Class == "" || e.Attribute != c.attribute {
			t.Errorf("%s: got %#v, want Invalid with reason %s and attribute %q", c.in, err, c.reason, c.attribute)
		}
		if c.strict && ok && e.Reason != "unknown-attribute" {
			if _, _, err := town.Bind(in, Lenient); err != nil {
				t.Errorf("%s in lenient handling: got %v, want no error", c.in, err)
			}
		}
	}
	if _, _, err := town.Bind(decoded(t, `{"rank":"2"}`).(Fields), Strict); err != nil {
		t.Errorf("a value of the selection list: got %v, want no error", err)
	}
}

func TestBindLimitsNesting(t *testing.T) {
	town, _, _ := towns(t)
	many := make([]any, maxNested+1)
	for i := range many {
		many[i] = Fields{{"name", "x"}}
	}
	deep := Fields{{"name", "x"}}
	for range maxNesting {
		deep = Fields{{"twins", []any{deep}}}
	}
	for reason, in := range map[string]Fields{"depth": {{"twins", []any{deep}}}, "too-many": {{"twins", many}}} {
		_, _, err := town.Bind(in, Lenient)
		if e, ok := err.(*Error); !ok || e.Code != Invalid || e.Reason != reason {
			t.Errorf("%s: got %v, want Invalid with this reason", reason, err)
		}
	}
	for _, in := range []Fields{deep, {{"twins", many[1:]}}} {
		if _, _, err := town.Bind(in, Lenient); err != nil {
			t.Errorf("input at the limit: got %v, want no error", err)
		}
	}
}

func TestSubclassesLimitWhatIsNested(t *testing.T) {
	town, _, _ := towns(t)
	p := town.Property("twins")
	p.Subclasses = town.Descendants
	if _, _, err := town.Bind(decoded(t, `{"twins":[{"_class":"town@t"}]}`).(Fields), Lenient); CodeOf(err) != Invalid || err == nil {
		t.Errorf("a class that is not allowed: got %v, want Invalid", err)
	}
	if _, _, err := town.Bind(decoded(t, `{"twins":[{"_class":"city@t"}]}`).(Fields), Lenient); err != nil {
		t.Error(err)
	}
	if p.Allows(town) || !p.Allows(town.Descendants[0]) {
		t.Error("Allows and Bind differ in the allowed classes")
	}
}

// FuzzBind checks untrusted input: it is either refused as an error of the client or
// accepted without attributes that the class does not have.
func FuzzBind(f *testing.F) {
	for _, s := range []string{
		`{"mayor":{"_id":"5","name":"Li"},"mayor.name":"Bo","country":"p_7"}`, `{"twins":{"add":[{"_class":"city@t"},"a"],"remove":[{"_id":1}]}}`,
		`{"post":{"box":{"no":1},"holder":null},"plan":{"path":"x","body":""},"papers":["aGVsbG8=",{"id":"x"}]}`, `{"rank":"2","sum":[],"streets":[[]]}`,
		`{"mayor":null,"mayor.mayor.name":{}}`, `{"twins":"[{\"name\":\"x\"}]","_id":{}}`, `{".":1,"$":2,"post$":{},"mayor.":3}`,
	} {
		f.Add(s, true)
	}
	town, _, _ := towns(f)
	f.Fuzz(func(t *testing.T, text string, strict bool) {
		in, ok := JSONText(text).Decode().(Fields)
		if !ok {
			return
		}
		v, _, err := town.Bind(in, Handling(strict))
		if err != nil {
			if CodeOf(err) != Invalid {
				t.Fatalf("%s: got %v, want Invalid", text, err)
			}
			return
		}
		if len(v) != len(town.Properties) || v[town.Property("sum").Index] != Absent {
			t.Fatalf("%s: got %s, want one value for each property", text, showValues(town, v))
		}
		for i, value := range v {
			switch value.(type) {
			case *Record, *Links, *Upload, []*Upload, absent:
				continue
			}
			if again, err := town.Properties[i].Cast(value); err != nil || again != value {
				t.Fatalf("%s: casting %s = %v again: got %v, %v, want the same value", text, town.Properties[i].Name, value, again, err)
			}
		}
	})
}

// TestBindLimitsCosts: small input cannot cause much work at any depth.
func TestBindLimitsCosts(t *testing.T) {
	c := &Class{Name: "note", Key: []string{"id"}, Properties: []*Property{{Name: "id", Type: String}, {Name: "secret", Type: Password},
		{Name: "pages", Type: FileList}, {Name: "parts", Type: Collection}}}
	c.Properties[3].Target = c
	if err := c.Init(); err != nil {
		t.Fatal(err)
	}
	c.Link()
	parts := func(n int, f Field) Fields {
		all := make([]any, n)
		for i := range all {
			all[i] = Fields{f}
		}
		return Fields{{"parts", all}}
	}
	pages := make([]any, MaxUploads/10)
	for i := range pages {
		pages[i] = "QUJD"
	}
	for what, at := range map[string]struct {
		most  int
		field Field
	}{"passwords": {maxPasswords, Field{"secret", "x"}}, "files": {10, Field{"pages", pages}}} {
		if _, _, err := c.Bind(parts(at.most, at.field), Lenient); err != nil {
			t.Errorf("%s at the limit: got %v, want no error", what, err)
		}
		_, _, err := c.Bind(parts(at.most+1, at.field), Lenient)
		if e, ok := err.(*Error); !ok || e.Reason != "too-many" {
			t.Errorf("too many %s: got %v, want the reason too-many", what, err)
		}
	}
}

// TestBindFitting: values that cannot be cast are left out one by one, also in nested
// objects. An object whose key does not fit is left out as a whole.
func TestBindFitting(t *testing.T) {
	town := &Class{Name: "town", Namespace: "a", Key: []string{"id"}, Properties: []*Property{
		{Name: "id", Type: Int}, {Name: "size", Type: Int, Nullable: true}, {Name: "name", Type: String, Nullable: true}}}
	pet := &Class{Name: "pet", Namespace: "a", Key: []string{"id"}, Properties: []*Property{
		{Name: "id", Type: Int}, {Name: "age", Type: Int, Nullable: true}, {Name: "home", Type: Reference, Target: town, Nullable: true},
		{Name: "towns", Type: Collection, Target: town}, {Name: "chip$no", Type: Int, Nullable: true}, {Name: "chip$made", Type: DateTime, Nullable: true}}}
	for _, c := range []*Class{town, pet} {
		if err := c.Init(); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []*Class{town, pet} {
		c.Link()
	}
	for _, one := range []struct {
		in         Fields
		left       string
		given, err string
	}{
		{Fields{{"id", "1"}, {"age", "many"}}, "age", "id", ""},
		{Fields{{"id", "one"}, {"age", "5"}}, "", "", "id"},
		{Fields{{"id", "1"}, {"home", Fields{{"id", "2"}, {"size", "big"}, {"name", "Bergen"}}}}, "home.size", "id home", ""},
		{Fields{{"id", "1"}, {"home", Fields{{"id", "two"}, {"name", "Bergen"}}}}, "home.id", "id", ""},
		{Fields{{"id", "1"}, {"towns", []any{Fields{{"id", "2"}, {"size", true}}, "3"}}}, "towns[0].size", "id towns", ""},
		{Fields{{"id", "1"}, {"chip", Fields{{"no", "x"}, {"made", "2020-01-01"}}}}, "chip$no", "id chip$made", ""},
		{Fields{{"id", "1"}, {"home.size", "big"}, {"home.name", "Oslo"}}, "home.size", "id home", ""},
		{Fields{{"id", "1"}, {"age", []any{}}, {"home", []any{}}, {"towns", "x"}}, "age home towns", "id", ""},
	} {
		var left, given []string
		v, _, err := pet.BindFitting(one.in, func(e *Error) { left = append(left, e.Attribute) })
		for i, value := range v {
			if value != Absent {
				given = append(given, pet.Properties[i].Name)
			}
		}
		attribute := ""
		if e, ok := err.(*Error); ok {
			attribute = e.Attribute
		}
		if got := strings.Join(left, " "); got != one.left || strings.Join(given, " ") != one.given || attribute != one.err {
			t.Errorf("%v: left %q, given %q, error about %q; want %q, %q and %q", one.in, got, given, attribute, one.left, one.given, one.err)
		}
	}
}
