package watch

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// heard is a Watcher over a folder with the sets it reported.
type heard struct {
	t    *testing.T
	dir  string
	sets chan []string
}

func listen(t *testing.T) *heard {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &heard{t: t, dir: dir, sets: make(chan []string, 1000)}
	h.write("old.js", "1")
	h.write("sub/deep/old.js", "1")
	w, err := New(Config{Dir: dir, Changed: func(p []string) { h.sets <- p }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

func (h *heard) path(name string) string { return filepath.Join(h.dir, filepath.FromSlash(name)) }

func (h *heard) write(name, text string) {
	h.t.Helper()
	if err := os.MkdirAll(filepath.Dir(h.path(name)), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(h.path(name), []byte(text), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

func (h *heard) do(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// expect waits until all names were reported, and returns everything that was.
func (h *heard) expect(names ...string) []string {
	h.t.Helper()
	var all []string
	for end := time.After(20 * time.Second); ; {
		missing := false
		for _, n := range names {
			missing = missing || !slices.Contains(all, h.path(n))
		}
		if !missing {
			return all
		}
		select {
		case set := <-h.sets:
			if !slices.IsSorted(set) {
				h.t.Errorf("not sorted: %v", set)
			}
			all = append(all, set...)
		case <-end:
			h.t.Fatalf("reported %v, want %v", all, names)
		}
	}
}

func TestSavePatterns(t *testing.T) {
	for name, save := range map[string]func(h *heard){
		"in place":       func(h *heard) { h.write("old.js", "2") },
		"deep":           func(h *heard) { h.write("sub/deep/old.js", "2"); h.write("old.js", "2") },
		"rename over":    func(h *heard) { h.write("x.tmp", "2"); h.do(os.Rename(h.path("x.tmp"), h.path("old.js"))) },
		"delete, create": func(h *heard) { h.do(os.Remove(h.path("old.js"))); h.write("old.js", "2") },
		"backup, create": func(h *heard) {
			h.do(os.Rename(h.path("old.js"), h.path("old.js~")))
			h.write("old.js", "2")
			h.do(os.Remove(h.path("old.js~")))
		},
		"append, appends": func(h *heard) { h.write("old.js", "2"); h.write("old.js", "23"); h.write("old.js", "234") },
	} {
		t.Run(name, func(t *testing.T) {
			h := listen(t)
			for range 3 { // the first save must not blind the watcher
				save(h)
				h.expect("old.js")
			}
		})
	}
}

func TestNewFolder(t *testing.T) {
	h := listen(t)
	h.write("new/a/b.js", "1")
	h.expect("new", "new/a/b.js")
	h.write("new/a/b.js", "2")
	h.write("new/a/c.js", "2")
	h.expect("new/a/b.js", "new/a/c.js")
	h.do(os.RemoveAll(h.path("new")))
	h.expect("new")
	h.write("new/a/b.js", "3")
	h.expect("new/a/b.js")
}

func TestIgnored(t *testing.T) {
	h := listen(t)
	for _, n := range []string{".hidden", ".git/x", "a.js~", ".a.js.swp", "4913", "#a#", "node_modules/m/x.js"} {
		h.write(n, "1")
	}
	h.do(os.Chmod(h.path("old.js"), 0o600))
	h.write("last.js", "1")
	if all := h.expect("last.js"); len(slices.Compact(all)) != 1 {
		t.Errorf("reported %v", all)
	}
}

// A writer that never pauses must not keep the report back.
func TestMaxWait(t *testing.T) {
	h := listen(t)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
				_ = os.WriteFile(h.path("busy.js"), []byte{byte(i)}, 0o644)
			}
		}
	}()
	h.expect("busy.js")
	close(stop)
	<-stopped
}

func TestNewRefuses(t *testing.T) {
	if _, err := New(Config{Dir: filepath.Join(t.TempDir(), "none"), Changed: func([]string) {}}); err == nil {
		t.Error("a folder that is not there was accepted")
	}
	if _, err := New(Config{Dir: t.TempDir()}); err == nil {
		t.Error("a watcher without a callback was accepted")
	}
}

func TestCloseTwice(t *testing.T) {
	w, err := New(Config{Dir: t.TempDir(), Changed: func([]string) {}})
	if err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	_ = w.Close()
}
