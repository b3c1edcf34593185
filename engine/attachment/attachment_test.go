package attachment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"restsrv/engine"
)

// cabinet is a FileStorage in memory. It is also a repository with the single item "i", which
// holds files.
type cabinet struct {
	engine.Repository
	class *engine.Class
	files map[string]engine.HeldFile
	items map[string]*engine.Item
	count int
}

func (s *cabinet) Put(_ context.Context, name, mimeType string, content io.Reader) (engine.StoredFile, error) {
	b, err := io.ReadAll(content)
	s.count++
	return engine.StoredFile{ID: "new" + strconv.Itoa(s.count), Name: name, MimeType: mimeType, Size: int64(len(b)), Hash: "h" + string(b)}, err
}

func (s *cabinet) Copy(f engine.StoredFile) engine.StoredFile {
	s.count++
	f.ID = "copy" + strconv.Itoa(s.count)
	return f
}

func (s *cabinet) Hold(_ context.Context, f engine.StoredFile) error { return nil }

func (s *cabinet) Open(context.Context, engine.StoredFile) (io.ReadSeekCloser, error) {
	return nil, errors.New("unused")
}

func (s *cabinet) Find(_ context.Context, id string) (engine.HeldFile, error) {
	if f, ok := s.files[id]; ok {
		return f, nil
	}
	return engine.HeldFile{}, noFile(id)
}

func (s *cabinet) Class(name string) (*engine.Class, error) {
	if name != s.class.FullName {
		return nil, engine.NoClass(name)
	}
	return s.class, nil
}

func (s *cabinet) Classes() []*engine.Class { return []*engine.Class{s.class} }

func (s *cabinet) Get(_ context.Context, c *engine.Class, id string, _ ...*engine.Load) (*engine.Item, error) {
	if it := s.items[id]; it != nil {
		return it, nil
	}
	return nil, engine.NoItem(c, id)
}

func initialised(t *testing.T, c *engine.Class) *engine.Class {
	t.Helper()
	if err := c.Init(); err != nil {
		t.Fatal(err)
	}
	return c
}

func newCabinet(t *testing.T) (*cabinet, Files) {
	t.Helper()
	c := &engine.Class{Name: "note", Key: []string{"id"}, Properties: []*engine.Property{
		{Name: "id", Type: engine.String}, {Name: "scan", Type: engine.File, OrderNumber: 1}, {Name: "pages", Type: engine.FileList, OrderNumber: 2},
		{Name: "next", Type: engine.Reference, OrderNumber: 3}, {Name: "all", Type: engine.Collection, OrderNumber: 4}}}
	c.Properties[3].Target, c.Properties[4].Target = c, c
	if err := c.Init(); err != nil {
		t.Fatal(err)
	}
	f := engine.StoredFile{ID: "f", Name: "a.txt", Size: 1, Hash: "hash"}
	stale := engine.StoredFile{ID: "stale", Hash: "hash"}
	held := func(f engine.StoredFile, class, item string) engine.HeldFile {
		return engine.HeldFile{StoredFile: f, Class: class, Item: item, Attribute: "scan"}
	}
	s := &cabinet{class: c, files: map[string]engine.HeldFile{
		"f": held(f, "note", "i"), "stale": held(stale, "note", "i"), "lost": held(f, "note", "gone"), "foreign": held(f, "other", "i"),
	}, items: map[string]*engine.Item{"i": {Class: c, ID: "i", Values: engine.Values{"i", f.JSON(), nil, nil, nil}}}}
	return s, Files{Storage: s, Data: s, Meta: s}
}

func wantCode(t *testing.T, what string, err error, code engine.Code) {
	t.Helper()
	if err == nil || engine.CodeOf(err) != code {
		t.Errorf("%s: got %v, want code %v", what, err, code)
	}
}

// TestReadable checks that a file is found only through the item that holds the file.
func TestReadable(t *testing.T) {
	_, files := newCabinet(t)
	if held, err := files.Readable(context.Background(), "f"); err != nil || held.Item != "i" || held.Hash != "hash" {
		t.Errorf("got %+v, %v, want the file of item i", held, err)
	}
	for _, id := range []string{"unknown", "stale", "lost", "foreign"} {
		_, err := files.Readable(context.Background(), id)
		wantCode(t, id, err, engine.NotFound)
	}
	_, err := Files{}.Readable(context.Background(), "f")
	wantCode(t, "without storage", err, engine.NotFound)
}

func content(s string) *engine.Upload { return &engine.Upload{Content: strings.NewReader(s)} }

// TestAccept checks that new uploads are stored, that files of the item stay, and that files of
// another item are copied. It also checks this for nested records.
func TestAccept(t *testing.T) {
	s, files := newCabinet(t)
	accept := func(id string, v engine.Values) string {
		t.Helper()
		if err := files.Accept(context.Background(), s.class, id, v); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		for _, value := range v {
			for _, f := range engine.FilesIn(value) {
				b.WriteString(f.ID + "=" + f.Hash + " ")
			}
		}
		return b.String()
	}
	named := &engine.Upload{File: engine.StoredFile{ID: "f"}}
	for what, c := range map[string]struct {
		id     string
		values engine.Values
		want   string
	}{
		"new":              {"", engine.Values{"n", content("x"), nil, nil, nil}, "new1=hx "},
		"kept":             {"i", engine.Values{engine.Absent, named, nil, nil, nil}, "f=hash "},
		"of another":       {"j", engine.Values{engine.Absent, named, nil, nil, nil}, "copy1=hash "},
		"of a new one":     {"", engine.Values{engine.Absent, named, nil, nil, nil}, "copy1=hash "},
		"elsewhere":        {"i", engine.Values{engine.Absent, engine.Absent, []*engine.Upload{named}, nil, nil}, "copy1=hash "},
		"stored already":   {"i", engine.Values{engine.Absent, &engine.Upload{Stored: true, File: engine.StoredFile{ID: "s", Hash: "hs"}}, nil, nil, nil}, "s=hs "},
		"a list":           {"", engine.Values{engine.Absent, engine.Absent, []*engine.Upload{content("a"), content("b")}, nil, nil}, "new1=ha new2=hb "},
		"no files, a list": {"", engine.Values{engine.Absent, engine.Absent, []*engine.Upload{}, nil, nil}, ""},
	} {
		s.count = 0
		if got := accept(c.id, c.values); got != c.want {
			t.Errorf("%s: got %s, want %s", what, got, c.want)
		}
	}
	twice := engine.Values{engine.Absent, engine.Absent, []*engine.Upload{{Stored: true, File: engine.StoredFile{ID: "s"}}, {Stored: true, File: engine.StoredFile{ID: "s"}}}, nil, nil}
	if s.count = 0; accept("", twice) != "s= copy1= " {
		t.Errorf("the same file twice in a list: got %v, want two ids", twice)
	}
	inner := func() engine.Values { return engine.Values{"n", content("x"), nil, nil, nil} }
	one, two := &engine.Record{Class: s.class, Values: inner()}, &engine.Record{Class: s.class, Values: inner()}
	accept("", engine.Values{engine.Absent, nil, nil, one, &engine.Links{Add: []any{"id", two}}})
	if len(engine.FilesIn(one.Values[1])) != 1 || len(engine.FilesIn(two.Values[1])) != 1 {
		t.Errorf("files of nested records: got %v and %v, want one each", one.Values[1], two.Values[1])
	}
}

// TestAcceptRefuses checks that an account gets no access to a file by knowing the description of
// the file.
func TestAcceptRefuses(t *testing.T) {
	s, files := newCabinet(t)
	for what, u := range map[string]*engine.Upload{
		"unknown":      {File: engine.StoredFile{ID: "unknown", Hash: "hash"}},
		"known hash":   {File: engine.StoredFile{Hash: "hash", Size: 1}},
		"lost":         {File: engine.StoredFile{ID: "lost"}},
		"broken off":   {Content: io.MultiReader(strings.NewReader("x"), cutOff{})},
		"without item": {File: engine.StoredFile{ID: "stale"}},
	} {
		err := files.Accept(context.Background(), s.class, "i", engine.Values{engine.Absent, u, nil, nil, nil})
		wantCode(t, what, err, engine.Invalid)
	}
	err := Files{}.Accept(context.Background(), s.class, "", engine.Values{engine.Absent, content("x"), nil, nil, nil})
	wantCode(t, "without storage", err, engine.Invalid)
}

type cutOff struct{}

func (cutOff) Read([]byte) (int, error) { return 0, engine.Errorf(engine.Invalid, "body", "gone") }

// TestHiddenFile checks that a file is refused like a missing file if only a hidden attribute
// holds it.
func TestHiddenFile(t *testing.T) {
	c := initialised(t, &engine.Class{Name: "c", Key: []string{"id"}, Properties: []*engine.Property{{Name: "id", Type: engine.Int}, {Name: "secret", Type: engine.File}}})
	held := engine.StoredFile{ID: "f1", Hash: "h"}
	read := func(c *engine.Class, id string) string {
		s := &cabinet{class: c.Base(), files: map[string]engine.HeldFile{"f1": {StoredFile: held, Class: "c", Item: "1", Attribute: "secret"}},
			items: map[string]*engine.Item{"1": {Class: c, ID: "1", Values: engine.Values{int64(1), held.JSON()}}}}
		found, err := Files{Storage: s, Meta: s, Data: s}.Readable(context.Background(), id)
		if err != nil {
			return strings.ReplaceAll(fmt.Sprintf("%+v", *err.(*engine.Error)), id, "ID")
		}
		return found.Attribute
	}
	if got := read(c, "f1"); got != "secret" {
		t.Fatalf("the file of a visible attribute: got %s, want attribute secret", got)
	}
	view := engine.NewViews(func(p *engine.Property) bool { return p.Name == "secret" }).Of(c)
	if hidden, missing := read(view, "f1"), read(view, "f2"); hidden != missing {
		t.Errorf("the errors differ:\nhidden  %s\nmissing %s", hidden, missing)
	}
}

// warden is a repository with permissions by class.
type warden struct {
	cabinet
	may map[string]engine.Permission
}

func (w *warden) View(_ context.Context, c *engine.Class) (*engine.Class, error) { return c, nil }

func (w *warden) Allow(_ context.Context, c *engine.Class, p engine.Permission) error {
	if w.may[c.Name]&p == 0 {
		return engine.Denied()
	}
	return nil
}

// TestAcceptDenied checks that no content is stored if the account may not save any item of the
// class of one of the records.
func TestAcceptDenied(t *testing.T) {
	inner := initialised(t, &engine.Class{Name: "inner", Key: []string{"id"}, Properties: []*engine.Property{{Name: "id", Type: engine.Int, Nullable: true}, {Name: "scan", Type: engine.File}}})
	c := initialised(t, &engine.Class{Name: "c", Key: []string{"id"}, Properties: []*engine.Property{{Name: "id", Type: engine.Int}, {Name: "scan", Type: engine.File}, {Name: "ref", Type: engine.Reference, Target: inner}, {Name: "all", Type: engine.Collection, Target: inner}}})
	for _, in := range []string{`{"scan":"aGk=","ref":{"id":2,"scan":"aGk="}}`, `{"scan":"aGk=","all":[{"id":2,"scan":"aGk="}]}`} {
		for may, want := range map[engine.Permission]int{0: 0, engine.MayRead | engine.MayDelete: 0, engine.MayUse: 2, engine.MayWrite: 2} {
			values, _, err := c.Bind(engine.JSONText(in).Decode().(engine.Fields), engine.Strict)
			if err != nil {
				t.Fatal(err)
			}
			w := &warden{may: map[string]engine.Permission{"c": engine.MayAll, "inner": may}}
			err = Files{Storage: w, Meta: w, Data: w}.Accept(context.Background(), c, "", values)
			if w.count != want || (err == nil) != (want > 0) || err != nil && engine.CodeOf(err) != engine.Forbidden {
				t.Errorf("%s of %s: got %d stored files, %v, want %d", in, may, w.count, err, want)
			}
		}
	}
}
