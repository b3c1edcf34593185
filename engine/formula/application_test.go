package formula_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/formula"
	"restsrv/engine/wire"
)

// metaFolder finds the class files of the application that this project is
// tried on, beside one of the folders above this one; "" when it is not there.
func metaFolder() string {
	dir, err := os.Getwd()
	for err == nil {
		for _, shared := range []string{"shared", filepath.Join("..", "shared")} {
			meta := filepath.Join(dir, shared, "apps", "develop-and-test", "meta")
			if _, err := os.Stat(meta); err == nil {
				return meta
			}
		}
		if dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	if dir := os.Getenv("RESTSRV_TEST_APPS"); dir != "" {
		return filepath.Join(dir, "develop-and-test", "meta")
	}
	return ""
}

func get(v any, name string) any {
	f, ok := v.(engine.Fields)
	if !ok {
		return nil
	}
	v, _ = f.Get(name)
	return v
}

func textOf(v any, name string) string {
	s, _ := get(v, name).(string)
	return s
}

// readClasses reads class files as far as formulas depend on them.
func readClasses(t *testing.T, folder string) (map[string]*engine.Class, map[string]engine.Fields) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.class.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no class files: %v", err)
	}
	classes, sources := map[string]*engine.Class{}, map[string]engine.Fields{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		v, err := wire.Decode(data)
		if err != nil {
			t.Fatalf("%s: %v", filepath.Base(file), err)
		}
		name := textOf(v, "name")
		classes[name], sources[name] = &engine.Class{Name: name, Namespace: "develop-and-test"}, v.(engine.Fields)
	}
	for name, c := range classes {
		fillClass(c, classes, sources, name)
		if err := c.Init(); err != nil {
			t.Fatal(err)
		}
	}
	return classes, sources
}

// fillClass takes the properties of a class and its ancestors.
func fillClass(c *engine.Class, classes map[string]*engine.Class, sources map[string]engine.Fields, name string) {
	seen := map[string]bool{}
	for ; name != ""; name, _, _ = strings.Cut(textOf(sources[name], "ancestor"), "@") {
		if keys, ok := get(sources[name], "key").([]any); ok && len(c.Key) == 0 {
			for _, k := range keys {
				c.Key = append(c.Key, k.(string))
			}
		}
		properties, _ := get(sources[name], "properties").([]any)
		for _, source := range properties {
			p := &engine.Property{Name: textOf(source, "name"), Nullable: true}
			if seen[p.Name] {
				continue
			}
			seen[p.Name] = true
			n, _ := (&engine.Property{Type: engine.Int}).Cast(get(source, "type"))
			if number, ok := n.(int64); ok {
				p.Type = engine.PropertyType(number)
			}
			target := textOf(source, "refClass")
			if p.Type == engine.Collection {
				target = textOf(source, "itemsClass")
			}
			if target, _, _ = strings.Cut(target, "@"); p.Type == engine.Reference || p.Type == engine.Collection {
				p.Target = classes[target]
			}
			c.Properties = append(c.Properties, p)
		}
	}
}

// formulas collects everything in a class file that is one.
func formulas(source engine.Fields) []any {
	var all []any
	add := func(v any) {
		if _, ok := v.(engine.Fields); ok {
			all = append(all, v)
		}
	}
	add(get(source, "semantic"))
	properties, _ := get(source, "properties").([]any)
	for _, p := range properties {
		add(get(p, "formula"))
		add(get(p, "defaultValue"))
		add(get(p, "semantic"))
		matrix, _ := get(get(p, "selectionProvider"), "matrix").([]any)
		for _, row := range matrix {
			add(get(row, "conditions"))
		}
	}
	return all
}

// TestApplication compiles every formula of a real application.
func TestApplication(t *testing.T) {
	folder := metaFolder()
	if folder == "" {
		t.Skip("shared/apps/develop-and-test is not above this folder, and RESTSRV_TEST_APPS does not name where the applications are")
	}
	classes, sources := readClasses(t, folder)
	find := func(name string) (*engine.Class, error) {
		short, _, _ := strings.Cut(name, "@")
		if c := classes[short]; c != nil {
			return c, nil
		}
		return nil, engine.NoClass(name)
	}
	compiled := 0
	for name, source := range sources {
		for _, v := range formulas(source) {
			f, err := formula.Compile(classes[name], v)
			if err == nil {
				err = formula.Check(f, find)
			}
			if err != nil {
				t.Errorf("%s: %s: %v", name, show(v), err)
			}
			compiled++
		}
	}
	if compiled < 40 {
		t.Errorf("found %d formulas, expected at least 40", compiled)
	}
}
