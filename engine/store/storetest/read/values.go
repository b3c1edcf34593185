package read

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/store/storetest"
)

var valueTests = []storetest.Test{
	{Name: "round trip", Run: roundTrip},
	{Name: "composite key", Run: compositeKey},
	{Name: "keys of every type", Run: typedKeys},
	{Name: "decimals compare as numbers", Run: decimalOrder},
	{Name: "references have the type of the key", Run: typedReferences},
	{Name: "JSON of every type", Run: jsonOfEveryType},
	{Name: "values of every type are changed", Run: changedValues},
	{Name: "names that need quoting", Run: oddNames},
	{Name: "texts next to each other", Run: textNeighbours},
	{Name: "very many properties", Run: manyProperties},
	{Name: "texts in indexes", Run: indexedTexts},
	{Name: "long names", Run: longNames},
}

var sortedValues = map[engine.PropertyType][]any{
	engine.String:     {"", "A", "a", "a\u00e4", "b", "b\r\nc\t\"'\\", "\u2028", "\U0001f600"},
	engine.Text:       {"", strings.Repeat("x", 1<<16)},
	engine.HTML:       {"<b>&amp;</b>"},
	engine.URL:        {"https://example.org/?a=b&c=%20"},
	engine.GUID:       {strings.Repeat("g", engine.MaxGUID)},
	engine.User:       {"admin@local"},
	engine.Int:        {int64(math.MinInt64), int64(-1), int64(0), int64(1), int64(1<<53 + 1), int64(math.MaxInt64)},
	engine.Real:       {-math.MaxFloat64, -1e-7, 0.0, math.SmallestNonzeroFloat64, 1e-7, 0.1, 1.0, 3.0, math.MaxFloat64},
	engine.DateTime:   {engine.Instant(-62167219200000), engine.Instant(-1), engine.Instant(0), engine.Instant(1), engine.Instant(253402300799999)},
	engine.Boolean:    {false, true},
	engine.Set:        jsonTexts(`[-1,9223372036854775807]`, `[10]`, `[9]`, `[]`),
	engine.Custom:     jsonTexts(`"A"`, `"\u0000\ud83d\ude00"`, `"a"`, `1.50`, `12345678901234567890.10`, `[]`, `true`, `{"b":1,"a":{"b":[null]}}`, "{\"\u00e4\":\"\U0001f600\"}"),
	engine.Period:     jsonTexts(`["2016-09-26T14:00:00.000Z","2016-10-26T14:00:00.000Z"]`, `["2016-09-26T14:00:00.000Z",null]`, `[null,null]`),
	engine.Geo:        jsonTexts(`{"type":"Feature","options":{"weight":3},"geometry":null}`, `{"type":"Point","coordinates":[135.07263111814402,48.50]}`),
	engine.Schedule:   jsonTexts(`[]`, `{"description":"`+strings.Repeat("x", 1<<16)+`","occurs":[{"year":2}],"skipped":[]}`, `{}`),
	engine.File:       jsonTexts(`{"id":"a","name":"a.txt","mimeType":"text/plain","size":5,"hash":"h"}`, `{"id":"b","size":0,"hash":"h"}`),
	engine.Image:      jsonTexts(`{"id":"a","name":"a.png","size":5,"hash":"h"}`),
	engine.FileList:   jsonTexts(`[]`, `[{"id":"a","size":5,"hash":"h"},{"id":"b","size":5,"hash":"h"}]`),
	engine.DecimalNum: decimals("-123456789012345678901234567890.5", "-10", "-9.99", "-9", "-0.5", "-0.05", "0", "0.000000000000000000000000000001", "0.1", "1", "9", "10", "10.5", "123456789012345678901234567890", "123456789012345678901234567890.0000000001"),
}

func decimals(texts ...string) []any {
	var list []any
	for _, s := range texts {
		list = append(list, engine.Decimal(s))
	}
	return list
}

// jsonTexts returns values of a type that is stored as JSON. The texts should be sorted by their bytes.
func jsonTexts(texts ...string) []any {
	var list []any
	for _, s := range texts {
		list = append(list, engine.JSONText(s))
	}
	return list
}

// roundTrip stores values of each type, reads them with Get and List, and sorts by them.
func roundTrip(t *testing.T, open storetest.Open) {
	for typ, list := range sortedValues {
		t.Run(typ.String(), func(t *testing.T) {
			c := storetest.NewClass("typed", storetest.Prop("id", engine.Int), storetest.Prop("v", typ, storetest.Indexed))
			r := open(t, []*engine.Class{c})
			want := []string{"0"} // null comes first
			storetest.Create(t, r, c, "id", int64(0))
			for i := range list { // in reverse order, so that the list should be sorted
				at := len(list) - 1 - i
				it := storetest.Create(t, r, c, "id", int64(at+1), "v", list[at])
				storetest.CheckSame(t, "created", it.Values[1], list[at])
			}
			for i, v := range list {
				id := fmt.Sprint(i + 1)
				want = append(want, id)
				storetest.CheckSame(t, "got", storetest.Get(t, r, c, id).Values[1], v)
			}
			q := storetest.All(c)
			q.Sort = []engine.Sort{{Property: c.Property("v")}}
			storetest.CheckSame(t, "order", storetest.ListIDs(t, r, q), want)
			err := r.List(t.Context(), q, func(it *engine.Item) error {
				if n := it.Values[0].(int64); n > 0 {
					storetest.CheckSame(t, "listed", it.Values[1], list[n-1])
				} else {
					storetest.CheckSame(t, "listed", it.Values[1], nil)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

func compositeKey(t *testing.T, open storetest.Open) {
	c := &engine.Class{Name: "place", Namespace: "test", Key: []string{"row", "seat"}, Properties: []*engine.Property{
		{Name: "row", Type: engine.Int}, {Name: "seat", Type: engine.String}, {Name: "who", Type: engine.String, Nullable: true, OrderNumber: 1},
	}}
	if err := c.Init(); err != nil {
		t.Fatal(err)
	}
	r := open(t, []*engine.Class{c})
	it := storetest.Create(t, r, c, "row", int64(3), "seat", "a_b", "who", "x")
	storetest.CheckSame(t, "id", it.ID, "3_a_b")
	storetest.Create(t, r, c, "row", int64(3), "seat", "c")
	storetest.CheckSame(t, "value", storetest.Get(t, r, c, "3_a_b").Get("who"), "x")
	_, err := r.Create(t.Context(), c, storetest.NewValues(c, "row", int64(3), "seat", "c"), engine.WriteOptions{})
	storetest.CheckError(t, err, engine.Invalid, "duplicate")
	_, err = r.Get(t.Context(), c, "3")
	storetest.CheckError(t, err, engine.NotFound, "unknown-object")
	saved, err := r.Save(t.Context(), []engine.Record{storetest.NewRecord(c, "3_c", "who", "y"), storetest.NewRecord(c, "", "row", int64(3), "seat", "a_b", "who", "z"), storetest.NewRecord(c, "4_d")})
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "saved", []string{saved[0].ID, saved[1].ID, saved[2].ID}, []string{"3_c", "3_a_b", "4_d"})
	storetest.CheckSame(t, "rows", storetest.Count(t, r, c), int64(3))
	if err := r.Delete(t.Context(), c, "3_c", nil); err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "rows", storetest.Count(t, r, c), int64(2))
}

func typedKeys(t *testing.T, open storetest.Open) {
	for typ, list := range sortedValues {
		if typ == engine.Boolean || !typ.Scalar() {
			continue
		}
		t.Run(typ.String(), func(t *testing.T) {
			c := storetest.NewClass("keyed", storetest.Prop("key", typ), storetest.Prop("n", engine.Int))
			r := open(t, []*engine.Class{c})
			for i, v := range list {
				if text, ok := v.(string); ok && (text == "" || len(text) > storetest.MaxIndexed) {
					continue // such values are not valid as keys
				}
				it := storetest.Create(t, r, c, "key", v, "n", int64(i))
				storetest.CheckSame(t, "n", storetest.Get(t, r, c, it.ID).Get("n"), int64(i))
				saved, err := r.Save(t.Context(), []engine.Record{storetest.NewRecord(c, it.ID, "n", int64(-i))})
				if err != nil {
					t.Fatal(err)
				}
				storetest.CheckSame(t, "saved", []any{saved[0].ID, saved[0].Get("n")}, []any{it.ID, int64(-i)})
			}
		})
	}
}

func decimalOrder(t *testing.T, open storetest.Open) {
	c := storetest.NewClass("price", storetest.Prop("id", engine.String), storetest.Prop("v", engine.DecimalNum, storetest.Unique))
	r := open(t, []*engine.Class{c})
	storetest.Create(t, r, c, "id", "a", "v", engine.Decimal("9"))
	storetest.Create(t, r, c, "id", "b", "v", engine.Decimal("10"))
	storetest.Create(t, r, c, "id", "c", "v", engine.Decimal("-1.5"))
	for filter, want := range map[engine.Op][]string{engine.OpGt: {"b"}, engine.OpGte: {"a", "b"}, engine.OpLt: {"c"}, engine.OpEq: {"a"}} {
		q := storetest.All(c)
		q.Filter = storetest.Compare(filter, c.Property("v"), engine.Decimal("9"))
		storetest.CheckSame(t, string(filter), storetest.ListIDs(t, r, q), want)
	}
	_, err := r.Create(t.Context(), c, storetest.NewValues(c, "id", "d", "v", engine.Decimal("10")), engine.WriteOptions{})
	storetest.CheckError(t, err, engine.Invalid, "duplicate")
}

func oddNames(t *testing.T, open storetest.Open) {
	c := storetest.NewClass(`odd "name'`, storetest.Prop(`k"e'y`, engine.String), storetest.Prop("select", engine.String), storetest.Prop("a?b$1", engine.Int), storetest.Prop("\u00fc, \u00e4", engine.Boolean, storetest.Unique))
	r := open(t, []*engine.Class{c})
	it := storetest.Create(t, r, c, `k"e'y`, "x", "select", "y", "a?b$1", int64(1), "\u00fc, \u00e4", true)
	storetest.CheckSame(t, "item", storetest.Get(t, r, c, "x").Values, it.Values)
	q := storetest.All(c)
	q.Filter, q.Sort = storetest.Compare(engine.OpEq, c.Property("a?b$1"), int64(1)), []engine.Sort{{Property: c.Property("select"), Descending: true}}
	storetest.CheckSame(t, "found", storetest.ListIDs(t, r, q), []string{"x"})
	_, err := r.Create(t.Context(), c, storetest.NewValues(c, `k"e'y`, "z", "\u00fc, \u00e4", true), engine.WriteOptions{})
	storetest.CheckSame(t, "attribute", storetest.CheckError(t, err, engine.Invalid, "duplicate").Attribute, "\u00fc, \u00e4")
}

// indexedTexts stores the longest texts that keys and indexes accept. Longer texts should be rejected. Texts of
// several lines have no limit, and should be found at any length.
func indexedTexts(t *testing.T, open storetest.Open) {
	c := &engine.Class{Name: "indexed", Namespace: "test", Key: []string{"k1", "k2"}, Properties: []*engine.Property{
		storetest.Prop("k1", engine.String), storetest.Prop("k2", engine.String), storetest.Prop("s", engine.String, storetest.Indexed), storetest.Prop("u", engine.Text, storetest.Unique),
		storetest.Prop("h", engine.HTML, storetest.Indexed), storetest.Prop("n", engine.Int, storetest.Indexed)}}
	if err := c.Init(); err != nil {
		t.Fatal(err)
	}
	r := open(t, []*engine.Class{c})
	half, long, huge := storetest.NoiseText(storetest.MaxIndexed/2), storetest.NoiseText(storetest.MaxIndexed), storetest.NoiseText(1<<20)
	it := storetest.Create(t, r, c, "k1", half, "k2", half, "s", long, "u", long, "h", huge)
	storetest.CheckSame(t, "stored", storetest.Get(t, r, c, it.ID), it)
	saved := storetest.Save(t, r, storetest.NewRecord(c, "", "k1", half, "k2", "2", "s", long, "u", long[1:], "h", huge+"x"))
	storetest.CheckStored(t, r, saved)
	q := storetest.All(c)
	q.Filter = storetest.Compare(engine.OpEq, c.Property("h"), huge)
	storetest.CheckSame(t, "found", storetest.ListIDs(t, r, q), []string{it.ID})
	for _, name := range []string{"k2", "s", "u"} {
		too := storetest.NewValues(c, "k1", half, "k2", "3")
		too[c.Property(name).Index] = long + "x"
		_, err := r.Create(t.Context(), c, append(engine.Values(nil), too...), engine.WriteOptions{})
		storetest.CheckSame(t, "attribute", storetest.CheckError(t, err, engine.Invalid, "size").Attribute, name)
		_, err = r.Save(t.Context(), []engine.Record{storetest.NewRecord(c, "", "k1", half, "k2", "4"), {Class: c, Values: append(engine.Values(nil), too...)}})
		e := storetest.CheckError(t, err, engine.Invalid, "size")
		storetest.CheckSame(t, "blame", []any{e.Attribute, e.Index}, []any{name, 1})
		_, err = r.Update(t.Context(), c, it.ID, too, engine.WriteOptions{})
		storetest.CheckSame(t, "attribute", storetest.CheckError(t, err, engine.Invalid, "size").Attribute, name)
	}
	storetest.CheckSame(t, "rows", storetest.Count(t, r, c), int64(2))
}

// longNames stores items of classes and properties with names that are longer than the databases accept. The names
// have the same beginning, and their letters have two bytes each.
func longNames(t *testing.T, open storetest.Open) {
	long := strings.Repeat("имя", 30)
	var classes []*engine.Class
	for _, end := range []string{"1", "2"} {
		classes = append(classes, storetest.NewClass(long+end, storetest.Prop("id", engine.String),
			storetest.Prop(long+"1", engine.String, storetest.Unique), storetest.Prop(long+"2", engine.String, storetest.Unique), storetest.Prop(long+"3", engine.Int, storetest.Indexed)))
	}
	r := open(t, classes)
	for _, c := range classes {
		it := storetest.Create(t, r, c, "id", "x", long+"1", "a", long+"2", "b", long+"3", int64(1))
		storetest.CheckSame(t, "stored", storetest.Get(t, r, c, "x"), it)
		_, err := r.Create(t.Context(), c, storetest.NewValues(c, "id", "y", long+"2", "b"), engine.WriteOptions{})
		storetest.CheckSame(t, "attribute", storetest.CheckError(t, err, engine.Invalid, "duplicate").Attribute, long+"2")
		storetest.CheckStored(t, r, storetest.Save(t, r, storetest.NewRecord(c, "x", long+"1", "c"), storetest.NewRecord(c, "z", long+"3", int64(2))))
		q := storetest.All(c)
		q.Sort = []engine.Sort{{Property: c.Property(long + "3"), Descending: true}}
		storetest.CheckSame(t, "sorted", storetest.ListIDs(t, r, q), []string{"z", "x"})
	}
}

// oddTexts are texts that might break the code that joins several texts of a row to read them as one column.
var oddTexts = []any{nil, "", "v", "vv", "\x01", "\x01v\x01", "0", "\u0080", "\\0", "x'00'", strings.Repeat("v", 1<<20), nil, strings.Repeat("\u00e4", 1<<19), " "}

// textNeighbours stores each of oddTexts between every two others, in one row.
func textNeighbours(t *testing.T, open storetest.Open) {
	c := storetest.NewClass("texts", storetest.Prop("id", engine.String), storetest.Prop("a", engine.String), storetest.Prop("n", engine.Int), storetest.Prop("b", engine.Text), storetest.Prop("p", engine.DecimalNum), storetest.Prop("c", engine.HTML))
	r := open(t, []*engine.Class{c})
	want := map[string]engine.Values{}
	pick := func(i int) any { return oddTexts[i%len(oddTexts)] }
	var records []engine.Record
	for i := range oddTexts {
		for _, step := range []int{1, 2, 5} {
			id := fmt.Sprint(i, "v", step)
			want[id] = engine.Values{id, pick(i), int64(i), pick(i + step), engine.Decimal("0.5"), pick(i + 2*step)}
			records = append(records, engine.Record{Class: c, ID: id, Values: append(engine.Values(nil), want[id]...)})
		}
	}
	for range 2 { // the first round inserts, the second updates
		for _, it := range storetest.Save(t, r, records...) {
			if !reflect.DeepEqual(it.Values, want[it.ID]) {
				t.Errorf("save of %s returned other values than the given ones", it.ID)
			}
		}
	}
	listed := 0
	err := r.List(t.Context(), storetest.All(c), func(it *engine.Item) error {
		listed++
		if !reflect.DeepEqual(it.Values, want[it.ID]) {
			t.Errorf("list returned other values of %s than the given ones", it.ID)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "listed", listed, len(want))
	for id, v := range want {
		if !reflect.DeepEqual(storetest.Get(t, r, c, id).Values, v) {
			t.Errorf("get returned other values of %s than the given ones", id)
		}
		it, err := r.Update(t.Context(), c, id, storetest.NewValues(c, "n", int64(-1)), engine.WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		v[c.Property("n").Index] = int64(-1)
		if !reflect.DeepEqual(it.Values, v) {
			t.Errorf("update of %s returned other values than the given ones", id)
		}
	}
}

func manyProperties(t *testing.T, open storetest.Open) {
	properties := []*engine.Property{storetest.Prop("id", engine.String), storetest.Prop("n", engine.Int)}
	for i := range 250 {
		properties = append(properties, storetest.Prop(fmt.Sprint("p", i), engine.String))
	}
	c := storetest.NewClass("wide", properties...)
	r := open(t, []*engine.Class{c})
	v := storetest.NewValues(c, "id", "x", "n", int64(7))
	for i, p := range c.Properties {
		switch {
		case v[i] != engine.Absent:
		case p.Index%7 == 0:
			v[i] = nil
		default:
			v[i] = fmt.Sprint("v", p.Name)
		}
	}
	items := storetest.Save(t, r, engine.Record{Class: c, ID: "x", Values: append(engine.Values(nil), v...)}, storetest.NewRecord(c, "y", "p249", "last"))
	storetest.CheckStored(t, r, items)
	storetest.CheckSame(t, "whole", items[0].Values, v)
	storetest.CheckSame(t, "last", items[1].Get("p249"), "last")
	items = storetest.Save(t, r, storetest.NewRecord(c, "y", "p0", "first"), storetest.NewRecord(c, "x", "p0", "first"))
	storetest.CheckStored(t, r, items)
	storetest.CheckSame(t, "kept", []any{items[0].Get("p249"), items[1].Get("n")}, []any{"last", int64(7)})
	found := storetest.ListIDs(t, r, storetest.All(c))
	storetest.CheckSame(t, "listed", found, []string{"x", "y"})
}
