package jsonfile_test

import (
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
)

// TestDecodeYAML checks that YAML is decoded like the equivalent JSON, and that numbers keep all
// digits.
func TestDecodeYAML(t *testing.T) {
	for in, want := range map[string]string{
		"":                                  `null`,
		"a: 1\nb: [x, 'y', \"z\"]":          `{"a":1,"b":["x","y","z"]}`,
		"z: null\na: ~\nm:":                 `{"z":null,"a":null,"m":null}`,
		"t: true\nf: False\nyes: yes":       `{"t":true,"f":false,"yes":"yes"}`,
		"h: 0x1F\no: 0o17\nn: -5\np: +7":    `{"h":31,"o":15,"n":-5,"p":7}`,
		"d: 0.10000000000000000000001":      `{"d":0.10000000000000000000001}`,
		"e: 1.5e3\nq: .5":                   `{"e":1500,"q":0.5}`,
		"at: 2020-01-02\ns: '5'":            `{"at":"2020-01-02","s":"5"}`,
		"t: |\n  two\n  lines\n":            `{"t":"two\nlines\n"}`,
		"- {a: 1}\n- []\n- {}":              `[{"a":1},[],{}]`,
		"b: &x {k: 1, l: 2}\na: *x":         `{"b":{"k":1,"l":2},"a":{"k":1,"l":2}}`,
		"b: &x {k: 1}\na: {<<: *x, l: 2}":   `{"b":{"k":1},"a":{"l":2,"k":1}}`,
		"b: &x {k: 1}\na: {k: 3, <<: [*x]}": `{"b":{"k":1},"a":{"k":3}}`,
		"big: 99999999999999999999":         `{"big":99999999999999999999}`,
		"12: numbers are names too":         `{"12":"numbers are names too"}`,
	} {
		v, _, err := jsonfile.DecodeYAML([]byte(in))
		if got := ""; err == nil {
			if got = string(engine.AppendValue(nil, v)); got != want {
				t.Errorf("%q\ngot  %s\nwant %s", in, got, want)
			}
		} else {
			t.Errorf("%q: %v", in, err)
		}
	}
}

func TestDecodeYAMLRefuses(t *testing.T) {
	for in, want := range map[string]string{
		"a: [1":              "line 2, column 1: did not find expected ',' or ']'",
		"a: 1\n b: 2\n  - c": "line 2",
		"a: 1\nb: .inf":      `line 2, column 4: ".inf" is no finite number`,
		"a: .nan":            "is no finite number",
		"a: !!binary aGk=":   "line 1, column 4",
		"? [a, b]\n: 1":      "line 1, column 3: a name that is no text",
		"a: {<<: 5}":         "line 1",
		strings.Repeat("[", 200) + strings.Repeat("]", 200): "more than 100 levels",
	} {
		_, _, err := jsonfile.DecodeYAML([]byte(in))
		if err == nil || !strings.Contains(err.Error(), want) || engine.CodeOf(err) != engine.Invalid {
			t.Errorf("%.40q: got %v, want %s", in, err, want)
		}
	}
}

// TestDecodeYAMLIsBounded checks a document with ten levels of anchors, each of which refers ten
// times to the level below. Such a document must not be expanded.
func TestDecodeYAMLIsBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("a0: &a0 x\n")
	for i := 1; i < 10; i++ {
		last := "*a" + string(rune('0'+i-1))
		b.WriteString("a" + string(rune('0'+i)) + ": &a" + string(rune('0'+i)) + " [" + strings.Repeat(last+", ", 9) + last + "]\n")
	}
	if v, _, err := jsonfile.DecodeYAML([]byte(b.String())); err == nil {
		t.Errorf("a document of 10 billion values: got %T, want an error", v)
	}
	if _, _, err := jsonfile.DecodeYAML([]byte("a: &x [*x]")); err == nil {
		t.Error("a value that contains itself: got no error, want one")
	}
}

func TestPlaces(t *testing.T) {
	_, places, err := jsonfile.DecodeYAML([]byte("name: a\nproperties:\n  - name: id\n    type: guid\n"))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]jsonfile.Place{
		"":                      {Line: 1, Column: 1},
		"properties[0].type":    {Line: 4, Column: 5},
		"properties[0].missing": {Line: 3, Column: 5},
		"properties[7]":         {Line: 2, Column: 1},
	} {
		if got := places.Of(path); got != want {
			t.Errorf("%q stands at %v, want %v", path, got, want)
		}
	}
}

func FuzzDecodeYAML(f *testing.F) {
	for _, s := range []string{"a: 1", "- &x [*x]", "<<: {a: 1}", "? {}\n: 1", "a: !!float 1", "\x00", "a: 0b101\nb: 1_000"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if v, _, err := jsonfile.DecodeYAML([]byte(s)); err == nil {
			engine.AppendValue(nil, v)
		} else if engine.CodeOf(err) != engine.Invalid {
			t.Errorf("%q: got %v, want Invalid", s, err)
		}
	})
}
