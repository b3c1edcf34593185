package storetest

import (
	"testing"

	"restsrv/engine"
)

func guardNested(t *testing.T, open Open) {
	o := openOffice(t, open)
	r := under(o, new(rules).only(parsed(t, o.matter, `{"owner":"ann"}`), o.matter, engine.MayWrite, engine.MayUse))
	of := func(id string, pairs ...any) *engine.Record {
		v := sub(o.matter, pairs...)
		v.ID = id
		return v
	}
	denied(t, "a change of another's", tryUpdate(t, r, o.page, "0a", "matter", of("1", "n", int64(9))))
	denied(t, "a new one for another", tryUpdate(t, r, o.page, "0a", "matter", of("", "id", "new", "owner", "bob")))
	follow := of("", "n", int64(9))
	follow.Follow = true
	denied(t, "the referenced item", tryUpdate(t, r, o.page, "1a", "matter", follow))
	denied(t, "members", tryUpdate(t, r, o.dept, "d1", "matters", change([]any{of("0", "n", int64(9)), of("1", "n", int64(9))})))
	denied(t, "new members", tryUpdate(t, r, o.dept, "d1", "matters", put(of("", "id", "new", "owner", "bob"))))
	denied(t, "deeper", tryCreate(t, r, o.page, "id", "deep", "matter", of("", "id", "new", "owner", "ann", "next", of("1", "n", int64(9)))))
	denied(t, "away from its owner", tryCreate(t, r, o.page, "id", "deep", "matter", of("0", "owner", "bob")))
	for _, id := range []string{"0", "1"} {
		same(t, "n of "+id, get(t, o, o.matter, id).Get("n"), int64(id[0]-'0'))
	}
	allowed(t, "one's own", tryUpdate(t, r, o.page, "0a", "matter", of("0", "n", int64(9))))
	allowed(t, "new items of the account", tryUpdate(t, r, o.dept, "d1", "matters", put(of("", "id", "new", "owner", "ann"))))
	same(t, "matters", ids(t, o, all(o.matter)), []string{"0", "1", "2", "3", "4", "5", "new"})
}

// guardPointing sets references to hidden items and to missing items.
func guardPointing(t *testing.T, open Open) {
	o := openOffice(t, open)
	own := parsed(t, o.matter, `{"owner":"ann"}`)
	for what, g := range map[string]*rules{
		"read": new(rules).only(own, o.matter, engine.MayRead).only(engine.Never(), o.matter, engine.MayUse),
		"use":  new(rules).only(own, o.matter, engine.MayUse).only(engine.Never(), o.matter, engine.MayRead),
	} {
		t.Run(what, func(t *testing.T) {
			r := under(o, g)
			for _, target := range []string{"1", "3", "none"} {
				for _, h := range []engine.Handling{engine.Lenient, engine.Strict} {
					_, err := r.Create(t.Context(), o.page, values(o.page, "id", "new", "matter", target), engine.WriteOptions{Handling: h})
					denied(t, "create at "+target, err)
					_, err = r.Update(t.Context(), o.page, "0a", values(o.page, "matter", target), engine.WriteOptions{Handling: h})
					denied(t, "update to "+target, err)
					save := record(o.page, "0a", "matter", target)
					save.Handling = h
					denied(t, "save at "+target, trySave(t, r, record(o.page, "0b", "matter", "0"), save))
				}
				_, err := r.UpdateAll(t.Context(), all(o.page), values(o.page, "matter", target))
				denied(t, "all to "+target, err)
			}
			same(t, "unchanged", get(t, o, o.page, "0a").Get("matter"), "0")
			allowed(t, "one's own", tryUpdate(t, r, o.page, "0a", "matter", "2"))
			allowed(t, "nothing", tryUpdate(t, r, o.page, "2a", "matter", nil))
			// A reference that is stored already may be sent back unchanged.
			allowed(t, "as it is", tryUpdate(t, r, o.page, "1a", "text", "x", "matter", "1"))
			allowed(t, "saved as it is", trySave(t, r, record(o.page, "1a", "text", "y", "matter", "1"), record(o.page, "3b", "text", "y", "matter", "3")))
			update(t, o, o.page, "0a", "matter", "0")
			update(t, o, o.page, "2a", "matter", "2")
		})
	}
	reads := under(o, new(rules).only(own, o.matter, engine.MayUse))
	allowed(t, "a dangling reference, for an account that may read all", tryUpdate(t, reads, o.page, "0a", "matter", "none"))
	_, err := reads.Update(t.Context(), o.page, "0a", values(o.page, "matter", "gone"), engine.WriteOptions{Handling: engine.Strict})
	fails(t, err, engine.Invalid, "dangling")
}

func guardLinks(t *testing.T, open Open) {
	o := openOffice(t, open)
	create(t, o, o.label, "id", "z", "owner", "ann")
	r := under(o, new(rules).only(parsed(t, o.label, `{"owner":"ann"}`), o.label, engine.MayRead, engine.MayUse))
	for _, member := range []string{"y", "none"} {
		denied(t, "create with "+member, tryCreate(t, r, o.matter, "id", "new", "labels", put("x", member)))
		denied(t, "add "+member, tryUpdate(t, r, o.matter, "3", "labels", put(member)))
		denied(t, "save "+member, trySave(t, r, record(o.matter, "3", "labels", replaced("x", member))))
		allowed(t, "take out "+member, tryUpdate(t, r, o.matter, "3", "labels", eject(member)))
	}
	labels := func(want ...string) {
		t.Helper()
		same(t, "labels", members(t, o, o.matter, "3", "labels"), append([]string{}, want...))
	}
	labels("x", "y") // an account does not remove members that are hidden from it
	allowed(t, "add", tryUpdate(t, r, o.matter, "3", "labels", put("z")))
	labels("x", "y", "z")
	allowed(t, "take out", tryUpdate(t, r, o.matter, "3", "labels", eject("x")))
	labels("y", "z")
	allowed(t, "all others", tryUpdate(t, r, o.matter, "3", "labels", replaced("x")))
	labels("y", "x")
	allowed(t, "none", tryUpdate(t, r, o.matter, "3", "labels", replaced()))
	labels("y")
	uses := under(o, new(rules).only(engine.Never(), o.label, engine.MayRead))
	allowed(t, "unread, used", tryUpdate(t, uses, o.matter, "3", "labels", put("x")))
	labels("y", "x")
	allowed(t, "unread, not used any more", tryUpdate(t, uses, o.matter, "3", "labels", eject("x")))
	labels("y")
}

// guardBack changes the members of a collection that is stored as references to its owner.
func guardBack(t *testing.T, open Open) {
	o := openOffice(t, open)
	pages := func(id string, want ...string) {
		t.Helper()
		same(t, "pages of "+id, members(t, o, o.matter, id, "pages"), append([]string{}, want...))
	}
	own := parsed(t, o.page, `{"owner":"ann"}`)
	r := under(o, new(rules).only(own, o.page, engine.MayWrite))
	denied(t, "another's joins", tryUpdate(t, r, o.matter, "0", "pages", put("1a", "1b")))
	denied(t, "another's leaves", tryUpdate(t, r, o.matter, "0", "pages", eject("0b")))
	denied(t, "another's is left out", tryUpdate(t, r, o.matter, "0", "pages", replaced("0a")))
	denied(t, "another's is the one", tryUpdate(t, r, o.matter, "0", "cover", "1b"))
	e := fails(t, tryUpdate(t, r, o.matter, "0", "pages", put("none")), engine.Invalid, "dangling")
	same(t, "missing", e.ID, "none")
	allowed(t, "another's stays", tryUpdate(t, r, o.matter, "0", "pages", replaced("0b", "1a")))
	pages("0", "0b", "1a")
	blind := under(o, new(rules).only(own, o.page, engine.MayRead, engine.MayWrite, engine.MayUse))
	denied(t, "unseen", tryUpdate(t, blind, o.matter, "0", "pages", put("1b")))
	denied(t, "missing", tryUpdate(t, blind, o.matter, "0", "pages", put("none")))
	// Other answers should not disclose either that a hidden item is a member already.
	denied(t, "unseen, where it is", tryUpdate(t, blind, o.matter, "0", "pages", put("0b")))
	denied(t, "unseen, sent back", tryUpdate(t, blind, o.matter, "0", "pages", replaced("0a", "0b")))
	denied(t, "unseen, the one already", tryUpdate(t, blind, o.matter, "3", "cover", "3b"))
	denied(t, "created with the unseen", tryCreate(t, blind, o.matter, "id", "new", "pages", put("1b")))
	allowed(t, "hidden members stay", tryUpdate(t, blind, o.matter, "0", "pages", replaced("0a")))
	pages("0", "0a", "0b")
	allowed(t, "hidden members are not removed", tryUpdate(t, blind, o.matter, "0", "pages", eject("0b")))
	pages("0", "0a", "0b")
	// The permission to use all items discloses that they exist, but not where they belong.
	using := under(o, new(rules).only(own, o.page, engine.MayRead, engine.MayWrite))
	denied(t, "unseen, to use", tryUpdate(t, using, o.matter, "0", "pages", put("1b")))
	denied(t, "unseen, to use, a member already", tryUpdate(t, using, o.matter, "0", "pages", put("0b")))
	// The account must still be allowed to change the member after the write.
	placed := under(o, new(rules).only(parsed(t, o.page, `{"matter.owner":"ann"}`), o.page, engine.MayWrite))
	denied(t, "from where it may not be changed", tryUpdate(t, placed, o.matter, "2", "pages", put("1a")))
	denied(t, "to where it may not be", tryUpdate(t, placed, o.matter, "1", "pages", put("2a")))
	denied(t, "to nowhere", tryUpdate(t, placed, o.matter, "2", "pages", eject("2a")))
	allowed(t, "to where it may be", tryUpdate(t, placed, o.matter, "4", "pages", put("2a")))
	pages("4", "2a", "4a", "4b")
}

// guardComposite names items by keys of several properties.
func guardComposite(t *testing.T, open Open) {
	seat := NewClass("seat", Prop("row", engine.Int), Prop("no", engine.String), Prop("owner", engine.String))
	seat.Key = []string{"row", "no"}
	if err := seat.Init(); err != nil {
		t.Fatal(err)
	}
	guest := NewClass("guest", Prop("id", engine.String), Ref("seat", seat), nm("seats", seat))
	Link(seat, guest)
	o := open(t, []*engine.Class{seat, guest})
	for _, no := range []string{"a", "b"} {
		create(t, o, seat, "row", int64(1), "no", no)
		create(t, o, guest, "id", no, "seat", "1_"+no, "seats", put("1_a", "1_b"))
	}
	r := under(o, new(rules).only(parsed(t, seat, `{"_id":{"$in":["1_a","2_a"]}}`), seat, engine.MayRead, engine.MayWrite, engine.MayUse, engine.MayDelete))
	same(t, "list", ids(t, r, all(seat)), []string{"1_a"})
	same(t, "through a reference", ids(t, r, &engine.Query{Class: guest, Filter: parsed(t, guest, `{"seat.row":1}`), Count: -1}), []string{"a"})
	same(t, "members", members(t, r, guest, "b", "seats"), []string{"1_a"})
	_, err := r.Get(t.Context(), seat, "1_b")
	denied(t, "get", err)
	denied(t, "update", tryUpdate(t, r, seat, "1_b", "owner", "x"))
	denied(t, "another key", tryUpdate(t, r, seat, "1_a", "row", int64(3)))
	denied(t, "save", trySave(t, r, record(seat, "", "row", int64(1), "no", "a", "owner", "x"), record(seat, "", "row", int64(3), "no", "a")))
	denied(t, "point", tryUpdate(t, r, guest, "a", "seat", "1_b"))
	denied(t, "link", tryUpdate(t, r, guest, "a", "seats", put("1_b")))
	denied(t, "delete", r.Delete(t.Context(), seat, "1_b", nil))
	allowed(t, "an allowed key", tryUpdate(t, r, seat, "1_a", "row", int64(2)))
	allowed(t, "a new one", trySave(t, r, record(seat, "", "row", int64(1), "no", "a", "owner", "x"), record(seat, "", "row", int64(2), "no", "a", "owner", "y")))
	same(t, "seats", ids(t, o, all(seat)), []string{"2_a", "1_b", "1_a"})
}
