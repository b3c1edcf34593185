package write

import (
	"testing"

	"restsrv/engine"
	"restsrv/engine/store/storetest"
)

var treeTests = []storetest.Test{
	{Name: "reading through ancestors", Run: treeReading},
	{Name: "writing through ancestors", Run: treeWriting},
	{Name: "saving", Run: treeSaving},
	{Name: "saving whole records", Run: treeSavingWhole},
}

func treeReading(t *testing.T, open storetest.Open) {
	f := storetest.OpenFamily(t, open)
	storetest.CheckSame(t, "things", storetest.ListIDs(t, f, storetest.All(f.Thing)), []string{"t", "c", "b", "h"})
	storetest.CheckSame(t, "cars", storetest.ListIDs(t, f, storetest.All(f.Car)), []string{"c", "b"})
	storetest.CheckSame(t, "buses", storetest.ListIDs(t, f, storetest.All(f.Bus)), []string{"b"})
	storetest.CheckSame(t, "counts", []int64{storetest.Count(t, f, f.Thing), storetest.Count(t, f, f.Car), storetest.Count(t, f, f.House)}, []int64{4, 2, 1})
	for _, through := range []*engine.Class{f.Thing, f.Car, f.Bus} {
		it := storetest.Get(t, f, through, "b")
		storetest.CheckSame(t, "class", it.Class, f.Bus)
		storetest.CheckSame(t, "values", it.Values, storetest.NewValues(f.Bus, "id", "b", "name", nil, "wheels", int64(6), "price", nil, "seats", int64(50), "since", engine.Instant(7)))
	}
	for _, through := range []*engine.Class{f.Bus, f.House} {
		_, err := f.Get(t.Context(), through, "c")
		storetest.CheckError(t, err, engine.NotFound, "unknown-object")
	}
	var listed []*engine.Item
	err := f.List(t.Context(), storetest.All(f.Thing), func(it *engine.Item) error {
		listed = append(listed, it.Clone())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range listed {
		want := map[string]*engine.Class{"t": f.Thing, "c": f.Car, "b": f.Bus, "h": f.House}[it.ID]
		storetest.CheckSame(t, "listed "+it.ID, it.Class, want)
		storetest.CheckSame(t, "listed "+it.ID, it.Values, storetest.Get(t, f, want, it.ID).Values)
	}
	q := storetest.All(f.Car)
	q.Filter = &engine.Filter{Op: engine.OpNot, Args: []*engine.Filter{storetest.Compare(engine.OpEq, f.Car.Property("wheels"), int64(4))}}
	storetest.CheckSame(t, "filtered", storetest.ListIDs(t, f, q), []string{"b"})
	q.Filter = &engine.Filter{Op: engine.OpOr, Args: []*engine.Filter{{Op: engine.OpConst, Value: true}, engine.Never()}}
	storetest.CheckSame(t, "an or stays within the class", storetest.ListIDs(t, f, q), []string{"c", "b"})
}

func treeWriting(t *testing.T, open storetest.Open) {
	f := storetest.OpenFamily(t, open)
	it, err := f.Update(t.Context(), f.Thing, "b", storetest.NewValues(f.Thing, "name", "big"), engine.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "updated", []any{it.Class, it.Get("name"), it.Get("seats")}, []any{f.Bus, "big", int64(50)})
	_, err = f.Update(t.Context(), f.House, "b", storetest.NewValues(f.House, "name", "x"), engine.WriteOptions{})
	storetest.CheckError(t, err, engine.NotFound, "")
	storetest.CheckError(t, f.Delete(t.Context(), f.House, "b", nil), engine.NotFound, "")
	_, err = f.Create(t.Context(), f.House, storetest.NewValues(f.House, "id", "b"), engine.WriteOptions{})
	storetest.CheckError(t, err, engine.Invalid, "duplicate")
	if err := f.Delete(t.Context(), f.Thing, "b", nil); err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "things", storetest.ListIDs(t, f, storetest.All(f.Thing)), []string{"t", "c", "h"})
}

// treeSaving saves items under their own class and under other classes of the tree.
func treeSaving(t *testing.T, open storetest.Open) {
	f := storetest.OpenFamily(t, open)
	items := storetest.Save(t, f,
		storetest.NewRecord(f.Bus, "b", "seats", int64(60)),
		storetest.NewRecord(f.Bus, "b2", "seats", int64(70)),
		storetest.NewRecord(f.Thing, "c", "name", "still a car"),
		storetest.NewRecord(f.Thing, "n", "name", "new thing"),
		storetest.NewRecord(f.Car, "t", "wheels", int64(3)))
	storetest.CheckStored(t, f, items)
	storetest.CheckSame(t, "classes", []*engine.Class{items[0].Class, items[1].Class, items[2].Class, items[3].Class, items[4].Class}, []*engine.Class{f.Bus, f.Bus, f.Car, f.Thing, f.Car})
	storetest.CheckSame(t, "kept", []any{items[0].Get("wheels"), items[4].Get("name")}, []any{int64(6), "stone"})
	items = storetest.Save(t, f, storetest.NewRecord(f.Bus, "b", "wheels", nil, "seats", nil, "since", nil), storetest.NewRecord(f.House, "b", "floors", int64(1)), storetest.NewRecord(f.Bus, "c"))
	storetest.CheckStored(t, f, items)
	storetest.CheckSame(t, "a bus no more", items[1].Values, storetest.NewValues(f.House, "id", "b", "name", nil, "floors", int64(1), "price", nil))
	storetest.CheckSame(t, "a bus with wheels", items[2].Get("wheels"), int64(4))
	storetest.CheckSame(t, "things", storetest.ListIDs(t, f, storetest.All(f.Thing)), []string{"t", "c", "b", "h", "b2", "n"})
	storetest.CheckSame(t, "cars", storetest.ListIDs(t, f, storetest.All(f.Car)), []string{"t", "c", "b2"})
}

// treeSavingWhole saves records that give all properties. The records are for new and existing items, in classes with
// and without descendants.
func treeSavingWhole(t *testing.T, open storetest.Open) {
	f := storetest.OpenFamily(t, open)
	car := func(id, name string, wheels int64) engine.Record {
		return storetest.NewRecord(f.Car, id, "name", name, "wheels", wheels, "price", engine.Decimal("1.25"))
	}
	bus := func(id string, price any, since any) engine.Record {
		return storetest.NewRecord(f.Bus, id, "name", "bus "+id, "wheels", int64(8), "price", price, "seats", int64(9), "since", since)
	}
	for round, name := range []string{"new", "known"} {
		records := []engine.Record{
			storetest.NewRecord(f.Thing, "t"+name, "name", name), storetest.NewRecord(f.Thing, "t", "name", "stone "+name),
			car("c"+name, name, 3), car("c", name, int64(round)),
			bus("b"+name, nil, engine.Instant(9)), bus("b", engine.Decimal("7"), nil),
		}
		for range round {
			records = append(records, storetest.NewRecord(f.Thing, "tnew", "name", name), car("cnew", name, 5), bus("bnew", engine.Decimal("8"), nil))
		}
		items, err := f.Save(storetest.WithAccount(t, name), records)
		if err != nil {
			t.Fatal(err)
		}
		storetest.CheckStored(t, f, items)
		for i, it := range items {
			storetest.CheckSame(t, "class of "+it.ID, it.Class, records[i].Class)
			want := append(engine.Values(nil), records[i].Values...)
			want[it.Class.Property("id").Index] = it.ID
			storetest.CheckSame(t, "values of "+it.ID, it.Values, want)
		}
		storetest.CheckSame(t, "editors", []string{items[0].Editor, items[1].Editor}, []string{"", name})
		storetest.CheckSame(t, "creators", []string{items[2].Creator, items[3].Creator}, []string{name, ""})
	}
	items := storetest.Save(t, f, storetest.NewRecord(f.Thing, "b", "name", "renamed"), storetest.NewRecord(f.Car, "b2"), storetest.NewRecord(f.Car, "bnew", "name", "n", "wheels", int64(1), "price", nil))
	storetest.CheckStored(t, f, items)
	storetest.CheckSame(t, "classes", []*engine.Class{items[0].Class, items[1].Class, items[2].Class}, []*engine.Class{f.Bus, f.Car, f.Bus})
	storetest.CheckSame(t, "seats", []any{items[0].Get("seats"), items[2].Get("seats")}, []any{int64(9), int64(9)})
	storetest.CheckSame(t, "things", storetest.Count(t, f, f.Thing), int64(11))
}
