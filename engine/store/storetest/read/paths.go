package read

import (
	"fmt"
	"testing"

	"restsrv/engine"
	"restsrv/engine/query"
	"restsrv/engine/store/storetest"
)

var pathTests = []storetest.Test{
	{Name: "filters through references and collections", Run: paths},
	{Name: "references that lead back", Run: backReferences},
	{Name: "refused paths", Run: refusedPaths},
	{Name: "order by what references lead to", Run: sortingByPath},
	{Name: "keys of several properties", Run: compositePaths},
	{Name: "conditions of a load", Run: loadedByPath},
}

// society is a repository of people with a boss and staff: 0 ann, 1 bob, 2 cid, 3 dan, and 4 eve, an employee. People
// live in towns, which belong to regions. The town of cid and the region of eve's town are missing, and dan has no
// town.
type society struct {
	engine.Repository
	region, town, person, employee *engine.Class
}

func openSociety(t *testing.T, open storetest.Open) *society {
	s := &society{}
	s.region = storetest.NewClass("region", storetest.Prop("code", engine.Int), storetest.Prop("name", engine.String))
	s.town = storetest.NewClass("town", storetest.Prop("id", engine.String), storetest.Prop("name", engine.String), storetest.Ref("region", s.region))
	s.person = storetest.NewClass("person", storetest.Prop("id", engine.String), storetest.Prop("name", engine.String), storetest.Prop("age", engine.Int), storetest.Ref("town", s.town))
	storetest.AddProperties(s.person, storetest.Ref("boss", s.person))
	storetest.AddProperties(s.person, storetest.BackProperty(engine.Collection, "staff", s.person, "boss"), storetest.BackProperty(engine.Reference, "first", s.person, "boss"))
	storetest.AddProperties(s.town, storetest.BackProperty(engine.Collection, "citizens", s.person, "town"))
	s.employee = storetest.Extend(s.person, "employee", storetest.Prop("title", engine.String))
	storetest.Link(s.region, s.town, s.person, s.employee)
	s.Repository = open(t, []*engine.Class{s.region, s.town, s.person, s.employee})
	storetest.Create(t, s, s.region, "code", int64(1), "name", "North")
	storetest.Create(t, s, s.region, "code", int64(2), "name", "South")
	storetest.Create(t, s, s.town, "id", "oslo", "name", "Oslo", "region", int64(1))
	storetest.Create(t, s, s.town, "id", "rome", "name", "Rome", "region", int64(2))
	storetest.Create(t, s, s.town, "id", "void", "name", "Void", "region", int64(9))
	storetest.Create(t, s, s.person, "id", "0", "name", "ann", "age", int64(30), "town", "oslo")
	storetest.Create(t, s, s.person, "id", "1", "name", "bob", "age", int64(40), "town", "rome", "boss", "0")
	storetest.Create(t, s, s.person, "id", "2", "name", "cid", "town", "gone", "boss", "0")
	storetest.Create(t, s, s.person, "id", "3", "name", "dan", "age", int64(25), "boss", "1")
	storetest.Create(t, s, s.employee, "id", "4", "name", "eve", "age", int64(40), "town", "void", "boss", "0", "title", "Clerk")
	return s
}

// pathCases lists filters on people, each with the ids of the people that it finds.
var pathCases = []struct{ filter, want string }{
	{`{"eq":["$town.name","Oslo"]}`, "0"},
	{`{"ne":["$town.name","Oslo"]}`, "1234"},
	{`{"eq":["$town.region.name","South"]}`, "1"},
	{`{"town.region.name":{"$in":["North",null]}}`, "0234"},
	{`{"empty":["$town.region.name"]}`, "234"},
	{`{"eq":["$town.region.name",null]}`, "234"},
	{`{"town":"oslo"}`, "0"},
	{`{"town":"gone"}`, "2"},
	{`{"town._id":"gone"}`, ""},
	{`{"town":null}`, "3"},
	{`{"town.region":"9"}`, "4"},
	{`{"town.region.code":9}`, ""},
	{`{"in":["$town.region",[1,"2"]]}`, "01"},
	{`{"gt":["$age","$boss.age"]}`, "14"},
	{`{"lt":["$boss.age","$age"]}`, "14"},
	{`{"eq":["$boss.boss.name","ann"]}`, "3"},
	{`{"or":[{"eq":["$town.name","Oslo"]},{"eq":["$boss.town.name","Oslo"]}]}`, "0124"},
	{`{"eq":["$staff.name","bob"]}`, "0"},
	{`{"ne":["$staff.name","bob"]}`, "1234"},
	{`{"gt":["$staff.age",35]}`, "0"},
	{`{"gte":["$staff.age",25]}`, "01"},
	{`{"staff.age":null}`, "0"},
	{`{"empty":["$staff"]}`, "234"},
	{`{"nempty":["$staff"]}`, "01"},
	{`{"staff":null}`, "234"},
	{`{"staff":{"$exists":true}}`, "01"},
	{`{"contains":["$staff",{"eq":["$age",40]}]}`, "0"},
	{`{"contains":["$staff",{"and":[{"eq":["$name","bob"]},{"eq":["$age",25]}]}]}`, ""},
	{`{"contains":["$staff",{"not":[{"eq":["$age",40]}]}]}`, "01"},
	{`{"contains":["$staff",{"eq":["$town.region.name","South"]}]}`, "0"},
	{`{"contains":["$staff","1"]}`, "0"},
	{`{"contains":["$staff",["3","9"]]}`, "1"},
	{`{"staff":"1"}`, "0"},
	{`{"staff":{"$in":["3","4"]}}`, "01"},
	{`{"staff":{"$nin":["3","4"]}}`, "234"},
	{`{"eq":[{"size":["$staff"]},3]}`, "0"},
	{`{"eq":[{"size":["$boss.staff"]},1]}`, "3"},
	{`{"eq":["$town.citizens.name","bob"]}`, "1"},
	{`{"eq":["$staff.staff.name","dan"]}`, "0"},
	{`{"contains":["$staff",{"contains":["$staff",{"nempty":["$name"]}]}]}`, "0"},
	{`{"contains":["$staff.staff",{"lt":["$age",30]}]}`, "0"},
	{`{"lt":["$staff.age","$staff.boss.age"]}`, "1"},
	{`{"lt":["$staff.age","$age"]}`, "1"},
	{`{"eq":[{"upper":["$staff.name"]},"DAN"]}`, "1"},
	{`{"like":["$staff.name","^D"]}`, "1"},
	{`{"_class":"employee@test"}`, "4"},
	{`{"ne":["$__class","employee@test"]}`, "0123"},
	{`{"staff._class":"employee@test"}`, "0"},
	{`{"_id":"1"}`, "1"},
	{`{"_id":{"$in":["1","zz"]}}`, "1"},
	{`{"boss._id":"1"}`, "3"},
	{`{"town.region._id":"01"}`, ""},
	{`{"ne":["$town.region._id","01"]}`, "01234"},
	{`{"town.region._id":{"$in":["1","x"]}}`, "0"},
	{`[{"property":"boss","operation":0,"value":["0"]},{"property":"age","operation":8,"value":40}]`, "14"},
	{`[{"property":"staff","operation":10,"nestedConditions":[{"property":"name","operation":0,"value":["bob"]}]}]`, "0"},
	{`[{"operation":1,"nestedConditions":[{"property":"town.name","operation":10,"value":["ROM"]},{"property":"age","operation":2}]}]`, "12"},
}

func paths(t *testing.T, open storetest.Open) {
	s := openSociety(t, open)
	for _, c := range pathCases {
		f := storetest.ParseFilter(t, s.person, c.filter)
		finds(t, s, s.person, f, storetest.SplitLetters(c.want)...)
	}
	storetest.CheckSame(t, "of a class below", storetest.ListIDs(t, s, &engine.Query{Class: s.employee, Filter: storetest.ParseFilter(t, s.employee, `{"boss.town.name":"Oslo"}`), Count: -1}), []string{"4"})
	storetest.CheckSame(t, "exactly of the class", storetest.ListIDs(t, s, &engine.Query{Class: s.person, Exact: true, Count: -1}), storetest.SplitLetters("0123"))
	n, err := s.Count(t.Context(), &engine.Query{Class: s.person, Exact: true, Filter: storetest.ParseFilter(t, s.person, `{"boss.name":"ann"}`)})
	storetest.CheckSame(t, "counted exactly", []any{n, err}, []any{int64(2), nil})
}

// backReferences uses a virtual reference, which is stored in the items that refer to the item. If several items refer
// to it, the virtual reference leads to the first one inserted, among those of the right class.
func backReferences(t *testing.T, open storetest.Open) {
	s := openSociety(t, open)
	for filter, want := range map[string]string{
		`{"first.name":"bob"}`:               "0",
		`{"first.name":"eve"}`:               "",
		`{"first":"3"}`:                      "1",
		`{"first":null}`:                     "234",
		`{"first.town.region.name":"South"}`: "0",
	} {
		finds(t, s, s.person, storetest.ParseFilter(t, s.person, filter), storetest.SplitLetters(want)...)
	}
	sorted, err := query.ParseSortList(s.person, "-first.name, name")
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "sorted", storetest.ListIDs(t, s, &engine.Query{Class: s.person, Sort: sorted, Count: -1}), storetest.SplitLetters("10234"))
}

func refusedPaths(t *testing.T, open storetest.Open) {
	s := openSociety(t, open)
	for _, filter := range []string{
		`{"eq":["$town.nowhere","x"]}`, `{"town.name.x":1}`, `{"eq":["$age.x",1]}`, `{"gt":["$staff","1"]}`, `{"like":["$staff","1"]}`,
		`{"eq":["$staff","$staff"]}`, `{"contains":["$age",1]}`, `{"contains":["$town","oslo"]}`, `{"contains":["$staff",{"eq":["$nothing",1]}]}`,
		`{"boss.boss.boss.boss.boss.boss.boss.boss.name":"x"}`, `{"eq":["$age","$name"]}`, `{"town.region":"x"}`, `{"gt":["$town.region._id","x"]}`,
	} {
		_, err := query.ParseFilter(s.person, storetest.DecodeJSON(t, filter), storetest.Now)
		storetest.CheckError(t, err, engine.Invalid, "")
	}
	for _, sort := range []string{"staff", "staff.name", "nothing", "-", "town.nothing"} {
		_, err := query.ParseSortList(s.person, sort)
		storetest.CheckError(t, err, engine.Invalid, "")
	}
	wide := &engine.Filter{Op: engine.OpOr}
	for i := range 60 {
		f := storetest.ParseFilter(t, s.person, fmt.Sprintf(`{"contains":["$staff",{"eq":["$name","n%d"]}]}`, i))
		wide.Args = append(wide.Args, f)
	}
	_, err := s.Count(t.Context(), &engine.Query{Class: s.person, Filter: wide})
	storetest.CheckError(t, err, engine.Invalid, "filter")
}

func sortingByPath(t *testing.T, open storetest.Open) {
	s := openSociety(t, open)
	for order, want := range map[string]string{
		"town.name":              "23014",
		"-town.name":             "41023",
		"town.region.name,-name": "43201",
		"-boss.age,age":          "32140",
		"boss.name,-age,_class":  "04123",
		"_id":                    "01234",
		"-_class,name":           "01234",
		"town":                   "32014",
	} {
		sorted, err := query.ParseSortList(s.person, order)
		if err != nil {
			t.Fatal(err)
		}
		q := &engine.Query{Class: s.person, Sort: sorted, Count: -1}
		storetest.CheckSame(t, order, storetest.ListIDs(t, s, q), storetest.SplitLetters(want))
		q.Filter = storetest.ParseFilter(t, s.person, `{"ne":["$town.name","x"]}`)
		storetest.CheckSame(t, order+" filtered", storetest.ListIDs(t, s, q), storetest.SplitLetters(want))
		q.Count, q.Offset = 2, 1
		storetest.CheckSame(t, order+" page", storetest.ListIDs(t, s, q), storetest.SplitLetters(want)[1:3])
	}
}

// compositePaths uses references to items with keys that have two properties. Such a reference contains the id as
// text.
func compositePaths(t *testing.T, open storetest.Open) {
	place := storetest.NewClass("place", storetest.Prop("row", engine.Int), storetest.Prop("seat", engine.String), storetest.Prop("price", engine.Int))
	place.Key = []string{"row", "seat"}
	if err := place.Init(); err != nil {
		t.Fatal(err)
	}
	guest := storetest.NewClass("guest", storetest.Prop("id", engine.String), storetest.Ref("place", place))
	storetest.AddProperties(place, storetest.BackProperty(engine.Collection, "guests", guest, "place"))
	storetest.Link(place, guest)
	r := open(t, []*engine.Class{place, guest})
	storetest.Create(t, r, place, "row", int64(1), "seat", "a", "price", int64(10))
	storetest.Create(t, r, place, "row", int64(1), "seat", "b", "price", int64(20))
	for i, at := range []any{"1_a", "1_b", nil, "2_a", "1_a"} {
		storetest.Create(t, r, guest, "id", fmt.Sprint(i), "place", at)
	}
	for filter, want := range map[string]string{
		`{"place":"1_a"}`:                       "04",
		`{"place.price":{"$gt":5}}`:             "014",
		`{"place.price":null}`:                  "23",
		`{"place._id":"1_b"}`:                   "1",
		`{"place._id":"2_a"}`:                   "",
		`{"eq":["$place.seat","a"]}`:            "04",
		`{"gt":[{"size":["$place.guests"]},1]}`: "04",
	} {
		finds(t, r, guest, storetest.ParseFilter(t, guest, filter), storetest.SplitLetters(want)...)
	}
	q := &engine.Query{Class: place, Count: -1, Filter: storetest.ParseFilter(t, place, `{"_id":"1_b"}`)}
	storetest.CheckSame(t, "by id", storetest.ListIDs(t, r, q), []string{"1_b"})
	q.Filter = storetest.ParseFilter(t, place, `{"guests":"4"}`)
	storetest.CheckSame(t, "by guest", storetest.ListIDs(t, r, q), []string{"1_a"})
}

// loadedByPath loads the members of a collection with a condition and a sort order that follow references.
func loadedByPath(t *testing.T, open storetest.Open) {
	s := openSociety(t, open)
	staff := s.person.Property("staff")
	sorted, err := query.ParseSortList(s.person, "-town.name")
	if err != nil {
		t.Fatal(err)
	}
	staff.Sorting = sorted
	it, err := s.Get(t.Context(), s.person, "0", &engine.Load{Property: staff, Shown: true})
	if err != nil {
		t.Fatal(err)
	}
	names := func(items []*engine.Item) (all []string) {
		for _, it := range items {
			all = append(all, it.ID)
		}
		return all
	}
	storetest.CheckSame(t, "sorted", names(it.Link(staff).Items), storetest.SplitLetters("412"))
	it, err = s.Get(t.Context(), s.person, "0", &engine.Load{Property: staff, Shown: true, Filter: storetest.ParseFilter(t, s.person, `{"town.region.name":"South"}`)})
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "filtered", names(it.Link(staff).Items), storetest.SplitLetters("1"))
}
