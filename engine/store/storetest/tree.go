package storetest

import (
	"testing"

	"restsrv/engine"
)

var treeTests = []test{
	{"reading through ancestors", treeReading},
	{"writing through ancestors", treeWriting},
	{"saving", treeSaving},
	{"saving whole records", treeSavingWhole},
}

type family struct {
	engine.Repository
	thing, car, bus, house *engine.Class
}

// openFamily creates the classes thing <- car <- bus and thing <- house.
func openFamily(t *testing.T, open Open) *family {
	f := &family{}
	f.thing = NewClass("thing", Prop("id", engine.String), Prop("name", engine.String))
	f.car = Extend(f.thing, "car", Prop("wheels", engine.Int), Prop("price", engine.DecimalNum))
	f.bus = Extend(f.car, "bus", Prop("seats", engine.Int), Prop("since", engine.DateTime))
	f.house = Extend(f.thing, "house", Prop("floors", engine.Int), Prop("price", engine.DecimalNum))
	f.Repository = open(t, []*engine.Class{f.thing, f.car, f.bus, f.house})
	create(t, f, f.thing, "id", "t", "name", "stone")
	create(t, f, f.car, "id", "c", "wheels", int64(4), "price", engine.Decimal("9.5"))
	create(t, f, f.bus, "id", "b", "wheels", int64(6), "seats", int64(50), "since", engine.Instant(7))
	create(t, f, f.house, "id", "h", "floors", int64(2), "price", engine.Decimal("100"))
	return f
}

func treeReading(t *testing.T, open Open) {
	f := openFamily(t, open)
	same(t, "things", ids(t, f, all(f.thing)), []string{"t", "c", "b", "h"})
	same(t, "cars", ids(t, f, all(f.car)), []string{"c", "b"})
	same(t, "buses", ids(t, f, all(f.bus)), []string{"b"})
	same(t, "counts", []int64{count(t, f, f.thing), count(t, f, f.car), count(t, f, f.house)}, []int64{4, 2, 1})
	for _, through := range []*engine.Class{f.thing, f.car, f.bus} {
		it := get(t, f, through, "b")
		same(t, "class", it.Class, f.bus)
		same(t, "values", it.Values, values(f.bus, "id", "b", "name", nil, "wheels", int64(6), "price", nil, "seats", int64(50), "since", engine.Instant(7)))
	}
	for _, through := range []*engine.Class{f.bus, f.house} {
		_, err := f.Get(t.Context(), through, "c")
		fails(t, err, engine.NotFound, "unknown-object")
	}
	var listed []*engine.Item
	err := f.List(t.Context(), all(f.thing), func(it *engine.Item) error {
		listed = append(listed, it.Clone())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range listed {
		want := map[string]*engine.Class{"t": f.thing, "c": f.car, "b": f.bus, "h": f.house}[it.ID]
		same(t, "listed "+it.ID, it.Class, want)
		same(t, "listed "+it.ID, it.Values, get(t, f, want, it.ID).Values)
	}
	q := all(f.car)
	q.Filter = &engine.Filter{Op: engine.OpNot, Args: []*engine.Filter{Compare(engine.OpEq, f.car.Property("wheels"), int64(4))}}
	same(t, "filtered", ids(t, f, q), []string{"b"})
	q.Filter = &engine.Filter{Op: engine.OpOr, Args: []*engine.Filter{{Op: engine.OpConst, Value: true}, engine.Never()}}
	same(t, "an or stays within the class", ids(t, f, q), []string{"c", "b"})
}

func treeWriting(t *testing.T, open Open) {
	f := openFamily(t, open)
	it, err := f.Update(t.Context(), f.thing, "b", values(f.thing, "name", "big"), engine.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "updated", []any{it.Class, it.Get("name"), it.Get("seats")}, []any{f.bus, "big", int64(50)})
	_, err = f.Update(t.Context(), f.house, "b", values(f.house, "name", "x"), engine.WriteOptions{})
	fails(t, err, engine.NotFound, "")
	fails(t, f.Delete(t.Context(), f.house, "b", nil), engine.NotFound, "")
	_, err = f.Create(t.Context(), f.house, values(f.house, "id", "b"), engine.WriteOptions{})
	fails(t, err, engine.Invalid, "duplicate")
	if err := f.Delete(t.Context(), f.thing, "b", nil); err != nil {
		t.Fatal(err)
	}
	same(t, "things", ids(t, f, all(f.thing)), []string{"t", "c", "h"})
}

// treeSaving saves items under their own class and under other classes of the tree.
func treeSaving(t *testing.T, open Open) {
	f := openFamily(t, open)
	items := save(t, f,
		record(f.bus, "b", "seats", int64(60)),
		record(f.bus, "b2", "seats", int64(70)),
		record(f.thing, "c", "name", "still a car"),
		record(f.thing, "n", "name", "new thing"),
		record(f.car, "t", "wheels", int64(3)))
	checkStored(t, f, items)
	same(t, "classes", []*engine.Class{items[0].Class, items[1].Class, items[2].Class, items[3].Class, items[4].Class}, []*engine.Class{f.bus, f.bus, f.car, f.thing, f.car})
	same(t, "kept", []any{items[0].Get("wheels"), items[4].Get("name")}, []any{int64(6), "stone"})
	items = save(t, f, record(f.bus, "b", "wheels", nil, "seats", nil, "since", nil), record(f.house, "b", "floors", int64(1)), record(f.bus, "c"))
	checkStored(t, f, items)
	same(t, "a bus no more", items[1].Values, values(f.house, "id", "b", "name", nil, "floors", int64(1), "price", nil))
	same(t, "a bus with wheels", items[2].Get("wheels"), int64(4))
	same(t, "things", ids(t, f, all(f.thing)), []string{"t", "c", "b", "h", "b2", "n"})
	same(t, "cars", ids(t, f, all(f.car)), []string{"t", "c", "b2"})
}

// treeSavingWhole saves records with all properties, new and existing, of classes with and without
// descendants.
func treeSavingWhole(t *testing.T, open Open) {
	f := openFamily(t, open)
	car := func(id, name string, wheels int64) engine.Record {
		return record(f.car, id, "name", name, "wheels", wheels, "price", engine.Decimal("1.25"))
	}
	bus := func(id string, price any, since any) engine.Record {
		return record(f.bus, id, "name", "bus "+id, "wheels", int64(8), "price", price, "seats", int64(9), "since", since)
	}
	for round, name := range []string{"new", "known"} {
		records := []engine.Record{
			record(f.thing, "t"+name, "name", name), record(f.thing, "t", "name", "stone "+name),
			car("c"+name, name, 3), car("c", name, int64(round)),
			bus("b"+name, nil, engine.Instant(9)), bus("b", engine.Decimal("7"), nil),
		}
		for range round {
			records = append(records, record(f.thing, "tnew", "name", name), car("cnew", name, 5), bus("bnew", engine.Decimal("8"), nil))
		}
		items, err := f.Save(as(t, name), records)
		if err != nil {
			t.Fatal(err)
		}
		checkStored(t, f, items)
		for i, it := range items {
			same(t, "class of "+it.ID, it.Class, records[i].Class)
			want := append(engine.Values(nil), records[i].Values...)
			want[it.Class.Property("id").Index] = it.ID
			same(t, "values of "+it.ID, it.Values, want)
		}
		same(t, "editors", []string{items[0].Editor, items[1].Editor}, []string{"", name})
		same(t, "creators", []string{items[2].Creator, items[3].Creator}, []string{name, ""})
	}
	items := save(t, f, record(f.thing, "b", "name", "renamed"), record(f.car, "b2"), record(f.car, "bnew", "name", "n", "wheels", int64(1), "price", nil))
	checkStored(t, f, items)
	same(t, "classes", []*engine.Class{items[0].Class, items[1].Class, items[2].Class}, []*engine.Class{f.bus, f.car, f.bus})
	same(t, "seats", []any{items[0].Get("seats"), items[2].Get("seats")}, []any{int64(9), int64(9)})
	same(t, "things", count(t, f, f.thing), int64(11))
}
