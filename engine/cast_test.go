package engine

import (
	"encoding/json"
	"io"
	"math"
	"strings"
	"testing"
)

// decoded returns JSON as package wire decodes it.
func decoded(t testing.TB, text string) any {
	t.Helper()
	if text == "null" {
		return nil
	}
	v := JSONText(text).Decode()
	if v == nil {
		t.Fatalf("%s is not valid JSON", text)
	}
	return v
}

// TestCastJSON lists input for the types that are stored as JSON. "" means that
// the value is refused, "=" that it is stored as it was sent.
func TestCastJSON(t *testing.T) {
	feature := `{"type":"Feature","properties":{},"options":{"fill":"#00f"},"geometry":{"type":"Point","coordinates":[135.07263111814402,48.50,1e1]}}`
	ring := `[[0,0],[1,0],[1,1],[0,0.0]]`
	for _, c := range []struct {
		typ      PropertyType
		in, want string
	}{
		{Set, `[3,1,2]`, `=`}, {Set, `[]`, `=`}, {Set, `["4",5.0]`, `[4,5]`}, {Set, `7`, `[7]`}, {Set, `"[1,2]"`, `[1,2]`},
		{Set, `[9223372036854775807]`, `=`}, {Set, `[9223372036854775808]`, ``}, {Set, `[1,null]`, ``}, {Set, `["x"]`, ``},
		{Set, `[1.5]`, ``}, {Set, `{}`, ``}, {Set, `[[1]]`, ``}, {Set, `"x"`, ``}, {Set, `true`, ``},

		{Custom, `{"b":1,"a":[1.50,"x",null,true]}`, `=`}, {Custom, `"text"`, `=`}, {Custom, `"[1]"`, `=`}, {Custom, `12345678901234567890.10`, `=`},
		{Custom, `false`, `=`}, {Custom, strings.Repeat(`[`, 60) + strings.Repeat(`]`, 60), `=`},

		{Period, `["2016-09-26T14:00:00.000Z","2016-10-26T14:00:00.000Z"]`, `=`}, {Period, `["2020-01-01","2020-01-01"]`, `["2020-01-01T00:00:00.000Z","2020-01-01T00:00:00.000Z"]`},
		{Period, `[null,"2020-01-01T00:00:00+01:00"]`, `[null,"2019-12-31T23:00:00.000Z"]`}, {Period, `[null,null]`, `=`},
		{Period, `["2020-01-02","2020-01-01"]`, ``}, {Period, `["2020-01-02"]`, ``}, {Period, `["a","b"]`, ``}, {Period, `[1,2,3]`, ``}, {Period, `"2020-01-01"`, ``}, {Period, `{}`, ``},

		{Schedule, `{"description":"d","item":"i","occurs":[{"year":2}],"skipped":[{"month":2,"weekday":6},{"day":7}],"color":1}`, `=`},
		{Schedule, `[]`, `=`}, {Schedule, `[{"description":"a"},{"occurs":[]}]`, `=`}, {Schedule, `{}`, `=`},
		{Schedule, `{"occurs":{}}`, ``}, {Schedule, `{"occurs":[1]}`, ``}, {Schedule, `{"occurs":[{"year":"often"}]}`, ``},
		{Schedule, `{"description":1}`, ``}, {Schedule, `"daily"`, ``}, {Schedule, `[1]`, ``},

		{Geo, feature, `=`}, {Geo, `{"type":"FeatureCollection","features":[` + feature + `]}`, `=`}, {Geo, `{"type":"FeatureCollection","features":[]}`, `=`},
		{Geo, `{"type":"Point","coordinates":[-122.4,37]}`, `=`}, {Geo, `{"type":"MultiPoint","coordinates":[[1,2],[3,4]]}`, `=`},
		{Geo, `{"type":"LineString","coordinates":[[1,2],[3,4]]}`, `=`}, {Geo, `{"type":"MultiLineString","coordinates":[[[1,2],[3,4]]]}`, `=`},
		{Geo, `{"type":"Polygon","coordinates":[` + ring + `]}`, `=`}, {Geo, `{"type":"MultiPolygon","coordinates":[[` + ring + `]]}`, `=`},
		{Geo, `{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[1,2]}],"bbox":[0,0,1,1]}`, `=`},
		{Geo, `{"type":"Feature","geometry":null,"properties":null}`, `=`},
		{Geo, `{"type":"Point","coordinates":[1]}`, ``}, {Geo, `{"type":"Point","coordinates":["1","2"]}`, ``}, {Geo, `{"type":"Point"}`, ``},
		{Geo, `{"type":"LineString","coordinates":[[1,2]]}`, ``}, {Geo, `{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1]]]}`, ``},
		{Geo, `{"type":"Polygon","coordinates":[[[0,0],[0,0]]]}`, `=`}, {Geo, `{"type":"Polygon","coordinates":[[[0,0]]]}`, ``}, {Geo, `{"type":"Circle","coordinates":[1,2]}`, ``},
		{Geo, `{"type":"Feature","properties":{}}`, ``}, {Geo, `{"type":"Feature","geometry":{"type":"Feature","geometry":null}}`, ``},
		{Geo, `{"type":"FeatureCollection","features":[{"type":"Point","coordinates":[1,2]}]}`, ``}, {Geo, `{"coordinates":[1,2]}`, ``},
		{Geo, `{"type":"Point","coordinates":[1,2],"bbox":[1]}`, ``}, {Geo, `[1,2]`, ``}, {Geo, `"here"`, ``},
	} {
		v, err := property(c.typ).Cast(decoded(t, c.in))
		got := ""
		if err == nil {
			got = string(AppendValue(nil, v))
		} else if e := err.(*Error); e.Code != Invalid || e.Reason != "type" || e.Attribute != "p" || !strings.Contains(e.Message, "("+c.typ.String()+")") {
			t.Errorf("%s %s: error %v does not name attribute and type", c.typ, c.in, err)
		}
		if want := strings.Replace(c.want, "=", c.in, 1); got != want {
			t.Errorf("%s %s:\ngot  %q (%v)\nwant %q", c.typ, c.in, got, err, want)
		}
		if err == nil {
			if again, err := property(c.typ).Cast(v); err != nil || again != v {
				t.Errorf("%s %s: casting again: got %v, %v, want the same value", c.typ, c.in, again, err)
			}
		}
	}
}

func TestCastJSONRefusesWhatJSONHasNot(t *testing.T) {
	deep := any(true)
	for range maxJSONDepth + 2 {
		deep = []any{deep}
	}
	for _, v := range []any{math.NaN(), math.Inf(1), []any{Fields{{"a", "\xff"}}}, Fields{{"\xff", 1.0}}, &Item{}, deep, make(chan int), strings.Repeat("x", maxJSONText)} {
		if got, err := property(Custom).Cast(v); err == nil || CodeOf(err) != Invalid {
			t.Errorf("%T: got %v, want Invalid", v, got)
		}
	}
}

func TestDecodeKeepsOrderAndNumbers(t *testing.T) {
	for _, s := range []string{`{"b":1.50,"a":{"z":[],"y":{}},"b":2}`, `[1e400,"\u0000x"]`, `"x"`, `true`} {
		if got := string(AppendValue(nil, JSONText(s).Decode())); got != s {
			t.Errorf("Decode: got %s, want %s", got, s)
		}
	}
	for _, s := range []string{``, `{`, `[1`, `1 2`, strings.Repeat("[", 100) + strings.Repeat("]", 100)} {
		if v := JSONText(s).Decode(); v != nil {
			t.Errorf("Decode(%s): got %v, want nil", s, v)
		}
	}
}

// towns returns classes that refer to each other: towns with streets (a back
// reference), districts (n:m), a country with a composite key, and a mayor.
func towns(t testing.TB) (town, street, mayor *Class) {
	t.Helper()
	named := func(name string, key []string, properties ...*Property) *Class {
		c := &Class{Name: name, Namespace: "t", Caption: name, Version: "1", Key: key, Properties: properties}
		for i, p := range properties {
			p.OrderNumber, p.Definition = i, c.FullName
		}
		return c
	}
	mayor = named("mayor", []string{"id"}, &Property{Name: "id", Type: Int}, &Property{Name: "name", Type: String, Nullable: true, Size: 8})
	mayor.Semantic = "name"
	country := named("country", []string{"a", "b"}, &Property{Name: "a", Type: String}, &Property{Name: "b", Type: Int})
	street = named("street", []string{"id"}, &Property{Name: "id", Type: GUID, Autoassigned: true}, &Property{Name: "name", Type: String, Nullable: true})
	street.Semantic = "name"
	town = named("town", []string{"id"}, &Property{Name: "id", Type: GUID, Autoassigned: true}, &Property{Name: "name", Type: String, Nullable: true})
	town.Semantic = "name"
	parts := []*Property{
		{Name: "mayor", Type: Reference, Target: mayor}, {Name: "country", Type: Reference, Target: country},
		{Name: "streets", Type: Collection, Target: street}, {Name: "twins", Type: Collection, Target: town},
		{Name: "rank", Type: Int, Selection: &Selection{Rows: []SelectionRow{{Values: []SelectionValue{{json.Number("1"), "first"}, {"2", "second"}}}}}},
		{Name: "plan", Type: File}, {Name: "papers", Type: FileList},
		{Name: "post$zip", Type: String}, {Name: "post$box$no", Type: Int}, {Name: "post$holder", Type: Reference, Target: mayor},
		{Name: "sum", Type: Int, Formula: fixed{int64(3)}},
		{Name: "first", Type: Reference, Target: street, Formula: fixed{nil}},
	}
	for _, p := range parts {
		p.Nullable, p.OrderNumber = true, len(town.Properties)
		town.Properties = append(town.Properties, p)
	}
	back := &Property{Name: "town", Type: Reference, Target: town, Nullable: true, OrderNumber: 9}
	street.Properties = append(street.Properties, back)
	parts[2].Back = back
	capital := &Property{Name: "capital", Type: Reference, Target: town, Back: parts[1], Nullable: true, OrderNumber: 9}
	country.Properties = append(country.Properties, capital)
	city := named("city", []string{"id"})
	for _, p := range town.Properties {
		inherited := *p
		city.Properties = append(city.Properties, &inherited)
	}
	city.Properties = append(city.Properties, &Property{Name: "metro", Type: Boolean, Nullable: true, OrderNumber: 99})
	city.Semantic, city.Ancestor, town.Descendants = town.Semantic, town, []*Class{city}
	all := []*Class{mayor, country, street, town, city}
	for _, c := range all {
		if err := c.Init(); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range all {
		c.Link()
	}
	return town, street, mayor
}

func TestCastReference(t *testing.T) {
	town, street, mayor := towns(t)
	for _, c := range []struct {
		p    *Property
		in   any
		want any // nil if the value is refused
	}{
		{town.Property("mayor"), json.Number("5"), int64(5)}, {town.Property("mayor"), "5", int64(5)}, {town.Property("mayor"), "five", nil},
		{town.Property("mayor"), &Item{Class: mayor, ID: "7"}, int64(7)}, {town.Property("mayor"), Fields{}, nil}, {town.Property("mayor"), []any{"5"}, nil},
		{town.Property("country"), "p_7", "p_7"}, {street.Property("town"), json.Number("12"), "12"}, {street.Property("town"), "t1", "t1"},
	} {
		got, err := c.p.Cast(c.in)
		if got != c.want || (err == nil) != (c.want != nil) {
			t.Errorf("%s %v: got %#v, %v, want %#v", c.p.Name, c.in, got, err, c.want)
		}
	}
	if v, err := town.Property("mayor").Cast(""); v != nil || err != nil {
		t.Errorf("empty text for a reference: got %v, %v, want null", v, err)
	}
}

func TestBindLinks(t *testing.T) {
	town, _, _ := towns(t)
	p := town.Property("twins")
	if v, err := p.Cast([]any{"a"}); err == nil || CodeOf(err) != Invalid {
		t.Errorf("an array for a collection in a filter: got %v, want Invalid", v)
	}
	for in, want := range map[string]string{
		`["a",5,"a"]`:                            `replace [a 5] []`,
		`[]`:                                     `replace [] []`,
		`{"add":["a"],"remove":["b",{"_id":3}]}`: `change [a] [b 3]`,
		`{"remove":null}`:                        `change [] []`,
		`"[\"a\"]"`:                              `replace [a] []`,
		`"a"`:                                    ``, `{"put":["a"]}`: ``, `[null]`: ``, `[[1]]`: ``, `[{}]`: `replace [town{}] []`, `{"add":"a"}`: ``, `7`: ``, `{"remove":[{}]}`: ``,
	} {
		v, _, err := town.Bind(Fields{{"twins", decoded(t, in)}}, Lenient)
		got := ""
		if err == nil {
			got = showLinks(v[p.Index].(*Links))
		} else if CodeOf(err) != Invalid || err.(*Error).Attribute != "twins" {
			t.Errorf("%s: got %#v, want Invalid with the attribute twins", in, err)
		}
		if got != want {
			t.Errorf("%s: got %q (%v), want %q", in, got, err, want)
		}
	}
}

func TestBindFile(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`"aGVsbG8="`, `content hello`}, {`"data:text/plain;base64,aGVsbG8="`, `content hello type text/plain`},
		{`{"name":"a.txt","mime":"text/plain","body":"aGVsbG8="}`, `content hello name a.txt type text/plain`},
		{`{"name":"e","mimeType":"x/y","body":""}`, `content  name e type x/y`},
		{`{"id":"cjx1","name":"a","link":"/files/cjx1","options":{},"size":5}`, `file cjx1 name a`}, {`"cjx1abcdefabcdefabcdefabcd"`, `file cjx1abcdefabcdefabcdefabcd`},
		{`{"path":"/etc/passwd"}`, ``}, {`{"name":"x"}`, ``}, {`{"body":"%"}`, ``}, {`{"body":5}`, ``}, {`5`, ``}, {`["aGVsbG8="]`, ``}, {`"data:text/plain,hello"`, ``},
		{`"` + strings.Repeat("x", 301) + `"`, ``},
	} {
		v, err := property(File).castInput(decoded(t, c.in))
		got := ""
		if err == nil {
			got = showUpload(t, v.(*Upload))
		} else if CodeOf(err) != Invalid || strings.Contains(err.Error(), "passwd") {
			t.Errorf("%s: got %v, want Invalid", c.in, err)
		}
		if got != c.want {
			t.Errorf("%s: got %q (%v), want %q", c.in, got, err, c.want)
		}
	}
	v, err := property(FileList).castInput(decoded(t, `["aGVsbG8=",{"id":"x1"}]`))
	list, _ := v.([]*Upload)
	if err != nil || len(list) != 2 || showUpload(t, list[0]) != "content hello" || showUpload(t, list[1]) != "file x1" {
		t.Errorf("list: got %v, %v, want two uploads", v, err)
	}
	if v, err := property(File).Cast("x1"); err == nil || CodeOf(err) != Invalid {
		t.Errorf("text for a file in a filter: got %v, want Invalid", v)
	}
	if v, err := property(Image).castInput(""); v != nil || err != nil {
		t.Errorf("empty text for a file: got %v, %v, want null", v, err)
	}
}

func showUpload(t *testing.T, u *Upload) string {
	s := "file " + u.File.ID
	if u.Content != nil {
		content, err := io.ReadAll(u.Content)
		if err != nil {
			t.Fatal(err)
		}
		s = "content " + string(content)
	}
	if u.File.Name != "" {
		s += " name " + u.File.Name
	}
	if u.File.MimeType != "" {
		s += " type " + u.File.MimeType
	}
	return s
}
