package deploy

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"restsrv/engine"
)

// TestDirectoryLinks checks that links to files in the directory are followed, both relative and
// absolute links, even if the directory itself is a link. Links to files and folders outside of
// the directory are refused.
func TestDirectoryLinks(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "app")
	for name, text := range map[string]string{"app/meta/a.json": "a", "app/..data/b.json": "b", "secret.json": "s", "other/c.json": "c"} {
		file := filepath.Join(base, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"app/relative.json": "..data/b.json", "app/absolute.json": filepath.Join(dir, "meta/a.json"), "app/folder": "..data", "app/twice.json": "relative.json",
		"app/out.json": "../secret.json", "app/outabsolute.json": filepath.Join(base, "secret.json"), "app/outfolder": "../other", "app/outtwice.json": "out.json",
		"app/broken.json": "nothing.json", "app/self.json": "self.json", "linked": "app",
	} {
		if err := os.Symlink(target, filepath.Join(base, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, root := range []string{dir, filepath.Join(base, "linked")} {
		files := Directory(root)
		for _, name := range []string{"meta/a.json", "relative.json", "absolute.json", "folder/b.json", "twice.json"} {
			if text, err := fs.ReadFile(files, name); err != nil || len(text) != 1 {
				t.Errorf("%s in %s: got %q and error %v, want its text", name, root, text, err)
			}
		}
		for _, name := range []string{"out.json", "outabsolute.json", "outfolder/c.json", "outfolder", "outtwice.json"} {
			_, read := fs.ReadFile(files, name)
			_, stat := fs.Stat(files, name)
			_, list := fs.ReadDir(files, name)
			_, open := files.Open(name)
			for _, err := range []error{read, stat, list, open} {
				if !errors.Is(err, engine.ErrOutside) {
					t.Errorf("%s in %s: got error %v, want %v", name, root, err, engine.ErrOutside)
				}
			}
		}
		for _, name := range []string{"broken.json", "self.json", "missing.json", "../secret.json"} {
			if _, err := fs.ReadFile(files, name); err == nil || errors.Is(err, engine.ErrOutside) {
				t.Errorf("%s in %s: got error %v, want another one than %v", name, root, err, engine.ErrOutside)
			}
		}
	}
}
