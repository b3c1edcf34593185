package watch

import (
	"errors"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// event is what the system notifies of.
type event = fsnotify.Event

// attributes is an event that changes no content.
const attributes = fsnotify.Chmod

// notifier asks the system to notify of what happens in folders. One that
// cannot does nothing, and says so once.
type notifier struct {
	source *fsnotify.Watcher // nil when there is none
	log    *slog.Logger
	poll   time.Duration
	folder map[string]int // folders, by how many want them
	warned sync.Once
}

func newNotifier(c Config) *notifier {
	n := &notifier{log: c.Log, poll: c.Poll, folder: map[string]int{}}
	if c.PollOnly {
		return n
	}
	source, err := fsnotify.NewWatcher()
	if err != nil {
		n.lacks("", err)
		return n
	}
	n.source = source
	return n
}

// channels are nil, which never delivers, when there is no source.
func (n *notifier) channels() (<-chan event, <-chan error) {
	if n.source == nil {
		return nil, nil
	}
	return n.source.Events, n.source.Errors
}

// add wants a folder, once more.
func (n *notifier) add(dir string) {
	n.folder[dir]++
	if n.folder[dir] == 1 {
		n.ask(dir)
	}
}

// drop wants it once less.
func (n *notifier) drop(dir string) {
	n.folder[dir]--
	if n.folder[dir] > 0 {
		return
	}
	delete(n.folder, dir)
	if n.source != nil {
		_ = n.source.Remove(dir) // it may be gone, and its watch with it
	}
}

// ask asks for a folder; again for one that is another folder of the same name
// by now.
func (n *notifier) ask(dir string) {
	if n.source == nil {
		return
	}
	if err := n.source.Add(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		n.lacks(dir, err)
	}
}

// askAll asks for all folders again: an answer that is there already costs
// nothing, and one that was lost comes back.
func (n *notifier) askAll() {
	for dir := range n.folder {
		n.ask(dir)
	}
}

// failed is told of an error of the source. When there were more changes than
// it could hold, everything is looked at, and nothing is lost.
func (n *notifier) failed(err error) {
	if !errors.Is(err, fsnotify.ErrEventOverflow) {
		n.lacks("", err)
	}
}

func (n *notifier) lacks(dir string, err error) {
	n.warned.Do(func() {
		n.log.Warn("the system does not notify of all changes of files: some are seen later", "after", n.poll, "folder", dir, "error", err)
	})
}

func (n *notifier) close() error {
	if n.source == nil {
		return nil
	}
	return n.source.Close()
}
