package guard

import (
	"context"
	"fmt"
	"testing"

	"restsrv/engine"
	"restsrv/engine/store/storetest"
)

var guardWriteTests = []storetest.Test{
	{Name: "items that may be created", Run: guardCreate},
	{Name: "items that may be changed", Run: guardUpdate},
	{Name: "what an item may become", Run: guardAfter},
	{Name: "an item under another key", Run: guardRenamed},
	{Name: "items that may be deleted", Run: guardDelete},
	{Name: "records of one save", Run: guardSave},
	{Name: "all that may be changed", Run: guardAll},
	{Name: "attributes that may not be changed", Run: guardGiven},
	{Name: "nested records", Run: guardNested},
	{Name: "references to hidden items", Run: guardPointing},
	{Name: "links to hidden items", Run: guardLinks},
	{Name: "members by a back reference", Run: guardBack},
	{Name: "keys of several properties", Run: guardComposite},
	{Name: "errors that say no more", Run: guardErrors},
	{Name: "errors of items that follow", Run: guardDependent},
	{Name: "what the server does of its own", Run: guardOwn},
	{Name: "what is admitted before a write", Run: guardAdmit},
	{Name: "nested records that are admitted before a write", Run: guardAdmitNested},
}

func allowed(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

func tryUpdate(t *testing.T, r engine.Repository, c *engine.Class, id string, pairs ...any) error {
	t.Helper()
	_, err := r.Update(t.Context(), c, id, storetest.NewValues(c, pairs...), engine.WriteOptions{})
	return err
}

func guardCreate(t *testing.T, open storetest.Open) {
	o := openOffice(t, open)
	for _, c := range []*engine.Class{o.matter, o.label, o.page} {
		t.Run(c.Name, func(t *testing.T) {
			before := storetest.ListIDs(t, o, storetest.All(c))
			never := storetest.WithGuard(o, new(storetest.Rules).Only(engine.Never(), c, engine.MayUse))
			storetest.CheckDenied(t, "a new item", storetest.TryCreate(t, never, c, "id", "new"))
			storetest.CheckDenied(t, "with an invalid value", storetest.TryCreate(t, never, c, "id", ""))
			storetest.CheckDenied(t, "a taken key", storetest.TryCreate(t, never, c, "id", before[0]))
			storetest.CheckDenied(t, "in a save", storetest.TrySave(t, never, storetest.NewRecord(c, "new")))
			some := new(storetest.Rules).Only(storetest.ParseFilter(t, c, `{"owner":"ann"}`), c, engine.MayUse)
			some.Single = true
			storetest.CheckDenied(t, "an invalid item if the account may use some", storetest.TryCreate(t, storetest.WithGuard(o, some), c, "id", ""))
			some.Only(engine.Never(), c, engine.MayWrite)
			storetest.CheckDenied(t, "an invalid item in a save if the account may use some", storetest.TrySave(t, storetest.WithGuard(o, some), storetest.NewRecord(c, "", "id", "")))
			own := storetest.WithGuard(o, new(storetest.Rules).Only(storetest.ParseFilter(t, c, `{"owner":"ann"}`), c, engine.MayUse))
			storetest.CheckDenied(t, "another's", storetest.TryCreate(t, own, c, "id", "new", "owner", "bob"))
			storetest.CheckDenied(t, "an item without owner", storetest.TryCreate(t, own, c, "id", "new"))
			storetest.CheckDenied(t, "another's in a save", storetest.TrySave(t, own, storetest.NewRecord(c, "new", "owner", "ann"), storetest.NewRecord(c, "more", "owner", "bob")))
			storetest.CheckDenied(t, "many in a save", storetest.TrySave(t, own, many(c, 600, "ann", "bob")...))
			storetest.CheckSame(t, "items after denied writes", storetest.ListIDs(t, o, storetest.All(c)), before)
			allowed(t, "one's own", storetest.TryCreate(t, own, c, "id", "new", "owner", "ann"))
			allowed(t, "one's own in a save", storetest.TrySave(t, own, storetest.NewRecord(c, "more", "owner", "ann"), storetest.NewRecord(c, "new", "owner", "bob")))
			allowed(t, "many of one's own", storetest.TrySave(t, own, many(c, 600, "ann", "ann")...))
			storetest.CheckSame(t, "created", storetest.Count(t, o, c), int64(len(before)+602))
		})
	}
}

// many returns n records of items that belong to owner. The last item belongs to another account, last.
func many(c *engine.Class, n int, owner, last string) (records []engine.Record) {
	for i := range n {
		if i == n-1 {
			owner = last
		}
		records = append(records, storetest.NewRecord(c, "", "id", fmt.Sprint("many", i), "owner", owner))
	}
	return records
}

func guardUpdate(t *testing.T, open storetest.Open) {
	for _, c := range []struct {
		name  string
		rules func(t *testing.T, o *office) *storetest.Rules
		blind bool // the account may not read all items
	}{
		{"all may be read", func(t *testing.T, o *office) *storetest.Rules {
			return new(storetest.Rules).Only(storetest.ParseFilter(t, o.matter, `{"owner":"ann"}`), o.matter, engine.MayWrite)
		}, false},
		{"some may be read", func(t *testing.T, o *office) *storetest.Rules {
			return new(storetest.Rules).Only(storetest.ParseFilter(t, o.matter, `{"owner":"ann"}`), o.matter, engine.MayWrite, engine.MayRead)
		}, true},
		{"through a reference", func(t *testing.T, o *office) *storetest.Rules {
			f := storetest.ParseFilter(t, o.matter, `{"or":[{"dept.chief":"ann"},{"owner":"ann"}]}`)
			return new(storetest.Rules).Only(engine.And(f, storetest.ParseFilter(t, o.matter, `{"owner":"ann"}`)), o.matter, engine.MayWrite, engine.MayRead)
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := openOffice(t, open)
			r := storetest.WithGuard(o, c.rules(t, o))
			missing := func(what string, err error) {
				t.Helper()
				if c.blind {
					storetest.CheckDenied(t, what, err)
					return
				}
				storetest.CheckError(t, err, engine.NotFound, "unknown-object")
			}
			was := storetest.Get(t, o, o.matter, "1")
			for what, v := range map[string][]any{
				"a value": {"title", "Mine"}, "nothing": nil, "a taken value": {"title", "Matter 0"}, "a key": {"id", "x"}, "links": {"labels", storetest.AddLinks("x")},
				"a member": {"pages", storetest.AddLinks("0a")}, "a nested record": {"next", storetest.NestedRecord(o.matter, "title", "Nested")}, "the owner": {"owner", "ann"},
			} {
				storetest.CheckDenied(t, what, tryUpdate(t, r, o.matter, "1", v...))
				missing(what+" of nothing", tryUpdate(t, r, o.matter, "none", v...))
				_, err := r.Update(t.Context(), o.matter, "1", storetest.NewValues(o.matter, v...), engine.WriteOptions{Match: &engine.Match{Revisions: []uint64{1, 2}}})
				storetest.CheckDenied(t, what+", another revision", err)
			}
			storetest.CheckSame(t, "unchanged", storetest.Get(t, o, o.matter, "1"), was)
			storetest.CheckSame(t, "no member", storetest.ListMembers(t, o, o.matter, "0", "pages"), []string{"0a", "0b"})
			storetest.CheckSame(t, "changed", storetest.Update(t, r, o.matter, "0", "title", "Mine", "pages", storetest.AddLinks("1a")).Get("title"), "Mine")
			storetest.CheckSame(t, "update without values", storetest.Update(t, r, o.matter, "2").Get("title"), "Matter 2")
			_, err := r.Update(t.Context(), o.matter, "0", storetest.NewValues(o.matter, "n", int64(1)), engine.WriteOptions{Match: &engine.Match{Revisions: []uint64{1}}})
			storetest.CheckError(t, err, engine.Unmatched, "")
			storetest.CheckDenied(t, "in a save", storetest.TrySave(t, r, storetest.NewRecord(o.matter, "0", "n", int64(7)), storetest.NewRecord(o.matter, "1", "n", int64(7))))
			storetest.CheckDenied(t, "taken in a save", storetest.TrySave(t, r, storetest.NewRecord(o.matter, "1", "owner", "ann")))
			storetest.CheckDenied(t, "of another class", storetest.TrySave(t, r, storetest.NewRecord(o.lawsuit, "1", "n", int64(7))))
			storetest.CheckSame(t, "all or nothing", storetest.Get(t, o, o.matter, "0").Get("n"), int64(0))
			never := storetest.WithGuard(o, new(storetest.Rules).Only(engine.Never(), o.matter, engine.MayWrite))
			storetest.CheckDenied(t, "any", tryUpdate(t, never, o.matter, "0", "title", nil, "id", ""))
			storetest.CheckDenied(t, "any that is not there", tryUpdate(t, never, o.matter, "none", "n", int64(1)))
		})
	}
}

// guardAfter tries changes after which the account may no longer change the item.
func guardAfter(t *testing.T, open storetest.Open) {
	for _, c := range []struct {
		name, rule string
		change     []any
	}{
		{"owner", `{"owner":"ann"}`, []any{"owner", "bob"}},
		{"no owner", `{"owner":"ann"}`, []any{"owner", nil}},
		{"parent", `{"dept.chief":"ann"}`, []any{"dept", "d2"}},
		{"parent's data", `{"dept.chief":"ann"}`, []any{"dept", "d1+"}},
		{"key", `{"_id":{"$in":["0","2"]}}`, []any{"id", "7"}},
		{"members", `{"gt":[{"size":["$labels"]},1]}`, []any{"labels", storetest.RemoveLinks("x")}},
		{"a member", `{"pages.owner":"ann"}`, []any{"pages", storetest.ReplaceLinks("0b")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := openOffice(t, open)
			r := storetest.WithGuard(o, new(storetest.Rules).Only(storetest.ParseFilter(t, o.matter, c.rule), o.matter, engine.MayWrite))
			given := c.change
			if given[1] == "d1+" {
				given = []any{"dept", storetest.NestedRecord(o.dept, "id", "d1", "chief", "bob")}
			}
			was := storetest.Get(t, o, o.matter, "0")
			storetest.CheckDenied(t, "an update", tryUpdate(t, r, o.matter, "0", given...))
			storetest.CheckDenied(t, "a save", storetest.TrySave(t, r, storetest.NewRecord(o.matter, "0", given...)))
			storetest.CheckDenied(t, "with others", storetest.TrySave(t, r, storetest.NewRecord(o.matter, "0", "n", int64(8)), storetest.NewRecord(o.matter, "0", given...)))
			storetest.CheckSame(t, "unchanged", storetest.Get(t, o, o.matter, "0"), was)
			storetest.CheckSame(t, "members", storetest.ListMembers(t, o, o.matter, "0", "pages"), []string{"0a", "0b"})
			storetest.CheckSame(t, "chief", storetest.Get(t, o, o.dept, "d1").Get("chief"), "ann")
			storetest.Update(t, r, o.matter, "0", "title", "Other")
		})
	}
	o := openOffice(t, open)
	class := storetest.WithGuard(o, new(storetest.Rules).Only(storetest.ParseFilter(t, o.matter, `{"__class":"matter@test"}`), o.matter, engine.MayWrite))
	storetest.CheckDenied(t, "another class", storetest.TrySave(t, class, storetest.NewRecord(o.lawsuit, "0", "n", int64(1))))
	storetest.CheckDenied(t, "from another class", storetest.TrySave(t, class, storetest.NewRecord(o.matter, "4", "n", int64(1))))
	storetest.CheckSame(t, "class", storetest.Get(t, o, o.matter, "0").Class, o.matter)
	// The guard should recognize an item even if the save changes the key of the item.
	r := storetest.WithGuard(o, new(storetest.Rules).Only(storetest.ParseFilter(t, o.matter, `{"owner":"ann"}`), o.matter, engine.MayWrite))
	storetest.CheckDenied(t, "given away, then renamed", storetest.TrySave(t, r, storetest.NewRecord(o.matter, "0", "owner", "bob"), storetest.NewRecord(o.matter, "0", "id", "zero")))
	allowed(t, "renamed", storetest.TrySave(t, r, storetest.NewRecord(o.matter, "0", "n", int64(3)), storetest.NewRecord(o.matter, "0", "id", "zero")))
	storetest.CheckSame(t, "renamed", storetest.Get(t, o, o.matter, "zero").Get("owner"), "ann")
}

// guardRenamed saves two records together: one changes the owner of a part, and the other changes the key of a thing.
// The key of the part is a reference to the thing, so it changes too. The guard should check the part nevertheless.
func guardRenamed(t *testing.T, open storetest.Open) {
	thing := storetest.NewClass("thing", storetest.Prop("id", engine.String))
	part := storetest.NewClass("part", storetest.Ref("thing", thing), storetest.Prop("owner", engine.String))
	storetest.Link(thing, part)
	o := open(t, []*engine.Class{thing, part})
	storetest.Create(t, o, thing, "id", "a")
	storetest.Create(t, o, part, "thing", "a", "owner", "ann")
	r := storetest.WithGuard(o, new(storetest.Rules).Only(storetest.ParseFilter(t, part, `{"owner":"ann"}`), part, engine.MayWrite))
	storetest.CheckDenied(t, "given away", storetest.TrySave(t, r, storetest.NewRecord(part, "a", "owner", "bob"), storetest.NewRecord(thing, "a", "id", "b")))
	storetest.CheckSame(t, "as before", storetest.ListIDs(t, o, storetest.All(part)), []string{"a"})
	allowed(t, "followed", storetest.TrySave(t, r, storetest.NewRecord(part, "a", "owner", "ann"), storetest.NewRecord(thing, "a", "id", "b")))
	storetest.CheckSame(t, "renamed", storetest.ListIDs(t, o, storetest.All(part)), []string{"b"})
}

func guardDelete(t *testing.T, open storetest.Open) {
	o := openOffice(t, open)
	own := storetest.ParseFilter(t, o.matter, `{"owner":"ann"}`)
	del := func(r engine.Repository, id string, revisions ...uint64) error {
		var m *engine.Match
		if len(revisions) > 0 {
			m = &engine.Match{Revisions: revisions}
		}
		return r.Delete(t.Context(), o.matter, id, m)
	}
	sees := storetest.WithGuard(o, new(storetest.Rules).Only(own, o.matter, engine.MayDelete))
	storetest.CheckDenied(t, "another's", del(sees, "1"))
	storetest.CheckDenied(t, "another revision of it", del(sees, "1", 1))
	storetest.CheckError(t, del(sees, "none"), engine.NotFound, "unknown-object")
	storetest.CheckError(t, del(sees, "0", 1, 2), engine.Unmatched, "")
	blind := storetest.WithGuard(o, new(storetest.Rules).Only(own, o.matter, engine.MayDelete, engine.MayRead))
	storetest.CheckDenied(t, "unseen", del(blind, "1", 1, 2))
	storetest.CheckDenied(t, "missing", del(blind, "none"))
	storetest.CheckDenied(t, "missing with a revision", del(blind, "none", 1, 2))
	free := storetest.WithGuard(o, new(storetest.Rules).Only(own, o.matter, engine.MayRead))
	storetest.CheckDenied(t, "missing item, by an account that may delete all", del(free, "none", 1, 2))
	never := storetest.WithGuard(o, new(storetest.Rules).Only(engine.Never(), o.matter, engine.MayDelete))
	storetest.CheckDenied(t, "any", del(never, "0"))
	storetest.CheckDenied(t, "none", del(never, "none"))
	allowed(t, "one's own", del(blind, "0"))
	allowed(t, "hidden item, by an account that may delete all", del(free, "1"))
	storetest.CheckSame(t, "left", storetest.ListIDs(t, o, storetest.All(o.matter)), storetest.SplitLetters("2345"))
}

func guardSave(t *testing.T, open storetest.Open) {
	o := openOffice(t, open)
	// To save an existing item, the account needs the permission to change it; for a new item, the permission to
	// create it.
	r := storetest.WithGuard(o, new(storetest.Rules).Only(engine.Never(), o.label, engine.MayUse).Only(storetest.ParseFilter(t, o.label, `{"owner":"ann"}`), o.label, engine.MayWrite))
	allowed(t, "a change", storetest.TrySave(t, r, storetest.NewRecord(o.label, "x", "owner", "ann")))
	storetest.CheckDenied(t, "a change of another", storetest.TrySave(t, r, storetest.NewRecord(o.label, "x", "owner", "ann"), storetest.NewRecord(o.label, "y", "owner", "ann")))
	storetest.CheckDenied(t, "a new one", storetest.TrySave(t, r, storetest.NewRecord(o.label, "x", "owner", "ann"), storetest.NewRecord(o.label, "z", "owner", "ann")))
	creates := storetest.WithGuard(o, new(storetest.Rules).Only(engine.Never(), o.label, engine.MayWrite))
	allowed(t, "creating", storetest.TrySave(t, creates, storetest.NewRecord(o.label, "z"), storetest.NewRecord(o.label, "zz")))
	storetest.CheckDenied(t, "changing", storetest.TrySave(t, creates, storetest.NewRecord(o.label, "zzz"), storetest.NewRecord(o.label, "z", "owner", "ann")))
	nothing := storetest.WithGuard(o, new(storetest.Rules).Only(engine.Never(), o.label, engine.MayUse, engine.MayWrite))
	bad := storetest.NewRecord(o.label, "", "id", nil)
	storetest.CheckDenied(t, "with an invalid value", storetest.TrySave(t, nothing, bad))
	storetest.CheckSame(t, "labels", storetest.ListIDs(t, o, storetest.All(o.label)), []string{"x", "y", "z", "zz"})
}

func guardAll(t *testing.T, open storetest.Open) {
	o := openOffice(t, open)
	q := func(filter string) *engine.Query {
		return &engine.Query{Class: o.matter, Filter: storetest.ParseFilter(t, o.matter, filter), Count: -1}
	}
	changes := func(r engine.Repository, filter string, want int64, pairs ...any) {
		t.Helper()
		n, err := r.UpdateAll(t.Context(), q(filter), storetest.NewValues(o.matter, pairs...))
		storetest.CheckSame(t, filter, []any{n, err}, []any{want, nil})
	}
	r := storetest.WithGuard(o, new(storetest.Rules).Only(storetest.ParseFilter(t, o.matter, `{"owner":"ann"}`), o.matter, engine.MayWrite, engine.MayDelete).
		Only(storetest.ParseFilter(t, o.matter, `{"not":[{"dept":"d2"}]}`), o.matter, engine.MayRead))
	changes(r, `{}`, 1, "n", int64(50))
	changes(r, `{"not":[{"owner":"x"}]}`, 1)
	changes(r, `{"dept":"d2"}`, 0, "n", int64(51))
	storetest.CheckSame(t, "changed", storetest.ListIDs(t, o, q(`{"n":{"$gt":40}}`)), storetest.SplitLetters("0"))
	dept := storetest.WithGuard(o, new(storetest.Rules).Only(storetest.ParseFilter(t, o.matter, `{"dept.chief":"ann"}`), o.matter, engine.MayWrite, engine.MayRead))
	changes(dept, `{"gt":["$n",-1]}`, 3, "n", int64(60), "next", "0")
	_, err := dept.UpdateAll(t.Context(), q(`{"gt":["$n",0]}`), storetest.NewValues(o.matter, "dept", "d2"))
	storetest.CheckDenied(t, "to another parent", err)
	_, err = r.UpdateAll(t.Context(), q(`{"title":"Matter 0"}`), storetest.NewValues(o.matter, "owner", "bob"))
	storetest.CheckDenied(t, "to another owner", err)
	storetest.CheckSame(t, "as before", storetest.ListIDs(t, o, q(`{"owner":"ann"}`)), storetest.SplitLetters("024"))
	never := storetest.WithGuard(o, new(storetest.Rules).Only(engine.Never(), o.matter, engine.MayWrite, engine.MayDelete))
	_, err = never.UpdateAll(t.Context(), q(`{}`), storetest.NewValues(o.matter, "id", "x"))
	storetest.CheckDenied(t, "any", err)
	_, err = never.DeleteAll(t.Context(), q(`{}`))
	storetest.CheckDenied(t, "any deleted", err)
	hidden := storetest.WithGuard(o, new(storetest.Rules).Hide(engine.MayWrite, o.matter, "n"))
	_, err = hidden.UpdateAll(t.Context(), q(`{}`), storetest.NewValues(o.matter, "n", int64(1)))
	storetest.CheckDenied(t, "a value that may not be written", err)
	n, err := r.DeleteAll(t.Context(), q(`{"match":["matter"]}`))
	storetest.CheckSame(t, "deleted", []any{n, err}, []any{int64(1), nil})
	storetest.CheckSame(t, "left", storetest.ListIDs(t, o, storetest.All(o.matter)), storetest.SplitLetters("12345"))
}

func guardGiven(t *testing.T, open storetest.Open) {
	o := openOffice(t, open)
	r := storetest.WithGuard(o, new(storetest.Rules).Hide(engine.MayWrite, o.matter, "secret", "labels", "pages", "next").Hide(engine.MayWrite, o.page, "matter"))
	for name, v := range map[string]any{"secret": "x", "labels": storetest.AddLinks("x"), "pages": storetest.AddLinks("1a"), "next": "0"} {
		storetest.CheckDenied(t, "create "+name, storetest.TryCreate(t, r, o.matter, "id", "new", name, v))
		storetest.CheckDenied(t, "update "+name, tryUpdate(t, r, o.matter, "0", name, v))
		storetest.CheckDenied(t, "update of a missing item", tryUpdate(t, r, o.matter, "none", name, v))
		storetest.CheckDenied(t, "save "+name, storetest.TrySave(t, r, storetest.NewRecord(o.matter, "0", name, v)))
		storetest.CheckDenied(t, "nested "+name, tryUpdate(t, r, o.page, "0a", "text", "x", "matter", storetest.NestedRecord(o.matter, "id", "0", name, v)))
	}
	storetest.CheckDenied(t, "null", tryUpdate(t, r, o.matter, "0", "secret", nil))
	members := storetest.WithGuard(o, new(storetest.Rules).Hide(engine.MayWrite, o.page, "matter"))
	storetest.CheckDenied(t, "a member", tryUpdate(t, members, o.matter, "0", "pages", storetest.AddLinks("1a")))
	storetest.CheckDenied(t, "a new member", tryUpdate(t, members, o.matter, "0", "pages", storetest.AddLinks(storetest.NestedRecord(o.page, "id", "new"))))
	storetest.CheckDenied(t, "a member less", tryUpdate(t, members, o.matter, "0", "pages", storetest.RemoveLinks("0a")))
	storetest.CheckDenied(t, "other members", tryUpdate(t, members, o.matter, "0", "pages", storetest.ReplaceLinks()))
	allowed(t, "the same members", tryUpdate(t, members, o.matter, "0", "n", int64(5), "pages", storetest.ReplaceLinks("0a", "0b")))
	// Values that are ignored or have no effect are allowed.
	allowed(t, "others", tryUpdate(t, r, o.matter, "0", "title", "Other", "labels", nil, "sheets", int64(9)))
	storetest.CheckSame(t, "as before", storetest.Get(t, o, o.matter, "0").Get("secret"), "hush0")
}

// guardErrors writes unique values that hidden items already have. The error should not disclose these items.
func guardErrors(t *testing.T, open storetest.Open) {
	c := storetest.NoteClass()
	o := open(t, []*engine.Class{c})
	storetest.Create(t, o, c, "id", "1", "title", "One", "code", "taken")
	blind := storetest.WithGuard(o, new(storetest.Rules).Only(engine.Never(), c, engine.MayRead, engine.MayWrite))
	e := storetest.CheckError(t, storetest.TryCreate(t, blind, c, "id", "2", "code", "taken"), engine.Invalid, "duplicate")
	storetest.CheckSame(t, "error", []string{e.Message, e.ID}, []string{`class note@test already has an object with code "taken"`, ""})
	hidden := storetest.WithGuard(o, new(storetest.Rules).Hide(engine.MayRead, c, "code"))
	storetest.CheckDenied(t, "a hidden value is taken", tryUpdate(t, hidden, c, "1", "id", "1", "code", nonUnique(t, o, c)))
	storetest.CheckDenied(t, "of a new item", storetest.TryCreate(t, hidden, c, "id", "3", "code", "taken"))
	storetest.CheckDenied(t, "in a save", storetest.TrySave(t, hidden, storetest.NewRecord(c, "3"), storetest.NewRecord(c, "4", "code", "taken")))
	storetest.CheckSame(t, "left", storetest.ListIDs(t, o, storetest.All(c)), []string{"1", "other"})
}

// guardDependent changes an item from which a calculated attribute of a hidden item is computed. The new value of the
// attribute violates a rule. The error should not name the hidden item.
func guardDependent(t *testing.T, open storetest.Open) {
	parent := storetest.NewClass("parent", storetest.Prop("id", engine.String), storetest.Prop("name", engine.String))
	child := storetest.NewClass("child", storetest.Prop("id", engine.String), storetest.Ref("parent", parent), storetest.Prop("code", engine.String, storetest.Cached, storetest.Unique))
	storetest.AddProperties(parent, storetest.BackProperty(engine.Collection, "children", child, "parent"))
	storetest.SetFormulas(child, "code", "concat('of ', $parent.name)")
	parent.Dependencies = [][]string{{"children"}}
	storetest.Link(parent, child)
	o := open(t, []*engine.Class{parent, child})
	for _, id := range []string{"1", "2"} {
		storetest.Create(t, o, parent, "id", id, "name", "n"+id)
		storetest.Create(t, o, child, "id", "child"+id, "parent", id)
	}
	e := storetest.CheckError(t, tryUpdate(t, o, parent, "1", "name", "n2"), engine.Invalid, "duplicate")
	storetest.CheckSame(t, "error for an account that may read all", []string{e.Class, e.Attribute}, []string{"child@test", "code"})
	r := storetest.WithGuard(o, new(storetest.Rules).Only(engine.Never(), child, engine.MayRead))
	e = storetest.CheckError(t, tryUpdate(t, r, parent, "1", "name", "n2"), engine.Invalid, "duplicate")
	storetest.CheckSame(t, "error", []string{e.Message, e.Class, e.ID, e.Attribute}, []string{"a calculated attribute of another object cannot follow this change", "", "", ""})
	allowed(t, "another name", tryUpdate(t, r, parent, "1", "name", "n3"))
	storetest.CheckSame(t, "stored", storetest.Get(t, o, child, "child1").Get("code"), "of n3")
}

// nonUnique creates a note and returns its code, which is then taken.
func nonUnique(t *testing.T, r engine.Repository, c *engine.Class) string {
	storetest.Create(t, r, c, "id", "other", "code", "other")
	return "other"
}

// guardOwn checks work that the server does during a write, for which the account does not need permissions.
func guardOwn(t *testing.T, open storetest.Open) {
	o := openOffice(t, open)
	r := storetest.WithGuard(o, new(storetest.Rules).Only(engine.Never(), o.matter, engine.MayRead, engine.MayWrite).Only(engine.Never(), o.label, engine.MayUse))
	it := storetest.Create(t, r, o.page, "id", "new", "text", "x", "matter", "1")
	storetest.CheckSame(t, "stored", storetest.Get(t, o, o.page, "new").Get("kept"), "Matter 1!")
	storetest.CheckSame(t, "given to the account", it.Get("kept"), "!")
	storetest.CheckSame(t, "shown", []any{it.Get("copied"), it.String()}, []any{"!", "/x"})
	made := engine.Record{Class: o.label, Make: func(saved []*engine.Item) (engine.Values, error) {
		return storetest.NewValues(o.label, "id", saved[0].ID), nil
	}}
	items, err := r.Save(t.Context(), []engine.Record{storetest.NewRecord(o.page, "more", "text", "x"), made})
	storetest.CheckSame(t, "saved", []any{len(items), err}, []any{1, nil})
	storetest.CheckSame(t, "made", storetest.Get(t, o, o.label, "more").ID, "more")
	lifted := engine.WithGuard(r.Ctx(context.Background()), nil)
	_, err = o.Create(lifted, o.label, storetest.NewValues(o.label, "id", "lifted"), engine.WriteOptions{})
	allowed(t, "without the guard", err)
}

// guardAdmit checks which writes Admit refuses, and with which errors. Admit should not change data.
func guardAdmit(t *testing.T, open storetest.Open) {
	o := openOffice(t, open)
	c := o.matter
	r := storetest.WithGuard(o.Repository, new(storetest.Rules).Only(storetest.ParseFilter(t, c, `{"owner":"ann"}`), c, engine.MayWrite, engine.MayDelete))
	const mine, theirs = "0", "1"
	admit := func(may engine.Permission, m *engine.Match, records ...engine.Record) error {
		return engine.Admit(t.Context(), r, engine.Admission{May: may, Records: records, Match: m})
	}
	before := storetest.ListIDs(t, o, storetest.All(c))
	other := &engine.Match{Revisions: []uint64{1}}
	for _, may := range []engine.Permission{engine.MayWrite, engine.MayDelete} {
		allowed(t, "one's own", admit(may, nil, storetest.NewRecord(c, mine)))
		storetest.CheckDenied(t, "another's", admit(may, nil, storetest.NewRecord(c, theirs)))
		storetest.CheckError(t, admit(may, nil, storetest.NewRecord(c, "missing")), engine.NotFound, "unknown-object")
		storetest.CheckError(t, admit(may, other, storetest.NewRecord(c, mine)), engine.Unmatched, "unmatched")
		storetest.CheckDenied(t, "another's with a revision", admit(may, other, storetest.NewRecord(c, theirs)))
	}
	both := engine.MayUse | engine.MayWrite
	allowed(t, "saving one's own and a new one", admit(both, nil, storetest.NewRecord(c, mine), storetest.NewRecord(c, "missing"), storetest.NewRecord(c, "")))
	err := admit(both, nil, storetest.NewRecord(c, mine), storetest.NewRecord(c, theirs))
	storetest.CheckDenied(t, "saving another's", err)
	storetest.CheckSame(t, "record that is refused", engine.AtRecord(err, 1), err)
	allowed(t, "a new one", admit(engine.MayUse, nil, storetest.NewRecord(c, "")))
	closed := storetest.WithGuard(o.Repository, new(storetest.Rules).Only(engine.Never(), c, engine.MayUse))
	storetest.CheckDenied(t, "a new one for none", engine.Admit(t.Context(), closed, engine.Admission{May: engine.MayUse, Records: []engine.Record{storetest.NewRecord(c, "")}}))
	storetest.CheckDenied(t, "saving a new one for none", engine.Admit(t.Context(), closed, engine.Admission{May: both, Records: []engine.Record{storetest.NewRecord(c, "missing")}}))
	storetest.CheckSame(t, "items after Admit", storetest.ListIDs(t, o, storetest.All(c)), before)
}

// guardAdmitNested makes writes with nested records, and compares the result of Admit with that of the write. The
// account may change the department d1 and the label x. It may not create departments or labels.
func guardAdmitNested(t *testing.T, open storetest.Open) {
	o := openOffice(t, open)
	limits := new(storetest.Rules).Only(engine.Never(), o.dept, engine.MayUse).Only(storetest.ParseFilter(t, o.dept, `{"chief":"ann"}`), o.dept, engine.MayWrite).
		Only(engine.Never(), o.label, engine.MayUse).Only(storetest.ParseFilter(t, o.label, `{"owner":"ann"}`), o.label, engine.MayWrite)
	r := storetest.WithGuard(o.Repository, limits)
	dept := func(pairs ...any) *engine.Record {
		return storetest.NestedRecord(o.dept, append(pairs, "name", "New name")...)
	}
	follow := func() *engine.Record {
		next := dept()
		next.Follow = true
		return next
	}
	label := func(id string) *engine.Record { return storetest.NestedRecord(o.label, "id", id, "owner", "ann") }
	for _, c := range []struct {
		name    string
		allowed bool
		class   *engine.Class
		id      string // of a stored item; "" for a new item
		given   func() []any
	}{
		{"a department of the account", true, o.matter, "0", func() []any { return []any{"dept", dept("id", "d1")} }},
		{"a department of another", false, o.matter, "0", func() []any { return []any{"dept", dept("id", "d2")} }},
		{"a department of another in a new matter", false, o.matter, "", func() []any { return []any{"dept", dept("id", "d2")} }},
		{"a new department", false, o.matter, "0", func() []any { return []any{"dept", dept("id", "new")} }},
		{"the department that is pointed at", true, o.matter, "0", func() []any { return []any{"dept", follow()} }},
		{"the department of another that is pointed at", false, o.matter, "2", func() []any { return []any{"dept", follow()} }},
		{"the department of a matter without one", false, o.matter, "3", func() []any { return []any{"dept", follow()} }},
		{"the department of a new matter", false, o.matter, "", func() []any { return []any{"dept", follow()} }},
		{"a department of the account, two references away", true, o.page, "0a", func() []any {
			return []any{"matter", storetest.NestedRecord(o.matter, "id", "0", "dept", dept("id", "d1"))}
		}},
		{"a department of another, two references away", false, o.page, "0a", func() []any {
			return []any{"matter", storetest.NestedRecord(o.matter, "id", "0", "dept", dept("id", "d2"))}
		}},
		{"a label of the account", true, o.matter, "0", func() []any { return []any{"labels", storetest.AddLinks("y", label("x"))} }},
		{"a label of another", false, o.matter, "0", func() []any { return []any{"labels", storetest.AddLinks("y", label("x"), label("y"))} }},
		{"a new label", false, o.matter, "0", func() []any { return []any{"labels", storetest.AddLinks(label("new"))} }},
		{"a department of another, in a member", false, o.dept, "d1", func() []any {
			return []any{"matters", storetest.AddLinks(storetest.NestedRecord(o.matter, "id", "0", "next", storetest.NestedRecord(o.matter, "id", "1", "dept", dept("id", "d2"))))}
		}},
		{"a record for a calculated attribute", true, o.matter, "0", func() []any { return []any{"sheets", dept("id", "d2")} }},
	} {
		key := c.id
		if key == "" {
			key = "new"
		}
		writes := map[engine.Permission]func() error{
			engine.MayUse | engine.MayWrite: func() error { return storetest.TrySave(t, r, storetest.NewRecord(c.class, key, c.given()...)) },
		}
		if c.id == "" {
			writes[engine.MayUse] = func() error { return storetest.TryCreate(t, r, c.class, append(c.given(), "id", key)...) }
		} else {
			writes[engine.MayWrite] = func() error { return tryUpdate(t, r, c.class, c.id, c.given()...) }
		}
		for may, write := range writes {
			what := fmt.Sprintf("%s, permission %d", c.name, may)
			check := storetest.CheckDenied
			if c.allowed {
				check = allowed
			}
			check(t, "admission of "+what, engine.Admit(t.Context(), r, engine.Admission{May: may, Records: []engine.Record{storetest.NewRecord(c.class, key, c.given()...)}}))
			check(t, "write of "+what, write())
		}
	}
}
