package journal

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/journal"
	"restsrv/engine/store/storetest"
)

var journalTests = []storetest.Test{
	{Name: "what a record has", Run: journalRecord},
	{Name: "values of all types", Run: journalTypes},
	{Name: "a write that changes nothing", Run: journalNothing},
	{Name: "passwords", Run: journalPasswords},
	{Name: "files", Run: journalFiles},
	{Name: "a save", Run: journalSave},
	{Name: "nested records", Run: journalNested},
	{Name: "links", Run: journalLinks},
	{Name: "back references", Run: journalBack},
	{Name: "all that a filter finds", Run: journalAll},
	{Name: "a changed key", Run: journalKey},
	{Name: "keys that are references", Run: journalKeys},
	{Name: "classes of a tree", Run: journalTree},
	{Name: "refused and undone", Run: journalUndone},
	{Name: "imports", Run: journalImports},
	{Name: "many at the same time", Run: journalCrowd},
}

// diary is a repository with a journal. It also has methods that read and check the records of the journal.
type diary struct {
	engine.Repository
	changes *engine.Class
	read    int // number of records that newRecords has returned
}

// openJournaled opens a repository of classes. The classes in journaled have a journal.
func openJournaled(t *testing.T, open storetest.Open, classes []*engine.Class, journaled ...*engine.Class) *diary {
	for _, c := range journaled {
		c.Journaling = true
	}
	d := &diary{changes: journal.Class()}
	d.Repository = open(t, append(classes, d.changes))
	return d
}

// newRecords returns the records that were added since the previous call, each as a text: type, class, id, and the
// fields base and data if they are not null. These fields contain the values before and after the change.
func (d *diary) newRecords(t *testing.T) []string {
	t.Helper()
	all := []string{}
	for _, it := range d.records(t)[d.read:] {
		line := fmt.Sprint(it.Get("type"), " ", strings.TrimSuffix(it.Text("className"), "@test"), " ", it.Get("id"))
		for _, name := range []string{"base", "data"} {
			if v := it.Get(name); v != nil {
				line += fmt.Sprint(" ", v)
			}
		}
		all = append(all, line)
	}
	d.read += len(all)
	return all
}

func (d *diary) records(t *testing.T) (all []*engine.Item) {
	t.Helper()
	err := d.List(context.Background(), &engine.Query{Class: d.changes, Count: -1}, func(it *engine.Item) error {
		all = append(all, it.Clone())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (d *diary) expectRecords(t *testing.T, what string, want ...string) {
	t.Helper()
	storetest.CheckSame(t, what, d.newRecords(t), append([]string{}, want...))
}

// expectSorted checks the new records as expectRecords does, but ignores their order.
func (d *diary) expectSorted(t *testing.T, what string, want ...string) {
	t.Helper()
	told := d.newRecords(t)
	slices.Sort(told)
	storetest.CheckSame(t, what, told, want)
}

func journalNotes(t *testing.T, open storetest.Open) (*diary, *engine.Class) {
	c := storetest.NoteClass()
	return openJournaled(t, open, []*engine.Class{c}, c), c
}

func journalRecord(t *testing.T, open storetest.Open) {
	d, c := journalNotes(t, open)
	ctx := engine.WithRequest(t.Context(), &engine.Account{ID: "ann@local", Name: "Ann"}, &engine.Caller{Address: netip.MustParseAddr("192.0.2.7")})
	start := time.Now().Add(-time.Second)
	_, err := d.Create(ctx, c, storetest.NewValues(c, "id", "1", "title", "Tea", "rank", int64(3)), engine.WriteOptions{})
	if err == nil {
		_, err = d.Update(ctx, c, "1", storetest.NewValues(c, "title", "Milk", "rank", nil), engine.WriteOptions{})
	}
	if err == nil {
		err = d.Delete(ctx, c, "1", nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	records := d.records(t)
	d.expectRecords(t, "all writes", `CREATE note 1 {"id":"1","title":"Tea","rank":3}`, `UPDATE note 1 {"title":"Tea","rank":3} {"title":"Milk","rank":null}`,
		`DELETE note 1 {"id":"1","title":"Milk"}`)
	for _, it := range records {
		storetest.CheckSame(t, "author", []string{it.Text("author"), it.Text("authorName"), it.Text("authorIp"), it.Text("classVersion")}, []string{"ann@local", "Ann", "192.0.2.7", "1"})
		if at := it.When("timestamp"); at.Before(start) || at.After(time.Now()) {
			t.Errorf("got the time %s of a record, want a time after %s", at, start)
		}
	}
	storetest.Create(t, d, c, "id", "2")
	it := d.records(t)[3]
	storetest.CheckSame(t, "the server itself", []any{it.Get("author"), it.Get("authorName"), it.Get("authorIp")}, []any{nil, nil, nil})
}

func journalTypes(t *testing.T, open storetest.Open) {
	c := storetest.NewClass("all", storetest.Prop("id", engine.String), storetest.Prop("int", engine.Int), storetest.Prop("real", engine.Real), storetest.Prop("decimal", engine.DecimalNum),
		storetest.Prop("when", engine.DateTime), storetest.Prop("flag", engine.Boolean), storetest.Prop("html", engine.HTML), storetest.Prop("geo", engine.Geo), storetest.Ref("ref", storetest.NoteClass()))
	d := openJournaled(t, open, []*engine.Class{c, c.Property("ref").Target}, c)
	storetest.Create(t, d, c, "id", "1", "int", int64(9007199254740993), "real", 2.0, "decimal", engine.Decimal("0.10000000000000000000001"),
		"when", engine.Instant(0), "flag", false, "html", "<b>\n", "geo", engine.JSONText(`{"b":1,"a":2}`), "ref", "n1")
	had := `{"id":"1","int":9007199254740993,"real":2,"decimal":0.10000000000000000000001,"when":"1970-01-01T00:00:00.000Z","flag":false,"html":"<b>\n","geo":{"b":1,"a":2},"ref":"n1"}`
	d.expectRecords(t, "new", "CREATE all 1 "+had)
	it := storetest.Get(t, d, c, "1")
	if _, err := d.Update(t.Context(), c, "1", slices.Clone(it.Values), engine.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	d.expectRecords(t, "as it is")
	if err := d.Delete(t.Context(), c, "1", nil); err != nil {
		t.Fatal(err)
	}
	d.expectRecords(t, "gone", "DELETE all 1 "+had)
}

func journalNothing(t *testing.T, open storetest.Open) {
	c := storetest.Tracked()
	d := openJournaled(t, open, []*engine.Class{c}, c)
	storetest.Create(t, d, c, "id", "1", "name", "x", "made", storetest.LongAgo, "changed", storetest.LongAgo)
	d.newRecords(t)
	storetest.Update(t, d, c, "1")
	storetest.Update(t, d, c, "1", "name", "x") // the same value: only the time of the last change differs
	storetest.Save(t, d, storetest.NewRecord(c, "1", "name", "x"), storetest.NewRecord(c, "1", "name", "x"))
	if _, err := d.UpdateAll(storetest.WithAccount(t, "ann@local"), storetest.All(c), storetest.NewValues(c, "name", "x")); err != nil {
		t.Fatal(err)
	}
	if _, err := d.UpdateAll(t.Context(), storetest.Where(c, engine.OpEq, "name", "y"), storetest.NewValues(c, "name", "z")); err != nil {
		t.Fatal(err)
	}
	if _, err := d.DeleteAll(t.Context(), storetest.Where(c, engine.OpEq, "name", "y")); err != nil {
		t.Fatal(err)
	}
	d.expectRecords(t, "nothing")
	time.Sleep(2 * time.Millisecond) // so that the times, which have milliseconds, differ
	storetest.Update(t, d, c, "1", "name", "y")
	if told := d.newRecords(t); len(told) != 1 || !strings.Contains(told[0], `{"name":"x","changed":"`) || !strings.Contains(told[0], `{"name":"y","changed":"`) {
		t.Errorf("got %q, want the time of the change with the changed name", told)
	}
}

func journalPasswords(t *testing.T, open storetest.Open) {
	c := storetest.NewClass("user", storetest.Prop("id", engine.String), storetest.Prop("name", engine.String), storetest.Prop("pin", engine.Password))
	d := openJournaled(t, open, []*engine.Class{c}, c)
	storetest.Create(t, d, c, "id", "1", "pin", "canary")
	storetest.Update(t, d, c, "1", "pin", "canary2")
	storetest.Update(t, d, c, "1", "pin", "canary3", "name", "Ann")
	storetest.Save(t, d, storetest.NewRecord(c, "1", "pin", "canary4"))
	if err := d.Delete(t.Context(), c, "1", nil); err != nil {
		t.Fatal(err)
	}
	d.expectRecords(t, "that it changed, and no more", `CREATE user 1 {"id":"1"}`, `UPDATE user 1 {} {}`, `UPDATE user 1 {"name":null} {"name":"Ann"}`,
		`UPDATE user 1 {} {}`, `DELETE user 1 {"id":"1","name":"Ann"}`)
}

func journalFiles(t *testing.T, open storetest.Open) {
	var d *diary
	a := storetest.OpenAlbum(t, func(t *testing.T, classes []*engine.Class) engine.Repository {
		d = openJournaled(t, open, classes, classes[1])
		return d
	})
	storetest.Create(t, a, a.Photo, "id", int64(1), "image", storetest.File("x"), "more", storetest.Files("y", "z"))
	storetest.Update(t, a, a.Photo, "1", "image", storetest.File("w"), "more", storetest.Files())
	storetest.Update(t, a, a.Photo, "1", "image", nil, "more", nil)
	d.expectRecords(t, "ids", `CREATE photo 1 {"id":1,"image":"x","more":["y","z"]}`, `UPDATE photo 1 {"image":"x","more":["y","z"]} {"image":"w","more":[]}`,
		`UPDATE photo 1 {"image":"w","more":[]} {"image":null,"more":null}`)
}
