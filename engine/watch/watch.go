// Package watch tells which files changed. It owns the file notification
// library and knows folders, links, paths and a callback: not what is in the
// files, nor what to do about it.
//
// It hears of changes in two ways. The system notifies of what happens in
// folders (notify.go), at once, where it can: not over a network, not in some
// containers, and not beyond a number of folders. And everything that is known
// is looked at every two seconds (tree.go), which finds the rest.
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

// Config says what to watch.
type Config struct {
	Dir      string                 // folder, watched with all that is below it, also through links
	Skip     []string               // folders that are left out, absolute
	Wanted   func(path string) bool // whether a change of a file matters, by its path; nil: that of any does
	Changed  func(paths []string)   // called with absolute paths, sorted; never twice at a time
	Log      *slog.Logger           // told when changes may come late, default slog.Default()
	Debounce time.Duration          // quiet time before Changed is called, default 25 ms; half of it for a single path, four times for an empty file
	MaxWait  time.Duration          // the call comes after this time at the latest, default 250 ms
	Poll     time.Duration          // how often everything is looked at, default 2 s; less often when that takes long
	PollOnly bool                   // the system is not asked to notify
}

// Watcher watches until it is closed.
type Watcher struct {
	config Config
	notify *notifier
	stop   chan struct{}
	done   sync.WaitGroup
	once   sync.Once

	mu   sync.Mutex // of tree
	tree *tree
}

// pollShare is the part of the time that looking at everything may take: one
// part in so many.
const pollShare = 50

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

// Follow has files watched, besides, that are outside of the folder or in
// folders that are left out, until the next call. They need not be there.
func (w *Watcher) Follow(files []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tree.follow(files)
}

// Close stops watching and waits for a Changed that runs.
func (w *Watcher) Close() error {
	w.once.Do(func() { close(w.stop) })
	w.done.Wait()
	return w.notify.close()
}

// round is what has changed since Changed was last called.
type round struct {
	paths    map[string]bool
	deadline time.Time // by which Changed is called; zero while nothing has changed
	timer    *time.Timer
	calling  chan struct{} // closed when Changed returns; nil while it does not run
	due      bool          // it is to be called as soon as it has returned
}

// run collects changes and reports them when it has become quiet.
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
			case w.heard(e, r):
				w.await(r)
			}
		case err, open := <-failures:
			if !open {
				failures = nil
				continue
			}
			w.notify.failed(err)
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

// heard takes over what an event says; false when it says nothing.
func (w *Watcher) heard(e event, r *round) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return e.Op != attributes && w.tree.event(e.Name, r.paths)
}

// scan looks at everything, and returns how long it took.
func (w *Watcher) scan(r *round) time.Duration {
	began, before := time.Now(), len(r.paths)
	w.mu.Lock()
	w.tree.scan(r.paths)
	w.mu.Unlock()
	if len(r.paths) > before {
		w.await(r)
	}
	return time.Since(began)
}

// await has the changes reported when nothing has happened for a while, and
// soon in any case.
func (w *Watcher) await(r *round) {
	now := time.Now()
	if r.deadline.IsZero() {
		r.deadline = now.Add(w.config.MaxWait)
	}
	r.timer.Reset(min(w.quiet(r), max(0, r.deadline.Sub(now))))
}

// quiet is how long nothing must happen. One file is soon complete; several are
// often saved one after the other; and an empty one has most likely been
// truncated, to be written in a moment.
func (w *Watcher) quiet(r *round) time.Duration {
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

// maxEmpty is how many paths are looked through for an empty file.
const maxEmpty = 16

// report calls Changed, unless it still runs: then afterwards.
func (w *Watcher) report(r *round) {
	if r.due = r.calling != nil; r.due || len(r.paths) == 0 {
		return
	}
	paths := slices.Sorted(maps.Keys(r.paths))
	r.paths, r.deadline, r.calling = map[string]bool{}, time.Time{}, make(chan struct{})
	returned := r.calling
	w.done.Go(func() {
		defer close(returned)
		w.config.Changed(paths)
	})
}
