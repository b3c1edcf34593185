package watch

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Checkout detects that git replaces the files of a folder. While git writes files, the file
// index.lock exists in git's own folder. When the files are complete, git renames index.lock to
// index. So if the revision is the same before and after files are read, the files belong to one
// version. If the folder is not in a working tree of git, all revisions are equal.
type Checkout struct{ dir string }

// NewCheckout returns a Checkout for a folder. The working tree may begin above it.
func NewCheckout(dir string) Checkout {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return Checkout{dir}
}

// Revision is the state of the index of git at some time.
type Revision struct {
	locked bool
	index  fs.FileInfo // nil if there is no index
}

// maxLockAge is the age from which a lock is ignored, because the command that created it has probably crashed.
const maxLockAge = 10 * time.Second

// lockInterval is the time between two looks at a lock.
const lockInterval = 2 * time.Millisecond

// Await waits until git does not hold its lock, at most maxLockAge, and returns the revision.
func (c Checkout) Await() Revision {
	for deadline := time.Now().Add(maxLockAge); ; time.Sleep(lockInterval) {
		r := c.revision()
		if !r.locked || time.Now().After(deadline) {
			return r
		}
	}
}

// IsCurrent reports whether git has written no files since r was the revision. If r has a lock,
// because Await did not wait any longer, IsCurrent also returns true.
func (c Checkout) IsCurrent(r Revision) bool {
	now := c.revision()
	if r.locked || now.locked {
		return r.locked && now.locked
	}
	if r.index == nil || now.index == nil {
		return r.index == nil && now.index == nil
	}
	return sameFile(r.index, now.index)
}

// revision reads the current state.
func (c Checkout) revision() (r Revision) {
	git := c.folder()
	if git == "" {
		return r
	}
	if lock, err := os.Stat(filepath.Join(git, "index.lock")); err == nil && time.Since(lock.ModTime()) < maxLockAge {
		r.locked = true
	}
	if info, err := os.Stat(filepath.Join(git, "index")); err == nil {
		r.index = info
	}
	return r
}

// folder returns the folder in which git stores the index, or "" if there is none. In a linked working tree, .git is a
// file that contains the path of that folder.
func (c Checkout) folder() string {
	for dir := c.dir; ; dir = filepath.Dir(dir) {
		git := filepath.Join(dir, ".git")
		if info, err := os.Stat(git); err == nil {
			if info.IsDir() {
				return git
			}
			return linkedFolder(git)
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// maxLink is the maximum size of a file .git.
const maxLink = 64 << 10

// linkedFolder returns the path that a file .git contains, or "" if the file has another form.
func linkedFolder(file string) string {
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() || info.Size() > maxLink {
		return ""
	}
	text, err := os.ReadFile(file)
	path, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	switch {
	case err != nil || !ok:
		return ""
	case !filepath.IsAbs(path):
		return filepath.Join(filepath.Dir(file), path)
	}
	return path
}
