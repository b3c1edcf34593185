package storetest

import (
	"context"
	"fmt"
	"testing"

	"restsrv/engine"
)

var guardWriteTests = []test{
	{"items that may be created", guardCreate},
	{"items that may be changed", guardUpdate},
	{"what an item may become", guardAfter},
	{"an item under another key", guardRenamed},
	{"items that may be deleted", guardDelete},
	{"records of one save", guardSave},
	{"all that may be changed", guardAll},
	{"attributes that may not be changed", guardGiven},
	{"nested records", guardNested},
	{"references to hidden items", guardPointing},
	{"links to hidden items", guardLinks},
	{"members by a back reference", guardBack},
	{"keys of several properties", guardComposite},
	{"errors that say no more", guardErrors},
	{"errors of items that follow", guardDependent},
	{"what the server does of its own", guardOwn},
	{"what is admitted before a write", guardAdmit},
	{"nested records that are admitted before a write", guardAdmitNested},
}

// denied checks that an error is plain engine.Denied, without details.
func denied(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil {
		t.Errorf("%s is allowed", what)
		return
	}
	e := fails(t, err, engine.Forbidden, "denied")
	plain := *e
	plain.Index, plain.Bulk = 0, false
	same(t, what, &plain, engine.Denied())
}

func allowed(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

func tryCreate(t *testing.T, r engine.Repository, c *engine.Class, pairs ...any) error {
	t.Helper()
	_, err := r.Create(t.Context(), c, values(c, pairs...), engine.WriteOptions{})
	return err
}

func tryUpdate(t *testing.T, r engine.Repository, c *engine.Class, id string, pairs ...any) error {
	t.Helper()
	_, err := r.Update(t.Context(), c, id, values(c, pairs...), engine.WriteOptions{})
	return err
}

func trySave(t *testing.T, r engine.Repository, records ...engine.Record) error {
	t.Helper()
	_, err := r.Save(t.Context(), records)
	return err
}

func guardCreate(t *testing.T, open Open) {
	o := openOffice(t, open)
	for _, c := range []*engine.Class{o.matter, o.label, o.page} {
		t.Run(c.Name, func(t *testing.T) {
			before := ids(t, o, all(c))
			never := under(o, new(rules).only(engine.Never(), c, engine.MayUse))
			denied(t, "a new item", tryCreate(t, never, c, "id", "new"))
			denied(t, "with an invalid value", tryCreate(t, never, c, "id", ""))
			denied(t, "a taken key", tryCreate(t, never, c, "id", before[0]))
			denied(t, "in a save", trySave(t, never, record(c, "new")))
			some := new(rules).only(parsed(t, c, `{"owner":"ann"}`), c, engine.MayUse)
			some.single = true
			denied(t, "an invalid item if the account may use some", tryCreate(t, under(o, some), c, "id", ""))
			some.only(engine.Never(), c, engine.MayWrite)
			denied(t, "an invalid item in a save if the account may use some", trySave(t, under(o, some), record(c, "", "id", "")))
			own := under(o, new(rules).only(parsed(t, c, `{"owner":"ann"}`), c, engine.MayUse))
			denied(t, "another's", tryCreate(t, own, c, "id", "new", "owner", "bob"))
			denied(t, "an item without owner", tryCreate(t, own, c, "id", "new"))
			denied(t, "another's in a save", trySave(t, own, record(c, "new", "owner", "ann"), record(c, "more", "owner", "bob")))
			denied(t, "many in a save", trySave(t, own, many(c, 600, "ann", "bob")...))
			same(t, "items after denied writes", ids(t, o, all(c)), before)
			allowed(t, "one's own", tryCreate(t, own, c, "id", "new", "owner", "ann"))
			allowed(t, "one's own in a save", trySave(t, own, record(c, "more", "owner", "ann"), record(c, "new", "owner", "bob")))
			allowed(t, "many of one's own", trySave(t, own, many(c, 600, "ann", "ann")...))
			same(t, "created", count(t, o, c), int64(len(before)+602))
		})
	}
}

// many returns n records. The last one has another owner.
func many(c *engine.Class, n int, owner, last string) (records []engine.Record) {
	for i := range n {
		if i == n-1 {
			owner = last
		}
		records = append(records, record(c, "", "id", fmt.Sprint("many", i), "owner", owner))
	}
	return records
}

func guardUpdate(t *testing.T, open Open) {
	for _, c := range []struct {
		name  string
		rules func(t *testing.T, o *office) *rules
		blind bool // the account may read only some items
	}{
		{"all may be read", func(t *testing.T, o *office) *rules {
			return new(rules).only(parsed(t, o.matter, `{"owner":"ann"}`), o.matter, engine.MayWrite)
		}, false},
		{"some may be read", func(t *testing.T, o *office) *rules {
			return new(rules).only(parsed(t, o.matter, `{"owner":"ann"}`), o.matter, engine.MayWrite, engine.MayRead)
		}, true},
		{"through a reference", func(t *testing.T, o *office) *rules {
			f := parsed(t, o.matter, `{"or":[{"dept.chief":"ann"},{"owner":"ann"}]}`)
			return new(rules).only(engine.And(f, parsed(t, o.matter, `{"owner":"ann"}`)), o.matter, engine.MayWrite, engine.MayRead)
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := openOffice(t, open)
			r := under(o, c.rules(t, o))
			missing := func(what string, err error) {
				t.Helper()
				if c.blind {
					denied(t, what, err)
					return
				}
				fails(t, err, engine.NotFound, "unknown-object")
			}
			was := get(t, o, o.matter, "1")
			for what, v := range map[string][]any{
				"a value": {"title", "Mine"}, "nothing": nil, "a taken value": {"title", "Matter 0"}, "a key": {"id", "x"}, "links": {"labels", put("x")},
				"a member": {"pages", put("0a")}, "a nested record": {"next", sub(o.matter, "title", "Nested")}, "the owner": {"owner", "ann"},
			} {
				denied(t, what, tryUpdate(t, r, o.matter, "1", v...))
				missing(what+" of nothing", tryUpdate(t, r, o.matter, "none", v...))
				_, err := r.Update(t.Context(), o.matter, "1", values(o.matter, v...), engine.WriteOptions{Match: &engine.Match{Revisions: []uint64{1, 2}}})
				denied(t, what+", another revision", err)
			}
			same(t, "unchanged", get(t, o, o.matter, "1"), was)
			same(t, "no member", members(t, o, o.matter, "0", "pages"), []string{"0a", "0b"})
			same(t, "changed", update(t, r, o.matter, "0", "title", "Mine", "pages", put("1a")).Get("title"), "Mine")
			same(t, "update without values", update(t, r, o.matter, "2").Get("title"), "Matter 2")
			_, err := r.Update(t.Context(), o.matter, "0", values(o.matter, "n", int64(1)), engine.WriteOptions{Match: &engine.Match{Revisions: []uint64{1}}})
			fails(t, err, engine.Unmatched, "")
			denied(t, "in a save", trySave(t, r, record(o.matter, "0", "n", int64(7)), record(o.matter, "1", "n", int64(7))))
			denied(t, "taken in a save", trySave(t, r, record(o.matter, "1", "owner", "ann")))
			denied(t, "of another class", trySave(t, r, record(o.lawsuit, "1", "n", int64(7))))
			same(t, "all or nothing", get(t, o, o.matter, "0").Get("n"), int64(0))
			never := under(o, new(rules).only(engine.Never(), o.matter, engine.MayWrite))
			denied(t, "any", tryUpdate(t, never, o.matter, "0", "title", nil, "id", ""))
			denied(t, "any that is not there", tryUpdate(t, never, o.matter, "none", "n", int64(1)))
		})
	}
}

// guardAfter changes items so that the account may not change them any more.
func guardAfter(t *testing.T, open Open) {
	for _, c := range []struct {
		name, rule string
		change     []any
	}{
		{"owner", `{"owner":"ann"}`, []any{"owner", "bob"}},
		{"no owner", `{"owner":"ann"}`, []any{"owner", nil}},
		{"parent", `{"dept.chief":"ann"}`, []any{"dept", "d2"}},
		{"parent's data", `{"dept.chief":"ann"}`, []any{"dept", "d1+"}},
		{"key", `{"_id":{"$in":["0","2"]}}`, []any{"id", "7"}},
		{"members", `{"gt":[{"size":["$labels"]},1]}`, []any{"labels", eject("x")}},
		{"a member", `{"pages.owner":"ann"}`, []any{"pages", replaced("0b")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := openOffice(t, open)
			r := under(o, new(rules).only(parsed(t, o.matter, c.rule), o.matter, engine.MayWrite))
			given := c.change
			if given[1] == "d1+" {
				given = []any{"dept", sub(o.dept, "id", "d1", "chief", "bob")}
			}
			was := get(t, o, o.matter, "0")
			denied(t, "an update", tryUpdate(t, r, o.matter, "0", given...))
			denied(t, "a save", trySave(t, r, record(o.matter, "0", given...)))
			denied(t, "with others", trySave(t, r, record(o.matter, "0", "n", int64(8)), record(o.matter, "0", given...)))
			same(t, "unchanged", get(t, o, o.matter, "0"), was)
			same(t, "members", members(t, o, o.matter, "0", "pages"), []string{"0a", "0b"})
			same(t, "chief", get(t, o, o.dept, "d1").Get("chief"), "ann")
			update(t, r, o.matter, "0", "title", "Other")
		})
	}
	o := openOffice(t, open)
	class := under(o, new(rules).only(parsed(t, o.matter, `{"__class":"matter@test"}`), o.matter, engine.MayWrite))
	denied(t, "another class", trySave(t, class, record(o.lawsuit, "0", "n", int64(1))))
	denied(t, "from another class", trySave(t, class, record(o.matter, "4", "n", int64(1))))
	same(t, "class", get(t, o, o.matter, "0").Class, o.matter)
	// An item that has another key at the end of the save is still the same item.
	r := under(o, new(rules).only(parsed(t, o.matter, `{"owner":"ann"}`), o.matter, engine.MayWrite))
	denied(t, "given away, then renamed", trySave(t, r, record(o.matter, "0", "owner", "bob"), record(o.matter, "0", "id", "zero")))
	allowed(t, "renamed", trySave(t, r, record(o.matter, "0", "n", int64(3)), record(o.matter, "0", "id", "zero")))
	same(t, "renamed", get(t, o, o.matter, "zero").Get("owner"), "ann")
}

// guardRenamed changes the owner of an item with a reference as its key. The reference then follows
// another item.
func guardRenamed(t *testing.T, open Open) {
	thing := NewClass("thing", Prop("id", engine.String))
	part := NewClass("part", Ref("thing", thing), Prop("owner", engine.String))
	Link(thing, part)
	o := open(t, []*engine.Class{thing, part})
	create(t, o, thing, "id", "a")
	create(t, o, part, "thing", "a", "owner", "ann")
	r := under(o, new(rules).only(parsed(t, part, `{"owner":"ann"}`), part, engine.MayWrite))
	denied(t, "given away", trySave(t, r, record(part, "a", "owner", "bob"), record(thing, "a", "id", "b")))
	same(t, "as before", ids(t, o, all(part)), []string{"a"})
	allowed(t, "followed", trySave(t, r, record(part, "a", "owner", "ann"), record(thing, "a", "id", "b")))
	same(t, "renamed", ids(t, o, all(part)), []string{"b"})
}

func guardDelete(t *testing.T, open Open) {
	o := openOffice(t, open)
	own := parsed(t, o.matter, `{"owner":"ann"}`)
	del := func(r engine.Repository, id string, revisions ...uint64) error {
		var m *engine.Match
		if len(revisions) > 0 {
			m = &engine.Match{Revisions: revisions}
		}
		return r.Delete(t.Context(), o.matter, id, m)
	}
	sees := under(o, new(rules).only(own, o.matter, engine.MayDelete))
	denied(t, "another's", del(sees, "1"))
	denied(t, "another revision of it", del(sees, "1", 1))
	fails(t, del(sees, "none"), engine.NotFound, "unknown-object")
	fails(t, del(sees, "0", 1, 2), engine.Unmatched, "")
	blind := under(o, new(rules).only(own, o.matter, engine.MayDelete, engine.MayRead))
	denied(t, "unseen", del(blind, "1", 1, 2))
	denied(t, "missing", del(blind, "none"))
	denied(t, "missing with a revision", del(blind, "none", 1, 2))
	free := under(o, new(rules).only(own, o.matter, engine.MayRead))
	denied(t, "missing item, by an account that may delete all", del(free, "none", 1, 2))
	never := under(o, new(rules).only(engine.Never(), o.matter, engine.MayDelete))
	denied(t, "any", del(never, "0"))
	denied(t, "none", del(never, "none"))
	allowed(t, "one's own", del(blind, "0"))
	allowed(t, "hidden item, by an account that may delete all", del(free, "1"))
	same(t, "left", ids(t, o, all(o.matter)), split("2345"))
}

func guardSave(t *testing.T, open Open) {
	o := openOffice(t, open)
	// An existing item requires the permission to change it, a new one the permission to create it.
	r := under(o, new(rules).only(engine.Never(), o.label, engine.MayUse).only(parsed(t, o.label, `{"owner":"ann"}`), o.label, engine.MayWrite))
	allowed(t, "a change", trySave(t, r, record(o.label, "x", "owner", "ann")))
	denied(t, "a change of another", trySave(t, r, record(o.label, "x", "owner", "ann"), record(o.label, "y", "owner", "ann")))
	denied(t, "a new one", trySave(t, r, record(o.label, "x", "owner", "ann"), record(o.label, "z", "owner", "ann")))
	creates := under(o, new(rules).only(engine.Never(), o.label, engine.MayWrite))
	allowed(t, "creating", trySave(t, creates, record(o.label, "z"), record(o.label, "zz")))
	denied(t, "changing", trySave(t, creates, record(o.label, "zzz"), record(o.label, "z", "owner", "ann")))
	nothing := under(o, new(rules).only(engine.Never(), o.label, engine.MayUse, engine.MayWrite))
	bad := record(o.label, "", "id", nil)
	denied(t, "with an invalid value", trySave(t, nothing, bad))
	same(t, "labels", ids(t, o, all(o.label)), []string{"x", "y", "z", "zz"})
}

func guardAll(t *testing.T, open Open) {
	o := openOffice(t, open)
	q := func(filter string) *engine.Query {
		return &engine.Query{Class: o.matter, Filter: parsed(t, o.matter, filter), Count: -1}
	}
	changes := func(r engine.Repository, filter string, want int64, pairs ...any) {
		t.Helper()
		n, err := r.UpdateAll(t.Context(), q(filter), values(o.matter, pairs...))
		same(t, filter, []any{n, err}, []any{want, nil})
	}
	r := under(o, new(rules).only(parsed(t, o.matter, `{"owner":"ann"}`), o.matter, engine.MayWrite, engine.MayDelete).
		only(parsed(t, o.matter, `{"not":[{"dept":"d2"}]}`), o.matter, engine.MayRead))
	changes(r, `{}`, 1, "n", int64(50))
	changes(r, `{"not":[{"owner":"x"}]}`, 1)
	changes(r, `{"dept":"d2"}`, 0, "n", int64(51))
	same(t, "changed", ids(t, o, q(`{"n":{"$gt":40}}`)), split("0"))
	dept := under(o, new(rules).only(parsed(t, o.matter, `{"dept.chief":"ann"}`), o.matter, engine.MayWrite, engine.MayRead))
	changes(dept, `{"gt":["$n",-1]}`, 3, "n", int64(60), "next", "0")
	_, err := dept.UpdateAll(t.Context(), q(`{"gt":["$n",0]}`), values(o.matter, "dept", "d2"))
	denied(t, "to another parent", err)
	_, err = r.UpdateAll(t.Context(), q(`{"title":"Matter 0"}`), values(o.matter, "owner", "bob"))
	denied(t, "to another owner", err)
	same(t, "as before", ids(t, o, q(`{"owner":"ann"}`)), split("024"))
	never := under(o, new(rules).only(engine.Never(), o.matter, engine.MayWrite, engine.MayDelete))
	_, err = never.UpdateAll(t.Context(), q(`{}`), values(o.matter, "id", "x"))
	denied(t, "any", err)
	_, err = never.DeleteAll(t.Context(), q(`{}`))
	denied(t, "any deleted", err)
	hidden := under(o, new(rules).hide(engine.MayWrite, o.matter, "n"))
	_, err = hidden.UpdateAll(t.Context(), q(`{}`), values(o.matter, "n", int64(1)))
	denied(t, "a value that may not be written", err)
	n, err := r.DeleteAll(t.Context(), q(`{"match":["matter"]}`))
	same(t, "deleted", []any{n, err}, []any{int64(1), nil})
	same(t, "left", ids(t, o, all(o.matter)), split("12345"))
}

func guardGiven(t *testing.T, open Open) {
	o := openOffice(t, open)
	r := under(o, new(rules).hide(engine.MayWrite, o.matter, "secret", "labels", "pages", "next").hide(engine.MayWrite, o.page, "matter"))
	for name, v := range map[string]any{"secret": "x", "labels": put("x"), "pages": put("1a"), "next": "0"} {
		denied(t, "create "+name, tryCreate(t, r, o.matter, "id", "new", name, v))
		denied(t, "update "+name, tryUpdate(t, r, o.matter, "0", name, v))
		denied(t, "update of a missing item", tryUpdate(t, r, o.matter, "none", name, v))
		denied(t, "save "+name, trySave(t, r, record(o.matter, "0", name, v)))
		denied(t, "nested "+name, tryUpdate(t, r, o.page, "0a", "text", "x", "matter", sub(o.matter, "id", "0", name, v)))
	}
	denied(t, "null", tryUpdate(t, r, o.matter, "0", "secret", nil))
	members := under(o, new(rules).hide(engine.MayWrite, o.page, "matter"))
	denied(t, "a member", tryUpdate(t, members, o.matter, "0", "pages", put("1a")))
	denied(t, "a new member", tryUpdate(t, members, o.matter, "0", "pages", put(sub(o.page, "id", "new"))))
	denied(t, "a member less", tryUpdate(t, members, o.matter, "0", "pages", eject("0a")))
	denied(t, "other members", tryUpdate(t, members, o.matter, "0", "pages", replaced()))
	allowed(t, "the same members", tryUpdate(t, members, o.matter, "0", "n", int64(5), "pages", replaced("0a", "0b")))
	// Input that is ignored or has no effect is allowed.
	allowed(t, "others", tryUpdate(t, r, o.matter, "0", "title", "Other", "labels", nil, "sheets", int64(9)))
	same(t, "as before", get(t, o, o.matter, "0").Get("secret"), "hush0")
}

// guardErrors violates rules on hidden data.
func guardErrors(t *testing.T, open Open) {
	c := note()
	o := open(t, []*engine.Class{c})
	create(t, o, c, "id", "1", "title", "One", "code", "taken")
	blind := under(o, new(rules).only(engine.Never(), c, engine.MayRead, engine.MayWrite))
	e := fails(t, tryCreate(t, blind, c, "id", "2", "code", "taken"), engine.Invalid, "duplicate")
	same(t, "error", []string{e.Message, e.ID}, []string{`class note@test already has an object with code "taken"`, ""})
	hidden := under(o, new(rules).hide(engine.MayRead, c, "code"))
	denied(t, "a hidden value is taken", tryUpdate(t, hidden, c, "1", "id", "1", "code", nonUnique(t, o, c)))
	denied(t, "of a new item", tryCreate(t, hidden, c, "id", "3", "code", "taken"))
	denied(t, "in a save", trySave(t, hidden, record(c, "3"), record(c, "4", "code", "taken")))
	same(t, "left", ids(t, o, all(c)), []string{"1", "other"})
}

// guardDependent violates rules of hidden items that depend on a change.
func guardDependent(t *testing.T, open Open) {
	parent := NewClass("parent", Prop("id", engine.String), Prop("name", engine.String))
	child := NewClass("child", Prop("id", engine.String), Ref("parent", parent), Prop("code", engine.String, cached, unique))
	add(parent, back(engine.Collection, "children", child, "parent"))
	setFormulas(child, "code", "concat('of ', $parent.name)")
	parent.Dependencies = [][]string{{"children"}}
	Link(parent, child)
	o := open(t, []*engine.Class{parent, child})
	for _, id := range []string{"1", "2"} {
		create(t, o, parent, "id", id, "name", "n"+id)
		create(t, o, child, "id", "child"+id, "parent", id)
	}
	e := fails(t, tryUpdate(t, o, parent, "1", "name", "n2"), engine.Invalid, "duplicate")
	same(t, "error for an account that may read all", []string{e.Class, e.Attribute}, []string{"child@test", "code"})
	r := under(o, new(rules).only(engine.Never(), child, engine.MayRead))
	e = fails(t, tryUpdate(t, r, parent, "1", "name", "n2"), engine.Invalid, "duplicate")
	same(t, "error", []string{e.Message, e.Class, e.ID, e.Attribute}, []string{"a calculated attribute of another object cannot follow this change", "", "", ""})
	allowed(t, "another name", tryUpdate(t, r, parent, "1", "name", "n3"))
	same(t, "stored", get(t, o, child, "child1").Get("code"), "of n3")
}

// nonUnique creates another note and returns its code.
func nonUnique(t *testing.T, r engine.Repository, c *engine.Class) string {
	create(t, r, c, "id", "other", "code", "other")
	return "other"
}

// guardOwn checks work of the server during a write of an account, which does not need permissions
// of the account.
func guardOwn(t *testing.T, open Open) {
	o := openOffice(t, open)
	r := under(o, new(rules).only(engine.Never(), o.matter, engine.MayRead, engine.MayWrite).only(engine.Never(), o.label, engine.MayUse))
	it := create(t, r, o.page, "id", "new", "text", "x", "matter", "1")
	same(t, "stored", get(t, o, o.page, "new").Get("kept"), "Matter 1!")
	same(t, "given to the account", it.Get("kept"), "!")
	same(t, "shown", []any{it.Get("copied"), it.String()}, []any{"!", "/x"})
	made := engine.Record{Class: o.label, Make: func(saved []*engine.Item) (engine.Values, error) {
		return values(o.label, "id", saved[0].ID), nil
	}}
	items, err := r.Save(t.Context(), []engine.Record{record(o.page, "more", "text", "x"), made})
	same(t, "saved", []any{len(items), err}, []any{1, nil})
	same(t, "made", get(t, o, o.label, "more").ID, "more")
	lifted := engine.WithGuard(r.ctx(context.Background()), nil)
	_, err = o.Create(lifted, o.label, values(o.label, "id", "lifted"), engine.WriteOptions{})
	allowed(t, "without the guard", err)
}

// guardAdmit checks which writes Admit denies and with which errors, and that it changes no data.
func guardAdmit(t *testing.T, open Open) {
	o := openOffice(t, open)
	c := o.matter
	r := under(o.Repository, new(rules).only(parsed(t, c, `{"owner":"ann"}`), c, engine.MayWrite, engine.MayDelete))
	const mine, theirs = "0", "1"
	admit := func(may engine.Permission, m *engine.Match, records ...engine.Record) error {
		return engine.Admit(t.Context(), r, engine.Admission{May: may, Records: records, Match: m})
	}
	before := ids(t, o, all(c))
	other := &engine.Match{Revisions: []uint64{1}}
	for _, may := range []engine.Permission{engine.MayWrite, engine.MayDelete} {
		allowed(t, "one's own", admit(may, nil, record(c, mine)))
		denied(t, "another's", admit(may, nil, record(c, theirs)))
		fails(t, admit(may, nil, record(c, "missing")), engine.NotFound, "unknown-object")
		fails(t, admit(may, other, record(c, mine)), engine.Unmatched, "unmatched")
		denied(t, "another's with a revision", admit(may, other, record(c, theirs)))
	}
	both := engine.MayUse | engine.MayWrite
	allowed(t, "saving one's own and a new one", admit(both, nil, record(c, mine), record(c, "missing"), record(c, "")))
	err := admit(both, nil, record(c, mine), record(c, theirs))
	denied(t, "saving another's", err)
	same(t, "record that is refused", engine.AtRecord(err, 1), err)
	allowed(t, "a new one", admit(engine.MayUse, nil, record(c, "")))
	closed := under(o.Repository, new(rules).only(engine.Never(), c, engine.MayUse))
	denied(t, "a new one for none", engine.Admit(t.Context(), closed, engine.Admission{May: engine.MayUse, Records: []engine.Record{record(c, "")}}))
	denied(t, "saving a new one for none", engine.Admit(t.Context(), closed, engine.Admission{May: both, Records: []engine.Record{record(c, "missing")}}))
	same(t, "items after Admit", ids(t, o, all(c)), before)
}

// guardAdmitNested compares the answers of Admit and of the write itself for writes with nested
// records. The account may change the department d1 and the label x. It may not create departments
// or labels.
func guardAdmitNested(t *testing.T, open Open) {
	o := openOffice(t, open)
	limits := new(rules).only(engine.Never(), o.dept, engine.MayUse).only(parsed(t, o.dept, `{"chief":"ann"}`), o.dept, engine.MayWrite).
		only(engine.Never(), o.label, engine.MayUse).only(parsed(t, o.label, `{"owner":"ann"}`), o.label, engine.MayWrite)
	r := under(o.Repository, limits)
	dept := func(pairs ...any) *engine.Record { return sub(o.dept, append(pairs, "name", "New name")...) }
	follow := func() *engine.Record {
		next := dept()
		next.Follow = true
		return next
	}
	label := func(id string) *engine.Record { return sub(o.label, "id", id, "owner", "ann") }
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
		{"a department of the account, two references away", true, o.page, "0a", func() []any { return []any{"matter", sub(o.matter, "id", "0", "dept", dept("id", "d1"))} }},
		{"a department of another, two references away", false, o.page, "0a", func() []any { return []any{"matter", sub(o.matter, "id", "0", "dept", dept("id", "d2"))} }},
		{"a label of the account", true, o.matter, "0", func() []any { return []any{"labels", put("y", label("x"))} }},
		{"a label of another", false, o.matter, "0", func() []any { return []any{"labels", put("y", label("x"), label("y"))} }},
		{"a new label", false, o.matter, "0", func() []any { return []any{"labels", put(label("new"))} }},
		{"a department of another, in a member", false, o.dept, "d1", func() []any {
			return []any{"matters", put(sub(o.matter, "id", "0", "next", sub(o.matter, "id", "1", "dept", dept("id", "d2"))))}
		}},
		{"a record for a calculated attribute", true, o.matter, "0", func() []any { return []any{"sheets", dept("id", "d2")} }},
	} {
		key := c.id
		if key == "" {
			key = "new"
		}
		writes := map[engine.Permission]func() error{
			engine.MayUse | engine.MayWrite: func() error { return trySave(t, r, record(c.class, key, c.given()...)) },
		}
		if c.id == "" {
			writes[engine.MayUse] = func() error { return tryCreate(t, r, c.class, append(c.given(), "id", key)...) }
		} else {
			writes[engine.MayWrite] = func() error { return tryUpdate(t, r, c.class, c.id, c.given()...) }
		}
		for may, write := range writes {
			what := fmt.Sprintf("%s, permission %d", c.name, may)
			check := denied
			if c.allowed {
				check = allowed
			}
			check(t, "admission of "+what, engine.Admit(t.Context(), r, engine.Admission{May: may, Records: []engine.Record{record(c.class, key, c.given()...)}}))
			check(t, "write of "+what, write())
		}
	}
}
