package guard

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/query"
	"restsrv/engine/store/storetest"
)

func guardRows(t *testing.T, open storetest.Open) {
	eachRule(t, open, func(t *testing.T, o *office, r storetest.Guarded, may func(string) bool) {
		all := &engine.Query{Class: o.matter, Count: -1}
		storetest.CheckSame(t, "list", storetest.ListIDs(t, r, all), among("012345", may))
		n, err := r.Count(t.Context(), all)
		storetest.CheckSame(t, "count", []any{n, err}, []any{int64(len(among("012345", may))), nil})
		storetest.CheckSame(t, "class below", storetest.ListIDs(t, r, &engine.Query{Class: o.lawsuit, Count: -1}), among("45", may))
		storetest.CheckSame(t, "exact", storetest.ListIDs(t, r, &engine.Query{Class: o.matter, Exact: true, Count: -1}), among("0123", may))
		storetest.CheckSame(t, "filter", storetest.ListIDs(t, r, &engine.Query{Class: o.matter, Filter: storetest.ParseFilter(t, o.matter, `{"or":[{"owner":"bob"},{"id":"2"}]}`), Count: -1}), among("1235", may))
		storetest.CheckSame(t, "opposite", storetest.ListIDs(t, r, &engine.Query{Class: o.matter, Filter: storetest.ParseFilter(t, o.matter, `{"not":[{"owner":"bob"}]}`), Count: -1}), among("024", may))
		storetest.CheckSame(t, "search", storetest.ListIDs(t, r, &engine.Query{Class: o.matter, Search: "matter", Count: -1}), among("012345", may))
		byTitle := []engine.Sort{{Property: o.matter.Property("n"), Descending: true}}
		storetest.CheckSame(t, "sorted", storetest.ListIDs(t, r, &engine.Query{Class: o.matter, Sort: byTitle, Count: -1}), among("543210", may))
		if want := among("543210", may); len(want) > 1 {
			storetest.CheckSame(t, "a page", storetest.ListIDs(t, r, &engine.Query{Class: o.matter, Sort: byTitle, Count: 1, Offset: 1}), want[1:2])
			after := &engine.Query{Class: o.matter, Sort: byTitle, Count: -1, After: &engine.Position{Values: []any{int64(want[0][0] - '0')}, Sequence: 1 << 40}}
			storetest.CheckSame(t, "behind a position", storetest.ListIDs(t, r, after), want[1:])
		}
		for _, id := range storetest.SplitLetters("012345") {
			it, err := r.Get(t.Context(), o.matter, id)
			if may(id) != (err == nil) {
				t.Errorf("get %s: %v", id, err)
			}
			if err != nil {
				storetest.CheckError(t, err, engine.Forbidden, "denied")
			} else {
				storetest.CheckSame(t, "got", it.Get("title"), "Matter "+id)
			}
		}
		sum := int64(0)
		for _, id := range among("012345", may) {
			sum += int64(id[0] - '0')
		}
		got := storetest.ListRows(t, r, o.matter, `{"aggregates":{"n":{"count":["$id"]},"sum":{"sum":["$n"]}}}`)
		storetest.CheckSame(t, "aggregates", got, []string{fmt.Sprintf("[%d,%d]", len(among("012345", may)), sum)})
		storetest.CheckSame(t, "rows", len(storetest.ListRows(t, r, o.matter, `{"fields":{"id":"$id"}}`)), len(among("012345", may)))
	})
}

// guardPaths uses paths from pages and departments to matters.
func guardPaths(t *testing.T, open storetest.Open) {
	eachRule(t, open, func(t *testing.T, o *office, r storetest.Guarded, may func(string) bool) {
		list := func(c *engine.Class, filter string) []string {
			t.Helper()
			return storetest.ListIDs(t, r, &engine.Query{Class: c, Filter: storetest.ParseFilter(t, c, filter), Count: -1})
		}
		null := func(id string) bool { return !may(id) }
		storetest.CheckSame(t, "reference", list(o.page, `{"like":["$matter.title","Matter"]}`), pagesOf(among("012345", may)))
		storetest.CheckSame(t, "null", list(o.page, `{"matter.title":null}`), pagesOf(among("012345", null)))
		storetest.CheckSame(t, "its id", list(o.page, `{"matter._id":null}`), pagesOf(among("012345", null)))
		storetest.CheckSame(t, "not", list(o.page, `{"not":[{"matter.owner":"bob"}]}`), pagesOf(among("012345", func(id string) bool { return !may(id) || strings.Contains("024", id) })))
		depts := func(some func(id string) bool) []string {
			found := []string{}
			if slices.ContainsFunc(storetest.SplitLetters("015"), some) {
				found = append(found, "d1")
			}
			if slices.ContainsFunc(storetest.SplitLetters("24"), some) {
				found = append(found, "d2")
			}
			return found
		}
		storetest.CheckSame(t, "collection", list(o.dept, `{"like":["$matters.title","Matter"]}`), depts(may))
		storetest.CheckSame(t, "contains", list(o.dept, `{"contains":["$matters",{"eq":["$owner","ann"]}]}`), depts(func(id string) bool { return may(id) && strings.Contains("024", id) }))
		storetest.CheckSame(t, "member by id", list(o.dept, `{"contains":["$matters","5"]}`), depts(func(id string) bool { return may(id) && id == "5" }))
		storetest.CheckSame(t, "empty", list(o.dept, `{"empty":["$matters"]}`), slices.DeleteFunc([]string{"d1", "d2"}, func(d string) bool { return slices.Contains(depts(may), d) }))
		storetest.CheckSame(t, "of a member", list(o.label, `{"eq":["$id","x"]}`), []string{"x"})
		sizes := []string{fmt.Sprintf(`["d1",%d]`, len(among("015", may))), fmt.Sprintf(`["d2",%d]`, len(among("24", may)))}
		storetest.CheckSame(t, "size", storetest.ListRows(t, r, o.dept, `{"fields":{"id":"$id","n":{"size":["$matters"]}}}`), sizes)
		first := func(dept, ids string) string {
			if found := among(ids, may); len(found) > 0 {
				return fmt.Sprintf(`["%s","Matter %s"]`, dept, found[0])
			}
			return fmt.Sprintf(`["%s",null]`, dept)
		}
		storetest.CheckSame(t, "back reference", storetest.ListRows(t, r, o.dept, `{"fields":{"id":"$id","t":"$first.title"}}`), []string{first("d1", "015"), first("d2", "24")})
		titles := []string{}
		for _, p := range pagesOf(storetest.SplitLetters("012345")) {
			title := "null"
			if may(p[:1]) {
				title = `"Matter ` + p[:1] + `"`
			}
			titles = append(titles, `["`+p+`",`+title+`]`)
		}
		storetest.CheckSame(t, "column", storetest.ListRows(t, r, o.page, `{"fields":{"id":"$id","t":"$matter.title"}}`), titles)
		sorted := &engine.Query{Class: o.page, Count: -1, Sort: []engine.Sort{{Via: []*engine.Property{o.page.Property("matter")}, Property: o.matter.Property("n"), Descending: true}}}
		storetest.CheckSame(t, "sorted", storetest.ListIDs(t, r, sorted), append(pagesOf(among("543210", may)), pagesOf(among("012345", null))...))
	})
}

// pagesOf returns the ids of the pages of matters.
func pagesOf(matters []string) []string {
	found := []string{}
	for _, id := range matters {
		if id != "3" {
			found = append(found, id+"a")
		}
		found = append(found, id+"b")
	}
	return found
}

func guardLoads(t *testing.T, open storetest.Open) {
	eachRule(t, open, func(t *testing.T, o *office, r storetest.Guarded, may func(string) bool) {
		page := &engine.Load{Property: o.page.Property("matter"), Shown: true, Next: []*engine.Load{storetest.NewLoad(o.matter, "dept"), storetest.NewLoad(o.matter, "next")}}
		err := r.List(t.Context(), &engine.Query{Class: o.page, Load: []*engine.Load{page}, Count: -1}, func(it *engine.Item) error {
			link := storetest.LinkOf(it, "matter")
			if id := it.ID[:1]; (link.Item != nil) != may(id) || !link.Loaded {
				t.Errorf("matter of page %s: %v", it.ID, link.Item)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for dept, want := range map[string]string{"d1": "015", "d2": "24"} {
			it, err := r.Get(t.Context(), o.dept, dept, storetest.NewLoad(o.dept, "matters"), storetest.NewLoad(o.dept, "first"))
			if err != nil {
				t.Fatal(err)
			}
			found := among(want, may)
			storetest.CheckSame(t, dept, append([]string{}, storetest.MemberIDs(storetest.LinkOf(it, "matters").Items)...), found)
			first := ""
			if link := storetest.LinkOf(it, "first"); link.Item != nil {
				first = link.Item.ID
			}
			storetest.CheckSame(t, dept+" first", first, strings.Join(found[:min(len(found), 1)], ""))
		}
		// Labels are linked to matters, and many matters share them.
		labels := storetest.WithGuard(o, new(storetest.Rules).Only(storetest.ParseFilter(t, o.label, `{"owner":"ann"}`), o.label, engine.MayRead))
		storetest.CheckSame(t, "linked members", storetest.ListMembers(t, labels, o.matter, "0", "labels"), []string{"x"})
	})
}

// guardComputed reads display strings and calculated attributes that depend on hidden items. The results should be the
// same as if the hidden items did not exist.
func guardComputed(t *testing.T, open storetest.Open) {
	eachRule(t, open, func(t *testing.T, o *office, r storetest.Guarded, may func(string) bool) {
		err := r.List(t.Context(), storetest.All(o.page), func(it *engine.Item) error {
			title := ""
			if may(it.ID[:1]) {
				title = "Matter " + it.ID[:1]
			}
			storetest.CheckSame(t, "display string", it.String(), title+"/page")
			storetest.CheckSame(t, "calculated", []any{it.Get("copied"), it.Get("kept")}, []any{title + "!", title + "!"})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for dept, want := range map[string]string{"d1": "015", "d2": "24"} {
			text := "Dept " + dept + ": "
			for i, id := range among(want, may) {
				text += []string{"", ", "}[min(i, 1)] + "Matter " + id
			}
			storetest.CheckSame(t, "members", storetest.Get(t, r, o.dept, dept).String(), text)
		}
		own := storetest.WithGuard(o, new(storetest.Rules).Only(storetest.ParseFilter(t, o.page, `{"owner":"ann"}`), o.page, engine.MayRead))
		storetest.CheckSame(t, "counted", []any{storetest.Get(t, own, o.matter, "0").Get("sheets"), storetest.Get(t, own, o.matter, "3").Get("sheets")}, []any{int64(1), int64(0)})
		storetest.CheckSame(t, "counted by all", storetest.Get(t, o, o.matter, "0").Get("sheets"), int64(2))
	})
}

// expectUnknown checks that err equals the error for an attribute that class matter does not have.
func expectUnknown(t *testing.T, o *office, what, name string, err error) {
	t.Helper()
	_, want := query.ParseSortList(o.matter, "nothing")
	e := storetest.CheckError(t, err, engine.Invalid, "unknown-attribute")
	storetest.CheckSame(t, what, []string{e.Message, e.Class, e.Attribute}, []string{strings.Replace(want.Error(), "nothing", name, 1), o.matter.FullName, name})
}

// hidesMost returns a repository for an account from which some attributes of matters are hidden.
func hidesMost(o *office) storetest.Guarded {
	return storetest.WithGuard(o, new(storetest.Rules).Hide(engine.MayRead, o.matter, "secret", "pages", "cover", "next", "labels"))
}

// guardUnknown uses hidden attributes in all parts of a filter.
func guardUnknown(t *testing.T, open storetest.Open) {
	o := openOffice(t, open)
	r := hidesMost(o)
	filters := map[*engine.Class]map[string]string{
		o.matter: {
			`{"secret":"hush0"}`: "secret", `{"or":[{"owner":"ann"},{"and":[{"not":[{"secret":null}]}]}]}`: "secret", `{"secret":{"$in":["a","b"]}}`: "secret",
			`{"like":["$secret","h"]}`: "secret", `{"empty":["$secret"]}`: "secret", `{"eq":[{"concat":["$title","$secret"]},"x"]}`: "secret",
			`{"eq":[{"if":[{"eq":["$secret","x"]},1,2]},1]}`: "secret", `{"pages.owner":"ann"}`: "pages", `{"empty":["$pages"]}`: "pages", `{"gt":[{"size":["$pages"]},1]}`: "pages",
			`{"contains":["$labels","x"]}`: "labels", `{"labels.owner":"ann"}`: "labels", `{"cover":"0a"}`: "cover", `{"cover.owner":"ann"}`: "cover", `{"next":null}`: "next", `{"eq":["$owner","$secret"]}`: "secret",
			`{"next._id":"0"}`: "next", `{"dept.matters.secret":"x"}`: "secret",
		},
		o.page: {`{"matter.secret":"hush0"}`: "secret", `{"matter.next.title":"x"}`: "next", `{"matter.dept.first.secret":null}`: "secret"},
		o.dept: {`{"matters.secret":"x"}`: "secret", `{"contains":["$matters",{"eq":["$secret","hush0"]}]}`: "secret", `{"first.secret":"x"}`: "secret"},
	}
	for c, all := range filters {
		for filter, name := range all {
			f := storetest.ParseFilter(t, c, filter)
			expectUnknown(t, o, "list "+filter, name, r.List(t.Context(), &engine.Query{Class: c, Filter: f, Count: -1}, nil))
			expectUnknown(t, o, "no list "+filter, name, r.List(t.Context(), &engine.Query{Class: c, Filter: f}, nil))
			_, err := r.Count(t.Context(), &engine.Query{Class: c, Filter: f})
			expectUnknown(t, o, "count "+filter, name, err)
			expectUnknown(t, o, "aggregate "+filter, name, r.Aggregate(t.Context(), &engine.Aggregation{Class: c, Filter: f, Count: -1, Aggregates: []engine.Aggregate{{Function: engine.CountOf}}}, nil))
			_, err = r.UpdateAll(t.Context(), &engine.Query{Class: c, Filter: f, Count: -1}, storetest.NewValues(c, c.Properties[1].Name, "x"))
			expectUnknown(t, o, "update "+filter, name, err)
			_, err = r.DeleteAll(t.Context(), &engine.Query{Class: c, Filter: f, Count: -1})
			expectUnknown(t, o, "delete "+filter, name, err)
		}
	}
	storetest.CheckSame(t, "still there", storetest.ListIDs(t, r, &engine.Query{Class: o.matter, Filter: storetest.ParseFilter(t, o.matter, `{"owner":"ann"}`), Count: -1}), storetest.SplitLetters("024"))
}

// guardUnknownElsewhere uses hidden attributes outside of filters: in sort orders, loads, aggregations and others.
func guardUnknownElsewhere(t *testing.T, open storetest.Open) {
	o := openOffice(t, open)
	r := hidesMost(o)
	for path, name := range map[string]string{"secret": "secret", "next": "next", "next.title": "next", "-cover.text": "cover", "dept.first.secret": "secret"} {
		sorts, err := query.ParseSortList(o.matter, path)
		if err != nil {
			t.Fatal(err)
		}
		q := &engine.Query{Class: o.matter, Sort: sorts, Count: 1, WantPosition: true}
		expectUnknown(t, o, "sort "+path, name, r.List(t.Context(), q, nil))
		q.After = &engine.Position{Values: []any{"hush3"}, Sequence: 4}
		expectUnknown(t, o, "position "+path, name, r.List(t.Context(), q, nil))
	}
	for aggregation, name := range map[string]string{
		`{"fields":{"x":"$secret"}}`: "secret", `{"aggregates":{"x":{"max":["$secret"]}}}`: "secret", `{"aggregates":{"x":{"count":["$secret"]}}}`: "secret",
		`{"fields":{"x":{"size":["$pages"]}}}`: "pages", `{"fields":{"x":"$next.title"},"aggregates":{"n":{"count":[]}}}`: "next", `{"fields":{"x":{"upper":["$dept.first.secret"]}},"count":0}`: "secret",
	} {
		a, err := query.ParseAggregation(o.matter, storetest.DecodeJSON(t, aggregation), storetest.Now)
		if err != nil {
			t.Fatal(err)
		}
		expectUnknown(t, o, aggregation, name, r.Aggregate(t.Context(), a, nil))
	}
	for _, name := range []string{"pages", "labels", "next", "cover"} {
		_, err := r.Get(t.Context(), o.matter, "0", storetest.NewLoad(o.matter, name))
		expectUnknown(t, o, "load "+name, name, err)
		_, err = r.Get(t.Context(), o.matter, "none", storetest.NewLoad(o.matter, name))
		expectUnknown(t, o, "load of nothing "+name, name, err)
		nested := &engine.Load{Property: o.page.Property("matter"), Next: []*engine.Load{storetest.NewLoad(o.matter, name)}}
		expectUnknown(t, o, "loads below "+name, name, r.List(t.Context(), &engine.Query{Class: o.page, Load: []*engine.Load{nested}, Count: -1}, nil))
	}
}

func guardSearch(t *testing.T, open storetest.Open) {
	o := openOffice(t, open)
	finds := func(r engine.Repository, c *engine.Class, search string, want string) {
		t.Helper()
		storetest.CheckSame(t, search, storetest.ListIDs(t, r, &engine.Query{Class: c, Search: search, Count: -1}), storetest.SplitLetters(want))
		storetest.CheckSame(t, search+" as a condition", storetest.ListIDs(t, r, &engine.Query{Class: c, Filter: &engine.Filter{Op: engine.OpSearch, Pattern: search}, Count: -1}), storetest.SplitLetters(want))
	}
	finds(o, o.matter, "hush0", "0")
	finds(o, o.matter, "high", "45")
	r := storetest.WithGuard(o, new(storetest.Rules).Hide(engine.MayRead, o.matter, "secret"))
	finds(r, o.matter, "hush0", "")
	finds(r, o.matter, "hush", "")
	finds(r, o.matter, "hush0 ann", "")
	finds(r, o.matter, "matter ANN", "024")
	finds(r, o.matter, "ann", "024")
	finds(r, o.matter, "high bob", "5")
	finds(r, o.lawsuit, "ann", "4")
	finds(r, o.matter, "!", "")
	court := storetest.WithGuard(o, new(storetest.Rules).Hide(engine.MayRead, o.lawsuit, "court"))
	finds(court, o.matter, "high", "")
	finds(court, o.matter, "hush4", "4")
	numbers := storetest.WithGuard(o, new(storetest.Rules).Hide(engine.MayRead, o.dept, "name"))
	finds(numbers, o.dept, "dept", "")
	none := storetest.WithGuard(o, new(storetest.Rules).Hide(engine.MayRead, o.lawsuit, "court", "title", "owner", "secret"))
	finds(none, o.matter, "ann", "")
	texts, text, _ := storetest.OpenTexts(t, open)
	r = storetest.WithGuard(texts, new(storetest.Rules).Hide(engine.MayRead, text, "title"))
	storetest.CheckSearch(t, r, text, map[string]string{"fox": "24", "FOX trot": "2", "42": "0", "quick": "", "чаю": "1"})
	// In a class without stored words, the search uses the texts of the item.
	storetest.CheckSame(t, "contained", storetest.ListIDs(t, o, &engine.Query{Class: o.page, Search: "ann", Count: -1}), []string{"0a", "1a", "2a", "4a", "5a"})
	pages := storetest.WithGuard(o, new(storetest.Rules).Hide(engine.MayRead, o.page, "owner"))
	storetest.CheckSame(t, "not contained", storetest.ListIDs(t, pages, &engine.Query{Class: o.page, Search: "ann", Count: -1}), []string{})
	storetest.CheckSame(t, "contained in another", len(storetest.ListIDs(t, pages, &engine.Query{Class: o.page, Search: "PAG", Count: -1})), 11)
}

// guardBlank checks that hidden values count as null when attributes are computed from them.
func guardBlank(t *testing.T, open storetest.Open) {
	o := openOffice(t, open)
	storetest.CheckSame(t, "shown", storetest.Get(t, o, o.dept, "d1").Get("all"), "hush0?")
	r := storetest.WithGuard(o, new(storetest.Rules).Hide(engine.MayRead, o.matter, "secret"))
	storetest.CheckSame(t, "blank", storetest.Get(t, r, o.dept, "d1").Get("all"), "?")
	storetest.CheckSame(t, "a sum", storetest.Get(t, o, o.dept, "d1").Get("total"), int64(15))
	r = storetest.WithGuard(o, new(storetest.Rules).Hide(engine.MayRead, o.matter, "n"))
	storetest.CheckSame(t, "an empty sum", storetest.Get(t, r, o.dept, "d1").Get("total"), int64(0))
	r = storetest.WithGuard(o, new(storetest.Rules).Hide(engine.MayRead, o.dept, "first"))
	storetest.CheckSame(t, "not followed", storetest.Get(t, r, o.dept, "d1").Get("all"), "?")
	r = storetest.WithGuard(o, new(storetest.Rules).Hide(engine.MayRead, o.matter, "title"))
	storetest.CheckSame(t, "display string", storetest.Get(t, r, o.page, "0a").String(), "/page")
	card := storetest.NewClass("card", storetest.Prop("code", engine.String), storetest.Prop("name", engine.String), storetest.Prop("text", engine.String))
	storetest.SetFormulas(card, "text", `concat($code, '/', $name)`)
	storetest.Link(card)
	cards := open(t, []*engine.Class{card})
	storetest.Create(t, cards, card, "code", "secret", "name", "Ann")
	r = storetest.WithGuard(cards, new(storetest.Rules).Hide(engine.MayRead, card, "code"))
	storetest.CheckSame(t, "first attribute of a class without references", storetest.Get(t, r, card, "secret").Get("text"), "/Ann")
}

// guardLookups reads attributes with formulas that find items by a query, not by a path. The query should not find
// items that the account may not read.
func guardLookups(t *testing.T, open storetest.Open) {
	l := storetest.OpenLands(t, open)
	for id := range int64(3) {
		l.NewDistrict(t, id+1, 1)
	}
	r := storetest.WithGuard(l, new(storetest.Rules).Only(storetest.ParseFilter(t, l.District, `{"id":{"$lt":3}}`), l.District, engine.MayRead))
	oslo := storetest.Get(t, r, l.City, "1")
	storetest.CheckSame(t, "in a class", oslo.Get("largest"), int64(2))
	storetest.CheckSame(t, "in a collection", oslo.Get("area"), engine.Decimal("0.2"))
	storetest.CheckSame(t, "cached", oslo.Get("count"), int64(2))
	storetest.CheckSame(t, "the stored value counts all", storetest.Get(t, l, l.City, "1").Get("count"), int64(3))
	storetest.CheckSame(t, "found", storetest.Get(t, l, l.District, "1").Get("main"), int64(1))
	cities := storetest.WithGuard(l, new(storetest.Rules).Only(storetest.ParseFilter(t, l.City, `{"id":2}`), l.City, engine.MayRead))
	storetest.CheckSame(t, "not found", storetest.Get(t, cities, l.District, "1").Get("main"), nil)
	names := storetest.WithGuard(l, new(storetest.Rules).Hide(engine.MayRead, l.City, "name"))
	storetest.CheckSame(t, "not found by a hidden value", storetest.Get(t, names, l.District, "1").Get("main"), nil)
	storetest.CheckSame(t, "blank", storetest.Get(t, names, l.City, "1").Get("title"), ", Norway: 3")
	created := storetest.Create(t, names, l.District, "id", int64(4), "city", int64(1))
	storetest.CheckSame(t, "created", created.Get("main"), nil)
	storetest.CheckSame(t, "counted for all", storetest.Get(t, l, l.City, "1").Get("count"), int64(4))
}

// guardOrdered loads collections with a condition or a sort order that uses a hidden attribute. The hidden attribute
// should count as null.
func guardOrdered(t *testing.T, open storetest.Open) {
	w := storetest.NewWorld()
	staff := w.Person.Property("staff")
	staff.Conditions = storetest.ParseFilter(t, w.Person, `{"name":{"$gt":"Bob"}}`)
	staff.Sorting = []engine.Sort{{Property: w.Person.Property("name"), Descending: true}}
	people := w.Town.Property("people")
	people.Sorting = staff.Sorting
	w.Repository = open(t, []*engine.Class{w.Region, w.Town, w.Person})
	storetest.Create(t, w, w.Town, "id", "t1")
	for _, p := range []string{"Ann", "Bob", "Cid", "Dan"} {
		storetest.Create(t, w, w.Person, "id", p, "name", p, "boss", "Ann", "town", "t1")
	}
	storetest.CheckSame(t, "some", storetest.ListMembers(t, w, w.Person, "Ann", "staff"), []string{"Dan", "Cid"})
	storetest.CheckSame(t, "ordered", storetest.ListMembers(t, w, w.Town, "t1", "people"), []string{"Dan", "Cid", "Bob", "Ann"})
	r := storetest.WithGuard(w, new(storetest.Rules).Hide(engine.MayRead, w.Person, "name"))
	storetest.CheckSame(t, "none", storetest.ListMembers(t, r, w.Person, "Ann", "staff"), []string{})
	storetest.CheckSame(t, "as added", storetest.ListMembers(t, r, w.Town, "t1", "people"), []string{"Ann", "Bob", "Cid", "Dan"})
}

// guardMissing reads items that the account may not read, and items that do not exist. The error should be the same,
// so that the account cannot distinguish the two cases.
func guardMissing(t *testing.T, open storetest.Open) {
	o := openOffice(t, open)
	r := storetest.WithGuard(o, new(storetest.Rules).Only(storetest.ParseFilter(t, o.matter, `{"owner":"ann"}`), o.matter, engine.MayRead))
	for _, id := range []string{"1", "none", "5", ""} {
		_, err := r.Get(t.Context(), o.matter, id)
		storetest.CheckSame(t, id, storetest.CheckError(t, err, engine.Forbidden, "denied"), engine.Denied())
	}
	_, err := r.Get(t.Context(), o.lawsuit, "0")
	storetest.CheckSame(t, "of another class", storetest.CheckError(t, err, engine.Forbidden, "denied"), engine.Denied())
	_, err = r.Get(t.Context(), o.page, "none")
	storetest.CheckError(t, err, engine.NotFound, "unknown-object")
	storetest.CheckSame(t, "allowed", storetest.Get(t, r, o.lawsuit, "4").Get("court"), "High")
	if _, err := r.Repository.Get(engine.WithGuard(r.Ctx(t.Context()), nil), o.matter, "1"); err != nil {
		t.Errorf("without the guard: %v", err)
	}
}

// guardCreated reads and changes items while other goroutines create them. The error should be NotFound until an item
// exists, and then the call should succeed. The error should never be Forbidden.
func guardCreated(t *testing.T, open storetest.Open) {
	o := openOffice(t, open)
	r := storetest.WithGuard(o, new(storetest.Rules).Only(storetest.ParseFilter(t, o.label, `{"owner":"ann"}`), o.label, engine.MayWrite))
	next := make(chan string)
	go func() {
		for id := range next {
			storetest.Create(t, o, o.label, "id", id, "owner", "ann")
		}
	}()
	defer close(next)
	try := []func(id string) error{
		func(id string) error { _, err := r.Get(t.Context(), o.label, id); return err },
		func(id string) error { return tryUpdate(t, r, o.label, id, "owner", "ann") },
	}
	for i := range 200 {
		id := fmt.Sprint(i)
		next <- id
		var err error = engine.NoItem(o.label, id)
		for engine.CodeOf(err) == engine.NotFound {
			err = try[i%len(try)](id)
		}
		if err != nil {
			t.Fatalf("item %s: %v, want %v until it is there", id, err, engine.NoItem(o.label, id))
		}
	}
}

// guardViews passes views of classes (see engine.NewViews) to the repository instead of the classes.
func guardViews(t *testing.T, open storetest.Open) {
	o := openOffice(t, open)
	hides := new(storetest.Rules).Hide(engine.MayRead|engine.MayWrite, o.matter, "secret")
	r := storetest.WithGuard(o, hides)
	views := engine.NewViews(func(p *engine.Property) bool { return hides.Hides(engine.MayRead, p) })
	view := views.Of(o.matter)
	it := storetest.Create(t, r, view, "id", "new", "title", "New", "owner", "ann", "pages", storetest.ReplaceLinks(&engine.Record{Class: views.Of(o.page), Values: storetest.NewValues(o.page, "id", "n1")}))
	storetest.CheckSame(t, "class", it.Class, o.matter)
	storetest.CheckSame(t, "got", storetest.Get(t, r, view, "new").Get("title"), "New")
	storetest.CheckSame(t, "listed", storetest.ListIDs(t, r, &engine.Query{Class: view, Filter: storetest.ParseFilter(t, view, `{"title":"New"}`), Count: -1}), []string{"new"})
	storetest.CheckSame(t, "counted", storetest.Count(t, r, view), int64(7))
	storetest.CheckSame(t, "rows", storetest.ListRows(t, r, view, `{"aggregates":{"n":{"count":[]}}}`), []string{"[7]"})
	storetest.CheckSame(t, "updated", storetest.Update(t, r, view, "new", "title", "Newer").Get("title"), "Newer")
	storetest.Save(t, r, storetest.NewRecord(views.Of(o.lawsuit), "suit", "title", "Suit", "next", storetest.NestedRecord(view, "id", "new", "title", "Newest")))
	storetest.CheckSame(t, "nested", storetest.Get(t, o, o.matter, "new").Get("title"), "Newest")
	n, err := r.UpdateAll(t.Context(), &engine.Query{Class: view, Filter: storetest.ParseFilter(t, view, `{"owner":"ann"}`), Count: -1}, storetest.NewValues(view, "n", int64(9)))
	storetest.CheckSame(t, "all updated", []any{n, err}, []any{int64(4), nil})
	if err := r.Delete(t.Context(), view, "new", nil); err != nil {
		t.Error(err)
	}
	n, err = r.DeleteAll(t.Context(), &engine.Query{Class: views.Of(o.lawsuit), Count: -1})
	storetest.CheckSame(t, "all deleted", []any{n, err}, []any{int64(3), nil})
}
