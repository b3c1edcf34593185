package script

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// files is what one generation reads: every VM of it sees the same content,
// whatever happens on disk meanwhile.
type files struct {
	rt    *Runtime
	limit int // bytes of a file

	mu      sync.Mutex
	found   map[string]*source // by absolute path as asked for, without extension or with
	visited map[string]bool    // every path read or looked for
}

func newFiles(rt *Runtime, limit int) *files {
	return &files{rt: rt, limit: limit, found: map[string]*source{}, visited: map[string]bool{}}
}

// paths returns every path that was read or looked for.
func (f *files) paths() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make([]string, 0, len(f.visited))
	for p := range f.visited {
		all = append(all, p)
	}
	return all
}

// stale reports whether a file that was read has another content now, or one
// that was missing is there.
func (f *files) stale() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	read := map[string]bool{}
	for _, s := range f.found {
		now, err := f.rt.cache.load(s.path, s.file, f.limit)
		if err != nil || now.hash != s.hash {
			return true
		}
		read[s.path] = true
	}
	for p := range f.visited {
		real, err := filepath.EvalSymlinks(p)
		if err == nil && !read[real] && isFile(real) {
			return true
		}
	}
	return false
}

// open finds the file that want names, an absolute path with or without its
// extension, and compiles it. asked is how the script wrote it, from says who
// asks.
func (f *files) open(want, asked, from string) (*source, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.found[want]; s != nil {
		return s, nil
	}
	if !inside(f.rt.dir, want) && !inside(f.rt.root, want) {
		return nil, &LoadError{File: from, Message: quoted(asked) + " is outside the application directory"}
	}
	for _, suffix := range []string{"", ".js", ".json", ".mjs", ".ts", "/index.js"} {
		path := want + filepath.FromSlash(suffix)
		f.visited[path] = true
		if !isFile(path) {
			continue
		}
		s, err := f.read(path, asked, from)
		if err != nil {
			return nil, err
		}
		f.found[want] = s
		return s, nil
	}
	return nil, &LoadError{File: from, Message: "there is no file " + quoted(asked) + notFoundHint(asked)}
}

func notFoundHint(asked string) string {
	if filepath.Ext(asked) != "" {
		return ""
	}
	return " (.js and .json were tried)"
}

func (f *files) read(path, asked, from string) (*source, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, &LoadError{File: from, Message: quoted(asked) + " cannot be read"}
	}
	if !inside(f.rt.root, real) {
		return nil, &LoadError{File: from, Message: quoted(asked) + " leads outside the application directory"}
	}
	f.visited[real] = true
	rel, err := filepath.Rel(f.rt.root, real)
	if err != nil {
		rel = filepath.Base(real)
	}
	return f.rt.cache.load(real, filepath.ToSlash(rel), f.limit)
}

func inside(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// byName returns a file that was read, by its relative name.
func (f *files) byName(name string) *source {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.found {
		if s.file == name {
			return s
		}
	}
	return nil
}
