package access

import (
	"context"
	"errors"
	"slices"
	"testing"

	"restsrv/engine"
	"restsrv/engine/store/storetest"
)

// TestRedactionLeavesTheItemAlone checks that redacting an item with computed labels,
// links and trackers changes only a copy, for all combinations of hidden
// attributes.
func TestRedactionLeavesTheItemAlone(t *testing.T) {
	f := newFirm(t)
	f.worker.EditorTracker = "kind"
	kind := f.worker.Property("kind")
	for _, name := range []string{"pay", "passport$place"} { // so there are more attributes with labels that show the name
		f.worker.Property(name).Selection = kind.Selection
	}
	for _, x := range []struct {
		name, resource          string
		team, first, kindLabel  string // as the account sees them
		creator, editor         string
		teamLinked, firstLinked bool
	}{
		{name: "nothing of it is hidden", resource: "a:::task@test.rank", team: "t", first: "1", kindLabel: "Ann's kind", creator: "maker@local", editor: "editor@local", teamLinked: true, firstLinked: true},
		{name: "what its kind is called", resource: "a:::worker@test.name", team: "t", first: "1", kindLabel: "k", creator: "maker@local", editor: "editor@local", teamLinked: true, firstLinked: true},
		{name: "its team", resource: "a:::worker@test.team", first: "1", kindLabel: "Ann's kind", creator: "maker@local", editor: "editor@local", firstLinked: true},
		{name: "its first task", resource: "a:::worker@test.first", team: "t", kindLabel: "Ann's kind", creator: "maker@local", editor: "editor@local", teamLinked: true},
		{name: "its creator", resource: "a:::worker@test.maker", team: "t", first: "1", kindLabel: "Ann's kind", editor: "editor@local", teamLinked: true, firstLinked: true},
		{name: "its editor", resource: "a:::worker@test.kind", team: "t", first: "1", creator: "maker@local", teamLinked: true, firstLinked: true},
	} {
		w := f.policy(1, append(slices.Clone(everyClass), "bob", x.resource, "read")...)
		p := f.gate(w, nil).cachedProfile(w.grants, account("ann"))
		it := newItem(f.worker, "w", "name", "ann", "maker", "m", "kind", "k")
		team, first := f.worker.Property("team"), f.worker.Property("first")
		refer(it, "team", newItem(f.team, "t", "name", "Team"))
		refer(it, "first", newItem(f.task, "1", "what", "dig"))
		// The item may come from a version of the class with one more property.
		it.Links = append(it.Links, engine.Link{})
		it.Labels = make([]string, len(f.worker.Properties))
		it.Labels[kind.Index] = "Ann's kind"
		values, labels, links := slices.Clone(it.Values), slices.Clone(it.Labels), slices.Clone(it.Links)

		shown := p.redactItem(it)
		if got := shown.Values; got[team.Index] != text0(x.team) || got[first.Index] != text0(x.first) {
			t.Errorf("%s hidden: team %v and first task %v, want %q and %q", x.name, got[team.Index], got[first.Index], x.team, x.first)
		}
		if got := shown.Labels[kind.Index]; got != x.kindLabel {
			t.Errorf("%s hidden: the label of the kind is %q, want %q", x.name, got, x.kindLabel)
		}
		if shown.Creator != x.creator || shown.Editor != x.editor {
			t.Errorf("%s hidden: creator %q and editor %q, want %q and %q", x.name, shown.Creator, shown.Editor, x.creator, x.editor)
		}
		if got := shown.Links[team.Index].Item != nil; got != x.teamLinked {
			t.Errorf("%s hidden: the team is loaded: %v, want %v", x.name, got, x.teamLinked)
		}
		if got := shown.Links[first.Index].Item != nil; got != x.firstLinked {
			t.Errorf("%s hidden: the first task is loaded: %v, want %v", x.name, got, x.firstLinked)
		}
		if !slices.Equal(it.Values, values) || !slices.Equal(it.Labels, labels) || it.Links[team.Index].Item != links[team.Index].Item || it.Creator != "maker@local" {
			t.Errorf("%s hidden: redaction changed the item itself", x.name)
		}
	}
}

// text0 returns a text as a value: nil if it is empty.
func text0(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// TestUnwrittenIsNotCopied checks that items are not copied for an account that
// may read every attribute, although there are some that it may not write.
func TestUnwrittenIsNotCopied(t *testing.T) {
	f := newFirm(t)
	w := f.policy(1, append(slices.Clone(everyClass), "ann", "a:::worker@test.pay", "read")...)
	p := f.gate(w, nil).cachedProfile(w.grants, account("ann"))
	if !p.Hides(engine.MayWrite, f.worker.Property("pay")) || p.Hides(engine.MayRead, f.worker.Property("pay")) {
		t.Error("the account may write the attribute or may not read it")
	}
	if it := newItem(f.worker, "w"); p.redactItem(it) != it {
		t.Error("the item was copied, want the item itself")
	}
}

// TestStructsAreProtectedByPath checks that an attribute resource names, with dots, either one
// attribute in a struct or the struct with all its attributes, and no other attributes.
func TestStructsAreProtectedByPath(t *testing.T) {
	f := newFirm(t)
	for resource, want := range map[string]string{
		"a:::worker@test.passport.number":  "boss.passport$number worker.passport$number",
		"a:::worker@test.passport$number":  "boss.passport$number worker.passport$number",
		"a:::worker@test.passport":         "boss.passport$number boss.passport$place worker.passport$number worker.passport$place",
		"a:::worker@test.passport.num":     "",
		"a:::worker@test.pass":             "",
		"a:::worker@test.":                 "",
		"a:::worker@test":                  "",
		"a:::worker@test.passport.number.": "",
	} {
		if got := f.hidden(t, engine.MayRead, "bob", resource, "read"); got != want {
			t.Errorf("%s hides %q, want %q", resource, got, want)
		}
	}
}

// TestValuesBeyondTheClass checks that values with one more property than the class has, as
// during a reload, do not cause a panic.
func TestValuesBeyondTheClass(t *testing.T) {
	w := newWorld().link().grant("ann", "c:::memo@test", "full", "bob", "a:::memo@test.pay", "full")
	r, _ := office(t, w)
	v := append(engine.NewValues(w.memo), "beyond")
	if _, err := r.Update(as(t, account("ann")), w.memo, "m1", v, engine.WriteOptions{}); err != nil {
		t.Errorf("got error %v, want none", err)
	}
}

// failing is a repository in which saves or aggregations fail.
type failing struct {
	*memory
	save, aggregate error
}

func (f *failing) Save(ctx context.Context, records []engine.Record) ([]*engine.Item, error) {
	if f.save != nil {
		return nil, f.save
	}
	return f.memory.Save(ctx, records)
}

func (f *failing) Aggregate(ctx context.Context, a *engine.Aggregation, visit func([]any) error) error {
	if f.aggregate != nil {
		return f.aggregate
	}
	return f.memory.Aggregate(ctx, a, visit)
}

// TestMissingRecordsOfSaves checks that "there is no such object" is hidden from
// an account that may not read all objects of the class of the failed record.
func TestMissingRecordsOfSaves(t *testing.T) {
	w := newWorld().link().grant("ann", "c:::memo@test", "full", "ann", "c:::letter@test", "write")
	_, m := office(t, w)
	missing := func(index int, bulk bool) error {
		e := engine.NoItem(w.memo, "x")
		e.Bulk, e.Index = bulk, index
		return e
	}
	memo, letter := engine.Record{Class: w.memo, ID: "x"}, engine.Record{Class: w.letter, ID: "x"}
	for _, x := range []struct {
		name    string
		err     error
		records []engine.Record
		want    string
	}{
		{"a memo, all of which may be read", missing(0, true), []engine.Record{memo, letter}, "unknown-object"},
		{"a letter, not all of which may be read", missing(1, true), []engine.Record{memo, letter}, "denied"},
		{"a memo after a letter", missing(1, true), []engine.Record{letter, memo}, "unknown-object"},
		{"a single letter", missing(0, false), []engine.Record{letter}, "denied"},
		{"an index out of range counts as the first", missing(2, true), []engine.Record{letter, memo}, "denied"},
		{"a negative index counts as the first", missing(-1, true), []engine.Record{letter, memo}, "denied"},
		{"no records", missing(0, false), nil, "unknown-object"},
	} {
		cfg := w.config()
		cfg.Inner = &failing{memory: m, save: x.err}
		_, err := New(cfg).Save(as(t, account("ann")), x.records)
		var got *engine.Error
		if !errors.As(err, &got) || got.Reason != x.want {
			t.Errorf("%s: got %v, want reason %s", x.name, err, x.want)
		}
	}
}

// TestAnswerOfASaveFails checks that a save returns an error if the gate cannot determine which
// of the written items the account may read.
func TestAnswerOfASaveFails(t *testing.T) {
	w := newWorld().link().roleMap(t, `{"doc@test": {"OWNER": {"attribute": "owner"}}}`).grant("ann", "c:::memo@test", "write", "OWNER", "c:::memo@test", "read")
	_, m := office(t, w)
	cfg := w.config()
	cfg.Inner = &failing{memory: m, aggregate: errors.New("the connection was lost")}
	items, err := New(cfg).Save(as(t, account("ann")), []engine.Record{{Class: w.memo, ID: "m1"}})
	if err == nil || items != nil {
		t.Errorf("got %v and error %v, want the error of the database", items, err)
	}
}

// TestAnswersOfSavesInADatabase checks that a save returns the values of exactly those written
// items that the account may read, for single and for composite keys.
func TestAnswersOfSavesInADatabase(t *testing.T) {
	w := newWorld()
	pair := storetest.NewClass("pair", text("id"), storetest.Prop("title", engine.String, func(p *engine.Property) { p.Nullable = false }), storetest.Prop("owner", engine.User))
	pair.Key = []string{"id", "title"}
	if err := pair.Init(); err != nil {
		t.Fatal(err)
	}
	storetest.Link(append(w.Classes(), pair)...)
	all := &pairs{w, pair}
	var faults engine.Faults
	w.roles = ParseRoleMap(all, object(t, `{"doc@test": {"OWNER": {"attribute": "owner"}}, "pair@test": {"OWNER": {"attribute": "owner"}}}`, &faults))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	w.grant("ann", "c:::memo@test", "write", "ann", "c:::pair@test", "write", "OWNER", "*", "read")
	for _, c := range []*engine.Class{w.memo, pair} {
		w.docs = nil
		for i, owner := range []string{"ann", "ann", "bob"} {
			it := newItem(c, string(rune('a'+i)), "title", "T", "owner", owner)
			w.docs = append(w.docs, it)
		}
		cfg := w.config()
		cfg.Inner, cfg.Meta = storedIn(t, all, w.docs), all
		var records []engine.Record
		for _, it := range w.docs {
			id := it.ID
			if c == pair {
				id += "_T"
			}
			records = append(records, engine.Record{Class: c, ID: id, Values: values(c, "owner", it.Get("owner"))})
		}
		items, err := New(cfg).Save(as(t, account("ann")), records)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		for i, it := range items {
			want := w.docs[i].Get("owner") == "ann"
			if got := it.Get("owner") != nil; got != want {
				t.Errorf("%s %s: the owner is shown: %v, want %v", c.Name, it.ID, got, want)
			}
		}
	}
}

// pairs is a world with one more class, which has a composite key.
type pairs struct {
	*world
	pair *engine.Class
}

func (p *pairs) Classes() []*engine.Class { return append(p.world.Classes(), p.pair) }

func (p *pairs) Class(name string) (*engine.Class, error) {
	if name == p.pair.FullName {
		return p.pair, nil
	}
	return p.world.Class(name)
}
