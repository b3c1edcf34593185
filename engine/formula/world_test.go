package formula_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/formula"
	"restsrv/engine/wire"
)

// world contains the classes and items of the tests: an order with its town, its lines and their goods. It is also the
// engine.FormulaData of the tests.
type world struct {
	order, town, line, good *engine.Class
	item                    *engine.Item
	queries                 []*engine.Query
	found                   []*engine.Item
	counters                map[string]int64
}

var now = must(engine.ParseInstant("2020-02-29T12:30:45.678Z"))

func must[T any](v T, ok bool) T {
	if !ok {
		panic("not a value")
	}
	return v
}

func property(name string, t engine.PropertyType) *engine.Property {
	return &engine.Property{Name: name, Type: t, Nullable: true}
}

func newWorld(t testing.TB) *world {
	w := &world{counters: map[string]int64{}}
	w.town = &engine.Class{Name: "town", Namespace: "t", Key: []string{"id"}, Semantic: "name",
		Properties: []*engine.Property{property("id", engine.Int), property("name", engine.String)}}
	city := &engine.Class{Name: "city", Namespace: "t", Key: []string{"id"}, Ancestor: w.town, Semantic: "name",
		Properties: []*engine.Property{{Name: "mayor", Type: engine.String, OrderNumber: -1}, property("id", engine.Int), property("name", engine.String)}}
	w.town.Descendants = []*engine.Class{city}
	w.good = &engine.Class{Name: "good", Namespace: "t", Key: []string{"id"}, Semantic: "title",
		Properties: []*engine.Property{property("id", engine.String), property("title", engine.String), property("price", engine.DecimalNum)}}
	w.line = &engine.Class{Name: "line", Namespace: "t", Key: []string{"id"},
		Properties: []*engine.Property{property("id", engine.Int), property("n", engine.Int), property("good", engine.Reference), property("paid", engine.Boolean)}}
	w.order = &engine.Class{Name: "order", Namespace: "t", Key: []string{"id"},
		Properties: []*engine.Property{property("id", engine.Int), property("name", engine.String), property("a", engine.Int), property("b", engine.Int),
			property("real", engine.Real), property("dec", engine.DecimalNum), property("at", engine.DateTime), property("ok", engine.Boolean), property("none", engine.String),
			property("tags", engine.Set), property("secret", engine.Password), property("town", engine.Reference), property("lost", engine.Reference),
			property("lines", engine.Collection), property("fio$last", engine.String)}}
	for _, c := range []*engine.Class{w.town, city, w.good, w.line, w.order} {
		if err := c.Init(); err != nil {
			t.Fatal(err)
		}
	}
	w.order.Property("town").Target, w.order.Property("lost").Target = w.town, w.town
	w.order.Property("lines").Target, w.line.Property("good").Target = w.line, w.good
	for _, c := range []*engine.Class{w.town, city, w.good, w.line, w.order} {
		c.Link()
	}
	oslo := item(city, "7", map[string]any{"id": int64(7), "name": "Oslo", "mayor": "Ann"})
	tea := item(w.good, "tea", map[string]any{"id": "tea", "title": "Tea", "price": engine.Decimal("0.1")})
	cup := item(w.good, "cup", map[string]any{"id": "cup", "title": "Cup", "price": engine.Decimal("2.5")})
	lines := []*engine.Item{
		w.newLine(1, 3, tea, true), w.newLine(2, 1, cup, false), w.newLine(3, nil, tea, true),
	}
	w.item = item(w.order, "5", map[string]any{"id": int64(5), "name": "Größe", "a": int64(7), "b": int64(2), "real": 0.1, "dec": engine.Decimal("1.10"),
		"at": must(engine.ParseInstant("2020-01-02T03:04:05.006Z")), "ok": true, "tags": engine.JSONText(`["x",2,{"y":1}]`), "secret": "hash",
		"town": int64(7), "lost": int64(8), "fio$last": "Ng"})
	w.link("town", engine.Link{Loaded: true, Item: oslo})
	w.link("lost", engine.Link{Loaded: true})
	w.link("lines", engine.Link{Loaded: true, Items: lines})
	return w
}

func item(c *engine.Class, id string, values map[string]any) *engine.Item {
	it := &engine.Item{Class: c, ID: id, Values: make(engine.Values, len(c.Properties)), Links: make([]engine.Link, len(c.Properties))}
	for name, v := range values {
		it.Values[c.Property(name).Index] = v
	}
	return it
}

func (w *world) link(name string, l engine.Link) { w.item.Links[w.order.Property(name).Index] = l }

func (w *world) newLine(id int64, n any, good *engine.Item, paid bool) *engine.Item {
	if i, ok := n.(int); ok {
		n = int64(i)
	}
	it := item(w.line, fmt.Sprint(id), map[string]any{"id": id, "n": n, "good": good.ID, "paid": paid})
	it.Links[w.line.Property("good").Index] = engine.Link{Loaded: true, Item: good}
	return it
}

func (w *world) Find(_ context.Context, q *engine.Query) ([]*engine.Item, error) {
	w.queries = append(w.queries, q)
	return w.found, nil
}

func (w *world) Count(_ context.Context, q *engine.Query) (int64, error) {
	w.queries = append(w.queries, q)
	return int64(len(w.found)), nil
}

func (w *world) Next(_ context.Context, counter string) (int64, error) {
	w.counters[counter]++
	return w.counters[counter], nil
}

func (w *world) Class(name string) (*engine.Class, error) {
	for _, c := range []*engine.Class{w.town, w.good, w.line, w.order} {
		if c.FullName == name {
			return c, nil
		}
	}
	return nil, engine.NoClass(name)
}

func (w *world) Now() engine.Instant { return now }

// source decodes a formula of a test, which is JSON or in text form.
func source(t testing.TB, s string) any {
	t.Helper()
	if !strings.ContainsAny(s[:1], `{["`) {
		return s
	}
	v, err := wire.Decode([]byte(s))
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return v
}

func (w *world) compile(t testing.TB, s string) (engine.Formula, error) {
	t.Helper()
	return formula.Compile(w.order, source(t, s))
}

// eval evaluates a formula and returns the result as JSON. If the JSON could have several Go types, eval adds the
// type.
func (w *world) eval(t testing.TB, s string) string {
	t.Helper()
	f, err := w.compile(t, s)
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	v, err := f.Eval(context.Background(), w.item, w)
	if err != nil {
		var e *engine.Error
		if !errors.As(err, &e) {
			t.Fatalf("%s: got %v, want an engine.Error", s, err)
		}
		return "error: " + e.Message
	}
	return show(v)
}

func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case *engine.Item:
		return v.Class.Name + ":" + v.ID
	case []*engine.Item:
		var ids []string
		for _, it := range v {
			ids = append(ids, show(it))
		}
		return "items[" + strings.Join(ids, " ") + "]"
	case []any:
		var parts []string
		for _, e := range v {
			parts = append(parts, show(e))
		}
		return "[" + strings.Join(parts, " ") + "]"
	case engine.Fields:
		var parts []string
		for _, f := range v {
			parts = append(parts, f.Name+"="+show(f.Value))
		}
		return "{" + strings.Join(parts, " ") + "}"
	case float64:
		return "float " + engine.ValueText(v)
	case engine.Decimal:
		return "decimal " + string(v)
	case engine.Instant:
		return v.String()
	case engine.JSONText:
		return string(v)
	case string:
		return fmt.Sprintf("%q", v)
	}
	return engine.ValueText(v)
}
