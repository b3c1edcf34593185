package storetest

import (
	"fmt"
	"testing"

	"restsrv/engine"
)

var fileTests = []test{
	{"rows follow attributes", fileRows},
	{"rows follow items", fileItems},
	{"rows of many items", fileMany},
	{"a file that another holds", fileOwners},
	{"in a save", fileSave},
	{"in an import", fileImport},
}

// album has a class with files of all kinds, and a class below it.
type album struct {
	engine.Repository
	file, photo, print *engine.Class
}

func openAlbum(t *testing.T, open Open) *album {
	a := &album{file: &engine.Class{Name: "#file", Key: []string{"id"}, Properties: []*engine.Property{
		Prop("id", engine.String, required), Prop("hash", engine.String), Prop("name", engine.String), Prop("mimeType", engine.String), Prop("size", engine.Int),
		Prop("created", engine.DateTime), Prop("class", engine.String), Prop("item", engine.String), Prop("attribute", engine.String)}}}
	if err := a.file.Init(); err != nil {
		t.Fatal(err)
	}
	a.photo = NewClass("photo", Prop("id", engine.Int), Prop("image", engine.Image), Prop("more", engine.FileList), Prop("name", engine.String))
	a.print = Extend(a.photo, "print", Prop("scan", engine.File))
	a.Repository = open(t, []*engine.Class{a.file, a.photo, a.print})
	return a
}

func stored(id string) engine.StoredFile {
	return engine.StoredFile{ID: id, Name: id + ".txt", MimeType: "text/plain", Size: int64(len(id)), Hash: "hash of " + id}
}

func file(id string) engine.JSONText { return stored(id).JSON() }

func files(ids ...string) engine.JSONText {
	list := ""
	for i, id := range ids {
		list += []string{"", ","}[min(i, 1)] + string(file(id))
	}
	return engine.JSONText("[" + list + "]")
}

// held returns the rows of files as id: class item attribute.
func (a *album) held(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := a.List(t.Context(), all(a.file), func(it *engine.Item) error {
		found[it.ID] = fmt.Sprint(it.Get("class"), " ", it.Get("item"), " ", it.Get("attribute"))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func fileRows(t *testing.T, open Open) {
	a := openAlbum(t, open)
	create(t, a, a.photo, "id", int64(1), "image", file("a"), "more", files("b", "c"))
	row := get(t, a, a.file, "a")
	same(t, "row", row.Values, values(a.file, "id", "a", "hash", "hash of a", "name", "a.txt", "mimeType", "text/plain", "size", int64(1),
		"created", row.Get("created"), "class", "photo@test", "item", "1", "attribute", "image"))
	if row.Get("created") == nil {
		t.Error("the row has no time of creation")
	}
	same(t, "held", a.held(t), map[string]string{"a": "photo@test 1 image", "b": "photo@test 1 more", "c": "photo@test 1 more"})
	update(t, a, a.photo, "1", "name", "x")
	same(t, "another attribute", len(a.held(t)), 3)
	update(t, a, a.photo, "1", "more", files("c", "d"))
	same(t, "changed", a.held(t), map[string]string{"a": "photo@test 1 image", "c": "photo@test 1 more", "d": "photo@test 1 more"})
	update(t, a, a.photo, "1", "image", nil)
	same(t, "cleared", a.held(t), map[string]string{"c": "photo@test 1 more", "d": "photo@test 1 more"})
	_, err := a.Create(t.Context(), a.photo, values(a.photo, "id", int64(1), "image", file("z")), engine.WriteOptions{})
	fails(t, err, engine.Invalid, "duplicate")
	same(t, "rows after a failed write", len(a.held(t)), 2)
	_, err = a.UpdateAll(t.Context(), all(a.photo), values(a.photo, "image", file("z")))
	fails(t, err, engine.Invalid, "file")
}

func fileItems(t *testing.T, open Open) {
	a := openAlbum(t, open)
	create(t, a, a.print, "id", int64(1), "image", file("a"), "scan", file("s"))
	create(t, a, a.photo, "id", int64(2), "image", file("b"))
	same(t, "made", a.held(t), map[string]string{"a": "print@test 1 image", "s": "print@test 1 scan", "b": "photo@test 2 image"})
	update(t, a, a.photo, "1", "id", int64(7)) // through the class above
	same(t, "another key", a.held(t), map[string]string{"a": "print@test 7 image", "s": "print@test 7 scan", "b": "photo@test 2 image"})
	save(t, a, record(a.photo, "7"), record(a.print, "2"))
	same(t, "another class", a.held(t), map[string]string{"a": "print@test 7 image", "s": "print@test 7 scan", "b": "print@test 2 image"})
	if err := a.Delete(t.Context(), a.photo, "7", nil); err != nil {
		t.Fatal(err)
	}
	same(t, "deleted", a.held(t), map[string]string{"b": "print@test 2 image"})
	if _, err := a.DeleteAll(t.Context(), all(a.photo)); err != nil {
		t.Fatal(err)
	}
	same(t, "all deleted", a.held(t), map[string]string{})
}

// fileMany deletes more items than one statement takes. No rows of files should remain.
func fileMany(t *testing.T, open Open) {
	a := openAlbum(t, open)
	var records []engine.Record
	for i := range 1100 {
		records = append(records, record(a.photo, "", "id", int64(i), "image", file(fmt.Sprint("f", i))))
	}
	save(t, a, records...)
	same(t, "made", len(a.held(t)), len(records))
	if _, err := a.DeleteAll(t.Context(), all(a.photo)); err != nil {
		t.Fatal(err)
	}
	same(t, "left", len(a.held(t)), 0)
}

// fileOwners names a file of one item in another item. The first item should keep the file.
func fileOwners(t *testing.T, open Open) {
	a := openAlbum(t, open)
	create(t, a, a.photo, "id", int64(1), "image", file("a"), "more", files("b", "b"))
	create(t, a, a.photo, "id", int64(2), "image", file("a"), "more", files("x", "a"))
	want := map[string]string{"a": "photo@test 1 image", "b": "photo@test 1 more", "x": "photo@test 2 more"}
	same(t, "held", a.held(t), want)
	update(t, a, a.photo, "2", "image", nil)
	same(t, "still held", a.held(t), want)
}

func fileSave(t *testing.T, open Open) {
	a := openAlbum(t, open)
	for range 2 { // first inserted, then updated
		save(t, a, record(a.photo, "1", "image", file("a")), record(a.photo, "2", "image", file("b"), "more", files("c")), record(a.print, "3", "scan", file("s")))
		same(t, "saved", a.held(t), map[string]string{"a": "photo@test 1 image", "b": "photo@test 2 image", "c": "photo@test 2 more", "s": "print@test 3 scan"})
	}
	save(t, a, record(a.photo, "2", "id", int64(9), "image", file("d")))
	same(t, "moved", a.held(t), map[string]string{"a": "photo@test 1 image", "d": "photo@test 9 image", "c": "photo@test 9 more", "s": "print@test 3 scan"})
}

func fileImport(t *testing.T, open Open) {
	a := openAlbum(t, open)
	im, ok := a.Repository.(archive)
	if !ok {
		t.Skip("an import is no call of a repository")
	}
	for _, name := range []string{"a", "b"} {
		items := []*engine.Item{object(a.print, "", "", "id", int64(1), "scan", file(name)), object(a.photo, "", "", "id", int64(2), "more", files(name+"1", name+"2"))}
		if err := im.Import(t.Context(), items); err != nil {
			t.Fatal(err)
		}
		same(t, "imported", a.held(t), map[string]string{name: "print@test 1 scan", name + "1": "photo@test 2 more", name + "2": "photo@test 2 more"})
	}
}
