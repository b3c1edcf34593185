package storetest

import (
	"testing"

	"restsrv/engine"
)

var nestedTests = []test{
	{"a record in a reference", nestedReference},
	{"the item that a reference follows", nestedFollow},
	{"records in records", nestedDeep},
	{"errors name the path", nestedErrors},
	{"dangling references", danglingReferences},
	{"forward references", forwardReferences},
	{"allowed classes", allowedClasses},
	{"abstract classes", abstractClasses},
	{"readonly in a save", readonlySave},
}

// sub returns a nested record for a reference or a member.
func sub(c *engine.Class, pairs ...any) *engine.Record {
	return &engine.Record{Class: c, Values: values(c, pairs...)}
}

func update(t *testing.T, r engine.Repository, c *engine.Class, id string, pairs ...any) *engine.Item {
	t.Helper()
	it, err := r.Update(t.Context(), c, id, values(c, pairs...), engine.WriteOptions{})
	if err != nil {
		t.Fatalf("update %s: %v", id, err)
	}
	return it
}

// newNames has towns with required names and generated ids.
func newNames(t *testing.T, open Open) *world {
	w := &world{}
	w.region = NewClass("region", Prop("code", engine.Int), Prop("name", engine.String))
	w.town = NewClass("town", Prop("id", engine.GUID, autoassigned), Prop("name", engine.String, required), Ref("region", w.region))
	w.person = NewClass("person", Prop("id", engine.GUID, autoassigned), Prop("name", engine.String), Ref("town", w.town), Prop("code", engine.String, unique))
	Link(w.region, w.town, w.person)
	w.Repository = open(t, []*engine.Class{w.region, w.town, w.person})
	return w
}

func nestedReference(t *testing.T, open Open) {
	w := newNames(t, open)
	ann := create(t, w, w.person, "id", "ann", "town", sub(w.town, "name", "Bergen"))
	made := ann.Get("town").(string)
	same(t, "made", get(t, w, w.town, made).Get("name"), "Bergen")
	same(t, "stored", get(t, w, w.person, "ann"), ann)
	// A complete key, or an id, identifies an existing item.
	create(t, w, w.person, "id", "bob", "town", sub(w.town, "id", made, "name", "Oslo"))
	byID := sub(w.town, "region", int64(5))
	byID.ID = made
	items := save(t, w, record(w.person, "cid", "town", byID), record(w.person, "", "town", sub(w.town, "id", "t9", "name", "Paris")))
	same(t, "references", []any{items[0].Get("town"), items[1].Get("town")}, []any{made, "t9"})
	it := get(t, w, w.town, made)
	same(t, "updated", []any{it.Get("name"), it.Get("region")}, []any{"Oslo", int64(5)})
	same(t, "towns", ids(t, w, all(w.town)), []string{made, "t9"})
	same(t, "version", it.Version, "1")
	by, err := w.Create(as(t, "eve@local"), w.person, values(w.person, "town", sub(w.town, "name", "Rome")), engine.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "creator", get(t, w, w.town, by.Get("town").(string)).Creator, "eve@local")
}

func nestedFollow(t *testing.T, open Open) {
	w := newNames(t, open)
	create(t, w, w.town, "id", "t1", "name", "Bergen", "region", int64(1))
	create(t, w, w.person, "id", "ann", "town", "t1")
	create(t, w, w.person, "id", "bob")
	create(t, w, w.person, "id", "cid", "town", "gone")
	follow := func(pairs ...any) *engine.Record {
		r := sub(w.town, pairs...)
		r.Follow = true
		return r
	}
	same(t, "followed", update(t, w, w.person, "ann", "town", follow("name", "Oslo")).Get("town"), "t1")
	it := get(t, w, w.town, "t1")
	same(t, "updated", []any{it.Get("name"), it.Get("region")}, []any{"Oslo", int64(1)})
	for _, id := range []string{"bob", "cid"} { // a null and a dangling reference
		made := update(t, w, w.person, id, "town", follow("name", "of "+id)).Get("town").(string)
		same(t, "new", get(t, w, w.town, made).Get("name"), "of "+id)
	}
	save(t, w, record(w.person, "ann", "town", follow("name", "Rome")))
	same(t, "by a save", get(t, w, w.town, "t1").Get("name"), "Rome")
	same(t, "another", update(t, w, w.person, "ann", "town", follow("id", "t2", "name", "Kyiv")).Get("town"), "t2")
	same(t, "towns", count(t, w, w.town), int64(4))
}

func nestedDeep(t *testing.T, open Open) {
	w := newNames(t, open)
	create(t, w, w.person, "id", "ann", "town", sub(w.town, "id", "t", "name", "Bergen", "region", sub(w.region, "code", int64(7), "name", "North")))
	same(t, "town", get(t, w, w.town, "t").Get("region"), int64(7))
	same(t, "region", get(t, w, w.region, "7").Get("name"), "North")
	c := openWorld(t, open)
	it := save(t, c, record(c.person, "eve", "name", "outer", "boss", sub(c.person, "id", "eve", "town", "t1")))[0]
	same(t, "a record in itself", it.Values[:4], values(c.person, "id", "eve", "name", "outer", "town", "t1", "boss", "eve")[:4])
}

func nestedErrors(t *testing.T, open Open) {
	w := newNames(t, open)
	create(t, w, w.person, "id", "taken", "code", "x")
	bad := func() engine.Values {
		return values(w.person, "id", "ann", "town", sub(w.town, "id", "t", "region", sub(w.region, "code", int64(1))))
	}
	_, err := w.Create(t.Context(), w.person, bad(), engine.WriteOptions{})
	same(t, "attribute", fails(t, err, engine.Invalid, "required").Attribute, "town.name")
	_, err = w.Save(t.Context(), []engine.Record{record(w.person, "bob"), {Class: w.person, Values: bad()}})
	e := fails(t, err, engine.Invalid, "required")
	same(t, "record", []any{e.Bulk, e.Index, e.Attribute}, []any{true, 1, "town.name"})
	nokey := values(w.person, "town", sub(w.town, "name", "n", "region", sub(w.region, "name", "no key")))
	_, err = w.Create(t.Context(), w.person, nokey, engine.WriteOptions{})
	e = fails(t, err, engine.Invalid, "required")
	same(t, "deeper", []string{e.Attribute, e.Message}, []string{"town.region.code", `in "town.region": attribute "code" of class region@test must have a value`})
	// If the outer record fails, the changes of the nested record are undone.
	_, err = w.Create(t.Context(), w.person, values(w.person, "code", "x", "town", sub(w.town, "name", "n")), engine.WriteOptions{})
	same(t, "attribute", fails(t, err, engine.Invalid, "duplicate").Attribute, "code")
	same(t, "items after a failed write", []int64{count(t, w, w.person), count(t, w, w.town), count(t, w, w.region)}, []int64{1, 0, 0})
	_, err = w.Update(t.Context(), w.person, "nobody", values(w.person, "town", sub(w.town, "name", "n")), engine.WriteOptions{})
	fails(t, err, engine.NotFound, "unknown-object")
	same(t, "items after a failed write", count(t, w, w.town), int64(0))
}

func danglingReferences(t *testing.T, open Open) {
	w := newNames(t, open)
	strict := engine.WriteOptions{Handling: engine.Strict}
	create(t, w, w.town, "id", "t1", "name", "n")
	create(t, w, w.person, "id", "loose", "town", "gone")
	_, err := w.Create(t.Context(), w.person, values(w.person, "town", "gone"), strict)
	e := fails(t, err, engine.Invalid, "dangling")
	same(t, "error", []string{e.Class, e.Attribute, e.ID}, []string{w.person.FullName, "town", "gone"})
	_, err = w.Update(t.Context(), w.person, "loose", values(w.person, "town", "gone"), strict)
	same(t, "attribute", fails(t, err, engine.Invalid, "dangling").Attribute, "town")
	if _, err = w.Update(t.Context(), w.person, "loose", values(w.person, "name", "x"), strict); err != nil {
		t.Errorf("got %v for a reference that is not written, want no error", err)
	}
	if _, err = w.Create(t.Context(), w.person, values(w.person, "id", "firm", "town", "t1"), strict); err != nil {
		t.Error(err)
	}
	var records []engine.Record
	for i := range 700 {
		rec := record(w.person, "", "town", "t1")
		if rec.Handling = engine.Strict; i == 600 {
			rec = record(w.person, "", "town", "gone") // in lenient handling
		}
		records = append(records, rec)
	}
	save(t, w, records...)
	records[601] = record(w.person, "", "town", "gone too")
	records[601].Handling = engine.Strict
	_, err = w.Save(t.Context(), records)
	e = fails(t, err, engine.Invalid, "dangling")
	same(t, "record", []any{e.Bulk, e.Index, e.Attribute, e.ID}, []any{true, 601, "town", "gone too"})
	nested := sub(w.town, "name", "n", "region", int64(404))
	_, err = w.Create(t.Context(), w.person, values(w.person, "town", nested), strict)
	same(t, "nested", fails(t, err, engine.Invalid, "dangling").Attribute, "town.region")
}

func forwardReferences(t *testing.T, open Open) {
	w := newNames(t, open)
	records := []engine.Record{record(w.person, "ann", "town", "later"), record(w.town, "later", "name", "n", "region", int64(3)), record(w.region, "3")}
	for i := range records {
		records[i].Handling = engine.Strict
	}
	checkStored(t, w, save(t, w, records...))
}

func allowedClasses(t *testing.T, open Open) {
	f := &family{}
	f.thing = NewClass("thing", Prop("id", engine.String), Prop("name", engine.String))
	f.car = Extend(f.thing, "car", Prop("wheels", engine.Int))
	f.bus = Extend(f.car, "bus", Prop("seats", engine.Int))
	f.house = Extend(f.thing, "house")
	some := Ref("some", f.thing)
	some.Subclasses = []*engine.Class{f.car, f.bus}
	owner := NewClass("owner", Prop("id", engine.String), Ref("any", f.thing), Ref("car", f.car), some)
	f.Repository = open(t, []*engine.Class{f.thing, f.car, f.bus, f.house, owner})
	create(t, f, f.house, "id", "h")
	create(t, f, f.bus, "id", "b", "seats", int64(9))
	it := create(t, f, owner, "id", "1", "any", sub(f.house, "id", "h2"), "car", sub(f.bus, "id", "b2"), "some", "b")
	same(t, "values", it.Values, engine.Values{"1", "h2", "b2", "b"})
	create(t, f, owner, "id", "2", "some", "nobody") // no item exists, so there is no wrong class
	for attribute, v := range map[string]any{"car": sub(f.house, "id", "x"), "any": sub(owner, "id", "x"), "some": "h"} {
		_, err := f.Create(t.Context(), owner, values(owner, "id", "3", attribute, v), engine.WriteOptions{})
		same(t, "attribute", fails(t, err, engine.Invalid, "subclass").Attribute, attribute)
	}
	_, err := f.Create(t.Context(), owner, values(owner, "id", "3", "car", "h"), engine.WriteOptions{Handling: engine.Strict})
	fails(t, err, engine.Invalid, "dangling") // no car has that id
	// A nested record of a class above updates the item and does not change its class.
	update(t, f, owner, "1", "any", sub(f.thing, "id", "b", "name", "renamed"))
	kept := get(t, f, f.bus, "b")
	same(t, "kept", []any{kept.Get("name"), kept.Get("seats")}, []any{"renamed", int64(9)})
	_, err = f.Update(t.Context(), owner, "1", values(owner, "any", sub(f.house, "id", "b")), engine.WriteOptions{})
	same(t, "attribute", fails(t, err, engine.Invalid, "duplicate").Attribute, "any.id")
	same(t, "owners", count(t, f, owner), int64(2))
}

func abstractClasses(t *testing.T, open Open) {
	base := NewClass("base", Prop("id", engine.String), Prop("name", engine.String))
	base.Abstract = true
	real := Extend(base, "real")
	r := open(t, []*engine.Class{base, real})
	create(t, r, real, "id", "1")
	_, err := r.Create(t.Context(), base, values(base, "id", "2"), engine.WriteOptions{})
	same(t, "class", fails(t, err, engine.Invalid, "abstract").Class, base.FullName)
	_, err = r.Save(t.Context(), []engine.Record{record(real, "2"), record(base, "1")})
	e := fails(t, err, engine.Invalid, "abstract")
	same(t, "record", []any{e.Bulk, e.Index}, []any{true, 1})
	same(t, "through it", update(t, r, base, "1", "name", "n").Class, real)
	same(t, "listed", ids(t, r, all(base)), []string{"1"})
}

func readonlySave(t *testing.T, open Open) {
	c := NewClass("fixed", Prop("id", engine.String), Prop("since", engine.Int, readonly))
	r := open(t, []*engine.Class{c})
	strict := func(id string, since any) engine.Record {
		rec := record(c, id, "since", since)
		rec.Handling = engine.Strict
		return rec
	}
	save(t, r, strict("1", int64(5)), strict("1", int64(5)), record(c, "2", "since", int64(1)), record(c, "2", "since", int64(2)))
	_, err := r.Save(t.Context(), []engine.Record{strict("2", int64(2)), strict("1", int64(6))})
	e := fails(t, err, engine.Invalid, "readonly")
	same(t, "record", []any{e.Bulk, e.Index, e.Attribute}, []any{true, 1, "since"})
}
