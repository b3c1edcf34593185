package storetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"restsrv/engine"
)

var valueTests = []test{
	{"round trip", roundTrip},
	{"composite key", compositeKey},
	{"keys of every type", typedKeys},
	{"decimals compare as numbers", decimalOrder},
	{"references have the type of the key", typedReferences},
	{"JSON of every type", jsonOfEveryType},
	{"values of every type are changed", changedValues},
	{"names that need quoting", oddNames},
	{"texts next to each other", textNeighbours},
	{"very many properties", manyProperties},
	{"texts in indexes", indexedTexts},
	{"long names", longNames},
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

// jsonTexts returns values of a type that is stored as JSON, sorted by bytes.
func jsonTexts(texts ...string) []any {
	var list []any
	for _, s := range texts {
		list = append(list, engine.JSONText(s))
	}
	return list
}

// roundTrip stores each value, reads it with Get and List, and sorts by it.
func roundTrip(t *testing.T, open Open) {
	for typ, list := range sortedValues {
		t.Run(typ.String(), func(t *testing.T) {
			c := NewClass("typed", Prop("id", engine.Int), Prop("v", typ, indexed))
			r := open(t, []*engine.Class{c})
			want := []string{"0"} // null comes first
			create(t, r, c, "id", int64(0))
			for i := range list { // stored in reverse, so that the list must be sorted
				at := len(list) - 1 - i
				it := create(t, r, c, "id", int64(at+1), "v", list[at])
				same(t, "created", it.Values[1], list[at])
			}
			for i, v := range list {
				id := fmt.Sprint(i + 1)
				want = append(want, id)
				same(t, "got", get(t, r, c, id).Values[1], v)
			}
			q := all(c)
			q.Sort = []engine.Sort{{Property: c.Property("v")}}
			same(t, "order", ids(t, r, q), want)
			err := r.List(t.Context(), q, func(it *engine.Item) error {
				if n := it.Values[0].(int64); n > 0 {
					same(t, "listed", it.Values[1], list[n-1])
				} else {
					same(t, "listed", it.Values[1], nil)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

func compositeKey(t *testing.T, open Open) {
	c := &engine.Class{Name: "place", Namespace: "test", Key: []string{"row", "seat"}, Properties: []*engine.Property{
		{Name: "row", Type: engine.Int}, {Name: "seat", Type: engine.String}, {Name: "who", Type: engine.String, Nullable: true, OrderNumber: 1},
	}}
	if err := c.Init(); err != nil {
		t.Fatal(err)
	}
	r := open(t, []*engine.Class{c})
	it := create(t, r, c, "row", int64(3), "seat", "a_b", "who", "x")
	same(t, "id", it.ID, "3_a_b")
	create(t, r, c, "row", int64(3), "seat", "c")
	same(t, "value", get(t, r, c, "3_a_b").Get("who"), "x")
	_, err := r.Create(t.Context(), c, values(c, "row", int64(3), "seat", "c"), engine.WriteOptions{})
	fails(t, err, engine.Invalid, "duplicate")
	_, err = r.Get(t.Context(), c, "3")
	fails(t, err, engine.NotFound, "unknown-object")
	saved, err := r.Save(t.Context(), []engine.Record{record(c, "3_c", "who", "y"), record(c, "", "row", int64(3), "seat", "a_b", "who", "z"), record(c, "4_d")})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "saved", []string{saved[0].ID, saved[1].ID, saved[2].ID}, []string{"3_c", "3_a_b", "4_d"})
	same(t, "rows", count(t, r, c), int64(3))
	if err := r.Delete(t.Context(), c, "3_c", nil); err != nil {
		t.Fatal(err)
	}
	same(t, "rows", count(t, r, c), int64(2))
}

func typedKeys(t *testing.T, open Open) {
	for typ, list := range sortedValues {
		if typ == engine.Boolean || !typ.Scalar() {
			continue
		}
		t.Run(typ.String(), func(t *testing.T) {
			c := NewClass("keyed", Prop("key", typ), Prop("n", engine.Int))
			r := open(t, []*engine.Class{c})
			for i, v := range list {
				if text, ok := v.(string); ok && (text == "" || len(text) > maxIndexed) {
					continue // not valid as a key
				}
				it := create(t, r, c, "key", v, "n", int64(i))
				same(t, "n", get(t, r, c, it.ID).Get("n"), int64(i))
				saved, err := r.Save(t.Context(), []engine.Record{record(c, it.ID, "n", int64(-i))})
				if err != nil {
					t.Fatal(err)
				}
				same(t, "saved", []any{saved[0].ID, saved[0].Get("n")}, []any{it.ID, int64(-i)})
			}
		})
	}
}

func decimalOrder(t *testing.T, open Open) {
	c := NewClass("price", Prop("id", engine.String), Prop("v", engine.DecimalNum, unique))
	r := open(t, []*engine.Class{c})
	create(t, r, c, "id", "a", "v", engine.Decimal("9"))
	create(t, r, c, "id", "b", "v", engine.Decimal("10"))
	create(t, r, c, "id", "c", "v", engine.Decimal("-1.5"))
	for filter, want := range map[engine.Op][]string{engine.OpGt: {"b"}, engine.OpGte: {"a", "b"}, engine.OpLt: {"c"}, engine.OpEq: {"a"}} {
		q := all(c)
		q.Filter = Compare(filter, c.Property("v"), engine.Decimal("9"))
		same(t, string(filter), ids(t, r, q), want)
	}
	_, err := r.Create(t.Context(), c, values(c, "id", "d", "v", engine.Decimal("10")), engine.WriteOptions{})
	fails(t, err, engine.Invalid, "duplicate")
}

func oddNames(t *testing.T, open Open) {
	c := NewClass(`odd "name'`, Prop(`k"e'y`, engine.String), Prop("select", engine.String), Prop("a?b$1", engine.Int), Prop("\u00fc, \u00e4", engine.Boolean, unique))
	r := open(t, []*engine.Class{c})
	it := create(t, r, c, `k"e'y`, "x", "select", "y", "a?b$1", int64(1), "\u00fc, \u00e4", true)
	same(t, "item", get(t, r, c, "x").Values, it.Values)
	q := all(c)
	q.Filter, q.Sort = Compare(engine.OpEq, c.Property("a?b$1"), int64(1)), []engine.Sort{{Property: c.Property("select"), Descending: true}}
	same(t, "found", ids(t, r, q), []string{"x"})
	_, err := r.Create(t.Context(), c, values(c, `k"e'y`, "z", "\u00fc, \u00e4", true), engine.WriteOptions{})
	same(t, "attribute", fails(t, err, engine.Invalid, "duplicate").Attribute, "\u00fc, \u00e4")
}

// maxIndexed is the maximum number of bytes of text in a key or an index.
const maxIndexed = 2600

// noise returns text that cannot be compressed.
func noise(bytes int) string {
	random := rand.New(rand.NewPCG(1, uint64(bytes)))
	var b strings.Builder
	for b.Len() < bytes {
		b.WriteByte(byte('!' + random.IntN(60)))
	}
	return b.String()
}

// indexedTexts stores the longest texts that keys and indexes accept. It checks that longer ones
// are rejected, and that texts of any length are found if they may have several lines.
func indexedTexts(t *testing.T, open Open) {
	c := &engine.Class{Name: "indexed", Namespace: "test", Key: []string{"k1", "k2"}, Properties: []*engine.Property{
		Prop("k1", engine.String), Prop("k2", engine.String), Prop("s", engine.String, indexed), Prop("u", engine.Text, unique),
		Prop("h", engine.HTML, indexed), Prop("n", engine.Int, indexed)}}
	if err := c.Init(); err != nil {
		t.Fatal(err)
	}
	r := open(t, []*engine.Class{c})
	half, long, huge := noise(maxIndexed/2), noise(maxIndexed), noise(1<<20)
	it := create(t, r, c, "k1", half, "k2", half, "s", long, "u", long, "h", huge)
	same(t, "stored", get(t, r, c, it.ID), it)
	saved := save(t, r, record(c, "", "k1", half, "k2", "2", "s", long, "u", long[1:], "h", huge+"x"))
	checkStored(t, r, saved)
	q := all(c)
	q.Filter = Compare(engine.OpEq, c.Property("h"), huge)
	same(t, "found", ids(t, r, q), []string{it.ID})
	for _, name := range []string{"k2", "s", "u"} {
		too := values(c, "k1", half, "k2", "3")
		too[c.Property(name).Index] = long + "x"
		_, err := r.Create(t.Context(), c, append(engine.Values(nil), too...), engine.WriteOptions{})
		same(t, "attribute", fails(t, err, engine.Invalid, "size").Attribute, name)
		_, err = r.Save(t.Context(), []engine.Record{record(c, "", "k1", half, "k2", "4"), {Class: c, Values: append(engine.Values(nil), too...)}})
		e := fails(t, err, engine.Invalid, "size")
		same(t, "blame", []any{e.Attribute, e.Index}, []any{name, 1})
		_, err = r.Update(t.Context(), c, it.ID, too, engine.WriteOptions{})
		same(t, "attribute", fails(t, err, engine.Invalid, "size").Attribute, name)
	}
	same(t, "rows", count(t, r, c), int64(2))
}

// longNames has classes and properties with names that are longer than a database accepts. Their
// letters have two bytes each, and they begin alike.
func longNames(t *testing.T, open Open) {
	long := strings.Repeat("имя", 30)
	var classes []*engine.Class
	for _, end := range []string{"1", "2"} {
		classes = append(classes, NewClass(long+end, Prop("id", engine.String),
			Prop(long+"1", engine.String, unique), Prop(long+"2", engine.String, unique), Prop(long+"3", engine.Int, indexed)))
	}
	r := open(t, classes)
	for _, c := range classes {
		it := create(t, r, c, "id", "x", long+"1", "a", long+"2", "b", long+"3", int64(1))
		same(t, "stored", get(t, r, c, "x"), it)
		_, err := r.Create(t.Context(), c, values(c, "id", "y", long+"2", "b"), engine.WriteOptions{})
		same(t, "attribute", fails(t, err, engine.Invalid, "duplicate").Attribute, long+"2")
		checkStored(t, r, save(t, r, record(c, "x", long+"1", "c"), record(c, "z", long+"3", int64(2))))
		q := all(c)
		q.Sort = []engine.Sort{{Property: c.Property(long + "3"), Descending: true}}
		same(t, "sorted", ids(t, r, q), []string{"z", "x"})
	}
}

// oddTexts are texts that could break the code that joins texts to read them at once.
var oddTexts = []any{nil, "", "v", "vv", "\x01", "\x01v\x01", "0", "\u0080", "\\0", "x'00'", strings.Repeat("v", 1<<20), nil, strings.Repeat("\u00e4", 1<<19), " "}

// textNeighbours stores each odd text between every two others.
func textNeighbours(t *testing.T, open Open) {
	c := NewClass("texts", Prop("id", engine.String), Prop("a", engine.String), Prop("n", engine.Int), Prop("b", engine.Text), Prop("p", engine.DecimalNum), Prop("c", engine.HTML))
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
	for range 2 { // first inserted, then updated
		for _, it := range save(t, r, records...) {
			if !reflect.DeepEqual(it.Values, want[it.ID]) {
				t.Errorf("save of %s returned other values than the given ones", it.ID)
			}
		}
	}
	listed := 0
	err := r.List(t.Context(), all(c), func(it *engine.Item) error {
		listed++
		if !reflect.DeepEqual(it.Values, want[it.ID]) {
			t.Errorf("list returned other values of %s than the given ones", it.ID)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "listed", listed, len(want))
	for id, v := range want {
		if !reflect.DeepEqual(get(t, r, c, id).Values, v) {
			t.Errorf("get returned other values of %s than the given ones", id)
		}
		it, err := r.Update(t.Context(), c, id, values(c, "n", int64(-1)), engine.WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		v[c.Property("n").Index] = int64(-1)
		if !reflect.DeepEqual(it.Values, v) {
			t.Errorf("update of %s returned other values than the given ones", id)
		}
	}
}

func manyProperties(t *testing.T, open Open) {
	properties := []*engine.Property{Prop("id", engine.String), Prop("n", engine.Int)}
	for i := range 250 {
		properties = append(properties, Prop(fmt.Sprint("p", i), engine.String))
	}
	c := NewClass("wide", properties...)
	r := open(t, []*engine.Class{c})
	v := values(c, "id", "x", "n", int64(7))
	for i, p := range c.Properties {
		switch {
		case v[i] != engine.Absent:
		case p.Index%7 == 0:
			v[i] = nil
		default:
			v[i] = fmt.Sprint("v", p.Name)
		}
	}
	items := save(t, r, engine.Record{Class: c, ID: "x", Values: append(engine.Values(nil), v...)}, record(c, "y", "p249", "last"))
	checkStored(t, r, items)
	same(t, "whole", items[0].Values, v)
	same(t, "last", items[1].Get("p249"), "last")
	items = save(t, r, record(c, "y", "p0", "first"), record(c, "x", "p0", "first"))
	checkStored(t, r, items)
	same(t, "kept", []any{items[0].Get("p249"), items[1].Get("n")}, []any{"last", int64(7)})
	found := ids(t, r, all(c))
	same(t, "listed", found, []string{"x", "y"})
}
