package crud

import (
	"bufio"
	"context"
	"io"
	"mime"
	"mime/multipart"

	"restsrv/engine"
	"restsrv/engine/service"
	"restsrv/engine/wire"
)

// form reads a multipart body into fields.
type form struct {
	class   *engine.Class
	storage engine.FileStorage
	fields  engine.Fields
	files   int            // number of files so far
	lists   map[string]int // index in fields of the list of files of an attribute, by its name
}

// readParts returns the parts of the body as fields: text, and *engine.Upload for files, which are
// stored immediately. Files with the same name become a list if the attribute is a list of files.
// Otherwise the last part with a name counts.
func (f *form) readParts(ctx context.Context, r *service.Request) (engine.Fields, error) {
	if r.Body == nil {
		return engine.Fields{}, nil
	}
	body := bufio.NewReader(r.Body)
	if _, err := body.Peek(1); err == io.EOF {
		return engine.Fields{}, nil
	}
	f.fields, f.lists = engine.Fields{}, map[string]int{}
	err := service.ReadForm(body, r.Header.Get("Content-Type"), func(part *multipart.Part) error { return f.readPart(ctx, part) })
	if err != nil {
		return nil, err
	}
	return f.fields, nil
}

func (f *form) readPart(ctx context.Context, part *multipart.Part) error {
	name := part.FormName()
	filename, isFile := service.IsFile(part)
	p := f.class.Property(name)
	switch {
	case name == "":
		return engine.Errorf(engine.Invalid, "multipart", `a part of the multipart body has no name: its Content-Disposition is form-data; name="attribute"`)
	case isFile && filename == "":
		return nil // no file was selected in this field of an HTML form
	case isFile && p == nil:
		f.fields = append(f.fields, engine.Field{Name: name}) // Bind handles unknown names
		return nil
	case isFile:
		return f.storeFile(ctx, p, part)
	}
	text, err := io.ReadAll(part)
	if err != nil {
		return service.MalformedForm(err)
	}
	value, err := textPart(p, part.Header.Get("Content-Type"), text)
	f.fields = append(f.fields, engine.Field{Name: name, Value: value})
	return err
}

// textPart returns the value of a part. It decodes the part as JSON in two cases: the content
// type is JSON, or the attribute needs JSON and the text looks like JSON. Otherwise the value is
// the text.
func textPart(p *engine.Property, contentType string, text []byte) (any, error) {
	if t, _, err := mime.ParseMediaType(contentType); err == nil && isJSON(t) {
		return wire.Decode(text)
	}
	switch {
	case p == nil || p.Type.Scalar():
	case len(text) == 0:
		return nil, nil
	case text[0] == '{' || text[0] == '[':
		if v, err := wire.Decode(text); err == nil {
			return v, nil
		}
	}
	return string(text), nil
}

func (f *form) storeFile(ctx context.Context, p *engine.Property, part *multipart.Part) error {
	if !p.Type.IsFile() || f.storage == nil {
		e := engine.Errorf(engine.Invalid, "type", "attribute %s takes no file", engine.Quote(p.Name))
		e.Class, e.Attribute = f.class.FullName, p.Name
		return e
	}
	if f.files++; f.files > engine.MaxUploads {
		return engine.Errorf(engine.Invalid, "too-many", "more than %d files are given at once", engine.MaxUploads)
	}
	stored, err := f.storage.Put(ctx, part.FileName(), part.Header.Get("Content-Type"), part)
	if err != nil {
		return service.MalformedForm(err)
	}
	upload := &engine.Upload{File: stored, Stored: true}
	if p.Type != engine.FileList {
		f.fields = append(f.fields, engine.Field{Name: p.Name, Value: upload})
		return nil
	}
	at, ok := f.lists[p.Name]
	if !ok {
		at = len(f.fields)
		f.lists[p.Name] = at
		f.fields = append(f.fields, engine.Field{Name: p.Name, Value: []any(nil)})
	}
	f.fields[at].Value = append(f.fields[at].Value.([]any), upload)
	return nil
}
