// Package attachment stores the uploads of requests, and gives accounts access to the
// files of items. A file belongs to an attribute of an item: an account may read the file
// if it may read the attribute. The storage of the contents is an engine.FileStorage,
// which does not check permissions.
package attachment

import (
	"context"
	"slices"

	"restsrv/engine"
)

// Files gives the account of a request access to a FileStorage.
type Files struct {
	Storage engine.FileStorage // if nil, uploads are refused
	Data    engine.Repository  // checks read permissions
	Meta    engine.MetaRepository
}

// Readable returns the file with the given id if the account may read both the item that holds
// the file and the attribute. Otherwise the error is always NotFound, so that it does not
// disclose whether the file exists.
func (fs Files) Readable(ctx context.Context, id string) (engine.HeldFile, error) {
	if fs.Storage == nil {
		return engine.HeldFile{}, noFile(id)
	}
	held, err := fs.Storage.Find(ctx, id)
	if engine.CodeOf(err) == engine.NotFound && err != nil {
		return engine.HeldFile{}, noFile(id) // the same error as for a hidden file, so that the client cannot distinguish them
	}
	if err != nil {
		return engine.HeldFile{}, err
	}
	c, err := fs.Meta.Class(held.Class)
	if err != nil {
		return engine.HeldFile{}, noFile(id)
	}
	it, err := fs.Data.Get(ctx, c, held.Item)
	switch engine.CodeOf(err) {
	case engine.NotFound, engine.Forbidden:
		return engine.HeldFile{}, noFile(id)
	}
	if err != nil {
		return engine.HeldFile{}, err
	}
	for _, f := range engine.FilesIn(it.Get(held.Attribute)) {
		if f.ID == id && f.Hash == held.Hash {
			return held, nil
		}
	}
	return engine.HeldFile{}, noFile(id)
}

func noFile(id string) *engine.Error {
	return engine.Errorf(engine.NotFound, "unknown-file", "there is no file %s", engine.Quote(id))
}

// Accept stores the uploads of an item, and replaces each upload by the description of the stored
// file. v has the new values of the item, which may contain nested records with further uploads.
// c is the class of the item, and id is its id, or "" for a new item. An upload can name a stored
// file instead of a content. The item then refers to this file or, if another attribute holds the
// file, to a copy of it. If v contains a nested record of a class in which the account may not
// save any item, Accept stores no file. Errors: Invalid, TooLarge, Forbidden, and the errors of
// reading the content.
func (fs Files) Accept(ctx context.Context, c *engine.Class, id string, v engine.Values) error {
	if err := fs.checkRecords(ctx, v); err != nil {
		return err
	}
	return fs.storeUploads(ctx, c, id, v)
}

// checkRecords refuses nested records of classes in which the account may not save
// any item.
func (fs Files) checkRecords(ctx context.Context, v engine.Values) error {
	record := func(e any) error {
		r, ok := e.(*engine.Record)
		if !ok {
			return nil
		}
		if err := engine.AllowSave(ctx, fs.Data, r.Class); err != nil {
			return err
		}
		return fs.checkRecords(ctx, r.Values)
	}
	for _, value := range v {
		if err := record(value); err != nil {
			return err
		}
		links, ok := value.(*engine.Links)
		if !ok {
			continue
		}
		for _, e := range links.Add {
			if err := record(e); err != nil {
				return err
			}
		}
	}
	return nil
}

func (fs Files) storeUploads(ctx context.Context, c *engine.Class, id string, v engine.Values) error {
	for i, value := range v {
		p := c.Properties[i]
		var err error
		switch value := value.(type) {
		case *engine.Upload:
			var f engine.StoredFile
			if f, err = fs.acceptUpload(ctx, c, id, p, value); err == nil {
				v[i] = f.JSON()
			}
		case []*engine.Upload:
			v[i], err = fs.acceptList(ctx, c, id, p, value)
		case *engine.Record:
			err = fs.storeUploads(ctx, value.Class, value.ID, value.Values)
		case *engine.Links:
			for _, e := range value.Add {
				if r, ok := e.(*engine.Record); ok && err == nil {
					err = fs.storeUploads(ctx, r.Class, r.ID, r.Values)
				}
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (fs Files) acceptList(ctx context.Context, c *engine.Class, id string, p *engine.Property, uploads []*engine.Upload) (any, error) {
	list := []byte{'['}
	var ids []string
	for i, u := range uploads {
		f, err := fs.acceptUpload(ctx, c, id, p, u)
		if err != nil {
			return nil, err
		}
		if slices.Contains(ids, f.ID) {
			f = fs.Storage.Copy(f)
		}
		ids = append(ids, f.ID)
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, f.JSON()...)
	}
	return engine.JSONText(append(list, ']')), nil
}

func (fs Files) acceptUpload(ctx context.Context, c *engine.Class, id string, p *engine.Property, u *engine.Upload) (engine.StoredFile, error) {
	fault := func(reason, format string, args ...any) error {
		e := engine.Errorf(engine.Invalid, reason, "attribute %s "+format, append([]any{engine.Quote(p.Name)}, args...)...)
		e.Class, e.Attribute = c.FullName, p.Name
		return e
	}
	switch {
	case u.Stored:
		return u.File, nil
	case fs.Storage == nil:
		return engine.StoredFile{}, fault("file", "takes a file, and this service has no file storage")
	case u.Content != nil:
		return fs.Storage.Put(ctx, u.File.Name, u.File.MimeType, u.Content)
	}
	held, err := fs.Readable(ctx, u.File.ID)
	if err == nil {
		err = fs.Storage.Hold(ctx, held.StoredFile)
	}
	if engine.CodeOf(err) == engine.NotFound && err != nil {
		return engine.StoredFile{}, fault("unknown-file", "names the file %s, which there is not", engine.Quote(u.File.ID))
	}
	if err != nil {
		return engine.StoredFile{}, err
	}
	if id != "" && held.Item == id && held.Attribute == p.Name {
		if owner, err := fs.Meta.Class(held.Class); err == nil && owner.Root() == c.Root() {
			return held.StoredFile, nil
		}
	}
	return fs.Storage.Copy(held.StoredFile), nil
}
