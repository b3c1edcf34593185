package watch

import (
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// tree contains the state of the watched folder: each folder and each wanted file, by its path,
// which begins at the top. Only one goroutine at a time may use a tree.
//
// A path can contain links. It then differs from the real path of the file. The operating system
// reports real paths, so the tree maps real folders to its folders, and links to the paths that
// use them.
type tree struct {
	top    string
	skip   []string
	wanted func(string) bool
	notify *notifier
	log    *slog.Logger

	entries map[string]*entry
	folders map[string]map[string]bool // real folder to its paths
	through map[string]map[string]bool // link, or target of a link, to the paths that use it
	extra   map[string]*entry          // followed files; info is nil while a file does not exist

	realTop string
	outside int // number of folders that are not below realTop
	warned  sync.Once
}

// entry is the last seen state of a folder or a file.
type entry struct {
	info     fs.FileInfo
	real     string              // real path, for folders
	children map[string]struct{} // names of the children, for folders
	listed   time.Time           // when children were read, for folders
	links    []string            // links on the way of the path and their target; nil if the path is not a link
}

// maxOutside is the maximum number of folders outside of the watched one that
// are reached through links. Without a limit, a link to the root of the file
// system would make the tree read the whole disk.
const maxOutside = 1000

func newTree(top string, c Config, n *notifier) *tree {
	return &tree{
		top: top, skip: c.Skip, wanted: c.Wanted, notify: n, log: c.Log,
		entries: map[string]*entry{}, folders: map[string]map[string]bool{}, through: map[string]map[string]bool{}, extra: map[string]*entry{},
	}
}

// isIgnored reports whether a path is left out: a hidden file, a file of an editor, a skipped
// folder, or node_modules. Files in node_modules are watched only if they are followed.
func (t *tree) isIgnored(path string) bool {
	name := filepath.Base(path)
	return strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") || strings.HasSuffix(name, ".swp") ||
		strings.HasSuffix(name, ".swx") || strings.HasPrefix(name, "#") || name == "4913" || name == "node_modules" ||
		slices.Contains(t.skip, path)
}

// handleEvent handles an event for a real path. It adds the paths that the event
// concerns to changed, and returns false if there is no such path.
func (t *tree) handleEvent(real string, changed map[string]bool) bool {
	found := false
	for path := range t.through[real] {
		found = t.lookTouched(path, changed) || found
	}
	for dir := range t.folders[filepath.Dir(real)] {
		if path := filepath.Join(dir, filepath.Base(real)); !t.isIgnored(path) {
			found = t.lookTouched(path, changed) || found
		}
	}
	return found
}

// lookTouched compares a path that had an event with its known state, like lookAt and lookExtra.
// If the path is a file, lookTouched adds it to changed even if the file looks the same. It
// returns false if it has added no path.
func (t *tree) lookTouched(path string, changed map[string]bool) bool {
	before := len(changed)
	if t.extra[path] != nil {
		t.lookExtra(path, changed)
		if changed[path] = true; !t.inTree(path) {
			return true
		}
	}
	t.lookAt(path, changed)
	if e := t.entries[path]; e != nil && !e.info.IsDir() {
		changed[path] = true
		return true
	}
	return len(changed) > before
}

// scan compares all known paths with the disk.
func (t *tree) scan(changed map[string]bool) {
	t.notify.registerAll()
	t.lookAt(t.top, changed)
	for path := range t.extra {
		t.lookExtra(path, changed)
	}
}

// lookAt compares a path and everything below it with the known state, updates that state and
// adds the paths that differ to changed.
func (t *tree) lookAt(path string, changed map[string]bool) {
	info, err := os.Stat(path)
	known := t.entries[path]
	switch {
	case err != nil:
		t.removeEntry(path, changed)
	case info.IsDir():
		t.lookFolder(path, info, changed)
	case known != nil && sameFile(known.info, info):
		known.info = info
		t.updateLinks(path, known)
	case known != nil && known.info.IsDir():
		t.removeEntry(path, changed)
		t.lookAt(path, changed)
	case t.wanted(path):
		t.forgetLinks(path, known)
		t.addEntry(path, &entry{info: info})
		changed[path] = true
	}
	t.lookDangling(path, err != nil)
}

// isEmpty reports whether a path is a file of size 0.
func (t *tree) isEmpty(path string) bool {
	e := t.entries[path]
	if e == nil {
		e = t.extra[path]
	}
	return e != nil && e.info != nil && !e.info.IsDir() && e.info.Size() == 0
}

// addEntry stores a new entry.
func (t *tree) addEntry(path string, e *entry) {
	t.entries[path] = e
	if up := t.entries[filepath.Dir(path)]; up != nil && up != e && up.children != nil {
		up.children[filepath.Base(path)] = struct{}{} // needed if only an event has reported the file
	}
	e.links = t.findLinks(path)
	t.keepLinks(path, e)
}

func sameFile(a, b fs.FileInfo) bool {
	return a.IsDir() == b.IsDir() && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && os.SameFile(a, b)
}

// settled is the time after which a second change of a folder certainly gives the folder another
// modification time.
const settled = 2 * time.Second

func (t *tree) lookFolder(path string, info fs.FileInfo, changed map[string]bool) {
	known := t.entries[path]
	if known != nil && !os.SameFile(known.info, info) {
		t.removeEntry(path, changed)
		known = nil
	}
	if known == nil {
		if known = t.newFolder(path, info); known == nil {
			return
		}
		changed[path] = true
	} else if known.info.ModTime().Equal(info.ModTime()) && known.listed.Sub(info.ModTime()) > settled {
		for name := range known.children { // the list of children has not changed
			t.lookAt(filepath.Join(path, name), changed)
		}
		return
	}
	t.updateLinks(path, known)
	known.info, known.listed = info, time.Now()
	list, _ := os.ReadDir(path) // a folder that cannot be read has no children
	now := map[string]struct{}{}
	for _, d := range list {
		child := filepath.Join(path, d.Name())
		if t.isIgnored(child) || d.Type()&(fs.ModeDir|fs.ModeSymlink) == 0 && !t.wanted(child) {
			continue
		}
		now[d.Name()] = struct{}{}
	}
	for name := range known.children {
		if _, there := now[name]; !there {
			t.removeEntry(filepath.Join(path, name), changed)
		}
	}
	known.children = now
	for name := range now {
		t.lookAt(filepath.Join(path, name), changed)
	}
}

// newFolder stores a folder before its children are read. It leaves the folder out and returns
// nil in two cases: the path of the folder is a link to one of its parents, or the folder is
// outside of the top and there are already maxOutside folders outside.
func (t *tree) newFolder(path string, info fs.FileInfo) *entry {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil
	}
	if path == t.top {
		t.realTop = real
	}
	for up := filepath.Dir(path); isInside(t.top, up); up = filepath.Dir(up) {
		if e := t.entries[up]; e != nil && e.real == real {
			return nil
		}
		if up == t.top {
			break
		}
	}
	if !isInside(t.realTop, real) {
		if t.outside >= maxOutside {
			t.warned.Do(func() {
				t.log.Warn("links lead to too many folders outside of the watched one; changes below this link are not reported", "link", path)
			})
			return nil
		}
		t.outside++
	}
	e := &entry{info: info, real: real, children: map[string]struct{}{}}
	t.addEntry(path, e)
	addToSet(t.folders, real, path)
	t.notify.addFolder(real)
	return e
}

// removeEntry removes a path and everything below it.
func (t *tree) removeEntry(path string, changed map[string]bool) {
	e := t.entries[path]
	if e == nil {
		return
	}
	changed[path] = true
	for name := range e.children {
		t.removeEntry(filepath.Join(path, name), changed)
	}
	delete(t.entries, path)
	t.forgetLinks(path, e)
	if !e.info.IsDir() || e.real == "" {
		return
	}
	if !isInside(t.realTop, e.real) {
		t.outside--
	}
	removeFromSet(t.folders, e.real, path)
	t.notify.dropFolder(e.real)
}

func isInside(dir, path string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}

func addToSet(sets map[string]map[string]bool, key, value string) {
	if sets[key] == nil {
		sets[key] = map[string]bool{}
	}
	sets[key][value] = true
}

func removeFromSet(sets map[string]map[string]bool, key, value string) {
	delete(sets[key], value)
	if len(sets[key]) == 0 {
		delete(sets, key)
	}
}
