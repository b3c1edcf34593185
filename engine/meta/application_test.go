package meta

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"restsrv/engine"
)

// application finds a file tree that stands beside the repository.
func application(t *testing.T, name string) fs.FS {
	t.Helper()
	for _, up := range []string{"../../../shared/apps/", "../../../../shared/apps/"} {
		if _, err := os.Stat(up + name); err == nil {
			return os.DirFS(up + name)
		}
	}
	t.Skipf("the application %s is not beside the repository", name)
	return nil
}

// TestRealApplication loads the classes of a real application: every file is
// taken, but for one of two that describe the same class.
func TestRealApplication(t *testing.T) {
	sources, faults := ReadDir(application(t, "develop-and-test"), "meta")
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	types := 0
	for _, s := range sources {
		if s.Type {
			types++
		}
	}
	if classes := len(sources) - types; classes != 163 || types != 1 {
		t.Fatalf("%d class files and %d types, expected 163 and 1", classes, types)
	}
	r, faults := Load(sources, "develop-and-test")
	var duplicates engine.Faults
	for _, f := range faults {
		t.Log(f)
		if !f.Warning {
			t.Errorf("stops the start: %v", f)
		}
		if strings.Contains(f.Found, "again") {
			duplicates = append(duplicates, f)
		}
	}
	if len(duplicates) != 1 || duplicates[0].File != "meta/adress.class.json" {
		t.Errorf("named as duplicates: %v", duplicates)
	}
	if r == nil {
		t.FailNow()
	}
	if n := len(r.Classes()); n != 162 {
		t.Errorf("%d classes, expected 162", n)
	}
}
