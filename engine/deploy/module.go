package deploy

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/mistake"
	"restsrv/engine/suggest"
)

// builtinPrefixes are the prefixes of modules that are written in Go: the prefix of restsrv, then
// the two spellings of IONDV.
var builtinPrefixes = []string{"builtin/", "modules/rest/lib/impl/", "@iondv/rest/lib/impl/"}

// extensions are the extensions of scripts, in the order in which they are tried.
var extensions = []string{".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"}

// IsScript reports whether a file is a script, by its extension.
func IsScript(file string) bool { return slices.Contains(extensions, path.Ext(file)) }

// resolveModule sets the module of a service: a built-in or a file in the application directory.
// If the module cannot be used, resolveModule reports a fault and returns false. If the module is
// a script that does not exist, resolveModule sets Missing and returns true.
func (l *loader) resolveModule(s *Service, e jsonfile.Object) bool {
	written, ok := e.Value("module").(string)
	if !ok || written == "" {
		e.Report(mistake.ServiceModule, e.At("module"), jsonfile.Describe(e.Value("module")), `a builtin such as "builtin/crud" or the path of a script`)
		return false
	}
	for _, prefix := range builtinPrefixes {
		if name, ok := strings.CutPrefix(written, prefix); ok {
			s.Builtin = strings.TrimSuffix(name, ".js")
			if slices.Contains(l.known.Builtins, s.Builtin) {
				return true
			}
			e.Report(mistake.ServiceModule, e.At("module"), engine.Quote(written), choiceOf(prefix, s.Builtin, l.known.Builtins))
			return false
		}
	}
	file := written
	if l.config.Namespace != "" {
		file = strings.TrimPrefix(file, "applications/"+l.config.Namespace+"/")
	}
	file = path.Clean(file)
	if !filepath.IsLocal(filepath.FromSlash(file)) {
		e.Report(mistake.ServiceModule, e.At("module"), engine.Quote(written), "a path inside the application directory")
		return false
	}
	if s.Script, ok = findScript(l.config.Dir, file); !ok {
		s.Missing = true
	}
	if !isInside(l.config.Dir, s.Script) {
		e.Report(mistake.ServiceModule, e.At("module"), engine.Quote(written)+", a link that leads elsewhere", "a path inside the application directory")
		return false
	}
	return true
}

func choiceOf(prefix, name string, builtins []string) string {
	if near := suggest.Nearest(name, builtins); near != "" {
		return engine.Quote(prefix+near) + ", or another of the builtins " + strings.Join(builtins, ", ")
	}
	return "one of the builtins " + strings.Join(builtins, ", ")
}

// findScript finds the file of a script. The path may omit the extension, and may be a folder with
// index.js. If no file exists, ok is false and script is its most likely name.
func findScript(dir, file string) (script string, ok bool) {
	candidates := []string{file}
	for _, ext := range extensions {
		candidates = append(candidates, file+ext)
	}
	candidates = append(candidates, path.Join(file, "index.js"))
	for _, c := range candidates {
		if info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(c))); err == nil && info.Mode().IsRegular() {
			return c, true
		}
	}
	if IsScript(file) {
		return file, false
	}
	return file + extensions[0], false
}

// isInside reports whether the file is inside dir when symbolic links are followed. If the file
// does not exist, isInside checks the nearest existing folder on its path.
func isInside(dir, file string) bool {
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	for at := filepath.Join(dir, filepath.FromSlash(file)); ; at = filepath.Dir(at) {
		real, err := filepath.EvalSymlinks(at)
		if err != nil && at != dir {
			continue
		}
		rel, err := filepath.Rel(root, real)
		return err == nil && filepath.IsLocal(rel)
	}
}
