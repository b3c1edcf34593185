package formula_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/meta"
)

// application returns the folder of a public application, which may exist beside the repository, or "" if the folder
// does not exist.
func application() string {
	for up := "../"; len(up) < 30; up += "../" {
		if dir := up + "shared/apps/develop-and-test"; isDir(dir) {
			return dir
		}
	}
	return ""
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// TestApplication compiles every formula of an application in testdata and of a public application. It also resolves
// the classes that the formulas look up.
func TestApplication(t *testing.T) {
	t.Run("library", func(t *testing.T) {
		compileAll(t, "../../cmd/restsrv/testdata/library", "library", 4, "town", "publisherCount", "publishers")
	})
	t.Run("develop-and-test", func(t *testing.T) {
		dir := application()
		if dir == "" {
			t.Skip("the application develop-and-test is not beside the repository")
		}
		compileAll(t, dir, "develop-and-test", 40, "reportCity", "sizeDistricts", "districts")
	})
}

// compileAll compiles the formulas of an application, and checks that their number is at least the parameter least.
// needed lists the attributes that the formula of attribute must need.
func compileAll(t *testing.T, dir, namespace string, least int, class, attribute, needed string) {
	sources, faults := meta.ReadDir(os.DirFS(dir), "meta")
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	var compiled []engine.Formula
	r, faults := meta.Load(sources, namespace)
	if errs, _ := faults.Split(false); len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, c := range r.Classes() {
		for _, p := range c.Properties {
			compiled = append(compiled, p.Formula, p.Computed)
			if p.Selection != nil {
				for _, row := range p.Selection.Rows {
					compiled = append(compiled, row.Condition)
				}
			}
		}
	}
	compiled = slices.DeleteFunc(compiled, func(f engine.Formula) bool { return f == nil })
	if len(compiled) < least {
		t.Errorf("found %d formulas, want at least %d", len(compiled), least)
	}
	c, err := r.Class(class + "@" + namespace)
	if err != nil {
		t.Fatal(err)
	}
	var needs []string
	for _, path := range c.Property(attribute).Formula.Needs() {
		for _, p := range path {
			needs = append(needs, p.Name)
		}
	}
	if got := strings.Join(needs, " "); got != needed {
		t.Errorf("%s needs %q, want %q", attribute, got, needed)
	}
}
