package store_test

import (
	"fmt"
	"testing"

	"restsrv/engine"
	"restsrv/engine/formula"
	"restsrv/engine/store/storetest"
)

// TestWithheldAttributesAreComputedOnce reads items whose attributes are calculated from all items of another class.
// That class has cached attributes that are hidden from the account. The number of statements must not depend on the
// number of items.
func TestWithheldAttributesAreComputedOnce(t *testing.T) {
	prop := storetest.Prop
	onBoth(t, func(t *testing.T, p place) {
		person := storetest.NewClass("person", prop("id", engine.String), prop("owner", engine.String))
		squad := storetest.NewClass("squad", prop("id", engine.String), prop("size", engine.Int))
		team := storetest.NewClass("team", prop("id", engine.String), storetest.Ref("first", squad), prop("size", engine.Int), prop("other", engine.Int))
		desk := storetest.NewClass("desk", prop("id", engine.String), prop("size", engine.Int), prop("first", engine.Int))
		storetest.Link(person, squad, team, desk)
		calculated := func(c *engine.Class, name, source string, cached bool) {
			f, err := formula.Compile(c, source)
			if err != nil {
				t.Fatal(err)
			}
			property := c.Property(name)
			property.Formula, property.Cached = f, cached
		}
		calculated(squad, "size", `count(person)`, true)
		calculated(team, "size", `sum(squad, size)`, true)
		calculated(team, "other", `add($first.size, 1)`, true)
		calculated(desk, "size", `sum(team, size)`, false)
		calculated(desk, "first", `sum(team, other)`, false)
		storetest.Link(person, squad, team, desk)
		log := &statementLog{}
		st := openLogged(t, p, log, person, squad, team, desk)
		guard := &owners{limits: map[*engine.Class]*engine.Filter{person: {Op: engine.OpEq, Left: engine.Attribute(person.Property("owner")), Right: engine.Constant(engine.String, "ann")}}}
		ctx := engine.WithGuard(t.Context(), guard)
		made := 0
		statements := func(items int) int {
			for ; made < items; made++ {
				id := fmt.Sprint(made)
				for _, c := range []*engine.Class{person, squad, team, desk} {
					v := row(c, "id", id)
					if c == person && made == 0 {
						v = row(c, "id", id, "owner", "ann")
					}
					if c == team {
						v = row(c, "id", id, "first", "0")
					}
					if _, err := st.Create(t.Context(), c, v, engine.WriteOptions{}); err != nil {
						t.Fatal(err)
					}
				}
			}
			return len(log.of(func() {
				err := st.List(ctx, &engine.Query{Class: desk, Count: -1}, func(it *engine.Item) error {
					if got, want := fmt.Sprint(it.Get("size"), it.Get("first")), fmt.Sprint(items*items, 2*items); got != want {
						t.Errorf("desk %s of %d teams and squads: got %s, want %s", it.ID, items, got, want)
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}))
		}
		few, many := statements(3), statements(9)
		if few != many {
			t.Errorf("got %d statements for 3 items of each class and %d for 9, want as many", few, many)
		}
	})
}
