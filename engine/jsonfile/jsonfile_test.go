package jsonfile_test

import (
	"encoding/json"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
)

// document is an object with a field of each type, at the path "top" of f.json.
func document(faults *engine.Faults) jsonfile.Object {
	return jsonfile.Object{File: "f.json", Path: "top", Faults: faults, Fields: engine.Fields{
		{Name: "text", Value: "a"},
		{Name: "flag", Value: true},
		{Name: "whole", Value: json.Number("7")},
		{Name: "list", Value: []any{"x"}},
		{Name: "child", Value: engine.Fields{{Name: "inner", Value: "b"}}},
		{Name: "null", Value: nil},
	}}
}

func TestFieldsOfTheRightType(t *testing.T) {
	var faults engine.Faults
	o := document(&faults)
	if got := o.Text("text"); got != "a" {
		t.Errorf("Text: got %q, want a", got)
	}
	if !o.Flag("flag", false) {
		t.Error("Flag: got false, want true")
	}
	for _, bounds := range [][2]int64{{7, 7}, {-1, 8}} {
		if n, ok := o.Whole("whole", bounds[0], bounds[1]); n != 7 || !ok {
			t.Errorf("Whole from %d to %d: got %d, %v, want 7, true", bounds[0], bounds[1], n, ok)
		}
	}
	if got := o.List("list"); len(got) != 1 || got[0] != "x" {
		t.Errorf("List: got %v, want [x]", got)
	}
	child, ok := o.Child("child")
	if !ok || child.Text("inner") != "b" || child.At("inner") != "top.child.inner" || child.File != "f.json" {
		t.Errorf("Child: got %+v, %v, want the inner object", child, ok)
	}
	if len(faults) > 0 {
		t.Errorf("got the faults %v, want none", faults)
	}
}

// TestAbsentFields checks that a null field counts as absent, without a fault.
func TestAbsentFields(t *testing.T) {
	var faults engine.Faults
	for _, o := range []jsonfile.Object{document(&faults), {}} {
		for _, name := range []string{"null", "nowhere"} {
			if o.Value(name) != nil || o.Text(name) != "" || !o.Flag(name, true) || o.Flag(name, false) || o.List(name) != nil {
				t.Errorf("%s of %+v: got a value, want it absent", name, o)
			}
			if n, ok := o.Whole(name, -1, 1); n != 0 || ok {
				t.Errorf("%s of %+v: Whole: got %d, %v, want 0, false", name, o, n, ok)
			}
			if child, ok := o.Child(name); ok || child.Text("inner") != "" {
				t.Errorf("%s of %+v: Child: got %+v, %v, want none", name, o, child, ok)
			}
		}
	}
	if len(faults) > 0 {
		t.Errorf("got the faults %v, want none", faults)
	}
}

// TestFieldsOfAnotherType checks that every mistake is reported, and that a wrong value counts as
// absent.
func TestFieldsOfAnotherType(t *testing.T) {
	var faults engine.Faults
	o := document(&faults)
	if got := o.Text("whole"); got != "" {
		t.Errorf("Text of another type: got %q, want it empty", got)
	}
	if !o.Flag("text", true) || o.Flag("list", false) {
		t.Error("Flag of another type: got another value than the default")
	}
	if n, ok := o.Whole("whole", 8, 9); n != 0 || ok {
		t.Errorf("Whole out of bounds: got %d, %v, want 0, false", n, ok)
	}
	if n, ok := o.Whole("text", -1, 9); n != 0 || ok {
		t.Errorf("Whole of text: got %d, %v, want 0, false", n, ok)
	}
	if got := o.List("child"); got != nil {
		t.Errorf("List of another type: got %v, want nil", got)
	}
	child, ok := o.Child("flag")
	if ok || child.Fields != nil {
		t.Errorf("Child of another type: got %+v, %v, want none", child, ok)
	}
	want := `f.json: top.whole: found 7, expected text
f.json: top.text: found "a", expected true or false
f.json: top.list: found an array, expected true or false
f.json: top.whole: found 7, expected a whole number from 8 to 9
f.json: top.text: found "a", expected a whole number from -1 to 9
f.json: top.child: found an object, expected an array
f.json: top.flag: found true, expected an object`
	if got := faults.Error(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if errs, _ := faults.Split(false); len(errs) != 7 {
		t.Errorf("got %d faults, want 7", len(errs))
	}
}

func TestNamesAreWarnedOf(t *testing.T) {
	var faults engine.Faults
	o := jsonfile.Object{File: "f.json", Faults: &faults, Fields: engine.Fields{
		{Name: "name", Value: "first"}, {Name: "nmae"}, {Name: "colour"}, {Name: "name", Value: "last"},
	}}
	o.WarnRepeated()
	o.WarnUnknown([]string{"name", "type"})
	want := `f.json: name: found the name "name" again, expected each name once: only the last one counts
f.json: nmae: found unknown name "nmae", expected "name"
f.json: colour: found unknown name "colour", expected a name that has a meaning here: it is ignored`
	if got := faults.Error(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if errs, _ := faults.Split(false); len(errs) > 0 {
		t.Errorf("%v stop the start, want warnings only", errs)
	}
	if got := o.Text("name"); got != "last" {
		t.Errorf("Text = %q, want the last of two", got)
	}
}

func TestPaths(t *testing.T) {
	for _, c := range []struct{ path, name, want string }{
		{"", "a", "a"},
		{"a", "b-1_$@:/é", "a.b-1_$@:/é"},
		{"a[0]", "b", "a[0].b"},
		{"a", "", `a[""]`},
		{"", "odd name", `["odd name"]`},
		{"a", "b.c", `a["b.c"]`},
		{"a", "b[0]", `a["b[0]"]`},
	} {
		if got := jsonfile.Member(c.path, c.name); got != c.want {
			t.Errorf("Member(%q, %q) = %s, want %s", c.path, c.name, got, c.want)
		}
	}
	if got := jsonfile.Member("a", "b\nc"); strings.Contains(got, "\n") {
		t.Errorf("a path with a line break: got %q, want one line", got)
	}
	if got := jsonfile.Element("a.b", 12); got != "a.b[12]" {
		t.Errorf("Element: got %s, want a.b[12]", got)
	}
}

func TestDescribe(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{
		{nil, "null"}, {true, "true"}, {json.Number("1.50"), "1.50"}, {"a", `"a"`},
		{[]any{"a"}, "an array"}, {engine.Fields{{Name: "a"}}, "an object"},
		{json.Number(strings.Repeat("1", 41)), strings.Repeat("1", 40) + "…"},
	} {
		if got := jsonfile.Describe(c.value); got != c.want {
			t.Errorf("Describe(%v) = %s, want %s", c.value, got, c.want)
		}
	}
}

func TestChoice(t *testing.T) {
	many := strings.Split(strings.Repeat("name,", 22)+"last", ",")
	for _, c := range []struct {
		name  string
		known []string
		want  string
	}{
		{"tokne", []string{"crud", "token"}, `"token"`},
		{"colour", []string{"crud", "token"}, "one of crud, token"},
		{"colour", nil, "a known name, and there are none"},
		{"colour", many, "one of " + strings.Join(many[:20], ", ") + " and 3 more"},
	} {
		if got := jsonfile.Choice(c.name, c.known); got != c.want {
			t.Errorf("Choice(%q, %v) = %s, want %s", c.name, c.known, got, c.want)
		}
	}
}

func TestValidName(t *testing.T) {
	for _, name := range []string{"a", "_", "note", "a1_-$", "1-ref", "имя объекта", "a\u0301", strings.Repeat("я", 100)} {
		if !jsonfile.ValidName(name) {
			t.Errorf("ValidName(%q): got false, want true", name)
		}
	}
	for _, name := range []string{"", "-a", "$a", " a", "a ", "a.b", "a@b", "#a", "a#b", "a|b", "a,b", `a"b`, "a'b", "a\n", "a\tb", "\u0301a", strings.Repeat("a", 101)} {
		if jsonfile.ValidName(name) {
			t.Errorf("ValidName(%q): got true, want false", name)
		}
	}
}
