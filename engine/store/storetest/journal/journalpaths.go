package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/journal"
	"restsrv/engine/store/storetest"
)

func journalSave(t *testing.T, open storetest.Open) {
	d, c := journalNotes(t, open)
	// A record with all properties is saved by a single statement, which inserts or updates. Other records take
	// several statements.
	whole := func(id, title string) engine.Record {
		return storetest.NewRecord(c, id, "id", id, "title", title, "body", nil, "rank", int64(1), "code", nil)
	}
	storetest.Save(t, d, whole("1", "a"), storetest.NewRecord(c, "2", "title", "b"), storetest.NewRecord(c, "", "id", "3"))
	d.expectRecords(t, "new", `CREATE note 1 {"id":"1","title":"a","rank":1}`, `CREATE note 2 {"id":"2","title":"b"}`, `CREATE note 3 {"id":"3"}`)
	storetest.Save(t, d, whole("1", "c"), whole("4", "d"), storetest.NewRecord(c, "2", "title", "b"), storetest.NewRecord(c, "3", "rank", int64(7)), storetest.NewRecord(c, "3", "rank", int64(8)), storetest.NewRecord(c, "3", "id", "5"))
	d.expectRecords(t, "changed", `UPDATE note 1 {"title":"a"} {"title":"c"}`, `CREATE note 4 {"id":"4","title":"d","rank":1}`,
		`UPDATE note 3 {"rank":null} {"rank":7}`, `UPDATE note 3 {"rank":7} {"rank":8}`, `UPDATE note 5 {"id":"3"} {"id":"5"}`)
	var many []engine.Record
	var want []string
	for i := range 3 * 512 {
		id := fmt.Sprint("n", i)
		many = append(many, whole(id, "new"))
		want = append(want, fmt.Sprintf(`CREATE note %s {"id":%[1]q,"title":"new","rank":1}`, id))
	}
	storetest.Save(t, d, many...)
	slices.Sort(want)
	d.expectSorted(t, "many", want...)
}

func journalNested(t *testing.T, open storetest.Open) {
	w := storetest.NewWorld()
	d := openJournaled(t, open, []*engine.Class{w.Region, w.Town, w.Person}, w.Town, w.Person)
	storetest.Create(t, d, w.Person, "id", "ann", "town", storetest.NestedRecord(w.Town, "id", "t", "name", "Oslo"))
	d.expectRecords(t, "new", `CREATE town t {"id":"t","name":"Oslo"}`, `CREATE person ann {"id":"ann","town":"t"}`)
	storetest.Update(t, d, w.Person, "ann", "town", storetest.NestedRecord(w.Town, "id", "t", "name", "Bergen", "region", storetest.NestedRecord(w.Region, "code", int64(1))))
	d.expectRecords(t, "in a reference that stays", `UPDATE town t {"name":"Oslo","region":null} {"name":"Bergen","region":"1"}`)
	follow := storetest.NestedRecord(w.Town, "name", "Voss")
	follow.Follow = true
	storetest.Update(t, d, w.Person, "ann", "name", "Ann", "town", follow)
	d.expectRecords(t, "followed", `UPDATE town t {"name":"Bergen"} {"name":"Voss"}`, `UPDATE person ann {"name":null} {"name":"Ann"}`)
}

func journalLinks(t *testing.T, open storetest.Open) {
	var d *diary
	c := storetest.OpenClub(t, func(t *testing.T, classes []*engine.Class) engine.Repository {
		d = openJournaled(t, open, classes, classes[1], classes[2])
		return d
	})
	for i := range int64(4) {
		storetest.Create(t, c, c.Tag, "code", i)
	}
	storetest.Create(t, c, c.Person, "id", "ann", "tags", storetest.AddLinks("3", "1"))
	storetest.Create(t, c, c.Group, "id", "g", "people", storetest.AddLinks("ann"))
	d.expectRecords(t, "new", `CREATE person ann {"id":"ann"}`, `PUT person ann {"tags":["3","1"]}`,
		`CREATE group g {"id":"g"}`, `PUT group g {"people":["ann"]}`, `PUT person ann {"groups":["g"]}`)
	storetest.Update(t, c, c.Person, "ann", "tags", storetest.AddLinks("1", "2"))
	storetest.Update(t, c, c.Person, "ann", "tags", storetest.RemoveLinks("1", "0"))
	d.expectRecords(t, "one", `PUT person ann {"tags":["2"]}`, `EJECT person ann {"tags":["1"]}`)
	storetest.Update(t, c, c.Person, "ann", "tags", storetest.ReplaceLinks("2", "0"), "groups", storetest.ReplaceLinks())
	d.expectRecords(t, "a new value", `EJECT person ann {"tags":["3"]}`, `PUT person ann {"tags":["0"]}`,
		`EJECT person ann {"groups":["g"]}`, `EJECT group g {"people":["ann"]}`)
	storetest.Update(t, c, c.Person, "ann", "tags", storetest.ReplaceLinks("2", "0"), "groups", storetest.RemoveLinks("g"))
	storetest.Save(t, c, storetest.NewRecord(c.Person, "ann", "tags", storetest.AddLinks("2")))
	d.expectRecords(t, "as it is")
	storetest.Update(t, c, c.Person, "ann", "name", "Ann", "tags", storetest.AddLinks(storetest.NestedRecord(c.Tag, "code", int64(9))))
	d.expectRecords(t, "a new member", `UPDATE person ann {"name":null} {"name":"Ann"}`, `PUT person ann {"tags":["9"]}`)
	remove := func(class *engine.Class, id string) {
		if err := c.Delete(t.Context(), class, id, nil); err != nil {
			t.Fatal(err)
		}
	}
	remove(c.Tag, "9")
	d.expectRecords(t, "a member is deleted", `EJECT person ann {"tags":["9"]}`)
	storetest.Update(t, c, c.Person, "ann", "groups", storetest.AddLinks("g"))
	d.newRecords(t)
	remove(c.Person, "ann")
	d.expectRecords(t, "a member that knows it", `EJECT group g {"people":["ann"]}`, `DELETE person ann {"id":"ann","name":"Ann"}`)
	storetest.Create(t, c, c.Person, "id", "bob", "tags", storetest.AddLinks("2", "0", "3"), "groups", storetest.AddLinks("g"))
	d.newRecords(t)
	if n, err := c.DeleteAll(t.Context(), storetest.Where(c.Tag, engine.OpGt, "code", int64(0))); err != nil || n != 3 {
		t.Fatal(n, err)
	}
	d.expectRecords(t, "many members", `EJECT person bob {"tags":["2","3"]}`)
	remove(c.Group, "g")
	d.expectRecords(t, "from the other side", `EJECT person bob {"groups":["g"]}`, `DELETE group g {"id":"g"}`)
}

func journalBack(t *testing.T, open storetest.Open) {
	var d *diary
	c := storetest.OpenClub(t, func(t *testing.T, classes []*engine.Class) engine.Repository {
		d = openJournaled(t, open, classes, classes[1], classes[3])
		return d
	})
	storetest.Create(t, c, c.Task, "id", "1")
	storetest.Create(t, c, c.Person, "id", "ann", "tasks", storetest.AddLinks("1", storetest.NestedRecord(c.Task, "id", "2")))
	d.expectRecords(t, "new", `CREATE task 1 {"id":"1"}`, `CREATE person ann {"id":"ann"}`, `CREATE task 2 {"id":"2","who":"ann"}`,
		`UPDATE task 1 {"who":null} {"who":"ann"}`, `PUT person ann {"tasks":["1","2"]}`)
	storetest.Update(t, c, c.Person, "ann", "tasks", storetest.ReplaceLinks("2", storetest.NestedRecord(c.Task, "id", "3")))
	d.expectRecords(t, "a new value", `UPDATE task 1 {"who":"ann"} {"who":null}`, `CREATE task 3 {"id":"3","who":"ann"}`,
		`EJECT person ann {"tasks":["1"]}`, `PUT person ann {"tasks":["3"]}`)
	storetest.Update(t, c, c.Person, "ann", "tasks", storetest.ChangeLinks([]any{"2"}, "1"))
	d.expectRecords(t, "as it is")
}

func journalAll(t *testing.T, open storetest.Open) {
	d, c := journalNotes(t, open)
	for i, id := range []string{"a", "b", "c", "d"} {
		storetest.Create(t, d, c, "id", id, "rank", int64(i))
	}
	d.newRecords(t)
	n, err := d.UpdateAll(t.Context(), storetest.Where(c, engine.OpGt, "rank", int64(1)), storetest.NewValues(c, "rank", int64(3)))
	if err != nil || n != 2 {
		t.Fatal(n, err)
	}
	d.expectRecords(t, "changed values", `UPDATE note c {"rank":2} {"rank":3}`)
	n, err = d.DeleteAll(t.Context(), storetest.Where(c, engine.OpLt, "rank", int64(3)))
	if err != nil || n != 2 {
		t.Fatal(n, err)
	}
	d.expectSorted(t, "gone", `DELETE note a {"id":"a","rank":0}`, `DELETE note b {"id":"b","rank":1}`)
	storetest.CheckSame(t, "left", storetest.ListIDs(t, d, storetest.All(c)), []string{"c", "d"})
	var many []engine.Record
	var changed, gone []string
	for i := range 3 * 512 { // more items than UpdateAll changes in one part
		id := fmt.Sprint("n", i)
		many = append(many, storetest.NewRecord(c, id, "id", id, "rank", int64(i+10)))
		changed = append(changed, fmt.Sprintf(`UPDATE note %s {"rank":%d} {"rank":9}`, id, i+10))
		gone = append(gone, fmt.Sprintf(`DELETE note %s {"id":%[1]q,"rank":9}`, id))
	}
	storetest.Save(t, d, many...)
	d.newRecords(t)
	// UpdateAll changes these items in several parts. A changed item no longer satisfies the filter. Nevertheless,
	// UpdateAll should change all items that satisfied the filter at the beginning.
	if n, err := d.UpdateAll(t.Context(), storetest.Where(c, engine.OpGt, "rank", int64(9)), storetest.NewValues(c, "rank", int64(9))); err != nil || n != int64(len(many)) {
		t.Fatal(n, err)
	}
	slices.Sort(changed)
	d.expectSorted(t, "many", changed...)
	if n, err := d.DeleteAll(t.Context(), storetest.Where(c, engine.OpEq, "rank", int64(9))); err != nil || n != int64(len(many)) {
		t.Fatal(n, err)
	}
	slices.Sort(gone)
	d.expectSorted(t, "many gone", gone...)
}

func journalKey(t *testing.T, open storetest.Open) {
	w := storetest.NewWorld()
	d := openJournaled(t, open, []*engine.Class{w.Region, w.Town, w.Person}, w.Town, w.Person)
	storetest.Create(t, d, w.Town, "id", "t")
	storetest.Create(t, d, w.Person, "id", "ann", "town", "t")
	storetest.Create(t, d, w.Person, "id", "bob", "town", "u")
	d.newRecords(t)
	storetest.Update(t, d, w.Town, "t", "id", "s", "name", "Oslo")
	d.expectSorted(t, "what points at it follows", `UPDATE person ann {"town":"t"} {"town":"s"}`, `UPDATE town s {"id":"t","name":null} {"id":"s","name":"Oslo"}`)
}

// journalKeys changes a key that is part of the keys of other items.
func journalKeys(t *testing.T, open storetest.Open) {
	house := storetest.NewClass("house", storetest.Prop("no", engine.Int))
	flat := storetest.NewClass("flat", storetest.Ref("house", house), storetest.Prop("no", engine.Int, storetest.Required), storetest.Prop("name", engine.String))
	flat.Key = []string{"house", "no"}
	if err := flat.Init(); err != nil {
		t.Fatal(err)
	}
	storetest.Link(house, flat)
	d := openJournaled(t, open, []*engine.Class{house, flat}, flat)
	storetest.Create(t, d, house, "no", int64(1))
	storetest.Create(t, d, flat, "house", int64(1), "no", int64(7))
	storetest.Update(t, d, house, "1", "no", int64(2))
	d.expectRecords(t, "both", `CREATE flat 1_7 {"house":"1","no":7}`, `UPDATE flat 2_7 {"house":"1"} {"house":"2"}`)
}

func journalTree(t *testing.T, open storetest.Open) {
	var d *diary
	f := storetest.OpenFamily(t, func(t *testing.T, classes []*engine.Class) engine.Repository {
		d = openJournaled(t, open, classes, classes[1], classes[3]) // cars and houses
		return d
	})
	d.expectRecords(t, "not inherited", `CREATE car c {"id":"c","wheels":4,"price":9.5}`, `CREATE house h {"id":"h","floors":2,"price":100}`)
	storetest.Update(t, f, f.Thing, "c", "name", "Beetle")
	storetest.Update(t, f, f.Thing, "b", "name", "Bus")
	if _, err := f.UpdateAll(t.Context(), storetest.All(f.Thing), storetest.NewValues(f.Thing, "name", "x")); err != nil {
		t.Fatal(err)
	}
	d.expectSorted(t, "through ancestors", `UPDATE car c {"name":"Beetle"} {"name":"x"}`, `UPDATE car c {"name":null} {"name":"Beetle"}`, `UPDATE house h {"name":null} {"name":"x"}`)
	storetest.Save(t, f, storetest.NewRecord(f.Thing, "c", "name", "y"))
	d.expectRecords(t, "saved as one of the class above", `UPDATE car c {"name":"x"} {"name":"y"}`)
	storetest.Save(t, f, storetest.NewRecord(f.Car, "c", "wheels", nil, "price", nil), storetest.NewRecord(f.House, "c", "floors", int64(1)))
	d.expectRecords(t, "another", `UPDATE car c {"wheels":4,"price":9.5} {"wheels":null,"price":null}`, `UPDATE house c {"_class":"car@test","floors":null} {"_class":"house@test","floors":1}`)
	if _, err := f.DeleteAll(t.Context(), storetest.All(f.Thing)); err != nil {
		t.Fatal(err)
	}
	d.expectSorted(t, "gone", `DELETE house c {"id":"c","name":"y","floors":1}`, `DELETE house h {"id":"h","name":"x","floors":2,"price":100}`)
}

func journalUndone(t *testing.T, open storetest.Open) {
	d, c := journalNotes(t, open)
	storetest.Create(t, d, c, "id", "1", "code", "x", "rank", int64(1))
	d.newRecords(t)
	_, err := d.Save(t.Context(), []engine.Record{storetest.NewRecord(c, "2"), storetest.NewRecord(c, "1", "rank", int64(2)), storetest.NewRecord(c, "3", "code", "x")})
	storetest.CheckError(t, err, engine.Invalid, "duplicate")
	_, err = d.Create(t.Context(), c, storetest.NewValues(c, "id", "1"), engine.WriteOptions{})
	storetest.CheckError(t, err, engine.Invalid, "duplicate")
	_, err = d.Update(t.Context(), c, "1", storetest.NewValues(c, "rank", int64(5)), engine.WriteOptions{Match: &engine.Match{Revisions: []uint64{1}}})
	storetest.CheckError(t, err, engine.Unmatched, "")
	storetest.CheckError(t, d.Delete(t.Context(), c, "1", &engine.Match{Revisions: []uint64{1}}), engine.Unmatched, "")
	storetest.CheckError(t, d.Delete(t.Context(), c, "9", nil), engine.NotFound, "")
	sorry := errors.New("sorry")
	err = storetest.InTransaction(t.Context(), d.Repository, func(ctx context.Context) error {
		if err := storetest.CreateWithin(ctx, d, c, "id", "4"); err != nil {
			return err
		}
		return sorry
	})
	storetest.CheckSame(t, "undone", err, sorry)
	d.expectRecords(t, "nothing")
	err = storetest.InTransaction(t.Context(), d.Repository, func(ctx context.Context) error {
		if err := storetest.CreateWithin(ctx, d, c, "id", "5"); err != nil {
			return err
		}
		if err := storetest.CreateWithin(ctx, d, c, "id", "6", "code", "x"); err == nil {
			return errors.New("a duplicate is taken")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	d.expectRecords(t, "committed changes", `CREATE note 5 {"id":"5"}`)
}

func journalImports(t *testing.T, open storetest.Open) {
	d, c := journalNotes(t, open)
	ctx := engine.Unjournaled(t.Context())
	if _, err := d.Save(ctx, []engine.Record{storetest.NewRecord(c, "1"), storetest.NewRecord(c, "2")}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Update(ctx, c, "1", storetest.NewValues(c, "title", "x"), engine.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	d.expectRecords(t, "none")
	if into, ok := d.Repository.(storetest.Archive); ok {
		if err := into.Import(t.Context(), []*engine.Item{{Class: c, Values: storetest.NewValues(c, "id", "3")}}); err != nil {
			t.Fatal(err)
		}
		d.expectRecords(t, "none")
	}
}

// journalCrowd increments a number from several goroutines. Each journal record should begin with the value with which
// the previous record ends, and no record may be missing.
func journalCrowd(t *testing.T, open storetest.Open) {
	d, c := journalNotes(t, open)
	storetest.Create(t, d, c, "id", "n", "rank", int64(0))
	d.newRecords(t)
	const writers, writes = 8, 15
	storetest.RunTogether(t, writers, func(i int) error {
		for j := range writes {
			var err error
			switch rank := int64(1 + i*writes + j); j % 3 {
			case 0:
				_, err = d.Update(t.Context(), c, "n", storetest.NewValues(c, "rank", rank), engine.WriteOptions{})
			case 1:
				_, err = d.Save(t.Context(), []engine.Record{storetest.NewRecord(c, "n", "rank", rank)})
			default:
				_, err = d.UpdateAll(t.Context(), storetest.All(c), storetest.NewValues(c, "rank", rank))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	at, when := `{"rank":0}`, time.Time{}
	told := d.newRecords(t)
	for _, line := range told {
		base, data, _ := strings.Cut(strings.TrimPrefix(line, "UPDATE note n "), " ")
		if base != at {
			t.Errorf("%s: it was %s before", line, at)
		}
		at = data
	}
	storetest.CheckSame(t, "records", len(told), writers*writes)
	storetest.CheckSame(t, "the last", at, fmt.Sprintf(`{"rank":%d}`, storetest.Get(t, d, c, "n").Get("rank")))
	var listed []string
	err := journal.List(t.Context(), d, d.changes, journal.Selection{Type: journal.Update}, func(r journal.Record) error {
		listed = append(listed, fmt.Sprint(r.Type, " note ", r.ID, " ", r.Base, " ", r.Data))
		if r.Timestamp.Before(when) {
			t.Errorf("%s: at %s, the one before at %s", listed[len(listed)-1], r.Timestamp, when)
		}
		when = r.Timestamp
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "listed", listed, told)
}
