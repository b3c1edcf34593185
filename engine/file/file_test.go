package file_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/file"
)

func read(t *testing.T, s *file.Storage, f engine.StoredFile) string {
	t.Helper()
	r, err := s.Open(context.Background(), f)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func put(t *testing.T, s *file.Storage, content string) engine.StoredFile {
	t.Helper()
	f, err := s.Put(context.Background(), "a.txt", "text/plain", strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// files lists the files in a directory, with slashes in their paths. It leaves out the markers of
// requests.
func files(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			if strings.Contains(filepath.ToSlash(rel), "staged/") {
				return nil
			}
			all = append(all, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestPut checks that equal content is stored once under several ids, readable
// only by the owner of the process.
func TestPut(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "files")
	s := file.New(file.Config{Dir: dir})
	a, b := put(t, s, "tea"), put(t, s, "tea")
	sum := sha256.Sum256([]byte("tea"))
	hash := hex.EncodeToString(sum[:])
	if a.Hash != hash || b.Hash != hash || a.Size != 3 || a.ID == b.ID || len(a.ID) < 26 || a.Name != "a.txt" || a.MimeType != "text/plain" {
		t.Errorf("got %+v and %+v", a, b)
	}
	if strings.Trim(a.ID, "abcdefghijklmnopqrstuvwxyz234567") != "" {
		t.Errorf("id %q", a.ID)
	}
	if got := files(t, dir); len(got) != 1 || got[0] != "objects/"+hash[:2]+"/"+hash[2:] {
		t.Errorf("the directory holds %v", got)
	}
	for _, path := range []string{dir, filepath.Join(dir, "objects"), filepath.Join(dir, "objects", hash[:2], hash[2:])} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
	}
	if got := read(t, s, a); got != "tea" {
		t.Errorf("read %q", got)
	}
}

// TestReady checks that Ready leaves no files behind, whether or not the
// directory exists.
func TestReady(t *testing.T) {
	app := t.TempDir()
	s := file.New(file.Config{Dir: filepath.Join(app, "files")})
	if err := s.Ready(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(app, "files")); !os.IsNotExist(err) {
		t.Errorf("the directory is there: %v", err)
	}
	f := put(t, s, "tea")
	if err := s.Ready(); err != nil || read(t, s, f) != "tea" || len(files(t, app)) != 1 {
		t.Errorf("%v, the directory holds %v", err, files(t, app))
	}
	if err := os.WriteFile(filepath.Join(app, "taken"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := file.New(file.Config{Dir: filepath.Join(app, "taken")}).Ready(); err == nil {
		t.Error("a file was taken for the directory")
	}
}

// TestPutFails checks that a failed upload leaves no files and returns its
// cause.
func TestPutFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "files")
	s := file.New(file.Config{Dir: dir, MaxFile: 10})
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for name, c := range map[string]struct {
		ctx     context.Context
		content io.Reader
		want    engine.Code
	}{
		"too large":     {context.Background(), strings.NewReader("12345678901"), engine.TooLarge},
		"broken off":    {context.Background(), io.MultiReader(strings.NewReader("12"), broken{errors.New("gone")}), engine.Invalid},
		"body too long": {context.Background(), broken{engine.Errorf(engine.TooLarge, "too-large", "")}, engine.TooLarge},
		"ended":         {ended, strings.NewReader("12"), engine.Timeout},
	} {
		if _, err := s.Put(c.ctx, "a", "", c.content); engine.CodeOf(err) != c.want || err == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if f, err := s.Put(context.Background(), "a", "", strings.NewReader("1234567890")); err != nil || f.Size != 10 {
		t.Errorf("as large as may be: %v", err)
	}
	if got := files(t, dir); len(got) != 1 {
		t.Errorf("the directory holds %v", got)
	}
}

type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }

// TestStreams checks that content is never in memory as a whole.
func TestStreams(t *testing.T) {
	s := file.New(file.Config{Dir: t.TempDir()})
	r := &counting{left: 64 << 20}
	f, err := s.Put(context.Background(), "big", "", r)
	if err != nil || f.Size != 64<<20 {
		t.Fatal(f, err)
	}
	if r.largest > 1<<20 {
		t.Errorf("%d bytes were asked for at once", r.largest)
	}
}

type counting struct{ left, largest int }

func (c *counting) Read(p []byte) (int, error) {
	c.largest = max(c.largest, len(p))
	n := min(len(p), c.left)
	c.left -= n
	if n == 0 {
		return 0, io.EOF
	}
	clear(p[:n])
	return n, nil
}

// TestConcurrentPut checks that concurrent uploads of the same content all
// succeed.
func TestConcurrentPut(t *testing.T) {
	dir := t.TempDir()
	s := file.New(file.Config{Dir: dir})
	content := bytes.Repeat([]byte("x"), 1<<16)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := s.Put(context.Background(), "a", "", bytes.NewReader(content)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := files(t, dir); len(got) != 1 {
		t.Errorf("the directory holds %v", got)
	}
}

// TestNames checks that names and types are cleaned.
func TestNames(t *testing.T) {
	s := file.New(file.Config{Dir: t.TempDir()})
	for in, want := range map[string]string{
		"../../etc/passwd": "passwd", `C:\docs\plan.doc`: "plan.doc", "a\r\nb\x00.txt": "ab.txt",
		"  чай.txt ": "чай.txt", "evil\u202etxt.exe": "eviltxt.exe", strings.Repeat("é", 300): strings.Repeat("é", 255), "": "",
	} {
		if f, err := s.Put(context.Background(), in, "", strings.NewReader("")); err != nil || f.Name != want {
			t.Errorf("%q is kept as %q, want %q (%v)", in, f.Name, want, err)
		}
	}
	for in, want := range map[string]string{
		"Text/HTML; charset=x": "text/html", "image/png": "image/png", "nonsense": "", "a/b\r\nX: y": "", "": "",
	} {
		if f, err := s.Put(context.Background(), "", in, strings.NewReader("")); err != nil || f.MimeType != want {
			t.Errorf("%q is kept as %q, want %q (%v)", in, f.MimeType, want, err)
		}
	}
}

// TestOpenRefuses checks that no hash leads to a file outside of the directory, and that missing
// content is reported as not found.
func TestOpenRefuses(t *testing.T) {
	s := file.New(file.Config{Dir: t.TempDir()})
	for _, hash := range []string{"", "ab", "../../../../etc/passwd", strings.Repeat("A", 64), strings.Repeat("a", 64)} {
		if _, err := s.Open(context.Background(), engine.StoredFile{ID: "f", Hash: hash}); engine.CodeOf(err) != engine.NotFound || err == nil {
			t.Errorf("%q: %v", hash, err)
		}
	}
}

// clock is a time that tests can set.
type clock struct{ now time.Time }

func (c *clock) time() time.Time { return c.now }
