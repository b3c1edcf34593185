package access

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/query"
	"restsrv/engine/store/storetest"
)

// chain is a repository of people and their superiors. The first list filters by account. For
// each later list, next computes the result from the ids in the filter.
type chain struct {
	engine.Repository
	person, team *engine.Class
	lists        []*engine.Query
	next         func(ids []string) []*engine.Item
}

func (c *chain) Classes() []*engine.Class { return []*engine.Class{c.person, c.team} }

func (c *chain) Class(name string) (*engine.Class, error) {
	for _, class := range c.Classes() {
		if class.FullName == name {
			return class, nil
		}
	}
	return nil, engine.NoClass(name)
}

func (c *chain) List(_ context.Context, q *engine.Query, visit func(*engine.Item) error) error {
	c.lists = append(c.lists, q)
	var ids []string
	collectValues(q.Filter, func(v any) { ids = append(ids, fmt.Sprint(v)) })
	for _, it := range c.next(ids) {
		if err := visit(it); err != nil {
			return err
		}
	}
	return nil
}

// collectValues visits the constants of a condition.
func collectValues(f *engine.Filter, visit func(any)) {
	for _, v := range f.List {
		visit(v)
	}
	if f.Right != nil {
		visit(f.Right.Value)
	}
	for _, arg := range f.Args {
		collectValues(arg, visit)
	}
}

func newChain() *chain {
	c := &chain{}
	c.team = storetest.NewClass("team", text("id"), storetest.Prop("roles", engine.Set))
	c.person = storetest.NewClass("person", text("id"), text("uid"), storetest.Prop("roles", engine.Set), storetest.Ref("team", c.team))
	extend(c.person, storetest.Ref("superior", c.person), storetest.Prop("reports", engine.Collection, func(p *engine.Property) { p.Target = c.person }))
	storetest.Link(c.team, c.person)
	return c
}

// people returns persons without superiors; the account of each is its id.
func (c *chain) people(ids ...string) (all []*engine.Item) {
	for _, id := range ids {
		all = append(all, newItem(c.person, id, "uid", id))
	}
	return all
}

const (
	byUID       = `{"map": {"person@test": {"isEntry": true, "sidAttribute": "uid", "jumps": ["superior"]}}}`
	byRoles     = `{"map": {"person@test": {"isEntry": true, "sidAttribute": "uid", "jumps": ["team"]}, "team@test": {"sidAttribute": "roles"}}}`
	bySuperiors = `{"propertyMap": {"person@test": {"filter": "uid", "properties": {"all": "roles"}, "recursion": {"id": "superior"}}}}`
)

// find runs a finder of coactors and returns the subjects and the log.
func (c *chain) find(t *testing.T, source string) ([]string, string) {
	t.Helper()
	var log bytes.Buffer
	var faults engine.Faults
	f := NewCoactorFinder(CoactorConfig{Data: c, Meta: c, Log: slog.New(slog.NewTextHandler(&log, nil))}, object(t, source, &faults))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	c.lists = nil
	found, err := f.Coactors(t.Context(), "ann")
	if err != nil {
		t.Fatal(err)
	}
	return found, log.String()
}

// TestCoactorBounds checks that the search for coactors stops at its bounds. The search must log
// a warning if it stopped early, and only then.
func TestCoactorBounds(t *testing.T) {
	c := newChain()
	numbered := func(prefix string, n int) (ids []string) {
		for i := range n {
			ids = append(ids, fmt.Sprint(prefix, i))
		}
		return ids
	}
	withRoles := func(n int) func([]string) []*engine.Item {
		return func([]string) []*engine.Item {
			var numbers []any
			for i := range n {
				numbers = append(numbers, int64(i))
			}
			return []*engine.Item{refer(newItem(c.person, "p"), "team", newItem(c.team, "t", "roles", numbers))}
		}
	}
	crowd := func(n int) func(ids []string) []*engine.Item { // ann has n superiors; all but the last are the same account
		return func(ids []string) (all []*engine.Item) {
			if !slices.Equal(ids, []string{"ann"}) {
				return c.people(ids...)
			}
			for _, s := range c.people(numbered("s", n)...) {
				if s.ID != fmt.Sprint("s", n-1) {
					s.Values[c.person.Property("uid").Index] = "boss"
				}
				all = append(all, refer(newItem(c.person, "ann", "uid", "ann"), "superior", s))
			}
			return all
		}
	}
	chained := func(n int) func(ids []string) []*engine.Item { // the superior of each of n
		return func(ids []string) []*engine.Item {
			i := 0
			fmt.Sscanf(ids[0], "p%d", &i)
			it := newItem(c.person, ids[0], "uid", ids[0])
			if i < n {
				refer(it, "superior", c.people(fmt.Sprint("p", i+1))[0])
			}
			return []*engine.Item{it}
		}
	}
	for _, x := range []struct {
		name     string
		source   string
		next     func([]string) []*engine.Item
		subjects int
		lists    int
		warns    bool
	}{
		{"an account without a superior", byUID, func(ids []string) []*engine.Item { return c.people(ids...) }, 0, 1, false},
		{"an account that is not in the data", byUID, func([]string) []*engine.Item { return nil }, 0, 1, false},
		{"a few roles", byRoles, withRoles(3), 3, 1, false},
		{"one role less than the bound", byRoles, withRoles(maxCoactors - 1), maxCoactors - 1, 1, false},
		{"more roles than the bound", byRoles, withRoles(maxCoactors + 5), maxCoactors, 1, true},
		{"one superior after another", byUID, chained(3), 3, 4, false},
		{"as many levels as are followed", byUID, chained(maxJumps), maxJumps, maxJumps + 1, false},
		{"one level more", byUID, chained(maxJumps + 1), maxJumps + 1, maxJumps + 1, true},
		{"one item less than the bound", byUID, crowd(maxVisited - 2), 2, 1 + (maxVisited-2+maxAsked-1)/maxAsked, false},
		{"as many items as the bound", byUID, crowd(maxVisited - 1), 2, 1, true},
		{"more items than the bound", byUID, crowd(maxVisited), 1, 1, true},
	} {
		c.next = x.next
		found, log := c.find(t, x.source)
		if len(found) != x.subjects || len(c.lists) != x.lists {
			t.Errorf("%s: got %d subjects by %d lists, want %d by %d", x.name, len(found), len(c.lists), x.subjects, x.lists)
		}
		if got := strings.Contains(log, "reached its limits"); got != x.warns {
			t.Errorf("%s: warned %v, want %v:\n%s", x.name, got, x.warns, log)
		}
	}
}

// profile reads the profile of an account and returns it as JSON.
func (c *chain) profile(t *testing.T, source string) string {
	t.Helper()
	var faults engine.Faults
	f := NewProfiles(ProfilesConfig{Data: c, Meta: c}, object(t, source, &faults))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	c.lists = nil
	fields, err := f.Load(t.Context(), "ann")
	if err != nil {
		t.Fatal(err)
	}
	return string(engine.AppendValue(nil, fields))
}

// TestProfileBounds checks that reading a profile follows references up to its
// bounds, with one list for each level.
func TestProfileBounds(t *testing.T) {
	c := newChain()
	holder := func(id string, superior string, roles ...any) *engine.Item {
		it := newItem(c.person, id, "uid", id)
		if roles != nil {
			it = newItem(c.person, id, "uid", id, "roles", roles)
		}
		if superior != "" {
			refer(it, "superior", c.people(superior)[0])
		}
		return it
	}
	levels := func(n int) func([]string) []*engine.Item {
		return func(ids []string) []*engine.Item {
			level := len(c.lists)
			if level == n {
				return []*engine.Item{holder(fmt.Sprint("p", level), "", int64(level))}
			}
			return []*engine.Item{holder(fmt.Sprint("p", level), fmt.Sprint("p", level+1), int64(level))}
		}
	}
	upTo := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprint(i+1))
		}
		return `{"all":[` + strings.Join(all, ",") + `]}`
	}
	for _, x := range []struct {
		name  string
		next  func(ids []string) []*engine.Item
		want  string
		lists int
	}{
		{"no item", func([]string) []*engine.Item { return nil }, `{}`, 1},
		{"an item without a superior", func([]string) []*engine.Item { return []*engine.Item{holder("a", "", int64(1))} }, `{"all":[1]}`, 1},
		{"an item that is its own superior", func([]string) []*engine.Item { return []*engine.Item{holder("a", "a", int64(1))} }, `{"all":[1]}`, 2},
		{"a second level without a value", func(ids []string) []*engine.Item {
			if len(c.lists) == 1 {
				return []*engine.Item{holder("a", "b", int64(1))}
			}
			return []*engine.Item{holder("b", "")}
		}, `{"all":[1]}`, 2},
		{"a second level with the only value", func(ids []string) []*engine.Item {
			if len(c.lists) == 1 {
				return []*engine.Item{holder("a", "b")}
			}
			return []*engine.Item{holder("b", "", int64(2))}
		}, `{"all":[2]}`, 2},
		{"three levels", levels(3), upTo(3), 3},
		{"as many levels as are followed", levels(maxJumps + 1), upTo(maxJumps + 1), maxJumps + 1},
		{"one level more", levels(maxJumps + 2), upTo(maxJumps + 1), maxJumps + 1},
	} {
		c.next = x.next
		if got := c.profile(t, bySuperiors); got != x.want || len(c.lists) != x.lists {
			t.Errorf("%s: got %s by %d lists, want %s by %d", x.name, got, len(c.lists), x.want, x.lists)
		}
	}
	// Items beyond maxVisited are ignored.
	c.next = func([]string) (all []*engine.Item) {
		for i := range maxVisited + 1 {
			all = append(all, holder(fmt.Sprint("p", i), "", int64(i)))
		}
		return all
	}
	if got := strings.Count(c.profile(t, bySuperiors), ",") + 1; got != maxVisited {
		t.Errorf("got the values of %d items, want %d", got, maxVisited)
	}
}

// TestProfileNames checks how many items a profile requests at once: at most MaxNames of a level,
// and no items of the next level if a single item refers to more.
func TestProfileNames(t *testing.T) {
	c := newChain()
	ids := make([]string, query.MaxNames+1)
	for i := range ids {
		ids[i] = fmt.Sprint("r", i)
	}
	leader := func(n int) []*engine.Item {
		it := newItem(c.person, "ann")
		it.Links = make([]engine.Link, len(c.person.Properties))
		it.Links[c.person.Property("reports").Index] = engine.Link{Loaded: true, Shown: true, Items: c.people(ids[:n]...)}
		return []*engine.Item{it}
	}
	for _, x := range []struct {
		name, by    string
		first       []*engine.Item
		want, lists int // how many names the second list asks for
	}{
		{"as many reports as may be named", "reports", leader(query.MaxNames), query.MaxNames, 2},
		{"one report more", "reports", leader(query.MaxNames + 1), 0, 1},
		{"more items than may be followed", "id", c.people(ids...), query.MaxNames, 2},
	} {
		c.next = func([]string) []*engine.Item {
			if len(c.lists) == 1 {
				return x.first
			}
			return nil
		}
		c.profile(t, `{"propertyMap": {"person@test": {"filter": "uid", "properties": {"x": "id"}, "recursion": {"id": "`+x.by+`"}}}}`)
		got := 0
		if len(c.lists) > 1 {
			collectValues(c.lists[1].Filter, func(any) { got++ })
		}
		if got != x.want || len(c.lists) != x.lists {
			t.Errorf("%s: the second of %d lists asks for %d items, want %d of %d lists", x.name, len(c.lists), got, x.want, x.lists)
		}
	}
}

// TestProfileLoads checks that reading a profile loads the items along its paths,
// but not the item at the end of a path.
func TestProfileLoads(t *testing.T) {
	c := newChain()
	deputy := storetest.Ref("deputy", c.person) // the other side of a reference
	deputy.Back = c.person.Property("superior")
	extend(c.person, deputy)
	for path, want := range map[string]string{"uid": "", "team": "", "team.id": "team", "superior.team": "superior", "superior.superior.team.id": "superior.superior.team", "deputy": "deputy"} {
		c.next = func([]string) []*engine.Item { return nil }
		c.profile(t, `{"propertyMap": {"person@test": {"filter": "uid", "properties": {"x": "`+path+`"}}}}`)
		var got []string
		for loads := c.lists[0].Load; len(loads) > 0; loads = loads[0].Next {
			got = append(got, loads[0].Property.Name)
		}
		if strings.Join(got, ".") != want {
			t.Errorf("the path %s loads %v, want %s", path, got, want)
		}
	}
}

// TestProfilesOfSubjectsAreBounded checks the maximum number of accounts that the gate caches:
// when the cache reaches this number, the gate clears it.
func TestProfilesOfSubjectsAreBounded(t *testing.T) {
	w := newWorld().link().grant("ann", "c:::memo@test", "read")
	g := newGate(w.config())
	for i := range maxProfiles {
		g.cachedProfile(w.grants, account(fmt.Sprint(i)))
	}
	if got := len(g.known.now.profiles); got != maxProfiles {
		t.Errorf("%d accounts are remembered, want %d", got, maxProfiles)
	}
	if got := describeRows(g.cachedProfile(w.grants, account("ann")).Rows(engine.MayRead, w.memo)); got != "always" {
		t.Errorf("the account beyond the bound may read if %s, want always", got)
	}
	if got := len(g.known.now.profiles); got != 1 {
		t.Errorf("%d accounts are remembered beyond the bound, want 1", got)
	}
}

// TestExplanationsOfNoSubjects checks the text of an explanation for an account without roles,
// and the text of a condition with one term.
func TestExplanationsOfNoSubjects(t *testing.T) {
	x := &Explanation{Account: "ann", Resource: "c:::memo@test", About: "a class"}
	if got := x.Lines()[0] + strings.Join(x.Lines()[1:], "\n"); strings.Contains(got, "the account has") {
		t.Errorf("got %s, want no list of roles", got)
	}
	one := term{op: engine.OpOr, terms: []term{{op: engine.OpEq, text: "ann"}}}
	for want, of := range map[string]term{
		"the account is ann":                                                one,
		"the account is ann and $owner names the account":                   {op: engine.OpAnd, terms: []term{one, {op: engine.OpPath, text: "owner"}}},
		"(the account is ann or the account is ann) and the account is ann": {op: engine.OpAnd, terms: []term{{op: engine.OpOr, terms: []term{one, one}}, one}},
	} {
		if got := of.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
