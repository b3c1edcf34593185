package watch

import (
	"errors"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// event is a notification of the operating system.
type event = fsnotify.Event

// attributes is the operation of an event that changes only attributes of a file, not its
// content.
const attributes = fsnotify.Chmod

// notifier asks the operating system for events of folders. If the system cannot send events,
// notifier logs one warning, and polling finds the changes.
type notifier struct {
	source *fsnotify.Watcher // nil if unavailable
	log    *slog.Logger
	poll   time.Duration
	folder map[string]int // number of users of each folder, by path
	warned sync.Once
}

func newNotifier(c Config) *notifier {
	n := &notifier{log: c.Log, poll: c.Poll, folder: map[string]int{}}
	if c.PollOnly {
		return n
	}
	source, err := fsnotify.NewWatcher()
	if err != nil {
		n.warnOnce("", err)
		return n
	}
	n.source = source
	return n
}

// channels returns the channels of the source. If there is no source, they are
// nil and never deliver.
func (n *notifier) channels() (<-chan event, <-chan error) {
	if n.source == nil {
		return nil, nil
	}
	return n.source.Events, n.source.Errors
}

// addFolder increments the number of users of a folder.
func (n *notifier) addFolder(dir string) {
	n.folder[dir]++
	if n.folder[dir] == 1 {
		n.registerFolder(dir)
	}
}

// dropFolder decrements the number of users of a folder.
func (n *notifier) dropFolder(dir string) {
	n.folder[dir]--
	if n.folder[dir] > 0 {
		return
	}
	delete(n.folder, dir)
	if n.source != nil {
		_ = n.source.Remove(dir) // the error is ignored: the folder may have been removed with its watch
	}
}

// registerFolder registers a folder for events. It must be called again if another folder was
// created or renamed with the same name.
func (n *notifier) registerFolder(dir string) {
	if n.source == nil {
		return
	}
	if err := n.source.Add(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		n.warnOnce(dir, err)
	}
}

// registerAll registers all folders again, to restore lost registrations. It has no effect for
// folders that are still registered.
func (n *notifier) registerAll() {
	for dir := range n.folder {
		n.registerFolder(dir)
	}
}

// handleError handles an error of the source. If the source dropped events, no
// warning is needed, because the caller scans all files.
func (n *notifier) handleError(err error) {
	if !errors.Is(err, fsnotify.ErrEventOverflow) {
		n.warnOnce("", err)
	}
}

func (n *notifier) warnOnce(dir string, err error) {
	n.warned.Do(func() {
		n.log.Warn("the system does not notify of all changes of files; polling finds the others later", "after", n.poll, "folder", dir, "error", err)
	})
}

func (n *notifier) close() error {
	if n.source == nil {
		return nil
	}
	return n.source.Close()
}
