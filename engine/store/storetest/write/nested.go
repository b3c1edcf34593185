package write

import (
	"testing"

	"restsrv/engine"
	"restsrv/engine/store/storetest"
)

var nestedTests = []storetest.Test{
	{Name: "a record in a reference", Run: nestedReference},
	{Name: "the item that a reference follows", Run: nestedFollow},
	{Name: "records in records", Run: nestedDeep},
	{Name: "errors name the path", Run: nestedErrors},
	{Name: "dangling references", Run: danglingReferences},
	{Name: "forward references", Run: forwardReferences},
	{Name: "allowed classes", Run: allowedClasses},
	{Name: "abstract classes", Run: abstractClasses},
	{Name: "readonly in a save", Run: readonlySave},
}

// newNames opens a repository with the classes of a World. In contrast to OpenWorld, towns have required names and
// generated ids.
func newNames(t *testing.T, open storetest.Open) *storetest.World {
	w := &storetest.World{}
	w.Region = storetest.NewClass("region", storetest.Prop("code", engine.Int), storetest.Prop("name", engine.String))
	w.Town = storetest.NewClass("town", storetest.Prop("id", engine.GUID, storetest.Autoassigned), storetest.Prop("name", engine.String, storetest.Required), storetest.Ref("region", w.Region))
	w.Person = storetest.NewClass("person", storetest.Prop("id", engine.GUID, storetest.Autoassigned), storetest.Prop("name", engine.String), storetest.Ref("town", w.Town), storetest.Prop("code", engine.String, storetest.Unique))
	storetest.Link(w.Region, w.Town, w.Person)
	w.Repository = open(t, []*engine.Class{w.Region, w.Town, w.Person})
	return w
}

func nestedReference(t *testing.T, open storetest.Open) {
	w := newNames(t, open)
	ann := storetest.Create(t, w, w.Person, "id", "ann", "town", storetest.NestedRecord(w.Town, "name", "Bergen"))
	made := ann.Get("town").(string)
	storetest.CheckSame(t, "made", storetest.Get(t, w, w.Town, made).Get("name"), "Bergen")
	storetest.CheckSame(t, "stored", storetest.Get(t, w, w.Person, "ann"), ann)
	// A nested record with a complete key or an id changes an existing item.
	storetest.Create(t, w, w.Person, "id", "bob", "town", storetest.NestedRecord(w.Town, "id", made, "name", "Oslo"))
	byID := storetest.NestedRecord(w.Town, "region", int64(5))
	byID.ID = made
	items := storetest.Save(t, w, storetest.NewRecord(w.Person, "cid", "town", byID), storetest.NewRecord(w.Person, "", "town", storetest.NestedRecord(w.Town, "id", "t9", "name", "Paris")))
	storetest.CheckSame(t, "references", []any{items[0].Get("town"), items[1].Get("town")}, []any{made, "t9"})
	it := storetest.Get(t, w, w.Town, made)
	storetest.CheckSame(t, "updated", []any{it.Get("name"), it.Get("region")}, []any{"Oslo", int64(5)})
	storetest.CheckSame(t, "towns", storetest.ListIDs(t, w, storetest.All(w.Town)), []string{made, "t9"})
	storetest.CheckSame(t, "version", it.Version, "1")
	by, err := w.Create(storetest.WithAccount(t, "eve@local"), w.Person, storetest.NewValues(w.Person, "town", storetest.NestedRecord(w.Town, "name", "Rome")), engine.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "creator", storetest.Get(t, w, w.Town, by.Get("town").(string)).Creator, "eve@local")
}

func nestedFollow(t *testing.T, open storetest.Open) {
	w := newNames(t, open)
	storetest.Create(t, w, w.Town, "id", "t1", "name", "Bergen", "region", int64(1))
	storetest.Create(t, w, w.Person, "id", "ann", "town", "t1")
	storetest.Create(t, w, w.Person, "id", "bob")
	storetest.Create(t, w, w.Person, "id", "cid", "town", "gone")
	follow := func(pairs ...any) *engine.Record {
		r := storetest.NestedRecord(w.Town, pairs...)
		r.Follow = true
		return r
	}
	storetest.CheckSame(t, "followed", storetest.Update(t, w, w.Person, "ann", "town", follow("name", "Oslo")).Get("town"), "t1")
	it := storetest.Get(t, w, w.Town, "t1")
	storetest.CheckSame(t, "updated", []any{it.Get("name"), it.Get("region")}, []any{"Oslo", int64(1)})
	for _, id := range []string{"bob", "cid"} { // the reference of bob is null, that of cid is dangling
		made := storetest.Update(t, w, w.Person, id, "town", follow("name", "of "+id)).Get("town").(string)
		storetest.CheckSame(t, "new", storetest.Get(t, w, w.Town, made).Get("name"), "of "+id)
	}
	storetest.Save(t, w, storetest.NewRecord(w.Person, "ann", "town", follow("name", "Rome")))
	storetest.CheckSame(t, "by a save", storetest.Get(t, w, w.Town, "t1").Get("name"), "Rome")
	storetest.CheckSame(t, "another", storetest.Update(t, w, w.Person, "ann", "town", follow("id", "t2", "name", "Kyiv")).Get("town"), "t2")
	storetest.CheckSame(t, "towns", storetest.Count(t, w, w.Town), int64(4))
}

func nestedDeep(t *testing.T, open storetest.Open) {
	w := newNames(t, open)
	storetest.Create(t, w, w.Person, "id", "ann", "town", storetest.NestedRecord(w.Town, "id", "t", "name", "Bergen", "region", storetest.NestedRecord(w.Region, "code", int64(7), "name", "North")))
	storetest.CheckSame(t, "town", storetest.Get(t, w, w.Town, "t").Get("region"), int64(7))
	storetest.CheckSame(t, "region", storetest.Get(t, w, w.Region, "7").Get("name"), "North")
	c := storetest.OpenWorld(t, open)
	it := storetest.Save(t, c, storetest.NewRecord(c.Person, "eve", "name", "outer", "boss", storetest.NestedRecord(c.Person, "id", "eve", "town", "t1")))[0]
	storetest.CheckSame(t, "a record in itself", it.Values[:4], storetest.NewValues(c.Person, "id", "eve", "name", "outer", "town", "t1", "boss", "eve")[:4])
}

func nestedErrors(t *testing.T, open storetest.Open) {
	w := newNames(t, open)
	storetest.Create(t, w, w.Person, "id", "taken", "code", "x")
	bad := func() engine.Values {
		return storetest.NewValues(w.Person, "id", "ann", "town", storetest.NestedRecord(w.Town, "id", "t", "region", storetest.NestedRecord(w.Region, "code", int64(1))))
	}
	_, err := w.Create(t.Context(), w.Person, bad(), engine.WriteOptions{})
	storetest.CheckSame(t, "attribute", storetest.CheckError(t, err, engine.Invalid, "required").Attribute, "town.name")
	_, err = w.Save(t.Context(), []engine.Record{storetest.NewRecord(w.Person, "bob"), {Class: w.Person, Values: bad()}})
	e := storetest.CheckError(t, err, engine.Invalid, "required")
	storetest.CheckSame(t, "record", []any{e.Bulk, e.Index, e.Attribute}, []any{true, 1, "town.name"})
	nokey := storetest.NewValues(w.Person, "town", storetest.NestedRecord(w.Town, "name", "n", "region", storetest.NestedRecord(w.Region, "name", "no key")))
	_, err = w.Create(t.Context(), w.Person, nokey, engine.WriteOptions{})
	e = storetest.CheckError(t, err, engine.Invalid, "required")
	storetest.CheckSame(t, "deeper", []string{e.Attribute, e.Message}, []string{"town.region.code", `in "town.region": attribute "code" of class region@test must have a value`})
	// If the outer record fails, the changes of the nested record should be undone.
	_, err = w.Create(t.Context(), w.Person, storetest.NewValues(w.Person, "code", "x", "town", storetest.NestedRecord(w.Town, "name", "n")), engine.WriteOptions{})
	storetest.CheckSame(t, "attribute", storetest.CheckError(t, err, engine.Invalid, "duplicate").Attribute, "code")
	storetest.CheckSame(t, "items after a failed write", []int64{storetest.Count(t, w, w.Person), storetest.Count(t, w, w.Town), storetest.Count(t, w, w.Region)}, []int64{1, 0, 0})
	_, err = w.Update(t.Context(), w.Person, "nobody", storetest.NewValues(w.Person, "town", storetest.NestedRecord(w.Town, "name", "n")), engine.WriteOptions{})
	storetest.CheckError(t, err, engine.NotFound, "unknown-object")
	storetest.CheckSame(t, "items after a failed write", storetest.Count(t, w, w.Town), int64(0))
}

func danglingReferences(t *testing.T, open storetest.Open) {
	w := newNames(t, open)
	strict := engine.WriteOptions{Handling: engine.Strict}
	storetest.Create(t, w, w.Town, "id", "t1", "name", "n")
	storetest.Create(t, w, w.Person, "id", "loose", "town", "gone")
	_, err := w.Create(t.Context(), w.Person, storetest.NewValues(w.Person, "town", "gone"), strict)
	e := storetest.CheckError(t, err, engine.Invalid, "dangling")
	storetest.CheckSame(t, "error", []string{e.Class, e.Attribute, e.ID}, []string{w.Person.FullName, "town", "gone"})
	_, err = w.Update(t.Context(), w.Person, "loose", storetest.NewValues(w.Person, "town", "gone"), strict)
	storetest.CheckSame(t, "attribute", storetest.CheckError(t, err, engine.Invalid, "dangling").Attribute, "town")
	if _, err = w.Update(t.Context(), w.Person, "loose", storetest.NewValues(w.Person, "name", "x"), strict); err != nil {
		t.Errorf("got %v for a reference that is not written, want no error", err)
	}
	if _, err = w.Create(t.Context(), w.Person, storetest.NewValues(w.Person, "id", "firm", "town", "t1"), strict); err != nil {
		t.Error(err)
	}
	var records []engine.Record
	for i := range 700 {
		rec := storetest.NewRecord(w.Person, "", "town", "t1")
		if rec.Handling = engine.Strict; i == 600 {
			rec = storetest.NewRecord(w.Person, "", "town", "gone") // this record has lenient handling
		}
		records = append(records, rec)
	}
	storetest.Save(t, w, records...)
	records[601] = storetest.NewRecord(w.Person, "", "town", "gone too")
	records[601].Handling = engine.Strict
	_, err = w.Save(t.Context(), records)
	e = storetest.CheckError(t, err, engine.Invalid, "dangling")
	storetest.CheckSame(t, "record", []any{e.Bulk, e.Index, e.Attribute, e.ID}, []any{true, 601, "town", "gone too"})
	nested := storetest.NestedRecord(w.Town, "name", "n", "region", int64(404))
	_, err = w.Create(t.Context(), w.Person, storetest.NewValues(w.Person, "town", nested), strict)
	storetest.CheckSame(t, "nested", storetest.CheckError(t, err, engine.Invalid, "dangling").Attribute, "town.region")
}

func forwardReferences(t *testing.T, open storetest.Open) {
	w := newNames(t, open)
	records := []engine.Record{storetest.NewRecord(w.Person, "ann", "town", "later"), storetest.NewRecord(w.Town, "later", "name", "n", "region", int64(3)), storetest.NewRecord(w.Region, "3")}
	for i := range records {
		records[i].Handling = engine.Strict
	}
	storetest.CheckStored(t, w, storetest.Save(t, w, records...))
}

func allowedClasses(t *testing.T, open storetest.Open) {
	f := &storetest.Family{}
	f.Thing = storetest.NewClass("thing", storetest.Prop("id", engine.String), storetest.Prop("name", engine.String))
	f.Car = storetest.Extend(f.Thing, "car", storetest.Prop("wheels", engine.Int))
	f.Bus = storetest.Extend(f.Car, "bus", storetest.Prop("seats", engine.Int))
	f.House = storetest.Extend(f.Thing, "house")
	some := storetest.Ref("some", f.Thing)
	some.Subclasses = []*engine.Class{f.Car, f.Bus}
	owner := storetest.NewClass("owner", storetest.Prop("id", engine.String), storetest.Ref("any", f.Thing), storetest.Ref("car", f.Car), some)
	f.Repository = open(t, []*engine.Class{f.Thing, f.Car, f.Bus, f.House, owner})
	storetest.Create(t, f, f.House, "id", "h")
	storetest.Create(t, f, f.Bus, "id", "b", "seats", int64(9))
	it := storetest.Create(t, f, owner, "id", "1", "any", storetest.NestedRecord(f.House, "id", "h2"), "car", storetest.NestedRecord(f.Bus, "id", "b2"), "some", "b")
	storetest.CheckSame(t, "values", it.Values, engine.Values{"1", "h2", "b2", "b"})
	storetest.Create(t, f, owner, "id", "2", "some", "nobody") // allowed: a missing item has no wrong class
	for attribute, v := range map[string]any{"car": storetest.NestedRecord(f.House, "id", "x"), "any": storetest.NestedRecord(owner, "id", "x"), "some": "h"} {
		_, err := f.Create(t.Context(), owner, storetest.NewValues(owner, "id", "3", attribute, v), engine.WriteOptions{})
		storetest.CheckSame(t, "attribute", storetest.CheckError(t, err, engine.Invalid, "subclass").Attribute, attribute)
	}
	_, err := f.Create(t.Context(), owner, storetest.NewValues(owner, "id", "3", "car", "h"), engine.WriteOptions{Handling: engine.Strict})
	storetest.CheckError(t, err, engine.Invalid, "dangling") // no car has that id
	// A nested record of an ancestor class should update the item without changing the item's class.
	storetest.Update(t, f, owner, "1", "any", storetest.NestedRecord(f.Thing, "id", "b", "name", "renamed"))
	kept := storetest.Get(t, f, f.Bus, "b")
	storetest.CheckSame(t, "kept", []any{kept.Get("name"), kept.Get("seats")}, []any{"renamed", int64(9)})
	_, err = f.Update(t.Context(), owner, "1", storetest.NewValues(owner, "any", storetest.NestedRecord(f.House, "id", "b")), engine.WriteOptions{})
	storetest.CheckSame(t, "attribute", storetest.CheckError(t, err, engine.Invalid, "duplicate").Attribute, "any.id")
	storetest.CheckSame(t, "owners", storetest.Count(t, f, owner), int64(2))
}

func abstractClasses(t *testing.T, open storetest.Open) {
	base := storetest.NewClass("base", storetest.Prop("id", engine.String), storetest.Prop("name", engine.String))
	base.Abstract = true
	real := storetest.Extend(base, "real")
	r := open(t, []*engine.Class{base, real})
	storetest.Create(t, r, real, "id", "1")
	_, err := r.Create(t.Context(), base, storetest.NewValues(base, "id", "2"), engine.WriteOptions{})
	storetest.CheckSame(t, "class", storetest.CheckError(t, err, engine.Invalid, "abstract").Class, base.FullName)
	_, err = r.Save(t.Context(), []engine.Record{storetest.NewRecord(real, "2"), storetest.NewRecord(base, "1")})
	e := storetest.CheckError(t, err, engine.Invalid, "abstract")
	storetest.CheckSame(t, "record", []any{e.Bulk, e.Index}, []any{true, 1})
	storetest.CheckSame(t, "through it", storetest.Update(t, r, base, "1", "name", "n").Class, real)
	storetest.CheckSame(t, "listed", storetest.ListIDs(t, r, storetest.All(base)), []string{"1"})
}

func readonlySave(t *testing.T, open storetest.Open) {
	c := storetest.NewClass("fixed", storetest.Prop("id", engine.String), storetest.Prop("since", engine.Int, storetest.Readonly))
	r := open(t, []*engine.Class{c})
	strict := func(id string, since any) engine.Record {
		rec := storetest.NewRecord(c, id, "since", since)
		rec.Handling = engine.Strict
		return rec
	}
	storetest.Save(t, r, strict("1", int64(5)), strict("1", int64(5)), storetest.NewRecord(c, "2", "since", int64(1)), storetest.NewRecord(c, "2", "since", int64(2)))
	_, err := r.Save(t.Context(), []engine.Record{strict("2", int64(2)), strict("1", int64(6))})
	e := storetest.CheckError(t, err, engine.Invalid, "readonly")
	storetest.CheckSame(t, "record", []any{e.Bulk, e.Index, e.Attribute}, []any{true, 1, "since"})
}
