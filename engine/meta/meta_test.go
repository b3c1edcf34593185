package meta

import (
	"context"
	"encoding/json"
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/query"
	"restsrv/engine/wire"
)

func load(t *testing.T, namespace string, classes ...string) (*Repository, engine.Faults) {
	t.Helper()
	var sources []Source
	for i, text := range classes {
		v, err := wire.Decode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, Source{File: "deploy.json", Path: jsonfile.Element("classes", i), Value: v, Inline: true})
	}
	return Load(sources, namespace)
}

func TestRepositoryFindsClasses(t *testing.T) {
	r, faults := load(t, "sample", `{"name": "note"}`, `{"name": "note", "namespace": "lib"}`)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	for _, name := range []string{"note@sample", "note@lib"} {
		c, err := r.Class(name)
		if err != nil || c.FullName != name || c.Property("id") == nil {
			t.Errorf("Class(%q): got %v, %v, want a class with a key", name, c, err)
		}
	}
	for _, name := range []string{"note", "", "Note@sample", "note@sample "} {
		if _, err := r.Class(name); engine.CodeOf(err) != engine.NotFound {
			t.Errorf("Class(%q): %v, want not found", name, err)
		}
	}
	if all := r.Classes(); len(all) != 2 || all[0].FullName != "note@lib" {
		t.Errorf("Classes() = %v, want note@lib first of two", all)
	}
}

func TestNoNamespace(t *testing.T) {
	r, faults := load(t, "", `{"name": "note"}`)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	if c, err := r.Class("note"); err != nil || c.FullName != "note" {
		t.Errorf("Class(note): got %v, %v, want class note", c, err)
	}
}

func TestNoClassesAtAll(t *testing.T) {
	r, faults := Load(nil, "sample")
	if r == nil || len(faults) > 0 || len(r.Classes()) != 0 {
		t.Errorf("Load(nil) = %v, %v, want an empty repository", r, faults)
	}
	if sources, faults := ReadDir(fstest.MapFS{}, "meta"); len(sources)+len(faults) > 0 {
		t.Errorf("a folder that does not exist: got %v, %v, want no sources and no faults", sources, faults)
	}
}

// TestClassesAreInitialised checks that Init was called for loaded classes, so that they are ready for items.
func TestClassesAreInitialised(t *testing.T) {
	r, faults := load(t, "sample", `{"name": "note", "semantic": "title", "properties": [{"name": "title", "type": "string"}]}`)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	c, _ := r.Class("note@sample")
	v, _, err := c.Bind(engine.Fields{{Name: "title", Value: "T"}}, engine.Strict)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Complete(v, engine.Generate{GUID: func() string { return "g" }}); err != nil {
		t.Fatal(err)
	}
	it := &engine.Item{Class: c, ID: c.ID(v), Values: v}
	want := `{"_id":"g","__string":"T","__class":"note@sample","__classTitle":"note","id":"g","title":"T"}`
	if got := string(it.AppendJSON(nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

type clock struct{ engine.FormulaData }

func (clock) Now() engine.Instant { return 42 }

// TestVariables checks that $$now, $$uid and $$name get their values from the request. If the request has no account,
// $$uid and $$name must be null.
func TestVariables(t *testing.T) {
	ann := engine.WithAccount(t.Context(), &engine.Account{ID: "ann@local", Name: "Ann"})
	for _, c := range []struct {
		ctx  context.Context
		name variable
		want any
	}{
		{ann, "$$now", engine.Instant(42)}, {ann, "$$uid", "ann@local"}, {ann, "$$name", "Ann"},
		{t.Context(), "$$now", engine.Instant(42)}, {t.Context(), "$$uid", nil}, {t.Context(), "$$name", nil},
	} {
		if got, err := c.name.Eval(c.ctx, nil, clock{}); got != c.want || err != nil {
			t.Errorf("%s: got %v, %v, want %v", c.name, got, err, c.want)
		}
	}
	if n := variable("$$uid").Needs(); n != nil {
		t.Errorf("needs of a variable: got %v, want none", n)
	}
}

// TestAccountProperties checks that $$ and any other name means a property of the account, if the attribute can hold
// the value of this property.
func TestAccountProperties(t *testing.T) {
	properties := engine.Fields{{Name: "person", Value: "p7"}, {Name: "floor", Value: json.Number("3")}, {Name: "list", Value: []any{"x"}}}
	ann := engine.WithAccount(t.Context(), &engine.Account{ID: "ann@local", Properties: properties})
	text, number := &engine.Property{Type: engine.String}, &engine.Property{Type: engine.Int}
	for _, c := range []struct {
		ctx  context.Context
		name string
		of   *engine.Property
		want any
	}{
		{ann, "person", text, "p7"}, {ann, "floor", number, int64(3)}, {ann, "none", text, nil},
		{ann, "person", number, nil}, {ann, "list", text, nil}, {t.Context(), "person", text, nil},
	} {
		v := accountProperty{c.name, c.of}
		if got, err := v.Eval(c.ctx, nil, nil); got != c.want || err != nil || v.Needs() != nil {
			t.Errorf("%s: got %v, %v, want %v", v, got, err, c.want)
		}
	}
}

// TestVersionsAreInOrder checks the order of versions. Version 1.9 is older than 1.10. A version is older than another
// that begins with it and has more parts.
func TestVersionsAreInOrder(t *testing.T) {
	ascending := []string{"", "0", "1", "1.0", "1.9", "1.10", "1.10.0", "2", "10", "a", "b"}
	for i, a := range ascending {
		for j, b := range ascending {
			if got := compareVersions(a, b); (got < 0) != (i < j) || (got == 0) != (i == j) {
				t.Errorf("compareVersions(%q, %q): got %d, want the order of %d and %d", a, b, got, i, j)
			}
		}
	}
}

type unreadable struct{ fs.FS }

func (u unreadable) Open(name string) (fs.File, error) {
	if strings.HasSuffix(name, ".json") {
		return nil, fs.ErrPermission
	}
	return u.FS.Open(name)
}

func TestUnreadableFileIsAFault(t *testing.T) {
	_, faults := ReadDir(unreadable{fstest.MapFS{"meta/a.class.json": {Data: []byte("{}")}}}, "meta")
	if len(faults) != 1 || faults[0].File != "meta/a.class.json" || faults[0].Level == engine.Warning {
		t.Errorf("got %v, want one fault of meta/a.class.json", faults)
	}
	_, faults = ReadDir(fstest.MapFS{"meta": {Data: []byte("a file")}}, "meta")
	if len(faults) != 1 || faults[0].File != "meta" {
		t.Errorf("got %v, want one fault of meta", faults)
	}
}

func TestManyClassesInOneTree(t *testing.T) {
	classes := []string{`{"name": "c0"}`}
	for i := 1; i < 300; i++ {
		classes = append(classes, `{"name": "c`+engine.ValueText(int64(i))+`", "ancestor": "c`+engine.ValueText(int64(i-1))+`", "properties": [{"name": "p`+engine.ValueText(int64(i))+`", "type": 6}]}`)
	}
	r, faults := load(t, "n", classes...)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	root, _ := r.Class("c0@n")
	last, _ := r.Class("c299@n")
	if len(root.Descendants) != 299 || len(last.Properties) != 300 || last.Root() != root {
		t.Errorf("got a root with %d descendants and a last class with %d properties, want 299 and 300", len(root.Descendants), len(last.Properties))
	}
}

// FuzzLoad loads two class files at a time, so that they can be ancestors or duplicates of each other. For any
// contents, Load must return classes or faults, and every fault must have a place and a found value.
func FuzzLoad(f *testing.F) {
	for _, s := range [][2]string{
		{`{"name":"a","key":["id"],"properties":[{"name":"id","type":12}]}`, `{"name":"b","ancestor":"a"}`},
		{`{"name":"a","ancestor":"b"}`, `{"name":"b","ancestor":"a"}`},
		{`{"name":"a","key":"x","semantic":"x.y|z[1,2]","properties":[{"name":"x","type":"int","defaultValue":1e999}]}`, `[]`},
		{`{"name":"a","properties":[{"name":"id","type":"sting","orderNumber":-9e99},null,7]}`, `{"name":"A"}`},
		{`{"name":"a","key":["id","r"],"properties":[{"name":"id","type":12},{"name":"r","type":13,"refClass":"b"}]}`, `{"name":"b","key":["r"],"properties":[{"name":"r","type":13,"refClass":"a"}]}`},
		{`{"name":"a","key":["id"],"properties":[{"name":"id","type":6},{"name":"c","type":14,"itemsClass":"b","backColl":"c","selConditions":[{"property":"id","operation":10,"value":["x"],"nestedConditions":[{"operation":2}]}],"selSorting":[{"property":"id","mode":1}]}]}`,
			`{"name":"b","ancestor":"a","properties":[{"name":"d","type":14,"itemsClass":"a","backRef":"id","binding":"id"}]}`},
		{`{"name":"a","isStruct":true,"properties":[{"name":"s","type":16,"refClass":"b"},{"name":"x","type":0,"formula":{"f":["$x",[{}]]}}]}`, `{"name":"b","key":["s$x"],"properties":[{"name":"s","type":16,"refClass":"a"}]}`},
		{`{"name":"a","version":"1.2","key":["d"],"semantic":{"c":[]},"creationTracker":"d","compositeIndexes":[{"properties":["d"]}],"cacheDependencies":["r.r"],"properties":[{"name":"d","type":9,"defaultValue":"$$now"},{"name":"r","type":13,"refClass":"a","semantic":"d|r.d"}]}`,
			`{"name":"a","version":"1.10","key":["d"],"properties":[{"name":"d","type":0,"selectionProvider":{"type":"MATRIX","matrix":[{"conditions":{"eq":[]},"result":[{"key":1}]}]}}]}`},
		{`{"name":null,"key":{},"properties":{}}`, `{"name":"a","name":"b","formula":{}}`},
	} {
		f.Add(s[0], s[1], true)
		f.Add(s[0], s[1], false)
	}
	f.Fuzz(func(t *testing.T, a, b string, inline bool) {
		root := fstest.MapFS{"meta/a.class.json": {Data: []byte(a)}, "meta/b.class.json": {Data: []byte(b)}}
		sources, faults := ReadDir(root, "meta")
		for i := range sources {
			sources[i].Inline = inline
		}
		r, more := Load(sources, "n")
		errs, _ := more.Split(false)
		if (r == nil) != (len(errs) > 0) {
			t.Fatalf("got repository %v with the faults %v, want one or the other", r, more)
		}
		for _, fault := range append(faults, more...) {
			if fault.File == "" || fault.Expected == "" || strings.ContainsAny(fault.String(), "\n\x00") {
				t.Fatalf("got the incomplete fault %#v", fault)
			}
		}
		if r == nil {
			return
		}
		for _, c := range r.Classes() {
			if len(c.KeyProperties()) == 0 || c.KeyProperties()[0].Nullable {
				t.Fatalf("class %s: got key %v, want one that is not nullable", c.FullName, c.Key)
			}
			if found, err := r.Class(c.FullName); found != c || err != nil {
				t.Fatalf("Class(%q): got %v, %v, want the class of Classes", c.FullName, found, err)
			}
		}
	})
}

// TestNames reads only the names of classes. It checks that complete is false if a name cannot be read.
func TestNames(t *testing.T) {
	class := func(fields ...engine.Field) Source { return Source{Value: engine.Fields(fields)} }
	named := class(engine.Field{Name: "name", Value: "note"}, engine.Field{Name: "properties", Value: "wrong"})
	foreign := class(engine.Field{Name: "name", Value: "note"}, engine.Field{Name: "namespace", Value: "other"})
	if names, complete := Names([]Source{named, foreign}, "sample"); !complete || strings.Join(names, " ") != "note@sample note@other" {
		t.Errorf("got %v, %t, want both names and true", names, complete)
	}
	for _, bad := range []Source{class(), {Value: "note"}, class(engine.Field{Name: "name", Value: true})} {
		if names, complete := Names([]Source{bad, named}, "sample"); complete || len(names) != 1 {
			t.Errorf("%v: got %v, %t, want one name and false", bad.Value, names, complete)
		}
	}
}

// TestConditionsOfCollections checks that a collection loads the items that satisfy its conditions. A value that
// cannot be a condition must cause a fault that names the value.
func TestConditionsOfCollections(t *testing.T) {
	const item = `{"name": "b", "properties": [{"name": "no", "type": "int"}]}`
	r, faults := load(t, "n", item, `{"name": "a", "properties": [{"name": "bs", "type": 14, "itemsClass": "b", "selConditions": {"gt": ["$no", "7"]}}]}`)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	a, _ := r.Class("a@n")
	b, _ := r.Class("b@n")
	want, err := query.ParseFilter(b, engine.Fields{{Name: "gt", Value: []any{"$no", int64(7)}}}, time.Time{})
	if err != nil || !reflect.DeepEqual(a.Property("bs").Conditions, want) {
		t.Errorf("got %+v, want %+v (%v)", a.Property("bs").Conditions, want, err)
	}
}

// TestThumbnails checks that image properties, including inherited ones, have the thumbnails of responses. It also
// checks that responses with other thumbnails have other tags.
func TestThumbnails(t *testing.T) {
	classes := func(thumbnails ...engine.ThumbnailKind) *engine.Class {
		var sources []Source
		for i, text := range []string{
			`{"name": "thing", "properties": [{"name": "photo", "type": "image"}, {"name": "scan", "type": "file"}]}`,
			`{"name": "chair", "ancestor": "thing"}`,
		} {
			v, err := wire.Decode([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			sources = append(sources, Source{File: "deploy.json", Path: jsonfile.Element("classes", i), Value: v, Inline: true})
		}
		r, faults := Load(sources, "", thumbnails...)
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		c, err := r.Class("chair")
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	kinds := []engine.ThumbnailKind{{Name: "small", Width: 10}}
	none, small := classes(), classes(kinds...)
	if got := small.Property("photo").Thumbnails; !reflect.DeepEqual(got, kinds) || small.Property("scan").Thumbnails != nil {
		t.Errorf("thumbnails of photo: got %v, want %v", got, kinds)
	}
	if none.Fingerprint() == small.Fingerprint() {
		t.Error("got the same fingerprint with other thumbnails, want another")
	}
}
