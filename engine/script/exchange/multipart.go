package exchange

import (
	"bytes"
	"io"
	"mime/multipart"
	"os"

	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/script/js"
	"restsrv/engine/service"
)

// maxParts is the maximum number of parts of a form. The size of a part is limited by the limit for the whole body.
const maxParts = 1000

// keptPart is the maximum size, in bytes, of a file in a form that stays in memory. A larger file is written to a
// temporary file.
const keptPart = 64 << 10

// part is a file of a multipart form.
type part struct {
	name, mimeType string
	head           []byte   // the whole content, or nil if it is in rest
	rest           *os.File // nil if the content is in head
	size           int64
}

// open returns a new reader of the content. Readers are independent of each other.
func (p *part) open() io.Reader {
	if p.rest == nil {
		return bytes.NewReader(p.head)
	}
	return io.NewSectionReader(p.rest, 0, p.size)
}

func (p *part) newUpload() *engine.Upload {
	return &engine.Upload{File: engine.StoredFile{Name: p.name, MimeType: p.mimeType}, Content: p.open()}
}

// close removes the temporary file, if there is one. Later reads of the content fail.
func (p *part) close() {
	if p.rest != nil {
		_ = p.rest.Close()
		_ = os.Remove(p.rest.Name())
	}
}

// readForm reads a multipart body. The values of the form are strings, and *part for files. If several parts have the
// same name, the last one is used. The error is Invalid for a malformed form, or the error of reading the body.
func readForm(r *service.Request) (form engine.Fields, parts []*part, err error) {
	form = engine.Fields{}
	n := 0
	err = service.ReadForm(r.Stream(), r.Header.Get("Content-Type"), func(next *multipart.Part) error {
		if n++; n > maxParts {
			return engine.Errorf(engine.Invalid, "multipart", "a form has at most %d parts", maxParts)
		}
		value, err := readPart(next)
		if file, ok := value.(*part); ok {
			parts = append(parts, file)
		}
		if err == nil {
			form = setField(form, next.FormName(), value)
		}
		return err
	})
	if err != nil {
		return nil, parts, err
	}
	return form, parts, nil
}

// sizeOfForm returns the size of a form in memory, in bytes. Temporary files do not count.
func sizeOfForm(form engine.Fields) (n int) {
	for _, f := range form {
		switch v := f.Value.(type) {
		case string:
			n += len(v)
		case *part:
			n += len(v.head)
		}
	}
	return n
}

func setField(form engine.Fields, name string, value any) engine.Fields {
	for i, f := range form {
		if f.Name == name {
			form[i].Value = value
			return form
		}
	}
	return append(form, engine.Field{Name: name, Value: value})
}

// readPart reads a part. The result is a string, or *part for a file. It may return a *part together with an error,
// so that the caller can remove its temporary file.
func readPart(from *multipart.Part) (any, error) {
	head := &bytes.Buffer{}
	if _, isFile := service.IsFile(from); !isFile {
		if _, err := head.ReadFrom(from); err != nil {
			return nil, service.MalformedForm(err)
		}
		return head.String(), nil
	}
	p := &part{name: from.FileName(), mimeType: from.Header.Get("Content-Type")}
	n, err := io.CopyN(head, from, keptPart+1)
	if err == io.EOF {
		p.head, p.size = head.Bytes(), n
		return p, nil
	}
	if err != nil {
		return p, service.MalformedForm(err)
	}
	if p.rest, err = os.CreateTemp("", "restsrv-upload-*"); err != nil {
		return p, engine.Wrap(err, "an upload could not be kept")
	}
	source := &partSource{r: io.MultiReader(head, from)}
	p.size, err = io.Copy(p.rest, source)
	switch {
	case source.err != nil:
		return p, service.MalformedForm(source.err)
	case err != nil:
		return p, engine.Wrap(err, "an upload could not be kept")
	}
	return p, nil
}

// partSource is a reader that records the errors of r. When a part is copied to a temporary file, this distinguishes
// errors of the body, which come from the client, from errors of the disk.
type partSource struct {
	r   io.Reader
	err error
}

func (s *partSource) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// jsPart is the Go value behind a file of a form in a script. It has the properties name, mimeType and buffer. The
// buffer is read when a script accesses it.
type jsPart struct {
	js.Overlay
	h    *Binding
	part *part
}

// Decoded returns the file as an upload, so that a script can write the object to an attribute. It returns nil if a
// script has changed the object.
func (p *jsPart) Decoded() any {
	if len(p.Names) > 0 {
		return nil
	}
	return p.part.newUpload()
}

var partFields = []string{"name", "mimeType", "buffer"}

// Get implements goja.DynamicObject. It returns a value that a script has set, or one of partFields.
func (p *jsPart) Get(name string) goja.Value {
	if v, ok := p.Values[name]; ok {
		return v
	}
	switch name {
	case "name":
		return p.h.JS.ToValue(p.part.name)
	case "mimeType":
		return p.h.JS.ToValue(p.part.mimeType)
	case "buffer":
		content, err := io.ReadAll(p.part.open())
		if err != nil {
			panic(p.h.NewError("an upload cannot be read once its request is over", "no-request"))
		}
		if p.Values == nil {
			p.Values = map[string]goja.Value{}
		}
		p.Values[name] = p.h.NewBytes(content)
		return p.Values[name]
	}
	return nil
}

// Set implements goja.DynamicObject. It sets a property of the JavaScript object.
func (p *jsPart) Set(name string, v goja.Value) bool {
	if v == nil {
		v = goja.Undefined()
	}
	if p.Values == nil {
		p.Values = map[string]goja.Value{}
	}
	p.Values[name] = v
	p.Names = append(p.Names, name)
	return true
}

// Has implements goja.DynamicObject.
func (p *jsPart) Has(name string) bool { return p.Get(name) != nil }

// Delete implements goja.DynamicObject. It has no effect.
func (p *jsPart) Delete(string) bool { return true }

// Keys implements goja.DynamicObject.
func (p *jsPart) Keys() []string { return partFields }
