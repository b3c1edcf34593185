package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// contentsOf are the files of a folder and what is in them.
func contentsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		found[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func sameContents(t *testing.T, before, after map[string]string) {
	t.Helper()
	for path, text := range after {
		if old, ok := before[path]; !ok || old != text {
			t.Errorf("%s was made or changed", path)
		}
	}
	if len(before) != len(after) {
		t.Errorf("%d files, %d before", len(after), len(before))
	}
}

// TestCheckTouchesNothing shows that check writes nothing beside the
// application, nor leaves anything behind, and that the sample has no mistake.
func TestCheckTouchesNothing(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	c := &caseRun{T: t, dir: t.TempDir()}
	c.copyFromRepository([]string{"deploy.json", "scripts"})
	c.save("restsrv.db", "a database")
	before := contentsOf(t, c.dir)
	if out := mustRun(t, "check", "-config", filepath.Join(c.dir, "deploy.json")); out != "ok: 1 class, 10 services, 2 scripts\n" {
		t.Error(out)
	}
	sameContents(t, before, contentsOf(t, c.dir))
	if left, _ := os.ReadDir(temporary); len(left) != 0 {
		t.Errorf("it left %v", left)
	}
}
