package watch

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

func (h *heard) link(target, name string) {
	h.t.Helper()
	h.do(os.MkdirAll(filepath.Dir(h.path(name)), 0o755))
	h.do(os.Symlink(target, h.path(name)))
}

// swap atomically replaces a link by a link to another target.
func (h *heard) swap(target, name string) {
	h.t.Helper()
	h.link(target, name+"_tmp")
	h.rename(name+"_tmp", name)
}

// TestConfigMap checks the layout of files in Kubernetes: a ConfigMap appears as links through
// the link ..data, which is replaced when the ConfigMap changes.
func TestConfigMap(t *testing.T) {
	ways(t, func(t *testing.T, c Config) {
		h := listen(t, c, func(h *heard) {
			h.write("scripts/..2026_1/a.js", "1")
			h.write("scripts/..2026_1/meta/c.class.json", "{}")
			h.link("..2026_1", "scripts/..data")
			h.link("..data/a.js", "scripts/a.js")
			h.link("..data/meta", "scripts/meta")
		})
		for i := 2; i < 5; i++ {
			later()
			old, next := fmt.Sprint("scripts/..2026_", i-1), fmt.Sprint("scripts/..2026_", i)
			h.write(next+"/a.js", fmt.Sprint("text ", i))
			h.write(next+"/meta/c.class.json", fmt.Sprint("{} ", i))
			h.swap(filepath.Base(next), "scripts/..data")
			h.do(os.RemoveAll(h.path(old)))
			h.expect("scripts/a.js", "scripts/meta/c.class.json")
		}
		later()
		h.write("scripts/..2026_4/a.js", "in place")
		h.write("scripts/..2026_4/meta/c.class.json", "in place")
		h.expect("scripts/a.js", "scripts/meta/c.class.json")
	})
}

func TestLinks(t *testing.T) {
	for name, one := range map[string]struct {
		make, save func(h *heard)
		want       string
	}{
		"a file outside": {
			func(h *heard) { h.write("../etc/deploy.json", "{}"); h.link("../etc/deploy.json", "deploy.json") },
			func(h *heard) { h.write("../etc/deploy.json", "{ }") }, "deploy.json",
		},
		"a file outside that is renamed over": {
			func(h *heard) { h.write("../etc/deploy.json", "{}"); h.link("../etc/deploy.json", "deploy.json") },
			func(h *heard) { h.write("../etc/x", "{ }"); h.rename("../etc/x", "../etc/deploy.json") }, "deploy.json",
		},
		"a folder outside": {
			func(h *heard) { h.write("../etc/meta/a.class.json", "{}"); h.link("../etc/meta", "meta") },
			func(h *heard) { h.write("../etc/meta/b.class.json", "{}") }, "meta/b.class.json",
		},
		"a folder outside, below it": {
			func(h *heard) { h.write("../etc/meta/types/a.type.json", "{}"); h.link("../etc/meta", "meta") },
			func(h *heard) { h.write("../etc/meta/types/a.type.json", "{ }") }, "meta/types/a.type.json",
		},
		"another target": {
			func(h *heard) { h.write("v1/a.js", "1"); h.write("v2/a.js", "2"); h.link("v1", "current") },
			func(h *heard) { h.swap("v2", "current") }, "current/a.js",
		},
		"a link to a link": {
			func(h *heard) {
				h.write(".v1/a.js", "1")
				h.write(".v2/a.js", "2")
				h.link(".v1", ".one")
				h.link(".one", ".two")
				h.link(".two/a.js", "a.js")
			},
			func(h *heard) { h.swap(".v2", ".one") }, "a.js",
		},
		"a folder under two names": {
			func(h *heard) { h.write("lib/a.js", "1"); h.link("lib", "twin") },
			func(h *heard) { h.write("lib/a.js", "22") }, "twin/a.js",
		},
		"a target that comes later": {
			func(h *heard) { h.link("../etc/late.js", "late.js"); h.do(os.MkdirAll(h.path("../etc"), 0o755)) },
			func(h *heard) { h.write("../etc/late.js", "1") }, "late.js",
		},
		"a target whose folder comes later": {
			func(h *heard) { h.link("../etc/new/late.js", "late.js"); h.do(os.MkdirAll(h.path("../etc"), 0o755)) },
			func(h *heard) { h.write("../etc/new/late.js", "1") }, "late.js",
		},
		"a target that goes": {
			func(h *heard) { h.write(".x/a.js", "1"); h.link(".x/a.js", "a.js") },
			func(h *heard) { h.do(os.Remove(h.path(".x/a.js"))) }, "a.js",
		},
		"in place of a file": {
			func(h *heard) { h.write(".x/a.js", "1"); h.write("a.js", "0") },
			func(h *heard) { h.do(os.Remove(h.path("a.js"))); h.link(".x/a.js", "a.js") }, "a.js",
		},
	} {
		t.Run(name, func(t *testing.T) {
			ways(t, func(t *testing.T, c Config) {
				h := listen(t, c, one.make)
				later()
				one.save(h)
				h.expect(one.want)
				later()
				h.write("old.js", "after")
				h.expect("old.js")
			})
		})
	}
}

// TestTopIsSwapped checks an application directory that is a link to a version, and then to
// another one.
func TestTopIsSwapped(t *testing.T) {
	ways(t, func(t *testing.T, c Config) {
		c.Dir = "../current"
		h := listen(t, c, func(h *heard) {
			h.write("../v1/a.js", "1")
			h.write("../v2/a.js", "2")
			h.link("v1", "../current")
		})
		h.swap("v2", "../current")
		h.expect("../current/a.js")
		later()
		h.write("../v2/a.js", "33")
		h.expect("../current/a.js")
	})
}

// TestLinksThatLeadFar checks that links to a parent folder or to very large
// folders do not make the watcher read forever.
func TestLinksThatLeadFar(t *testing.T) {
	h := listen(t, Config{}, func(h *heard) {
		h.link("..", "sub/up")
		h.link(".", "sub/self")
		h.link("loop", "loop")
		for i := range maxOutside + 10 {
			h.do(os.MkdirAll(h.path(fmt.Sprintf("../far/%d", i)), 0o755))
		}
		h.link("../far", "far")
	})
	h.w.mu.Lock()
	n := len(h.w.tree.folders)
	h.w.mu.Unlock()
	if n > maxOutside+10 {
		t.Errorf("%d folders are watched", n)
	}
	if !strings.Contains(h.log.String(), "too many folders outside") {
		t.Errorf("no warning in the log: %s", h.log.String())
	}
	h.write("old.js", "after")
	h.expect("old.js")
}

// TestFollow checks that changes of followed files outside of the tree are reported, even if the
// files do not exist at first, and no longer after the next call of Follow.
func TestFollow(t *testing.T) {
	ways(t, func(t *testing.T, c Config) {
		h := listen(t, c, func(h *heard) { h.write("node_modules/m/index.js", "1"); h.write("node_modules/n/index.js", "1") })
		h.w.Follow([]string{h.path("node_modules/m/index.js"), h.path("node_modules/m/lib/late.js"), h.path("../out/x.json"), h.path("old.js")})
		later()
		h.write("node_modules/n/index.js", "not followed")
		h.write("node_modules/m/index.js", "22")
		for _, path := range h.expect("node_modules/m/index.js") {
			if path == h.path("node_modules/n/index.js") {
				t.Error("a file is reported that is not followed")
			}
		}
		h.write("node_modules/m/lib/late.js", "1")
		h.write("../out/x.json", "1")
		h.expect("node_modules/m/lib/late.js", "../out/x.json")
		h.w.Follow(nil)
		h.w.mu.Lock()
		n := len(h.w.tree.extra) + len(h.w.tree.through)
		h.w.mu.Unlock()
		if n != 0 {
			t.Errorf("%d things are still followed", n)
		}
		later()
		h.write("node_modules/m/index.js", "333")
		h.write("old.js", "after")
		if all := h.expect("old.js"); len(all) != 1 {
			t.Errorf("reported %v", all)
		}
	})
}

// TestOverflow checks that all files are compared when the system has dropped
// events.
func TestOverflow(t *testing.T) {
	h := listen(t, Config{Poll: time.Hour}, nil)
	h.w.mu.Lock() // prevents that events are handled, so that they are lost
	h.w.notify.dropFolder(h.path("sub/deep"))
	h.w.mu.Unlock()
	later()
	h.write("sub/deep/old.js", "22")
	h.write("sub/deep/new.js", "1")
	h.w.notify.source.Errors <- fsnotify.ErrEventOverflow
	h.expect("sub/deep/old.js", "sub/deep/new.js")
	if h.log.Len() > 0 {
		t.Errorf("got log %s, want no warning, because no change is lost", h.log.String())
	}
}

// TestNotNotified checks that one warning is logged if the system cannot send events, and that
// polling still finds the changes.
func TestNotNotified(t *testing.T) {
	h := listen(t, Config{Poll: 20 * time.Millisecond}, nil)
	h.do(h.w.notify.source.Close())
	h.write("new/a.js", "1")
	h.expect("new/a.js")
	h.do(h.w.Close())
	if n := strings.Count(h.log.String(), "\n"); n != 1 || !strings.Contains(h.log.String(), "does not notify of all changes") {
		t.Errorf("the log says %s", h.log.String())
	}
}

// BenchmarkScan5000 measures a comparison of 5,000 files, which runs all the
// time.
func BenchmarkScan5000(b *testing.B) {
	dir := b.TempDir()
	for i := range 5000 {
		path := filepath.Join(dir, fmt.Sprint(i%100), fmt.Sprintf("%d.js", i))
		_ = os.MkdirAll(filepath.Dir(path), 0o755)
		_ = os.WriteFile(path, nil, 0o644)
	}
	past := time.Now().Add(-time.Hour)
	for i := range 100 {
		_ = os.Chtimes(filepath.Join(dir, fmt.Sprint(i)), past, past)
	}
	w, err := New(Config{Dir: dir, Changed: func([]string) {}, Poll: time.Hour})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	for b.Loop() {
		w.mu.Lock()
		w.tree.scan(map[string]bool{})
		w.mu.Unlock()
	}
}
