package file

import (
	"context"

	"restsrv/engine"
)

// Class builds the system class that records which item holds which file, with
// one row for each file of each item. The store updates the rows when items
// change. Pass the class to the store when it is opened, and to no other
// component.
func Class() *engine.Class {
	property, indexed := engine.SystemProperty, engine.SystemIndexed
	c := engine.SystemClass(className,
		property("id", engine.String),
		indexed("hash", engine.String), // SHA-256 of the content, hex
		property("name", engine.String),
		property("mimeType", engine.String),
		property("size", engine.Int),
		property("created", engine.DateTime),
		property("class", engine.String), // of the item that holds the file
		property("item", engine.String),
		property("attribute", engine.String),
		indexed("account", engine.String), // the file counts for the quota of this account (engine.OwnerOf); null in rows of older versions and of imports
	)
	c.Indexes = []engine.CompositeIndex{{Properties: []string{"class", "item"}}}
	return c
}

// className is a name that an application cannot use for a class of its own.
const className = "#file"

// Find implements engine.FileStorage.
func (s *Storage) Find(ctx context.Context, id string) (engine.HeldFile, error) {
	it, err := s.cfg.Data.Get(ctx, s.cfg.Class, id)
	if engine.CodeOf(err) == engine.NotFound && err != nil {
		return engine.HeldFile{}, engine.Errorf(engine.NotFound, "unknown-file", "there is no file %s", engine.Quote(id))
	}
	if err != nil {
		return engine.HeldFile{}, err
	}
	return heldFile(it), nil
}

// heldFile converts a row.
func heldFile(it *engine.Item) engine.HeldFile {
	size, _ := it.Get("size").(int64)
	return engine.HeldFile{
		StoredFile: engine.StoredFile{ID: it.ID, Name: it.Text("name"), MimeType: it.Text("mimeType"), Size: size, Hash: it.Text("hash")},
		Class:      it.Text("class"), Item: it.Text("item"), Attribute: it.Text("attribute"),
	}
}
