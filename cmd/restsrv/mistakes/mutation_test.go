package mistakes

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/engine"
	"restsrv/engine/server"
	"restsrv/engine/server/appdata"
	"restsrv/engine/wire"
)

// TestMutatedClassFiles makes random changes to the class files of applications, one at a time. The
// application must start in at least 95 % of the cases, the server must never panic, and each
// refusal must name a file and a line. It tries the first RESTSRV_MUTATIONS (150) changes of the
// seed RESTSRV_SEED (1).
func TestMutatedClassFiles(t *testing.T) {
	t.Parallel()
	apptest.EachApplication(t, mutateClassFiles)
}

func mutateClassFiles(t *testing.T, app *apptest.Application) {
	dir, from := t.TempDir(), app.Original(t)
	for _, name := range []string{"deploy.json", "meta", "workflows"} {
		copyTree(t, filepath.Join(from, name), filepath.Join(dir, name))
	}
	files, err := filepath.Glob(filepath.Join(dir, "meta", "*.class.json"))
	if err != nil || len(files) == 0 {
		t.Fatal("no class files", err)
	}
	total, seed := mutations(app), environmentNumber("RESTSRV_SEED", 1)
	if apptest.RaceDetector {
		total = min(total, 30) // the parts of this test run one after the other
	}
	unchanged, err := server.LoadApplication(filepath.Join(dir, "deploy.json"), false)
	if err != nil {
		t.Fatal(err)
	}
	core, err := openTemporary(t, unchanged)
	if err != nil {
		t.Fatal(err)
	}
	defer core.Close()
	refused := 0
	for i := range total {
		m := &classMutation{Rand: rand.New(rand.NewPCG(uint64(seed), uint64(i)))}
		file := files[m.IntN(len(files))]
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		mutated := m.mutate(t, text)
		if err := os.WriteFile(file, mutated, 0o644); err != nil {
			t.Fatal(err)
		}
		err = startMutated(t, dir, core, i%20 == 0)
		if err != nil {
			refused++
			t.Logf("mutation %d: %s: %s: refused: %v", i, filepath.Base(file), m.done, err)
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d of %d mutations were refused", refused, total)
	if refused*20 > total {
		t.Errorf("%d of %d mutations were refused, want at most 5 %%", refused, total)
	}
}

// environmentNumber returns the number in an environment variable, or def.
func environmentNumber(name string, def int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return def
}

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(from); err != nil {
		t.Fatal(err)
	} else if info.IsDir() {
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// startMutated loads the application and creates its tables in an open database. If full is set, it
// creates them in a new database and lists the objects of each class.
func startMutated(t *testing.T, dir string, core *appdata.Database, full bool) error {
	t.Helper()
	a, err := server.LoadApplication(filepath.Join(dir, "deploy.json"), false)
	if err != nil {
		var faults engine.Faults
		if !errors.As(err, &faults) {
			t.Errorf("got a refusal without a file: %v", err)
		}
		for _, f := range faults {
			if f.File == "" || f.Line == 0 {
				t.Errorf("got a refusal without a file or line: %s", f)
			}
		}
		return err
	}
	for _, w := range a.Warnings {
		if w.Level == engine.Mistake && (w.File == "" || w.Code == "" || w.Resolution == "") {
			t.Errorf("got a mistake without file, code or resolution: %s", w)
		}
	}
	if !full {
		if _, err := core.Core.With(append(a.Meta.Classes(), core.System.Classes()...)); err != nil {
			t.Errorf("layout of the tables: got the error %v, want none", err)
			return err
		}
		return nil
	}
	d, err := openTemporary(t, a)
	if err != nil {
		t.Errorf("opening the database with the classes: got the error %v, want none", err)
		return err
	}
	defer d.Close()
	for _, c := range a.Meta.Classes() {
		if err := d.Store.List(t.Context(), &engine.Query{Class: c, Count: 5}, func(*engine.Item) error { return nil }); err != nil {
			t.Errorf("listing %s: %v", c.FullName, err)
		}
	}
	return nil
}

// openTemporary opens a new database with the classes of an application.
func openTemporary(t *testing.T, a *appdata.App) (*appdata.Database, error) {
	config := *a.Config
	config.Synchronous = "normal"
	return appdata.Open(t.Context(), &config, "sqlite:"+filepath.Join(t.TempDir(), "mutated.db"), appdata.Options{Classes: a.Meta.Classes(), Log: slog.New(slog.DiscardHandler)})
}

// classMutation is one random change of a class file.
type classMutation struct {
	*rand.Rand
	done string // description of the change
}

func (m *classMutation) mutate(t *testing.T, text []byte) []byte {
	t.Helper()
	v, err := wire.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	class, ok := v.(engine.Fields)
	if !ok {
		t.Fatalf("class file: got %s, want an object", text)
	}
	given, _ := class.Get("properties")
	list, _ := given.([]any)
	at := m.IntN(len(list) + 1)
	if at == len(list) {
		return engine.AppendValue(nil, m.change(class))
	}
	attribute, _ := list[at].(engine.Fields)
	changed := slices.Clone(list)
	if m.IntN(5) == 0 {
		m.done = fmt.Sprintf("attribute %d twice", at)
		copied := m.change(attribute)
		if name, ok := attribute.Get("name"); ok {
			copied = slices.Clone(copied).With("name", name)
		}
		changed = append(changed, copied)
	} else {
		changed[at] = m.change(attribute)
	}
	return engine.AppendValue(nil, slices.Clone(class).With("properties", changed))
}

// change changes one field of a class or of an attribute.
func (m *classMutation) change(fields engine.Fields) engine.Fields {
	if len(fields) == 0 {
		return fields
	}
	fields = slices.Clone(fields)
	i := m.IntN(len(fields))
	f := &fields[i]
	m.done += " " + f.Name
	switch m.IntN(4) {
	case 0:
		m.done += " deleted"
		return slices.Delete(fields, i, i+1)
	case 1:
		m.done += " retyped"
		types := []any{json.Number("99"), "nothing", "13", nil}
		for n := range 20 {
			types = append(types, json.Number(strconv.Itoa(n)))
		}
		return fields.With("type", types[m.IntN(len(types))])
	case 2:
		targets := slices.DeleteFunc([]string{"refClass", "itemsClass", "ancestor", "backRef", "backColl", "binding", "key", "name", "semantic"}, func(name string) bool {
			v, ok := fields.Get(name)
			return !ok || v == nil || v == ""
		})
		if len(targets) > 0 {
			name := targets[m.IntN(len(targets))]
			m.done += " and " + name + " renamed"
			return fields.With(name, "other"+strings.Repeat("x", m.IntN(3)))
		}
	}
	others := []any{nil, true, false, json.Number("5"), json.Number("-1.5"), json.Number("0"), "", "text", "id", []any{}, []any{"id"}, []any{json.Number("1"), nil},
		engine.Fields{}, engine.Fields{{Name: "a", Value: "b"}}}
	f.Value = others[m.IntN(len(others))]
	m.done += " = " + string(engine.AppendValue(nil, f.Value))
	return fields
}

// mutations returns the number of mutations to try: RESTSRV_MUTATIONS, or 150 by default. For the
// application library it is a fifth of this number if the test also tries develop-and-test.
func mutations(a *apptest.Application) int {
	n := environmentNumber("RESTSRV_MUTATIONS", 150)
	if a == apptest.Library && apptest.HasDevelopAndTest() {
		n /= 5
	}
	return n
}
