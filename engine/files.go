package engine

import (
	"context"
	"slices"
)

// Files gives the account of a request access to a FileStorage.
type Files struct {
	Storage FileStorage // if nil, uploads are refused
	Data    Repository  // checks read permissions
	Meta    MetaRepository
}

// Readable returns the file with that id if the account may read the attribute
// and the item that hold it. Otherwise the error is NotFound, for any reason.
func (fs Files) Readable(ctx context.Context, id string) (HeldFile, error) {
	if fs.Storage == nil {
		return HeldFile{}, noFile(id)
	}
	held, err := fs.Storage.Find(ctx, id)
	if CodeOf(err) == NotFound && err != nil {
		return HeldFile{}, noFile(id) // the same error as for a hidden file, so that the client cannot distinguish them
	}
	if err != nil {
		return HeldFile{}, err
	}
	c, err := fs.Meta.Class(held.Class)
	if err != nil {
		return HeldFile{}, noFile(id)
	}
	it, err := fs.Data.Get(ctx, c, held.Item)
	switch CodeOf(err) {
	case NotFound, Forbidden:
		return HeldFile{}, noFile(id)
	}
	if err != nil {
		return HeldFile{}, err
	}
	for _, f := range FilesIn(it.Get(held.Attribute)) {
		if f.ID == id && f.Hash == held.Hash {
			return held, nil
		}
	}
	return HeldFile{}, noFile(id)
}

func noFile(id string) *Error {
	return Errorf(NotFound, "unknown-file", "there is no file %s", Quote(id))
}

// Accept stores the uploads in v and in the records nested in it, and replaces
// them by their descriptions. v are the new values of the item of class c with
// that id; id is "" for a new item. An upload that names a stored file refers
// to that file, or to a copy if another attribute holds the file. No file is
// stored if the account may not write objects of the class of a nested record.
// Errors: Invalid, TooLarge, Forbidden, and those of the content.
func (fs Files) Accept(ctx context.Context, c *Class, id string, v Values) error {
	if err := fs.checkRecords(ctx, v); err != nil {
		return err
	}
	return fs.storeUploads(ctx, c, id, v)
}

// checkRecords refuses nested records of classes in which the account may not save
// any item.
func (fs Files) checkRecords(ctx context.Context, v Values) error {
	record := func(e any) error {
		r, ok := e.(*Record)
		if !ok {
			return nil
		}
		if err := AllowSave(ctx, fs.Data, r.Class); err != nil {
			return err
		}
		return fs.checkRecords(ctx, r.Values)
	}
	for _, value := range v {
		if err := record(value); err != nil {
			return err
		}
		links, ok := value.(*Links)
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

func (fs Files) storeUploads(ctx context.Context, c *Class, id string, v Values) error {
	for i, value := range v {
		p := c.Properties[i]
		var err error
		switch value := value.(type) {
		case *Upload:
			var f StoredFile
			if f, err = fs.acceptUpload(ctx, c, id, p, value); err == nil {
				v[i] = f.JSON()
			}
		case []*Upload:
			v[i], err = fs.acceptList(ctx, c, id, p, value)
		case *Record:
			err = fs.storeUploads(ctx, value.Class, value.ID, value.Values)
		case *Links:
			for _, e := range value.Add {
				if r, ok := e.(*Record); ok && err == nil {
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

func (fs Files) acceptList(ctx context.Context, c *Class, id string, p *Property, uploads []*Upload) (any, error) {
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
	return JSONText(append(list, ']')), nil
}

func (fs Files) acceptUpload(ctx context.Context, c *Class, id string, p *Property, u *Upload) (StoredFile, error) {
	fault := func(reason, format string, args ...any) error {
		e := Errorf(Invalid, reason, "attribute %s "+format, append([]any{Quote(p.Name)}, args...)...)
		e.Class, e.Attribute = c.FullName, p.Name
		return e
	}
	switch {
	case u.Stored:
		return u.File, nil
	case fs.Storage == nil:
		return StoredFile{}, fault("file", "takes a file, and this service has no file storage")
	case u.Content != nil:
		return fs.Storage.Put(ctx, u.File.Name, u.File.MimeType, u.Content)
	}
	held, err := fs.Readable(ctx, u.File.ID)
	if err == nil {
		err = fs.Storage.Hold(ctx, held.StoredFile)
	}
	if CodeOf(err) == NotFound && err != nil {
		return StoredFile{}, fault("unknown-file", "names the file %s, which there is not", Quote(u.File.ID))
	}
	if err != nil {
		return StoredFile{}, err
	}
	if id != "" && held.Item == id && held.Attribute == p.Name {
		if owner, err := fs.Meta.Class(held.Class); err == nil && owner.Root() == c.Root() {
			return held.StoredFile, nil
		}
	}
	return fs.Storage.Copy(held.StoredFile), nil
}
