package file_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/file"
)

func derived(t *testing.T, s *file.Storage, f engine.StoredFile, name string) string {
	t.Helper()
	r, err := s.OpenDerived(f, name)
	if err != nil || r == nil {
		return ""
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestDerived checks that derived content is stored atomically under its name,
// readable only by the owner of the process.
func TestDerived(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "files")
	s := file.New(file.Config{Dir: dir})
	f := put(t, s, "tea")
	for _, content := range []string{"small", "smaller"} {
		if err := s.Derive(f, "100x100", []byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if got := derived(t, s, f, "100x100"); got != "smaller" {
		t.Errorf("got %q", got)
	}
	if got := derived(t, s, f, "50x50"); got != "" {
		t.Errorf("before Derive: got %q, want no content", got)
	}
	kept := "derived/" + f.Hash[:2] + "/" + f.Hash[2:] + "/100x100"
	if got := files(t, dir); len(got) != 2 || got[0] != kept {
		t.Errorf("the directory holds %v", got)
	}
	for _, path := range []string{"derived", kept} {
		info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(path)))
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
	}
	no := engine.StoredFile{ID: "x", Hash: "../../" + strings.Repeat("0", 58)}
	if err := s.Derive(no, "100x100", nil); engine.CodeOf(err) != engine.NotFound || err == nil {
		t.Errorf("an invalid hash: got %v", err)
	}
}

// TestDerivedGoes checks that derived content is removed with its original, and
// that Orphans finds it if the original is missing.
func TestDerivedGoes(t *testing.T) {
	c := &clock{now: time.Now()}
	s, db, class, dir := open(t, c)
	held, lost, gone := put(t, s, "held"), put(t, s, "lost"), put(t, s, "gone")
	hold(t, db, class, held)
	for _, f := range []engine.StoredFile{held, lost, gone} {
		if err := s.Derive(f, "100x100", []byte("of "+f.Hash)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(dir, "objects", gone.Hash[:2], gone.Hash[2:])); err != nil {
		t.Fatal(err)
	}
	if got := orphans(t, s); len(got) != 0 {
		t.Errorf("young content is reported as an orphan: %+v", got)
	}
	c.now = c.now.Add(2 * file.Grace)
	got := orphans(t, s)
	if len(got) != 2 || got[0].Hash != lost.Hash || got[1].Path != filepath.Join("derived", gone.Hash[:2], gone.Hash[2:], "100x100") {
		t.Fatalf("got %+v", got)
	}
	for _, o := range got {
		if err := s.Remove(context.Background(), o); err != nil {
			t.Error(err)
		}
	}
	if left := files(t, dir); len(left) != 2 || derived(t, s, held, "100x100") == "" || read(t, s, held) != "held" {
		t.Errorf("the directory holds %v", left)
	}
}
