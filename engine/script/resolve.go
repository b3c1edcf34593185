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
	byFile  map[string]*source // by relative name
}

func newFiles(rt *Runtime, limit int) *files {
	return &files{rt: rt, limit: limit, found: map[string]*source{}, visited: map[string]bool{}, byFile: map[string]*source{}}
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
		now, err := f.rt.cache.load(s.path, s.file, packageShare*f.limit)
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
	return f.file(want, asked, from)
}

// file is open for who holds f.mu.
func (f *files) file(want, asked, from string) (*source, error) {
	if s := f.found[want]; s != nil {
		return s, nil
	}
	if !inside(f.rt.dir, want) && !inside(f.rt.root, want) {
		return nil, &LoadError{File: from, Message: quoted(asked) + " is outside the application directory"}
	}
	path := f.lookup(want)
	if path == "" {
		return nil, &LoadError{File: from, Message: "there is no file " + quoted(asked) + notFoundHint(asked)}
	}
	s, err := f.read(path, asked, from)
	if err != nil {
		return nil, err
	}
	f.found[want] = s
	return s, nil
}

// suffixes are what names of files are tried with, in this order.
var suffixes = []string{".js", ".json", ".mjs", ".cjs", ".ts", ".mts", ".cts"}

// typed maps the extension that TypeScript has files imported by to the one
// that they have.
var typed = map[string]string{".js": ".ts", ".mjs": ".mts", ".cjs": ".cts"}

// lookup returns the file that a path stands for, "" when there is none: the
// path itself, with an extension, with .ts instead of .js, or what a folder of
// that name stands for.
func (f *files) lookup(want string) string {
	if path := f.first(want, suffixes); path != "" {
		return path
	}
	ext := filepath.Ext(want)
	if other := typed[ext]; other != "" && f.isFile(strings.TrimSuffix(want, ext)+other) {
		return strings.TrimSuffix(want, ext) + other
	}
	if main := f.mainOf(want); main != "" {
		if path := f.first(main, suffixes); path != "" {
			return path
		}
		if path := f.first(filepath.Join(main, "index"), suffixes); path != "" {
			return path
		}
	}
	return f.first(filepath.Join(want, "index"), suffixes)
}

// first returns the first file among the path itself and the path with each
// suffix.
func (f *files) first(path string, suffixes []string) string {
	if f.isFile(path) {
		return path
	}
	for _, s := range suffixes {
		if f.isFile(path + s) {
			return path + s
		}
	}
	return ""
}

// isFile asks for a file, and remembers that it was asked for.
func (f *files) isFile(path string) bool {
	f.visited[path] = true
	return isFile(path)
}

func notFoundHint(asked string) string {
	switch filepath.Ext(asked) {
	case ".js", ".mjs", ".cjs":
		return " (nor one of TypeScript)"
	case ".json", ".ts", ".mts", ".cts":
		return ""
	}
	return " (" + strings.Join(suffixes, " ") + " and an index file in a folder of that name were tried)"
}

// packageShare is how many times the limit on the size of scripts files of
// packages may have.
const packageShare = 4

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
	limit := f.limit
	if strings.Contains(real, string(filepath.Separator)+nodeModules+string(filepath.Separator)) {
		limit *= packageShare
	}
	s, err := f.rt.cache.load(real, filepath.ToSlash(rel), limit)
	if err == nil {
		f.byFile[s.file] = s
	}
	return s, err
}

func inside(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// byName returns a file that was read, by its relative name; nil for none.
func (f *files) byName(name string) *source {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.byFile[name]
}
