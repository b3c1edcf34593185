package transfer_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"restsrv/engine"
	"restsrv/engine/store"
	"restsrv/engine/store/sqlite"
	"restsrv/engine/transfer"
	"restsrv/engine/workflow"
)

// library has books, which may be crime books, and shelves that hold them.
type library struct {
	t                  *testing.T
	data               *store.Store
	book, crime, shelf *engine.Class
	stages             *engine.Class
	classes            []*engine.Class
	hashed             int
}

func property(name string, typ engine.PropertyType, change ...func(*engine.Property)) *engine.Property {
	p := &engine.Property{Name: name, Caption: name, Type: typ, Nullable: true}
	for _, f := range change {
		f(p)
	}
	return p
}

func class(name string, ancestor *engine.Class, properties ...*engine.Property) *engine.Class {
	c := &engine.Class{Name: name, Namespace: "lib", Caption: name, Key: []string{"id"}, Ancestor: ancestor}
	full := engine.FullName(name, "lib")
	if ancestor != nil {
		for _, p := range ancestor.Properties {
			inherited := *p
			c.Properties = append(c.Properties, &inherited)
		}
		ancestor.Descendants = append(ancestor.Descendants, c)
	}
	for _, p := range properties {
		p.OrderNumber, p.Definition = len(c.Properties), full
		c.Properties = append(c.Properties, p)
	}
	return c
}

func required(p *engine.Property) { p.Nullable = false }

func openLibrary(t *testing.T) *library {
	l := &library{t: t, stages: workflow.Class()}
	id := func() *engine.Property { return property("id", engine.GUID, required) }
	l.book = class("book", nil, id(), property("title", engine.String, required), property("price", engine.DecimalNum), property("since", engine.DateTime),
		property("place", engine.Geo), property("secret", engine.Password), property("no", engine.Int, func(p *engine.Property) { p.Autoassigned = true }),
		property("lent", engine.Boolean, required, func(p *engine.Property) { p.Default = false }), property("made", engine.DateTime),
		property("sequel", engine.Reference, func(p *engine.Property) { p.Type = engine.Reference }))
	l.book.CreationTracker = "made"
	l.book.Properties[9].Target = l.book
	l.crime = class("crime", l.book, property("dead", engine.Int))
	l.crime.CreationTracker = "made"
	l.shelf = class("shelf", nil, id(), property("books", engine.Collection, func(p *engine.Property) { p.Target = l.book }))
	l.classes = []*engine.Class{l.stages, l.book, l.crime, l.shelf}
	for _, c := range l.classes[1:] {
		if err := c.Init(); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range l.classes[1:] {
		c.Link()
	}
	l.open()
	return l
}

// open opens a new database for the library.
func (l *library) open() {
	l.t.Helper()
	db, err := sqlite.Open(l.t.Context(), sqlite.Config{Path: filepath.Join(l.t.TempDir(), "test.db"), Synchronous: "normal"})
	if err != nil {
		l.t.Fatal(err)
	}
	data, err := store.Open(l.t.Context(), db, store.Config{Classes: l.classes, HashPassword: l.hash})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		if err := data.Close(); err != nil {
			l.t.Error(err)
		}
	})
	l.data = data
}

func (l *library) hash(_ context.Context, plain string) (string, error) {
	l.hashed++
	return "hash of " + plain, nil
}

// Class and Classes implement engine.MetaRepository. The class of stages is a system class.
func (l *library) Class(name string) (*engine.Class, error) {
	for _, c := range l.Classes() {
		if c.FullName == name {
			return c, nil
		}
	}
	return nil, engine.NoClass(name)
}

func (l *library) Classes() []*engine.Class { return l.classes[1:] }

func (l *library) config() transfer.Config {
	made := 0
	return transfer.Config{
		Data: l.data, Meta: l, System: l.classes[:1], Hash: l.hash,
		Matches: func(_ context.Context, hash, plain string) (bool, error) { return hash == "hash of "+plain, nil },
		Stage: func(c *engine.Class, id, wf, stage string) *engine.Item {
			return workflow.Stage(l.stages, c, id, wf, stage)
		},
		Generate: engine.Generate{
			GUID: func() string { made++; return fmt.Sprint("made", made) },
			Now:  func() engine.Instant { return 1000 },
		},
	}
}

func (l *library) importText(text string) *transfer.Report {
	l.t.Helper()
	r, err := transfer.Import(l.t.Context(), l.config(), transfer.NDJSON(strings.NewReader(text), "in.ndjson", int64(len(text))))
	if err != nil {
		l.t.Fatal(err)
	}
	return r
}

// export returns the output of Export.
func (l *library) export() string {
	l.t.Helper()
	var out bytes.Buffer
	_, err := transfer.Export(l.t.Context(), transfer.ExportConfig{Data: l.data, Classes: l.classes}, &out)
	if err != nil {
		l.t.Fatal(err)
	}
	return out.String()
}

func (l *library) wantExport(want string) {
	l.t.Helper()
	if got := l.export(); got != want {
		l.t.Errorf("the database is\n%s\nwant\n%s", got, want)
	}
}

// refused returns the refusals, one per line. The line of a refused value begins with "without".
func refused(r *transfer.Report) string {
	var lines []string
	for _, f := range r.Refused {
		line := f.Place() + ": " + f.Reason
		if f.Taken {
			line = "without " + line
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// TestImport imports plain NDJSON with forward references, defaults, missing and required values, stages and members.
func TestImport(t *testing.T) {
	l := openLibrary(t)
	text := `{"_class":"shelf@lib","_id":"s","books":["b2","b1"]}

{"_class":"book@lib","_id":"b1","_classVer":"2","_creator":"ann@local","_editor":"bob@local","title":"Emma","price":0.10000000000000000000001,"no":7,"sequel":"b2","secret":"x","___workflowStatus":{"lending@lib":{"stage":"out"}}}
{"_class":"crime@lib","id":"b2","no":3,"dead":2,"place":{"type":"Point","coordinates":[1.50,2]},"made":"2020-01-02T03:04:05Z","color":"red"}
`
	r := l.importText(text)
	if refused(r) != "" || !maps.Equal(r.Taken, map[string]int{"shelf@lib": 1, "book@lib": 1, "crime@lib": 1}) || !maps.Equal(r.Ignored, map[string]int{"crime@lib.color": 1}) {
		t.Fatalf("%+v\n%s", r, refused(r))
	}
	want := `{"_restsrv":"export","_version":1}
{"_class":"#stage","_id":"book@lib\tb1\tlending@lib","id":"book@lib\tb1\tlending@lib","class":"book@lib","item":"b1","workflow":"lending@lib","stage":"out"}
{"_class":"book@lib","_classVer":"2","_id":"b1","_creator":"ann@local","_editor":"bob@local","id":"b1","title":"Emma","price":0.10000000000000000000001,"secret":"hash of x","no":7,"lent":false,"made":"1970-01-01T00:00:01.000Z","sequel":"b2"}
{"_class":"crime@lib","_id":"b2","id":"b2","place":{"type":"Point","coordinates":[1.50,2]},"no":3,"lent":false,"made":"2020-01-02T03:04:05.000Z","dead":2}
{"_class":"shelf@lib","_id":"s","id":"s"}
{"_links":"shelf@lib.books","_id":"s","members":["b2","b1"]}
{"_counter":"book@lib#no","value":7}
{"_restsrv":"end","items":4}
`
	l.wantExport(want)

	// A second import changes neither the data nor the revisions.
	before := l.revisions()
	r = l.importText(text)
	if r.Count() != 3 || r.Unchanged != 3 || refused(r) != "" {
		t.Errorf("again: %+v\n%s", r, refused(r))
	}
	l.wantExport(want)
	if after := l.revisions(); !maps.Equal(before, after) {
		t.Errorf("revisions %v, then %v", before, after)
	}

	// Only differing values are changed. A password that matches the stored hash does not differ.
	r = l.importText(`{"_class":"crime@lib","_id":"b2","dead":3,"price":2.50}
{"_class":"book@lib","_id":"b1","_classVer":"2","secret":"x"}`)
	if refused(r) != "" || r.Unchanged != 1 {
		t.Errorf("%+v, %s", r, refused(r))
	}
	want = strings.Replace(want, `"id":"b2","place"`, `"id":"b2","price":2.5,"place"`, 1)
	l.wantExport(strings.Replace(want, `"dead":2`, `"dead":3`, 1))
}

// revisions returns the revisions of all books and shelves, by id.
func (l *library) revisions() map[string]uint64 {
	l.t.Helper()
	all := map[string]uint64{}
	for _, c := range []*engine.Class{l.book, l.shelf} {
		_, err := l.data.Dump(l.t.Context(), c, 0, 1000, func(it *engine.Item) error {
			all[it.ID] = it.Revision
			return nil
		})
		if err != nil {
			l.t.Fatal(err)
		}
	}
	return all
}

// TestImportRefuses checks that objects that cannot be imported are reported with their line, and
// do not stop the import.
func TestImportRefuses(t *testing.T) {
	l := openLibrary(t)
	r := l.importText(`{"_class":"book@lib","_id":"b1","title":"Emma","no":1}
nonsense
["book@lib"]
{"title":"Emma"}
{"_class":"boook@lib"}
{"_class":"#stage","_id":"x"}
{"_class":"book@lib","_id":"b2","price":"cheap"}
{"_class":"book@lib","title":"no id, no number"}
{"_class":"book@lib","_id":"b3","___workflowStatus":{"w":1}}
{"_class":"book@lib","_id":"b4","title":"Emma","no":4}`)
	want := `in.ndjson:2: malformed JSON at line 1, column 2: …
in.ndjson:3: found an array, expected a JSON object
in.ndjson:4: the object names no class, such as "_class": "note@sample"
in.ndjson:5: class "boook@lib" does not exist
in.ndjson:6: class "#stage" does not exist
without in.ndjson:7: price: found "cheap", expected a decimal number (decimal)
without in.ndjson:9: ___workflowStatus names no stage for "w"
in.ndjson:8: attribute "id" of class book@lib must have a value`
	got := strings.Split(refused(r), "\n")
	for i, pattern := range strings.Split(want, "\n") {
		if i >= len(got) || !matches(pattern, got[i]) {
			t.Errorf("got\n%s\nwant\n%s", refused(r), want)
			break
		}
	}
	if r.Count() != 4 || len(l.revisions()) != 4 || r.NotTaken() != 6 || r.Failed() != 8 {
		t.Errorf("%+v", r)
	}
}

// matches compares s with a pattern in which … stands for any text.
func matches(pattern, s string) bool {
	for i, part := range strings.Split(pattern, "…") {
		at := strings.Index(s, part)
		if at < 0 || i == 0 && at > 0 {
			return false
		}
		s = s[at+len(part):]
	}
	return true
}

// TestDirectory reads data folders.
func TestDirectory(t *testing.T) {
	l := openLibrary(t)
	folder := fstest.MapFS{
		"book@lib@a%20b.json":   {Data: []byte("\ufeff{\"title\":\"Emma\",\"no\":1,\"_class\":\"nonsense\"}")},
		"shelf@s@2.json":        {Data: []byte(`{}`)},
		"old/shelf@s.json":      {Data: []byte(`{"id":"s","books":["a b"]}`)},
		"README.md":             {Data: []byte(`{}`)},
		"book@lib@broken.json":  {Data: []byte(`{`)},
		"book@lib@%zz.json":     {Data: []byte(`{}`)},
		"nothing@lib@a.json":    {Data: []byte(`{}`)},
		"shelf@lib@a%40b.json":  {Data: []byte(`{"id":"a@b"}`)},
		"shelf@lib@other.json":  {Data: []byte(`{"id":"changed"}`)},
		"shelf@lib@number.json": {Data: []byte(`{"id":7}`)},
		"shelf@lib@pipe.json":   {Mode: fs.ModeNamedPipe | 0o600},
	}
	s, err := transfer.Directory(folder, "lib")
	if err != nil || s.Total != int64(len(folder)-1) { // README.md does not count
		t.Fatal(s.Total, err)
	}
	done := int64(0)
	cfg := l.config()
	cfg.Progress = func(n int64) { done += n }
	r, err := transfer.Import(t.Context(), cfg, s)
	if err != nil {
		t.Fatal(err)
	}
	want := `book@lib@%zz.json: the file is not named class@namespace@id.json
book@lib@broken.json: malformed JSON at line 1, column 2: the text ends too early
nothing@lib@a.json: class "nothing@lib" does not exist
shelf@lib@pipe.json: it is no file
shelf@s@2.json: class "shelf@s" does not exist
README.md: it is no object file`
	if refused(r) != want {
		t.Errorf("got\n%s\nwant\n%s", refused(r), want)
	}
	found := slices.Sorted(maps.Keys(l.revisions()))
	if !slices.Equal(found, []string{"7", "a b", "a@b", "changed", "s"}) || done != s.Total {
		t.Errorf("found %q, progress %d", found, done)
	}
}

// TestRestore checks that an export is restored byte by byte: into a new database, a second time,
// and into a database with other data.
func TestRestore(t *testing.T) {
	l := openLibrary(t)
	var text strings.Builder
	for n := range 1700 { // more than a batch and a page
		fmt.Fprintf(&text, `{"_class":"%s@lib","_id":"b%d","no":%d,"_creator":"u%d@local","title":"<&>%d"}`+"\n", []string{"book", "crime"}[n%2], n, 5000-n, n%3, n)
	}
	for n := range 3 {
		fmt.Fprintf(&text, `{"_class":"shelf@lib","_id":"s%d","books":["b3","b%d","gone"]}`+"\n", n, n)
	}
	if r := l.importText(text.String()); len(r.Refused) > 0 || r.Count() != 1703 {
		t.Fatal(r.Count(), refused(r))
	}
	export := l.export()
	other := openLibrary(t)
	other.importText(`{"_class":"book@lib","_id":"b0","title":"before","price":7}` + "\n" + `{"_class":"shelf@lib","_id":"s1","books":["b9"]}`)
	fresh := openLibrary(t)
	for range 2 {
		if r := fresh.importText(export); len(r.Refused) > 0 || r.Count() != 1703 || fresh.hashed > 0 {
			t.Fatalf("%+v", r)
		}
		fresh.wantExport(export)
	}
	if r := other.importText(export); len(r.Refused) > 0 {
		t.Fatalf("%+v", r)
	}
	sums := func(l *library) []transfer.Sum {
		s, err := transfer.Sums(t.Context(), l.data, l.classes)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if a, b := sums(l), sums(fresh); !slices.Equal(a, b) || len(a) != 5 || a[0].Count != 850 {
		t.Errorf("sums %v and %v", a, b)
	}
	if a, b := sums(l), sums(other); slices.Equal(a, b) { // b0 stays before b1, and s1 before s0
		t.Error("the sums do not depend on the order of insertion")
	}
	if !strings.Contains(other.export(), `"_id":"s1","members":["b3","b1","gone"]`) {
		t.Error("the members of an existing shelf differ from the export")
	}
}

// TestCopy checks that a copy has all data in the same order, and that a second copy does not
// change it.
func TestCopy(t *testing.T) {
	l := openLibrary(t)
	var text strings.Builder
	for n := range 1100 {
		fmt.Fprintf(&text, `{"_class":"%s@lib","_id":"b%d","no":%d,"secret":"x","_editor":"u@local","___workflowStatus":{"w":"s"}}`+"\n", []string{"book", "crime"}[n%2], n, 5000-n)
	}
	text.WriteString(`{"_class":"shelf@lib","_id":"s","books":["b3","b1","gone"]}`)
	if r := l.importText(text.String()); len(r.Refused) > 0 {
		t.Fatal(refused(r))
	}
	from, export := l.data, l.export()
	l.open()
	for range 2 {
		moved := int64(0)
		if err := transfer.Copy(t.Context(), from, l.data, l.classes, func(n int64) { moved += n }); err != nil || moved != 2201 {
			t.Fatal(moved, err)
		}
		l.wantExport(export)
	}
}

// TestRestoreRefuses checks that errors in exports are reported.
func TestRestoreRefuses(t *testing.T) {
	l := openLibrary(t)
	l.importText(`{"_class":"book@lib","_id":"b1","title":"Emma","no":1}`)
	good := l.export()
	for name, c := range map[string]struct{ text, want string }{
		"cut off":       {strings.TrimSuffix(good, `{"_restsrv":"end","items":1}`+"\n"), "the export: it is cut off: its last line is missing"},
		"lost line":     {strings.Replace(good, good[strings.Index(good, `{"_class"`):strings.Index(good, `{"_counter"`)], "", 1), "in.ndjson:3: the export was written with 1 objects, accounts and other entries, found 0"},
		"other version": {strings.Replace(good, `"_version":1`, `"_version":2`, 1), `in.ndjson:1: it was exported by another version of restsrv…`},
		"unknown class": {strings.Replace(good, "book@lib", "boook@lib", 1), `in.ndjson:2: class "boook@lib" does not exist`},
		"bad value":     {strings.Replace(good, `"no":1`, `"no":"x"`, 1), `in.ndjson:2: no: found "x"…`},
		"no key":        {strings.Replace(good, `"id":"b1",`, ``, 1), `in.ndjson:2: attribute "id" of class book@lib must have a value`},
		"not a line":    {strings.Replace(good, `{"_class"`, `["_class"`, 1), `in.ndjson:2: the line is no JSON object`},
		"no collection": {good + `{"_links":"shelf@lib.titles","_id":"s","members":["b1"]}`, `in.ndjson:5: there is no collection "shelf@lib.titles" that is kept as links`},
		"content":       {good + `{"_content":"ab","data":""}`, `in.ndjson:5: the content of files cannot be taken: there is no file storage`},
		"what":          {good + `{"_what":1}`, `in.ndjson:5: the line is none that restsrv export writes`},
	} {
		r := openLibrary(t).importText(c.text)
		if !matches(c.want, refused(r)) || len(r.Refused) != 1 {
			t.Errorf("%s: got %s, want %s", name, refused(r), c.want)
		}
	}
}

// TestLongLine checks that a line that is too long is refused, and that the other lines are
// imported.
func TestLongLine(t *testing.T) {
	l := openLibrary(t)
	long := `{"_class":"book@lib","_id":"long","title":"` + strings.Repeat("x", 64<<20) + `"}`
	r := l.importText(`{"_class":"shelf@lib","_id":"1"}` + "\n" + long + "\n" + `{"_class":"shelf@lib","_id":"3"}` + "\n" + long)
	const want = "in.ndjson:2: the line is longer than 67108864 bytes\nin.ndjson:4: the line is longer than 67108864 bytes"
	if refused(r) != want || r.Count() != 2 {
		t.Errorf("taken %d, refused %s", r.Count(), refused(r))
	}
}

// contents holds the contents of files in memory.
type contents map[string]string

func (c contents) Put(_ context.Context, r io.Reader) (string, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return "", err
	}
	hash := fmt.Sprintf("%x", len(text))
	c[hash] = string(text)
	return hash, nil
}

func (c contents) Open(_ context.Context, hash string) (io.ReadCloser, error) {
	text, ok := c[hash]
	if !ok {
		return nil, engine.Errorf(engine.NotFound, "lost-file", "lost")
	}
	return io.NopCloser(strings.NewReader(text)), nil
}

// TestContents checks that contents of files are exported in pieces, and each content once.
func TestContents(t *testing.T) {
	files := class("file", nil, property("id", engine.GUID, required), property("hash", engine.String))
	if err := files.Init(); err != nil {
		t.Fatal(err)
	}
	l := &library{t: t, classes: []*engine.Class{files}}
	l.open()
	big := strings.Repeat("0123456789", 250_000)
	from := contents{}
	for i, text := range []string{big, "", "tea", "tea"} {
		hash, _ := from.Put(t.Context(), strings.NewReader(text))
		it := &engine.Item{Class: files, Values: engine.Values{fmt.Sprint("f", i), hash}}
		if err := l.data.Import(t.Context(), []*engine.Item{it}); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	cfg := transfer.ExportConfig{Data: l.data, Classes: l.classes, Files: files, Content: from}
	if _, err := transfer.Export(t.Context(), cfg, &out); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), `"_content"`); n != 5 {
		t.Errorf("%d pieces", n)
	}
	var lost []string
	var total, written int64
	without := cfg
	without.Content = contents{}
	without.Lost = func(hash, file string) { lost = append(lost, hash+" "+file) }
	without.Begin = func(n int64) func(int64) {
		total = n
		return func(n int64) { written += n }
	}
	if _, err := transfer.Export(t.Context(), without, io.Discard); err != nil {
		t.Fatal(err)
	}
	if want := []string{"0 f1", "2625a0 f0", "3 f3"}; !slices.Equal(lost, want) {
		t.Errorf("lost contents: got %q, want %q", lost, want)
	}
	if total != 4 || written != 4 {
		t.Errorf("%d of %d items were reported as written, want 4 of 4", written, total)
	}
	to := contents{}
	l.open()
	restore := func(text string) *transfer.Report {
		r, err := transfer.Import(t.Context(), transfer.Config{Data: l.data, System: l.classes, Content: to}, transfer.NDJSON(strings.NewReader(text), "in", -1))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := restore(out.String()); len(r.Refused) > 0 || !maps.Equal(from, to) {
		t.Errorf("%s; %d contents came back", refused(r), len(to))
	}
	lines := strings.SplitAfter(out.String(), "\n")
	last := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, `"size":2500000`) })
	for name, c := range map[string]struct{ text, want string }{
		"a piece is missing":  {strings.Join(slices.Delete(slices.Clone(lines), last-1, last), ""), fmt.Sprintf("in:%d: the content 2625a0 has 2500000 bytes, found …", last)},
		"the end is missing":  {strings.Join(slices.Delete(slices.Clone(lines), last, last+1), ""), fmt.Sprintf("in:%d: the content 2625a0 is cut off", last-1)},
		"another is in there": {strings.Replace(out.String(), `"_content":"3"`, `"_content":"4"`, 1), "…the content 4 has the hash 3"},
	} {
		if r := restore(c.text); len(r.Refused) != 1 || !matches(c.want, refused(r)) {
			t.Errorf("%s: %s, want %s", name, refused(r), c.want)
		}
	}
}

// TestImportRetriesRefused checks an object that is refused at first because it depends on a
// later change: it is imported at the end.
func TestImportRetriesRefused(t *testing.T) {
	l := openLibrary(t)
	l.book.Property("title").Unique = true
	l.crime.Property("title").Unique = true
	l.open() // the store reads its classes when it is opened
	line := func(id, title string) string {
		return `{"_class":"book@lib","_id":"` + id + `","no":` + id + `,"title":"` + title + `"}` + "\n"
	}
	if r := l.importText(line("1", "Emma") + line("2", "Persuasion")); len(r.Refused) > 0 {
		t.Fatal(refused(r))
	}
	var text strings.Builder
	text.WriteString(line("1", "Persuasion"))
	for n := range 600 {
		text.WriteString(line(fmt.Sprint(n+10), fmt.Sprint("title ", n)))
	}
	text.WriteString(line("2", "Sanditon"))
	r := l.importText(text.String())
	if len(r.Refused) > 0 || r.Count() != 602 {
		t.Errorf("%d taken, %s", r.Count(), refused(r))
	}
	if !strings.Contains(l.export(), `"id":"1","title":"Persuasion"`) {
		t.Error("the object with the title that became free is missing")
	}
}

// TestImportObjectsWithoutID checks objects without the number that the server generates, so that
// they cannot be written directly. They are saved with the creator in the file, and a second
// import does not change them.
func TestImportObjectsWithoutID(t *testing.T) {
	l := openLibrary(t)
	for range 2 {
		if r := l.importText(`{"_class":"shelf@lib","_id":"s"}` + "\n" + `{"_class":"book@lib","_id":"b","title":"without a number","_creator":"ann@local"}`); len(r.Refused) > 0 {
			t.Fatal(refused(r))
		}
	}
	if !strings.Contains(l.export(), `{"_class":"book@lib","_id":"b","_creator":"ann@local","id":"b","title":"without a number","no":1,"lent":false,`) {
		t.Error(l.export())
	}
}
