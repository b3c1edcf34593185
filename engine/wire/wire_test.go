package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"restsrv/engine"
)

func TestDecodeKeepsOrderAndNumbers(t *testing.T) {
	const src = `{"b":12345678901234567890.10,"a":[null,true,false,"\u0416 \"x\""],"b":{}}`
	v, err := Decode([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"b":12345678901234567890.10,"a":[null,true,false,"Ж \"x\""],"b":{}}`
	if got := string(engine.AppendValue(nil, v)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestDecodeByteOrderMark(t *testing.T) {
	v, err := Decode([]byte("\ufeff{\"a\":\"\ufeff\"}"))
	if got := string(engine.AppendValue(nil, v)); err != nil || got != "{\"a\":\"\ufeff\"}" {
		t.Errorf("got %q, %v", got, err)
	}
	for src, want := range map[string]string{
		"\ufeff":          "line 1, column 1: the text ends too early",
		"\ufeff{\"a\" 1}": "line 1, column 6",
		"\ufeff\ufeff{}":  "line 1, column 1",
		"{}\ufeff":        "line 1, column 3",
	} {
		if _, err := Decode([]byte(src)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", src, err, want)
		}
	}
}

// TestDecodeNeighbours decodes objects with the same names as the previous object, and with other
// names.
func TestDecodeNeighbours(t *testing.T) {
	const src = `[{"a":1,"b":"\u0062"},{"a":"a","b":2},{"b":3,"a":4},{},{"a":5},{"a":6,"a":7,"\u0061":{"a":8,"b":9},"c":[{"a":10}]},{"a":11,"a":[],"c":"\"\\"}]`
	v, err := Decode([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"a":1,"b":"b"},{"a":"a","b":2},{"b":3,"a":4},{},{"a":5},{"a":6,"a":7,"a":{"a":8,"b":9},"c":[{"a":10}]},{"a":11,"a":[],"c":"\"\\"}]`
	if got := string(engine.AppendValue(nil, v)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for src, want := range map[string]string{
		``:                          "line 1, column 1: the text ends too early",
		`{"a":1`:                    "the text ends too early",
		"{\n  \"a\": x}":            "line 2, column 8",
		`{"a":1} 2`:                 "there is more after the value",
		`{"a":"` + "\xff" + `"}`:    "UTF-8",
		strings.Repeat("[", 100000): "nested deeper than 512 levels",
		`[1,]`:                      "line 1, column 3",
		`{"a" 1}`:                   "line 1, column 6",
		`nul`:                       "line 1",
		`{1:2}`:                     "line 1, column 2",
		`{{}:2}`:                    "line 1, column 2",
		`[{"a":1},{[]:1}]`:          "line 1, column 11",
	} {
		_, err := Decode([]byte(src))
		if err == nil {
			t.Errorf("%.20q was accepted", src)
			continue
		}
		if engine.CodeOf(err) != engine.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: got %q, want it to contain %q", src, err, want)
		}
	}
}

// FuzzDecode compares Decode with encoding/json: if both accept a text, the
// values are equal.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e3,-0]}`, `"\ud83d\ude00"`, `[[[]]]`, `{"a":1,"a":2}`, `1e999`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := Decode(data)
		var std any
		stdErr := json.Unmarshal(bytes.TrimPrefix(data, []byte("\ufeff")), &std)
		if err != nil {
			return // stricter than encoding/json: UTF-8, surrogates, depth
		}
		if stdErr != nil && !strings.Contains(stdErr.Error(), "number") {
			t.Fatalf("accepted %q, encoding/json: %v", data, stdErr)
		}
		again, err := Decode(engine.AppendValue(nil, v))
		if err != nil {
			t.Fatalf("%q does not read back: %v", data, err)
		}
		if a, b := string(engine.AppendValue(nil, v)), string(engine.AppendValue(nil, again)); a != b {
			t.Fatalf("%q reads back as %q", a, b)
		}
	})
}

func BenchmarkDecodeRecords(b *testing.B) {
	record := `{"_id":"00000000-0000-4000-8000-000000000001","_class":"note@bench","_classVer":null,"title":"Title 17","group":"group-17","body":"Came by post, was read on the same day and is now waiting."}`
	data := []byte("[" + strings.Repeat(record+",", 999) + record + "]")
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(data); err != nil {
			b.Fatal(err)
		}
	}
}

// TestLongNumbers checks that a number of engine.MaxNumber characters is read, and that a longer
// number is refused with an error that contains the position and the length of the number.
func TestLongNumbers(t *testing.T) {
	for _, form := range []string{"%s", "[1,\n %s]", `{"a":{"b":%s}}`, "[-%s]", "[0.%s]", "[%se5]"} {
		for _, n := range []int{1000, engine.MaxNumber + 1, 1 << 20} {
			text := strings.Replace(form, "%s", strings.Repeat("7", n), 1)
			v, err := Decode([]byte(text))
			_, streamed := NewElements(strings.NewReader(text)).Next()
			if n <= engine.MaxNumber {
				if err != nil || streamed != nil && form != "[1,\n %s]" {
					t.Errorf("%s with %d digits: got %v and %v, want no error", form, n, err, streamed)
				}
				continue
			}
			if err == nil || !strings.Contains(err.Error(), "a number has at most 2100 characters, found ") || !strings.Contains(err.Error(), "at line ") || !strings.HasPrefix(form, "%") && strings.Contains(err.Error(), "column 1:") {
				t.Errorf("%s with %d digits: got %.60v and error %v, want one with limit, length and place", form, n, v, err)
			}
		}
	}
}

// TestManyMembers checks that an object of MaxMembers members is read, and that an object with
// one more member is refused as too large.
func TestManyMembers(t *testing.T) {
	object := func(n int) string { return "{" + strings.Repeat(`"a":1,`, n-1) + `"a":1}` }
	for _, around := range []string{"%s", "[1,%s]", `{"a":%s}`, "[%[1]s,%[1]s]"} {
		if _, err := Decode(fmt.Appendf(nil, around, object(MaxMembers))); err != nil {
			t.Errorf("%s: got error %v for %d members, want none", around, err, MaxMembers)
		}
		_, err := Decode(fmt.Appendf(nil, around, object(MaxMembers+1)))
		if engine.CodeOf(err) != engine.TooLarge || !strings.Contains(err.Error(), "more than 100000 members") {
			t.Errorf("%s: got error %v for %d members, want one that names the limit", around, err, MaxMembers+1)
		}
	}
}

// TestManyValues checks that a text of MaxValues values is read, and that a text with one more
// value is refused as too large. The values are in one value or in the elements of an array.
func TestManyValues(t *testing.T) {
	some := "[" + strings.Repeat("1,", MaxValues-2) + "1]"
	if _, err := Decode([]byte(some)); err != nil {
		t.Errorf("%d values: got error %v, want none", MaxValues, err)
	}
	for _, text := range []string{"[" + strings.Repeat("1,", MaxValues) + "1]", "[" + strings.Repeat("[1],", MaxValues/2) + "1]", "[" + strings.Repeat(`{"a":{}},`, MaxValues/2) + "1]"} {
		_, err := Decode([]byte(text))
		e := NewElements(strings.NewReader(text))
		var streamed error
		for streamed == nil {
			_, streamed = e.Next()
		}
		for _, err := range []error{err, streamed} {
			if engine.CodeOf(err) != engine.TooLarge || !strings.Contains(err.Error(), "more than 1000000 values") {
				t.Errorf("%.10s: got error %v, want one that the JSON has too many values", text, err)
			}
		}
	}
}
