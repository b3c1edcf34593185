package guard

import (
	"testing"

	"restsrv/engine"
	"restsrv/engine/store/storetest"
)

func guardNested(t *testing.T, open storetest.Open) {
	o := openOffice(t, open)
	r := storetest.WithGuard(o, new(storetest.Rules).Only(storetest.ParseFilter(t, o.matter, `{"owner":"ann"}`), o.matter, engine.MayWrite, engine.MayUse))
	of := func(id string, pairs ...any) *engine.Record {
		v := storetest.NestedRecord(o.matter, pairs...)
		v.ID = id
		return v
	}
	storetest.CheckDenied(t, "a change of another's", tryUpdate(t, r, o.page, "0a", "matter", of("1", "n", int64(9))))
	storetest.CheckDenied(t, "a new one for another", tryUpdate(t, r, o.page, "0a", "matter", of("", "id", "new", "owner", "bob")))
	follow := of("", "n", int64(9))
	follow.Follow = true
	storetest.CheckDenied(t, "the referenced item", tryUpdate(t, r, o.page, "1a", "matter", follow))
	storetest.CheckDenied(t, "members", tryUpdate(t, r, o.dept, "d1", "matters", storetest.ChangeLinks([]any{of("0", "n", int64(9)), of("1", "n", int64(9))})))
	storetest.CheckDenied(t, "new members", tryUpdate(t, r, o.dept, "d1", "matters", storetest.AddLinks(of("", "id", "new", "owner", "bob"))))
	storetest.CheckDenied(t, "deeper", storetest.TryCreate(t, r, o.page, "id", "deep", "matter", of("", "id", "new", "owner", "ann", "next", of("1", "n", int64(9)))))
	storetest.CheckDenied(t, "away from its owner", storetest.TryCreate(t, r, o.page, "id", "deep", "matter", of("0", "owner", "bob")))
	for _, id := range []string{"0", "1"} {
		storetest.CheckSame(t, "n of "+id, storetest.Get(t, o, o.matter, id).Get("n"), int64(id[0]-'0'))
	}
	allowed(t, "one's own", tryUpdate(t, r, o.page, "0a", "matter", of("0", "n", int64(9))))
	allowed(t, "new items of the account", tryUpdate(t, r, o.dept, "d1", "matters", storetest.AddLinks(of("", "id", "new", "owner", "ann"))))
	storetest.CheckSame(t, "matters", storetest.ListIDs(t, o, storetest.All(o.matter)), []string{"0", "1", "2", "3", "4", "5", "new"})
}

// guardPointing writes references to items that the account may not read, and references to missing items.
func guardPointing(t *testing.T, open storetest.Open) {
	o := openOffice(t, open)
	own := storetest.ParseFilter(t, o.matter, `{"owner":"ann"}`)
	for what, g := range map[string]*storetest.Rules{
		"read": new(storetest.Rules).Only(own, o.matter, engine.MayRead).Only(engine.Never(), o.matter, engine.MayUse),
		"use":  new(storetest.Rules).Only(own, o.matter, engine.MayUse).Only(engine.Never(), o.matter, engine.MayRead),
	} {
		t.Run(what, func(t *testing.T) {
			r := storetest.WithGuard(o, g)
			for _, target := range []string{"1", "3", "none"} {
				for _, h := range []engine.Handling{engine.Lenient, engine.Strict} {
					_, err := r.Create(t.Context(), o.page, storetest.NewValues(o.page, "id", "new", "matter", target), engine.WriteOptions{Handling: h})
					storetest.CheckDenied(t, "create at "+target, err)
					_, err = r.Update(t.Context(), o.page, "0a", storetest.NewValues(o.page, "matter", target), engine.WriteOptions{Handling: h})
					storetest.CheckDenied(t, "update to "+target, err)
					save := storetest.NewRecord(o.page, "0a", "matter", target)
					save.Handling = h
					storetest.CheckDenied(t, "save at "+target, storetest.TrySave(t, r, storetest.NewRecord(o.page, "0b", "matter", "0"), save))
				}
				_, err := r.UpdateAll(t.Context(), storetest.All(o.page), storetest.NewValues(o.page, "matter", target))
				storetest.CheckDenied(t, "all to "+target, err)
			}
			storetest.CheckSame(t, "unchanged", storetest.Get(t, o, o.page, "0a").Get("matter"), "0")
			allowed(t, "one's own", tryUpdate(t, r, o.page, "0a", "matter", "2"))
			allowed(t, "nothing", tryUpdate(t, r, o.page, "2a", "matter", nil))
			// The stored value of a reference can be written again.
			allowed(t, "as it is", tryUpdate(t, r, o.page, "1a", "text", "x", "matter", "1"))
			allowed(t, "saved as it is", storetest.TrySave(t, r, storetest.NewRecord(o.page, "1a", "text", "y", "matter", "1"), storetest.NewRecord(o.page, "3b", "text", "y", "matter", "3")))
			storetest.Update(t, o, o.page, "0a", "matter", "0")
			storetest.Update(t, o, o.page, "2a", "matter", "2")
		})
	}
	reads := storetest.WithGuard(o, new(storetest.Rules).Only(own, o.matter, engine.MayUse))
	allowed(t, "a dangling reference, for an account that may read all", tryUpdate(t, reads, o.page, "0a", "matter", "none"))
	_, err := reads.Update(t.Context(), o.page, "0a", storetest.NewValues(o.page, "matter", "gone"), engine.WriteOptions{Handling: engine.Strict})
	storetest.CheckError(t, err, engine.Invalid, "dangling")
}

func guardLinks(t *testing.T, open storetest.Open) {
	o := openOffice(t, open)
	storetest.Create(t, o, o.label, "id", "z", "owner", "ann")
	r := storetest.WithGuard(o, new(storetest.Rules).Only(storetest.ParseFilter(t, o.label, `{"owner":"ann"}`), o.label, engine.MayRead, engine.MayUse))
	for _, member := range []string{"y", "none"} {
		storetest.CheckDenied(t, "create with "+member, storetest.TryCreate(t, r, o.matter, "id", "new", "labels", storetest.AddLinks("x", member)))
		storetest.CheckDenied(t, "add "+member, tryUpdate(t, r, o.matter, "3", "labels", storetest.AddLinks(member)))
		storetest.CheckDenied(t, "save "+member, storetest.TrySave(t, r, storetest.NewRecord(o.matter, "3", "labels", storetest.ReplaceLinks("x", member))))
		allowed(t, "take out "+member, tryUpdate(t, r, o.matter, "3", "labels", storetest.RemoveLinks(member)))
	}
	labels := func(want ...string) {
		t.Helper()
		storetest.CheckSame(t, "labels", storetest.ListMembers(t, o, o.matter, "3", "labels"), append([]string{}, want...))
	}
	labels("x", "y") // the hidden labels should stay members
	allowed(t, "add", tryUpdate(t, r, o.matter, "3", "labels", storetest.AddLinks("z")))
	labels("x", "y", "z")
	allowed(t, "take out", tryUpdate(t, r, o.matter, "3", "labels", storetest.RemoveLinks("x")))
	labels("y", "z")
	allowed(t, "all others", tryUpdate(t, r, o.matter, "3", "labels", storetest.ReplaceLinks("x")))
	labels("y", "x")
	allowed(t, "none", tryUpdate(t, r, o.matter, "3", "labels", storetest.ReplaceLinks()))
	labels("y")
	uses := storetest.WithGuard(o, new(storetest.Rules).Only(engine.Never(), o.label, engine.MayRead))
	allowed(t, "unread, used", tryUpdate(t, uses, o.matter, "3", "labels", storetest.AddLinks("x")))
	labels("y", "x")
	allowed(t, "unread, not used any more", tryUpdate(t, uses, o.matter, "3", "labels", storetest.RemoveLinks("x")))
	labels("y")
}

// guardBack changes the members of a collection that is stored as references: an item is a member if it refers to the
// owner of the collection. The write changes the members, so the account needs the permission to change them.
func guardBack(t *testing.T, open storetest.Open) {
	o := openOffice(t, open)
	pages := func(id string, want ...string) {
		t.Helper()
		storetest.CheckSame(t, "pages of "+id, storetest.ListMembers(t, o, o.matter, id, "pages"), append([]string{}, want...))
	}
	own := storetest.ParseFilter(t, o.page, `{"owner":"ann"}`)
	r := storetest.WithGuard(o, new(storetest.Rules).Only(own, o.page, engine.MayWrite))
	storetest.CheckDenied(t, "another's joins", tryUpdate(t, r, o.matter, "0", "pages", storetest.AddLinks("1a", "1b")))
	storetest.CheckDenied(t, "another's leaves", tryUpdate(t, r, o.matter, "0", "pages", storetest.RemoveLinks("0b")))
	storetest.CheckDenied(t, "another's is left out", tryUpdate(t, r, o.matter, "0", "pages", storetest.ReplaceLinks("0a")))
	storetest.CheckDenied(t, "another's is the one", tryUpdate(t, r, o.matter, "0", "cover", "1b"))
	e := storetest.CheckError(t, tryUpdate(t, r, o.matter, "0", "pages", storetest.AddLinks("none")), engine.Invalid, "dangling")
	storetest.CheckSame(t, "missing", e.ID, "none")
	allowed(t, "another's stays", tryUpdate(t, r, o.matter, "0", "pages", storetest.ReplaceLinks("0b", "1a")))
	pages("0", "0b", "1a")
	blind := storetest.WithGuard(o, new(storetest.Rules).Only(own, o.page, engine.MayRead, engine.MayWrite, engine.MayUse))
	storetest.CheckDenied(t, "unseen", tryUpdate(t, blind, o.matter, "0", "pages", storetest.AddLinks("1b")))
	storetest.CheckDenied(t, "missing", tryUpdate(t, blind, o.matter, "0", "pages", storetest.AddLinks("none")))
	// The following writes add an item that the account may not read and that is already a member. The response should
	// not disclose that it is a member.
	storetest.CheckDenied(t, "unseen, where it is", tryUpdate(t, blind, o.matter, "0", "pages", storetest.AddLinks("0b")))
	storetest.CheckDenied(t, "unseen, sent back", tryUpdate(t, blind, o.matter, "0", "pages", storetest.ReplaceLinks("0a", "0b")))
	storetest.CheckDenied(t, "unseen, the one already", tryUpdate(t, blind, o.matter, "3", "cover", "3b"))
	storetest.CheckDenied(t, "created with the unseen", storetest.TryCreate(t, blind, o.matter, "id", "new", "pages", storetest.AddLinks("1b")))
	allowed(t, "hidden members stay", tryUpdate(t, blind, o.matter, "0", "pages", storetest.ReplaceLinks("0a")))
	pages("0", "0a", "0b")
	allowed(t, "hidden members are not removed", tryUpdate(t, blind, o.matter, "0", "pages", storetest.RemoveLinks("0b")))
	pages("0", "0a", "0b")
	// An account that may use all items may know that they exist, but not to which collection they belong.
	using := storetest.WithGuard(o, new(storetest.Rules).Only(own, o.page, engine.MayRead, engine.MayWrite))
	storetest.CheckDenied(t, "unseen, to use", tryUpdate(t, using, o.matter, "0", "pages", storetest.AddLinks("1b")))
	storetest.CheckDenied(t, "unseen, to use, a member already", tryUpdate(t, using, o.matter, "0", "pages", storetest.AddLinks("0b")))
	// After the write, the account should still have the permission to change the member.
	placed := storetest.WithGuard(o, new(storetest.Rules).Only(storetest.ParseFilter(t, o.page, `{"matter.owner":"ann"}`), o.page, engine.MayWrite))
	storetest.CheckDenied(t, "from where it may not be changed", tryUpdate(t, placed, o.matter, "2", "pages", storetest.AddLinks("1a")))
	storetest.CheckDenied(t, "to where it may not be", tryUpdate(t, placed, o.matter, "1", "pages", storetest.AddLinks("2a")))
	storetest.CheckDenied(t, "to nowhere", tryUpdate(t, placed, o.matter, "2", "pages", storetest.RemoveLinks("2a")))
	allowed(t, "to where it may be", tryUpdate(t, placed, o.matter, "4", "pages", storetest.AddLinks("2a")))
	pages("4", "2a", "4a", "4b")
}

// guardComposite writes references and links to items that have keys of several properties.
func guardComposite(t *testing.T, open storetest.Open) {
	seat := storetest.NewClass("seat", storetest.Prop("row", engine.Int), storetest.Prop("no", engine.String), storetest.Prop("owner", engine.String))
	seat.Key = []string{"row", "no"}
	if err := seat.Init(); err != nil {
		t.Fatal(err)
	}
	guest := storetest.NewClass("guest", storetest.Prop("id", engine.String), storetest.Ref("seat", seat), storetest.LinkCollection("seats", seat))
	storetest.Link(seat, guest)
	o := open(t, []*engine.Class{seat, guest})
	for _, no := range []string{"a", "b"} {
		storetest.Create(t, o, seat, "row", int64(1), "no", no)
		storetest.Create(t, o, guest, "id", no, "seat", "1_"+no, "seats", storetest.AddLinks("1_a", "1_b"))
	}
	r := storetest.WithGuard(o, new(storetest.Rules).Only(storetest.ParseFilter(t, seat, `{"_id":{"$in":["1_a","2_a"]}}`), seat, engine.MayRead, engine.MayWrite, engine.MayUse, engine.MayDelete))
	storetest.CheckSame(t, "list", storetest.ListIDs(t, r, storetest.All(seat)), []string{"1_a"})
	storetest.CheckSame(t, "through a reference", storetest.ListIDs(t, r, &engine.Query{Class: guest, Filter: storetest.ParseFilter(t, guest, `{"seat.row":1}`), Count: -1}), []string{"a"})
	storetest.CheckSame(t, "members", storetest.ListMembers(t, r, guest, "b", "seats"), []string{"1_a"})
	_, err := r.Get(t.Context(), seat, "1_b")
	storetest.CheckDenied(t, "get", err)
	storetest.CheckDenied(t, "update", tryUpdate(t, r, seat, "1_b", "owner", "x"))
	storetest.CheckDenied(t, "another key", tryUpdate(t, r, seat, "1_a", "row", int64(3)))
	storetest.CheckDenied(t, "save", storetest.TrySave(t, r, storetest.NewRecord(seat, "", "row", int64(1), "no", "a", "owner", "x"), storetest.NewRecord(seat, "", "row", int64(3), "no", "a")))
	storetest.CheckDenied(t, "point", tryUpdate(t, r, guest, "a", "seat", "1_b"))
	storetest.CheckDenied(t, "link", tryUpdate(t, r, guest, "a", "seats", storetest.AddLinks("1_b")))
	storetest.CheckDenied(t, "delete", r.Delete(t.Context(), seat, "1_b", nil))
	allowed(t, "an allowed key", tryUpdate(t, r, seat, "1_a", "row", int64(2)))
	allowed(t, "a new one", storetest.TrySave(t, r, storetest.NewRecord(seat, "", "row", int64(1), "no", "a", "owner", "x"), storetest.NewRecord(seat, "", "row", int64(2), "no", "a", "owner", "y")))
	storetest.CheckSame(t, "seats", storetest.ListIDs(t, o, storetest.All(seat)), []string{"2_a", "1_b", "1_a"})
}
