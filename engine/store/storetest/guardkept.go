package storetest

import (
	"testing"

	"restsrv/engine"
	"restsrv/engine/query"
)

var guardKeptTests = []test{
	{"kept values of formulas", guardKept},
	{"kept values of formulas in conditions", guardKeptConditions},
	{"kept values of formulas after writes", guardKeptWrites},
}

// keeper has teams. The formula of their attribute words cannot be compiled, so its stored
// values are kept. Other attributes are computed from words.
type keeper struct {
	engine.Repository
	team, squad, desk, box *engine.Class
}

func openKeeper(t *testing.T, open Open) *keeper {
	k := &keeper{}
	k.team = NewClass("team", Prop("id", engine.String), Prop("title", engine.String, searched), Prop("words", engine.String, cached, searched, indexed),
		Prop("live", engine.String), Prop("copy", engine.String, cached))
	k.team.Property("words").Formula = engine.KeepValue{Cached: true}
	setFormulas(k.team, "live", `concat($words, '?')`, "copy", `concat($words, '!')`)
	k.team.Semantic = "title|: |words"
	k.squad = Extend(k.team, "squad", Prop("size", engine.Int))
	k.desk = NewClass("desk", Prop("id", engine.String), Ref("team", k.team), Prop("sign", engine.String), Prop("found", engine.String))
	setFormulas(k.desk, "sign", `concat($team.words, '!')`, "found", `max(team, words)`)
	k.box = NewClass("box", Prop("id", engine.String))
	Link(k.team, k.squad, k.desk, k.box)
	k.Repository = open(t, []*engine.Class{k.team, k.squad, k.desk, k.box})
	var stored archive
	if w, whole := k.Repository.(Whole); whole {
		stored = w.Repository.(archive)
	} else {
		stored = k.Repository.(archive)
	}
	err := stored.Import(t.Context(), []*engine.Item{
		object(k.team, "", "", "id", "t", "title", "Team", "words", "secret"),
		object(k.squad, "", "", "id", "s", "title", "Squad", "words", "hidden"),
		object(k.desk, "", "", "id", "d", "team", "t"),
	})
	if err != nil {
		t.Fatal(err)
	}
	update(t, k, k.team, "t", "title", "Team") // computes the copies
	update(t, k, k.squad, "s", "title", "Squad")
	return k
}

// accounts returns repositories of accounts that may not read all items. The origin of a
// kept value is unknown, so the stored values are withheld from these accounts.
func (k *keeper) accounts(t *testing.T) map[string]engine.Repository {
	return map[string]engine.Repository{
		"without another class": under(k, new(rules).only(engine.Never(), k.box, engine.MayRead)),
		"with some desks":       under(k, new(rules).only(parsed(t, k.desk, `{"id":"d"}`), k.desk, engine.MayRead)),
		"with some teams":       under(k, new(rules).only(parsed(t, k.team, `{"id":{"$in":["t","s"]}}`), k.team, engine.MayRead)),
	}
}

// keptOf returns the kept values of a team, and the values computed from them, as the
// account reads them.
func keptOf(it *engine.Item) []any {
	return []any{it.Get("words"), it.Get("live"), it.Get("copy"), it.String()}
}

func guardKept(t *testing.T, open Open) {
	k := openKeeper(t, open)
	every := k.accounts(t)
	every["everything"] = k
	for who, r := range every {
		want, sign, best := []any{nil, "?", "!", "Team: "}, "!", any(nil)
		if who == "everything" {
			want, sign, best = []any{"secret", "secret?", "secret!", "Team: secret"}, "secret!", "secret"
		}
		same(t, who+": one", keptOf(get(t, r, k.team, "t")), want)
		same(t, who+": listed", keptOf(listed(t, r, all(k.team))["t"]), want)
		same(t, who+": of a descendant", get(t, r, k.squad, "s").Get("words") != nil, who == "everything")
		d, err := r.Get(t.Context(), k.desk, "d", load(k.desk, "team"))
		if err != nil {
			t.Fatal(err)
		}
		same(t, who+": loaded", keptOf(linkOf(d, "team").Item), want)
		same(t, who+": computed of it", []any{d.Get("sign"), d.Get("found")}, []any{sign, best})
		same(t, who+": updated", keptOf(update(t, r, k.team, "t", "title", "Team")), want)
		same(t, who+": nothing updated", keptOf(update(t, r, k.team, "t")), want)
		same(t, who+": saved", keptOf(save(t, r, record(k.team, "t", "title", "Team"))[0]), want)
	}
}

func guardKeptConditions(t *testing.T, open Open) {
	k := openKeeper(t, open)
	for who, r := range k.accounts(t) {
		refused := func(what string, err error) {
			t.Helper()
			fails(t, err, engine.Invalid, "calculated")
		}
		for _, filter := range []string{`{"words":"secret"}`, `{"not":[{"gt":["$words","x"]}]}`, `{"copy":"secret!"}`, `{"empty":["$words"]}`, `{"words":{"$regex":"^s"}}`, `{"eq":[{"upper":["$words"]},"SECRET"]}`} {
			q := &engine.Query{Class: k.team, Filter: parsed(t, k.team, filter), Count: -1}
			refused(filter, tryList(t, r, q))
			_, err := r.Count(t.Context(), q)
			refused("count "+filter, err)
			_, err = r.DeleteAll(t.Context(), q)
			refused("delete "+filter, err)
			_, err = r.UpdateAll(t.Context(), q, values(k.team, "title", "x"))
			denied(t, who+": update "+filter, err)
		}
		refused("a path", tryList(t, r, &engine.Query{Class: k.desk, Filter: parsed(t, k.desk, `{"team.words":"secret"}`), Count: -1}))
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
			a, err := query.ParseAggregation(k.team, decoded(t, source), now)
			if err != nil {
				t.Fatalf("%s: %v", source, err)
			}
			refused(source, r.Aggregate(t.Context(), a, func([]any) error { return nil }))
		}
		for search, want := range map[string][]string{"secret": {}, "hidden": {}, "team": {"t"}} {
			same(t, who+": search "+search, ids(t, r, &engine.Query{Class: k.team, Search: search, Count: -1}), want)
		}
	}
	same(t, "a filter", ids(t, k, &engine.Query{Class: k.team, Filter: parsed(t, k.team, `{"words":"secret"}`), Count: -1}), []string{"t"})
	same(t, "a search", ids(t, k, &engine.Query{Class: k.team, Search: "hidden", Count: -1}), []string{"s"})
}

// guardKeptWrites changes items for accounts from which the stored values are withheld.
// The stored values should not change.
func guardKeptWrites(t *testing.T, open Open) {
	k := openKeeper(t, open)
	stays := func(what, id string) {
		t.Helper()
		same(t, what, keptOf(get(t, k, k.team, id))[:3], []any{"secret", "secret?", "secret!"})
	}
	for who, r := range k.accounts(t) {
		update(t, r, k.team, "t", "title", "1")
		stays(who+": update", "t")
		save(t, r, record(k.team, "t", "title", "2"), record(k.team, "t", "title", "3"))
		stays(who+": save", "t")
		save(t, r, record(k.desk, "d", "team", sub(k.team, "id", "t", "title", "4")))
		stays(who+": nested save", "t")
		n, err := r.UpdateAll(t.Context(), &engine.Query{Class: k.team, Filter: parsed(t, k.team, `{"id":"t"}`), Count: -1}, values(k.team, "title", "5"))
		same(t, who+": changed at once", []any{n, err}, []any{int64(1), nil})
		stays(who+": change of all", "t")
		if who != "with some teams" {
			update(t, r, k.team, "t", "id", "new")
			stays(who+": change of the key", "new")
			update(t, r, k.team, "new", "id", "t")
		}
	}
	same(t, "created with a value", create(t, k, k.team, "id", "n").Get("words"), nil)
}
