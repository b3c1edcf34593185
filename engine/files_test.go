package engine

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

// cabinet is a FileStorage in memory, and a repository of one item "i" that
// holds files.
type cabinet struct {
	Repository
	class *Class
	files map[string]HeldFile
	items map[string]*Item
	count int
}

func (s *cabinet) Put(_ context.Context, name, mimeType string, content io.Reader) (StoredFile, error) {
	b, err := io.ReadAll(content)
	s.count++
	return StoredFile{ID: "new" + itoa(s.count), Name: name, MimeType: mimeType, Size: int64(len(b)), Hash: "h" + string(b)}, err
}

func (s *cabinet) Copy(f StoredFile) StoredFile {
	s.count++
	f.ID = "copy" + itoa(s.count)
	return f
}

func (s *cabinet) Hold(_ context.Context, f StoredFile) error { return nil }

func (s *cabinet) Open(context.Context, StoredFile) (io.ReadSeekCloser, error) {
	return nil, errors.New("unused")
}

func (s *cabinet) Find(_ context.Context, id string) (HeldFile, error) {
	if f, ok := s.files[id]; ok {
		return f, nil
	}
	return HeldFile{}, noFile(id)
}

func (s *cabinet) Class(name string) (*Class, error) {
	if name != s.class.FullName {
		return nil, NoClass(name)
	}
	return s.class, nil
}

func (s *cabinet) Classes() []*Class { return []*Class{s.class} }

func (s *cabinet) Get(_ context.Context, c *Class, id string, _ ...*Load) (*Item, error) {
	if it := s.items[id]; it != nil {
		return it, nil
	}
	return nil, NoItem(c, id)
}

func newCabinet(t *testing.T) (*cabinet, Files) {
	t.Helper()
	c := &Class{Name: "note", Key: []string{"id"}, Properties: []*Property{
		{Name: "id", Type: String}, {Name: "scan", Type: File, OrderNumber: 1}, {Name: "pages", Type: FileList, OrderNumber: 2},
		{Name: "next", Type: Reference, OrderNumber: 3}, {Name: "all", Type: Collection, OrderNumber: 4}}}
	c.Properties[3].Target, c.Properties[4].Target = c, c
	if err := c.Init(); err != nil {
		t.Fatal(err)
	}
	f := StoredFile{ID: "f", Name: "a.txt", Size: 1, Hash: "hash"}
	stale := StoredFile{ID: "stale", Hash: "hash"}
	s := &cabinet{class: c, files: map[string]HeldFile{
		"f": {f, "note", "i", "scan"}, "stale": {stale, "note", "i", "scan"}, "lost": {f, "note", "gone", "scan"}, "foreign": {f, "other", "i", "scan"},
	}, items: map[string]*Item{"i": {Class: c, ID: "i", Values: Values{"i", f.JSON(), nil, nil, nil}}}}
	return s, Files{Storage: s, Data: s, Meta: s}
}

func wantCode(t *testing.T, what string, err error, code Code) {
	t.Helper()
	if err == nil || CodeOf(err) != code {
		t.Errorf("%s: got %v, want code %v", what, err, code)
	}
}

// TestReadable: a file is found only through the item that holds it.
func TestReadable(t *testing.T) {
	_, files := newCabinet(t)
	if held, err := files.Readable(context.Background(), "f"); err != nil || held.Item != "i" || held.Hash != "hash" {
		t.Errorf("got %+v, %v, want the file of item i", held, err)
	}
	for _, id := range []string{"unknown", "stale", "lost", "foreign"} {
		_, err := files.Readable(context.Background(), id)
		wantCode(t, id, err, NotFound)
	}
	_, err := Files{}.Readable(context.Background(), "f")
	wantCode(t, "without storage", err, NotFound)
}

func content(s string) *Upload { return &Upload{Content: strings.NewReader(s)} }

// TestAccept: new uploads are stored, files that the item holds stay, and files
// that another item holds are copied, also in nested records.
func TestAccept(t *testing.T) {
	s, files := newCabinet(t)
	accept := func(id string, v Values) string {
		t.Helper()
		if err := files.Accept(context.Background(), s.class, id, v); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		for _, value := range v {
			for _, f := range FilesIn(value) {
				b.WriteString(f.ID + "=" + f.Hash + " ")
			}
		}
		return b.String()
	}
	named := &Upload{File: StoredFile{ID: "f"}}
	for what, c := range map[string]struct {
		id     string
		values Values
		want   string
	}{
		"new":              {"", Values{"n", content("x"), nil, nil, nil}, "new1=hx "},
		"kept":             {"i", Values{Absent, named, nil, nil, nil}, "f=hash "},
		"of another":       {"j", Values{Absent, named, nil, nil, nil}, "copy1=hash "},
		"of a new one":     {"", Values{Absent, named, nil, nil, nil}, "copy1=hash "},
		"elsewhere":        {"i", Values{Absent, Absent, []*Upload{named}, nil, nil}, "copy1=hash "},
		"stored already":   {"i", Values{Absent, &Upload{Stored: true, File: StoredFile{ID: "s", Hash: "hs"}}, nil, nil, nil}, "s=hs "},
		"a list":           {"", Values{Absent, Absent, []*Upload{content("a"), content("b")}, nil, nil}, "new1=ha new2=hb "},
		"no files, a list": {"", Values{Absent, Absent, []*Upload{}, nil, nil}, ""},
	} {
		s.count = 0
		if got := accept(c.id, c.values); got != c.want {
			t.Errorf("%s: got %s, want %s", what, got, c.want)
		}
	}
	twice := Values{Absent, Absent, []*Upload{{Stored: true, File: StoredFile{ID: "s"}}, {Stored: true, File: StoredFile{ID: "s"}}}, nil, nil}
	if s.count = 0; accept("", twice) != "s= copy1= " {
		t.Errorf("the same file twice in a list: got %v, want two ids", twice)
	}
	inner := func() Values { return Values{"n", content("x"), nil, nil, nil} }
	one, two := &Record{Class: s.class, Values: inner()}, &Record{Class: s.class, Values: inner()}
	accept("", Values{Absent, nil, nil, one, &Links{Add: []any{"id", two}}})
	if len(FilesIn(one.Values[1])) != 1 || len(FilesIn(two.Values[1])) != 1 {
		t.Errorf("files of nested records: got %v and %v, want one each", one.Values[1], two.Values[1])
	}
}

// TestAcceptRefuses: knowing the description of a file does not give access to
// it.
func TestAcceptRefuses(t *testing.T) {
	s, files := newCabinet(t)
	for what, u := range map[string]*Upload{
		"unknown":      {File: StoredFile{ID: "unknown", Hash: "hash"}},
		"known hash":   {File: StoredFile{Hash: "hash", Size: 1}},
		"lost":         {File: StoredFile{ID: "lost"}},
		"broken off":   {Content: io.MultiReader(strings.NewReader("x"), cutOff{})},
		"without item": {File: StoredFile{ID: "stale"}},
	} {
		err := files.Accept(context.Background(), s.class, "i", Values{Absent, u, nil, nil, nil})
		wantCode(t, what, err, Invalid)
	}
	err := Files{}.Accept(context.Background(), s.class, "", Values{Absent, content("x"), nil, nil, nil})
	wantCode(t, "without storage", err, Invalid)
}

type cutOff struct{}

func (cutOff) Read([]byte) (int, error) { return 0, Errorf(Invalid, "body", "gone") }

// TestStoredFile: a description is the same after it was stored and read.
func TestStoredFile(t *testing.T) {
	for _, f := range []StoredFile{{ID: "a", Size: 0, Hash: "h"}, {ID: "a", Name: "\"чай\"", MimeType: "text/plain", Size: 1 << 40, Hash: "h"}} {
		if got := FilesIn(f.JSON()); len(got) != 1 || got[0] != f {
			t.Errorf("FilesIn(%s): got %+v, want the same description", f.JSON(), got)
		}
	}
	for _, v := range []any{nil, "text", JSONText(""), JSONText("null"), JSONText(`"x"`), JSONText("[1]"), JSONText("{}"), JSONText("[]")} {
		if got := FilesIn(v); len(got) != 0 {
			t.Errorf("FilesIn(%v): got %+v, want no files", v, got)
		}
	}
}
