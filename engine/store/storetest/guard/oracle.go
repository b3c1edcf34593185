package guard

import (
	"testing"

	"restsrv/engine"
	"restsrv/engine/store/storetest"
)

var guardOracleTests = []storetest.Test{
	{Name: "defaults computed of hidden items", Run: guardComputedDefault},
	{Name: "what is written and not read", Run: guardUnreadPointing},
	{Name: "items that become of another class", Run: guardReclass},
	{Name: "items that lose what may not be read", Run: guardReclassUnread},
	{Name: "guesses of read-only values", Run: guardReadonly},
	{Name: "ids of hidden items", Run: guardTakenIDs},
	{Name: "unique values of hidden items", Run: guardTakenValues},
	{Name: "several hidden items in the way", Run: guardTakenSeveral},
	{Name: "unique values of hidden items beside a new key", Run: guardTakenRenamed},
}

// guardComputedDefault writes items with a default that is computed from a referenced item that the account may not
// read. If the default violates a rule, the response should be the same as for a missing item.
func guardComputedDefault(t *testing.T, open storetest.Open) {
	town := storetest.NewClass("town", storetest.Prop("id", engine.String), storetest.Prop("name", engine.String), storetest.Prop("owner", engine.String))
	house := storetest.NewClass("house", storetest.Prop("id", engine.String), storetest.Ref("town", town), storetest.Prop("place", engine.String, storetest.Required), storetest.Prop("code", engine.String, storetest.Unique))
	house.Property("place").Computed = storetest.CompileFormula(house, `$town.name`)
	house.Property("code").Computed = storetest.CompileFormula(house, `concat('in ', $town.name)`)
	storetest.Link(town, house)
	o := open(t, []*engine.Class{town, house})
	for _, id := range []string{"seen", "hidden", "empty"} {
		storetest.Create(t, o, town, "id", id, "name", map[string]any{"seen": "Oslo", "hidden": "Rome"}[id], "owner", map[string]any{"seen": "ann"}[id])
	}
	storetest.Create(t, o, house, "id", "1", "town", "hidden")
	r := storetest.WithGuard(o, new(storetest.Rules).Only(storetest.ParseFilter(t, town, `{"owner":"ann"}`), town, engine.MayRead, engine.MayUse))
	for _, target := range []string{"hidden", "empty", "none"} { // for "hidden", the computed code is already taken; for the others, the required place is missing
		storetest.CheckDenied(t, "create at "+target, storetest.TryCreate(t, r, house, "id", "2", "town", target))
		storetest.CheckDenied(t, "save at "+target, storetest.TrySave(t, r, storetest.NewRecord(house, "2", "town", target)))
		storetest.CheckDenied(t, "many at "+target, storetest.TrySave(t, r, storetest.NewRecord(house, "", "id", "2", "town", "seen"), storetest.NewRecord(house, "", "id", "3", "town", target)))
	}
	allowed(t, "at a visible item", storetest.TryCreate(t, r, house, "id", "2", "town", "seen"))
	e := storetest.CheckError(t, storetest.TryCreate(t, r, house, "id", "3", "town", "seen"), engine.Invalid, "duplicate")
	storetest.CheckSame(t, "attribute of the error without hidden items", e.Attribute, "code")
	e = storetest.CheckError(t, storetest.TrySave(t, r, storetest.NewRecord(house, "3", "town", nil)), engine.Invalid, "required")
	storetest.CheckSame(t, "attribute of the error without a reference", e.Attribute, "place")
	// Defaults of an existing item are not computed again. Therefore, for every target, the error is about the item's
	// own values.
	storetest.Create(t, o, house, "id", "4", "town", "hidden", "place", "there", "code", "free")
	for _, target := range []string{"hidden", "empty", "none"} {
		e = storetest.CheckError(t, storetest.TrySave(t, r, storetest.NewRecord(house, "4", "town", target, "code", "in Rome")), engine.Invalid, "duplicate")
		storetest.CheckSame(t, "attribute of the error for a change at "+target, e.Attribute, "code")
	}
	// The target can be created by a later record of the same save.
	allowed(t, "at an item of the same save", storetest.TrySave(t, r, storetest.NewRecord(house, "3", "place", "here", "code", "x", "town", "new"), storetest.NewRecord(town, "new", "owner", "ann")))
}

// guardUnreadPointing tries to guess the value of a reference in an item that the account may not read, by writing the
// guess into the reference. The response should not disclose whether the guess is right.
func guardUnreadPointing(t *testing.T, open storetest.Open) {
	o := openOffice(t, open)
	for _, read := range []*engine.Filter{engine.Never(), storetest.ParseFilter(t, o.page, `{"owner":"bob"}`)} {
		r := storetest.WithGuard(o, new(storetest.Rules).Only(read, o.page, engine.MayRead).Only(engine.Never(), o.matter, engine.MayRead, engine.MayUse))
		for _, guess := range []string{"1", "2", "none"} {
			storetest.CheckDenied(t, "update to "+guess, tryUpdate(t, r, o.page, "1a", "matter", guess))
			storetest.CheckDenied(t, "save of "+guess, storetest.TrySave(t, r, storetest.NewRecord(o.page, "1a", "matter", guess)))
			storetest.CheckDenied(t, "save of several", storetest.TrySave(t, r, storetest.NewRecord(o.page, "0a", "matter", guess), storetest.NewRecord(o.page, "1a", "matter", guess)))
		}
		allowed(t, "nothing", tryUpdate(t, r, o.page, "1a", "text", "x"))
		storetest.CheckSame(t, "a readable reference sent back", tryUpdate(t, r, o.page, "1b", "matter", "1") == nil, read.Op != engine.OpConst)
	}
}

// guardReclass saves existing items with records of a descendant class, which changes the class of the items. The
// account needs the permission to create items of the descendant class. A record of an ancestor class changes only
// values, not the class.
func guardReclass(t *testing.T, open storetest.Open) {
	o := openOffice(t, open)
	use := storetest.WithGuard(o, new(storetest.Rules).Only(engine.Never(), o.lawsuit, engine.MayUse))
	storetest.CheckDenied(t, "one of a class of which none may be made", storetest.TrySave(t, use, storetest.NewRecord(o.lawsuit, "0", "court", "Low")))
	storetest.CheckSame(t, "class", storetest.Get(t, o, o.matter, "0").Class.Name, "matter")
	kept := storetest.WithGuard(o, new(storetest.Rules).Hide(engine.MayWrite, o.lawsuit, "court").Only(engine.Never(), o.matter, engine.MayUse))
	allowed(t, "of the class above", storetest.TrySave(t, kept, storetest.NewRecord(o.matter, "4", "title", "Changed")))
	it := storetest.Get(t, o, o.matter, "4")
	storetest.CheckSame(t, "changed", []any{it.Class.Name, it.Get("title"), it.Get("court")}, []any{"lawsuit", "Changed", "High"})
	allowed(t, "of an item that may be created and changed", storetest.TrySave(t, storetest.WithGuard(o, new(storetest.Rules).Only(engine.Never(), o.dept, engine.MayUse)), storetest.NewRecord(o.lawsuit, "3")))
	storetest.CheckSame(t, "class", storetest.Get(t, o, o.matter, "3").Class.Name, "lawsuit")
}

// guardReclassUnread tries to change the class of items to a class that lacks one of their attributes. This is
// possible only if the item has no value for this attribute. The account may not read the value, so the response
// should not disclose whether there is a value.
func guardReclassUnread(t *testing.T, open storetest.Open) {
	thing := storetest.NewClass("thing", storetest.Prop("id", engine.String))
	car, house := storetest.Extend(thing, "car", storetest.Prop("wheels", engine.Int)), storetest.Extend(thing, "house", storetest.Prop("floors", engine.Int))
	for what, hide := range map[string]*storetest.Rules{
		"a hidden attribute": new(storetest.Rules).Hide(engine.MayRead, car, "wheels"),
		"a hidden item":      new(storetest.Rules).Only(engine.Never(), thing, engine.MayRead),
	} {
		o := open(t, []*engine.Class{thing, car, house})
		storetest.Create(t, o, car, "id", "some", "wheels", int64(4))
		storetest.Create(t, o, car, "id", "none")
		r := storetest.WithGuard(o, hide)
		storetest.CheckDenied(t, what+" with a value", storetest.TrySave(t, r, storetest.NewRecord(house, "some")))
		storetest.CheckDenied(t, what+" without", storetest.TrySave(t, r, storetest.NewRecord(house, "none")))
		storetest.CheckError(t, storetest.TrySave(t, o, storetest.NewRecord(house, "some")), engine.Invalid, "class")
		allowed(t, "without a value, for an account that may read it", storetest.TrySave(t, o, storetest.NewRecord(house, "none")))
	}
}

// guardReadonly guesses the value of a read-only attribute that the account may not read, by writes in strict
// handling. The response should be the same for right guesses, for wrong guesses, and for items without a value.
func guardReadonly(t *testing.T, open storetest.Open) {
	c := storetest.NewClass("note", storetest.Prop("id", engine.String), storetest.Prop("pin", engine.Int, func(p *engine.Property) { p.Readonly = true }), storetest.Prop("text", engine.String), storetest.Prop("owner", engine.String))
	holder := storetest.NewClass("holder", storetest.Prop("id", engine.String), storetest.Ref("note", c), storetest.LinkCollection("notes", c))
	storetest.Link(c, holder)
	o := open(t, []*engine.Class{c, holder})
	storetest.Create(t, o, c, "id", "1", "pin", int64(1234), "owner", "bob")
	storetest.Create(t, o, c, "id", "2", "owner", "bob")
	storetest.Create(t, o, c, "id", "own", "pin", int64(5), "owner", "ann")
	strict := engine.WriteOptions{Handling: engine.Strict}
	guess := func(what string, r engine.Repository, refused func(what string, err error)) {
		for _, id := range []string{"1", "2"} {
			for _, value := range []any{int64(1234), int64(1), nil} {
				_, err := r.Update(t.Context(), c, id, storetest.NewValues(c, "pin", value, "text", "x"), strict)
				refused(what+": update of "+id, err)
				saved, inner := storetest.NewRecord(c, id, "pin", value), storetest.NestedRecord(c, "id", id, "pin", value)
				saved.Handling, inner.Handling = engine.Strict, engine.Strict
				refused(what+": save of "+id, storetest.TrySave(t, r, saved))
				refused(what+": nested "+id, storetest.TryCreate(t, r, holder, "id", "h", "note", inner))
				refused(what+": member "+id, storetest.TryCreate(t, r, holder, "id", "h", "notes", storetest.AddLinks(inner)))
			}
		}
	}
	guess("hidden items", storetest.WithGuard(o, new(storetest.Rules).Only(storetest.ParseFilter(t, c, `{"owner":"ann"}`), c, engine.MayRead)), func(_ string, err error) {
		t.Helper()
		storetest.CheckError(t, err, engine.Invalid, "readonly")
	})
	guess("a hidden attribute", storetest.WithGuard(o, new(storetest.Rules).Hide(engine.MayRead, c, "pin")), func(what string, err error) {
		t.Helper()
		storetest.CheckDenied(t, what, err)
	})
	r := storetest.WithGuard(o, new(storetest.Rules).Only(storetest.ParseFilter(t, c, `{"owner":"ann"}`), c, engine.MayRead))
	_, err := r.Update(t.Context(), c, "own", storetest.NewValues(c, "pin", int64(5), "text", "x"), strict)
	allowed(t, "a readable value sent back", err)
	storetest.CheckSame(t, "stored", storetest.Get(t, o, c, "1").Get("text"), nil)
}

// guardTakenIDs tries to give items the ids of items that the account may not read, and ids that are free. If the
// account may not make the change, the error should be the same in both cases.
func guardTakenIDs(t *testing.T, open storetest.Open) {
	c := storetest.NewClass("note", storetest.Prop("id", engine.String), storetest.Prop("owner", engine.String), storetest.Prop("text", engine.String))
	pair := storetest.NewClass("pair", storetest.Prop("a", engine.String), storetest.Prop("b", engine.String), storetest.Prop("owner", engine.String))
	pair.Key = []string{"a", "b"}
	if err := pair.Init(); err != nil {
		t.Fatal(err)
	}
	holder := storetest.NewClass("holder", storetest.Prop("id", engine.String), storetest.Ref("note", c), storetest.LinkCollection("notes", c))
	storetest.Link(c, pair, holder)
	o := open(t, []*engine.Class{c, pair, holder})
	storetest.Create(t, o, c, "id", "own", "owner", "ann")
	storetest.Create(t, o, c, "id", "hidden", "owner", "bob")
	storetest.Create(t, o, pair, "a", "own", "b", "x", "owner", "ann")
	storetest.Create(t, o, pair, "a", "hidden", "b", "x", "owner", "bob")
	storetest.Create(t, o, pair, "a", "hidden", "b", "y", "owner", "bob")
	own := func(c *engine.Class, id string) *engine.Filter {
		return storetest.ParseFilter(t, c, `{"_id":"`+id+`"}`)
	}
	r := storetest.WithGuard(o, new(storetest.Rules).Only(own(c, "own"), c, engine.MayRead, engine.MayWrite, engine.MayUse).Only(own(pair, "own_x"), pair, engine.MayRead, engine.MayWrite, engine.MayUse))
	renamed := func(id string) *engine.Record {
		inner := storetest.NestedRecord(c, "id", id)
		inner.ID = "own"
		return inner
	}
	for _, id := range []string{"hidden", "missing"} {
		storetest.CheckDenied(t, "update to "+id, tryUpdate(t, r, c, "own", "id", id))
		storetest.CheckDenied(t, "save as "+id, storetest.TrySave(t, r, storetest.NewRecord(c, "own", "id", id)))
		storetest.CheckDenied(t, "save with others as "+id, storetest.TrySave(t, r, storetest.NewRecord(holder, "1"), storetest.NewRecord(c, "own", "id", id), storetest.NewRecord(holder, "2")))
		storetest.CheckDenied(t, "nested as "+id, storetest.TryCreate(t, r, holder, "id", "h", "note", renamed(id)))
		storetest.CheckDenied(t, "a member as "+id, storetest.TryCreate(t, r, holder, "id", "h", "notes", storetest.AddLinks(renamed(id))))
		storetest.CheckDenied(t, "creation of "+id, storetest.TryCreate(t, r, c, "id", id, "owner", "ann"))
		storetest.CheckDenied(t, "creations of "+id, storetest.TrySave(t, r, storetest.NewRecord(c, "", "id", id), storetest.NewRecord(c, "", "id", id+"2")))
		storetest.CheckDenied(t, "both keys to "+id, tryUpdate(t, r, pair, "own_x", "a", id, "b", "y"))
		storetest.CheckDenied(t, "a part of a key to "+id, tryUpdate(t, r, pair, "own_x", "a", id))
	}
	storetest.CheckSame(t, "items", storetest.ListIDs(t, o, storetest.All(c)), []string{"own", "hidden"})
	// If the account may make the change, the error reports that the id is taken.
	free := storetest.WithGuard(o, new(storetest.Rules).Only(storetest.ParseFilter(t, c, `{"owner":"ann"}`), c, engine.MayRead, engine.MayWrite, engine.MayUse))
	storetest.CheckError(t, tryUpdate(t, free, c, "own", "id", "hidden"), engine.Invalid, "duplicate")
	storetest.CheckDenied(t, "not made for another", storetest.TryCreate(t, free, c, "id", "hidden", "owner", "bob"))
	storetest.CheckError(t, storetest.TryCreate(t, free, c, "id", "hidden", "owner", "ann"), engine.Invalid, "duplicate")
	allowed(t, "an id that is free", tryUpdate(t, free, c, "own", "id", "new"))
	storetest.CheckSame(t, "items", storetest.ListIDs(t, o, storetest.All(c)), []string{"new", "hidden"})
}

// guardTakenValues is like guardTakenIDs, for unique values instead of ids: it tries to give items the unique values
// of items that the account may not read.
func guardTakenValues(t *testing.T, open storetest.Open) {
	c := storetest.NewClass("note", storetest.Prop("id", engine.String), storetest.Prop("owner", engine.String), storetest.Prop("code", engine.String, storetest.Unique))
	storetest.Link(c)
	o := open(t, []*engine.Class{c})
	storetest.Create(t, o, c, "id", "own", "owner", "ann", "code", "1")
	storetest.Create(t, o, c, "id", "other", "owner", "ann", "code", "2")
	storetest.Create(t, o, c, "id", "hidden", "owner", "bob", "code", "taken")
	r := storetest.WithGuard(o, new(storetest.Rules).Only(storetest.ParseFilter(t, c, `{"owner":"ann"}`), c, engine.MayRead, engine.MayWrite, engine.MayUse))
	for _, code := range []string{"taken", "free"} {
		storetest.CheckDenied(t, "away with "+code, tryUpdate(t, r, c, "own", "owner", "bob", "code", code))
		storetest.CheckDenied(t, "for another with "+code, storetest.TryCreate(t, r, c, "id", "new", "owner", "bob", "code", code))
		storetest.CheckDenied(t, "saved with "+code, storetest.TrySave(t, r, storetest.NewRecord(c, "new", "owner", "bob", "code", code)))
		many := &engine.Query{Class: c, Filter: storetest.ParseFilter(t, c, `{"_id":"own"}`), Count: -1}
		_, err := r.UpdateAll(t.Context(), many, storetest.NewValues(c, "owner", "bob", "code", code))
		storetest.CheckDenied(t, "all with "+code, err)
	}
	e := storetest.CheckError(t, tryUpdate(t, r, c, "own", "code", "taken"), engine.Invalid, "duplicate")
	storetest.CheckSame(t, "attribute of the error", e.Attribute, "code")
	storetest.CheckError(t, tryUpdate(t, r, c, "own", "owner", "bob", "code", "2"), engine.Invalid, "duplicate")
	storetest.CheckError(t, storetest.TrySave(t, r, storetest.NewRecord(c, "x", "owner", "ann", "code", "new"), storetest.NewRecord(c, "y", "owner", "ann", "code", "new")), engine.Invalid, "duplicate")
	storetest.CheckSame(t, "items", storetest.ListIDs(t, o, storetest.All(c)), []string{"own", "other", "hidden"})
	storetest.CheckSame(t, "code", storetest.Get(t, o, c, "hidden").Get("code"), "taken")
}

// guardTakenSeveral makes writes that violate several unique indexes because of several hidden items.
func guardTakenSeveral(t *testing.T, open storetest.Open) {
	c := storetest.NewClass("note", storetest.Prop("id", engine.String), storetest.Prop("owner", engine.String), storetest.Prop("x", engine.Int, storetest.Unique), storetest.Prop("y", engine.Int, storetest.Unique))
	storetest.Link(c)
	o := open(t, []*engine.Class{c})
	storetest.Create(t, o, c, "id", "own", "owner", "ann")
	for i, id := range []string{"h1", "h2", "h3", "h4"} {
		storetest.Create(t, o, c, "id", id, "owner", "bob", "x", int64(i), "y", int64(i))
	}
	storetest.Create(t, o, c, "id", "seen", "owner", "ann", "y", int64(9))
	r := storetest.WithGuard(o, new(storetest.Rules).Only(storetest.ParseFilter(t, c, `{"owner":"ann"}`), c, engine.MayRead, engine.MayWrite, engine.MayUse))
	storetest.CheckDenied(t, "away", tryUpdate(t, r, c, "own", "id", "h1", "owner", "bob", "x", int64(1), "y", int64(2)))
	storetest.CheckError(t, tryUpdate(t, r, c, "own", "id", "h1", "x", int64(1), "y", int64(2)), engine.Invalid, "duplicate")
	e := storetest.CheckError(t, tryUpdate(t, r, c, "own", "x", int64(1), "y", int64(9)), engine.Invalid, "duplicate")
	if e.Attribute != "x" && e.Attribute != "y" {
		t.Errorf("got the attribute %q, want x or y", e.Attribute)
	}
	var many []engine.Record
	for i := range int64(4) {
		many = append(many, storetest.NewRecord(c, "", "id", "n"+string(rune('0'+i)), "owner", "ann", "x", i), storetest.NewRecord(c, "", "id", "m"+string(rune('0'+i)), "owner", "ann", "y", i))
	}
	storetest.CheckDenied(t, "more than are looked at", storetest.TrySave(t, r, many...))
	storetest.CheckSame(t, "items", len(storetest.ListIDs(t, o, storetest.All(c))), 6)
}

// guardTakenRenamed updates an item with a unique value that a hidden item already has. The same update changes the
// key of the item, by a nested record. To find out whether the account may make this change at all, the store repeats
// the update as if the hidden item did not exist. The repetition should include the change of the key.
func guardTakenRenamed(t *testing.T, open storetest.Open) {
	c := storetest.NewClass("note", storetest.Prop("id", engine.String), storetest.Prop("owner", engine.String), storetest.Prop("code", engine.String, storetest.Unique))
	storetest.AddProperties(c, storetest.Ref("twin", c))
	storetest.Link(c)
	o := open(t, []*engine.Class{c})
	storetest.Create(t, o, c, "id", "own", "owner", "ann")
	storetest.Create(t, o, c, "id", "hidden", "owner", "bob", "code", "taken")
	r := storetest.WithGuard(o, new(storetest.Rules).Only(storetest.ParseFilter(t, c, `{"owner":"ann"}`), c, engine.MayRead, engine.MayWrite, engine.MayUse))
	renamed := func() *engine.Record {
		inner := storetest.NestedRecord(c, "id", "new")
		inner.ID = "own"
		return inner
	}
	e := storetest.CheckError(t, tryUpdate(t, r, c, "own", "code", "taken", "twin", renamed()), engine.Invalid, "duplicate")
	storetest.CheckSame(t, "attribute of the error", e.Attribute, "code")
	allowed(t, "a code that is free", tryUpdate(t, r, c, "own", "code", "free", "twin", renamed()))
	storetest.CheckSame(t, "code", storetest.Get(t, o, c, "new").Get("code"), "free")
}
