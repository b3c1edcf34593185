package formula_test

import (
	"os"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/formula"
	"restsrv/engine/meta"
)

// application is the folder of the application that this project is tried on,
// above one of the folders that this one is in; "" when it is not there.
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

// TestApplication compiles every formula of a real application, and finds the
// classes that they look up.
func TestApplication(t *testing.T) {
	dir := application()
	if dir == "" {
		t.Skip("shared/apps/develop-and-test is not beside the repository")
	}
	sources, faults := meta.ReadDir(os.DirFS(dir), "meta")
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	var compiled []engine.Formula
	r, faults := meta.LoadWith(sources, "develop-and-test", func(c *engine.Class, source any) (engine.Formula, error) {
		f, err := formula.Compile(c, source)
		if err != nil {
			t.Errorf("%s: %s: %v", c.FullName, show(source), err)
		}
		compiled = append(compiled, f)
		return f, err
	})
	if errs, _ := faults.Split(); len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, f := range compiled {
		if err := formula.Check(f, r.Class); err != nil {
			t.Error(err)
		}
	}
	if len(compiled) < 40 {
		t.Errorf("found %d formulas, expected at least 40", len(compiled))
	}
	c, err := r.Class("reportCity@develop-and-test")
	if err != nil {
		t.Fatal(err)
	}
	var needs []string
	for _, path := range c.Property("sizeDistricts").Formula.Needs() {
		for _, p := range path {
			needs = append(needs, p.Name)
		}
	}
	if got := strings.Join(needs, " "); got != "districts" {
		t.Errorf("sizeDistricts needs %q", got)
	}
}
