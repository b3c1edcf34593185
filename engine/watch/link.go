package watch

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxLinks is the maximum number of links that are followed for one path.
const maxLinks = 40

// linkSteps returns the real paths of the links that lead from path to its target, and
// finally the target itself. If a part does not exist, that part is the last step.
func linkSteps(path string) []string {
	sep := string(filepath.Separator)
	volume := filepath.VolumeName(path)
	at, rest := volume+sep, strings.Split(strings.Trim(path[len(volume):], sep), sep)
	var found []string
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		next := filepath.Join(at, name)
		info, err := os.Lstat(next)
		switch {
		case err != nil:
			return append(found, next)
		case info.Mode()&fs.ModeSymlink == 0:
			at = next
			continue
		}
		found = append(found, next)
		target, err := os.Readlink(next)
		if err != nil || len(found) > maxLinks {
			return found
		}
		if filepath.IsAbs(target) {
			at = volume + sep
		}
		rest = append(strings.Split(strings.Trim(filepath.Clean(target), sep), sep), rest...)
	}
	return append(found, at)
}

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// findLinks returns the linkSteps of a path if the path is a link or the watched folder itself.
// Other paths need no registration, because events for their folder report their changes; for
// these paths it returns nil.
func (t *tree) findLinks(path string) []string {
	if path != t.top && !isLink(path) {
		return nil
	}
	found := linkSteps(path)
	if len(found) == 1 {
		return nil // not a link
	}
	return found
}

// keepLinks registers path for events of its links and of the target of the links.
func (t *tree) keepLinks(path string, e *entry) {
	for _, step := range e.links {
		addToSet(t.through, step, path)
		t.notify.addFolder(filepath.Dir(step))
	}
}

func (t *tree) forgetLinks(path string, e *entry) {
	if e == nil {
		return
	}
	for _, step := range e.links {
		removeFromSet(t.through, step, path)
		t.notify.dropFolder(filepath.Dir(step))
	}
	e.links = nil
}

// updateLinks registers the links of a path again if they have changed.
func (t *tree) updateLinks(path string, e *entry) {
	if len(e.links) == 0 {
		return
	}
	if now := t.findLinks(path); !slices.Equal(now, e.links) {
		t.forgetLinks(path, e)
		e.links = now
		t.keepLinks(path, e)
	}
}

// lookDangling starts to watch a link in the tree if nowhere is true, which means that the target
// of the link does not exist. If nowhere is false, lookDangling stops watching the link.
func (t *tree) lookDangling(path string, nowhere bool) {
	e := t.extra[path]
	switch {
	case !nowhere && e != nil && t.entries[path] != nil:
		t.forgetLinks(path, e)
		delete(t.extra, path)
	case nowhere && e == nil && isLink(path):
		t.extra[path] = &entry{}
		t.lookExtra(path, map[string]bool{})
	}
}

// follow replaces the files that Watcher.Follow has set. It leaves out files that the tree
// watches anyway.
func (t *tree) follow(files []string) {
	keep := map[string]bool{}
	for _, path := range files {
		if t.covers(path) {
			continue
		}
		keep[path] = true
		if t.extra[path] == nil {
			t.extra[path] = &entry{}
			t.lookExtra(path, map[string]bool{})
		}
	}
	for path, e := range t.extra {
		if !keep[path] && !(t.inTree(path) && isLink(path)) {
			t.forgetLinks(path, e)
			delete(t.extra, path)
		}
	}
}

// covers reports whether the tree watches files with this path. It does not matter whether the
// file exists.
func (t *tree) covers(path string) bool { return t.inTree(path) && t.wanted(path) }

// inTree reports whether a path is below the top and not in an ignored folder.
func (t *tree) inTree(path string) bool {
	for up := path; isInside(t.top, up) && up != t.top; up = filepath.Dir(up) {
		if t.isIgnored(up) {
			return false
		}
	}
	return isInside(t.top, path)
}

// lookExtra compares a followed file with its known state and updates that state. If the file
// differs, lookExtra adds the path to changed. Events for the file come from its links and from
// the first part of its path that does not exist.
func (t *tree) lookExtra(path string, changed map[string]bool) {
	e := t.extra[path]
	info, err := os.Stat(path)
	switch {
	case err != nil && e.info != nil:
		e.info = nil
		changed[path] = true
	case err == nil && (e.info == nil || !sameFile(e.info, info)):
		e.info = info
		changed[path] = true
	}
	if now := linkSteps(path); !slices.Equal(now, e.links) {
		t.forgetLinks(path, e)
		e.links = now
		t.keepLinks(path, e)
	}
}
