// Package watch reports which files of a folder have changed. Only this package uses the library
// for file notifications. It handles folders, links and paths, and calls back with the changed
// paths. It does not read the files.
//
// It detects changes in two ways. The operating system sends events for folders (notify.go).
// Events arrive immediately, but they are missing for network file systems, in some containers,
// and above a system limit on the number of folders. Therefore all known files are also compared
// with the disk every two seconds (tree.go), which finds the remaining changes.
package watch

import (
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Config contains the settings of a Watcher.
type Config struct {
	Dir      string                 // folder to watch, with everything below it, also through links
	Skip     []string               // folders to ignore, as absolute paths
	Wanted   func(path string) bool // reports whether changes of a file are relevant, by its path; nil means all files
	Changed  func(paths []string)   // callback with absolute, sorted paths; calls never overlap
	Log      *slog.Logger           // gets a warning if changes may be reported late; default slog.Default()
	Debounce time.Duration          // quiet time before Changed is called, default 25 ms; half of it for a single path, four times for an empty file
	MaxWait  time.Duration          // maximum time from a change to the call while no other files change, default 250 ms
	Poll     time.Duration          // interval of the comparison with the disk, default 2 s; longer if a comparison takes long
	PollOnly bool                   // do not use events of the operating system
}

// Watcher watches a folder until it is closed.
type Watcher struct {
	config Config
	notify *notifier
	stop   chan struct{}
	done   sync.WaitGroup
	once   sync.Once

	mu   sync.Mutex // protects tree
	tree *tree
}

// pollShare limits the time that comparisons may take to 1/pollShare of all
// time.
const pollShare = 50

// New starts watching. It watches folders and never single files, because
// editors often replace the file. It returns an error if the folder cannot be
// watched.
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
	if c.Poll <= 0 {
		c.Poll = 2 * time.Second
	}
	if c.Wanted == nil {
		c.Wanted = func(string) bool { return true }
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	abs, err := filepath.Abs(c.Dir)
	if err == nil {
		_, err = os.Stat(abs)
	}
	if err != nil {
		return nil, err
	}
	w := &Watcher{config: c, notify: newNotifier(c), stop: make(chan struct{})}
	w.tree = newTree(abs, c, w.notify)
	w.tree.scan(map[string]bool{})
	w.done.Go(w.run)
	return w, nil
}

// Follow sets additional files to watch that are outside of the folder or in
// ignored folders. The next call replaces them. The files need not exist.
func (w *Watcher) Follow(files []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tree.follow(files)
}

// Close stops watching and waits for a running call of Changed.
func (w *Watcher) Close() error {
	w.once.Do(func() { close(w.stop) })
	w.done.Wait()
	return w.notify.close()
}

// round contains the changes that were found since the last call of Changed.
type round struct {
	paths    map[string]bool
	deadline time.Time // latest time of the call of Changed; zero if there are no changes
	latest   time.Time // latest deadline, however many files change
	known    int       // number of paths for which the deadline was set
	timer    *time.Timer
	calling  chan struct{} // closed when Changed returns; nil if it is not running
	due      bool          // Changed must be called as soon as the running call returns
}

// run collects changes and reports them after a quiet time.
func (w *Watcher) run() {
	r := &round{paths: map[string]bool{}, timer: time.NewTimer(time.Hour)}
	r.timer.Stop()
	defer r.timer.Stop()
	poll := time.NewTimer(w.config.Poll)
	defer poll.Stop()
	events, failures := w.notify.channels()
	for {
		select {
		case <-w.stop:
			if r.calling != nil {
				<-r.calling
			}
			return
		case e, open := <-events:
			switch {
			case !open:
				events = nil
			case w.handleEvent(e, r):
				w.scheduleReport(r)
			}
		case err, open := <-failures:
			if !open {
				failures = nil
				continue
			}
			w.notify.handleError(err)
			w.scan(r)
		case <-poll.C:
			poll.Reset(max(w.config.Poll, pollShare*w.scan(r)))
		case <-r.timer.C:
			w.report(r)
		case <-r.calling:
			if r.calling = nil; r.due {
				w.report(r)
			}
		}
	}
}

// handleEvent adds the changes of an event to r. It returns false if the
// event is not relevant.
func (w *Watcher) handleEvent(e event, r *round) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return e.Op != attributes && w.tree.handleEvent(e.Name, r.paths)
}

// scan compares all files with the disk and returns how long that took.
func (w *Watcher) scan(r *round) time.Duration {
	began, before := time.Now(), len(r.paths)
	w.mu.Lock()
	w.tree.scan(r.paths)
	w.mu.Unlock()
	if len(r.paths) > before {
		w.scheduleReport(r)
	}
	return time.Since(began)
}

// maxCopy is the maximum time from a change to the call of Changed while other
// files continue to change, for example while a folder is copied.
const maxCopy = 5 * time.Second

// scheduleReport starts the timer for the report. The timer fires after the quiet time, or at the
// deadline of r if that is earlier. The deadline moves while the number of changed files grows.
// It does not move if one file changes repeatedly.
func (w *Watcher) scheduleReport(r *round) {
	now := time.Now()
	if r.deadline.IsZero() {
		r.latest = now.Add(max(maxCopy, w.config.MaxWait))
	}
	if len(r.paths) > r.known {
		r.known, r.deadline = len(r.paths), now.Add(w.config.MaxWait)
		if r.deadline.After(r.latest) {
			r.deadline = r.latest
		}
	}
	r.timer.Reset(min(w.quietTime(r), max(0, r.deadline.Sub(now))))
}

// quietTime returns the required quiet time. A single file is usually complete
// soon. Several files are often saved one after the other. An empty file has
// probably been truncated and is about to be written.
func (w *Watcher) quietTime(r *round) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	for path := range r.paths {
		if len(r.paths) <= maxEmpty && w.tree.isEmpty(path) {
			return 4 * w.config.Debounce
		}
	}
	if len(r.paths) == 1 {
		return w.config.Debounce / 2
	}
	return w.config.Debounce
}

// maxEmpty is the maximum number of changed paths that are checked for an empty
// file.
const maxEmpty = 16

// report calls Changed. If a call is still running, report arranges another call after it.
func (w *Watcher) report(r *round) {
	if r.due = r.calling != nil; r.due || len(r.paths) == 0 {
		return
	}
	paths := slices.Sorted(maps.Keys(r.paths))
	r.paths, r.deadline, r.known, r.calling = map[string]bool{}, time.Time{}, 0, make(chan struct{})
	returned := r.calling
	w.done.Go(func() {
		defer close(returned)
		w.config.Changed(paths)
	})
}
