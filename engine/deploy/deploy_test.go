package deploy

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/wire"
)

func TestMissingFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "deploy.json")
	c, faults := Load(file, known)
	if len(faults) != 1 || faults[0].File != file || faults[0].Found != "no such file" || faults[0].Level == engine.Warning {
		t.Errorf("got %v, want one fault of %s", faults, file)
	}
	if c == nil || c.Dir != dir {
		t.Errorf("got %v, want a configuration that knows its folder", c)
	}
	if _, faults := Load(dir, known); len(faults) != 1 || faults[0].Level == engine.Warning {
		t.Errorf("a folder in place of the file: got %v, want one fault", faults)
	}
}

// TestPathsStartAtTheDirectory checks a relative file name: the directory is absolute, and Abs
// resolves names against it.
func TestPathsStartAtTheDirectory(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write(t, dir, "-- app/my.json --\n{}\n")
	c, faults := Load("app/my.json", known)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	want, err := filepath.Abs("app")
	if err != nil {
		t.Fatal(err)
	}
	if c.Dir != want || c.File != "my.json" {
		t.Errorf("Dir %s, File %s, want %s and my.json", c.Dir, c.File, want)
	}
	if got := c.Abs("x.db"); got != filepath.Join(want, "x.db") {
		t.Errorf("Abs(x.db): got %s, want it in %s", got, want)
	}
	if got := c.Abs(want); got != want {
		t.Errorf("Abs of an absolute path: got %s, want %s", got, want)
	}
}

func TestLinksMustNotLeadOut(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	write(t, outside, "-- secret.js --\n")
	write(t, dir, "-- scripts/inner.js --\n-- deploy.json --\n"+`{"modules": {"rest": {"globals": {"di": {
 "file": {"module": "file.js"},
 "folder": {"module": "folder/secret"},
 "absent": {"module": "folder/absent.js"},
 "loop": {"module": "loop.js"},
 "inner": {"module": "inner.js"},
 "inner-folder": {"module": "again/inner"}}}}}}`)
	for link, target := range map[string]string{
		"file.js": filepath.Join(outside, "secret.js"), "folder": outside,
		"loop.js": "loop.js", "inner.js": "scripts/inner.js", "again": "scripts",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Skip("no symbolic links here:", err)
		}
	}
	c, faults := Load(filepath.Join(dir, "deploy.json"), known)
	var at []string
	for _, f := range faults {
		at = append(at, f.Path)
		if strings.Contains(f.String(), outside) {
			t.Errorf("got a fault with the target of the link: %s", f)
		}
	}
	di := "modules.rest.globals.di."
	if got, want := strings.Join(at, " "), di+"file.module "+di+"folder.module "+di+"absent.module"; got != want {
		t.Errorf("faults at %s, want %s", got, want)
	}
	got := map[string]string{}
	for _, s := range c.Services {
		got[s.Name] = s.Script
	}
	if got["inner"] != "inner.js" || got["inner-folder"] != "again/inner.js" || got["loop"] != "loop.js" {
		t.Errorf("got the scripts %v, want those behind links inside the directory", got)
	}
}

// TestLinkedDirectory checks that the path of the application directory may contain a symbolic
// link.
func TestLinkedDirectory(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "-- real/x.js --\n-- real/deploy.json --\n"+`{"modules": {"rest": {"globals": {"di": {"x": {"module": "x"}}}}}}`)
	if err := os.Symlink("real", filepath.Join(dir, "link")); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	c, faults := Load(filepath.Join(dir, "link", "deploy.json"), known)
	if len(faults) > 0 || c.Services[0].Script != "x.js" || c.Services[0].Missing {
		t.Errorf("got %+v, %v, want the script x.js", c.Services, faults)
	}
}

func TestResolve(t *testing.T) {
	v, err := wire.Decode([]byte(`{"repo": "ion://dataRepo", "late": "lazy://metaRepo", "name": "dataRepo", "none": null,
		"list": ["ion://dataRepo", 1, {"deep": "ion://metaRepo", "b": true}]}`))
	if err != nil {
		t.Fatal(err)
	}
	data, meta := &struct{ n int }{1}, &struct{ n int }{2}
	o, err := Resolve(v.(engine.Fields), map[string]any{"dataRepo": data, "metaRepo": meta})
	if err != nil {
		t.Fatal(err)
	}
	if o["repo"] != data || o["late"] != meta || o["name"] != "dataRepo" || o["none"] != nil || len(o) != 5 {
		t.Errorf("got %v, want resolved references", o)
	}
	list := o["list"].([]any)
	if deep, _ := list[2].(engine.Fields).Get("deep"); list[0] != data || deep != meta {
		t.Errorf("inner references: got %v, want resolved ones", list)
	}
	if first := v.(engine.Fields)[4].Value.([]any)[0]; first != "ion://dataRepo" {
		t.Error("Resolve changed its argument")
	}
}

func TestResolveUnknown(t *testing.T) {
	options := engine.Fields{{Name: "x", Value: []any{engine.Fields{{Name: "y", Value: "ion://datRepo"}}}}}
	_, err := Resolve(options, map[string]any{"dataRepo": 1})
	if engine.CodeOf(err) != engine.Invalid || !strings.Contains(err.Error(), `option "x"`) || !strings.Contains(err.Error(), `"dataRepo"`) {
		t.Errorf("got %v, want it to name option and nearest component", err)
	}
	if o, err := Resolve(nil, nil); err != nil || o == nil || len(o) != 0 {
		t.Errorf("no options: got %v, %v, want an empty object", o, err)
	}
}

type classes []*engine.Class

func (cs classes) Classes() []*engine.Class { return cs }

func (cs classes) Class(name string) (*engine.Class, error) {
	for _, c := range cs {
		if c.FullName == name {
			return c, nil
		}
	}
	return nil, engine.NoClass(name)
}

func sampleClasses(t *testing.T) classes {
	t.Helper()
	note := &engine.Class{Name: "note", Namespace: "app", Key: []string{"id"}, Properties: []*engine.Property{
		{Name: "id", Type: engine.String},
		{Name: "title", Type: engine.String, Size: 5},
		{Name: "done", Type: engine.Boolean, Nullable: true},
		{Name: "state", Type: engine.String, Default: "new"},
	}}
	base := &engine.Class{Name: "base", Namespace: "app", Abstract: true, Key: []string{"id"},
		Properties: []*engine.Property{{Name: "id", Type: engine.GUID, Autoassigned: true}}}
	for _, c := range []*engine.Class{note, base} {
		if err := c.Init(); err != nil {
			t.Fatal(err)
		}
	}
	return classes{base, note}
}

func records(t *testing.T, objects string) ([]engine.Record, engine.Faults) {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "-- deploy.json --\n"+`{"namespace": "app", "objects": `+objects+`}`)
	c, faults := Load(filepath.Join(dir, "deploy.json"), known)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	got, places, faults := c.Records(sampleClasses(t))
	if len(got) != len(places) {
		t.Errorf("got %d records with %d places, want the same number", len(got), len(places))
	}
	return got, faults
}

func TestRecords(t *testing.T) {
	got, faults := records(t, `[
 {"_class": "note", "id": "a", "title": "A", "done": "true", "__string": "ignored"},
 {"_class": "note@app", "_id": "b", "title": "B"}]`)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	if len(got) != 2 || got[0].ID != "" || got[0].Values[0] != "a" || got[0].Values[2] != true || got[0].Values[3] != engine.Absent {
		t.Errorf("got %+v, want two records, the first without an id", got)
	}
	if got[1].ID != "b" || got[1].Class.FullName != "note@app" || got[1].Values[0] != engine.Absent {
		t.Errorf("got %+v, want note b", got[1])
	}
}

// TestRecordsAskNothingThatIsMade checks that an object in deploy.json is valid without the
// values that the server sets: generated and computed values, times and accounts of changes, and
// attributes that are not stored.
func TestRecordsAskNothingThatIsMade(t *testing.T) {
	c := &engine.Class{Name: "made", Key: []string{"id"}, CreationTracker: "at", EditorTracker: "by", Properties: []*engine.Property{
		{Name: "id", Type: engine.Int, Autoassigned: true},
		{Name: "at", Type: engine.DateTime}, {Name: "by", Type: engine.User},
		{Name: "next", Type: engine.Int, Computed: one{}}, {Name: "sum", Type: engine.Int, Formula: one{}},
		{Name: "items", Type: engine.Collection}, {Name: "title", Type: engine.String},
	}}
	if err := c.Init(); err != nil {
		t.Fatal(err)
	}
	config := &Config{File: "deploy.json", Objects: []Object{{Class: "made", Path: "objects[0]"}}}
	_, _, faults := config.Records(classes{c})
	want := `deploy.json: objects[0]: found no title, expected a value of attribute "title", which must have one: the object is not created`
	if got := faults.Error(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// one is a formula with the constant value 1.
type one struct{}

func (one) Needs() [][]*engine.Property { return nil }

func (one) Eval(context.Context, *engine.Item, engine.FormulaData) (any, error) {
	return int64(1), nil
}

func TestRecordsFindEveryFault(t *testing.T) {
	_, faults := records(t, `[
 {"_class": "notes", "id": "a"},
 {"_class": "base"},
 {"_class": "note", "id": "a", "title": "too long", "done": "maybe", "tilte": "x"},
 {"_class": "note", "id": null, "state": null}]`)
	want := `deploy.json: objects[0]._class: found class "notes@app", which does not exist, expected "note@app": the object is not created
deploy.json: objects[1]._class: found abstract class "base@app", expected a class that can have items: the object is not created
deploy.json: objects[2].title: found "too long", expected at most 5 characters: the object is not created
deploy.json: objects[2].done: found "maybe", expected a value of type boolean: the object is not created
deploy.json: objects[2].tilte: found attribute "tilte", which class note@app does not have, expected "title": the object is not created
deploy.json: objects[3]: found no id, expected a value of attribute "id", which must have one: the object is not created
deploy.json: objects[3]: found no title, expected a value of attribute "title", which must have one: the object is not created
deploy.json: objects[3]: found no state, expected a value of attribute "state", which must have one: the object is not created`
	if got := faults.Error(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestLocate(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "-- deploy.json --\n{\n  \"classes\": [\n    {\"name\": \"a\"},\n    {\"name\": \"b\", \"odd name\": {\"x\": 1}}\n  ]\n}\n"+
		"-- meta/a.class.json --\n\ufeff{\"k\":\n\t\"v\"}\n-- broken.json --\n{\"k\":\n")
	in := engine.Faults{
		{File: "deploy.json", Path: `classes[1]["odd name"].x`, Expected: "5"},
		{File: "meta/a.class.json", Path: "k", Expected: "6"},
		{File: "deploy.json", Path: "classes[1].missing[3].more", Expected: "4"},
		{File: "deploy.json", Path: "classes[0].name", Expected: "3"},
		{File: "deploy.json", Path: "nowhere", Expected: "2"},
		{File: "deploy.json", Expected: "1"},
		{File: "broken.json", Path: "k", Expected: "7"},
		{File: "gone.json", Path: "k", Expected: "8"},
		{File: "../outside.json", Path: "k", Expected: "9"},
	}
	want := `deploy.json:1:1: nowhere: expected 2
deploy.json:1:1: expected 1
deploy.json:3:6: classes[0].name: expected 3
deploy.json:4:5: classes[1].missing[3].more: expected 4
deploy.json:4:32: classes[1]["odd name"].x: expected 5
meta/a.class.json:1:2: k: expected 6
broken.json: k: expected 7
gone.json: k: expected 8
../outside.json: k: expected 9`
	c := &Config{Dir: dir, File: "deploy.json"}
	if got := c.Locate(in).Error(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if in[0].Line != 0 || in[0].Expected != "5" {
		t.Error("Locate changed its argument")
	}
}

// TestSample checks that the sample application of the repository has no faults and registers the
// services that its documents describe.
func TestSample(t *testing.T) {
	c, faults := Load("../../deploy.json", known)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	want := map[string]engine.AuthMode{"crud": engine.AuthPwd, "acceptor": engine.AuthPwd, "string-list": engine.AuthPwd, "token": engine.AuthPwd, "meta": engine.AuthPwd,
		"echo": engine.AuthNone, "simple": engine.AuthPwd, "echo-pwd": engine.AuthPwd, "echo-token": engine.AuthToken, "echo-oauth": engine.AuthOAuth}
	for _, s := range c.Services {
		if mode, ok := want[s.Name]; !ok || mode != s.Mode {
			t.Errorf("service %s has mode %s, want %s", s.Name, s.Mode, mode)
		}
		delete(want, s.Name)
	}
	if len(want) > 0 || len(c.Classes) != 1 || len(c.Objects) < 3 || c.TokenLifetime != 30*24*time.Hour {
		t.Errorf("services %v are missing, or classes or objects", want)
	}
}

// FuzzLoad checks that Load returns a configuration for any content of the file, and that every
// fault has a position and shows the value found there.
func FuzzLoad(f *testing.F) {
	cases, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range cases {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		text, _, _ := strings.Cut(strings.TrimPrefix(string(data), "-- deploy.json --\n"), "\n-- ")
		f.Add([]byte(text))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		file := filepath.Join(dir, "deploy.json")
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		c, faults := Load(file, known)
		_, err := wire.Decode(bytes.TrimPrefix(data, byteOrderMark))
		for i, fault := range faults {
			if fault.File != "deploy.json" || fault.Expected == "" || strings.ContainsAny(fault.String(), "\n\x00") {
				t.Fatalf("got the incomplete fault %#v", fault)
			}
			if err == nil && fault.Path != "" && fault.Line == 0 {
				t.Fatalf("got fault %s without a line, want one", fault)
			}
			if i > 0 && (fault.Line < faults[i-1].Line || fault.Line == faults[i-1].Line && fault.Column < faults[i-1].Column) {
				t.Fatalf("got fault %s after %s, want the order of the file", fault, faults[i-1])
			}
		}
		for _, s := range c.Services {
			if s.Path == "" || (s.Builtin == "") == (s.Script == "") && !s.Broken || !pathSegment(s.Name) {
				t.Fatalf("got the service %+v, want a path and either a builtin or a script", s)
			}
			if s.Script != "" && !filepath.IsLocal(s.Script) {
				t.Fatalf("got script %q, want a local path", s.Script)
			}
		}
		errs, _ := faults.Split(false)
		if err != nil && len(errs) == 0 {
			t.Fatalf("malformed JSON: got no fault, want one: %q", data)
		}
	})
}
