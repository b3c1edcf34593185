package data

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"strings"
	"sync"

	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/script/js"
	"restsrv/engine/script/vm"
)

// claims contains the files that a call has stored and that no item holds yet.
// If a later write of the call contains the id of such a file, the id stands
// for the file.
type claims struct {
	mu    sync.Mutex
	files map[string]engine.StoredFile
	used  map[string]bool
}

func (c *claims) add(f engine.StoredFile) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files == nil {
		c.files, c.used = map[string]engine.StoredFile{}, map[string]bool{}
	}
	c.files[f.ID] = f
}

func (c *claims) find(id string) (engine.StoredFile, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f, ok := c.files[id]
	return f, ok
}

// takeFile returns a file for an attribute that will hold it. If the file is
// used already, takeFile returns a copy.
func (c *claims) takeFile(id string, storage engine.FileStorage) (engine.StoredFile, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f, ok := c.files[id]
	if ok && c.used[id] {
		return storage.Copy(f), true
	}
	if ok {
		c.used[id] = true
	}
	return f, ok
}

// claimFiles replaces the ids of files that the call has stored by the files.
func claimFiles(c *vm.Call, v engine.Values, storage engine.FileStorage) {
	for _, value := range v {
		switch value := value.(type) {
		case *engine.Upload:
			claimOne(c, value, storage)
		case []*engine.Upload:
			for _, u := range value {
				claimOne(c, u, storage)
			}
		case *engine.Record:
			claimFiles(c, value.Values, storage)
		case *engine.Links:
			for _, e := range value.Add {
				if record, ok := e.(*engine.Record); ok {
					claimFiles(c, record.Values, storage)
				}
			}
		}
	}
}

func claimOne(c *vm.Call, u *engine.Upload, storage engine.FileStorage) {
	if u.Content != nil || u.Stored {
		return
	}
	if f, ok := vm.LocalOf[claims](c).takeFile(u.File.ID, storage); ok {
		u.File, u.Stored = f, true
	}
}

// FileStorage returns the object FileStorage for a storage.
func (h *Binding) FileStorage(storage engine.FileStorage) goja.Value {
	return h.storageObject(&jsStorage{h: h, name: "fileStorage", storage: storage})
}

// ImageStorage returns the object ImageStorage, a storage with thumbnails for
// its files.
func (h *Binding) ImageStorage(storage engine.ImageStorage) goja.Value {
	return h.storageObject(&jsStorage{h: h, name: "imageStorage", storage: storage, images: storage})
}

func (h *Binding) storageObject(s *jsStorage) goja.Value {
	o := h.JS.NewObject()
	h.Method(o, "accept", h.AsyncFunction(s.name+".accept", s.accept))
	h.Method(o, "fetch", h.AsyncFunction(s.name+".fetch", s.fetch))
	h.Method(o, "remove", h.AsyncFunction(s.name+".remove", s.remove))
	return o
}

// jsStorage implements a file storage for scripts.
type jsStorage struct {
	h       *Binding
	name    string
	storage engine.FileStorage
	images  engine.ImageStorage // the same as storage; nil if the files have no thumbnails
}

// accept(content, folder, {name, mimeType}) stores content, which is given as
// bytes, {buffer, name, mimeType}, {name, mime, body: base64} or base64 text. A
// storage of images rejects content with another media type. The argument
// folder is ignored. If the call does not write the file to an item, the file
// is removed later.
func (s *jsStorage) accept(call goja.FunctionCall) (vm.Operation, error) {
	u, err := s.h.readUpload(call.Argument(0))
	if err == nil && s.images != nil {
		err = imageType(call.Argument(2), call.Argument(0))
	}
	if err != nil {
		return vm.Operation{}, err
	}
	if described, ok := call.Argument(2).(*goja.Object); ok {
		js.DescribeUpload(u, described)
	}
	held := vm.LocalOf[claims](s.h.Call)
	return vm.Operation{Writes: true, Do: func(ctx context.Context) (func() goja.Value, error) {
		f, err := s.storage.Put(ctx, u.File.Name, u.File.MimeType, u.Content)
		if err != nil {
			return nil, err
		}
		held.add(f)
		return func() goja.Value { return s.fileObject(f) }, nil
	}}, nil
}

// imageType returns an error if the first argument with a media type has one
// that is not an image.
func imageType(arguments ...goja.Value) error {
	for _, v := range arguments {
		o, ok := v.(*goja.Object)
		if !ok {
			continue
		}
		for _, name := range []string{"mimetype", "mimeType"} {
			t := o.Get(name)
			if t == nil || !goja.IsString(t) || t.String() == "" {
				continue
			}
			if !strings.HasPrefix(t.String(), "image/") {
				return engine.Errorf(engine.Invalid, "file", "imageStorage takes images, found %s", engine.Quote(t.String()))
			}
			return nil
		}
	}
	return nil
}

// readUpload converts content that a script passes.
func (h *Binding) readUpload(v goja.Value) (*engine.Upload, error) {
	bad := engine.Errorf(engine.Invalid, "file", "a file is bytes, {buffer, name, mimeType}, {name, mime, body} or base64 text, found %s", js.DescribeValue(v))
	decoded, err := h.ToDecoded(v)
	if err != nil {
		return nil, err
	}
	switch d := decoded.(type) {
	case *engine.Upload:
		return d, nil
	case string:
		content, err := base64.StdEncoding.DecodeString(d)
		if err != nil {
			return nil, bad
		}
		return &engine.Upload{Content: bytes.NewReader(content)}, nil
	case engine.Fields:
		body, _ := d.Get("body")
		text, ok := body.(string)
		content, err := base64.StdEncoding.DecodeString(text)
		if !ok || err != nil {
			return nil, bad
		}
		u := &engine.Upload{Content: bytes.NewReader(content)}
		for _, f := range d {
			text, _ := f.Value.(string)
			switch f.Name {
			case "name":
				u.File.Name = text
			case "mime", "mimeType":
				u.File.MimeType = text
			}
		}
		return u, nil
	}
	return nil, bad
}

// fetch returns the files for ids. It leaves out ids that do not exist and
// files that the account may not read.
func (s *jsStorage) fetch(call goja.FunctionCall) (vm.Operation, error) {
	decoded, err := s.h.ToDecoded(call.Argument(0))
	if err != nil {
		return vm.Operation{}, err
	}
	list, ok := decoded.([]any)
	if !ok {
		list = []any{decoded}
	}
	var ids []string
	for _, e := range list {
		if fields, ok := e.(engine.Fields); ok {
			e, _ = fields.Get("id")
		}
		id, ok := e.(string)
		if !ok {
			return vm.Operation{}, engine.Errorf(engine.Invalid, "argument", "fetch takes an array of the ids of files")
		}
		ids = append(ids, id)
	}
	held, env := vm.LocalOf[claims](s.h.Call), s.h.Service.Env
	fs := engine.Files{Storage: s.storage, Data: env.Data, Meta: env.Meta}
	return vm.Operation{Do: func(ctx context.Context) (func() goja.Value, error) {
		var found []engine.StoredFile
		for _, id := range ids {
			f, ok := held.find(id)
			if !ok {
				readable, err := fs.Readable(ctx, id)
				if err != nil && engine.CodeOf(err) == engine.NotFound {
					continue
				}
				if err != nil {
					return nil, err
				}
				f = readable.StoredFile
			}
			found = append(found, f)
		}
		return func() goja.Value {
			files := make([]any, len(found))
			for i, f := range found {
				files[i] = s.fileObject(f)
			}
			return s.h.JS.NewArray(files...)
		}, nil
	}}, nil
}

// fileObject returns the object of a stored file: its description, with the
// method getContents. Files of an image storage have thumbnails with the same
// methods.
func (s *jsStorage) fileObject(f engine.StoredFile) goja.Value {
	open := func(ctx context.Context) (io.ReadCloser, string, error) {
		if limit := int64(s.h.Limits.Text); f.Size > limit {
			return nil, "", engine.Errorf(engine.Invalid, "too-large", "file %s has %d bytes: a script reads at most %d", engine.Quote(f.ID), f.Size, limit)
		}
		content, err := s.storage.Open(ctx, f)
		return content, f.MimeType, err
	}
	if s.images == nil {
		return s.withContents(s.h.FromValue(engine.FileAnswer(f.JSON())), f, open)
	}
	o := s.h.FromValue(engine.ImageAnswer(f.JSON(), s.images.Kinds())).(*goja.Object)
	s.withContents(o.Get("file"), f, open)
	thumbnails := o.Get("thumbnails").(*goja.Object)
	for _, kind := range s.images.Kinds() {
		s.withContents(thumbnails.Get(kind.Name), f, func(ctx context.Context) (io.ReadCloser, string, error) {
			t, err := s.images.Thumbnail(ctx, f, kind.Name)
			if err != nil {
				return nil, "", err
			}
			return t.Content, t.MimeType, nil
		})
	}
	return s.withContents(o, f, open)
}

// opener returns content and its media type. The caller must close the content.
type opener func(context.Context) (io.ReadCloser, string, error)

// withContents adds the methods of a file to its description.
func (s *jsStorage) withContents(described goja.Value, f engine.StoredFile, open opener) goja.Value {
	o := described.(*goja.Object)
	text := o.Get("id")
	s.h.Method(o, "toString", func(goja.FunctionCall) goja.Value { return text })
	s.h.Method(o, "getContents", s.h.AsyncFunction("file.getContents", func(goja.FunctionCall) (vm.Operation, error) {
		return vm.Operation{Do: func(ctx context.Context) (func() goja.Value, error) {
			content, mimeType, err := s.readContent(ctx, open)
			return func() goja.Value {
				answer := s.h.JS.NewObject()
				s.h.Put(answer, "name", s.h.JS.ToValue(f.Name))
				s.h.Put(answer, "mimeType", s.h.JS.ToValue(mimeType))
				s.h.Put(answer, "options", s.h.FromDecoded(engine.Fields{{Name: "name", Value: f.Name}, {Name: "mimeType", Value: mimeType}}))
				s.h.Put(answer, "buffer", s.h.NewBytes(content))
				s.h.StreamOf(answer, content)
				return answer
			}, err
		}}, nil
	}))
	return o
}

// readContent reads a file up to the size limit for scripts.
func (s *jsStorage) readContent(ctx context.Context, open opener) ([]byte, string, error) {
	r, mimeType, err := open(ctx)
	if err != nil {
		return nil, "", err
	}
	defer r.Close()
	content, err := io.ReadAll(io.LimitReader(r, int64(s.h.Limits.Text)))
	if err != nil {
		return nil, "", engine.Wrap(err, "the file cannot be read")
	}
	return content, mimeType, nil
}

// remove(id) releases a file that the call has stored, so that it is removed
// later. If an item holds the file, remove fails, because the file is removed
// together with the attribute.
func (s *jsStorage) remove(call goja.FunctionCall) (vm.Operation, error) {
	id := call.Argument(0).String()
	held, env := vm.LocalOf[claims](s.h.Call), s.h.Service.Env
	fs := engine.Files{Storage: s.storage, Data: env.Data, Meta: env.Meta}
	return vm.Operation{Writes: true, Do: func(ctx context.Context) (func() goja.Value, error) {
		if held.dropFile(id) {
			return goja.Undefined, nil
		}
		_, err := fs.Readable(ctx, id)
		switch {
		case err == nil:
			return nil, engine.Errorf(engine.Invalid, "file-held", "file %s is held by an object: it is removed when the attribute is set to null or the object is deleted", engine.Quote(id))
		case engine.CodeOf(err) == engine.NotFound:
			return goja.Undefined, nil
		}
		return nil, err
	}}, nil
}

// dropFile removes a file from the claims. It returns false if the call has no
// such file or an item holds it.
func (c *claims) dropFile(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.files[id]; !ok || c.used[id] {
		return false
	}
	delete(c.files, id)
	return true
}
