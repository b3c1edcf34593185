package formula_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"restsrv/engine"
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
	r, faults := meta.Load(sources, "develop-and-test")
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
