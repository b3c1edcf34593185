// Package watch tells which files changed. It owns the file notification
// library and knows folders, paths and a callback: not what is in the files,
// nor what to do about it.
package watch

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Config says what to watch.
type Config struct {
	Dir      string               // folder, watched with all that is below it
	Changed  func(paths []string) // called with absolute paths, sorted; never twice at a time
	Log      *slog.Logger         // told when changes may have been missed, default slog.Default()
	Debounce time.Duration        // quiet time before Changed is called, default 25 ms
	MaxWait  time.Duration        // the call comes after this time at the latest, default 250 ms
}

// Watcher watches until it is closed.
type Watcher struct {
	config Config
	source *fsnotify.Watcher
	stop   chan struct{}
	done   sync.WaitGroup
	once   sync.Once
}

// New starts watching. Folders are watched, never single files, because
// editors put a new file in the place of the old one. The error says why the
// folder cannot be watched.
func New(c Config) (*Watcher, error) {
	if c.Changed == nil || c.Dir == "" {
		return nil, errors.New("watch: Dir and Changed must be set")
	}
	if c.Debounce <= 0 {
		c.Debounce = 25 * time.Millisecond
	}
	if c.MaxWait <= 0 {
		c.MaxWait = 250 * time.Millisecond
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	source, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	w := &Watcher{config: c, source: source, stop: make(chan struct{})}
	abs, err := filepath.Abs(c.Dir)
	if err == nil {
		_, err = os.Stat(abs)
	}
	if err == nil {
		_, err = w.add(abs)
	}
	if err != nil {
		_ = source.Close()
		return nil, err
	}
	w.done.Go(w.run)
	return w, nil
}

// Close stops watching and waits for a Changed that runs.
func (w *Watcher) Close() error {
	w.once.Do(func() { close(w.stop) })
	w.done.Wait()
	return w.source.Close()
}

// add watches a folder and those below it, and returns the files in them. What
// vanishes meanwhile is passed over.
func (w *Watcher) add(dir string) (files []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case path != dir && ignored(path):
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case !d.IsDir():
			files = append(files, path)
			return nil
		}
		if err := w.source.Add(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
	return files, err
}

// ignored reports whether a name is an editor's own, or hidden. node_modules
// is left out too: it is large, and no service of ours reads it.
func ignored(path string) bool {
	name := filepath.Base(path)
	return strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") || strings.HasSuffix(name, ".swp") ||
		strings.HasSuffix(name, ".swx") || strings.HasPrefix(name, "#") || name == "4913" || name == "node_modules"
}

// run collects events and reports them when it has become quiet.
func (w *Watcher) run() {
	pending := map[string]bool{}
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	defer timer.Stop()
	var deadline time.Time
	for {
		select {
		case <-w.stop:
			return
		case e, ok := <-w.source.Events:
			if !ok {
				return
			}
			if !w.event(e, pending) {
				continue
			}
			now := time.Now()
			if len(pending) > 0 && deadline.IsZero() {
				deadline = now.Add(w.config.MaxWait)
			}
			timer.Reset(min(w.config.Debounce, max(0, deadline.Sub(now))))
		case err, ok := <-w.source.Errors:
			if !ok {
				return
			}
			w.fail(err)
		case <-timer.C:
			if len(pending) > 0 {
				w.config.Changed(sorted(pending))
			}
			pending, deadline = map[string]bool{}, time.Time{}
		}
	}
}

// event takes over what an event says; false when it says nothing.
func (w *Watcher) event(e fsnotify.Event, pending map[string]bool) bool {
	if e.Op == fsnotify.Chmod || ignored(e.Name) {
		return false
	}
	pending[e.Name] = true
	if !e.Has(fsnotify.Create) {
		return true
	}
	info, err := os.Stat(e.Name)
	if err != nil || !info.IsDir() {
		return true
	}
	files, err := w.add(e.Name) // what was put there before we watched
	if err != nil {
		w.fail(err)
	}
	for _, f := range files {
		pending[f] = true
	}
	return true
}

func (w *Watcher) fail(err error) {
	w.config.Log.Warn("changed files may have been missed", "error", err)
}

func sorted(set map[string]bool) []string {
	paths := make([]string, 0, len(set))
	for p := range set {
		paths = append(paths, p)
	}
	sort.Strings(paths)
	return paths
}
