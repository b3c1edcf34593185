package file

import (
	"context"

	"restsrv/engine"
)

// Class returns the system class that records which item holds which file. Its table has one row for each file of
// each item, and the store updates the rows when items change. The caller passes the class to the store when it opens
// the store, and otherwise only to the Config of this package.
func Class() *engine.Class {
	property, indexed := engine.SystemProperty, engine.SystemIndexed
	c := engine.SystemClass(className,
		property("id", engine.String),
		indexed("hash", engine.String), // SHA-256 of the content, in hexadecimal digits
		property("name", engine.String),
		property("mimeType", engine.String),
		property("size", engine.Int),
		property("created", engine.DateTime),
		property("class", engine.String), // class of the item that holds the file
		property("item", engine.String),
		property("attribute", engine.String),
		indexed("account", engine.String), // account whose quota includes the file (quota.OwnerOf); null in rows of older versions and of imports
	)
	c.Indexes = []engine.CompositeIndex{{Properties: []string{"class", "item"}}}
	return c
}

// className begins with #, so that no class of an application can have the same name.
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

// heldFile converts a row of the system class.
func heldFile(it *engine.Item) engine.HeldFile {
	size, _ := it.Get("size").(int64)
	return engine.HeldFile{
		StoredFile: engine.StoredFile{ID: it.ID, Name: it.Text("name"), MimeType: it.Text("mimeType"), Size: size, Hash: it.Text("hash")},
		Class:      it.Text("class"), Item: it.Text("item"), Attribute: it.Text("attribute"),
	}
}
