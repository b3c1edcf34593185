package guard

import (
	"testing"

	"restsrv/engine"
	"restsrv/engine/query"
	"restsrv/engine/store/storetest"
)

var guardKeptTests = []storetest.Test{
	{Name: "kept values of formulas", Run: guardKept},
	{Name: "kept values of formulas in conditions", Run: guardKeptConditions},
	{Name: "kept values of formulas after writes", Run: guardKeptWrites},
}

// keeper is a repository with classes for tests of kept values. The attribute "words" of team has the formula
// engine.KeepValue, which replaces a formula that cannot be compiled and keeps the stored value. Other attributes of
// team and desk are computed from "words".
type keeper struct {
	engine.Repository
	team, squad, desk, box *engine.Class
}

func openKeeper(t *testing.T, open storetest.Open) *keeper {
	k := &keeper{}
	k.team = storetest.NewClass("team", storetest.Prop("id", engine.String), storetest.Prop("title", engine.String, storetest.Searched), storetest.Prop("words", engine.String, storetest.Cached, storetest.Searched, storetest.Indexed),
		storetest.Prop("live", engine.String), storetest.Prop("copy", engine.String, storetest.Cached))
	k.team.Property("words").Formula = engine.KeepValue{Cached: true}
	storetest.SetFormulas(k.team, "live", `concat($words, '?')`, "copy", `concat($words, '!')`)
	k.team.Semantic = "title|: |words"
	k.squad = storetest.Extend(k.team, "squad", storetest.Prop("size", engine.Int))
	k.desk = storetest.NewClass("desk", storetest.Prop("id", engine.String), storetest.Ref("team", k.team), storetest.Prop("sign", engine.String), storetest.Prop("found", engine.String))
	storetest.SetFormulas(k.desk, "sign", `concat($team.words, '!')`, "found", `max(team, words)`)
	k.box = storetest.NewClass("box", storetest.Prop("id", engine.String))
	storetest.Link(k.team, k.squad, k.desk, k.box)
	k.Repository = open(t, []*engine.Class{k.team, k.squad, k.desk, k.box})
	var stored storetest.Archive
	if w, whole := k.Repository.(storetest.Whole); whole {
		stored = w.Repository.(storetest.Archive)
	} else {
		stored = k.Repository.(storetest.Archive)
	}
	err := stored.Import(t.Context(), []*engine.Item{
		storetest.NewObject(k.team, "", "", "id", "t", "title", "Team", "words", "secret"),
		storetest.NewObject(k.squad, "", "", "id", "s", "title", "Squad", "words", "hidden"),
		storetest.NewObject(k.desk, "", "", "id", "d", "team", "t"),
	})
	if err != nil {
		t.Fatal(err)
	}
	storetest.Update(t, k, k.team, "t", "title", "Team") // also computes the attribute copy
	storetest.Update(t, k, k.squad, "s", "title", "Squad")
	return k
}

// accounts returns repositories for accounts that may not read all items. These accounts should not see kept values,
// because it is not known from which items a kept value was computed.
func (k *keeper) accounts(t *testing.T) map[string]engine.Repository {
	return map[string]engine.Repository{
		"without another class": storetest.WithGuard(k, new(storetest.Rules).Only(engine.Never(), k.box, engine.MayRead)),
		"with some desks":       storetest.WithGuard(k, new(storetest.Rules).Only(storetest.ParseFilter(t, k.desk, `{"id":"d"}`), k.desk, engine.MayRead)),
		"with some teams":       storetest.WithGuard(k, new(storetest.Rules).Only(storetest.ParseFilter(t, k.team, `{"id":{"$in":["t","s"]}}`), k.team, engine.MayRead)),
	}
}

// keptOf returns the kept value of a team and the values that are computed from it, as the account has read them.
func keptOf(it *engine.Item) []any {
	return []any{it.Get("words"), it.Get("live"), it.Get("copy"), it.String()}
}

func guardKept(t *testing.T, open storetest.Open) {
	k := openKeeper(t, open)
	every := k.accounts(t)
	every["everything"] = k
	for who, r := range every {
		want, sign, best := []any{nil, "?", "!", "Team: "}, "!", any(nil)
		if who == "everything" {
			want, sign, best = []any{"secret", "secret?", "secret!", "Team: secret"}, "secret!", "secret"
		}
		storetest.CheckSame(t, who+": one", keptOf(storetest.Get(t, r, k.team, "t")), want)
		storetest.CheckSame(t, who+": listed", keptOf(storetest.ListLoaded(t, r, storetest.All(k.team))["t"]), want)
		storetest.CheckSame(t, who+": of a descendant", storetest.Get(t, r, k.squad, "s").Get("words") != nil, who == "everything")
		d, err := r.Get(t.Context(), k.desk, "d", storetest.NewLoad(k.desk, "team"))
		if err != nil {
			t.Fatal(err)
		}
		storetest.CheckSame(t, who+": loaded", keptOf(storetest.LinkOf(d, "team").Item), want)
		storetest.CheckSame(t, who+": computed of it", []any{d.Get("sign"), d.Get("found")}, []any{sign, best})
		storetest.CheckSame(t, who+": updated", keptOf(storetest.Update(t, r, k.team, "t", "title", "Team")), want)
		storetest.CheckSame(t, who+": nothing updated", keptOf(storetest.Update(t, r, k.team, "t")), want)
		storetest.CheckSame(t, who+": saved", keptOf(storetest.Save(t, r, storetest.NewRecord(k.team, "t", "title", "Team"))[0]), want)
	}
}

func guardKeptConditions(t *testing.T, open storetest.Open) {
	k := openKeeper(t, open)
	for who, r := range k.accounts(t) {
		refused := func(what string, err error) {
			t.Helper()
			storetest.CheckError(t, err, engine.Invalid, "calculated")
		}
		for _, filter := range []string{`{"words":"secret"}`, `{"not":[{"gt":["$words","x"]}]}`, `{"copy":"secret!"}`, `{"empty":["$words"]}`, `{"words":{"$regex":"^s"}}`, `{"eq":[{"upper":["$words"]},"SECRET"]}`} {
			q := &engine.Query{Class: k.team, Filter: storetest.ParseFilter(t, k.team, filter), Count: -1}
			refused(filter, tryList(t, r, q))
			_, err := r.Count(t.Context(), q)
			refused("count "+filter, err)
			_, err = r.DeleteAll(t.Context(), q)
			refused("delete "+filter, err)
			_, err = r.UpdateAll(t.Context(), q, storetest.NewValues(k.team, "title", "x"))
			storetest.CheckDenied(t, who+": update "+filter, err)
		}
		refused("a path", tryList(t, r, &engine.Query{Class: k.desk, Filter: storetest.ParseFilter(t, k.desk, `{"team.words":"secret"}`), Count: -1}))
		for _, c := range []struct {
			class *engine.Class
			by    string
		}{{k.team, "-words"}, {k.team, "copy"}, {k.desk, "team.words"}} {
			by, err := query.ParseSortList(c.class, c.by)
			if err != nil {
				t.Fatal(err)
			}
			refused("an order by "+c.by, tryList(t, r, &engine.Query{Class: c.class, Sort: by, Count: -1}))
		}
		for _, source := range []string{`{"fields":{"x":"$words"}}`, `{"aggregates":{"x":{"max":["$words"]}}}`, `{"aggregates":{"x":{"count":[{"eq":["$words","secret"]}]}}}`} {
			a, err := query.ParseAggregation(k.team, storetest.DecodeJSON(t, source), storetest.Now)
			if err != nil {
				t.Fatalf("%s: %v", source, err)
			}
			refused(source, r.Aggregate(t.Context(), a, func([]any) error { return nil }))
		}
		for search, want := range map[string][]string{"secret": {}, "hidden": {}, "team": {"t"}} {
			storetest.CheckSame(t, who+": search "+search, storetest.ListIDs(t, r, &engine.Query{Class: k.team, Search: search, Count: -1}), want)
		}
	}
	storetest.CheckSame(t, "a filter", storetest.ListIDs(t, k, &engine.Query{Class: k.team, Filter: storetest.ParseFilter(t, k.team, `{"words":"secret"}`), Count: -1}), []string{"t"})
	storetest.CheckSame(t, "a search", storetest.ListIDs(t, k, &engine.Query{Class: k.team, Search: "hidden", Count: -1}), []string{"s"})
}

// guardKeptWrites changes items for accounts that should not see kept values. The writes should not change the kept
// values.
func guardKeptWrites(t *testing.T, open storetest.Open) {
	k := openKeeper(t, open)
	stays := func(what, id string) {
		t.Helper()
		storetest.CheckSame(t, what, keptOf(storetest.Get(t, k, k.team, id))[:3], []any{"secret", "secret?", "secret!"})
	}
	for who, r := range k.accounts(t) {
		storetest.Update(t, r, k.team, "t", "title", "1")
		stays(who+": update", "t")
		storetest.Save(t, r, storetest.NewRecord(k.team, "t", "title", "2"), storetest.NewRecord(k.team, "t", "title", "3"))
		stays(who+": save", "t")
		storetest.Save(t, r, storetest.NewRecord(k.desk, "d", "team", storetest.NestedRecord(k.team, "id", "t", "title", "4")))
		stays(who+": nested save", "t")
		n, err := r.UpdateAll(t.Context(), &engine.Query{Class: k.team, Filter: storetest.ParseFilter(t, k.team, `{"id":"t"}`), Count: -1}, storetest.NewValues(k.team, "title", "5"))
		storetest.CheckSame(t, who+": changed at once", []any{n, err}, []any{int64(1), nil})
		stays(who+": change of all", "t")
		if who != "with some teams" {
			storetest.Update(t, r, k.team, "t", "id", "new")
			stays(who+": change of the key", "new")
			storetest.Update(t, r, k.team, "new", "id", "t")
		}
	}
	storetest.CheckSame(t, "created with a value", storetest.Create(t, k, k.team, "id", "n").Get("words"), nil)
}
