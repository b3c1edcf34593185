package storetest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/query"
)

var guardTests = []test{
	{"rows that may be read", guardRows},
	{"what leads to rows that may not be read", guardPaths},
	{"loaded rows", guardLoads},
	{"what is computed of rows", guardComputed},
	{"hidden attributes are unknown", guardUnknown},
	{"hidden attributes are unknown elsewhere", guardUnknownElsewhere},
	{"words of hidden attributes", guardSearch},
	{"what is computed of hidden attributes", guardBlank},
	{"what formulas look up", guardLookups},
	{"collections of a condition and an order", guardOrdered},
	{"collections of a condition on the owner", guardOwners},
	{"missing and hidden items", guardMissing},
	{"items that are being created", guardCreated},
	{"views of classes", guardViews},
}

// rules implements engine.Guard for tests. It allows everything that no rule limits.
type rules struct {
	rows   map[rule]*engine.Filter
	hidden map[string]engine.Permission
	single bool // permissions are on single items: no item may be created
}

type rule struct {
	may   engine.Permission
	class string
}

func (r *rules) Rows(may engine.Permission, c *engine.Class) *engine.Filter {
	for ; c != nil; c = c.Ancestor {
		if f := r.rows[rule{may, c.FullName}]; f != nil {
			return f
		}
	}
	return nil
}

func (r *rules) Creates(c *engine.Class) bool {
	return !r.single && !r.Rows(engine.MayUse, c).Never()
}

func (r *rules) Hides(may engine.Permission, p *engine.Property) bool {
	return r.hidden[p.Definition+"."+p.Name].Has(may)
}

// only limits permissions on items of a class to the items that pass f.
func (r *rules) only(f *engine.Filter, c *engine.Class, may ...engine.Permission) *rules {
	if r.rows == nil {
		r.rows = map[rule]*engine.Filter{}
	}
	for _, one := range may {
		r.rows[rule{one, c.FullName}] = f
	}
	return r
}

// hide hides properties for reading or writing.
func (r *rules) hide(may engine.Permission, c *engine.Class, names ...string) *rules {
	if r.hidden == nil {
		r.hidden = map[string]engine.Permission{}
	}
	for _, name := range names {
		r.hidden[c.Property(name).Definition+"."+name] |= may
	}
	return r
}

// guarded is a repository with a guard.
type guarded struct {
	engine.Repository
	guard engine.Guard
}

func under(r engine.Repository, g engine.Guard) guarded { return guarded{r, g} }

func (g guarded) ctx(ctx context.Context) context.Context { return engine.WithGuard(ctx, g.guard) }

func (g guarded) Get(ctx context.Context, c *engine.Class, id string, load ...*engine.Load) (*engine.Item, error) {
	return g.Repository.Get(g.ctx(ctx), c, id, load...)
}

func (g guarded) Admit(ctx context.Context, a engine.Admission) error {
	return engine.Admit(g.ctx(ctx), g.Repository, a)
}

func (g guarded) List(ctx context.Context, q *engine.Query, visit func(*engine.Item) error) error {
	return g.Repository.List(g.ctx(ctx), q, visit)
}

func (g guarded) Count(ctx context.Context, q *engine.Query) (int64, error) {
	return g.Repository.Count(g.ctx(ctx), q)
}

func (g guarded) Aggregate(ctx context.Context, a *engine.Aggregation, visit func([]any) error) error {
	return g.Repository.Aggregate(g.ctx(ctx), a, visit)
}

func (g guarded) Create(ctx context.Context, c *engine.Class, v engine.Values, o engine.WriteOptions) (*engine.Item, error) {
	return g.Repository.Create(g.ctx(ctx), c, v, o)
}

func (g guarded) Update(ctx context.Context, c *engine.Class, id string, v engine.Values, o engine.WriteOptions) (*engine.Item, error) {
	return g.Repository.Update(g.ctx(ctx), c, id, v, o)
}

func (g guarded) Delete(ctx context.Context, c *engine.Class, id string, m *engine.Match) error {
	return g.Repository.Delete(g.ctx(ctx), c, id, m)
}

func (g guarded) UpdateAll(ctx context.Context, q *engine.Query, v engine.Values) (int64, error) {
	return g.Repository.UpdateAll(g.ctx(ctx), q, v)
}

func (g guarded) DeleteAll(ctx context.Context, q *engine.Query) (int64, error) {
	return g.Repository.DeleteAll(g.ctx(ctx), q)
}

func (g guarded) Save(ctx context.Context, records []engine.Record) ([]*engine.Item, error) {
	return g.Repository.Save(g.ctx(ctx), records)
}

// office has matters and lawsuits, a class below, which belong to a department. A page belongs to
// one matter; many matters share labels.
type office struct {
	engine.Repository
	dept, matter, lawsuit, page, label *engine.Class
}

func newOffice() *office {
	o := &office{}
	o.dept = NewClass("dept", Prop("id", engine.String), Prop("name", engine.String, searched), Prop("chief", engine.String))
	o.label = NewClass("label", Prop("id", engine.String), Prop("owner", engine.String))
	o.matter = NewClass("matter", Prop("id", engine.String), Prop("title", engine.String, searched, unique), Prop("owner", engine.String, searched),
		Prop("secret", engine.String, searched), Prop("n", engine.Int), Ref("dept", o.dept), nm("labels", o.label))
	o.page = NewClass("page", Prop("id", engine.String), Prop("owner", engine.String), Prop("text", engine.String), Ref("matter", o.matter), Prop("copied", engine.String), Prop("kept", engine.String, cached))
	add(o.matter, back(engine.Collection, "pages", o.page, "matter"), back(engine.Reference, "cover", o.page, "matter"), Ref("next", o.matter), Prop("sheets", engine.Int))
	add(o.dept, back(engine.Collection, "matters", o.matter, "dept"), back(engine.Reference, "first", o.matter, "dept"), Prop("all", engine.String), Prop("total", engine.Int))
	o.page.Semantic = "matter.title|/|text"
	o.dept.Semantic = "name|: |matters"
	o.matter.Semantic = "title"
	for _, c := range []*engine.Class{o.page, o.dept, o.matter} {
		if err := c.Init(); err != nil {
			panic(err)
		}
	}
	setFormulas(o.matter, "sheets", "size($pages)")
	setFormulas(o.page, "copied", "concat($matter.title, '!')", "kept", "concat($matter.title, '!')")
	setFormulas(o.dept, "all", "concat($first.secret, '?')", "total", "sum(matter, n)")
	o.lawsuit = Extend(o.matter, "lawsuit", Prop("court", engine.String, searched))
	o.lawsuit.Semantic = "title"
	Link(o.classes()...)
	return o
}

func (o *office) classes() []*engine.Class {
	return []*engine.Class{o.dept, o.label, o.matter, o.lawsuit, o.page}
}

// openOffice creates the matters 0 (ann, in d1), 1 (bob, in d1), 2 (ann, in d2), 3 (bob, without
// department) and the lawsuits 4 (ann, in d2) and 5 (bob, in d1). Each matter N has the pages Na of
// ann and Nb of bob, but 3 has only the one of bob. Each has the labels x and y.
func openOffice(t *testing.T, open Open) *office {
	o := newOffice()
	o.Repository = open(t, o.classes())
	for _, d := range []string{"d1 ann", "d2 bob"} {
		id, chief, _ := strings.Cut(d, " ")
		create(t, o, o.dept, "id", id, "name", "Dept "+id, "chief", chief)
		create(t, o, o.label, "id", map[string]string{"d1": "x", "d2": "y"}[id], "owner", chief)
	}
	for i, m := range []string{"ann d1", "bob d1", "ann d2", "bob ", "ann d2", "bob d1"} {
		owner, dept, _ := strings.Cut(m, " ")
		id := string(rune('0' + i))
		given := []any{"id", id, "title", "Matter " + id, "owner", owner, "secret", "hush" + id, "n", int64(i), "labels", put("x", "y")}
		if dept != "" {
			given = append(given, "dept", dept)
		}
		c := o.matter
		if i > 3 {
			c, given = o.lawsuit, append(given, "court", "High")
		}
		create(t, o, c, given...)
		for _, who := range []string{"ann", "bob"} {
			if id != "3" || who == "bob" {
				create(t, o, o.page, "id", id+who[:1], "owner", who, "text", "page", "matter", id)
			}
		}
	}
	return o
}

// guardRules lists different kinds of conditions on matters with the matters that pass.
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
		court := engine.And(parsed(t, o.matter, `{"__class":"lawsuit@test"}`), high)
		return &engine.Filter{Op: engine.OpOr, Args: []*engine.Filter{court, engine.And(parsed(t, o.matter, `{"__class":"matter@test"}`), parsed(t, o.matter, `{"owner":"ann"}`))}}
	}},
}

func onMatters(filter string) func(t *testing.T, o *office) *engine.Filter {
	return func(t *testing.T, o *office) *engine.Filter { return parsed(t, o.matter, filter) }
}

// eachRule runs a test under each of guardRules. may reports whether a matter may be read.
func eachRule(t *testing.T, open Open, run func(t *testing.T, o *office, r guarded, may func(id string) bool)) {
	o := openOffice(t, open)
	for _, g := range guardRules {
		t.Run(g.name, func(t *testing.T) {
			r := under(o, new(rules).only(g.rule(t, o), o.matter, engine.MayRead))
			run(t, o, r, func(id string) bool { return strings.Contains(g.want, id) })
		})
	}
}

// among returns the ids that may be read, in their order.
func among(ids string, may func(string) bool) []string {
	return slices.DeleteFunc(split(ids), func(id string) bool { return !may(id) })
}
