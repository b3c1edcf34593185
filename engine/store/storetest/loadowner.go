package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/query"
)

// boxes have things in three kinds of collections. The conditions of the collections compare
// attributes of the things with those of their box.
type boxes struct {
	engine.Repository
	box, thing *engine.Class
}

// ownedConditions lists conditions in the form of class files, each with a function of the same
// meaning.
var ownedConditions = []struct {
	list  string
	holds func(box, thing *engine.Item) bool
}{
	{`[{"property":"kind","operation":0,"value":["$kind"]}]`, func(box, thing *engine.Item) bool {
		return box.Get("kind") == thing.Get("kind")
	}},
	{`[[{"property":"kind","operation":1,"value":"$kind"}],[{"property":"weight","operation":3}]]`, func(box, thing *engine.Item) bool {
		return box.Get("kind") != thing.Get("kind") && thing.Get("weight") != nil
	}},
	{`[{"property":"weight","operation":6,"value":["$low"]}]`, func(box, thing *engine.Item) bool {
		return above(thing, box, 0)
	}},
	{`[{"property":"weight","operation":6,"nestedConditions":[{"operation":11,"value":["$low",3]}]}]`, func(box, thing *engine.Item) bool {
		return above(thing, box, 3)
	}},
	{`[{"operation":1,"nestedConditions":[{"property":"$kind","operation":0,"value":["a"]},{"property":"kind","operation":9,"value":["b","$kind"]}]}]`,
		func(box, thing *engine.Item) bool {
			return box.Get("kind") == "a" || thing.Get("kind") == "b" || thing.Get("kind") == box.Get("kind")
		}},
	{`[{"property":"kind","operation":9,"value":["$kinds"]}]`, func(box, thing *engine.Item) bool {
		kind, _ := thing.Get("kind").(string)
		kinds, _ := box.Get("kinds").(engine.JSONText)
		list, _ := kinds.Decode().([]any)
		return slices.Contains(list, any(kind)) || thing.Get("kind") == nil && kinds == ""
	}},
	{`[{"property":"nosuch","operation":2},{"property":"kind","operation":3}]`, func(_, thing *engine.Item) bool {
		return thing.Get("kind") != nil && thing.Get("kind") != ""
	}},
	{`[{"property":"kind","operation":0,"value":["$nosuch"]}]`, func(_, thing *engine.Item) bool { return thing.Get("kind") == nil }},
}

// above reports whether a thing weighs more than the low of its box plus more.
func above(thing, box *engine.Item, more int64) bool {
	weight, given := thing.Get("weight").(int64)
	low, also := box.Get("low").(int64)
	return given && also && weight > low+more
}

// boxCollections are the collections of a box: one with links, one with references to the id of the
// box, and one with references to another attribute.
var boxCollections = []string{"linked", "back", "bound"}

func openBoxes(t *testing.T, open Open) *boxes {
	t.Helper()
	b := &boxes{}
	b.box = NewClass("box", Prop("id", engine.String), Prop("kind", engine.String), Prop("low", engine.Int), Prop("kinds", engine.Set), Prop("code", engine.String))
	b.thing = NewClass("thing", Prop("id", engine.String), Prop("kind", engine.String), Prop("weight", engine.Int), Prop("code", engine.String), Ref("box", b.box))
	linked := Prop("linked", engine.Collection)
	linked.Target = b.thing
	bound := back(engine.Collection, "bound", b.thing, "code")
	bound.Binding = b.box.Property("code")
	add(b.box, linked, back(engine.Collection, "back", b.thing, "box"), bound)
	Link(b.box, b.thing)
	b.Repository = open(t, []*engine.Class{b.box, b.thing})
	return b
}

// limit sets the conditions of all collections.
func (b *boxes) limit(t *testing.T, conditions string) {
	t.Helper()
	for _, name := range boxCollections {
		var err error
		if b.box.Property(name).Conditions, _, err = query.ParseMemberFilter(b.thing, b.box, decoded(t, conditions)); err != nil {
			t.Fatalf("%s: %v", conditions, err)
		}
	}
}

// fill creates random boxes and things. Boxes of different kinds share codes.
func (b *boxes) fill(t *testing.T, r *rand.Rand, n int) {
	t.Helper()
	kind := func() any { return []any{nil, "a", "b", "$kind", ""}[r.IntN(5)] }
	number := func() any { return []any{nil, int64(r.IntN(40))}[min(r.IntN(6), 1)] }
	code := func() any { return []any{nil, "c" + strconv.Itoa(r.IntN(n/3))}[min(r.IntN(5), 1)] }
	var ids []any
	for i := range n {
		id := "t" + strconv.Itoa(i)
		ids = append(ids, id)
		create(t, b, b.thing, "id", id, "kind", kind(), "weight", number(), "code", code(), "box", "b"+strconv.Itoa(r.IntN(n)))
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
		create(t, b, b.box, "id", "b"+strconv.Itoa(i), "kind", kind(), "low", number(), "kinds", kinds, "code", code(), "linked", put(links...))
	}
}

// loadOwners loads members by conditions with values of their owners, for one owner and for many at
// once.
func loadOwners(t *testing.T, open Open) {
	const n = 90
	b := openBoxes(t, open)
	b.fill(t, rand.New(rand.NewPCG(1, 2)), n)
	var every []*engine.Load
	for _, name := range boxCollections {
		every = append(every, load(b.box, name))
	}
	all := listed(t, b, &engine.Query{Class: b.box, Count: -1, Load: every})
	for _, c := range ownedConditions {
		b.limit(t, c.list)
		found := listed(t, b, &engine.Query{Class: b.box, Count: -1, Load: every})
		same(t, c.list+": boxes", len(found), n)
		some := false
		for id, box := range all {
			for _, name := range boxCollections {
				want := []string{}
				for _, thing := range linkOf(box, name).Items {
					if c.holds(box, thing) {
						want = append(want, thing.ID)
					}
				}
				some = some || len(want) > 0
				same(t, fmt.Sprintf("%s: %s of %s among others", c.list, name, id), memberIDs(linkOf(found[id], name).Items), want)
				if strings.HasSuffix(id, "1") {
					same(t, fmt.Sprintf("%s: %s of %s", c.list, name, id), members(t, b, b.box, id, name), want)
				}
			}
		}
		same(t, c.list+": some have members", some, true)
	}
}

// guardOwners loads members by conditions with owner attributes that are hidden from the account.
func guardOwners(t *testing.T, open Open) {
	b := openBoxes(t, open)
	b.limit(t, `[{"property":"kind","operation":0,"value":["$kind"]}]`)
	create(t, b, b.thing, "id", "t", "kind", "a", "box", "1", "code", "c")
	create(t, b, b.box, "id", "1", "kind", "a", "code", "c", "linked", put("t"))
	for _, name := range boxCollections {
		same(t, name, members(t, b, b.box, "1", name), []string{"t"})
		for _, hidden := range []*engine.Class{b.box, b.thing} {
			r := under(b, new(rules).hide(engine.MayRead, hidden, "kind"))
			same(t, name+" without kind of "+hidden.Name, members(t, r, b.box, "1", name), []string{})
		}
	}
}
