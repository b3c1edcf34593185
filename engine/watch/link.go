package watch

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxLinks is how many links one path may lead through.
const maxLinks = 40

// steps returns the links that a path leads through, by real paths, and what
// they lead to in the end, or where they end in nothing.
func steps(path string) []string {
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

// findLinks returns the steps of a path that is a link, and of the top; what
// stands in a folder goes with that.
func (t *tree) findLinks(path string) []string {
	if path != t.top && !isLink(path) {
		return nil
	}
	found := steps(path)
	if len(found) == 1 {
		return nil // no link
	}
	return found
}

// keepLinks has events of the links, and of what they lead to, mean the path.
func (t *tree) keepLinks(path string, e *entry) {
	for _, step := range e.links {
		put(t.through, step, path)
		t.notify.add(filepath.Dir(step))
	}
}

func (t *tree) forgetLinks(path string, e *entry) {
	if e == nil {
		return
	}
	for _, step := range e.links {
		take(t.through, step, path)
		t.notify.drop(filepath.Dir(step))
	}
	e.links = nil
}

// relink finds out anew which links lead to a path that is one.
func (t *tree) relink(path string, e *entry) {
	if len(e.links) == 0 {
		return
	}
	if now := t.findLinks(path); !slices.Equal(now, e.links) {
		t.forgetLinks(path, e)
		e.links = now
		t.keepLinks(path, e)
	}
}

// lookDangling follows a link in the tree that leads nowhere, until it leads
// somewhere.
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

// follow makes the followed files be these, but for those that the tree has
// anyway.
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

// covers reports whether the tree would see the file, if it is or were there.
func (t *tree) covers(path string) bool { return t.inTree(path) && t.wanted(path) }

// inTree reports whether a path stands below the top, in no folder that is
// left out.
func (t *tree) inTree(path string) bool {
	for up := path; inside(t.top, up) && up != t.top; up = filepath.Dir(up) {
		if t.ignored(up) {
			return false
		}
	}
	return inside(t.top, path)
}

// lookExtra is look for a file that is followed. The events that mean it are
// those of its links and of the first thing on its way that is not there.
func (t *tree) lookExtra(path string, changed map[string]bool) {
	e := t.extra[path]
	info, err := os.Stat(path)
	switch {
	case err != nil && e.info != nil:
		e.info = nil
		changed[path] = true
	case err == nil && (e.info == nil || !same(e.info, info)):
		e.info = info
		changed[path] = true
	}
	if now := steps(path); !slices.Equal(now, e.links) {
		t.forgetLinks(path, e)
		e.links = now
		t.keepLinks(path, e)
	}
}
