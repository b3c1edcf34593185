package module

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Application is the directory that contains the scripts of an application.
type Application struct {
	Dir         string // absolute
	Root        string // Dir with symbolic links resolved
	Namespace   string // <namespace> in paths that begin with applications/<namespace>/; "" if there is none
	NodeModules bool   // require looks for packages in node_modules
	Cache       *Cache
}

// Files contains the files of one version of a service. A file is read once, so all VMs of the version see the same
// content, even if the file changes on disk.
type Files struct {
	app   *Application
	limit int // maximum size of a file in bytes

	mu      sync.Mutex
	found   map[string]*Source     // by the absolute path that was asked for, with or without extension
	visited map[string]bool        // all absolute paths that were read or looked for
	byFile  map[string]*Source     // by path relative to the application directory
	dual    map[string]bool        // files for require of packages that have other files for import, by absolute path
	states  map[string]fs.FileInfo // of the files that were read, by absolute path, from before they were read
}

// NewFiles returns an empty set of files. limit is the maximum size of a file in bytes.
func NewFiles(app *Application, limit int) *Files {
	return &Files{app: app, limit: limit, found: map[string]*Source{}, visited: map[string]bool{}, dual: map[string]bool{}, byFile: map[string]*Source{}, states: map[string]fs.FileInfo{}}
}

// AllPaths returns the absolute paths of all files that were read or looked for.
func (f *Files) AllPaths() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make([]string, 0, len(f.visited))
	for p := range f.visited {
		all = append(all, p)
	}
	return all
}

// IsStale reports whether a file that was read has changed, or whether a file that was missing exists now.
func (f *Files) IsStale() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	read := map[string]bool{}
	for _, s := range f.found {
		now, err := f.app.Cache.loadFile(s.Path, s.File, packageShare*f.limit)
		if err != nil || now.hash != s.hash {
			return true
		}
		read[s.Path] = true
	}
	for p := range f.visited {
		real, err := filepath.EvalSymlinks(p)
		if err == nil && !read[real] && isFile(real) {
			return true
		}
	}
	return false
}

// IsModified reports whether a file that was read has another size, modification time or inode now, or was removed. It
// is cheaper than IsStale, and notices files that were replaced by older ones.
func (f *Files) IsModified() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for path, was := range f.states {
		now, err := os.Stat(path)
		if err != nil || !os.SameFile(was, now) || was.Size() != now.Size() || !was.ModTime().Equal(now.ModTime()) {
			return true
		}
	}
	return false
}

// OpenFile finds and compiles a file. want is its absolute path, with or without extension. The other parameters are
// for error messages: asked is the name as the script has it, and from is the file that contains this name.
func (f *Files) OpenFile(want, asked, from string) (*Source, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.findFile(want, asked, from)
}

// findFile is OpenFile for callers that hold f.mu.
func (f *Files) findFile(want, asked, from string) (*Source, error) {
	if s := f.found[want]; s != nil {
		return s, nil
	}
	if !isInside(f.app.Dir, want) && !isInside(f.app.Root, want) {
		return nil, &LoadError{File: from, Message: strconv.Quote(asked) + " is outside the application directory"}
	}
	path := f.lookUpFile(want)
	if path == "" {
		return nil, &LoadError{File: from, Message: "there is no file " + strconv.Quote(asked) + notFoundHint(asked)}
	}
	s, err := f.readFile(path, asked, from)
	if err != nil {
		return nil, err
	}
	f.found[want] = s
	return s, nil
}

// suffixes are the file name extensions to try, in this order.
var suffixes = []string{".js", ".json", ".mjs", ".cjs", ".ts", ".mts", ".cts"}

// typed maps an extension in an import of TypeScript to the extension of the file: an import of "./a.js" can mean
// a.ts.
var typed = map[string]string{".js": ".ts", ".mjs": ".mts", ".cjs": ".cts"}

// lookUpFile returns the path of the file that want stands for, or "" if there is no such file. It tries want itself,
// want with an extension, .ts in place of .js, and, if want is a folder, its main and index files.
func (f *Files) lookUpFile(want string) string {
	if path := f.firstFile(want, suffixes); path != "" {
		return path
	}
	ext := filepath.Ext(want)
	if other := typed[ext]; other != "" && f.isFile(strings.TrimSuffix(want, ext)+other) {
		return strings.TrimSuffix(want, ext) + other
	}
	if main := f.mainOf(want); main != "" {
		if path := f.firstFile(main, suffixes); path != "" {
			return path
		}
		if path := f.firstFile(filepath.Join(main, "index"), suffixes); path != "" {
			return path
		}
	}
	return f.firstFile(filepath.Join(want, "index"), suffixes)
}

// firstFile returns path if that file exists, or else the first existing file among path with each suffix. It returns
// "" if there is none.
func (f *Files) firstFile(path string, suffixes []string) string {
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

// isFile reports whether a file exists. It records the path in f.visited.
func (f *Files) isFile(path string) bool {
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

// packageShare is a factor: files of packages may be this many times larger than scripts of the application.
const packageShare = 4

func (f *Files) readFile(path, asked, from string) (*Source, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, &LoadError{File: from, Message: strconv.Quote(asked) + " cannot be read"}
	}
	if !isInside(f.app.Root, real) {
		return nil, &LoadError{File: from, Message: strconv.Quote(asked) + " leads outside the application directory"}
	}
	f.visited[real] = true
	rel, err := filepath.Rel(f.app.Root, real)
	if err != nil {
		rel = filepath.Base(real)
	}
	limit := f.limit
	if strings.Contains(real, string(filepath.Separator)+NodeModules+string(filepath.Separator)) {
		limit *= packageShare
	}
	if info, err := os.Stat(real); err == nil {
		f.states[real] = info
	}
	s, err := f.app.Cache.loadFile(real, filepath.ToSlash(rel), limit)
	if err == nil {
		f.byFile[s.File] = s
	}
	return s, err
}

func isInside(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// ByName returns the file with the given path relative to the application directory, or nil if no such file was read.
func (f *Files) ByName(name string) *Source {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.byFile[name]
}

// At returns the file at a path in the application directory, for a call of FindModule from there. If no such file was
// read, the result has only a name.
func (f *Files) At(name string) *Source {
	file := strings.TrimPrefix(path.Clean("/"+name), "/")
	if s := f.ByName(file); s != nil {
		return s
	}
	return &Source{File: file, Path: filepath.Join(f.app.Root, filepath.FromSlash(file)), AsksRequire: true}
}

// Each calls visit for every file that was read.
func (f *Files) Each(visit func(*Source)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.found {
		visit(s)
	}
}

// LastChange returns the latest modification time of the files that were read or looked for, or the zero time.
func (f *Files) LastChange() (last time.Time) {
	for _, path := range f.AllPaths() {
		if info, err := os.Stat(path); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}
