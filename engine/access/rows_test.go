package access

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/query"
)

// TestRowsAreWhatGrantsSay compares the conditions of the gate with permissions
// that are computed for each item from the definition, for random grants,
// accounts and items.
func TestRowsAreWhatGrantsSay(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 4))
		w := newWorld().link().roleMap(t, `{
			"doc@test": {"OWNER": {"attribute": "owner"},
			             "HEAD": {"sids": [["$dept.head", ["boss", "$readers.who"]]], "resource": {"id": "my::res"}, "conditions": {"eq": ["$state", 1]}}},
			"letter@test": {"OWNER": {"sids": ["$readers.who", "clerk"]}}}`)
		randomDocs(r, w)
		var granted []string
		subjects := []string{"ann", "bob", "boss", "clerk", "OWNER", "HEAD", engine.Everyone}
		resources := []string{"*", "c:::doc@test", "c:::memo@test", "c:::letter@test", "c:::stamped@test", "my::res",
			"i:::memo@test@0", "i:::letter@test@1", "i:::stamped@test@2", "i:::doc@test@3", "i:::letter@test@2"}
		for range r.IntN(8) {
			granted = append(granted, pick(r, subjects), pick(r, resources), pick(r, engine.PermissionNames()))
		}
		w.grant(granted...)
		if r.IntN(4) == 0 {
			w.stages = firstStage{}
		}
		a := account(pick(r, []string{"ann", "bob"}), subjects[2:2+r.IntN(3)]...)
		if r.IntN(3) == 0 {
			a.Scope, _ = engine.ParseScope("crud")
			a.Limit = engine.Permission(r.IntN(16))
		}
		g := newGate(w.config())
		p := g.cachedProfile(w.grants, a)
		for _, may := range append(slices.Clone(permissions[:]), engine.MayRead|engine.MayWrite, engine.MayAll) {
			for _, c := range w.Classes()[2:] {
				compareRows(t, w, p, may, c, fmt.Sprintf("seed %d: %v of %v (limit %s) on %s, grants %v", seed, may, a.Subjects(), limitOf(a), c.Name, granted))
			}
		}
	}
}

func compareRows(t *testing.T, w *world, p *profile, may engine.Permission, c *engine.Class, what string) {
	t.Helper()
	f := p.Rows(may, c)
	for _, it := range w.docs {
		if !slices.Contains(withDescendants(c), it.Class) {
			continue
		}
		got := passes(f, it)
		if p.full {
			got = true
		}
		if want := w.says(p.account, p.limit, may, it); got != want {
			t.Fatalf("%s, item %s %s: %v, expected %v", what, it.Class.Name, it.ID, got, want)
		}
	}
}

// says reports whether an account has a permission on an item, by the definition: by grants of
// its subjects on the item, on the class or on everything, or by roles and stages.
func (w *world) says(a *engine.Account, limit, may engine.Permission, it *engine.Item) bool {
	var held engine.Permission
	subjects := append([]string{a.ID}, a.Roles...)
	is := func(name any) bool { return slices.Contains(subjects, fmt.Sprint(name)) }
	class := "c:::" + it.Class.FullName
	for _, s := range subjects {
		held |= w.grants.On("*", s) | w.grants.On(class, s) | w.grants.On("i:::"+it.Class.FullName+"@"+it.ID, s)
	}
	reads := slices.ContainsFunc(it.Link(it.Class.Property("readers")).Items, func(s *engine.Item) bool { return is(s.Get("who")) })
	owner := is(it.Get("owner"))
	if strings.HasPrefix(it.Class.Name, "l") || it.Class.Name == "stamped" {
		owner = reads || is("clerk")
	}
	if owner {
		held |= w.grants.On(class, "OWNER") | w.grants.On("*", "OWNER")
	}
	if dept := it.Link(it.Class.Property("dept")).Item; dept != nil && is(dept.Get("head")) && (is("boss") || reads) && it.Get("state") == int64(1) {
		held |= w.grants.On("my::res", "HEAD") | w.grants.On("*", "HEAD")
	}
	if w.stages != nil && it.Get("state") == int64(2) && it.Class == w.letter {
		held |= engine.MayDelete
	}
	return (held & limit).Has(may &^ fullBit)
}

// firstStage lets every account delete letters in state 2.
type firstStage struct{}

func (firstStage) Keeps(string, *engine.Class, *engine.Account) *engine.Filter { return nil }

func (firstStage) Rows(may engine.Permission, c *engine.Class, _ *engine.Account) *engine.Filter {
	if may != engine.MayDelete || c.Name != "letter" {
		return nil
	}
	f, err := query.Equal(c.Property("state"), int64(2))
	if err != nil {
		panic(err)
	}
	return f
}

func pick(r *rand.Rand, all []string) string { return all[r.IntN(len(all))] }

func randomDocs(r *rand.Rand, w *world) {
	people := []string{"ann", "bob", "clerk"}
	for i := range 12 {
		c := []*engine.Class{w.memo, w.letter, w.stamped}[r.IntN(3)]
		it := newItem(c, fmt.Sprint(i%4), "owner", pick(r, people), "state", int64(r.IntN(3)))
		w.shared(it, pick(r, people), "eve")
		if r.IntN(2) == 0 {
			refer(it, "dept", newItem(w.dept, "7", "head", pick(r, people)))
		}
		w.docs = append(w.docs, it)
	}
}

// TestRowsAreSimple checks that a permission on a whole class gives no condition, and that a
// missing permission gives the condition never. The SQL statements depend on both.
func TestRowsAreSimple(t *testing.T) {
	w := newWorld().link().grant("all", "*", "read", "some", "c:::memo@test", "read", "tree", "c:::memo@test", "read", "tree", "c:::letter@test", "read",
		"tree", "c:::stamped@test", "full", "one", "i:::memo@test@a", "read", "gone", "i:::memo@other@a", "read", "code", "i:::dept@test@x", "read", "code", "i:::dept@test@5", "use")
	g := newGate(w.config())
	rows := func(subject string, may engine.Permission, c *engine.Class) string {
		return describeRows(g.cachedProfile(w.grants, account(subject)).Rows(may, c))
	}
	for _, x := range []struct {
		subject string
		may     engine.Permission
		class   *engine.Class
		want    string
	}{
		{"all", engine.MayRead, w.doc, "always"},
		{"all", engine.MayWrite, w.doc, "never"},
		{"some", engine.MayRead, w.memo, "always"},
		{"some", engine.MayRead, w.letter, "never"},
		{"some", engine.MayRead, w.doc, "__class in [memo@test]"},
		{"tree", engine.MayRead, w.doc, "always"}, // class doc itself is abstract
		{"tree", engine.MayRead, w.letter, "always"},
		{"tree", engine.MayDelete, w.letter, "__class in [stamped@test]"},
		{"tree", engine.MayRead | engine.MayDelete, w.letter, "__class in [stamped@test]"},
		{"tree", engine.MayDelete, w.stamped, "always"},
		{"one", engine.MayRead, w.memo, "id in [a]"},
		{"one", engine.MayRead, w.doc, "and(__class in [memo@test], id in [a])"},
		{"gone", engine.MayRead, w.memo, "never"},
		{"code", engine.MayRead, w.dept, "never"}, // "x" is the id of no department
		{"code", engine.MayUse, w.dept, "code in [5]"},
		{"nobody", engine.MayRead, w.doc, "never"},
	} {
		if got := rows(x.subject, x.may, x.class); got != x.want {
			t.Errorf("%s: %s on %s is %q, expected %q", x.subject, x.may, x.class.Name, got, x.want)
		}
	}
	if a, b := g.cachedProfile(w.grants, account("one")).Rows(engine.MayRead, w.memo), g.cachedProfile(w.grants, account("one")).Rows(engine.MayRead, w.memo); a != b {
		t.Error("the condition is made anew each time")
	}
}

func describeRows(f *engine.Filter) string {
	switch {
	case f == nil:
		return "always"
	case f.Never():
		return "never"
	case f.Op == engine.OpIn:
		return fmt.Sprintf("%s in %v", f.Left.Path[len(f.Left.Path)-1].Name, f.List)
	case f.Op == engine.OpEq:
		return fmt.Sprintf("%s eq %v", f.Left.Path[len(f.Left.Path)-1].Name, f.Right.Value)
	}
	var args []string
	for _, a := range f.Args {
		args = append(args, describeRows(a))
	}
	return string(f.Op) + "(" + strings.Join(args, ", ") + ")"
}

// TestRowsOfCompositeKeys checks that items with a composite key are compared by their id.
func TestRowsOfCompositeKeys(t *testing.T) {
	w := newWorld()
	c := &engine.Class{Name: "pair", Namespace: "test", Key: []string{"id", "title"}, Properties: w.doc.Properties}
	if err := c.Init(); err != nil {
		t.Fatal(err)
	}
	if got := describeRows(ofIDs(c, []string{"a_b"})); got != "_id in [a_b]" {
		t.Errorf("got %s", got)
	}
}

func (firstStage) Variables() []string { return nil }
