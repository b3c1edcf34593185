package guard

import (
	"testing"

	"restsrv/engine"
	"restsrv/engine/query"
	"restsrv/engine/store/storetest"
)

var guardFormulaTests = []storetest.Test{
	{Name: "defaults read only what the account may read", Run: guardDefaults},
	{Name: "cached attributes of items that may not all be read", Run: guardCached},
	{Name: "cached attributes in conditions", Run: guardCachedConditions},
	{Name: "cached attributes of cached attributes", Run: guardCachedChain},
	{Name: "cached attributes that cannot be computed", Run: guardCachedErrors},
	{Name: "cached attributes of an item that cannot be computed", Run: guardCachedOwn},
}

// guardDefaults creates items with defaults that are computed from other items. For every kind of write, an item that
// the account may not read should count as missing, and a hidden attribute as null.
func guardDefaults(t *testing.T, open storetest.Open) {
	person := storetest.NewClass("person", storetest.Prop("id", engine.String), storetest.Prop("name", engine.String), storetest.Prop("salary", engine.Int), storetest.Prop("owner", engine.String), storetest.Prop("rank", engine.Int))
	note := storetest.NewClass("note", storetest.Prop("id", engine.String), storetest.Ref("who", person), storetest.Prop("name", engine.String), storetest.Prop("salary", engine.String), storetest.Prop("total", engine.Int),
		storetest.Prop("sum", engine.Int), storetest.Prop("count", engine.Int), storetest.Prop("best", engine.String), storetest.Prop("found", engine.String), storetest.Prop("code", engine.Int), storetest.Prop("secret", engine.String), storetest.Prop("copy", engine.String))
	folder := storetest.NewClass("folder", storetest.Prop("id", engine.String), storetest.LinkCollection("notes", note), storetest.Ref("main", note))
	for name, source := range map[string]string{"name": `$who.name`, "salary": `concat($who.name, '/', $who.salary)`, "total": `sum(person, salary)`, "sum": `sum(person, rank)`,
		"count": `count(person)`, "best": `max(person, name)`, "found": `get(person, rank, 3)`, "copy": `concat($secret, '!')`} {
		note.Property(name).Computed = storetest.CompileFormula(note, source)
	}
	note.Property("secret").Default = "plain"
	storetest.Link(person, note, folder)
	o := open(t, []*engine.Class{person, note, folder})
	for i, p := range []string{"ann", "bob", "cid"} {
		storetest.Create(t, o, person, "id", p, "name", p, "salary", int64(100*i+100), "rank", int64(i+1), "owner", map[int]any{0: "me", 1: "me"}[i])
	}
	check := func(what string, r engine.Repository, prefix string, want map[string][]any) {
		t.Helper()
		for who, values := range want {
			id := prefix + who
			it := storetest.Get(t, r, note, id)
			storetest.CheckSame(t, what+" at "+who, []any{it.Get("name"), it.Get("salary"), it.Get("total"), it.Get("sum"), it.Get("count"), it.Get("best"), it.Get("found"), it.Get("copy")}, values)
		}
	}
	all := map[string][]any{
		"bob": {"bob", "bob/200", int64(600), int64(6), int64(3), "cid", "cid", "plain!"},
		"cid": {"cid", "cid/300", int64(600), int64(6), int64(3), "cid", "cid", "plain!"},
	}
	some := map[string][]any{
		"bob": {"bob", "bob/", int64(0), int64(3), int64(2), "bob", nil, "!"},
		"cid": {nil, "/", int64(0), int64(3), int64(2), "bob", nil, "!"},
	}
	r := storetest.WithGuard(o, new(storetest.Rules).Only(storetest.ParseFilter(t, person, `{"owner":"me"}`), person, engine.MayRead).Hide(engine.MayRead, person, "salary").Hide(engine.MayRead, note, "secret"))
	for who := range all {
		storetest.Create(t, o, note, "id", "all"+who, "who", who)
		storetest.Create(t, r, note, "id", "one"+who, "who", who)
		storetest.Save(t, r, storetest.NewRecord(note, "save"+who, "who", who), storetest.NewRecord(note, "", "id", "new"+who, "who", who))
		storetest.Save(t, r, storetest.NewRecord(folder, "saved"+who, "main", storetest.NestedRecord(note, "id", "main"+who, "who", who)))
		storetest.Create(t, r, folder, "id", who, "notes", storetest.AddLinks(storetest.NestedRecord(note, "id", "member"+who, "who", who)))
	}
	check("of all", o, "all", all)
	for _, what := range []string{"one", "save", "new", "main", "member"} {
		check(what, o, what, some)
	}
}

// team is a repository of people in teams. Cached attributes of a team are computed from its members or from all
// people.
type team struct {
	engine.Repository
	team, person, desk *engine.Class
}

func openTeams(t *testing.T, open storetest.Open) *team {
	w := &team{}
	w.team = storetest.NewClass("team", storetest.Prop("id", engine.String), storetest.Prop("title", engine.String, storetest.Searched), storetest.Prop("names", engine.String, storetest.Cached, storetest.Searched), storetest.Prop("size", engine.Int, storetest.Cached),
		storetest.Prop("people", engine.Int, storetest.Cached), storetest.Prop("plain", engine.String, storetest.Cached), storetest.Prop("live", engine.String))
	w.person = storetest.NewClass("person", storetest.Prop("id", engine.String), storetest.Prop("name", engine.String), storetest.Prop("owner", engine.String), storetest.Ref("team", w.team))
	w.desk = storetest.NewClass("desk", storetest.Prop("id", engine.String), storetest.Ref("team", w.team), storetest.Prop("sign", engine.String), storetest.Prop("found", engine.Int))
	storetest.AddProperties(w.team, storetest.BackProperty(engine.Collection, "members", w.person, "team"), storetest.Ref("lead", w.person, storetest.Cached))
	storetest.SetFormulas(w.team, "live", `concat($names, '?')`, "names", `merge($members, name)`, "size", `count($members)`, "people", `count(person)`,
		"plain", `concat($title, '.')`, "lead", `get(person, name, 'Max')`)
	storetest.SetFormulas(w.desk, "sign", `concat($team.names, '!')`, "found", `sum(team, size)`)
	w.team.Semantic = "title|: |names"
	w.person.Dependencies = [][]string{{"team"}}
	storetest.Link(w.team, w.person, w.desk)
	w.Repository = open(t, []*engine.Class{w.team, w.person, w.desk})
	storetest.Create(t, w, w.team, "id", "t", "title", "Team")
	storetest.Create(t, w, w.team, "id", "none", "title", "None")
	for _, p := range []string{"Ann", "Bob", "Max"} {
		storetest.Create(t, w, w.person, "id", p[:1], "name", p, "owner", p, "team", "t")
	}
	storetest.Update(t, w, w.team, "t", "title", "Team") // also computes the attributes that depend on all people
	storetest.Create(t, w, w.desk, "id", "d", "team", "t")
	return w
}

// ofAnn returns the repository for an account that may read only one person, the one named Ann.
func (w *team) ofAnn(t *testing.T) storetest.Guarded {
	return storetest.WithGuard(w, new(storetest.Rules).Only(storetest.ParseFilter(t, w.person, `{"owner":"Ann"}`), w.person, engine.MayRead))
}

// teamValues returns the calculated values of a team that an account has read.
func teamValues(it *engine.Item) []any {
	return []any{it.Get("names"), it.Get("size"), it.Get("people"), it.Get("plain"), it.Get("live"), it.Get("lead"), it.String()}
}

// guardCached checks all methods that return items. Instead of the stored values of cached attributes, they should
// return values that are computed for the account.
func guardCached(t *testing.T, open storetest.Open) {
	w := openTeams(t, open)
	r := w.ofAnn(t)
	for _, x := range []struct {
		who  string
		r    engine.Repository
		want []any
		sign string
	}{
		{"ann", r, []any{"Ann", int64(1), int64(1), "Team.", "Ann?", nil, "Team: Ann"}, "Ann!"},
		{"all", w, []any{"Ann Bob Max", int64(3), int64(3), "Team.", "Ann Bob Max?", "M", "Team: Ann Bob Max"}, "Ann Bob Max!"},
		{"an account that may read all people", storetest.WithGuard(w, new(storetest.Rules).Only(storetest.ParseFilter(t, w.desk, `{"id":"d"}`), w.desk, engine.MayRead)),
			[]any{"Ann Bob Max", int64(3), int64(3), "Team.", "Ann Bob Max?", "M", "Team: Ann Bob Max"}, "Ann Bob Max!"},
		{"nobody", storetest.WithGuard(w, new(storetest.Rules).Only(engine.Never(), w.person, engine.MayRead)), []any{"", int64(0), int64(0), "Team.", "?", nil, "Team: "}, "!"},
	} {
		storetest.CheckSame(t, x.who+": one", teamValues(storetest.Get(t, x.r, w.team, "t")), x.want)
		storetest.CheckSame(t, x.who+": listed", teamValues(storetest.ListLoaded(t, x.r, storetest.All(w.team))["t"]), x.want)
		d, err := x.r.Get(t.Context(), w.desk, "d", storetest.NewLoad(w.desk, "team"))
		if err != nil {
			t.Fatal(err)
		}
		storetest.CheckSame(t, x.who+": loaded", teamValues(storetest.LinkOf(d, "team").Item), x.want)
		storetest.CheckSame(t, x.who+": computed of it", []any{d.Get("sign"), d.Get("found")}, []any{x.sign, x.want[1]})
		it, err := x.r.Get(t.Context(), w.team, "t", storetest.NewLoad(w.team, "lead"))
		if err != nil {
			t.Fatal(err)
		}
		storetest.CheckSame(t, x.who+": referenced item", storetest.LinkOf(it, "lead").Item != nil, x.want[5] != nil)
		storetest.CheckSame(t, x.who+": updated", teamValues(storetest.Update(t, x.r, w.team, "t", "title", "Team")), x.want)
		storetest.CheckSame(t, x.who+": update without values", teamValues(storetest.Update(t, x.r, w.team, "t")), x.want)
		storetest.CheckSame(t, x.who+": saved", teamValues(storetest.Save(t, x.r, storetest.NewRecord(w.team, "t", "title", "Team"))[0]), x.want)
		storetest.CheckSame(t, x.who+": stored", teamValues(storetest.Get(t, w, w.team, "t"))[0], "Ann Bob Max")
	}
	storetest.CheckSame(t, "created", teamValues(storetest.Create(t, r, w.team, "id", "new", "title", "New"))[:3], []any{"", int64(0), int64(1)})
}

// guardCachedConditions uses cached attributes in filters, sort orders, aggregations and searches, which work on
// stored values. The account may not read all items from which the stored values were computed. Queries with such
// attributes should be refused, but a search should ignore the attributes.
func guardCachedConditions(t *testing.T, open storetest.Open) {
	w := openTeams(t, open)
	r := w.ofAnn(t)
	refused := func(what, name string, err error) {
		t.Helper()
		e := storetest.CheckError(t, err, engine.Invalid, "calculated")
		storetest.CheckSame(t, what, []string{e.Class, e.Attribute}, []string{"team@test", name})
	}
	for filter, name := range map[string]string{`{"names":"Ann Bob Max"}`: "names", `{"not":[{"gt":["$size",2]}]}`: "size", `{"lead":"M"}`: "lead", `{"lead.name":"Max"}`: "lead"} {
		q := &engine.Query{Class: w.team, Filter: storetest.ParseFilter(t, w.team, filter), Count: -1}
		storetest.CheckSame(t, filter, len(storetest.ListIDs(t, w, q)) > 0, true)
		refused(filter, name, tryList(t, r, q))
		_, err := r.Count(t.Context(), q)
		refused("count "+filter, name, err)
		_, err = r.DeleteAll(t.Context(), q)
		refused("delete "+filter, name, err)
	}
	of := &engine.Query{Class: w.desk, Filter: storetest.ParseFilter(t, w.desk, `{"team.names":"Ann Bob Max"}`), Count: -1}
	refused("a path", "names", tryList(t, r, of))
	sorts, err := query.ParseSortList(w.team, "-names")
	if err != nil {
		t.Fatal(err)
	}
	refused("an order", "names", tryList(t, r, &engine.Query{Class: w.team, Sort: sorts, Count: -1}))
	a, err := query.ParseAggregation(w.team, storetest.DecodeJSON(t, `{"fields":{"x":"$names"}}`), storetest.Now)
	if err != nil {
		t.Fatal(err)
	}
	refused("an aggregate", "names", r.Aggregate(t.Context(), a, func([]any) error { return nil }))
	for search, want := range map[string][]string{"bob": {}, "ann": {}, "team": {"t"}} {
		storetest.CheckSame(t, "search "+search, storetest.ListIDs(t, r, &engine.Query{Class: w.team, Search: search, Count: -1}), want)
	}
	storetest.CheckSame(t, "search of an account that may read all", storetest.ListIDs(t, w, &engine.Query{Class: w.team, Search: "bob", Count: -1}), []string{"t"})
	storetest.CheckSame(t, "attribute computed from the item alone", storetest.ListIDs(t, r, &engine.Query{Class: w.team, Filter: storetest.ParseFilter(t, w.team, `{"plain":"Team."}`), Count: -1}), []string{"t"})
}

func tryList(t *testing.T, r engine.Repository, q *engine.Query) error {
	t.Helper()
	return r.List(t.Context(), q, func(*engine.Item) error { return nil })
}

// guardCachedChain reads cached attributes that are computed from other cached attributes: attributes of a country are
// computed from its cities, and attributes of a city from its districts.
func guardCachedChain(t *testing.T, open storetest.Open) {
	l := storetest.OpenLands(t, open)
	for id := range int64(3) {
		l.NewDistrict(t, id+1, 1+id%2)
	}
	r := storetest.WithGuard(l, new(storetest.Rules).Only(storetest.ParseFilter(t, l.District, `{"id":{"$lt":3}}`), l.District, engine.MayRead))
	storetest.CheckSame(t, "stored", []any{storetest.Get(t, l, l.Country, "1").Get("districts"), storetest.Get(t, l, l.City, "1").Get("twice")}, []any{int64(3), int64(4)})
	storetest.CheckSame(t, "computed", []any{storetest.Get(t, r, l.Country, "1").Get("districts"), storetest.Get(t, r, l.City, "1").Get("twice")}, []any{int64(2), int64(2)})
	c, err := r.Get(t.Context(), l.Country, "1", storetest.NewLoad(l.Country, "cities"))
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "of members", storetest.LinkOf(c, "cities").Items[0].Get("title"), "Oslo, Norway: 1")
	filter := &engine.Query{Class: l.Country, Filter: storetest.ParseFilter(t, l.Country, `{"cities.twice":4}`), Count: -1}
	storetest.CheckError(t, tryList(t, r, filter), engine.Invalid, "calculated")
}

// guardCachedErrors writes items with a cached attribute that is computed from items which the account may not read.
// The computed value violates a rule, so the write fails. The error should not disclose data of the items that the
// account may not read.
func guardCachedErrors(t *testing.T, open storetest.Open) {
	person := storetest.NewClass("person", storetest.Prop("id", engine.String), storetest.Prop("name", engine.String))
	card := storetest.NewClass("card", storetest.Prop("id", engine.String), storetest.Ref("who", person), storetest.Prop("text", engine.String, storetest.Cached, storetest.Unique))
	storetest.SetFormulas(card, "text", `concat('of ', $who.name)`)
	storetest.Link(person, card)
	o := open(t, []*engine.Class{person, card})
	for _, id := range []string{"1", "2"} {
		storetest.Create(t, o, person, "id", id, "name", "Max")
	}
	storetest.Create(t, o, card, "id", "1", "who", "1")
	e := storetest.CheckError(t, storetest.TryCreate(t, o, card, "id", "2", "who", "2"), engine.Invalid, "duplicate")
	storetest.CheckSame(t, "error for an account that may read all", e.Attribute, "text")
	r := storetest.WithGuard(o, new(storetest.Rules).Only(engine.Never(), person, engine.MayRead))
	storetest.CheckDenied(t, "a duplicate of a hidden item", storetest.TryCreate(t, r, card, "id", "2", "who", "2"))
	storetest.CheckDenied(t, "in a save", storetest.TrySave(t, r, storetest.NewRecord(card, "2", "who", "2")))
}

// guardCachedOwn writes items with values for which the formula of a cached attribute fails. The formula reads only
// the item itself. The error should name the item and the attribute, even if the account may not read the class.
func guardCachedOwn(t *testing.T, open storetest.Open) {
	card := storetest.NewClass("card", storetest.Prop("id", engine.String), storetest.Prop("pattern", engine.String), storetest.Prop("fits", engine.Boolean, storetest.Cached))
	storetest.SetFormulas(card, "fits", `like($id, $pattern)`)
	storetest.Link(card)
	o := open(t, []*engine.Class{card})
	storetest.Create(t, o, card, "id", "1", "pattern", "1")
	r := storetest.WithGuard(o, new(storetest.Rules).Only(engine.Never(), card, engine.MayRead))
	for what, err := range map[string]error{
		"create": storetest.TryCreate(t, r, card, "id", "2", "pattern", "("),
		"save":   storetest.TrySave(t, r, storetest.NewRecord(card, "3", "pattern", "3"), storetest.NewRecord(card, "2", "pattern", "(")),
	} {
		e := storetest.CheckError(t, err, engine.Invalid, "formula")
		storetest.CheckSame(t, what, []string{e.Class, e.ID, e.Attribute}, []string{"card@test", "2", "fits"})
	}
}
