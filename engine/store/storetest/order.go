package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"restsrv/engine"
)

var orderTests = []test{
	{"a record after a collection", recordAfterCollection},
	{"a record after a nested record", recordAfterNested},
	{"a member that a later record creates", memberCreatedLater},
	{"answers are what is stored", answersStored},
	{"the old key in the record that changes it", oldKeyInRecord},
	{"the old key in a save", oldKeyInSave},
	{"a reference that is a part of the key", backKeyPart},
	{"keys that join to one id", joinedKeys},
	{"records of a class above", recordAbove},
	{"records of a class below or beside", recordBeside},
	{"references that an object of another class keeps", keptReferences},
	{"random batches", randomBatches},
}

// shire has regions and towns that refer to each other. Any town may be the capital of a region.
type shire struct {
	engine.Repository
	region, town *engine.Class
}

func openShire(t *testing.T, open Open) *shire {
	s := &shire{}
	s.region = NewClass("region", Prop("id", engine.String), Prop("name", engine.String))
	s.town = NewClass("town", Prop("id", engine.String), Prop("name", engine.String), Ref("region", s.region), Prop("rank", engine.Int))
	add(s.town, Ref("twin", s.town), nm("friends", s.town))
	add(s.town, back(engine.Collection, "twins", s.town, "twin"))
	add(s.region, back(engine.Collection, "towns", s.town, "region"), nm("visited", s.town))
	Link(s.region, s.town)
	s.Repository = open(t, []*engine.Class{s.region, s.town})
	for _, id := range []string{"r0", "r1", "r3"} {
		create(t, s, s.region, "id", id)
	}
	for _, id := range []string{"t1", "t2", "t7"} {
		create(t, s, s.town, "id", id)
	}
	return s
}

// recordAfterCollection saves a record that names a region after one with a collection that names
// the town, and the reverse. The later record should win.
func recordAfterCollection(t *testing.T, open Open) {
	s := openShire(t, open)
	region := func() any { return get(t, s, s.town, "t7").Get("region") }
	items := save(t, s, record(s.region, "r3", "towns", put("t7")), record(s.town, "t7", "region", "r0"))
	same(t, "a reference after a collection", region(), "r0")
	checkStored(t, s, items)
	items = save(t, s, record(s.town, "t7", "region", "r0"), record(s.region, "r3", "towns", put("t7")))
	same(t, "a collection after a reference", region(), "r3")
	checkStored(t, s, items)
	items = save(t, s, record(s.region, "r0", "towns", put("t7")), record(s.region, "r1", "towns", put("t7")), record(s.town, "t7", "name", "Oslo"))
	same(t, "the later of two collections", region(), "r1")
	checkStored(t, s, items)
	items = save(t, s, record(s.region, "r0", "towns", put("t7")), record(s.town, "t7", "region", nil))
	same(t, "null after a collection", region(), nil)
	checkStored(t, s, items)
	items = save(t, s, record(s.town, "t1", "twins", put("t2", "t7")), record(s.town, "t2", "twin", "t7"), record(s.town, "t7", "twin", nil, "twins", replaced()))
	same(t, "of one class", []any{get(t, s, s.town, "t2").Get("twin"), get(t, s, s.town, "t7").Get("twin")}, []any{nil, nil})
	checkStored(t, s, items)
	items = save(t, s, record(s.region, "r0", "visited", replaced("t1")), record(s.region, "r0", "visited", replaced("t2")), record(s.region, "r0", "visited", put("t7")))
	same(t, "links", members(t, s, s.region, "r0", "visited"), []string{"t2", "t7"})
	checkStored(t, s, items)
}

// recordAfterNested saves a record after another one in which the same object is nested.
func recordAfterNested(t *testing.T, open Open) {
	s := openShire(t, open)
	items := save(t, s, record(s.region, "r3", "towns", put(sub(s.town, "id", "t7", "name", "inner", "rank", int64(1)))), record(s.town, "t7", "name", "outer"))
	same(t, "a member", get(t, s, s.town, "t7").Values, values(s.town, "id", "t7", "name", "outer", "region", "r3", "rank", int64(1), "twin", nil, "friends", nil, "twins", nil))
	checkStored(t, s, items)
	items = save(t, s, record(s.town, "t7", "name", "first"), record(s.town, "t1", "twin", sub(s.town, "id", "t7", "name", "second")))
	same(t, "nested later", get(t, s, s.town, "t7").Get("name"), "second")
	checkStored(t, s, items)
	items = save(t, s, record(s.region, "r3", "towns", replaced(sub(s.town, "id", "t7", "region", sub(s.region, "id", "r5", "name", "inner")))))
	same(t, "a member with an object in its own reference", get(t, s, s.town, "t7").Get("region"), "r3")
	same(t, "that object", get(t, s, s.region, "r5").Get("name"), "inner")
	checkStored(t, s, items)
	// A nested record may change the item of the outer record.
	it := update(t, s, s.town, "t1", "name", "x", "region", sub(s.region, "id", "r1", "towns", replaced("t2")))
	same(t, "stored", get(t, s, s.town, "t1").Get("region"), nil)
	checkStored(t, s, []*engine.Item{it})
}

func memberCreatedLater(t *testing.T, open Open) {
	s := openShire(t, open)
	items := save(t, s, record(s.region, "r3", "towns", put("n1", "n2", "n3", "n4"), "visited", put("n1")), record(s.region, "r0", "towns", put("n4")),
		record(s.town, "n1", "name", "kept"), record(s.town, "n2", "region", "r1"), record(s.town, "n3", "region", nil), record(s.town, "n4"))
	checkStored(t, s, items)
	var regions []any
	for _, it := range items[2:] {
		regions = append(regions, it.Get("region"))
	}
	same(t, "regions", regions, []any{"r3", "r1", nil, "r0"})
	same(t, "links", members(t, s, s.region, "r3", "visited"), []string{"n1"})
	items = save(t, s, record(s.region, "r3", "towns", put("m1", "m2")), record(s.region, "r3", "towns", replaced("m2")), record(s.region, "r3", "id", "r9"), record(s.town, "m1"), record(s.town, "m2"))
	checkStored(t, s, items[3:])
	same(t, "left out, and renamed", []any{items[3].Get("region"), items[4].Get("region")}, []any{nil, "r9"})
	same(t, "under another key first", save(t, s, record(s.region, "r9", "towns", put("k2")), record(s.town, "m1", "id", "k2"))[1].Get("region"), "r9")
	_, err := s.Save(t.Context(), []engine.Record{record(s.town, "t1"), record(s.region, "r0", "towns", put("none")), record(s.region, "r0", "towns", replaced())})
	e := fails(t, err, engine.Invalid, "dangling")
	same(t, "never created", []any{e.Index, e.Attribute, e.ID}, []any{1, "towns", "none"})
}

// answersStored compares the items that writes return with the stored ones, when a later part of
// the write changes the object.
func answersStored(t *testing.T, open Open) {
	s := openShire(t, open)
	items := save(t, s, record(s.town, "t1", "name", "a"), record(s.region, "r0"), record(s.town, "t1", "name", "b"), record(s.region, "r1", "towns", put("t1")))
	checkStored(t, s, items)
	same(t, "name", items[0].Get("name"), "b")
	items = save(t, s, record(s.town, "t1", "name", "c"), record(s.town, "t1", "id", "t9"), record(s.town, "t2", "twin", "t9"))
	checkStored(t, s, items)
	same(t, "renamed", []string{items[0].ID, items[1].ID}, []string{"t9", "t9"})
	items = save(t, s, record(s.town, "t2", "name", "d", "region", "r0"), record(s.region, "r0", "id", "r8"))
	checkStored(t, s, items)
	same(t, "followed", items[0].Get("region"), "r8")
	it := create(t, s, s.region, "id", "r5", "towns", put("t2", sub(s.town, "id", "t9", "region", "r1", "twins", replaced())))
	checkStored(t, s, []*engine.Item{it})
	it = update(t, s, s.town, "t2", "twins", put("t2"))
	checkStored(t, s, []*engine.Item{it})
	same(t, "its own member", it.Get("twin"), "t2")
}

// oldKeyInRecord names an item by its old key in the record that changes the key.
func oldKeyInRecord(t *testing.T, open Open) {
	for name, write := range map[string]func(s *shire, id string, pairs ...any) (*engine.Item, error){
		"update": func(s *shire, id string, pairs ...any) (*engine.Item, error) {
			return s.Update(t.Context(), s.town, id, values(s.town, pairs...), engine.WriteOptions{Handling: engine.Strict})
		},
		"save": func(s *shire, id string, pairs ...any) (*engine.Item, error) {
			rec := record(s.town, id, pairs...)
			rec.Handling = engine.Strict
			items, err := s.Save(t.Context(), []engine.Record{rec})
			if err != nil {
				return nil, err
			}
			return items[0], nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := openShire(t, open)
			it, err := write(s, "t1", "id", "t9", "twin", "t1", "friends", put("t1", "t2"), "twins", put("t1", "t2"))
			if err != nil {
				t.Fatal(err)
			}
			checkStored(t, s, []*engine.Item{it})
			same(t, "twin", it.Get("twin"), "t9")
			same(t, "members", []any{members(t, s, s.town, "t9", "friends"), members(t, s, s.town, "t9", "twins")}, []any{[]string{"t9", "t2"}, []string{"t9", "t2"}})
			create(t, s, s.town, "id", "t1")
			same(t, "no hidden link", []any{members(t, s, s.town, "t9", "friends"), members(t, s, s.town, "t1", "twins")}, []any{[]string{"t9", "t2"}, []string{}})
			if it, err = write(s, "t9", "id", "t8", "friends", change([]any{sub(s.town, "id", "t9", "name", "itself"), sub(s.town, "id", "t5", "twin", "t9")}, "t9")); err != nil {
				t.Fatal(err)
			}
			checkStored(t, s, []*engine.Item{it})
			same(t, "nested", []any{it.Get("name"), get(t, s, s.town, "t5").Get("twin"), members(t, s, s.town, "t8", "friends")}, []any{"itself", "t8", []string{"t2", "t8", "t5"}})
			if it, err = write(s, "t8", "friends", replaced(engineRecord(s.town, "t8", "id", "t7b"), "t8")); err != nil {
				t.Fatal(err)
			}
			same(t, "changed by a member", []any{it.ID, members(t, s, s.town, "t7b", "friends")}, []any{"t7b", []string{"t7b"}})
			if it, err = write(s, "t7b", "name", "outer", "twin", engineRecord(s.town, "t7b", "id", "t6", "name", "inner")); err != nil {
				t.Fatal(err)
			}
			checkStored(t, s, []*engine.Item{it})
			same(t, "changed by a nested record", []any{it.ID, it.Get("name"), it.Get("twin")}, []any{"t6", "outer", "t6"})
		})
	}
}

func engineRecord(c *engine.Class, id string, pairs ...any) *engine.Record {
	r := record(c, id, pairs...)
	return &r
}

// oldKeyInSave names an item by its old key in a record after the one that changes it. As in
// separate saves, the item should count as missing.
func oldKeyInSave(t *testing.T, open Open) {
	s := openShire(t, open)
	for _, strict := range []engine.Record{record(s.town, "t2", "friends", put("t1")), record(s.town, "t2", "twin", "t1"), record(s.town, "t5", "twin", "t1")} {
		strict.Handling = engine.Strict
		_, err := s.Save(t.Context(), []engine.Record{record(s.town, "t1", "id", "t9"), strict})
		e := fails(t, err, engine.Invalid, "dangling")
		same(t, "error", []any{e.Index, e.ID}, []any{1, "t1"})
	}
	before := record(s.town, "t2", "friends", put("t1"), "twin", "t1")
	before.Handling = engine.Strict
	items := save(t, s, before, record(s.town, "t1", "id", "t9"), record(s.town, "t7", "id", "t1"))
	checkStored(t, s, items)
	same(t, "named before", []any{items[0].Get("twin"), members(t, s, s.town, "t2", "friends")}, []any{"t9", []string{"t9"}})
}

// backKeyPart adds items to collections by references that are part of their keys.
func backKeyPart(t *testing.T, open Open) {
	order := NewClass("order", Prop("id", engine.String))
	line := &engine.Class{Name: "line", Namespace: "test", Key: []string{"order", "n"}, Properties: []*engine.Property{
		{Name: "order", Type: engine.Reference, Target: order, Definition: "line@test"}, {Name: "n", Type: engine.Int, OrderNumber: 1, Definition: "line@test"},
	}}
	if err := line.Init(); err != nil {
		t.Fatal(err)
	}
	add(order, back(engine.Collection, "lines", line, "order"))
	mark := NewClass("mark", Prop("id", engine.String), Ref("line", line), nm("more", line))
	Link(order, line, mark)
	r := open(t, []*engine.Class{order, line, mark})
	create(t, r, order, "id", "a", "lines", put(sub(line, "n", int64(1)), sub(line, "n", int64(2))))
	create(t, r, mark, "id", "m", "line", "a_1", "more", put("a_1", "a_2"))
	create(t, r, order, "id", "b", "lines", put("a_1"))
	same(t, "another key", []any{get(t, r, line, "b_1").Get("order"), members(t, r, order, "a", "lines"), members(t, r, order, "b", "lines")},
		[]any{"b", []string{"a_2"}, []string{"b_1"}})
	same(t, "followed", []any{get(t, r, mark, "m").Get("line"), members(t, r, mark, "m", "more")}, []any{"b_1", []string{"b_1", "a_2"}})
	_, err := r.Update(t.Context(), order, "b", values(order, "lines", replaced()), engine.WriteOptions{})
	fails(t, err, engine.Invalid, "required")
	// A part of the key changes with the order; the line in the request is still the same line.
	it := update(t, r, order, "b", "id", "c", "lines", replaced("b_1", sub(line, "n", int64(5))))
	same(t, "order", it.ID, "c")
	same(t, "lines", members(t, r, order, "c", "lines"), []string{"c_1", "c_5"})
}

// joinedKeys writes items with keys that join to the same id, in every way. Only one of them may be
// stored, and no write may change the other.
func joinedKeys(t *testing.T, open Open) {
	pair := &engine.Class{Name: "pair", Namespace: "test", Key: []string{"a", "b"}, Properties: []*engine.Property{
		{Name: "a", Type: engine.String}, {Name: "b", Type: engine.String, OrderNumber: 1}, {Name: "text", Type: engine.String, Nullable: true, OrderNumber: 2}}}
	if err := pair.Init(); err != nil {
		t.Fatal(err)
	}
	holder := NewClass("holder", Prop("id", engine.String), Ref("pair", pair), nm("pairs", pair))
	Link(pair, holder)
	r := open(t, []*engine.Class{pair, holder})
	first := create(t, r, pair, "a", "x_y", "b", "z", "text", "first")
	stays := func(what string, err error) {
		t.Helper()
		e := fails(t, err, engine.Invalid, "duplicate")
		if !strings.Contains(e.Message, `"x_y_z"`) {
			t.Errorf("%s: the message %q does not name the id x_y_z", what, e.Message)
		}
		same(t, what, get(t, r, pair, "x_y_z"), first)
		same(t, "pairs", count(t, r, pair), int64(1))
	}
	other := func() engine.Values { return values(pair, "a", "x", "b", "y_z", "text", "second") }
	_, err := r.Create(t.Context(), pair, other(), engine.WriteOptions{})
	stays("create", err)
	whole := engine.Record{Class: pair, Values: other()}
	stays("save", trySave(t, r, whole))
	stays("save with others", trySave(t, r, record(pair, "", "a", "m", "b", "n", "text", "new"), engine.Record{Class: pair, Values: other()}, record(pair, "", "a", "o", "b", "p", "text", "new")))
	stays("save of a part", trySave(t, r, record(pair, "", "a", "x", "b", "y_z")))
	stays("save with the id", trySave(t, r, engine.Record{Class: pair, ID: "x_y_z", Values: other()}))
	stays("brief", trySave(t, r, engine.Record{Class: pair, Values: other(), Brief: true}))
	stays("after the same id", trySave(t, r, record(pair, "x_y_z", "text", "lost"), engine.Record{Class: pair, Values: other()}))
	stays("nested", tryCreate(t, r, holder, "id", "h", "pair", &engine.Record{Class: pair, Values: other()}))
	stays("a member", tryCreate(t, r, holder, "id", "h", "pairs", put(&engine.Record{Class: pair, Values: other()})))
	if a, ok := r.(archive); ok {
		stays("import", a.Import(t.Context(), []*engine.Item{{Class: pair, Values: other()}}))
	}
	stays("both new", trySave(t, r, record(pair, "", "a", "x_y", "b", "z", "text", "lost"), record(pair, "", "a", "x", "b", "y_z", "text", "second")))
	create(t, r, pair, "a", "q", "b", "r")
	_, err = r.Update(t.Context(), pair, "q_r", values(pair, "a", "x", "b", "y_z"), engine.WriteOptions{})
	fails(t, err, engine.Invalid, "duplicate")
	// The id names the stored object. The parts of its key may change.
	create(t, r, holder, "id", "h", "pair", "x_y_z", "pairs", put("x_y_z"))
	items := save(t, r, record(pair, "x_y_z", "text", "by id"), record(pair, "", "a", "x_y", "b", "z", "text", "by key"))
	checkStored(t, r, items)
	it := update(t, r, pair, "x_y_z", "a", "x", "b", "y_z")
	same(t, "other parts", it.Values, values(pair, "a", "x", "b", "y_z", "text", "by key"))
	same(t, "still pointed at", []any{get(t, r, holder, "h").Get("pair"), members(t, r, holder, "h", "pairs")}, []any{"x_y_z", []string{"x_y_z"}})
}

// recordAbove saves records of a class above the class of the object. The object should keep its
// class and the values that only its class has.
func recordAbove(t *testing.T, open Open) {
	f := openFamily(t, open)
	version := record(f.thing, "b", "name", "big")
	version.Version = "7"
	was := get(t, f, f.bus, "b")
	items := save(t, f, version, record(f.car, "c", "price", nil), record(f.car, "b", "wheels", int64(10)), record(f.thing, "", "id", "h", "name", "home"), record(f.thing, "h", "id", "h2"))
	checkStored(t, f, items)
	same(t, "bus", []any{items[0].Class, items[0].Version}, []any{f.bus, was.Version})
	same(t, "values", items[0].Values, values(f.bus, "id", "b", "name", "big", "wheels", int64(10), "price", nil, "seats", int64(50), "since", engine.Instant(7)))
	same(t, "house", []any{items[4].Class, items[4].ID, items[4].Get("floors")}, []any{f.house, "h2", int64(2)})
}

// recordBeside saves records of another class of the tree. An object changes to a class below its
// own and keeps its values. It changes to a class beside it only if no value is lost.
func recordBeside(t *testing.T, open Open) {
	thing, tag := NewClass("thing", Prop("id", engine.String), Prop("name", engine.String)), NewClass("tag", Prop("id", engine.String))
	car := Extend(thing, "car", Prop("wheels", engine.Int), nm("tags", tag))
	house := Extend(thing, "house", Prop("floors", engine.Int, required, byDefault(int64(1))))
	Link(thing, tag, car, house)
	r := open(t, []*engine.Class{thing, tag, car, house})
	create(t, r, thing, "id", "t", "name", "stone")
	create(t, r, car, "id", "c", "wheels", int64(4), "name", "car", "tags", put("x"))
	items := save(t, r, record(house, "t"))
	checkStored(t, r, items)
	same(t, "below", items[0].Values, values(house, "id", "t", "name", "stone", "floors", int64(1)))
	refused := func(what, attribute string, records ...engine.Record) {
		t.Helper()
		_, err := r.Save(t.Context(), records)
		e := fails(t, err, engine.Invalid, "class")
		same(t, what, []string{e.ID, e.Attribute}, []string{"c", attribute})
		same(t, what, []any{get(t, r, car, "c").Get("wheels"), members(t, r, car, "c", "tags")}, []any{int64(4), []string{}})
	}
	refused("beside, with a value", "wheels", record(house, "c", "floors", int64(2)))
	refused("with a link", "tags", record(car, "c", "wheels", nil), record(house, "c", "floors", int64(2)))
	items = save(t, r, record(car, "c", "wheels", nil, "tags", replaced()), record(house, "c", "floors", int64(3)))
	checkStored(t, r, items)
	same(t, "without values to lose", items[1].Values, values(house, "id", "c", "name", "car", "floors", int64(3)))
}

// keptReferences changes the class of an object by a strict record that does not give its
// references. They may dangle, but the new class should allow the classes of their targets.
func keptReferences(t *testing.T, open Open) {
	spot := NewClass("spot", Prop("id", engine.String))
	park := Extend(spot, "park")
	root := NewClass("root", Prop("id", engine.String))
	thing := Extend(root, "thing", Ref("at", spot))
	car := Extend(thing, "car", Prop("wheels", engine.Int))
	slide := Extend(root, "slide", Ref("at", spot))
	slide.Property("at").Subclasses = []*engine.Class{park}
	Link(spot, park, root, thing, car, slide)
	r := open(t, []*engine.Class{spot, park, root, thing, car, slide})
	create(t, r, spot, "id", "s")
	for id, at := range map[string]any{"a": "gone", "b": "s", "c": "gone"} {
		create(t, r, thing, "id", id, "at", at)
	}
	strict := func(c *engine.Class, id string, pairs ...any) engine.Record {
		rec := record(c, id, pairs...)
		rec.Handling = engine.Strict
		return rec
	}
	items := save(t, r, strict(car, "a", "wheels", int64(4)))
	checkStored(t, r, items)
	same(t, "kept", []any{items[0].Class, items[0].Get("at")}, []any{car, "gone"})
	items = save(t, r, strict(slide, "c"))
	same(t, "kept", []any{items[0].Class, items[0].Get("at")}, []any{slide, "gone"})
	_, err := r.Save(t.Context(), []engine.Record{strict(car, "c", "wheels", int64(4), "at", "gone")})
	fails(t, err, engine.Invalid, "dangling")
	_, err = r.Save(t.Context(), []engine.Record{record(slide, "b")})
	e := fails(t, err, engine.Invalid, "subclass")
	same(t, "names", []string{e.ID, e.Attribute}, []string{"s", "at"})
}

// batchWriter creates random batches of records.
type batchWriter struct {
	*rand.Rand
	node, leaf, twig, region, town, seat, spot, ticket *engine.Class
}

func newBatchWriter() *batchWriter {
	w := &batchWriter{}
	w.region = NewClass("region", Prop("id", engine.String), Prop("name", engine.String))
	w.node = NewClass("node", Prop("id", engine.String), Prop("name", engine.String))
	add(w.node, Ref("parent", w.node), nm("friends", w.node))
	add(w.node, back(engine.Collection, "children", w.node, "parent"))
	w.leaf = Extend(w.node, "leaf", Prop("weight", engine.Int))
	w.twig = Extend(w.node, "twig", Prop("height", engine.Int))
	w.town = NewClass("town", Prop("id", engine.String), Prop("name", engine.String), Ref("region", w.region), nm("nodes", w.node))
	w.ticket = NewClass("ticket", Prop("no", engine.Int, autoassigned), Prop("name", engine.String), Ref("region", w.region))
	composite := func(name string, properties ...*engine.Property) *engine.Class {
		c := NewClass(name, properties...)
		properties[1].Nullable = false
		c.Key = append(c.Key, properties[1].Name)
		if err := c.Init(); err != nil {
			panic(err)
		}
		return c
	}
	w.seat = composite("seat", Prop("row", engine.String), Prop("n", engine.String), Prop("name", engine.String), Ref("town", w.town))
	w.spot = composite("spot", Ref("town", w.town), Prop("n", engine.Int), Prop("name", engine.String))
	add(w.region, back(engine.Collection, "towns", w.town, "region"), back(engine.Collection, "tickets", w.ticket, "region"), nm("seats", w.seat))
	add(w.town, back(engine.Collection, "spots", w.spot, "town"), back(engine.Collection, "chairs", w.seat, "town"))
	Link(w.classes()...)
	return w
}

func (w *batchWriter) classes() []*engine.Class {
	return []*engine.Class{w.node, w.leaf, w.twig, w.region, w.town, w.seat, w.spot, w.ticket}
}

func (w *batchWriter) one(options ...string) string { return options[w.IntN(len(options))] }

// id returns a possible id of an item of a class.
func (w *batchWriter) id(c *engine.Class) string {
	switch c.Root() {
	case w.node:
		return "n" + w.number(6)
	case w.region:
		return "r" + w.number(4)
	case w.town:
		return "t" + w.number(5)
	case w.seat:
		return w.part() + "_" + w.part()
	case w.spot:
		return w.id(w.town) + "_" + strconv.Itoa(w.IntN(3))
	}
	return strconv.Itoa(1 + w.IntN(6))
}

// number returns the end of an id, mostly of an item that exists from the beginning.
func (w *batchWriter) number(n int) string {
	return strconv.Itoa(w.IntN(n)) + w.one("", "", "", "", "", "a", "b")
}

func (w *batchWriter) part() string { return w.one("a", "b", "a_b", "b_a") }

// values sets some properties of a class, with nested records down to depth.
func (w *batchWriter) values(c *engine.Class, depth int) engine.Values {
	v := engine.NewValues(c)
	for _, p := range c.Properties {
		if w.IntN(4) > 0 || slices.Contains(c.Key, p.Name) {
			continue
		}
		switch {
		case p.Type == engine.Collection:
			v[p.Index] = w.links(p, depth)
		case p.Type == engine.Reference && depth > 0 && w.IntN(4) == 0:
			v[p.Index] = w.nested(p.Target, depth-1)
		case p.Type == engine.Reference && w.IntN(6) > 0:
			v[p.Index] = w.id(p.Target)
		case p.Type == engine.String:
			v[p.Index] = strconv.Itoa(w.IntN(1000))
		case p.Type == engine.Int && w.IntN(2) == 0:
			v[p.Index] = int64(w.IntN(9))
		default:
			v[p.Index] = nil
		}
	}
	return v
}

// anotherKey sets another key in values. The key is often free.
func (w *batchWriter) anotherKey(c *engine.Class, v engine.Values) {
	w.setKey(c, v)
	if key := c.KeyProperties(); len(key) == 1 && key[0].Type == engine.String && w.IntN(4) > 0 {
		v[key[0].Index] = v[key[0].Index].(string) + w.one("a", "b", "c", "d")
	}
}

func (w *batchWriter) setKey(c *engine.Class, v engine.Values) {
	switch c.Root() {
	case w.seat:
		v[c.Property("row").Index], v[c.Property("n").Index] = w.part(), w.part()
	case w.spot:
		v[c.Property("town").Index], v[c.Property("n").Index] = w.id(w.town), int64(w.IntN(3))
	case w.ticket:
	default:
		v[c.KeyProperties()[0].Index] = w.id(c)
	}
}

func (w *batchWriter) nested(c *engine.Class, depth int) *engine.Record {
	if c == w.node {
		c = []*engine.Class{w.node, w.node, w.leaf, w.twig}[w.IntN(4)]
	}
	r := &engine.Record{Class: c, Values: w.values(c, depth)}
	w.setKey(c, r.Values)
	if w.IntN(16) == 0 {
		r.ID = w.id(c)
		w.anotherKey(c, r.Values)
	}
	return r
}

func (w *batchWriter) links(p *engine.Property, depth int) *engine.Links {
	l := &engine.Links{Replace: w.IntN(3) == 0}
	for range w.IntN(3) {
		if depth > 0 && w.IntN(3) == 0 {
			l.Add = append(l.Add, w.nested(p.Target, depth-1))
			continue
		}
		l.Add = append(l.Add, w.id(p.Target))
	}
	for range w.IntN(2) {
		if !l.Replace {
			l.Remove = append(l.Remove, w.id(p.Target))
		}
	}
	return l
}

// fill creates the items that the batches name.
func (w *batchWriter) fill(t *testing.T, r engine.Repository) {
	for i := range 4 {
		n := strconv.Itoa(i)
		create(t, r, []*engine.Class{w.node, w.leaf, w.twig, w.node}[i], "id", "n"+n)
		create(t, r, w.region, "id", "r"+n)
		create(t, r, w.town, "id", "t"+n)
		create(t, r, w.seat, "row", []string{"a", "b", "a_b", "b_a"}[i], "n", "a")
		create(t, r, w.spot, "town", "t"+n, "n", int64(1))
		create(t, r, w.ticket)
	}
}

// batch returns the records of one save.
func (w *batchWriter) batch() []engine.Record {
	records := make([]engine.Record, 2+w.IntN(5))
	for i := range records {
		c := w.classes()[w.IntN(len(w.classes()))]
		r := engine.Record{Class: c, Values: w.values(c, w.IntN(3))}
		switch n := w.IntN(16); {
		case n == 0: // another key, or a part of one
			r.ID = w.id(c)
			w.anotherKey(c, r.Values)
		case n < 6 || c == w.seat && n < 15:
			w.setKey(c, r.Values)
		default:
			r.ID = w.id(c)
		}
		if w.IntN(6) == 0 {
			r.Handling = engine.Strict
		}
		records[i] = r
	}
	return records
}

// contents returns all items with their members as text, in the order of lists.
func (w *batchWriter) contents(t *testing.T, r engine.Repository) string {
	t.Helper()
	var b strings.Builder
	for _, c := range w.classes() {
		if c.Ancestor != nil {
			continue
		}
		q := all(c)
		for _, p := range c.Properties {
			if p.Type == engine.Collection {
				q.Load = append(q.Load, load(c, p.Name))
			}
		}
		err := r.List(t.Context(), q, func(it *engine.Item) error {
			fmt.Fprintf(&b, "%s %s %v", it.Class.Name, it.ID, it.Values)
			for _, l := range q.Load {
				fmt.Fprintf(&b, " %s%v", l.Property.Name, memberIDs(linkOf(it, l.Property.Name).Items))
			}
			b.WriteByte('\n')
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

var errTakenBack = errors.New("taken back")

// randomBatches saves random batches in one database at once and in another one record by record,
// in a transaction. Both databases should have the same contents, and the returned items should equal
// the stored ones. The only allowed difference: members that a later record creates. RESTSRV_RANDOM
// is the duration of the test, RESTSRV_SEED the first seed.
func randomBatches(t *testing.T, open Open) {
	w := newBatchWriter()
	together, apart := open(t, w.classes()), open(t, w.classes())
	for _, r := range []engine.Repository{together, apart} {
		w.fill(t, r)
	}
	seed, most, end := uint64(1), 60, time.Now().Add(time.Hour)
	if d, err := time.ParseDuration(os.Getenv("RESTSRV_RANDOM")); err == nil {
		seed, most, end = uint64(time.Now().UnixNano()), 1<<30, time.Now().Add(d)
	}
	if s, err := strconv.ParseUint(os.Getenv("RESTSRV_SEED"), 10, 64); err == nil {
		seed = s
	}
	saved := 0
	for n := 0; n < most && time.Now().Before(end) && !t.Failed(); n++ {
		if w.step(t, seed+uint64(n), together, apart) {
			saved++
		}
	}
	t.Logf("%d batches were saved", saved)
	if saved < 5 {
		t.Errorf("only %d batches were saved", saved)
	}
}

// step runs one batch of randomBatches. It reports whether the batch was saved.
func (w *batchWriter) step(t *testing.T, seed uint64, together, apart engine.Repository) bool {
	t.Helper()
	records := func() []engine.Record {
		w.Rand = rand.New(rand.NewPCG(seed, 0))
		return w.batch()
	}
	var one, all error
	var items []*engine.Item
	apartErr := within(t.Context(), apart, func(ctx context.Context) error {
		for _, r := range records() {
			if _, one = apart.Save(ctx, []engine.Record{r}); one != nil {
				return one
			}
		}
		return nil
	})
	before := w.contents(t, together)
	togetherErr := within(t.Context(), together, func(ctx context.Context) error {
		if items, all = together.Save(ctx, records()); all == nil && one != nil {
			return errTakenBack
		}
		return all
	})
	var e *engine.Error
	switch {
	case one != nil && all == nil && errors.As(one, &e) && e.Reason == "dangling":
		return false // in a batch, the member waits for a later record
	case (one == nil) != (all == nil):
		t.Errorf("seed %d: one by one: %v, together: %v\n%sin\n%s", seed, apartErr, togetherErr, describeRecords(records()), before)
		return false
	case one != nil:
		return false
	}
	if got, want := w.contents(t, together), w.contents(t, apart); got != want {
		t.Errorf("seed %d: %sin\n%s\nstored together:\n%s\none by one:\n%s", seed, describeRecords(records()), before, got, want)
	}
	for i, it := range items {
		stored, err := together.Get(t.Context(), it.Class, it.ID)
		if err != nil || stored.Revision != it.Revision || fmt.Sprint(stored.Values) != fmt.Sprint(known(it.Values)) {
			t.Errorf("seed %d: %sin\n%s\nrecord %d returned %v, stored is %v (%v)", seed, describeRecords(records()), before, i, it, stored, err)
		}
	}
	return true
}

// known replaces absent values by null.
func known(v engine.Values) engine.Values {
	v = slices.Clone(v)
	for i := range v {
		if v[i] == engine.Absent {
			v[i] = nil
		}
	}
	return v
}

// describeRecords returns records as text for failure messages.
func describeRecords(records []engine.Record) string {
	var b strings.Builder
	for i := range records {
		b.WriteString(describeRecord(&records[i]) + "\n")
	}
	return b.String()
}

func describeRecord(r *engine.Record) string {
	text := r.Class.Name + "(" + r.ID + "){"
	value := func(v any) string {
		if inner, ok := v.(*engine.Record); ok {
			return describeRecord(inner)
		}
		return fmt.Sprint(v)
	}
	for i, v := range r.Values {
		switch v := v.(type) {
		case *engine.Links:
			text += fmt.Sprintf(" %s: replace %v remove %v add [", r.Class.Properties[i].Name, v.Replace, v.Remove)
			for _, member := range v.Add {
				text += value(member) + " "
			}
			text += "]"
		default:
			if v != engine.Absent {
				text += " " + r.Class.Properties[i].Name + ": " + value(v)
			}
		}
	}
	if r.Handling == engine.Strict {
		text += " strict"
	}
	return text + " }"
}
