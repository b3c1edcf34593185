package storetest

import (
	"fmt"
	"testing"

	"restsrv/engine"
)

// album is a repository of photos. One attribute of a photo has one file, and another attribute has several files. A
// print is a photo with a further file. The class File records the owner of each file.
type album struct {
	engine.Repository
	File, Photo, Print *engine.Class
}

// OpenAlbum opens a repository with the classes of an album. Use it for tests of files.
func OpenAlbum(t *testing.T, open Open) *album {
	a := &album{File: &engine.Class{Name: "#file", Key: []string{"id"}, Properties: []*engine.Property{
		Prop("id", engine.String, Required), Prop("hash", engine.String), Prop("name", engine.String), Prop("mimeType", engine.String), Prop("size", engine.Int),
		Prop("created", engine.DateTime), Prop("class", engine.String), Prop("item", engine.String), Prop("attribute", engine.String)}}}
	if err := a.File.Init(); err != nil {
		t.Fatal(err)
	}
	a.Photo = NewClass("photo", Prop("id", engine.Int), Prop("image", engine.Image), Prop("more", engine.FileList), Prop("name", engine.String))
	a.Print = Extend(a.Photo, "print", Prop("scan", engine.File))
	a.Repository = open(t, []*engine.Class{a.File, a.Photo, a.Print})
	return a
}

func stored(id string) engine.StoredFile {
	return engine.StoredFile{ID: id, Name: id + ".txt", MimeType: "text/plain", Size: int64(len(id)), Hash: "hash of " + id}
}

// File returns the value of a property with one file.
func File(id string) engine.JSONText { return stored(id).JSON() }

// Files returns the value of a property with several files.
func Files(ids ...string) engine.JSONText {
	list := ""
	for i, id := range ids {
		list += []string{"", ","}[min(i, 1)] + string(File(id))
	}
	return engine.JSONText("[" + list + "]")
}

// Held returns the recorded owners of files. It maps the id of each file to the class, the id and the attribute of its
// owner.
func (a *album) Held(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := a.List(t.Context(), All(a.File), func(it *engine.Item) error {
		found[it.ID] = fmt.Sprint(it.Get("class"), " ", it.Get("item"), " ", it.Get("attribute"))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
