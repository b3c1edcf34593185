package storetest

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"restsrv/engine"
	"restsrv/engine/query"
)

// boxes is a repository of boxes and things. A box contains things in three kinds of collections. The conditions of
// the collections compare attributes of a thing with those of its box.
type boxes struct {
	engine.Repository
	Box, Thing *engine.Class
}

// BoxCollections lists the collections of a box: the first is stored as links, the second as references to the id of
// the box, and the third as references to another attribute of the box.
var BoxCollections = []string{"linked", "back", "bound"}

// OpenBoxes opens a repository with boxes and the things in them.
func OpenBoxes(t *testing.T, open Open) *boxes {
	t.Helper()
	b := &boxes{}
	b.Box = NewClass("box", Prop("id", engine.String), Prop("kind", engine.String), Prop("low", engine.Int), Prop("kinds", engine.Set), Prop("code", engine.String))
	b.Thing = NewClass("thing", Prop("id", engine.String), Prop("kind", engine.String), Prop("weight", engine.Int), Prop("code", engine.String), Ref("box", b.Box))
	linked := Prop("linked", engine.Collection)
	linked.Target = b.Thing
	bound := BackProperty(engine.Collection, "bound", b.Thing, "code")
	bound.Binding = b.Box.Property("code")
	AddProperties(b.Box, linked, BackProperty(engine.Collection, "back", b.Thing, "box"), bound)
	Link(b.Box, b.Thing)
	b.Repository = open(t, []*engine.Class{b.Box, b.Thing})
	return b
}

// Limit sets the conditions of all collections of a box. conditions has the form that is used in class files.
func (b *boxes) Limit(t *testing.T, conditions string) {
	t.Helper()
	for _, name := range BoxCollections {
		var err error
		if b.Box.Property(name).Conditions, _, err = query.ParseMemberFilter(b.Thing, b.Box, DecodeJSON(t, conditions)); err != nil {
			t.Fatalf("%s: %v", conditions, err)
		}
	}
}

// Fill creates random boxes and things. Boxes of different kinds share codes.
func (b *boxes) Fill(t *testing.T, r *rand.Rand, n int) {
	t.Helper()
	kind := func() any { return []any{nil, "a", "b", "$kind", ""}[r.IntN(5)] }
	number := func() any { return []any{nil, int64(r.IntN(40))}[min(r.IntN(6), 1)] }
	code := func() any { return []any{nil, "c" + strconv.Itoa(r.IntN(n/3))}[min(r.IntN(5), 1)] }
	var ids []any
	for i := range n {
		id := "t" + strconv.Itoa(i)
		ids = append(ids, id)
		Create(t, b, b.Thing, "id", id, "kind", kind(), "weight", number(), "code", code(), "box", "b"+strconv.Itoa(r.IntN(n)))
	}
	for i := range n {
		var kinds any
		if r.IntN(4) > 0 {
			kinds = engine.JSONText([]string{`["a"]`, `["a","b"]`, `[]`, `["$kind"]`}[r.IntN(4)])
		}
		var links []any
		for range r.IntN(4) {
			links = append(links, ids[r.IntN(n)])
		}
		Create(t, b, b.Box, "id", "b"+strconv.Itoa(i), "kind", kind(), "low", number(), "kinds", kinds, "code", code(), "linked", AddLinks(links...))
	}
}
