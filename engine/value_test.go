package engine

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

func property(t PropertyType) *Property { return &Property{Name: "p", Type: t} }

// TestCast: all casts are lossless. The result is given as JSON; "" means that
// the value is refused.
func TestCast(t *testing.T) {
	number := func(s string) any { return json.Number(s) }
	for _, c := range []struct {
		typ  PropertyType
		in   any
		want string
	}{
		{Int, number("12"), `12`}, {Int, "12", `12`}, {Int, number("3.0"), `3`}, {Int, number("1e3"), `1000`},
		{Int, "12abc", ``}, {Int, number("3.7"), ``}, {Int, "", ``}, {Int, true, ``}, {Int, "+5", ``},
		{Int, number("9223372036854775807"), `9223372036854775807`}, {Int, number("9223372036854775808"), ``},
		{Int, Fields{}, ``}, {Int, []any{}, ``}, {Int, float64(7), `7`}, {Int, 7.5, ``},
		{Real, number("1e-7"), `1e-7`}, {Real, "0.5", `0.5`}, {Real, number("1e400"), ``}, {Real, "Infinity", ``},
		{Real, "0x1p4", ``}, {Real, math.NaN(), ``}, {Real, number("-0"), `0`}, {Real, number("1e21"), `1e+21`},
		{DecimalNum, number("1.50"), `1.5`}, {DecimalNum, "0.10000000000000000000000000000001", `0.10000000000000000000000000000001`},
		{DecimalNum, number("-0.0"), `0`}, {DecimalNum, number("12e-3"), `0.012`}, {DecimalNum, "1.2e3", `1200`},
		{DecimalNum, "1e5000", ``}, {DecimalNum, "x", ``}, {DecimalNum, ".5", ``},
		{DateTime, "2020-01-02", `"2020-01-02T00:00:00.000Z"`}, {DateTime, "2020-01-02T03:04:05.6789Z", `"2020-01-02T03:04:05.678Z"`},
		{DateTime, "2020-01-02T03:04:05", `"2020-01-02T03:04:05.000Z"`}, {DateTime, "2020-01-02T03:04:05+03:00", `"2020-01-02T00:04:05.000Z"`},
		{DateTime, number("0"), `"1970-01-01T00:00:00.000Z"`}, {DateTime, number("-1"), `"1969-12-31T23:59:59.999Z"`},
		{DateTime, "tomorrow", ``}, {DateTime, "2020-02-30", ``}, {DateTime, "", ``}, {DateTime, "0000-01-01", `"0000-01-01T00:00:00.000Z"`},
		{DateTime, "9999-12-31T23:59:59.999Z", `"9999-12-31T23:59:59.999Z"`}, {DateTime, number("1e18"), ``},
		{Boolean, true, `true`}, {Boolean, "false", `false`}, {Boolean, number("1"), ``}, {Boolean, "yes", ``},
		{String, "x", `"x"`}, {String, number("5"), `"5"`}, {String, true, `"true"`}, {String, Fields{}, ``}, {String, []any{"x"}, ``},
		{String, "", `""`}, {String, "a\x00b", ``}, {String, "\xff", ``},
		{GUID, "anything", `"anything"`}, {GUID, strings.Repeat("x", 256), ``},
		{Reference, "x", ``},
	} {
		v, err := property(c.typ).Cast(c.in)
		got := ""
		if err == nil {
			got = string(AppendValue(nil, v))
		} else if CodeOf(err) != Invalid || err.(*Error).Attribute != "p" {
			t.Errorf("%s %v: got error %#v, want Invalid with the attribute p", c.typ, c.in, err)
		}
		if got != c.want {
			t.Errorf("%s %#v: got %q (%v), want %q", c.typ, c.in, got, err, c.want)
		}
	}
	for typ := range typeNames {
		if v, err := property(typ).Cast(nil); v != nil || err != nil {
			t.Errorf("%s: null: got %v, %v, want null", typ, v, err)
		}
	}
}

func TestInstantSizeTruncates(t *testing.T) {
	for size, want := range []string{"12:34:56.789", "12:34:56.000", "12:34:00.000", "12:00:00.000", "00:00:00.000"} {
		p := &Property{Name: "p", Type: DateTime, Size: size}
		for _, year := range []string{"2020", "1960"} {
			v, err := p.Cast(year + "-05-06T12:34:56.789Z")
			if err != nil || v.(Instant).String() != year+"-05-06T"+want+"Z" {
				t.Errorf("size %d: got %v, %v, want %s", size, v, err, want)
			}
		}
	}
}

func TestDecimalCompare(t *testing.T) {
	ordered := []Decimal{"-10", "-9.5", "-0.1", "0", "0.09", "0.1", "2", "10", "10.01", "100000000000000000000000000000000.1"}
	for i, a := range ordered {
		for j, b := range ordered {
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if got := a.Compare(b); got != want {
				t.Errorf("%s against %s: got %d, want %d", a, b, got, want)
			}
		}
	}
}

func TestAppendStringIsJSON(t *testing.T) {
	for _, s := range []string{"", "plain", "quote \" back \\ slash /", "\x00\x1f\n\r\t\b\f", "Ж 漢 😀", "\u2028", "<b>&"} {
		b := AppendString(nil, s)
		var back string
		if err := json.Unmarshal(b, &back); err != nil || back != s {
			t.Errorf("AppendString(%q): got %s, which parses as %q, %v", s, b, back, err)
		}
	}
	for c := range 256 {
		for at := range 20 {
			s := strings.Repeat("x", at) + string(rune(c)) + strings.Repeat("é", 20-at)
			var back string
			if err := json.Unmarshal(AppendString(nil, s), &back); err != nil || back != s {
				t.Fatalf("AppendString with U+%04X at %d: got %s, %v", c, at, AppendString(nil, s), err)
			}
		}
	}
	if got := string(AppendString(nil, "a\xffb")); got != "\"a\ufffdb\"" {
		t.Errorf("AppendString with invalid UTF-8: got %s", got)
	}
}

// note is the class that most tests of this package use.
func note(t testing.TB) *Class {
	t.Helper()
	c := &Class{Name: "note", Namespace: "t", Caption: "Note", Key: []string{"id"}, Semantic: "title| (|age[0,1]|) |due", Properties: []*Property{
		{Name: "id", Type: GUID, Autoassigned: true, OrderNumber: 10},
		{Name: "title", Type: String, OrderNumber: 20, Size: 5},
		{Name: "age", Type: Int, Nullable: true, OrderNumber: 40},
		{Name: "pwd", Type: Password, Nullable: true, OrderNumber: 30},
		{Name: "done", Type: Boolean, Nullable: true, OrderNumber: 50, Default: false},
		{Name: "due", Type: DateTime, Nullable: true, OrderNumber: 60},
	}}
	if err := c.Init(); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestItemJSON(t *testing.T) {
	c := note(t)
	it := &Item{Class: c, ID: "n1", Revision: 5, Creator: "a@local", Values: Values{"n1", "Tea", "secret", int64(42), false, Instant(1577934245000)}}
	want := `{"_creator":"a@local","_id":"n1","__string":"Tea (4) 02.01.2020 3:04","__class":"note@t","__classTitle":"Note",` +
		`"id":"n1","title":"Tea","age":42,"done":false,"due":"2020-01-02T03:04:05.000Z"}`
	if got := string(it.AppendJSON(nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	it.Values[5] = nil
	want = `{"_id":"n1","_class":"note@t","_classVer":"","id":"n1","title":"Tea","age":42,"done":false}`
	if got := string(it.AppendRecord(nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	it.Values[1], it.Class.semantic = "", nil
	if it.String() != "n1" {
		t.Errorf("String without a display string: got %q, want the id", it.String())
	}
	if n := testing.AllocsPerRun(100, func() { it.AppendJSON(make([]byte, 0, 512)) }); n > 1 {
		t.Errorf("AppendJSON: got %v allocations, want at most 1", n)
	}
}

func TestBindAndComplete(t *testing.T) {
	c := note(t)
	v, unknown, err := c.Bind(Fields{{"title", "x"}, {"_id", "z"}, {"color", "red"}, {"age_str", "1"}, {"age", "7"}}, Lenient)
	if err != nil || len(unknown) != 1 || unknown[0] != "color" {
		t.Fatalf("got unknown names %v, error %v, want color", unknown, err)
	}
	err = c.Complete(v, Generate{GUID: func() string { return "g" }, Now: func() Instant { return 1 }})
	if err != nil || v[0] != "g" || v[3] != int64(7) || v[4] != false || v[5] != nil {
		t.Errorf("got values %v, error %v", v, err)
	}
	for reason, in := range map[string]Fields{
		"unknown-attribute": {{"color", "red"}},
		"type":              {{"age", "x"}},
		"size":              {{"title", "longer"}},
	} {
		_, _, err := c.Bind(in, Strict)
		if e, ok := err.(*Error); !ok || e.Reason != reason || e.Class != "note@t" || e.Attribute == "" {
			t.Errorf("%s: got %#v", reason, err)
		}
	}
	v = NewValues(c)
	err = c.Complete(v, Generate{GUID: func() string { return "g" }})
	if e, ok := err.(*Error); !ok || e.Reason != "required" || e.Attribute != "title" {
		t.Errorf("missing title: got %v, want the reason required", err)
	}
}

func TestKeyParts(t *testing.T) {
	c := &Class{Name: "n", Key: []string{"a", "b"}, Properties: []*Property{{Name: "a", Type: String}, {Name: "b", Type: Int}}}
	if err := c.Init(); err != nil {
		t.Fatal(err)
	}
	if id := c.ID(Values{"x", int64(7)}); id != "x_7" {
		t.Errorf("ID: got %q, want x_7", id)
	}
	if v, ok := c.KeyParts("x_7"); !ok || v[0] != "x" || v[1] != int64(7) {
		t.Errorf("KeyParts(x_7): got %v, want x and 7", v)
	}
	for _, id := range []string{"", "x", "x_y", "x_07", "_"} {
		if v, ok := c.KeyParts(id); ok {
			t.Errorf("KeyParts(%q): got %v, want no values", id, v)
		}
	}
}
