package watch

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

// heard is a Watcher for a folder. It stores the sets of paths that the Watcher has reported.
type heard struct {
	t    *testing.T
	dir  string
	sets chan []string
	w    *Watcher
	log  bytes.Buffer
}

// ways runs a test twice: only with events of the system, and only with polling.
func ways(t *testing.T, test func(t *testing.T, c Config)) {
	t.Run("notified", func(t *testing.T) { t.Parallel(); test(t, Config{Poll: time.Hour}) })
	t.Run("polled", func(t *testing.T) { t.Parallel(); test(t, Config{Poll: 10 * time.Millisecond, PollOnly: true}) })
}

// listen watches a new folder. make creates the initial content of the folder.
func listen(t *testing.T, c Config, make func(h *heard)) *heard {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &heard{t: t, dir: filepath.Join(dir, "app"), sets: newSets()}
	h.write("old.js", "1")
	h.write("sub/deep/old.js", "1")
	if make != nil {
		make(h)
	}
	if c.Dir == "" {
		c.Dir = h.dir
	} else {
		c.Dir = h.path(c.Dir)
	}
	for i, s := range c.Skip {
		c.Skip[i] = h.path(s)
	}
	c.Log = slog.New(slog.NewTextHandler(&h.log, nil))
	c.Changed = func(p []string) { h.sets <- p }
	if h.w, err = New(c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.w.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

func newSets() chan []string { return make(chan []string, 1000) }

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

func (h *heard) rename(from, to string) {
	h.t.Helper()
	h.do(os.Rename(h.path(from), h.path(to)))
}

func (h *heard) do(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// expect waits until all names were reported, and returns all reported names.
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

// later waits so long that a change certainly gets another modification time.
func later() { time.Sleep(12 * time.Millisecond) }

func TestSavePatterns(t *testing.T) {
	for name, save := range map[string]func(h *heard, text string){
		"in place":    func(h *heard, text string) { h.write("old.js", text) },
		"deep":        func(h *heard, text string) { h.write("sub/deep/old.js", text); h.write("old.js", text) },
		"rename over": func(h *heard, text string) { h.write("x.tmp", text); h.rename("x.tmp", "old.js") },
		"rename of a hidden file over": func(h *heard, text string) {
			h.write(".old.js.tmp", text)
			h.rename(".old.js.tmp", "old.js")
		},
		"delete, create": func(h *heard, text string) { h.do(os.Remove(h.path("old.js"))); h.write("old.js", text) },
		"backup, create (vim)": func(h *heard, text string) {
			h.write("4913", "")
			h.do(os.Remove(h.path("4913")))
			h.rename("old.js", "old.js~")
			h.write("old.js", text)
			h.do(os.Remove(h.path("old.js~")))
		},
		"lock, save, unlock (emacs)": func(h *heard, text string) {
			h.do(os.Symlink("user@host.1234", h.path(".#old.js")))
			h.write("#old.js#", text)
			h.rename("old.js", "old.js~")
			h.write("old.js", text)
			h.do(os.Remove(h.path(".#old.js")))
			h.do(os.Remove(h.path("#old.js#")))
		},
		"safe write (JetBrains)": func(h *heard, text string) {
			h.write("old.js___jb_tmp___", text)
			h.rename("old.js", "old.js___jb_old___")
			h.rename("old.js___jb_tmp___", "old.js")
			h.do(os.Remove(h.path("old.js___jb_old___")))
		},
		"append, appends": func(h *heard, text string) { h.write("old.js", "2"); h.write("old.js", "23"); h.write("old.js", text) },
		"hard link": func(h *heard, text string) {
			h.write("y.tmp", text)
			h.do(os.Remove(h.path("old.js")))
			h.do(os.Link(h.path("y.tmp"), h.path("old.js")))
			h.do(os.Remove(h.path("y.tmp")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			ways(t, func(t *testing.T, c Config) {
				c.Wanted = func(path string) bool { return filepath.Ext(path) == ".js" }
				h := listen(t, c, nil)
				for i := range 3 { // the watcher must also see the saves after the first one
					later()
					save(h, fmt.Sprint("text", i))
					for _, path := range h.expect("old.js") {
						if filepath.Ext(path) != ".js" {
							t.Errorf("reported %s", path)
						}
					}
				}
			})
		})
	}
}

func TestNewFolder(t *testing.T) {
	ways(t, func(t *testing.T, c Config) {
		h := listen(t, c, nil)
		h.write("new/a/b.js", "1")
		h.expect("new", "new/a/b.js")
		later()
		h.write("new/a/b.js", "22")
		h.write("new/a/c.js", "2")
		h.expect("new/a/b.js", "new/a/c.js")
		h.do(os.RemoveAll(h.path("new")))
		h.expect("new")
		h.write("new/a/b.js", "3")
		h.expect("new/a/b.js")
		h.rename("new", "newer")
		h.expect("new", "newer/a/b.js")
		later()
		h.write("newer/a/b.js", "4444")
		h.expect("newer/a/b.js")
	})
}

func TestIgnored(t *testing.T) {
	ways(t, func(t *testing.T, c Config) {
		c.Wanted = func(path string) bool { return filepath.Ext(path) != ".db" }
		c.Skip = []string{"files"}
		h := listen(t, c, nil)
		for _, n := range []string{".hidden", ".git/x", "a.js~", ".a.js.swp", "4913", "#a#", "node_modules/m/x.js", "x.db", "files/x.js"} {
			h.write(n, "1")
		}
		h.do(os.Chmod(h.path("old.js"), 0o600))
		h.write("last.js", "1")
		if all := h.expect("last.js"); len(slices.Compact(all)) != 1 {
			t.Errorf("reported %v", all)
		}
	})
}

// TestMaxWait checks that a file that is written without pause does not delay the report forever.
func TestMaxWait(t *testing.T) {
	ways(t, func(t *testing.T, c Config) {
		h := listen(t, c, nil)
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
	})
}

// TestCopy checks that a copy of many files is reported once, although it takes
// longer than MaxWait.
func TestCopy(t *testing.T) {
	h := listen(t, Config{Poll: time.Hour, Debounce: 100 * time.Millisecond, MaxWait: 200 * time.Millisecond}, nil)
	var names []string
	for i := range 60 {
		names = append(names, fmt.Sprintf("f%02d.js", i))
		h.write(names[i], "1")
		time.Sleep(10 * time.Millisecond)
	}
	set := <-h.sets
	for _, name := range names {
		if !slices.Contains(set, h.path(name)) {
			t.Fatalf("the first report has %d files, without %s", len(set), name)
		}
	}
}

// TestTruncated checks that a file that is truncated and written soon afterwards is reported
// once, with its content. An empty file is reported, too.
func TestTruncated(t *testing.T) {
	h := listen(t, Config{Poll: time.Hour}, nil)
	h.write("old.js", "")
	time.Sleep(40 * time.Millisecond)
	h.write("old.js", "text")
	h.expect("old.js")
	time.Sleep(150 * time.Millisecond)
	if n := len(h.sets); n != 0 {
		t.Errorf("reported %d times more", n)
	}
	h.write("old.js", "")
	h.expect("old.js")
}

// TestChangedRunsOnce checks that changes during a call of Changed are reported together, in one
// call after that call has returned.
func TestChangedRunsOnce(t *testing.T) {
	dir := t.TempDir()
	var mu sync.Mutex
	calls, running := 0, 0
	release, entered := make(chan struct{}), make(chan struct{}, 10)
	w, err := New(Config{Dir: dir, Changed: func([]string) {
		mu.Lock()
		calls, running = calls+1, running+1
		if running > 1 {
			t.Error("called twice at a time")
		}
		mu.Unlock()
		entered <- struct{}{}
		<-release
		mu.Lock()
		running--
		mu.Unlock()
	}})
	if err != nil {
		t.Fatal(err)
	}
	save := func(name string) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	save("a.js")
	<-entered
	save("b.js")
	time.Sleep(100 * time.Millisecond)
	save("c.js")
	time.Sleep(100 * time.Millisecond)
	close(release)
	<-entered
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if calls != 2 {
		t.Errorf("called %d times, want 2", calls)
	}
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
