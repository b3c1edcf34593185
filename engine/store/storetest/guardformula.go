package storetest

import (
	"testing"

	"restsrv/engine"
	"restsrv/engine/query"
)

var guardFormulaTests = []test{
	{"defaults read only what the account may read", guardDefaults},
	{"cached attributes of items that may not all be read", guardCached},
	{"cached attributes in conditions", guardCachedConditions},
	{"cached attributes of cached attributes", guardCachedChain},
	{"cached attributes that cannot be computed", guardCachedErrors},
	{"cached attributes of an item that cannot be computed", guardCachedOwn},
}

// guardDefaults creates items with defaults that read other items. Hidden items should count as
// missing and hidden attributes as null, however the item is created.
func guardDefaults(t *testing.T, open Open) {
	person := NewClass("person", Prop("id", engine.String), Prop("name", engine.String), Prop("salary", engine.Int), Prop("owner", engine.String), Prop("rank", engine.Int))
	note := NewClass("note", Prop("id", engine.String), Ref("who", person), Prop("name", engine.String), Prop("salary", engine.String), Prop("total", engine.Int),
		Prop("sum", engine.Int), Prop("count", engine.Int), Prop("best", engine.String), Prop("found", engine.String), Prop("code", engine.Int), Prop("secret", engine.String), Prop("copy", engine.String))
	folder := NewClass("folder", Prop("id", engine.String), nm("notes", note), Ref("main", note))
	for name, source := range map[string]string{"name": `$who.name`, "salary": `concat($who.name, '/', $who.salary)`, "total": `sum(person, salary)`, "sum": `sum(person, rank)`,
		"count": `count(person)`, "best": `max(person, name)`, "found": `get(person, rank, 3)`, "copy": `concat($secret, '!')`} {
		note.Property(name).Computed = compileFormula(note, source)
	}
	note.Property("secret").Default = "plain"
	Link(person, note, folder)
	o := open(t, []*engine.Class{person, note, folder})
	for i, p := range []string{"ann", "bob", "cid"} {
		create(t, o, person, "id", p, "name", p, "salary", int64(100*i+100), "rank", int64(i+1), "owner", map[int]any{0: "me", 1: "me"}[i])
	}
	check := func(what string, r engine.Repository, prefix string, want map[string][]any) {
		t.Helper()
		for who, values := range want {
			id := prefix + who
			it := get(t, r, note, id)
			same(t, what+" at "+who, []any{it.Get("name"), it.Get("salary"), it.Get("total"), it.Get("sum"), it.Get("count"), it.Get("best"), it.Get("found"), it.Get("copy")}, values)
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
	r := under(o, new(rules).only(parsed(t, person, `{"owner":"me"}`), person, engine.MayRead).hide(engine.MayRead, person, "salary").hide(engine.MayRead, note, "secret"))
	for who := range all {
		create(t, o, note, "id", "all"+who, "who", who)
		create(t, r, note, "id", "one"+who, "who", who)
		save(t, r, record(note, "save"+who, "who", who), record(note, "", "id", "new"+who, "who", who))
		save(t, r, record(folder, "saved"+who, "main", sub(note, "id", "main"+who, "who", who)))
		create(t, r, folder, "id", who, "notes", put(sub(note, "id", "member"+who, "who", who)))
	}
	check("of all", o, "all", all)
	for _, what := range []string{"one", "save", "new", "main", "member"} {
		check(what, o, what, some)
	}
}

// team has people in teams. The cached attributes of a team are computed from its people or from
// all people.
type team struct {
	engine.Repository
	team, person, desk *engine.Class
}

func openTeams(t *testing.T, open Open) *team {
	w := &team{}
	w.team = NewClass("team", Prop("id", engine.String), Prop("title", engine.String, searched), Prop("names", engine.String, cached, searched), Prop("size", engine.Int, cached),
		Prop("people", engine.Int, cached), Prop("plain", engine.String, cached), Prop("live", engine.String))
	w.person = NewClass("person", Prop("id", engine.String), Prop("name", engine.String), Prop("owner", engine.String), Ref("team", w.team))
	w.desk = NewClass("desk", Prop("id", engine.String), Ref("team", w.team), Prop("sign", engine.String), Prop("found", engine.Int))
	add(w.team, back(engine.Collection, "members", w.person, "team"), Ref("lead", w.person, cached))
	setFormulas(w.team, "live", `concat($names, '?')`, "names", `merge($members, name)`, "size", `count($members)`, "people", `count(person)`,
		"plain", `concat($title, '.')`, "lead", `get(person, name, 'Max')`)
	setFormulas(w.desk, "sign", `concat($team.names, '!')`, "found", `sum(team, size)`)
	w.team.Semantic = "title|: |names"
	w.person.Dependencies = [][]string{{"team"}}
	Link(w.team, w.person, w.desk)
	w.Repository = open(t, []*engine.Class{w.team, w.person, w.desk})
	create(t, w, w.team, "id", "t", "title", "Team")
	create(t, w, w.team, "id", "none", "title", "None")
	for _, p := range []string{"Ann", "Bob", "Max"} {
		create(t, w, w.person, "id", p[:1], "name", p, "owner", p, "team", "t")
	}
	update(t, w, w.team, "t", "title", "Team") // computes the attributes that depend on all people
	create(t, w, w.desk, "id", "d", "team", "t")
	return w
}

// ofAnn returns the repository of an account that may only read Ann.
func (w *team) ofAnn(t *testing.T) guarded {
	return under(w, new(rules).only(parsed(t, w.person, `{"owner":"Ann"}`), w.person, engine.MayRead))
}

// teamValues returns the values of a team in an answer.
func teamValues(it *engine.Item) []any {
	return []any{it.Get("names"), it.Get("size"), it.Get("people"), it.Get("plain"), it.Get("live"), it.Get("lead"), it.String()}
}

// guardCached reads cached attributes by every method that returns items.
func guardCached(t *testing.T, open Open) {
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
		{"an account that may read all people", under(w, new(rules).only(parsed(t, w.desk, `{"id":"d"}`), w.desk, engine.MayRead)),
			[]any{"Ann Bob Max", int64(3), int64(3), "Team.", "Ann Bob Max?", "M", "Team: Ann Bob Max"}, "Ann Bob Max!"},
		{"nobody", under(w, new(rules).only(engine.Never(), w.person, engine.MayRead)), []any{"", int64(0), int64(0), "Team.", "?", nil, "Team: "}, "!"},
	} {
		same(t, x.who+": one", teamValues(get(t, x.r, w.team, "t")), x.want)
		same(t, x.who+": listed", teamValues(listed(t, x.r, all(w.team))["t"]), x.want)
		d, err := x.r.Get(t.Context(), w.desk, "d", load(w.desk, "team"))
		if err != nil {
			t.Fatal(err)
		}
		same(t, x.who+": loaded", teamValues(linkOf(d, "team").Item), x.want)
		same(t, x.who+": computed of it", []any{d.Get("sign"), d.Get("found")}, []any{x.sign, x.want[1]})
		it, err := x.r.Get(t.Context(), w.team, "t", load(w.team, "lead"))
		if err != nil {
			t.Fatal(err)
		}
		same(t, x.who+": referenced item", linkOf(it, "lead").Item != nil, x.want[5] != nil)
		same(t, x.who+": updated", teamValues(update(t, x.r, w.team, "t", "title", "Team")), x.want)
		same(t, x.who+": update without values", teamValues(update(t, x.r, w.team, "t")), x.want)
		same(t, x.who+": saved", teamValues(save(t, x.r, record(w.team, "t", "title", "Team"))[0]), x.want)
		same(t, x.who+": stored", teamValues(get(t, w, w.team, "t"))[0], "Ann Bob Max")
	}
	same(t, "created", teamValues(create(t, r, w.team, "id", "new", "title", "New"))[:3], []any{"", int64(0), int64(1)})
}

// guardCachedConditions uses cached attributes in every part of a query that reads stored values.
func guardCachedConditions(t *testing.T, open Open) {
	w := openTeams(t, open)
	r := w.ofAnn(t)
	refused := func(what, name string, err error) {
		t.Helper()
		e := fails(t, err, engine.Invalid, "calculated")
		same(t, what, []string{e.Class, e.Attribute}, []string{"team@test", name})
	}
	for filter, name := range map[string]string{`{"names":"Ann Bob Max"}`: "names", `{"not":[{"gt":["$size",2]}]}`: "size", `{"lead":"M"}`: "lead", `{"lead.name":"Max"}`: "lead"} {
		q := &engine.Query{Class: w.team, Filter: parsed(t, w.team, filter), Count: -1}
		same(t, filter, len(ids(t, w, q)) > 0, true)
		refused(filter, name, tryList(t, r, q))
		_, err := r.Count(t.Context(), q)
		refused("count "+filter, name, err)
		_, err = r.DeleteAll(t.Context(), q)
		refused("delete "+filter, name, err)
	}
	of := &engine.Query{Class: w.desk, Filter: parsed(t, w.desk, `{"team.names":"Ann Bob Max"}`), Count: -1}
	refused("a path", "names", tryList(t, r, of))
	sorts, err := query.ParseSortList(w.team, "-names")
	if err != nil {
		t.Fatal(err)
	}
	refused("an order", "names", tryList(t, r, &engine.Query{Class: w.team, Sort: sorts, Count: -1}))
	a, err := query.ParseAggregation(w.team, decoded(t, `{"fields":{"x":"$names"}}`), now)
	if err != nil {
		t.Fatal(err)
	}
	refused("an aggregate", "names", r.Aggregate(t.Context(), a, func([]any) error { return nil }))
	for search, want := range map[string][]string{"bob": {}, "ann": {}, "team": {"t"}} {
		same(t, "search "+search, ids(t, r, &engine.Query{Class: w.team, Search: search, Count: -1}), want)
	}
	same(t, "search of an account that may read all", ids(t, w, &engine.Query{Class: w.team, Search: "bob", Count: -1}), []string{"t"})
	same(t, "attribute computed from the item alone", ids(t, r, &engine.Query{Class: w.team, Filter: parsed(t, w.team, `{"plain":"Team."}`), Count: -1}), []string{"t"})
}

func tryList(t *testing.T, r engine.Repository, q *engine.Query) error {
	t.Helper()
	return r.List(t.Context(), q, func(*engine.Item) error { return nil })
}

// guardCachedChain reads cached attributes that are computed from other cached attributes, two
// classes away.
func guardCachedChain(t *testing.T, open Open) {
	l := openLands(t, open)
	for id := range int64(3) {
		l.newDistrict(t, id+1, 1+id%2)
	}
	r := under(l, new(rules).only(parsed(t, l.district, `{"id":{"$lt":3}}`), l.district, engine.MayRead))
	same(t, "stored", []any{get(t, l, l.country, "1").Get("districts"), get(t, l, l.city, "1").Get("twice")}, []any{int64(3), int64(4)})
	same(t, "computed", []any{get(t, r, l.country, "1").Get("districts"), get(t, r, l.city, "1").Get("twice")}, []any{int64(2), int64(2)})
	c, err := r.Get(t.Context(), l.country, "1", load(l.country, "cities"))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "of members", linkOf(c, "cities").Items[0].Get("title"), "Oslo, Norway: 1")
	filter := &engine.Query{Class: l.country, Filter: parsed(t, l.country, `{"cities.twice":4}`), Count: -1}
	fails(t, tryList(t, r, filter), engine.Invalid, "calculated")
}

// guardCachedErrors writes items with cached attributes that cannot be stored because of hidden
// items. The error should not disclose these items.
func guardCachedErrors(t *testing.T, open Open) {
	person := NewClass("person", Prop("id", engine.String), Prop("name", engine.String))
	card := NewClass("card", Prop("id", engine.String), Ref("who", person), Prop("text", engine.String, cached, unique))
	setFormulas(card, "text", `concat('of ', $who.name)`)
	Link(person, card)
	o := open(t, []*engine.Class{person, card})
	for _, id := range []string{"1", "2"} {
		create(t, o, person, "id", id, "name", "Max")
	}
	create(t, o, card, "id", "1", "who", "1")
	e := fails(t, tryCreate(t, o, card, "id", "2", "who", "2"), engine.Invalid, "duplicate")
	same(t, "error for an account that may read all", e.Attribute, "text")
	r := under(o, new(rules).only(engine.Never(), person, engine.MayRead))
	denied(t, "a duplicate of a hidden item", tryCreate(t, r, card, "id", "2", "who", "2"))
	denied(t, "in a save", trySave(t, r, record(card, "2", "who", "2")))
}

// guardCachedOwn writes items with cached attributes of their own that cannot be computed. The
// error should name item and attribute even if the account may not read the class.
func guardCachedOwn(t *testing.T, open Open) {
	card := NewClass("card", Prop("id", engine.String), Prop("pattern", engine.String), Prop("fits", engine.Boolean, cached))
	setFormulas(card, "fits", `like($id, $pattern)`)
	Link(card)
	o := open(t, []*engine.Class{card})
	create(t, o, card, "id", "1", "pattern", "1")
	r := under(o, new(rules).only(engine.Never(), card, engine.MayRead))
	for what, err := range map[string]error{
		"create": tryCreate(t, r, card, "id", "2", "pattern", "("),
		"save":   trySave(t, r, record(card, "3", "pattern", "3"), record(card, "2", "pattern", "(")),
	} {
		e := fails(t, err, engine.Invalid, "formula")
		same(t, what, []string{e.Class, e.ID, e.Attribute}, []string{"card@test", "2", "fits"})
	}
}
