package storetest

import (
	"testing"

	"restsrv/engine"
)

var guardOracleTests = []test{
	{"defaults computed of hidden items", guardComputedDefault},
	{"what is written and not read", guardUnreadPointing},
	{"items that become of another class", guardReclass},
	{"items that lose what may not be read", guardReclassUnread},
	{"guesses of read-only values", guardReadonly},
	{"ids of hidden items", guardTakenIDs},
	{"unique values of hidden items", guardTakenValues},
	{"several hidden items in the way", guardTakenSeveral},
	{"unique values of hidden items beside a new key", guardTakenRenamed},
}

// guardComputedDefault refers to a hidden item from which a default is computed. If the default
// violates a rule, the answer should be the same as for a missing item.
func guardComputedDefault(t *testing.T, open Open) {
	town := NewClass("town", Prop("id", engine.String), Prop("name", engine.String), Prop("owner", engine.String))
	house := NewClass("house", Prop("id", engine.String), Ref("town", town), Prop("place", engine.String, required), Prop("code", engine.String, unique))
	house.Property("place").Computed = compileFormula(house, `$town.name`)
	house.Property("code").Computed = compileFormula(house, `concat('in ', $town.name)`)
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
	allowed(t, "at a visible item", tryCreate(t, r, house, "id", "2", "town", "seen"))
	e := fails(t, tryCreate(t, r, house, "id", "3", "town", "seen"), engine.Invalid, "duplicate")
	same(t, "attribute of the error without hidden items", e.Attribute, "code")
	e = fails(t, trySave(t, r, record(house, "3", "town", nil)), engine.Invalid, "required")
	same(t, "attribute of the error without a reference", e.Attribute, "place")
	// Stored values are not computed again. The error is about the item's own values, for any
	// target.
	create(t, o, house, "id", "4", "town", "hidden", "place", "there", "code", "free")
	for _, target := range []string{"hidden", "empty", "none"} {
		e = fails(t, trySave(t, r, record(house, "4", "town", target, "code", "in Rome")), engine.Invalid, "duplicate")
		same(t, "attribute of the error for a change at "+target, e.Attribute, "code")
	}
	// A record of the same save may create the target.
	allowed(t, "at an item of the same save", trySave(t, r, record(house, "3", "place", "here", "code", "x", "town", "new"), record(town, "new", "owner", "ann")))
}

// guardUnreadPointing guesses the references of items that the account may not read. The answer
// should not disclose that a guess is right.
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
		same(t, "a readable reference sent back", tryUpdate(t, r, o.page, "1b", "matter", "1") == nil, read.Op != engine.OpConst)
	}
}

// guardReclass saves items as items of a class below, which needs the permission to create items of
// that class. A record of a class above only changes the item.
func guardReclass(t *testing.T, open Open) {
	o := openOffice(t, open)
	use := under(o, new(rules).only(engine.Never(), o.lawsuit, engine.MayUse))
	denied(t, "one of a class of which none may be made", trySave(t, use, record(o.lawsuit, "0", "court", "Low")))
	same(t, "class", get(t, o, o.matter, "0").Class.Name, "matter")
	kept := under(o, new(rules).hide(engine.MayWrite, o.lawsuit, "court").only(engine.Never(), o.matter, engine.MayUse))
	allowed(t, "of the class above", trySave(t, kept, record(o.matter, "4", "title", "Changed")))
	it := get(t, o, o.matter, "4")
	same(t, "changed", []any{it.Class.Name, it.Get("title"), it.Get("court")}, []any{"lawsuit", "Changed", "High"})
	allowed(t, "of an item that may be created and changed", trySave(t, under(o, new(rules).only(engine.Never(), o.dept, engine.MayUse)), record(o.lawsuit, "3")))
	same(t, "class", get(t, o, o.matter, "3").Class.Name, "lawsuit")
}

// guardReclassUnread changes items to a class that lacks an attribute which the account may not
// read. The answer should not disclose whether the item has a value for it.
func guardReclassUnread(t *testing.T, open Open) {
	thing := NewClass("thing", Prop("id", engine.String))
	car, house := Extend(thing, "car", Prop("wheels", engine.Int)), Extend(thing, "house", Prop("floors", engine.Int))
	for what, hide := range map[string]*rules{
		"a hidden attribute": new(rules).hide(engine.MayRead, car, "wheels"),
		"a hidden item":      new(rules).only(engine.Never(), thing, engine.MayRead),
	} {
		o := open(t, []*engine.Class{thing, car, house})
		create(t, o, car, "id", "some", "wheels", int64(4))
		create(t, o, car, "id", "none")
		r := under(o, hide)
		denied(t, what+" with a value", trySave(t, r, record(house, "some")))
		denied(t, what+" without", trySave(t, r, record(house, "none")))
		fails(t, trySave(t, o, record(house, "some")), engine.Invalid, "class")
		allowed(t, "without a value, for an account that may read it", trySave(t, o, record(house, "none")))
	}
}

// guardReadonly sends values for a read-only attribute that the account may write but not read, in
// strict handling. The answer should be the same for right and wrong guesses, and for items without a
// value.
func guardReadonly(t *testing.T, open Open) {
	c := NewClass("note", Prop("id", engine.String), Prop("pin", engine.Int, func(p *engine.Property) { p.Readonly = true }), Prop("text", engine.String), Prop("owner", engine.String))
	holder := NewClass("holder", Prop("id", engine.String), Ref("note", c), nm("notes", c))
	Link(c, holder)
	o := open(t, []*engine.Class{c, holder})
	create(t, o, c, "id", "1", "pin", int64(1234), "owner", "bob")
	create(t, o, c, "id", "2", "owner", "bob")
	create(t, o, c, "id", "own", "pin", int64(5), "owner", "ann")
	strict := engine.WriteOptions{Handling: engine.Strict}
	guess := func(what string, r engine.Repository, refused func(what string, err error)) {
		for _, id := range []string{"1", "2"} {
			for _, value := range []any{int64(1234), int64(1), nil} {
				_, err := r.Update(t.Context(), c, id, values(c, "pin", value, "text", "x"), strict)
				refused(what+": update of "+id, err)
				saved, inner := record(c, id, "pin", value), sub(c, "id", id, "pin", value)
				saved.Handling, inner.Handling = engine.Strict, engine.Strict
				refused(what+": save of "+id, trySave(t, r, saved))
				refused(what+": nested "+id, tryCreate(t, r, holder, "id", "h", "note", inner))
				refused(what+": member "+id, tryCreate(t, r, holder, "id", "h", "notes", put(inner)))
			}
		}
	}
	guess("hidden items", under(o, new(rules).only(parsed(t, c, `{"owner":"ann"}`), c, engine.MayRead)), func(_ string, err error) {
		t.Helper()
		fails(t, err, engine.Invalid, "readonly")
	})
	guess("a hidden attribute", under(o, new(rules).hide(engine.MayRead, c, "pin")), func(what string, err error) {
		t.Helper()
		denied(t, what, err)
	})
	r := under(o, new(rules).only(parsed(t, c, `{"owner":"ann"}`), c, engine.MayRead))
	_, err := r.Update(t.Context(), c, "own", values(c, "pin", int64(5), "text", "x"), strict)
	allowed(t, "a readable value sent back", err)
	same(t, "stored", get(t, o, c, "1").Get("text"), nil)
}

// guardTakenIDs gives items the ids of hidden items, and ids that are free. If the account may not
// make the change, both should get the same error.
func guardTakenIDs(t *testing.T, open Open) {
	c := NewClass("note", Prop("id", engine.String), Prop("owner", engine.String), Prop("text", engine.String))
	pair := NewClass("pair", Prop("a", engine.String), Prop("b", engine.String), Prop("owner", engine.String))
	pair.Key = []string{"a", "b"}
	if err := pair.Init(); err != nil {
		t.Fatal(err)
	}
	holder := NewClass("holder", Prop("id", engine.String), Ref("note", c), nm("notes", c))
	Link(c, pair, holder)
	o := open(t, []*engine.Class{c, pair, holder})
	create(t, o, c, "id", "own", "owner", "ann")
	create(t, o, c, "id", "hidden", "owner", "bob")
	create(t, o, pair, "a", "own", "b", "x", "owner", "ann")
	create(t, o, pair, "a", "hidden", "b", "x", "owner", "bob")
	create(t, o, pair, "a", "hidden", "b", "y", "owner", "bob")
	own := func(c *engine.Class, id string) *engine.Filter {
		return parsed(t, c, `{"_id":"`+id+`"}`)
	}
	r := under(o, new(rules).only(own(c, "own"), c, engine.MayRead, engine.MayWrite, engine.MayUse).only(own(pair, "own_x"), pair, engine.MayRead, engine.MayWrite, engine.MayUse))
	renamed := func(id string) *engine.Record {
		inner := sub(c, "id", id)
		inner.ID = "own"
		return inner
	}
	for _, id := range []string{"hidden", "missing"} {
		denied(t, "update to "+id, tryUpdate(t, r, c, "own", "id", id))
		denied(t, "save as "+id, trySave(t, r, record(c, "own", "id", id)))
		denied(t, "save with others as "+id, trySave(t, r, record(holder, "1"), record(c, "own", "id", id), record(holder, "2")))
		denied(t, "nested as "+id, tryCreate(t, r, holder, "id", "h", "note", renamed(id)))
		denied(t, "a member as "+id, tryCreate(t, r, holder, "id", "h", "notes", put(renamed(id))))
		denied(t, "creation of "+id, tryCreate(t, r, c, "id", id, "owner", "ann"))
		denied(t, "creations of "+id, trySave(t, r, record(c, "", "id", id), record(c, "", "id", id+"2")))
		denied(t, "both keys to "+id, tryUpdate(t, r, pair, "own_x", "a", id, "b", "y"))
		denied(t, "a part of a key to "+id, tryUpdate(t, r, pair, "own_x", "a", id))
	}
	same(t, "items", ids(t, o, all(c)), []string{"own", "hidden"})
	// If the account may make the change, the error reports that the id is taken.
	free := under(o, new(rules).only(parsed(t, c, `{"owner":"ann"}`), c, engine.MayRead, engine.MayWrite, engine.MayUse))
	fails(t, tryUpdate(t, free, c, "own", "id", "hidden"), engine.Invalid, "duplicate")
	denied(t, "not made for another", tryCreate(t, free, c, "id", "hidden", "owner", "bob"))
	fails(t, tryCreate(t, free, c, "id", "hidden", "owner", "ann"), engine.Invalid, "duplicate")
	allowed(t, "an id that is free", tryUpdate(t, free, c, "own", "id", "new"))
	same(t, "items", ids(t, o, all(c)), []string{"new", "hidden"})
}

// guardTakenValues is guardTakenIDs for unique attributes.
func guardTakenValues(t *testing.T, open Open) {
	c := NewClass("note", Prop("id", engine.String), Prop("owner", engine.String), Prop("code", engine.String, unique))
	Link(c)
	o := open(t, []*engine.Class{c})
	create(t, o, c, "id", "own", "owner", "ann", "code", "1")
	create(t, o, c, "id", "other", "owner", "ann", "code", "2")
	create(t, o, c, "id", "hidden", "owner", "bob", "code", "taken")
	r := under(o, new(rules).only(parsed(t, c, `{"owner":"ann"}`), c, engine.MayRead, engine.MayWrite, engine.MayUse))
	for _, code := range []string{"taken", "free"} {
		denied(t, "away with "+code, tryUpdate(t, r, c, "own", "owner", "bob", "code", code))
		denied(t, "for another with "+code, tryCreate(t, r, c, "id", "new", "owner", "bob", "code", code))
		denied(t, "saved with "+code, trySave(t, r, record(c, "new", "owner", "bob", "code", code)))
		many := &engine.Query{Class: c, Filter: parsed(t, c, `{"_id":"own"}`), Count: -1}
		_, err := r.UpdateAll(t.Context(), many, values(c, "owner", "bob", "code", code))
		denied(t, "all with "+code, err)
	}
	e := fails(t, tryUpdate(t, r, c, "own", "code", "taken"), engine.Invalid, "duplicate")
	same(t, "attribute of the error", e.Attribute, "code")
	fails(t, tryUpdate(t, r, c, "own", "owner", "bob", "code", "2"), engine.Invalid, "duplicate")
	fails(t, trySave(t, r, record(c, "x", "owner", "ann", "code", "new"), record(c, "y", "owner", "ann", "code", "new")), engine.Invalid, "duplicate")
	same(t, "items", ids(t, o, all(c)), []string{"own", "other", "hidden"})
	same(t, "code", get(t, o, c, "hidden").Get("code"), "taken")
}

// guardTakenSeveral violates several unique indexes at once.
func guardTakenSeveral(t *testing.T, open Open) {
	c := NewClass("note", Prop("id", engine.String), Prop("owner", engine.String), Prop("x", engine.Int, unique), Prop("y", engine.Int, unique))
	Link(c)
	o := open(t, []*engine.Class{c})
	create(t, o, c, "id", "own", "owner", "ann")
	for i, id := range []string{"h1", "h2", "h3", "h4"} {
		create(t, o, c, "id", id, "owner", "bob", "x", int64(i), "y", int64(i))
	}
	create(t, o, c, "id", "seen", "owner", "ann", "y", int64(9))
	r := under(o, new(rules).only(parsed(t, c, `{"owner":"ann"}`), c, engine.MayRead, engine.MayWrite, engine.MayUse))
	denied(t, "away", tryUpdate(t, r, c, "own", "id", "h1", "owner", "bob", "x", int64(1), "y", int64(2)))
	fails(t, tryUpdate(t, r, c, "own", "id", "h1", "x", int64(1), "y", int64(2)), engine.Invalid, "duplicate")
	e := fails(t, tryUpdate(t, r, c, "own", "x", int64(1), "y", int64(9)), engine.Invalid, "duplicate")
	if e.Attribute != "x" && e.Attribute != "y" {
		t.Errorf("got the attribute %q, want x or y", e.Attribute)
	}
	var many []engine.Record
	for i := range int64(4) {
		many = append(many, record(c, "", "id", "n"+string(rune('0'+i)), "owner", "ann", "x", i), record(c, "", "id", "m"+string(rune('0'+i)), "owner", "ann", "y", i))
	}
	denied(t, "more than are looked at", trySave(t, r, many...))
	same(t, "items", len(ids(t, o, all(c))), 6)
}

// guardTakenRenamed gives an item the unique value of a hidden item in an update that also changes
// its key, by a nested record. When the update is repeated without the hidden item, it should be the
// same update.
func guardTakenRenamed(t *testing.T, open Open) {
	c := NewClass("note", Prop("id", engine.String), Prop("owner", engine.String), Prop("code", engine.String, unique))
	add(c, Ref("twin", c))
	Link(c)
	o := open(t, []*engine.Class{c})
	create(t, o, c, "id", "own", "owner", "ann")
	create(t, o, c, "id", "hidden", "owner", "bob", "code", "taken")
	r := under(o, new(rules).only(parsed(t, c, `{"owner":"ann"}`), c, engine.MayRead, engine.MayWrite, engine.MayUse))
	renamed := func() *engine.Record {
		inner := sub(c, "id", "new")
		inner.ID = "own"
		return inner
	}
	e := fails(t, tryUpdate(t, r, c, "own", "code", "taken", "twin", renamed()), engine.Invalid, "duplicate")
	same(t, "attribute of the error", e.Attribute, "code")
	allowed(t, "a code that is free", tryUpdate(t, r, c, "own", "code", "free", "twin", renamed()))
	same(t, "code", get(t, o, c, "new").Get("code"), "free")
}
