package transfer

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/mistake"
)

// fileKind is the _type of objects with which IONDV exports files:
//
//	{"_type": "$$FILE$$", "name": "a.txt", "options": {"mimetype": "text/plain"}, "buffer": "<base64>"}
//	{"_type": "$$FILE$$", "name": "a.txt", "path": "files/a.txt"}
const fileKind = "$$FILE$$"

// prepareFields converts the fields of an object of class c to the form that requests have:
// exported files become uploads, and empty passwords become null. If the object is the value of a
// structure, prefix is the name of the structure with a $, such as "passport$"; otherwise prefix
// is "". at is the JSON path of the object.
func (r *reader) prepareFields(c *engine.Class, in engine.Fields, prefix, at string) (engine.Fields, error) {
	out := make(engine.Fields, 0, len(in))
	for _, f := range in {
		path := jsonfile.Member(at, f.Name)
		value, keep, err := r.prepareValue(c, c.Property(prefix+f.Name), f, prefix, path)
		if err != nil {
			return nil, err
		}
		if keep {
			out = append(out, engine.Field{Name: f.Name, Value: value})
		}
	}
	return out, nil
}

// prepareValue converts the value of one field. p is the property of the field, or nil if the
// class does not have it. If keep is false, the field must be left out. For prefix see
// prepareFields.
func (r *reader) prepareValue(c *engine.Class, p *engine.Property, f engine.Field, prefix, path string) (value any, keep bool, err error) {
	fields, object := f.Value.(engine.Fields)
	list, array := f.Value.([]any)
	switch {
	case p == nil && object: // the object may be a structure of the class
		value, err = r.prepareFields(c, fields, prefix+f.Name+"$", path)
		return value, true, err
	case p == nil:
	case p.Type == engine.Password && f.Value == "":
		return nil, true, nil
	case p.Type.IsFile() && object:
		return r.prepareFile(fields, path)
	case p.Type == engine.FileList && array:
		files := []any{}
		for i, e := range list {
			file, keep := e, true
			if fields, object := e.(engine.Fields); object {
				if file, keep, err = r.prepareFile(fields, jsonfile.Element(path, i)); err != nil {
					return nil, false, err
				}
			}
			if keep {
				files = append(files, file)
			}
		}
		return files, true, nil
	case p.Type == engine.Reference && object && p.Target != nil:
		value, err = r.prepareFields(p.Target, fields, "", path)
		return value, true, err
	case p.Type == engine.Collection && array && p.Target != nil:
		members := slices.Clone(list)
		for i, e := range list {
			if fields, object := e.(engine.Fields); object {
				if members[i], err = r.prepareFields(p.Target, fields, "", jsonfile.Element(path, i)); err != nil {
					return nil, false, err
				}
			}
		}
		return members, true, nil
	}
	return f.Value, true, nil
}

// prepareFile converts an exported file to the form that requests have. It returns other objects
// unchanged. If keep is false, the file is not in the data folder, and the value must be left out.
func (r *reader) prepareFile(in engine.Fields, path string) (value any, keep bool, err error) {
	if kind, _ := in.Get("_type"); kind != fileKind {
		return in, true, nil
	}
	options, _ := in.Get("options")
	more, _ := options.(engine.Fields)
	name := fieldText(in, "name")
	if name == "" {
		name = fieldText(more, "name")
	}
	mimeType := fieldText(more, "mimetype")
	if mimeType == "" {
		mimeType = fieldText(more, "mimeType")
	}
	if buffer, ok := in.Get("buffer"); ok && buffer != nil {
		return engine.Fields{{Name: "name", Value: name}, {Name: "mimeType", Value: mimeType}, {Name: "body", Value: buffer}}, true, nil
	}
	from, ok := in.Get("path")
	if !ok {
		return engine.Fields{{Name: "name", Value: name}}, true, nil // the cast reports the missing content
	}
	content, err := r.openContent(from)
	if err != nil {
		return nil, false, r.leaveOut(mistake.ValueFile, path, err)
	}
	if name == "" {
		name = content.baseName()
	}
	return &engine.Upload{File: engine.StoredFile{Name: name, MimeType: mimeType}, Content: content}, true, nil
}

// openContent returns a reader for a file in the data folder. from is its path.
func (r *reader) openContent(from any) (*content, error) {
	text, ok := from.(string)
	if !ok {
		return nil, fmt.Errorf("the path of a file is text, found %s", jsonfile.Describe(from))
	}
	name := path.Clean(text)
	if r.source.Contents == nil {
		return nil, fmt.Errorf("the file %s cannot be read: there is no data folder", engine.Quote(text))
	}
	if text == "" || !fs.ValidPath(name) {
		return nil, fmt.Errorf("the path %s leads out of the data folder", engine.Quote(text))
	}
	switch info, err := fs.Stat(r.source.Contents, name); {
	case errors.Is(err, engine.ErrOutside):
		return nil, fmt.Errorf("the path %s leads out of the data folder", engine.Quote(text))
	case err != nil:
		return nil, fmt.Errorf("the file %s does not exist in the data folder or cannot be read", engine.Quote(text))
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file", engine.Quote(text))
	}
	r.named[name] = true
	return &content{folder: r.source.Contents, name: name}, nil
}

// content is a reader for a file in the data folder. It opens the file at the first call of Read
// and closes it at the end, so that few files are open at the same time.
type content struct {
	folder fs.FS
	name   string
	file   fs.File
}

func (c *content) baseName() string { return path.Base(c.name) }

// Read implements io.Reader.
func (c *content) Read(p []byte) (n int, err error) {
	if c.name == "" {
		return 0, io.EOF
	}
	if c.file == nil {
		if c.file, err = c.folder.Open(c.name); err != nil {
			return 0, fmt.Errorf("the file %s cannot be read", engine.Quote(c.name))
		}
	}
	n, err = c.file.Read(p)
	if err != nil {
		_ = c.file.Close() // close errors do not matter after reading
		c.name = ""
	}
	return n, err
}
