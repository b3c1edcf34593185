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
	"restsrv/engine/attachment"
	"restsrv/engine/script/js"
	"restsrv/engine/script/vm"
)

// claims contains the files that a call has stored and that do not belong to an item yet. If the call later writes
// the id of such a file into a file attribute of an item, the file is attached to the item.
type claims struct {
	mu    sync.Mutex
	files map[string]engine.StoredFile
	used  map[string]bool // ids of the files that an attribute of this call has received
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

// takeFile returns the file with the given id for an attribute. If another attribute has already received the file,
// takeFile returns a copy. It returns false if the call has not stored such a file.
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

// claimFiles replaces the ids of files in v by the files that the call has stored, also in nested records.
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

// FileStorage returns the JavaScript object FileStorage for a storage.
func (h *Binding) FileStorage(storage engine.FileStorage) goja.Value {
	return h.storageObject(&jsStorage{h: h, name: "fileStorage", storage: storage})
}

// ImageStorage returns the JavaScript object ImageStorage: a file storage with thumbnails of its files.
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

// jsStorage implements the methods of FileStorage and ImageStorage.
type jsStorage struct {
	h       *Binding
	name    string
	storage engine.FileStorage
	images  engine.ImageStorage // the same value as storage; nil if the files have no thumbnails
}

// accept implements accept(content, folder, {name, mimeType}), which stores a file. content is bytes, {buffer, name,
// mimeType}, {name, mime, body: base64} or base64 text. An image storage rejects a media type that is not an image.
// The argument folder is ignored. If the call does not write the file to an item, the file is removed later.
func (s *jsStorage) accept(call goja.FunctionCall) (vm.Operation, error) {
	u, done, err := s.h.openUpload(call.Argument(0))
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
		defer done()
		f, err := s.storage.Put(ctx, u.File.Name, u.File.MimeType, u.Content)
		if err != nil {
			return nil, err
		}
		held.add(f)
		return func() goja.Value { return s.fileObject(f) }, nil
	}}, nil
}

// openUpload converts the content argument of accept, which may be a stream. done must be called after the content has
// been read.
func (h *Binding) openUpload(v goja.Value) (u *engine.Upload, done func(), err error) {
	done = func() {}
	var content io.Reader
	o, isObject := v.(*goja.Object)
	in := h.Call.Input
	switch {
	case in != nil && isObject && (vm.CallOf(v) == h.Call || in.Stream != nil && in.Stream.SameAs(v) && !o.Get("locked").ToBoolean()):
		content, err = in.Take()
	case vm.IsStream(h.VM, v):
		r := vm.NewSource(h.VM, o).Reader(h.Call.Context())
		content, done = r, func() { _ = r.Close() }
	default:
		u, err = h.readUpload(v)
		return u, done, err
	}
	if err != nil {
		return nil, done, err
	}
	return &engine.Upload{Content: &limitedReader{r: content, left: int64(h.Limits.UploadBytes)}}, done, nil
}

// limitedReader returns TooLarge if r has more bytes than left.
type limitedReader struct {
	r    io.Reader
	left int64
}

// Read implements io.Reader.
func (l *limitedReader) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, engine.Errorf(engine.TooLarge, "uploadBytes", "the stream is longer than the limit uploadBytes")
	}
	return n, err
}

// imageType returns an error if the media type is not an image. The media type is taken from the first of the
// arguments that has one.
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

// readUpload converts the content argument of accept; see there.
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

// fetch implements fetch(ids). It returns the files with these ids. It leaves out ids that do not exist and files
// that the account may not read.
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
	fs := attachment.Files{Storage: s.storage, Data: env.Data, Meta: env.Meta}
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

// fileObject returns the JavaScript object of a stored file: its description, with the method getContents. In an
// image storage, the object also contains thumbnails, which have the same method.
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

// opener opens the content of a file or thumbnail and returns it with its media type. The caller must close the
// content.
type opener func(context.Context) (io.ReadCloser, string, error)

// withContents adds the methods getContents and toString to the description of a file or thumbnail.
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

// readContent reads the content that open returns, up to the size limit for scripts.
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

// remove implements remove(id). It releases a file that the call has stored, so that the file is removed later. If
// the file belongs to an item, remove fails: such a file is removed when the attribute changes.
func (s *jsStorage) remove(call goja.FunctionCall) (vm.Operation, error) {
	id := call.Argument(0).String()
	held, env := vm.LocalOf[claims](s.h.Call), s.h.Service.Env
	fs := attachment.Files{Storage: s.storage, Data: env.Data, Meta: env.Meta}
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

// dropFile removes a file from the claims. It returns false if the call has not stored the file or if an attribute
// has received it.
func (c *claims) dropFile(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.files[id]; !ok || c.used[id] {
		return false
	}
	delete(c.files, id)
	return true
}
