package storetest

import (
	"testing"

	"restsrv/engine"
)

var guardOracleTests = []test{
	{"defaults computed of hidden items", guardComputedDefault},
	{"what is written and not read", guardUnreadPointing},
	{"items that become of another class", guardReclass},
}

// guardComputedDefault points at what may not be read, where a default is made
// of that: whatever the default breaks, it is the refusal of what is not there.
func guardComputedDefault(t *testing.T, open Open) {
	town := NewClass("town", Prop("id", engine.String), Prop("name", engine.String), Prop("owner", engine.String))
	house := NewClass("house", Prop("id", engine.String), Ref("town", town), Prop("place", engine.String, required), Prop("code", engine.String, unique))
	house.Property("place").Computed = compiled(house, `$town.name`)
	house.Property("code").Computed = compiled(house, `concat('in ', $town.name)`)
	Link(town, house)
	o := open(t, []*engine.Class{town, house})
	for _, id := range []string{"seen", "hidden", "empty"} {
		create(t, o, town, "id", id, "name", map[string]any{"seen": "Oslo", "hidden": "Rome"}[id], "owner", map[string]any{"seen": "ann"}[id])
	}
	create(t, o, house, "id", "1", "town", "hidden")
	r := under(o, new(rules).only(parsed(t, town, `{"owner":"ann"}`), town, engine.MayRead, engine.MayUse))
	for _, target := range []string{"hidden", "empty", "none"} { // the code is taken; the place is required
		denied(t, "create at "+target, tryCreate(t, r, house, "id", "2", "town", target))
		denied(t, "save at "+target, trySave(t, r, record(house, "2", "town", target)))
		denied(t, "many at "+target, trySave(t, r, record(house, "", "id", "2", "town", "seen"), record(house, "", "id", "3", "town", target)))
	}
	allowed(t, "at what is seen", tryCreate(t, r, house, "id", "2", "town", "seen"))
	e := fails(t, tryCreate(t, r, house, "id", "3", "town", "seen"), engine.Invalid, "duplicate")
	same(t, "what is wrong where nothing is hidden", e.Attribute, "code")
	e = fails(t, trySave(t, r, record(house, "3", "town", nil)), engine.Invalid, "required")
	same(t, "what is wrong where nothing is pointed at", e.Attribute, "place")
	// A record of the same save may bring what another points at.
	allowed(t, "at what comes with it", trySave(t, r, record(house, "3", "place", "here", "code", "x", "town", "new"), record(town, "new", "owner", "ann")))
}

// guardUnreadPointing sends back what an item points at, for guesses: who may
// not read it does not learn that one was right.
func guardUnreadPointing(t *testing.T, open Open) {
	o := openOffice(t, open)
	for _, read := range []*engine.Filter{engine.Never(), parsed(t, o.page, `{"owner":"bob"}`)} {
		r := under(o, new(rules).only(read, o.page, engine.MayRead).only(engine.Never(), o.matter, engine.MayRead, engine.MayUse))
		for _, guess := range []string{"1", "2", "none"} {
			denied(t, "update to "+guess, tryUpdate(t, r, o.page, "1a", "matter", guess))
			denied(t, "save of "+guess, trySave(t, r, record(o.page, "1a", "matter", guess)))
			denied(t, "save of several", trySave(t, r, record(o.page, "0a", "matter", guess), record(o.page, "1a", "matter", guess)))
		}
		allowed(t, "nothing", tryUpdate(t, r, o.page, "1a", "text", "x"))
		same(t, "what may be read and is sent back", tryUpdate(t, r, o.page, "1b", "matter", "1") == nil, read.Op != engine.OpConst)
	}
}

// guardReclass makes items such of another class by saving them as that: it
// makes an item of that class, and takes what that lacks.
func guardReclass(t *testing.T, open Open) {
	o := openOffice(t, open)
	use := under(o, new(rules).only(engine.Never(), o.lawsuit, engine.MayUse))
	denied(t, "one of a class of which none may be made", trySave(t, use, record(o.lawsuit, "0", "court", "Low")))
	same(t, "class", get(t, o, o.matter, "0").Class.Name, "matter")
	kept := under(o, new(rules).hide(engine.MayWrite, o.lawsuit, "court"))
	denied(t, "without what may not be changed", trySave(t, kept, record(o.matter, "4")))
	same(t, "court", get(t, o, o.matter, "4").Get("court"), "High")
	update(t, o, o.lawsuit, "5", "court", nil)
	allowed(t, "where there is nothing", trySave(t, kept, record(o.matter, "5")))
	allowed(t, "of what may be made and changed", trySave(t, under(o, new(rules).only(engine.Never(), o.dept, engine.MayUse)), record(o.matter, "4")))
	same(t, "class", get(t, o, o.matter, "4").Class.Name, "matter")
}
