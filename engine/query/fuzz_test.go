package query_test

import (
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/query"
	"restsrv/engine/wire"
)

// FuzzParseFilter parses untrusted input. An accepted filter must use only existing properties, and no passwords.
func FuzzParseFilter(f *testing.F) {
	for _, s := range []string{
		`{"eq":["$title","x"]}`, `{"title":{"$in":["a",null]},"age":{"$gt":1,"$lt":5}}`, `{"$nor":[{"age":1}]}`,
		`{"not":[{"like":["$title","^a.*b$"]},{"nempty":["$age"]}]}`, `{"gte":["$due",{"date":["2020-01-01"]}]}`,
		`{"pwd":{"$gt":""}}`, `{"eq":["$pwd","x"]}`, `{"eq":["$age","$age"]}`, `{"title":{"$not":{"$regex":"a","$options":"i"}}}`,
	} {
		f.Add([]byte(s))
	}
	c := &engine.Class{Name: "note", Key: []string{"title"}, Properties: []*engine.Property{
		{Name: "title", Type: engine.String}, {Name: "age", Type: engine.Int},
		{Name: "due", Type: engine.DateTime}, {Name: "pwd", Type: engine.Password},
	}}
	if err := c.Init(); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := wire.Decode(data)
		if err != nil {
			return
		}
		filter, err := query.ParseFilter(c, v, time.Unix(0, 0))
		if err != nil {
			if engine.CodeOf(err) != engine.Invalid {
				t.Fatalf("%s: got %v, want Invalid", data, err)
			}
			return
		}
		check(t, filter, 0)
	})
}

func check(t *testing.T, f *engine.Filter, depth int) {
	if f == nil {
		return
	}
	if depth > 100 {
		t.Fatalf("the filter is nested deeper than the limit")
	}
	checkExpr(t, f.Left, depth)
	checkExpr(t, f.Right, depth)
	for _, a := range f.Args {
		check(t, a, depth+1)
	}
}

func checkExpr(t *testing.T, e *engine.Expr, depth int) {
	if e == nil {
		return
	}
	for _, p := range e.Path {
		if p.Type == engine.Password {
			t.Fatalf("the filter uses a password")
		}
	}
	for _, a := range e.Args {
		checkExpr(t, a, depth+1)
	}
	for _, c := range e.Conds {
		check(t, c, depth+1)
	}
}
