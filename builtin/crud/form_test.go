package crud

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/service"
)

// sink is a storage that records the stored files and the size of the largest
// read.
type sink struct {
	engine.FileStorage
	stored []engine.StoredFile
	most   int
}

func (s *sink) Put(_ context.Context, name, mimeType string, content io.Reader) (engine.StoredFile, error) {
	f := engine.StoredFile{ID: fmt.Sprint("f", len(s.stored)+1), Name: name, MimeType: mimeType, Hash: "h"}
	buffer := make([]byte, 128<<10)
	for {
		n, err := content.Read(buffer)
		s.most = max(s.most, n)
		f.Size += int64(n)
		if err == io.EOF {
			s.stored = append(s.stored, f)
			return f, nil
		}
		if err != nil {
			return f, err
		}
	}
}

func album(t *testing.T) *engine.Class {
	t.Helper()
	c := &engine.Class{Name: "album", Key: []string{"id"}, Properties: []*engine.Property{
		{Name: "id", Type: engine.String}, {Name: "title", Type: engine.String}, {Name: "cover", Type: engine.Image},
		{Name: "pages", Type: engine.FileList}, {Name: "tags", Type: engine.Set}}}
	if err := c.Init(); err != nil {
		t.Fatal(err)
	}
	return c
}

// readForm reads a body with the boundary XX, whose lines must end in CRLF.
func readForm(t *testing.T, s *sink, body io.Reader) (engine.Fields, error) {
	t.Helper()
	f := form{class: album(t), storage: s}
	return f.readParts(context.Background(), &service.Request{Body: body,
		Header: http.Header{"Content-Type": {"multipart/form-data; boundary=XX"}}})
}

func part(disposition, content string) string {
	return "--XX\r\nContent-Disposition: form-data; " + disposition + "\r\n\r\n" + content + "\r\n"
}

// TestForm checks the fields for the parts of a form.
func TestForm(t *testing.T) {
	for what, c := range map[string]struct{ body, want string }{
		"text":                 {part(`name="title"`, "Tea"), `title="Tea" `},
		"empty text":           {part(`name="title"`, ""), `title="" `},
		"text that looks JSON": {part(`name="title"`, "[1]"), `title="[1]" `},
		"JSON for a set":       {part(`name="tags"`, "[1,2]"), `tags=[1,2] `},
		"no JSON for a set":    {part(`name="tags"`, "[1,"), `tags="[1," `},
		"nothing for a set":    {part(`name="tags"`, ""), `tags=null `},
		"said to be JSON":      {part("name=\"title\"\r\nContent-Type: application/json", "5"), `title=5 `},
		"a file":               {part(`name="cover"; filename="a.png"`, "xyz"), `cover=a.png:3 `},
		"two files, no list":   {part(`name="cover"; filename="a"`, "") + part(`name="cover"; filename="b"`, "x"), `cover=a:0 cover=b:1 `},
		"a list":               {part(`name="pages"; filename="1"`, "a") + part(`name="title"`, "T") + part(`name="pages"; filename="2"`, "bb"), `pages=1:1,2:2 title="T" `},
		"a list of one":        {part(`name="pages"; filename="1"`, "a"), `pages=1:1 `},
		"no file chosen":       {part(`name="cover"; filename=""`, "") + part(`name="title"`, "T"), `title="T" `},
		"unknown file":         {part(`name="what"; filename="a"`, "xyz"), `what=null `},
		"text for a file":      {part(`name="cover"`, ""), `cover=null `},
	} {
		fields, err := readForm(t, &sink{}, strings.NewReader(c.body+"--XX--\r\n"))
		if err != nil {
			t.Errorf("%s: got %v, want no error", what, err)
			continue
		}
		var got strings.Builder
		for _, f := range fields {
			got.WriteString(f.Name + "=" + show(f.Value) + " ")
		}
		if got.String() != c.want {
			t.Errorf("%s: got %s, want %s", what, got.String(), c.want)
		}
	}
}

func show(v any) string {
	switch v := v.(type) {
	case *engine.Upload:
		if !v.Stored {
			return "not stored"
		}
		return fmt.Sprint(v.File.Name, ":", v.File.Size)
	case []any:
		if _, ok := v[0].(*engine.Upload); ok {
			var all []string
			for _, u := range v {
				all = append(all, show(u))
			}
			return strings.Join(all, ",")
		}
	}
	return string(engine.AppendValue(nil, v))
}

// TestFormRefused checks that a malformed form is refused, and that errors of the body are
// returned unchanged.
func TestFormRefused(t *testing.T) {
	for what, c := range map[string]struct {
		body io.Reader
		code engine.Code
	}{
		"no parts":            {strings.NewReader("hello"), engine.Invalid},
		"no end":              {strings.NewReader(part(`name="title"`, "T")), engine.Invalid},
		"cut off in a file":   {strings.NewReader("--XX\r\nContent-Disposition: form-data; name=\"cover\"; filename=\"a\"\r\n\r\nhal"), engine.Invalid},
		"a file for text":     {strings.NewReader(part(`name="title"; filename="a"`, "x") + "--XX--\r\n"), engine.Invalid},
		"said to be JSON":     {strings.NewReader(part("name=\"title\"\r\nContent-Type: application/json", "{") + "--XX--\r\n"), engine.Invalid},
		"many files":          {strings.NewReader(strings.Repeat(part(`name="pages"; filename="a"`, "x"), engine.MaxUploads+1) + "--XX--\r\n"), engine.Invalid},
		"too large":           {io.MultiReader(strings.NewReader(part(`name="title"`, "T")), tooLarge{}), engine.TooLarge},
		"too large in a file": {io.MultiReader(strings.NewReader("--XX\r\nContent-Disposition: form-data; name=\"cover\"; filename=\"a\"\r\n\r\nhal"), tooLarge{}), engine.TooLarge},
	} {
		s := &sink{}
		if _, err := readForm(t, s, c.body); err == nil || engine.CodeOf(err) != c.code {
			t.Errorf("%s: got %v, want code %v", what, err, c.code)
		}
		if len(s.stored) > engine.MaxUploads {
			t.Errorf("%s: got %d stored files, want at most %d", what, len(s.stored), engine.MaxUploads)
		}
	}
	if fields, err := readForm(t, &sink{}, strings.NewReader("")); err != nil || len(fields) != 0 {
		t.Errorf("no body: got %v, %v, want no fields", fields, err)
	}
}

type tooLarge struct{}

func (tooLarge) Read([]byte) (int, error) { return 0, engine.Errorf(engine.TooLarge, "too-large", "") }

// TestFormStreams checks that a file is stored in small pieces.
func TestFormStreams(t *testing.T) {
	const size = 32 << 20
	s := &sink{}
	body := io.MultiReader(strings.NewReader("--XX\r\nContent-Disposition: form-data; name=\"cover\"; filename=\"a\"\r\n\r\n"),
		io.LimitReader(zeros{}, size), strings.NewReader("\r\n--XX--\r\n"))
	if _, err := readForm(t, s, body); err != nil || len(s.stored) != 1 || s.stored[0].Size != size {
		t.Fatalf("got %+v, %v, want one file of %d bytes", s.stored, err, size)
	}
	if s.most > 64<<10 {
		t.Errorf("got a read of %d bytes, want at most %d", s.most, 64<<10)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
