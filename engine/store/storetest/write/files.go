package write

import (
	"fmt"
	"testing"

	"restsrv/engine"
	"restsrv/engine/store/storetest"
)

var fileTests = []storetest.Test{
	{Name: "rows follow attributes", Run: fileRows},
	{Name: "rows follow items", Run: fileItems},
	{Name: "rows of many items", Run: fileMany},
	{Name: "a file that another holds", Run: fileOwners},
	{Name: "in a save", Run: fileSave},
	{Name: "in an import", Run: fileImport},
}

func fileRows(t *testing.T, open storetest.Open) {
	a := storetest.OpenAlbum(t, open)
	storetest.Create(t, a, a.Photo, "id", int64(1), "image", storetest.File("a"), "more", storetest.Files("b", "c"))
	row := storetest.Get(t, a, a.File, "a")
	storetest.CheckSame(t, "row", row.Values, storetest.NewValues(a.File, "id", "a", "hash", "hash of a", "name", "a.txt", "mimeType", "text/plain", "size", int64(1),
		"created", row.Get("created"), "class", "photo@test", "item", "1", "attribute", "image"))
	if row.Get("created") == nil {
		t.Error("the row has no time of creation")
	}
	storetest.CheckSame(t, "held", a.Held(t), map[string]string{"a": "photo@test 1 image", "b": "photo@test 1 more", "c": "photo@test 1 more"})
	storetest.Update(t, a, a.Photo, "1", "name", "x")
	storetest.CheckSame(t, "another attribute", len(a.Held(t)), 3)
	storetest.Update(t, a, a.Photo, "1", "more", storetest.Files("c", "d"))
	storetest.CheckSame(t, "changed", a.Held(t), map[string]string{"a": "photo@test 1 image", "c": "photo@test 1 more", "d": "photo@test 1 more"})
	storetest.Update(t, a, a.Photo, "1", "image", nil)
	storetest.CheckSame(t, "cleared", a.Held(t), map[string]string{"c": "photo@test 1 more", "d": "photo@test 1 more"})
	_, err := a.Create(t.Context(), a.Photo, storetest.NewValues(a.Photo, "id", int64(1), "image", storetest.File("z")), engine.WriteOptions{})
	storetest.CheckError(t, err, engine.Invalid, "duplicate")
	storetest.CheckSame(t, "rows after a failed write", len(a.Held(t)), 2)
	_, err = a.UpdateAll(t.Context(), storetest.All(a.Photo), storetest.NewValues(a.Photo, "image", storetest.File("z")))
	storetest.CheckError(t, err, engine.Invalid, "file")
}

func fileItems(t *testing.T, open storetest.Open) {
	a := storetest.OpenAlbum(t, open)
	storetest.Create(t, a, a.Print, "id", int64(1), "image", storetest.File("a"), "scan", storetest.File("s"))
	storetest.Create(t, a, a.Photo, "id", int64(2), "image", storetest.File("b"))
	storetest.CheckSame(t, "made", a.Held(t), map[string]string{"a": "print@test 1 image", "s": "print@test 1 scan", "b": "photo@test 2 image"})
	storetest.Update(t, a, a.Photo, "1", "id", int64(7)) // through the ancestor class
	storetest.CheckSame(t, "another key", a.Held(t), map[string]string{"a": "print@test 7 image", "s": "print@test 7 scan", "b": "photo@test 2 image"})
	storetest.Save(t, a, storetest.NewRecord(a.Photo, "7"), storetest.NewRecord(a.Print, "2"))
	storetest.CheckSame(t, "another class", a.Held(t), map[string]string{"a": "print@test 7 image", "s": "print@test 7 scan", "b": "print@test 2 image"})
	if err := a.Delete(t.Context(), a.Photo, "7", nil); err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "deleted", a.Held(t), map[string]string{"b": "print@test 2 image"})
	if _, err := a.DeleteAll(t.Context(), storetest.All(a.Photo)); err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "all deleted", a.Held(t), map[string]string{})
}

// fileMany deletes more items than one statement deletes. The records of all their files should be deleted too.
func fileMany(t *testing.T, open storetest.Open) {
	a := storetest.OpenAlbum(t, open)
	var records []engine.Record
	for i := range 1100 {
		records = append(records, storetest.NewRecord(a.Photo, "", "id", int64(i), "image", storetest.File(fmt.Sprint("f", i))))
	}
	storetest.Save(t, a, records...)
	storetest.CheckSame(t, "made", len(a.Held(t)), len(records))
	if _, err := a.DeleteAll(t.Context(), storetest.All(a.Photo)); err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "left", len(a.Held(t)), 0)
}

// fileOwners stores the same file in a second item. The first item should remain the owner of the file.
func fileOwners(t *testing.T, open storetest.Open) {
	a := storetest.OpenAlbum(t, open)
	storetest.Create(t, a, a.Photo, "id", int64(1), "image", storetest.File("a"), "more", storetest.Files("b", "b"))
	storetest.Create(t, a, a.Photo, "id", int64(2), "image", storetest.File("a"), "more", storetest.Files("x", "a"))
	want := map[string]string{"a": "photo@test 1 image", "b": "photo@test 1 more", "x": "photo@test 2 more"}
	storetest.CheckSame(t, "held", a.Held(t), want)
	storetest.Update(t, a, a.Photo, "2", "image", nil)
	storetest.CheckSame(t, "still held", a.Held(t), want)
}

func fileSave(t *testing.T, open storetest.Open) {
	a := storetest.OpenAlbum(t, open)
	for range 2 { // the first round inserts, the second updates
		storetest.Save(t, a, storetest.NewRecord(a.Photo, "1", "image", storetest.File("a")), storetest.NewRecord(a.Photo, "2", "image", storetest.File("b"), "more", storetest.Files("c")), storetest.NewRecord(a.Print, "3", "scan", storetest.File("s")))
		storetest.CheckSame(t, "saved", a.Held(t), map[string]string{"a": "photo@test 1 image", "b": "photo@test 2 image", "c": "photo@test 2 more", "s": "print@test 3 scan"})
	}
	storetest.Save(t, a, storetest.NewRecord(a.Photo, "2", "id", int64(9), "image", storetest.File("d")))
	storetest.CheckSame(t, "moved", a.Held(t), map[string]string{"a": "photo@test 1 image", "d": "photo@test 9 image", "c": "photo@test 9 more", "s": "print@test 3 scan"})
}

func fileImport(t *testing.T, open storetest.Open) {
	a := storetest.OpenAlbum(t, open)
	im, ok := a.Repository.(storetest.Archive)
	if !ok {
		t.Skip("an import is no call of a repository")
	}
	for _, name := range []string{"a", "b"} {
		items := []*engine.Item{storetest.NewObject(a.Print, "", "", "id", int64(1), "scan", storetest.File(name)), storetest.NewObject(a.Photo, "", "", "id", int64(2), "more", storetest.Files(name+"1", name+"2"))}
		if err := im.Import(t.Context(), items); err != nil {
			t.Fatal(err)
		}
		storetest.CheckSame(t, "imported", a.Held(t), map[string]string{name: "print@test 1 scan", name + "1": "photo@test 2 more", name + "2": "photo@test 2 more"})
	}
}
