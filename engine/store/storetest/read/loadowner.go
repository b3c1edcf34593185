package read

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/store/storetest"
)

// ownedConditions lists conditions of a collection in the form of class files. For each, a Go function makes the same
// decision.
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

// above reports whether the weight of a thing is greater than the sum of more and the attribute low of its box.
func above(thing, box *engine.Item, more int64) bool {
	weight, given := thing.Get("weight").(int64)
	low, also := box.Get("low").(int64)
	return given && also && weight > low+more
}

// loadOwners loads collections with conditions that use values of the owner, both for single owners and for many
// owners at once.
func loadOwners(t *testing.T, open storetest.Open) {
	const n = 90
	b := storetest.OpenBoxes(t, open)
	b.Fill(t, rand.New(rand.NewPCG(1, 2)), n)
	var every []*engine.Load
	for _, name := range storetest.BoxCollections {
		every = append(every, storetest.NewLoad(b.Box, name))
	}
	all := storetest.ListLoaded(t, b, &engine.Query{Class: b.Box, Count: -1, Load: every})
	for _, c := range ownedConditions {
		b.Limit(t, c.list)
		found := storetest.ListLoaded(t, b, &engine.Query{Class: b.Box, Count: -1, Load: every})
		storetest.CheckSame(t, c.list+": boxes", len(found), n)
		some := false
		for id, box := range all {
			for _, name := range storetest.BoxCollections {
				want := []string{}
				for _, thing := range storetest.LinkOf(box, name).Items {
					if c.holds(box, thing) {
						want = append(want, thing.ID)
					}
				}
				some = some || len(want) > 0
				storetest.CheckSame(t, fmt.Sprintf("%s: %s of %s among others", c.list, name, id), storetest.MemberIDs(storetest.LinkOf(found[id], name).Items), want)
				if strings.HasSuffix(id, "1") {
					storetest.CheckSame(t, fmt.Sprintf("%s: %s of %s", c.list, name, id), storetest.ListMembers(t, b, b.Box, id, name), want)
				}
			}
		}
		storetest.CheckSame(t, c.list+": some have members", some, true)
	}
}
