package rest

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/attachment"
)

// shelf is a storage of files that all have the same content. It is also the repository of the
// items that refer to the files.
type shelf struct {
	engine.Repository
	class *engine.Class
	files map[string]engine.HeldFile
	value engine.JSONText // of the attribute "files" of every item
}

func (s *shelf) Put(context.Context, string, string, io.Reader) (engine.StoredFile, error) {
	panic("nothing is stored here")
}

func (s *shelf) Hold(context.Context, engine.StoredFile) error { return nil }

func (s *shelf) Copy(f engine.StoredFile) engine.StoredFile { return f }

func (s *shelf) Open(context.Context, engine.StoredFile) (io.ReadSeekCloser, error) {
	return struct {
		io.ReadSeeker
		io.Closer
	}{bytes.NewReader([]byte("0123456789")), io.NopCloser(nil)}, nil
}

func (s *shelf) Find(_ context.Context, id string) (engine.HeldFile, error) {
	if f, ok := s.files[id]; ok {
		return f, nil
	}
	return engine.HeldFile{}, engine.Errorf(engine.NotFound, "unknown-file", "no")
}

func (s *shelf) Class(name string) (*engine.Class, error) {
	if name != s.class.FullName {
		return nil, engine.NoClass(name)
	}
	return s.class, nil
}

func (s *shelf) Classes() []*engine.Class { return []*engine.Class{s.class} }

func (s *shelf) Get(ctx context.Context, c *engine.Class, id string, _ ...*engine.Load) (*engine.Item, error) {
	switch {
	case id == "hidden":
		return nil, engine.Errorf(engine.Forbidden, "access", "no")
	case id == "away":
		return nil, engine.Errorf(engine.Unavailable, "away", "no")
	case id != "i" || engine.AccountFrom(ctx) == nil:
		return nil, engine.NoItem(c, id)
	}
	return &engine.Item{Class: c, ID: id, Values: engine.Values{id, s.value}}, nil
}

// keys is an authenticator that accepts one user and one token.
type keys struct{}

func (keys) Authenticate(_ context.Context, mode engine.AuthMode, c engine.Credentials) (*engine.Account, error) {
	if mode == engine.AuthPwd && c.User == "a@local" || mode == engine.AuthToken && c.Token == "t" {
		return &engine.Account{ID: "a@local"}, nil
	}
	return nil, engine.Errorf(engine.Unauthenticated, "credentials", "who are you?")
}

func serveFiles(t *testing.T) string {
	t.Helper()
	class := &engine.Class{Name: "note", Key: []string{"id"}, Properties: []*engine.Property{
		{Name: "id", Type: engine.String}, {Name: "files", Type: engine.FileList, OrderNumber: 1}}}
	if err := class.Init(); err != nil {
		t.Fatal(err)
	}
	s := &shelf{class: class, files: map[string]engine.HeldFile{}}
	var list []string
	add := func(id, name, mimeType, item, attribute string) {
		f := engine.StoredFile{ID: id, Name: name, MimeType: mimeType, Size: 10, Hash: "hash"}
		s.files[id] = engine.HeldFile{StoredFile: f, Class: "note", Item: item, Attribute: attribute}
		if id != "left" {
			list = append(list, string(f.JSON()))
		}
	}
	for _, mimeType := range []string{"text/plain", "image/png", "text/html", "image/svg+xml", "text/xml", "text/javascript", "application/json", ""} {
		add("as:"+mimeType, "a.x", mimeType, "i", "files")
	}
	add("left", "a", "text/plain", "i", "files")
	add("hidden", "a", "text/plain", "hidden", "files")
	add("gone", "a", "text/plain", "gone", "files")
	add("away", "a", "text/plain", "away", "files")
	add("elsewhere", "a", "text/plain", "i", "photo")
	add("чай", `чай "1"%.txt`, "text/plain", "i", "files")
	add("quote", `a"b\c%d.txt`, "text/plain", "i", "files")
	s.value = engine.JSONText("[" + strings.Join(list, ",") + "]")
	srv := httptest.NewServer(New(Config{Auth: keys{}, Log: slog.New(slog.DiscardHandler),
		Files: attachment.Files{Storage: s, Data: s, Meta: s}}))
	t.Cleanup(srv.Close)
	return srv.URL + "/files/"
}

// TestFileTypes checks that no file is served as active content.
func TestFileTypes(t *testing.T) {
	url := serveFiles(t)
	for mimeType, want := range map[string]string{
		"text/plain": "text/plain; charset=utf-8 inline", "image/png": "image/png inline",
		"text/html": "application/octet-stream attachment", "image/svg+xml": "application/octet-stream attachment",
		"text/xml": "application/octet-stream attachment", "text/javascript": "application/octet-stream attachment",
		"application/json": "application/octet-stream attachment", "": "application/octet-stream attachment",
	} {
		status, h, body := get(t, "GET", url+"as:"+strings.ReplaceAll(mimeType, "/", "%2F"), "Auth-Token", "t")
		disposition, _, _ := strings.Cut(h.Get("Content-Disposition"), ";")
		if got := h.Get("Content-Type") + " " + disposition; status != 200 || body != "0123456789" || got != want {
			t.Errorf("%s: got %d %s %q", mimeType, status, got, body)
		}
		for name, value := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox; default-src 'none'", "Cache-Control": "private, no-cache", "Etag": `"hash"`,
		} {
			if h.Get(name) != value {
				t.Errorf("%s: %s is %q", mimeType, name, h.Get(name))
			}
		}
	}
	if _, h, _ := get(t, "GET", url+"as:image%2Fpng?dwnld=1", "Auth-Token", "t"); h.Get("Content-Disposition") != `attachment; filename="a.x"` || h.Get("Content-Type") != "image/png" {
		t.Errorf("dwnld: %v", h)
	}
}

// TestFileNames checks that names are kept and cannot break a header.
func TestFileNames(t *testing.T) {
	url := serveFiles(t)
	for id, want := range map[string]string{
		"%D1%87%D0%B0%D0%B9": `inline; filename="___ _1__.txt"; filename*=UTF-8''%D1%87%D0%B0%D0%B9%20%221%22%25.txt`,
		"quote":              `inline; filename="a_b_c_d.txt"; filename*=UTF-8''a%22b%5Cc%25d.txt`,
	} {
		if _, h, _ := get(t, "GET", url+id, "Auth-Token", "t"); h.Get("Content-Disposition") != want {
			t.Errorf("%s: %s", id, h.Get("Content-Disposition"))
		}
	}
}

// TestFilesNotFound checks that a file which the account may not read is
// reported as missing.
func TestFilesNotFound(t *testing.T) {
	url := serveFiles(t)
	for id, want := range map[string]int{
		"unknown": 404, "": 404, "a/b": 404, "left": 404, "hidden": 404, "gone": 404, "elsewhere": 404, "away": 503, "as:text%2Fplain": 200,
	} {
		for _, method := range []string{"GET", "HEAD"} {
			if status, _, _ := get(t, method, url+id, "Auth-User", "a@local"); status != want {
				t.Errorf("%s %s: got %d, want %d", method, id, status, want)
			}
		}
	}
	if status, h, _ := get(t, "GET", url+"as:text%2Fplain"); status != 401 || h.Get("WWW-Authenticate") == "" {
		t.Errorf("without credentials: %d", status)
	}
	if status, h, _ := get(t, "POST", url+"left", "Auth-Token", "t"); status != 404 || h.Get("Allow") != "GET, HEAD, OPTIONS" {
		t.Errorf("POST: %d %v", status, h)
	}
	if status, _, body := get(t, "OPTIONS", url+"left", "Auth-Token", "t"); status != 200 || body != "GET, HEAD, OPTIONS" {
		t.Errorf("OPTIONS: %d %q", status, body)
	}
}

// TestFileRanges checks ranges and conditional requests (RFC 9110).
func TestFileRanges(t *testing.T) {
	url := serveFiles(t) + "as:text%2Fplain"
	for _, c := range []struct {
		method string
		header []string
		status int
		body   string
	}{
		{"GET", []string{"Range", "bytes=2-4"}, 206, "234"},
		{"GET", []string{"Range", "bytes=-3"}, 206, "789"},
		{"GET", []string{"Range", "bytes=2-4", "If-Range", `"hash"`}, 206, "234"},
		{"GET", []string{"Range", "bytes=2-4", "If-Range", `"other"`}, 200, "0123456789"},
		{"GET", []string{"If-None-Match", `"hash"`}, 304, ""},
		{"GET", []string{"If-Match", `"other"`}, 412, ""},
		{"HEAD", nil, 200, ""},
	} {
		status, h, body := get(t, c.method, url, append(c.header, "Auth-Token", "t")...)
		if status != c.status || body != c.body {
			t.Errorf("%s %v: got %d %q", c.method, c.header, status, body)
		}
		if c.method == http.MethodHead && h.Get("Content-Length") != "10" {
			t.Errorf("HEAD: %v", h)
		}
	}
	if status, h, _ := get(t, "GET", url, "Auth-Token", "t", "Range", "bytes=20-"); status != 416 || h.Get("Content-Range") != "bytes */10" {
		t.Errorf("past the end: %d %v", status, h)
	}
}
