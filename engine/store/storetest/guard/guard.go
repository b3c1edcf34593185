package guard

import (
	"slices"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/query"
	"restsrv/engine/store/storetest"
)

var guardTests = []storetest.Test{
	{Name: "rows that may be read", Run: guardRows},
	{Name: "what leads to rows that may not be read", Run: guardPaths},
	{Name: "loaded rows", Run: guardLoads},
	{Name: "what is computed of rows", Run: guardComputed},
	{Name: "hidden attributes are unknown", Run: guardUnknown},
	{Name: "hidden attributes are unknown elsewhere", Run: guardUnknownElsewhere},
	{Name: "words of hidden attributes", Run: guardSearch},
	{Name: "what is computed of hidden attributes", Run: guardBlank},
	{Name: "what formulas look up", Run: guardLookups},
	{Name: "collections of a condition and an order", Run: guardOrdered},
	{Name: "collections of a condition on the owner", Run: guardOwners},
	{Name: "missing and hidden items", Run: guardMissing},
	{Name: "items that are being created", Run: guardCreated},
	{Name: "views of classes", Run: guardViews},
}

// office is a repository of matters. A matter belongs to a department. A lawsuit is a matter. A page belongs to one
// matter, and many matters share labels.
type office struct {
	engine.Repository
	dept, matter, lawsuit, page, label *engine.Class
}

func newOffice() *office {
	o := &office{}
	o.dept = storetest.NewClass("dept", storetest.Prop("id", engine.String), storetest.Prop("name", engine.String, storetest.Searched), storetest.Prop("chief", engine.String))
	o.label = storetest.NewClass("label", storetest.Prop("id", engine.String), storetest.Prop("owner", engine.String))
	o.matter = storetest.NewClass("matter", storetest.Prop("id", engine.String), storetest.Prop("title", engine.String, storetest.Searched, storetest.Unique), storetest.Prop("owner", engine.String, storetest.Searched),
		storetest.Prop("secret", engine.String, storetest.Searched), storetest.Prop("n", engine.Int), storetest.Ref("dept", o.dept), storetest.LinkCollection("labels", o.label))
	o.page = storetest.NewClass("page", storetest.Prop("id", engine.String), storetest.Prop("owner", engine.String), storetest.Prop("text", engine.String), storetest.Ref("matter", o.matter), storetest.Prop("copied", engine.String), storetest.Prop("kept", engine.String, storetest.Cached))
	storetest.AddProperties(o.matter, storetest.BackProperty(engine.Collection, "pages", o.page, "matter"), storetest.BackProperty(engine.Reference, "cover", o.page, "matter"), storetest.Ref("next", o.matter), storetest.Prop("sheets", engine.Int))
	storetest.AddProperties(o.dept, storetest.BackProperty(engine.Collection, "matters", o.matter, "dept"), storetest.BackProperty(engine.Reference, "first", o.matter, "dept"), storetest.Prop("all", engine.String), storetest.Prop("total", engine.Int))
	o.page.Semantic = "matter.title|/|text"
	o.dept.Semantic = "name|: |matters"
	o.matter.Semantic = "title"
	for _, c := range []*engine.Class{o.page, o.dept, o.matter} {
		if err := c.Init(); err != nil {
			panic(err)
		}
	}
	storetest.SetFormulas(o.matter, "sheets", "size($pages)")
	storetest.SetFormulas(o.page, "copied", "concat($matter.title, '!')", "kept", "concat($matter.title, '!')")
	storetest.SetFormulas(o.dept, "all", "concat($first.secret, '?')", "total", "sum(matter, n)")
	o.lawsuit = storetest.Extend(o.matter, "lawsuit", storetest.Prop("court", engine.String, storetest.Searched))
	o.lawsuit.Semantic = "title"
	storetest.Link(o.classes()...)
	return o
}

func (o *office) classes() []*engine.Class {
	return []*engine.Class{o.dept, o.label, o.matter, o.lawsuit, o.page}
}

// openOffice creates six matters, each with an owner: 0 (ann, department d1), 1 (bob, d1), 2 (ann, d2), 3 (bob,
// without department), and the lawsuits 4 (ann, d2) and 5 (bob, d1). Each matter N has the page Na of ann and the page
// Nb of bob, but there is no page 3a. Each matter has the label x of ann and the label y of bob.
func openOffice(t *testing.T, open storetest.Open) *office {
	o := newOffice()
	o.Repository = open(t, o.classes())
	for _, d := range []string{"d1 ann", "d2 bob"} {
		id, chief, _ := strings.Cut(d, " ")
		storetest.Create(t, o, o.dept, "id", id, "name", "Dept "+id, "chief", chief)
		storetest.Create(t, o, o.label, "id", map[string]string{"d1": "x", "d2": "y"}[id], "owner", chief)
	}
	for i, m := range []string{"ann d1", "bob d1", "ann d2", "bob ", "ann d2", "bob d1"} {
		owner, dept, _ := strings.Cut(m, " ")
		id := string(rune('0' + i))
		given := []any{"id", id, "title", "Matter " + id, "owner", owner, "secret", "hush" + id, "n", int64(i), "labels", storetest.AddLinks("x", "y")}
		if dept != "" {
			given = append(given, "dept", dept)
		}
		c := o.matter
		if i > 3 {
			c, given = o.lawsuit, append(given, "court", "High")
		}
		storetest.Create(t, o, c, given...)
		for _, who := range []string{"ann", "bob"} {
			if id != "3" || who == "bob" {
				storetest.Create(t, o, o.page, "id", id+who[:1], "owner", who, "text", "page", "matter", id)
			}
		}
	}
	return o
}

// guardRules lists conditions of different kinds, each of which restricts the matters that an account may read. want
// contains the ids of the matters that satisfy the condition.
var guardRules = []struct {
	name, want string
	rule       func(t *testing.T, o *office) *engine.Filter
}{
	{"an attribute", "024", onMatters(`{"owner":"ann"}`)},
	{"a reference", "015", onMatters(`{"dept.chief":"ann"}`)},
	{"a collection", "01245", onMatters(`{"pages.owner":"ann"}`)},
	{"no collection", "3", onMatters(`{"not":[{"contains":["$pages",{"eq":["$owner","ann"]}]}]}`)},
	{"a reference from a collection", "015", onMatters(`{"pages.matter.dept.name":"Dept d1"}`)},
	{"a class", "45", onMatters(`{"__class":"lawsuit@test"}`)},
	{"a list of ids", "135", onMatters(`{"_id":{"$in":["1","3","5","9"]}}`)},
	{"search", "15", onMatters(`{"and":[{"match":["matter bob"]},{"nempty":["$dept"]}]}`)},
	{"nothing", "", func(*testing.T, *office) *engine.Filter { return engine.Never() }},
	{"an attribute of a class below", "0245", func(t *testing.T, o *office) *engine.Filter {
		high, err := query.Equal(o.lawsuit.Property("court"), "High")
		if err != nil {
			t.Fatal(err)
		}
		court := engine.And(storetest.ParseFilter(t, o.matter, `{"__class":"lawsuit@test"}`), high)
		return &engine.Filter{Op: engine.OpOr, Args: []*engine.Filter{court, engine.And(storetest.ParseFilter(t, o.matter, `{"__class":"matter@test"}`), storetest.ParseFilter(t, o.matter, `{"owner":"ann"}`))}}
	}},
}

func onMatters(filter string) func(t *testing.T, o *office) *engine.Filter {
	return func(t *testing.T, o *office) *engine.Filter { return storetest.ParseFilter(t, o.matter, filter) }
}

// eachRule runs a test for each of guardRules. may reports whether the account may read the matter with an id.
func eachRule(t *testing.T, open storetest.Open, run func(t *testing.T, o *office, r storetest.Guarded, may func(id string) bool)) {
	o := openOffice(t, open)
	for _, g := range guardRules {
		t.Run(g.name, func(t *testing.T) {
			r := storetest.WithGuard(o, new(storetest.Rules).Only(g.rule(t, o), o.matter, engine.MayRead))
			run(t, o, r, func(id string) bool { return strings.Contains(g.want, id) })
		})
	}
}

// among returns the ids for which may returns true. Each letter of ids is an id.
func among(ids string, may func(string) bool) []string {
	return slices.DeleteFunc(storetest.SplitLetters(ids), func(id string) bool { return !may(id) })
}
