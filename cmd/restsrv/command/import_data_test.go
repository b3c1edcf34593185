package command_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/cmd/restsrv/command"
	"restsrv/engine/store/postgres/pgtest"
)

// dataApp is an application with a data folder and a database.
type dataApp struct {
	*testing.T
	dir, db string
}

const dataAppMeta = `{"name": "doc", "key": ["id"], "properties": [{"name": "id", "type": "string"},
 {"name": "title", "type": "string", "nullable": true}, {"name": "no", "type": "int", "nullable": true}, {"name": "price", "type": "decimal", "nullable": true},
 {"name": "at", "type": "datetime", "nullable": true}, {"name": "open", "type": "boolean", "nullable": true}, {"name": "any", "type": "custom", "nullable": true},
 {"name": "next", "type": "reference", "refClass": "doc", "nullable": true}, {"name": "scan", "type": "file", "nullable": true},
 {"name": "photo", "type": "image", "nullable": true}, {"name": "more", "type": "filelist", "nullable": true}]}`

func newDataApp(t *testing.T, db string) *dataApp {
	a := &dataApp{t, t.TempDir(), db}
	a.save("deploy.json", `{"namespace": "a"}`)
	a.save("meta/doc.class.json", dataAppMeta)
	return a
}

func (a *dataApp) save(name, text string) {
	a.Helper()
	file := filepath.Join(a.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		a.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		a.Fatal(err)
	}
}

// zip saves a zip file. files are alternately names and contents.
func (a *dataApp) zip(name string, files ...string) {
	a.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		f, err := w.Create(files[i])
		if err == nil {
			_, err = f.Write([]byte(files[i+1]))
		}
		if err != nil {
			a.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		a.Fatal(err)
	}
	a.save(name, b.String())
}

// command runs restsrv and returns its output.
func (a *dataApp) command(args ...string) (out string, err error) {
	a.Helper()
	var stdout, stderr apptest.Buffer
	args = slices.Insert(args, 1, "-config", filepath.Join(a.dir, "deploy.json"))
	env := func(name string) string { return map[string]string{"RESTSRV_DB": a.db}[name] }
	err = command.Run(context.Background(), args, command.Stdio{In: strings.NewReader(""), Out: &stdout, Err: &stderr, Env: env})
	if err != nil {
		return stdout.String() + stderr.String() + err.Error(), err
	}
	return stdout.String(), nil
}

func (a *dataApp) must(args ...string) string {
	a.Helper()
	out, err := a.command(args...)
	if err != nil {
		a.Fatalf("restsrv %v: %v\n%s", args, err, out)
	}
	return out
}

// onBoth runs a test on an application with SQLite and on one with PostgreSQL.
func onBoth(t *testing.T, test func(a *dataApp)) {
	t.Run("sqlite", func(t *testing.T) { test(newDataApp(t, "")) })
	t.Run("postgres", func(t *testing.T) { test(newDataApp(t, pgtest.Database(t))) })
}

// TestImportZip checks that zip files of a data folder are imported after its plain
// files, and which of their entries are rejected.
func TestImportZip(t *testing.T) {
	onBoth(t, func(a *dataApp) {
		a.save("data/doc@a@d1.json", `{"title": "plain", "no": 1}`)
		a.save("data/sequences.data", `{"s": 10, "t": 3}`)
		a.zip("data/more/all.zip",
			"doc@a@d1.json", `{"title": "zipped"}`,
			"deep/er/doc@a@d2.json", `{"no": "many", "title": "two"}`,
			`win\doc@a@d3.json`, `{"title": "three"}`,
			"../doc@a@out.json", `{}`, "/doc@a@root.json", `{}`, "c:/doc@a@disk.json", `{}`, `..\doc@a@back.json`, `{}`,
			"broken@a@b.json", `{`, "doc.json", `{"id": "d4"}`, "notes.txt", "x", "empty/", "",
			"__MACOSX/._doc@a@d1.json", "\x00\x05",
			"sequences.data", `{"s": 7, "t": 8}`)
		damaged := zipOf(a.T, zip.Deflate, "doc@a@d5.json", strings.Repeat(`{"title": "five"} `, 99))
		damaged[48] ^= 0xff
		a.save("data/zz.zip", string(damaged))
		out, err := a.command("import", a.dir)
		if err == nil {
			a.Error("import: got no error, want one")
		}
		for _, want := range []string{
			"       5  doc@a",
			"       4  sequences taken",
			`not taken: more/all.zip/deep/er/doc@a@d2.json:1:2: no: found "many", expected a whole number of 64 bits (int): the object is taken without this value`,
			"not taken: more/all.zip/../doc@a@out.json: the name leads out of the zip file",
			"not taken: more/all.zip//doc@a@root.json: the name leads out of the zip file",
			"not taken: more/all.zip/c:/doc@a@disk.json: the name leads out of the zip file",
			`not taken: more/all.zip/..\doc@a@back.json: the name leads out of the zip file`,
			"not taken: more/all.zip/broken@a@b.json: malformed JSON at line 1",
			"warning: more/all.zip/notes.txt: it is no object file",
			"warning: more/all.zip/__MACOSX/._doc@a@d1.json: it is no object file",
			"not taken: zz.zip/doc@a@d5.json: it cannot be unpacked",
		} {
			if !strings.Contains(out, want) {
				a.Errorf("the import does not print %q:\n%s", want, out)
			}
		}
		export := a.must("export")
		for _, want := range []string{`"id":"d1","title":"zipped","no":1}`, `"id":"d2","title":"two"}`, `"id":"d3","title":"three"}`, `"id":"d4"}`,
			`{"_counter":"#s","value":10}`, `{"_counter":"#t","value":8}`} {
			if !strings.Contains(export, want) {
				a.Errorf("the export does not have %s:\n%s", want, export)
			}
		}
		// The plain file and the zip file both contain d1 and change it in turn. All other
		// objects stay unchanged.
		if out, _ := a.command("import", a.dir); !strings.Contains(out, "3 of them were there as they are") {
			a.Errorf("the second import: got\n%s\nwant 3 unchanged objects", out)
		}
		if again := a.must("export"); again != export {
			a.Errorf("the second import changed the data: before\n%s\nafter\n%s", export, again)
		}
	})
}

// zipOf returns a zip file with one file.
func zipOf(t *testing.T, method uint16, name, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: method})
	if err == nil {
		_, err = f.Write([]byte(text))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestImportLinks checks that an import does not follow links that lead out of the data folder,
// even to another part of the application.
func TestImportLinks(t *testing.T) {
	a := newDataApp(t, "")
	a.save("secret.txt", "secret")
	a.save("data/files/inside.txt", "inside")
	for name, target := range map[string]string{"out.txt": filepath.Join(a.dir, "secret.txt"), "up.txt": "../secret.txt", "in.txt": "files/inside.txt", "folder": ".."} {
		if err := os.Symlink(target, filepath.Join(a.dir, "data", name)); err != nil {
			t.Fatal(err)
		}
	}
	for i, name := range []string{"out.txt", "up.txt", "folder/secret.txt", "files/../../secret.txt", "in.txt"} {
		a.save(fmt.Sprintf("data/doc@a@%d.json", i), fmt.Sprintf(`{"scan": {"_type": "$$FILE$$", "path": %q}}`, name))
	}
	out, _ := a.command("import", a.dir)
	if n := strings.Count(out, "leads out of the data folder"); n != 4 {
		t.Errorf("%d paths lead out of the data folder, want 4:\n%s", n, out)
	}
	export := a.must("export", "-files")
	if strings.Contains(export, base64.StdEncoding.EncodeToString([]byte("secret"))) || !strings.Contains(export, base64.StdEncoding.EncodeToString([]byte("inside"))) {
		t.Errorf("export: want only the content of files/inside.txt, got\n%s", export)
	}
}

// docs holds random objects: their fields by id. Files are values of the type docFile.
type docs map[string]map[string]any

// docFile is a file of an object.
type docFile struct {
	Name, Type string
	Content    string
}

func randomDocs(r *rand.Rand) docs {
	text := func() string {
		letters := []rune("abc äß \"\\/<>&\n\t€😀%@.")
		b := make([]rune, r.IntN(12))
		for i := range b {
			b[i] = letters[r.IntN(len(letters))]
		}
		return string(b)
	}
	file := func() docFile {
		content := make([]byte, []int{0, 1, 70, 3000, 1_200_000}[r.IntN(5)%(4+r.IntN(2))])
		for i := range content {
			content[i] = byte(r.Uint32())
		}
		return docFile{[]string{"a.txt", "Отчёт.pdf", "x y.bin"}[r.IntN(3)], []string{"", "text/plain", "image/png"}[r.IntN(3)], string(content)}
	}
	values := map[string]func() any{
		"title": func() any { return text() }, "no": func() any { return r.Int64() - r.Int64() }, "open": func() any { return r.IntN(2) == 0 },
		"price": func() any { return json.Number(fmt.Sprintf("%d.%d", r.IntN(1000), 1+r.IntN(9))) },
		"at":    func() any { return fmt.Sprintf("20%02d-03-04T05:06:07.%03dZ", r.IntN(100), r.IntN(1000)) },
		"any":   func() any { return map[string]any{"t": text(), "n": []any{r.IntN(9), nil}} },
		"next":  func() any { return fmt.Sprint("d ", r.IntN(40)) }, "scan": func() any { return file() }, "photo": func() any { return file() },
		"more": func() any {
			list := make([]docFile, r.IntN(4))
			for i := range list {
				list[i] = file()
			}
			return list
		},
	}
	all := docs{}
	for n := range 5 + r.IntN(25) {
		d := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(values)) {
			switch r.IntN(4) {
			case 0:
			case 1:
				d[name] = nil
			default:
				d[name] = values[name]()
			}
		}
		all[fmt.Sprint("d ", n)] = d
	}
	return all
}

// write saves objects in the data folder, as plain files or in zip files. The content of a file is
// part of the object or a separate file.
func (a *dataApp) write(r *rand.Rand, all docs) {
	var zipped []string
	contents := 0
	form := func(f docFile) any {
		out := map[string]any{"_type": "$$FILE$$", "name": f.Name, "options": map[string]any{"mimetype": f.Type}}
		if r.IntN(3) == 0 {
			contents++
			out["path"] = fmt.Sprintf("contents/%d", contents)
			a.save("data/"+out["path"].(string), f.Content)
		} else {
			out["buffer"] = base64.StdEncoding.EncodeToString([]byte(f.Content))
		}
		return out
	}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		d := maps.Clone(all[id])
		d["id"] = id
		for name, v := range d {
			switch v := v.(type) {
			case docFile:
				d[name] = form(v)
			case []docFile:
				list := []any{}
				for _, f := range v {
					list = append(list, form(f))
				}
				d[name] = list
			}
		}
		text, err := json.Marshal(d)
		if err != nil {
			a.Fatal(err)
		}
		name := []string{"doc@a@" + strings.ReplaceAll(id, " ", "%20") + ".json", fmt.Sprintf("x%d/doc.json", len(zipped)/2), fmt.Sprintf("x%d/doc@a@other.json", len(zipped)/2)}[r.IntN(3)]
		if r.IntN(2) == 0 {
			zipped = append(zipped, name, string(text))
		} else {
			a.save(fmt.Sprintf("data/%08x/%s", crc32.ChecksumIEEE([]byte(id)), name), string(text))
		}
	}
	a.zip("data/rest.zip", zipped...)
}

// read returns the objects of an export with files.
func (a *dataApp) read(export string) docs {
	all, contents := docs{}, map[string]string{}
	var lines []map[string]any
	for line := range strings.Lines(export) {
		decoder := json.NewDecoder(strings.NewReader(line))
		decoder.UseNumber()
		var v map[string]any
		if err := decoder.Decode(&v); err != nil {
			a.Fatal(err)
		}
		if hash, ok := v["_content"].(string); ok {
			data, _ := base64.StdEncoding.DecodeString(v["data"].(string))
			contents[hash] += string(data)
		}
		lines = append(lines, v)
	}
	file := func(v any) docFile {
		f := v.(map[string]any)
		name, _ := f["name"].(string)
		typ, _ := f["mimeType"].(string)
		content, ok := contents[fmt.Sprint(f["hash"])]
		if !ok {
			a.Errorf("export: got no content of %v, want it", f)
		}
		return docFile{name, typ, content}
	}
	for _, v := range lines {
		if v["_class"] != "doc@a" {
			continue
		}
		d := map[string]any{}
		for name, value := range v {
			switch {
			case strings.HasPrefix(name, "_") || name == "id":
			case name == "scan" || name == "photo":
				d[name] = file(value)
			case name == "more":
				list := []docFile{}
				for _, f := range value.([]any) {
					list = append(list, file(f))
				}
				d[name] = list
			default:
				d[name] = value
			}
		}
		all[v["id"].(string)] = d
	}
	return all
}

// same compares objects. A value that is null is equal to a missing value.
func (all docs) same(t *testing.T, want docs) {
	t.Helper()
	if len(all) != len(want) {
		t.Errorf("%d objects, want %d", len(all), len(want))
	}
	for id, d := range want {
		for name, v := range d {
			if got := fmt.Sprintf("%v", all[id][name]); v != nil && got != fmt.Sprintf("%v", v) || v == nil && all[id][name] != nil {
				t.Errorf("%s.%s: got %.200q, want %.200v", id, name, got, v)
			}
		}
	}
}

// TestImportRoundTrip imports random objects with files in the format of IONDV, and compares the
// stored objects with them. A second import must change nothing. Then it writes the stored
// objects in the format of IONDV and imports this copy, which must give the same objects.
func TestImportRoundTrip(t *testing.T) {
	t.Parallel()
	seeds := 3
	if os.Getenv("RESTSRV_LONG") != "" {
		seeds = 40
	}
	for seed := range uint64(seeds) {
		onBoth(t, func(a *dataApp) {
			r := rand.New(rand.NewPCG(seed, 8))
			want := randomDocs(r)
			a.write(r, want)
			out := a.must("import", "-strict", a.dir)
			if !strings.Contains(out, fmt.Sprintf("%8d  objects of 1 classes taken\n", len(want))) {
				t.Fatalf("seed %d: import: want all objects taken, got\n%s", seed, out)
			}
			export := a.must("export", "-files")
			a.read(export).same(a.T, want)
			out = a.must("import", a.dir)
			if again := a.must("export", "-files"); again != export || !strings.Contains(out, fmt.Sprintf(", %d of them were there as they are", len(want))) {
				a.Errorf("seed %d: the second import: want no changed objects, got\n%s", seed, out)
			}
			other := newDataApp(a.T, "")
			other.write(r, a.read(export))
			other.must("import", "-strict", other.dir)
			other.read(other.must("export", "-files")).same(a.T, want)
		})
	}
}
