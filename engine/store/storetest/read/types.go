package read

import (
	"encoding/json"
	"testing"

	"restsrv/engine"
	"restsrv/engine/store/storetest"
)

// typedReferences stores references to keys of every type, and a reference to a key of two properties. The targets
// need not exist.
func typedReferences(t *testing.T, open storetest.Open) {
	for typ, list := range sortedValues {
		if typ == engine.Boolean || !typ.Scalar() {
			continue
		}
		t.Run(typ.String(), func(t *testing.T) {
			target := storetest.NewClass("target", storetest.Prop("key", typ))
			c := storetest.NewClass("holder", storetest.Prop("id", engine.Int), storetest.Ref("ref", target, storetest.Indexed))
			r := open(t, []*engine.Class{target, c})
			storetest.Create(t, r, c, "id", int64(-1))
			want := []string{"-1"}
			for i, v := range list {
				cast, err := c.Property("ref").Cast(v)
				if err != nil {
					t.Fatal(err)
				}
				if v == "" {
					storetest.CheckSame(t, "empty text", cast, nil)
					continue
				}
				storetest.CheckSame(t, "cast", cast, v)
				it := storetest.Create(t, r, c, "id", int64(i), "ref", cast)
				storetest.CheckSame(t, "ref", storetest.Get(t, r, c, it.ID).Get("ref"), v)
				want = append(want, it.ID)
			}
			q := storetest.All(c)
			q.Sort = []engine.Sort{{Property: c.Property("ref")}}
			storetest.CheckSame(t, "order", storetest.ListIDs(t, r, q), want)
		})
	}
	target := storetest.NewClass("pair", storetest.Prop("a", engine.Int), storetest.Prop("b", engine.String))
	target.Key = []string{"a", "b"}
	if err := target.Init(); err != nil {
		t.Fatal(err)
	}
	c := storetest.NewClass("holder", storetest.Prop("id", engine.Int), storetest.Ref("ref", target))
	r := open(t, []*engine.Class{target, c})
	storetest.Create(t, r, c, "id", int64(1), "ref", "3_a_b")
	storetest.CheckSame(t, "ref", storetest.Get(t, r, c, "1").Get("ref"), "3_a_b")
}

// jsonOfEveryType stores values of all types that were converted by Cast, and reads them as the JSON that clients get.
func jsonOfEveryType(t *testing.T, open storetest.Open) {
	target := storetest.NewClass("target", storetest.Prop("key", engine.Int))
	c := storetest.NewClass("all", storetest.Prop("id", engine.Int),
		storetest.Prop("set", engine.Set), storetest.Prop("custom", engine.Custom), storetest.Prop("period", engine.Period), storetest.Prop("geo", engine.Geo),
		storetest.Prop("schedule", engine.Schedule), storetest.Prop("file", engine.File), storetest.Prop("list", engine.FileList), storetest.Prop("user", engine.User),
		storetest.Prop("price", engine.DecimalNum), storetest.Prop("day", engine.DateTime, func(p *engine.Property) { p.Size = 4 }),
		storetest.Prop("zoned", engine.DateTime, func(p *engine.Property) { p.Mode = 1 }), storetest.Prop("wall", engine.DateTime, func(p *engine.Property) { p.Mode = 2 }),
		storetest.Ref("ref", target))
	r := open(t, []*engine.Class{target, c})
	geo := engine.Fields{{Name: "type", Value: "Point"}, {Name: "coordinates", Value: []any{json.Number("1.50"), json.Number("2")}}, {Name: "options", Value: engine.Fields{}}}
	v, unknown, err := c.Bind(engine.Fields{
		{Name: "id", Value: "1"}, {Name: "set", Value: []any{"3", json.Number("2.0")}}, {Name: "custom", Value: engine.Fields{{Name: "b", Value: nil}, {Name: "a", Value: "x"}}},
		{Name: "period", Value: []any{"2020-01-01", nil}}, {Name: "geo", Value: geo}, {Name: "schedule", Value: []any{}},
		{Name: "user", Value: "demo@local"}, {Name: "price", Value: json.Number("10.10")}, {Name: "day", Value: "2020-01-02T03:04:05Z"},
		{Name: "zoned", Value: "2020-01-02T03:04:05+03:00"}, {Name: "wall", Value: "2020-01-02T03:04:05"}, {Name: "ref", Value: "7"},
	}, engine.Strict)
	if err != nil || unknown != nil {
		t.Fatal(unknown, err)
	}
	v[c.Property("file").Index] = engine.StoredFile{ID: "f1", Name: "a.txt", MimeType: "text/plain", Size: 5, Hash: "h"}.JSON()
	v[c.Property("list").Index] = engine.JSONText(`[{"id":"f2","size":1,"hash":"h"}]`)
	created, err := r.Create(t.Context(), c, v, engine.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"_id":"1","__string":"1","__class":"all@test","__classTitle":"all","id":1,"set":[3,2],"custom":{"b":null,"a":"x"},` +
		`"period":["2020-01-01T00:00:00.000Z",null],"geo":{"type":"Point","coordinates":[1.50,2],"options":{}},"schedule":[],` +
		`"file":{"id":"f1","name":"a.txt","link":"/files/f1","options":{"name":"a.txt","mimeType":"text/plain"},"size":5},` +
		`"list":[{"id":"f2","name":"f2","link":"/files/f2","options":{},"size":1}],"user":"demo@local","price":10.1,` +
		`"day":"2020-01-02T00:00:00.000Z","zoned":"2020-01-02T00:04:05.000Z","wall":"2020-01-02T03:04:05.000Z","ref":"7"}`
	storetest.CheckSame(t, "created", string(created.AppendJSON(nil)), want)
	storetest.CheckSame(t, "got", string(storetest.Get(t, r, c, "1").AppendJSON(nil)), want)
	err = r.List(t.Context(), storetest.All(c), func(it *engine.Item) error {
		storetest.CheckSame(t, "listed", string(it.AppendJSON(nil)), want)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// changedValues changes values of every type to other values and to null, by updates and saves.
func changedValues(t *testing.T, open storetest.Open) {
	for typ, list := range sortedValues {
		t.Run(typ.String(), func(t *testing.T) {
			c := storetest.NewClass("typed", storetest.Prop("id", engine.Int), storetest.Prop("v", typ), storetest.Prop("other", engine.String))
			r := open(t, []*engine.Class{c})
			storetest.Create(t, r, c, "id", int64(1), "other", "kept")
			for _, v := range append(append([]any{}, list...), nil, list[0]) {
				it, err := r.Update(t.Context(), c, "1", storetest.NewValues(c, "v", v), engine.WriteOptions{})
				if err != nil {
					t.Fatal(err)
				}
				storetest.CheckSame(t, "updated", it.Values, engine.Values{int64(1), v, "kept"})
				items := storetest.Save(t, r, storetest.NewRecord(c, "1", "v", v), storetest.NewRecord(c, "2", "v", v))
				storetest.CheckSame(t, "saved", []any{items[0].Values[1], items[1].Values[1]}, []any{v, v})
				storetest.CheckSame(t, "got", storetest.Get(t, r, c, "1").Values, it.Values)
			}
		})
	}
}
