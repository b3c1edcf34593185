package server

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"restsrv/engine/deploy"
	"restsrv/engine/meta"
	"restsrv/engine/server/appdata"
)

// reading records the state of the files of an application, so that a reload can find out whether
// they have changed. Each key is the path of a file. The value depends on the kind of the file:
//
//   - usually, a hash of the content
//   - for a file that is read on demand (see meta.Presentation), the size and the time of the
//     last change
//   - for a service without a script file, the path at which the script would be found
//
// Other scripts have no entries, because they are reloaded separately.
type reading map[string]string

// loadedApp is an application with the state of its files when they were read.
type loadedApp struct {
	*appdata.App
	reading reading
	told    map[string]bool // the warnings as lines of text
}

// metaDir is the folder of class files, and typesDir its folder of user types.
const (
	metaDir  = "meta"
	typesDir = "types"
)

// readingOf records the current state of the files of an application. file is its deploy.json, and
// config the last configuration that was read from it.
func (s *Server) readingOf(file string, config *deploy.Config) reading {
	return sourcesOf(file).withConfigured(file, config, knownNames(s.modules))
}

// sourcesOf records the files that belong to an application because of their names. It does not
// need the configuration.
func sourcesOf(file string) reading {
	r := reading{}
	file, _ = filepath.Abs(file)
	dir := filepath.Dir(file)
	r["directory"], _ = filepath.EvalSymlinks(dir)
	for _, source := range deploy.Sources(file) {
		r.addFile(filepath.Join(dir, filepath.FromSlash(source)))
	}
	for _, folder := range []string{dir, filepath.Join(dir, metaDir), filepath.Join(dir, metaDir, typesDir), filepath.Join(dir, appdata.ACLDir)} {
		entries, _ := os.ReadDir(folder)
		for _, e := range entries {
			if path := filepath.Join(folder, e.Name()); ofApplication(dir, path) {
				r.addFile(path)
			}
		}
	}
	return r
}

// withConfigured adds the files that the configuration names, and the files that are read on
// demand. known are the names that deploy.json can use.
func (r reading) withConfigured(file string, config *deploy.Config, known deploy.Known) reading {
	for _, path := range config.Read {
		if r[path] == "" {
			r.addFile(path)
		}
	}
	r.addPresentation(config.Dir)
	if lacksScripts(config) {
		again, _ := deploy.Load(file, known) // a missing script may exist now, perhaps under another name
		for _, svc := range again.Services {
			r["script of "+svc.Name] = svc.Script
		}
	}
	return r
}

func (r reading) addFile(path string) {
	text, err := os.ReadFile(path)
	if err != nil {
		return
	}
	sum := sha256.Sum256(text)
	r[path] = string(sum[:])
}

// late is the prefix of the keys for files that are read on demand.
const late = "shown: "

func (r reading) addPresentation(dir string) {
	for _, folder := range meta.PresentationDirs() {
		_ = filepath.WalkDir(filepath.Join(dir, folder), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return nil // files that cannot be read have no entry
			}
			if info, err := os.Stat(path); err == nil {
				r[late+path] = fmt.Sprint(info.Size(), info.ModTime().UnixNano())
			}
			return nil
		})
	}
}

// samePresentation reports whether both readings have the same files that are read on demand.
func (r reading) samePresentation(other reading) bool {
	shown := func(r reading) reading {
		r = maps.Clone(r)
		maps.DeleteFunc(r, func(name, _ string) bool { return !strings.HasPrefix(name, late) })
		return r
	}
	return shown(r).same(shown(other))
}

// ofPresentation reports whether a path is a folder with files that are read on demand, or lies
// in or above such a folder.
func ofPresentation(dir, path string) bool {
	return slices.ContainsFunc(meta.PresentationDirs(), func(folder string) bool {
		folder = filepath.Join(dir, folder)
		return isAbove(folder, path) || isAbove(path, folder)
	})
}

// same reports whether both readings are equal.
func (r reading) same(other reading) bool { return maps.Equal(r, other) }

// ofApplication reports whether a file belongs to an application because of its name and folder.
// It does not look at the files that the configuration names.
func ofApplication(dir, path string) bool {
	name := filepath.Base(path)
	if rel, err := filepath.Rel(dir, path); err == nil && deploy.IsSource(filepath.ToSlash(rel)) {
		return true
	}
	switch filepath.Dir(path) {
	case dir:
		return filepath.Ext(name) == ".ini"
	case filepath.Join(dir, metaDir), filepath.Join(dir, metaDir, typesDir):
		return strings.Contains(name, ".class.") || strings.Contains(name, ".type.")
	case filepath.Join(dir, appdata.ACLDir):
		return appdata.IsACLFile(name)
	}
	return false
}

func lacksScripts(c *deploy.Config) bool {
	for _, svc := range c.Services {
		if svc.Missing {
			return true
		}
	}
	return false
}

// affectedBy reports whether changes of the given files and folders can affect the edition.
func (e *edition) affectedBy(changed []string) bool {
	if lacksScripts(e.config) {
		return true
	}
	classes := filepath.Join(e.config.Dir, metaDir)
	folders := []string{filepath.Join(classes, typesDir), filepath.Join(e.config.Dir, appdata.ACLDir)}
	for _, path := range changed {
		if ofApplication(e.config.Dir, path) || ofPresentation(e.config.Dir, path) || isAbove(path, classes) || slices.Contains(folders, path) {
			return true
		}
		for known := range e.reading {
			if isAbove(path, known) {
				return true
			}
		}
	}
	return false
}

// isAbove reports whether path is the file itself or a folder above it.
func isAbove(path, file string) bool {
	rest, ok := strings.CutPrefix(file, path)
	return ok && (rest == "" || rest[0] == filepath.Separator)
}

// isWatched reports whether a file can belong to an application, judging by its extension.
func (s *Server) isWatched(path string) bool {
	switch filepath.Ext(path) {
	case ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".json", ".yml", ".yaml", ".ini":
		return true
	}
	return path == filepath.Join(s.started.Dir, s.started.File)
}

// storedFiles returns the folder for contents of files. It is not watched for changes.
func (s *Server) storedFiles() string { return s.started.Abs("files") }
