package file

import (
	"context"

	"restsrv/engine"
)

// Class builds the system class that says which item holds which file: one row
// for each file of each item. The store keeps its rows as items change; open
// the store with it, and show it to nobody else.
func Class() *engine.Class {
	property, indexed := engine.SystemProperty, engine.SystemIndexed
	c := engine.SystemClass(className,
		property("id", engine.String),
		indexed("hash", engine.String), // SHA-256 of the content, hex
		property("name", engine.String),
		property("mimeType", engine.String),
		property("size", engine.Int),
		property("created", engine.DateTime),
		property("class", engine.String), // of the item that holds it
		property("item", engine.String),
		property("attribute", engine.String),
		indexed("account", engine.String), // whose share it counts in (engine.OwnerOf); null in rows of older versions and of imports
	)
	c.Indexes = []engine.CompositeIndex{{Properties: []string{"class", "item"}}}
	return c
}

// className is no name that a class of an application can have.
const className = "#file"

// Find is engine.FileStorage's.
func (s *Storage) Find(ctx context.Context, id string) (engine.HeldFile, error) {
	it, err := s.cfg.Data.Get(ctx, s.cfg.Class, id)
	if engine.CodeOf(err) == engine.NotFound && err != nil {
		return engine.HeldFile{}, engine.Errorf(engine.NotFound, "unknown-file", "there is no file %s", engine.Quote(id))
	}
	if err != nil {
		return engine.HeldFile{}, err
	}
	return held(it), nil
}

// held reads a row.
func held(it *engine.Item) engine.HeldFile {
	size, _ := it.Get("size").(int64)
	return engine.HeldFile{
		StoredFile: engine.StoredFile{ID: it.ID, Name: it.Text("name"), MimeType: it.Text("mimeType"), Size: size, Hash: it.Text("hash")},
		Class:      it.Text("class"), Item: it.Text("item"), Attribute: it.Text("attribute"),
	}
}
