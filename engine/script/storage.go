package script

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"sync"

	"github.com/dop251/goja"

	"restsrv/engine"
)

// claims are the files that a call has stored and that no item holds yet: an
// id in what it writes next stands for the file.
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

// take is find for an attribute that will hold the file; the second one gets a
// copy.
func (c *claims) take(id string, storage engine.FileStorage) (engine.StoredFile, bool) {
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

// claim puts the files that the call has stored in the place of their ids.
func (c *call) claim(v engine.Values, storage engine.FileStorage) {
	for _, value := range v {
		switch value := value.(type) {
		case *engine.Upload:
			c.claimOne(value, storage)
		case []*engine.Upload:
			for _, u := range value {
				c.claimOne(u, storage)
			}
		case *engine.Record:
			c.claim(value.Values, storage)
		case *engine.Links:
			for _, e := range value.Add {
				if record, ok := e.(*engine.Record); ok {
					c.claim(record.Values, storage)
				}
			}
		}
	}
}

func (c *call) claimOne(u *engine.Upload, storage engine.FileStorage) {
	if u.Content != nil || u.Stored {
		return
	}
	if f, ok := c.claims.take(u.File.ID, storage); ok {
		u.File, u.Stored = f, true
	}
}

// fileStorage makes the object fileStorage of a storage.
func (h *host) fileStorage(storage engine.FileStorage) goja.Value {
	o := h.js.NewObject()
	s := &jsStorage{h: h, storage: storage}
	h.method(o, "accept", h.async("fileStorage.accept", s.accept))
	h.method(o, "fetch", h.async("fileStorage.fetch", s.fetch))
	h.method(o, "remove", h.async("fileStorage.remove", s.remove))
	return o
}

// jsStorage is a file storage as scripts call it.
type jsStorage struct {
	h       *host
	storage engine.FileStorage
}

// accept(content, folder, {name, mimeType}) stores content: bytes, {buffer,
// name, mimeType}, {name, mime, body: base64} or base64 text. Folders are the
// storage's own business. The file is held by the item that the call then writes
// it to; else it is removed some time later.
func (s *jsStorage) accept(call goja.FunctionCall) (operation, error) {
	u, err := s.h.upload(call.Argument(0))
	if err != nil {
		return operation{}, err
	}
	if described, ok := call.Argument(2).(*goja.Object); ok {
		describeUpload(u, described)
	}
	c := s.h.v.cur
	return operation{writes: true, do: func(ctx context.Context) (func() goja.Value, error) {
		f, err := s.storage.Put(ctx, u.File.Name, u.File.MimeType, u.Content)
		if err != nil {
			return nil, err
		}
		c.claims.add(f)
		return func() goja.Value { return s.file(f) }, nil
	}}, nil
}

// upload reads content that a script passes.
func (h *host) upload(v goja.Value) (*engine.Upload, error) {
	bad := engine.Errorf(engine.Invalid, "file", "a file is bytes, {buffer, name, mimeType}, {name, mime, body} or base64 text, found %s", describeValue(v))
	decoded, err := h.toDecoded(v)
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

// fetch gives the files of the ids that there are and that the account may
// read.
func (s *jsStorage) fetch(call goja.FunctionCall) (operation, error) {
	decoded, err := s.h.toDecoded(call.Argument(0))
	if err != nil {
		return operation{}, err
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
			return operation{}, engine.Errorf(engine.Invalid, "argument", "fetch takes an array of the ids of files")
		}
		ids = append(ids, id)
	}
	c, env := s.h.v.cur, s.h.v.gen.env
	fs := engine.Files{Storage: s.storage, Data: env.Data, Meta: env.Meta}
	return operation{do: func(ctx context.Context) (func() goja.Value, error) {
		var found []engine.StoredFile
		for _, id := range ids {
			f, ok := c.claims.find(id)
			if !ok {
				held, err := fs.Readable(ctx, id)
				if err != nil && engine.CodeOf(err) == engine.NotFound {
					continue
				}
				if err != nil {
					return nil, err
				}
				f = held.StoredFile
			}
			found = append(found, f)
		}
		return func() goja.Value {
			files := make([]any, len(found))
			for i, f := range found {
				files[i] = s.file(f)
			}
			return s.h.js.NewArray(files...)
		}, nil
	}}, nil
}

// file is a stored file: its description, and getContents().
func (s *jsStorage) file(f engine.StoredFile) goja.Value {
	o := s.h.fromValue(engine.FileAnswer(f.JSON())).(*goja.Object)
	text := s.h.js.ToValue(f.ID)
	s.h.method(o, "toString", func(goja.FunctionCall) goja.Value { return text })
	s.h.method(o, "getContents", s.h.async("file.getContents", func(goja.FunctionCall) (operation, error) {
		return operation{do: func(ctx context.Context) (func() goja.Value, error) {
			content, err := s.content(ctx, f)
			return func() goja.Value {
				answer := s.h.js.NewObject()
				s.h.put(answer, "name", s.h.js.ToValue(f.Name))
				s.h.put(answer, "mimeType", s.h.js.ToValue(f.MimeType))
				s.h.put(answer, "options", s.h.fromDecoded(engine.Fields{{Name: "name", Value: f.Name}, {Name: "mimeType", Value: f.MimeType}}))
				s.h.put(answer, "buffer", s.h.newBytes(content))
				s.h.streamOf(answer, content)
				return answer
			}, err
		}}, nil
	}))
	return o
}

// content reads a file as far as a script may have it at once.
func (s *jsStorage) content(ctx context.Context, f engine.StoredFile) ([]byte, error) {
	if limit := int64(s.h.v.gen.limits.Text); f.Size > limit {
		return nil, engine.Errorf(engine.Invalid, "too-large", "file %s has %d bytes: a script reads at most %d", engine.Quote(f.ID), f.Size, limit)
	}
	r, err := s.storage.Open(ctx, f)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	content, err := io.ReadAll(io.LimitReader(r, f.Size))
	if err != nil {
		return nil, engine.Wrap(err, "the file cannot be read")
	}
	return content, nil
}
